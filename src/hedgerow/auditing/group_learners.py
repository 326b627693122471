"""Learners that know the released groups: their shares, and deFinetti's attack on their counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ..measures import Bools, Counts, Floats, Groups, Ints, group
from ..measures.class_counts import spans
from .design_matrix import OUTSIDE, UNKNOWN, Known
from .released_values import ReleasedColumn

# quantile bins of a number, for learning from group counts
BINS = 16
# most EM steps, balancing rounds in each, and the largest change of a chance at which EM stops
ITERATIONS, BALANCED, SETTLED = 40, 5, 1e-4
# most rows that group counts are learnt from: whole groups, those of the people attacked first
MOST_ROWS = 50_000
# most numbers that are computed in one block of rows
AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class GroupRows:
    """Released rows grouped by cell: a cell holds the rows of one class that are in one group with published values.

    Parameters
    ----------
    classes, groups : Groups
        The classes, and the groups.
    rows : int array
        Rows that are learnt from, including those without a known value.
    codes : int array, shape (n_rows,)
        A value for each row; the values of a group's rows are together those it publishes.
    is_known : bool array, shape (n_values,)
        True for codes of known values.
    members : int array
        Rows of the people who will be attacked.
    separate : bool
        Whether values are published by group and not by row (Anatomy).
    """

    classes: Groups
    groups: Groups
    rows: Ints
    codes: npt.NDArray[Any]
    is_known: Bools
    members: Ints
    separate: bool

    @cached_property
    def known_counts(self) -> Counts:
        """Return the counts of known values in each group."""
        some = self.is_known[self.codes]
        groups = Groups(self.groups.labels[some], self.groups.first)
        return Counts.from_codes(groups, self.codes[some], len(self.is_known))

    @property
    def totals(self) -> Counts:
        """Return the counts of known values in all training rows, as for a single group."""
        totals = np.bincount(self.codes[self.rows], minlength=len(self.is_known))
        return Counts.dense(np.where(self.is_known, totals, 0)[None, :])

    @cached_property
    def usable(self) -> Ints:
        """Return the rows with a known value or, if values are published by group, in a group with a known value."""
        if self.separate:
            return self.rows[self.known_counts.sizes[self.groups.labels[self.rows]] > 0]
        return self.rows[self.is_known[self.codes[self.rows]]]

    @cached_property
    def _cells(self) -> Groups:
        return group([self.classes.labels[self.usable], self.groups.labels[self.usable]])

    @cached_property
    def of_row(self) -> Ints:
        """Return the cell of each released row; -1 if nothing is learnt from the row."""
        cells = np.full(self.classes.n_rows, -1)
        cells[self.usable] = self._cells.labels
        return cells

    @property
    def sizes(self) -> Ints:
        """Return the number of rows in each cell."""
        return self._cells.sizes

    @property
    def row(self) -> Ints:
        """Return one row of each cell."""
        return self.usable[self._cells.first]

    @cached_property
    def class_of(self) -> Ints:
        """Return the class of each cell, numbered among the classes learnt from."""
        return group([self.classes.labels[self.row]]).labels.astype(np.int64)

    @cached_property
    def group_of(self) -> Ints:
        """Return the group of each cell."""
        return self.groups.labels[self.row].astype(np.int64)

    def expected(self) -> Counts:
        """Return expected counts of values by class: each record counts for its group's values by their shares.

        That is the join of two tables whose values are published by group.
        """
        counts, n = self.known_counts, len(self.sizes)
        by_group = matrix_of(counts, counts.counts / self.groups.sizes[counts.groups])
        inside = csr_array((self.sizes, (self.class_of, np.arange(n))))
        cells = (inside @ by_group[self.group_of]).sorted_indices().tocoo()
        classes, values = cells.row.astype(np.int64), cells.col.astype(np.int64)
        return Counts(classes, values, cells.data, *cells.shape)

    def places(self, rows: Ints, near: Callable[[Ints], Any]) -> Any:
        """Return each person's chance of being in each cell, sparse (n_people, n_cells); none for Anatomy's strangers.

        Parameters
        ----------
        rows : int array, shape (n_people,)
            The released row of each person, `UNKNOWN` or `OUTSIDE`.
        near : callable
            Returns the chances of the classes nearest to some people, as a sparse matrix.
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

    def shares(self, groups: Ints) -> Any:
        """Return the shares of the known values in the given groups; sparse, shape (n_groups, n_values)."""
        return matrix_of(self.known_counts, self.known_counts.shares)[groups]


def matrix_of(counts: Counts, amounts: npt.NDArray[Any]) -> Any:
    """Return an amount for each group and value as a sparse matrix, shape (n_groups, n_values)."""
    return csr_array((amounts, counts.values, counts.starts), (counts.n_groups, counts.n_values))


def entries_of(counts: Counts, groups: Ints) -> tuple[Ints, Ints]:
    """Return the entries of `counts` for the given groups: each entry's position in `groups`, and its index."""
    begin, sizes = counts.starts[groups], np.diff(counts.starts)[groups]
    which = np.repeat(np.arange(len(groups)), sizes)
    return which, np.arange(len(which)) + np.repeat(begin - np.cumsum(sizes) + sizes, sizes)


