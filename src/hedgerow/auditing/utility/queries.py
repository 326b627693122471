"""Counting and averaging queries, answered from the release and from the original."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from ...columns.column import Column
from ...json_types import Count, OrNull, Share
from ...measures import Counts, Floats, Groups
from ..figure import Figure
from ..released_values import ReleasedColumn
from ..success import AttackTarget
from ..table_pair import Pair, TablePair
from .distributions import places_inside

# quasi-identifiers in a query, and the share of a column's distinct values it asks for
COLUMNS, WIDTH = 2, 0.3
# share of the table: errors of smaller answers are divided by this instead
FLOOR = 0.001
# deviations of chance, from the middle outwards: the quantiles of the absolute values of a normal variable
_CHANCE = ndtri(0.5 + (np.arange(50) + 0.5) / 100)
# ranges that a number is grouped by, and fewest people in a group that is averaged
BINS, SMALLEST = 10, 30


def _condition(column: ReleasedColumn, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Draw a random condition on a column: whether each original value fits it; a missing one never does."""
    m = column.original.n_values
    chosen = np.zeros(m + 1, np.bool_)
    size = max(1, round(WIDTH * m))
    if column.is_number:
        first = int(generator.integers(0, m - size + 1))
        chosen[first : first + size] = True
    else:
        chosen[generator.choice(m, size, replace=False)] = True
    return chosen


def _overlap(column: ReleasedColumn, chosen: npt.NDArray[np.bool_]) -> Floats:
    """Return each cell's share that fits a condition; values inside a range count as equally likely."""
    if not column.is_number:
        return column.shares @ chosen
    wanted = column.original.values[chosen[:-1]]
    first, end = places_inside(column.original.values, column.lo, column.hi)
    first_wanted, end_wanted = places_inside(wanted, column.lo, column.hi)
    # a range without any original value counts by its middle
    at_middle = (column.middle >= wanted[0]) & (column.middle <= wanted[-1]) & np.isfinite(column.lo)
    share = (end_wanted - first_wanted) / np.maximum(end - first, 1)
    return np.where(end > first, share, at_middle)


class SurveyErrors(TypedDict):
    """The errors that chance would make of a second survey of as many people."""

    median: float
    p90: float


class RangeErrors(TypedDict):
    """Relative errors of random count queries: |estimate - truth| / max(truth, FLOOR * n).

    ``new_survey``: what chance would make of a second survey of n people: if c of them fit a query in the
    one, the two differ by a normal variable of variance 2 c (1 - c / n).
    """

    mean: OrNull[float]
    median: OrNull[float]
    p90: OrNull[float]
    new_survey: SurveyErrors
    queries: Count


class GroupErrors(TypedDict):
    """Relative errors of averages by group: their mean, and by the pair of columns."""

    mean: float | None
    by: Mapping[str, OrNull[float]]


class QueryErrors(TypedDict):
    """The errors of `range_queries` and of `group_queries`."""

    range: RangeErrors
    group_by: GroupErrors


class BeforeAfter(TypedDict):
    """A number by the original and by the release."""

    original: float | None
    release: float | None


class ColumnEstimate(TypedDict):
    """The weighted total and mean of a number, or the largest change of any category's share.

    ``codes``: whether attacks take the numbers for codes.
    """

    kind: Literal["number", "categories"]
    codes: NotRequired[bool]
    total: NotRequired[BeforeAfter]
    mean: NotRequired[BeforeAfter]
    largest_change: NotRequired[OrNull[Share]]


class Estimates(TypedDict):
    """Weighted population estimates from the original, and from the release as a recipient reads it."""

    weight: str
    people: BeforeAfter
    columns: Mapping[str, ColumnEstimate]
    group_by: GroupErrors


