"""Relations between the rows of one person or household, in an original and in its release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Literal, TypedDict

import numpy as np

from ...columns.table import Table
from ...errors import SchemaError
from ...json_types import Amount, Count, OrNull, Share
from ...measures import Floats, Ints
from ...notation import DAY
from ...plan import UnitForm
from ...plan.records import MEMBER
from ...schema import Schema
from ..figure import Figure

# the fewest units that show a number, and that have a value whose followers are compared
_FEWEST, _OFTEN = 30, 50
# the most slots that two rows are apart, and the most rows that units are counted by
_APART, MOST_ROWS = 4, 12


class UnitRows(TypedDict):
    """The rows of units; ``shares``: of the units with one row, two rows and so on, the last one with all more."""

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
    None: "followers", the largest difference between the shares of the values that follow a value, and "steps", the
    Kolmogorov-Smirnov distance of steps.
    """

    column: str
    measure: Literal["correlation", "same", "change", "followers", "step", "days", "steps"]
    apart: Count
    members: Sequence[str]
    original: OrNull[float] | None
    release: OrNull[float]


class UnitsKept(TypedDict):
    """The rows of units, and the relations between them; ``order``: what tells the rows of a unit apart."""

    order: Literal["wave", "member", "time"]
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
            relations += _relations(tables, schema, form, name)
        except SchemaError:  # ranges and sets in place of numbers
            continue
    order: Literal["wave", "member", "time"] = form.order  # type: ignore[assignment]
    before, after = (_rows(table, form) for table in tables)
    return {"order": order, "original": before, "release": after, "relations": relations}


def _rows(table: Table, form: UnitForm) -> UnitRows:
    column = table.column(form.presence, kind="categorical")
    n = np.array([*(str(value).count("1") for value in column.values), 0])[column.codes]
    shares = np.bincount(np.minimum(n, MOST_ROWS), minlength=MOST_ROWS + 1)[1:] / max(len(n), 1)
    return {
        "units": len(n), "rows": int(n.sum()), "mean": float(n.mean()), "deviation": float(n.std()),
        "shares": np.trim_zeros(shares, "b").tolist(),
    }  # fmt: skip


def _relations(tables: Sequence[Table], schema: Schema, form: UnitForm, name: str) -> Iterator[RowRelation]:
    """Yield what the rows of units show of one column."""
    slots, is_member = list(form.slots_of(name)), form.order == MEMBER
    if name in form.moving:
        yield from _steps(tables, form, name)
    if name not in form.repeated or name == form.by or len(slots) < 2:
        return
    cells, is_number = _cells(tables, schema, form, name, slots[: form.labelled] if is_member else slots)
    measure, of = ("correlation", _correlation) if is_number else ("same", _same)
    if is_member:
        two = combinations(range(form.labelled), 2)
        for i, j in sorted(two, key=lambda each: -len(_pairs(cells[0], *each)[0])):
            values = [of(*_pairs(each, i, j)) for each in cells]
            yield from _relation(name, measure, values, members=(form.slots[i], form.slots[j]))
        return
    for apart in range(1, min(_APART + 1, len(slots)) if is_number else 1):
        r = np.array([[_correlation(*_pairs(each, i, i + apart)) for i in range(len(slots) - apart)] for each in cells])
        r = r[:, np.isfinite(r).all(axis=0)]
        if r.size:
            yield from _relation(name, measure, r.mean(axis=1).tolist(), apart)
    following = [[np.concatenate(each[:-1]), np.concatenate(each[1:])] for each in cells]
    if is_number:
        yield from _relation(name, "change", [_change(*_pairs(each, 0, 1)) for each in following], 1)
    else:
        yield from _relation(name, measure, [_same(*_pairs(each, 0, 1)) for each in following], 1)
        yield from _relation(name, "followers", [_followers(following, [len(each[0]) for each in cells])], 1)


def _relation(
    column: str, measure: Any, values: Sequence[float], apart: int = 0, members: Sequence[str] = ()
) -> Iterator[RowRelation]:
    """Yield a relation that enough units show: of the original and the release, or one number on both."""
    if np.isfinite(values).all():
        yield {
            "column": column, "measure": measure, "apart": apart, "members": list(members),
            "original": values[0] if len(values) > 1 else None, "release": values[-1],
        }  # fmt: skip


