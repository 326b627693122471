"""Widen tables with several rows a unit (a person, household or patient) to one row a unit, and lengthen them again.

Each row of a unit has a slot: its wave, its place in time, or who it is in the household. The wide table has what a
unit has once, a column for each slot of all else, and one that says in which slots a unit has rows. Numbers that never
fall, such as an age, are a first value and steps.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, SchemaError, singular
from ..hierarchy import TOP, Hierarchy
from ..io.frames import ArrowSource
from ..kernels import Bools, Ints
from ..plan import UnitForm
from ..plan.records import MEMBER, TIME, WAVE
from ..rules import Expression, parse
from ..schema import ROLE_FIELDS, TABLES, Schema
from .arrays import ArrowFault, as_text, decoded, floats, is_moment, is_number, one_piece, value_type
from .order import content_order
from .table import Table

# the share of rows a unit that numbered slots reach, and how many there are at least
_REACHED, _FEWEST_SLOTS = 99, 12
# the share of households that have a member with a slot of his own
_COMMON = 0.05
# the spread of a moving column's steps, of the spread of its values
_STEADY = 0.25
# decimals of a moving column, and the numbers that are exact in doubles
_DECIMALS, _EXACT, _LARGEST = 9, 1 << 53, 1 << 62
# what steps of times count, in microseconds
_TIMES = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000, 1)
# an absent or missing whole number
_MISSING = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Units:
    """A long table as one of units.

    Parameters
    ----------
    form : UnitForm
        The way back.
    long : Table
        The table with one row for each row of a unit.
    table : Table
        One row a unit, ordered by the units' ids, which it does not have.
    schema : Schema
        The roles of its columns.
    notes : list of str
        What was left out or changed, with counts.
    workspace : Workspace, optional
        The folder of the file from which another engine reads `table`.
    """

    form: UnitForm
    long: Table
    table: Table
    schema: Schema
    notes: list[str]
    workspace: Any = None

    @property
    def long_schema(self) -> Schema:
        """Return the roles of the columns of the long table."""
        return Schema.from_toml(self.form.schema)


@dataclass(frozen=True)
class _PlacedRows:
    """The rows of a long table that have a slot, ordered by unit and slot.

    Parameters
    ----------
    row, unit, slot : int64 arrays of shape (n_rows,)
        The row of the long table, its unit from 0 on, and its slot.
    labels : tuple of str
        The labels of the slots, of which the first `labelled` are values.
    left_out, units_cut : int
        Rows without a slot, and the units that have some.
    """

    row: Ints
    unit: Ints
    slot: Ints
    labels: tuple[str, ...]
    labelled: int
    left_out: int
    units_cut: int

    @property
    def first(self) -> Ints:
        """Return where the rows of each unit begin; shape (n_units,)."""
        return _starts(self.unit)

    def grid(self, values: Ints, absent: int) -> Ints:
        """Return a value for each of the rows as an array of shape (n_units, n_slots)."""
        cells = np.full((len(self.first), len(self.labels)), absent)
        cells[self.unit, self.slot] = values
        return cells

    def units_with(self, at: Any) -> int:
        """Return how many units have one of these rows (flags or places)."""
        return len(np.unique(self.unit[at]))


class _Movement(NamedTuple):
    """A moving column as whole numbers of its last decimal, of days or of microseconds, and what a step counts."""

    numbers: Ints
    decimals: int
    step_unit: int


def widened(table: Table, schema: Schema, people: int) -> Units:
    """Return a long table as a table of units, with its schema; the order of the rows changes nothing.

    Parameters
    ----------
    table : Table
    schema : Schema
        A long one (`Schema.is_long`).
    people : int
        The fewest units, at least 1, that decide anything: a slot that fewer have is left out, and fewer that have two
        values of a column leave it one that units have once.

    Raises
    ------
    SchemaError
        An id, wave, member or time is missing; a unit has two rows in one wave; the weight, the household or a rule
        cannot be said of units.
    """
    schema.check(table.names)
    unit, by, notes = schema.unit_column or "", schema.wave or schema.member or schema.time or "", list[str]()
    order = WAVE if schema.wave else MEMBER if schema.member else TIME
    noun = "households" if order == MEMBER else "people"
    for name in (unit, by):
        if n := pc.sum(pc.is_null(table.arrow.column(name), nan_is_null=True)).as_py():
            what = "id" if name == unit else order
            raise SchemaError(
                f"column {name!r} is missing in {n:,} rows, whose {what} nobody knows",
                hint="fill it in, or leave these rows out",
            )
    released = ("quasi", "sensitive", "other")
    names = [name for name in table.names if name in (unit, by) or schema.role(name) in released]
    content = table.arrow.select([name for name in names if name != unit])
    rows = _PLACED[order](table, schema, people, content)
    if not len(rows.row):
        raise SchemaError(
            f"no {order} has rows of {people:,} {noun}, so no row is left", hint="take a smaller k, or another column"
        )
    if rows.left_out:
        why = _reason(order, len(rows.labels) - rows.labelled, people, noun)
        notes.append(f"left out are {rows.left_out:,} rows of {rows.units_cut:,} {noun}: {why}")
    # the household of people stays, so that it can be counted
    household = [schema.household] if schema.household and order != MEMBER else []
    once, repeated, moving = list[str](), list[str](), dict[str, _Movement]()
    for name in [*household, *names]:
        if name == unit or (name == by and order != TIME):
            continue
        if name == by and (movement := _movement(table, schema, name, rows, people)):
            moving[name] = movement
            continue
        codes = table.column(name).codes[rows.row]
        n = rows.units_with(codes != codes[rows.first][rows.unit])
        if n < people:
            once.append(name)
            if n:
                notes.append(f"{n:,} {noun} have more than one value of {name!r}, and get the first")
        elif name in (schema.weight, schema.household):
            raise SchemaError(
                f"the {'weight' if name == schema.weight else 'household'} {name!r} differs within {n:,} {noun}, and "
                "one record is made of all rows of each",
                hint="declare a weight sensitive or other, and no weight; leave a household out",
            )
        elif order != MEMBER and (movement := _movement(table, schema, name, rows, people)):
            moving[name] = movement
        else:
            repeated.append(name)
    if order == MEMBER and len(rows.labels) > rows.labelled:
        repeated.append(by)
    presence = f"{by} (rows)"
    while presence in table.names:
        presence += "'"
    form = UnitForm(
        unit, order, by, rows.labels, tuple(once), tuple(repeated), tuple(moving), presence, tuple(names),
        rows.labelled, tuple(m.step_unit for m in moving.values()), tuple(m.decimals for m in moving.values()),
        rows.left_out, people, schema.to_toml(),
    )  # fmt: skip
    wide = _wide_cells(table, form, rows, moving, household)
    source = ArrowSource(wide)
    source.categories = {
        wide_name: table.declared(name) for wide_name, (name, slot) in form.cells.items()
        if wide_name in once or name in repeated or (slot == 0 and name in moving)
    }  # fmt: skip
    patterns = Counter(sorted(wide.column(presence).to_pylist()))
    if household:  # which are counted
        pairs = {*zip(wide.column(presence).to_pylist(), wide.column(household[0]).to_pylist(), strict=True)}
        patterns = Counter(sorted(pattern for pattern, _ in pairs))
    of_units = Table(wide, source, table.layout)
    of_units.units = form
    wide_schema = _wide_schema(schema, form, table.names, patterns, people)
    return Units(form, table, of_units, wide_schema, list(map(singular, notes)))


def _reason(order: str, numbered: int, people: int, noun: str) -> str:
    """Return why rows have no slot, where so many are numbered."""
    if order == WAVE or not numbered:
        return f"fewer than {people:,} {noun} have {'rows in these waves' if order == WAVE else 'such members'}"
    others = "others of a household, or are a second one where there is one"
    return f"they lie beyond the first {numbered:,} {'rows of a person' if order == TIME else others}"


# slots


def _starts(sorted_units: Ints) -> Ints:
    return np.flatnonzero(np.diff(sorted_units, prepend=-1))


def _ordered(keys: Sequence[Ints], content: pa.Table) -> Ints:
    """Return the rows sorted by keys, the first one first, and by their content where all keys are equal."""
    order = np.lexsort(keys[::-1])
    same = np.logical_and.reduce([np.diff(key[order]) == 0 for key in keys])
    tied = np.sort(order[np.append(same, False) | np.append(False, same)])
    if len(tied) and content.num_columns:
        ranks = np.zeros(len(order), np.int64)
        ranks[tied[content_order(content.take(pa.array(tied)))]] = np.arange(len(tied))
        order = np.lexsort((ranks, *keys[::-1]))
    return order


def _codes(table: Table, name: str, kind: str | None = None) -> Ints:
    return table.column(name, kind=kind).codes.astype(np.int64)


def _rows(row: Ints, unit: Ints, slot: Ints, labels: Sequence[str], labelled: int) -> _PlacedRows:
    """Return the rows that have a slot; it is -1 for others."""
    chosen = np.flatnonzero(slot >= 0)
    chosen = chosen[np.lexsort((slot[chosen], unit[chosen]))]
    dense = np.cumsum(np.diff(unit[chosen], prepend=-1) != 0) - 1
    cut = unit[slot < 0]
    return _PlacedRows(row[chosen], dense, slot[chosen], tuple(labels), labelled, len(cut), len(np.unique(cut)))


def _of_waves(table: Table, schema: Schema, people: int, content: pa.Table) -> _PlacedRows:
    """Return rows in the slots of their waves."""
    by, unit = str(schema.wave), _codes(table, str(schema.unit_column), "categorical")
    wave = table.declared_column(schema, by).codes.astype(np.int64)
    pairs, counts = np.unique(unit * (wave.max() + 1) + wave, return_counts=True)
    if (counts > 1).any():
        n = len(np.unique(pairs[counts > 1] // (wave.max() + 1)))
        raise SchemaError(
            f"{n:,} people have two rows in one wave of {by!r}",
            hint="name the column that tells them apart as the time, or join these rows",
        )
    chosen = np.bincount(wave) >= people
    slot = np.where(chosen, np.cumsum(chosen) - 1, -1)[wave]
    labels = _labels(table, by, wave)[chosen]
    return _rows(np.arange(len(slot)), unit, slot, labels.tolist(), len(labels))


def _of_times(table: Table, schema: Schema, people: int, content: pa.Table) -> _PlacedRows:
    """Return rows in the slots of their order in time."""
    by, unit = str(schema.time), _codes(table, str(schema.unit_column), "categorical")
    kind = table.types.field(by).type
    if not (is_number(kind) or is_moment(kind)):
        raise SchemaError(
            f"the time {by!r} holds neither dates nor numbers but {kind}",
            hint="write dates as 2024-12-31, or name the column as the wave",
        )
    row = _ordered([unit, _codes(table, by)], content)
    slot, n_slots = _numbered(unit[row], people)
    return _rows(row, unit[row], slot, [str(i + 1) for i in range(n_slots)], 0)


def _of_members(table: Table, schema: Schema, people: int, content: pa.Table) -> _PlacedRows:
    """Return rows in the slots of members who are one of a kind in their household, and all others in numbered ones."""
    by, unit = str(schema.member), _codes(table, str(schema.unit_column), "categorical")
    value = table.declared_column(schema, by).codes.astype(np.int64)
    keys = [unit]
    for name in schema.quasi:
        if name != by and (kind := table.declared_kind(schema, name)) in ("numeric", "date"):
            column = table.declared_column(schema, name)
            codes, n = column.codes.astype(np.int64), column.n_values
            # the oldest first: the largest ages, the first dates of birth; missing ones last
            keys.append(np.where(codes == n, n, n - 1 - codes if kind == "numeric" else codes))
            break
    row = _ordered(keys, content)
    unit, value, n_values = unit[row], value[row], int(value.max()) + 1
    pair = unit * n_values + value
    pairs, first, counts = np.unique(pair, return_index=True, return_counts=True)
    having = np.bincount(pairs % n_values, minlength=n_values)
    breaking = np.bincount(pairs[counts > 1] % n_values, minlength=n_values)
    chosen = (having >= max(people, _COMMON * (unit.max() + 1))) & (breaking < people)
    labels = _labels(table, by, value[np.argsort(row)])[chosen].tolist()
    slot = np.full(len(row), -1)
    slot[first] = np.where(chosen, np.cumsum(chosen) - 1, -1)[value[first]]
    # a second one where there is one has no slot: read again, it would be the first where that is absent
    rest = np.flatnonzero((slot < 0) & ~chosen[value])
    numbered, n_slots = _numbered(unit[rest], people)
    slot[rest] = np.where(numbered >= 0, numbered + len(labels), -1)
    names = list(labels)
    for i in range(n_slots):
        label = f"other {i + 1}"
        while label in names:
            label += "'"
        names.append(label)
    return _rows(row, unit, slot, names, len(labels))


_PLACED: Mapping[str, Callable[[Table, Schema, int, pa.Table], _PlacedRows]] = {
    WAVE: _of_waves, TIME: _of_times, MEMBER: _of_members
}  # fmt: skip


def _numbered(sorted_units: Ints, people: int) -> tuple[Ints, int]:
    """Return the slot of each row by its place in its unit, -1 beyond the last slot, and the number of slots."""
    if not len(sorted_units):
        return sorted_units, 0
    starts = _starts(sorted_units)
    counts = np.diff(starts, append=len(sorted_units))
    place = np.arange(len(sorted_units)) - np.repeat(starts, counts)
    most = max(_FEWEST_SLOTS, int(np.percentile(counts, _REACHED, method="inverted_cdf")))
    n_slots = min(most, int((np.bincount(place) >= people).sum()))
    return np.where(place < n_slots, place, -1), n_slots


def _labels(table: Table, name: str, codes: Ints) -> Any:
    """Return a text for each code of a column that Arrow reads back, as an array of objects."""
    # of several texts of one number, such as 1 and 01, the first
    texts = _codes(table, name, "categorical")
    order = np.lexsort((texts, codes))
    entries = one_piece(decoded(table.arrow.column(name)).take(pa.array(order[_starts(codes[order])])))
    for write in (as_text, lambda cells: cells.cast(pa.string())):
        try:
            if (text := write(entries)).cast(entries.type).equals(entries):
                break
        except ArrowFault:
            continue
    else:
        text = as_text(entries)
    return np.array([*text.to_pylist(), None], object)[:-1]


# columns


def _whole_numbers(cells: Any, decimals: int | None) -> tuple[Ints, int, bool] | None:
    """Return cells as whole numbers of the last decimal, of days or of microseconds; `_MISSING` where they are missing.

    Parameters
    ----------
    cells : pyarrow array of numbers, dates or times
    decimals : int or None
        None for as few, at most `_DECIMALS`, as write all numbers exactly.

    Returns
    -------
    tuple of (int64 array, decimals, whether the numbers are exact), or None
        None if the numbers are too large or infinite.
    """
    cells, kind = one_piece(cells), cells.type
    try:
        if pa.types.is_date(kind):
            cells = cells.cast(pa.date32()).cast(pa.int32())
        elif pa.types.is_timestamp(kind):
            unit = kind.unit if kind.unit == "ns" else "us"
            cells = cells.cast(pa.timestamp(unit, kind.tz)).cast(pa.int64())
        if pa.types.is_integer(cells.type):
            numbers = cells.cast(pa.int64()).fill_null(int(_MISSING)).to_numpy()
            present = numbers != _MISSING
            fits = np.abs(numbers[present]).max(initial=0) < _LARGEST // 10 ** (decimals or 0)
            scaled = np.where(present, numbers, 0) * 10 ** (decimals or 0)
            return (np.where(present, scaled, _MISSING), decimals or 0, True) if fits else None
    except ArrowFault:
        return None
    values = floats(cells).to_numpy(zero_copy_only=False)
    present = ~np.isnan(values)
    values = np.where(present, values, 0.0)
    largest, exact = np.abs(values).max(initial=0), False
    if not largest < _EXACT:
        return None
    # beyond the exact numbers only the decimals asked for
    tried = [n for n in range(_DECIMALS + 1) if largest * 10.0**n < _EXACT] if decimals is None else [decimals]
    for n in tried:
        scaled = np.rint(values * 10.0**n)
        if exact := np.array_equal(scaled / 10.0**n, values):
            break
    return np.where(present, scaled.astype(np.int64), _MISSING), n, exact


def _movement(table: Table, schema: Schema, name: str, rows: _PlacedRows, people: int) -> _Movement | None:
    """Return a column as a moving one; None if it has gaps, falls, or its steps vary as much as its values do.

    The column of times is always one.
    """
    kind, is_time = table.types.field(name).type, name == schema.time
    is_of_kind = table.declared_kind(schema, name) in ("numeric", "date") and (is_number(kind) or is_moment(kind))
    read = _whole_numbers(table.arrow.column(name), None) if is_of_kind or is_time else None
    if is_time and read is None:
        raise SchemaError(f"the times in {name!r} are infinite or too large", hint="give them in another unit")
    if read is None or not (read[2] or is_time):
        return None
    numbers = read[0][rows.row]
    lacking = numbers == _MISSING
    steps, later = _differences(numbers, rows)
    movement = _Movement(read[0], read[1], _step_unit(kind, steps, later, rows, people))
    if is_time:
        return movement
    if rows.units_with(lacking) >= people or rows.units_with(later[steps < 0]) >= people or not len(steps):
        return None
    if not _spread(steps, people) <= _STEADY * _spread(numbers[~lacking], people):
        return None
    return movement


def _spread(numbers: Ints, people: int) -> float:
    """Return the standard deviation without the numbers at either end that fewer people may have mistyped."""
    few = min(people - 1, len(numbers) // 4)
    return float(np.sort(numbers)[few : len(numbers) - few].astype(np.float64).std())


def _differences(numbers: Ints, rows: _PlacedRows) -> tuple[Ints, Ints]:
    """Return the steps between rows of one unit that have a number, and the place of the later row of each."""
    present = np.flatnonzero(numbers != _MISSING)
    later = present[1:][np.diff(rows.unit[present]) == 0]
    steps = np.diff(numbers[present])[np.diff(rows.unit[present]) == 0]
    return steps, later


def _step_unit(kind: pa.DataType, steps: Ints, later: Ints, rows: _PlacedRows, people: int) -> int:
    """Return how many microseconds a step of times counts; 1 for days, 0 for numbers."""
    if not pa.types.is_timestamp(kind):
        return int(pa.types.is_date(kind))
    per = 1000 if kind.unit == "ns" else 1
    return next((u for u in _TIMES if rows.units_with(later[np.maximum(steps, 0) % (u * per) != 0]) < people), 1)


def _first_and_steps(movement: _Movement, rows: _PlacedRows, per: int) -> tuple[Ints, Ints]:
    """Return the row of each unit's first value, shape (n_units,), and the steps to each slot, (n_units, n_slots).

    A step is counted from the largest value so far, so that none is negative; a missing value is a step of 0.
    """
    values, at = rows.grid(movement.numbers[rows.row], _MISSING), rows.grid(rows.row, -1)
    is_number_there, units = values != _MISSING, np.arange(len(at))
    place = np.where(is_number_there.any(axis=1), is_number_there.argmax(axis=1), (at >= 0).argmax(axis=1))
    first = values[units, place]
    largest = np.maximum(np.maximum.accumulate(values, axis=1), first[:, None])
    return at[units, place], np.diff((largest - first[:, None]) // per, axis=1, prepend=0)


def _per_step(kind: pa.DataType, step_unit: int) -> int:
    """Return what a step counts in the whole numbers of a column."""
    return max(step_unit, 1) * (1000 if pa.types.is_timestamp(kind) and kind.unit == "ns" else 1)


def _wide_cells(
    table: Table, form: UnitForm, rows: _PlacedRows, moving: Mapping[str, _Movement], household: Iterable[str]
) -> pa.Table:
    """Return the columns of units."""
    at, first = rows.grid(rows.row, -1), rows.row[rows.first]
    present = at >= 0
    cells = {name: one_piece(table.arrow.column(name)) for name in (*household, *form.names)}
    wide = {name: cells[name].take(pa.array(first)) for name in household}
    for wide_name, (name, slot) in form.cells.items():
        if wide_name == form.presence:
            texts = np.ascontiguousarray(present + ord("0"), np.uint8).view(f"S{present.shape[1]}")
            wide[wide_name] = pa.array(texts[:, 0]).cast(pa.string())
        elif slot < 0:
            wide[wide_name] = cells[name].take(pa.array(first))
        elif name not in moving:
            wide[wide_name] = cells[name].take(pa.array(at[:, slot], mask=~present[:, slot]))
        elif slot == 0:
            kind = cells[name].type
            start, steps = _first_and_steps(moving[name], rows, _per_step(kind, moving[name].step_unit))
            wide[wide_name] = cells[name].take(pa.array(start))
        else:
            absent = ~(present[:, slot] & present[:, :slot].any(axis=1))
            wide[wide_name] = _numbers(steps[:, slot], absent, kind, moving[name].decimals)
    return pa.table(wide)


def _numbers(numbers: Ints, absent: Bools, kind: pa.DataType, decimals: int) -> pa.Array:
    """Return whole numbers of the last decimal as cells: whole numbers, or of the type of a column with decimals."""
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        cells = pa.array(numbers / 10.0**decimals, mask=absent)
        return cells.cast(kind) if pa.types.is_decimal(kind) else cells
    return pa.array(numbers, mask=absent)


# the schema of units


def _wide_schema(schema: Schema, form: UnitForm, names: Sequence[str], patterns: Counter[str], people: int) -> Schema:
    """Return the schema of the wide table: what is said of a long column is said of all that are made of it."""
    made_of: dict[str, list[str]] = {name: [] for name in names}
    steps = {wide for wide, (name, slot) in form.cells.items() if name in form.moving and slot > 0}
    for wide_name, (name, _) in form.cells.items():
        if wide_name != form.presence:
            made_of[name].append(wide_name)
    roles: dict[str, list[str]] = {role: [] for role in ROLE_FIELDS.values()}
    roles["quasi"].append(form.presence)
    declared = [name for attribute in ROLE_FIELDS for name in getattr(schema, attribute)]
    for name in dict.fromkeys([*declared, *names]):
        if name not in form.names or name in (form.unit, schema.hidden_weight):
            continue
        # rows of nobody's choice are told apart by what an intruder may know
        role = "quasi" if name == form.by and name not in declared else schema.role(name)
        roles[role] += made_of[name]
    tables: dict[str, dict[str, Any]] = {
        part: {
            wide: entry for name, entry in getattr(schema, part).items() for wide in made_of.get(name, ())
            if wide not in steps
        }
        for part in (*TABLES, "hierarchies") if part not in ("follows", "determines")
    }  # fmt: skip
    tables["kinds"] |= {**dict.fromkeys(steps, "numeric"), form.presence: "categorical"}
    tables["hierarchies"][form.presence] = _hierarchy(patterns, people, form.labelled * (form.order == MEMBER))
    tables["rare"][form.presence] = patterns.most_common(1)[0][0]
    pairs = [pair for name, leader in schema.follows.items() for pair in _pairs(form, "follows", name, leader)]
    determines: dict[str, list[str]] = {}
    for name, others in schema.determines.items():
        for one, two in [pair for other in others for pair in _pairs(form, "determines", name, other)]:
            determines.setdefault(one, []).append(two)
    is_of_people = form.order != MEMBER
    fields: dict[str, Any] = {**{attribute: roles[role] for attribute, role in ROLE_FIELDS.items()}, **tables}
    return Schema(
        **fields,
        follows=dict(pairs),
        determines=determines,
        rules=_rules(schema.rules, form),
        tolerated=_rules(schema.tolerated, form),
        unit=None,
        household=schema.household if is_of_people else None,
        together=schema.together and is_of_people,
        weight=schema.weight,
    )


def _hierarchy(patterns: Counter[str], people: int, labelled: int) -> Hierarchy:
    """Return the paths of patterns of rows that fewer than so many units have to like ones.

    Those with nearly as many rows, in nearly the same of the labelled slots, are released as rows in the slots that
    most of these units have, which need be no unit's.

    Examples
    --------
    >>> _hierarchy(Counter({"100": 20, "110": 6, "111": 4}), 10, 0).paths
    {'100': ('100', '100', '*'), '110': ('110', '110', '*'), '111': ('111', '110', '*')}
    """
    parent = {pattern: pattern for pattern, n in patterns.items() if n >= people}
    pools: list[list[str]] = [[]]
    for pattern in sorted(patterns.keys() - parent, key=lambda each: (each[:labelled], each.count("1"), each)):
        if sum(map(patterns.__getitem__, pools[-1])) >= people:
            pools.append([])
        pools[-1].append(pattern)
    if len(pools) > 1 and sum(map(patterns.__getitem__, pools[-1])) < people:
        last = pools.pop()
        pools[-1] += last
    for pool in filter(None, pools):
        marks = np.array([list(map(int, pattern)) for pattern in pool])
        weights = np.array([patterns[pattern] for pattern in pool])
        usual = "".join(map(str, (2 * (weights @ marks) >= weights.sum()).astype(int)))
        if weights.sum() >= people and "1" in usual:
            parent |= dict.fromkeys(pool, usual)
        else:  # of few units, those of the likest pattern of all
            for pattern in pool:
                likest = partial(_difference, pattern)
                parent[pattern] = min(parent.keys() - pool, key=lambda each: (likest(each), each), default=pattern)
    while True:
        released = {*parent.values()}
        # what is released anyway stays as it is, and may then lack in its own pool
        parent |= {pattern: pattern for pattern in released & patterns.keys()}
        units = Counter[str]()
        for pattern, n in patterns.items():
            units[parent[pattern]] += n
        few = sorted(each for each in units if units[each] < people)
        if not few or len(units) == 1:
            return Hierarchy({pattern: (pattern, parent[pattern], TOP) for pattern in sorted(patterns)})
        for pattern in [each for each in patterns if parent[each] == few[0]]:
            likest = partial(_difference, pattern)
            parent[pattern] = min(units.keys() - {few[0]}, key=lambda each: (likest(each), each))


def _difference(one: str, two: str) -> tuple[int, int]:
    """Return by how many rows two patterns differ, and in how many slots."""
    return abs(one.count("1") - two.count("1")), sum(a != b for a, b in zip(one, two, strict=True))


def _pairs(form: UnitForm, part: str, one: str, two: str) -> list[tuple[str, str]]:
    """Return the wide columns of two long ones, in the same slot, of which one follows or determines the other."""
    moves = {name in form.moving for name in (one, two) if name not in form.once}
    shared = [slot for slot in form.slots_of(one) if slot in form.slots_of(two)]
    pairs = [(form.wide_name(one, slot), form.wide_name(two, slot)) for slot in shared if len(moves) == 1]
    if one in form.once and two in form.once:
        pairs = [(one, two)]
    if not pairs or (part == "determines" and True in moves):
        raise SchemaError(
            f"{one!r} {part} {two!r}, which cannot be said where one record is made of several rows",
            hint="leave this out of the schema, or leave one of the two columns out",
        )
    return pairs


def _rules(texts: Iterable[str], form: UnitForm) -> list[str]:
    """Return conditions of rows as conditions of units: one for each slot, if a column differs between slots."""
    reasons = {
        **dict.fromkeys(form.moving, "is a first value and steps inside"),
        form.unit: "says whose a row is", **({form.by: f"is the {form.order} of a row"} if form.labelled else {}),
    }  # fmt: skip
    rules = []
    for text in texts:
        node = parse(text)
        for name in node.names:
            if name in reasons or name not in (*form.once, *form.repeated):
                raise SchemaError(
                    f"the rule {text[:80]!r} is about {name!r}, which {reasons.get(name, 'is not released')}",
                    hint="leave the rule out, or give the column no part in it",
                )
        ranges = [form.slots_of(name) for name in node.names if name in form.repeated]
        slots = [slot for slot in range(len(form.slots)) if all(slot in each for each in ranges)]
        for slot in slots if ranges else [0]:
            rules.append(_renamed(node, {name: form.wide_name(name, slot) for name in node.names}).sql)
    return rules


def _renamed(node: Expression, names: Mapping[str, str]) -> Expression:
    text = names[node.text] if node.op == "column" else node.text
    return replace(node, text=text, parts=tuple(_renamed(part, names) for part in node.parts))


# back to the long table


def lengthened(wide: pa.Table, form: UnitForm, types: pa.Schema, used: Collection[Any]) -> pa.Table:
    """Return the released rows of units as a long table, the rows of a unit together.

    Parameters
    ----------
    wide : pyarrow.Table
        The released wide table, with the columns `form.cells`.
    form : UnitForm
    types : pyarrow.Schema
        Of the original long table.
    used : collection
        The original ids, none of which is given again.
    """
    n, n_slots = wide.num_rows, len(form.slots)
    coded = one_piece(decoded(wide.column(form.presence))).dictionary_encode()
    patterns = [[mark == "1" for mark in text.ljust(n_slots)[:n_slots]] for text in [*coded.dictionary.to_pylist(), ""]]
    present = np.array(patterns)[coded.indices.fill_null(len(patterns) - 1).to_numpy()]
    unit, slot = np.nonzero(present)
    labels = pa.array(form.slots[: form.labelled], pa.string())
    columns = {}
    for name in form.names:
        kind = types.field(name).type
        if name == form.unit:
            cells = _in_type([_new_ids(n, kind, used)], kind).take(pa.array(unit))
        elif name in form.once:
            cells = _in_type([one_piece(wide.column(name))], kind).take(pa.array(unit))
        elif name in form.moving:
            cells = _in_type([_sums(wide, form, name, present, kind)], kind)
        else:
            # labels first, then the columns of the slots, one below the other
            pieces = [labels] if name == form.by and form.labelled else []
            pieces += [one_piece(wide.column(form.wide_name(name, each))) for each in form.slots_of(name)]
            n_labels = len(labels) if name == form.by else 0
            at = np.where(slot < n_labels, slot, n_labels + (slot - n_labels) * n + unit)
            cells = _in_type(pieces, kind).take(pa.array(at))
        columns[name] = cells
    return pa.table(columns)


def _cast(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return cells in a type that holds them; raise an Arrow error if it does not."""
    if cells.type == kind:
        return cells
    plain = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
    if pa.types.is_dictionary(kind):
        return plain.cast(kind.value_type).dictionary_encode().cast(kind)
    return plain.cast(kind)


