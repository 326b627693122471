"""Growing: rows move with their node, so that every loop runs over neighbours in memory."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from .expand import OPEN, expand
from .responses import Responses
from .statistics import Rules, StatisticsLayout, Terms

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
    layout: StatisticsLayout,
    rules: Rules,
    max_depth: int | None = None,
    threads: int | None = None,
) -> Grown:
    """Grow a tree by the best admissible split until none is left.

    Parameters
    ----------
    predictors : Predictors
    responses : Responses
    layout : StatisticsLayout
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
        count, codes = expand(
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


def root_statistics(responses: Responses, layout: StatisticsLayout) -> npt.NDArray[np.int64]:
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


def _preorder(branch: _Branch, rows: npt.NDArray[np.uint32]) -> Grown:
    """Renumber the nodes in pre-order."""
    nodes = branch.nodes
    order = visit_order(nodes.column, nodes.left, nodes.right)
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
def visit_order(column, left, right):  # type: ignore[no-untyped-def]
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
