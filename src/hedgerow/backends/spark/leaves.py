"""What the leaves of a tree hold, counted on the cluster: values, their ends, and how many."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.column import Column
from ...measures import Classes
from ...measures.class_counts import Counts
from ...measures.classes import SensitiveCounts
from .cluster import binaries, collected, over_parts
from .compiled_tree import Signposts
from .counted_columns import CountedColumn
from .grower_records import Records
from .packing import Packing
from .spark_table import SparkTable

Ints = NDArray[np.int64]

ROWS = 1 << 20
"""Rows of a part whose leaves are summed up together."""
_FOUND = ["column", "leaf", "code", "number"]


class SparkLeaves:
    """The rows of a tree's leaves, which are on the cluster.

    Parameters
    ----------
    table : SparkTable
    packing : Packing
    records : Records
    signs : Signposts
        To the number of each leaf, in pre-order.
    sizes : int64 array of shape (n_leaves,)
    columns : sequence of CountedColumn
        The columns that released cells are made of.
    """

    def __init__(
        self,
        table: SparkTable,
        packing: Packing,
        records: Records,
        signs: Signposts,
        sizes: Ints,
        columns: Sequence[CountedColumn],
    ) -> None:
        self._table, self._packing, self._records, self._signs = table, packing, records, signs
        self._columns = {column.name: column for column in columns}
        self.sizes = sizes
        self.starts = np.cumsum(sizes) - sizes
        self._frame: Any = None
        self._known: dict[tuple[str, bool, bytes], Counts] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return int(self.sizes.sum())

    def leaf_of(self, starts: Ints) -> Ints:
        """In a tree that was pruned, whose leaves begin here, the leaf that each has come to."""
        return np.searchsorted(starts, self.starts, "right") - 1

    def classes(self, starts: Ints, sensitive: Sequence[Column], number: Ints | None) -> Classes:
        """The classes of a tree's leaves, or of groups of them, with their sensitive columns."""
        at = self._groups(starts, number)
        n = int(at.max()) + 1
        counted = [c for c in sensitive if isinstance(c, CountedColumn)]
        told = {c.name: self._counts(counted, c, True).placed(groups=at, n_groups=n) for c in counted}
        made = {
            c.name: SensitiveCounts(c.name, c.kind, c.values, told[c.name], c.exact, c.events)
            for c in sensitive
        }
        return Classes(np.bincount(at, self.sizes, n).astype(np.int64), made)

    def column(
        self, column: Column, starts: Ints, number: Ints | None, whole: bool
    ) -> tuple[Column, Ints, Ints]:
        """A column with its values side by side, group after group, and where each group begins.

        Every value of a group once for each of its rows; or, where that is not asked for, once,
        and of numbers the ends alone.
        """
        assert isinstance(column, CountedColumn)
        listed = [c for c in self._columns.values() if c.is_number == column.is_number]
        at = self._groups(starts, number)
        counts = self._counts(listed, column, whole).placed(groups=at, n_groups=int(at.max()) + 1)
        if whole:
            codes = np.repeat(counts.values, counts.counts)
            begins = np.concatenate([[0], np.cumsum(counts.counts)])[counts.starts[:-1]]
        else:
            codes, begins = counts.values, counts.starts[:-1]
        return column.with_rows(codes.astype(column.lookup.dtype)), np.arange(len(codes)), begins

    def known(self, column: Column, starts: Ints, number: Ints | None) -> Ints:
        """The rows of every group that have a value in a column."""
        assert isinstance(column, CountedColumn)
        at = self._groups(starts, number)
        counts = self._counts([column], column, True)
        there = counts.values != column.n_values
        leaf, rows = counts.groups[there], counts.counts[there]
        return np.bincount(at[leaf], rows, int(at.max()) + 1).astype(np.int64)

    def _groups(self, starts: Ints, number: Ints | None) -> Ints:
        leaf = self.leaf_of(starts)
        return leaf if number is None else number[leaf]

    def _counts(
        self, columns: Sequence[CountedColumn], asked: CountedColumn, whole: bool
    ) -> Counts:
        """How often each code of a column occurs in each leaf; of several columns in one pass."""

        def key(column: CountedColumn) -> tuple[str, bool, bytes]:
            return column.name, whole or not column.is_number, column.lookup.tobytes()

        with self._lock:
            if key(asked) not in self._known:
                todo = list({key(c): c for c in [asked, *columns] if key(c) not in self._known}.values())
                for column, counts in zip(todo, self._count(todo, whole), strict=True):
                    self._known[key(column)] = counts
            return self._known[key(asked)]

    def _gathered(self) -> Any:
        """The packed codes with the number of their leaf, the rows of a leaf side by side."""
        if self._frame is None:
            _, frame = self._table.packed
            names, records, signs = frame.columns, self._records, self._signs

            def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
                words = [column.to_numpy() for column in part.columns]
                leaf = signs.labels(records.codes(words)).astype(np.int32)
                arrays = [pa.array(leaf), *part.combine_chunks().columns]
                yield from pa.Table.from_arrays(arrays, ["leaf", *names]).to_batches()

            schema = ", ".join(["leaf int", *(f"{w} long" for w in names)])
            parts = max(-(-self._table.n_rows // ROWS), 1)
            together = over_parts(frame, work, schema).repartition(parts, "leaf")
            self._frame = self._table.keep(together)
        return self._frame

    def _count(self, columns: Sequence[CountedColumn], whole: bool) -> list[Counts]:
        packing = self._packing
        asked = [
            (c.name, c.lookup, c.n_values + 1, c.is_number and not whole) for c in columns
        ]

        def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
            leaf, *words = (column.to_numpy() for column in part.columns)
            for at, (name, lookup, m, ends) in enumerate(asked):
                keys = leaf.astype(np.int64) * m + lookup[packing.codes(words, name)]
                found, number = np.unique(keys, return_counts=True)
                mine, code = found // m, found % m
                if ends:
                    kept = _ends(mine, code, m - 1)
                    mine, code, number = mine[kept], code[kept], number[kept]
                kinds = (np.int32, np.int32, np.int64)
                arrays = zip((mine, code, number), kinds, strict=True)
                told = [binaries([a.astype(kind).tobytes()]) for a, kind in arrays]
                yield pa.RecordBatch.from_arrays([pa.array([at], pa.int32()), *told], _FOUND)

        schema = "column int, leaf binary, code binary, number binary"
        found = collected(over_parts(self._gathered(), work, schema, whole=True)).to_pylist()
        made = []
        for at, (_, _, m, ends) in enumerate(asked):
            mine = [one for one in found if one["column"] == at]
            leaf, code, number = (
                np.concatenate([np.frombuffer(one[k], kind) for one in mine]).astype(np.int64)
                for k, kind in zip(_FOUND[1:], (np.int32, np.int32, np.int64), strict=True)
            )
            order = np.argsort(leaf * m + code, kind="stable")
            counts = Counts(leaf[order], code[order], number[order], len(self.sizes), m)
            if not ends and not np.array_equal(counts.sizes, self.sizes):
                raise self._table.changed()
            made.append(counts)
        return made


def _ends(leaf: Ints, code: Ints, missing: int) -> NDArray[np.bool_]:
    """Of sorted pairs those that hold a leaf's first or last code, or its missing one."""
    first = np.diff(leaf, prepend=-1) != 0
    last = np.diff(leaf, append=-1) != 0
    before = np.append((code[1:] == missing) & ~first[1:], False)
    return first | last | before
