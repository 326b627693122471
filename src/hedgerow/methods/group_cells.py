"""The released cells of groups: ranges, means, concatenations, ancestors in a hierarchy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns.arrays import distinct_of
from ..columns.column import Column, ValueCounts
from ..hierarchy import TOP, Hierarchy
from ..kernels.exact_sums import deviations
from ..measures import Bools, Counts, Floats, Groups, Ints, group
from ..notation import DAY, JOIN, MISSING, WEIGHT, Cell, between, interval, moment, number, quote

# Microseconds.
SECOND = 1_000_000


@dataclass(frozen=True, eq=False)
class GroupedCodes:
    """A column's codes, with the records of each group next to each other.

    Parameters
    ----------
    column : Column
        The original column.
    codes : unsigned integer array of shape (n,)
    starts : int64 array of shape (groups,)
        Where each group begins among them; none is empty.
    """

    column: Column
    codes: npt.NDArray[np.unsignedinteger]
    starts: Ints

    @cached_property
    def values(self) -> Sequence[Any]:
        """Return the value of each code, exact even if doubles cannot hold it."""
        return self.column.exact or self.column.values.tolist()

    @cached_property
    def sizes(self) -> Ints:
        """Return the number of records in each group."""
        return np.diff(np.append(self.starts, len(self.codes)))

    @cached_property
    def present(self) -> Ints:
        """Return the number of records in each group that have a value."""
        if not self.column.has_missing:
            return self.sizes
        return np.add.reduceat(self.codes != self.column.n_values, self.starts, dtype=np.int64)

    @cached_property
    def first(self) -> Ints:
        """Return the smallest code in each group; the missing code for groups without a value."""
        return np.minimum.reduceat(self.codes, self.starts).astype(np.int64)

    @cached_property
    def last(self) -> Ints:
        """Return the largest code in each group, missing not counted; -1 for groups without a value."""
        # Missing has the largest code of all: as 0 it is never larger than a value.
        codes = self.codes
        if self.column.has_missing:
            codes = codes * (codes != self.column.n_values)
        return np.where(self.present > 0, np.maximum.reduceat(codes, self.starts).astype(np.int64), -1)

    @property
    def counts(self) -> Counts:
        """Return how often each code occurs in each group, the missing code last."""
        labels = np.repeat(np.arange(len(self.starts), dtype=np.uint32), self.sizes)
        return Counts.from_codes(Groups(labels, self.starts), self.codes, self.column.n_values + 1)


def recode(grouped: GroupedCodes, style: str, hierarchy: Hierarchy | None = None) -> tuple[list[Cell], Ints]:
    """Return the distinct released cells of a column, and the index of each group's cell.

    Parameters
    ----------
    grouped : GroupedCodes
    style : str
        "range" for numbers and dates (their means are `rounded`); "concatenate", "weighted",
        "hierarchy" or "suppress" for categories.
    hierarchy : Hierarchy, optional
        For "hierarchy".
    """
    if grouped.column.is_number:
        return _ranges(grouped)
    if style == "suppress":
        return [Cell(TOP, anything=True)], np.zeros(len(grouped.starts), np.int64)
    if style == "weighted":
        return _weighted(grouped)
    if style == "hierarchy":
        assert hierarchy is not None
        return _sets(grouped, _ancestor(grouped.column, hierarchy))
    quoted = [*map(quote, grouped.column.values), MISSING]
    return _sets(grouped, lambda codes: _categories(grouped.column, codes, JOIN.join([quoted[c] for c in codes])))


def _ranges(grouped: GroupedCodes) -> tuple[list[Cell], Ints]:
    """Return each group's range from its least to its largest value, in the form that `recode` returns."""
    values, unit = grouped.values, grouped.column.unit
    absent = grouped.present < grouped.sizes
    # Groups of equal ends and gaps have one cell: few of these, whatever the number of groups.
    distinct = group([grouped.first, grouped.last + 1, absent])
    cells = []
    for at in distinct.first.tolist():
        a, b, gap = grouped.first[at], grouped.last[at], bool(absent[at])
        if b < 0:
            cells.append(Cell(None, missing=True))
            continue
        label = interval(values[a], values[b], unit) + (f"+{MISSING}" if gap else "")
        cells.append(Cell(label, values[a], values[b], missing=gap))
    return cells, distinct.labels.astype(np.int64)


