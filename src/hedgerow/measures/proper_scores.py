"""Disclosure by proper scores: the share of an intruder's loss that a class removes.

An intruder forecasts the sensitive value of a member of a class. Public
knowledge is the distribution in the whole table, the release adds the
distribution in the class. Under a proper score every record has a vector (its
number; the events "at most t"; the cell between cuts; its category), P and p are
the vectors' means over the table and over the class, and the disclosure is

    gain / sum over the class's records of max(loss, U / 4),   gain = n |p - P|^2

where loss is the squared distance of a record's vector from P, and U its mean
over the table. Both sides are sums over records, so a union of classes never
discloses more than the worse of its parts. The floor U / 4 keeps a rule that holds
for nearly everybody ("healthy") from counting as disclosed.

Figures are doubles with a bound on their rounding. Whether a class exceeds a cap
is decided exactly: by integers or fractions wherever the bound leaves it open.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np

from ..columns.column import ValueCounts, smallest
from ..kernels import Bools, Floats, Ints
from ..kernels.exact_sums import deviations, total
from ..kernels.measures import cell_counts, squared_sums
from ..schema import Event
from .class_counts import Counts

# cuts stand at the sixteenths of the known values
PARTS = 16
_EPS = float(np.finfo(np.float64).eps)
_CHUNK = 1 << 22


@dataclass(frozen=True)
class GainAndLoss:
    """The gain and loss of every class under one score, in that score's own unit.

    Parameters
    ----------
    gain, loss : float64 arrays of shape (n_groups,)
        The disclosure is gain / loss, and 0 where both are 0.
    slack : float64 array of shape (n_groups,)
        Bound on the rounding of gain - cap * loss for every cap in [0, 1].
    """

    gain: Floats
    loss: Floats
    slack: Floats

    @property
    def disclosure(self) -> Floats:
        """Return each class's disclosure, from 0 (nothing) to 1 (everything); both ends allow for rounding."""
        some = self.gain > self.slack
        ratio = np.divide(self.gain, self.loss, out=np.zeros_like(self.gain), where=some)
        return np.where(some & (self.loss - self.gain <= self.slack), 1.0, np.clip(ratio, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class Public:
    """The public distribution of a sensitive column: the number of records with each value in the table.

    Parameters
    ----------
    column : ValueCounts
        Numbers are scored by squared, ranked and local scores, ordinal columns by ranked and local
        ones, categories by the Brier score; each of its events is scored as a flag.
    """

    column: ValueCounts

    @cached_property
    def cuts(self) -> Ints:
        """Return the codes t of the events "value <= t", ascending, all below the largest value.

        The distinct lower quantiles b/16, and for every value that holds more
        than 1/16 of the known records that value and the next lower one, so
        that a heavy value has a cell of its own.
        """
        counts, n = self.column.counts, self.column.known
        quantiles = np.searchsorted(np.cumsum(counts) * PARTS, np.arange(1, PARTS) * n)
        heavy = np.flatnonzero(counts * PARTS > n)
        chosen = np.unique(np.concatenate([quantiles, heavy, heavy - 1]))
        return chosen[(chosen >= 0) & (chosen < len(counts) - 1)].astype(np.int64)

    @cached_property
    def cell(self) -> Ints:
        """Return the cell, between two cuts, that each known value falls into; shape (d,)."""
        ends = np.append(self.cuts, self.column.n_values - 1)  # each cut is the last of its cell
        return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=-1))

    @cached_property
    def flags(self) -> tuple[tuple[str, Ints], ...]:
        """Return the name of each declared event that some but not all records meet, with 0 or 1 for each code."""
        flags, column = [], self.column
        for text in column.events:
            event = Event.parse("", text)
            holds = np.array([event.holds(y) for y in column.exact or column.deviations.tolist()], np.int64)
            if 0 < int(holds @ column.counts) < column.known:
                flags.append((event.text, holds))
        return tuple(flags)

    @cached_property
    def scores(self) -> tuple[tuple[ProperScore, Ints | None], ...]:
        """Return the scores for a column of this kind, each with the cell that every code falls into.

        None in place of the cells means that the codes themselves are scored. A score with a cell
        for missing values judges all records.
        """
        scores: list[tuple[ProperScore, Ints | None]] = []
        column, n_known = self.column, self.column.known
        if int(np.count_nonzero(column.counts)) > 1:
            if not column.is_ordered:
                scores.append((BrierScore("brier", column.counts), None))
            else:
                if column.is_number:
                    scores.append((SquaredScore(column), None))
                cells = np.bincount(self.cell, column.counts).astype(np.int64)
                scores += [(RankedScore(cells), self.cell), (BrierScore("local", cells), self.cell)]
                for name, holds in self.flags:
                    have = int(holds @ column.counts)
                    scores.append((BrierScore(name, np.array([n_known - have, have])), holds))
        if column.missing and n_known:
            absent = np.append(np.zeros(column.n_values, np.int64), 1)
            scores.append((BrierScore("missing", np.array([n_known, column.missing])), absent))
        return tuple(scores)


