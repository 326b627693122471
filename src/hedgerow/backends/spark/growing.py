"""Grow a tree over rows on a cluster, which counts the large nodes and finishes the small ones.

One pass counts all open nodes. Of two children, only the smaller is counted, because the larger one's
histogram is the parent's minus the smaller one's. This process chooses each split, with the function
that the in-memory grower calls. The rows of a small node are brought together in one executor, which
runs the in-memory grower itself. All sums are whole numbers, so the tree does not depend on the order
in which executors count.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.column import Column
from ...errors import InputError
from ...kernels import Ints
from ...measures import Classes
from ...measures.class_counts import Counts
from ...progress import done
from ...trees.grow import grow_below
from ...trees.node_rows import NodeRows, Predictors
from ...trees.nodes import (
    COLUMN,
    DEPTH,
    END,
    FIRST_RIGHT,
    LAST_LEFT,
    LEAF,
    LEFT,
    MISSING_LEFT,
    N_COLUMNS,
    OPEN,
    PARENT,
    RIGHT,
    START,
    SUBSET_AT,
    Grown,
    Nodes,
    Products,
    joined_nodes,
    products,
    renumbered,
)
from ...trees.objective import Rules, Terms
from ...trees.responses import Responses
from ...trees.split import Counted, Split, best_split
from ...trees.statistics import StatisticsLayout, root_statistics
from ..partitions import CodedTree, follow
from .cluster import collected, gathered, map_parts, parts_for, results
from .packing import Packing
from .spark_table import CountedColumn, SparkTable


@dataclass(frozen=True)
class Records:
    """The codes and lookup tables from which executors build the grower's records.

    Parameters
    ----------
    packing : Packing
    predictors : Predictors
    quasi, sensitive : sequence of (str, array)
        Columns, and the grower's code of each of their distinct values.
    """

    packing: Packing
    predictors: Predictors
    quasi: Sequence[tuple[str, NDArray[Any]]]
    sensitive: Sequence[tuple[str, NDArray[Any]]]

    def codes(self, words: Sequence[Ints]) -> list[NDArray[Any]]:
        """Return the codes by which rows are split, one array per quasi-identifier."""
        return [lookup[self.packing.codes(words, name)] for name, lookup in self.quasi]

    def rows(self, codes: Sequence[NDArray[Any]], words: Sequence[Ints], responses: Responses) -> NodeRows:
        """Return the grower's records for the given rows."""
        n = len(words[0])
        sensitive = [lookup[self.packing.codes(words, name)] for name, lookup in self.sensitive]
        records = NodeRows.empty(self.predictors, replace(responses, n_rows=n))
        if n:
            records.write(0, codes, responses, sensitive)
        return records


class Signposts:
    """A tree as arrays that route rows by their codes, with a label for every node that has no split.

    Parameters
    ----------
    tree : mapping of str to array
        Nodes in pre-order, as `trees.grow.renumbered` returns them.
    label : int64 array over the nodes
        -1 for nodes whose rows are not counted.
    records : Records
        The layout of the rows that are routed.
    """

    def __init__(self, tree: Mapping[str, Any], label: Ints, records: Records) -> None:
        column, predictors = tree["column"], records.predictors
        is_subset = (column >= 0) & ~predictors.ordered[np.maximum(column, 0)]
        nodes = np.flatnonzero(is_subset)
        sizes = predictors.n_codes[column[nodes]].astype(np.int64) + 1
        subset_at = np.zeros(len(column), np.int64)
        subset_at[nodes] = np.cumsum(sizes) - sizes
        goes_left = np.zeros(sizes.sum() + 1, np.bool_)
        for node in nodes.tolist():
            at = int(tree["subset_at"][node])
            codes = tree["subset_codes"][at : at + int(tree["last_left"][node])]
            goes_left[subset_at[node] + codes.astype(np.int64)] = True
        self.label, self.records = label, records
        self.tree = CodedTree(
            np.maximum(column, -1),
            tree["first_right"],
            is_subset,
            subset_at,
            goes_left,
            tree["missing_left"],
            predictors.n_codes.astype(np.int64),
            tree["right"],
            np.arange(len(column)),
        )

    def labels(self, codes: Sequence[NDArray[Any]]) -> Ints:
        """Return the label of the node that each row reaches."""
        table = np.stack([c.astype(np.uint32) for c in codes], axis=1)
        out = np.zeros(len(table), np.uint32)
        follow(table, self.tree, out)
        return self.label[out]

    def labels_of(self, part: pa.Table) -> Ints:
        """Return the label of the node that each of the given packed rows reaches."""
        return self.labels(self.records.codes([words.to_numpy() for words in part.columns]))


