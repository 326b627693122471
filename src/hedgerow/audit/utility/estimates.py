"""What a survey is for: weighted totals, means and tables, before and after."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...measures import FloatArray
from ..table_pair import Pair
from .queries import group_queries


def estimates(pair: Pair, weights: str) -> dict[str, Any] | None:
    """Estimates of the population from the original, and as a recipient makes them.

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
    """The weights of the released rows as a recipient reads them; None where there are none."""
    for column in pair.released_quasi:
        if column.name == weights:
            return _expected(column)[column.codes]
    if weights not in pair.released.names:
        return None
    return pair.released.column(weights, kind="numeric").numbers[pair.released_rows]


def _expected(column: Any) -> FloatArray:
    """The mean of the original values inside each cell of numbers, each value once; NaN for missing."""
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
