"""Relations between the rows of one person or household, in an original and in its release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise
from typing import Any, Literal, TypedDict

import numpy as np

from ...columns.table import Table
from ...errors import SchemaError
from ...json_types import Amount, Count, OrNull, Share
from ...measures import Floats
from ...notation import DAY
from ...plan import UnitForm
from ...plan.records import MEMBER
from ...schema import Schema
from ..figure import Figure

# the fewest units that show a number, and that have a value whose followers are compared
_FEWEST, _OFTEN = 30, 50
# the most slots that two rows are apart, rows that units are counted by, and values of a column with followers
_APART, _MOST_ROWS, _MOST_VALUES = 4, 12, 500


class UnitRows(TypedDict):
    """The rows of units; ``shares``: of the units with one row, two rows and so on to twelve or more."""

    units: Count
    rows: Count
    mean: Amount
    deviation: Amount
    shares: Sequence[Share]


class RowRelation(TypedDict):
    """A number on one column in several rows of a unit, which enough units of both tables show.

    ``measure``: "correlation" of numbers, or "same": the share of equal categories, in rows that are ``apart`` waves
    or places in time, or of two ``members`` of a household; "change": the standard deviation of the change from one
    row to the next; "step" or "days": the mean of a moving column's steps. Two compare both tables, so ``original`` is
    None: "followers", the largest difference between the shares of the values that follow a frequent one, and "steps",
    the Kolmogorov-Smirnov distance of steps.
    """

    column: str
    measure: Literal["correlation", "same", "change", "followers", "step", "days", "steps"]
    apart: Count
    members: Sequence[str]
    original: OrNull[float] | None
    release: OrNull[float]


class UnitsKept(TypedDict):
    """The rows of units, and the relations between them; ``order``: what tells the rows of a unit apart."""

    order: str
    original: UnitRows
    release: UnitRows
    relations: Sequence[RowRelation]


def units_kept(original: Table, released: Table, schema: Schema, form: UnitForm | None) -> UnitsKept | None:
    """Compare the rows of units in two tables of units; None for other tables.

    Parameters
    ----------
    original, released : Table
        One row a unit, with the columns `form.cells`.
    schema : Schema
        Of these columns.
    form : UnitForm, optional
    """
    if form is None:
        return None
    tables, relations = (original, released), list[RowRelation]()
    for name in form.names:
        try:
            for measure, values, lag, members in _relations(tables, schema, form, name):
                if np.isfinite(values).all():
                    before = values[0] if len(values) > 1 else None
                    relations.append({
                        "column": name, "measure": measure, "apart": lag, "members": members,
                        "original": before, "release": values[-1],
                    })  # fmt: skip
        except SchemaError:  # ranges and sets in place of numbers
            continue
    rows = [_rows(table, form) for table in tables]
    return {"order": form.order, "original": rows[0], "release": rows[1], "relations": relations}


def _rows(table: Table, form: UnitForm) -> UnitRows:
    column = table.column(form.presence, kind="categorical")
    n = np.array([*(str(value).count("1") for value in column.values), 0])[column.codes]
    shares = np.bincount(np.minimum(n, _MOST_ROWS), minlength=_MOST_ROWS + 1)[1:] / max(len(n), 1)
    moments = {"mean": float(n.mean()), "deviation": float(n.std())}
    return {"units": len(n), "rows": int(n.sum()), **moments, "shares": shares.tolist()}  # type: ignore[typeddict-item]


def _relations(
    tables: Sequence[Table], schema: Schema, form: UnitForm, name: str
) -> Iterator[tuple[Any, list[float], int, Sequence[str]]]:
    """Yield what the rows of units show of a column: measure, one number or that of each table, lag, and members."""
    wide = [form.wide_name(name, slot) for slot in form.slots_of(name)]
    if len(wide) < 2 or (name == form.by and name not in form.moving):
        return
    if name in form.moving:
        cells, unit = _cells(tables, schema, wide[1:])[0], form.step_units[form.moving.index(name)]
        steps = [np.sort(each[np.isfinite(each)]) for each in map(np.concatenate, cells)]
        if min(map(len, steps)) >= _FEWEST:
            means = [float(each.mean()) * (unit / DAY if unit > 1 else 1.0) for each in steps]
            yield "days" if unit else "step", means, 0, ()
            below = [np.searchsorted(each, np.concatenate(steps), side="right") / len(each) for each in steps]
            yield "steps", [float(np.abs(below[0] - below[1]).max())], 0, ()
        return
    cells, is_number = _cells(tables, schema, wide)
    measure = "correlation" if is_number else "same"
    if form.order == MEMBER:
        for i, j in combinations(range(form.labelled), 2):
            both = [_measured(measure, each[i], each[j]) for each in cells]
            yield measure, both, 0, (form.slots[i], form.slots[j])
        return
    for lag in range(1, min(_APART + 1, len(wide)) if is_number else 1):
        pairs = [[_measured(measure, *two) for two in zip(each, each[lag:], strict=False)] for each in cells]
        r = np.array(pairs)[:, np.isfinite(pairs).all(axis=0)]
        yield measure, r.mean(axis=1).tolist() if r.size else [np.nan], lag, ()
    pooled = [(np.concatenate(each[:-1]), np.concatenate(each[1:])) for each in cells]
    yield (now := "change" if is_number else measure), [_measured(now, *each) for each in pooled], 1, ()
    if not is_number:
        yield "followers", [_followers(cells)], 1, ()


def _cells(tables: Sequence[Table], schema: Schema, wide: Sequence[str]) -> tuple[list[list[Floats]], bool]:
    """Return the cells of columns by table and slot, as numbers or codes of values, and whether they are numbers."""
    models = [each for each in (tables[0].declared_column(schema, each) for each in wide) if each.n_values]
    if models and all(each.is_number for each in models):
        unit = max(each.unit for each in models) or None  # days, or microseconds if a slot has any
        return [[t.column(each, kind=models[0].kind, unit=unit).numbers for each in wide] for t in tables], True
    columns = [[table.column(each, kind="categorical") for each in wide] for table in tables]
    code = {v: i for i, v in enumerate(dict.fromkeys(v for each in columns for c in each for v in c.values))}
    return [[np.array([*map(code.get, c.values), np.nan], float)[c.codes] for c in each] for each in columns], False


def _measured(measure: str, x: Floats, y: Floats) -> float:
    """Return a measure of the units that have both values; NaN if too few have, or if one does not vary."""
    both = np.isfinite(x) & np.isfinite(y)
    x, y = x[both], y[both]
    if len(x) < _FEWEST or (measure == "correlation" and not (np.ptp(x) and np.ptp(y))):
        return np.nan
    if measure == "correlation":
        return float(np.corrcoef(x, y)[0, 1])
    return float((x == y).mean() if measure == "same" else (y - x).std())


def _followers(tables: Sequence[Sequence[Floats]]) -> float:
    """Return the largest difference between the shares of values that follow one that enough units have in a slot."""
    n = 1 + max(int(np.fmax.reduce(cells, initial=0.0)) for each in tables for cells in each)
    if n > _MOST_VALUES:
        return np.nan
    is_often, shares = np.ones(n, bool), list[Floats]()
    for each in tables:
        pairs = [x * n + y for x, y in pairwise(each)]
        counts = [np.bincount(p[np.isfinite(p)].astype(int), minlength=n * n).reshape(n, n) for p in pairs]
        is_often &= np.max([some.sum(axis=1) for some in counts], axis=0) >= _OFTEN
        total = np.sum(counts, axis=0)
        shares.append(total / np.maximum(total.sum(axis=1, keepdims=True), 1))
    return float(np.abs(shares[0] - shares[1])[is_often].max()) if is_often.any() else np.nan


FIGURES = (
    Figure(
        {"utility.units": UnitsKept | None},
        lambda task: units_kept(task.original, task.what.table, task.what.schema, task.what.units),
        needs=("both tables",),
        says="rows of units",
    ),
)
