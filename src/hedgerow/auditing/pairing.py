"""Read an original and a released table together, with paired rows or without, or raise an error with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns.column import Column
from ..columns.table import Table
from ..errors import InputError, SchemaError
from ..io.read import read
from ..kernels.siphash import siphash_words
from ..measures import Groups, Ints, group
from ..methods.anatomy_tables import COUNT, GROUP, codes_of
from ..plan.records import REDRAW, RUNS
from ..release.records import RowMap
from ..schema import Schema
from ..texts import refusal, text
from .matching import find_rows
from .released_values import CellReading, ReleasedColumn, of_rows, read_released, suppressed, unchanged
from .subject import Subject, UnreadCells, named_cells
from .table_pair import Pair, People, TablePair
from .table_warnings import exchanged, left_open, numbers_as_text, out_of_range, released_identifiers, table_notes


def align(original: Any, released: Any, schema: Schema, *, key: str | None = None, allow_outside: bool = False) -> Pair:
    """Pair two tables by a key, or by row order if they have the same number of rows."""
    before = read(original, schema=schema)
    after = read(released, schema=schema, unescape_formulas=True)
    rows = RowMap(np.arange(after.n_rows), "") if key is None and before.n_rows == after.n_rows else None
    return pair_up(before, Subject(after, schema, rows=rows), key=key, allow_outside=allow_outside)


def pair_up(original: Any, subject: Subject, *, key: str | None = None, allow_outside: bool = False) -> Pair:
    """Pair the rows of two tables, and read every released cell.

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
        Nothing shows which rows belong together.
    InputError
        The key column is not a key, or the release holds values that no original
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
    if unread := {each.column.name: each.rows_of(each.unread) for each in cells if each.unread}:
        raise UnreadCells(unread)
    if outside := {each.column.name: each.rows_of(each.outside) for each in cells if each.outside}:
        raise InputError(
            f"the release holds values that no original value could have given: {named_cells(outside)}",
            hint="check the column kinds, and give the hierarchy or the plan that was used",
        )
    row_pairs = find_rows(before, subject, [each.column for each in cells], key)
    rows, released_rows = row_pairs.rows, row_pairs.released_rows
    in_rows = subject.guard is not None and subject.guard.rows  # which no cell of a person's own can cover
    released = [each.column.paired(rows, released_rows, is_drawn=in_rows) for each in cells]
    quasi = [column.original for column in released]
    sensitive = [of_rows(before.declared_column(schema, n), rows) for n in schema.sensitive]
    groups, notes = None, [] if in_rows else _outside(released, allow_outside or subject.verified)
    notes += filter(None, [row_pairs.note()])
    after_sensitive = []
    for column in sensitive:
        if column.name == subject.numbered and subject.second is not None:
            numbered = of_rows(after.column(column.name, kind="categorical"), released_rows)
            released_as, groups = join(column, numbered, subject.second, [c.codes for c in quasi])
            notes.append(text("note", "by_group", name=column.name))
        else:
            released_as = _released_sensitive(column, subject, released_rows)
        after_sensitive.append(released_as)
    notes += table_notes(before, after, schema)
    both = zip(sensitive, after_sensitive, strict=True)
    if changed := [column.name for column, released_as in both if not same(column, released_as)]:
        key = {RUNS: "guard_runs", REDRAW: "guard_redraw"}[subject.guard.form] if subject.guard else "sensitive_differ"
        notes.append(text("note", key, names=", ".join(changed)))
    notes += left_open(sensitive, after_sensitive)
    # only plain numbers can be those of another unit or column; a range has no single number
    plain = [(c.original, c.middle[c.codes]) for c in released if c.is_number and not c.general]
    both = zip(sensitive, after_sensitive, strict=True)
    numbers = [*plain, *((column, c.numbers) for column, c in both if column.is_number)]
    notes += out_of_range(numbers) + exchanged(numbers)
    return Pair(
        schema,
        before,
        after,
        People(tuple(quasi), tuple(sensitive)),
        tuple(released),
        tuple(after_sensitive),
        rows,
        released_rows,
        notes=tuple(notes),
        risk_model=subject.risk_model,
        guard=subject.guard,
        groups=groups,
        by_group=None if groups is None else subject.numbered,
    )