def range_queries(pair: TablePair, *, n_queries: int = 100, random_state: int = 0) -> RangeErrors:
    """Measure the relative errors of random count queries: "how many people have ... and ...".

    Parameters
    ----------
    pair : Pair
        The tables.
    n_queries : int
        Number of queries.
    random_state : int
        Seeds the random queries.

    Returns
    -------
    RangeErrors
    """
    generator = np.random.default_rng(random_state)
    if not (usable := [j for j, e in enumerate(pair.released_quasi) if e.original.n_values > 1]):
        nothing: SurveyErrors = {"median": 0.0, "p90": 0.0}
        return {"mean": 0.0, **nothing, "new_survey": nothing, "queries": 0}

    # counted once for each choice of columns: queries of the same columns differ by their conditions alone
    @cache
    def joint(released: bool, picked: tuple[int, ...]) -> Counts:
        columns = [pair.released_quasi[j] for j in picked]
        return _joint_counts([c.codes if released else c.whole.codes for c in columns])

    errors, spreads, n = [], [], pair.original.n_rows
    for _ in range(n_queries):
        picked = sorted(generator.choice(usable, min(COLUMNS, len(usable)), replace=False).tolist())
        wanted = [_condition(pair.released_quasi[j], generator) for j in picked]
        shares = [_overlap(pair.released_quasi[j], w) for j, w in zip(picked, wanted, strict=True)]
        exact = _fitting(joint(False, tuple(picked)), wanted)
        guess = _fitting(joint(True, tuple(picked)), shares) * pair.people_per_row
        errors.append(abs(guess - exact) / max(exact, FLOOR * n))
        spreads.append(math.sqrt(2 * exact * (1 - exact / n)) / max(exact, FLOOR * n))
    survey = _spread(np.outer(spreads, _CHANCE))
    return {"mean": float(np.mean(errors)), **_spread(np.asarray(errors)), "new_survey": survey, "queries": n_queries}


def _spread(errors: Floats) -> SurveyErrors:
    return {"median": float(np.median(errors)), "p90": float(np.quantile(errors, 0.9))}


def _joint_counts(codes: Sequence[npt.NDArray[Any]]) -> Counts:
    """Count the rows by their codes in one or two columns; a single column is counted against itself."""
    n_codes = [int(column.max()) + 1 for column in codes]
    return Counts.from_codes(Groups(codes[0], np.arange(n_codes[0])), codes[-1], n_codes[-1])


def _fitting(joint: Counts, shares: Sequence[npt.NDArray[Any]]) -> float:
    """Return the number of rows that fit a query, given the share of each code's rows that fit it."""
    total = joint.counts.astype(np.float64)
    for codes, share in zip((joint.groups, joint.values), shares, strict=False):
        total = total * share[codes]
    return float(total.sum())


def group_queries(pair: TablePair, before: Floats | None = None, after: Floats | None = None) -> GroupErrors:
    """Measure the relative errors of queries "the average ... by ..." for each number and quasi-identifier.

    `before` and `after` are the weights of the original's and of the released rows; 1 by default.

    Numeric quasi-identifiers are cut into `BINS` ranges of about equal counts;
    groups of fewer than `SMALLEST` people are left out, as are averages of 0.
    """
    errors: dict[str, float] = {}
    classes = pair.classes
    for original, released in zip(pair.unchanged.sensitive, pair.released_sensitive, strict=True):
        if not original.is_number:
            continue
        y, z = original.numbers, released.numbers
        in_y, in_z = np.isfinite(y), np.isfinite(z)
        y, z = np.where(in_y, y, 0.0), np.where(in_z, z, 0.0)
        w = np.ones(len(y)) if before is None else before
        v = np.ones(len(z)) if after is None else after
        sums = np.bincount(classes.labels, v * z, classes.n_groups)
        sizes = np.bincount(classes.labels, v * in_z, classes.n_groups)
        for column in pair.released_quasi:
            by_value = [
                np.bincount(column.whole.codes, part, column.whole.n_values + 1) for part in (w * y, w * in_y, in_y)
            ]
            misses = []
            for chosen in _parts(column):
                total, people, n = (float(part[chosen].sum()) for part in by_value)
                if n < SMALLEST or total == 0:
                    continue
                truth = total / people
                # equal cells stand in one class, so a class is asked once and counts by its rows
                share = _overlap(column, chosen)[column.codes[classes.first]]
                weight = float((share * sizes).sum())
                guess = float((share * sums).sum()) / weight if weight > 0 else 0.0
                misses.append(abs(guess - truth) / abs(truth))
            if misses:
                errors[f"{original.name} by {column.name}"] = float(np.mean(misses))
    return {"mean": float(np.mean(list(errors.values()))) if errors else None, "by": errors}


def _parts(column: ReleasedColumn) -> list[npt.NDArray[np.bool_]]:
    """Return the groups of a GROUP BY as masks over values: one per category, or ranges of about equal counts."""
    m = column.original.n_values
    if not column.is_number:
        part = np.arange(m)
    else:
        counts = column.whole.counts()[:m]
        part = ((np.cumsum(counts) - counts) * BINS) // max(int(counts.sum()), 1)
    # a bound on the work for columns of thousands of categories
    return [np.append(part == p, False) for p in np.unique(part)[:200]]


