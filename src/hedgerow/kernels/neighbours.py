"""Exact nearest and farthest records: a tree of boxes whose points can be deleted.

Squared Euclidean distances are summed attribute by attribute in one order, for
points and for boxes alike, so a box never claims to be farther than a point in
it and ties are exact. Ties go to the smaller record number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compiled import checked

_LEAF = 12
_DEPTH = 80


class KdTree(NamedTuple):
    """Boxes as a heap: the children of node i are 2i + 1 and 2i + 2.

    `points` and `ids` stand leaf by leaf; the points of node i that are left are
    among ``start[i]:end[i]`` (exactly these in a leaf), `count[i]` of them.
    """

    points: Any
    ids: Any
    position: Any
    leaf: Any
    start: Any
    end: Any
    count: Any
    lo: Any
    hi: Any


def build(points: NDArray[np.float64]) -> KdTree:
    """A tree over all rows of `points` (n, d), each box halved along its longest side."""
    n, d = points.shape
    depth = 0
    while (n >> depth) > _LEAF:
        depth += 1
    nodes = (1 << (depth + 1)) - 1
    ids, start, end = np.arange(n), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    lo, hi = np.full((nodes, d), np.inf), np.full((nodes, d), -np.inf)
    position, leaf = np.empty(n, np.int64), np.empty(n, np.int64)
    # put together here: a compiled function that returns a named tuple dies of a signal
    _halve(points, (1 << depth) - 1, ids, position, leaf, start, end, lo, hi)
    return KdTree(points[ids], ids, position, leaf, start, end, end - start, lo, hi)


@checked
def _halve(points, first_leaf, ids, position, leaf, start, end, lo, hi):  # type: ignore[no-untyped-def]
    """Fill the boxes from the whole to the leaves."""
    n, d = points.shape
    end[0] = n
    for node in range(start.size):
        s, e = start[node], end[node]
        for i in range(s, e):
            for c in range(d):
                x = points[ids[i], c]
                lo[node, c], hi[node, c] = min(lo[node, c], x), max(hi[node, c], x)
        if node < first_leaf:
            widest = np.argmax(hi[node] - lo[node])
            middle = (s + e) // 2
            _select(points, ids, s, e, middle, widest)
            start[2 * node + 1], end[2 * node + 1] = s, middle
            start[2 * node + 2], end[2 * node + 2] = middle, e
    for node in range(first_leaf, start.size):
        for i in range(start[node], end[node]):
            position[ids[i]], leaf[ids[i]] = i, node


@checked
def _select(
    points: NDArray[np.float64], ids: NDArray[np.int64], begin: int, end: int, middle: int, c: int
) -> None:
    """Reorder ``ids[begin:end]`` so that the first ones up to `middle` are the smallest in c."""
    left, right = begin, end - 1
    while left < right:
        a, b, m = points[ids[left], c], points[ids[right], c], points[ids[(left + right) // 2], c]
        pivot = max(min(a, b), min(max(a, b), m))
        i, j = left, right
        while i <= j:
            while points[ids[i], c] < pivot:
                i += 1
            while points[ids[j], c] > pivot:
                j -= 1
            if i <= j:
                ids[i], ids[j] = ids[j], ids[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return


@checked
def delete(tree: KdTree, record: int) -> None:
    """Take one record out; boxes shrink where it stood on their border."""
    node, at = tree.leaf[record], tree.position[record]
    last = tree.end[node] - 1
    d = tree.points.shape[1]
    gone = tree.points[at].copy()
    other = tree.ids[last]
    tree.points[at], tree.ids[at], tree.position[other] = tree.points[last], other, at
    tree.points[last], tree.ids[last], tree.position[record] = gone, record, last
    tree.end[node] = last
    border = True
    while True:
        tree.count[node] -= 1
        if border:
            border = False
            for c in range(d):
                if gone[c] == tree.lo[node, c] or gone[c] == tree.hi[node, c]:
                    lo, hi = np.inf, -np.inf
                    if 2 * node + 1 < tree.start.size:
                        lo = min(tree.lo[2 * node + 1, c], tree.lo[2 * node + 2, c])
                        hi = max(tree.hi[2 * node + 1, c], tree.hi[2 * node + 2, c])
                    else:
                        for i in range(tree.start[node], last):
                            lo, hi = min(lo, tree.points[i, c]), max(hi, tree.points[i, c])
                    border |= lo != tree.lo[node, c] or hi != tree.hi[node, c]
                    tree.lo[node, c], tree.hi[node, c] = lo, hi
        if node == 0:
            return
        node = (node - 1) // 2


@checked
def _to_box(tree: KdTree, node: int, q: NDArray[np.float64]) -> float:
    total = 0.0
    for c in range(q.size):
        gap = max(tree.lo[node, c] - q[c], q[c] - tree.hi[node, c], 0.0)
        total += gap * gap
    return total


@checked
def _across_box(tree: KdTree, node: int, q: NDArray[np.float64]) -> float:
    total = 0.0
    for c in range(q.size):
        reach = max(abs(q[c] - tree.lo[node, c]), abs(q[c] - tree.hi[node, c]))
        total += reach * reach
    return total


@checked
def _apart(points: NDArray[np.float64], i: int, q: NDArray[np.float64]) -> float:
    total = 0.0
    for c in range(q.size):
        gap = points[i, c] - q[c]
        total += gap * gap
    return total


@checked
def farthest(tree: KdTree, q: NDArray[np.float64]) -> int:
    """The record farthest from q; -1 when none is left."""
    best, found = -1.0, -1
    stack, bounds = np.empty(_DEPTH, np.int64), np.empty(_DEPTH)
    stack[0], bounds[0], size = 0, np.inf, 1
    while size:
        size -= 1
        node, bound = stack[size], bounds[size]
        if tree.count[node] == 0 or bound < best:
            continue
        if 2 * node + 1 < tree.start.size:
            a, b = 2 * node + 1, 2 * node + 2
            far_a = _across_box(tree, a, q) if tree.count[a] else -1.0
            far_b = _across_box(tree, b, q) if tree.count[b] else -1.0
            if far_a > far_b:
                a, b, far_a, far_b = b, a, far_b, far_a
            stack[size], bounds[size] = a, far_a
            stack[size + 1], bounds[size + 1] = b, far_b
            size += 2
        else:
            for i in range(tree.start[node], tree.end[node]):
                d2 = _apart(tree.points, i, q)
                if d2 > best or (d2 == best and tree.ids[i] < found):
                    best, found = d2, tree.ids[i]
    return found


@checked
def nearest(
    tree: KdTree,
    q: NDArray[np.float64],
    k: int,
    found: NDArray[np.int64],
    gaps: NDArray[np.float64],
) -> int:
    """Fill `found` and `gaps` with the k records nearest to q, near ones first; how many."""
    filled = 0
    stack, bounds = np.empty(_DEPTH, np.int64), np.empty(_DEPTH)
    stack[0], bounds[0], size = 0, 0.0, 1
    while size:
        size -= 1
        node, bound = stack[size], bounds[size]
        if tree.count[node] == 0 or (filled == k and bound > gaps[k - 1]):
            continue
        if 2 * node + 1 < tree.start.size:
            a, b = 2 * node + 1, 2 * node + 2
            to_a, to_b = _to_box(tree, a, q), _to_box(tree, b, q)
            if to_a < to_b:
                a, b, to_a, to_b = b, a, to_b, to_a
            stack[size], bounds[size] = a, to_a
            stack[size + 1], bounds[size + 1] = b, to_b
            size += 2
        else:
            for i in range(tree.start[node], tree.end[node]):
                d2, record = _apart(tree.points, i, q), tree.ids[i]
                if filled == k and (
                    d2 > gaps[k - 1] or (d2 == gaps[k - 1] and record > found[k - 1])
                ):
                    continue
                filled = min(filled + 1, k)
                j = filled - 1
                while j > 0 and (gaps[j - 1] > d2 or (gaps[j - 1] == d2 and found[j - 1] > record)):
                    gaps[j], found[j] = gaps[j - 1], found[j - 1]
                    j -= 1
                gaps[j], found[j] = d2, record
    return filled


@checked
def nearest_ties(
    tree: KdTree, weight: NDArray[np.int64], queries: NDArray[np.float64], own: NDArray[np.int64]
) -> NDArray[np.int64]:
    """How many records are as near to each query as its own one; 0 when some are nearer.

    Parameters
    ----------
    tree : KdTree
        Over the distinct records.
    weight : array of int, shape (distinct,)
        How often each distinct record occurs.
    queries : array, shape (n, d)
    own : array of int, shape (n,)
        The distinct record that belongs to each query.
    """
    ties = np.zeros(own.size, np.int64)
    for row in range(own.size):
        q = queries[row]
        limit = _apart(tree.points, tree.position[own[row]], q)
        stack = np.empty(_DEPTH, np.int64)
        stack[0], size, equal = 0, 1, 0
        while size:
            size -= 1
            node = stack[size]
            if 2 * node + 1 < tree.start.size:
                a, b = 2 * node + 1, 2 * node + 2
                to_a, to_b = _to_box(tree, a, q), _to_box(tree, b, q)
                if to_a < to_b:
                    a, b, to_a, to_b = b, a, to_b, to_a
                if to_a <= limit:
                    stack[size] = a
                    size += 1
                if to_b <= limit:
                    stack[size] = b
                    size += 1
            else:
                for i in range(tree.start[node], tree.end[node]):
                    d2 = _apart(tree.points, i, q)
                    if d2 == limit:
                        equal += weight[tree.ids[i]]
                    elif d2 < limit:
                        equal, size = 0, -1
                        break
                if size < 0:
                    size = 0
                    break
        ties[row] = equal
    return ties