def check_measured(schema: Schema, table: Table, what: str) -> None:
    """Raise SchemaError if a table lacks columns that the audit measures."""
    if not schema.quasi:
        raise SchemaError("no quasi-identifiers are named", hint="say what an intruder may know (quasi=[...], --quasi)")
    if lost := [n for n in (*schema.quasi, *schema.sensitive) if n not in table.names]:
        names = ", ".join(table.names)
        raise SchemaError(**refusal("lacks", what=what, lost=", ".join(map(repr, lost)), names=names))


def released_column(original: Column, subject: Subject) -> CellReading:
    """Read the cells of a released column, one per row of the released table."""
    after, values = subject.table, None
    if original.is_number and original.kind in ("date", after.kind(original.name)):
        with suppress(SchemaError):  # of dates that are told as ranges
            values = after.column(original.name, kind=original.kind, unit=original.unit or None)
    labels: Any = [float(v) for v in values.values] if values else []
    if values is None:
        values = after.column(original.name, kind="categorical")
        labels = values.values
    hierarchy = subject.schema.hierarchies.get(original.name)
    return read_released(original, values.codes, labels, hierarchy, subject.meanings_in(original))


def _released_sensitive(column: Column, subject: Subject, rows: Ints) -> Column:
    try:
        released = subject.table.like(column)
    except SchemaError:
        if not column.is_number:
            raise InputError(
                f"the released sensitive column {column.name!r} cannot be read as {column.kind}, the original's kind"
            ) from None
        released = displayed(_all_cells(column, subject))  # ranges, each at its middle
    # joined or generalised categories, which the original does not have
    if not column.is_number and not set(released.values) <= set(column.values):
        released = _categories(column, _all_cells(column, subject))
    here = subject.table.has_cell(column.name)
    return of_rows(replace(released, here=here, fewest=0 if here is None else column.fewest), rows)


def _all_cells(column: Column, subject: Subject) -> ReleasedColumn:
    """Read a released sensitive column; raise UnreadCells if a cell cannot be read."""
    cells = released_column(column, subject)
    if cells.unread or cells.outside:
        raise UnreadCells({column.name: cells.rows_of((*cells.unread, *cells.outside))})
    return cells.column


def _categories(column: Column, cells: ReleasedColumn) -> Column:
    """Return a released category column, in which cells that mean one original value become that value."""
    means = [
        column.values[members[0]] if len(members) == 1 and not missing else label
        for label, members, missing in zip(cells.labels, cells.members, cells.missing, strict=True)
    ]
    values = sorted({name for name in means if name is not None})
    if column.kind == "ordinal":  # what several values are stands behind them
        values = [*column.values, *(name for name in values if name not in column.values)]
    place = {name: code for code, name in enumerate(values)}
    codes = np.array([place.get(name, len(values)) for name in means], np.int64)[cells.codes]
    return _with_values(column, codes, values)


def _with_values(column: Column, codes: Ints, values: Any) -> Column:
    """Return a column with new codes and values, in which the code ``len(values)`` means missing."""
    return replace(
        column, codes=codes, values=values, has_missing=bool((codes == len(values)).any()), exact=(), here=None
    )


def _outside(released: Sequence[ReleasedColumn], allowed: bool) -> list[str]:
    """Check that each range or set covers the original value of its row; return faults as notes if allowed."""
    general = [column for column in released if column.general and not column.stands_in]
    out = {column.name: int((~column.covers(column.original.codes, column.codes)).sum()) for column in general}
    if not (faults := [f"{name!r} ({rows} rows)" for name, rows in out.items() if rows]):
        return []
    refused = refusal("not_covered", columns=", ".join(faults))
    if allowed:
        return [refused["message"]]
    raise InputError(**refused)


