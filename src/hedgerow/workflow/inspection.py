"""A first look at a table: its columns, a proposed schema, and warnings."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from shutil import get_terminal_size
from typing import Any

import numpy as np

from ..backends import ENGINES
from ..backends.select import opened
from ..columns.column import Column
from ..columns.find_rules import FoundRule, find_rules
from ..columns.roles import (
    LONG,
    ColumnProfile,
    describe_strata,
    is_prose,
    longest_text,
    profile,
    proposal,
    questions,
    suspect_rows,
)
from ..columns.table import Table
from ..display import fitted, notebook_html, sparkline, wrapped
from ..errors import ParameterError, singular
from ..io.read import with_currencies
from ..notation import moment, words
from ..schema import Points, Schema
from ..texts import quoted, text
from ..validation import NAMES, TEXT, takes

_say = partial(text, "inspection")
# the most categories that are proposed as public
_MOST_CATEGORIES = 100
_RULE_HEAD = ("rule", "records", "break it", "to declare it")
_HEAD = ("column", "role", "kind", "distinct", "missing", "shape", "why")


@dataclass(frozen=True, repr=False)
class Inspection:
    """The names and counts of a table's columns, as found by `inspect`; it never holds a value.

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
        Points to check before the table is protected.
    rules : tuple of FoundRule
        Rules between columns that hold in the table, for a person to declare; the proposal has none of them.
    table : Table, optional
        The table, for `public`.
    """

    rows: int
    columns: tuple[ColumnProfile, ...]
    schema: Schema
    warnings: tuple[str, ...]
    rules: tuple[FoundRule, ...] = ()
    table: Table | None = field(default=None, compare=False)

    def public(self, schema: Schema | None = None) -> Schema:
        """Propose public bounds and categories, which `PrivateTree` needs: round bounds, and the categories there are.

        They come from the data, so they are no declaration before somebody confirmed that each is public
        knowledge, and removed categories and bounds that are not. Columns with very many categories get no
        proposal; `unproposed` names them.

        Parameters
        ----------
        schema : Schema, optional
            The roles; by default those of the proposal, without columns that get no proposal here, and without
            what `PrivateTree` does not know (other columns, households, weights). What it declares already stays.
        """
        if self.table is None:
            raise ParameterError("this inspection has no table", hint="make a new one: hedgerow.inspect(table)")
        roles = self._declarable() if schema is None else schema
        bounds, categories = dict(roles.bounds), dict(roles.categories)
        for name in (*roles.quasi, *roles.sensitive):
            column = self.table.declared_column(roles, name)
            if column.is_number and name not in {*roles.grid, *roles.bounds} and column.n_values:
                bounds[name] = Points(_round_bounds(column))
            elif name not in self._crowded(roles) and column.kind != "boolean" and not column.is_number:
                categories.setdefault(name, tuple(column.values))
        return roles.replace(bounds=bounds, categories=categories)

    def unproposed(self, schema: Schema) -> list[str]:
        """Return what to declare by hand, for columns with more categories than anybody would confirm one by one."""
        return [_say("crowded", name=name, n=n) for name, n in self._crowded(schema).items()]

    def _declarable(self) -> Schema:
        """Return the proposed roles without columns of too many categories, and without what is no such role."""
        crowded, roles = self._crowded(self.schema), {n: getattr(self.schema, n) for n in ("quasi", "sensitive")}
        declared = {role: [n for n in names if n not in crowded] for role, names in roles.items()}
        return self.schema.replace(other=[], household=None, weight=None, **declared)

    def _crowded(self, schema: Schema) -> dict[str, int]:
        assert self.table is not None
        columns = {n: self.table.declared_column(schema, n) for n in (*schema.quasi, *schema.sensitive)}
        return {
            name: column.n_values
            for name, column in columns.items()
            if not column.is_number and name not in schema.categories and column.n_values > _MOST_CATEGORIES
        }

    def to_dict(self) -> dict[str, object]:
        """Return the inspection as plain data."""
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
                    "shape": list(c.shape),
                    "reason": c.reason,
                }
                for c in self.columns
            ],
            "rules": [asdict(rule) | {"option": rule.option} for rule in self.rules],
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return f"Inspection({self._size()})"

    def _size(self) -> str:
        return singular(f"{self.rows:,} records, {len(self.columns)} columns")

    def _repr_html_(self) -> str:
        """Return the columns and their proposed roles as HTML for notebooks, with counts only."""
        notes = [*self._codes(), *self.warnings]
        rules = [(rule.words, words(rule.rows), words(rule.broken), rule.option) for rule in self.rules]
        tables = ("", _HEAD, self._rows()), (_say("rules"), _RULE_HEAD, rules)
        return notebook_html(self._size(), [_say("roles"), _say("shape")], *tables, notes=notes)

    def _rows(self) -> list[tuple[str, ...]]:
        roles = {c.name: str(self.schema.role(c.name)).replace("undeclared", "left out") for c in self.columns}
        roles |= {name: "weight" for name in roles if name == self.schema.weight}
        return [
            (c.name, roles[c.name], c.kind, words(c.n_distinct), words(c.n_missing), sparkline(c.shape), c.reason)
            for c in self.columns
        ]

    def __str__(self) -> str:
        lines = [
            f"{self._size()}. Proposed roles, to correct:",
            "",
            *fitted(self._rows(), _HEAD, max(80, min(get_terminal_size().columns, 120))),
        ]
        lines += [f"\n{wrapped(text)}" for text in self._codes()]
        lines += [f"\n{wrapped(_say('rules'))}\n"] if self.rules else []
        for rule in self.rules:
            broken = f", {rule.broken:,} break it" if rule.broken else ""
            lines.append(wrapped(f"{rule.words} ({rule.rows:,} records{broken})"))
            lines += [f"  {rule.option}"] if rule.option else []
        return "\n".join(lines + [f"\n{wrapped('warning: ' + text)}" for text in self.warnings])

    def _codes(self) -> Iterator[str]:
        """Yield a note on the numeric columns that attacks treat as codes."""
        few = [c for c in self.columns if c.kind == "numeric" and c.attacked_as == "category" and c.n_distinct > 1]
        if codes := [c.name for c in few if self.schema.role(c.name) != "identifier"]:
            yield _say("codes", names=", ".join(codes), first=codes[0])
        if named := [c.name for c in self.columns if c.is_code]:
            yield _say("read_as_codes", names=", ".join(named), first=named[0])


@takes(missing=NAMES, decimal=TEXT, encoding=TEXT)
def inspect(table: Any, *, missing: Sequence[str] = (), decimal: str = "", encoding: str = "") -> Inspection:
    """Look at a table before protecting it: its columns, a proposed schema, and warnings.

    Parameters
    ----------
    table : path, pandas, Polars or Arrow table, DuckDB relation
        The table to inspect, as `hedgerow.protect` takes it; never changed.
    missing, decimal, encoding
        Settings for reading a CSV file; see `Schema`. The proposed schema contains them.

    Returns
    -------
    Inspection
        Printing it shows the columns; `.schema` is the proposal.

    Examples
    --------
    >>> import pandas as pd
    >>> import hedgerow as hr
    >>> seen = hr.inspect(pd.DataFrame({"age": [31, 44], "income": [2100.5, 3200.75]}))
    >>> seen.schema.quasi, seen.schema.sensitive
    (('age',), ('income',))
    """
    reading = Schema(missing=missing, decimal=decimal, encoding=encoding)
    # a table that was read keeps its own way of reading
    if reading != Schema() or not isinstance(table, Table):
        table = opened(table, tuple(ENGINES), "inspecting", schema=reading)
    columns = tuple(profile(table))
    schema = proposal(table, columns)
    warnings = (*_warnings(table, columns, schema), *_of_text(table, columns))
    return Inspection(table.n_rows, columns, schema, warnings, tuple(find_rules(table, schema)), table)


def _round_bounds(column: Column) -> tuple[Any, Any]:
    """Return bounds of 1, 2 or 5 times a power of ten around a number; of dates the years around them."""
    low, high = float(column.values[0]), float(column.values[-1])
    if column.kind == "date":
        first, last = (str(moment(end, column.unit))[:4] for end in (column.values[0], column.values[-1]))
        return f"{first}-01-01", f"{last}-12-31"

    def beyond(size: float) -> float:
        power = 10.0 ** math.floor(math.log10(size))
        return next(step * power for step in (1, 2, 5, 10) if step * power >= size * (1 - 1e-12))

    ends = (-beyond(-low) if low < 0 else 0.0, beyond(high) if high > 0 else 0.0)
    ends = (ends[0], max(ends[1], ends[0] + 1))
    is_whole = bool(np.all(np.asarray(column.values) % 1 == 0)) and max(map(abs, ends)) < 2**53
    return (int(ends[0]), int(ends[1])) if is_whole else ends


def _of_text(table: Table, columns: Sequence[ColumnProfile]) -> Iterator[str]:
    """Yield warnings about texts: guesses at a file's encoding and numbers, and words that may mean missing."""
    dialect = with_currencies(table, [column.name for column in columns if column.kind == "numeric"]).dialect
    # an encoding that was guessed has been named
    yield from (replace(dialect, encoding="utf-8") if dialect.not_utf8 else dialect).doubts()
    if table.suffix in (".csv", ".xlsx") and (marked := [column for column in columns if column.markers]):
        words = list(dict.fromkeys(word for column in marked for word in column.markers))
        names = ", ".join(column.name for column in marked)
        flag = shlex.quote(",".join(map(quoted, words)))
        yield _say("markers", names=names, words=", ".join(map(repr, words)), flag=flag)


