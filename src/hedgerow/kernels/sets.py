"""The sets of codes that groups of rows hold, each set once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiled import checked

_MIX = np.uint64(0x9E3779B97F4A7C15)
_29 = np.uint64(29)


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
            h += (word ^ (word >> _29)) * _MIX
        h ^= h >> _29
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
    """The codes that occur in each group, and which groups hold the same.

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
