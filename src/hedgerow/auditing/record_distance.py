"""Compute how far people are from released rows, column by column, and who agrees in what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..kernels.neighbours import agreeing, summed
from ..measures import Floats, Ints
from ..measures.agreement import bits_of
from ..measures.masking_scores import LEVELS
from .design_matrix import Known
from .released_values import ReleasedColumn

# distances that differ by less are the same but for rounding
NEAR = 1e-6


def bound(least: float) -> float:
    """Return the distance up to which rows tie with the nearest one; exact matches tie only with each other."""
    return least + NEAR if least > 0 else 0.0


# the weight of the record that is most likely a person's, among those that may be
WHOLE = 1 << 20


class Reach:
    """Released rows, for computing a person's distance from each of them.

    A number's distance is 0 inside the range, else the distance from its nearest end divided by the
    column's span. A category's distance is 0 if the cell may stand for it, else 1. A missing value
    agrees with cells that may be missing. Memory: 4 bytes per row and column, and 8 bytes per row
    and per cell for the person being compared.

    Parameters
    ----------
    released : sequence of ReleasedColumn
    rows : int array, shape (n,)
        The released rows to compare with; rows with equal cells need to be listed only once.
    """

    def __init__(self, released: Sequence[ReleasedColumn], rows: Ints) -> None:
        self._codes = np.empty((len(released), len(rows)), np.int32)
        for j, column in enumerate(released):
            self._codes[j] = column.codes[rows]
        # cells of all columns stand in one array, as the kernels want them
        self._starts = np.cumsum([0, *(c.n_cells for c in released)])[:-1].astype(np.int64)
        self._tables = [_Ends(c) if c.is_number else _Sets(c) for c in released]
        # filled when first needed: not every attack asks for rows by cell
        self._by_cell: dict[int, tuple[Ints, Ints]] = {}
        self._bits = bits_of(len(released))
        self._share = np.concatenate([_shares(column) for column in released])
        # what a squared distance of 1 is in `squares`
        scales = (1 / deviation**2 if (deviation := _deviation(c)) else 2.0 for c in released)
        self._scales = np.repeat([*scales], [c.n_cells for c in released])
        # who links by many columns asks of each whether it agrees wholly
        self._within = np.array([_levels(column)[-((1 << self._bits) - 1) :] for column in released])

    def sums(self, people: Known, person: int) -> Floats:
        """Return one person's distance from each row, summed over the columns; shape (n,)."""
        out = np.empty(self._codes.shape[1])
        summed(self._codes, self._starts, self._distances(people, person), out)
        return out

    def squares(self, people: Known, person: int) -> Floats:
        """Return one person's squared distance from each row: numbers in standard deviations, 2 between categories."""
        out = np.empty(self._codes.shape[1])
        summed(self._codes, self._starts, self._distances(people, person) ** 2 * self._scales, out)
        return out

    def patterns(self, people: Known, person: int) -> npt.NDArray[np.uint32]:
        """Return each row's agreement with a person, coded in `bits_of` per column: wholly, nearly, roughly or not.

        Numbers agree nearly within 0.02, roughly within 0.2 standard deviations of the original.
        """
        out, distances = np.empty(self._codes.shape[1], np.uint32), self._distances(people, person)
        agreeing(self._codes, self._starts, distances, self._within, self._bits, out)
        return out

    def agreeing(self, people: Known, person: int, shares: Mapping[int, float]) -> Ints:
        """Return the rows that agree with a person in the given columns.

        Parameters
        ----------
        people, person
            See `sums`.
        shares : mapping of int to float
            The columns to compare, by index. A number agrees with this share of the rows, those
            nearest in rank. At 0, and for categories, it agrees with the cells that may stand for it.
        """
        rows: Ints | None = None
        for j, share in shares.items():
            cells = self._tables[j].agreeing(people.columns[j][person], share)
            if rows is None:
                rows = self._rows_of(j, cells)
            else:
                agrees = np.zeros(self._tables[j].column.n_cells, np.bool_)
                agrees[cells] = True
                rows = rows[agrees[self._codes[j, rows]]]
        assert rows is not None
        return rows

    def _rows_of(self, j: int, cells: Ints) -> Ints:
        """Return the rows that have one of the given cells of a column."""
        if j not in self._by_cell:  # sorted once: most cells that agree with a person have few rows
            order = np.argsort(self._codes[j], kind="stable")
            ends = np.cumsum(np.bincount(self._codes[j], minlength=self._tables[j].column.n_cells))
            self._by_cell[j] = order, np.append(0, ends)
        order, starts = self._by_cell[j]
        sizes = starts[cells + 1] - starts[cells]
        shift = np.repeat(starts[cells] - np.cumsum(sizes) + sizes, sizes)
        return order[shift + np.arange(len(shift))]

    def likely(self, rows: Ints) -> Ints:
        """Weigh rows by how likely each is to be the person's, given that all of them may be.

        The fewer people fit a row by the totals of the columns, the stronger is the evidence that one
        of them is meant: a row of the person's own values counts before one that says nothing.

        Returns
        -------
        int64 array
            `WHOLE` for the most likely row; for the others, proportionally less.
        """
        # if columns were independent: the order of rows needs no more
        fit = self._share[self._codes[:, rows] + self._starts[:, None]].prod(axis=0)
        return np.rint(WHOLE * (fit.min(initial=1.0) / fit)).astype(np.int64)

    def nearest(self, distances: Floats) -> Ints:
        """Return the rows at the smallest distance; if that is 0, only the most likely of them."""
        near = np.flatnonzero(distances <= bound(distances.min()))
        return near if distances[near[0]] else self.likeliest(near)

    def likeliest(self, rows: Ints) -> Ints:
        """Return the candidate row that is most likely the person's."""
        return rows[self.likely(rows) == WHOLE]

    def _distances(self, people: Known, person: int) -> Floats:
        """Return a person's distance from every cell, one column after the other; shape (total cells,)."""
        values = [column[person] for column in people.columns]
        return np.concatenate([t.distances(v) for t, v in zip(self._tables, values, strict=True)])


