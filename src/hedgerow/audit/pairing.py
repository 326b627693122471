"""Put an original and a released table side by side, row by row, or say why that cannot be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..columns.column import Column
from ..columns.table import Table
from ..errors import InputError, SchemaError
from ..io.read import read
from ..kernels.siphash import siphash_words
from ..measures import Groups, IntArray, Persons, group
from ..methods.anatomy_tables import COUNT, GROUP, codes_of
from ..release.mapping import RowMap
from ..schema import Schema
from .design_matrix import Everybody, known_rows
from .matching import find_rows
from .released_values import Read, ReleasedColumn, read_released, taken, unchanged
from .subject import Subject, UnreadCells, named_cells
from .success import Target
from .table_warnings import elsewhere, exchanged, left_open, told_of_table

_GOLDEN = (5**0.5 - 1) / 2

Named = TypeVar("Named", Column, ReleasedColumn)


@dataclass(frozen=True, eq=False)
class Pair:
    """An original and a released table whose rows belong together.

    Parameters
    ----------
    schema : Schema
        The roles; `quasi` and `sensitive` are what is measured.
    original, released : Table
        The tables as read.
    rows, released_rows : int64 arrays, shape (n_rows,)
        Row of the original and of the release behind each pair.
    quasi, sensitive : tuples of Column
        Original columns, one code a pair.
    released_quasi : tuple of ReleasedColumn
        The released quasi-identifiers, one code a pair.
    released_sensitive : tuple of Column
        The released sensitive columns, in the original's codes where values agree.
    suppressed : int
        Original rows that the release left out.
    notes : tuple of str
        What a reader should know about the pairing.
    risk_model : {"classes", "linkage"}
        What judges the release.
    groups : Groups, optional
        The groups that a second table tells the sensitive values of; by default
        the equivalence classes tell them.
    by_group : str, optional
        The sensitive column whose values that table gives, by group and apart from the rows.
    """

    schema: Schema
    original: Table
    released: Table
    rows: IntArray
    released_rows: IntArray
    quasi: tuple[Column, ...]
    sensitive: tuple[Column, ...]
    released_quasi: tuple[ReleasedColumn, ...]
    released_sensitive: tuple[Column, ...]
    suppressed: int
    notes: tuple[str, ...]
    risk_model: str = "classes"
    groups: Groups | None = None
    by_group: str | None = None

    @classmethod
    def of_itself(
        cls,
        schema: Schema,
        table: Table,
        quasi: tuple[Column, ...],
        sensitive: tuple[Column, ...],
    ) -> Pair:
        """A table as if it had been released as it is."""
        every, shown = np.arange(table.n_rows), tuple(unchanged(column) for column in quasi)
        return cls(schema, table, table, every, every, quasi, sensitive, shown, sensitive, 0, ())

    @property
    def n_rows(self) -> int:
        """Number of paired rows."""
        return len(self.rows)

    @property
    def plain(self) -> Pair:
        """The rows on which figures other than the attacks' are measured."""
        return self

    @property
    def each(self) -> float:
        """A released row stands for its person alone."""
        return 1.0

    @cached_property
    def classes(self) -> Groups:
        """The equivalence classes of the released quasi-identifiers."""
        return group([e.codes for e in by_name(self.released_quasi)], self.n_rows)

    @cached_property
    def persons(self) -> Persons | None:
        """Who the rows are about, where the schema tells; None where every row is a person."""
        found = Persons.from_table(self.original, self.schema.person, self.schema.household)
        return None if found is None else found.subset(self.rows)

    def people_in(self, groups: Groups) -> IntArray:
        """People of some groups of the rows, or records where each is one."""
        return groups.sizes if self.persons is None else self.persons.people(groups)

    def counted_in(self, groups: Groups) -> IntArray:
        """What k counts of some groups of the rows: people or records, and households."""
        return groups.sizes if self.persons is None else self.persons.sizes(groups)

    @property
    def told(self) -> Groups:
        """The groups through which the release shows sensitive values: of a second table, or its classes."""
        return self.groups if self.groups is not None else self.classes

    @cached_property
    def everybody(self) -> Everybody:
        """The true quasi-identifiers behind every released row."""
        rows = np.arange(self.n_rows)
        return Everybody(known_rows(self.released_quasi, rows), self.canonical)

    @cached_property
    def targets(self) -> dict[str, Target]:
        """How each sensitive column is attacked."""
        return {column.name: Target.of(column, self.schema) for column in self.sensitive}

    @cached_property
    def unchanged(self) -> Pair:
        """The whole original, with the rows that were left out, as if it had been released."""
        sensitive = (self.original.declared_column(self.schema, n) for n in self.schema.sensitive)
        quasi = tuple(column.whole for column in self.released_quasi)
        return Pair.of_itself(self.schema, self.original, quasi, tuple(sensitive))

    @cached_property
    def canonical(self) -> IntArray:
        """Rows in an order that depends on their values alone, not on that of the columns."""
        parts = self.quasi, self.sensitive, self.released_sensitive
        keys = [column.codes for part in parts for column in by_name(part)]
        keys += [column.codes for column in by_name(self.released_quasi)]
        return np.lexsort(keys[::-1]) if keys else np.arange(self.n_rows)


