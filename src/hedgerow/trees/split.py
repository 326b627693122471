"""The best admissible split of one node, column by column.

A column's histogram (one statistics vector per code) goes in. Candidates are
scored first and asked for admission only when they beat the best so far. Ties,
to a relative 1e-9, keep the earlier column and the smaller threshold.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..kernels.bits import trailing_zeros
from .statistics import admissible, gain_of

TIE = 1e-9
EXHAUSTIVE = 10
"""Up to so many present categories, all binary subsets are tried."""
AXIS_STEPS = 30


@njit(cache=True, nogil=True)
def _wins(left, total, best, right, t):  # type: ignore[no-untyped-def]
    """The gain when the candidate beats `best` and both sides are admitted, else 0."""
    gain = gain_of(left, total, t)
    if gain > best * (1.0 + TIE) and gain > 0.0 and admissible(left, t):
        for i in range(total.shape[0]):
            right[i] = total[i] - left[i]
        if admissible(right, t):
            return gain
    return 0.0


@njit(cache=True, nogil=True)
def numeric_split(hist, present, m, missing, total, best, t, left, right, choice, winner):  # type: ignore[no-untyped-def]
    """Thresholds between neighbouring codes; missing values try both sides.

    `present` holds the m codes that occur, ascending; `missing` is the missing
    code when it occurs, else -1. `choice` gets (last code left, first code
    right, missing goes left), `winner` the statistics of the left side.
    Returns the best gain.
    """
    size = total.shape[0]
    for missing_left in range(1, -1, -1) if missing >= 0 else range(1):
        for i in range(size):
            left[i] = hist[missing, i] if missing_left else 0
        for k in range(m - 1):
            for i in range(size):
                left[i] += hist[present[k], i]
            if left[0] < t.min_leaf:
                continue
            if total[0] - left[0] < t.min_leaf:
                break
            gain = _wins(left, total, best, right, t)
            if gain > 0.0:
                best = gain
                choice[0] = present[k]
                choice[1] = present[k + 1]
                choice[2] = missing_left
                for i in range(size):
                    winner[i] = left[i]
    return best


@njit(cache=True, nogil=True, inline="always")
def plain_numeric_split(hist, present, m, total, best, t, choice, winner):  # type: ignore[no-untyped-def]
    """`numeric_split` for one or two numeric responses, nothing missing: sums stay in registers.

    Inlined, since passing the arguments costs as much as a small node's work.
    """
    size = total.shape[0]
    two = t.r == 2
    capped = t.squares >= 0
    n, s, u = total[0], total[1], total[2] if two else 0
    wa, wb = t.weight[0], t.weight[1] if two else 0.0
    unit = 2.0**t.shift
    ca, cb = t.cap[0] * unit, t.cap[1] * unit if two else 0.0
    fs = fu = ls2 = lu2 = 0
    if capped:
        fs, fu = total[t.squares], total[t.squares + 1] if two else 0
    nl = ls = lu = 0
    bar = best * (1.0 + TIE)
    at = -1
    for k in range(m - 1):
        row = present[k]
        nl += hist[row, 0]
        ls += hist[row, 1]
        if two:
            lu += hist[row, 2]
        if capped:
            ls2 += hist[row, t.squares]
            if two:
                lu2 += hist[row, t.squares + 1]
        if nl < t.min_leaf:
            continue
        if n - nl < t.min_leaf:
            break
        fl, fr = float(nl), float(n - nl)
        a, b = float(ls), float(s - ls)
        c, d = float(lu), float(u - lu)
        da, db = a * fr - b * fl, c * fr - d * fl
        top, bottom = wa * da * da + wb * db * db, float(n) * fl * fr
        if top > bar * bottom and top > 0.0:
            if capped and not (
                a * a <= ca * fl * float(ls2)
                and b * b <= ca * fr * float(fs - ls2)
                and (
                    not two
                    or (c * c <= cb * fl * float(lu2) and d * d <= cb * fr * float(fu - lu2))
                )
            ):
                continue
            best = top / bottom
            bar = best * (1.0 + TIE)
            at = k
    if at >= 0:
        choice[0] = present[at]
        choice[1] = present[at + 1]
        choice[2] = 0
        for i in range(size):
            winner[i] = 0
        for k in range(at + 1):
            for i in range(size):
                winner[i] += hist[present[k], i]
    return best


@njit(cache=True, nogil=True)
def subset_split(hist, present, m, total, best, t, left, right, goes_left, winner):  # type: ignore[no-untyped-def]
    """Binary subsets of the m present categories: all of them, or cuts of a few orders.

    `goes_left[code]` is set for the winner's left categories, `winner` to the
    statistics of its left side. Returns the best gain.
    """
    size = total.shape[0]
    if m <= EXHAUSTIVE:
        left[:] = 0
        mask = np.uint64(0)
        for g in range(1, 1 << (m - 1)):  # Gray code: one category changes side at each step
            bit = trailing_zeros(np.uint64(g))
            mask ^= np.uint64(1) << np.uint64(bit)
            row = present[bit]
            if (mask >> np.uint64(bit)) & np.uint64(1):
                for i in range(size):
                    left[i] += hist[row, i]
            else:
                for i in range(size):
                    left[i] -= hist[row, i]
            if left[0] < t.min_leaf or total[0] - left[0] < t.min_leaf:
                continue
            gain = _wins(left, total, best, right, t)
            if gain > 0.0:
                best = gain
                for k in range(m):
                    goes_left[present[k]] = (mask >> np.uint64(k)) & np.uint64(1)
                for i in range(size):
                    winner[i] = left[i]
        return best
    means = _category_means(hist, present, m, total, t)
    n_channels = means.shape[1]
    key = np.empty(m)
    for order in range(n_channels + 1):
        if order < n_channels:
            key[:] = means[:, order]
        elif n_channels > 1:
            _principal_axis(hist, present, m, means, key)
        else:
            break
        sequence = np.argsort(key, kind="mergesort")
        left[:] = 0
        for k in range(m - 1):
            row = present[sequence[k]]
            for i in range(size):
                left[i] += hist[row, i]
            if left[0] < t.min_leaf:
                continue
            if total[0] - left[0] < t.min_leaf:
                break
            gain = _wins(left, total, best, right, t)
            if gain > 0.0:
                best = gain
                for i in range(m):
                    goes_left[present[sequence[i]]] = i <= k
                for i in range(size):
                    winner[i] = left[i]
    return best


@njit(cache=True, nogil=True)
def _category_means(hist, present, m, total, t):  # type: ignore[no-untyped-def]
    """Weighted, centred means of every response (classes as indicators), one row a category."""
    r = t.r
    n_channels = r
    for j in range(t.weight.shape[0] - r):
        if t.weight[r + j] > 0.0:
            n_channels += t.starts[j + 1] - t.starts[j]
    means = np.zeros((m, n_channels))
    for k in range(m):
        row = hist[present[k]]
        for j in range(r):
            at = t.missing_at[j]
            known = row[0] - row[at] if at > 0 else row[0]
            known_all = total[0] - total[at] if at > 0 else total[0]
            if known > 0:
                apart = float(row[1 + j]) / known - float(total[1 + j]) / known_all
                means[k, j] = apart * np.sqrt(t.weight[j])
        at = r
        for j in range(t.weight.shape[0] - r):
            if t.weight[r + j] > 0.0:
                for c in range(t.starts[j], t.starts[j + 1]):
                    apart = float(row[c]) / row[0] - float(total[c]) / total[0]
                    means[k, at] = apart * np.sqrt(t.weight[r + j])
                    at += 1
    return means


@njit(cache=True, nogil=True)
def _principal_axis(hist, present, m, means, key):  # type: ignore[no-untyped-def]
    """Scores of the categories on the first principal axis of their scatter (power steps)."""
    d = means.shape[1]
    scatter = np.zeros((d, d))
    for k in range(m):
        n = hist[present[k], 0]
        for a in range(d):
            for b in range(d):
                scatter[a, b] += n * means[k, a] * means[k, b]
    axis = np.zeros(d)
    widest = 0
    for a in range(1, d):
        if scatter[a, a] > scatter[widest, widest]:
            widest = a
    axis[widest] = 1.0
    for _ in range(AXIS_STEPS):
        moved = np.zeros(d)
        norm = 0.0
        for a in range(d):
            for b in range(d):
                moved[a] += scatter[a, b] * axis[b]
            norm += moved[a] ** 2
        if norm <= 0.0:
            break
        axis = moved / np.sqrt(norm)
    for k in range(m):
        score = 0.0
        for a in range(d):
            score += means[k, a] * axis[a]
        key[k] = score
