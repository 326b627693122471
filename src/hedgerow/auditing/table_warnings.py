"""Warn readers of an audit of columns that are not what they seem."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..columns.column import Column
from ..columns.roles import MOST_CODES
from ..columns.table import Table
from ..measures import Floats, Persons
from ..schema import Schema
from ..texts import text

_NUMBER = re.compile(r"\s*([-+]?\d+([.,/]\d+)*|\d{4}-\d\d-\d\d([T ].*)?)\s*$")


def table_notes(before: Table, after: Table, schema: Schema) -> list[str]:
    """Return notes on the people and columns of a release."""
    notes = numbers_as_text(before, schema)
    if (persons := Persons.from_table(before, schema.person, schema.household)) is not None:
        notes += filter(None, [persons.caution(), persons.unit and text("note", "people", person=schema.person)])
    notes += released_identifiers(after, schema)
    # a guard may have changed the weights, which figures of their own are about
    weight = None if schema.weight in schema.other else schema.weight
    if others := [n for n in after.names if schema.role(n) in ("other", "undeclared") and n != weight]:
        notes.append(text("note", "no_role", names=", ".join(others)))
    return notes


def released_identifiers(after: Table, schema: Schema) -> list[str]:
    """Return a note on direct identifiers that are still in the release."""
    named = [n for n in schema.identifiers if n in after.names]
    return [text("note", "identifiers", names=", ".join(named))] if named else []


def numbers_as_text(table: Table, schema: Schema) -> list[str]:
    """Return a note on sensitive text columns that contain only numbers or dates but have no declared kind."""

    def reads_so(name: str) -> bool:
        if {name} & {*schema.kinds, *schema.categories} or table.kind(name) != "categorical":
            return False
        values = table.column(name).values
        return len(values) > MOST_CODES and all(_NUMBER.match(v) for v in values)

    names = ", ".join(name for name in schema.sensitive if reads_so(name))
    return [text("note", "numbers_as_text", names=names)] if names else []


def left_open(sensitive: Sequence[Column], released_as: Sequence[Column]) -> list[str]:
    """Return a note on sensitive categories that the release suppresses or merges."""
    categories = [both for both in zip(sensitive, released_as, strict=True) if not both[0].is_number]
    rows = {original.name: (released.codes_in(original, unknown=-1) < 0).sum() for original, released in categories}
    return _note("left_open", [f"{name} ({out:,} rows)" for name, out in rows.items() if out])


def out_of_range(columns: Sequence[tuple[Column, Floats]]) -> list[str]:
    """Return a note on numbers that are mostly outside the original range, which suggests another unit."""
    faults = []
    for original, released in columns:
        there = released[np.isfinite(released)]
        low, high = (original.values[0], original.values[-1]) if original.n_values else (-np.inf, np.inf)
        out = int(((there < low) | (there > high)).sum())
        # a method may put a few numbers beyond the extremes; another unit puts most there
        if 2 * out > len(there):
            faults.append(f"{original.name} ({out:,} of {len(there):,} rows)")
    return _note("out_of_range", faults)


def exchanged(columns: Sequence[tuple[Column, Floats]]) -> list[str]:
    """Return a note on released numbers that equal those of another original column."""
    faults = [
        f"{original.name} has those of {other.name}"
        for original, released in columns
        if 2 * np.count_nonzero(released == original.numbers) <= len(released)
        for other, _ in columns
        if other is not original and np.count_nonzero(released == other.numbers) > 0.9 * len(released)
    ]
    return _note("exchanged", faults)


def _note(key: str, columns: Sequence[str]) -> list[str]:
    return [text("note", key, columns=", ".join(columns))] if columns else []
