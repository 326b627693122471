"""Numbers that a learner can read: from extents (the release) and from values (the truth)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..classes import FloatArray, IntArray
from ..table import Column, Table
from .released_values import Extent

_WIDEST = 60
"""Categories beyond the most frequent ones share a column."""


@dataclass(frozen=True, eq=False)
class Known:
    """What an intruder knows about some people: the true quasi-identifiers.

    Parameters
    ----------
    columns : tuple of arrays, each of shape (n_people,)
        Per quasi-identifier the numbers (NaN missing), or the codes of the
        original categories (missing and unknown ones have the last code).
    """

    columns: tuple[npt.NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def part(self, rows: Any) -> Known:
        """Some of the people."""
        return Known(tuple(c[rows] for c in self.columns))


def known_rows(extents: Sequence[Extent], rows: IntArray) -> Known:
    """The true values of people in the table."""
    out: list[npt.NDArray[Any]] = []
    for extent in extents:
        domain = extent.domain
        out.append(
            domain.by_code[domain.codes[rows]]
            if domain.is_number
            else domain.codes[rows].astype(np.int64)
        )
    return Known(tuple(out))


def known_table(extents: Sequence[Extent], table: Table) -> Known:
    """The true values of other people, in the original table's codes."""
    out: list[npt.NDArray[Any]] = []
    for extent in extents:
        domain = extent.domain
        if domain.is_number:
            column = table.column(domain.name, kind=domain.kind, unit=domain.unit or None)
            out.append(column.numbers)
        else:
            out.append(codes_in(domain, table))
    return Known(tuple(out))


def codes_in(domain: Column, table: Table) -> IntArray:
    """A column of another table in the codes of `domain`; unknown categories become missing."""
    column = table.column(domain.name, kind=domain.kind, categories=tuple(domain.values))
    return column.codes_in(domain, unknown=domain.n_values)


def design_released(extents: Sequence[Extent], rows: IntArray) -> FloatArray:
    """Released rows as a matrix, shape (n, n_features).

    Numbers stand scaled to [0, 1] (ranges at their middle) with a flag for
    missing where one occurs; categories as one column each, in which a released
    set puts its shares. `design_known` has the same columns, so a learner
    trained on the release can be asked about true values.
    """
    parts = []
    for extent in extents:
        cells = extent.codes[rows]
        if extent.is_number:
            parts.append(_numbers(extent, extent.middle[cells], ~np.isfinite(extent.lo[cells])))
        else:
            place = _places(extent)
            grouped = np.zeros((extent.n_cells, int(place.max()) + 1))
            for code, to in enumerate(place):
                grouped[:, to] += extent.shares[:, code]
            parts.append(grouped[cells])
    return np.hstack(parts)


def design_known(extents: Sequence[Extent], people: Known) -> FloatArray:
    """True values as a matrix with the columns of `design_released`."""
    parts = []
    for extent, column in zip(extents, people.columns, strict=True):
        if extent.is_number:
            parts.append(_numbers(extent, column, ~np.isfinite(column)))
        else:
            place = _places(extent)
            parts.append(np.eye(int(place.max()) + 1)[place[column]])
    return np.hstack(parts)


def feature_columns(extents: Sequence[Extent]) -> IntArray:
    """For each feature the quasi-identifier it comes from."""
    widths = []
    for extent in extents:
        wide = 1 + extent.domain.has_missing if extent.is_number else int(_places(extent).max()) + 1
        widths.append(wide)
    return np.repeat(np.arange(len(widths)), widths)


def _numbers(extent: Extent, y: FloatArray, gone: npt.NDArray[np.bool_]) -> FloatArray:
    domain = extent.domain
    if domain.n_values:
        counts = domain.counts()[:-1]
        middle = domain.values[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]
        span = float(domain.values[-1] - domain.values[0]) or 1.0
        scaled = (np.where(gone, middle, y) - domain.values[0]) / span
    else:
        scaled = np.zeros(len(y))
    columns = [scaled, gone.astype(np.float64)] if domain.has_missing else [scaled]
    return np.stack(columns, axis=1)


def _places(extent: Extent) -> IntArray:
    """The feature of each category code (the last code is missing)."""
    m = extent.domain.n_values + 1
    place = np.arange(m)
    if m > _WIDEST:
        order = np.lexsort((np.arange(m), -extent.domain.counts()))
        place = np.full(m, _WIDEST - 1)
        place[order[: _WIDEST - 1]] = np.arange(_WIDEST - 1)
    return place


def distances(
    extents: Sequence[Extent], people: Known, rows: IntArray
) -> list[npt.NDArray[np.float32]]:
    """Per column, how far each person is from each released row: arrays (n_people, n_rows).

    A number's distance is that to the nearest end of the range over the
    column's span, 0 inside; a category's is 0 when the cell may stand for it,
    else 1. Missing agrees with cells that may be missing.
    """
    out = []
    for extent, column in zip(extents, people.columns, strict=True):
        cells = extent.codes[rows]
        if extent.is_number:
            domain = extent.domain
            span = (float(domain.values[-1] - domain.values[0]) if domain.n_values else 0.0) or 1.0
            lo = np.where(np.isfinite(extent.lo), extent.lo, np.inf)[cells]
            hi = np.where(np.isfinite(extent.hi), extent.hi, -np.inf)[cells]
            x = column[:, None]
            away = np.maximum(np.maximum(lo - x, x - hi), 0.0) / span
            away = np.where(np.isfinite(x), np.minimum(away, 1.0), ~extent.missing[cells])
        else:
            values, place = np.unique(column, return_inverse=True)
            table = np.ones((len(values), extent.n_cells), np.float32)
            for i, value in enumerate(values):
                every = np.arange(extent.n_cells)
                table[i] = ~extent.covers(np.full(extent.n_cells, value), every)
            away = table[place.reshape(-1)][:, cells]
        away = np.where(extent.anything[cells], 0.0, away)
        out.append(away.astype(np.float32))
    return out
