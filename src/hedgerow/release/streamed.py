"""A release of a table that streams past: its rows lie in a verified file, never in memory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import UnsupportedError
from ..files import private_file
from ..table import Table
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
        if self.method.pairs:
            raise UnsupportedError(
                f"what {type(self.method).__name__} promises compares rows by their position",
                hint='use engine="memory"',
            )
        return self.original

    def _write_table(self, file: Path, escape: bool) -> None:
        made = self.released.scan.paths[0]
        if file.suffix == ".parquet":
            try:
                os.link(made, file)
            except OSError:  # another disk
                with private_file(file) as target, open(made, "rb") as source:
                    shutil.copyfileobj(source, target, 1 << 24)
            return
        names = self.released.names
        windows = self.released.windows(names, _LINES)
        tables = (pa.table({n: w.cells[n] for n in names}) for w in windows)
        dialect = layout_like(self.original, names).dialect
        with private_file(file) as target:
            write_csv(names, tables, target, dialect, escape)


def kind(table: Table) -> type[Release]:
    """The kind of release that a table gives."""
    return StreamedRelease if isinstance(table, Scanned) else Release
