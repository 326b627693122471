"""The words of ``words.toml``, by group and key."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

WORDS: dict[str, dict[str, Any]] = tomllib.loads(
    resources.files(__package__).joinpath("words.toml").read_text("utf-8")
)
