"""Pieces: neighbouring people of a number, among whom each drawn number is told as one of its own.

One number for each run of k people would tell where runs begin and end, and with it who is in the table. So only every
third cut tells, and the key moves it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..backends.randomize import uniforms, words_of
from ..columns.column import ValueCounts
from ..key import Key
from ..measures import Floats, Ints
from ..plan import Guard, GuardedColumn, Vector
from ..plan.records import width_of
from .runs import Runs, people_between
from .steps import Steps, multiple, neighbour

# runs of fewest people in a piece; by which part of a piece a cut is moved to another run, and by which part of
# those people it is moved then
RUNS_EACH, MOVED, FURTHER = 3, 0.4, 0.8
# a step is drawn if so many times the people who share a released value need it
STEP = 2
# numbers without a unit are rounded to about this part of their piece
_PART = 1e-3
# where the next step is nearer than so many steps, numbers of the finest are no multiples of it
_CLOSE = 10


@dataclass(frozen=True)
class Pieces:
    """The stretches of a column's sorted records in which numbers are told; what many people share is one by itself.

    Parameters
    ----------
    begins : int64 array of shape (n_pieces,)
        The first record of each, counted from the smallest number.
    ends : float64 array of shape (n_pieces, 2)
        Between which numbers those of each lie.
    steps : float64 array of shape (n_steps,)
        What numbers are multiples of, the finest first; 0 for any number.
    stepped : int64 array of shape (n_steps,)
        How many records have a number of each step and of no coarser one.
    """

    begins: Ints
    ends: Floats
    steps: Floats
    stepped: Ints

    def in_record(self, record: GuardedColumn) -> GuardedColumn:
        """Return the record of the column with its pieces."""
        begins, stepped = (Vector("i", numbers.astype(np.int32)) for numbers in (self.begins, self.stepped))
        ends, steps = Vector("d", self.ends.ravel()), Vector("d", self.steps)
        return replace(record, begins=begins, ends=ends, steps=steps, stepped=stepped)


def pieces_of(column: ValueCounts, runs: Runs, least: int, steps: Steps, people: tuple[Ints, Ints], key: Key) -> Pieces:
    """Cut the sorted records of a number into pieces of about three times `least` people.

    What many people share, and the first and the last run, are told as they are. Between these the key moves each cut
    to a run nearby, and from there by up to 0.8 times `least` people; each piece keeps at least `least`.

    Parameters
    ----------
    column, least, people
        As `runs_of` takes them.
    runs : Runs
    steps : Steps
    key : Key
        Of the table: many cuts of the same numbers, in a column like this one or under other keys, would show in the
        mean where they were before they were moved.
    """
    values, counts = np.asarray(column.values, np.float64), column.counts
    unit = width_of(float(steps.sizes[steps.unit]))
    # where each run begins, by value and by record
    first = np.append(np.flatnonzero(np.diff(runs.of_code[:-1], prepend=-1)), len(values))
    reached = np.append(0, np.cumsum(counts))
    start = reached[first]
    number = np.arange(len(first), dtype=np.uint64)
    to_run, further = (2 * uniforms(words_of(number, key, f"guard {w}")) - 1 for w in ("piece", "cut"))
    is_exact = runs.is_heap.copy()
    is_exact[[0, -1]] = True
    begins, low, high = [start[:-1][is_exact]], [runs.values[is_exact]], [runs.values[is_exact]]
    for a, b in np.flatnonzero(np.diff(is_exact, prepend=True, append=True)).reshape(-1, 2).tolist():
        run = _runs_at_cuts(a, b, start, least, to_run)
        n_people = np.array([people_between(*ends, counts, *people) for ends in pairwise(first[run])])
        farthest = np.minimum(FURTHER * least, (np.minimum(n_people[:-1], n_people[1:]) - least) / 2)
        at = start[run]
        at[1:-1] += np.rint(farthest * further[run[1:-1]]).astype(np.int64)
        cut = _number_at(at[1:-1], values, reached, unit)
        begins.append(at[:-1])
        low.append(np.append(values[first[a]] - unit / 2, cut))
        high.append(np.append(cut, values[first[b] - 1] + unit / 2))
    order = np.argsort(np.concatenate(begins))
    begin, ends = np.concatenate(begins)[order], np.stack([np.concatenate(low), np.concatenate(high)], axis=1)[order]
    # without a unit, a piece of people with one value is closed; of a value that two pieces share some are in each
    is_open = ends[:, 0] < ends[:, 1]
    inside = np.append(0, np.cumsum(np.diff(begin, append=reached[-1]) * is_open))
    in_pieces = np.diff(np.interp(reached, np.append(begin, reached[-1]), inside)).astype(np.int64)
    return Pieces(begin, ends, *_counted_steps(steps, in_pieces, least))


def _runs_at_cuts(a: int, b: int, start: Ints, least: int, moved: Floats) -> Ints:
    """Return the runs from a to b that pieces begin with, and b; `start` has the first record of each run."""
    total = int(start[b] - start[a])
    # people with many records have fewer runs than records suggest
    n = max(1, min(b - a, round(total / (RUNS_EACH * least))))
    inner = np.arange(1, n)
    wanted = start[a] + (inner + MOVED * moved[a + inner]) * total / n
    above = np.clip(np.searchsorted(start, wanted), a + 1, b)
    near = above - (wanted - start[above - 1] < start[above] - wanted)
    return np.unique(np.concatenate([[a], near, [b]]))


def _number_at(at: Ints, values: Floats, reached: Ints, unit: float) -> Floats:
    """Return the number at cuts between two records: between theirs, or inside the unit around one that both have."""
    below, above = (np.searchsorted(reached, place, side="right") - 1 for place in (at - 1, at))
    part = (at - reached[below]) / (reached[below + 1] - reached[below])
    return np.where(below == above, values[below] + unit * (part - 0.5), values[below] / 2 + values[above] / 2)


def _counted_steps(steps: Steps, counts: Ints, least: int) -> tuple[Floats, Ints]:
    """Return the steps that enough people need, the finest first, and how many records have each and no coarser one."""
    place = np.maximum(steps.of_value, steps.unit)
    stepped = np.bincount(place, counts, len(steps.sizes)).astype(np.int64)[steps.unit :]
    sizes, more = steps.sizes[steps.unit :], steps.more[steps.unit :]
    needed = [0, *(i for i in range(1, len(sizes)) if stepped[i] >= STEP * least * (1 + more[i]))]
    return sizes[needed], np.add.reduceat(stepped, needed)


def as_told(
    guard: Guard, columns: Sequence[GuardedColumn], codes: Mapping[str, Ints], groups: Ints, key: Key
) -> tuple[list[GuardedColumn], dict[str, Ints]]:
    """Return the records and codes of drawn columns as readers see them: each with the numbers that are told of it.

    Numbers follow from what a group drew, whatever its order: they are drawn in the order of the codes, for the columns
    of a bundle together.

    Parameters
    ----------
    guard : Guard
    columns : sequence of GuardedColumn
        Whole bundles of it.
    codes : mapping of str to int64 array of shape (n_rows,)
        By column, what was drawn.
    groups : int64 array of shape (n_rows,)
    key : Key
        Of the draws.
    """
    records, told_as, bundles = {c.name: c for c in columns}, dict(codes), guard.bundles()
    at = np.arange(len(groups), dtype=np.uint64)
    for head in dict.fromkeys(bundles[name] for name in records):
        names = [name for name in records if bundles[name] == head]
        if not any(len(records[name].begins) for name in names):
            continue
        order = np.lexsort([*(codes[name] for name in reversed(names)), groups])
        place, step = np.empty((2, len(order)))
        place[order], step[order] = (uniforms(words_of(at, key, f"guard {what} {head}")) for what in ("place", "step"))
        for name in names:
            if len(records[name].begins):
                numbers = numbers_of_runs(records[name], codes[name], place, step)
                values, told_as[name] = np.unique(numbers, return_inverse=True)  # NaN is the last
                n_values = len(values) - bool(np.isnan(values[-1:]).any())
                values_and_missing = (*values[:n_values].tolist(), *records[name].values[records[name].n_values :])
                records[name] = replace(records[name], values=values_and_missing)
    return list(records.values()), told_as


def numbers_of_runs(column: GuardedColumn, codes: Ints, place: Floats, step: Floats) -> Floats:
    """Return a number for each drawn run of a column with pieces; NaN for a missing value.

    Parameters
    ----------
    column : GuardedColumn
    codes : int64 array of shape (n,)
        The run of each, or from the number of runs on a missing value.
    place, step : float64 arrays of shape (n,)
        In [0, 1): where each lies among the people of its run, and which step it is a multiple of.
    """
    people = np.asarray(column.in_pieces, np.int64)
    start, code = np.append(0, np.cumsum(people)), np.minimum(codes, len(people) - 1)
    at = start[code] + place * people[code]
    begins, ends = np.asarray(column.begins), np.asarray(column.ends).reshape(-1, 2)
    piece = np.searchsorted(begins, at, side="right") - 1
    part = (at - begins[piece]) / np.diff(begins, append=start[-1])[piece]
    low, high = ends[piece].T
    exact = np.where(low < high, low * (1 - part) + high * part, low) + 0.0  # no -0
    steps, reached = np.asarray(column.steps), np.cumsum(np.asarray(column.stepped))
    wanted = np.searchsorted(reached, step * reached[-1], side="right")
    numbers = _finest(exact, low, high, float(steps[0]))
    if len(steps) > 1 and 0 < steps[1] < _CLOSE * steps[0]:
        numbers = _no_coarser(numbers, exact, low, high, steps)
    for i in range(1, len(steps)):
        tried = multiple(exact, float(steps[i]))
        numbers = np.where((wanted >= i) & (low <= tried) & (tried <= high) & (low < high), tried, numbers)
    return np.where(codes < len(people), numbers, np.nan)


def _no_coarser(numbers: Floats, exact: Floats, low: Floats, high: Floats, steps: Floats) -> Floats:
    """Move multiples of the second step to a neighbouring one of the first between two ends, if there is one.

    Else every second of these numbers, if the second step is twice the first, would be one of the second by chance.
    """
    is_coarser = (low < high) & (multiple(numbers, float(steps[1])) == numbers)
    up = np.where(exact < numbers, -1, 1)
    for towards in (up, -up):
        other = multiple(numbers + towards * steps[0], float(steps[0]))
        moves = is_coarser & (low <= other) & (other <= high)
        numbers, is_coarser = np.where(moves, other, numbers), is_coarser & ~moves
    return numbers


def _finest(exact: Floats, low: Floats, high: Floats, unit: float) -> Floats:
    """Round numbers to multiples of the unit between two ends; without a unit to a thousandth of the ends' distance."""
    if unit:
        near = multiple(exact, unit)
        for outside, towards in ((near < low, 1), (near > high, -1)):
            near[outside] = neighbour(near[outside], unit, towards)
        return np.where(low < high, near, exact)
    with np.errstate(over="ignore"):
        digits = -np.floor(np.log10(np.maximum((high / 2 - low / 2) * 2 * _PART, 1e-300)))
    near = exact.copy()
    for n in np.unique(digits).tolist():
        here = digits == n
        near[here] = multiple(exact[here], float(f"1e{-int(n)}"))
    return np.where((low < high) & (low <= near) & (near <= high), near, exact)