def between_points(grouped: GroupedCodes, low: Floats, high: Floats) -> tuple[list[Cell], Ints]:
    """Return each group's half-open range between public points, in the form that `recode` returns.

    Parameters
    ----------
    grouped : GroupedCodes
    low, high : float arrays of shape (groups,)
        Lower and upper end of each group; infinite if that side is open.
    """
    unit, absent = grouped.column.unit, grouped.present < grouped.sizes
    cells = []
    for a, b, n, gap in zip(low.tolist(), high.tolist(), grouped.present, absent, strict=True):
        if not n:
            cells.append(Cell(None, missing=True))
            continue
        lo, hi = (None if np.isinf(end) else end for end in (a, b))
        if lo is None and hi is None:
            cells.append(Cell(TOP, anything=True))
            continue
        label = between(lo, hi, unit) + (f"{JOIN}{MISSING}" if gap else "")
        # The cell of a plan holds both its ends, so it ends just below the open one.
        below = None if hi is None else hi - 1 if unit else float(np.nextafter(hi, -np.inf))
        cells.append(Cell(label, lo, below, missing=bool(gap)))
    return distinct_of(cells)


def rounded(grouped: GroupedCodes, style: str, step: float, enough: Bools) -> tuple[list[Cell], Ints]:
    """Return each group's mean or median, rounded half to even to a public step, in the form of `recode`.

    Parameters
    ----------
    grouped : GroupedCodes
    style : {"mean", "median"}
    step : float
        0 leaves them as they are.
    enough : bool array of shape (groups,)
        Whether enough people of a group have a value for their mean to be released.
    """
    column, values = grouped.column, grouped.values
    if not step:
        centre = _centres(grouped, style)
    else:
        steps = _nearest_steps(_centres(grouped, style) / step, grouped, style, step)
        # steps below 1 are 1 / a whole number: dividing by it gives the decimal that is meant
        is_part = math.isfinite(1 / step) and step < 1
        centre = steps / round(1 / step) if is_part else steps * step
        if column.unit:  # half a step beyond the first or last day may be no date
            centre = np.clip(centre, column.values[0], column.values[-1])
    # One label that is text makes the whole column text.
    is_text = not enough.all() or bool((grouped.present < grouped.sizes).any())
    cells = []
    for middle, a, b, n, size, is_told in zip(
        (centre + 0.0).tolist(),
        grouped.first,
        grouped.last,
        grouped.present.tolist(),
        grouped.sizes.tolist(),
        enough,
        strict=True,
    ):
        if not is_told:
            cells.append(Cell(TOP, anything=True))
            continue
        label = moment(middle, column.unit) if column.unit else number(middle) if is_text else middle
        if n < size:
            label = f"{label}{WEIGHT}{n}{JOIN}{MISSING}{WEIGHT}{size - n}"
        cells.append(Cell(label, values[a], values[b], missing=n < size))
    return distinct_of(cells)


