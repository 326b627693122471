"""Nearness of people and records: nearest records, distances, agreement patterns.

Nearest and farthest records come from a tree of boxes whose points can be deleted.

Squared Euclidean distances are summed attribute by attribute in one order, for
both points and boxes, so a box never appears to be farther than a point in
it and ties are exact. Ties go to the smaller record number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import Floats, Ints, Ints32, UInts32
from .compiled import checked, inner

_LEAF = 12
# entries of a stack: a level adds one, and no count of records has 80 bits
_DEPTH = 80


class KdTree(NamedTuple):
    """A tree of boxes, stored as a heap: the children of node i are 2i + 1 and 2i + 2.

    `points` and `ids` are stored leaf by leaf; the remaining points of node i are
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


def build(points: Floats) -> KdTree:
    """Return a tree over all rows of `points` (n, d), each box halved along its longest side."""
    n, d = points.shape
    depth = 0
    while (n >> depth) > _LEAF:
        depth += 1
    nodes = (1 << (depth + 1)) - 1
    ids, start, end = np.arange(n), np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    lo, hi = np.full((nodes, d), np.inf), np.full((nodes, d), -np.inf)
    position, leaf = np.empty(n, np.int64), np.empty(n, np.int64)
    # put together here: a compiled function that returns a named tuple dies of a signal
    tree = KdTree(points, ids, position, leaf, start, end, np.zeros(nodes, np.int64), lo, hi)
    _halve(tree, (1 << depth) - 1)
    return tree._replace(points=points[ids], count=end - start)


@checked
def _halve(tree: KdTree, first_leaf: int) -> None:
    """Fill in the boxes from the root to the leaves; reorder the ids, not the points."""
    points, ids, start, end, lo, hi = tree.points, tree.ids, tree.start, tree.end, tree.lo, tree.hi
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
            tree.position[ids[i]], tree.leaf[ids[i]] = i, node


@inner
def _select(points: Floats, ids: Ints, begin: int, end: int, middle: int, c: int) -> None:
    """Reorder ``ids[begin:end]`` so that those before `middle` have the smallest values in column c."""
    left, right = begin, end - 1
    while left < right:
        # the median of three, so that sorted columns take no quadratic time
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
    """Delete one record; boxes shrink if the record was on their border."""
    node, at = tree.leaf[record], tree.position[record]
    # the record and the last one of its leaf change places
    last = tree.end[node] - 1
    d = tree.points.shape[1]
    point = tree.points[at].copy()
    other = tree.ids[last]
    tree.points[at], tree.ids[at], tree.position[other] = tree.points[last], other, at
    tree.points[last], tree.ids[last], tree.position[record] = point, record, last
    tree.end[node] = last
    border = True
    while True:
        tree.count[node] -= 1
        if border:
            border = False
            for c in range(d):
                if point[c] == tree.lo[node, c] or point[c] == tree.hi[node, c]:
                    lo, hi = np.inf, -np.inf
                    if 2 * node + 1 < tree.start.size:
                        lo = min(tree.lo[2 * node + 1, c], tree.lo[2 * node + 2, c])
                        hi = max(tree.hi[2 * node + 1, c], tree.hi[2 * node + 2, c])
                    else:
                        for i in range(tree.start[node], last):
                            lo, hi = min(lo, tree.points[i, c]), max(hi, tree.points[i, c])
                    # A parent's box can only shrink where its child's did.
                    border |= lo != tree.lo[node, c] or hi != tree.hi[node, c]
                    tree.lo[node, c], tree.hi[node, c] = lo, hi
        if node == 0:
            return
        node = (node - 1) // 2


@inner
def _to_box(tree: KdTree, node: int, q: Floats) -> float:
    total = 0.0
    for c in range(q.size):
        gap = max(tree.lo[node, c] - q[c], q[c] - tree.hi[node, c], 0.0)
        total += gap * gap
    return total


