"""Growing: rows move with their node, so that every loop runs over neighbours in memory.

Depth first, the smaller child first. Nodes with many rows keep a histogram of
all columns (one statistics vector per code); the smaller child's is counted and
subtracted from the parent's to give the larger child's. Nodes with few rows
count one column at a time, which stays in the processor's first cache.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from ..kernels.bits import trailing_zeros
from .responses import Responses
from .split import numeric_split, plain_numeric_split, subset_split
from .statistics import SSE, Layout, Rules, Terms

LEAF = -1
OPEN = -2
"""Mark of nodes that one call of the kernel leaves to others."""
SHARED = 100_000
"""From so many rows on, the branches of a tree are grown by several threads."""


@dataclass(frozen=True)
class Predictors:
    """The quasi-identifiers as the grower sees them.

    Parameters
    ----------
    codes : uint8 or uint16 array of shape (n, p)
        Row-major codes; the missing code is `n_codes`.
    n_codes : int array of shape (p,)
        Codes of each column, missing excluded.
    ordered : bool array of shape (p,)
        True for numeric columns (split by thresholds), False for categories.
    """

    codes: npt.NDArray[np.unsignedinteger]
    n_codes: npt.NDArray[np.int64]
    ordered: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Grown:
    """A grown tree in pre-order, with the rows of every node.

    Node i holds `rows[start[i]:end[i]]`; its left child is i + 1, its right
    child `right[i]`; `column[i]` is LEAF for leaves. Ordered columns split
    between the codes `last_left[i]` and `first_right[i]`; for categorical ones
    `last_left[i]` is the number of codes in `subset(i)`, which go left.
    """

    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    column: npt.NDArray[np.int64]
    last_left: npt.NDArray[np.int64]
    first_right: npt.NDArray[np.int64]
    missing_left: npt.NDArray[np.bool_]
    depth: npt.NDArray[np.int64]
    stats: npt.NDArray[np.int64]
    subset_at: npt.NDArray[np.int64]
    subset_codes: npt.NDArray[np.int64]
    rows: npt.NDArray[np.uint32]

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.column)

    def subset(self, node: int) -> npt.NDArray[np.int64]:
        """The category codes that go left at a node."""
        at = self.subset_at[node]
        return self.subset_codes[at : at + self.last_left[node]]


class _Data(NamedTuple):
    """The moving rows: codes, the same memory as 64-bit words, responses, row numbers."""

    codes: npt.NDArray[np.unsignedinteger]
    words: npt.NDArray[np.uint64]
    z: npt.NDArray[np.int32]
    classes: npt.NDArray[np.uint16]
    rows: npt.NDArray[np.uint32]


class _Nodes(NamedTuple):
    """Growing records, one entry per node in order of creation."""

    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]
    parent: npt.NDArray[np.int64]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    column: npt.NDArray[np.int64]
    choice: npt.NDArray[np.int64]
    depth: npt.NDArray[np.int64]
    stats: npt.NDArray[np.int64]
    subset_at: npt.NDArray[np.int64]

    @classmethod
    def of(cls, limit: int, size: int) -> _Nodes:
        """Room for `limit` nodes with statistics vectors of `size`."""
        shapes: dict[str, tuple[int, ...]] = {"choice": (limit, 3), "stats": (limit, size)}
        return cls(**{f: np.zeros(shapes.get(f, (limit,)), np.int64) for f in cls._fields})

    def first(self, count: int) -> _Nodes:
        """The records of the first `count` nodes."""
        return _Nodes(*(part[:count] for part in self))

    def after_first(self) -> _Nodes:
        """The records of all nodes but the first."""
        return _Nodes(*(part[1:] for part in self))


class _Branch(NamedTuple):
    """What one call of the kernel grew, nodes in order of creation."""

    nodes: _Nodes
    subset_codes: npt.NDArray[np.int64]


def grow(
    predictors: Predictors,
    responses: Responses,
    layout: Layout,
    rules: Rules,
    max_depth: int | None = None,
    threads: int | None = None,
) -> Grown:
    """Grow a tree by the best admissible split until none is left.

    Parameters
    ----------
    predictors : Predictors
    responses : Responses
    layout : Layout
    rules : Rules
    max_depth : int, optional
        No limit by default.
    threads : int, optional
        Threads for large tables, all processors by default; the tree does not depend on it.
    """
    n, p = predictors.codes.shape
    per_word = 8 // predictors.codes.itemsize
    padded = np.zeros((n, -(-max(p, 1) // per_word) * per_word), predictors.codes.dtype)
    padded[:, :p] = predictors.codes
    data = _Data(
        padded,
        padded.view(np.uint64),
        responses.z.copy(),
        responses.classes.copy(),
        np.arange(n, dtype=np.uint32),
    )
    terms = Terms.of(rules, layout, n)
    offsets = np.concatenate([[0], np.cumsum(predictors.n_codes + 1)]).astype(np.int64)
    deepest = n if max_depth is None else max_depth

    def branch(
        start: int, end: int, depth: int, stats: npt.NDArray[np.int64], keep: int
    ) -> _Branch:
        nodes = _Nodes.of(max(1, 2 * ((end - start) // max(rules.min_leaf, 1))), layout.size)
        nodes.start[0], nodes.end[0], nodes.parent[0], nodes.depth[0] = start, end, -1, depth
        nodes.stats[0] = stats
        count, codes = _grow(
            data,
            predictors.n_codes.astype(np.int64),
            predictors.ordered,
            offsets,
            terms,
            nodes,
            deepest,
            keep,
        )
        return _Branch(nodes.first(count), codes)

    root = root_statistics(responses, layout)
    n_threads = (os.cpu_count() or 1) if threads is None else threads
    if n_threads < 2 or n < SHARED:
        return _preorder(branch(0, n, 0, root, 0), data.rows)
    top = branch(0, n, 0, root, n // (8 * n_threads))
    open_nodes = np.flatnonzero(top.nodes.column == OPEN)
    by_size = open_nodes[np.argsort(top.nodes.start[open_nodes] - top.nodes.end[open_nodes])]
    with ThreadPoolExecutor(n_threads) as pool:
        grown = pool.map(
            lambda i: branch(
                int(top.nodes.start[i]),
                int(top.nodes.end[i]),
                int(top.nodes.depth[i]),
                top.nodes.stats[i],
                0,
            ),
            by_size,
        )
        return _preorder(_joined(top, dict(zip(by_size.tolist(), grown, strict=True))), data.rows)


def _joined(top: _Branch, branches: dict[int, _Branch]) -> _Branch:
    """One branch, the open nodes of `top` replaced by what was grown from them."""
    parts, codes = [top.nodes], [top.subset_codes]
    placed, n_codes = len(top.nodes.column), len(top.subset_codes)
    for node, branch in branches.items():
        new = np.concatenate([[node], placed + np.arange(len(branch.nodes.column) - 1)])
        moved = branch.nodes._replace(
            parent=new[np.maximum(branch.nodes.parent, 0)],
            left=new[branch.nodes.left],
            right=new[branch.nodes.right],
            subset_at=branch.nodes.subset_at + n_codes,
        )
        for kept, own in zip(top.nodes, moved, strict=True):
            if own is not moved.parent:
                kept[node] = own[0]
        parts.append(moved.after_first())
        codes.append(branch.subset_codes)
        placed += len(branch.nodes.column) - 1
        n_codes += len(branch.subset_codes)
    together = _Nodes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    return _Branch(together, np.concatenate(codes))


def root_statistics(responses: Responses, layout: Layout) -> npt.NDArray[np.int64]:
    """The statistics vector of the whole table."""
    stats = np.zeros(layout.size, np.int64)
    stats[0] = len(responses.z)
    for j in range(layout.r):
        z = responses.z[:, j].astype(np.int64)
        stats[1 + j] = z.sum()
        if layout.squares:
            stats[layout.starts[-1] + j] = ((z * z) >> layout.shift).sum()
    for j in range(layout.q):
        a, b = layout.starts[j], layout.starts[j + 1]
        stats[a:b] = np.bincount(responses.classes[:, j], minlength=b - a)
    return stats


@njit(cache=True, nogil=True)
def _count(hist, row, z, classes, i, t):  # type: ignore[no-untyped-def]
    """Add record i to one row of a histogram."""
    hist[row, 0] += 1
    for j in range(z.shape[1]):
        value = np.int64(z[i, j])
        hist[row, 1 + j] += value
        if t.squares >= 0:
            hist[row, t.squares + j] += (value * value) >> t.shift
    for j in range(classes.shape[1]):
        hist[row, t.starts[j] + classes[i, j]] += 1


@njit(cache=True, nogil=True)
def _fill(hist, codes, z, classes, a, b, p, offsets, plain, squares, t):  # type: ignore[no-untyped-def]
    """Count the records a..b in the histograms of all columns."""
    for k in range(offsets[p]):
        for i in range(hist.shape[1]):
            hist[k, i] = 0
    if plain:
        two = z.shape[1] == 2
        for i in range(a, b):
            u, v = np.int64(z[i, 0]), np.int64(z[i, 1]) if two else 0
            for c in range(p):
                row = offsets[c] + codes[i, c]
                hist[row, 0] += 1
                hist[row, 1] += u
                if two:
                    hist[row, 2] += v
                if squares >= 0:
                    hist[row, squares] += (u * u) >> t.shift
                    if two:
                        hist[row, squares + 1] += (v * v) >> t.shift
        return
    for i in range(a, b):
        for c in range(p):
            _count(hist, offsets[c] + np.int64(codes[i, c]), z, classes, i, t)


@njit(cache=True, nogil=True, inline="always")
def _fill_one(hist, occupied, codes, c, z, classes, a, b, plain, squares, t):  # type: ignore[no-untyped-def]
    """Count the records a..b in the histogram of one column, and mark the codes that occur."""
    if plain:
        two = z.shape[1] == 2
        for i in range(a, b):
            code = np.int64(codes[i, c])
            occupied[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
            u = np.int64(z[i, 0])
            hist[code, 0] += 1
            hist[code, 1] += u
            if squares >= 0:
                hist[code, squares] += (u * u) >> t.shift
            if two:
                v = np.int64(z[i, 1])
                hist[code, 2] += v
                if squares >= 0:
                    hist[code, squares + 1] += (v * v) >> t.shift
        return
    for i in range(a, b):
        code = np.int64(codes[i, c])
        occupied[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
        _count(hist, code, z, classes, i, t)


@njit(cache=True, nogil=True)
def _partition(codes, words, z, classes, rows, a, b, column, goes_left):  # type: ignore[no-untyped-def]
    """Bring the records that go left to the front; returns where the right ones begin."""
    i, j = a, b - 1
    while True:
        while i <= j and goes_left[codes[i, column]]:
            i += 1
        while i <= j and not goes_left[codes[j, column]]:
            j -= 1
        if i >= j:
            return i
        for w in range(words.shape[1]):
            words[i, w], words[j, w] = words[j, w], words[i, w]
        for w in range(z.shape[1]):
            z[i, w], z[j, w] = z[j, w], z[i, w]
        for w in range(classes.shape[1]):
            classes[i, w], classes[j, w] = classes[j, w], classes[i, w]
        rows[i], rows[j] = rows[j], rows[i]
        i += 1
        j -= 1


@njit(cache=True, nogil=True)
def _left_is_larger(winner, total, t):  # type: ignore[no-untyped-def]
    """Whether a subset split should change sides: the smaller summed mean goes left."""
    nl, nr = float(winner[0]), float(total[0] - winner[0])
    apart = 0.0
    if t.r > 0:
        for j in range(t.r):
            apart += float(winner[1 + j]) * nr - float(total[1 + j] - winner[1 + j]) * nl
    elif t.weight.shape[0] > 0:  # classes only: the larger share of the first class goes left
        for c in range(t.starts[0], t.starts[1]):
            apart = float(total[c] - winner[c]) * nl - float(winner[c]) * nr
            if apart != 0.0:
                break
    return apart > 0.0


@njit(cache=True, nogil=True)
def _grow(data, n_codes, ordered, offsets, t, nodes, max_depth, keep):  # type: ignore[no-untyped-def]
    """Grow the branch of node 0 over its rows; nodes of at most `keep` rows are left open."""
    p = n_codes.shape[0]
    first, n = nodes.start[0], nodes.end[0] - nodes.start[0]
    codes, z, classes = data.codes, data.z, data.classes
    size = nodes.stats.shape[1]
    widest = 1
    for c in range(p):
        widest = max(widest, n_codes[c] + 1)
    simple = t.weight.shape[0] == t.r and 0 < t.r <= 2  # one or two numeric responses
    plain = simple and t.gain == SSE
    big = max(256, 8 * offsets[p])  # from here on the histogram of all columns pays
    n_slots = 2
    rest = n
    while rest > big:
        rest //= 2
        n_slots += 1
    slots = np.zeros((n_slots, offsets[p] if n >= big else 1, size), np.int64)
    free = np.arange(n_slots)
    n_free = n_slots
    single = np.zeros((widest, size), np.int64)
    occupied = np.zeros(widest // 64 + 1, np.uint64)
    present = np.empty(widest, np.int64)
    left = np.empty(size, np.int64)
    right = np.empty(size, np.int64)
    winner = np.empty(size, np.int64)
    best_left = np.empty(size, np.int64)
    choice = np.zeros(3, np.int64)
    best_choice = np.zeros(3, np.int64)
    goes_left = np.zeros(widest, np.uint8)
    best_subset = np.zeros(widest, np.uint8)
    subset_codes = np.empty(1024, np.int64)
    n_subset = 0

    constant = np.zeros((nodes.start.shape[0], p), np.bool_)
    stack = np.empty((2 * n_slots + 64, 2), np.int64)
    n_nodes = 1
    stack[0, 0], stack[0, 1] = 0, -1
    if n >= big:
        n_free -= 1
        stack[0, 1] = free[n_free]
        _fill(
            slots[free[n_free]],
            codes,
            z,
            classes,
            first,
            first + n,
            p,
            offsets,
            simple,
            t.squares,
            t,
        )
    depth_of_stack = 1
    while depth_of_stack > 0:
        depth_of_stack -= 1
        node, slot = stack[depth_of_stack, 0], stack[depth_of_stack, 1]
        a, b = nodes.start[node], nodes.end[node]
        total = nodes.stats[node]
        best = 0.0
        column = LEAF
        if b - a <= keep:
            column = OPEN
        elif b - a >= 2 * t.min_leaf and nodes.depth[node] < max_depth:
            for c in range(p):
                if constant[node, c]:
                    continue
                m = 0
                if slot >= 0:
                    hist = slots[slot, offsets[c] : offsets[c + 1]]
                    for code in range(n_codes[c] + 1):
                        if hist[code, 0] > 0:
                            present[m] = code
                            m += 1
                else:
                    hist = single
                    _fill_one(single, occupied, codes, c, z, classes, a, b, simple, t.squares, t)
                    for w in range((n_codes[c] >> 6) + 1):
                        word = occupied[w]
                        while word != 0:
                            present[m] = (w << 6) + trailing_zeros(word)
                            m += 1
                            word &= word - np.uint64(1)
                        occupied[w] = 0
                constant[node, c] = m <= 1
                if m > 1:
                    if ordered[c]:
                        missing = -1
                        values = m
                        if present[m - 1] == n_codes[c]:
                            missing = n_codes[c]
                            values = m - 1
                        if plain and missing < 0:
                            gain = plain_numeric_split(
                                hist, present, values, total, best, t, choice, winner
                            )
                        else:
                            gain = numeric_split(
                                hist,
                                present,
                                values,
                                missing,
                                total,
                                best,
                                t,
                                left,
                                right,
                                choice,
                                winner,
                            )
                    else:
                        gain = subset_split(
                            hist, present, m, total, best, t, left, right, goes_left, winner
                        )
                    if gain > best:
                        best = gain
                        column = c
                        best_left[:] = winner
                        if ordered[c]:
                            best_choice[:] = choice
                        else:
                            flip = _left_is_larger(winner, total, t)
                            best_subset[: n_codes[c] + 1] = 0
                            for k in range(m):
                                best_subset[present[k]] = goes_left[present[k]] != flip
                            if flip:
                                for i in range(size):
                                    best_left[i] = total[i] - winner[i]
                if slot < 0:
                    for k in range(m):
                        for i in range(size):
                            single[present[k], i] = 0
        nodes.column[node] = column
        if column < 0:
            if slot >= 0:
                free[n_free] = slot
                n_free += 1
            continue
        if ordered[column]:
            nodes.choice[node] = best_choice
            for code in range(n_codes[column]):
                best_subset[code] = code <= best_choice[0]
            best_subset[n_codes[column]] = best_choice[2]
        else:
            nodes.subset_at[node] = n_subset
            for code in range(n_codes[column] + 1):
                if best_subset[code]:
                    if n_subset == subset_codes.shape[0]:
                        wider = np.empty(2 * n_subset, np.int64)
                        wider[:n_subset] = subset_codes
                        subset_codes = wider
                    subset_codes[n_subset] = code
                    n_subset += 1
            nodes.choice[node, 0] = n_subset - nodes.subset_at[node]
        middle = _partition(codes, data.words, z, classes, data.rows, a, b, column, best_subset)
        small, large = n_nodes, n_nodes + 1
        nodes.left[node], nodes.right[node] = small, large
        nodes.start[small], nodes.end[small] = a, middle
        nodes.start[large], nodes.end[large] = middle, b
        nodes.stats[small] = best_left
        for i in range(size):
            nodes.stats[large, i] = total[i] - best_left[i]
        for child in range(n_nodes, n_nodes + 2):
            for c in range(p):  # what does not vary here cannot vary further down
                constant[child, c] = constant[node, c]
            nodes.parent[child] = node
            nodes.depth[child] = nodes.depth[node] + 1
        n_nodes += 2
        if middle - a > b - middle:
            small, large = large, small
        small_slot = -1
        if slot >= 0:
            if nodes.end[large] - nodes.start[large] >= big:
                n_free -= 1
                small_slot = free[n_free]
                _fill(
                    slots[small_slot],
                    codes,
                    z,
                    classes,
                    nodes.start[small],
                    nodes.end[small],
                    p,
                    offsets,
                    simple,
                    t.squares,
                    t,
                )
                for k in range(offsets[p]):
                    for i in range(size):
                        slots[slot, k, i] -= slots[small_slot, k, i]
                if nodes.end[small] - nodes.start[small] < big:
                    free[n_free] = small_slot
                    n_free += 1
                    small_slot = -1
            else:
                free[n_free] = slot
                n_free += 1
                slot = -1
        if depth_of_stack + 2 > stack.shape[0]:
            taller = np.empty((2 * stack.shape[0], 2), np.int64)
            taller[:depth_of_stack] = stack[:depth_of_stack]
            stack = taller
        stack[depth_of_stack, 0], stack[depth_of_stack, 1] = large, slot
        stack[depth_of_stack + 1, 0], stack[depth_of_stack + 1, 1] = small, small_slot
        depth_of_stack += 2
    return n_nodes, subset_codes[:n_subset]


def _preorder(branch: _Branch, rows: npt.NDArray[np.uint32]) -> Grown:
    """Renumber the nodes in pre-order."""
    nodes = branch.nodes
    order = _visit(nodes.column, nodes.left, nodes.right)
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    column, parent, choice = nodes.column[order], nodes.parent[order], nodes.choice[order]
    return Grown(
        nodes.start[order],
        nodes.end[order],
        np.where(parent >= 0, new[np.maximum(parent, 0)], -1),
        np.where(column >= 0, new[nodes.right[order]], 0),
        column,
        choice[:, 0].copy(),
        choice[:, 1].copy(),
        choice[:, 2].astype(bool),
        nodes.depth[order],
        nodes.stats[order],
        nodes.subset_at[order],
        branch.subset_codes,
        rows,
    )


@njit(cache=True, nogil=True)
def _visit(column, left, right):  # type: ignore[no-untyped-def]
    """Node numbers in pre-order."""
    n = column.shape[0]
    order = np.empty(n, np.int64)
    stack = np.empty(n + 1, np.int64)
    stack[0] = 0
    top, k = 1, 0
    while top > 0:
        top -= 1
        node = stack[top]
        order[k] = node
        k += 1
        if column[node] >= 0:
            stack[top] = right[node]
            stack[top + 1] = left[node]
            top += 2
    return order
