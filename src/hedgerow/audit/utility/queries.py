"""Random counting and averaging queries, answered from the release and from the original."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from ...measures import FloatArray, group
from ..released_values import ReleasedColumn
from ..table_pair import Pair, TablePair

COLUMNS, WIDTH = 2, 0.3
"""Quasi-identifiers in a query, and the share of a column's distinct values it asks for."""
FLOOR = 0.001
"""Of the table: smaller answers are judged as if they were as large."""
BINS, SMALLEST = 10, 30
"""Ranges that a number is grouped by, and people of a group that is asked about."""
_TABLE = 1 << 22
"""Largest table of combinations that is counted directly."""


def _condition(column: ReleasedColumn, generator: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Return a random condition on the original values (one flag a value, missing never)."""
    m = column.original.n_values
    chosen = np.zeros(m + 1, np.bool_)
    size = max(1, round(WIDTH * m))
    if column.is_number:
        first = int(generator.integers(0, m - size + 1))
        chosen[first : first + size] = True
    else:
        chosen[generator.choice(m, size, replace=False)] = True
    return chosen


def _overlap(column: ReleasedColumn, chosen: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the share of each released cell that a condition asks for, its values taken as even."""
    if not column.is_number:
        return column.shares @ chosen
    values = column.original.values
    wanted = values[chosen[:-1]]
    known = np.isfinite(column.lo)
    ends = [np.where(known, e, 0.0) for e in (column.lo, column.hi)]
    total = np.searchsorted(values, ends[1], "right") - np.searchsorted(values, ends[0], "left")
    hit = np.searchsorted(wanted, ends[1], "right") - np.searchsorted(wanted, ends[0], "left")
    point = (column.middle >= wanted[0]) & (column.middle <= wanted[-1])
    share = np.where(total > 0, hit / np.maximum(total, 1), point)
    return np.where(known, share, 0.0)


def range_queries(pair: TablePair, *, n_queries: int = 100, random_state: int = 0) -> dict[str, Any]:
    """Return the relative errors of random counts "how many people have ... and ...".

    Parameters
    ----------
    pair : Pair
        The tables.
    n_queries : int
        How many.
    random_state : int
        Where the queries come from.

    Returns
    -------
    dict
        ``mean``, ``median``, ``p90`` of the relative errors
        |estimate - truth| / max(truth, FLOOR * n), and ``queries``.
    """
    generator = np.random.default_rng(random_state)
    usable = [j for j, e in enumerate(pair.released_quasi) if e.original.n_values > 1]
    if not usable:
        return {"mean": 0.0, "median": 0.0, "p90": 0.0, "queries": 0}
    joint = _JointCounts(pair)
    errors = []
    for _ in range(n_queries):
        picked = sorted(generator.choice(usable, min(COLUMNS, len(usable)), replace=False).tolist())
        wanted = [_condition(pair.released_quasi[j], generator) for j in picked]
        exact = joint.original(picked, wanted)
        guess = joint.released(
            picked,
            [_overlap(pair.released_quasi[j], w) for j, w in zip(picked, wanted, strict=True)],
        )
        errors.append(abs(guess - exact) / max(exact, FLOOR * pair.original.n_rows))
    return {
        "mean": float(np.mean(errors)),
        "median": float(np.median(errors)),
        "p90": float(np.quantile(errors, 0.9)),
        "queries": n_queries,
    }


class _JointCounts:
    """Counts of rows by the columns of a query, kept for the next query of the same columns."""

    def __init__(self, pair: TablePair) -> None:
        self._pair = pair
        self._cells: dict[tuple[bool, tuple[int, ...]], tuple[list[Any], FloatArray]] = {}

    def original(self, picked: list[int], wanted: list[npt.NDArray[Any]]) -> float:
        """Return how many original rows fit."""
        return self._sum(False, picked, wanted)

    def released(self, picked: list[int], shares: list[FloatArray]) -> float:
        """Return how many people fit by the release, its cells counting by their shares."""
        return self._sum(True, picked, shares) * self._pair.people_per_row

    def _sum(self, released: bool, picked: list[int], shares: list[npt.NDArray[Any]]) -> float:
        key = (released, tuple(picked))
        if key not in self._cells:
            columns = [self._pair.released_quasi[j] for j in picked]
            codes = [c.codes if released else c.whole.codes for c in columns]
            self._cells[key] = _counted(codes, len(codes[0]))
        codes, total = self._cells[key]
        for cells, share in zip(codes, shares, strict=True):
            total = total * share[cells]
        return float(total.sum())


def _counted(codes: list[npt.NDArray[Any]], n_rows: int) -> tuple[list[Any], FloatArray]:
    """Return the distinct combinations of codes, column by column, and how often each occurs."""
    shape = tuple(int(c.max()) + 1 for c in codes)
    if prod(shape) > _TABLE:
        made = group(codes, n_rows)
        return [c[made.first] for c in codes], made.sizes.astype(np.float64)
    keys = np.zeros(n_rows, np.int64)
    for column, width in zip(codes, shape, strict=True):
        keys = keys * width + column
    counts = np.bincount(keys, minlength=prod(shape))
    cells = np.flatnonzero(counts)
    return list(np.unravel_index(cells, shape)), counts[cells].astype(np.float64)


def group_queries(
    pair: TablePair, before: FloatArray | None = None, after: FloatArray | None = None
) -> dict[str, Any]:
    """Return the relative errors of "the average ... by ..." for every number and quasi-identifier.

    `before` and `after` are the weights of the original's and of the released rows; 1 by default.

    Numeric quasi-identifiers are cut into `BINS` ranges of about equal counts;
    groups of fewer than `SMALLEST` people are left out, as are averages of 0.
    """
    errors: dict[str, float] = {}
    classes = pair.classes
    for own, shown in zip(pair.unchanged.sensitive, pair.released_sensitive, strict=True):
        if not own.is_number:
            continue
        y = own.numbers
        z = shown.numbers
        y_known, z_known = np.isfinite(y), np.isfinite(z)
        y, z = np.where(y_known, y, 0.0), np.where(z_known, z, 0.0)
        w = np.ones(len(y)) if before is None else before
        v = np.ones(len(z)) if after is None else after
        sums = np.bincount(classes.labels, v * z, classes.n_groups)
        sizes = np.bincount(classes.labels, v * z_known, classes.n_groups)
        for column in pair.released_quasi:
            by_value = [
                np.bincount(column.whole.codes, part, column.whole.n_values + 1)
                for part in (w * y, w * y_known, y_known)
            ]
            found = []
            for chosen in _parts(column):
                total, people, n = (float(part[chosen].sum()) for part in by_value)
                if n < SMALLEST or total == 0:
                    continue
                truth = total / people
                share = _overlap(column, chosen)[column.codes[classes.first]]
                weight = float((share * sizes).sum())
                guess = float((share * sums).sum()) / weight if weight > 0 else 0.0
                found.append(abs(guess - truth) / abs(truth))
            if found:
                errors[f"{own.name} by {column.name}"] = float(np.mean(found))
    return {"mean": float(np.mean(list(errors.values()))) if errors else None, "by": errors}


def _parts(column: ReleasedColumn) -> list[npt.NDArray[np.bool_]]:
    """Return the groups of a GROUP BY: categories, or ranges of about equal counts."""
    m = column.original.n_values
    if not column.is_number:
        part = np.arange(m)
    else:
        counts = column.whole.counts()[:m]
        part = ((np.cumsum(counts) - counts) * BINS) // max(int(counts.sum()), 1)
    return [np.append(part == p, False) for p in np.unique(part)[:200]]


def query_summary(pair: TablePair, *, random_state: int = 0) -> dict[str, Any]:
    """Return the errors of both kinds of query."""
    return {
        "range": range_queries(pair, random_state=random_state),
        "group_by": group_queries(pair),
    }


def estimates(pair: Pair, weights: str) -> dict[str, Any] | None:
    """Return the estimates of the population from the original, and as a recipient makes them.

    Parameters
    ----------
    pair : Pair
    weights : str
        The column of sampling weights.

    Returns
    -------
    dict or None
        ``people``: summed weights; ``columns``: totals and means of numbers, and of categories the
        largest change of a share (each ``original`` and ``release``); ``group_by``: relative errors of
        weighted means by each quasi-identifier. None where the release shows no weights.

    Notes
    -----
    A released range stands for the original values inside it, evenly; a set for its members.
    """
    before = pair.original.column(weights, kind="numeric").numbers
    after = released_weights(pair, weights)
    if after is None:
        return None
    columns: dict[str, dict[str, Any]] = {}
    for own, shown in zip(pair.unchanged.sensitive, pair.released_sensitive, strict=True):
        if own.is_number and shown.is_number:
            columns[own.name] = _numbers((own.numbers, before), (shown.numbers, after))
        elif not own.is_number:
            codes, m = shown.codes_in(own, unknown=own.n_values), own.n_values + 1
            columns[own.name] = _shares(_share(own.codes, before, m), _share(codes, after, m))
    for column in pair.released_quasi:
        own = column.whole
        if column.name == weights:
            continue
        if own.is_number:
            told = _expected(column)[column.codes]
            columns[column.name] = _numbers((own.numbers, before), (told, after))
        else:
            mass = np.bincount(column.codes, after, column.n_cells) @ column.shares
            was = _share(own.codes, before, own.n_values + 1)
            columns[column.name] = _shares(was, np.asarray(mass) / after.sum())
    return {
        "weight": weights,
        "people": {"original": float(before.sum()), "release": float(after.sum())},
        "columns": columns,
        "group_by": group_queries(pair, before, after),
    }


def released_weights(pair: Pair, weights: str) -> FloatArray | None:
    """Return the weights of the released rows as a recipient reads them; None where there are none."""
    for column in pair.released_quasi:
        if column.name == weights:
            return _expected(column)[column.codes]
    if weights not in pair.released.names:
        return None
    return pair.released.column(weights, kind="numeric").numbers[pair.released_rows]


def _expected(column: Any) -> FloatArray:
    """Return the mean of the original values inside each cell of numbers, each value once; NaN for missing."""
    values = np.asarray(column.whole.values, np.float64)
    sums = np.append(0.0, np.cumsum(values))
    known = np.isfinite(column.lo)
    lo = np.searchsorted(values, np.where(known, column.lo, 0.0), "left")
    hi = np.searchsorted(values, np.where(known, column.hi, 0.0), "right")
    inside = hi - lo
    mean = (sums[hi] - sums[lo]) / np.maximum(inside, 1)
    return np.where(known, np.where(inside > 0, mean, column.middle), np.nan)


def _numbers(
    before: tuple[FloatArray, FloatArray], after: tuple[FloatArray, FloatArray]
) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "number", "total": {}, "mean": {}}
    for side, (y, w) in (("original", before), ("release", after)):
        known = np.isfinite(y)
        total, people = float((w[known] * y[known]).sum()), float(w[known].sum())
        found["total"][side], found["mean"][side] = total, total / people if people else None
    return found


def _share(codes: Any, weights: FloatArray, m: int) -> FloatArray:
    return np.bincount(codes, weights, m) / weights.sum()


def _shares(before: FloatArray, after: FloatArray) -> dict[str, Any]:
    return {"kind": "categories", "largest_change": float(np.abs(after - before).max(initial=0.0))}