class _Ends:
    """The distances of a value from the cells of a numeric column."""

    def __init__(self, column: ReleasedColumn) -> None:
        self.column, self.span = column, column.span or 1.0
        # a cell without a number is infinitely far from every number
        self.lo = np.where(np.isfinite(column.lo), column.lo, np.inf)
        self.hi = np.where(np.isfinite(column.hi), column.hi, -np.inf)

    @cached_property
    def _ranked(self) -> tuple[Ints, Floats, Ints, bool]:
        """Return the known cells sorted by midpoint, their midpoints, the cumulative number of rows that have
        them (starting at 0), and whether every cell is a single number.
        """
        column = self.column
        # halves first: the sum of two large doubles is infinite
        middle = column.lo / 2 + column.hi / 2
        order = np.argsort(middle, kind="stable")[: np.isfinite(middle).sum()]
        upto = np.append(0, np.cumsum(column.counts[order]))
        exact = bool((column.lo == column.hi)[order].all()) and not column.anything.any()
        return order, middle[order], upto, exact

    def distances(self, x: float) -> Floats:
        out: Floats
        if np.isfinite(x):
            out = np.maximum(np.maximum(self.lo - x, x - self.hi), 0.0) / self.span
            out = np.minimum(out, 1.0)
        else:
            out = (~self.column.missing).astype(np.float64)
        out[self.column.anything] = 0.0
        return out

    def agreeing(self, x: float, share: float) -> Ints:
        """Return the cells that can stand for x, or whose midpoint lies within a share of the ranks around x."""
        order, middle, upto, exact = self._ranked
        if not (np.isfinite(x) and (share or exact)):
            return np.flatnonzero(self.distances(x) <= 0)
        begin, end = (int(np.searchsorted(middle, x, side)) for side in ("left", "right"))
        if share:
            rank, reach = (upto[begin] + upto[end]) / 2, share * upto[-1] / 2
            begin = min(begin, int(np.searchsorted(upto[1:], rank - reach, "right")))
            end = max(end, int(np.searchsorted(upto[:-1], rank + reach, "left")))
        near = order[begin:end]
        return near if exact else np.union1d(near, np.flatnonzero(self.distances(x) <= 0))


class _Sets:
    """The distances of a value from the cells of a categorical column."""

    def __init__(self, column: ReleasedColumn) -> None:
        self.column = column
        cells, members = column.categories
        order = np.argsort(members, kind="stable")
        self.cells = cells[order]
        self.starts = np.searchsorted(members[order], np.arange(column.original.n_values + 1))

    def distances(self, code: int) -> Floats:
        if code < self.column.original.n_values:
            out = np.ones(self.column.n_cells)
            out[self.cells[self.starts[code] : self.starts[code + 1]]] = 0.0
        else:
            out = (~self.column.missing).astype(np.float64)
        out[self.column.anything] = 0.0
        return out

    def agreeing(self, code: int, share: float) -> Ints:
        """Return the cells that can stand for a category; the share is ignored."""
        return np.flatnonzero(self.distances(code) <= 0)


def _shares(column: ReleasedColumn) -> Floats:
    """Return the share of the original's records that each cell covers, at least one; shape (n_cells,)."""
    counts = column.whole.counts().astype(np.int64)
    n, m = max(int(counts.sum()), 1), column.original.n_values
    records = counts[m] * column.missing
    if column.is_number:
        upto, values = np.append(0, np.cumsum(counts[:m])), column.original.values
        first = np.searchsorted(values, column.lo, "left")
        records += np.maximum(upto[np.searchsorted(values, column.hi, "right")] - upto[first], 0)
    else:
        cells, members = column.categories
        records += np.bincount(cells, counts[members], column.n_cells).astype(np.int64)
    return np.where(column.anything, n, np.maximum(records, 1)) / n


def _levels(column: ReleasedColumn) -> list[float]:
    """Return the distances within which values agree roughly, nearly and wholly, in this order.

    Rounding is forgiven, but never so much that two of the original values agree wholly.
    """
    whole = NEAR
    if not (deviation := _deviation(column)):
        return [whole] * 3
    gaps = np.diff(column.original.values)
    whole = min(NEAR, float(gaps[gaps > 0].min(initial=np.inf)) / column.span / 4)
    return [max(level * deviation, whole) for level in LEVELS[:2]] + [whole]


def _deviation(column: ReleasedColumn) -> float:
    """Return the standard deviation of an original number as a share of its span; 0 for other columns."""
    values, counts = column.original.values, column.original.counts()[:-1]
    if not column.is_number or len(values) < 2 or not column.span or not counts.any():
        return 0.0
    mean = counts @ values / counts.sum()
    return float(np.sqrt(counts @ (values - mean) ** 2 / counts.sum()) / column.span)
