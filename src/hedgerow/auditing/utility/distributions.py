"""Distances of released columns, and of their dependences, from the original ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, identity
from scipy.special import entr

from ...columns.column import Column
from ...json_types import OrNull, Share
from ...measures import Floats
from ..figure import Figure
from ..released_values import ReleasedColumn
from ..table_pair import TablePair, as_runs

# largest contingency table that is counted; beyond it a pair of columns is left out
_TABLE = 1 << 22


def places_inside(values: Floats, low: Floats, high: Floats) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the index of the first sorted value inside each range, and of the first beyond; 0, 0 for missing cells."""
    has_ends = np.isfinite(low)
    first = np.searchsorted(values, np.where(has_ends, low, 0.0), "left")
    end = np.searchsorted(values, np.where(has_ends, high, 0.0), "right")
    return first * has_ends, end * has_ends


def value_shares(column: ReleasedColumn) -> tuple[Floats, Floats, Floats]:
    """Return a numeric column's values with their original and released shares; missing cells are left out.

    The rows of a released range are spread evenly over the original values inside it, as a reader who
    knows the domain would do. A range or number that contains no original value counts as its
    midpoint.
    """
    values = np.asarray(column.whole.values, np.float64)
    first, end = places_inside(values, column.lo, column.hi)
    filled = end > first
    empty = np.isfinite(column.lo) & ~filled
    per_value = column.counts[filled] / (end - first)[filled]
    # a range adds where it begins and takes off where it ends: the running sum is what each value gets
    steps = np.zeros(len(values) + 1)
    np.add.at(steps, first[filled], per_value)
    np.add.at(steps, end[filled], -per_value)
    released = np.maximum(np.cumsum(steps)[:-1], 0.0)
    points = np.concatenate([values, column.middle[empty]])
    before = np.concatenate([column.whole.counts()[:-1].astype(np.float64), np.zeros(np.count_nonzero(empty))])
    after = np.concatenate([released, column.counts[empty]])
    order = np.argsort(points, kind="stable")
    return (points[order], before[order] / max(before.sum(), 1.0), after[order] / max(after.sum(), 1.0))


def number_distances(values: Floats, before: Floats, after: Floats) -> ColumnDistances:
    """Return the total variation, Kolmogorov-Smirnov and Wasserstein distance of two distributions.

    Wasserstein's is divided by the range of the values, so all three are in [0, 1].
    """
    # Wasserstein's distance in one dimension is the area between both distribution functions
    gap = np.cumsum(after - before)
    span = float(values[-1] - values[0]) if len(values) else 0.0
    moved = float((np.abs(gap[:-1]) * np.diff(values)).sum()) / span if span > 0 else 0.0
    return {
        "total_variation": _total_variation(before, after),
        "kolmogorov_smirnov": float(np.abs(gap).max(initial=0.0)),
        "wasserstein": moved,
    }


def _total_variation(before: Floats, after: Floats) -> float:
    """Return the total variation distance, rounded to 12 decimals so that rounding errors count as 0."""
    return round(float(np.abs(after - before).sum() / 2), 12)


def column_distances(column: ReleasedColumn) -> ColumnDistances:
    """Return the distances of one released quasi-identifier from the original column."""
    if column.is_number:
        return number_distances(*value_shares(column))
    return {"total_variation": _total_variation(*category_shares(column))}


def category_shares(column: ReleasedColumn) -> tuple[Floats, Floats]:
    """Return the original and the released share of each category, missing last."""
    before = column.whole.counts() / max(len(column.whole.codes), 1)
    return before, column.counts @ column.shares / max(len(column.codes), 1)


def sensitive_distances(before: Column, after: Column) -> ColumnDistances:
    """Return the distances of one released sensitive column from the original one."""
    values, *shares = sensitive_shares(before, after)
    return number_distances(values, *shares) if before.is_number else {"total_variation": _total_variation(*shares)}