@inner
def _across_box(tree: KdTree, node: int, q: Floats) -> float:
    total = 0.0
    for c in range(q.size):
        reach = max(abs(q[c] - tree.lo[node, c]), abs(q[c] - tree.hi[node, c]))
        total += reach * reach
    return total


@inner
def _distance(points: Floats, i: int, q: Floats) -> float:
    total = 0.0
    for c in range(q.size):
        gap = points[i, c] - q[c]
        total += gap * gap
    return total


@inner
def _boxes_below(tree: KdTree, node: int, q: Floats) -> tuple[int, float, int, float]:
    """Return the two boxes of a node and the squared distance to each, the farther box first."""
    a, b = 2 * node + 1, 2 * node + 2
    to_a, to_b = _to_box(tree, a, q), _to_box(tree, b, q)
    return (b, to_b, a, to_a) if to_a < to_b else (a, to_a, b, to_b)


@checked
def farthest(tree: KdTree, q: Floats) -> int:
    """Return the record farthest from q, or -1 if none is left."""
    best, best_id = -1.0, -1
    stack, bounds = np.empty(_DEPTH, np.int64), np.empty(_DEPTH)
    stack[0], bounds[0], size = 0, np.inf, 1
    while size:
        size -= 1
        node, bound = stack[size], bounds[size]
        # boxes of equal bound are opened as well: they may hold a smaller number
        if tree.count[node] == 0 or bound < best:
            continue
        if 2 * node + 1 < tree.start.size:
            a, b = 2 * node + 1, 2 * node + 2
            far_a = _across_box(tree, a, q) if tree.count[a] else -1.0
            far_b = _across_box(tree, b, q) if tree.count[b] else -1.0
            # the more promising box on top of the stack: it is opened first and raises the bar
            if far_a > far_b:
                a, b, far_a, far_b = b, a, far_b, far_a
            stack[size], bounds[size] = a, far_a
            stack[size + 1], bounds[size + 1] = b, far_b
            size += 2
        else:
            for i in range(tree.start[node], tree.end[node]):
                d2 = _distance(tree.points, i, q)
                if d2 > best or (d2 == best and tree.ids[i] < best_id):
                    best, best_id = d2, tree.ids[i]
    return best_id


@checked
def nearest(tree: KdTree, q: Floats, k: int, near: Ints, gaps: Floats) -> int:
    """Fill `near` and `gaps` with the k records nearest to q, nearest first; return how many were found."""
    filled = 0
    stack, bounds = np.empty(_DEPTH, np.int64), np.empty(_DEPTH)
    stack[0], bounds[0], size = 0, 0.0, 1
    while size:
        size -= 1
        node, bound = stack[size], bounds[size]
        if tree.count[node] == 0 or (filled == k and bound > gaps[k - 1]):
            continue
        if 2 * node + 1 < tree.start.size:
            # the nearer box on top of the stack: what it holds closes others
            stack[size], bounds[size], stack[size + 1], bounds[size + 1] = _boxes_below(tree, node, q)
            size += 2
        else:
            for i in range(tree.start[node], tree.end[node]):
                d2, record = _distance(tree.points, i, q), tree.ids[i]
                if filled == k and (d2 > gaps[k - 1] or (d2 == gaps[k - 1] and record > near[k - 1])):
                    continue
                filled = min(filled + 1, k)
                j = filled - 1
                while j > 0 and (gaps[j - 1] > d2 or (gaps[j - 1] == d2 and near[j - 1] > record)):
                    gaps[j], near[j] = gaps[j - 1], near[j - 1]
                    j -= 1
                gaps[j], near[j] = d2, record
    return filled


