"""Numbers for equal keys and for equal sets of codes, by hash tables in one pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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
        # multiplying spreads low bits upwards, the shift brings them back to where the mask looks
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
    keys: NDArray[np.int64], labels: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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
    keys: NDArray[np.int64],
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
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


@checked
def _distinct(codes, starts, last_seen, table, labels, members, ends):  # type: ignore[no-untyped-def]
    mask = np.uint64(table.shape[0] - 1)
    n_sets, begin = 0, 0
    for g in range(starts.shape[0]):
        stop = starts[g + 1] if g + 1 < starts.shape[0] else codes.shape[0]
        end = begin
        for i in range(starts[g], stop):
            if last_seen[codes[i]] != g:
                last_seen[codes[i]] = g
                members[end] = codes[i]
                end += 1
        h = np.uint64(end - begin)
        for i in range(begin, end):  # a sum: the order of the members does not matter
            word = (np.uint64(members[i]) + _MIX) * _MIX
            h += (word ^ (word >> _SHIFT)) * _MIX
        h ^= h >> _SHIFT
        slot = h & mask
        while True:
            known = table[slot]
            if known < 0:  # a new set: it stays where it was gathered
                table[slot] = n_sets
                labels[g] = n_sets
                ends[n_sets] = end
                n_sets += 1
                begin = end
                break
            first = ends[known - 1] if known else 0
            same = ends[known] - first == end - begin
            for i in range(first, ends[known]):
                if not same:
                    break
                same = last_seen[members[i]] == g
            if same:
                labels[g] = known
                break
            slot = (slot + np.uint64(1)) & mask
    return n_sets


def distinct_sets(
    codes: NDArray[np.unsignedinteger], starts: NDArray[np.int64], n_codes: int
) -> tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.int64]]:
    """Return the codes that occur in each group, and which groups hold the same.

    Parameters
    ----------
    codes : unsigned integer array of shape (n,)
        Codes of the rows, group by group.
    starts : int64 array of shape (groups,)
        Where each group begins.
    n_codes : int
        Every code lies below.

    Returns
    -------
    labels : int64 array of shape (groups,)
        The set of each group, numbered by first appearance.
    members : uint32 array
        The codes of the first set, ascending, then those of the second, and so on.
    ends : int64 array of shape (sets,)
        Where the codes of each set end.

    Examples
    --------
    >>> distinct_sets(np.array([2, 0, 2, 1, 0, 2], np.uint8), np.array([0, 3, 4]), 3)
    (array([0, 1, 0]), array([0, 2, 1], dtype=uint32), array([2, 3]))
    """
    n = len(starts)
    labels, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    members = np.empty(len(codes), np.uint32)
    table = np.full(1 << (2 * n).bit_length(), -1, np.int64)
    seen = np.full(n_codes, -1, np.int64)
    codes, starts = np.ascontiguousarray(codes), np.asarray(starts, np.int64)
    n_sets = _distinct(codes, starts, seen, table, labels, members, ends)
    ends = ends[:n_sets]
    members = members[: ends[-1] if n_sets else 0]
    of = np.repeat(np.arange(n_sets), np.diff(ends, prepend=0))
    return labels, members[np.lexsort((members, of))], ends