def same(a: Column, b: Column) -> bool:
    """Return whether two columns hold the same values in the same rows."""
    if len(a.codes) != len(b.codes):
        return False
    # numbers that doubles do not hold are compared by their exact values
    if a.is_number and not (a.exact or b.exact):
        return bool(np.array_equal(a.numbers, b.numbers, equal_nan=True))
    return bool((b.codes_in(a, unknown=-1) == a.codes).all())


def join(column: Column, numbered: Column, second: Table, others: Sequence[npt.NDArray[Any]]) -> tuple[Column, Groups]:
    """Join a column with its second table, distributing each group's values over its rows by a hash.

    Parameters
    ----------
    column : Column
        The original column.
    numbered : Column
        The group of each row, as released in the column's place; numbers or their text.
    second : Table
        Group, value and count.
    others : sequence of integer arrays, shape (n_rows,)
        Codes of other columns. A hash of them and of the original value decides which value a
        row gets, so the result does not depend on the order of the rows.

    Returns
    -------
    Column
        One of the values of its group for each row, in the original's codes.
    Groups
        The rows by group.

    Raises
    ------
    InputError
        The two tables do not belong together.
    """
    # groups may be numbers in one table and text in the other
    where = {str(name): i for i, name in enumerate(numbered.values)}
    names, labels = numbered.values, numbered.codes.astype(np.int64)
    groups = np.array([where.get(str(g), len(names)) for g in second.arrow.column(GROUP).to_pylist()], np.int64)
    counts = second.arrow.column(COUNT).to_numpy().astype(np.int64)
    codes = codes_of(column, second)
    unknown = int((codes < 0).sum())
    counted = np.bincount(groups, counts, len(names) + 1).astype(np.int64)
    wrong = int((counted != np.bincount(labels, minlength=len(names) + 1)).sum())
    if unknown or wrong:
        raise InputError(
            f"the two released tables do not fit: {wrong:,} groups have another number of records, {unknown:,} "
            "values are not in the original"
        )
    # both are sorted by group, the rows within by a hash: dealt at random, yet equal for any row order
    at = np.lexsort((codes, groups))
    values = np.repeat(codes[at], counts[at])
    dealt = np.empty(len(labels), np.int64)
    dealt[np.lexsort((_mixed([labels, column.codes, *others]), labels))] = values
    return replace(column, codes=dealt), group([labels])


def _mixed(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.uint64]:
    mixed = np.zeros(len(columns[0]), np.uint64)
    for codes in columns:
        mixed = siphash_words(mixed ^ codes.astype(np.uint64), np.uint64(0), np.uint64(0))
    return mixed


def read_unpaired(original: Any, subject: Subject, control: Any = None, why: str = "") -> TablePair:
    """Read two tables without pairing their rows.

    Parameters
    ----------
    original : path, frame or Table
        The people that the release was made from.
    subject : Subject
        The release, of any number of rows.
    control : path, frame or Table, optional
        People who are not in the original, as a control group.
    why : str
        The reason why rows are not paired, if the caller asked for pairs.

    Raises
    ------
    SchemaError
        A column is missing, or has another kind in the control.
    UnreadCells
        Of the cells of a released column fewer than a twentieth can be read.
    """
    after, schema = subject.table, subject.schema
    before = read(original, schema=schema)
    others = None if control is None else read(control, schema=schema)
    schema.check(before.names)
    check_measured(schema, after, "released table")
    check_measured(schema, others or before, "control")
    notes = ["; ".join(filter(None, [why, text("note", "no_pairs")]))]
    if others is None:
        notes.append(text("note", "no_strangers"))
    notes += released_identifiers(after, schema) + numbers_as_text(before, schema)
    tables = _tables(before, subject, None, tuple(notes))
    if others is None:
        return tables
    # read twice: values of strangers must not shift any figure but those of attacks
    return replace(_tables(before, subject, others, ()), own_codes=tables)


