"""A first look at a table: its columns, a proposed schema, and what to be wary of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..engines import ENGINES
from ..engines.choice import opened
from ..faces import face
from ..report.text import aligned
from ..schema import Schema
from ..table import Table
from ..table.profile import LONG, ColumnProfile, longest_text, profile, proposal

_HEAD = ("column", "role", "kind", "attacked as", "distinct", "missing", "why")


@dataclass(frozen=True, repr=False)
class Inspection:
    """What `inspect` found: counts and names of columns, never a value.

    Parameters
    ----------
    rows : int
        Records.
    columns : tuple of ColumnProfile
        Name, kind, proposed role with its reason, distinct and missing values, and how an attack
        names its values.
    schema : Schema
        The proposal, for a person to correct: only they know what an intruder may know.
    warnings : tuple of str
        What to look at before the table is protected.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    schema: Schema
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "rows": self.rows,
            "columns": [
                {
                    "column": c.name,
                    "role": c.role,
                    "kind": c.kind,
                    "attacked_as": c.attacked_as,
                    "distinct": c.n_distinct,
                    "missing": c.n_missing,
                    "reason": c.reason,
                }
                for c in self.columns
            ],
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return f"Inspection({self.rows:,} records, {len(self.columns)} columns)"

    def _repr_html_(self) -> str:
        """The columns with their proposed roles, for notebooks; counts only."""
        told = ["Proposed roles, to correct: only you know what an intruder may know."]
        return face(
            f"{self.rows:,} records, {len(self.columns)} columns",
            told,
            ("", _HEAD, self._rows()),
            notes=self.warnings,
        )

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                c.name,
                c.role,
                c.kind,
                c.attacked_as,
                f"{c.n_distinct:,}",
                f"{c.n_missing:,}",
                c.reason,
            )
            for c in self.columns
        ]

    def __str__(self) -> str:
        lines = [
            f"{self.rows:,} records, {len(self.columns)} columns. Proposed roles, to correct:",
            "",
            *aligned(self._rows(), _HEAD),
        ]
        return "\n".join(lines + [f"\nwarning: {text}" for text in self.warnings])


def inspect(table: Any) -> Inspection:
    """Look at a table before protecting it: its columns, a proposed schema, and warnings.

    Parameters
    ----------
    table : path, pandas, Polars or Arrow table, DuckDB relation
        What to look at, as `hedgerow.protect` takes it; never changed.

    Returns
    -------
    Inspection
        Printing it shows the columns; `.schema` is the proposal, with its reasons.

    Examples
    --------
    >>> import pandas as pd
    >>> import hedgerow as hr
    >>> seen = hr.inspect(pd.DataFrame({"age": [31, 44], "income": [2100.5, 3200.75]}))
    >>> seen.schema.quasi, seen.schema.sensitive
    (('age',), ('income',))
    """
    people = opened(table, tuple(ENGINES), "inspecting")
    columns = tuple(profile(people))
    schema = proposal(people, columns)
    return Inspection(
        people.n_rows, columns, schema, tuple(_warnings(people.n_rows, columns, schema))
    )


def _warnings(rows: int, columns: Sequence[ColumnProfile], schema: Schema) -> Iterator[str]:
    for words, chosen in (
        ("hold no value at all", [c for c in columns if not c.n_distinct]),
        ("hold one value", [c for c in columns if c.n_distinct == 1 and rows > 1]),
    ):
        if chosen:
            yield f"{words}, so they can be left out: {', '.join(c.name for c in chosen)}"
    yield from (_prose(c.name, c.longest) for c in columns if c.longest > LONG)
    if schema.person is not None:
        yield (
            f"{schema.person} repeats, so people have several records: the proposal lets k count "
            f"people (--unit {schema.person}); --unit none says that every row is one"
        )
    roles = {c.role for c in columns}
    if "sensitive" not in roles:
        yield "no column looks sensitive; say which must not be inferred"
    if "quasi" not in roles:
        yield "no column looks like one that others may know; say which an intruder may know"


def beforehand(table: Table, schema: Schema) -> list[str]:
    """What to be wary of in the chosen columns, before any work is done."""
    found = []
    for name in (*schema.quasi, *schema.sensitive):
        kind = schema.kinds.get(name, "categorical")
        if name not in table.names or table.kind(name) != "categorical" or kind != "categorical":
            continue
        longest = longest_text(table.column(name, kind="categorical"))
        found += [_prose(name, longest)] if longest > LONG else []
    return found


def _prose(name: str, longest: int) -> str:
    return (
        f"{name} holds text of up to {longest:,} characters, which can name people and makes long "
        "cells; leave it out, or replace it by a few categories"
    )
