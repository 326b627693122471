"""Code each cell by the value, or the run of values, that may be released of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..backends.randomize import uniforms, words_of
from ..columns.arrays import is_moment, is_number, is_text, value_type
from ..columns.column import Column
from ..columns.table import Table
from ..errors import UnsupportedError
from ..io.frames import ArrowSource
from ..io.text_cells import date_style
from ..kernels import Bools
from ..key import Key
from ..measures import Ints, Persons
from ..plan import GuardedColumn, Vector
from ..plan.records import MONTHS, YEARS
from ..schema import Kind, Schema
from .moments import scores_of
from .pieces import pieces_of
from .rare import parents_of, rest_of, with_categories
from .runs import EACH, Runs, previous_values, runs_of
from .steps import Steps


@dataclass(frozen=True)
class CodedColumn:
    """A column with its record, and the code of each row among the values that may be released.

    Parameters
    ----------
    record : GuardedColumn
        As the plan stores it.
    codes : int64 array of shape (n_rows,)
        Places in `record.values`; -1 for a category that is withheld.
    runs : Runs, optional
        Of a number.
    here : bool array of shape (n_rows,), optional
        The rows that have a cell of it at all; by default all.
    is_joined : bool array of shape (n_rows,), optional
        The rows whose category is released as another one.
    """

    record: GuardedColumn
    codes: Ints
    runs: Runs | None = None
    here: Bools | None = None
    is_joined: Bools | None = None

    @property
    def visible(self) -> Ints:
        """Return the codes as readers see them: what is withheld is missing."""
        return np.where(self.codes < 0, self.record.n_values, self.codes)


def coded(
    table: Table, schema: Schema, name: str, people: int, person: Ints | None, key: Key | None = None,
    original: Table | None = None,
) -> CodedColumn:  # fmt: skip
    """Return a column by the values that may be released of it; with a key its numbers are told in pieces.

    `original` is the table as it is, if the column is drawn in another form.
    """
    column = table.declared_column(schema, name)
    if column.exact:
        raise UnsupportedError(
            f"{column.name!r} has numbers that doubles do not hold, and no means of such numbers are told",
            hint="round them, or release them as they are (guard=None, --guard none)",
        )
    codes, counts = column.codes.astype(np.int64), column.value_counts
    runs, pieces, is_joined = None, None, None
    record = GuardedColumn(
        name, schema.role(name), column.kind, unit=column.unit, zone=column.zone, declared=name in schema.kinds,
        events=tuple(schema.events.get(name, ())),
    )  # fmt: skip
    if column.is_number:
        previous = EACH if person is None else previous_values(codes, person, column.n_values)
        numbers = np.asarray(counts.values, np.float64)
        steps = Steps.from_column(counts, people, None if person is None else (codes, person), key)
        # nobody can tell from a value that is told exactly how many have it
        more = None if key is None else uniforms(words_of(numbers.view(np.uint64), key, "guard exact"))
        runs = runs_of(counts, people, float(steps.sizes[steps.unit]), previous, more)
        if key is not None and len(runs.values):
            pieces = pieces_of(counts, runs, people, steps, previous, key)
        codes = runs.of_code[codes] if len(runs.values) else np.zeros_like(codes)
        style = (
            _style_of_days(original or table, name, float(steps.sizes[steps.unit]))
            if column.unit and not column.zone
            else ""
        )
        record = replace(record, values=tuple(runs.values.tolist()), cuts=Vector("d", runs.cuts), style=style)
    else:
        record = _with_categories(record, table, schema, column, people, person, key)
        code_of = np.array([*record.codes_of(column.values), record.n_values], np.int64)
        released = {*record.values}
        is_rare = np.array([*(value not in released for value in column.values), False])
        is_joined = (is_rare & (code_of >= 0))[codes]
        record = replace(record, joined=int(np.count_nonzero(is_joined)))
        codes = code_of[codes]
    lacking = codes == record.n_values
    n_lacking = np.count_nonzero(lacking) if person is None else len(np.unique(person[lacking]))
    if n_lacking >= people or not record.values:
        record = replace(record, values=(*record.values, None))
    else:  # a missing value that few people have is withheld as any other
        codes[lacking] = -1
    counted = np.bincount(codes[codes >= 0], minlength=len(record.values))
    record = replace(record, people=as_vector(counted), withheld=int(np.count_nonzero(codes < 0)))
    return CodedColumn(record if pieces is None else pieces.in_record(record), codes, runs, is_joined=is_joined)


def coded_in_slots(
    table: Table, schema: Schema, here: Mapping[str, Bools], people: int, person: Ints | None, key: Key | None = None,
    original: Table | None = None,
) -> dict[str, CodedColumn]:  # fmt: skip
    """Return the slots of a column by the values that may be released of it: those that enough people have in any slot.

    `here` has, by slot, which rows have a cell of it. A category that fewer people have in a slot is withheld there,
    and another one is drawn: one person's would show.
    """
    rows, name = {slot: np.flatnonzero(is_here) for slot, is_here in here.items()}, next(iter(here))
    long, long_original = (each and _one_below_the_other(each, rows) for each in (table, original))
    assert long is not None
    who = np.concatenate([*rows.values()]) if person is None else np.concatenate([person[at] for at in rows.values()])
    column, begin, slots = coded(long, schema, name, people, who, key, long_original), 0, {}
    of_all = column.record.people
    if not len(column.record.begins):
        visible = np.flatnonzero(column.codes >= 0)
        once = np.unique(np.stack([column.codes[visible], who[visible]]), axis=1)[0]
        of_all = as_vector(np.bincount(once, minlength=len(of_all)))
    for slot, at in rows.items():
        part = slice(begin, begin := begin + len(at))
        codes = np.full(table.n_rows, -1)
        codes[at] = column.codes[part]
        codes[at] = np.where(_is_of_few(column.record, codes[at], who[part], people)[codes[at]], -1, codes[at])
        counted = np.bincount(codes[codes >= 0], minlength=len(column.record.values))
        record = replace(
            column.record, name=slot, role=schema.role(slot), people=as_vector(counted),
            of_all=of_all,
            withheld=int(np.count_nonzero(codes[at] < 0)),
            joined=0 if column.is_joined is None else int(np.count_nonzero(column.is_joined[part])),
        )  # fmt: skip
        slots[slot] = CodedColumn(record, codes, column.runs, here[slot])
        if not counted[: record.n_values].any():  # all of it is withheld, and missing then
            nothing = GuardedColumn(
                slot, record.role, record.kind, unit=record.unit, zone=record.zone, declared=record.declared,
                values=(None,), people=as_vector(np.array([len(at)])), withheld=record.withheld, rest_is_missing=True,
            )  # fmt: skip
            slots[slot] = CodedColumn(nothing, np.where(here[slot], 0, -1), None, here[slot])
    return slots


def _is_of_few(record: GuardedColumn, codes: Ints, who: Ints, people: int) -> Bools:
    """Return which categories fewer people have in a slot, missing being one; False at the end, for what is withheld.

    Numbers are told among neighbours, so of these only what is missing shows.
    """
    some = codes >= 0
    once = np.unique(np.stack([codes[some], who[some]]), axis=1)[0]
    is_of_few = np.bincount(once, minlength=len(record.values)) < people
    if record.kind in ("numeric", "date"):
        is_of_few[: record.n_values] = False
    return np.append(is_of_few, False)


def _one_below_the_other(table: Table, rows: Mapping[str, Ints]) -> Table:
    """Return a table of one column, named as the first slot: the cells of some rows of each slot."""
    name = next(iter(rows))
    cells = pa.chunked_array([table.take(slot, at) for slot, at in rows.items()]).combine_chunks()
    source = ArrowSource(pa.table({name: cells}))
    source.categories = {name: table.declared(name)}
    return Table(source.arrow, source, table.layout)


def _style_of_days(table: Table, name: str, unit: float) -> str:
    """Return how most days or times of a column of text or whole numbers are written, if a reader can tell."""
    entries = table.entries(name)
    if is_moment(entries.type) or not len(entries):
        return ""
    style = "%Y%m%d" if is_number(entries.type) else date_style(entries)
    # of firsts of months alone nobody can tell which number is the month
    has_two_orders = style.replace("%-", "%")[:5] in ("%d/%m", "%m/%d", "%d-%m", "%m-%d")
    return "" if has_two_orders and unit in (MONTHS, YEARS) else style


def _with_categories(
    record: GuardedColumn, table: Table, schema: Schema, column: Column, people: int, person: Ints | None,
    key: Key | None,
) -> GuardedColumn:  # fmt: skip
    """Return the record of a column with the categories that may be released, where rare ones are joined."""
    name, codes = column.name, column.codes.astype(np.int64)

    def count(group: Ints) -> Ints:
        of_row, n_groups = np.append(group, -1)[codes], int(group.max(initial=-1)) + 1
        here = np.flatnonzero(of_row >= 0)
        of_row = of_row[here]
        if person is not None:  # each once
            of_row = np.unique(np.stack([of_row, person[here]]), axis=1)[0]
        return np.bincount(of_row, minlength=n_groups)

    hierarchy, rest, parents = schema.hierarchies.get(name), schema.rare.get(name), dict[str, tuple[str, ...]]()
    if is_text(value_type(table.types.field(name).type)):  # others have no room for words
        # nobody can tell from the beginnings of codes how many people have no code
        more = 0.0 if key is None else uniforms(words_of(np.zeros(1, np.uint64), key, f"guard codes {name}"))[0]
        parents = parents_of(column, count(np.arange(column.n_values)), hierarchy, people * (1 + more))
        record = replace(record, by_prefix=hierarchy is None and bool(parents))
        rest = rest_of(column.values) if rest is None else rest
    record = with_categories(record, column, count, people, parents, rest)
    if column.kind == "ordinal":
        record = replace(record, order=tuple(dict.fromkeys((*column.values, *map(str, record.values)))))
    return record


def persons_of(table: Table, schema: Schema) -> Ints | None:
    """Return who each record counts as, a person or a household; None if every record is one."""
    persons = Persons.from_table(table, schema.person, schema.household)
    if persons is None:
        return None
    return persons.codes if persons.homes is None else persons.homes[persons.codes]


def sorted_categories(columns: Sequence[CodedColumn]) -> list[CodedColumn]:
    """Return the columns with unordered categories in the order of their mean of the first number.

    Ranks mean something then, and correlations of ranks keep what they can.
    """
    numbers = [c for c in columns if c.runs is not None and len(c.runs.values)]
    main = next((c for c in numbers if c.record.role == "sensitive"), numbers[0] if numbers else None)
    in_order = []
    for column in columns:
        record, n = column.record, column.record.n_values
        if main is None or record.kind not in ("categorical", "boolean") or n < 2:
            in_order.append(column)
            continue
        assert main.runs is not None
        n_runs = main.record.n_values
        scores = np.append(scores_of(main.runs.values, np.asarray(main.record.people)[:n_runs]).of_run, 0)
        visible = (column.codes >= 0) & (column.codes < n)
        z = scores[np.minimum(main.codes, n_runs)]
        sums = np.bincount(column.codes[visible], z[visible], n)
        order = np.lexsort((np.arange(n), sums / np.maximum(np.asarray(record.people)[:n], 1)))
        rank = np.append(np.argsort(order), [n, -1])  # missing, and what is withheld
        values = (*(record.values[i] for i in order), *record.values[n:])
        people = np.append(np.asarray(record.people)[order], np.asarray(record.people)[n:])
        of_all = np.asarray(record.of_all)
        of_all = np.append(of_all[order], of_all[n:]) if len(of_all) else of_all
        record = replace(record, values=values, people=as_vector(people), of_all=as_vector(of_all))
        in_order.append(replace(column, record=record, codes=rank[column.codes].astype(np.int64)))
    return in_order


def run_codes(column: Column, guarded: GuardedColumn) -> Ints:
    """Return what the true value of each row is told as: its place in `guarded.values`; missing if it is withheld."""
    n = guarded.n_values
    if column.is_number:
        runs = np.searchsorted(np.asarray(guarded.cuts), np.asarray(column.values, np.float64), "right")
    else:
        runs = np.array(guarded.codes_of(column.values), np.int64)
    # codes from that for missing on are of nothing, or of what no member has
    return np.append(np.where(runs < 0, n, runs) if n else np.zeros_like(runs), [n, n, n])[column.codes]


def as_column(record: GuardedColumn, codes: Ints, here: Bools | None = None, fewest: int = 0) -> Column:
    """Return drawn codes as the column that a reader of the release sees; `here` and `fewest` are as in `Column`."""
    n = record.n_values
    is_number = record.kind in ("numeric", "date")
    values: Any = np.array(record.values[:n], np.float64) if is_number else [str(v) for v in record.values[:n]]
    order = np.arange(n)
    if record.kind == "ordinal":
        order = np.array([record.order.index(v) for v in values])
    occurs = np.bincount(codes, minlength=n + 1) > 0
    in_order = np.argsort(order)
    occurring = in_order[occurs[in_order]]
    place = np.full(n + 1, len(occurring), np.int64)
    place[occurring] = np.arange(len(occurring))
    values = values[occurring] if isinstance(values, np.ndarray) else [values[i] for i in occurring]
    kind = cast(Kind, record.kind)
    has_missing = bool(occurs[n:].any())
    return Column(
        record.name,
        kind,
        record.unit,
        place[codes],
        values,
        has_missing,
        (),
        record.events,
        "",
        here,
        0 if here is None else fewest,
    )


def as_vector(values: NDArray[Any]) -> Vector:
    """Return whole numbers as a plan stores them."""
    return Vector("i", np.asarray(values, np.int32))
