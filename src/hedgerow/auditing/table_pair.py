"""An original and its release, with paired rows or without, and the people in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..columns.column import Column
from ..columns.table import Table
from ..guard.code import run_codes
from ..measures import Groups, Ints, Persons, group
from ..plan import Guard, GuardedColumn
from ..plan.records import REDRAW
from ..schema import Schema
from .design_matrix import OUTSIDE, UNKNOWN, Everybody, Known, in_codes_of, known_rows, true_values
from .released_values import ReleasedColumn, unchanged
from .success import AttackTarget

_GOLDEN = (5**0.5 - 1) / 2

Named = TypeVar("Named", Column, ReleasedColumn)


def by_name(columns: Sequence[Named]) -> list[Named]:
    """Sort columns by name, so that results do not depend on the order of declaration."""
    return sorted(columns, key=lambda column: column.name)


def evenly(rows: Ints, most: int) -> Ints:
    """Choose at most `most` of the given rows, evenly spaced."""
    return rows[np.unique(np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64))]


def spread(rows: Ints, most: int, random_state: int = 0) -> Ints:
    """Choose at most `most` people for an attack, one from each equal part of their order.

    Where in its part a row stands follows the golden ratio, which no period fits: every second
    row of couples that stand together would be the same partner everywhere. Another
    `random_state` asks others: who makes a release cannot hide just those who will be asked.

    Examples
    --------
    >>> spread(np.arange(12), 4).tolist()
    [0, 4, 6, 11]
    """
    n = len(rows)
    if n <= most:
        return rows
    part = np.arange(most)
    ends = np.arange(most + 1) * n // most
    begin = np.random.default_rng(random_state).random() if random_state else 0.0
    inside = (begin + part * _GOLDEN) % 1.0 * np.diff(ends)
    return rows[ends[:-1] + inside.astype(np.int64)]


@dataclass(frozen=True, eq=False)
class People:
    """The true values of a set of people, encoded with the same codes as the table they are compared with.

    Parameters
    ----------
    quasi, sensitive : tuples of Column
        One code per person.
    """

    quasi: tuple[Column, ...]
    sensitive: tuple[Column, ...]

    @property
    def n_rows(self) -> int:
        """Return the number of people."""
        return len(self.quasi[0].codes)

    @cached_property
    def canonical(self) -> Ints:
        """Return row numbers sorted by the people's values, independent of the order of rows and columns."""
        return np.lexsort([c.codes for c in by_name((*self.quasi, *self.sensitive))[::-1]])

    def some(self, most: int, random_state: int = 0) -> Ints:
        """Choose at most `most` people, spread over their sorted values."""
        return spread(self.canonical, most, random_state)

    def values_for(self, released: Sequence[ReleasedColumn | Column], rows: Any = slice(None)) -> Known:
        """Return the true values of the given people in the released columns, as an intruder knows them."""
        by_column = {c.name: c for c in (*self.quasi, *self.sensitive)}
        return Known(tuple(true_values(by_column[c.name], rows) for c in released))


def as_runs(column: Column, guarded: GuardedColumn) -> Column:
    """Return a column of true values as the values that its guarded release tells them by."""
    n, codes, runs = guarded.n_values, run_codes(column, guarded), guarded.values[: guarded.n_values]
    mine, released = {*column.values}, {*runs}
    values: Any = [*(v for v in column.values if v in released), *(v for v in runs if v not in mine)]
    if column.is_number:
        values = np.array(runs, np.float64)
    else:  # whose codes follow the order of the column's own values
        codes = np.array([*map(values.index, runs), n], np.int64)[codes]
    return replace(column, codes=codes, values=values, has_missing=bool((codes == n).any()), exact=())


@dataclass(frozen=True, eq=False)
class Asked:
    """The people whose values learners must guess.

    Parameters
    ----------
    quasi : Known
        Their true quasi-identifiers.
    values : sequence of arrays
        Their values by sensitive column: numbers, or codes of the members' categories.
    released : int array, shape (n_people,)
        The released row of each; `UNKNOWN`, or `OUTSIDE` for people who are not in the release.
    """

    quasi: Known
    values: Sequence[Any]
    released: Ints

    @classmethod
    def joined(cls, parts: Sequence[Asked]) -> Asked:
        """Concatenate several groups of people."""
        return cls(
            Known.joined(*(part.quasi for part in parts)),
            [np.concatenate(each) for each in zip(*(part.values for part in parts), strict=True)],
            np.concatenate([part.released for part in parts]),
        )


