"""Turn released cells and true values into matrices that a learner can read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ..columns.column import Column
from ..columns.table import Table
from ..measures import Floats, Ints
from .released_values import ReleasedColumn

# in place of a person's released row: it is not known which one is the person's; there is none
UNKNOWN, OUTSIDE = -1, -2
# categories beyond the most frequent ones share a column
WIDEST = 60


@dataclass(frozen=True, eq=False)
class Known:
    """The true quasi-identifiers of a set of people, as an intruder knows them.

    Parameters
    ----------
    columns : tuple of arrays, each of shape (n_people,)
        Per quasi-identifier the numbers (NaN missing), or the codes of the
        original categories (missing and unknown ones have the last code).
    """

    columns: tuple[npt.NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    @classmethod
    def joined(cls, *parts: Known) -> Known:
        """Concatenate several groups of people."""
        return cls(tuple(np.concatenate(c) for c in zip(*(p.columns for p in parts), strict=True)))

    def part(self, rows: Any) -> Known:
        """Return only the people at the given positions."""
        return Known(tuple(c[rows] for c in self.columns))


@dataclass(frozen=True, eq=False)
class Everybody:
    """The true quasi-identifiers of everybody in a table, in the order of the released rows.

    Parameters
    ----------
    quasi : Known
    order : int array, shape (n_rows,)
        The rows sorted by their content.
    """

    quasi: Known
    order: Ints


def true_values(column: Column, rows: Any = slice(None)) -> npt.NDArray[Any]:
    """Return the values of the given rows: numbers (NaN if missing) or category codes."""
    codes = column.codes[rows]
    return column.by_code[codes] if column.is_number else codes.astype(np.int64)


def in_codes_of(original: Column, column: Column, unknown: int) -> Column:
    """Return a column of another table; its categories get the codes of `original`."""
    codes = column.codes_in(original, unknown=unknown)
    return column if original.is_number else replace(original, codes=codes, here=column.here)


def shown_values(original: Column, released: Column) -> tuple[npt.NDArray[Any], Floats]:
    """Return a released column's codes (categories as in `original`), and the number that each code stands for."""
    if original.is_number:
        return released.codes, released.by_code
    return released.codes_in(original, unknown=original.n_values), np.zeros(original.n_values + 1)


def known_rows(released: Sequence[ReleasedColumn], rows: Ints) -> Known:
    """Return the true quasi-identifiers of the given people in the table."""
    return Known(tuple(true_values(column.original, rows) for column in released))


def known_table(released: Sequence[ReleasedColumn], table: Table) -> Known:
    """Return the true quasi-identifiers of the people in another table, encoded with the original's codes."""
    columns = (column.original for column in released)
    return Known(tuple(true_values(in_codes_of(c, table.like(c), c.n_values)) for c in columns))


def design_released(released: Sequence[ReleasedColumn], rows: Ints) -> Floats:
    """Return released rows as a feature matrix for learners, shape (n, n_features).

    Numbers are scaled to [0, 1] (ranges at their middle), with a flag for missing
    values if the column has any. Each category is a feature, and a released set has
    its shares there. `design_known` has the same columns, so a learner that was
    trained on the release can forecast for true values.
    """
    parts = []
    for column in released:
        cells = column.codes[rows]
        if column.is_number:
            parts.append(_numbers(column, column.middle[cells], column.absent[cells]))
        else:
            # computed per distinct cell, of which there are few, and then taken by rows
            parts.append((column.shares @ indicators(column.original)).toarray()[cells])
    return np.hstack(parts)


def design_known(released: Sequence[ReleasedColumn], people: Known) -> Floats:
    """Return true values as a feature matrix with the columns of `design_released`."""
    parts = []
    for column, values in zip(released, people.columns, strict=True):
        if column.is_number:
            parts.append(_numbers(column, values, 1.0 * ~np.isfinite(values)))
        else:
            parts.append(indicators(column.original)[values].toarray())
    return np.hstack(parts)


def feature_columns(released: Sequence[ReleasedColumn]) -> Ints:
    """Return the index of the quasi-identifier that each feature comes from; shape (n_features,)."""
    widths = [1 + c.original.has_missing if c.is_number else indicators(c.original).shape[1] for c in released]
    return np.repeat(np.arange(len(widths)), widths)


def _numbers(column: ReleasedColumn, y: Floats, absent: Floats) -> Floats:
    """Scale numbers to [0, 1], and add a feature that flags missing values if the column has any."""
    original = column.original
    if original.n_values:
        counts = original.counts()[:-1]
        # a missing number stands at the median, and its flag says that it is missing
        middle = original.values[np.searchsorted(np.cumsum(counts), counts.sum() / 2)]
        scaled = (np.where(absent < 1.0, y, middle) - original.values[0]) / (column.span or 1.0)
    else:
        scaled = np.zeros(len(y))
    return np.stack([scaled, absent] if original.has_missing else [scaled], axis=1)


def indicators(column: Column) -> Any:
    """Return one-hot features of the category codes, the last for missing; sparse, (n_codes, n_features).

    The most frequent have a feature of their own, the others share one.
    """
    place = column.value_counts.frequent(WIDEST)
    n = len(place)
    return csr_array((np.ones(n), (np.arange(n), place)), shape=(n, int(place.max()) + 1))