def _nearest_steps(steps: Floats, grouped: GroupedCodes, style: str, step: float) -> Floats:
    """Round to whole steps, half to even; use exact fractions where doubles are too close to a half."""
    whole = np.rint(steps)
    # Fractions are slow, and few groups lie so near the middle of two steps.
    close = np.abs(np.abs(steps - np.floor(steps)) - 0.5) <= 1e-6 * np.maximum(np.abs(steps), 1)
    if not close.any():
        return whole
    column, present, unit = grouped.column, grouped.present, Fraction(repr(step))
    ends = np.append(grouped.starts, len(grouped.codes))
    for at in np.flatnonzero(close & (present > 0)):
        n = int(present[at])
        codes = np.sort(grouped.codes[ends[at] : ends[at + 1]])[:n]
        if style == "median":
            codes = codes[[(n - 1) // 2, n // 2]]
        numbers = (
            [Fraction(column.exact[c]) for c in codes] if column.exact else map(_exactly, column.values[codes].tolist())
        )
        whole[at] = round(Fraction(sum(numbers)) / len(codes) / unit)
    return whole


def _exactly(value: float) -> Any:
    """Return the number that the shortest decimal of a double stands for."""
    return int(value) if value.is_integer() and abs(value) < 2**53 else Fraction(repr(value))


def _centres(grouped: GroupedCodes, style: str) -> Floats:
    """Return each group's mean or median; sums run over the values in ascending order."""
    values, starts, present = grouped.column.values, grouped.starts, grouped.present
    first = np.repeat(np.arange(len(starts)) * (grouped.column.n_values + 1), grouped.sizes)
    # Missing values come last in their group and count 0.
    ordered = np.append(values, 0.0)[np.sort(first + grouped.codes) - first]
    least, most = ordered[starts], ordered[starts + np.maximum(present - 1, 0)]
    if style == "mean":
        # A power of two keeps sums of huge numbers finite and changes no digit.
        down = 2.0**-64 if max(abs(values[0]), abs(values[-1])) > 1e280 else 1.0
        centre = np.add.reduceat(ordered * down, starts) / np.maximum(present, 1) / down
    else:
        low, high = starts + np.maximum(present - 1, 0) // 2, starts + present // 2 * (present > 0)
        centre = ordered[low] / 2 + ordered[high] / 2
    return np.asarray(np.clip(centre, least, most), np.float64)  # rounding stays in the extent


def public_step(column: ValueCounts) -> float:
    """Return the largest of 1, 2, 5 x 10^m that is at most a quarter of the standard deviation.

    Steps of dates are at least one day. Steps of time stamps are whole days, or whole seconds
    (microseconds) if the quarter is shorter. 0 if there is nothing to round.

    Examples
    --------
    >>> ages = ValueCounts("age", "numeric", "", np.array([20.0, 30, 60]), np.array([5, 4, 3]))
    >>> public_step(ages)
    2.0
    """
    if column.n_values < 2:
        return 0.0
    deviation = deviations(column.deviations, column.counts)
    spread = math.sqrt(float(deviation * deviation @ column.counts) / column.known)
    quarter = math.ldexp(spread, int(np.frexp(np.abs(column.deviations).max())[1]) - 2)
    if not quarter:  # the numbers next to 0
        return 0.0
    for unit in {"day": (1.0,), "us": (DAY, SECOND, 1.0)}.get(column.unit, ()):
        if quarter >= unit or unit == 1.0:
            return unit * max(one_two_five(quarter / unit), 1.0)
    return one_two_five(quarter)


def one_two_five(most: float) -> float:
    """Return the largest of 1, 2, 5 x 10^m that is at most `most`."""
    m = math.floor(math.log10(most))
    steps = [float(f"{digit}e{power}") for power in (m - 1, m, m + 1) for digit in (1, 2, 5)]
    return max(step for step in steps if step <= most)


def _sets(grouped: GroupedCodes, label: Callable[[list[int]], Cell]) -> tuple[list[Cell], Ints]:
    """Return cells that depend only on the set of codes in each group, in the form that `recode` returns."""
    # Each different set is labelled once: there are fewer sets than groups.
    counts, place = grouped.counts, dict[tuple[int, ...], int]()
    codes, bounds = counts.values.tolist(), pairwise(counts.starts.tolist())
    index = [place.setdefault(tuple(codes[begin:end]), len(place)) for begin, end in bounds]
    return [label(list(members)) for members in place], np.array(index, np.int64)


def _categories(column: Column, codes: list[int], text: str) -> Cell:
    """Return a cell with the categories behind the given codes; a missing cell if only the missing code is there."""
    present = codes[:-1] if codes[-1] == column.n_values else codes
    if not present:
        return Cell(None, missing=True)
    return Cell(text, categories=tuple([column.values[c] for c in present]), missing=len(present) < len(codes))


def _ancestor(column: Column, hierarchy: Hierarchy) -> Callable[[list[int]], Cell]:
    hierarchy.check(column.values, column.name, column.counts()[: column.n_values].tolist())
    missing = column.n_values

    def label(codes: list[int]) -> Cell:
        if codes == [missing]:
            return Cell(None, missing=True)
        # No node of a hierarchy but the top covers a missing value.
        common = TOP if codes[-1] == missing else hierarchy.common([column.values[c] for c in codes])
        if common == TOP:
            return Cell(TOP, anything=True)
        return Cell(common, categories=tuple(v for v, path in hierarchy.paths.items() if common in path))

    return label


def _weighted(grouped: GroupedCodes) -> tuple[list[Cell], Ints]:
    """Return each group's categories with counts, such as ``a:4+b:1``, in the form that `recode` returns."""
    column, counts = grouped.column, grouped.counts
    codes, numbers = counts.values.tolist(), counts.counts.tolist()
    quoted = [*map(quote, column.values), MISSING]
    cells = []
    for begin, end in pairwise(counts.starts.tolist()):
        present = codes[begin:end]
        text = quoted[present[0]]
        if len(present) > 1:
            pairs = zip(present, numbers[begin:end], strict=True)
            text = JOIN.join([f"{quoted[c]}{WEIGHT}{n}" for c, n in pairs])
        cells.append(_categories(column, present, text))
    return distinct_of(cells)
