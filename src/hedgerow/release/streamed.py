"""A release of a table that streams past: its rows lie in a verified file, never in memory."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import UnsupportedError
from ..files import SUFFIXES, private_file
from ..table import Table
from ..table.reordered import Reordered
from ..table.scanned import Scanned
from ..table.write import layout_like, write_csv
from .release import Release

_LINES = 1 << 16


class StreamedRelease(Release):
    """A `Release` whose `table` is not loaded.

    `table` is the verified file as the engine holds it: `relation()` gives it as a DuckDB relation,
    `write` puts it where it is wanted. Its temporary files go when the release does.
    """

    original: Scanned
    released: Scanned

    def relation(self) -> Any:
        """The released table as a DuckDB relation; valid as long as the release is."""
        return self.released.scan.relation()

    @property
    def rows(self) -> NDArray[Any]:
        """For every released row the row of the input that it came from; private."""
        return np.arange(self.original.n_rows) if self._rows is None else self._rows

    def _as_made(self) -> None:
        return None

    def _look_again(self) -> None:
        self.original.give_back()

    def _paired(self) -> Table:
        if self._rows is None or not self.method.pairs:
            return self.original
        return Reordered(self.original, self._rows)

    def _write_table(self, file: Path, escape: bool) -> None:
        write_streamed(self.released, file, self.original, escape)


def write_streamed(table: Scanned, file: Path, like: Table, escape: bool) -> None:
    """Write a table of our own, which is one Parquet file, as Parquet or CSV.

    Raises
    ------
    UnsupportedError
        The ending asks for another format.
    """
    suffix = SUFFIXES.get(file.suffix.lower(), like.suffix)
    if suffix == ".parquet":
        with private_file(file) as target, open(table.scan.paths[0], "rb") as source:
            shutil.copyfileobj(source, target, 1 << 24)
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
