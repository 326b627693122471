"""Agreement patterns of all pairs of records, counted and never stored."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@njit(cache=True, nogil=True)
def _patterns(originals: Floats, row: Floats, within: float, out: NDArray[np.uint32]) -> None:
    """Bit c of ``out[i]``: attribute c of original i lies within reach of `row`."""
    out[:] = 0
    for c in range(row.size):
        q, bit, column = row[c], np.uint32(1 << c), originals[c]
        for i in range(out.size):
            if abs(column[i] - q) <= within:
                out[i] |= bit


@njit(cache=True, nogil=True)
def count_patterns(originals: Floats, masked: Floats, within: float) -> NDArray[np.int64]:
    """How many pairs show each agreement pattern.

    Parameters
    ----------
    originals : array, shape (d, n)
        One attribute a row.
    masked : array, shape (m, d)
    within : float
        Largest difference that still agrees.

    Returns
    -------
    array of int, shape (2**d,)
    """
    m, d = masked.shape
    counts = np.zeros(1 << d, np.int64)
    patterns = np.empty(originals.shape[1], np.uint32)
    for row in range(m):
        _patterns(originals, masked[row], within, patterns)
        for i in range(patterns.size):
            counts[patterns[i]] += 1
    return counts


@njit(cache=True, nogil=True)
def link_patterns(
    originals: Floats, masked: Floats, own: NDArray[np.int64], within: float, weights: Floats
) -> Floats:
    """The share of its best links that each masked record has on its own original.

    Parameters
    ----------
    originals, masked, within
        As for `count_patterns`.
    own : array of int, shape (m,)
        The original that belongs to each masked record.
    weights : array, shape (2**(d + 1),)
        Link weight of pattern p over the first j attributes, at ``2**j + p``.

    Returns
    -------
    array, shape (m, d)
        For the first 1, ..., d attributes: 1/t when the own original is among the
        t originals of the largest weight, else 0.
    """
    m, d = masked.shape
    credit = np.zeros((m, d))
    patterns = np.empty(originals.shape[1], np.uint32)
    count, seen = np.zeros(1 << d, np.int64), np.empty(1 << d, np.uint32)
    for row in range(m):
        _patterns(originals, masked[row], within, patterns)
        distinct = 0
        for i in range(patterns.size):
            p = patterns[i]
            if count[p] == 0:
                seen[distinct] = p
                distinct += 1
            count[p] += 1
        mine = patterns[own[row]]
        for j in range(1, d + 1):
            size = np.uint32(1 << j)
            low = np.uint32(size - 1)
            best, ties = weights[size + (mine & low)], 0
            for s in range(distinct):
                weight = weights[size + (seen[s] & low)]
                if weight > best:
                    ties = -1
                    break
                if weight == best:
                    ties += count[seen[s]]
            if ties > 0:
                credit[row, j - 1] = 1.0 / ties
        for s in range(distinct):
            count[seen[s]] = 0
    return credit


@njit(cache=True, nogil=True)
def estimate(
    bits: NDArray[np.uint32],
    counts: Floats,
    attributes: int,
    start: float,
    steps: int,
    change: float,
) -> tuple[Floats, Floats]:
    """Fellegi and Sunter's m and u by EM on pattern counts.

    Parameters
    ----------
    bits : array of uint32, shape (patterns,)
        The patterns that occur; bit c says that attribute c agrees.
    counts : array, shape (patterns,)
        Pairs of each pattern.
    attributes : int
    start : float
        First guess of the share of pairs that belong together.
    steps : int
        Most rounds.
    change : float
        Stop when no probability moves by more.
    """
    p, m, u = start, np.full(attributes, 0.9), np.full(attributes, 0.1)
    total = counts.sum()
    for _ in range(steps):
        matched, agree_m, agree_u = 0.0, np.zeros(attributes), np.zeros(attributes)
        for i in range(bits.size):
            a, b = p, 1.0 - p
            for c in range(attributes):
                if bits[i] >> np.uint32(c) & np.uint32(1):
                    a *= m[c]
                    b *= u[c]
                else:
                    a *= 1.0 - m[c]
                    b *= 1.0 - u[c]
            mine = counts[i] * a / max(a + b, 1e-300)
            matched += mine
            for c in range(attributes):
                if bits[i] >> np.uint32(c) & np.uint32(1):
                    agree_m[c] += mine
                    agree_u[c] += counts[i] - mine
        p = matched / total
        moved = 0.0
        for c in range(attributes):
            new_m = min(max(agree_m[c] / max(matched, 1e-300), 1e-6), 1.0 - 1e-6)
            new_u = min(max(agree_u[c] / max(total - matched, 1e-300), 1e-6), 1.0 - 1e-6)
            moved = max(moved, abs(new_m - m[c]), abs(new_u - u[c]))
            m[c], u[c] = new_m, new_u
        if moved < change:
            break
    return m, u
