"""Decide from plan and original alone, without the key of the draws, whether a file can be what its plan makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...columns.arrays import slices
from ...columns.table import Table
from ...kernels import Floats, Ints
from ...plan import GuardedColumn, Plan
from ...plan.records import AGAIN, FILE, RUNS, width_of
from .cap_in_file import cap_in_file
from .guard_recipe import GuardRecipe, _bins, _chances, shares_in
from .recipes import Numbers, counts_in_words
from .told_numbers import multiples

# a count is called impossible if draws give it less often than once in so many files
ONCE_IN = 1e6
# chances that are computed at once
_CHANCES = 1 << 24


@dataclass
class PossibleClasses:
    """The first and the last class that each cell of a column may be of; none if the plan never releases it."""

    first: Ints
    last: Ints

    def of(self, rows: Ints, number: Ints) -> PossibleClasses:
        """Return the cells of some rows, of classes that are counted from other numbers on."""
        return PossibleClasses(number + self.first[rows], number + self.last[rows])


@dataclass
class CountRange:
    """The fewest and the most records of each class that a file can have: a number may be of two pieces.

    A class is a released value, or a piece of a column that is told in pieces; missing comes last.
    """

    least: Ints
    most: Ints

    @classmethod
    def from_cells(cls, cells: PossibleClasses, n_classes: int) -> CountRange:
        """Count the cells of a column."""
        only = np.bincount(cells.first[cells.first == cells.last], minlength=n_classes)
        begun, ended = (np.bincount(at, minlength=n_classes + 1).cumsum() for at in (cells.first, cells.last + 1))
        return cls(only, (begun - ended)[:n_classes])

    def outside(self, low: Floats, high: Floats) -> Floats:
        """Return by how many records each count lies outside two bounds, 0 if it does not."""
        return np.maximum(np.maximum(low - self.most, self.least - high), 0.0)


@dataclass
class Bounds:
    """Bounds on how often each class of a column can stand in a file.

    Draws are even inside a unit, a group or a cell: of n rows there, a value of chance p has n p rounded down or up.

    Parameters
    ----------
    least, most : float arrays of shape (n_classes,)
        If every unit is rounded in the same direction.
    mean, variance : float arrays of shape (n_classes,)
        Of the sum, for each unit is rounded by itself.
    """

    least: Floats
    most: Floats
    mean: Floats
    variance: Floats

    def __add__(self, units: Bounds) -> Bounds:
        """Return the bounds with those of some more units, one a row."""
        pairs = zip(vars(self).values(), vars(units).values(), strict=True)
        return Bounds(*(total + of_units.sum(axis=0) for total, of_units in pairs))

    def reach(self, tests: int) -> Floats:
        """Return how far from its mean a count lies less often than once in `ONCE_IN` files (by Bernstein)."""
        log = np.log(2 * ONCE_IN * tests)
        return np.asarray(log / 3 + np.sqrt(log**2 / 9 + 2 * log * self.variance))

    def wrong(self, counts: CountRange, tests: int) -> Ints:
        """Return, for each class, by how many records its count lies outside the bounds."""
        reach = self.reach(tests)
        low, high = np.maximum(self.least, self.mean - reach), np.minimum(self.most, self.mean + reach)
        return np.ceil(counts.outside(low, high) - 1e-6).astype(np.int64)


def faults(plan: Plan, original: Table, released: Table, rows: Ints | None) -> list[str]:
    """Return why a released table cannot be what a plan with a guard makes of the original; empty if it can be.

    Checked are the plan against the original, every released value, and how often each of them stands in the table
    (in each group, where groups are seen). In which row of a group a drawn value stands is not decided.

    Parameters
    ----------
    plan : Plan
    original, released : Table
    rows : int64 array of shape (n_rows,), or None
        The original row behind each released one, where the release shows groups.
    """
    recipe = GuardRecipe(plan, original, released, rows, None, ())
    guard, as_drawn = recipe.guard, recipe.in_file
    wrong = [check.detail for check in recipe.checks() if not check.holds]
    if not recipe.sizes_hold and guard.form != RUNS:
        return [*wrong, "groups have other sizes than the plan says"]
    in_file = recipe.codes_in_file()
    in_slots = recipe.columns_of_slots
    cells = {c.name: _cells(c, in_file[c.name], as_drawn.of(c.name), c.name in in_slots) for c in guard.columns}
    strange = {name: int(np.count_nonzero(each.last < each.first)) for name, each in cells.items()}
    if any(strange.values()):
        wrong.append(f"cells with a value that the plan never releases: {counts_in_words(strange)}")
    elif guard.form != RUNS and not wrong:
        tests = sum(c.n_values + 1 for c in guard.columns)
        off = {c.name: _miscounted(recipe, c, cells, rows, tests) for c in guard.columns}
        # values of other groups stand for as many of their own, and a missing one hides what was drawn
        heads = guard.bundles()
        mended = dict(zip(dict.fromkeys(heads.values()), guard.mended, strict=False))
        more = {name: 2 * (mended.get(head, 0) + as_drawn.hidden.get(name, 0)) for name, head in heads.items()}
        off = {name: max(n - more[name], 0) for name, n in off.items()}
        if any(off.values()):
            wrong.append(f"records of values that occur too often or too rarely: {counts_in_words(off)}")
    if guard.cap_on == FILE:
        wrong += [check.detail for check in cap_in_file(plan, released) if not check.holds]
    return wrong


def _cells(column: GuardedColumn, codes: Ints, released: Table, may_lack: bool) -> PossibleClasses:
    """Return the classes of a column's cells, given their codes where values are told as they are."""
    n, may_lack = column.n_values, may_lack or column.has_missing or column.withheld > 0
    if not len(column.begins):
        is_known = (codes < n) | ((codes == n) & may_lack)
        return PossibleClasses(np.minimum(codes, n), np.where(is_known, codes, -1))
    values, unit = Numbers(column, released).all(), width_of(column.steps[0])
    low, high = np.asarray(column.ends).reshape(-1, 2).T
    first, last = np.searchsorted(high, values), np.searchsorted(low, values, side="right") - 1
    # a piece may have no multiple of the unit inside, and small types round
    near = np.flatnonzero(last < first)
    by = np.maximum(unit, 1e-6 * np.abs(values[near]))
    first[near] = np.searchsorted(high, values[near] - by)
    last[near] = np.searchsorted(low, values[near] + by, side="right") - 1
    missing, piece = np.isnan(values), np.minimum(first, len(low) - 1)
    if unit:
        number = np.where(missing, 0.0, values)
        by = np.abs(number - multiples(number, column.steps[0]))
        last[(low[piece] < high[piece]) & (by > 1e-6 * np.maximum(np.abs(number), unit))] = -1
    first[missing], last[missing] = len(low), len(low) if may_lack else -1
    return PossibleClasses(first, last)


