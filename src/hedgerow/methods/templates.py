"""Texts that a method publishes beside its table: templates in the folder `templates`, filled in."""

from __future__ import annotations

from html import escape
from typing import Any

from ..notation import markdown


def render(name: str, **values: Any) -> str:
    """Return the text of a template with the values filled in; nothing is escaped but by its own filters."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("hedgerow.methods"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= {"markdown": markdown, "xml": escape, "repr": repr}
    return environment.get_template(name).render(values)