@dataclass(frozen=True, eq=False)
class ColumnScores:
    """The disclosure of a column in every class under each of its scores, computed once and cached.

    A column of one value discloses nothing and has no score.

    Parameters
    ----------
    public : Public
    counts : Counts
        The column's codes by class; a missing value has the code `public.n_values`.
    """

    public: Public
    counts: Counts

    @cached_property
    def _scored(self) -> list[tuple[ProperScore, Counts, GainAndLoss]]:
        """Score every class under each score; missing values count only in the score of their own flag."""
        n_known = self.public.column.n_values
        scored, by_cell = [], {id(None): _without_missing(self.counts, n_known)}
        for score, cell in self.public.scores:
            if cell is not None and id(cell) not in by_cell:
                codes = by_cell[id(None)] if len(cell) == n_known else self.counts
                by_cell[id(cell)] = _merged(codes, cell)
            counts = by_cell[id(cell)]
            scored.append((score, counts, score.gain_and_loss(counts)))
        return scored

    @property
    def by_score(self) -> dict[str, Floats]:
        """Return each score's disclosure of every class, by name; arrays of shape (n_groups,) in [0, 1].

        Keys among "squared", "ranked", "local", "brier", "missing" and declared events.
        """
        return {score.name: scored.disclosure for score, _, scored in self._scored}

    @property
    def leading(self) -> tuple[ProperScore, Counts, GainAndLoss] | None:
        """Return the column's main score (squared, ranked or Brier) with its counts, gain and loss, if any."""
        return next((t for t in self._scored if t[0].name in ("squared", "ranked", "brier")), None)

    @property
    def worst(self) -> Floats:
        """Return the column's disclosure in every class: the largest by any score; shape (n_groups,)."""
        return np.max([np.zeros(self.counts.n_groups), *self.by_score.values()], axis=0)

    def exceeding(self, cap: float) -> Bools:
        """Return, for each class, whether it discloses more than `cap` by any score, decided exactly.

        `cap` means the decimal number as it is written: 0.1 is exactly one tenth.
        """
        # The cap is what somebody typed: 0.1 is a tenth, and not the double next to it.
        limit = Fraction(repr(float(cap)))
        over = np.zeros(self.counts.n_groups, np.bool_)
        for score, counts, scored in self._scored:
            # Doubles decide wherever the difference exceeds their rounding; whole numbers the
            # others.
            excess = scored.gain - float(limit) * scored.loss
            over |= excess > scored.slack
            for group in np.flatnonzero((np.abs(excess) <= scored.slack) & ~over):
                part = slice(counts.starts[group], counts.starts[group + 1])
                over[group] = score.exceeds(counts.values[part], counts.counts[part], limit)
        return over


def _without_missing(counts: Counts, n_known: int) -> Counts:
    """Return the counts of known values only."""
    if n_known >= counts.n_values:
        return counts
    return replace(counts.some(counts.values < n_known), n_values=n_known, whole=None)


