"""Tables as predictors (ranks with sorted dictionaries) and responses (integers)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...columns.column import Column
from ...columns.numbers import LARGEST
from ...columns.table import Table
from ...errors import ParameterError, SchemaError
from ...notation import MISSING
from ...schema import Schema

Codes = NDArray[np.int32]
# the most categories of a column for which all subsets are tried
MOST_SUBSETS = 12


@dataclass(frozen=True)
class Predictor:
    """One encoded predictor: each record's rank, and the number or category of each rank.

    Parameters
    ----------
    name : str
        Column name.
    codes : array of int32, shape (n,)
        Rank of every record's value.
    values : array of float64, shape (d,)
        Sorted distinct numbers; empty for categories.
    labels : tuple of str
        Categories in their published order; empty for numbers.
    alone : tuple of bool
        Categories that a one-against-rest split may single out: those that stand
        for one original category. Empty means all.
    wide : bool
        Whether the original column has too many categories for all subsets.
    missing : bool
        Whether the last category stands for missing values.
    unit : str
        For dates "day" or "us" (since 1970); empty otherwise.
    """

    name: str
    codes: Codes
    values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    labels: tuple[str, ...] = ()
    alone: tuple[bool, ...] = ()
    wide: bool = False
    missing: bool = False
    unit: str = ""

    @property
    def numeric(self) -> bool:
        """Return whether the column holds numbers."""
        return not self.labels

    @property
    def n_values(self) -> int:
        """Return the number of distinct values."""
        return len(self.labels) or len(self.values)


@dataclass(frozen=True)
class PredictedColumn:
    """The encoded response: class codes, or numbers scaled and rounded to integers, whose sums are exact.

    The image of numbers is rint((y - centre) * 2**shift), so small that the
    sum over all records stays below 2**53: sums are exact in any order, hence
    a function of the record set alone. Centre and shift depend on the values
    of y, which are released unchanged, so both sides compute the same image.
    """

    codes: NDArray[np.int64]
    labels: tuple[str, ...] = ()
    y: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    shift: int = 0

    @property
    def classes(self) -> bool:
        """Return whether the response consists of classes (and not of numbers)."""
        return bool(self.labels)

    @property
    def n(self) -> int:
        """Return the number of records."""
        return len(self.codes)

    @classmethod
    def from_classes(cls, y: Sequence[str], labels: Sequence[str] | None = None) -> PredictedColumn:
        """Encode class labels by their position in `labels`, by default in sorted order."""
        values, codes = np.unique(np.asarray(y, dtype=str), return_inverse=True)
        if labels is not None:
            rank = {label: i for i, label in enumerate(labels)}
            if any(str(v) not in rank for v in values):
                raise ParameterError("the response holds a class that the model does not know")
            codes = np.asarray([rank[str(v)] for v in values])[codes]
        return cls(codes.astype(np.int64), tuple(labels or map(str, values)))

    @classmethod
    def from_numbers(cls, y: Any) -> PredictedColumn:
        """Encode numbers as scaled integers with exact sums; raise ParameterError if any is missing or infinite."""
        y = np.asarray(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise ParameterError(f"{(~np.isfinite(y)).sum()} responses are missing or infinite", hint="drop them")
        centre = float(floor(y.min() / 2 + y.max() / 2)) if len(y) else 0.0
        reach = float(np.abs(y - centre).max()) if len(y) else 0.0
        # frexp: reach < 2**e and len(y) < 2**b, so the image may use 52 - e - b more bits.
        shift = 52 - frexp(reach or 1.0)[1] - len(y).bit_length()
        return cls(np.rint(np.ldexp(y - centre, shift)).astype(np.int64), (), y, shift)


def encode_predictor(table: Table, schema: Schema, name: str, single: bool) -> tuple[Column, Predictor]:
    """Encode one column as a predictor: ranks of exact numbers (of float32 if `single`), or of categories.

    Parameters
    ----------
    table : Table
    schema : Schema
        For declared kinds and categories.
    name : str
        Column name.
    single : bool
        Whether a builder casts to float32 (scikit-learn); then only numbers will do.
    """
    # scikit-learn sees True as 1, so a threshold can separate truth values.
    kind = table.declared_kind(schema, name)
    if single and kind == "boolean":
        kind = "numeric"
    categories = schema.categories.get(name)
    if categories and name not in schema.kinds:
        kind = "ordinal"
    column = table.column(name, kind=kind, categories=categories)
    if not column.is_number:
        if single:
            raise ParameterError(
                f"column {name!r} holds categories; scikit-learn's trees take only numbers",
                hint="give X as the estimator saw it (one-hot encoded, say)",
            )
        labels = (*column.values, *((MISSING,) if column.has_missing else ()))
        ranks, wide = column.codes.astype(np.int32), len(labels) > MOST_SUBSETS
        return column, Predictor(name, ranks, labels=labels, wide=wide, missing=column.has_missing)
    values, codes = column.doubles, column.codes
    if single:
        with np.errstate(over="ignore"):
            cast = values.astype(np.float32).astype(np.float64)
        if not np.isfinite(cast).all():
            raise ParameterError(f"column {name!r} holds numbers too large for float32")
        # Several doubles may be one float32: a tree cannot separate them, so they share a rank.
        values, rank = np.unique(cast + 0.0, return_inverse=True)
        codes = rank[codes]
    return column, Predictor(name, codes.astype(np.int32), values, unit=column.unit)


def check_numbers(table: Table, schema: Schema, names: Sequence[str]) -> None:
    """Raise one ParameterError that names all numeric predictors with missing, infinite or huge numbers."""
    faults = []
    for name in names:
        kind = table.declared_kind(schema, name)
        if kind not in ("numeric", "date") or schema.categories.get(name):
            continue
        column = table.column(name, kind=kind)
        if column.has_missing:
            faults.append(f"{name!r} has {int(column.counts()[-1]):,} missing values (NaN)")
        elif column.infinite:
            faults.append(f"{name!r} has infinite values")
        elif column.n_values and float(np.abs(column.values).max()) > LARGEST:
            faults.append(f"{name!r} has values beyond {LARGEST:g}")
    if faults:
        raise ParameterError(
            f"numeric predictors hold what no threshold can: {', '.join(faults)}",
            hint="impute them, leave those records or columns out, or declare them categorical",
        )


def encode_response(table: Table, name: str, classes: bool, kind: str | None = None) -> PredictedColumn:
    """Encode the response as classes or numbers; raise an error if values are missing or all equal."""
    if not classes and (kind or table.kind(name)) not in ("numeric", "boolean"):
        raise ParameterError(
            f"the response {name!r} holds categories, and a regression tree needs numbers",
            hint='use a classification criterion, such as "entropy"',
        )
    column = table.column(name, kind="categorical" if classes else "numeric")
    if column.has_missing:
        raise ParameterError(f"response {name!r} is missing in {column.counts()[-1]} records", hint="leave them out")
    if column.infinite:
        raise ParameterError(f"the response {name!r} holds infinite values")
    if column.n_values < 2:
        raise ParameterError(f"the response {name!r} is constant, so there is no tree to keep")
    if classes:
        # So many classes are numbers, and a tree of shares would tell next to nothing.
        if table.kind(name) == "numeric" and column.n_values > 1000:
            raise ParameterError(
                f"the response {name!r} has {column.n_values:,} numbers, too many for classes", hint='use "variance"'
            )
        return PredictedColumn(column.codes.astype(np.int64), tuple(column.values))
    return PredictedColumn.from_numbers(column.doubles[column.codes])


def sensitive_codes(table: Table, name: str) -> NDArray[np.int64]:
    """Return a sensitive column's codes, shape (n,); missing values have a code of their own."""
    if name not in table.names:
        raise SchemaError(f"no sensitive column {name!r}", hint="the table's columns are: " + ", ".join(table.names))
    codes: Any = table.column(name, kind="categorical").codes
    return np.asarray(codes, dtype=np.int64)