def _parts(column: GuardedColumn) -> Any:
    """Return what part of the records of each value is in each piece, shape (n_values + 1, n_pieces + 1)."""
    from scipy.sparse import coo_array  # takes longer to load than a small table

    if not len(column.begins):
        return None
    reached = np.append(0, np.cumsum(np.asarray(column.in_pieces)))
    ends = np.append(np.asarray(column.begins), reached[-1])
    cuts = np.union1d(reached, ends)  # in between all records are of one code and one piece
    code, piece = (np.searchsorted(at, cuts[:-1], side="right") - 1 for at in (reached, ends))
    part = np.diff(cuts) / np.diff(reached)[code]
    code, piece, part = np.append(code, column.n_values), np.append(piece, len(column.begins)), np.append(part, 1.0)
    return coo_array((part, (code, piece))).tocsr()


def _miscounted(
    recipe: GuardRecipe, column: GuardedColumn, cells: Mapping[str, PossibleClasses], rows: Ints | None, tests: int
) -> int:
    """Return by how many records the counts of a column's classes lie outside what draws can give."""
    parts, here = _parts(column), cells[column.name]
    n_classes = column.n_values + 1 if parts is None else parts.shape[1]
    counted = CountRange.from_cells(here, n_classes)
    if column.follows:
        return int(_in_classes(_followed(recipe, column, cells), parts).wrong(counted, tests).max())
    total, off = Bounds(*np.zeros((4, n_classes))), 0
    unit_of = None if rows is None else recipe.units(column)[0][rows]
    for units, wanted in _wanted_by_unit(recipe, column):
        bounds = _with_several(_rounded(wanted, parts), recipe.values_together(column)[units][:, None])
        total = total + bounds
        if unit_of is not None:
            is_here = np.flatnonzero((unit_of >= units.start) & (unit_of < units.stop))
            first = (unit_of[is_here] - units.start) * n_classes
            in_unit = CountRange.from_cells(here.of(is_here, first), bounds.least.size)
            off += int(in_unit.outside(bounds.least.ravel(), bounds.most.ravel()).sum())
    return off or int(_moved(recipe, column, total, parts).wrong(counted, tests).max())


