"""Exact sums of scaled numbers: the same in any row order and on any engine.

A column is scaled to [0, 1] by its minimum and maximum, rounded to units of
2^-30 and centred at its rounded mean. Sums of these integers, and of their
squares in two limbs, are exact in 64 bits.
"""

from __future__ import annotations

import math

import numpy as np

from . import Floats, Ints, Ints32
from .compiled import checked, inlined

# A sum of units over 2^33 rows fits 64 bits; a product of two units fits 60 bits and so splits into
# two limbs whose sums fit as well.
UNIT_BITS = 30
_EPS = float(np.finfo(np.float64).eps)


def scale(values: Floats, counts: Ints) -> Ints32:
    """Return the centred units of a column's values, and 0 for the missing code at the end.

    Parameters
    ----------
    values : float64 array of shape (d,), ascending, finite
        The distinct values.
    counts : int64 array of shape (d,)
        How often each occurs.

    Examples
    --------
    >>> scale(np.array([0.0, 1.0]), np.array([1, 1])).tolist()
    [-536870912, 536870912, 0]
    """
    low = float(values[0])
    half = float(values[-1]) / 2 - low / 2  # halves: the span of two huge doubles may overflow
    if half <= 0.0:
        return np.zeros(len(values) + 1, np.int32)
    units = np.rint((values / 2 - low / 2) / half * (1 << UNIT_BITS)).astype(np.int64)
    n_known = int(counts.sum())
    total = int(units @ counts)  # at most n * 2^30
    # the rounded mean, in integers of any size
    middle = (2 * total + n_known) // (2 * n_known)
    return np.append(units - middle, 0).astype(np.int32)


@inlined
def _product(v: float, m: float) -> tuple[float, float]:
    """Return the product of two doubles and what its rounding lost."""
    split = 134217729.0  # 2^27 + 1: cuts a double into two of 26 bits (Veltkamp)
    upper = v * split - (v * split - v)
    many = m * split - (m * split - m)
    product = v * m
    low = (upper * many - product) + upper * (m - many) + (v - upper) * many
    return product, low + (v - upper) * (m - many)


@checked
def _mean(values: Floats, counts: Ints) -> tuple[float, float]:
    """Return the mean of values in [-1, 1] and its rounding error, computed with twice a double's digits."""
    total, lost, n = 0.0, 0.0, 0
    for i in range(values.shape[0]):
        product, low = _product(values[i], float(counts[i]))
        both = total + product
        # Knuth's sum of two: it gives what rounding lost, whichever of them is larger.
        part = both - total
        lost += (total - (both - part)) + (product - part) + low
        total = both
        n += counts[i]
    whole = total + lost
    lost += total - whole
    mean = whole / n
    product, low = _product(mean, float(n))
    return mean, ((whole - product) - low + lost) / n


@checked
def _deviations(values: Floats, counts: Ints) -> Floats:
    off = np.full(values.shape[0], np.nan)
    used = np.empty(values.shape[0], np.int64)
    n, largest, whole = 0, 0.0, True
    for i in range(values.shape[0]):
        if counts[i] > 0 and np.isfinite(values[i]):
            used[n] = i
            n += 1
            largest = max(largest, abs(values[i]))
            whole = whole and values[i] == np.rint(values[i])
    if n == 0:
        return off
    used = used[:n]
    # a power of two loses no digit, and giants cannot overflow
    down = -math.frexp(largest)[1]
    y, m = np.empty(n), np.empty(n, np.int64)
    for i in range(n):
        y[i] = math.ldexp(values[used[i]], down)
        m[i] = counts[used[i]]
    mean, rest = _mean(y, m)
    for i in range(n):
        d = (y[i] - mean) - rest
        # equal to the mean except for the rounding of decimals to doubles
        off[used[i]] = 0.0 if not whole and abs(d) <= _EPS * abs(y[i]) else d
    return off


def deviations(values: Floats, counts: Ints) -> Floats:
    """Return values less their mean, times the power of two that brings the values into [-1, 1].

    The mean is exact to twice the digits of a double: neither huge values that
    cancel each other nor values far from 0 round the others away.

    Parameters
    ----------
    values : float64 array of shape (d,)
        Values that are not finite are left out and become NaN.
    counts : int64 array of shape (d,)
        How often each occurs; values that never occur become NaN.

    Examples
    --------
    >>> deviations(np.array([2.0, 4.0, np.nan]), np.array([3, 1, 5])).tolist()
    [-0.0625, 0.1875, nan]
    """
    return np.asarray(_deviations(values, counts), np.float64)


@checked
def _total(values: Floats) -> float:
    total, lost = 0.0, 0.0
    for i in range(values.shape[0]):
        both = total + values[i]
        if abs(total) >= abs(values[i]):
            lost += (total - both) + values[i]
        else:
            lost += (values[i] - both) + total
        total = both
    return total + lost


def total(values: Floats) -> float:
    """Return the sum of doubles, with the accumulated rounding error added at the end (Neumaier).

    Examples
    --------
    >>> total(np.array([1.0, 1e100, 1.0, -1e100]))
    2.0
    """
    return float(_total(values))
