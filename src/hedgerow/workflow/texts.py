"""The texts of ``texts.toml``, by group and key."""

from __future__ import annotations

import tomllib
from importlib import resources

TEXTS: dict[str, dict[str, str]] = tomllib.loads(
    resources.files(__package__).joinpath("texts.toml").read_text("utf-8")
)
