"""Parameters that several methods check alike."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..table import Table


def check_clip(clip: Any) -> None:
    """ParameterError when `clip` is neither a bool nor an increasing pair of finite numbers."""
    if isinstance(clip, bool):
        return
    pair = isinstance(clip, (tuple, list)) and len(clip) == 2
    if (
        not pair
        or not all(isinstance(x, (int, float)) and np.isfinite(x) for x in clip)
        or clip[0] >= clip[1]
    ):
        raise ParameterError("clip must be True, False or two increasing numbers")


def is_number(value: Any) -> bool:
    """Whether a parameter is a number; a bool is none."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int, most: float = math.inf) -> int:
    """A whole number of at least `least` and at most `most`, else ParameterError."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not least <= value <= most:
        ends = f"of at least {least}" if most == math.inf else f"between {least} and {most:,}"
        raise ParameterError(f"{name} must be a whole number {ends}")
    return int(value)


def check_k(k: Any, table: Table, least: int = 2) -> int:
    """The size of a group, a whole number that the table has rows for, else ParameterError."""
    if check_whole("k", k, least) > table.n_rows:
        raise ParameterError(
            f"k is {k:,}, but the table has only {table.n_rows:,} rows",
            hint="ask for smaller groups",
        )
    return int(k)


def check_share(name: str, value: Any, *, zero: bool = False) -> float:
    """A number in (0, 1], or in [0, 1] with `zero`, else ParameterError."""
    if not is_number(value) or not (0 <= value <= 1) or (value == 0 and not zero):
        raise ParameterError(f"{name} must be a number from {'0' if zero else 'above 0'} to 1")
    return float(value)