def by_name(columns: Sequence[Named]) -> list[Named]:
    """Columns in an order that does not depend on how they were declared."""
    return sorted(columns, key=lambda column: column.name)


def align(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    key: str | None = None,
    allow_outside: bool = False,
) -> Pair:
    """`pair_up` of two tables whose rows are known to stand in one order, unless a key says."""
    before = read(original, schema=schema)
    after = read(released, schema=schema, unescape_formulas=True)
    same = key is None and before.n_rows == after.n_rows
    rows = RowMap(np.arange(after.n_rows), "") if same else None
    return pair_up(before, Subject(after, schema, rows=rows), key=key, allow_outside=allow_outside)


def pair_up(
    original: Any, subject: Subject, *, key: str | None = None, allow_outside: bool = False
) -> Pair:
    """Pair the rows of two tables and understand every released cell.

    Parameters
    ----------
    original : path, frame or Table
        The table before; `matching.find_rows` finds the row behind each released one.
    subject : Subject
        The release.
    key : str, optional
        A column of both tables with a different value in every row; the release
        may then leave rows out.
    allow_outside : bool
        Accept released ranges and sets that do not cover the row's own original
        value (a plan applied to other people), and note how many.

    Raises
    ------
    UnreadCells
        The release holds cells that nothing explains.
    Unpaired
        Nothing tells which rows belong together.
    InputError
        The key is none, or the release holds values that no original
        value could have given; counts per column, never the values.
    SchemaError
        A column is missing.
    """
    before, after, schema = read(original, schema=subject.schema), subject.table, subject.schema
    if subject.plan is not None and subject.plan.weight == schema.weight not in before.names:
        schema = schema.replace(weight=None)  # other people, whose weights nobody gave
    schema.check(before.names)
    check_measured(schema, after, "released table")
    cells = [released_column(before.declared_column(schema, n), subject) for n in schema.quasi]
    unread = {made.column.name: made.told(made.unread) for made in cells if made.unread}
    if unread:
        raise UnreadCells(unread)
    outside = {made.column.name: made.told(made.outside) for made in cells if made.outside}
    if outside:
        raise InputError(
            f"the release holds values that no original value could have given: {named_cells(outside)}",
            hint="check the column kinds, and give the hierarchy or the plan that was used",
        )
    found = find_rows(before, subject, [made.column for made in cells], key)
    rows, released_rows = found.rows, found.released_rows
    released = [made.column.paired(rows, released_rows) for made in cells]
    quasi = [column.original for column in released]
    sensitive = [taken(before.declared_column(schema, n), rows) for n in schema.sensitive]
    groups, notes = None, _outside(quasi, released, allow_outside or subject.verified)
    notes += filter(None, [found.note()])
    after_sensitive = []
    for own in sensitive:
        if own.name == subject.numbered and subject.second is not None:
            numbered = taken(after.column(own.name, kind="categorical"), released_rows)
            shown, groups = join(own, numbered, subject.second, [c.codes for c in quasi])
            notes.append(
                f"learners get every record with all values of {own.name} in its group, by their "
                "shares; where a figure needs one value a record, each was dealt one of its group's"
            )
        else:
            shown = _released_sensitive(own, subject, released_rows)
        after_sensitive.append(shown)
    notes += told_of_table(before, after, schema)
    told = zip(sensitive, after_sensitive, strict=True)
    changed = [own.name for own, shown in told if not same(own, shown)]
    if changed:
        notes.append("sensitive columns differ from the original row by row: " + ", ".join(changed))
    notes += left_open(sensitive, after_sensitive)
    plain = [(c.original, c.middle[c.codes]) for c in released if c.is_number and not c.general]
    told = zip(sensitive, after_sensitive, strict=True)
    numbers = [*plain, *((own, c.numbers) for own, c in told if own.is_number)]
    notes += elsewhere(numbers) + exchanged(numbers)
    return Pair(
        schema,
        before,
        after,
        rows,
        released_rows,
        tuple(quasi),
        tuple(sensitive),
        tuple(released),
        tuple(after_sensitive),
        before.n_rows - len(rows),
        tuple(notes),
        subject.risk_model,
        groups,
        None if groups is None else subject.numbered,
    )


