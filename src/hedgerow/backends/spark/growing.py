"""A tree over rows on a cluster: counted where they are, split by split where they are many.

One pass counts all nodes that are open: of two children the smaller one, for the larger one's
histogram is the parent's less that. The split is chosen here, by the function that the grower in
memory calls. Nodes of few rows are finished by that very grower: their rows come together in one
executor each. What is summed are whole numbers, so the tree does not depend on who counted what.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...errors import InputError
from ...progress import done
from ...trees.expand import (
    COLUMN,
    DEPTH,
    END,
    FIRST_RIGHT,
    LAST_LEFT,
    LEFT,
    MISSING_LEFT,
    OPEN,
    PARENT,
    RIGHT,
    START,
    SUBSET_AT,
)
from ...trees.grow import Grown, Nodes, grow_below, joined_nodes, renumbered
from ...trees.moments import Products, products
from ...trees.node_rows import Predictors, Rows
from ...trees.objective import Rules, Terms
from ...trees.responses import Responses
from ...trees.split import LEAF, Counted, Split, best_split
from ...trees.statistics import StatisticsLayout, root_statistics
from .cluster import binaries, collected, over_parts
from .compiled_tree import Signposts
from .counted_columns import CountedColumn
from .grower_records import Records
from .leaves import SparkLeaves
from .spark_table import SparkTable

Ints = NDArray[np.int64]

SMALL = 1 << 20
"""Nodes of at most so many rows are finished by one executor each."""
_WIDE = 11
"""Columns of the table of nodes (`trees/expand`)."""


@dataclass
class _Node:
    """A node that is open: what was counted of it, or whose children tell."""

    number: int
    counted: Counted | None = None
    larger_of: tuple[_Node, _Node] | None = None
    """The parent and the smaller child, whose difference it is."""


@dataclass(eq=False)
class SparkRows:
    """The rows of a table on a cluster, ready to be grown over."""

    table: SparkTable
    records: Records
    columns: Sequence[CountedColumn]

    @classmethod
    def of(
        cls,
        table: SparkTable,
        predictors: Predictors,
        columns: Sequence[CountedColumn],
        lookups: Sequence[NDArray[Any] | None],
        sensitive: Sequence[CountedColumn],
    ) -> SparkRows:
        """By the columns that rows are split by, what becomes of their codes, and the responses."""
        quasi = [
            (c.name, c.lookup if lookup is None else lookup[c.lookup])
            for c, lookup in zip(columns, lookups, strict=True)
        ]
        told = [(c.name, c.lookup) for c in sensitive]
        return cls(table, Records(table.packed[0], predictors, quasi, told), columns)

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.table.n_rows

    def grow(
        self,
        responses: Responses,
        layout: StatisticsLayout,
        rules: Rules,
        max_depth: int | None = None,
    ) -> Grown:
        """The tree that the grower in memory grows."""
        packing, frame = self.table.packed
        top = _Top.of(self, responses, layout, rules, self.n if max_depth is None else max_depth)
        top.grow(frame)
        r = 0 if layout.alone else layout.r
        nodes, sums = top.finished(frame, r, max_depth)
        made, order = renumbered(nodes.nodes, nodes.stats, nodes.codes)
        leaf = made["column"] == LEAF
        sizes = made["stats"][leaf, 0]
        if sizes.sum() != self.n:
            raise self.table.changed()
        first = np.cumsum(leaf) - leaf  # leaves before every node
        made["start"] = np.concatenate([[0], np.cumsum(sizes)])[first]
        made["end"] = made["start"] + made["stats"][:, 0]
        signs = Signposts.of(made, np.where(leaf, first, -1), self.records.predictors)
        high, low = (each[order[leaf]] for each in sums)
        return Grown(
            **made,
            rows=SparkLeaves(self.table, packing, self.records, signs, sizes, self.columns),
            products=Products(high, low),
            listed=np.zeros((0, layout.n_listed), np.uint16),
        )


@dataclass(eq=False)
class _Top:
    """The upper part of a tree, whose nodes are counted on the cluster one by one."""

    rows: SparkRows
    responses: Responses
    own: StatisticsLayout
    layout: StatisticsLayout
    """With every class counted."""
    rules: Rules
    terms: Terms
    max_depth: int
    nodes: list[list[int]] = field(default_factory=list)
    stats: list[Ints] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        rows: SparkRows,
        responses: Responses,
        layout: StatisticsLayout,
        rules: Rules,
        max_depth: int,
    ) -> _Top:
        counted = layout.all_counted
        made = cls(
            rows, responses, layout, counted, rules, Terms.of(rules, counted, rows.n), max_depth
        )
        made._add(-1, 0, root_statistics(responses, counted))
        return made

    def _add(self, parent: int, depth: int, stats: Ints) -> int:
        node = [0] * _WIDE
        node[PARENT], node[DEPTH], node[COLUMN] = parent, depth, OPEN
        node[END] = int(stats[0])
        self.nodes.append(node)
        self.stats.append(stats)
        return len(self.nodes) - 1

    def _is_small(self, number: int) -> bool:
        return int(self.stats[number][0]) <= SMALL

    def _array(self) -> Nodes:
        return Nodes(
            np.array(self.nodes, np.int64), np.stack(self.stats), np.array(self.codes, np.int64)
        )

    def signposts(self, labels: Mapping[int, int]) -> Signposts:
        """The way of rows down to the nodes that have labels."""
        made, order = renumbered(*self._array())
        label = np.array([labels.get(int(number), -1) for number in order], np.int64)
        return Signposts.of(made, label, self.rows.records.predictors)

    def grow(self, frame: Any) -> None:
        """Split all nodes of more than `SMALL` rows, a level of the tree at a time."""
        level = [] if self._is_small(0) else [_Node(0)]
        while level:
            self._count([node for node in level if node.larger_of is None], frame)
            for node in level:
                if node.larger_of is not None:
                    parent, smaller = (each.counted for each in node.larger_of)
                    assert parent is not None
                    assert smaller is not None
                    node.counted = Counted(
                        parent.sums - smaller.sums, parent.cells - smaller.cells
                    )
                    node.larger_of = None
            level = [child for node in level for child in self._split(node)]
            done(None)

    def _split(self, node: _Node) -> list[_Node]:
        """Split a node that was counted; its children that are still to be counted."""
        number, held = node.number, self.nodes[node.number]
        counted, total = node.counted, self.stats[node.number]
        assert counted is not None
        self._check(counted, total)
        found = None
        if held[DEPTH] < self.max_depth:
            found = best_split(
                counted.sums,
                counted.cells,
                total,
                self.rows.records.predictors,
                self.layout,
                self.terms,
            )
        if found is None:
            held[COLUMN] = LEAF
            return []
        left, right = self._write(number, found)
        small, large = (left, right) if found.left[0] * 2 <= total[0] else (right, left)
        if self._is_small(large):
            return []
        one = _Node(small)
        return [one, _Node(large, larger_of=(node, one))]

    def _write(self, number: int, found: Split) -> tuple[int, int]:
        held = self.nodes[number]
        held[COLUMN], held[LAST_LEFT], held[FIRST_RIGHT] = (
            found.column,
            found.last_left,
            found.first_right,
        )
        held[MISSING_LEFT] = int(found.missing_left)
        if not self.rows.records.predictors.ordered[found.column]:
            held[SUBSET_AT], held[LAST_LEFT] = len(self.codes), len(found.left_codes)
            self.codes += found.left_codes
        depth, total = held[DEPTH] + 1, self.stats[number]
        held[LEFT] = self._add(number, depth, found.left)
        held[RIGHT] = self._add(number, depth, total - found.left)
        return held[LEFT], held[RIGHT]

    def _check(self, counted: Counted, total: Ints) -> None:
        """Every column's histogram must sum to what is known of the node, or work stops."""
        ends = np.cumsum(self.rows.records.predictors.n_codes + 1)[:-1]
        for own in np.split(counted.sums, ends):
            if not np.array_equal(own.sum(axis=0), total):
                raise self.rows.table.changed()

    def _count(self, nodes: Sequence[_Node], frame: Any) -> None:
        """Count some nodes in one pass over the table."""
        labels = {node.number: at for at, node in enumerate(nodes)}
        signs, records = self.signposts(labels), self.rows.records
        layout, responses = self.layout, self.responses
        n_codes, size = int((records.predictors.n_codes + 1).sum()), layout.size
        width, n = size + int(layout.cells[-1]), len(nodes)

        def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
            words = [column.to_numpy() for column in part.columns]
            codes = records.codes(words)
            label = signs.labels(codes)
            order = np.argsort(label, kind="stable")
            order = order[np.searchsorted(label[order], 0) :]
            bounds = np.searchsorted(label[order], np.arange(n + 1))
            rows = records.rows(
                [c[order] for c in codes], [w[order] for w in words], responses
            )
            counted = Counted.of(rows, bounds.astype(np.int64), layout)
            both = np.concatenate([counted.sums, counted.cells], axis=2)
            yield from _sparse(both.reshape(n * n_codes, width))

        def add(part: pa.Table) -> Iterator[pa.RecordBatch]:
            places, found = part.column(0).to_numpy(), _vectors(part.column(1), width)
            order = np.argsort(places, kind="stable")
            starts = np.flatnonzero(np.diff(places[order], prepend=-1))
            yield _batch(places[order][starts], np.add.reduceat(found[order], starts, axis=0))

        schema = "place long, sums binary"
        made = over_parts(frame, work, schema)
        made = over_parts(made.repartition(min(n, 64), "place"), add, schema, whole=True)
        found = collected(made)
        whole = np.zeros((n * n_codes, width), np.int64)
        np.add.at(whole, found.column(0).to_numpy(), _vectors(found.column(1), width))
        for node, sums in zip(nodes, whole.reshape(n, n_codes, width), strict=True):
            node.counted = Counted(sums[:, :size].copy(), sums[:, size:].copy())

    def finished(
        self, frame: Any, r: int, max_depth: int | None
    ) -> tuple[Nodes, tuple[Ints, Ints]]:
        """The whole tree, and the products of every node that is a leaf, by node."""
        numbers = [i for i, node in enumerate(self.nodes) if node[COLUMN] == OPEN]
        leaves = [i for i, node in enumerate(self.nodes) if node[COLUMN] == LEAF]
        own = replace(self, stats=[self._listed(stats) for stats in self.stats])
        top = own._array()
        branches, told = self._below(numbers, own.stats, frame, max_depth, r)
        top.nodes[:, [START, END]] = 0
        joined = joined_nodes(top, branches)
        pairs = r * (r + 1) // 2
        high, low = (np.zeros((len(joined.nodes), pairs), np.int64) for _ in range(2))
        placed = len(top.nodes)
        for number, branch in branches.items():
            new = np.concatenate([[number], placed + np.arange(len(branch.nodes) - 1)])
            at = new[branch.nodes[:, COLUMN] == LEAF]
            high[at], low[at] = told[number].high, told[number].low
            placed += len(branch.nodes) - 1
        if leaves and pairs:
            for number, one in zip(leaves, self._products(leaves, frame, r), strict=True):
                high[number], low[number] = one
        return joined, (high, low)

    def _listed(self, stats: Ints) -> Ints:
        """A node's statistics as the grower's own layout has them."""
        first, more = int(self.own.starts[0]), self.layout.size - self.own.size
        return np.delete(stats, slice(first, first + more))

    def _below(
        self,
        numbers: Sequence[int],
        stats: Sequence[Ints],
        frame: Any,
        max_depth: int | None,
        r: int,
    ) -> tuple[dict[int, Nodes], dict[int, Products]]:
        """The subtree that the grower in memory grows below each of these nodes."""
        if not numbers:
            return {}, {}
        labels = {number: at for at, number in enumerate(numbers)}
        signs, records, names = self.signposts(labels), self.rows.records, frame.columns
        known = [(stats[i], self.nodes[i][DEPTH]) for i in numbers]
        responses, layout, rules, n = self.responses, self.own, self.rules, self.rows.n

        def apart(part: pa.Table) -> Iterator[pa.RecordBatch]:
            words = [column.to_numpy() for column in part.columns]
            label = signs.labels(records.codes(words))
            here = label >= 0
            arrays = [pa.array(label[here]), *(pa.array(w[here]) for w in words)]
            yield pa.RecordBatch.from_arrays(arrays, ["node", *names])

        def grown(part: pa.Table) -> Iterator[pa.RecordBatch]:
            label, *words = (column.to_numpy() for column in part.columns)
            order = np.argsort(label, kind="stable")
            bounds = np.searchsorted(label[order], np.arange(len(known) + 1))
            for at in np.unique(label).tolist():
                mine = [w[order[bounds[at] : bounds[at + 1]]] for w in words]
                rows = records.rows(records.codes(mine), mine, responses)
                total, depth = known[at]
                if not _sums_to(rows, layout, total):
                    raise InputError(
                        "the table gives other rows each time it is computed",
                        hint="persist it, or write it down first",
                    )
                made = grow_below(rows, layout, rules, n, depth, total, max_depth)
                leaf = made.nodes[:, COLUMN] == LEAF
                ends = made.nodes[leaf].T
                sums = products(rows, r, ends[START].copy(), ends[END].copy())
                arrays = (made.nodes, made.stats, made.codes, sums.high, sums.low)
                told = [binaries([np.ascontiguousarray(a).tobytes()]) for a in arrays]
                yield pa.RecordBatch.from_arrays([pa.array([at]), *told], _BRANCH)

        schema = ", ".join(["node long", *(f"{w} long" for w in names)])
        parts = -(-self.rows.n // SMALL) * 2
        gathered = over_parts(frame, apart, schema).repartition(parts, "node")
        schema = ", ".join(["node long", *(f"{name} binary" for name in _BRANCH[1:])])
        found = collected(over_parts(gathered, grown, schema, whole=True)).to_pylist()
        if sorted(one["node"] for one in found) != list(range(len(numbers))):
            raise self.rows.table.changed()
        branches, told = {}, {}
        for one in sorted(found, key=lambda one: one["node"]):
            nodes, held, codes, high, low = (np.frombuffer(one[k], np.int64) for k in _BRANCH[1:])
            number = numbers[one["node"]]
            branches[number] = Nodes(
                nodes.reshape(-1, _WIDE).copy(), held.reshape(-1, layout.size), codes
            )
            leaves = np.count_nonzero(branches[number].nodes[:, COLUMN] == LEAF)
            shape = leaves, r * (r + 1) // 2
            told[number] = Products(high.reshape(shape), low.reshape(shape))
        return branches, told

    def _products(self, leaves: Sequence[int], frame: Any, r: int) -> list[tuple[Ints, Ints]]:
        """The products of leaves of many rows, which no executor holds."""
        labels = {number: at for at, number in enumerate(leaves)}
        signs, records, responses = self.signposts(labels), self.rows.records, self.responses
        n = len(leaves)

        def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
            words = [column.to_numpy() for column in part.columns]
            codes = records.codes(words)
            label = signs.labels(codes)
            order = np.argsort(label, kind="stable")
            bounds = np.searchsorted(label[order], np.arange(n + 1)).astype(np.int64)
            rows = records.rows([c[order] for c in codes], [w[order] for w in words], responses)
            made = products(rows, r, bounds[:-1], bounds[1:])
            yield _batch(np.arange(n), np.concatenate([made.high, made.low], axis=1))

        pairs = r * (r + 1) // 2
        found = collected(over_parts(frame, work, "place long, sums binary"))
        whole = np.zeros((n, 2 * pairs), np.int64)
        np.add.at(whole, found.column(0).to_numpy(), _vectors(found.column(1), 2 * pairs))
        return [(each[:pairs], each[pairs:]) for each in whole]


_BRANCH = ["node", "nodes", "stats", "codes", "high", "low"]


def _sums_to(rows: Rows, layout: StatisticsLayout, total: Ints) -> bool:
    """Whether the rows of a node sum to what is known of it, by its first column's codes."""
    first = Predictors(rows.predictors.n_codes[:1], rows.predictors.ordered[:1])
    form = replace(rows.format, codes=rows.format.codes[:1])
    alone = replace(rows, predictors=first, format=form)
    counted = Counted.of(alone, np.array([0, rows.n], np.int64), layout)
    return np.array_equal(counted.sums[0].sum(axis=0), total)


def _sparse(table: Ints) -> Iterator[pa.RecordBatch]:
    """The rows of a table of sums that hold records."""
    here = np.flatnonzero(table[:, 0])
    if len(here):
        yield _batch(here, table[here])


def _batch(places: Ints, sums: Ints) -> pa.RecordBatch:
    """Vectors of whole numbers as cells, each with its place."""
    data = np.ascontiguousarray(sums, np.int64)
    offsets = (np.arange(len(data) + 1) * data.shape[1] * 8).astype(np.int32)
    cells = pa.Array.from_buffers(
        pa.binary(), len(data), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    return pa.RecordBatch.from_arrays([pa.array(places, pa.int64()), cells], ["place", "sums"])


def _vectors(cells: pa.ChunkedArray, width: int) -> Ints:
    """The columns that `_batch` made into cells."""
    parts = []
    for chunk in cells.chunks:
        offsets = np.frombuffer(chunk.buffers()[1], np.int32)[chunk.offset :][: len(chunk) + 1]
        data = chunk.buffers()[2]
        if len(chunk):
            held = np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
            parts.append(held.view(np.int64).reshape(-1, width))
    return np.concatenate(parts) if parts else np.zeros((0, width), np.int64)
