"""Decide from plan and original alone, without the key of the draws, whether a file can be what its plan makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...columns.table import Table
from ...kernels import Floats, Ints
from ...plan import GuardedColumn, Plan
from ...plan.records import AGAIN, RUNS
from .guard_recipe import GuardRecipe, _bins, _chances
from .recipes import counts_in_words

# a count is called impossible if draws give it less often than once in so many files
ONCE_IN = 1e6
# units whose chances are computed at once
_UNITS = 4096


@dataclass
class Bounds:
    """Bounds on how often each released value of a column can stand in a file.

    Draws are even inside a unit, a group or a cell: of n rows there, a value of chance p has n p rounded down or up.

    Parameters
    ----------
    least, most : float arrays of shape (n_values + 1,)
        If every unit is rounded in the same direction; missing comes last.
    mean, variance : float arrays of shape (n_values + 1,)
        Of the sum, for each unit is rounded by itself.
    """

    least: Floats
    most: Floats
    mean: Floats
    variance: Floats

    def reach(self, tests: int) -> Floats:
        """Return how far from its mean a count lies less often than once in `ONCE_IN` files (by Bernstein)."""
        log = np.log(2 * ONCE_IN * tests)
        return np.asarray(log / 3 + np.sqrt(log**2 / 9 + 2 * log * self.variance))

    def wrong(self, counts: Ints, tests: int) -> Ints:
        """Return, for each value, by how many records its count lies outside the bounds."""
        reach = self.reach(tests)
        low, high = np.maximum(self.least, self.mean - reach), np.minimum(self.most, self.mean + reach)
        return np.ceil(np.maximum(np.maximum(low - counts, counts - high), 0) - 1e-6).astype(np.int64)


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
    assert plan.guard is not None
    recipe = GuardRecipe(plan, original, released, rows, None, ())
    wrong = [check.detail for check in recipe.checks() if not check.holds]
    if not recipe.sizes_hold and plan.guard.form != RUNS:
        return [*wrong, "groups have other sizes than the plan says"]
    in_file = recipe.codes_in(released)
    strange = {c.name: _strange(c, in_file[c.name]) for c in plan.guard.columns}
    if any(strange.values()):
        wrong.append(f"cells with a value that the plan never releases: {counts_in_words(strange)}")
    elif plan.guard.form != RUNS and not wrong:
        tests = sum(c.n_values + 1 for c in plan.guard.columns)
        off = {c.name: _miscounted(recipe, c, in_file, rows, tests) for c in plan.guard.columns}
        if any(off.values()):
            wrong.append(f"records of values that occur too often or too rarely: {counts_in_words(off)}")
    return wrong


def _strange(column: GuardedColumn, codes: Ints) -> int:
    """Count the cells whose value is not one that the plan releases."""
    n = column.n_values
    may_lack = column.has_missing or column.withheld > 0
    return int(np.count_nonzero((codes > n) | ((codes == n) & (not may_lack))))


def _miscounted(
    recipe: GuardRecipe, column: GuardedColumn, in_file: dict[str, Ints], rows: Ints | None, tests: int
) -> int:
    """Return by how many records the counts of a column's values lie outside what draws can give."""
    counts = np.bincount(in_file[column.name], minlength=column.n_values + 1)
    if column.follows:
        bounds = _followed(recipe, column, in_file[column.follows])
        return int(bounds.wrong(counts, tests).max())
    sizes = recipe.units(column)[1]
    again = recipe.times_drawn(column)
    width, off = column.n_values + 1, 0
    total = Bounds(*np.zeros((4, width)))
    unit_of = None if rows is None else recipe.units(column)[0][rows]
    for units, chances in _chances_by_unit(recipe, column, np.minimum(again / AGAIN, 1.0)):
        wanted = chances * sizes[units][:, None]
        low, high = np.floor(wanted + 1e-9), np.ceil(wanted - 1e-9)
        part = wanted - low
        total.least += low.sum(0)
        total.most += high.sum(0)
        total.mean += wanted.sum(0)
        total.variance += (part * (1 - part)).clip(0).sum(0)
        if unit_of is not None:
            here = (unit_of >= units.start) & (unit_of < units.stop)
            key = (unit_of[here] - units.start) * width + in_file[column.name][here]
            counted = np.bincount(key, minlength=low.size).reshape(low.shape)
            off += int(np.maximum(np.maximum(low - counted, counted - high), 0).sum())
    return off or int(_moved(recipe, column, total).wrong(counts, tests).max())


def _chances_by_unit(recipe: GuardRecipe, column: GuardedColumn, towards: Floats) -> Iterator[tuple[slice, Floats]]:
    """Yield units and the chance of each value in each of them; shape (units, n_values + 1)."""
    people, n, sizes = np.asarray(column.people, np.float64), column.n_values, recipe.units(column)[1]
    expected = None if column.by_moments else recipe.expected(column)
    public = np.zeros(n + 1)
    public[: len(people)] = people / max(people.sum(), 1.0)
    public[n] += not people.any()  # of which no value is released
    for first in range(0, len(sizes), _UNITS):
        units = slice(first, min(first + _UNITS, len(sizes)))
        part = towards[units][:, None]
        if expected is None:
            yield units, _by_moments(column, sizes, units, part, public)
            continue
        starts, shares = np.asarray(column.starts), np.zeros((units.stop - first, n + 1))
        shares[:, : len(people)] = column.smoothed * expected(units)
        listed = slice(starts[first], starts[units.stop])
        unit = np.repeat(np.arange(units.stop - first), np.diff(starts[first : units.stop + 1]))
        shares[unit, np.asarray(column.codes)[listed]] += np.asarray(column.counts)[listed]
        total = shares.sum(axis=1, keepdims=True)
        yield units, np.where(total > 0, (1 - part) * shares / np.where(total > 0, total, 1) + part * public, public)


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
        missing = (absent / (sizes[units] + column.smoothed))[:, None] * (1 - part) + public[-1] * part
    return np.concatenate([runs * (1 - missing), missing], axis=1)


def _moved(recipe: GuardRecipe, column: GuardedColumn, bounds: Bounds) -> Bounds:
    """Return bounds widened for numbers that are moved out of bins which hardly go with a category of their cell."""
    if column.role != "quasi" or not column.by_moments:
        return bounds
    bins, is_rare = _bins(column), np.zeros(len(bounds.most), np.bool_)
    for other in recipe.guard.columns:
        if other.role == "quasi" and not other.by_moments:
            rare = np.atleast_1d(recipe.rare(column, other).any(axis=1))
            is_rare[: column.n_values] |= rare[np.minimum(bins[: column.n_values], len(rare) - 1)]
    more = bounds.most[is_rare].sum()
    return Bounds(np.where(is_rare, 0.0, bounds.least), bounds.most + more, bounds.mean, bounds.variance + more**2)


def _followed(recipe: GuardRecipe, column: GuardedColumn, leaders: Ints) -> Bounds:
    """Return bounds for a column that is drawn from people with nearly the same value of another."""
    present, rows = np.unique(leaders, return_counts=True)
    second, begin, end = recipe.donors(column, present)
    width = column.n_values + 1
    chances = np.array([np.bincount(second[a:b], minlength=width) / (b - a) for a, b in zip(begin, end, strict=True)])
    mean, variance = rows @ chances, rows @ (chances * (1 - chances))
    return Bounds(np.zeros(width), rows @ (chances > 0).astype(float), mean, variance)
