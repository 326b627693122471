"""Measure a single table: a release without its original, or an original without protection."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..columns.column import Column
from ..columns.roles import refuse_repeated
from ..columns.table import Table
from ..errors import InputError, SchemaError
from ..measures import sizes
from ..notation import plain
from ..progress import Progress, telling
from ..schema import SURVEY, Schema
from ..texts import text
from .attacks.regression import regression
from .cell_patterns import suppressed
from .influence import influence
from .pairing import check_measured, joined
from .released_values import ReleasedColumn, unchanged
from .subject import Subject
from .table_pair import Pair
from .table_warnings import table_notes

# measures that a table alone cannot give
COMPARED = "utility, attacks, inference and everything else that compares with the original"


def alone(what: Subject) -> Pair:
    """Pair a release with itself, treating its cells as categories and its totals as public knowledge.

    Cells that say nothing (``*``, empty, ``NA`` ...) match anything for the wildcard k.

    Raises
    ------
    SchemaError
        No quasi-identifiers were named, or a column is missing.
    """
    table, schema = what.table, what.schema
    check_measured(schema, table, "released table")
    # a release may lack the columns of people, households and weights
    if schema.person not in table.names:
        schema = schema.replace(unit=None)
    absent = {part: None for part in SURVEY if getattr(schema, part) not in table.names}
    schema = schema.replace(**absent) if absent else schema
    cells = tuple(_cells(table, schema, name) for name in schema.quasi)
    quasi = tuple(column.original for column in cells)
    groups, notes, sensitive = None, table_notes(table, table, schema), []
    for name in schema.sensitive:
        column = _column(table, schema, name)
        if name == what.numbered and what.second is not None:
            column, groups = joined(what.second.column(name), what, cells)
        sensitive.append(column)
    in_rows = what.plan is not None and what.plan.in_rows
    if what.is_private or what.risk_model == "linkage":
        notes.append(text("note", "private" if what.is_private else "drawn_rows" if in_rows else "altered"))
    pair = Pair.of_itself(schema, table, quasi, tuple(sensitive))
    risk_model = "attacks" if what.is_private or in_rows else "classes"
    return replace(pair, released_quasi=cells, notes=tuple(notes), risk_model=risk_model, groups=groups)


def _cells(table: Table, schema: Schema, name: str) -> ReleasedColumn:
    column = _column(table, schema, name)
    released = unchanged(column)
    if column.is_number:
        return released
    return replace(released, anything=np.array([*map(suppressed, column.values), False], np.bool_))


def _column(table: Table, schema: Schema, name: str) -> Column:
    """Read a column as declared or, if that fails (as for ranges), with the type it has in the release."""
    try:
        return table.declared_column(schema, name)
    except (SchemaError, InputError):
        return table.column(name)


# who attacks before a method was chosen: the regression tree that the papers ask
LEARNER = ("tree",)
PEOPLE = 500
THRESHOLD = 0.2


def unprotected(
    table: Table, schema: Schema, *, attacks: bool = True, progress: Progress | None = None
) -> dict[str, Any]:
    """Measure a table as if it were released without protection: counts and shares, no person's value.

    Parameters
    ----------
    table : Table
    schema : Schema
        Who may know what, and what must not be inferred.
    attacks : bool
        Also let a regression tree attack every sensitive column.
    progress : callable, optional

    Returns
    -------
    dict
        ``rows``, ``quasi`` and ``sensitive``; ``classes``: how many records share all quasi-identifiers
        (`hedgerow.measures.sizes.summary`); ``reidentification``: the risk that follows from the class sizes.
        ``attacks``: the regression tree's ``success`` on people of the table, its ``control`` with their own
        rows withheld, and ``public_best``, the success of a guess from public totals; ``influence``: the
        contribution of each quasi-identifier to the attacks, largest share first. Both are None if not
        requested, or if no column is sensitive.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow.io.read import read
    >>> people = read(pa.table({"age": [30, 30, 40], "income": [2100, 2300, 1900]}))
    >>> schema = Schema(quasi=["age"], sensitive=["income"])
    >>> unprotected(people, schema, attacks=False)["classes"]["uniques"]
    1
    """
    report = telling(progress)
    report("counting who is alone")
    refuse_repeated(table, schema)
    schema.check(table.names)
    check_measured(schema, table, "table")
    quasi, sensitive = (
        tuple(table.declared_column(schema, name) for name in names) for names in (schema.quasi, schema.sensitive)
    )
    pair = Pair.of_itself(schema, table, quasi, sensitive)
    groups = pair.classes
    people = None if pair.persons is None else pair.people_in(groups)
    figures: dict[str, Any] = {
        "rows": table.n_rows,
        "quasi": schema.quasi,
        "sensitive": schema.sensitive,
        "classes": sizes.summary(groups.sizes),
        "reidentification": sizes.attackers(groups.sizes, None, THRESHOLD, people) | {"threshold": THRESHOLD},
        "attacks": None,
        "influence": None,
    }
    if attacks and schema.sensitive:
        figures["attacks"] = regression(pair, learners=LEARNER, people=PEOPLE, progress=report)
        report("which columns give people away")
        figures["influence"] = influence(pair)
    return plain(figures)
