"""Derive a second time, plainly, the numbers that drawn runs are told as, and check the pieces that they come from."""

from __future__ import annotations

import numpy as np

from ...kernels import Floats, Ints
from ...plan import GuardedColumn, Vector
from ...plan.records import MONTHS, YEARS, width_of


def told_numbers(column: GuardedColumn, codes: Ints, place: Floats, step: Floats) -> Floats:
    """Return the number of each drawn run, NaN where a value is missing.

    Parameters
    ----------
    column : GuardedColumn
    codes : int64 array of shape (n,)
    place, step : float64 arrays of shape (n,)
        Where each lies among the people of its run, and which step it gets, both in [0, 1).
    """
    n, numbers = column.n_values, np.full(len(codes), np.nan)
    present = np.flatnonzero(codes < n)
    people = np.array(column.in_pieces)
    before = np.cumsum(people) - people
    at = before[codes[present]] + place[present] * people[codes[present]]
    begins, (low, high) = np.array(column.begins), np.asarray(column.ends).reshape(-1, 2).T
    piece = np.digitize(at, begins) - 1
    size = np.append(begins[1:], people.sum()) - begins
    part = (at - begins[piece]) / size[piece]
    low, high = low[piece], high[piece]
    is_exact = low == high
    value = np.where(is_exact, low, low * (1 - part) + high * part) + 0.0
    result = np.where(is_exact, value, np.nan)
    shares = np.cumsum(np.asarray(column.stepped))
    for i in reversed(range(len(column.steps))):
        # the coarsest first that was drawn and has a multiple there
        is_open = np.isnan(result) & (step[present] * shares[-1] >= (shares[i - 1] if i else 0))
        tried = multiples(value, column.steps[i]) if column.steps[i] else _fine(value, low, high)
        if i == 0 and column.steps[0]:
            tried = _moved(tried, (tried < low) * 1 - (tried > high), column.steps[0])
            if len(column.steps) > 1 and 0 < column.steps[1] < 10 * column.steps[0]:
                tried = _between_coarser(tried, value, low, high, column.steps)
            result[is_open] = tried[is_open]
        inside = is_open & (low <= tried) & (tried <= high)
        result[inside] = tried[inside]
    result[np.isnan(result)] = value[np.isnan(result)]
    numbers[present] = result
    return numbers


def _between_coarser(numbers: Floats, value: Floats, low: Floats, high: Floats, steps: Vector) -> Floats:
    """Return multiples of the first step that are none of the second, where their ends have room for one."""
    result = numbers.copy()
    for at in np.flatnonzero((low < high) & (multiples(numbers, steps[1]) == numbers)):
        ways = (-1, 1) if value[at] < numbers[at] else (1, -1)
        near = [float(multiples(numbers[[at]] + way * steps[0], steps[0])[0]) for way in ways]
        result[at] = next((each for each in near if low[at] <= each <= high[at]), numbers[at])
    return result


def _days_of(step: float, days: Ints) -> Ints:
    """Return all days of a step of the calendar from a year before some days to a year after them."""
    first, last = int(days.min(initial=0)) - 400, int(days.max(initial=0)) + 400
    if step in (MONTHS, YEARS):
        unit = "datetime64[M]" if step == MONTHS else "datetime64[Y]"
        ends = np.array([first, last]).astype("datetime64[D]").astype(unit)
        return np.arange(ends[0], ends[1] + 1).astype("datetime64[D]").astype(np.int64)
    every = np.arange(first, last)
    # the fifth of January 1970 was a Monday
    return every[(int(-step) >> (every - 4) % 7 & 1) == 1]


def _moved(near: Floats, ways: Ints, step: float) -> Floats:
    """Return multiples of a step, moved to the next one above (1) or below (-1) or not at all (0)."""
    if step >= 0:
        return multiples(near + step * ways, step)
    days = near.astype(np.int64)
    every = _days_of(step, days)
    return every[np.searchsorted(every, days) + ways].astype(np.float64)


def _nearest_days(numbers: Floats, step: float) -> Floats:
    """Return the days of a step of the calendar next to numbers, the earlier one of two."""
    days = np.rint(numbers).astype(np.int64)
    every = _days_of(step, days)
    above = np.searchsorted(every, days)
    return np.where(days - every[above - 1] <= every[above] - days, every[above - 1], every[above]).astype(np.float64)


def multiples(numbers: Floats, step: float) -> Floats:
    """Return the multiples of a step next to numbers, where doubles hold them."""
    if step < 0:
        return _nearest_days(numbers, step)
    power = int(np.floor(np.log10(step)))
    if power <= -300:
        return numbers
    with np.errstate(over="ignore"):
        times = np.rint(numbers / step)
        places = max(0, -power) + (f"{step:e}".startswith("2.5") and power < 1)
        return np.where(np.abs(times) < 2.0**52, np.round(times * step, places) + 0.0, numbers)


def _fine(numbers: Floats, low: Floats, high: Floats) -> Floats:
    """Return numbers to about a thousandth of the distance of their ends."""
    with np.errstate(over="ignore"):
        tenth = np.floor(np.log10(np.maximum((high / 2 - low / 2) * 2 * 1e-3, 1e-300)))
    result = np.empty_like(numbers)
    for power in np.unique(tenth):
        here = tenth == power
        result[here] = multiples(numbers[here], float(f"1e{int(power)}"))
    return result


def wrong_pieces(column: GuardedColumn, values: Floats, person: Ints, people: int) -> tuple[int, int]:
    """Return how many pieces fewer people have, and how many pieces or steps are not those of the original.

    Parameters
    ----------
    column : GuardedColumn
        With pieces.
    values : float64 array of shape (n,)
        The original's numbers, missing ones left out.
    person : int64 array of shape (n,)
        Who has each.
    people : int
        Fewest people of a piece.
    """
    order = np.argsort(values, kind="stable")
    values, person = values[order], person[order]
    begins, (low, high) = np.array(column.begins), np.asarray(column.ends).reshape(-1, 2).T
    if begins[-1] >= len(values):
        return 0, len(begins)
    piece = np.digitize(np.arange(len(values)), begins) - 1
    few = np.bincount(np.unique(np.stack([piece, person]), axis=1)[0], minlength=len(begins)) < people
    unit = width_of(column.steps[0])
    last = np.append(begins[1:], len(values))
    wrong = (low < np.append(-np.inf, values[begins[1:] - 1]) - unit) | (low > values[last - 1] + unit)
    wrong |= (high > np.append(values[begins[1:]], np.inf) + unit) | (high < values[begins] - unit)
    is_exact = low == high
    common = _shared(values, person) >= 2 * people
    wrong[piece[common & ~(is_exact[piece] & (low[piece] == values))]] = True
    in_pieces = values[~is_exact[piece]]
    having = np.cumsum(column.stepped[::-1])[::-1]
    off = sum(
        int(np.count_nonzero(multiples(in_pieces, s) == in_pieces)) != n
        for s, n in zip(column.steps[1:], having[1:], strict=True)
    )
    if unit:  # the key asks for up to twice as many to show something finer
        finer = multiples(values, column.steps[0]) != values
        off += len(np.unique(person[finer])) >= 2 * people
    return int(few.sum()), int(wrong.sum() + off)


def _shared(values: Floats, person: Ints) -> Ints:
    """Return, for each record, how many people have its value."""
    distinct, at = np.unique(values, return_inverse=True)
    people = np.unique(np.stack([at, person]), axis=1)[0]
    return np.asarray(np.bincount(people, minlength=len(distinct))[at], np.int64)
