"""A table on a cluster, known here by the distinct values of its columns and their counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cached_property, reduce
from operator import add
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...columns.arrays import value_type
from ...columns.column import Column, ValueCounts
from ...columns.encode import natural_order
from ...columns.numbers import one_zero
from ...columns.table import StoredTable, Table
from ...columns.workspace import LEAST, Workspace
from ...errors import InputError, SchemaError, UnsupportedError
from ...io.file_format import FileFormat
from ...kernels import Ints
from ...measures import Counts
from ...measures.classes import SensitiveCounts
from .cluster import (
    AT_ONCE,
    Entries,
    changed,
    codes_of,
    collected,
    columns_of,
    map_parts,
    place,
    placed,
    results,
    run,
    task_memory,
)
from .packing import Packing, check_room, combined


class DistinctValues(Table):
    """A local table of a column's distinct values."""

    of_records: ClassVar[bool] = False


class RefusedCodes:
    """A stand-in for row codes that are on the cluster; any use of it raises UnsupportedError."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError(
            "this needs the rows of the table one by one, and they are on a cluster",
            hint='use engine="memory" or "duckdb" (--engine), or a part of the table',
        )

    # raised on use only, because code that needs only the values may pass a column on
    __getitem__ = __len__ = __iter__ = __array__ = __getattr__ = _refuse


@dataclass(frozen=True, eq=False, repr=False)
class CountedColumn(Column):
    """A column whose rows are on a cluster; this process has only its distinct values and their counts.

    Parameters
    ----------
    lookup : unsigned integer array
        The code of each distinct value, in the order of the table's `values`.
    rows : int64 array
        The number of rows with each distinct value.
    table : SparkTable
        The table on the cluster.
    """

    lookup: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint8))
    rows: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    table: SparkTable | None = None

    @classmethod
    def from_column(cls, column: Column, table: SparkTable) -> CountedColumn:
        """Return a counted column, given the column of a table's distinct values."""
        attributes = {f.name: getattr(column, f.name) for f in fields(Column)}
        rows = table.values(column.name)[1]
        return cls(**{**attributes, "codes": RefusedCodes()}, lookup=column.codes, rows=rows, table=table)

    def __repr__(self) -> str:  # no person's value
        return f"CountedColumn({self.name!r}, {self.kind!r}, {self.n_values} values)"

    @cached_property
    def value_counts(self) -> ValueCounts:
        """Count each value, from the counts of the distinct cells."""
        counts = np.zeros(self.n_values + 1, np.int64)
        np.add.at(counts, self.lookup.astype(np.int64), self.rows)
        return self.with_counts(counts)

    def crossed(
        self, levels: Ints, others: Sequence[Column]
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any], Ints | None]]:
        """Yield counted pairs of a level of this column and a code of another, for each of `others`."""
        assert self.table is not None
        counted = [c for c in others if isinstance(c, CountedColumn)]
        yield from self.table.pairs(self.name, levels[self.lookup], counted)

    def with_class_counts(self, counts: Counts) -> SensitiveCounts:
        """Return the column with the number of times each value occurs in each class."""
        return SensitiveCounts(self.name, self.kind, self.values, counts, self.exact, self.events)

    def with_rows(self, codes: NDArray[Any]) -> Column:
        """Return the same column with `codes` as its row codes."""
        attributes = {f.name: getattr(self, f.name) for f in fields(Column)}
        return Column(**{**attributes, "codes": codes})


# most distinct values of a coded column: they are in the memory of this process and of every executor
MOST = 1 << 24
# bytes of memory that a task has for each row and column that it codes and counts at once
_CELL = 200
# bytes per record while its codes are collected, and in a method without an estimate of its own
_COLLECTED, _GROUPED = 150, 130


@dataclass(frozen=True)
class Maker:
    """A recipe by which executors compute the released columns of a batch of rows; the base class computes none.

    It is sent to executors, so it contains plain data and no key.

    Parameters
    ----------
    names : sequence of str
        The columns that the maker reads.

    Attributes
    ----------
    whole : bool
        Whether the maker needs all rows of a partition at once.
    """

    names: Sequence[str]
    whole: ClassVar[bool] = False

    def rows(self, table: SparkTable) -> Any:
        """Return a table's rows as a frame, partitioned as this object needs them."""
        return table.frame

    def columns(self, part: pa.Table) -> Mapping[str, pa.Array]:
        """Return the released columns of the given rows."""
        return {}


