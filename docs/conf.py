"""The site of these pages: `make docs` builds it, and nothing in it is loaded from elsewhere."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("MPLBACKEND", "Agg")

import hedgerow
from hedgerow.methods.base import Method

# a caution in an example shows its words, and no path of the machine that built the page
warnings.formatwarning = lambda message, *_, **__: f"caution: {message}\n"

project = "Hedgerow"
author = "Hedgerow developers"
copyright = author
version = release = hedgerow.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "commands",
    "formulas",
    "fourteen",
]
exclude_patterns = ["_ext", "gallery/*.py.md5", "gallery/*.ipynb"]
templates_path = ["_templates"]
default_role = "code"
highlight_language = "text"
smartquotes_action = "qe"  # quotes and points, and the dashes of options as they are

myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# What users call on a method; everything else that `Method` declares is for its neighbours.
CALLED = {
    "copy",
    "fit",
    "fit_transform",
    "get_feature_names_out",
    "get_params",
    "set_output",
    "set_params",
    "transform",
}


def left_out(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Whether autodoc passes over a member: None leaves the answer to autodoc."""
    return True if hasattr(Method, name) and name not in CALLED else None


def setup(app: Any) -> None:
    app.connect("autodoc-skip-member", left_out)


sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 3600,
    "image_srcset": ["2x"],
    "matplotlib_animations": False,
    "remove_config_comments": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "Hedgerow"
html_static_path = ["_static"]
html_css_files = ["hedgerow.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Hedgerow"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "start": []}