@checked
def nearest_ties(tree: KdTree, weight: Ints, queries: Floats, paired: Ints) -> Ints:
    """Return, for each query, how many records are as near as its paired one; 0 if any is nearer.

    Parameters
    ----------
    tree : KdTree
        Over the distinct records.
    weight : array of int, shape (distinct,)
        How often each distinct record occurs.
    queries : array, shape (n, d)
    paired : array of int, shape (n,)
        The distinct record that belongs to each query.
    """
    ties = np.zeros(paired.size, np.int64)
    for row in range(paired.size):
        q = queries[row]
        # a box that is farther than the own record holds no tie
        limit = _distance(tree.points, tree.position[paired[row]], q)
        stack = np.empty(_DEPTH, np.int64)
        stack[0], size, equal = 0, 1, 0
        while size:
            size -= 1
            node = stack[size]
            if 2 * node + 1 < tree.start.size:
                a, to_a, b, to_b = _boxes_below(tree, node, q)
                if to_a <= limit:
                    stack[size] = a
                    size += 1
                if to_b <= limit:
                    stack[size] = b
                    size += 1
            else:
                for i in range(tree.start[node], tree.end[node]):
                    d2 = _distance(tree.points, i, q)
                    if d2 == limit:
                        equal += weight[tree.ids[i]]
                    elif d2 < limit:
                        equal, size = 0, 0  # nothing else is looked at
                        break
        ties[row] = equal
    return ties


@checked
def summed(codes: Ints32, starts: Ints, distances: Floats, out: Floats) -> None:
    """Write the distance between a person and each row, summed over the columns.

    Parameters
    ----------
    codes : array of int32, shape (q, n)
        The cell of each row, one column a line.
    starts : array of int64, shape (q,)
        Where each column's cells begin in `distances`.
    distances : array
        The person's distance from every cell of every column.
    out : array, shape (n,)
    """
    out[:] = 0.0
    for c in range(codes.shape[0]):
        begin, column = starts[c], codes[c]
        for i in range(out.size):
            out[i] += distances[begin + column[i]]


@checked
def agreeing(codes: Ints32, starts: Ints, distances: Floats, within: Floats, bits: int, out: Patterns) -> None:
    """Write the agreement pattern of a person with each row: every column's level in its own bits.

    Parameters
    ----------
    codes, starts, distances
        See `summed`.
    within : array, shape (q, levels - 1)
        Distances for each column; the level of a cell is the number of them that its own does not exceed.
    bits : int
        Number of bits per column; all columns together have at most 32.
    out : array of uint32, shape (n,)
    """
    out[:] = 0
    for c in range(codes.shape[0]):
        begin, column, reach, one = starts[c], codes[c], within[c], np.uint32(1 << (bits * c))
        for i in range(out.size):
            distance = distances[begin + column[i]]
            for t in range(reach.size):
                if distance <= reach[t]:
                    out[i] += one


Patterns = UInts32


@checked
def near_patterns(records: Floats, people: Floats, within: Floats, bits: int) -> Patterns:
    """Return the agreement pattern of each person with each record, from the distances of their numbers.

    A pattern holds the level of every column in `bits` bits of its own.

    Parameters
    ----------
    records : array, shape (d, n)
        The records, column by column.
    people : array, shape (m, d)
        The people, row by row.
    within : array, shape (levels - 1,)
        Distances; the level of a pair is the number of them that its own distance does not exceed.
    bits : int
        Number of bits per column.

    Returns
    -------
    array of uint32, shape (m, n)
    """
    patterns = np.zeros((people.shape[0], records.shape[1]), np.uint32)
    for row in range(people.shape[0]):
        out = patterns[row]
        for c in range(people.shape[1]):
            q, one, column = people[row, c], np.uint32(1 << (bits * c)), records[c]
            for i in range(out.size):
                distance = abs(column[i] - q)
                for t in range(within.size):
                    if distance <= within[t]:
                        out[i] += one
    return patterns


@checked
def count_patterns(patterns: Patterns, sizes: Ints, bits: int) -> Ints:
    """Return the number of pairs with each pattern.

    Parameters
    ----------
    patterns : array of uint32, shape (m, n)
    sizes : array of int, shape (n,)
        Number of records that each column of `patterns` stands for.
    bits : int
        Number of bits of a whole pattern.

    Returns
    -------
    array of int, shape (2**bits,)
    """
    counts = np.zeros(1 << bits, np.int64)
    for row in range(patterns.shape[0]):
        for i in range(patterns.shape[1]):
            counts[patterns[row, i]] += sizes[i]
    return counts