def _wanted_by_unit(recipe: GuardRecipe, column: GuardedColumn) -> Iterator[tuple[slice, Floats]]:
    """Yield units and how many records of each value are wanted in each of them; shape (units, n_values + 1)."""
    sizes, n_cells = recipe.units(column)[1], recipe.n_cells(column)
    for units, chances in _chances_by_unit(recipe, column, np.minimum(recipe.times_drawn(column) / AGAIN, 1.0)):
        wanted = chances * n_cells[units][:, None]
        wanted[:, -1] += (sizes - n_cells)[units]  # where there is no cell, a value is missing
        yield units, wanted


def _rounded(wanted: Floats, parts: Any) -> Bounds:
    """Return the bounds of each unit, shape (units, n_classes), from how many records of each value are wanted."""
    whole = some = mean = wanted
    split: Floats = np.zeros(1)
    if parts is not None:
        part, fraction = parts.data, wanted % 1
        whole, some, mean = wanted @ _like(parts, part == 1), wanted @ _like(parts, part > 0), wanted @ parts
        # of a value that two pieces share each record is of one or the other by chance
        split = wanted @ _like(parts, part - part**2)
        split += 2 * (fraction * (1 - fraction)) @ _like(parts, part**2 * (part < 1))
    low, high = np.floor(whole + 1e-9), np.ceil(some - 1e-9)
    fraction = whole - low
    return Bounds(low, high, mean, (np.sqrt((fraction * (1 - fraction)).clip(0)) + np.sqrt(np.maximum(split, 0))) ** 2)


def _with_several(bounds: Bounds, fewest: Ints) -> Bounds:
    """Return the bounds of units that have at least so many values, or none; missing is the last class."""
    present = bounds.mean[:, :-1].sum(axis=1, keepdims=True)
    is_changed = present < fewest
    least, most = (
        np.where(is_changed, 0, bounds.least),
        np.where(is_changed, np.maximum(bounds.most, fewest), bounds.most),
    )
    least[:, -1:] = np.where(is_changed, present + bounds.mean[:, -1:] - fewest - 1, least[:, -1:])
    most[:, -1:] = np.where(is_changed, present + bounds.mean[:, -1:], most[:, -1:])
    more = fewest * np.where(np.arange(bounds.mean.shape[1]) + 1 < bounds.mean.shape[1], bounds.mean, present)
    return Bounds(least, most, bounds.mean, np.where(is_changed, np.maximum(bounds.variance, more), bounds.variance))


def _in_classes(bounds: Bounds, parts: Any) -> Bounds:
    """Return bounds on classes from those on values."""
    if parts is None:
        return bounds
    part = parts.data
    least, most = bounds.least @ _like(parts, part == 1), bounds.most @ _like(parts, part > 0)
    variance = bounds.mean @ _like(parts, part - part**2) + (np.sqrt(bounds.variance) @ parts) ** 2
    return Bounds(least, most, bounds.mean @ parts, variance)


def _like(parts: Any, data: NDArray[Any]) -> Any:
    """Return a sparse array with other entries in the same places."""
    return type(parts)((data.astype(np.float64), parts.indices, parts.indptr), parts.shape)


