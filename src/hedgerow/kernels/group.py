"""Numbers for equal keys, by a hash table in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError
from . import Ints, UInts32
from .compiled import checked

# The golden ratio in 64 bits; it is odd, so multiplying by it keeps different keys apart.
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_FREE = np.uint32(0xFFFFFFFF)
_WINDOW = 1 << 20
# most groups that can be numbered
MOST = 1 << 30


@checked
def _fill(
    keys: Ints, start: int, labels: UInts32, table: UInts32, distinct: Ints, first: Ints, n: int
) -> tuple[int, int]:
    """Number the keys from `start` on until `distinct` is full; return the next position and how many are distinct."""
    mask = np.uint64(table.shape[0] - 1)
    for i in range(start, keys.shape[0]):
        key = keys[i]
        # multiplying spreads low bits upwards, the shift brings them back to where the mask looks
        h = np.uint64(key) * _MIX
        slot = (h ^ (h >> _SHIFT)) & mask
        while True:
            g = table[slot]
            if g == _FREE:
                if n == distinct.shape[0]:
                    return i, n
                table[slot] = n
                distinct[n] = key
                first[n] = i
                labels[i] = n
                n += 1
                break
            if distinct[g] == key:
                labels[i] = g
                break
            slot = (slot + np.uint64(1)) & mask
    return keys.shape[0], n


def _number(keys: Ints, labels: UInts32) -> tuple[Ints, Ints]:
    """Number keys by first appearance; return the distinct keys and the position where each first occurs."""
    size = 1 << 12  # grows with the groups: while they are few, all stays in the cache
    # at most a quarter full, so that chains of slots stay short
    table = np.full(4 * size, _FREE, np.uint32)
    distinct, first = np.empty(size, np.int64), np.empty(size, np.int64)
    at, n = _fill(keys, 0, labels, table, distinct, first, 0)
    while at < keys.shape[0]:
        if n == MOST:
            return distinct[:0], first[:0]
        size *= 4
        larger, firsts = np.empty(size, np.int64), np.empty(size, np.int64)
        table = np.full(4 * size, _FREE, np.uint32)
        # numbered again in the order of their numbers, all keep theirs
        _fill(distinct, 0, np.empty(n, np.uint32), table, larger, firsts, 0)
        firsts[:n] = first
        distinct, first = larger, firsts
        at, n = _fill(keys, at, labels, table, distinct, first, n)
    return distinct[:n], first[:n]


@checked
def place(labels: NDArray[Any], at: Ints, out: NDArray[Any]) -> None:
    """Write every row's position at the next place of its label, `at[label]`, and advance that place."""
    for i in range(labels.shape[0]):
        label = labels[i]
        out[at[label]] = i
        at[label] += 1


def number_keys(keys: Ints) -> tuple[UInts32, Ints, Ints]:
    """Return each key's rank among the distinct keys, the distinct keys, and where each first occurs.

    Parameters
    ----------
    keys : int64 array of shape (n,)

    Returns
    -------
    labels : uint32 array of shape (n,)
        The rank of each key among the distinct ones.
    distinct : int64 array of shape (m,)
        The distinct keys, ascending.
    first : int64 array of shape (m,)
        The position at which each of them first occurs.

    Raises
    ------
    UnsupportedError
        There are more than 2^30 distinct keys.

    Examples
    --------
    >>> labels, distinct, first = number_keys(np.array([7, 3, 7, 5]))
    >>> labels.tolist(), distinct.tolist(), first.tolist()
    ([2, 0, 2, 1], [3, 5, 7], [1, 3, 0])
    """
    labels = np.empty(len(keys), np.uint32)
    keys_of, first = _number(np.ascontiguousarray(keys), labels)
    if len(keys) and not len(keys_of):
        raise UnsupportedError(f"more than {MOST:,} different combinations of values", hint="coarsen columns")
    # Ranks instead of numbers by first appearance, which would depend on the order of the rows.
    order = np.argsort(keys_of)
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    for a in range(0, len(labels), _WINDOW):  # in place: a second array of labels would take memory
        labels[a : a + _WINDOW] = rank[labels[a : a + _WINDOW]]
    return labels, keys_of[order], first[order]
