"""A release of a table that streams past: its rows lie in a verified file, never in memory."""

from __future__ import annotations

import shutil
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.chunked_table import ChunkedTable, ReorderedTable
from ..columns.table import Table
from ..errors import UnsupportedError
from ..files import SUFFIXES, private_file
from ..io.write import PART_FILE, layout_like, write_csv
from .release import Release

_LINES = 1 << 16


class StreamedRelease(Release):
    """A `Release` whose `table` is not loaded.

    `table` is a DuckDB relation where one came in, and else the verified file as the engine holds it,
    which `relation()` gives as one; `write` puts it where it is wanted. Its temporary files go when the
    release does.
    """

    original: ChunkedTable
    released: ChunkedTable

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        if self.original.is_relation:
            self.table = self.relation()

    def relation(self) -> Any:
        """The released table as a DuckDB relation; its files last as long as it or the release."""
        return lasting(self.released)

    @property
    def rows(self) -> NDArray[Any]:
        """For every released row the row of the input that it came from; private."""
        return np.arange(self.original.n_rows) if self._rows is None else self._rows

    def _as_made(self) -> None:
        return None

    def _look_again(self) -> None:
        self.original.release_memory()

    def _check_again(self) -> None:
        """Nothing: what was verified are files of our own."""

    def _paired(self) -> Table:
        if self._rows is None or not self.method.pairs:
            return self.original
        return ReorderedTable(self.original, self._rows)

    def _write_table(self, file: Path, escape: bool) -> None:
        write_streamed(self.released, file, self.original, escape, self.parts)


def write_streamed(
    table: ChunkedTable, file: Path, like: Table, escape: bool, parts: bool = False
) -> None:
    """Write a table of our own, which lies in Parquet files, as Parquet or CSV, or as a folder.

    Raises
    ------
    UnsupportedError
        The ending asks for another format.
    """
    if parts:
        file.mkdir(mode=0o700, exist_ok=True)
        for i, path in enumerate(table.scan.paths):
            _copy(path, file / PART_FILE.format(i))
        return
    suffix = SUFFIXES.get(file.suffix.lower(), like.suffix)
    if suffix == ".parquet":
        _copy(table.scan.paths[0], file)
        return
    if suffix != ".csv":
        raise UnsupportedError(
            f"{file.name}: a table that streams past is written as Parquet or CSV",
            hint="choose the ending .parquet or .csv",
        )
    dialect = layout_like(like, table.names).dialect
    windows = table.windows(table.names, _LINES)
    tables = (pa.table({n: w.cells[n] for n in table.names}) for w in windows)
    with private_file(file) as target:
        write_csv(table.names, tables, target, dialect, escape)


def lasting(table: ChunkedTable) -> Any:
    """A table of our own as a relation of DuckDB, whose files last as long as it is held."""
    made = table.scan.relation()
    weakref.finalize(made, _held, table)
    return made


def _held(table: ChunkedTable) -> None:
    """Nothing: that it may be called keeps the table until then."""


def _copy(path: Path, file: Path) -> None:
    with private_file(file) as target, open(path, "rb") as source:
        shutil.copyfileobj(source, target, 1 << 24)
