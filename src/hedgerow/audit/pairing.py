"""Put an original and a released table side by side, row by row, or say why that cannot be done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..classes import Groups, IntArray, Persons, group
from ..errors import InputError, SchemaError
from ..schema import Schema
from ..table import Column, Table, read
from .joined import join
from .released_values import ReleasedColumn, duplicates, read_released
from .subject import Subject


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
    yardstick : {"classes", "linkage"}
        What judges the release.
    groups : Groups, optional
        The groups that a second table tells the sensitive values of; by default
        the equivalence classes tell them.
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
    yardstick: str = "classes"
    groups: Groups | None = None

    @property
    def n_rows(self) -> int:
        """Number of paired rows."""
        return len(self.rows)

    @cached_property
    def classes(self) -> Groups:
        """The equivalence classes of the released quasi-identifiers."""
        return group([e.codes for e in self.released_quasi], self.n_rows)

    @cached_property
    def persons(self) -> Persons | None:
        """Who the rows are about, where the schema tells; None where every row is a person."""
        found = Persons.of(self.original, self.schema.person)
        return None if found is None else found.taken(self.rows)

    def people_in(self, groups: Groups) -> IntArray:
        """What k counts of some groups of the rows: people, or records."""
        return groups.sizes if self.persons is None else self.persons.sizes(groups)

    @property
    def told(self) -> Groups:
        """What the release tells sensitive values of: groups of a second table, or its classes."""
        return self.groups if self.groups is not None else self.classes

    @cached_property
    def original_classes(self) -> Groups:
        """The classes of the original quasi-identifiers."""
        return group([c.codes for c in self.quasi], self.n_rows)

    @cached_property
    def canonical(self) -> IntArray:
        """Rows in an order that depends on their values alone."""
        keys = [c.codes for c in (*self.quasi, *self.sensitive, *self.released_sensitive)]
        keys += [e.codes for e in self.released_quasi]
        return np.lexsort(keys[::-1]) if keys else np.arange(self.n_rows)


def align(
    original: Any,
    released: Any,
    schema: Schema,
    *,
    key: str | None = None,
    allow_outside: bool = False,
) -> Pair:
    """`pair_up` of a table that nothing more is known of: path, frame or Table."""
    return pair_up(original, Subject(read(released), schema), key=key, allow_outside=allow_outside)


def pair_up(
    original: Any, subject: Subject, *, key: str | None = None, allow_outside: bool = False
) -> Pair:
    """Pair the rows of two tables and understand every released cell.

    Parameters
    ----------
    original : path, frame or Table
        The table before. Row i of the release belongs to the row with the same `key`, to the
        row that the subject knows (`Subject.rows_of`), or else to row i.
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
    InputError
        The rows cannot be paired, or the release holds values that no original
        value could have given; counts per column, never the values.
    SchemaError
        A column is missing.
    """
    before, after, schema = read(original), subject.table, subject.schema
    if not schema.quasi:
        raise SchemaError(
            "no quasi-identifiers were named",
            hint="say which columns an intruder may know (quasi=[...], --quasi)",
        )
    schema.check(before.names)
    lost = [n for n in (*schema.quasi, *schema.sensitive) if n not in after.names]
    if lost:
        raise SchemaError(
            "the released table lacks " + ", ".join(map(repr, lost)),
            hint="its columns are: " + ", ".join(after.names),
        )
    known = subject.rows_of(before) if key is None else None
    rows, released_rows = _pair(before, after, key, known)
    quasi = [take(before.declared_column(schema, n), rows) for n in schema.quasi]
    released, faults = [], []
    for own in quasi:
        column, strange = _released_column(own, subject, released_rows)
        released.append(column)
        if strange:
            faults.append(f"{column.name!r} ({strange} rows)")
    if faults:
        raise InputError(
            "the release holds values that no original value could have given: "
            + ", ".join(faults),
            hint="check the column kinds, and give the hierarchy or the plan that was used",
        )
    sensitive = [take(before.declared_column(schema, n), rows) for n in schema.sensitive]
    groups, notes = None, _outside(quasi, released, allow_outside or subject.verified)
    if known is None and key is None and not subject.in_order:
        notes.append(
            "rows were paired by their place, for nothing tells which belong together; `protect` "
            "writes them in another order, so give its Release or folder, or a key column"
        )
    after_sensitive = []
    for own in sensitive:
        if own.name == subject.numbered and subject.second is not None:
            numbered = take(after.column(own.name, kind="categorical"), released_rows)
            shown, groups = join(own, numbered, subject.second, [c.codes for c in quasi])
            notes.append(
                f"the values of {own.name} were dealt at random within their groups, as a "
                "reader joins the two tables"
            )
        else:
            shown = _released_sensitive(own, after, released_rows)
        after_sensitive.append(shown)
    notes += _notes(before, after, schema, sensitive, after_sensitive)
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
        subject.yardstick,
        groups,
    )


def evenly(rows: IntArray, most: int) -> IntArray:
    """At most so many of some rows, spread evenly over their order."""
    picked = np.linspace(0, len(rows) - 1, min(most, len(rows))).astype(np.int64)
    return rows[np.unique(picked)]


def take(column: Column, rows: IntArray) -> Column:
    """The column for some rows; its dictionary stays."""
    if len(rows) == len(column.codes) and (rows[:-1] < rows[1:]).all():
        return column
    return replace(column, codes=column.codes[rows])


def _pair(
    before: Table, after: Table, key: str | None, known: IntArray | None
) -> tuple[IntArray, IntArray]:
    """The rows of the original and of the release that belong together, by original row."""
    if known is not None:
        order = np.argsort(known)
        return np.asarray(known, np.int64)[order], order
    if key is None:
        if before.n_rows != after.n_rows:
            raise InputError(
                f"the tables cannot be aligned: {before.n_rows} original and {after.n_rows} "
                "released rows, and no key column",
                hint="give a column that both tables share and that numbers the rows (key=, --key)",
            )
        every = np.arange(before.n_rows)
        return every, every
    lost = [where for where, t in (("original", before), ("released", after)) if key not in t.names]
    if lost:
        raise SchemaError(f"the {' and the '.join(lost)} table has no key column {key!r}")
    left, right = before.column(key, kind="categorical"), after.column(key, kind="categorical")
    for where, column in (("original", left), ("released", right)):
        gone = int((column.codes == column.n_values).sum())
        twice = duplicates(column.codes[column.codes != column.n_values])
        if gone or twice:
            raise InputError(
                f"the key column {key!r} of the {where} table is no key: {gone} rows "
                f"without a value, {twice} rows share one"
            )
    found = right.codes_in(left, unknown=-1)
    unknown = int((found < 0).sum())
    if unknown:
        raise InputError(
            f"the tables cannot be aligned: {unknown} of {after.n_rows} released rows "
            f"have a {key!r} that the original table does not have"
        )
    row_of = np.empty(left.n_values, np.int64)
    row_of[left.codes] = np.arange(before.n_rows)
    rows = row_of[found]
    order = np.argsort(rows)
    return rows[order], order


def _released_column(
    original: Column, subject: Subject, rows: IntArray
) -> tuple[ReleasedColumn, int]:
    """A released quasi-identifier, and how many rows hold cells that nothing explains."""
    after = subject.table
    number = original.is_number and after.kind(original.name) in ("numeric", "date")
    if number:
        found = after.column(original.name, unit=original.unit or None)
        labels: Any = [float(v) for v in found.values]
    else:
        found = after.column(original.name, kind="categorical")
        labels = found.values
    found = take(found, rows)
    column, bad = read_released(
        original,
        found.codes,
        labels,
        subject.schema.hierarchies.get(original.name),
        subject.meanings.get(original.name, ()),
    )
    strange = int(column.counts[bad].sum()) if len(bad) else 0
    return _suppressed_nulls(column), strange


def _suppressed_nulls(column: ReleasedColumn) -> ReleasedColumn:
    """A missing cell where the original has a value was suppressed: it may be anything."""
    cell = next((i for i, label in enumerate(column.labels) if label is None), None)
    if cell is None:
        return column
    hidden = (column.codes == cell) & (column.original.codes != column.original.n_values)
    if not hidden.any():
        return column
    original, m = column.original, column.original.n_values
    anything, lo, hi = column.anything.copy(), column.lo.copy(), column.hi.copy()
    members, weights = list(column.members), list(column.weights)
    anything[cell] = True
    if original.is_number:
        lo[cell], hi[cell] = original.values[0], original.values[-1]
    public = original.counts()[:m]
    members[cell], weights[cell] = np.arange(m), public / public.sum()
    return replace(
        column,
        anything=anything,
        lo=lo,
        hi=hi,
        members=tuple(members),
        weights=tuple(weights),
        general=True,
    )


def _released_sensitive(column: Column, after: Table, rows: IntArray) -> Column:
    try:
        found = after.like(column)
    except SchemaError:
        if column.is_number and (guessed := _middles(column, after)) is not None:
            return take(guessed, rows)
        raise InputError(
            f"the released sensitive column {column.name!r} cannot be read as "
            f"{column.kind}, the kind of the original"
        ) from None
    return take(found, rows)


def _middles(own: Column, after: Table) -> Column | None:
    """A sensitive number that was released as ranges, each read at its middle."""
    found = after.column(own.name, kind="categorical")
    column, bad = read_released(own, found.codes, found.values)
    if len(bad) or not (column.general or column.n_cells):
        return None
    values, place = np.unique(column.middle, return_inverse=True)
    place = np.where(column.missing & ~np.isfinite(column.lo), len(values), place.reshape(-1))
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
        hint="are the rows in the same order? if not, give a key column (key=, "
        "--key); for a plan applied to other people use allow_outside "
        "(--allow-outside)",
    )


def _notes(
    before: Table,
    after: Table,
    schema: Schema,
    sensitive: Sequence[Column],
    released: Sequence[Column],
) -> list[str]:
    notes: list[str] = []
    persons = Persons.of(before, schema.person)
    if persons is not None:
        notes += filter(None, [persons.caution()])
        notes.append(
            f"people are told apart by {schema.person}: k and the risks of being found count them; "
            "disclosure and shares weigh every record alike, so whoever has many counts for many"
        )
    named = [n for n in schema.identifiers if n in after.names]
    if named:
        notes.append("direct identifiers are in the release: " + ", ".join(named))
    others = [n for n in after.names if schema.role(n) in ("other", "undeclared")]
    if others:
        notes.append(
            "columns of no other role were released and not measured: " + ", ".join(others)
        )
    changed = [c.name for c, r in zip(sensitive, released, strict=True) if not same(c, r)]
    if changed:
        notes.append("sensitive columns differ from the original row by row: " + ", ".join(changed))
    return notes


def same(a: Column, b: Column) -> bool:
    """Whether two columns hold the same values in the same rows."""
    if len(a.codes) != len(b.codes):
        return False
    if a.is_number and not (a.exact or b.exact):
        return bool(np.array_equal(a.numbers, b.numbers, equal_nan=True))
    return bool((b.codes_in(a, unknown=-1) == a.codes).all())
