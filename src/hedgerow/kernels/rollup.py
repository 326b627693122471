"""Merging groups of rows when their labels become coarser."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


@njit(cache=True, nogil=True)
def _merge(codes, lut, size, hist, first, sizes, hists, table, keys):  # type: ignore[no-untyped-def]
    mask = np.uint64(table.shape[0] - 1)
    n = 0
    for g in range(codes.shape[0]):
        key = np.uint64(0)
        for i in range(codes.shape[1]):
            key += lut[i, codes[g, i]]
        h = key * _MIX
        slot = (h ^ (h >> _SHIFT)) & mask
        while True:
            at = table[slot]
            if at < 0:
                at = n
                table[slot] = n
                keys[n] = key
                first[n] = g
                n += 1
                break
            if keys[at] == key:
                break
            slot = (slot + np.uint64(1)) & mask
        sizes[at] += size[g]
        for u in range(hist.shape[1]):
            hists[at, u] += hist[g, u]
    return n


Ints = NDArray[np.int64]


def merge_groups(
    codes: NDArray[np.uint32], lut: NDArray[np.uint64], size: Ints, hist: Ints
) -> tuple[Ints, Ints, Ints]:
    """Merge groups whose keys agree, summing sizes and counts.

    Parameters
    ----------
    codes : uint32 array of shape (g, m)
        Original codes of one row of each group.
    lut : uint64 array of shape (m, widest)
        What a code of column i adds to the key; keys are equal when labels are.
    size : int64 array of shape (g,)
        Rows per group.
    hist : int64 array of shape (g, u)
        Counts per group (u may be 0).

    Returns
    -------
    first : int64 array
        The first old group of each new group, in order of first appearance.
    size, hist : int64 arrays
        Sums over the merged groups.
    """
    g = len(codes)
    first, sizes = np.empty(g, np.int64), np.zeros(g, np.int64)
    hists = np.zeros((g, hist.shape[1]), np.int64)
    table = np.full(1 << max(2 * g - 1, 1).bit_length(), -1, np.int64)
    keys = np.empty(g, np.uint64)
    n = _merge(codes, lut, size, hist, first, sizes, hists, table, keys)
    return first[:n].copy(), sizes[:n].copy(), hists[:n].copy()
