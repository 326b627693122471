"""Recode rows on the executors: by leaves, by maps, or by draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.arrays import is_text, value_class
from ...columns.row_hashes import RowHasher, key_words
from ...columns.table import Table
from ...kernels.siphash import draw
from ...key import Key
from ...plan import Maps, Partition
from ...plan.recodings import Randomize, Released
from .. import partitions
from ..base import Transformed
from ..column_maps import coded_maps, suppressed
from ..memory import as_arrays
from ..randomize import (
    NUMBER,
    PURPOSE,
    bound_to,
    category_of_code,
    check_row_id,
    numbered,
    refuse_ids,
    release_key,
    released_values,
)
from ..release_order import TEXT
from .cluster import codes_of, gathered, parts_for, reading, results, run
from .spark_table import CountedColumn, Maker, SparkTable

Ints = NDArray[np.int64]
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class SparkColumn:
    """A lazy released column, which executors evaluate when the release is written.

    Parameters
    ----------
    maker : Maker
    entries : pyarrow.Array
        The values that it may hold.
    kind : pyarrow.DataType
        Its type in a file; text is stored as a dictionary.
    """

    maker: Maker
    entries: pa.Array
    kind: pa.DataType


@dataclass(frozen=True)
class ByLeaves(Maker):
    """A `Maker` that recodes rows by a partition; if `hidden`, cells that do not cover their original become `*`."""

    recoding: Partition
    hidden: bool = False

    def recoded(self, part: pa.Table) -> Transformed:
        """Recode the given rows with the in-memory engine."""
        return as_arrays(partitions.recode(self.recoding, Table(part)))

    def columns(self, part: pa.Table) -> Mapping[str, pa.Array]:
        """Return the released columns of the given rows."""
        recoded = self.recoded(part)
        return recoded.without_outside() if self.hidden else recoded.columns


def by_leaves(recoding: Partition, table: SparkTable, key: Key | None = None) -> Transformed:
    """Return lazy columns recoded by a partition; executors evaluate them when the release is written."""
    for column in recoding.columns:
        if column.kind not in ("categorical", "ordinal") and is_text(table.types.field(column.name).type):
            table.like(column)  # raises errors here, for the whole table, instead of in every part

    names = [column.name for column in recoding.columns]

    def columns(hidden: bool) -> dict[str, SparkColumn]:
        recoded, maker = {}, ByLeaves(names, recoding, hidden)
        for column in recoding.columns:
            entries = partitions.labels_of(column)[0]
            entries = partitions.with_star(entries)[0] if hidden else entries
            kind = TEXT if pa.types.is_string(entries.type) else entries.type
            recoded[column.name] = SparkColumn(maker, entries, kind)
        return recoded

    return Transformed(columns(False), lambda: _outside(recoding, table), lambda: columns(True))


def _outside(recoding: Partition, table: SparkTable) -> int:
    """Count the released cells that do not cover their original value."""
    names = [column.name for column in recoding.recoded()]
    read, maker = reading(table.types, names), ByLeaves(names, recoding)
    frame = table.frame.select(*(table.place(n) for n in names))
    return sum(results(frame, lambda part: maker.recoded(read(part)).outside))


@dataclass(frozen=True)
class _Looked:
    """A mapped column, with the code of each distinct value and the released value of each code.

    Parameters
    ----------
    name : str
    entries : pyarrow.Array
        Its distinct values.
    code : integer array
        The code of each.
    released : pyarrow.Array or None
        The released values; None where the column stays as it is.
    place : int64 array
        The index among them of each code's released value.
    word, listed
        The number of each code's released value, and the number of each released value, to look up
        suppressed keys (`maps.suppressed`).
    """

    name: str
    entries: pa.Array
    code: NDArray[Any]
    released: pa.Array | None
    place: Ints
    word: Ints
    listed: Mapping[Released, int]


@dataclass(frozen=True)
class ByMaps(Maker):
    """A `Maker` that recodes rows by column maps, looking up each cell among the table's distinct values."""

    maps: Maps
    looked: Sequence[_Looked]

    def columns(self, part: pa.Table) -> Mapping[str, pa.Array]:
        """Return the released columns of the given rows."""
        codes = [
            each.code[codes_of(part.column(each.name), each.entries, each.name)]
            for each in self.looked
        ]
        hidden = None
        if self.maps.suppressed:
            words = [each.word[code] for each, code in zip(self.looked, codes, strict=True)]
            hidden = suppressed(self.maps, [each.listed for each in self.looked], words)
        recoded = {}
        for each, code in zip(self.looked, codes, strict=True):
            if each.released is None:
                continue
            at = each.place[code]
            if hidden is not None:
                at = np.where(hidden, each.place[-1], at)
            recoded[each.name] = each.released.take(pa.array(at))
        return recoded


def by_maps(maps: Maps, table: SparkTable, key: Key | None = None) -> Transformed:
    """Return lazy columns recoded by column maps; executors evaluate them when the release is written."""
    columns, outside = coded_maps(maps, table)
    looked: list[_Looked] = []
    maker = ByMaps([column.name for column in maps.columns], maps, looked)
    recoded = {}
    for column in columns:
        coded, released = column.coded, column.released(maps, table)
        assert isinstance(coded, CountedColumn)
        kind, values, place = released or (None, None, np.zeros(0, np.int64))
        entries = table.entries(coded.name)
        looked.append(
            _Looked(
                coded.name, entries, coded.lookup, values, place, column.by_code, column.numbers
            )
        )
        if released is not None:
            recoded[coded.name] = SparkColumn(maker, values, kind)
    return Transformed(recoded, outside)


