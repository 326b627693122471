"""From a table to predictors and responses, and from plans back to a recoding of that table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...columns.column import Column
from ...columns.numbers import LARGEST
from ...columns.table import Table
from ...errors import ParameterError, PromiseError, SchemaError, did_you_mean
from ...notation import MISSING
from ...plan import ColumnMap
from ...schema import Schema
from .builder import BuiltTree
from .predictors import MOST_SUBSETS, PredictedColumn, Predictor
from .sanitize import ColumnPlan, group_labels


@dataclass(frozen=True)
class EncodedPredictor:
    """A predictor with the column it came from; `rank` leads from its values to the predictor's."""

    column: Column
    predictor: Predictor
    rank: NDArray[np.int64]


def encode_predictor(table: Table, schema: Schema, name: str, single: bool) -> EncodedPredictor:
    """Encode one predictor exactly.

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
                f"column {name!r} holds categories, and scikit-learn's trees see numbers alone",
                hint="give X as the estimator saw it (one-hot encoded, say)",
            )
        labels = (*column.values, *((MISSING,) if column.has_missing else ()))
        predictor = Predictor(
            name,
            column.codes.astype(np.int32),
            labels=labels,
            wide=len(labels) > MOST_SUBSETS,
            missing=column.has_missing,
        )
        return EncodedPredictor(column, predictor, np.arange(len(labels)))
    values = column.doubles
    rank = np.arange(len(values))
    if single:
        with np.errstate(over="ignore"):
            cast = values.astype(np.float32).astype(np.float64)
        if not np.isfinite(cast).all():
            raise ParameterError(f"column {name!r} holds numbers too large for float32")
        values, rank = np.unique(cast + 0.0, return_inverse=True)
    predictor = Predictor(name, rank[column.codes].astype(np.int32), values, unit=column.unit)
    return EncodedPredictor(column, predictor, rank)


def check_numbers(table: Table, schema: Schema, names: Sequence[str]) -> None:
    """Refuse missing, infinite and huge numbers, all columns at fault in one error."""
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


def exact_in_single(encoded: Sequence[EncodedPredictor]) -> list[str]:
    """The numeric columns whose values float32 cannot hold."""
    return [
        e.predictor.name
        for e in encoded
        if e.predictor.numeric
        and not np.array_equal(np.asarray(e.column.values), e.predictor.values)
    ]


def encode_response(
    table: Table, name: str, classes: bool, kind: str | None = None
) -> PredictedColumn:
    """Encode the response as classes or numbers; missing and constant ones are refused."""
    if name not in table.names:
        raise SchemaError(f"no column {name!r} for the response{did_you_mean(name, table.names)}")
    if not classes and (kind or table.kind(name)) not in ("numeric", "boolean"):
        raise ParameterError(
            f"the response {name!r} holds categories, and a regression tree needs numbers",
            hint='use a classification criterion, such as "entropy"',
        )
    column = table.column(name, kind="categorical" if classes else "numeric")
    if column.has_missing:
        raise ParameterError(
            f"the response {name!r} is missing in {int(column.counts()[-1])} records",
            hint="leave those records out",
        )
    if column.infinite:
        raise ParameterError(f"the response {name!r} holds infinite values")
    if column.n_values < 2:
        raise ParameterError(f"the response {name!r} is constant, so there is no tree to keep")
    if classes:
        if table.kind(name) == "numeric" and column.n_values > 1000:
            raise ParameterError(
                f"the response {name!r} has {column.n_values} different numbers, and a "
                "classification tree was asked",
                hint='use criterion "variance"',
            )
        return PredictedColumn(column.codes.astype(np.int64), tuple(column.values))
    return PredictedColumn.of_numbers(column.doubles[column.codes])


def column_map(
    encoded: EncodedPredictor, plan: ColumnPlan, feature: int, trees: Sequence[BuiltTree]
) -> ColumnMap:
    """The recoding of one predictor as a plan record."""
    column, predictor = encoded.column, encoded.predictor
    name = predictor.name
    if not predictor.numeric:
        labels = group_labels(predictor, plan)
        released = [labels[g] for g in plan.group]
        missing = released.pop() if predictor.missing else None
        default = labels[0] if plan.n_groups == 1 else "*"
        return ColumnMap(
            name,
            "quasi",
            column.kind,
            column.unit,
            categories=tuple(column.values),
            labels=tuple(released),
            default=default,
            missing=missing,
        )
    values = np.asarray(column.values, dtype=np.float64)
    block = plan.group[encoded.rank]
    first = np.flatnonzero(np.diff(block)) + 1
    cuts = sorted(
        {
            np.nextafter(n.threshold, np.inf) if t.closed_left else n.threshold
            for t in trees
            for n in t.nodes
            if n.feature == feature
        }
    )
    between = []
    for at in first:
        a, b = float(values[at - 1]), float(values[at])
        inside = [c for c in cuts if a < c <= b]
        middle = a / 2 + b / 2
        between.append(float(inside[0]) if inside else middle if a < middle <= b else b)
    if not np.array_equal(np.searchsorted(between, values, side="right"), block):
        raise PromiseError(f"the plan of column {name!r} does not lead to its sanitized values")
    return ColumnMap(
        name,
        "quasi",
        column.kind,
        column.unit,
        cuts=tuple(between),
        labels=plan.values,
        default=None,
    )


def sensitive_codes(table: Table, name: str) -> NDArray[np.int64]:
    """A sensitive column's values as codes; missing is a value of its own."""
    if name not in table.names:
        raise SchemaError(
            f"no sensitive column {name!r}",
            hint="the table's columns are: " + ", ".join(table.names),
        )
    codes: Any = table.column(name, kind="categorical").codes
    return np.asarray(codes, dtype=np.int64)
