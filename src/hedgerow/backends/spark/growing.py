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
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.column import Column
from ...columns.workspace import LEAST, memory_of
from ...kernels import Ints
from ...measures import Classes
from ...measures.class_counts import Counts
from ...progress import done
from ...trees.grow import grow_below
from ...trees.node_rows import NodeRows, Predictors, RowCodes
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
from .cluster import (
    AT_ONCE,
    LARGEST,
    changed,
    collected,
    gathered,
    map_parts,
    parts_for,
    results,
    setting_bytes,
    task_memory,
)
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
            records.write(0, responses, RowCodes(codes, sensitive))
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

    def __init__(self, tree: Mapping[str, NDArray[Any]], label: Ints, records: Records) -> None:
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
        ways = np.maximum(column, -1), tree["first_right"], is_subset, subset_at, goes_left, tree["missing_left"]
        n_codes = predictors.n_codes.astype(np.int64)
        self.tree = CodedTree(*ways, n_codes, tree["right"], np.arange(len(column)))

    def labels(self, codes: Sequence[NDArray[Any]]) -> Ints:
        """Return the label of the node that each row reaches."""
        table = np.stack([c.astype(np.uint32) for c in codes], axis=1)
        out = np.zeros(len(table), np.uint32)
        follow(table, self.tree, out)
        return self.label[out]

    def labels_of(self, part: pa.Table) -> Ints:
        """Return the label of the node that each of the given packed rows reaches."""
        return self.labels(self.records.codes([words.to_numpy() for words in part.columns]))


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
                self._counted |= dict(zip(todo, self._count(list(todo.values()), whole), strict=True))
            return self._counted[key(column)]

    def _count(self, counted: Sequence[CountedColumn], whole: bool) -> list[Counts]:
        from pyspark.sql import functions as f

        packing, signs = self.signs.records.packing, self.signs
        wanted = [(c.name, c.lookup, c.n_values + 1, c.is_number and not whole) for c in counted]

        n = len(self.sizes)

        def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
            words, leaf = [column.to_numpy() for column in part.columns], signs.labels_of(part)
            for at, (name, lookup, m, is_ends) in enumerate(wanted):
                code = lookup[packing.codes(words, name)].astype(np.int64)
                counts = Counts(leaf, code, np.ones(len(leaf), np.int64), n, m).placed()
                counts = _ends(counts) if is_ends else counts
                cells = [np.full(len(counts.groups), at), counts.groups, counts.values, counts.counts]
                yield pa.RecordBatch.from_arrays([pa.array(each) for each in cells], ["at", "leaf", "code", "n"])

        frame, schema = self.table.packed[1], "at long, leaf long, code long, n long"
        frame = map_parts(frame, work, schema, at_once=self.table.at_once)
        # only counts are shuffled, so a leaf with most of the rows takes no more memory than another
        summed = collected(frame.groupBy("at", "leaf", "code").agg(f.sum("n")))
        cells, totals = [each.to_numpy() for each in summed.columns], []
        for at, (_, _, m, is_ends) in enumerate(wanted):
            leaf, code, number = (each[cells[0] == at] for each in cells[1:])
            # executors answer in any order; sorted, the same table always gives the same tree
            counts = Counts(leaf, code, number, n, m).placed()
            if not is_ends and not np.array_equal(counts.sizes, self.sizes):
                raise self.table.changed()
            totals.append(_ends(counts) if is_ends else counts)
        return totals


def _ends(counts: Counts) -> Counts:
    """Return the counts of the first, the last and the missing code of each leaf."""
    first = np.diff(counts.groups, prepend=-1) != 0
    last = np.diff(counts.groups, append=-1) != 0
    before = np.append((counts.values[1:] == counts.n_values - 1) & ~first[1:], False)
    ends = first | last | before
    return replace(counts, groups=counts.groups[ends], values=counts.values[ends], counts=counts.counts[ends])


# most rows of a node that one executor finishes, and bytes of its memory that each of them takes
SMALL, _FINISHED = 1 << 20, 1 << 10
# most sums of a vector that are moved together
PIECE = 16
# bytes of a row when it is moved
ROW = 40


