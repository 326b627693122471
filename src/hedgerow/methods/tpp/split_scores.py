"""Scores that are functions of the record partition alone, and the scans that use them.

Builder contract B1: class counts and response sums are integers; entropy uses an
integer table of x log2 x; the two sides of a split enter symmetrically. So the
score has the same bits whatever the order of records or categories.
"""

from __future__ import annotations

from math import frexp

import numpy as np
from numpy.typing import NDArray

from ...kernels.compiled import checked

ENTROPY, GINI, RATIO, VARIANCE = range(4)
CRITERIA = {"entropy": ENTROPY, "gini": GINI, "gain_ratio": RATIO, "variance": VARIANCE}


def xlogx(n: int) -> NDArray[np.int64]:
    """Return x log2 x for x = 0..n as integers, so that sums of it are exact.

    The scale is the largest power of two that keeps n log2 n below 2**52.
    """
    x = np.arange(n + 1, dtype=np.float64)
    x[1:] *= np.log2(x[1:])
    x[0] = 0.0
    return np.rint(np.ldexp(x, xlogx_shift(n))).astype(np.int64)


def xlogx_shift(n: int) -> int:
    """Return the binary exponent of the scale of `xlogx`."""
    return 52 - frexp(max(n, 2) * float(np.log2(max(n, 2))))[1]


@checked
def gain_of(
    left: NDArray[np.int64], total: NDArray[np.int64], table: NDArray[np.int64], criterion: int
) -> float:
    """Return the gain of a split from integer statistics; -1 when the sides do not differ.

    Statistics of classes are the counts; of a numeric response (n, sum).
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
    if criterion == ENTROPY:
        return float(gain)
    return float(gain) / float(table[n] - table[nl] - table[nr])


@checked
def histogram(
    codes: NDArray[np.int32],
    y: NDArray[np.int64],
    w: NDArray[np.int64],
    n_values: int,
    width: int,
    criterion: int,
) -> NDArray[np.int64]:
    """Return the statistics per value: class counts, or (n, sum)."""
    hist = np.zeros((n_values, width), np.int64)
    if criterion == VARIANCE:
        for i in range(len(codes)):
            hist[codes[i], 0] += w[i]
            hist[codes[i], 1] += w[i] * y[i]
    else:
        for i in range(len(codes)):
            hist[codes[i], y[i]] += w[i]
    return hist


@checked
def scan_numeric(
    hist: NDArray[np.int64],
    total: NDArray[np.int64],
    table: NDArray[np.int64],
    criterion: int,
    min_leaf: int,
) -> tuple[float, int, int]:
    """Return the best cut between neighbouring present values: gain, and the ranks on its sides.

    Ties go to the lowest threshold. Gain -1 when no cut is admissible.
    """
    width = hist.shape[1]
    left = np.zeros(width, np.int64)
    n = total[0] if criterion == VARIANCE else total.sum()
    nl = 0
    best, lo, hi, last = -1.0, -1, -1, -1
    for v in range(hist.shape[0]):
        if criterion == VARIANCE:
            size = hist[v, 0]
        else:
            size = 0
            for i in range(width):
                size += hist[v, i]
        if size == 0:
            continue
        if last >= 0 and nl >= min_leaf and n - nl >= min_leaf:
            gain = gain_of(left, total, table, criterion)
            if gain > best:
                best, lo, hi = gain, last, v
        for i in range(width):
            left[i] += hist[v, i]
        nl += size
        last = v
        if n - nl < min_leaf:
            break
    return best, lo, hi


@checked
def _before(a: NDArray[np.int64], b: NDArray[np.int64]) -> int:
    """Return -1, 0 or 1 as statistics a come before, with or after b."""
    for i in range(len(a)):
        if a[i] != b[i]:
            return -1 if a[i] < b[i] else 1
    return 0


@checked
def scan_subsets(
    hist: NDArray[np.int64],
    masks: NDArray[np.uint64],
    total: NDArray[np.int64],
    table: NDArray[np.int64],
    criterion: int,
    min_leaf: int,
) -> tuple[float, np.uint64, bool]:
    """Return the best of some subsets of present categories: gain, left subset, tied.

    `hist` holds the present categories in their order, bit j of a mask is
    category j. A split is oriented by statistics: the smaller vector goes left.
    Equal gains go to the smaller left vector. When the vectors are equal too,
    the category order decides, and `tied` tells that labels had a say.
    """
    p, width = hist.shape
    n = total[0] if criterion == VARIANCE else total.sum()
    everything = np.uint64((1 << p) - 1) if p < 64 else np.uint64(0xFFFFFFFFFFFFFFFF)
    best, best_mask, tied = -1.0, np.uint64(0), False
    best_left = np.zeros(width, np.int64)
    left = np.zeros(width, np.int64)
    for m in range(len(masks)):
        mask = masks[m]
        left[:] = 0
        for j in range(p):
            if (mask >> np.uint64(j)) & np.uint64(1):
                for i in range(width):
                    left[i] += hist[j, i]
        nl = left[0] if criterion == VARIANCE else left.sum()
        if nl < min_leaf or n - nl < min_leaf:
            continue
        gain = gain_of(left, total, table, criterion)
        if gain < 0 or gain < best:
            continue
        right = total - left
        side = _before(left, right)
        even = side == 0
        if side > 0 or (even and mask & np.uint64(1) == 0):
            mask = everything ^ mask
            left[:] = right
        order = -1 if gain > best else _before(left, best_left)
        if order < 0:
            best, best_mask, tied = gain, mask, even
            best_left[:] = left
        elif order == 0 and mask != best_mask:
            tied = True
            # The first category in which the two subsets differ goes left.
            differ = mask ^ best_mask
            lowest = differ & (~differ + np.uint64(1))
            if mask & lowest:
                best_mask = mask
    return best, best_mask, tied


@checked
def scan_single(
    hist: NDArray[np.int64],
    alone: NDArray[np.bool_],
    total: NDArray[np.int64],
    table: NDArray[np.int64],
    criterion: int,
    min_leaf: int,
) -> tuple[float, int, bool, bool]:
    """Return the best category against the rest: gain, its rank, whether it goes left, tied.

    Orientation and ties as in `scan_subsets`; only categories with `alone` may stand alone.
    """
    p, width = hist.shape
    n = total[0] if criterion == VARIANCE else total.sum()
    best, best_j, best_side, tied = -1.0, -1, True, False
    best_left = np.zeros(width, np.int64)
    for j in range(p):
        nj = hist[j, 0] if criterion == VARIANCE else hist[j].sum()
        if not alone[j] or nj < min_leaf or n - nj < min_leaf or nj == n:
            continue
        gain = gain_of(hist[j], total, table, criterion)
        if gain < 0 or gain < best:
            continue
        rest = total - hist[j]
        side = _before(hist[j], rest)
        left = hist[j] if side <= 0 else rest
        order = -1 if gain > best else _before(left, best_left)
        if order < 0:
            best, best_j, best_side, tied = gain, j, side <= 0, side == 0
            best_left[:] = left
        elif order == 0:
            tied = True
    return best, best_j, best_side, tied
