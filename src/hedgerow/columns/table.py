"""A table that was read, with its columns as codes, and the way back to the frame that it came from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NoReturn, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import InputError, SchemaError, UnsupportedError, reprs
from ..io.file_format import FileFormat
from ..io.frames import ArrowSource, Source
from ..kernels import Bools
from ..plan import PlanColumn, UnitForm
from ..schema import KINDS, Kind, Schema
from .arrays import beyond_doubles, decoded, filled, indexed, kind_of, one_piece, same_memory, slices, storage
from .column import Column, as_categories, in_unit, ordered
from .encode import encode
from .order import content_order
from .workspace import give_back


@dataclass(frozen=True)
class Window:
    """A batch of a table's rows, with their cells in the requested columns.

    Parameters
    ----------
    rows : slice or int64 array
        The indices of the rows.
    cells : mapping of str to pyarrow array
    """

    rows: slice | NDArray[np.int64]
    cells: Mapping[str, pa.Array]


class Table:
    """A table of people, as `read` returns it.

    Parameters
    ----------
    arrow : pyarrow.Table
        The values.
    source : Source, optional
        The frame the values came from; by default `arrow` itself.
    layout : FileFormat, optional
        Format and CSV dialect of the file they came from; by default Parquet.
    path : Path, optional
        The file they came from.

    Attributes
    ----------
    arrow : pyarrow.Table
        The values; reading them raises UnsupportedError if `is_loaded` is False.
    types : pyarrow.Schema
        Column names and types, in order.
    n_rows : int
    spelled : dict
        The table as read from its file under other declarations; None if no column differs.
    engine : str
        The name of the engine that opened the table (`hedgerow.backends`).
    texts : mapping of str to str
        Columns of values that became text because Arrow has no type for them, and what they were.
    record_source : callable, optional
        Returns the records over which a tree is grown, if the rows are on other machines.
    drawn_counts : callable, optional
        Counts categories before and after the draws of a released table on other machines.
    units : UnitForm, optional
        What the table's columns are cells of, if a row is all rows of a unit side by side.

    Raises
    ------
    InputError
        No columns, no rows, or column names that are empty or not unique.
    """

    engine: ClassVar[str] = "memory"
    is_loaded: ClassVar[bool] = True
    of_records: ClassVar[bool] = True  # so that a refusal can say which record is at fault
    texts: Mapping[str, str] = {}
    record_source: Any = None
    drawn_counts: Any = None
    units: UnitForm | None = None

    def __init__(
        self, arrow: pa.Table, source: Source | None = None, layout: FileFormat | None = None, path: Path | None = None
    ) -> None:
        self._source: Source = source or ArrowSource(arrow)
        self.arrow, self.texts = self._source.arrow, self._source.texts
        self._describe(self.arrow.schema, self.arrow.num_rows, layout, path)

    def _describe(self, types: pa.Schema, n_rows: int, layout: FileFormat | None, path: Path | None) -> None:
        """Set the attributes that every table has, wherever its rows are."""
        self.types, self.n_rows = types, n_rows
        self.layout, self.path = layout or FileFormat(), path
        self.label = "the table" if path is None or self.is_loaded else path.name
        self._columns: dict[tuple[Any, ...], Column] = {}
        self.spelled: dict[tuple[Any, ...], Table | None] = {}
        check_names(self.names, self.label)
        if n_rows == 0:
            raise InputError(f"{self.label} has no rows", hint="give a table with at least one record")

    @property
    def memory_limit(self) -> int | None:
        """Return the bytes that work may take on a table that is read a few rows at a time; None for others."""
        return None

    def with_local_codes(self, names: Iterable[str], besides: int = 0, *, in_order: bool = False) -> Table:
        """Return the table with the row codes of the given columns on this machine.

        `besides` is the number of bytes that a method needs in addition; `in_order` keeps the rows in their
        order, which costs a cluster more.
        """
        return self

    def check_released_codes(self, names: Iterable[str]) -> None:
        """Raise UnsupportedError if the codes of the given columns do not tell all of their cells apart."""

    def relation(self) -> Any:
        """Return the table as a DuckDB relation.

        Raises
        ------
        UnsupportedError
            Its rows are not in files that DuckDB reads.
        """
        raise UnsupportedError(
            "the rows of this table do not lie in files that DuckDB reads",
            hint='protect with engine="duckdb" (--engine duckdb), or take release.table',
        )

    def reordered(self, rows: NDArray[Any]) -> Table:
        """Return the table with its rows in the order of `rows`."""
        return Table(self.arrow.take(pa.array(rows)), layout=self.layout)

    def allocate(self, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
        """Return an array of the given shape, to be filled."""
        return np.empty(shape, kind)

    @property
    def names(self) -> list[str]:
        """Return the column names, in order."""
        return list(self.types.names)

    def windows(self, names: Sequence[str], size: int) -> Iterator[Window]:
        """Yield the table's rows in order, at most `size` at a time, with the cells of the named columns."""
        for rows in slices(self.n_rows, size):
            yield Window(rows, {name: self.take(name, rows) for name in names})

    def take(self, name: str, rows: slice | NDArray[np.int64]) -> pa.Array:
        """Return the given cells of a column as one array; a slice of one chunk is not copied."""
        column = self.arrow.column(name)
        if isinstance(rows, slice):
            return one_piece(column.slice(rows.start, rows.stop - rows.start))
        return one_piece(column.take(pa.array(rows)))

    def entries(self, name: str) -> pa.Array:
        """Return a column's distinct values, perhaps with a missing one."""
        return indexed(self.arrow.column(self._field(name).name))[1]

    def beyond_doubles(self, name: str) -> bool:
        """Return whether a column holds numbers, or times in microseconds, that doubles cannot represent."""
        return beyond_doubles(self.arrow.column(name))

    def equality_codes(self, name: str) -> NDArray[Any]:
        """Return a code for each row of a column; cells with the same text have the same code."""
        array = self.arrow.column(name)
        if array.num_chunks == 1 and pa.types.is_dictionary(array.type):
            coded = array.chunk(0)
            if len(coded.dictionary.unique()) == len(coded.dictionary) and not coded.dictionary.null_count:
                return filled(coded.indices, len(coded.dictionary)).to_numpy()
        return self.column(name, kind="categorical").codes

    def has_missing(self, name: str) -> bool:
        """Return whether any cell of a column is missing or NaN."""
        return bool(pc.any(pc.is_null(self.arrow.column(name), nan_is_null=True)).as_py())

    def distinct_share(self, name: str) -> float:
        """Return the number of distinct values divided by the number of non-missing cells; NaN if none or nested."""
        if pa.types.is_nested(self._field(name).type):
            return math.nan
        n_distinct, n_present = self._distinct(name)
        return n_distinct / n_present if n_present else math.nan

    def _distinct(self, name: str) -> tuple[int, int]:
        """Return the number of distinct values, and the number of non-missing cells."""
        array = decoded(self.arrow.column(name))
        # twice as fast as Arrow's count_distinct
        return len(array.unique()) - (array.null_count > 0), len(array) - array.null_count

    def cell_counts(self, name: str) -> tuple[list[Any], NDArray[np.int64]]:
        """Return a column's distinct cells, and the number of rows with each cell."""
        cells = self.arrow.column(name)
        if cells.num_chunks == 1 and pa.types.is_dictionary(cells.type):
            chunk = cells.chunk(0)
            labels = [*chunk.dictionary.to_pylist(), None]
            return labels, np.bincount(filled(chunk.indices, len(labels) - 1).to_numpy(), minlength=len(labels))
        if pa.types.is_string(cells.type):  # verification has encoded it
            column = self.column(name, kind="categorical")
            return [*column.values, None], column.counts()
        counts = pc.value_counts(storage(cells))
        return counts.field(0).to_pylist(), counts.field(1).to_numpy()

    @property
    def suffix(self) -> str:
        """Return the file name ending for the type of file that the table came from (".parquet" for frames)."""
        return self.layout.suffix

    def __repr__(self) -> str:
        return f"Table({self.n_rows} rows, {len(self.names)} columns)"

    def kind(self, name: str, categories: Sequence[str] | None = None) -> Kind:
        """Return the kind of a column, by its type; numbers or dates with declared categories are categorical."""
        kind = kind_of(self._field(name).type)
        return "categorical" if categories and kind in ("numeric", "date") else kind

    def declared(self, name: str) -> tuple[str, ...]:
        """Return the category order that a column's own type declares; () if it declares none."""
        kind = self._field(name).type
        if not (pa.types.is_dictionary(kind) and kind.ordered):
            return tuple(self._source.categories.get(name, ()))
        chunks = self.arrow.column(name).unify_dictionaries().chunks
        return tuple(map(str, chunks[0].dictionary.drop_null().to_pylist())) if chunks else ()

    def column(
        self, name: str, *, kind: str | None = None, categories: Sequence[str] | None = None, unit: str | None = None
    ) -> Column:
        """Return a column as codes into a sorted dictionary, encoded once and then cached.

        Another kind, order or unit of the same column is made from its cached codes, if possible.

        Parameters
        ----------
        name : str
            Column name.
        kind : {"numeric", "categorical", "ordinal", "date", "boolean"}, optional
            Kind to encode it as; by default that of its type (categorical if `categories` are
            given for numbers or dates).
        categories : sequence of str, optional
            Declared category order; by default the order that the column's type declares.
        unit : {"day", "us"}, optional
            Unit for dates; by default days if no value has a time of day.

        Returns
        -------
        Column
            Frozen; its arrays must not be changed.

        Raises
        ------
        SchemaError
            There is no such column, or its values do not fit the kind.

        Examples
        --------
        >>> import pyarrow as pa
        >>> column = Table(pa.table({"job": ["nurse", None, "cook"]})).column("job")
        >>> column.values, column.codes.tolist(), column.has_missing
        (['cook', 'nurse'], [1, 2, 0], True)
        """
        chosen: str = kind or self.kind(name, categories)
        if chosen not in KINDS:
            raise SchemaError(f"column {name!r} has the unknown kind {chosen!r}", hint=f"one of {', '.join(KINDS)}")
        self._field(name)
        if chosen == "numeric":
            column = self._cached((name, chosen), lambda: self._encoded(name, "numeric"))
        elif chosen == "date":
            column = self._cached((name, chosen, unit), lambda: self._dates(name, unit))
        else:
            order = tuple(categories) if categories else self.declared(name)
            make = partial(ordered, kind=cast(Kind, chosen), categories=order)
            column = self._cached((name, chosen, order), lambda: make(self._categories(name)))
        here = self.has_cell(name)
        return column if here is None or not self.units else replace(column, here=here, fewest=self.units.fewest)

    def has_cell(self, name: str) -> Bools | None:
        """Return which units have a cell of a column, if it is of one slot, in which not all have a row; else None."""
        form = self.units
        if form is None or name not in form.in_slots or form.presence not in self.names:
            return None
        patterns = self.column(form.presence, kind="categorical")
        return np.array([*(form.has_cell(name, text) for text in patterns.values), False])[patterns.codes]

    def declared_kind(self, schema: Schema, name: str) -> str:
        """Return the kind that a schema declares for a column, otherwise that of its type and declared categories."""
        return schema.kinds.get(name) or self.kind(name, schema.categories.get(name))

    def declared_column(self, schema: Schema, name: str) -> Column:
        """Return a column with the kind, category order and events that a schema declares."""
        column = self.column(name, kind=schema.kinds.get(name), categories=schema.categories.get(name))
        return column.with_events(schema.events.get(name, ()))

    def like(self, model: PlanColumn | Column) -> Column:
        """Return a column with the kind, unit, category order and events of a plan's or another table's column."""
        if isinstance(model, PlanColumn):
            order: Sequence[str] = model.order
        else:
            order = () if model.is_number else tuple(model.values)
        column = self.column(model.name, kind=model.kind, categories=order or None, unit=model.unit or None)
        return column.with_events(model.events)

    def release_memory(self) -> None:
        """Return freed memory to the system between the steps of long work."""
        give_back()
        self.spill()

    def discard_codes(self) -> None:
        """Drop codes that were needed only for fitting, before a release is verified."""
        self.release_memory()

    def head(self, names: Sequence[str], n: int) -> list[pa.Array]:
        """Return the first n rows of the given columns, for display."""
        return [self.take(name, slice(0, n)) for name in names]

    def discard_work(self) -> None:
        """Remove what failed work has stored outside this process."""

    def check_memory(self, n_columns: int, besides: int = 0) -> None:
        """Raise ParameterError if work on `n_columns` columns needs more memory than is allowed."""

    def spill(self) -> None:
        """Let the system drop the pages of mapped files from memory, if there are any."""

    def encode(self, names: Iterable[str]) -> None:
        """Encode the given columns together, if that saves passes over the rows."""

    def reuse_codes(self, other: Table) -> None:
        """Reuse another table's codes for the columns that share their memory with this table."""
        for name in self.names:
            if name in other.names and same_memory(self.arrow.column(name), other.arrow.column(name)):
                self._columns |= {k: c for k, c in other._columns.items() if k[0] == name}

    def _cached(self, key: tuple[Any, ...], make: Callable[[], Column]) -> Column:
        """Return the column cached under this key; `make` computes it the first time."""
        if key not in self._columns:
            self._columns[key] = make()
        return self._columns[key]

    def _encoded(self, name: str, kind: Kind, unit: str | None = None) -> Column:
        """Return a column, encoded from its values."""
        return encode(name, self.arrow.column(name), kind, unit=unit, of_records=self.of_records)

    def _dates(self, name: str, unit: str | None) -> Column:
        if unit is None:
            return self._encoded(name, "date")
        # days become microseconds without reading the cells again
        return in_unit(self.column(name, kind="date"), unit) or self._encoded(name, "date", unit)

    def _categories(self, name: str) -> Column:
        """Return a column as categories in natural order."""
        arrow_type = self._field(name).type

        def make() -> Column:
            # codes are shared with the numeric column, whose order of values is the same
            if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type):
                return as_categories(self.column(name, kind="numeric"))
            return self._encoded(name, "categorical")  # decimals keep their zeros

        return self._cached((name, "categories"), make)

    def replaced(self, columns: Mapping[str, pa.Array | pa.ChunkedArray], *, drop: Iterable[str] = ()) -> Table:
        """Return a new table with some columns replaced and some dropped.

        Parameters
        ----------
        columns : mapping of str to pyarrow array
            New values, one per row. Names that the table does not have are added at the end.
        drop : iterable of str
            Columns to leave out.

        Returns
        -------
        Table
            Columns that stay are not encoded a second time.
        """
        dropped = self._check_change(columns, drop)
        source = ArrowSource(ArrowSource(self.arrow, file=True).restore(dict(columns), dropped), file=True)
        stayed = set(source.arrow.column_names) - set(columns)
        source.categories = {n: c for n, c in self._source.categories.items() if n in stayed}
        table = Table(source.arrow, source, self.layout)
        table.units = self.units
        table._columns = {k: c for k, c in self._columns.items() if k[0] in stayed}
        return table

    def restore(
        self, replaced: Mapping[str, pa.Array | pa.ChunkedArray], *, drop: Iterable[str] = (),
        rows: NDArray[np.int64] | None = None,
    ) -> Any:  # fmt: skip
        """Return a frame of the same type as the input, with some columns replaced and some dropped.

        Parameters
        ----------
        replaced : mapping of str to pyarrow array
            New values, one per row. Names that the table does not have are added at the end.
        drop : iterable of str
            Columns to leave out.
        rows : int64 array, optional
            The rows to return, in their order; by default all.

        Returns
        -------
        the kind of frame that was read
            Same column order; other columns keep type, index and values. A path gives a
            pyarrow table (text that repeats in Parquet as dictionaries), a numpy array an
            object array. What came in is never changed.
        """
        return self._source.restore(dict(replaced), self._check_change(replaced, drop), rows)

    def release(
        self, columns: Mapping[str, pa.Array | pa.ChunkedArray], *, drop: Iterable[str] = (), keep_order: bool = False
    ) -> tuple[Any, NDArray[np.int64] | None]:
        """Return the frame to release, stripped of all but its values, and the input row of each of its rows.

        Parameters
        ----------
        columns, drop
            See `restore`.
        keep_order : bool
            Keep the order of the rows; by default they are sorted by their content.

        Returns
        -------
        frame : the kind of frame that was read
            Without index, attributes, notes and unused categories.
        rows : int64 array of shape (n_rows,), or None
            The input row of each released row; None if the order was kept.
        """
        dropped = self._check_change(columns, drop)
        released = ArrowSource(self.arrow, file=True).restore(dict(columns), dropped)
        rows = np.arange(self.n_rows) if keep_order else content_order(released)
        return self._source.restore(dict(columns), dropped, rows), None if keep_order else rows

    def _check_change(self, columns: Mapping[str, pa.Array | pa.ChunkedArray], drop: Iterable[str]) -> set[str]:
        dropped = set(drop)
        for name in dropped:
            self._field(name)
        for name, array in columns.items():
            if len(array) != self.n_rows:
                raise InputError(f"column {name!r} has {len(array)} new values for {self.n_rows} rows")
        return dropped

    def _field(self, name: str) -> pa.Field:
        if name not in self.types.names:
            raise SchemaError(f"no column {name!r}", hint="the table's columns are: " + ", ".join(self.names))
        return self.types.field(name)


