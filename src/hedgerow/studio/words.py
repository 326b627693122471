"""The words of ``words.toml``, by group and key."""

from __future__ import annotations

from typing import Any

from ..texts import read_toml

WORDS: dict[str, dict[str, Any]] = read_toml(__package__, "words.toml")
