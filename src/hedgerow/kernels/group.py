"""Numbers for equal keys and for equal sets of codes, by hash tables in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError
from . import Codes, Ints, UInts32
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
        raise UnsupportedError(
            f"the rows have more than {MOST:,} different combinations of values", hint="coarsen or leave out a column"
        )
    # Ranks instead of numbers by first appearance, which would depend on the order of the rows.
    order = np.argsort(keys_of)
    rank = np.empty(len(order), np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    for a in range(0, len(labels), _WINDOW):  # in place: a second array of labels would take memory
        labels[a : a + _WINDOW] = rank[labels[a : a + _WINDOW]]
    return labels, keys_of[order], first[order]


@checked
def _distinct(
    codes: Codes, starts: Ints, last_seen: Ints, table: Ints, labels: Ints, members: UInts32, ends: Ints
) -> int:
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
            same_slot = table[slot]
            if same_slot < 0:  # a new set: it stays where it was gathered
                table[slot] = n_sets
                labels[g] = n_sets
                ends[n_sets] = end
                n_sets += 1
                begin = end
                break
            first = ends[same_slot - 1] if same_slot else 0
            # Sets are equal if they have one size and this group has all members of the other.
            same = ends[same_slot] - first == end - begin
            for i in range(first, ends[same_slot]):
                if not same:
                    break
                same = last_seen[members[i]] == g
            if same:
                labels[g] = same_slot
                break
            slot = (slot + np.uint64(1)) & mask
    return n_sets


def distinct_sets(codes: Codes, starts: Ints, n_codes: int) -> tuple[Ints, UInts32, Ints]:
    """Return the index of each group's set of codes, and the members of every distinct set.

    Parameters
    ----------
    codes : unsigned integer array of shape (n,)
        Codes of the rows, group by group.
    starts : int64 array of shape (groups,)
        Where each group begins.
    n_codes : int
        Every code is below this.

    Returns
    -------
    labels : int64 array of shape (groups,)
        The set of each group, numbered by first appearance.
    members : uint32 array
        The codes of the first set, ascending, then those of the second, and so on.
    ends : int64 array of shape (sets,)
        End of each set's codes in `members`.

    Examples
    --------
    >>> distinct_sets(np.array([2, 0, 2, 1, 0, 2], np.uint8), np.array([0, 3, 4]), 3)
    (array([0, 1, 0]), array([0, 2, 1], dtype=uint32), array([2, 3]))
    """
    n = len(starts)
    labels, ends = np.empty(n, np.int64), np.empty(n, np.int64)
    members = np.empty(len(codes), np.uint32)
    # At most half full, so that a search soon meets a free slot.
    table = np.full(1 << (2 * n).bit_length(), -1, np.int64)
    last_seen = np.full(n_codes, -1, np.int64)
    codes, starts = np.ascontiguousarray(codes), np.asarray(starts, np.int64)
    n_sets = _distinct(codes, starts, last_seen, table, labels, members, ends)
    ends = ends[:n_sets]
    members = members[: ends[-1] if n_sets else 0]
    of = np.repeat(np.arange(n_sets), np.diff(ends, prepend=0))
    return labels, members[np.lexsort((members, of))], ends
