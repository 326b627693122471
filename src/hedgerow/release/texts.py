"""What releases and audits say to people: sentences and paragraphs from the ``texts.toml`` of each folder."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

FOLDERS = ("release", "audit")


@cache
def texts(folder: str = "") -> dict[str, dict[str, Any]]:
    """Return all texts of a folder, by group and key; by default those of every folder."""
    if not folder:
        return {group: table for each in FOLDERS for group, table in texts(each).items()}
    return tomllib.loads(resources.files("hedgerow").joinpath(folder, "texts.toml").read_text("utf-8"))


def text(group: str, key: str, /, **values: Any) -> str:
    """Return a text of a group in ``texts.toml``; `values` fill its placeholders.

    Examples
    --------
    >>> text("caution", "larger_k", enough=1200)
    'k of at least 1,200'
    """
    words: str = texts()[group][key]
    return words.format(**values)


def refusal(key: str, /, **values: Any) -> dict[str, str]:
    """Return the message and the hint of an error, for `HedgerowError(**refusal(...))`.

    Examples
    --------
    >>> refusal("no_quasi_identifier", names="income", columns="age, job")
    {'message': 'income: no quasi-identifier', 'hint': 'these are age, job'}
    """
    return {part: words.format(**values) for part, words in texts()["error"][key].items()}
