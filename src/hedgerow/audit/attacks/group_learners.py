"""Learners that know the released groups: their shares, and deFinetti's attack on their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ...measures import BoolArray, Counts, FloatArray, Groups, IntArray, group
from ...measures.class_counts import spans
from ..design_matrix import OUTSIDE, UNKNOWN, Known
from ..released_values import ReleasedColumn

BINS = 16
"""Quantile bins of a number where group counts are learnt."""
ITERATIONS, BALANCED, SETTLED = 40, 5, 1e-4
"""Most steps of EM, rounds of balancing in each, and the change of a chance that ends them."""
MOST_ROWS = 50_000
"""Rows that group counts are learnt from: whole groups, those of the people asked about first."""
AT_ONCE = 1 << 22
"""Numbers that are computed at once where rows are many."""


@dataclass(frozen=True, eq=False)
class GroupRows:
    """Released rows by cell: by class of equal cells, and the group that publishes their values.

    Parameters
    ----------
    classes, groups : Groups
        The classes, and the groups.
    rows : int array
        Rows that are learnt from, those without a known value as well.
    codes : int array, shape (n_rows,)
        A value of each row, so that those of every group are its published ones.
    is_known : bool array, shape (n_values,)
        Which codes are known values.
    members : int array
        Rows of the people who will be asked about.
    separate : bool
        Whether values are published by group, apart from the rows (Anatomy).
    """

    classes: Groups
    groups: Groups
    rows: IntArray
    codes: npt.NDArray[Any]
    is_known: BoolArray
    members: IntArray
    separate: bool

    @cached_property
    def known_counts(self) -> Counts:
        """The counts of known values in each group."""
        some = self.is_known[self.codes]
        groups = Groups(self.groups.labels[some], self.groups.first)
        return Counts.from_codes(groups, self.codes[some], len(self.is_known))

    @property
    def totals(self) -> Counts:
        """The counts of known values in all rows, as those of one group."""
        totals = np.bincount(self.codes[self.rows], minlength=len(self.is_known))
        return Counts.dense(np.where(self.is_known, totals, 0)[None, :])

    @cached_property
    def usable(self) -> IntArray:
        """The rows with a known value, or in a group that has one."""
        if self.separate:
            return self.rows[self.known_counts.sizes[self.groups.labels[self.rows]] > 0]
        return self.rows[self.is_known[self.codes[self.rows]]]

    @cached_property
    def _cells(self) -> Groups:
        return group([self.classes.labels[self.usable], self.groups.labels[self.usable]])

    @cached_property
    def of_row(self) -> IntArray:
        """The cell of each released row; -1 where nothing is learnt from it."""
        cells = np.full(self.classes.n_rows, -1)
        cells[self.usable] = self._cells.labels
        return cells

    @property
    def sizes(self) -> IntArray:
        """The rows of each cell."""
        return self._cells.sizes

    @property
    def row(self) -> IntArray:
        """An example row of each cell."""
        return self.usable[self._cells.first]

    @cached_property
    def class_of(self) -> IntArray:
        """The class of each cell, among those learnt from."""
        return group([self.classes.labels[self.row]]).labels.astype(np.int64)

    @cached_property
    def group_of(self) -> IntArray:
        """The group of each cell."""
        return self.groups.labels[self.row].astype(np.int64)

    def expected(self) -> Counts:
        """Return expected counts by class: each record counts for all values of its group, by their shares.

        That is the join of two tables whose values are published by group.
        """
        counts, n = self.known_counts, len(self.sizes)
        by_group = matrix_of(counts, counts.counts / self.groups.sizes[counts.groups])
        inside = csr_array((self.sizes, (self.class_of, np.arange(n))))
        cells = (inside @ by_group[self.group_of]).sorted_indices().tocoo()
        classes, values = cells.row.astype(np.int64), cells.col.astype(np.int64)
        return Counts(classes, values, cells.data, *cells.shape)

    def places(self, rows: IntArray, near: Callable[[IntArray], Any]) -> Any:
        """Return the cells that each person may stand in, with their chances; none for a stranger to Anatomy.

        Parameters
        ----------
        rows : int array, shape (n_people,)
            The released row of each person, `UNKNOWN` or `OUTSIDE`.
        near : callable
            Gives for some people the chances of the classes nearest to them, a sparse matrix.
        """
        n, at = len(self.sizes), np.where(rows >= 0, self.of_row[rows], -1)
        ask = np.flatnonzero((rows == UNKNOWN) | ((rows == OUTSIDE) & (not self.separate)))
        person, cell, chance = np.flatnonzero(at >= 0), at[at >= 0], np.ones(int((at >= 0).sum()))
        if len(ask):
            within = self.sizes / np.bincount(self.class_of, self.sizes)[self.class_of]
            inside = csr_array((within, (self.class_of, np.arange(n))))
            nearest = (near(ask) @ inside).tocoo()
            person = np.concatenate([person, ask[nearest.row]])
            cell = np.concatenate([cell, nearest.col])
            chance = np.concatenate([chance, nearest.data])
        return csr_array((chance, (person, cell)), shape=(len(rows), n))

    def shares(self, groups: IntArray) -> Any:
        """Return the shares of the known values in some groups: sparse, shape (n_groups, n_values)."""
        return matrix_of(self.known_counts, self.known_counts.shares)[groups]


def matrix_of(counts: Counts, amounts: npt.NDArray[Any]) -> Any:
    """Return an amount for each group and value as a sparse matrix, shape (n_groups, n_values)."""
    return csr_array((amounts, counts.values, counts.starts), (counts.n_groups, counts.n_values))


def entries_of(counts: Counts, groups: IntArray) -> tuple[IntArray, IntArray]:
    """List the entries of some groups, one group after the other: the place of its group, and the entry."""
    begin, sizes = counts.starts[groups], np.diff(counts.starts)[groups]
    which = np.repeat(np.arange(len(groups)), sizes)
    return which, np.arange(len(which)) + np.repeat(begin - np.cumsum(sizes) + sizes, sizes)


class GroupCounts:
    """Learn from published groups alone how values go with quasi-identifiers (deFinetti's attack).

    Naive Bayes by EM: every record's value is one of its group's, as likely as the group's counts
    and the chances of its quasi-identifiers given the value make it, and balanced so that the
    records of a group together have its counts; chances are counted anew from these, smoothed by
    one record of the whole table.
    D. Kifer, "Attacks on privacy and deFinetti's theorem" (SIGMOD 2009).

    Parameters
    ----------
    cells : GroupRows
    released : sequence of ReleasedColumn
        The quasi-identifiers, as released.
    kinds : int array, shape (n_values,)
        The kind of each value that chances are counted for: bins of numbers, else the value.
    """

    def __init__(
        self, cells: GroupRows, released: Sequence[ReleasedColumn], kinds: IntArray
    ) -> None:
        self.kinds, self._n_kinds = kinds, int(kinds.max()) + 1
        # the order in which columns are declared must not decide the last bit
        self._columns = [
            _Bins(column, cells) for column in sorted(released, key=lambda column: column.name)
        ]
        self._tables: list[FloatArray] = []
        # the balance holds for whole groups alone, so no group is learnt from in part
        learnt = _whole_groups(cells)
        entries = self._balanced(cells, learnt)
        for _ in range(ITERATIONS):
            before = entries[2]
            self._count(cells, *entries)
            entries = self._balanced(cells, learnt)
            if abs(entries[2] - before).max() < SETTLED:
                break
        rest = np.setdiff1d(np.arange(len(cells.sizes)), learnt)
        cell, value, chance = entries
        if len(rest):
            parts = zip(entries, self._balanced(cells, rest), strict=True)
            cell, value, chance = (np.concatenate(part) for part in parts)
        shape = len(cells.sizes), cells.known_counts.n_values
        self.chances = csr_array((chance, (cell, value)), shape=shape)

    def _count(self, cells: GroupRows, cell: IntArray, value: IntArray, chance: FloatArray) -> None:
        """Count the chances of quasi-identifiers given a value (M step)."""
        kind, weight = self.kinds[value], cells.sizes[cell] * chance
        totals = np.bincount(kind, weight, self._n_kinds)
        self.prior, self._tables = totals / totals.sum(), []
        for column in self._columns:
            key = column.of_cell[cell] * self._n_kinds + kind
            table = np.bincount(key, weight, column.n * self._n_kinds).reshape(column.n, -1)
            self._tables.append(np.log((table + column.shares[:, None]) / (totals + 1.0)))

    def _balanced(self, cells: GroupRows, some: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the chance of each value of its group for some cells of whole groups (E step)."""
        counts, at = cells.known_counts, cells.group_of[some]
        which, entry = entries_of(counts, at)
        cell, value = some[which], counts.values[entry]
        log = np.zeros(len(cell))
        for column, table in zip(self._columns, self._tables, strict=False):
            log += table[column.of_cell[cell], self.kinds[value]]
        # the largest exponent of each cell is taken off, or its powers would underflow
        most = np.full(len(some), -np.inf)
        np.maximum.at(most, which, log)
        chance = counts.shares[entry] * np.exp(log - most[which])
        # of the records that are there, as many have a value as its group's shares say
        rows = np.bincount(at, cells.sizes[some], counts.n_groups)
        wanted = counts.shares * rows[counts.groups]
        for _ in range(BALANCED):
            # rows and columns in turn (Sinkhorn): cells sum to 1, groups keep their counts
            chance /= np.bincount(which, chance, len(some))[which]
            sums = np.bincount(entry, chance * cells.sizes[cell], len(wanted))
            chance *= np.divide(wanted, sums, out=np.zeros_like(sums), where=sums > 0)[entry]
        return cell, value, chance / np.bincount(which, chance, len(some))[which]

    def of_strangers(self, released: Sequence[ReleasedColumn], people: Known) -> FloatArray:
        """Return the chance of each kind of value for people who stand in no group."""
        # a value that nobody has left is as good as excluded, but its logarithm stays finite
        log = np.tile(np.log(np.maximum(self.prior, 1e-300)), (len(people), 1))
        values = {column.name: each for column, each in zip(released, people.columns, strict=True)}
        for column, table in zip(self._columns, self._tables, strict=True):
            log += table[column.of_values(values[column.name])]
        chance = np.exp(log - log.max(axis=1, keepdims=True))
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def kinds_of(counts: Counts, number: bool) -> IntArray:
    """Return the class that each value is learnt as: a quantile bin of numbers of many values, else itself."""
    if not number or counts.n_values <= BINS:
        return np.arange(counts.n_values)
    totals = counts.totals
    middle = np.cumsum(totals) - totals / 2
    return np.minimum(middle * BINS / max(float(totals.sum()), 1.0), BINS - 1).astype(np.int64)


class _Bins:
    """The bins of a released quasi-identifier: of numbers by quantiles, of categories one each."""

    def __init__(self, column: ReleasedColumn, cells: GroupRows) -> None:
        self.name, self._number = column.name, column.is_number
        cells_shown = column.codes[cells.row]
        if self._number:
            values = np.where(column.absent >= 1, np.nan, column.middle)[cells_shown]
            order = np.argsort(values, kind="stable")
            order = order[: np.isfinite(values).sum()]
            below = np.cumsum(cells.sizes[order])
            # as many records in each bin, not as many cells
            wanted = np.arange(1, BINS) * below[-1:] / BINS
            self._cuts = np.unique(values[order][np.searchsorted(below, wanted)])
            self.n = len(self._cuts) + 2
        else:
            unknown = column.original.n_values
            code = [int(m[0]) if len(m) == 1 else unknown for m in column.members]
            values, self.n = np.array(code, np.int64)[cells_shown], unknown + 1
        self.of_cell = self.of_values(values)
        # one record more in each bin: a bin without records would exclude every value
        counts = np.bincount(self.of_cell, cells.sizes, self.n) + 1.0
        self.shares = counts / counts.sum()

    def of_values(self, values: npt.NDArray[Any]) -> IntArray:
        """Return the bin of each number, or of each category's code; the last of missing ones."""
        if not self._number:
            return np.minimum(values, self.n - 1).astype(np.int64)
        at = np.searchsorted(self._cuts, values, "left").astype(np.int64)
        return np.where(np.isnan(values), self.n - 1, at)


def _whole_groups(cells: GroupRows) -> IntArray:
    """Return the cells of whole groups: those of the people asked about, and others up to `MOST_ROWS`."""
    sizes = cells.groups.sizes
    chosen = np.zeros(len(sizes), np.bool_)
    chosen[cells.groups.labels[cells.members]] = True
    rest = np.flatnonzero(~chosen)
    rows, free = int(sizes[rest].sum()), MOST_ROWS - int(sizes[chosen].sum())
    if free > 0:  # spread evenly over their order
        chosen[rest[:: -(-max(rows, 1) // free)]] = True
    return np.flatnonzero(chosen[cells.group_of])


def corrected(forecast: FloatArray, change: FloatArray, number: bool) -> FloatArray:
    """Add a learner's correction to the groups' forecast; shares of categories stay shares."""
    changed = forecast + change
    if number:
        return changed
    changed = np.maximum(changed, 0.0)
    return np.asarray(changed / changed.sum(axis=1, keepdims=True))


def rows_by_group(
    cells: GroupRows, groups: IntArray, order: IntArray, width: int
) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows of some groups, whole groups at a time: the place of each in `groups`, and the row.

    Parameters
    ----------
    groups : int array
        Ascending.
    order : int array
        All rows; those of a group stay in this order.
    width : int
        Numbers that are computed of a row.
    """
    rows = order[cells.of_row[order] >= 0]
    at = cells.group_of[cells.of_row[rows]]
    places = np.minimum(np.searchsorted(groups, at), len(groups) - 1)
    inside = groups[places] == at
    rows, places = rows[inside], places[inside]
    by_place = np.argsort(places, kind="stable")
    rows, places = rows[by_place], places[by_place]
    starts = np.searchsorted(places, np.arange(len(groups)))
    for _, part in spans(starts, len(rows), max(AT_ONCE // width, 1)):
        yield places[part], rows[part]
