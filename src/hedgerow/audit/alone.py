"""A table that stands alone: what its groups tell, where nothing is compared with an original."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError, SchemaError
from ..schema import Schema
from ..table import Column, Table
from .cautions import told_of_table
from .cells import suppressed
from .joined import join
from .pairing import Pair, check_measured
from .released_values import ReleasedColumn, unchanged
from .result import Audit
from .risk.groups import released_risk, unprotected_risk
from .risk.other_columns import other_columns
from .risk.population import journalist_risk
from .subject import Subject, UnreadCells

COMPARED = "utility, attacks, inference and everything else that compares with the original"
"""What a table alone does not tell."""


def alone(what: Subject) -> Pair:
    """A release as its own original: its cells are texts, shares are those of its own totals.

    Cells that say nothing (``*``, empty, ``NA`` ...) match anything for the wildcard k.

    Raises
    ------
    SchemaError
        No quasi-identifiers were named, or a column is missing.
    """
    table, schema = what.table, what.schema
    check_measured(schema, table, "released table")
    if schema.person not in table.names:
        schema = schema.replace(unit=None)
    shown = tuple(_cells(table, schema, name) for name in schema.quasi)
    quasi = tuple(column.original for column in shown)
    groups, notes, sensitive = None, told_of_table(table, table, schema), []
    for name in schema.sensitive:
        column = _column(table, schema, name)
        if name == what.numbered and what.second is not None:
            own = replace(what.second.column(name), codes=np.zeros(table.n_rows, np.int64))
            numbered = table.column(name, kind="categorical")
            column, groups = join(own, numbered, what.second, [c.codes for c in quasi])
        sensitive.append(column)
    if what.yardstick == "linkage":
        notes.append(
            "the method altered values, so groups of equal cells say nothing: give the original, "
            "and people are linked with their records"
        )
    made = Pair.of_itself(schema, table, quasi, tuple(sensitive))
    return replace(made, released_quasi=shown, notes=tuple(notes), groups=groups)


def audit_alone(
    what: Subject,
    original: Table | None,
    error: UnreadCells | None,
    parameters: Mapping[str, Any],
    versions: Mapping[str, str],
) -> Audit:
    """What a release tells by itself, and an original by itself: nothing is compared."""
    side, threshold = alone(what), parameters["threshold"]
    journalist = journalist_risk(side, None, parameters["weights"])
    after, before = released_risk(side, journalist, threshold), None
    scatters = _scatters(after)
    if original is not None:
        before = unprotected_risk(alone(Subject(original, what.schema)), None, threshold)
        _scatters(before)
    why = "no original was given" if error is None else f"{error.message} ({error.hint})"
    return Audit(
        table={
            "rows": side.n_rows,
            "original_rows": None if original is None else original.n_rows,
            "strangers": 0,
            "paired": False,
            "alone": True,
            "suppressed": None,
            "quasi": list(what.schema.quasi),
            "sensitive": list(what.schema.sensitive),
            "identifiers": list(what.schema.identifiers),
            "yardstick": "classes",
            "released_columns": what.table.names,
            "extremes": {},
            "notes": list(side.notes),
        },
        risk={
            "original": before,
            "release": after,
            "influence": [],
            "nearest": None,
            "composition": None,
            "inference": None,
            "other": other_columns(what.table, what.schema),
        },
        attacks=[],
        utility={"loss": None, "distributions": None, "queries": None, "learning": []},
        pictures={"histograms": {}, "scatters": scatters},
        parameters={**parameters, "control": "nobody"},
        versions=versions,
        missing=[f"{COMPARED}: {why}"],
    )


def _scatters(side: Mapping[str, Any]) -> dict[str, Any]:
    """The pictures among the figures of a side, which then has them no more."""
    return {name: column.pop("scatter") for name, column in side["sensitive"].items()}


def _cells(table: Table, schema: Schema, name: str) -> ReleasedColumn:
    column = _column(table, schema, name)
    made = unchanged(column)
    if column.is_number:
        return made
    silent = [suppressed(value) for value in column.values]
    return replace(made, anything=np.array([*silent, False], np.bool_))


def _column(table: Table, schema: Schema, name: str) -> Column:
    """A column as it was declared, or as the release has it where ranges stand in its place."""
    try:
        return table.declared_column(schema, name)
    except (SchemaError, InputError):
        return table.column(name)