@dataclass(frozen=True, eq=False)
class TablePair:
    """An original and a released table, with everything that can be measured without pairing their rows.

    Where rows are not paired, members and strangers use the same codes.

    Parameters
    ----------
    schema : Schema
        The roles; only `quasi` and `sensitive` columns are measured.
    original, released : Table
        The tables as read.
    members : People
        The people of the original who are compared, one for each pair if rows are paired.
    released_quasi : tuple of ReleasedColumn
        The released quasi-identifiers, one cell per released row.
    released_sensitive : tuple of Column
        The released sensitive columns, with the original's codes for values that occur there.
    strangers : People, optional
        People who are not in the original: the control group.
    notes : tuple of str
        Notes on the pairing, for the reader of the audit.
    risk_model : {"classes", "linkage", "attacks"}
        How risk is measured: in classes of equal cells, by linking altered records, or only by attacks.
    groups : Groups, optional
        The groups of a second table that publishes the sensitive values.
    by_group : str, optional
        The sensitive column whose values that table gives, by group and not by row.
    cells : tuple of ReleasedColumn
        The released sensitive columns, if rows are not paired; they cover values in the joint codes.
    guard : Guard, optional
        How the release hides exact sensitive values.
    planned : Groups, optional
        The groups of the plan, if rows are drawn whole: equal cells are no group of theirs.
    own_codes : TablePair, optional
        The same tables with dictionaries from the members only, if strangers are coded too. Figures
        other than attacks use these, so that they do not depend on the strangers.
    """

    schema: Schema
    original: Table
    released: Table
    members: People
    released_quasi: tuple[ReleasedColumn, ...]
    released_sensitive: tuple[Column, ...]
    _: KW_ONLY
    strangers: People | None = None
    notes: tuple[str, ...] = ()
    risk_model: str = "classes"
    groups: Groups | None = None
    by_group: str | None = None
    cells: tuple[ReleasedColumn, ...] = ()
    guard: Guard | None = None
    planned: Groups | None = None
    own_codes: Self | None = None

    is_paired: ClassVar[bool] = False

    @property
    def n_rows(self) -> int:
        """Return the number of released rows, or of pairs."""
        return self.released.n_rows

    @property
    def plain(self) -> Self:
        """Return the tables for all figures except those of attacks, so that strangers cannot affect these figures."""
        return self.own_codes or self

    @property
    def suppressed(self) -> int | None:
        """Return the number of original rows that the release left out; None if rows are not paired."""
        return None

    @property
    def people_per_row(self) -> float:
        """Return the number of people per released row."""
        return self.original.n_rows / self.n_rows

    @property
    def quasi(self) -> tuple[Column, ...]:
        """Return the original quasi-identifiers."""
        return self.members.quasi

    @property
    def sensitive(self) -> tuple[Column, ...]:
        """Return the original sensitive columns."""
        return self.members.sensitive

    @property
    def is_drawn(self) -> bool:
        """Return whether sensitive values were drawn inside groups, so that no row has its person's own."""
        return self.guard is not None and self.guard.form == REDRAW

    def as_shown(self, people: People) -> People:
        """Return people with their sensitive values as the release tells them: guarded ones by their runs.

        A number that is drawn in pieces is told as one of its own, so it stays as it is.
        """
        in_runs = {name: column for name, column in self.guarded.items() if not len(column.begins)}
        sensitive = (as_runs(c, in_runs[c.name]) if c.name in in_runs else c for c in people.sensitive)
        return People(people.quasi, tuple(sensitive))

    @property
    def guarded(self) -> dict[str, GuardedColumn]:
        """Return the record of each guarded column."""
        return {} if self.guard is None else {column.name: column for column in self.guard.columns}

    @property
    def people(self) -> tuple[People, ...]:
        """Return the members, and the strangers if there are any."""
        return (self.members,) if self.strangers is None else (self.members, self.strangers)

    @property
    def everybody(self) -> Everybody | None:
        """Return the true quasi-identifiers of the people in all released rows; None if rows are not paired."""
        return None

    @property
    def persons(self) -> Persons | None:
        """Return the person that each row belongs to; None if every row is a person, or rows are not paired."""
        return None

    @cached_property
    def wholly_suppressed(self) -> NDArray[np.bool_]:
        """Return, for each released row, whether all of its quasi-identifiers are suppressed."""
        # missing in both tables is a value, which others may share
        return np.logical_and.reduce([column.anything[column.codes] for column in self.released_quasi])

    def people_in(self, groups: Groups) -> Ints:
        """Count the people in each group of rows; the records if every row is a person."""
        return groups.sizes if self.persons is None else self.persons.people(groups)

    @cached_property
    def classes(self) -> Groups:
        """Return the equivalence classes of the released quasi-identifiers."""
        return group([c.codes for c in by_name(self.released_quasi)], self.n_rows)

    @property
    def value_groups(self) -> Groups:
        """Return the groups with published sensitive values: those of the second table, or else the classes."""
        return self.groups if self.groups is not None else self.classes

    @cached_property
    def targets(self) -> dict[str, AttackTarget]:
        """Return the attack target of each sensitive column, by name."""
        return {column.name: AttackTarget.from_column(column, self.schema) for column in self.sensitive}

    @cached_property
    def records(self) -> Groups:
        """Group the released rows that are equal in every measured column."""
        return group([c.codes for c in by_name((*self.released_quasi, *self.sensitive_cells))], self.n_rows)

    @cached_property
    def unchanged(self) -> Pair:
        """Pair the original with itself, keeping the order of the members."""
        whole = Pair.of_itself(self.schema, self.original, self.quasi, self.sensitive)
        # cached_property reads this entry
        vars(whole)["canonical"] = self.canonical
        return whole

    @property
    def sensitive_cells(self) -> tuple[ReleasedColumn, ...]:
        """Return the released sensitive columns as cells, in the original's categories."""
        return self.cells

    @cached_property
    def canonical(self) -> Ints:
        """Return member numbers sorted by their values, independent of the order of rows and columns."""
        return self.members.canonical

    def order_of(self, people: People, *values: Any) -> Ints:
        """Return the order that sorts the given people by their values alone."""
        return self.canonical if people is self.members else people.canonical

    def rows_of(self, people: People, picked: Ints) -> Ints:
        """Return the released row of each person, or `UNKNOWN` or `OUTSIDE`."""
        return np.full(len(picked), UNKNOWN if people is self.members else OUTSIDE)

    def original_rows(self, picked: Ints) -> Ints:
        """Return the original rows of the given members."""
        return picked


