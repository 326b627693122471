"""Read the texts in TOML files next to the code, and fill in the placeholders in those of releases and audits."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

FOLDERS = ("release", "audit")


@cache
def read_toml(package: str, name: str) -> dict[str, Any]:
    """Return the data of a TOML file next to a package's code; callers share it and must not change it."""
    return tomllib.loads(resources.files(package).joinpath(name).read_text("utf-8"))


@cache
def texts() -> dict[str, dict[str, Any]]:
    """Return the texts of releases and audits, by group and key."""
    files = [read_toml(f"hedgerow.{folder}", "texts.toml") for folder in FOLDERS]
    return {group: table for file in files for group, table in file.items()}


def text(group: str, key: str, /, **values: Any) -> str:
    """Return one of the `texts`; `values` fill its placeholders.

    Examples
    --------
    >>> text("caution", "larger_k", enough=1200)
    'k of at least 1,200'
    """
    return str(texts()[group][key]).format(**values)


def refusal(key: str, /, **values: Any) -> dict[str, str]:
    """Return the message and the hint of an error, for `HedgerowError(**refusal(...))`.

    Examples
    --------
    >>> refusal("no_quasi_identifier", names="income", columns="age, job")
    {'message': 'income: no quasi-identifier', 'hint': 'these are age, job'}
    """
    return {part: words.format(**values) for part, words in texts()["error"][key].items()}
