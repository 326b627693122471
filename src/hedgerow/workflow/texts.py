"""The texts of ``texts.toml``, by group and key."""

from __future__ import annotations

from ..texts import read_toml

TEXTS: dict[str, dict[str, str]] = read_toml(__package__, "texts.toml")