@dataclass(frozen=True, eq=False)
class Pair(TablePair):
    """An original and a released table with paired rows: `members` has one code for each pair.

    Parameters
    ----------
    rows, released_rows : int64 arrays, shape (n_rows,)
        Row of the original and of the release behind each pair.
    """

    rows: Ints
    released_rows: Ints

    is_paired: ClassVar[bool] = True

    @classmethod
    def of_itself(cls, schema: Schema, table: Table, quasi: tuple[Column, ...], sensitive: tuple[Column, ...]) -> Pair:
        """Pair a table with itself, as if it were released without protection."""
        every, cells = np.arange(table.n_rows), tuple(unchanged(column) for column in quasi)
        return cls(schema, table, table, People(quasi, sensitive), cells, sensitive, every, every)

    @property
    def n_rows(self) -> int:
        """Return the number of paired rows."""
        return len(self.rows)

    @property
    def suppressed(self) -> int:
        """Return the number of original rows that the release left out."""
        return self.original.n_rows - len(self.rows)

    @property
    def people_per_row(self) -> float:
        """Return 1, because a paired row stands for exactly one person."""
        return 1.0

    @cached_property
    def persons(self) -> Persons | None:
        """Return the person that each row belongs to; None if every row is a person."""
        persons = Persons.from_table(self.original, self.schema.person, self.schema.household)
        return None if persons is None else persons.subset(self.rows)

    def counted_in(self, groups: Groups) -> Ints:
        """Count each group's people (records if each is a person), or its households if these are fewer."""
        return groups.sizes if self.persons is None else self.persons.sizes(groups)

    @cached_property
    def everybody(self) -> Everybody:
        """Return the true quasi-identifiers of the people in all released rows."""
        return Everybody(known_rows(self.released_quasi, np.arange(self.n_rows)), self.canonical)

    @cached_property
    def unchanged(self) -> Pair:
        """Pair the whole original with itself, including rows that the release left out."""
        sensitive = (self.original.declared_column(self.schema, n) for n in self.schema.sensitive)
        quasi = tuple(column.whole for column in self.released_quasi)
        return Pair.of_itself(self.schema, self.original, quasi, tuple(sensitive))

    @property
    def sensitive_cells(self) -> tuple[ReleasedColumn, ...]:
        """Return the released sensitive columns as cells, in the original's categories."""
        both = zip(self.sensitive, self.released_sensitive, strict=True)
        return tuple(unchanged(in_codes_of(original, released, original.n_values)) for original, released in both)

    @cached_property
    def canonical(self) -> Ints:
        """Return pair numbers sorted by their values, independent of the order of rows and columns."""
        parts = self.quasi, self.sensitive, self.released_sensitive
        keys = [column.codes for part in parts for column in by_name(part)]
        # released cells decide between people whose true values are equal
        keys += [column.codes for column in by_name(self.released_quasi)]
        return np.lexsort(keys[::-1]) if keys else np.arange(self.n_rows)

    def order_of(self, people: People, *values: Any) -> Ints:
        """Return the order that sorts the given people by their values alone."""
        if people is self.members:
            return self.canonical
        return np.lexsort((*values, *people.values_for(by_name(self.released_quasi)).columns))

    def rows_of(self, people: People, picked: Ints) -> Ints:
        """Return the released row of each person; altered rows belong to nobody."""
        return picked if people is self.members and self.risk_model != "linkage" else super().rows_of(people, picked)

    def original_rows(self, picked: Ints) -> Ints:
        """Return the original rows of the given members."""
        return self.rows[picked]

    def people_of(self, table: Table) -> People:
        """Read other people in the members' codes; new categories get the code after the one for missing."""
        return People(
            tuple(in_codes_of(column, table.like(column), column.n_values) for column in self.quasi),
            tuple(in_codes_of(column, table.like(column), column.n_values + 1) for column in self.sensitive),
        )