# rows of a part whose leaves are summed up together
ROWS = 1 << 20


@dataclass(eq=False)
class SparkLeaves:
    """The leaves of a tree whose rows are on the cluster.

    Parameters
    ----------
    table : SparkTable
    signs : Signposts
        They route rows to the number of each leaf, in pre-order.
    sizes : int64 array of shape (n_leaves,)
    columns : sequence of CountedColumn
        The columns that the released cells are made from.
    """

    table: SparkTable
    signs: Signposts
    sizes: Ints
    columns: Sequence[CountedColumn]
    _frame: Any = None
    _counted: dict[tuple[str, bool, bytes], Counts] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def starts(self) -> Ints:
        """Return the number of rows before each leaf."""
        return np.cumsum(self.sizes) - self.sizes

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def classes(self, starts: Ints, sensitive: Sequence[Column], number: Ints | None) -> Classes:
        """Return the equivalence classes that leaves or groups of leaves form, with their sensitive columns."""
        at = self._groups(starts, number)
        n = int(at.max()) + 1
        counted = [c for c in sensitive if isinstance(c, CountedColumn)]
        columns = {
            c.name: c.with_class_counts(self._counts(counted, c, True).placed(groups=at, n_groups=n)) for c in counted
        }
        return Classes(np.bincount(at, self.sizes, n).astype(np.int64), columns)

    def column(self, column: Column, starts: Ints, number: Ints | None, whole: bool) -> tuple[Column, Ints, Ints]:
        """Return a column with its values sorted by group, their row numbers, and where each group begins.

        If `whole`, a value is repeated for each of its rows; otherwise it occurs once per group, and
        only the least and the greatest number occur.
        """
        assert isinstance(column, CountedColumn)
        listed = [c for c in self.columns if c.is_number == column.is_number]
        at = self._groups(starts, number)
        counts = self._counts(listed, column, whole).placed(groups=at, n_groups=int(at.max()) + 1)
        if whole:
            codes = np.repeat(counts.values, counts.counts)
            begins = np.concatenate([[0], np.cumsum(counts.counts)])[counts.starts[:-1]]
        else:
            codes, begins = counts.values, counts.starts[:-1]
        return column.with_rows(codes.astype(column.lookup.dtype)), np.arange(len(codes)), begins

    def _groups(self, starts: Ints, number: Ints | None) -> Ints:
        """Return the group of each leaf after the tree is pruned to the leaves that begin at `starts`."""
        leaf = np.searchsorted(starts, self.starts, "right") - 1
        return leaf if number is None else number[leaf]

    def _counts(self, columns: Sequence[CountedColumn], column: CountedColumn, whole: bool) -> Counts:
        """Return how often each code of a column occurs in each leaf.

        All `columns` are counted in the same pass, because a pass costs more than a column.
        """

        def key(each: CountedColumn) -> tuple[str, bool, bytes]:
            return each.name, whole or not each.is_number, each.lookup.tobytes()

        with self._lock:
            if key(column) not in self._counted:
                todo = {key(c): c for c in [column, *columns] if key(c) not in self._counted}
                counts = self._count(list(todo.values()), whole)
                self._counted |= dict(zip(todo, counts, strict=True))
            return self._counted[key(column)]

    def _by_leaf(self) -> Any:
        """Return the packed codes with each row's leaf number, all rows of a leaf in one partition."""
        if self._frame is None:
            frame, parts = self.table.packed[1], parts_for(self.table.n_rows, ROWS)
            self._frame = self.table.keep(gathered(frame, "leaf", self.signs.labels_of, parts))
        return self._frame

    def _count(self, counted: Sequence[CountedColumn], whole: bool) -> list[Counts]:
        packing = self.signs.records.packing
        wanted = [(c.name, c.lookup, c.n_values + 1, c.is_number and not whole) for c in counted]

        def work(part: pa.Table) -> list[tuple[NDArray[Any], ...]]:
            *words, leaf = (column.to_numpy() for column in part.columns)
            arrays: list[tuple[NDArray[Any], ...]] = []
            for name, lookup, m, is_ends in wanted:
                keys = leaf * m + lookup[packing.codes(words, name)]
                keys, number = np.unique(keys, return_counts=True)
                mine, code = keys // m, keys % m
                if is_ends:
                    ends = _ends(mine, code, m - 1)
                    mine, code, number = mine[ends], code[ends], number[ends]
                arrays.append((mine.astype(np.int32), code.astype(np.int32), number))
            return arrays

        parts = results(self._by_leaf(), work, whole=True)
        totals = []
        for (_, _, m, is_ends), columns in zip(wanted, zip(*parts, strict=True), strict=True):
            leaf, code, number = (np.concatenate(each).astype(np.int64) for each in zip(*columns, strict=True))
            order = np.argsort(leaf * m + code, kind="stable")
            # executors answer in any order; sorted, the same table always gives the same tree
            counts = Counts(leaf[order], code[order], number[order], len(self.sizes), m)
            if not is_ends and not np.array_equal(counts.sizes, self.sizes):
                raise self.table.changed()
            totals.append(counts)
        return totals