class SparkTable(StoredTable):
    """A table whose rows are in a Spark DataFrame.

    Parameters
    ----------
    frame : Spark DataFrame
    layout : FileFormat, optional
        The kind of file that came in.
    path : Path, optional
        The file, folder or pattern that came in.
    file_types : pyarrow.Schema, optional
        The types of its columns when written to a file; by default those that Spark gives.

    Attributes
    ----------
    frame : Spark DataFrame
        The rows, with columns renamed by `place`.
    workspace : Workspace, optional
        The place of temporary files, if there are any; it lasts as long as the table.
    memory : str or int, optional
        Most memory of this process; by default half of the machine's.
    maker : Maker
        The maker of a released table's columns.
    rows_here : pair of sequence of str and int64 array, optional
        Of a release whose rows this process made: the columns that it gathered, and the gathered row behind
        each released one.
    """

    engine: ClassVar[str] = "spark"
    refusal: ClassVar[str] = "its rows are on a cluster"
    workspace: Workspace | None = None
    memory: str | int | None = None
    maker = Maker(())
    rows_here: tuple[Sequence[str], Ints] | None = None

    def __init__(
        self,
        frame: Any,
        layout: FileFormat | None = None,
        path: Path | None = None,
        file_types: pa.Schema | None = None,
    ) -> None:
        self.given = frame
        types = columns_of(frame, "the table" if path is None else path.name)
        self.file_types = types if file_types is None else file_types
        types = pa.schema([(entry.name, value_type(entry.type)) for entry in self.file_types])
        self.frame = placed(frame)
        self._values: dict[str, tuple[pa.Array, Ints]] = {}
        self._alone: dict[str, Table] = {}
        self._packed: tuple[Packing, Any] | None = None
        self._persisted: list[Any] = []
        self._release: Any = None
        self._describe(types, int(run(self.frame.count)), layout, path)

    @cached_property
    def at_once(self) -> int:
        """Return the number of rows that fit into the memory of a task."""
        return max(min(task_memory(self.frame, self.memory) // (_CELL * len(self.names)), AT_ONCE), 1 << 14)

    def place(self, name: str) -> str:
        """Return the internal name of a column in `frame`."""
        return place(self.types.names.index(name))

    def head(self, names: Sequence[str], n: int) -> list[pa.Array]:
        """Return the first n rows of the given columns, for display."""
        rows = collected(self.frame.select(*(self.place(name) for name in names)).limit(n))
        return [column.combine_chunks() for column in rows.columns]

    def values(self, name: str) -> tuple[pa.Array, Ints]:
        """Return a column's distinct values in natural order, and the number of rows with each.

        Raises
        ------
        UnsupportedError
            The column is nested, or has too many values for this process.
        """
        if name not in self._values:
            kind = self._field(name).type
            if pa.types.is_nested(kind):
                raise UnsupportedError(f"column {name!r} holds nested values", hint="leave it out, or flatten it")
            place = self.place(name)
            # one more than allowed is enough to refuse
            table = collected(self.frame.groupBy(place).count().limit(MOST + 1))
            if table.num_rows > MOST:
                raise UnsupportedError(
                    f"column {name!r} has more than {MOST:,} distinct values, which are held in memory",
                    hint="leave it out, or coarsen it",
                )
            entries = table.column(0).combine_chunks().cast(kind)
            counts = table.column(1).to_numpy().astype(np.int64)
            if counts.sum() != self.n_rows:
                raise self.changed()
            order = natural_order(name, entries)
            self._values[name] = entries.take(pa.array(order)), counts[order]
        return self._values[name]

    def counted_entries(self, name: str) -> pa.Array | None:
        """Return a column's distinct values if they were counted before, otherwise None."""
        return self._values[name][0] if name in self._values else None

    def column(self, name: str, **options: Any) -> Column:
        """Return a column with its values and counts; using its row codes raises UnsupportedError."""
        column = self._listed(name).column(name, **options)
        return self._cached((name, id(column)), lambda: CountedColumn.from_column(column, self))

    def _listed(self, name: str) -> Table:
        """Return a local table of a column's distinct values, which answers every question except counts."""
        self._field(name)
        if name not in self._alone:
            self._alone[name] = DistinctValues(pa.table({name: self.values(name)[0]}))
        return self._alone[name]

    def _distinct(self, name: str) -> tuple[int, int]:
        from pyspark.sql import functions as f

        place = self.place(name)
        counts = collected(self.frame.agg(f.count_distinct(place).alias("a"), f.count(place).alias("b")))
        return counts.column(0)[0].as_py(), counts.column(1)[0].as_py()

    def check_released_codes(self, names: Iterable[str]) -> None:
        """Raise UnsupportedError if a column has -0.0, which is one code with 0.0."""
        for name in names:
            cells = self.frame[self.place(name)]
            if has_zeros(self.entries(name)) and run(self.frame.where(cells.cast("string") == "-0.0").limit(1).count):
                raise UnsupportedError(
                    f"column {name!r} has zeros of two signs, which a cluster counts as one where values are drawn",
                    hint='add 0.0 to it, leave it out, or use engine="memory" (--engine memory)',
                )

    def encode(self, names: Iterable[str]) -> None:
        """Keep the packed codes of the given columns on the cluster, computed when they are first counted."""
        self.discard_codes()
        self._release = None
        packing, coded = self._coded(list(dict.fromkeys(names)))
        # without this every pass would read and code the table again
        self._packed = packing, self.keep(coded)

    def _coded(self, names: Sequence[str]) -> tuple[Packing, Any]:
        """Return the packing of the given columns, and a frame of their packed codes."""
        among = token_hex(8)
        entries = {n: Entries.from_values(self.values(n)[0], among) for n in names}
        packing = Packing.from_sizes({n: len(e.values) for n, e in entries.items()})
        places = {self.place(n): n for n in names}

        def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
            codes = {n: codes_of(part.column(c), entries[n], n) for c, n in places.items()}
            words = packing.packed(codes)
            yield pa.RecordBatch.from_arrays([pa.array(w) for w in words], packing.names())

        schema = ", ".join(f"{w} long" for w in packing.names())
        return packing, map_parts(self.frame.select(*places), work, schema, at_once=self.at_once)

    def with_local_codes(self, names: Iterable[str], besides: int = 0, *, in_order: bool = False) -> Table:
        """Return the table with row codes of the given columns on this machine.

        They are collected as counted combinations and sorted, or row by row if they are needed `in_order`.

        Raises
        ------
        UnsupportedError
            The codes, and the bytes that a method needs `besides`, do not fit into this process's memory.
        """
        names = list(dict.fromkeys(names))
        if not names:
            return self
        check_room(
            self.n_rows,
            {n: len(self.values(n)[0]) for n in names},
            LEAST + self.n_rows * _COLLECTED + (besides or self.n_rows * _GROUPED),
            "this method",
            "allow more (memory=, --memory), ask from a larger machine, or take MART, which counts on the cluster",
            self.memory,
        )
        if in_order:
            packing, frame = self._coded(names)
            words = [word.to_numpy() for word in collected(frame).columns]
            return Gathered(self, {n: packing.codes(words, n) for n in names})
        codes, counts = self.combinations(names)
        return Gathered(self, {n: np.repeat(c, counts) for n, c in codes.items()})

    def combinations(self, names: Sequence[str]) -> tuple[dict[str, NDArray[Any]], Ints]:
        """Return the distinct combinations of the given columns' values, sorted, and the number of rows with each.

        Raises
        ------
        UnsupportedError
            There are too many combinations for this process.
        """

        # codes that are kept on the cluster need no second pass over the table
        is_packed = self._packed is not None and set(names) <= set(self._packed[0].places)
        packing, frame = self.packed if is_packed else self._coded(names)
        joint = Packing.from_sizes({n: len(self.values(n)[0]) for n in names})

        def coded(part: pa.Table) -> Mapping[str, NDArray[Any]]:
            words = [column.to_numpy() for column in part.columns]
            return {n: packing.codes(words, n) for n in names}

        codes, counts = combined(frame, coded, joint)
        if counts.sum() != self.n_rows:
            raise self.changed()
        return codes, counts

    def pairs(self, name: str, levels: Ints, others: Sequence[CountedColumn]) -> list[tuple[Ints, Ints, Ints]]:
        """Return for each other column the pairs of level and code that occur, and the number of rows with each."""
        packing, frame = self.packed
        wanted = [(c.name, c.lookup, c.n_values + 1) for c in others]

        def work(part: pa.Table) -> list[Counts]:
            words, one = [column.to_numpy() for column in part.columns], np.ones(part.num_rows, np.int64)
            level = levels[packing.codes(words, name)].astype(np.int64)
            codes = [lookup[packing.codes(words, other)].astype(np.int64) for other, lookup, _ in wanted]
            return [Counts(level, c, one, n_levels, m).placed() for c, (*_, m) in zip(codes, wanted, strict=True)]

        n_levels = int(levels.max(initial=0)) + 1
        counted = (reduce(add, parts) for parts in zip(*results(frame, work, at_once=self.at_once), strict=True))
        return [(counts.groups, counts.values, counts.counts) for counts in counted]

    @property
    def packed(self) -> tuple[Packing, Any]:
        """Return the packing of the encoded columns, and the frame of their packed codes."""
        if self._packed is None:
            raise SchemaError("no column of this table was encoded")
        return self._packed

    def keep(self, frame: Any) -> Any:
        """Persist a frame on the cluster until `discard_codes`, and return it."""
        self._persisted.append(frame.persist())
        return frame

    def release_memory(self) -> None:
        """Do nothing: the rows are in the executors' memory, and the release still needs the codes."""

    def discard_codes(self) -> None:
        """Drop the codes, and everything computed from them, from the cluster's memory."""
        self._packed = None
        while self._persisted:
            with suppress(Exception):  # a session that has ended keeps nothing
                self._persisted.pop().unpersist()

    def keep_release(self, frame: Any) -> Any:
        """Persist a released frame on the cluster and return it; computing it again would draw new random values."""
        self._release = frame.persist()
        return frame

    def discard_work(self) -> None:
        """Drop the codes, and a release that was not verified, from the cluster's memory."""
        if self._release is not None:
            self._persisted.append(self._release)
        self.discard_codes()

    def changed(self) -> InputError:
        """Build the error for a table that gives different rows each time it is computed."""
        return changed(self.label)


def has_zeros(entries: pa.Array) -> bool:
    """Return whether numbers include zeros, which rows may write as 0.0 or as -0.0."""
    return False if not pa.types.is_floating(entries.type) else bool(pc.any(pc.equal(one_zero(entries), 0.0)).as_py())


class Gathered(StoredTable):
    """A table on a cluster, with the row codes of the requested columns collected on this machine.

    Rows with equal codes in all of these columns are collected as one combination with its count,
    so they cannot be distinguished, and the rows are not in the order of the table.

    Parameters
    ----------
    whole : SparkTable
    codes : mapping of str to integer array of shape (n_rows,)
        By column, the index of each row's cell among the distinct values.
    """

    engine: ClassVar[str] = "spark"
    refusal: ClassVar[str] = SparkTable.refusal

    def __init__(self, whole: SparkTable, codes: Mapping[str, NDArray[Any]]) -> None:
        self.whole, self.codes = whole, codes
        self._describe(whole.types, whole.n_rows, whole.layout, whole.path)

    def values(self, name: str) -> tuple[pa.Array, Ints]:
        """Return a column's distinct values in natural order, and the number of rows with each."""
        return self.whole.values(name)

    def _distinct(self, name: str) -> tuple[int, int]:
        return self.whole._distinct(name)

    def take(self, name: str, rows: slice | Ints) -> pa.Array:
        """Return the given cells of a column whose codes are on this machine."""
        return self.arrow if name not in self.codes else self.entries(name).take(pa.array(self.codes[name][rows]))

    def column(self, name: str, **options: Any) -> Column:
        """Return a column, with its row codes if they were collected on this machine."""
        column = self.whole.column(name, **options)
        if name not in self.codes:
            return column
        assert isinstance(column, CountedColumn)
        lookup, codes = column.lookup, self.codes[name]
        return self._cached((name, id(column)), lambda: column.with_rows(lookup[codes]))