class GroupCounts:
    """Naive Bayes model of values given quasi-identifiers, from published groups (deFinetti's attack).

    Fitted by EM. The E step gives every record each value of its group with a chance in proportion
    to the group's counts and to the chance of the record's quasi-identifiers given the value,
    balanced so that the records of a group together have the group's counts. The M step counts the
    chances of quasi-identifiers anew from these, smoothed by one record of the whole table.
    D. Kifer, "Attacks on privacy and deFinetti's theorem" (SIGMOD 2009).

    Parameters
    ----------
    cells : GroupRows
    released : sequence of ReleasedColumn
        The quasi-identifiers, as released.
    number : bool
        Whether the values are numbers: chances are counted for their bins, else for each value.
    """

    def __init__(self, cells: GroupRows, released: Sequence[ReleasedColumn], number: bool) -> None:
        self.kinds = _kinds_of(cells.known_counts, number)
        self._n_kinds = int(self.kinds.max()) + 1
        # the order in which columns are declared must not decide the last bit
        self._columns = [_Bins(column, cells) for column in sorted(released, key=lambda column: column.name)]
        self._tables: list[Floats] = []
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
        self.chances = csr_array((chance, (cell, value)), shape=(len(cells.sizes), cells.known_counts.n_values))

    def _count(self, cells: GroupRows, cell: Ints, value: Ints, chance: Floats) -> None:
        """Estimate the chance of each quasi-identifier cell given each bin of values (M step)."""
        kind, weight = self.kinds[value], cells.sizes[cell] * chance
        totals = np.bincount(kind, weight, self._n_kinds)
        self.prior, self._tables = totals / totals.sum(), []
        for column in self._columns:
            key = column.of_cell[cell] * self._n_kinds + kind
            table = np.bincount(key, weight, column.n * self._n_kinds).reshape(column.n, -1)
            self._tables.append(np.log((table + column.shares[:, None]) / (totals + 1.0)))

    def _balanced(self, cells: GroupRows, some: Ints) -> tuple[Ints, Ints, Floats]:
        """Return cells, values and chances: how likely each cell has each value of its group (E step)."""
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

    def of_strangers(self, released: Sequence[ReleasedColumn], people: Known) -> Floats:
        """Return the chance of each bin of values for people in no group; shape (n_people, n_kinds)."""
        # a value that nobody has left is as good as excluded, but its logarithm stays finite
        log = np.tile(np.log(np.maximum(self.prior, 1e-300)), (len(people), 1))
        values = {column.name: each for column, each in zip(released, people.columns, strict=True)}
        for column, table in zip(self._columns, self._tables, strict=True):
            log += table[column.of_values(values[column.name])]
        chance = np.exp(log - log.max(axis=1, keepdims=True))
        return np.asarray(chance / chance.sum(axis=1, keepdims=True))


def _kinds_of(counts: Counts, number: bool) -> Ints:
    """Return the index under which each value is learnt: a quantile bin for numbers with many values, else its own."""
    if not number or counts.n_values <= BINS:
        return np.arange(counts.n_values)
    totals = counts.totals
    middle = np.cumsum(totals) - totals / 2
    return np.minimum(middle * BINS / max(float(totals.sum()), 1.0), BINS - 1).astype(np.int64)


class _Bins:
    """The bins of a released quasi-identifier: quantile bins of numbers, or one bin per category."""

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

    def of_values(self, values: npt.NDArray[Any]) -> Ints:
        """Return the bin of each number or category code; missing values are in the last bin."""
        if not self._number:
            return np.minimum(values, self.n - 1).astype(np.int64)
        at = np.searchsorted(self._cuts, values, "left").astype(np.int64)
        return np.where(np.isnan(values), self.n - 1, at)


def _whole_groups(cells: GroupRows) -> Ints:
    """Return the cells to learn from, in whole groups: the attacked people's, then others up to `MOST_ROWS` rows."""
    sizes = cells.groups.sizes
    chosen = np.zeros(len(sizes), np.bool_)
    chosen[cells.groups.labels[cells.members]] = True
    rest = np.flatnonzero(~chosen)
    rows, free = int(sizes[rest].sum()), MOST_ROWS - int(sizes[chosen].sum())
    if free > 0:  # spread evenly over their order
        chosen[rest[:: -(-max(rows, 1) // free)]] = True
    return np.flatnonzero(chosen[cells.group_of])


def corrected(forecast: Floats, change: Floats, number: bool) -> Floats:
    """Add a learner's correction to the group forecast; category shares stay nonnegative and sum to 1."""
    changed = forecast + change
    if number:
        return changed
    changed = np.maximum(changed, 0.0)
    return np.asarray(changed / changed.sum(axis=1, keepdims=True))


def rows_by_group(cells: GroupRows, groups: Ints, order: Ints, width: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield blocks of rows, whole groups at a time: each row's position in `groups`, and the row.

    Parameters
    ----------
    groups : int array
        Ascending.
    order : int array
        All rows; those of a group stay in this order.
    width : int
        Numbers computed per row, which limits the size of a block.
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