def _ends(leaf: Ints, code: Ints, missing: int) -> NDArray[np.bool_]:
    """Mark the sorted (leaf, code) pairs that hold the first, last or missing code of their leaf."""
    first = np.diff(leaf, prepend=-1) != 0
    last = np.diff(leaf, append=-1) != 0
    before = np.append((code[1:] == missing) & ~first[1:], False)
    return first | last | before


# most rows of a node that one executor finishes, in its memory
SMALL = 1 << 20


@dataclass
class _Node:
    """A node to split, with its own counts, or with its parent and sibling, from which they are computed."""

    number: int
    counted: Counted | None = None
    # the parent and the smaller child, whose difference is this node's counts
    larger_of: tuple[_Node, _Node] | None = None


class SparkRows:
    """The rows of a table on a cluster, prepared for growing a tree.

    Parameters
    ----------
    table : SparkTable
    predictors : Predictors
    columns : sequence of CountedColumn
        The columns that rows are split by.
    lookups : sequence of array or None
        The code that replaces each code of a column, or None to keep its codes.
    sensitive : sequence of CountedColumn
        The responses.
    """

    def __init__(
        self,
        table: SparkTable,
        predictors: Predictors,
        columns: Sequence[CountedColumn],
        lookups: Sequence[NDArray[Any] | None],
        sensitive: Sequence[CountedColumn],
    ) -> None:
        quasi = [
            (c.name, c.lookup if lookup is None else lookup[c.lookup])
            for c, lookup in zip(columns, lookups, strict=True)
        ]
        responses = [(c.name, c.lookup) for c in sensitive]
        self.table, self.columns, self.n = table, columns, table.n_rows
        self.records = Records(table.packed[0], predictors, quasi, responses)

    def grow(self, responses: Responses, layout: StatisticsLayout, rules: Rules, max_depth: int | None = None) -> Grown:
        """Return the same tree that the in-memory grower would grow."""
        _, frame = self.table.packed
        top = _Top(self, responses, layout, rules, max_depth)
        top.grow(frame)
        nodes, sums = top.finished(frame, 0 if layout.alone else layout.r)
        tree, order = renumbered(nodes)
        leaf = tree["column"] == LEAF
        sizes = tree["stats"][leaf, 0]
        if sizes.sum() != self.n:
            raise self.table.changed()
        first = np.cumsum(leaf) - leaf  # leaves before every node
        tree["start"] = np.concatenate([[0], np.cumsum(sizes)])[first]
        tree["end"] = tree["start"] + tree["stats"][:, 0]
        signs = Signposts(tree, np.where(leaf, first, -1), self.records)
        high, low = (each[order[leaf]] for each in sums)
        return Grown(
            **tree,
            rows=SparkLeaves(self.table, signs, sizes, self.columns),
            products=Products(high, low),
            listed=np.zeros((0, layout.n_listed), np.uint16),
        )