def sensitive_shares(before: Column, after: Column) -> tuple[Floats, Floats, Floats]:
    """Return a sensitive column's numbers, or its original codes, with their original and released shares.

    Missing numbers are left out; of categories, missing has the last code but one, and whatever the original lacks
    the last.
    """
    if before.is_number:
        values = np.union1d(before.values, after.values)
        both: list[Any] = [np.zeros(len(values)) for _ in range(2)]
        for counts, column in zip(both, (before, after), strict=True):
            counts[np.searchsorted(values, column.values)] = column.counts()[:-1]
    else:  # categories that the original lacks add up to the same distance
        m = before.n_values + 1
        values = np.arange(m + 1.0)
        both = [np.append(before.counts(), 0), np.bincount(after.codes_in(before, unknown=m), minlength=m + 1)]
    one, other = (counts / max(counts.sum(), 1.0) for counts in both)
    return values, one, other


@dataclass(frozen=True, eq=False)
class Variable:
    """A column as input to `dependence`: the codes of its categories, or each row's number.

    The mean is subtracted from numbers, which changes no dependence; missing
    ones are 0 and have a 0 in `present` (None if nothing is missing). Where codes are cells that can stand for
    several categories, `shares` has a sparse row for each, with the share of every category.
    """

    name: str
    codes: npt.NDArray[Any]
    numbers: Floats | None = None
    present: Floats | None = None
    shares: Any = None

    @classmethod
    def from_codes(cls, name: str, codes: npt.NDArray[Any], numbers: Floats | None = None) -> Variable:
        """Build from the codes of a column; `numbers` has the number behind each code, NaN for missing."""
        if numbers is None:
            return cls(name, codes)
        y = numbers[codes]
        present = np.isfinite(y)
        if present.all():
            return cls(name, codes, y - y.mean())
        middle = float(y[present].mean()) if present.any() else 0.0
        return cls(name, codes, np.where(present, y - middle, 0.0), present.astype(np.float64))

    @cached_property
    def norm(self) -> float:
        """Return the sum of the squared centred numbers; 0 for categories."""
        return float(self.numbers @ self.numbers) if self.numbers is not None else 0.0

    def by_category(self, weights: Floats | None = None) -> Floats:
        """Return the number of rows in each category, or the sum of their weights."""
        if self.shares is None:
            return np.bincount(self.codes, weights).astype(np.float64)
        return np.asarray(np.bincount(self.codes, weights, self.shares.shape[0]) @ self.shares)


def dependence(a: Variable, b: Variable) -> float | None:
    """Return the strength of the dependence of two columns, in [0, 1], rounded to 12 decimals.

    |Pearson's correlation| of two numbers, the correlation ratio (eta) of a
    number given a category, the symmetric uncertainty coefficient of two
    categories. None if it is undefined (a constant column) or the contingency
    table of two categories would be too large.
    """
    if a.numbers is None and b.numbers is None:
        strength = _uncertainty(a, b)
    elif a.numbers is None or b.numbers is None:
        strength = _correlation_ratio(*((a, b) if a.numbers is None else (b, a)))
    else:
        strength = _correlation(a, b)
    # sums depend on the order of the rows in their last bits
    return None if strength is None else round(strength, 12)


def _correlation(a: Variable, b: Variable) -> float | None:
    x, y = a.numbers, b.numbers
    assert x is not None
    assert y is not None
    product, squares = float(x @ y), (a.norm, b.norm)
    if a.present is not None or b.present is not None:  # only the rows that have both
        in_x = a.present if a.present is not None else np.ones(len(x))
        in_y = b.present if b.present is not None else np.ones(len(y))
        n, sum_x, sum_y = float(in_x @ in_y), float(x @ in_y), float(y @ in_x)
        if n < 2:
            return None
        product -= sum_x * sum_y / n
        squares = (float((x * x) @ in_y) - sum_x**2 / n, float((y * y) @ in_x) - sum_y**2 / n)
    # constant but for rounding
    if squares[0] <= 1e-12 * a.norm or squares[1] <= 1e-12 * b.norm:
        return None
    return min(abs(product) / float(np.sqrt(squares[0] * squares[1])), 1.0)


def _correlation_ratio(a: Variable, b: Variable) -> float | None:
    if b.norm <= 0:
        return None
    sizes, sums = a.by_category(b.present), a.by_category(b.numbers)
    between = float((sums[sizes > 0] ** 2 / sizes[sizes > 0]).sum())
    return float(np.sqrt(min(between / b.norm, 1.0)))