def _in_type(pieces: Sequence[pa.Array], kind: pa.DataType) -> Any:
    """Return pieces of a column in one, in its type if that holds them, else in that of a piece, or as text."""
    for target in (kind, *(piece.type for piece in pieces), pa.string()):
        try:
            return one_piece(pa.chunked_array([_cast(piece, target) for piece in pieces]))
        except ArrowFault:
            continue
    raise InputError("the cells of a column have types that do not fit each other")


def _new_ids(n: int, kind: pa.DataType, used: Collection[Any]) -> pa.Array:
    """Return n ids that nobody has: numbers above the next power of ten, or u1, u2 and so on."""
    if is_number(value_type(kind)):
        largest = max((abs(int(Decimal(str(each)))) for each in used if each is not None and each == each), default=0)
        start = 10 ** len(str(largest))
        return pa.array(range(start + 1, start + n + 1))
    width, prefix, before = len(str(n)), "u", set(map(str, used))
    while not before.isdisjoint(ids := [f"{prefix}{i:0{width}}" for i in range(1, n + 1)]):
        prefix += "u"
    return pa.array(ids, pa.string())


def _sums(wide: pa.Table, form: UnitForm, name: str, present: Bools, kind: pa.DataType) -> pa.Array:
    """Return the values of a moving column in the slots that are present, unit by unit."""
    place = form.moving.index(name)
    decimals, step_unit = form.decimals[place], form.step_units[place]
    first = _in_type([one_piece(wide.column(form.wide_name(name, 0)))], kind)
    read = _whole_numbers(first, decimals) if is_number(first.type) or is_moment(first.type) else None
    if read is None:
        raise InputError(f"the first values of column {name!r} are no numbers that steps can be added to")
    totals = np.zeros(present.shape, np.int64)
    for slot in range(1, present.shape[1]):
        steps = _whole_numbers(wide.column(form.wide_name(name, slot)), decimals)
        if steps is None:
            raise InputError(f"a step of column {name!r} is infinite or too large")
        has_step = present[:, slot] & present[:, :slot].any(axis=1) & (steps[0] != _MISSING)
        totals[:, slot] = np.where(has_step, steps[0] * _per_step(first.type, step_unit), 0)
    unit, slots = np.nonzero(present)
    missing = (read[0] == _MISSING)[unit]
    numbers = np.where(missing, 0, read[0][unit] + np.cumsum(totals, axis=1)[unit, slots])
    if pa.types.is_date(first.type):
        return pa.array(numbers.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    cells = _numbers(numbers, missing, first.type, decimals)
    if pa.types.is_timestamp(first.type):
        return cells.cast(pa.timestamp("ns" if first.type.unit == "ns" else "us", first.type.tz))
    return cells


# the second, plain way to the wide table


def widened_again(long: pa.Table, form: UnitForm, like: pa.Schema, *, strict: bool = True) -> pa.Table:
    """Return a released long table as the wide one, row by row, for its verification.

    Parameters
    ----------
    long : pyarrow.Table
        Rows as `lengthened` returns them; those of a unit may stand apart, but are in the order of their slots where
        these are numbered.
    form : UnitForm
    like : pyarrow.Schema
        The columns of the wide table in their order, with their types.
    strict : bool
        Whether every row must have a slot of its own; of other tables, rows that have none are left out, and a unit
        gets the first of several values of a column that it has once.

    Raises
    ------
    InputError
        A unit has two rows in one wave, more rows than there are slots, two values of a column that it has once, or
        times that fall.
    """
    plain = {name: _plain(long.column(name)) for name in form.names}
    rows_of: dict[Any, list[int]] = {}
    for row, id_ in enumerate(plain[form.unit]):
        rows_of.setdefault(id_, []).append(row)
    labels = pa.array(form.slots[: form.labelled], pa.string())
    by_kind = value_type(long.column(form.by).type)
    slot_of = {label: slot for slot, label in enumerate(_plain(pa.chunked_array([labels.cast(by_kind)])))}
    placed: list[dict[int, int]] = []
    for rows in rows_of.values():
        slots: dict[int, int] = {}
        numbered = iter(range(form.labelled, len(form.slots)))
        for row in rows:
            slot = slot_of.get(plain[form.by][row])
            if slot is None or (slot in slots and form.order == MEMBER):
                slot = next(numbered, None)
            if not strict and (slot is None or slot in slots):
                continue
            if slot is None:
                raise InputError(f"somebody has a row with a {form.order} in {form.by!r} that has no place")
            if slot in slots:
                raise InputError(f"somebody has two rows with one {form.order} in {form.by!r}")
            slots[slot] = row
        if slots:
            placed.append(dict(sorted(slots.items())))
    for name in form.once if strict else ():
        if name in plain and any(len({plain[name][row] for row in rows}) > 1 for rows in rows_of.values()):
            raise InputError(f"somebody has two values of {name!r}")
    columns: dict[str, Any] = {}
    for field in like:
        if field.name == form.presence:
            marks = [["1" if slot in slots else "0" for slot in range(len(form.slots))] for slots in placed]
            columns[field.name] = pa.array(list(map("".join, marks)), pa.string()).cast(field.type)
            continue
        name, slot = form.cells[field.name]
        if name in form.moving and slot > 0:
            columns[field.name] = pa.array([_step(form, name, slots, slot, plain) for slots in placed], field.type)
            continue
        at: list[int | None] = []
        for slots in placed:
            rows = list(slots.values())
            if name in form.moving:
                at.append(next((row for row in rows if plain[name][row] is not None), rows[0]))
            else:
                at.append(rows[0] if slot < 0 else slots.get(slot))
        cells = long.column(name).take(pa.array(at, pa.int64()))
        columns[field.name] = cells if cells.type == field.type else cells.cast(field.type)
    return pa.table(columns)


def _step(form: UnitForm, name: str, slots: Mapping[int, int], slot: int, plain: Mapping[str, list[Any]]) -> Any:
    """Return the step to a slot; None if it has no row, or no row comes before it."""
    if slot not in slots or min(slots) == slot:
        return None
    values = [plain[name][row] for each, row in slots.items() if each <= slot]
    before = [value for value in values[:-1] if value is not None]
    if values[-1] is None or not before:
        return 0
    place = form.moving.index(name)
    if name == form.by and values[-1] < before[-1]:
        raise InputError(f"the times of somebody in {name!r} fall")
    if isinstance(values[-1], dt.date):
        return (values[-1] - before[-1]).days
    if form.step_units[place]:  # times in nanoseconds
        return (values[-1] - before[-1]) // (form.step_units[place] * 1000)
    step = round((Decimal(str(values[-1])) - Decimal(str(before[-1]))), form.decimals[place])
    return step if isinstance(values[-1], Decimal) else type(values[-1])(step)


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """Return cells as Python values, times as whole nanoseconds, and not a number as None."""
    cells = column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
    if pa.types.is_timestamp(cells.type):
        per = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[cells.type.unit]
        return [None if value is None else value * per for value in cells.cast(pa.int64()).to_pylist()]
    return [None if value != value else value for value in cells.to_pylist()]
