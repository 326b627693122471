"""Columns as categories: what is randomized, and what the sensitive values are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...columns.column import Column, quantile_bins, smallest
from ...columns.table import Table
from ...errors import ParameterError, SchemaError
from ...notation import interval

Bins = int | Mapping[str, int | Sequence[float]]
DEFAULT_BINS = 8


@dataclass(frozen=True)
class Coded:
    """A column as codes 0 .. d - 1, a missing value being a category of its own (the last).

    Parameters
    ----------
    name, kind, unit : str
    codes : unsigned integer array of shape (n,)
    categories : tuple of str, float or None
    cuts : tuple of float
        Where numbers and dates are cut.
    """

    name: str
    kind: str
    unit: str
    codes: NDArray[np.unsignedinteger]
    categories: tuple[str | float | None, ...]
    cuts: tuple[float, ...] = ()

    @property
    def d(self) -> int:
        """Number of categories."""
        return len(self.categories)


def coded(
    table: Table, name: str, kind: str | None, categories: Sequence[str] | None, bins: Bins
) -> Coded:
    """Encode one column; numbers and dates are cut into bins of whole distinct values."""
    column = table.column(name, kind=kind, categories=categories)
    if column.infinite:
        raise SchemaError(
            f"column {name!r} holds infinite values", hint="repair or drop those rows"
        )
    if column.n_values == 0:
        raise SchemaError(f"column {name!r} holds missing values only", hint="leave it out")
    if not column.is_number:
        labels: tuple[str | float | None, ...] = tuple(column.values)
        return _with_missing(column, column.codes, labels, ())
    values = column.doubles
    wanted = bins.get(name, DEFAULT_BINS) if isinstance(bins, Mapping) else bins
    if isinstance(wanted, (int, np.integer)) and not isinstance(wanted, bool):
        if wanted < 2:
            raise ParameterError(f"column {name!r} must be cut into at least 2 bins, not {wanted}")
        cut = quantile_bins(column.value_counts, int(wanted))
        return _numbers(
            column, cut.codes(column.codes), cut.lo, cut.hi, tuple(cut.thresholds.tolist())
        )
    cuts = np.asarray(wanted, dtype=float)
    if cuts.ndim != 1 or not np.all(np.diff(cuts) > 0) or not np.all(np.isfinite(cuts)):
        raise ParameterError(f"the cuts of column {name!r} must be increasing numbers")
    place = np.searchsorted(cuts, values, side="right")
    used, part = np.unique(place, return_inverse=True)
    first = np.searchsorted(place, used)
    last = np.searchsorted(place, used, side="right") - 1
    lut = np.append(part, len(used)).astype(smallest(len(used) + 1))
    return _numbers(
        column,
        lut[column.codes],
        values[first],
        values[last],
        tuple(cuts[used[1:] - 1].tolist()),
    )


def _numbers(
    column: Column,
    codes: NDArray[Any],
    lo: NDArray[np.float64],
    hi: NDArray[np.float64],
    cuts: tuple[float, ...],
) -> Coded:
    labels: tuple[str | float | None, ...]
    if np.array_equal(lo, hi) and not column.unit:
        labels = tuple(lo.tolist())
    else:
        labels = tuple(interval(a, b, column.unit) for a, b in zip(lo, hi, strict=True))
    return _with_missing(column, codes, labels, cuts)


def _with_missing(
    column: Column,
    codes: NDArray[Any],
    labels: tuple[str | float | None, ...],
    cuts: tuple[float, ...],
) -> Coded:
    if column.has_missing:
        labels = (*labels, None)
    return Coded(column.name, column.kind, column.unit, codes, labels, cuts)


def label(category: str | float | None) -> str:
    """A category in a message."""
    if category is None:
        return "(missing)"
    return interval(category, category) if isinstance(category, float) else category


def find_value(columns: Sequence[Coded], text: str) -> tuple[int, int]:
    """(column, category) of ``column=value``, or of a bare value when there is one column.

    The value is matched with its released label (a bin's label for numbers).
    """
    name, sign, value = text.partition("=")
    for number, column in enumerate(columns):
        labels = {label(c): i for i, c in enumerate(column.categories)}
        if sign and column.name == name and value in labels:
            return number, labels[value]
        if len(columns) == 1 and text in labels:
            return number, labels[text]
    raise ParameterError(
        "a named value is not a category of these columns: " + ", ".join(c.name for c in columns),
        hint="write column=value with a value that occurs (a bin's label for numbers)",
    )