@dataclass(eq=False)
class _Top:
    """The upper part of a tree, whose large nodes are counted on the cluster.

    `tree_layout` is the grower's layout of statistics; `layout` counts every class.
    """

    rows: SparkRows
    responses: Responses
    tree_layout: StatisticsLayout
    rules: Rules
    max_depth: int | None
    nodes: list[list[int]] = field(default_factory=list)
    stats: list[Ints] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.layout = self.tree_layout.all_counted
        self.terms = Terms.of(self.rules, self.layout, self.rows.n)
        self._add(-1, 0, root_statistics(self.responses, self.layout))

    def _add(self, parent: int, depth: int, stats: Ints) -> int:
        node = [0] * N_COLUMNS
        node[PARENT], node[DEPTH], node[COLUMN] = parent, depth, OPEN
        node[END] = int(stats[0])
        self.nodes.append(node)
        self.stats.append(stats)
        return len(self.nodes) - 1

    def _is_small(self, number: int) -> bool:
        return int(self.stats[number][0]) <= SMALL

    def _array(self, stats: Sequence[Ints]) -> Nodes:
        return Nodes(np.array(self.nodes, np.int64), np.stack(stats), np.array(self.codes, np.int64))

    def signposts(self, labels: Mapping[int, int]) -> Signposts:
        """Return signposts that route rows to the nodes in `labels`."""
        tree, order = renumbered(self._array(self.stats))
        label = np.array([labels.get(int(number), -1) for number in order], np.int64)
        return Signposts(tree, label, self.rows.records)

    def grow(self, frame: Any) -> None:
        """Split every node of more than `SMALL` rows, one level of the tree at a time."""
        level = [] if self._is_small(0) else [_Node(0)]
        while level:
            self._count([node for node in level if node.larger_of is None], frame)
            for node in level:
                if node.larger_of is not None:
                    parent, smaller = (each.counted for each in node.larger_of)
                    assert parent is not None
                    assert smaller is not None
                    node.counted = Counted(parent.sums - smaller.sums, parent.cells - smaller.cells)
                    node.larger_of = None
            level = [child for node in level for child in self._split(node)]
            done(None)

    def _split(self, node: _Node) -> list[_Node]:
        """Split a counted node or make it a leaf; return the children that have yet to be counted."""
        number, fields = node.number, self.nodes[node.number]
        counted, total = node.counted, self.stats[node.number]
        assert counted is not None
        self._check(counted, total)
        split = None
        if self.max_depth is None or fields[DEPTH] < self.max_depth:
            split = best_split(
                counted.sums, counted.cells, total, self.rows.records.predictors, self.layout, self.terms
            )
        if split is None:
            fields[COLUMN] = LEAF
            return []
        smaller, right = self._write(number, split)
        # the larger child's histogram is its parent's minus its sibling's, so half the rows are not counted
        small, large = (smaller, right) if split.left[0] * 2 <= total[0] else (right, smaller)
        if self._is_small(large):
            return []
        one = _Node(small)
        return [one, _Node(large, larger_of=(node, one))]

    def _write(self, number: int, split: Split) -> tuple[int, int]:
        fields = self.nodes[number]
        fields[COLUMN], fields[LAST_LEFT], fields[FIRST_RIGHT] = (split.column, split.last_left, split.first_right)
        fields[MISSING_LEFT] = int(split.missing_left)
        if not self.rows.records.predictors.ordered[split.column]:
            fields[SUBSET_AT], fields[LAST_LEFT] = len(self.codes), len(split.left_codes)
            self.codes += split.left_codes
        depth, total = fields[DEPTH] + 1, self.stats[number]
        fields[LEFT] = self._add(number, depth, split.left)
        fields[RIGHT] = self._add(number, depth, total - split.left)
        return fields[LEFT], fields[RIGHT]

    def _check(self, counted: Counted, total: Ints) -> None:
        """Raise InputError if a column's histogram does not add up to the node's statistics."""
        ends = np.cumsum(self.rows.records.predictors.n_codes + 1)[:-1]
        for histogram in np.split(counted.sums, ends):
            if not np.array_equal(histogram.sum(axis=0), total):
                raise self.rows.table.changed()

    def _count(self, nodes: Sequence[_Node], frame: Any) -> None:
        """Compute the counts for the given nodes in one pass over the table."""
        labels = {node.number: at for at, node in enumerate(nodes)}
        signs, records = self.signposts(labels), self.rows.records
        layout, responses = self.layout, self.responses
        n_codes, size = int((records.predictors.n_codes + 1).sum()), layout.size
        width, n = size + int(layout.cells[-1]), len(nodes)

        def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
            counted = Counted.of(*_by_label(part, signs, n, responses), layout)
            both = np.concatenate([counted.sums, counted.cells], axis=2)
            yield from _sparse(both.reshape(n * n_codes, width))

        def add(part: pa.Table) -> Iterator[pa.RecordBatch]:
            places, vectors = part.column(0).to_numpy(), _vectors(part.column(1), width)
            order = np.argsort(places, kind="stable")
            starts = np.flatnonzero(np.diff(places[order], prepend=-1))
            yield _batch(places[order][starts], np.add.reduceat(vectors[order], starts, axis=0))

        schema = "place long, sums binary"
        frames = map_parts(frame, work, schema)
        # sums of the same place are added on the cluster, so that one row per place comes here
        frames = map_parts(frames.repartition(min(n, 64), "place"), add, schema, whole=True)
        sums_by_place = collected(frames)
        whole = np.zeros((n * n_codes, width), np.int64)
        places, vectors = sums_by_place.columns
        np.add.at(whole, places.to_numpy(), _vectors(vectors, width))
        for node, sums in zip(nodes, whole.reshape(n, n_codes, width), strict=True):
            node.counted = Counted(sums[:, :size].copy(), sums[:, size:].copy())

    def finished(self, frame: Any, r: int) -> tuple[Nodes, tuple[Ints, Ints]]:
        """Return the whole tree, and for each leaf, by node, the sums of response products in two words."""
        numbers = [i for i, node in enumerate(self.nodes) if node[COLUMN] == OPEN]
        leaves = [i for i, node in enumerate(self.nodes) if node[COLUMN] == LEAF]
        # the grower's own layout has no counts of classes that it finds in lists
        first, more = int(self.tree_layout.starts[0]), self.layout.size - self.tree_layout.size
        stats = [np.delete(each, slice(first, first + more)) for each in self.stats]
        top = self._array(stats)
        branches, products_of = self._below(numbers, stats, frame, r)
        # rows of the upper tree have no order yet; `grow` numbers them leaf by leaf
        top.nodes[:, [START, END]] = 0
        joined = joined_nodes(top, branches)
        pairs = r * (r + 1) // 2
        high, low = (np.zeros((len(joined.nodes), pairs), np.int64) for _ in range(2))
        placed = len(top.nodes)
        for number, branch in branches.items():
            new = np.concatenate([[number], placed + np.arange(len(branch.nodes) - 1)])
            at = new[branch.nodes[:, COLUMN] == LEAF]
            high[at], low[at] = products_of[number].high, products_of[number].low
            placed += len(branch.nodes) - 1
        if leaves and pairs:
            for number, one in zip(leaves, self._products(leaves, frame, r), strict=True):
                high[number], low[number] = one
        return joined, (high, low)

    def _below(
        self, numbers: Sequence[int], stats: Sequence[Ints], frame: Any, r: int
    ) -> tuple[dict[int, Nodes], dict[int, Products]]:
        """Return the subtrees below the given nodes, grown on executors, and their sums of response products."""
        if not numbers:
            return {}, {}
        labels = {number: at for at, number in enumerate(numbers)}
        signs, records = self.signposts(labels), self.rows.records
        states = [(stats[i], self.nodes[i][DEPTH]) for i in numbers]
        responses, layout, rules, n = self.responses, self.tree_layout, self.rules, self.rows.n
        max_depth = self.max_depth

        def grown(part: pa.Table) -> list[tuple[Any, ...]]:
            *words, label = (column.to_numpy() for column in part.columns)
            order = np.argsort(label, kind="stable")
            bounds = np.searchsorted(label[order], np.arange(len(states) + 1))
            branches = []
            for at in np.unique(label).tolist():
                mine = [w[order[bounds[at] : bounds[at + 1]]] for w in words]
                rows = records.rows(records.codes(mine), mine, responses)
                total, depth = states[at]
                # a table that is computed anew, as from a sample, would give rows that the upper tree never saw
                if not _sums_to(rows, layout, total):
                    raise InputError(
                        "the table gives other rows each time it is computed", hint="persist it, or write it down first"
                    )
                branch = grow_below(rows, layout, rules, n, depth, total, max_depth)
                leaf = branch.nodes[:, COLUMN] == LEAF
                ends = branch.nodes[leaf].T
                sums = products(rows, r, ends[START].copy(), ends[END].copy())
                branches.append((at, tuple(branch), sums))
            return branches

        # Spark leaves out the rows of other nodes before it moves any
        by_node = gathered(frame, "node", signs.labels_of, -(-self.rows.n // SMALL) * 2)
        by_node = by_node.where("node >= 0")
        grown_parts = chain.from_iterable(results(by_node, grown, whole=True))
        # subtrees are joined in the order of their nodes, whichever executor was first
        branches = sorted(grown_parts, key=itemgetter(0))
        if [at for at, *_ in branches] != list(range(len(numbers))):
            raise self.rows.table.changed()
        return (
            {numbers[at]: Nodes(*nodes) for at, nodes, _ in branches},
            {numbers[at]: sums for at, _, sums in branches},
        )

    def _products(self, leaves: Sequence[int], frame: Any, r: int) -> list[tuple[Ints, Ints]]:
        """Return the sums of response products in large leaves, whose rows do not fit into one executor."""
        labels = {number: at for at, number in enumerate(leaves)}
        signs, responses = self.signposts(labels), self.responses

        def work(part: pa.Table) -> tuple[Ints, Ints]:
            rows, bounds = _by_label(part, signs, len(labels), responses)
            sums = products(rows, r, bounds[:-1], bounds[1:])
            return sums.high, sums.low

        high, low = (sum(each) for each in zip(*results(frame, work), strict=True))
        return list(zip(high, low, strict=True))


def _by_label(part: pa.Table, signs: Signposts, n: int, responses: Responses) -> tuple[NodeRows, Ints]:
    """Return the rows that have one of n labels, sorted by label, and the index at which each label begins."""
    words = [column.to_numpy() for column in part.columns]
    codes = signs.records.codes(words)
    label = signs.labels(codes)
    order = np.argsort(label, kind="stable")
    order = order[np.searchsorted(label[order], 0) :]
    rows = signs.records.rows([c[order] for c in codes], [w[order] for w in words], responses)
    return rows, np.searchsorted(label[order], np.arange(n + 1)).astype(np.int64)


def _sums_to(rows: NodeRows, layout: StatisticsLayout, total: Ints) -> bool:
    """Return whether the rows of a node add up to its statistics, checked on the first column."""
    first = Predictors(rows.predictors.n_codes[:1], rows.predictors.ordered[:1])
    form = rows.format._replace(codes=rows.format.codes[:1])
    alone = replace(rows, predictors=first, format=form)
    counted = Counted.of(alone, np.array([0, rows.n], np.int64), layout)
    return np.array_equal(counted.sums[0].sum(axis=0), total)


def _sparse(table: Ints) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table of sums that count at least one record, as one batch."""
    here = np.flatnonzero(table[:, 0])
    if len(here):
        yield _batch(here, table[here])


def _batch(places: Ints, sums: Ints) -> pa.RecordBatch:
    """Return a batch with each vector of sums as one binary cell, next to its place."""
    cells = pa.array([vector.tobytes() for vector in sums], pa.binary())
    return pa.RecordBatch.from_arrays([pa.array(places, pa.int64()), cells], ["place", "sums"])


def _vectors(cells: pa.ChunkedArray, width: int) -> Ints:
    """Return the vectors that `_batch` stored as binary cells; shape (n_cells, width)."""
    return np.frombuffer(b"".join(cells.to_pylist()), np.int64).reshape(-1, width)
