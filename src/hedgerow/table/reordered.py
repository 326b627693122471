"""The rows of a table in another order, told by their codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from .column import Column
from .scanned import Scanned
from .table import Window

_WINDOW = 1 << 20


class Reordered(Scanned):
    """A table that streams past with its rows in another order: its columns as codes.

    Parameters
    ----------
    table : Scanned
    rows : integer array of shape (n_rows,)
        The row of `table` at each place.
    """

    def __init__(self, table: Scanned, rows: NDArray[Any]) -> None:
        super().__init__(table.scan, table.workspace, table.layout, table.path)
        self._table, self._rows = table, rows

    def column(
        self,
        name: str,
        *,
        kind: str | None = None,
        categories: Sequence[str] | None = None,
        unit: str | None = None,
    ) -> Column:
        """A column of the table; see `Table.column`."""
        found = self._table.column(name, kind=kind, categories=categories, unit=unit)
        codes = self.allocate((self.n_rows,), found.codes.dtype)
        for a in range(0, self.n_rows, _WINDOW):
            codes[a : a + _WINDOW] = found.codes[self._rows[a : a + _WINDOW]]
        self.put_aside()
        return replace(found, codes=codes)

    def taken(self, name: str, rows: slice | NDArray[np.int64]) -> pa.Array:
        """Some cells of a column."""
        return self._table.taken(name, self._rows[rows])

    def windows(self, names: Sequence[str], size: int) -> Iterator[Window]:
        """The rows in this order, from their codes."""
        for a in range(0, self.n_rows, size):
            rows = slice(a, min(a + size, self.n_rows))
            yield Window(rows, {name: self.taken(name, rows) for name in names})