def _warnings(table: Table, columns: Sequence[ColumnProfile], schema: Schema) -> Iterator[str]:
    for what, chosen in (
        ("empty", [c for c in columns if not c.n_distinct and c.role == "other"]),
        (
            "constant",
            [c for c in columns if c.n_distinct == 1 < table.n_rows and not c.n_missing and c.name != schema.weight],
        ),
    ):
        if chosen:
            yield _say(what, names=", ".join(c.name for c in chosen))
    yield from (_say("prose", name=c.name, longest=c.longest) for c in columns if c.longest > LONG)
    if schema.person is not None:
        yield _say("person", name=schema.person)
    elif table.n_rows:
        yield _say("one_row")
    if schema.household is not None:
        yield _say("household", name=schema.household)
    for question, name, leader in questions(table, columns, schema):
        yield _say(question, name=name, leader=leader)
    is_released = schema.weight in table.names and schema.role(str(schema.weight)) == "other"
    if is_released and (strata := describe_strata(table, str(schema.weight), schema.quasi)):
        yield strata
    # a guess by names may find none; nothing is protected then, so it is said
    for role, key in (("sensitive", "no_sensitive"), ("quasi", "no_quasi")):
        if role not in {c.role for c in columns}:
            yield _say(key)


def beforehand(table: Table, schema: Schema) -> list[str]:
    """Return warnings about the chosen columns, before any work is done."""
    warnings = [_say(key, name=name) for key, name, _ in suspect_rows(table)]
    for name in (*schema.quasi, *schema.sensitive):
        kind = schema.kinds.get(name, "categorical")
        if name not in table.names or table.kind(name) != "categorical" or kind != "categorical":
            continue
        column = table.column(name, kind="categorical")
        warnings += [_say("prose", name=name, longest=longest)] if (longest := longest_text(column)) > LONG else []
        warnings += [_say("remarks", name=name)] if longest <= LONG and is_prose(column) else []
    return warnings
