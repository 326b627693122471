"""Stable order of many numbers: cut into buckets by leading bits, each sorted in the cache."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import Floats, Ints, UInts32, Words
from .compiled import checked, inlined
from .threads import in_parts

# 2,048 cursors of 8 bytes: half of a first cache
_BUCKETS = 2048
# twice 12 bytes a pair, 0.8 MB in all: a second cache
_IN_CACHE = 1 << 15
# sorting fewer keys by insertion is faster than clearing 256 counters
_TINY = 24
_TOP = np.uint64(1) << np.uint64(63)


class Pairs(NamedTuple):
    """Keys with their original positions, and buffers of the same size."""

    keys: Any
    order: Any
    spare_keys: Any
    spare_order: Any


def stable_sort(values: Floats) -> tuple[Floats, UInts32]:
    """Return sorted doubles and their stable order, equal to ``np.argsort(kind="stable")``.

    Parameters
    ----------
    values : array of float64, shape (n,), n below 2**32
        -0.0 and 0.0 are equal (and come back as 0.0); NaN, of one bit pattern, comes last.

    Returns
    -------
    sorted : array of float64, shape (n,)
    order : array of uint32, shape (n,)
        ``values[order]`` is `sorted`; equal numbers keep their order.
    """
    # Adding 0.0 makes one zero of both; then bits compare as the numbers do once
    # negative numbers are inverted and the others get the top bit.
    numbers = np.asarray(values, dtype=np.float64) + 0.0
    if len(numbers) <= _IN_CACHE:  # not worth compiling for
        small = np.argsort(numbers, kind="stable").astype(np.uint32)
        return numbers[small], small
    keys = numbers.view(np.uint64)
    keys ^= (numbers.view(np.int64) >> 63).view(np.uint64) | _TOP
    order = _sort(keys)
    keys ^= ((keys >> np.uint64(63)) - np.uint64(1)) | _TOP
    return keys.view(np.float64), order


def order_of_words(words: Words) -> UInts32:
    """Return the stable order of words, equal to ``np.argsort(kind="stable")``."""
    if len(words) <= _IN_CACHE:
        return np.argsort(words, kind="stable").astype(np.uint32)
    return _sort(np.array(words, np.uint64))


def _sort(keys: Words) -> UInts32:
    """Sort keys in place and return their stable order."""
    order = np.arange(len(keys), dtype=np.uint32)
    pairs = Pairs(keys, order, np.empty_like(keys), np.empty_like(order))
    bounds = _scatter(pairs, 0, len(keys))
    in_parts(lambda part: _sort_buckets(pairs, bounds[part.start : part.stop + 1]), len(bounds) - 1, len(keys))
    return order


@inlined
def _extremes(keys: Words, begin: int, end: int) -> tuple[np.uint64, np.uint64]:
    """Return the smallest and the largest key of ``keys[begin:end]``."""
    lo = hi = keys[begin]
    for i in range(begin, end):
        lo, hi = min(lo, keys[i]), max(hi, keys[i])
    return lo, hi


@checked
def _sort_buckets(pairs: Pairs, bounds: Ints) -> None:
    """Sort every bucket in place; those beyond the cache are cut into smaller ones."""
    todo = [(bounds[b], bounds[b + 1]) for b in range(bounds.size - 1)]
    while todo:
        begin, end = todo.pop()
        if end - begin <= _IN_CACHE:
            _sort_in_cache(pairs, begin, end)
            continue
        lo, hi = _extremes(pairs.keys, begin, end)
        # Equal keys are in order; dealing them out again and again would never end.
        if lo != hi:
            bounds = _scatter(pairs, begin, end)
            for b in range(bounds.size - 1):
                todo.append((bounds[b], bounds[b + 1]))


@checked
def _scatter(pairs: Pairs, begin: int, end: int) -> Ints:
    """Move ``keys[begin:end]`` into buckets by their leading bits; return the buckets' bounds."""
    keys, order, spare_keys, spare_order = pairs
    lo, hi = _extremes(keys, begin, end)
    shift = np.uint64(0)
    while ((hi - lo) >> shift) >= np.uint64(_BUCKETS):
        shift += np.uint64(1)
    bounds = np.zeros(_BUCKETS + 1, np.int64)
    for i in range(begin, end):
        bounds[((keys[i] - lo) >> shift) + np.uint64(1)] += 1
    bounds[0] = begin
    for b in range(_BUCKETS):
        bounds[b + 1] += bounds[b]
    free = bounds[:-1].copy()
    for i in range(begin, end):
        b = (keys[i] - lo) >> shift
        spare_keys[free[b]], spare_order[free[b]] = keys[i], order[i]
        free[b] += 1
    for i in range(begin, end):
        keys[i], order[i] = spare_keys[i], spare_order[i]
    return bounds


@checked
def _sort_in_cache(pairs: Pairs, begin: int, end: int) -> None:
    keys, order, spare_keys, spare_order = pairs
    if end - begin <= _TINY:  # insertion
        for i in range(begin + 1, end):
            key, at = keys[i], order[i]
            j = i
            while j > begin and keys[j - 1] > key:
                keys[j], order[j] = keys[j - 1], order[j - 1]
                j -= 1
            keys[j], order[j] = key, at
        return
    lo, hi = _extremes(keys, begin, end)
    # Less the smallest key, numbers of one magnitude differ in few bytes and need few passes.
    span = hi - lo
    a_keys, a_order, b_keys, b_order = keys, order, spare_keys, spare_order
    free = np.empty(256, np.int64)
    shift = np.uint64(0)
    moved = False
    while shift < np.uint64(64) and (span >> shift) > np.uint64(0):
        free[:] = 0
        for i in range(begin, end):
            free[((a_keys[i] - lo) >> shift) & np.uint64(255)] += 1
        at = begin
        for b in range(256):
            count = free[b]
            free[b] = at
            at += count
        for i in range(begin, end):
            b = ((a_keys[i] - lo) >> shift) & np.uint64(255)
            b_keys[free[b]], b_order[free[b]] = a_keys[i], a_order[i]
            free[b] += 1
        a_keys, a_order, b_keys, b_order = b_keys, b_order, a_keys, a_order
        moved = not moved
        shift += np.uint64(8)
    if moved:
        for i in range(begin, end):
            keys[i], order[i] = spare_keys[i], spare_order[i]
