"""Recode rows on the executors: by leaves, by maps, or by draws."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.arrays import is_text
from ...columns.row_hashes import RowHasher, key_words
from ...columns.table import Table
from ...kernels import Ints
from ...key import Key
from ...plan import Maps, Partition
from ...plan.recodings import Randomize
from .. import column_maps, partitions
from ..base import Transformed
from ..memory import as_arrays
from ..randomize import (
    NUMBER,
    DrawnColumn,
    bound_to,
    check_row_id,
    drawn_columns,
    hasher_of,
    numbered,
    original_codes,
    refuse_ids,
    release_key,
)
from .cluster import gathered, parts_for, reading, results, run
from .spark_table import Maker, SparkTable

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class SparkColumn:
    """A lazy released column, which executors evaluate when the release is written.

    Parameters
    ----------
    maker : Maker
    entries : pyarrow.Array
        The values that it may hold.
    """

    maker: Maker
    entries: pa.Array


@dataclass(frozen=True)
class Recoder(Maker):
    """A `Maker` that recodes rows with a function of the in-memory engine.

    If `hidden`, cells that do not cover their original become `*`.
    """

    recode: Callable[[Table], Transformed]
    hidden: bool = False

    def columns(self, part: pa.Table) -> Mapping[str, pa.Array]:
        """Return the released columns of the given rows."""
        recoded = as_arrays(self.recode(Table(part)))
        return recoded.without_outside() if self.hidden else recoded.columns


def by_leaves(recoding: Partition, table: SparkTable) -> Transformed:
    """Return lazy columns recoded by a partition; executors evaluate them when the release is written."""
    for column in recoding.columns:
        if column.kind not in ("categorical", "ordinal") and is_text(table.types.field(column.name).type):
            table.like(column)  # raises errors here, for the whole table, instead of in every part

    names, recode = [c.name for c in recoding.columns], partial(partitions.recode, recoding)

    def columns(hidden: bool) -> dict[str, SparkColumn]:
        recoded, maker = {}, Recoder(names, recode, hidden)
        for column in recoding.columns:
            entries = partitions.labels_of(column)[0]
            entries = partitions.with_star(entries)[0] if hidden else entries
            recoded[column.name] = SparkColumn(maker, entries)
        return recoded

    return Transformed(columns(False), lambda: _outside(recoding, table), lambda: columns(True))


def _outside(recoding: Partition, table: SparkTable) -> int:
    """Count the released cells that do not cover their original value."""
    names = [column.name for column in recoding.recoded()]
    read, frame = reading(table.types, names), table.frame.select(*(table.place(n) for n in names))
    return sum(
        results(frame, lambda part: partitions.recode(recoding, Table(read(part))).outside, at_once=table.at_once)
    )


def by_maps(maps: Maps, table: SparkTable) -> Transformed:
    """Return lazy columns recoded by column maps; executors evaluate them when the release is written."""
    columns, outside = column_maps.coded_maps(maps, table)
    changed = [column.map.name for column in columns if not column.is_identity]
    recode = partial(column_maps.recode, maps, changed=changed)
    maker = Recoder([column.map.name for column in columns], recode)
    recoded = {}
    for column in columns:
        if (released := column.released(maps, table)) is not None:
            recoded[column.map.name] = SparkColumn(maker, released[1])
    return Transformed(recoded, outside)


@dataclass(frozen=True)
class ByDraws(Maker):
    """A `Maker` that draws randomized values by row ids, which are keyed hashes of rows (`backends/randomize`).

    Executors get only words derived from the key, for hashes and columns. Equal rows must be
    numbered, so rows of equal hash share a partition.
    """

    hashed: Sequence[str]
    hasher: RowHasher
    number: tuple[np.uint64, np.uint64]
    randomized: Sequence[DrawnColumn]
    whole: ClassVar[bool] = True

    def rows(self, table: SparkTable) -> Any:
        """Return the table's rows as a frame with all rows of the same hash in one partition."""
        read, hashed, hasher = reading(table.types, self.hashed), self.hashed, self.hasher

        def first_words(part: pa.Table) -> Ints:
            return _hashed(read(part), hashed, hasher)[0].view(np.int64)

        frame = gathered(table.frame, "hash", first_words, parts_for(table.n_rows, table.at_once))
        return frame.select(*table.frame.columns)

    def columns(self, part: pa.Table) -> Mapping[str, pa.Array]:
        """Return the released columns of the given rows."""
        return {
            each.plan.name: each.values.take(pa.array(after))
            for each, (_, after) in zip(self.randomized, self.codes(part), strict=True)
        }

    def codes(self, part: pa.Table) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return each row's category before and after randomization, as one pair of arrays per column."""
        first, second, _ = _hashed(part, self.hashed, self.hasher)
        ids = numbered(first, second, self.number)
        pairs = []
        for each in self.randomized:
            before = original_codes(Table(part), each.plan)
            pairs.append((before, each.randomized(before, ids)))
        return pairs

    def counted(self, table: SparkTable) -> dict[str, Ints]:
        """Count the rows with each category before (by row) and after (by column) the random draw, by column name."""
        read, width = reading(table.types, self.names), [each.plan.d + 1 for each in self.randomized]

        def work(part: pa.Table) -> list[Ints]:
            return [
                np.bincount(before.astype(np.int64) * m + after, minlength=m * m)
                for (before, after), m in zip(self.codes(read(part)), width, strict=True)
            ]

        frame = self.rows(table).select(*(table.place(n) for n in self.names))
        counts = zip(*results(frame, work, whole=True), strict=True)
        return {
            each.plan.name: sum(pairs).reshape(m, m)
            for each, m, pairs in zip(self.randomized, width, counts, strict=True)
        }