def _chances_by_unit(recipe: GuardRecipe, column: GuardedColumn, towards: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield units and the chance of each value in each of them; shape (units, n_values + 1)."""
    people, n, sizes = np.asarray(column.people, np.float64), column.n_values, recipe.n_cells(column)
    by_class, rest = column.parts() if len(column.classes) else (column, column)
    expected = recipe.expected(by_class) if len(column.starts) else None
    public = np.zeros(n + 1)
    public[: len(people)] = people / max(people.sum(), 1.0)
    public[n] += not people.any()  # of which no value is released
    for units in slices(len(sizes), max(1, _CHANCES // (n + 1))):
        part = towards[units][:, None]
        if expected is None:
            yield units, _by_moments(column, sizes, units, part, public)
            continue
        shares, chances = shares_in(by_class, units, expected(units), towards[units]), np.zeros((len(part), n + 1))
        chances[:, : len(people)] = shares[:, list(column.classes) or slice(None)]
        if by_class is not rest:
            in_rest = np.flatnonzero(np.asarray(column.classes) == 0)
            chances[:, in_rest] *= _by_moments(rest, sizes, units, part, public)[:, :-1]
        chances[:, n] += not people.any()
        yield units, chances


def _by_moments(column: GuardedColumn, sizes: Ints, units: slice, part: Floats, public: Floats) -> Floats:
    """Return the chances of runs, tilted to the mean and spread of each unit, and of missing values."""
    _, of_run, chances = _chances(column)
    people, pair = np.asarray(column.people, np.float64)[: len(of_run)], np.asarray(column.pair)[units]
    inside = people / np.bincount(of_run, people)[of_run]
    tilt, is_told = np.minimum(pair, len(chances) - 1), pair >= len(chances)
    runs = ((1 - part) * chances[tilt] + part * chances[column.whole])[:, of_run] * inside
    runs[is_told] = np.eye(len(of_run))[np.maximum(pair - len(chances), 0)[is_told]]
    missing = np.zeros((len(pair), 1))
    if column.has_missing:
        absent = np.asarray(column.missing)[units] + column.smoothed * public[-1]
        share = np.minimum(absent / np.maximum(sizes[units] + column.smoothed, 1), 1)[:, None]
        missing = share * (1 - part) + public[-1] * part
    return np.concatenate([runs * (1 - missing), missing], axis=1)


def _moved(recipe: GuardRecipe, column: GuardedColumn, bounds: Bounds, parts: Any) -> Bounds:
    """Return bounds widened for numbers that are moved out of bins which hardly go with a category of their cell."""
    if column.role != "quasi" or not column.by_moments:
        return bounds
    bins, is_rare = _bins(column), np.zeros(column.n_values + 1, np.bool_)
    for other in recipe.guard.columns:
        if other.role == "quasi" and not other.by_moments:
            rare = np.atleast_1d(recipe.rare(column, other).any(axis=1))
            is_rare[: column.n_values] |= rare[np.minimum(bins[: column.n_values], len(rare) - 1)]
    if parts is not None:
        is_rare = np.asarray(is_rare @ _like(parts, parts.data > 0)) > 0
    more = bounds.most[is_rare].sum()
    return Bounds(np.where(is_rare, 0.0, bounds.least), bounds.most + more, bounds.mean, bounds.variance + more**2)


def _followed(recipe: GuardRecipe, column: GuardedColumn, cells: Mapping[str, PossibleClasses]) -> Bounds:
    """Return bounds on the values of a column that is drawn from people with nearly the same value of another."""
    leader = next(c for c in recipe.guard.columns if c.name == column.follows)
    if len(leader.begins):  # the file does not show its runs
        leaders = _values(recipe, leader, cells)
    else:
        rows = np.bincount(cells[leader.name].first, minlength=leader.n_values + 1).astype(float)
        leaders = Bounds(rows, rows, rows, np.zeros(len(rows)))
    # where there is no cell, both are missing
    n_without = float((recipe.units(column)[1] - recipe.n_cells(column)).sum())
    leaders = _with_missing(leaders, -n_without)
    present = np.flatnonzero(leaders.most)
    second, begin, end = recipe.donors(column, present)
    width = column.n_values + 1
    chances = np.array([np.bincount(second[a:b], minlength=width) / (b - a) for a, b in zip(begin, end, strict=True)])
    chances = chances.reshape(len(present), width)  # also of nobody
    mean, each = leaders.mean[present] @ chances, leaders.mean[present] @ (chances * (1 - chances))
    spread = np.sqrt(leaders.variance[present]) @ chances
    most = leaders.most[present] @ (chances > 0).astype(float)
    return _with_missing(Bounds(np.zeros(width), most, mean, each + spread**2), n_without)


def _with_missing(bounds: Bounds, more: float) -> Bounds:
    """Return bounds with so many more records for certain that are missing, the last class."""
    several = np.append(np.zeros(len(bounds.mean) - 1), more)
    least, most, mean = (np.maximum(each + several, 0) for each in (bounds.least, bounds.most, bounds.mean))
    return Bounds(least, most, mean, bounds.variance)


def _values(recipe: GuardRecipe, column: GuardedColumn, cells: Mapping[str, PossibleClasses]) -> Bounds:
    """Return bounds on the values of a column, also where the file shows pieces."""
    if column.follows:
        return _followed(recipe, column, cells)
    total = Bounds(*np.zeros((4, column.n_values + 1)))
    for units, wanted in _wanted_by_unit(recipe, column):
        total = total + _with_several(_rounded(wanted, None), recipe.values_together(column)[units][:, None])
    return _moved(recipe, column, total, None)
