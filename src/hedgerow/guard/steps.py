"""Steps: what the numbers and dates of a column are multiples of, but for fewer people than share a released value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..backends.randomize import uniforms, words_of
from ..columns.column import ValueCounts
from ..kernels import Bools
from ..key import Key
from ..measures import Floats, Ints
from ..notation import decimals_of
from ..plan.records import MONTHS, YEARS

# steps of times: a microsecond, millisecond, second, minute, hour and day
_OF_TIME = (1.0, 1e3, 1e6, 6e7, 3.6e9, 8.64e10)
# and those in between: five minutes, a quarter of an hour and half an hour
PARTS_OF_TIME = (*_OF_TIME[:4], 3e8, 9e8, 1.8e9, *_OF_TIME[4:])
# the share of days that are a step of the calendar
_OF_DAYS = {MONTHS: 12 / 365.25, YEARS: 1 / 365.25}
# multiples beyond are not exact in doubles
_EXACT = 2.0**52
# a step is the column's own if so many times as many people as are off it would be off it by chance, or on it
_OFF, _ON = 5, 3
# the share of people on a step in between from which on numbers are drawn on it, though too many are off it
_MOSTLY = 0.9
# days from Monday to that from which days are counted, a Thursday
_THURSDAY = 3


@dataclass(frozen=True)
class Steps:
    """The steps that the numbers of a column are multiples of.

    Parameters
    ----------
    sizes : float64 array of shape (n_steps,)
        0 for any number, a millionth, ... one, ten and so on; of times a microsecond to a day; of days one, and the
        firsts of months and years (`GuardedColumn.steps`). The unit may be one in between, such as 5, 25 or a quarter
        of an hour, or be some days of the week.
    of_value : int64 array of shape (n_values,)
        The place of the largest that each value is a multiple of.
    unit : int
        The place of the largest that nearly all people's values are multiples of.
    more : float64 array of shape (n_steps,)
        By how many times more people than share a released value are needed to be noticed.
    """

    sizes: Floats
    of_value: Ints
    unit: int
    more: Floats

    @classmethod
    def from_column(
        cls, column: ValueCounts, least: int, person: tuple[Ints, Ints] | None = None, key: Key | None = None
    ) -> Steps:
        """Find the steps of a column; without a key `least` people are noticed, with one up to twice as many.

        Parameters
        ----------
        column : ValueCounts
        least : int
        person : pair of int64 arrays of shape (n_rows,), optional
            The code and the person of each record; by default every record is somebody.
        key : Key, optional

        Examples
        --------
        >>> prices = ValueCounts("price", "numeric", "", np.array([75.95, 80.1, 90.5]), np.array([2, 7, 7]))
        >>> steps = Steps.from_column(prices, 3)
        >>> float(steps.sizes[steps.unit])
        0.1
        """
        values = np.asarray(column.values, np.float64)

        def people(has: Bools) -> int:
            """Return how many people have some of these values."""
            if person is None:
                return int(column.counts[has].sum())
            code, who = person
            return int(np.count_nonzero(np.bincount(who[np.append(has, False)[np.minimum(code, len(values))]])))

        powers = range(-6, int(np.log10(np.clip(np.abs(values).max(initial=0), 1, _EXACT))) + 1)
        of_numbers = (1.0,) if column.unit == "day" else _OF_TIME if column.unit else [float(f"1e{p}") for p in powers]
        sizes = [0.0, *of_numbers]
        number = np.arange(len(sizes) + 5, dtype=np.uint64)
        more = np.zeros(len(number)) if key is None else uniforms(words_of(number, key, "guard step of a column"))
        of_value = _places(values, sizes)
        unit = max(i for i in range(len(sizes)) if i == 0 or people(of_value < i) < least * (1 + more[i]))
        total, few = people(np.ones(len(values), np.bool_)), least * (1 + more[unit + 1])
        size, between = sizes[unit], list[float]()
        for finer, part in _between(size, column.unit, values, people):
            # fewer would be off it by chance in a small table
            is_off = people(multiple(values, finer) != values)
            if is_off < few and _OFF * (is_off + 2) < (1 - part) * total:
                size, between = finer, []
            elif column.unit != "day" and is_off <= (1 - _MOSTLY) * total:
                between.append(finer)
        last = [size, *between][-1]
        coarser = [*between, *(c for c in sizes[unit + 1 :] if size == 0 or (c / last).is_integer())]
        if column.unit == "day":
            coarser, base, share = [], {1.0: 1.0, **_OF_DAYS}.get(size, 0.0), 1.0
            for step, part in _OF_DAYS.items():
                on = people(multiple(values, step) == values) / max(total, 1)
                if part < base and on >= share * min(_ON * part / base, 0.9):
                    coarser, base, share = [*coarser, step], part, on
        sizes = [*sizes[:unit], size, *coarser]
        return cls(np.array(sizes), _places(values, sizes), unit, more[: len(sizes)])


def _places(values: Floats, sizes: Sequence[float]) -> Ints:
    """Return the place of the largest step that each value is a multiple of, and of all smaller ones."""
    of_value = np.zeros(len(values), np.int64)
    for i, size in enumerate(sizes[1:], start=1):
        # giants, of which every double is a multiple, do not count against a step
        of_value[(of_value == i - 1) & (multiple(values, size) == values)] = i
    return of_value


def _between(size: float, unit: str, values: Floats, people: Callable[[Bools], int]) -> Iterator[tuple[float, float]]:
    """Yield steps between a step and the next, the finest first, and the share of its multiples that are theirs."""
    if unit == "day":
        if size:
            # of the week, the days that most people have
            weekday = _weekdays(values)
            by_people = sorted(range(7), key=lambda day: (-people(weekday == day), day))
            yield from ((-float(sum(1 << day for day in by_people[:n])), n / 7) for n in range(6, 0, -1))
            yield from _OF_DAYS.items()
    elif unit:
        following = next((s for s in _OF_TIME if s > size), size)
        yield from ((s, size / s) for s in PARTS_OF_TIME if size < s < following)
    elif size:
        yield from ((float(f"{times * size:.3g}"), 1 / times) for times in (5, 25))


def multiple(numbers: Floats, step: float) -> Floats:
    """Return the nearest multiple of a step to each number, as decimals such as .3 instead of .30000000000000004.

    Of two days of a step of the calendar that are equally near it is the earlier one.

    Examples
    --------
    >>> multiple(np.array([7.0, 0.29]), 5.0).tolist(), multiple(np.array([20.0, 40.0]), MONTHS).tolist()
    ([5.0, 0.0], [31.0, 31.0])
    """
    if step < 0:
        days = np.rint(numbers)
        if step not in _OF_DAYS:
            return days + _to_weekday(step, (0, -1, 1, -2, 2, -3, 3))[_weekdays(days)]
        unit = "M" if step == MONTHS else "Y"
        first = days.astype(np.int64).astype("M8[D]").astype(f"M8[{unit}]")
        below, above = (each.astype("M8[D]").astype(np.float64) for each in (first, first + 1))
        return np.where(days - below <= above - days, below, above)
    with np.errstate(over="ignore"):
        times = np.rint(numbers / step)
        near = np.round(times * step, digits) + 0.0 if (digits := decimals_of(step)) < 300 else numbers
    return np.where(np.abs(times) < _EXACT, near, numbers)


def neighbour(multiples: Floats, step: float, towards: int) -> Floats:
    """Return the next multiple of a step above each (`towards` 1), or below it (-1)."""
    if step < 0 and step not in _OF_DAYS:
        return multiples + _to_weekday(step, [towards * days for days in range(1, 8)])[_weekdays(multiples)]
    return multiple(multiples + towards * {MONTHS: 31.0, YEARS: 365.0}.get(step, step), step)


def _weekdays(days: Floats) -> Ints:
    """Return the day of the week of days since 1970, 0 for Monday."""
    return (np.asarray(days, np.int64) + _THURSDAY) % 7


def _to_weekday(step: float, ways: Sequence[int]) -> Floats:
    """Return, for each day of the week, the first of some ways in days that ends on a day of the step."""
    days = {day for day in range(7) if int(-step) >> day & 1}
    return np.array([next(way for way in ways if (day + way) % 7 in days) for day in range(7)], np.float64)
