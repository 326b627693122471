"""An original, a released table and people who took no part, under one dictionary a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...columns.column import Column
from ...columns.table import Table
from ...io.read import read
from ...measures import Groups, IntArray, group
from ...schema import Schema
from ..design_matrix import Known, true_values
from ..pairing import Pair, by_name, check_measured, join, released_column, spread
from ..released_values import ReleasedColumn, suppressed, unchanged
from ..subject import Subject, UnreadCells, named_cells
from ..success import Target
from ..table_warnings import numbers_as_text


@dataclass(frozen=True, eq=False)
class People:
    """Some people's true values, in codes that all tables of an audit share.

    Parameters
    ----------
    quasi, sensitive : tuples of Column
        Their columns; codes are those of the joint dictionary.
    """

    quasi: tuple[Column, ...]
    sensitive: tuple[Column, ...]

    @property
    def n_rows(self) -> int:
        """How many people."""
        return len(self.quasi[0].codes)

    @cached_property
    def canonical(self) -> IntArray:
        """Rows in an order that depends on their values alone, whatever the order of columns."""
        return np.lexsort([c.codes for c in by_name((*self.quasi, *self.sensitive))[::-1]])

    def some(self, most: int, random_state: int = 0) -> IntArray:
        """At most so many people, spread evenly over their sorted values."""
        return spread(self.canonical, most, random_state)

    def known(self, released: Sequence[ReleasedColumn], rows: IntArray) -> Known:
        """What an intruder knows of some of them, by the columns that were released."""
        own = {c.name: c for c in (*self.quasi, *self.sensitive)}
        return Known(tuple(true_values(own[c.name], rows) for c in released))


@dataclass(frozen=True, eq=False)
class Apart:
    """Tables side by side whose rows are not paired; for what needs no pairs, in place of a `Pair`.

    Parameters
    ----------
    schema : Schema
        The roles.
    original, released : Table
        The tables as read.
    members : People
        Everybody in the original.
    strangers : People, optional
        People who took no part: the control.
    released_quasi, sensitive_cells : tuples of ReleasedColumn
        The released columns, one cell a released row; what they cover is in the joint codes.
    notes : tuple of str
        What a reader should know.
    risk_model : {"classes", "attacks"}
        What judges the release: classes of equal cells where ranges or sets stand in it, else
        the attacks alone.
    groups : Groups, optional
        The groups that a second table tells the sensitive values of.
    by_group : str, optional
        The sensitive column whose values that table gives, by group and apart from the rows.
    measured : Apart, optional
        The same under the members' own dictionaries, where strangers share these: no figure of
        the original or the release but the attacks' may depend on whom strangers are.
    """

    schema: Schema
    original: Table
    released: Table
    members: People
    strangers: People | None
    released_quasi: tuple[ReleasedColumn, ...]
    sensitive_cells: tuple[ReleasedColumn, ...]
    notes: tuple[str, ...]
    risk_model: str = "attacks"
    groups: Groups | None = None
    by_group: str | None = None
    measured: Apart | None = None

    @property
    def plain(self) -> Apart:
        """What figures other than the attacks' are measured on: strangers change none."""
        return self.measured or self

    @property
    def n_rows(self) -> int:
        """Number of released rows."""
        return self.released.n_rows

    @property
    def people(self) -> tuple[People, ...]:
        """The members, and the strangers where some are at hand."""
        return (self.members,) if self.strangers is None else (self.members, self.strangers)

    @property
    def each(self) -> float:
        """How many people a released row stands for where people are counted."""
        return self.original.n_rows / self.n_rows

    @property
    def quasi(self) -> tuple[Column, ...]:
        """The members' quasi-identifiers."""
        return self.members.quasi

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """The members' sensitive columns."""
        return self.members.sensitive

    @property
    def suppressed(self) -> None:
        """Nobody can know whom the release left out."""
        return None

    @property
    def everybody(self) -> None:
        """Nobody can know whom a released row is about."""
        return None

    @property
    def persons(self) -> None:
        """Nobody can know whom a released row is about: each counts as a person."""
        return None

    @property
    def targets(self) -> Mapping[str, Target]:
        """How each sensitive column is attacked."""
        return self.unchanged.targets

    @property
    def told(self) -> Groups:
        """What the release tells sensitive values of: groups of a second table, or its classes."""
        return self.groups if self.groups is not None else self.classes

    def people_in(self, groups: Groups) -> IntArray:
        """Records, for nobody can know whom they are about."""
        return groups.sizes

    @cached_property
    def released_sensitive(self) -> tuple[Column, ...]:
        """What the released sensitive columns tell, in the joint codes."""
        return tuple(shown(column) for column in self.sensitive_cells)

    @cached_property
    def classes(self) -> Groups:
        """The released rows of equal quasi-identifiers."""
        return group([c.codes for c in by_name(self.released_quasi)], self.n_rows)

    @cached_property
    def records(self) -> Groups:
        """The released rows that are equal in every measured column."""
        columns = by_name((*self.released_quasi, *self.sensitive_cells))
        return group([c.codes for c in columns], self.n_rows)

    @cached_property
    def unchanged(self) -> Pair:
        """The original as if it had been released unchanged."""
        own = self.members
        return Pair.of_itself(self.schema, self.original, own.quasi, own.sensitive)


WITHOUT_PAIRS = (
    "rows were not paired: certainty lost, cells changed, rows left out, and which columns give "
    "people away need pairs and were not measured"
)
WITHOUT_STRANGERS = (
    "nobody was named who took no part (control): what holds for everybody cannot be told from "
    "what was taken from the people of the table, and success beyond public totals counts both; "
    "hold back some people before a table is made, and give them as control"
)