def check_measured(schema: Schema, table: Table, what: str) -> None:
    """Refuse a table that lacks what is measured; SchemaError names the columns."""
    if not schema.quasi:
        raise SchemaError(
            "no quasi-identifiers were named",
            hint="say which columns an intruder may know (quasi=[...], --quasi)",
        )
    lost = [n for n in (*schema.quasi, *schema.sensitive) if n not in table.names]
    if lost:
        raise SchemaError(
            f"the {what} lacks " + ", ".join(map(repr, lost)),
            hint="its columns are: " + ", ".join(table.names),
        )


def evenly(rows: IntArray, most: int) -> IntArray:
    """At most so many of some rows, spread evenly over their order."""
    picked = np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)
    return rows[np.unique(picked)]


def spread(rows: IntArray, most: int, random_state: int = 0) -> IntArray:
    """At most so many people whom an attack is tried on: one from each equal part of their order.

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


def released_column(original: Column, subject: Subject) -> Read:
    """The cells of a released quasi-identifier, row by row of the released table."""
    after = subject.table
    if original.is_number and after.kind(original.name) == original.kind:
        found = after.column(original.name, unit=original.unit or None)
        labels: Any = [float(v) for v in found.values]
    else:
        found = after.column(original.name, kind="categorical")
        labels = found.values
    return read_released(
        original,
        found.codes,
        labels,
        subject.schema.hierarchies.get(original.name),
        subject.meanings.get(original.name, ()),
    )


def _released_sensitive(column: Column, subject: Subject, rows: IntArray) -> Column:
    after = subject.table
    try:
        found = after.like(column)
    except SchemaError:
        if not column.is_number:
            raise InputError(
                f"the released sensitive column {column.name!r} cannot be read as "
                f"{column.kind}, the kind of the original"
            ) from None
        found = _middles(column, after)
    if not column.is_number and not set(found.values) <= set(column.values):
        found = _categories(column, subject)
    return taken(found, rows)


def _categories(own: Column, subject: Subject) -> Column:
    """A sensitive category with cells that the original lacks: its own values where one is meant."""
    made = released_column(own, subject)
    if made.unread or made.outside:
        raise UnreadCells({own.name: made.told((*made.unread, *made.outside))})
    column = made.column
    means = [
        own.values[members[0]] if len(members) == 1 and not missing else label
        for label, members, missing in zip(
            column.labels, column.members, column.missing, strict=True
        )
    ]
    values = sorted({name for name in means if name is not None})
    if own.kind == "ordinal":  # what several values are stands behind them
        values = [*own.values, *(name for name in values if name not in own.values)]
    place = {name: code for code, name in enumerate(values)}
    codes = np.array([place.get(name, len(values)) for name in means], np.int64)[column.codes]
    return replace(
        own, codes=codes, values=values, has_missing=bool((codes == len(values)).any()), exact=()
    )


def _middles(own: Column, after: Table) -> Column:
    """A sensitive number that was released as ranges, each read at its middle."""
    found = after.column(own.name, kind="categorical")
    made = read_released(own, found.codes, found.values)
    if made.unread or made.outside:
        raise UnreadCells({own.name: made.told((*made.unread, *made.outside))})
    column = made.column
    values, place = np.unique(column.middle, return_inverse=True)
    gone_cells = column.anything | (column.missing & ~np.isfinite(column.lo))
    place = np.where(gone_cells, len(values), place.reshape(-1))
    codes = place[found.codes]
    gone = bool((codes == len(values)).any())
    return replace(own, codes=codes, values=values, has_missing=gone, exact=())


def _outside(
    quasi: Sequence[Column], released: Sequence[ReleasedColumn], allowed: bool
) -> list[str]:
    """Check that ranges and sets cover the row's own value."""
    faults = []
    for own, column in zip(quasi, released, strict=True):
        if column.general and not column.stands_in:
            out = int((~column.covers(own.codes, column.codes)).sum())
            if out:
                faults.append(f"{own.name!r} ({out} rows)")
    if not faults:
        return []
    said = "released cells do not cover the original value of their row: " + ", ".join(faults)
    if allowed:
        return [said]
    raise InputError(
        said,
        hint="does the key or the plan belong to these tables? for a plan applied to other people use allow_outside "
        "(--allow-outside)",
    )


