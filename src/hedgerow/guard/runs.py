"""Runs: neighbouring values that enough people have, told as one number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..columns.column import ValueCounts
from ..kernels.even_draws import close_runs
from ..measures import Floats, Ints
from .steps import PARTS_OF_TIME, multiple, neighbour

# no people to tell apart: every record is one
EACH = (np.zeros(0, np.int64), np.zeros(0, np.int64))


@dataclass(frozen=True)
class Runs:
    """The numbers of a column that may be released.

    Parameters
    ----------
    values : float64 array of shape (n_runs,)
        What each run is told as, ascending.
    cuts : float64 array of shape (n_runs - 1,)
        Values below ``cuts[i]`` belong to run i or one before it.
    of_code : int64 array of shape (n_values + 1,)
        The run of each code of the column; a missing value has the code after the last run.
    is_heap : bool array of shape (n_runs,)
        Whether enough people share one value, which is told exactly.
    """

    values: Floats
    cuts: Floats
    of_code: Ints
    is_heap: NDArray[np.bool_]


def runs_of(
    column: ValueCounts, least: int, unit: float = 0.0, people: tuple[Ints, Ints] = EACH, more: Floats | None = None
) -> Runs:
    """Close runs of at least `least` people over the sorted values of a number.

    A value that so many people share is told exactly; between such values a run is told as its mean,
    rounded to a multiple inside it. The first and last runs are told as their medians, because a mean
    would tell a dominant value; their steps follow from the nearer of their two ends. What is left over
    joins the nearer neighbour, value by value.

    Parameters
    ----------
    column : ValueCounts
        A number or date.
    least : int
    unit : float
        Released values are multiples of it: 1 for whole numbers, 0 for any number; or a step of days (`Steps`).
    people : pair of int64 arrays
        What `previous_values` returns, where a person may have several records.
    more : float64 array of shape (n_values,), optional
        By how many times `least` more people must share each value for it to be told exactly. Neighbours then
        join such values only if there is no other run to join.

    Examples
    --------
    >>> import numpy as np
    >>> ages = ValueCounts("age", "numeric", "", np.array([18.0, 30, 31, 33, 40, 90]), np.array([2, 1, 1, 1, 3, 1]))
    >>> runs_of(ages, 2, 1.0).values.tolist()
    [18.0, 31.0, 40.0]
    """
    values, counts = np.asarray(column.values, np.float64), column.counts
    enough = np.full(len(values), least) if more is None else np.ceil(least * (1 + more)).astype(np.int64)
    run, shared = close_runs(counts, *people, least, enough)
    if not len(shared):
        return Runs(np.zeros(0), np.zeros(0), np.zeros(len(values) + 1, np.int64), shared)
    # the value of each run that enough people share by itself
    heap = np.full(len(shared), -1)
    heap[run[run >= 0]] = np.flatnonzero(run >= 0)
    run = _joined(values, run, shared if more is not None else np.zeros_like(shared))
    first = np.flatnonzero(np.diff(run, prepend=-1))
    last = np.append(first[1:], len(values)) - 1
    with np.errstate(over="ignore"):
        centre = np.add.reduceat(values * counts, first) / np.add.reduceat(counts, first)
    for end in (0, len(first) - 1):
        here = slice(first[end], last[end] + 1)
        middle = np.searchsorted(np.cumsum(counts[here]), (counts[here].sum() + 1) // 2)
        centre[end] = values[here][middle]
    centre, low, high = np.clip(centre, values[first], values[last]), values[first], values[last]
    span = high / (2 * least) - low / (2 * least)
    for end in (0, -1):  # a step from the whole span would tell a dominant value as well
        span[end] = min(centre[end] / least - low[end] / least, high[end] / least - centre[end] / least)
    released = _rounded(centre, low, high, span, unit, column.unit == "us")
    # whoever joined it
    released = np.where(shared, values[heap], released)
    return Runs(released, _between(values[last[:-1]], values[first[1:]]), np.append(run, len(first)), shared)


def previous_values(codes: Ints, person: Ints, n_values: int) -> tuple[Ints, Ints]:
    """Return where the people of each value begin, and each person's last smaller value, or -1.

    Parameters
    ----------
    codes, person : int arrays of shape (n_rows,)
    n_values : int
        Codes from here on are missing values.
    """
    with_value = codes < n_values
    person, code = np.unique(np.stack([person[with_value], codes[with_value]]), axis=1)
    previous = np.append(-1, code[:-1])
    previous[np.diff(person, prepend=-1) != 0] = -1
    starts = np.append(0, np.cumsum(np.bincount(code, minlength=n_values)))
    return starts, previous[np.argsort(code, kind="stable")]


def people_between(start: int, stop: int, counts: Ints, starts: Ints, previous: Ints) -> int:
    """Return how many people have some of the values from `start` to `stop`; the rest as `close_runs` takes it."""
    if not len(starts):
        return int(counts[start:stop].sum())
    return int(np.count_nonzero(previous[starts[start] : starts[stop]] < start))


def _joined(values: Floats, run: Ints, is_last: NDArray[np.bool_]) -> Ints:
    """Return the run of each value after those left over (-1) joined the nearer neighbour, `is_last` if need be."""
    inside = np.flatnonzero(run >= 0)
    place = np.searchsorted(inside, np.arange(len(run)))
    below = inside[np.maximum(place - 1, 0)]
    above = inside[np.minimum(place, len(inside) - 1)]
    with np.errstate(over="ignore"):
        near = np.abs(values - values[below]) <= np.abs(values[above] - values)
    near = np.where(is_last[run[below]] == is_last[run[above]], near, is_last[run[above]])
    near &= place > 0
    near |= place == len(inside)
    return np.where(run >= 0, run, run[np.where(near, below, above)])


def _rounded(centre: Floats, low: Floats, high: Floats, span: Floats, unit: float, is_time: bool) -> Floats:
    """Round to multiples, inside each run, of the largest step up to a part of its span.

    Steps are 1, 2, 5 x 10^j, parts of a day for times, and only the unit itself for days of the calendar.
    """
    some = (span > 0) | ((unit != 0) & (low < high))
    span = np.maximum(np.where(some, span, 1.0), np.abs(unit))
    if unit < 0:
        step = np.full(len(span), unit)
    elif is_time:
        step = np.array(PARTS_OF_TIME)[np.maximum(np.searchsorted(PARTS_OF_TIME, span, side="right") - 1, 0)]
    else:
        ten = np.array([float(f"1e{p}") for p in np.floor(np.log10(span)).astype(np.int64).tolist()])
        step = np.maximum(np.select([span >= 5 * ten, span >= 2 * ten], [5 * ten, 2 * ten], ten), unit)
    released = centre.copy()
    for size in np.unique(step[some]).tolist():
        here = np.flatnonzero(some & (step == size))
        a, b = low[here], high[here]
        with np.errstate(over="ignore", invalid="ignore"):
            above, below = multiple(a, size), multiple(b, size)
            ways = (
                np.where(below > b, neighbour(below, size, -1), below),
                np.where(above < a, neighbour(above, size, 1), above),
                multiple(centre[here], size),
            )
        for tried in ways:  # the last that fits
            inside = (tried >= a) & (tried <= b)
            released[here[inside]] = tried[inside]
    return released


def _between(low: Floats, high: Floats) -> Floats:
    """Return a cut in each half-open gap (low, high], near its middle and as round as that allows."""
    middle = low / 2 + high / 2
    cuts = np.where(middle > low, middle, high)
    gap = np.maximum(high / 4 - low / 4, 0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        ten = 10.0 ** np.floor(np.log10(gap))
        rounded = np.rint(middle / ten) * ten
    good = (gap > 0) & (rounded > low) & (rounded <= high)
    return np.where(good, rounded, cuts)
