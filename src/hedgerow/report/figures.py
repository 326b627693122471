"""Single figures of an audit as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

WIDE = 54
"""How wide the names of figures are that stand beside the original's and the release's."""


def percent(value: float | None) -> str:
    """A share as text; one that is small is not told as none.

    Examples
    --------
    >>> percent(0.125), percent(0.00033), percent(0.0)
    ('12.5%', '0.033%', '0.0%')
    """
    if value is None:
        return "-"
    return f"{100 * value:.2g}%" if 0 < value < 0.0005 else f"{100 * value:.1f}%"


def count(value: float | None) -> str:
    """A number of people, which may be a mean, as text."""
    return "-" if value is None else f"{value:,.1f}"


def at(side: Mapping[str, Any] | None, *path: str) -> Any:
    """A figure of the original; None where no original was measured."""
    for key in path:
        side = None if side is None else side.get(key)
    return side
