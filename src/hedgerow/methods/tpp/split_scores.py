"""Scores that are functions of the record partition alone, and the best of some splits by them.

Builder contract B1: class counts and response sums are integers; entropy uses an
integer table of x log2 x; the two sides of a split enter symmetrically. So the
score has the same bits whatever the order of records or categories.
"""

from __future__ import annotations

from math import frexp

import numpy as np

from ...kernels import Bools, Floats, Ints, Ints32
from ...kernels.compiled import checked

ENTROPY, GINI, RATIO, VARIANCE = range(4)
CRITERIA = {"entropy": ENTROPY, "gini": GINI, "gain_ratio": RATIO, "variance": VARIANCE}


def xlogx(n: int) -> Ints:
    """Return x log2 x for x = 0..n as integers, so that sums of it are exact.

    The scale is the largest power of two that keeps n log2 n below 2**52.
    """
    x = np.arange(n + 1, dtype=np.float64)
    x[1:] *= np.log2(x[1:])
    x[0] = 0.0
    return np.rint(np.ldexp(x, xlogx_shift(n))).astype(np.int64)


def xlogx_shift(n: int) -> int:
    """Return the exponent s of the scale 2**s that `xlogx` uses."""
    return 52 - frexp(max(n, 2) * float(np.log2(max(n, 2))))[1]


@checked
def gain_of(left: Ints, total: Ints, table: Ints, criterion: int) -> float:
    """Return the gain of a split from integer statistics; -1 if both sides have the same distribution.

    The statistics are class counts, or (n, sum) of a numeric response.
    """
    if criterion == VARIANCE:
        nl, n = left[0], total[0]
        nr = n - nl
        sl, s = left[1], total[1]
        sr = s - sl
        # Equal means, exactly: compare quotients, then remainders crosswise.
        if sl // nl == sr // nr and (sl % nl) * nr == (sr % nr) * nl:
            return -1.0
        a, b, c = float(sl), float(sr), float(s)
        return (a * a / nl + b * b / nr) - c * c / n
    k = len(total)
    nl, n = 0, 0
    for i in range(k):
        nl += left[i]
        n += total[i]
    nr = n - nl
    # Sides that are distributed alike gain nothing, whatever rounding says.
    differ = False
    for i in range(k):
        if left[i] * nr != (total[i] - left[i]) * nl:
            differ = True
            break
    if not differ:
        return -1.0
    if criterion == GINI:
        a, b, c = 0, 0, 0
        for i in range(k):
            r = total[i] - left[i]
            a += left[i] * left[i]
            b += r * r
            c += total[i] * total[i]
        return (float(a) / nl + float(b) / nr) - float(c) / n
    gain = table[n] - table[nl] - table[nr]
    for i in range(k):
        gain += table[left[i]] + table[total[i] - left[i]] - table[total[i]]
    return float(gain) if criterion == ENTROPY else float(gain) / float(table[n] - table[nl] - table[nr])


@checked
def histogram(codes: Ints32, y: Ints, w: Ints, rows: Ints32, n_values: int, width: int, criterion: int) -> Ints:
    """Return the statistics of each value over some rows, shape (n_values, width): class counts, or (n, sum)."""
    hist = np.zeros((n_values, width), np.int64)
    if criterion == VARIANCE:
        for i in rows:
            hist[codes[i], 0] += w[i]
            hist[codes[i], 1] += w[i] * y[i]
    else:
        for i in rows:
            hist[codes[i], y[i]] += w[i]
    return hist


@checked
def gains(hist: Ints, total: Ints, table: Ints, criterion: int, min_leaf: int, is_running: bool) -> tuple[Floats, Ints]:
    """Return the gain of every split, and the number of records in every row of `hist`.

    Split i has the statistics hist[i] on its left side, or hist[0] + ... + hist[i] if `is_running`.
    The gain is -1 if hist[i] has no records, a side is too small, or both sides have the same
    distribution.
    """
    out, sizes = np.full(len(hist), -1.0), np.zeros(len(hist), np.int64)
    width = hist.shape[1]
    left = np.zeros(width, np.int64)
    n = total[0] if criterion == VARIANCE else total.sum()
    nl = 0
    for i in range(len(hist)):
        if not is_running:
            left[:] = 0
            nl = 0
        size = 0
        for j in range(width):
            left[j] += hist[i, j]
            size += hist[i, j]
        if criterion == VARIANCE:
            size = hist[i, 0]
        sizes[i] = size
        nl += size
        # A value that is absent would repeat the split before it.
        if size > 0 and nl >= min_leaf and n - nl >= min_leaf:
            out[i] = gain_of(left, total, table, criterion)
    return out, sizes


def best_of(gains: Floats, lefts: Ints, total: Ints) -> tuple[Ints, Bools, bool]:
    """Return the splits of categories with the largest gain; ties go to the smallest statistics on the left.

    A split is oriented by statistics: the smaller vector goes left. Of equal gains
    the smaller left vector wins.

    Returns
    -------
    best : array of int
        The splits with the largest gain and the smallest left vector.
    is_turned : array of bool
        Whether the two sides of each of these splits are swapped.
    is_even : bool
        Whether both sides have equal statistics.
    """
    best = np.flatnonzero(gains == gains.max())
    sides = list(zip(lefts[best].tolist(), (total - lefts[best]).tolist(), strict=True))
    smaller = [min(pair) for pair in sides]
    least = min(smaller)
    ties = np.array([side == least for side in smaller])
    # Labels change in the release and statistics do not, so these decide what goes left.
    return best[ties], np.array([left > right for left, right in sides])[ties], (least, least) in sides