def estimates(pair: Pair, weights: str) -> Estimates | None:
    """Return weighted population estimates from the original, and from the release as a recipient reads it.

    Parameters
    ----------
    pair : Pair
    weights : str
        The column of sampling weights.

    Returns
    -------
    dict or None
        ``people``: the sum of the weights. ``columns``: the total and mean of each numeric column, both as
        ``original`` and ``release``, and the largest change of any category's share in each other column.
        ``group_by``: the relative errors of weighted means by each quasi-identifier. None if the release
        shows no weights.

    Notes
    -----
    A released range is read as spread evenly over the original values inside it, a set over its members.
    """
    before = pair.original.column(weights, kind="numeric").numbers
    if (after := released_weights(pair, weights)) is None:
        return None
    columns: dict[str, ColumnEstimate] = {}
    for original, released in zip(pair.unchanged.sensitive, pair.released_sensitive, strict=True):
        name, m = original.name, original.n_values + 1
        if original.is_number and released.is_number:
            columns[name] = _numbers((original.numbers, before), (released.numbers, after), pair.targets[name])
        elif not original.is_number:
            mass = np.bincount(released.codes_in(original, unknown=m - 1), after, m)
            columns[name] = _shares(original, before, mass, after)
    for column in pair.released_quasi:
        if column.name == weights:
            continue
        if column.is_number:
            expected = _expected(column)[column.codes]
            target = AttackTarget.from_column(column.whole, pair.schema)
            columns[column.name] = _numbers((column.whole.numbers, before), (expected, after), target)
        else:
            mass = np.bincount(column.codes, after, column.n_cells) @ column.shares
            columns[column.name] = _shares(column.whole, before, mass, after)
    return {
        "weight": weights,
        "people": {"original": float(before.sum()), "release": float(after.sum())},
        "columns": columns,
        "group_by": group_queries(pair, before, after),
    }


def released_weights(pair: Pair, weights: str) -> Floats | None:
    """Return the released rows' sampling weights as a recipient reads them; None if they are not released."""
    for column in pair.released_quasi:
        if column.name == weights:
            return _expected(column)[column.codes]
    if weights not in pair.released.names:
        return None
    return pair.released.column(weights, kind="numeric").numbers[pair.released_rows]


def _expected(column: ReleasedColumn) -> Floats:
    """Return the mean of the distinct original values inside each numeric cell; NaN for missing cells."""
    values = np.asarray(column.whole.values, np.float64)
    sums = np.append(0.0, np.cumsum(values))
    first, end = places_inside(values, column.lo, column.hi)
    mean = (sums[end] - sums[first]) / np.maximum(end - first, 1)
    return np.where(np.isfinite(column.lo), np.where(end > first, mean, column.middle), np.nan)


def _numbers(before: tuple[Floats, Floats], after: tuple[Floats, Floats], target: AttackTarget) -> ColumnEstimate:
    """Return the weighted total and mean of numbers, before and after, and whether attacks take them for codes."""

    def weighted(y: Floats, w: Floats) -> tuple[float, float | None]:
        present = np.isfinite(y)
        total, people = float((w[present] * y[present]).sum()), float(w[present].sum())
        return total, total / people if people else None

    (total, mean), (released_total, released_mean) = weighted(*before), weighted(*after)
    return {
        "kind": "number",
        "codes": not target.is_number,
        "total": {"original": total, "release": released_total},
        "mean": {"original": mean, "release": released_mean},
    }


def _shares(original: Column, before: Floats, mass: npt.NDArray[Any], after: Floats) -> ColumnEstimate:
    """Return the largest change of a category's weighted share; `mass` is the released weight of each category."""
    shares = np.bincount(original.codes, before, original.n_values + 1) / before.sum()
    return {"kind": "categories", "largest_change": float(np.abs(mass / after.sum() - shares).max(initial=0.0))}


FIGURES = (
    Figure(
        {"utility.queries": QueryErrors | None},
        lambda t: QueryErrors(range=range_queries(t.sides.plain, **t.seed), group_by=group_queries(t.sides.plain)),
        needs=("both tables",),
    ),
    Figure(
        {"utility.estimates": Estimates | None},
        lambda t: estimates(t.sides, t.options["weights"]),
        needs=("pairs", "weights"),
    ),
)