class Family(NamedTuple):
    """A node to count, and perhaps its larger sibling, whose counts are their parent's minus the node's."""

    node: int
    sibling: int = -1
    parent: Counted | None = None


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
        pairs = zip(columns, lookups, strict=True)
        quasi = [(c.name, c.lookup if lookup is None else lookup[c.lookup]) for c, lookup in pairs]
        self.table, self.columns, self.n = table, columns, table.n_rows
        self.records = Records(table.packed[0], predictors, quasi, [(c.name, c.lookup) for c in sensitive])

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
        rows, listed = SparkLeaves(self.table, signs, sizes, self.columns), np.zeros((0, layout.n_listed), np.uint16)
        return Grown(**tree, rows=rows, products=Products(*(each[order[leaf]] for each in sums)), listed=listed)


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
    # nodes whose counts wait here until their smaller child is counted
    waiting: int = 0
    nodes: list[list[int]] = field(default_factory=list)
    stats: list[Ints] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.layout = self.tree_layout.all_counted
        self.terms = Terms.from_rules(self.rules, self.layout, self.rows.n)
        table, width = self.rows.table, self.layout.size + int(self.layout.cells[-1])
        # a vector of sums is moved in pieces, because those of a small node are mostly zeros
        self.pieces = -(-width // PIECE)
        self.width = -(-width // self.pieces)
        self.n_codes = int((self.rows.records.predictors.n_codes + 1).sum())
        self.node_bytes = 8 * self.n_codes * self.pieces * self.width
        self.task = task_memory(table.frame, table.memory)
        self.small = min(SMALL, self.task // _FINISHED)
        here = max(memory_of(table.memory) - LEAST, LEAST)
        # counts are collected, summed, split off and copied; Spark holds what is collected several times
        largest = setting_bytes(table.frame.sparkSession, LARGEST, unit="b") or here
        self.together = max(min(here // 16, largest // 4) // self.node_bytes, 1)
        self.most_waiting = here // 4 // self.node_bytes
        self._add(-1, 0, root_statistics(self.responses, self.layout))

    def _add(self, parent: int, depth: int, stats: Ints) -> int:
        node = [0] * N_COLUMNS
        node[PARENT], node[DEPTH], node[COLUMN] = parent, depth, OPEN
        node[END] = int(stats[0])
        self.nodes.append(node)
        self.stats.append(stats)
        return len(self.nodes) - 1

    def _is_small(self, number: int) -> bool:
        return int(self.stats[number][0]) <= self.small

    def _array(self, stats: Sequence[Ints]) -> Nodes:
        return Nodes(np.array(self.nodes, np.int64), np.stack(stats), np.array(self.codes, np.int64))

    def signposts(self, numbers: Sequence[int]) -> Signposts:
        """Return signposts that route rows to the given nodes, which are labelled in this order."""
        tree, order = renumbered(self._array(self.stats))
        labels = {number: at for at, number in enumerate(numbers)}
        label = np.array([labels.get(int(number), -1) for number in order], np.int64)
        return Signposts(tree, label, self.rows.records)

    def grow(self, frame: Any) -> None:
        """Split every node of more than `small` rows, one level of the tree at a time.

        This process counts as many nodes at once as fit into its memory, siblings with each other.
        """
        level: list[Family] = [] if self._is_small(0) else [Family(0)]
        while level:
            todo, level = level, []
            while todo:
                families = todo[: self.together]
                del todo[: self.together]
                counted = self._count([family.node for family in families], frame)
                for (node, sibling, parent), first in zip(families, counted, strict=True):
                    level += self._split(node, first)
                    if parent is not None:
                        self.waiting -= 1
                        level += self._split(sibling, Counted(parent.sums - first.sums, parent.cells - first.cells))
            done(None)

    def _split(self, number: int, counted: Counted) -> list[Family]:
        """Split a counted node or make it a leaf; return the children that have yet to be counted."""
        fields, total, split = self.nodes[number], self.stats[number], None
        self._check(counted, total)
        predictors = self.rows.records.predictors
        if self.max_depth is None or fields[DEPTH] < self.max_depth:
            split = best_split(counted.sums, counted.cells, total, predictors, self.layout, self.terms)
        if split is None:
            fields[COLUMN] = LEAF
            return []
        one, other = self._write(number, split)
        # the larger child's histogram is its parent's minus its sibling's, so half the rows are not counted
        small, large = (one, other) if split.left[0] * 2 <= total[0] else (other, one)
        if self.waiting < self.most_waiting and not self._is_small(large):
            self.waiting += 1
            return [Family(small, large, counted)]
        return [Family(child) for child in (small, large) if not self._is_small(child)]

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
        for histogram in np.split(counted.sums, np.cumsum(self.rows.records.predictors.n_codes + 1)[:-1]):
            if not np.array_equal(histogram.sum(axis=0), total):
                raise self.rows.table.changed()

    def _count(self, nodes: Sequence[int], frame: Any) -> Iterator[Counted]:
        """Yield the counts of the given nodes, computed in one pass over the table."""
        signs = self.signposts(nodes)
        layout, responses, table, n = self.layout, self.responses, self.rows.table, len(nodes)
        size, n_codes, pieces, width = layout.size, self.n_codes, self.pieces, self.width
        sizes = np.array([self.stats[number][0] for number in nodes])
        # dense sums of a block stand beside their copies by piece and as bytes, in as little as a quarter of the task
        block = max(self.task // 64 // self.node_bytes, 1)

        def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
            rows, bounds = _by_label(part, signs, n, responses)
            here = np.flatnonzero(np.diff(bounds))
            for at in range(0, len(here), block):
                label = here[at : at + block]
                counted = Counted.from_rows(rows, np.append(bounds[label], bounds[label[-1] + 1]), layout)
                both = np.zeros((len(label), n_codes, pieces * width), np.int64)
                both[:, :, :size] = counted.sums
                both[:, :, size : size + counted.cells.shape[2]] = counted.cells
                both = both.reshape(len(label), -1, width)
                node, piece = np.nonzero(both.any(axis=2))
                yield _batch(label[node] * both.shape[1] + piece, both[node, piece])

        def add(part: pa.Table) -> Iterator[pa.RecordBatch]:
            places, vectors = part.column(0).to_numpy(), _vectors(part.column(1), width)
            starts = np.flatnonzero(np.diff(places, prepend=-1))
            yield _batch(places[starts], np.add.reduceat(vectors, starts, axis=0))

        parts = parts_for(self.rows.n, table.at_once)
        visits = parts * n
        if (visits - n) * self.node_bytes > sizes.sum() * ROW:
            frame, visits = _near(frame, signs, sizes), parts + n
        frames = map_parts(frame, work, "place long, sums binary", at_once=table.at_once)
        # pieces of the same place are added on the cluster, as they come, so that one of each place comes here
        frames = frames.repartition(parts_for(visits * n_codes * pieces), "place").sortWithinPartitions("place")
        frames = map_parts(frames, add, "place long, sums binary", at_once=table.at_once // 16)
        whole = np.zeros((n * n_codes * pieces, width), np.int64)
        for part in collected(frames).to_batches(1 << 16):
            np.add.at(whole, part.column(0).to_numpy(), _vectors(part.column(1), width))
        for sums in whole.reshape(n, n_codes, pieces * width):
            yield Counted(sums[:, :size].copy(), sums[:, size : size + int(layout.cells[-1])].copy())

    def finished(self, frame: Any, r: int) -> tuple[Nodes, tuple[Ints, Ints]]:
        """Return the whole tree, and for each leaf, by node, the sums of response products in two words."""
        numbers = [i for i, node in enumerate(self.nodes) if node[COLUMN] == OPEN]
        leaves = [i for i, node in enumerate(self.nodes) if node[COLUMN] == LEAF]
        # the grower's own layout has no counts of classes that it finds in lists
        first, more = int(self.tree_layout.starts[0]), self.layout.size - self.tree_layout.size
        stats = [np.delete(each, slice(first, first + more)) for each in self.stats]
        top = self._array(stats)
        below = self._below(numbers, stats, frame, r) if numbers else []
        # rows of the upper tree have no order yet; `grow` numbers them leaf by leaf
        top.nodes[:, [START, END]] = 0
        joined = joined_nodes(top, {number: branch for number, branch, _ in below})
        pairs = r * (r + 1) // 2
        high, low = (np.zeros((len(joined.nodes), pairs), np.int64) for _ in range(2))
        placed = len(top.nodes)
        for number, branch, sums in below:
            new = np.concatenate([[number], placed + np.arange(len(branch.nodes) - 1)])
            at = new[branch.nodes[:, COLUMN] == LEAF]
            high[at], low[at] = sums.high, sums.low
            placed += len(branch.nodes) - 1
        if leaves and pairs:
            for number, one in zip(leaves, self._products(leaves, frame, r), strict=True):
                high[number], low[number] = one
        return joined, (high, low)

    def _below(
        self, numbers: Sequence[int], stats: Sequence[Ints], frame: Any, r: int
    ) -> list[tuple[int, Nodes, Products]]:
        """Return the subtrees below the given nodes, grown on executors, and their sums of response products."""
        signs, records = self.signposts(numbers), self.rows.records
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
                    raise changed("the table")
                branch = grow_below(rows, layout, rules, n, depth, total, max_depth)
                ends = branch.nodes[branch.nodes[:, COLUMN] == LEAF].T
                branches.append((at, tuple(branch), products(rows, r, ends[START].copy(), ends[END].copy())))
            return branches

        # Spark leaves out the rows of other nodes before it moves any
        by_node = gathered(frame, "node", signs.labels_of, -(-self.rows.n // self.small) * 2)
        by_node = by_node.where("node >= 0")
        grown_parts = chain.from_iterable(results(by_node, grown, whole=True))
        # subtrees are joined in the order of their nodes, whichever executor was first
        branches = sorted(grown_parts, key=itemgetter(0))
        if [at for at, *_ in branches] != list(range(len(numbers))):
            raise self.rows.table.changed()
        return [(numbers[at], Nodes(*nodes), sums) for at, nodes, sums in branches]

    def _products(self, leaves: Sequence[int], frame: Any, r: int) -> list[tuple[Ints, Ints]]:
        """Return the sums of response products in large leaves, whose rows do not fit into one executor."""
        signs, responses, n = self.signposts(leaves), self.responses, len(leaves)

        def work(part: pa.Table) -> tuple[Ints, Ints]:
            rows, bounds = _by_label(part, signs, n, responses)
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
    alone = replace(rows, predictors=first, format=rows.format._replace(codes=rows.format.codes[:1]))
    return np.array_equal(Counted.from_rows(alone, np.array([0, rows.n], np.int64), layout).sums[0].sum(axis=0), total)


def _near(frame: Any, signs: Signposts, sizes: Ints) -> Any:
    """Move the rows of labelled nodes together, those of a large node to several parts, and drop other rows."""
    parts = -(-sizes // AT_ONCE)
    first = np.cumsum(parts) - parts

    def bucket(part: pa.Table) -> Ints:
        label = signs.labels_of(part)
        # by its own content: an executor that computes the rows again must send each to the same part
        mixed = sum(column.to_numpy() for column in part.columns) * np.int64(0x9E3779B97F4A7C15 - (1 << 64)) >> 33
        return np.where(label < 0, label, first[label] + mixed % parts[label])

    return gathered(frame, "bucket", bucket, parts_for(int(sizes.sum()))).where("bucket >= 0").drop("bucket")


def _batch(places: Ints, sums: Ints) -> pa.RecordBatch:
    """Return a batch with each vector of sums as one binary cell, next to its place."""
    cells = pa.array([vector.tobytes() for vector in sums], pa.binary())
    return pa.RecordBatch.from_arrays([pa.array(places, pa.int64()), cells], ["place", "sums"])


def _vectors(cells: pa.ChunkedArray, width: int) -> Ints:
    """Return the vectors that `_batch` stored as binary cells; shape (n_cells, width)."""
    return np.frombuffer(b"".join(cells.to_pylist()), np.int64).reshape(-1, width)
