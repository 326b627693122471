"""Put the rows of a unit side by side, in the original and in a released table, so that an audit counts units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from ..columns.table import Table
from ..columns.units import widened, widened_again
from ..errors import InputError, UnsupportedError
from ..guard.guarding import FEWEST
from ..io.read import read
from ..plan import UnitForm
from ..plan.records import TIME
from ..schema import Schema
from ..texts import refusal, text
from .subject import Subject, roles


def by_units(
    what: Subject, original: Table | None, schema: Schema, control: Any = None
) -> tuple[Subject, Table | None, Table | None]:
    """Return a long release, its original and its control as tables of units; other tables as they are.

    Parameters
    ----------
    what : Subject
    original : Table, optional
    schema : Schema
        Of the long tables.
    control : table, optional
        Long rows of people who are not in the original.

    Raises
    ------
    InputError
        The plan is of another table, or units of the release do not fit it.
    UnsupportedError
        There is neither an original nor a plan, which say what the slots are.
    """
    form = None if what.plan is None else what.plan.units
    if not schema.is_long:
        return what, original, control
    if original is None and form is None:
        raise UnsupportedError(
            "which rows of units belong to which slot is not known of a released table alone",
            hint="give the original, or the release folder with its plan",
        )
    of_units, notes = roles(what.plan) if what.plan else schema, what.notes
    if original is not None:
        unit = schema.unit_column or ""
        ids, used = (each.arrow.column(unit).unique().to_pylist() for each in (what.table, original))
        if not {*map(str, ids)}.isdisjoint(map(str, used)):
            notes = (*notes, text("note", "identifiers", names=unit))
        units = widened(original, schema, FEWEST if form is None else form.people)
        if form is not None and units.form != form:
            raise InputError(**refusal("other_table"))
        form, original, of_units = units.form, units.table, units.schema
    assert form is not None
    long = what.table.arrow
    try:
        wide = _rows_in_slots(long, form) if what.plan is None else widened_again(long, form, _types(form, long))
    except InputError as error:
        raise InputError(f"the file is not what its plan makes: {error.message}", hint=error.hint) from error
    if what.plan is None and (n := long.num_rows - _n_rows(wide, form)):
        notes = (*notes, text("note", "without_slot", n=n, name=form.by))
    table = Table(wide, layout=what.table.layout)
    table.units = form
    if control is not None:
        control = Table(_rows_in_slots(read(control, schema=schema).arrow, form))
        control.units = form
    return replace(what, table=table, schema=of_units, units=form, notes=notes), original, control


def _rows_in_slots(long: pa.Table, form: UnitForm) -> pa.Table:
    """Return rows that Hedgerow did not make as a table of units, without those that have no slot."""
    if form.order == TIME:  # they stand in any order
        long = long.sort_by([(form.unit, "ascending"), (form.by, "ascending")])
    return widened_again(long, form, _types(form, long), strict=False)


def _n_rows(wide: pa.Table, form: UnitForm) -> int:
    return sum(pattern.count("1") for pattern in wide.column(form.presence).to_pylist())


def refuse_units(**values: object) -> None:
    """Raise UnsupportedError for what an audit of units cannot take."""
    if names := ", ".join(name for name, value in values.items() if value is not None):
        raise UnsupportedError(f"{names} does not go with several rows a unit", hint="leave it out")


def _types(form: UnitForm, long: pa.Table) -> pa.Schema:
    """Return the columns of the table of units with their types."""
    kinds = {}
    for name, (column, slot) in form.cells.items():
        kinds[name] = long.schema.field(column).type
        if name == form.presence:
            kinds[name] = pa.string()
        elif column in form.moving and slot > 0:
            kinds[name] = pa.float64() if form.decimals[form.moving.index(column)] else pa.int64()
    return pa.schema(kinds.items())