@dataclass(frozen=True)
class _RandomizedColumn:
    """A column to randomize: the category of each distinct value, the way to draw, and the released values."""

    name: str
    entries: pa.Array
    category: NDArray[Any]
    d: int
    p: float
    words: tuple[int, int] | None
    values: pa.Array


@dataclass(frozen=True)
class ByDraws(Maker):
    """A `Maker` that draws randomized values by row ids, which are keyed hashes of rows (`backends/randomize`).

    Executors get only words derived from the key, for hashes and columns. Equal rows must be
    numbered, so rows of equal hash share a partition.
    """

    hashed: Sequence[str]
    hasher: RowHasher
    number: tuple[np.uint64, np.uint64]
    randomized: Sequence[_RandomizedColumn]
    whole: ClassVar[bool] = True

    def rows(self, table: SparkTable) -> Any:
        """Return the table's rows as a frame with all rows of the same hash in one partition."""
        read, hashed, hasher = reading(table.types, self.hashed), self.hashed, self.hasher

        def first_words(part: pa.Table) -> Ints:
            return _hashed(read(part), hashed, hasher)[0].view(np.int64)

        frame = gathered(table.frame, "hash", first_words, parts_for(table.n_rows))
        return frame.select(*table.frame.columns)

    def columns(self, part: pa.Table) -> Mapping[str, pa.Array]:
        """Return the released columns of the given rows."""
        return {
            each.name: each.values.take(pa.array(after))
            for each, (_, after) in zip(self.randomized, self.codes(part), strict=True)
        }

    def codes(self, part: pa.Table) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """Return each row's category before and after randomization, as one pair of arrays per column."""
        first, second, _ = _hashed(part, self.hashed, self.hasher)
        ids = numbered(first, second, self.number)
        pairs = []
        for each in self.randomized:
            before = each.category[codes_of(part.column(each.name), each.entries, each.name)]
            after = before
            if each.words is not None:
                after = draw(before, ids, each.words, each.p, each.d)
            pairs.append((before, after))
        return pairs

    def counted(self, table: SparkTable) -> dict[str, Ints]:
        """Count the rows with each category before (by row) and after (by column) the random draw, by column name."""
        read, width = reading(table.types, self.names), [each.d + 1 for each in self.randomized]

        def work(part: pa.Table) -> list[Ints]:
            return [
                np.bincount(before.astype(np.int64) * m + after, minlength=m * m)
                for (before, after), m in zip(self.codes(read(part)), width, strict=True)
            ]

        frame = self.rows(table).select(*(table.place(n) for n in self.names))
        counts = zip(*results(frame, work, whole=True), strict=True)
        return {
            each.name: sum(pairs).reshape(m, m)
            for each, m, pairs in zip(self.randomized, width, counts, strict=True)
        }


def by_draws(plan: Randomize, table: SparkTable, key: Key | None = None) -> Transformed:
    """Return the columns that a randomizing plan draws, under `key` or else under a fresh key that is discarded."""
    key = key or Key.new()
    hashed, hasher = table.names, _hasher(table, table.names, key)
    fingerprint = table.n_rows, _sum(table, hasher)
    if plan.row_id is not None:
        check_row_id(table, plan.row_id)
        _check_ids(table, plan.row_id)
        hashed = [plan.row_id]
        hasher = _hasher(table, hashed, key)
    mine = release_key(key, fingerprint, bound_to(plan))
    randomized, outside = [], 0
    for column in plan.columns:
        coded = table.like(column)
        assert isinstance(coded, CountedColumn)
        category = category_of_code(coded, column)
        unknown = int(coded.counts()[category == column.d].sum())
        outside += unknown
        randomized.append(
            _RandomizedColumn(
                column.name,
                table.entries(column.name),
                category[coded.lookup],
                column.d,
                column.p,
                mine.words(PURPOSE + column.name) if column.p < 1 or unknown else None,
                released_values(column, table.types.field(column.name).type),
            )
        )
    names = list(dict.fromkeys([*hashed, *(each.name for each in randomized)]))
    maker = ByDraws(names, hashed, hasher, key_words(key, NUMBER), randomized)
    released = {e.name: SparkColumn(maker, e.values, e.values.type) for e in randomized}
    return Transformed(released, outside)


def _hasher(table: SparkTable, names: Sequence[str], key: Key) -> RowHasher:
    return RowHasher({n: value_class(table.types.field(n).type) for n in names}, key)


def _hashed(part: pa.Table, names: Sequence[str], hasher: RowHasher) -> tuple[Words, Words, int]:
    """Return a 128-bit hash of each row's named columns, as two words, and the sum of the hashes."""
    first, second = (np.zeros(part.num_rows, np.uint64) for _ in range(2))
    cells = [part.column(n).combine_chunks() for n in names]
    return first, second, hasher.hash_into(cells, first, second)


def _sum(table: SparkTable, hasher: RowHasher) -> int:
    """Return the sum of the hashes of all rows, modulo 2**128."""
    names, read = table.names, reading(table.types, table.names)
    sums = results(table.frame, lambda part: _hashed(read(part), names, hasher)[2])
    return sum(sums) % (1 << 128)


def _check_ids(table: SparkTable, name: str) -> None:
    """Raise PlanError if a column of row ids has missing or repeated values."""
    place = table.frame[table.place(name)]
    missing = int(run(table.frame.where(place.isNull()).count))
    distinct = int(run(table.frame.select(place).distinct().count))
    refuse_ids(name, missing, table.n_rows - distinct)
