"""Parameters that the masking methods check alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError


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


def check_whole(name: str, value: Any, least: int) -> int:
    """A whole number of at least `least`, else ParameterError."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}")
    return int(value)


def check_share(name: str, value: Any, *, zero: bool = False) -> float:
    """A number in (0, 1], or in [0, 1] with `zero`, else ParameterError."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not (0 <= value <= 1) or (value == 0 and not zero):
        raise ParameterError(f"{name} must be a number from {'0' if zero else 'above 0'} to 1")
    return float(value)
