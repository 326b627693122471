"""Equal keys get equal numbers: one growing hash table, one pass."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..errors import UnsupportedError
from .compiled import checked

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_FREE = np.uint32(0xFFFFFFFF)
_WINDOW = 1 << 20
MOST = 1 << 30
"""Most groups that can be numbered."""


@checked
def _fill(keys, start, labels, table, seen, first, n):  # type: ignore[no-untyped-def]
    """Number the keys from `start` on until all are done or `seen` is full; where it stopped, and n."""
    mask = np.uint64(table.shape[0] - 1)
    for i in range(start, keys.shape[0]):
        key = keys[i]
        h = np.uint64(key) * _MIX
        slot = (h ^ (h >> _SHIFT)) & mask
        while True:
            g = table[slot]
            if g == _FREE:
                if n == seen.shape[0]:
                    return i, n
                table[slot] = n
                seen[n] = key
                first[n] = i
                labels[i] = n
                n += 1
                break
            if seen[g] == key:
                labels[i] = g
                break
            slot = (slot + np.uint64(1)) & mask
    return keys.shape[0], n


@checked
def _rehash(seen, table):  # type: ignore[no-untyped-def]
    mask = np.uint64(table.shape[0] - 1)
    for g in range(seen.shape[0]):
        h = np.uint64(seen[g]) * _MIX
        slot = (h ^ (h >> _SHIFT)) & mask
        while table[slot] != _FREE:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = g


def _number(
    keys: npt.NDArray[np.int64], labels: npt.NDArray[np.uint32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number keys by first appearance; the distinct ones, and where each stands first."""
    size = 1 << 12  # grows with the groups: while they are few, all stays in the cache
    table = np.full(4 * size, _FREE, np.uint32)
    seen, first = np.empty(size, np.int64), np.empty(size, np.int64)
    at, n = _fill(keys, 0, labels, table, seen, first, 0)
    while at < keys.shape[0]:
        if n == MOST:
            return seen[:0], first[:0]
        size *= 4
        larger, firsts = np.empty(size, np.int64), np.empty(size, np.int64)
        larger[:n], firsts[:n] = seen, first
        seen, first = larger, firsts
        table = np.full(4 * size, _FREE, np.uint32)
        _rehash(seen[:n], table)
        at, n = _fill(keys, at, labels, table, seen, first, n)
    return seen[:n], first[:n]


@checked
def place(labels, at, out):  # type: ignore[no-untyped-def]
    """Put every row where its label's next one stands; `at` is moved on."""
    for i in range(labels.shape[0]):
        label = labels[i]
        out[at[label]] = i
        at[label] += 1


def number_keys(
    keys: npt.NDArray[np.int64],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Number equal keys by their size.

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
        Where each of them stands first.

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
    seen, first = _number(np.ascontiguousarray(keys), labels)
    if len(keys) and not len(seen):
        raise UnsupportedError(
            f"the rows have more than {MOST:,} different combinations of values",
            hint="coarsen or leave out a column",
        )
    order = np.argsort(seen)
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    for a in range(0, len(labels), _WINDOW):  # in place: a second array of labels takes room
        labels[a : a + _WINDOW] = rank[labels[a : a + _WINDOW]]
    return labels, seen[order], first[order]