def same(a: Column, b: Column) -> bool:
    """Whether two columns hold the same values in the same rows."""
    if len(a.codes) != len(b.codes):
        return False
    if a.is_number and not (a.exact or b.exact):
        return bool(np.array_equal(a.numbers, b.numbers, equal_nan=True))
    return bool((b.codes_in(a, unknown=-1) == a.codes).all())


def join(
    own: Column, numbered: Column, second: Table, beside: Sequence[npt.NDArray[Any]]
) -> tuple[Column, Groups]:
    """The column as a reader joins it: within a group the values are dealt at random.

    Parameters
    ----------
    own : Column
        The original column.
    numbered : Column
        The group of each row, as released in the column's place; numbers or their text.
    second : Table
        Group, value and count.
    beside : sequence of integer arrays, shape (n_rows,)
        Codes of other columns. With them and the original value a row is dealt its
        value by a hash, so that no order of the rows matters.

    Returns
    -------
    Column
        One of the values of its group for each row, in the original's codes.
    Groups
        The rows by group.

    Raises
    ------
    InputError
        The two tables do not fit.
    """
    where = {str(name): i for i, name in enumerate(numbered.values)}
    names, labels = numbered.values, numbered.codes.astype(np.int64)
    groups = np.array(
        [where.get(str(g), len(names)) for g in second.arrow.column(GROUP).to_pylist()], np.int64
    )
    counts = second.arrow.column(COUNT).to_numpy().astype(np.int64)
    codes = codes_of(own, second)
    unknown = int((codes < 0).sum())
    held = np.bincount(groups, counts, len(names) + 1).astype(np.int64)
    wrong = int((held != np.bincount(labels, minlength=len(names) + 1)).sum())
    if unknown or wrong:
        raise InputError(
            f"the two released tables do not fit: {wrong:,} groups have another number of "
            f"records, {unknown:,} values are not in the original"
        )
    at = np.lexsort((codes, groups))
    values = np.repeat(codes[at], counts[at])
    dealt = np.empty(len(labels), np.int64)
    dealt[np.lexsort((_mixed([labels, own.codes, *beside]), labels))] = values
    return replace(own, codes=dealt), group([labels])


def _mixed(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.uint64]:
    mixed = np.zeros(len(columns[0]), np.uint64)
    for codes in columns:
        mixed = siphash_words(mixed ^ codes.astype(np.uint64), np.uint64(0), np.uint64(0))
    return mixed