def _steps(tables: Sequence[Table], form: UnitForm, name: str) -> Iterator[RowRelation]:
    """Yield how the steps of a moving column compare."""
    unit, wide = form.step_units[form.moving.index(name)], [form.wide_name(name, slot) for slot in form.slots_of(name)]
    cells = [[np.empty(0), *(table.column(each, kind="numeric").numbers for each in wide[1:])] for table in tables]
    steps = [np.sort(every[np.isfinite(every)]) for every in map(np.concatenate, cells)]
    if min(map(len, steps)) < _FEWEST:
        return
    means = [float(each.mean()) * (unit / DAY if unit > 1 else 1.0) for each in steps]
    yield from _relation(name, "days" if unit else "step", means)
    below = [np.searchsorted(each, np.concatenate(steps), side="right") / len(each) for each in steps]
    yield from _relation(name, "steps", [float(np.abs(below[0] - below[1]).max())])


def _cells(
    tables: Sequence[Table], schema: Schema, form: UnitForm, name: str, slots: Sequence[int]
) -> tuple[list[list[Floats]], bool]:
    """Return a column's cells by table and slot, as numbers or codes of categories, and whether they are numbers."""
    wide = [form.wide_name(name, slot) for slot in slots]
    models = [each for each in (tables[0].declared_column(schema, each) for each in wide) if each.n_values]
    if models and all(each.is_number for each in models):
        unit = max(each.unit for each in models) or None  # days, or microseconds if a slot has any
        return [[t.column(each, kind=models[0].kind, unit=unit).numbers for each in wide] for t in tables], True
    codes: dict[str, int] = {}
    columns = [[table.column(each, kind="categorical") for each in wide] for table in tables]
    return [
        [np.array([*(codes.setdefault(v, len(codes)) for v in c.values), np.nan])[c.codes] for c in each]
        for each in columns
    ], False


def _pairs(cells: Sequence[Floats], i: int, j: int) -> tuple[Floats, Floats]:
    """Return the cells of two slots, of the units that have both."""
    chosen = np.isfinite(cells[i]) & np.isfinite(cells[j])
    return cells[i][chosen], cells[j][chosen]


def _correlation(x: Floats, y: Floats) -> float:
    if len(x) < _FEWEST or not (np.ptp(x) > 0 and np.ptp(y) > 0):
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])


def _same(x: Floats, y: Floats) -> float:
    return float((x == y).mean()) if len(x) >= _FEWEST else np.nan


def _change(x: Floats, y: Floats) -> float:
    return float((y - x).std()) if len(x) >= _FEWEST else np.nan


def _followers(tables: Sequence[Sequence[Floats]], n_units: Sequence[int]) -> float:
    """Return the largest difference between the shares of values that follow a value; NaN if too few units have any.

    Parameters
    ----------
    tables : sequence of pairs of arrays
        The codes in all slots but the last, one slot after the other, and those in the slots that follow.
    n_units : sequence of int
    """
    n = 1 + max(int(np.fmax.reduce(cells, initial=0.0)) for both in tables for cells in both)
    is_often, keys = np.ones(n, bool), list[Ints]()
    for (cells, following), units in zip(tables, n_units, strict=True):
        rows = np.flatnonzero(np.isfinite(cells + following))
        code = cells[rows].astype(np.int64)
        is_often &= np.bincount(np.unique(code * units + rows % units) // units, minlength=n) >= _OFTEN
        keys.append(code * n + following[rows].astype(np.int64))
    pairs, at = np.unique(np.concatenate(keys), return_inverse=True)
    first, shares = pairs // n, list[Floats]()
    for places in np.split(at, [len(keys[0])]):
        counts = np.bincount(places, minlength=len(pairs))
        shares.append(counts / np.maximum(np.bincount(first, counts, minlength=n), 1)[first])
    return float(np.abs(shares[0] - shares[1])[is_often[first]].max(initial=0.0)) if is_often.any() else np.nan


FIGURES = (
    Figure(
        {"utility.units": UnitsKept | None},
        lambda task: units_kept(task.original, task.what.table, task.what.schema, task.what.units),
        needs=("both tables",),
        says="rows of units",
    ),
)
