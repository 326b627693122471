"""Keyed 128-bit hashes of cells and rows, and their order-free sums.

A row is first the sum, over its columns, of what each column's own key makes of the cell
(two words modulo 2^64), then a hash of these two words under a key of its own. The second
step is what tells rows with swapped cells apart: without it their sums would be equal.
"""

from __future__ import annotations

import numpy as np

from .compiled import checked
from .siphash import C0, C1, C2, C3, block, finish_128, pair_128, word_128

_EE = np.uint64(0xEE)
_FF = np.uint64(0xFF)
_8, _56 = np.uint64(8), np.uint64(56)


@checked
def hash_words(words, k0, k1, first, second):  # type: ignore[no-untyped-def]
    """SipHash-2-4-128 of every 64-bit word, its halves into two arrays."""
    for i in range(words.shape[0]):
        first[i], second[i] = word_128(words[i], k0, k1)


@checked
def hash_texts(data, ends, k0, k1, first, second):  # type: ignore[no-untyped-def]
    """SipHash-2-4-128 of the byte strings ``data[ends[i]:ends[i + 1]]``."""
    for i in range(ends.shape[0] - 1):
        start, end = ends[i], ends[i + 1]
        v0, v1, v2, v3 = k0 ^ C0, k1 ^ C1 ^ _EE, k0 ^ C2, k1 ^ C3
        at = start
        while at + 8 <= end:
            m = np.uint64(0)
            for j in range(8):
                m |= np.uint64(data[at + j]) << np.uint64(8 * j)
            v0, v1, v2, v3 = block(v0, v1, v2, v3, m)
            at += 8
        m = (np.uint64(end - start) & _FF) << _56
        for j in range(end - at):
            m |= np.uint64(data[at + j]) << np.uint64(8 * j)
        v0, v1, v2, v3 = block(v0, v1, v2, v3, m)
        first[i], second[i] = finish_128(v0, v1, v2, v3)


@checked
def add_codes(codes, hash_first, hash_second, first, second):  # type: ignore[no-untyped-def]
    """Add the hashes of coded cells to their rows; the column's own sums are returned."""
    one, two = np.uint64(0), np.uint64(0)
    for i in range(codes.shape[0]):
        a, b = hash_first[codes[i]], hash_second[codes[i]]
        first[i] += a
        second[i] += b
        one += a
        two += b
    return one, two


@checked
def sum_rows(first, second, k0, k1):  # type: ignore[no-untyped-def]
    """The sum modulo 2^128 of the rows' own hashes, as its low and its high word.

    The hashes take the places of the words that they are made of.
    """
    for i in range(first.shape[0]):
        first[i], second[i] = pair_128(first[i], second[i], k0, k1)
    low, high = np.uint64(0), np.uint64(0)
    for i in range(first.shape[0]):
        low += first[i]
        high += second[i]
        if low < first[i]:
            high += np.uint64(1)
    return low, high
