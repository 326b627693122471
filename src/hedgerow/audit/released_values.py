"""A released column: what each of its cells covers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ..columns.column import Column
from ..columns.cover import Cover
from ..measures import BoolArray, FloatArray, IntArray
from ..notation import counted


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """A released column: for each row one of its distinct cells, and what each cell covers.

    Parameters
    ----------
    original : Column
        The original column, one code a pair of rows; until the rows are paired all of it.
    codes : unsigned integer array, shape (n_rows,)
        Released cell of each row.
    labels : list of str or None
        The distinct cells as released; None is a missing cell.
    lo, hi : float arrays, shape (n_cells,)
        Ends of a number or date; NaN for cells of missing values alone. Unused for
        categories.
    members, weights : tuples of arrays
        Codes of the original categories of each cell, ascending, with their shares.
    missing, anything : boolean arrays, shape (n_cells,)
        Whether a missing value is possible; whether any value is (``*``).
    general : bool
        Whether the column holds ranges, sets, generalised or suppressed cells;
        otherwise it holds plain values, original or perturbed.
    every : Column, optional
        All of the original column, where the release left rows out.
    """

    original: Column
    codes: npt.NDArray[Any]
    labels: list[str | None]
    lo: FloatArray
    hi: FloatArray
    members: tuple[IntArray, ...]
    weights: tuple[FloatArray, ...]
    missing: BoolArray
    anything: BoolArray
    general: bool
    every: Column | None = None

    @property
    def whole(self) -> Column:
        """The original column with the rows that the release left out."""
        return self.every or self.original

    @property
    def name(self) -> str:
        """Column name."""
        return self.original.name

    @property
    def n_cells(self) -> int:
        """Number of distinct released cells."""
        return len(self.labels)

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers or dates."""
        return self.original.is_number

    @property
    def span(self) -> float:
        """How far the original numbers lie apart."""
        values = self.original.values
        return float(values[-1] - values[0]) if len(values) else 0.0

    @cached_property
    def stands_in(self) -> bool:
        """Whether numbers stand here that are not their row's own (means, noise), and no ranges."""
        if not self.is_number or ((self.hi > self.lo) & ~self.anything).any():
            return False
        return not self.covers(self.original.codes, self.codes).all()

    @cached_property
    def wild(self) -> BoolArray:
        """Cells that match anything: ``*`` and missing; shape (n_cells,)."""
        return self.anything | np.array([label is None for label in self.labels], np.bool_)

    @cached_property
    def counts(self) -> IntArray:
        """Rows per cell."""
        return np.bincount(self.codes, minlength=self.n_cells).astype(np.int64)

    @cached_property
    def middle(self) -> FloatArray:
        """Midpoint of each cell of numbers; the domain's median where nothing is known."""
        out = self.lo / 2 + self.hi / 2
        values = self.whole.counts()[:-1]
        at = np.searchsorted(np.cumsum(values), values.sum() / 2)
        default = self.original.values[at] if len(values) else 0.0
        return np.where(np.isfinite(out) & ~self.anything, out, default)

    @cached_property
    def absent(self) -> FloatArray:
        """Share of missing values that each cell of numbers tells of its group."""
        told = [counted(label) if isinstance(label, str) else None for label in self.labels]
        share = [pair[1] / sum(pair) if pair else 0.0 for pair in told]
        return np.where(np.isfinite(self.lo), share, 1.0)

    @cached_property
    def shares(self) -> Any:
        """Weight of each original category (last: missing) in each cell; rows sum to 1. Sparse."""
        m = self.original.n_values
        sizes = [len(members) for members in self.members]
        cells = np.repeat(np.arange(self.n_cells), sizes)
        members = np.concatenate([np.zeros(0, np.int64), *self.members])
        weights = np.concatenate([np.zeros(0), *self.weights])
        rest = np.maximum(1.0 - np.bincount(cells, weights, self.n_cells), 0.0)
        gone = np.flatnonzero(rest)
        return csr_array(
            (
                np.concatenate([weights, rest[gone]]),
                (np.concatenate([cells, gone]), np.concatenate([members, np.full(len(gone), m)])),
            ),
            shape=(self.n_cells, m + 1),
        )

    @cached_property
    def cover(self) -> Cover:
        """The same for whoever asks what covers what."""
        m = self.original.n_values
        keys = [cell * m + members for cell, members in enumerate(self.members)]
        members = np.concatenate([np.zeros(0, np.int64), *keys])
        return Cover(self.lo, self.hi, self.missing, self.anything, members, m)

    def paired(self, rows: IntArray, released_rows: IntArray) -> ReleasedColumn:
        """The column as read, for pairs of rows; a missing cell of a known value was suppressed."""
        own = taken(self.original, rows)
        every = None if own is self.original else self.original
        made = replace(self, original=own, every=every, codes=_taken(self.codes, released_rows))
        return _suppressed_nulls(made)

    def covers(self, values: npt.NDArray[Any], cells: npt.NDArray[Any]) -> BoolArray:
        """Whether each cell could stand for the original value code beside it.

        Codes equal to the number of values are missing values.
        """
        if self.is_number:
            return self.cover.numbers(self.original.by_code[values], cells)
        return self.cover.categories(values, cells)


def unchanged(column: Column) -> ReleasedColumn:
    """An original column as if it had been released unchanged."""
    m = column.n_values
    one = np.arange(0 if column.is_number else m)[:, None]
    none = [np.zeros(0)] * (m + 1 - len(one))
    values = column.by_code if column.is_number else np.full(m + 1, np.nan)
    return ReleasedColumn(
        column,
        column.codes,
        [*map(str, range(m)), None],
        values,
        values,
        (*one, *(each.astype(np.int64) for each in none)),
        (*np.ones((len(one), 1)), *none),
        np.arange(m + 1) == m,
        np.zeros(m + 1, np.bool_),
        False,
    )


def taken(column: Column, rows: IntArray) -> Column:
    """The column for some rows; its dictionary stays."""
    codes = _taken(column.codes, rows)
    return column if codes is column.codes else replace(column, codes=codes)


def _taken(codes: npt.NDArray[Any], rows: IntArray) -> npt.NDArray[Any]:
    """The codes of some rows; the same array where these are all, in order."""
    if len(rows) == len(codes) and (rows[:-1] < rows[1:]).all():
        return codes
    return codes[rows]


def _suppressed_nulls(column: ReleasedColumn) -> ReleasedColumn:
    """A missing cell where the original has a value was suppressed."""
    gone = np.array([label is None for label in column.labels], np.bool_)[column.codes]
    hidden = gone & (column.original.codes != column.original.n_values)
    return suppressed(column) if hidden.any() else column


def suppressed(column: ReleasedColumn) -> ReleasedColumn:
    """The column with its missing cell, where it has one, meaning anything."""
    cell = next((i for i, label in enumerate(column.labels) if label is None), None)
    if cell is None:
        return column
    original, m = column.original, column.original.n_values
    anything, lo, hi = column.anything.copy(), column.lo.copy(), column.hi.copy()
    members, weights = list(column.members), list(column.weights)
    anything[cell] = True
    if original.is_number:
        lo[cell], hi[cell] = original.values[0], original.values[-1]
    public = column.whole.counts()[:m]
    members[cell], weights[cell] = np.arange(m), public / max(int(public.sum()), 1)
    return replace(
        column,
        anything=anything,
        lo=lo,
        hi=hi,
        members=tuple(members),
        weights=tuple(weights),
        general=True,
    )
