"""A table that is not loaded: its columns become codes, and its rows stay in their files.

The distinct values of each column are in memory. Anything that grows with the rows (a code of one to
four bytes for each) is in the workspace, in files if there is much of it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import InputError, ParameterError, UnsupportedError, reprs
from ..io.file_format import FileFormat
from ..io.parquet_reader import Scan
from ..kernels.threads import streamed
from ..schema import Kind
from ..texts import refusal
from .arrays import as_entries, slices
from .column import Column, smallest
from .encode import encode, natural_order
from .table import StoredTable, Table, Window
from .workspace import LEAST, Workspace

_BATCH = 1 << 17


# peak bytes of the work per record, and per cell
_ROW, _CELL = 16, 3


# windows after which pages of mapped files leave memory: less often keeps too many, more often reads them again
_OFTEN = 64


# lists of values are merged at this length, and again when they have doubled
_FEW = 1 << 15


# the values of one column take at most 1 / _VALUES of the memory
_VALUES = 4


@dataclass(frozen=True, eq=False)
class Coding:
    """A column as integer codes into its distinct values, among which 0.0 and -0.0 are two.

    Parameters
    ----------
    entries : pyarrow.Array
        The distinct values in natural order, perhaps with a missing one.
    codes : array of the smallest unsigned integers, shape (n_rows,)
    counts : int64 array of shape (len(entries),)
    """

    entries: pa.Array
    codes: NDArray[Any]
    counts: NDArray[np.int64]


def _distinct_cells(cells: pa.Array) -> pa.Array:
    """Return the distinct cells of an array."""
    if not pa.types.is_dictionary(cells.type):
        return cells.unique()
    entries, codes = as_entries(cells)
    return entries.take(pa.array(np.flatnonzero(np.bincount(codes.to_numpy(), minlength=len(entries)))))


_WINDOW = 1 << 20


class ChunkedTable(StoredTable):
    """A table whose rows stay in their files and are read a few at a time.

    Parameters
    ----------
    scan : Scan
    workspace : Workspace
    layout : FileFormat
        The kind of file that came in.
    path : Path, optional
        The file, folder or pattern that came in.

    Attributes
    ----------
    is_relation : bool
        Whether the source was a DuckDB relation; the release is then one, too.
    """

    engine: ClassVar[str] = "duckdb"
    refusal: ClassVar[str] = "this engine reads it piece by piece"
    is_relation = False

    def __init__(self, scan: Scan, workspace: Workspace, layout: FileFormat, path: Path | None = None) -> None:
        self.scan, self.workspace = scan, workspace
        self._codings: dict[str, Coding] = {}
        self._describe(scan.types, scan.n_rows, layout, path)

    @property
    def memory_limit(self) -> int | None:
        """Return the bytes of memory that work on the table may take."""
        return self.workspace.memory

    def relation(self) -> Any:
        """Return the table as a DuckDB relation; the files last as long as the relation or the table."""
        relation = self.scan.relation()
        weakref.finalize(relation, type(self).release_memory, self)  # keeps the table alive until then
        return relation

    def reordered(self, rows: NDArray[Any]) -> Table:
        """Return the table with its rows in the order of `rows`."""
        return ReorderedTable(self, rows)

    def allocate(self, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
        """Return an array of the given shape, to be filled; large arrays lie in a temporary file."""
        return self.workspace.allocate(shape, kind)

    def windows(self, names: Sequence[str], size: int) -> Iterator[Window]:
        """Yield the table's rows in order, at most `size` at a time, with the cells of the named columns."""
        start = 0
        for cells in self.scan.batches(names or self.names[:1], size):
            end = start + len(next(iter(cells.values())))
            yield Window(slice(start, end), cells)
            start = end
        if start != self.n_rows:
            raise self._changed()

    def take(self, name: str, rows: slice | NDArray[np.int64]) -> pa.Array:
        """Return the given cells of a column, looked up by their codes."""
        coding = self.coding(name)
        return coding.entries.take(pa.array(coding.codes[rows]))

    def check_memory(self, n_columns: int, besides: int = 0) -> None:
        """Raise ParameterError if work on `n_columns` columns needs more memory than is allowed.

        `besides` is the number of bytes that a method needs in addition.
        """
        if (needed := LEAST + self.n_rows * (_ROW + _CELL * n_columns) + besides) > self.workspace.memory:
            sizes = {"needed": needed / 1e9, "allowed": self.workspace.memory / 1e9}
            raise ParameterError(**refusal("memory", "columns", rows=self.n_rows, columns=n_columns, **sizes))

    def values(self, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return a column's distinct values in natural order, and the number of rows with each."""
        coding = self.coding(name)
        return coding.entries, coding.counts

    def coding(self, name: str) -> Coding:
        """Return a column as codes into its distinct values, which are computed once and then cached."""
        self.encode([name])
        return self._codings[name]

    def encode(self, names: Iterable[str]) -> None:
        """Encode the given columns in two passes over the files: one for their values, one for the codes.

        Raises
        ------
        UnsupportedError
            A column is nested, or has so many values that they do not fit.
        InputError
            The files changed in between.
        """
        names = [self._field(n).name for n in dict.fromkeys(names) if n not in self._codings]
        if nested := [n for n in names if pa.types.is_nested(self._field(n).type)]:
            raise UnsupportedError(
                f"columns hold nested values: {reprs(nested)}",
                hint="leave them out, flatten them, or use the engine that works in memory",
            )
        if not names:
            return
        try:
            # values first, because their number decides the width of a code
            entries = self.values_of(names)
            codes = {n: self.allocate((self.n_rows,), smallest(len(entries[n]))) for n in names}
            counts = {n: np.zeros(len(entries[n]), np.int64) for n in names}

            def work(window: Window) -> dict[str, NDArray[np.int64]]:
                tallies = {}
                for name, cells in window.cells.items():
                    values, places = as_entries(cells)
                    table = pc.index_in(values, value_set=entries[name])
                    # a dictionary may hold a value that no row of the window has
                    if table.null_count:
                        used = np.bincount(places.to_numpy(), minlength=len(values)) > 0
                        if used[table.is_null().to_numpy(zero_copy_only=False)].any():
                            raise self._changed()
                        table = table.fill_null(0)
                    mine = table.to_numpy().astype(codes[name].dtype)[places.to_numpy()]
                    codes[name][window.rows] = mine
                    tallies[name] = np.bincount(mine, minlength=len(entries[name]))
                return tallies

            # larger windows for columns of many values, because each window lists its values anew
            size = min(max(_BATCH, 4 * max(map(len, entries.values()))), 1 << 21)
            for i, tallies in enumerate(streamed(work, self.windows(names, size))):
                for name, each in tallies.items():
                    counts[name] += each
                if i % _OFTEN == 0:
                    self.spill()
        except pa.ArrowNotImplementedError:
            kinds = ", ".join(f"{n!r} ({self._field(n).type})" for n in names)
            raise UnsupportedError(
                f"among these columns is one of a type whose values cannot be listed: {kinds}",
                hint="leave it out, or give it another type",
            ) from None
        for name in names:
            self._codings[name] = Coding(entries[name], codes[name], counts[name])

    def values_of(self, names: Sequence[str]) -> dict[str, pa.Array]:
        """Return the distinct values of each named column, in natural order."""
        lists: dict[str, list[pa.Array]] = {name: [] for name in names}
        length, merged = dict.fromkeys(names, 0), dict.fromkeys(names, 0)

        def work(window: Window) -> dict[str, pa.Array]:
            return {name: _distinct_cells(cells) for name, cells in window.cells.items()}

        def merge(name: str) -> None:
            lists[name] = [pa.concat_arrays(lists[name]).unique()]
            length[name] = merged[name] = len(lists[name][0])
            if (size := lists[name][0].nbytes) > self.workspace.memory // _VALUES:
                words = refusal("many_values", "columns", name=name, values=merged[name], size=size / 1e9)
                raise UnsupportedError(**words)

        # merged when the list has doubled, so that a column is sorted through in linear time
        for distinct in streamed(work, self.windows(names, _BATCH)):
            for name, values in distinct.items():
                lists[name].append(values)
                length[name] += len(values)
                if length[name] > _FEW + 2 * merged[name]:
                    merge(name)
        for name in names:
            merge(name)
        values = {name: lists[name][0] for name in names}
        return {n: v.take(pa.array(natural_order(n, v))) for n, v in values.items()}

    def _changed(self) -> InputError:
        return InputError(f"{self.label} changed while it was read", hint="run it again")

    def _encoded(self, name: str, kind: Kind, unit: str | None = None) -> Column:
        coding = self.coding(name)
        encoded = encode(name, pa.chunked_array([coding.entries]), kind, unit=unit, of_records=False)
        # entries are in natural order, so their codes are nearly always those of the column already
        table, codes = encoded.codes, coding.codes
        if not np.array_equal(table, np.arange(len(table))):
            codes = self.allocate((self.n_rows,), table.dtype)
            for rows in slices(self.n_rows, _BATCH):
                codes[rows] = table[coding.codes[rows]]
        column = replace(encoded, codes=codes)
        counts = np.bincount(table, coding.counts, encoded.n_values + 1).astype(np.int64)
        vars(column)["value_counts"] = column.with_counts(counts)  # no second pass needed
        return column

    def declared(self, name: str) -> tuple[str, ...]:
        """Return the category order that a column's own type declares; () if it declares none."""
        kind = self._field(name).type
        if not (pa.types.is_dictionary(kind) and kind.ordered):
            return ()
        chunks = [window.cells[name].slice(0, 0) for window in self.windows([name], _BATCH)]
        whole = pa.chunked_array(chunks).unify_dictionaries().chunk(0)
        return tuple(map(str, whole.dictionary.drop_null().to_pylist()))

    def spill(self) -> None:
        """Let the system drop the pages of mapped files from memory; the files keep their content."""
        self.workspace.release_memory()

    def _distinct(self, name: str) -> tuple[int, int]:
        # minus the memory that this process uses already; DuckDB needs some to work at all
        return self.scan.distinct(name, self.workspace.folder, max(self.workspace.memory - LEAST, LEAST // 2))


class ReorderedTable(ChunkedTable):
    """A chunked table with its rows in a new order, read from the codes of its columns.

    Parameters
    ----------
    table : ChunkedTable
    rows : integer array of shape (n_rows,)
        The row of `table` that comes at each place.
    """

    def __init__(self, table: ChunkedTable, rows: NDArray[Any]) -> None:
        super().__init__(table.scan, table.workspace, table.layout, table.path)
        self._table, self._rows = table, rows

    def column(self, name: str, **options: Any) -> Column:
        """Return a column in the new row order; see `Table.column`."""
        column = self._table.column(name, **options)
        codes = self.allocate((self.n_rows,), column.codes.dtype)
        for rows in slices(self.n_rows, _WINDOW):
            codes[rows] = column.codes[self._rows[rows]]
        self.spill()
        return replace(column, codes=codes, here=None if column.here is None else column.here[self._rows])

    def take(self, name: str, rows: slice | NDArray[np.int64]) -> pa.Array:
        """Return the given cells of a column, by their places in the new row order."""
        return self._table.take(name, self._rows[rows])

    windows = Table.windows  # read from codes, by `take`
