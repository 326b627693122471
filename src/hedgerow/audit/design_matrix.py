"""Numbers that a learner can read: from released cells, and from true values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..classes import FloatArray, IntArray
from ..table import Column, Table
from .released_values import ReleasedColumn

NEAR = 1e-6
"""Distances that differ by less are the same but for rounding."""
_BLOCK = 1 << 22
"""Pairs of people and rows that are at hand at once."""
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


def true_values(column: Column, rows: Any = slice(None)) -> npt.NDArray[Any]:
    """The numbers of some rows, NaN where missing; of categories their codes."""
    codes = column.codes[rows]
    return column.by_code[codes] if column.is_number else codes.astype(np.int64)


def values_in(original: Column, table: Table) -> npt.NDArray[Any]:
    """`true_values` of a column of another table, categories in the codes of `original`."""
    if original.is_number:
        return table.like(original).numbers
    return table.like(original).codes_in(original, unknown=original.n_values)


def shown_values(own: Column, shown: Column) -> tuple[npt.NDArray[Any], FloatArray]:
    """Codes of a released column, those of `own` where it has categories; the numbers of codes."""
    if own.is_number:
        return shown.codes, shown.by_code
    return shown.codes_in(own, unknown=own.n_values), np.zeros(own.n_values + 1)


def known_rows(released: Sequence[ReleasedColumn], rows: IntArray) -> Known:
    """The true values of people in the table."""
    return Known(tuple(true_values(column.original, rows) for column in released))


def known_table(released: Sequence[ReleasedColumn], table: Table) -> Known:
    """The true values of other people, in the original table's codes."""
    return Known(tuple(values_in(column.original, table) for column in released))


def design_released(released: Sequence[ReleasedColumn], rows: IntArray) -> FloatArray:
    """Released rows as a matrix, shape (n, n_features).

    Numbers stand scaled to [0, 1] (ranges at their middle) with a flag for
    missing where one occurs; categories as one column each, in which a released
    set puts its shares. `design_known` has the same columns, so a learner
    trained on the release can be asked about true values.
    """
    parts = []
    for column in released:
        cells = column.codes[rows]
        if column.is_number:
            parts.append(_numbers(column, column.middle[cells], column.absent[cells]))
        else:
            place = _places(column)
            grouped = np.zeros((column.n_cells, int(place.max()) + 1))
            for code, to in enumerate(place):
                grouped[:, to] += column.shares[:, code]
            parts.append(grouped[cells])
    return np.hstack(parts)


def design_known(released: Sequence[ReleasedColumn], people: Known) -> FloatArray:
    """True values as a matrix with the columns of `design_released`."""
    parts = []
    for column, values in zip(released, people.columns, strict=True):
        if column.is_number:
            parts.append(_numbers(column, values, 1.0 * ~np.isfinite(values)))
        else:
            place = _places(column)
            parts.append(np.eye(int(place.max()) + 1)[place[values]])
    return np.hstack(parts)


def feature_columns(released: Sequence[ReleasedColumn]) -> IntArray:
    """For each feature the quasi-identifier it comes from."""
    widths = []
    for column in released:
        wide = (
            1 + column.original.has_missing if column.is_number else int(_places(column).max()) + 1
        )
        widths.append(wide)
    return np.repeat(np.arange(len(widths)), widths)


def _numbers(column: ReleasedColumn, y: FloatArray, absent: FloatArray) -> FloatArray:
    """A number on the scale of its column, and the share of missing ones where some are."""
    original = column.original
    if original.n_values:
        counts = original.counts()[:-1]
        middle = original.values[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]
        scaled = (np.where(absent < 1.0, y, middle) - original.values[0]) / (column.span or 1.0)
    else:
        scaled = np.zeros(len(y))
    columns = [scaled, absent] if original.has_missing else [scaled]
    return np.stack(columns, axis=1)


def _places(column: ReleasedColumn) -> IntArray:
    """The feature of each category code (the last code is missing)."""
    m = column.original.n_values + 1
    place = np.arange(m)
    if m > _WIDEST:
        order = np.lexsort((np.arange(m), -column.original.counts()))
        place = np.full(m, _WIDEST - 1)
        place[order[: _WIDEST - 1]] = np.arange(_WIDEST - 1)
    return place


def distances(
    released: Sequence[ReleasedColumn], people: Known, rows: IntArray
) -> list[npt.NDArray[np.float32]]:
    """Per column, how far each person is from each released row: arrays (n_people, n_rows).

    A number's distance is that to the nearest end of the range over the
    column's span, 0 inside; a category's is 0 when the cell may stand for it,
    else 1. Missing agrees with cells that may be missing.
    """
    out = []
    for column, known in zip(released, people.columns, strict=True):
        cells = column.codes[rows]
        if column.is_number:
            lo = np.where(np.isfinite(column.lo), column.lo, np.inf)[cells]
            hi = np.where(np.isfinite(column.hi), column.hi, -np.inf)[cells]
            x = known[:, None]
            away = np.maximum(np.maximum(lo - x, x - hi), 0.0) / (column.span or 1.0)
            away = np.where(np.isfinite(x), np.minimum(away, 1.0), ~column.missing[cells])
        else:
            values, place = np.unique(known, return_inverse=True)
            table = np.ones((len(values), column.n_cells), np.float32)
            for i, value in enumerate(values):
                every = np.arange(column.n_cells)
                table[i] = ~column.covers(np.full(column.n_cells, value), every)
            away = table[place.reshape(-1)][:, cells]
        away = np.where(column.anything[cells], 0.0, away)
        out.append(away.astype(np.float32))
    return out


def distance_blocks(
    released: Sequence[ReleasedColumn], people: Known, rows: IntArray
) -> Iterator[tuple[slice, list[npt.NDArray[np.float32]]]]:
    """`distances` of a few people at a time, so that no table of all pairs is made."""
    step = max(1, _BLOCK // max(len(rows), 1))
    for begin in range(0, len(people), step):
        part = slice(begin, min(begin + step, len(people)))
        yield part, distances(released, people.part(part), rows)


def nearest_of(columns: Sequence[npt.NDArray[np.float32]]) -> npt.NDArray[np.bool_]:
    """Which released rows lie at each person's smallest distance, summed over the columns."""
    total = np.sum(columns, axis=0)
    return np.asarray(total <= total.min(axis=1, keepdims=True) + NEAR)
