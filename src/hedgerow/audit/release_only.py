"""A table that stands alone: what its groups tell, where nothing is compared with an original."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..columns.column import Column
from ..columns.table import Table
from ..errors import InputError, SchemaError
from ..schema import SURVEY, Schema
from .cell_patterns import suppressed
from .pairing import check_measured, join
from .released_values import ReleasedColumn, unchanged
from .subject import Subject
from .table_pair import Pair
from .table_warnings import told_of_table

COMPARED = "utility, attacks, inference and everything else that compares with the original"
"""Measures that a table alone cannot give."""


@dataclass(frozen=True, eq=False)
class Alone:
    """A release that is compared with nothing.

    Parameters
    ----------
    plain : Pair
        The release as its own original.
    before : Pair, optional
        The original as its own, where there is one.
    why : str
        Why nothing is compared.
    """

    plain: Pair
    before: Pair | None
    why: str

    @classmethod
    def of(
        cls, what: Subject, original: Table | None = None, error: InputError | None = None
    ) -> Alone:
        """A release without an original, or with one that does not explain its cells."""
        before = None if original is None else alone(Subject(original, what.schema))
        why = "no original was given" if error is None else f"{error.message} ({error.hint})"
        return cls(alone(what), before, why)

    @property
    def n_rows(self) -> int:
        """Released rows."""
        return self.plain.n_rows

    @property
    def released(self) -> Table:
        """The release."""
        return self.plain.released

    @property
    def original(self) -> Table | None:
        """The original, where there is one."""
        return None if self.before is None else self.before.original

    @property
    def suppressed(self) -> None:
        """Nobody can know whom the release left out."""
        return None

    @property
    def missing(self) -> str:
        """The measures that were left out, with reasons."""
        return f"{COMPARED}: {self.why}"


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
    gone = {part: None for part in SURVEY if getattr(schema, part) not in table.names}
    schema = schema.replace(**gone) if gone else schema
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
    if what.risk_model == "linkage":
        notes.append(
            "the method altered values, so groups of equal cells say nothing: give the original, "
            "and people are linked with their records"
        )
    made = Pair.of_itself(schema, table, quasi, tuple(sensitive))
    return replace(made, released_quasi=shown, notes=tuple(notes), groups=groups)


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
