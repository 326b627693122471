"""Keep a cap in the file: swap values inside groups until no combination of quasi-identifiers tells more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from ..backends.randomize import words_of
from ..kernels.even_draws import FINE, STEP, Caps, swap_below_caps
from ..key import Key
from ..measures import Classes, Counts, Groups, Ints, SensitiveCounts
from ..measures.guarantees import ColumnGuarantee, Disclosure, column_guarantees, promised_k
from ..plan import Guard, GuardedColumn, Plan
from ..plan.records import AGAIN
from .code import as_column
from .swap import bins_of

# turns after which groups are drawn again, and the part of its rows that a combination gives up in a turn, at most
TURNS, PART = 60, 16
# turns without fewer combinations that break a promise, after which no more are made
PATIENCE = 20
# rows of its group that each row of a combination is held against in a turn
LOOKED = 100
# numbers that a file has of a column, at most, for each to be a bin by itself, as `bins_of` has it for codes
VALUES = 60
# values of a number are told apart, while they are swapped, at these parts of the people
_ENDS = (1 / 256, 1 / 64, *(i / 16 for i in range(1, 16)), 63 / 64, 255 / 256)


@dataclass(frozen=True)
class Combinations:
    """The combinations of one or two quasi-identifiers that at least k rows of a file have.

    Parameters
    ----------
    of_row : sequence of int32 array of shape (n_rows,)
        For each quasi-identifier and each two, the number of every row's combination; -1 if fewer rows have it.
    ends : sequence of int
        The number after the last of each.
    sizes : int64 array of shape (n_combinations,)
        The rows of each combination.
    """

    of_row: Sequence[NDArray[np.int32]]
    ends: Sequence[int]
    sizes: Ints

    @classmethod
    def from_bins(cls, bins: Sequence[Ints], k: int) -> Combinations:
        """Number the combinations, given the bin of each row in each quasi-identifier."""
        of_row, ends, sizes, n = [], list[int](), [np.zeros(0, np.int64)], 0
        for one, two in combinations_with_replacement(bins, 2):
            cell = one if one is two else one * (int(two.max(initial=0)) + 1) + two
            rows = np.bincount(cell)
            number = np.where(rows >= k, n + np.cumsum(rows >= k) - 1, -1).astype(np.int32)
            of_row.append(number[cell])
            sizes.append(rows[rows >= k])
            n += len(sizes[-1])
            ends.append(n)
        return cls(of_row, ends, np.concatenate(sizes))

    def parts(self, some: NDArray[np.bool_]) -> Iterator[NDArray[np.int32]]:
        """Yield the combination of every row by the columns of some combinations."""
        for of_row, begin, end in zip(self.of_row, [0, *self.ends], self.ends, strict=False):
            if some[begin:end].any():
                yield of_row


class _Capped:
    """A sensitive column with its promises, and the level of each row's value: levels are what swaps even out."""

    def __init__(self, column: GuardedColumn, codes: Ints, promises: Sequence[ColumnGuarantee]) -> None:
        visible = as_column(column, codes)
        self._promises = [p for p in promises if column.name in (p.columns or [column.name])]
        self._whole = SensitiveCounts.from_groups(
            Groups(np.zeros(len(codes), np.uint32), np.zeros(1, np.int64)), visible
        )
        self._codes, totals = visible.codes, self._whole.totals
        level = np.arange(len(totals))
        if visible.is_number:
            middle = np.cumsum(totals) - totals / 2  # of what many people share, so that it is a level by itself
            level = np.searchsorted(np.array(_ENDS) * totals[: visible.n_values].sum(), middle)
            level[visible.n_values :] = len(_ENDS) + 1  # missing
        self.level, self.is_ordered = level[visible.codes], visible.is_ordered
        self.totals = np.bincount(self.level)
        self.cap = max((p.maximum for p in self._promises if isinstance(p, Disclosure)), default=0.0)

    def shares(self, n_levels: int) -> tuple[Ints, Ints]:
        """Return the file's rows of each level (up to it, in an order), and what a row of each may be off.

        That is the part of its loss which a cap leaves: the squared distance of its level from the shares of the file,
        at least a quarter of the mean one (`measures.proper_scores`).
        """
        totals = np.append(self.totals, np.zeros(n_levels - len(self.totals), np.int64))
        n, counts = int(totals.sum()), totals.cumsum() if self.is_ordered else totals
        # n times a row of level b less the counts: its squares are whole numbers
        distance = n * (n - 2 * totals) + (totals**2).sum()
        if self.is_ordered:
            distance = ((n * np.tri(n_levels, dtype=np.int64).T - counts) ** 2).sum(axis=1)
        mean = sum(map(math.prod, zip(distance.tolist(), totals.tolist(), strict=True))) / n**3
        loss = np.maximum(distance / n**2, mean / 4)
        return counts, np.rint(self.cap * loss * (STEP**2 * FINE)).astype(np.int64)

    def breaks(self, every: Combinations, place: Ints, among: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which combinations among some break a promise, where row i has the value of row ``place[i]``."""
        codes, broken = self._codes[place], np.zeros(len(every.sizes), np.bool_)
        number, at = np.append(np.where(among, np.cumsum(among) - 1, -1), -1), np.flatnonzero(among)
        for of_row in every.parts(among) if self._promises else ():
            label = number[of_row]
            rows = np.flatnonzero(label >= 0)
            first, last = int(label[rows].min()), int(label[rows].max())
            groups = Groups((label[rows] - first).astype(np.uint32), np.zeros(last - first + 1, np.int64))
            counts = Counts.from_codes(groups, codes[rows], len(self._whole.totals))
            counted = replace(self._whole, counts=replace(counts, whole=self._whole.totals))
            vars(counted)["public"] = self._whole.public  # the same for all combinations
            here = at[first : last + 1]
            classes = Classes(every.sizes[here], {counted.name: counted})
            for promise in self._promises:
                broken[here] |= ~replace(promise, columns=None).holds_in(classes)
        return broken


class _Bundle:
    """Sensitive columns that move together, and which combinations broke a promise about them, how often."""

    def __init__(self, columns: Sequence[_Capped], every: Combinations) -> None:
        self._columns, self._every = columns, every
        self._broke = np.zeros((len(columns), len(every.sizes)), np.int64)
        self._breaks = self._broke > 0

    def count_broken(self, place: Ints) -> tuple[Ints, int]:
        """Count once more the combinations that break a promise, where row i has the values of row ``place[i]``.

        Their rows are returned, and how many combinations these are.
        """
        # those that broke one before are few: others are looked at where none of these does
        for among in (self._broke > 0, np.ones(self._broke.shape, np.bool_)):
            both = zip(self._columns, among, strict=True)
            self._breaks = np.stack([column.breaks(self._every, place, some) for column, some in both])
            if self._breaks.any():
                break
        self._broke += self._breaks
        any_of, rows = np.append(self._breaks.any(axis=0), [False]), np.zeros(len(place), np.bool_)
        for number in self._every.parts(any_of):
            rows |= any_of[number]
        return np.flatnonzero(rows), int(self._breaks.sum())

    def rows_around(self, rows: NDArray[np.bool_]) -> Ints:
        """Return the rows that share a combination with some rows, of the columns of those that break a promise."""
        around, breaks = rows.copy(), np.append(self._breaks.any(axis=0), [False])
        for number in self._every.parts(breaks):
            with_them = np.zeros(len(breaks), np.bool_)
            with_them[number[rows]] = True
            around |= with_them[number] & (number >= 0)
        return np.flatnonzero(around)

    def caps(self, place: Ints) -> Caps:
        """Return how far each combination that ever broke a promise is from the shares of the whole file."""
        cells, column, off, first = [], [], [], 0
        n_levels = max(len(each.totals) for each in self._columns)
        watched, spare = self._broke > 0, np.zeros((len(self._columns), n_levels), np.int64)
        for c, capped in enumerate(self._columns):
            sizes, level = self._every.sizes[watched[c]], capped.level[place]
            number = np.append(np.where(watched[c], first + np.cumsum(watched[c]) - 1, -1), -1)
            counts = np.zeros((len(sizes), n_levels), np.int64)
            for of_row in self._every.parts(watched[c]):
                cell = number[of_row]
                rows = np.flatnonzero(cell >= 0)
                cells.append(cell.astype(np.int32))
                column.append(c)
                keys = (cell[rows] - first) * n_levels + level[rows]
                counts += np.bincount(keys, minlength=counts.size).reshape(counts.shape)
            totals, spare[c] = capped.shares(n_levels)
            if capped.is_ordered:
                counts = counts.cumsum(axis=1)
            off.append(STEP * counts - STEP * sizes[:, None] * totals // len(place))
            first += len(sizes)
        sizes = self._every.sizes[np.nonzero(watched)[1]]
        weight, leave = self._broke[watched], -(-sizes // PART) * self._breaks[watched]
        ordered, number = np.array([each.is_ordered for each in self._columns]), np.stack(cells, axis=1)
        return Caps(number, np.array(column), ordered, spare, np.concatenate(off), weight, sizes, leave)

    def swapped(self, words: NDArray[np.uint64], first: Ints, sizes: Ints) -> tuple[Ints, Ints]:
        """Return the row whose values each row gets, and the rows of combinations that break a promise even then.

        Parameters
        ----------
        words : uint64 array of shape (n_rows,)
            Which order rows, and say where in its group each looks first.
        first, sizes : int64 arrays of shape (n_rows,)
            The first row of each row's group, and the group's size.
        """
        place, fewest, since = np.arange(len(words)), math.inf, 0
        for turn in range(TURNS + 1):
            rows, n_broken = self.count_broken(place)
            fewest, since = (n_broken, turn) if n_broken < fewest else (fewest, since)
            if not n_broken or turn - since > PATIENCE or turn == TURNS:
                break
            rows = rows[np.argsort(words[rows], kind="stable")]
            begin = (words[rows] >> np.uint64(32)).astype(np.int64) + turn
            visits = np.stack([rows, first[rows], sizes[rows], begin], axis=1)
            levels = np.stack([column.level[place] for column in self._columns])
            swap_below_caps(visits, place, levels, self.caps(place), LOOKED)
        return place, rows


def within_file_cap(
    guard: Guard, plan: Plan, columns: Sequence[GuardedColumn], codes: Mapping[str, Ints], key: Key
) -> tuple[dict[str, Ints], dict[str, Ints]]:
    """Swap the values of sensitive columns inside groups until the file keeps every promise about them.

    In each turn a combination that breaks one gives up at most a sixteenth of its rows: from each the value goes to the
    row of its group where that brings all combinations that ever broke it nearest to the whole file. The key orders
    the rows.

    Parameters
    ----------
    guard : Guard
        Of rows.
    plan : Plan
    columns, codes
        All guarded columns as readers see them (`Draws.as_told`).
    key : Key
        Of the draws.

    Returns
    -------
    dict of str to int64 array of shape (n_rows,)
        By the first column of each bundle of sensitive columns, the row whose values each row gets.
    dict of str to int64 array
        By the same, the groups with rows of combinations that still break a promise.
    """
    promises = column_guarantees(plan.promises)
    quasi = [both for both in zip(guard.columns, columns, strict=True) if both[0].role == "quasi"]
    k = promised_k(plan.promises) or guard.people
    every = Combinations.from_bins([bins_in_file(c, as_read)[codes[c.name]] for c, as_read in quasi], k)
    sizes, bundles = np.asarray(guard.sizes, np.int64), guard.bundles()
    group, first = (np.repeat(x, sizes) for x in (np.arange(len(sizes)), np.cumsum(sizes) - sizes))
    place, concerned = dict[str, Ints](), dict[str, Ints]()
    for head in dict.fromkeys(bundles[c.name] for c in columns if c.role == "sensitive"):
        bundle = _Bundle([_Capped(c, codes[c.name], promises) for c in columns if bundles[c.name] == head], every)
        words = words_of(np.arange(len(group), dtype=np.uint64), key, f"guard cap {head}")
        place[head], rows = bundle.swapped(words, first, sizes[group])
        if len(rows):
            concerned[head] = np.unique(group[rows])
            again = np.asarray(guard.again, np.int64)[guard.times_drawn()[head]]
            if again[concerned[head]].max() >= AGAIN:  # more of the whole table can come from others alone
                concerned[head] = np.unique(group[bundle.rows_around(np.isin(group, concerned[head]))])
    return place, concerned


def swapped(guard: Guard, codes: Mapping[str, Ints], place: Mapping[str, Ints]) -> dict[str, Ints]:
    """Return codes of columns in the rows in which `within_file_cap` puts them."""
    bundles = guard.bundles()
    return {name: of_row[place[bundles[name]]] if bundles[name] in place else of_row for name, of_row in codes.items()}


def bins_in_file(column: GuardedColumn, as_read: GuardedColumn) -> Ints:
    """Return the bin of each code of a column as readers see it: of many numbers, the bin of the run each lies in."""
    bins = bins_of(column)
    if not len(column.begins):
        return bins
    if as_read.n_values <= VALUES:
        return np.arange(len(as_read.values))
    runs = np.searchsorted(np.asarray(column.cuts), np.array(as_read.values[: as_read.n_values], np.float64), "right")
    return np.append(bins[runs], bins[column.n_values :])