def _dense(counts: Counts, n_cells: int) -> Iterator[tuple[slice, Floats]]:
    """Yield the counts of a batch of classes at a time as a full table, one row per class, one column per cell."""
    step = max(1, _CHUNK // n_cells)
    for begin in range(0, counts.n_groups, step):
        end = min(begin + step, counts.n_groups)
        part = slice(counts.starts[begin], counts.starts[end])
        key = (counts.groups[part] - begin) * n_cells + counts.values[part]
        dense = np.asarray(np.bincount(key, counts.counts[part], (end - begin) * n_cells), np.float64)
        yield slice(begin, end), dense.reshape(end - begin, n_cells)


def _merged(counts: Counts, cell: Ints) -> Counts:
    """Add up the counts of codes that fall into the same cell."""
    n_cells = int(cell.max(initial=0)) + 1
    small = cell.astype(smallest(n_cells))  # it is looked up in the order of the records
    groups, values, merged = cell_counts(counts.starts, counts.values, counts.counts, small, n_cells)
    return Counts(groups, values, merged, counts.n_groups, n_cells)


class _CellScore:
    """Base class of the scores of categories and cells, whose losses are whole numbers.

    Parameters
    ----------
    name : str
    counts : sequence of int
        Records of every cell in the table.
    losses : sequence of int
        The public loss of a record of each cell, in units of 1 / N^2.

    Attributes
    ----------
    weight : float64 array
        The public loss of one record of each cell, raised to the floor U / 4 if it is smaller.
    spread : float
        The public loss of all records together, without a floor, in the same unit.
    """

    spread: float

    def __init__(self, name: str, counts: Sequence[int], losses: Sequence[int]) -> None:
        self.name, self.counts, self.n = name, counts, sum(counts)
        floor = sum(c * loss for c, loss in zip(counts, losses, strict=True))
        # in units of 1 / (4 N^3): no record's loss is below a quarter of the average one
        self.loss = [max(4 * self.n * loss, floor) for loss in losses]
        self.weight = np.array([loss / (4 * self.n**3) for loss in self.loss])

    def _exact_gain(self, counts: Mapping[int, int], n: int) -> int:
        """Return n N^2 times the gain of a class of n records with these counts by cell."""
        raise NotImplementedError

    def exceeds(self, codes: Ints, number: Ints, cap: Fraction) -> bool:
        """Return whether gain > cap * loss, decided in whole numbers."""
        counts = dict(zip(codes.tolist(), number.tolist(), strict=True))
        n = sum(counts.values())
        gain = self._exact_gain(counts, n)
        loss = sum(c * self.loss[cell] for cell, c in counts.items())
        # gain / (n N^2) > cap * loss / (4 N^3)
        return 4 * self.n * gain * cap.denominator > cap.numerator * loss * n


class BrierScore(_CellScore):
    """The Brier score of categories, of cells of numbers ("local"), and of flags.

    Parameters
    ----------
    name : str
    counts : int64 array of shape (m,)
        Records of every category in the table.
    """

    def __init__(self, name: str, counts: Ints) -> None:
        cells = [int(c) for c in counts]
        n, square = sum(cells), sum(int(c) ** 2 for c in counts)
        super().__init__(name, cells, [n**2 - 2 * n * c + square for c in cells])
        self._public = np.array(cells) / n
        self._square = square / n**2
        self.spread = n * (1 - self._square)

    def gain_and_loss(self, counts: Counts) -> GainAndLoss:
        """Return the gain and loss of every class."""
        number = counts.counts.astype(np.float64)
        n = counts.sizes.astype(np.float64)
        inside = counts.per_group(number * number) / np.maximum(n, 1.0)
        cross = counts.per_group(number * self._public[counts.values])
        gain = inside - 2 * cross + n * self._square
        loss = counts.per_group(number * self.weight[counts.values])
        # Few products and sums of these terms are rounded, each by at most its size times eps.
        slack = 16 * _EPS * (inside + 2 * cross + n * self._square + loss)
        return GainAndLoss(np.maximum(gain, 0.0), loss, slack)

    def _exact_gain(self, counts: Mapping[int, int], n: int) -> int:
        return sum((counts.get(i, 0) * self.n - c * n) ** 2 for i, c in enumerate(self.counts))


class RankedScore(_CellScore):
    """The ranked probability score: the Brier scores of the events "value <= t", summed over the cuts t.

    Parameters
    ----------
    counts : int64 array of shape (m,)
        The number of records in each interval between cuts, in ascending order.
    """

    def __init__(self, counts: Ints) -> None:
        cells = [int(c) for c in counts]
        n, self.below = sum(cells), list(itertools.accumulate(cells[:-1]))
        losses = [sum(((k <= b) * n - below) ** 2 for b, below in enumerate(self.below)) for k in range(len(cells))]
        super().__init__("ranked", cells, losses)
        self._public = np.array(self.below) / n
        self.spread = n * total(self._public * (1 - self._public))

    def gain_and_loss(self, counts: Counts) -> GainAndLoss:
        """Return the gain and loss of every class."""
        n = counts.sizes.astype(np.float64)
        gain, slack = np.zeros(counts.n_groups), np.zeros(counts.n_groups)
        for part, dense in _dense(counts, len(self.weight)):
            share = np.cumsum(dense, axis=1)[:, :-1] / np.maximum(n[part], 1.0)[:, None]
            difference = np.where(n[part, None] > 0, share - self._public, 0.0)
            gain[part] = n[part] * (difference * difference).sum(axis=1)
            # every difference of two shares is off by at most 2 eps
            slack[part] = n[part] * (4 * _EPS * np.abs(difference).sum(axis=1) + 64 * _EPS**2)
        loss = counts.per_group(counts.counts * self.weight[counts.values])
        return GainAndLoss(gain, loss, slack + 64 * _EPS * (gain + loss))

    def _exact_gain(self, counts: Mapping[int, int], n: int) -> int:
        running = itertools.accumulate(counts.get(cell, 0) for cell in range(len(self.below)))
        return sum((r * self.n - b * n) ** 2 for r, b in zip(running, self.below, strict=True))


class SquaredScore:
    """The squared error of numbers.

    Parameters
    ----------
    column : ValueCounts
        Of finite numbers.
    """

    name = "squared"

    def __init__(self, column: ValueCounts) -> None:
        self.column, self.n = column, column.known
        # a power of two brings them into [-2, 2], so that their squares are finite
        self.deviations = deviations(column.deviations, column.counts)
        self._off = 2 * _EPS  # their own rounding, in the same unit
        square = self.deviations * self.deviations
        self.spread = total(square * column.counts)
        self._floor = self.spread / self.n / 4
        self.weight = np.maximum(square, self._floor)

    def gain_and_loss(self, counts: Counts) -> GainAndLoss:
        """Return the gain and loss of every class."""
        n = counts.sizes.astype(np.float64)
        rows = np.maximum(n, 1.0)
        summed, absolute, loss = squared_sums(counts.starts, counts.values, counts.counts, self.deviations, self._floor)
        entries = np.diff(counts.starts).astype(np.float64)
        # Summing m numbers one after the other is off by at most m eps times the sum of sizes.
        off = _EPS * (entries + 4) * absolute + n * self._off
        gain = summed * summed / rows
        slack = (2 * np.abs(summed) + off) * off / rows + 4 * self._off * absolute
        slack += _EPS * ((entries + 16) * loss + 4 * gain + 16 * n * self._floor)
        return GainAndLoss(gain, loss, slack)

    @cached_property
    def _whole(self) -> tuple[list[int], int, int]:
        """Return values as multiples of one fraction, their sum, and N^2 times the total squared error."""
        ratios = [y.as_integer_ratio() for y in self.column.exact or self.column.deviations.tolist()]
        # Doubles and decimals are fractions: over one denominator their sums are exact integers.
        unit = math.lcm(*{below for _, below in ratios})
        whole = [above * (unit // below) for above, below in ratios]
        number = self.column.counts.tolist()
        summed = sum(y * c for y, c in zip(whole, number, strict=True))
        spread = sum(c * (self.n * y - summed) ** 2 for y, c in zip(whole, number, strict=True))
        return whole, summed, spread

    def exceeds(self, codes: Ints, number: Ints, cap: Fraction) -> bool:
        """Return whether gain > cap * loss, decided in whole numbers from N y - (sum of all values)."""
        whole, summed, spread = self._whole
        deviations = [self.n * whole[code] - summed for code in codes.tolist()]
        pairs = list(zip(deviations, number.tolist(), strict=True))
        n = sum(c for _, c in pairs)
        gain = sum(c * y for y, c in pairs) ** 2
        # four N times the losses, not below N times U / 4
        loss = sum(c * max(4 * self.n * y * y, spread) for y, c in pairs)
        return 4 * self.n * gain * cap.denominator > cap.numerator * loss * n


# a proper score of one sensitive column
ProperScore: TypeAlias = BrierScore | RankedScore | SquaredScore