@checked
def count_ties(patterns: Patterns, sizes: Ints, paired: Ints, weights: Floats, bits: int) -> Ints:
    """Return, for each person, how many records link as well as their own, by the first 1, 2, ... d columns.

    Parameters
    ----------
    patterns : array of uint32, shape (m, n)
    sizes : array of int, shape (n,)
        Number of records that each column of `patterns` stands for.
    paired : array of int, shape (m,)
        Column of each person's own record in `patterns`.
    weights : array, shape (2**(bits * d + 1),)
        Weight of pattern p over the first j columns, at ``2**(bits * j) + p``.
    bits : int
        Number of bits per column.

    Returns
    -------
    array of int, shape (m, d)
        The number for the first 1, ..., d columns; 0 if another record has more weight.
    """
    d = 0
    while (2 << (bits * d)) < weights.size:
        d += 1
    m, most = patterns.shape[0], min(1 << (bits * d), patterns.shape[1])
    linked = np.zeros((m, d), np.int64)
    count, distinct_patterns = np.zeros(1 << (bits * d), np.int64), np.empty(most, np.uint32)
    for row in range(m):
        distinct = 0
        for i in range(patterns.shape[1]):
            p = patterns[row, i]
            if count[p] == 0:
                # Few patterns occur, so weights are compared once for each and not for each record.
                distinct_patterns[distinct] = p
                distinct += 1
            count[p] += sizes[i]
        mine = patterns[row, paired[row]]
        for j in range(1, d + 1):
            size = np.uint32(1 << (bits * j))
            low = np.uint32(size - 1)
            best, ties = weights[size + (mine & low)], 0
            for s in range(distinct):
                weight = weights[size + (distinct_patterns[s] & low)]
                if weight > best:
                    ties = 0
                    break
                if weight == best:
                    ties += count[distinct_patterns[s]]
            linked[row, j - 1] = ties
        for s in range(distinct):
            count[distinct_patterns[s]] = 0
    return linked


@checked
def estimate(
    patterns: Patterns, counts: Floats, m: Floats, u: Floats, belong: float, fixed: Any, steps: int, change: float
) -> Floats:
    """Return Fellegi and Sunter's m, each level's share in true pairs, by EM on pattern counts.

    Parameters
    ----------
    patterns : array of uint32
        The patterns that occur.
    counts : array, the same shape
        Pairs of each pattern.
    m : array, shape (d, levels)
        First guess of the levels' shares among pairs that belong together; there are
        2**bits levels if a pattern has `bits` bits per column.
    u : array, shape (d, levels)
        Their shares among the others.
    belong : float
        The share of pairs that belong together.
    fixed : array of bool, shape (d,)
        Columns whose m is known.
    steps : int
        Most rounds.
    change : float
        Stop when no share moves by more.
    """
    m = m.copy()
    columns, levels = m.shape
    mask, bits = np.uint32(levels - 1), 0
    while (1 << bits) < levels:
        bits += 1
    for _ in range(steps):
        matched, met = 0.0, np.zeros((columns, levels))
        for i in range(patterns.size):
            a, b = belong, 1.0 - belong
            for c in range(columns):
                level = (patterns[i] >> np.uint32(bits * c)) & mask
                a *= m[c, level]
                b *= u[c, level]
            mine = counts[i] * a / max(a + b, 1e-300)
            matched += mine
            for c in range(columns):
                met[c, (patterns[i] >> np.uint32(bits * c)) & mask] += mine
        moved = 0.0
        for c in range(columns):
            if fixed[c]:
                continue
            for level in range(levels):
                # a share of 0 would rule a level out in all later rounds
                new = min(max(met[c, level] / max(matched, 1e-300), 1e-6), 1.0 - 1e-6)
                moved = max(moved, abs(new - m[c, level]))
                m[c, level] = new
        if moved < change:
            break
    return m