class StoredTable(Table):
    """A table whose rows are not in memory; its columns are known by their distinct values and counts.

    Subclasses call `_describe` in their constructor and define `values` and `_distinct`.
    """

    is_loaded: ClassVar[bool] = False
    refusal: ClassVar[str]

    @property
    def arrow(self) -> NoReturn:
        """Raise UnsupportedError, because the rows are not in memory."""
        raise UnsupportedError(
            f"this needs the whole table in memory, and {self.refusal}",
            hint='use engine="memory" (--engine memory), or a part of the table',
        )

    def values(self, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return a column's distinct values in natural order, and the number of rows with each."""
        raise NotImplementedError

    def entries(self, name: str) -> pa.Array:
        """Return a column's distinct values, perhaps with a missing one."""
        return self.values(name)[0]

    def beyond_doubles(self, name: str) -> bool:
        """Return whether a column holds numbers, or times in microseconds, that doubles cannot represent."""
        return beyond_doubles(self.entries(name))

    def equality_codes(self, name: str) -> NDArray[Any]:
        """Return a code for each row of a column; cells with the same text have the same code."""
        return self.column(name, kind="categorical").codes

    def has_missing(self, name: str) -> bool:
        """Return whether any cell of a column is missing or NaN."""
        return bool(pc.any(pc.is_null(self.entries(name), nan_is_null=True)).as_py())

    def cell_counts(self, name: str) -> tuple[list[Any], NDArray[np.int64]]:
        """Return a column's distinct cells, and the number of rows with each cell."""
        entries, counts = self.values(name)
        return entries.to_pylist(), counts

    def declared(self, name: str) -> tuple[str, ...]:
        """Return the category order that a column's own type declares; () if it declares none."""
        self._field(name)
        return ()

    def reuse_codes(self, other: Table) -> None:
        """Do nothing, because the table shares no memory with another one."""


def check_names(names: Sequence[str], where: str = "the table") -> None:
    """Raise InputError if there are no columns, or if names are empty or repeated."""
    if not names:
        raise InputError(f"{where} has no columns")
    if empty := [str(i) for i, name in enumerate(names, 1) if not name.strip()]:
        hint = "give every column a name"
        if empty[0] == "1":
            hint += " (a nameless first column is often a row index: write the file without it)"
        elif len(empty) == len(names) - 1:  # a title has one cell
            hint += ", or take out what stands above the header, if the header is a later line"
        raise InputError(f"{where} has columns without a name: number {', '.join(empty)}", hint=hint)
    # before the first name of a release it would be the mark of the file
    if marked := [name.strip("\ufeff") for name in names if name.startswith("\ufeff")]:
        raise InputError(
            f"{where} has an invisible byte order mark (U+FEFF) before the column names {reprs(marked)}",
            hint="take it out: it belongs before the first byte of a file alone",
        )
    if doubled := sorted({name for name in names if list(names).count(name) > 1}):
        raise InputError(f"{where} has column names more than once: {reprs(doubled)}", hint="give them different names")
