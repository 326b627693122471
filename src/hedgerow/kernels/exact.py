"""Exact sums of scaled numbers: the same in any row order and on any engine.

A column is scaled to [0, 1] by its minimum and maximum, rounded to units of
2^-30 and centred at its rounded mean. Sums of these integers, and of their
squares in two limbs, are exact in 64 bits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

UNIT_BITS = 30


class Scale(NamedTuple):
    """How a column was scaled: value = low + span * (unit + middle) / 2^30."""

    units: npt.NDArray[np.int32]
    """Centred units of every distinct value, and 0 for the missing code at the end."""
    middle: int
    low: float
    span: float


def scale(values: npt.NDArray[np.float64], counts: npt.NDArray[np.int64]) -> Scale:
    """Scale a column given by its ascending distinct values and how often each occurs.

    Parameters
    ----------
    values : float64 array of shape (d,), ascending, finite
    counts : int64 array of shape (d,)

    Examples
    --------
    >>> scale(np.array([0.0, 1.0]), np.array([1, 1])).units.tolist()
    [-536870912, 536870912, 0]
    """
    low = float(values[0])
    half = float(values[-1]) / 2 - low / 2  # halves: the span of two huge doubles may overflow
    if half <= 0.0:
        return Scale(np.zeros(len(values) + 1, np.int32), 0, low, 0.0)
    units = np.rint((values / 2 - low / 2) / half * (1 << UNIT_BITS)).astype(np.int64)
    known = int(counts.sum())
    total = int(units @ counts)  # at most n * 2^30
    middle = (2 * total + known) // (2 * known)
    return Scale(np.append(units - middle, 0).astype(np.int32), middle, low, 2 * half)


class Moments(NamedTuple):
    """Exact sums per group: count of known values, sum, and sum of squares as high * 2^30 + low."""

    n: npt.NDArray[np.int64]
    total: npt.NDArray[np.int64]
    high: npt.NDArray[np.int64]
    low: npt.NDArray[np.int64]

    @property
    def square(self) -> npt.NDArray[np.float64]:
        """Sum of squares as doubles."""
        return np.asarray(self.high * float(1 << UNIT_BITS) + self.low, np.float64)


@njit(cache=True, nogil=True)
def _moments(group, codes, units, missing, n, total, high, low):  # type: ignore[no-untyped-def]
    for i in range(group.shape[0]):
        code = codes[i]
        if code == missing:
            continue
        g = group[i]
        u = np.int64(units[code])
        n[g] += 1
        total[g] += u
        high[g] += (u * u) >> UNIT_BITS
        low[g] += (u * u) & ((1 << UNIT_BITS) - 1)


def moments(
    group: npt.NDArray[np.uint32],
    n_groups: int,
    codes: npt.NDArray[np.unsignedinteger],
    units: npt.NDArray[np.int32],
) -> Moments:
    """Exact moments of a scaled column in every group; the last unit is the missing code's."""
    made = Moments(*(np.zeros(n_groups, np.int64) for _ in range(4)))
    _moments(group, codes, units, len(units) - 1, *made)
    return made


@njit(cache=True, nogil=True)
def _cross(group, a, b, high, low):  # type: ignore[no-untyped-def]
    for i in range(group.shape[0]):
        product = np.int64(a[i]) * np.int64(b[i])
        high[group[i]] += product >> UNIT_BITS
        low[group[i]] += product & ((1 << UNIT_BITS) - 1)


def cross_products(
    group: npt.NDArray[np.uint32], n_groups: int, a: npt.NDArray[np.int32], b: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Exact sums of products per group as (high, low) limbs of 30 bits."""
    high, low = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    _cross(group, np.ascontiguousarray(a), np.ascontiguousarray(b), high, low)
    return high, low
