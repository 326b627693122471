"""Growing: rows move with their node, so that every loop runs over neighbours in memory."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from ..kernels.compiled import kernel
from ..progress import done
from .expand import (
    CODES,
    COLUMN,
    DEPTH,
    END,
    FIRST_RIGHT,
    LAST_LEFT,
    LEFT,
    MISSING_LEFT,
    NODES,
    OPEN,
    OPEN_NODES,
    PARENT,
    RIGHT,
    SETTLED,
    SLICE,
    SPENT,
    START,
    SUBSET_AT,
    Branch,
    bundles_of,
    expand,
)
from .histogram import Fields, Tally
from .moments import Products, products
from .node_rows import NodeRows
from .objective import Rules, Terms
from .responses import Responses
from .sparse import Listed
from .split import LEAF, Histograms, Space
from .statistics import StatisticsLayout, root_statistics

Ints = npt.NDArray[np.int64]

SHARED = 100_000
"""From so many rows on, the branches of a tree are grown by several threads."""


HEARD = 0.5
"""Seconds after which threads that grow are looked after."""
WORTH = 64
PER_CODE = 0.25
"""Nodes of so many rows, and so many for every code, keep the histograms of all columns."""


@dataclass(frozen=True)
class Grown:
    """A grown tree in pre-order, with the rows of every node.

    Node i holds `rows[start[i]:end[i]]`; its left child is i + 1, its right
    child `right[i]`; `column[i]` is LEAF for leaves. Ordered columns split
    between the codes `last_left[i]` and `first_right[i]`; for categorical ones
    `last_left[i]` is the number of codes in `subset(i)`, which go left. `products`
    are the exact sums of products of the numeric responses in every leaf.
    """

    start: Ints
    end: Ints
    parent: Ints
    right: Ints
    column: Ints
    last_left: Ints
    first_right: Ints
    missing_left: npt.NDArray[np.bool_]
    depth: Ints
    stats: Ints
    subset_at: Ints
    subset_codes: Ints
    rows: Any
    """The rows, leaf by leaf; or what stands for them where they are elsewhere (`DistributedRows`)."""
    products: Products
    listed: npt.NDArray[np.uint16]
    """The listed classes of `rows`, one column each."""

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.column)

    def subset(self, node: int) -> Ints:
        """The category codes that go left at a node."""
        at = self.subset_at[node]
        return self.subset_codes[at : at + self.last_left[node]]


class DistributedRows(Protocol):
    """Rows that are not here (on a cluster): they are counted where they are."""

    @property
    def n(self) -> int:
        """Number of rows."""
        ...

    def grow(
        self,
        responses: Responses,
        layout: StatisticsLayout,
        rules: Rules,
        max_depth: int | None = None,
    ) -> Grown:
        """The tree that `grow` would grow over them."""
        ...


class Nodes(NamedTuple):
    """What was grown: nodes in order of creation, their statistics, codes of subsets."""

    nodes: Ints
    stats: Ints
    codes: Ints


@dataclass(frozen=True)
class _Grower:
    """What all branches of a tree share."""

    rows: NodeRows
    layout: StatisticsLayout
    rules: Rules
    terms: Terms
    fields: Fields
    places: Histograms
    max_depth: int
    stop: threading.Event

    @classmethod
    def of(
        cls, rows: NodeRows, layout: StatisticsLayout, rules: Rules, n: int, max_depth: int | None
    ) -> _Grower:
        """What grows a tree of n rows, all of which or some are here."""
        return cls(
            rows,
            layout,
            rules,
            Terms.of(rules, layout, n),
            Fields.of(rows.format, layout),
            Histograms.of(rows.predictors, layout),
            n if max_depth is None else max_depth,
            threading.Event(),
        )

    @property
    def big(self) -> int:
        """Nodes of so many rows keep histograms: subtracting them must be cheaper than counting."""
        places = self.places
        lanes = -(-int(self.layout.starts[0]) // 4) * 4 + 4 * self.layout.q
        return max(WORTH, int(places.n_rows * places.stride / lanes * PER_CODE))

    def _listed(self, n: int) -> Any:
        """Room for the classes that are listed in nodes of up to n rows; nothing where none are."""
        if self.layout.listed is None:
            return ()
        widest = int(self.rows.predictors.n_codes.max(initial=0)) + 1
        return Listed.of(self.rows, n, widest, self.layout, self.rules)

    def branch(self, start: int, end: int, depth: int, stats: Ints, keep: int) -> Nodes:
        """Grow the branch over the rows start..end; nodes of at most `keep` rows stay open."""
        big = self.big
        space = Space.of(self.places, self.layout, self._listed(end - start))
        n_cells = space.cells.shape[1]
        grown = Branch.of(start, end, depth, stats, self.places, n_cells, big)
        tally = Tally.of(self.rows.format, self.layout)
        while grown.state[OPEN_NODES] and not self.stop.is_set():
            expand(
                self.rows.views,
                self.places.columns,
                bundles_of(self.places),
                self.places.stride,
                self.terms,
                self.fields,
                tally,
                space,
                grown,
                self.max_depth,
                keep,
                big,
                SLICE,
            )
            grown.state[SPENT] = 0
            if grown.state[OPEN_NODES]:
                done(float(grown.state[SETTLED]) / self.rows.n)
            grown = grown.wider(len(space.subset))
        n, codes = int(grown.state[NODES]), int(grown.state[CODES])
        return Nodes(grown.nodes[:n], grown.stats[:n], grown.codes[:codes])


def grow_below(
    rows: NodeRows,
    layout: StatisticsLayout,
    rules: Rules,
    n: int,
    depth: int,
    stats: Ints,
    max_depth: int | None = None,
) -> Nodes:
    """The branch below one node of a tree over n rows, from the rows of that node alone.

    Parameters
    ----------
    rows : Rows
        They are moved in place.
    layout, rules, max_depth
        Those of the whole tree.
    n : int
        Rows of the whole tree.
    depth : int
        Of the node.
    stats : int64 array of shape (layout.size,)
        Its statistics.
    """
    return _Grower.of(rows, layout, rules, n, max_depth).branch(0, rows.n, depth, stats, 0)


def grow(
    rows: NodeRows | DistributedRows,
    responses: Responses,
    layout: StatisticsLayout,
    rules: Rules,
    max_depth: int | None = None,
    threads: int | None = None,
) -> Grown:
    """Grow a tree by the best admissible split until none is left.

    Parameters
    ----------
    rows : Rows
        They are moved in place, each to its leaf; or rows that are elsewhere, which stay there.
    responses : Responses
    layout : StatisticsLayout
    rules : Rules
    max_depth : int, optional
        No limit by default.
    threads : int, optional
        Threads for large tables, all processors by default; the tree does not depend on it.
    """
    if not isinstance(rows, NodeRows):
        return rows.grow(responses, layout, rules, max_depth)
    n = rows.n
    root = root_statistics(responses, layout)
    if layout.persons:
        root[layout.persons] = rows.persons()
    grower = _Grower.of(rows, layout, rules, n, max_depth)
    multiplied = 0 if layout.alone else layout.r  # likeness needs no covariances
    n_threads = (os.cpu_count() or 1) if threads is None else threads
    if n_threads < 2 or n < SHARED:
        return in_preorder(*grower.branch(0, n, 0, root, 0), rows, multiplied, layout.n_listed)
    top = grower.branch(0, n, 0, root, n // (8 * n_threads))
    open_nodes = np.flatnonzero(top.nodes[:, COLUMN] == OPEN)
    size = top.nodes[open_nodes, START] - top.nodes[open_nodes, END]
    by_size = open_nodes[np.argsort(size, kind="stable")]
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            grown = [
                pool.submit(
                    grower.branch,
                    int(top.nodes[i, START]),
                    int(top.nodes[i, END]),
                    int(top.nodes[i, DEPTH]),
                    top.stats[i],
                    0,
                )
                for i in by_size
            ]
            while wait(grown, HEARD, FIRST_EXCEPTION).not_done:
                ended = [each for each in grown if each.done()]
                for each in ended:
                    each.result()  # or raise what ended it
                done(len(ended) / len(grown))
        finally:
            grower.stop.set()  # an interrupt leaves no thread growing
            pool.shutdown(cancel_futures=True)
    branches = [each.result() for each in grown]
    joined = joined_nodes(top, dict(zip(by_size.tolist(), branches, strict=True)))
    return in_preorder(*joined, rows, multiplied, layout.n_listed)


def joined_nodes(top: Nodes, branches: Mapping[int, Nodes]) -> Nodes:
    """One branch, the open nodes of `top` replaced by what was grown from them."""
    nodes, stats, codes = [top.nodes], [top.stats], [top.codes]
    placed, n_codes = len(top.nodes), len(top.codes)
    for node, branch in branches.items():
        new = np.concatenate([[node], placed + np.arange(len(branch.nodes) - 1)])
        moved = branch.nodes.copy()
        for name in (PARENT, LEFT, RIGHT):
            moved[:, name] = new[np.maximum(moved[:, name], 0)]
        moved[:, SUBSET_AT] += n_codes
        moved[0, PARENT] = top.nodes[node, PARENT]
        top.nodes[node] = moved[0]
        nodes.append(moved[1:])
        stats.append(branch.stats[1:])
        codes.append(branch.codes)
        placed += len(branch.nodes) - 1
        n_codes += len(branch.codes)
    return Nodes(np.concatenate(nodes), np.concatenate(stats), np.concatenate(codes))


def in_preorder(
    nodes: Ints, stats: Ints, codes: Ints, rows: NodeRows, r: int, n_listed: int = 0
) -> Grown:
    """A tree from its nodes in any order (the columns of `expand`), renumbered in pre-order.

    Parameters
    ----------
    nodes, stats, codes : int64 arrays
        As in `Branch`.
    rows : Rows
        Each in its leaf.
    r : int
        Numeric responses.
    n_listed : int
        Class columns that are listed.
    """
    made, _ = renumbered(nodes, stats, codes)
    leaf = made["column"] == LEAF
    return Grown(
        **made,
        rows=rows.numbers(),
        products=products(rows, r, made["start"][leaf], made["end"][leaf]),
        listed=rows.views.shorts[:, rows.format.classes[:n_listed]],
    )


def renumbered(nodes: Ints, stats: Ints, codes: Ints) -> tuple[dict[str, Any], Ints]:
    """The nodes of a tree in pre-order, as fields of `Grown`, and the old number of each."""
    nodes = np.asfortranarray(nodes)
    order = visit_order(nodes[:, COLUMN], nodes[:, LEFT], nodes[:, RIGHT])
    new = np.empty(len(order), np.int64)
    new[order] = np.arange(len(order))
    nodes = np.ascontiguousarray(nodes[order].T)
    column, parent = nodes[COLUMN], nodes[PARENT]
    fields = {
        "start": nodes[START],
        "end": nodes[END],
        "parent": np.where(parent >= 0, new[np.maximum(parent, 0)], -1),
        "right": np.where(column >= 0, new[nodes[RIGHT]], 0),
        "column": column,
        "last_left": nodes[LAST_LEFT],
        "first_right": nodes[FIRST_RIGHT],
        "missing_left": nodes[MISSING_LEFT].astype(bool),
        "depth": nodes[DEPTH],
        "stats": stats[order],
        "subset_at": nodes[SUBSET_AT],
        "subset_codes": codes,
    }
    return fields, order


@kernel
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