def _uncertainty(a: Variable, b: Variable) -> float | None:
    shares = [identity(int(v.codes.max()) + 1) if v.shares is None else v.shares for v in (a, b)]
    (n, rows), (width, columns) = (each.shape for each in shares)
    # wide pairs would say little: nearly every combination is one record
    if rows * columns > _TABLE:
        return None
    if a.shares is None and b.shares is None:
        table = np.bincount(a.codes.astype(np.int64) * width + b.codes, minlength=n * width).reshape(n, width)
    else:  # as a reader draws: each column from its own cell
        cells = csr_array((np.ones(len(a.codes)), (a.codes, b.codes)), (n, width))
        table = (shares[0].T @ cells @ shares[1]).toarray()
    joint = table / len(a.codes)
    entropies = [float(entr(p).sum()) for p in (joint.sum(axis=1), joint.sum(axis=0), joint)]
    total = entropies[0] + entropies[1]
    return None if total <= 1e-12 else float(np.clip(2 * (total - entropies[2]) / total, 0.0, 1.0))


def variables(pair: TablePair) -> tuple[list[Variable], list[Variable]]:
    """Return the original and the released columns as two lists of `Variable`, in the same order.

    Released ranges count as their middle; a released set or generalised category counts as its categories,
    by their shares.
    """
    quasi = pair.released_quasi
    before = map(_variable, (*(column.whole for column in quasi), *pair.unchanged.sensitive))
    return list(before), [*map(_released, quasi), *map(_variable, pair.released_sensitive)]


def _released(column: ReleasedColumn) -> Variable:
    if column.is_number:
        return Variable.from_codes(column.name, column.codes, column.middle)
    return Variable(column.name, column.codes, shares=column.shares if column.general else None)


def _variable(column: Column) -> Variable:
    return Variable.from_codes(column.name, column.codes, column.by_code if column.is_number else None)


def dependences(before: Sequence[Variable], after: Sequence[Variable]) -> Dependences:
    """Return the dependence of each pair of columns before and after, and the mean and largest change."""
    pairs: list[DependencePair] = []
    for i, j in combinations(range(len(before)), 2):
        one, two = dependence(before[i], before[j]), dependence(after[i], after[j])
        if one is not None and two is not None:
            pairs.append({"columns": [before[i].name, before[j].name], "before": one, "after": two})
    gaps = [abs(p["before"] - p["after"]) for p in pairs]
    return {
        "mean_difference": float(np.mean(gaps)) if gaps else None,
        "largest_difference": float(max(gaps)) if gaps else None,
        "pairs": pairs,
    }


class ColumnDistances(TypedDict):
    """Distances of a column's distributions before and after; the last two for numbers, 0 to 1."""

    total_variation: OrNull[Share]
    total_variation_of_runs: NotRequired[OrNull[Share]]
    kolmogorov_smirnov: NotRequired[OrNull[Share]]
    wasserstein: NotRequired[OrNull[Share]]


class DependencePair(TypedDict):
    """The strength of the dependence of two columns, before and after."""

    columns: Sequence[str]
    before: OrNull[Share]
    after: OrNull[Share]


class Dependences(TypedDict):
    """The dependences of all pairs of columns, and the mean and largest change."""

    mean_difference: float | None
    largest_difference: float | None
    pairs: Sequence[DependencePair]


class Distributions(TypedDict):
    """Each measured column's distances from the whole original, and the pairwise dependences."""

    columns: Mapping[str, ColumnDistances]
    dependence: Dependences


def distribution_summary(pair: TablePair) -> Distributions:
    """Return each measured column's distances from the whole original, and the pairwise dependences."""
    columns = {e.name: column_distances(e) for e in pair.released_quasi}
    for a, b in zip(pair.unchanged.sensitive, pair.released_sensitive, strict=True):
        columns[a.name] = sensitive_distances(a, b)
        if a.name in pair.guarded:  # which tells hardly any number by its own value: records move between runs
            runs = sensitive_distances(*(as_runs(column, pair.guarded[a.name]) for column in (a, b)))
            columns[a.name]["total_variation_of_runs"] = runs["total_variation"]
    return {"columns": columns, "dependence": dependences(*variables(pair))}


FIGURES = (
    Figure(
        {"utility.distributions": Distributions | None},
        lambda t: distribution_summary(t.sides.plain),
        needs=("both tables",),
    ),
)