def apart(original: Any, subject: Subject, control: Any = None, why: str = "") -> Apart:
    """Read the tables and understand every released cell, pairing nothing.

    Parameters
    ----------
    original : path, frame or Table
        The people that the release was made from.
    subject : Subject
        The release, of any number of rows.
    control : path, frame or Table, optional
        People who took no part in it.
    why : str
        Why rows are not paired, where somebody expected it.

    Raises
    ------
    SchemaError
        A column is missing, or has another kind in the control.
    UnreadCells
        No cell of a released column can be read.
    """
    after, schema = subject.table, subject.schema
    before = read(original, schema=schema)
    others = None if control is None else read(control, schema=schema)
    schema.check(before.names)
    check_measured(schema, after, "released table")
    check_measured(schema, others or before, "control")
    notes = [f"{why}; {WITHOUT_PAIRS}" if why else WITHOUT_PAIRS]
    if others is None:
        notes.append(WITHOUT_STRANGERS)
    named = [n for n in schema.identifiers if n in after.names]
    if named:
        notes.append("direct identifiers are in the release: " + ", ".join(named))
    notes += numbers_as_text(before, schema)
    made = _read(before, subject, None, tuple(notes))
    return made if others is None else replace(_read(before, subject, others, ()), measured=made)


def _read(before: Table, subject: Subject, others: Table | None, notes: tuple[str, ...]) -> Apart:
    """The tables under one dictionary a column: the members' own, or theirs and the others'."""
    schema = subject.schema
    mine: dict[str, Column] = {}
    theirs: dict[str, Column] = {}
    cells: dict[str, ReleasedColumn] = {}
    groups = None
    for name in (*schema.quasi, *schema.sensitive):
        own = before.declared_column(schema, name)
        if others is not None:
            own, theirs[name] = together(own, others.like(own))
        mine[name] = own
        if name == subject.numbered:
            cells[name], groups = _joined(own, subject, list(cells.values()))
        else:
            cells[name], note = _cells(own, subject)
            notes += note

    def people(columns: dict[str, Column]) -> People:
        return People(
            tuple(columns[n] for n in schema.quasi), tuple(columns[n] for n in schema.sensitive)
        )

    return Apart(
        schema,
        before,
        subject.table,
        people(mine),
        None if others is None else people(theirs),
        tuple(cells[n] for n in schema.quasi),
        tuple(cells[n] for n in schema.sensitive),
        notes,
        "classes" if groups or any(cells[n].general for n in schema.quasi) else "attacks",
        groups,
        None if groups is None else subject.numbered,
    )


def _joined(
    own: Column, subject: Subject, beside: Sequence[ReleasedColumn]
) -> tuple[ReleasedColumn, Groups]:
    """A column released as group numbers, its values dealt as a reader joins the two tables."""
    numbered = subject.table.column(own.name, kind="categorical")
    assert subject.second is not None
    alike = replace(own, codes=np.zeros(len(numbered.codes), np.int64))
    dealt, groups = join(alike, numbered, subject.second, [c.codes for c in beside])
    return replace(unchanged(dealt), original=own), groups


def together(one: Column, two: Column) -> tuple[Column, Column]:
    """Two columns of the same kind in the codes of one dictionary, that of their union.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from hedgerow.columns.table import Table
    >>> a, b = (Table(pa.table({"c": c})).column("c") for c in ([3, 1], [2, None]))
    >>> [c.codes.tolist() for c in together(a, b)]
    [[2, 0], [1, 3]]
    """
    if one.is_number:
        ends = [np.asarray(c.values, np.float64) for c in (one, two)]
        values: Any = np.union1d(*ends)
        places = [np.searchsorted(values, v) for v in ends]
    else:
        known = set(one.values)
        values = [*one.values, *(v for v in two.values if v not in known)]
        if one.kind == "categorical":
            values.sort()
        place = {v: i for i, v in enumerate(values)}
        places = [np.array([place[v] for v in c.values], np.int64) for c in (one, two)]
    made = []
    for column, at in zip((one, two), places, strict=True):
        codes = np.append(at, len(values))[column.codes]
        # doubles that stand for the same exact number share a code
        made.append(replace(column, codes=codes, values=values, exact=()))
    return made[0], made[1]


def _cells(own: Column, subject: Subject) -> tuple[ReleasedColumn, tuple[str, ...]]:
    """A released column, and a note on cells that fit nobody."""
    made = released_column(own, subject)
    column, strange = made.column, made.told((*made.unread, *made.outside))
    notes: tuple[str, ...] = ()
    if sum(strange.values()) == len(column.codes):
        raise UnreadCells({own.name: strange})
    if strange:
        named = named_cells({own.name: strange})
        notes = (f"released cells that no person could have fit nobody: {named}",)
    missing = own.counts()[own.n_values]
    return (column if missing or not own.n_values else suppressed(column)), notes


def shown(column: ReleasedColumn) -> Column:
    """What a released column tells: numbers (ranges at their middle) or categories.

    What a cell leaves open is missing.
    """
    own = column.original
    if column.is_number:
        told = np.isfinite(column.lo) & ~column.anything
        values, place = np.unique(column.middle[told], return_inverse=True)
        code = np.full(column.n_cells, len(values))
        code[told] = place.reshape(-1)
    else:
        values, m = own.values, own.n_values
        code = np.array([int(c[0]) if len(c) == 1 else m for c in column.members], np.int64)
    codes = code[column.codes]
    gone = bool((codes == len(values)).any())
    return replace(own, codes=codes, values=values, has_missing=gone, exact=())
