"""What a release says to people: sentences and paragraphs from ``texts.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def texts() -> dict[str, dict[str, str]]:
    """Return all texts, by group and key."""
    return tomllib.loads(resources.files(__package__).joinpath("texts.toml").read_text("utf-8"))


def text(group: str, key: str, /, **values: Any) -> str:
    """Return a text of a group in ``texts.toml``; `values` fill its placeholders.

    Examples
    --------
    >>> text("caution", "larger_k", enough=1200)
    'k of at least 1,200'
    """
    return texts()[group][key].format(**values)
