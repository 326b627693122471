"""Loops of the masking methods: microaggregation (MDAV), rank swapping and PoROP-k."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..progress import done
from . import Floats, Ints, UInts32
from .compiled import checked
from .neighbours import KdTree, build, delete, farthest, nearest
from .siphash import unit_interval, word_at

Groups = Ints

# numbers that may be read between two checks for interrupts
SLICE = 100_000_000
# entries of a state: records left, groups formed, whether the next is the second of a round, the record
# that it is far from
LEFT, FORMED, SECOND, FAR = range(4)


def _in_slices(form: Any, state: Groups, cost: int) -> None:
    """Call `form(most)` until it returns False; report progress and allow interrupts in between.

    `cost` is how many numbers one group reads.
    """
    n, most = state[LEFT], max(SLICE // max(cost, 1), 1)
    while form(most):
        done(1 - state[LEFT] / n)


def mdav(points: Floats, k: int) -> Groups:
    """Return groups of k records by MDAV with Euclidean distance; the last group has k to 2k - 1.

    While 3k records are left: the record r farthest from their centroid takes its
    k - 1 nearest, then the record s farthest from r does. Ties go to the record
    that comes first.

    Parameters
    ----------
    points : array, shape (n, d)
        Sorted records, so that ties do not depend on the order of a file.
    k : int
        Smallest group, 1 to n.

    Returns
    -------
    array of int, shape (n,)
        Group of every record, numbered as they are formed.
    """
    n, d = points.shape
    tree, group, total = build(points), np.full(n, -1), np.zeros(d)
    _add_up(points, total)
    state = np.array([n, 0, 0, 0])
    _in_slices(lambda most: _mdav(tree, points, k, group, total, state, most), state, n * d)
    return group


@checked
def _add_up(points: Floats, total: Floats) -> None:
    """Add the records to `total` one after another: the order of a sum determines its last bits."""
    for i in range(points.shape[0]):
        total += points[i]


@checked
def _mdav(tree: KdTree, points: Floats, k: int, group: Groups, total: Floats, state: Groups, most: int) -> bool:
    """Form up to `most` groups; return whether any remain to be formed."""
    near, gaps = np.empty(k, np.int64), np.empty(k)
    for _ in range(most):
        left = state[LEFT]
        if left < 2 * k:
            for i in range(group.size):
                if group[i] < 0:
                    group[i] = state[FORMED]
            return False
        # The sum is kept up to date: adding up all records left for every group would be quadratic.
        centre = points[state[FAR]] if state[SECOND] else total / left
        r = farthest(tree, centre)
        for j in range(nearest(tree, points[r], k, near, gaps)):
            group[near[j]] = state[FORMED]
            total -= points[near[j]]
            delete(tree, near[j])
        state[LEFT] -= k
        state[FORMED] += 1
        state[SECOND], state[FAR] = 1 - state[SECOND], r  # the second of a round ends it
    return True


def mdav_gower(numbers: Floats, codes: Ints, categories: Ints, k: int) -> Groups:
    """Return MDAV groups by Gower's distance: |x - y| over the range, and 1 for unequal categories.

    The centre of a set is its means and its most frequent categories. Every search
    looks at all records left, so the time grows with n**2 / k.

    Parameters
    ----------
    numbers : array, shape (n, p)
        Divided by their ranges.
    codes : array of int, shape (n, q)
    categories : array of int, shape (q,)
        Number of categories per column of `codes`.
    k : int

    Returns
    -------
    array of int, shape (n,)
    """
    n, q = codes.shape
    group, ids, total = np.full(n, -1), np.arange(n), np.zeros(numbers.shape[1])
    _add_up(numbers, total)
    counts = np.zeros((q, max(1, int(categories.max(initial=1)))), np.int64)
    for c in range(q):
        counts[c] = np.bincount(codes[:, c], minlength=counts.shape[1])
    state, remaining = np.array([n, 0, 0, 0]), (ids, total, counts, np.empty(n))
    cost = n * (numbers.shape[1] + q)
    _in_slices(lambda most: _mdav_gower(numbers, codes, k, group, remaining, state, most), state, cost)
    return group


@checked
def _mdav_gower(
    numbers: Floats,
    codes: Ints,
    k: int,
    group: Groups,
    remaining: tuple[Ints, Floats, Ints, Floats],
    state: Groups,
    most: int,
) -> bool:
    """Form up to `most` groups; return whether any remain to be formed.

    `remaining` is of the records in no group yet: their ids in front, sums, counts per category, and
    distances.
    """
    ids, total, counts, distance = remaining
    q = codes.shape[1]
    near, gaps = np.empty(k, np.int64), np.empty(k)
    centre_codes = np.zeros(q, np.int64)
    for _ in range(most):
        left, formed = state[LEFT], state[FORMED]
        if left < 2 * k:
            for i in range(left):
                group[ids[i]] = formed
            return False
        if state[SECOND]:
            r = state[FAR]
            _gower(numbers, codes, ids, left, numbers[r], codes[r], distance)
        else:
            for c in range(q):
                centre_codes[c] = np.argmax(counts[c])
            _gower(numbers, codes, ids, left, total / left, centre_codes, distance)
        far = ids[np.argmax(distance[:left])]
        _gower(numbers, codes, ids, left, numbers[far], codes[far], distance)
        filled = 0
        for i in range(left):
            # ids are in order, so of equal distances the one that came first stays
            if filled == k and distance[i] >= gaps[k - 1]:
                continue
            filled = min(filled + 1, k)
            j = filled - 1
            while j > 0 and gaps[j - 1] > distance[i]:
                gaps[j], near[j] = gaps[j - 1], near[j - 1]
                j -= 1
            gaps[j], near[j] = distance[i], ids[i]
        for j in range(k):
            group[near[j]] = formed
            total -= numbers[near[j]]
            for c in range(q):
                counts[c, codes[near[j], c]] -= 1
        n_kept = 0
        for i in range(left):
            if group[ids[i]] < 0:
                ids[n_kept] = ids[i]
                n_kept += 1
        state[LEFT] = n_kept
        state[FORMED] += 1
        state[SECOND], state[FAR] = 1 - state[SECOND], far
    return True


@checked
def _gower(
    numbers: Floats, codes: Ints, ids: Ints, left: int, centre: Floats, categories: Ints, distance: Floats
) -> None:
    for i in range(left):
        record, gap = ids[i], 0.0
        for c in range(centre.size):
            gap += abs(numbers[record, c] - centre[c])
        for c in range(categories.size):
            if codes[record, c] != categories[c]:
                gap += 1.0
        distance[i] = gap


# draws before the free ranks are counted: if m of w are free, all fail with chance (1 - m/w)^32
_TRIES = 32


@checked
def swap_ranks(n: int, window: int, k0: Any, k1: Any) -> Ints:
    """Return a random pairing of the ranks 0..n-1: each unpaired rank takes a free one above it.

    Parameters
    ----------
    n : int
    window : int
        Largest difference of paired ranks, at least 1.
    k0, k1 : uint64
        The key of the draws.

    Returns
    -------
    array of int, shape (n,)
        The partner of every rank; the rank itself if no free one was in reach.
    """
    partner = np.full(n, -1)
    n_draws = np.uint64(0)
    for i in range(n):
        if partner[i] >= 0:
            continue
        last = min(i + window, n - 1)
        chosen = -1
        for _ in range(_TRIES):
            if last == i:
                break
            n_draws += np.uint64(1)
            j = i + 1 + int(unit_interval(word_at(n_draws, k0, k1)) * (last - i))
            if partner[j] < 0:
                chosen = j
                break
        if chosen < 0:  # few are free: count them and draw one
            free = 0
            for j in range(i + 1, last + 1):
                free += partner[j] < 0
            n_draws += np.uint64(1)
            nth = int(unit_interval(word_at(n_draws, k0, k1)) * free) if free else -1
            for j in range(i + 1, last + 1):
                if partner[j] < 0:
                    if nth == 0:
                        chosen = j
                        break
                    nth -= 1
        if chosen < 0:
            partner[i] = i
        else:
            partner[i], partner[chosen] = chosen, i
    return partner


Index = UInts32


@checked
def normalise_blocks(ordered: Floats, lo: Floats, span: Floats, k: int) -> None:
    """Replace each value v by (v - lo) / span of its block of k values, in place; 0 if the span is 0."""
    for b in range(lo.size):
        for i in range(b * k, min((b + 1) * k, ordered.size)):
            ordered[i] = (ordered[i] - lo[b]) / span[b] if span[b] > 0.0 else 0.0


def trace_back(first: Index, second: Index, k: int, place: Index, block: Index) -> None:
    """Write, in the second order, each value's original position and its block in the first order."""
    np.take(first, second, out=place)
    np.floor_divide(second, k, out=block)


@checked
def place_back(
    fitted: Floats,
    deviation: Floats,
    normals: Floats,
    place: Index,
    block: Index,
    lo: Floats,
    span: Floats,
    released: Floats,
) -> None:
    """Add the noise, undo the normalisation, and write the values in their original order."""
    for i in range(place.size):
        y = fitted[i] + deviation[i] * normals[i]
        released[place[i]] = y * span[block[i]] + lo[block[i]]