def by_draws(plan: Randomize, table: SparkTable, key: Key | None) -> Transformed:
    """Return the columns that a randomizing plan draws, under `key` or else under a fresh key that is discarded."""
    key = key or Key.new()
    hashed, hasher = table.names, hasher_of(table, table.names, key)
    fingerprint = table.n_rows, _sum(table, hasher)
    if plan.row_id is not None:
        check_row_id(table, plan.row_id)
        _check_ids(table, plan.row_id)
        hashed = [plan.row_id]
        hasher = hasher_of(table, hashed, key)
    randomized, outside = drawn_columns(plan, table, release_key(key, fingerprint, bound_to(plan)))
    names = list(dict.fromkeys([*hashed, *(column.name for column in plan.columns)]))
    maker = ByDraws(names, hashed, hasher, key_words(key, NUMBER), randomized)
    return Transformed({e.plan.name: SparkColumn(maker, e.values) for e in randomized}, outside)


def _hashed(part: pa.Table, names: Sequence[str], hasher: RowHasher) -> tuple[Words, Words, int]:
    """Return a 128-bit hash of each row's named columns, as two words, and the sum of the hashes."""
    first, second = (np.zeros(part.num_rows, np.uint64) for _ in range(2))
    return first, second, hasher.hash_into([part.column(n).combine_chunks() for n in names], first, second)


def _sum(table: SparkTable, hasher: RowHasher) -> int:
    """Return the sum of the hashes of all rows, modulo 2**128."""
    names, read = table.names, reading(table.types, table.names)
    sums = results(table.frame, lambda part: _hashed(read(part), names, hasher)[2], at_once=table.at_once)
    return sum(sums) % (1 << 128)


def _check_ids(table: SparkTable, name: str) -> None:
    """Raise PlanError if a column of row ids has missing or repeated values."""
    place = table.frame[table.place(name)]
    missing = int(run(table.frame.where(place.isNull()).count))
    distinct = int(run(table.frame.select(place).distinct().count))
    refuse_ids(name, missing, table.n_rows - distinct)
