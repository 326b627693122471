"""Single figures of an audit as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WIDE = 54
"""How wide the names of figures are that stand beside the original's and the release's."""


def count(value: float | None) -> str:
    """A number of people, which may be a mean, as text."""
    return "-" if value is None else f"{value:,.1f}"


def at(side: Mapping[str, Any] | None, *path: str) -> Any:
    """A figure of the original; None where no original was measured."""
    for key in path:
        side = None if side is None else side.get(key)
    return side