def _tables(before: Table, subject: Subject, others: Table | None, notes: tuple[str, ...]) -> TablePair:
    """Read both tables with one dictionary per column, built from the members (and strangers, if given)."""
    schema = subject.schema
    mine: dict[str, Column] = {}
    theirs: dict[str, Column] = {}
    cells: dict[str, ReleasedColumn] = {}
    groups = None
    for name in (*schema.quasi, *schema.sensitive):
        column = before.declared_column(schema, name)
        if others is not None:
            column, theirs[name] = together(column, others.like(column))
        mine[name] = column
        if name == subject.numbered:
            dealt, groups = joined(column, subject, list(cells.values()))
            cells[name] = replace(unchanged(dealt), original=column)
        else:
            cells[name], note = _cells(column, subject)
            notes += note

    def people(columns: dict[str, Column]) -> People:
        return People(tuple(columns[n] for n in schema.quasi), tuple(columns[n] for n in schema.sensitive))

    sensitive = tuple(cells[n] for n in schema.sensitive)
    return TablePair(
        schema,
        before,
        subject.table,
        people(mine),
        tuple(cells[n] for n in schema.quasi),
        tuple(displayed(column) for column in sensitive),
        cells=sensitive,
        strangers=None if others is None else people(theirs),
        notes=notes,
        # plain cells, as of synthetic data, form no groups by design: attacks alone judge them
        risk_model="classes"
        if groups or (not subject.is_private and any(cells[n].general for n in schema.quasi))
        else "attacks",
        groups=groups,
        by_group=None if groups is None else subject.numbered,
    )


def joined(column: Column, subject: Subject, others: Sequence[ReleasedColumn]) -> tuple[Column, Groups]:
    """Join a column of group numbers with its second table, as a recipient would."""
    numbered = subject.table.column(column.name, kind="categorical")
    assert subject.second is not None
    every_row = replace(column, codes=np.zeros(len(numbered.codes), np.int64))
    return join(every_row, numbered, subject.second, [c.codes for c in others])


def together(one: Column, two: Column) -> tuple[Column, Column]:
    """Give two columns of the same kind a common dictionary: the union of their values.

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
        first_values = set(one.values)
        values = [*one.values, *(v for v in two.values if v not in first_values)]
        # ordinal values keep their order, and those of the control alone come last
        if one.kind == "categorical":
            values.sort()
        place = {v: i for i, v in enumerate(values)}
        places = [np.array([place[v] for v in c.values], np.int64) for c in (one, two)]
    coded = []
    for column, at in zip((one, two), places, strict=True):
        codes = np.append(at, len(values))[column.codes]
        # doubles that stand for the same exact number share a code
        coded.append(replace(column, codes=codes, values=values, exact=()))
    return coded[0], coded[1]


def _cells(column_read: Column, subject: Subject) -> tuple[ReleasedColumn, tuple[str, ...]]:
    """Read a released column, and return a note on the cells that fit no person's value."""
    reading = released_column(column_read, subject)
    column, strange = reading.column, reading.rows_of((*reading.unread, *reading.outside))
    notes: tuple[str, ...] = ()
    # of the rest a twentieth at least must say something; copies may be a tenth of a file
    if 20 * (len(column.codes) - sum(strange.values())) < len(column.codes):
        raise UnreadCells({column_read.name: strange})
    if strange:
        notes = (text("note", "fit_nobody", cells=named_cells({column_read.name: strange})),)
    # where the original has every value, an empty cell was suppressed
    missing = column_read.counts()[column_read.n_values]
    return (column if missing or not column_read.n_values else suppressed(column)), notes


def displayed(column: ReleasedColumn) -> Column:
    """Return a released column as plain values: numbers (midpoints of ranges) or categories.

    Cells that leave their value open become missing.
    """
    original = column.original
    if column.is_number:
        is_known = np.isfinite(column.lo) & ~column.anything
        values, place = np.unique(column.middle[is_known], return_inverse=True)
        code = np.full(column.n_cells, len(values))
        code[is_known] = place.reshape(-1)
    else:
        values, m = original.values, original.n_values
        code = np.array([int(c[0]) if len(c) == 1 else m for c in column.members], np.int64)
    return _with_values(original, code[column.codes], values)
