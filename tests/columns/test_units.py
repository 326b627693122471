"""A long table becomes one of units, and long again; small tables are worked out by hand."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.columns.units import Units, _hierarchy, lengthened, widened, widened_again
from hedgerow.errors import InputError, SchemaError
from hedgerow.hierarchy import Hierarchy
from hedgerow.io.read import read
from hedgerow.plan import UnitForm
from hedgerow.plan.fields import plain
from hedgerow.plan.fields import read as read_record
from hedgerow.plan.records import Contradiction
from hedgerow.schema import Schema

ZONE = pa.timestamp("us", "Europe/Berlin")
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
PANEL = {
    "pid": [7, 7, 7, 3, 3, 9],
    "year": [2020, 2021, 2022, 2020, 2022, 2021],
    "sex": ["f", "f", "f", "m", "m", "f"],
    "age": [30, 31, 32, 50, 52, 71],
    "pay": [1.5, 2.0, None, 3.0, 2.5, 4.0],
}
SCHEMA = Schema(quasi=["sex", "age"], sensitive=["pay"], unit="pid", wave="year")
MEMBERS = {
    "hh": [1, 1, 1, 1, 2, 2, 3],
    "rel": ["head", "spouse", "child", "child", "head", "child", "head"],
    "age": [40, 41, 3, 9, 70, 35, 55],
    "region": ["n", "n", "n", "n", "s", "s", "s"],
}
HOUSEHOLDS = Schema(quasi=["age", "region", "rel"], household="hh", member="rel")
VISITS = {
    "pat": ["b", "a", "a", "a", "b"],
    "day": [dt.date(2024, 3, 5), dt.date(2024, 1, 2), dt.date(2024, 1, 1), dt.date(2024, 2, 1), dt.date(2024, 3, 5)],
    "dose": [2, 5, 1, 3, 1],
}
TIMES = Schema(sensitive=["dose"], unit="pat", time="day")


def units(columns: dict[str, Any] | pa.Table, schema: Schema, people: int = 1) -> Units:
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    return widened(read(table), schema, people)


def long_again(made: Units, original: pa.Table, used: list[Any] | None = None) -> pa.Table:
    ids = original.column(made.form.unit).to_pylist() if used is None else used
    return lengthened(made.table.arrow, made.form, original.schema, ids)


def released(made: Units) -> pa.Table:
    """The wide table without the household, which is not released."""
    return made.table.arrow.select(list(made.form.cells))


def by_unit(table: pa.Table, names: tuple[str, ...], unit: str) -> list[list[str]]:
    """The rows of each unit without its id, as texts in an order of their own."""
    rows: dict[Any, list[str]] = defaultdict(list)
    for row in table.select(list(names)).to_pylist():
        rows[row.pop(unit)].append(repr(row))
    return sorted(map(sorted, rows.values()))


# random tables

CELLS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "job": (pa.dictionary(pa.int8(), pa.string()), st.none() | st.sampled_from(["a", 'ä "b"', ""])),
    "age": (pa.int8(), st.integers(-100, 100)),
    "pay in €": (pa.float64(), st.none() | st.sampled_from([0.1, 0.3, -2.0, 1e300, 0.7, 123456.78])),
    "price [1]": (pa.decimal128(12, 2), st.none() | st.decimals(-99, 99, places=2)),
    "born": (pa.date32(), st.none() | st.dates(dt.date(1950, 1, 1), dt.date(1950, 1, 9))),
    "seen": (ZONE, st.integers(-9, 9).map(lambda n: NOON + dt.timedelta(seconds=n * 1800))),
    "flag": (pa.bool_(), st.none() | st.booleans()),
    "rising": (pa.float64(), st.just(0.1)),
}
ORDERS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "wave": (pa.int16(), st.integers(-2, 3)),
    "text": (pa.string(), st.sampled_from(["x", "y'", 'z "1"'])),
    "stamp": (ZONE, st.integers(0, 3).map(lambda n: NOON + dt.timedelta(days=n))),
    "day": (pa.date32(), st.dates(dt.date(2024, 1, 1), dt.date(2024, 1, 4))),
    "hours": (pa.float32(), st.sampled_from([-0.5, 0.25, 3.0])),
    "line": (pa.int64(), st.integers(1, 3)),
    "relation": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["head", "child", "other 1"])),
}
FIELDS = {"wave": ("wave", "text", "stamp", "day"), "time": ("stamp", "day", "hours"), "member": ("line", "relation")}


@st.composite
def long_tables(draw: Any) -> tuple[pa.Table, Schema]:
    field = draw(st.sampled_from(sorted(FIELDS)))
    by = draw(st.sampled_from(FIELDS[field]))
    kind, values = ORDERS[by]
    pairs = draw(st.lists(st.tuples(st.integers(-3, 3), values), min_size=1, max_size=14, unique=field == "wave"))
    names = draw(st.lists(st.sampled_from(sorted(CELLS)), unique=True))
    columns = {name: draw(st.lists(CELLS[name][1], min_size=len(pairs), max_size=len(pairs))) for name in names}
    if draw(st.booleans()):  # some columns that a unit has once, and an age that rises
        seen: dict[Any, int] = {}
        first = [seen.setdefault(unit, i) for i, (unit, _) in enumerate(pairs)]
        columns = {name: [cells[i] for i in first] for name, cells in columns.items()}
        columns["rising"] = [round(3.1 * unit + 0.1 * ("xyz".find(str(v)[0]) + 1), 1) for unit, v in pairs]
    ids = [unit for unit, _ in pairs]
    text_ids = draw(st.booleans())
    table = pa.table(
        {
            "the id": pa.array([f"u{i}" for i in ids] if text_ids else ids),
            by: pa.array([v for _, v in pairs], kind),
            **{name: pa.array(cells, CELLS[name][0]) for name, cells in columns.items()},
        }
    )
    split = draw(st.integers(0, len(columns)))
    whose = {"household": "the id"} if field == "member" else {"unit": "the id"}
    return table, Schema(quasi=list(columns)[:split], sensitive=list(columns)[split:], **whose, **{field: by})


@settings(max_examples=150, deadline=None)
@given(long_tables(), st.integers(1, 3), st.randoms())
def test_order_of_rows_changes_nothing(long: tuple[pa.Table, Schema], people: int, random: Any) -> None:
    table, schema = long
    places = list(range(table.num_rows))
    random.shuffle(places)
    try:
        one = units(table, schema, people)
    except SchemaError as error:
        with pytest.raises(SchemaError, match=error.message.split(",")[0]):
            units(table.take(pa.array(places)), schema, people)
        return
    two = units(table.take(pa.array(places)), schema, people)
    assert one.form == two.form
    assert one.table.arrow.to_pylist() == two.table.arrow.to_pylist()
    assert (one.schema, one.notes) == (two.schema, two.notes)


@settings(max_examples=300, deadline=None)
@given(long_tables(), st.integers(1, 3))
def test_wide_to_long_to_wide(long: tuple[pa.Table, Schema], people: int) -> None:
    table, schema = long
    try:
        made = units(table, schema, people)
    except SchemaError as error:
        if people == 1 or "so no row is left" not in error.message:
            raise
        return
    wide = released(made)
    again = widened_again(long_again(made, table), made.form, wide.schema)
    assert again.schema == wide.schema
    assert again.to_pylist() == wide.to_pylist()
    made.schema.check(made.table.names)
    for name in wide.column_names:  # what has no cell is missing
        for cell, pattern in zip(
            wide.column(name).to_pylist(), wide.column(made.form.presence).to_pylist(), strict=True
        ):
            assert made.form.has_cell(name, pattern) or cell is None


@settings(max_examples=300, deadline=None)
@given(long_tables())
def test_long_to_wide_to_long(long: tuple[pa.Table, Schema]) -> None:
    table, schema = long
    made = units(table, schema)
    again = long_again(made, table)
    assert again.column_names == list(made.form.names)
    assert (made.form.left_out, made.notes) == (0, [])
    for name in again.column_names:
        if name != "the id":
            assert again.column(name).type == table.column(name).type
    unit = "the id"
    assert by_unit(again, made.form.names, unit) == by_unit(table, made.form.names, unit)
    assert not {*again.column(unit).to_pylist()} & {*table.column(unit).to_pylist()}


# by hand


def test_panel() -> None:
    made = units(PANEL, SCHEMA)
    assert made.table.arrow.to_pydict() == {  # in the order of the ids 3, 7, 9
        "year (rows)": ["101", "111", "010"],
        "sex": ["m", "f", "f"],
        "age (first)": [50, 30, 71],
        "age (step) [2021]": [None, 1, None],
        "age (step) [2022]": [2, 1, None],
        "pay [2020]": [3.0, 1.5, None],
        "pay [2021]": [None, 2.0, 4.0],
        "pay [2022]": [2.5, None, None],
    }
    form = made.form
    assert (form.once, form.repeated, form.moving, form.step_units) == (("sex",), ("pay",), ("age",), (0,))
    assert (form.slots, form.names) == (("2020", "2021", "2022"), ("pid", "year", "sex", "age", "pay"))
    assert made.schema == Schema(
        quasi=["year (rows)", "sex", "age (first)", "age (step) [2021]", "age (step) [2022]"],
        sensitive=["pay [2020]", "pay [2021]", "pay [2022]"],
        kinds={"age (step) [2021]": "numeric", "age (step) [2022]": "numeric", "year (rows)": "categorical"},
        hierarchies={"year (rows)": made.schema.hierarchies["year (rows)"]},
        rare={"year (rows)": "010"},
        unit=None,
    )
    assert long_again(made, pa.table(PANEL)).to_pydict() == {
        "pid": [11, 11, 12, 12, 12, 13],
        "year": [2020, 2022, 2020, 2021, 2022, 2021],
        "sex": ["m", "m", "f", "f", "f", "f"],
        "age": [50, 52, 30, 31, 32, 71],
        "pay": [3.0, 2.5, 1.5, 2.0, None, 4.0],
    }


def test_form_is_plain_data() -> None:
    form = units(PANEL, SCHEMA).form
    assert read_record(UnitForm, plain(form)) == form
    assert "left_out" not in plain(form, public=True)
    with pytest.raises(Contradiction, match="what they count"):
        read_record(UnitForm, {**plain(form), "step_units": []})
    with pytest.raises(Contradiction, match="unknown form"):
        read_record(UnitForm, {**plain(form), "order": "waves"})
    with pytest.raises(Contradiction, match="name of its own"):
        read_record(UnitForm, {**plain(form), "repeated": ["age"]})


def test_cells_by_presence() -> None:
    form = units(PANEL, SCHEMA).form
    names = ["year (rows)", "sex", "age (first)", "age (step) [2021]", "age (step) [2022]", "pay [2020]", "pay [2021]"]
    assert [form.has_cell(name, "011") for name in names] == [True, True, True, False, True, False, True]
    assert [form.has_cell(name, None) for name in names] == [True, True, False, False, False, False, False]
    assert [form.wide_name("age", i) for i in range(3)] == names[2:5]
    assert form.wide_name("sex", 0) == "sex"


def test_rare_patterns_lead_to_like_ones() -> None:
    rows = [(i, year) for i in range(21) for year in (1, 2, 3)] + [(i, 2) for i in range(21, 40)]
    rows += [(40, 1), (40, 3), (41, 3)]  # two rows, of which one is in no other two; one row
    long = {"pid": [i for i, _ in rows], "year": [year for _, year in rows], "pay": [1.0] * len(rows)}
    made = units(long, Schema(sensitive=["pay"], identifiers=["pid"], unit="pid", wave="year"), 10).schema
    assert made.rare == {"year (rows)": "111"}
    paths = made.hierarchies["year (rows)"].paths
    assert {pattern: path[1] for pattern, path in paths.items()} == {
        "111": "111", "010": "010", "101": "111", "001": "010"
    }  # fmt: skip


def test_names_that_collide_are_told_apart() -> None:
    table = {"id": [1, 1, 2], "w": [1, 2, 1], "a": [2, 1, 1], "a [1]": [5, 3, 4], "w (rows)": ["x", "y", "z"]}
    made = units(table, Schema(other=["a", "a [1]", "w (rows)"], unit="id", wave="w"), 1)
    assert made.table.names == [
        "w (rows)'", "a [1]'", "a [2]", "a [1] [1]", "a [1] [2]", "w (rows) [1]", "w (rows) [2]"
    ]  # fmt: skip
    twice = {"id": [1, 1, 2], "w": ["1", "2] [1", "1"], "a": [2, 1, 1], "a [2]": [5, 3, 4]}
    made = units(twice, Schema(other=["a", "a [2]"], unit="id", wave="w"))
    assert made.table.names == ["w (rows)", "a [1]", "a [2] [1]", "a [2] [1]'", "a [2] [2] [1]"]


def test_waves_that_few_have_are_left_out() -> None:
    made = units({**PANEL, "year": [2020, 2021, 2022, 2020, 2022, 2022]}, SCHEMA, 2)
    assert made.form.slots == ("2020", "2022")
    assert made.form.left_out == 1
    assert made.notes == ["left out are 1 row of 1 person: fewer than 2 people have rows in these waves"]
    with pytest.raises(SchemaError, match="no wave has rows of 4 people"):
        units(PANEL, SCHEMA, 4)


def test_waves_stand_in_their_declared_order() -> None:
    table = {"id": [1, 1, 1], "w": ["late", "early", "mid"], "x": [1, 2, 3]}
    schema = Schema(other=["x"], unit="id", wave="w", categories={"w": ["early", "mid", "late"]})
    assert units(table, schema).form.slots == ("early", "mid", "late")
    assert units(table, schema.replace(categories={})).form.slots == ("early", "late", "mid")
    numbers = {"id": ["p", "p", "p"], "w": [10, 9, 100], "x": [1, 2, 3]}
    assert units(numbers, schema.replace(categories={})).form.slots == ("9", "10", "100")


@pytest.mark.parametrize("people", [2, 3])
def test_few_units_decide_nothing(people: int) -> None:
    table = {"id": [1, 1, 2, 2, 3, 3], "w": [1, 2] * 3, "sex": ["f", "m", "f", "m", "m", "m"]}
    made = units(table, Schema(quasi=["sex"], unit="id", wave="w"), people)
    if people == 2:
        assert (made.form.once, made.form.repeated, made.notes) == ((), ("sex",), [])
    else:
        assert made.form.once == ("sex",)
        assert made.table.arrow.column("sex").to_pylist() == ["f", "f", "m"]
        assert made.notes == ["2 people have more than one value of 'sex', and get the first"]


def test_missing_counts_as_a_value() -> None:
    table = {"id": [1, 1, 2, 2], "w": [1, 2, 1, 2], "x": [None, "a", "a", "a"], "y": [None, None, "b", "b"]}
    form = units(table, Schema(quasi=["x", "y"], unit="id", wave="w")).form
    assert (form.once, form.repeated) == (("y",), ("x",))


RISING = {"id": [1, 1, 1, 2, 2, 2, 3, 3, 3], "w": [1, 2, 3] * 3}


def moving(values: list[Any], people: int = 1, kind: pa.DataType | None = None) -> Units:
    table = pa.table({**RISING, "x": pa.array(values, kind)})
    return units(table, Schema(sensitive=["x"], unit="id", wave="w"), people)


def wide_columns(made: Units) -> list[list[Any]]:
    return [made.table.arrow.column(name).to_pylist() for name, (column, _) in made.form.cells.items() if column == "x"]


def test_what_falls_or_has_gaps_does_not_move() -> None:
    assert moving([10, 11, 12, 20, 21, 22, 40, 41, 42]).form.moving == ("x",)
    assert moving([10, 11, 12, 20, 21, 22, 40, 41, 40]).form.moving == ()
    assert moving([10, 11, 12, 20, 21, 22, 40, 41, None]).form.moving == ()
    assert moving(["10", "11", "12", "20", "21", "22", "40", "41", "42"]).form.moving == ()
    assert moving([10, 11, 12, 20, 21, 22, 40, 41, float("inf")]).form.moving == ()
    # a pay that rises by another amount each time
    assert moving([10, 90, 95, 20, 21, 60, 40, 41, 90]).form.moving == ()


def test_few_may_fall_or_have_gaps() -> None:
    """The largest value so far stands for one below it, and the last one for one that is missing."""
    made = moving([10, 12, 11, 20, None, 22, None, 41, 42], 3)
    assert made.form.moving == ("x",)
    assert wide_columns(made) == [[10, 20, 41], [2, 0, 0], [0, 2, 1]]
    table = lengthened(made.table.arrow, made.form, pa.schema({"id": pa.int64(), "w": pa.int64(), "x": pa.int64()}), [])
    assert table.column("x").to_pylist() == [10, 12, 12, 20, 20, 22, 41, 41, 42]


def test_unit_without_a_value_of_a_moving_column() -> None:
    made = moving([10, 11, 12, 20, 21, 22, None, None, None], 2)
    assert wide_columns(made) == [[10, 20, None], [1, 1, 0], [1, 1, 0]]


@pytest.mark.parametrize(
    ("step", "step_unit"),
    [
        (dt.timedelta(days=365), 86_400_000_000),
        (dt.timedelta(hours=2), 3_600_000_000),
        (dt.timedelta(minutes=90), 60_000_000),
        (dt.timedelta(seconds=61), 1_000_000),
        (dt.timedelta(milliseconds=5), 1_000),
        (dt.timedelta(microseconds=1), 1),
    ],
)
@pytest.mark.parametrize("unit", ["us", "ns"])
def test_steps_of_times_are_whole_units(step: dt.timedelta, step_unit: int, unit: str) -> None:
    starts = [NOON + n * step for n in (0, 50, 90)]
    kind = pa.timestamp(unit, "Europe/Berlin")
    made = moving([start + i * step for start in starts for i in range(3)], 1, kind)
    assert made.form.step_units == (step_unit,)
    assert wide_columns(made)[1:] == [[step // dt.timedelta(microseconds=step_unit)] * 3] * 2
    types = pa.schema({"id": pa.int64(), "w": pa.int64(), "x": kind})
    table = lengthened(made.table.arrow, made.form, types, [])
    assert table.column("x").cast(ZONE).to_pylist() == [start + i * step for start in starts for i in range(3)]
    assert table.schema.field("x").type == kind


def test_few_odd_steps_are_rounded_down() -> None:
    days = [dt.timedelta(days=d) for d in (0, 1, 2, 50, 51, 52, 90, 91)]
    made = moving([NOON + d for d in days] + [NOON + dt.timedelta(days=92, hours=5)], 2, ZONE)
    assert made.form.step_units == (86_400_000_000,)
    assert wide_columns(made)[1:] == [[1, 1, 1], [1, 1, 1]]


def test_dates_and_decimals_move() -> None:
    days = [dt.date(1950 + y, 1, 1) + dt.timedelta(days=d) for y in (0, 20, 40) for d in range(3)]
    made = moving(days, 1, pa.date32())
    assert (made.form.step_units, wide_columns(made)[1]) == ((1,), [1, 1, 1])
    made = moving([0.1, 0.3, 0.5, 5.1, 5.3, 5.5, 9.1, 9.3, 9.5])
    assert (made.form.decimals, wide_columns(made)[1]) == ((1,), [0.2, 0.2, 0.2])
    prices = [Decimal(f"{v}.50") for v in (0, 1, 2, 50, 51, 52, 90, 91, 92)]
    made = moving(prices, 1, pa.decimal128(9, 2))
    assert wide_columns(made)[1] == [Decimal("1.00")] * 3
    # a third has no last decimal, and its steps would not add up to it
    assert moving([i / 3 + v for v in (0, 50, 90) for i in range(1, 4)]).form.moving == ()


def test_ages_beyond_their_type() -> None:
    made = moving([125, 126, 127, 20, 21, 22, 40, 41, 42], 1, pa.int8())
    types = pa.schema({"id": pa.int64(), "w": pa.int64(), "x": pa.int8()})
    assert lengthened(made.table.arrow, made.form, types, []).schema.field("x").type == pa.int8()
    steps = made.table.arrow.column_names.index("x (step) [3]")
    drawn = made.table.arrow.set_column(steps, "x (step) [3]", pa.array([9, 1, 1]))
    table = lengthened(drawn, made.form, types, [])
    assert table.column("x").to_pylist()[:3] == [125, 126, 135]
    assert table.schema.field("x").type == pa.int64()


def test_visits() -> None:
    made = units(VISITS, TIMES)
    assert made.table.arrow.to_pydict() == {
        "day (rows)": ["111", "110"],
        "day (first)": [dt.date(2024, 1, 1), dt.date(2024, 3, 5)],
        "day (step) [2]": [1, 0],
        "day (step) [3]": [30, None],
        "dose [1]": [1, 1],  # of two rows of a day the one with the smaller dose comes first
        "dose [2]": [5, 2],
        "dose [3]": [3, None],
    }
    assert made.schema.quasi == ("day (rows)", "day (first)", "day (step) [2]", "day (step) [3]")
    assert made.schema.sensitive == ("dose [1]", "dose [2]", "dose [3]")
    long = long_again(made, pa.table(VISITS))
    assert long.column("pat").to_pylist() == ["u1"] * 3 + ["u2"] * 2
    assert units(VISITS, TIMES.replace(sensitive=["dose", "day"])).schema.quasi == ("day (rows)",)


def test_visits_beyond_the_last_slot() -> None:
    """99 of 100 patients have 2 visits, so that 12 are enough of the one who has 20; 3 have a third."""
    counts = [2] * 297 + [3, 3, 20]
    ids = [i for i, n in enumerate(counts) for _ in range(n)]
    table = {"pat": ids, "day": [j for n in counts for j in range(n)], "x": [i % 7 for i in range(len(ids))]}
    schema = Schema(other=["x"], unit="pat", time="day")
    made = units(table, schema, 3)
    assert (made.form.slots, made.form.left_out) == (("1", "2", "3"), 17)
    assert made.notes == ["left out are 17 rows of 1 person: they lie beyond the first 3 rows of a person"]
    made = units(table, schema, 1)
    assert (len(made.form.slots), made.form.left_out) == (12, 8)
    last = made.table.arrow.to_pylist()[-1]
    assert last["day (rows)"] == "1" * 12
    many = [20] * 50
    table = {"pat": [i for i, n in enumerate(many) for _ in range(n)], "day": list(range(20)) * 50, "x": [1, 2] * 500}
    assert len(units(table, schema, 3).form.slots) == 20


def test_members_who_are_one_of_a_kind() -> None:
    made = units(MEMBERS, HOUSEHOLDS)
    assert made.table.arrow.to_pydict() == {
        "rel (rows)": ["1111", "1010", "1000"],
        "rel [other 1]": ["child", "child", None],
        "rel [other 2]": ["child", None, None],
        "age [head]": [40, 70, 55],
        "age [spouse]": [41, None, None],
        "age [other 1]": [9, 35, None],  # the oldest first
        "age [other 2]": [3, None, None],
        "region": ["n", "s", "s"],
    }
    assert made.form.labelled == 2
    assert (made.schema.household, made.schema.unit) == (None, None)
    again = widened_again(long_again(made, pa.table(MEMBERS)), made.form, made.table.arrow.schema)
    assert again.to_pydict() == made.table.arrow.to_pydict()


def test_spouses_that_few_have_are_others() -> None:
    made = units(MEMBERS, HOUSEHOLDS, 2)
    assert made.form.slots == ("child", "head")  # one household has two children
    assert made.form.left_out == 2
    assert made.notes == ["left out are 2 rows of 1 household: fewer than 2 households have such members"]
    assert made.table.arrow.column("age [child]").to_pylist() == [9, 35, None]
    more = {name: [*cells, *cells[:4]] for name, cells in MEMBERS.items()}
    more["hh"][7:] = [4] * 4
    made = units(more, HOUSEHOLDS, 2)
    assert made.form.slots == ("head", "spouse", "other 1", "other 2")
    assert (made.form.left_out, made.notes) == (0, [])
    again = widened_again(long_again(made, pa.table(more)), made.form, made.table.arrow.schema)
    assert again.to_pydict() == made.table.arrow.to_pydict()


def test_line_numbers_are_slots() -> None:
    lines = {**MEMBERS, "rel": [1, 2, 3, 4, 1, 2, 1]}
    made = units(lines, HOUSEHOLDS)
    assert (made.form.slots, made.form.labelled, made.form.repeated) == (("1", "2", "3", "4"), 4, ("age",))
    assert long_again(made, pa.table(lines)).column("rel").to_pylist() == lines["rel"]


def test_others_by_date_of_birth_and_content() -> None:
    born = [dt.date(1980 + i, 1, 1) for i in (0, 9, 5)]
    table = {"hh": [1, 1, 1], "m": ["x", "x", "x"], "born": [*born[:2], None], "a": ["q", "r", "s"]}
    schema = Schema(quasi=["a", "born"], household="hh", member="m")
    assert units(table, schema).table.arrow.column("a [other 1]").to_pylist() == ["q"]
    wide = units(table, schema).table.arrow
    assert [wide.column(f"a [other {i}]").to_pylist()[0] for i in (1, 2, 3)] == ["q", "r", "s"]
    wide = units(table, schema.replace(quasi=["a"], sensitive=["born"])).table.arrow  # by content alone
    assert [wide.column(f"born [other {i}]").to_pylist()[0] for i in (1, 2, 3)] == [None, *born[:2]]


# what is said of columns


def test_schema_is_said_of_every_slot() -> None:
    table = {
        **PANEL,
        "tax": [1.0, 2.0, 1.5, 2.5, 3.5, 4.5],
        "hh": [1, 1, 1, 1, 1, 2],
        "w": [2.5] * 6,
        "free": ["x"] * 6,
    }
    table |= {"city": ["a", "b", "a", "c", "c", "d"], "land": ["A", "B", "A", "C", "C", "D"]}
    schema = Schema(
        quasi=["age", "sex", "city", "land"],
        sensitive=["pay", "tax"],
        identifiers=["free"],
        unit="pid",
        wave="year",
        household="hh",
        weight="w",
        grid={"age": (0, 90, 10), "pay": [1, 2]},
        bounds={"pay": (0, 9), "age": (0, 99)},
        events={"pay": "> 2"},
        follows={"tax": "pay"},
        rare={"city": "z"},
        categories={"city": ["d", "a"]},
        kinds={"sex": "ordinal", "year": "categorical"},
        hierarchies={"land": Hierarchy({each: (each, "*") for each in "ABCD"})},
        determines={"city": "land"},
        rules=["pay >= 1 OR sex = 'm'", "sex <> 'x'", "tax <= 10"],
        tolerated=["pay <= tax"],
        missing=["-"],
        rest="release",
    )
    wide = units(table, schema).schema
    years = ("2020", "2021", "2022")
    assert wide.grid.keys() == {"age (first)", *(f"pay [{y}]" for y in years)}
    assert wide.bounds.keys() == {"age (first)", *(f"pay [{y}]" for y in years)}
    assert wide.events == {f"pay [{y}]": ("> 2",) for y in years}
    assert wide.follows == {f"tax [{y}]": f"pay [{y}]" for y in years}
    assert wide.rare == {**{f"city [{y}]": "z" for y in years}, "year (rows)": "010"}
    assert wide.categories == {f"city [{y}]": ("d", "a") for y in years}
    assert wide.kinds["sex"] == "ordinal"
    assert "year" not in wide.kinds
    assert {f"land [{y}]" for y in years} < wide.hierarchies.keys()
    assert wide.determines == {f"city [{y}]": (f"land [{y}]",) for y in years}
    assert wide.rules == (
        *(f"\"pay [{y}]\" >= 1 OR sex = 'm'" for y in years), "sex <> 'x'", *(f'"tax [{y}]" <= 10' for y in years)
    )  # fmt: skip
    assert wide.tolerated == tuple(f'"pay [{y}]" <= "tax [{y}]"' for y in years)
    assert (wide.household, wide.weight, wide.unit, wide.rest, wide.missing) == ("hh", "w", None, "drop", ())
    assert (wide.is_long, wide.identifiers, wide.other) == (False, (), ())
    names = units(table, schema).table.names
    assert names[0] == "hh"
    assert "free" not in names
    wide.check(names)


def test_what_follows_or_is_determined_across() -> None:
    table = {**PANEL, "dep": ["a", "b", "a", "c", "c", "d"], "in": [*"xyx", *"zz", "z"], "age2": PANEL["age"]}
    table["gender"] = table["sex"]
    schema = Schema(quasi=["sex", "gender", "dep", "in", "age", "age2"], sensitive=["pay"], unit="pid", wave="year")
    years = ("2020", "2021", "2022")
    said = {"dep": "in", "age2": "age", "gender": "sex"}
    wide = units(table, schema.replace(follows=said, determines={"sex": "gender", "dep": "in"})).schema
    assert wide.follows == {
        "gender": "sex",
        **{f"dep [{y}]": f"in [{y}]" for y in years},
        **{f"age2 {label}": f"age {label}" for label in ("(first)", "(step) [2021]", "(step) [2022]")},
    }
    assert wide.determines == {"sex": ("gender",), **{f"dep [{y}]": (f"in [{y}]",) for y in years}}
    for change in (
        {"follows": {"sex": "dep"}},
        {"follows": {"dep": "sex"}},
        {"follows": {"dep": "age"}},
        {"determines": {"age": "dep"}},
        {"determines": {"dep": "age"}},
        {"determines": {"dep": "sex"}},
        {"determines": {"sex": "dep"}},
    ):
        with pytest.raises(SchemaError, match="one record is made of several rows"):
            units(table, schema.replace(**change))


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("age > 3", "'age', which is a first value and steps inside"),
        ("year > 2000", "'year', which is the wave of a row"),
        ("pid > 0", "'pid', which says whose a row is"),
        ("free > 0", "'free', which is not released"),
    ],
)
def test_rules_that_are_refused(rule: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        units({**PANEL, "free": [1] * 6}, SCHEMA.replace(rules=[rule]))


def test_rule_about_a_member() -> None:
    rule = ["rel <> 'x' OR age > 3"]
    with pytest.raises(SchemaError, match="'rel', which is the member of a row"):
        units(MEMBERS, HOUSEHOLDS.replace(rules=rule))
    same = {**MEMBERS, "rel": ["child"] * 7}
    made = units(same, HOUSEHOLDS.replace(rules=rule))
    assert made.schema.rules[0] == '"rel [other 1]" <> \'x\' OR "age [other 1]" > 3'
    assert len(made.schema.rules) == 4


def test_schemas_that_are_refused() -> None:
    with pytest.raises(SchemaError, match="told apart by wave and time"):
        Schema(unit="a", wave="b", time="c")
    for part, needed in (("wave", "unit"), ("time", "unit"), ("member", "household, or a unit,")):
        with pytest.raises(SchemaError, match=f"no {needed} is named"):
            Schema(**{part: "b"})
    with pytest.raises(SchemaError, match="no unit is named"):
        Schema(wave="b", household="a", unit=None)
    with pytest.raises(SchemaError, match="the wave 'a' is the unit"):
        Schema(wave="a", unit="a")
    with pytest.raises(SchemaError, match="the member 'b' is identifier"):
        Schema(member="b", unit="a", identifiers=["b"])
    with pytest.raises(SchemaError, match="time is not the name of a column"):
        Schema(time=3, unit="a")
    with pytest.raises(SchemaError, match="no column 'yaer'"):
        SCHEMA.replace(wave="yaer").check(["pid", "year", "sex", "age", "pay"])


def test_schema_says_who_a_unit_is() -> None:
    assert (SCHEMA.is_long, SCHEMA.unit_column) == (True, "pid")
    assert Schema(unit="a", household="b", member="c").unit_column == "b"
    assert Schema(unit="a", household="b", time="c").unit_column == "a"
    assert Schema(unit="a", member="c").unit_column == "a"
    assert (Schema(unit="a").is_long, Schema(unit="a").unit_column) == (False, None)
    assert SCHEMA.undeclared([*PANEL, "x"]) == ["x"]
    for schema in (SCHEMA, HOUSEHOLDS, TIMES):
        assert Schema.from_toml(schema.to_toml()) == schema
    assert 'wave = "year"' in SCHEMA.to_toml()


@pytest.mark.parametrize(
    ("columns", "changes", "words"),
    [
        ({"pid": [7, None, 7, 3, None, 9]}, {}, "'pid' is missing in 2 rows, whose id nobody knows"),
        ({"year": [1, 2, None, 1, 2, 1]}, {}, "'year' is missing in 1 row, whose wave nobody knows"),
        ({"year": [1, 1, 2, 3, 3, 1]}, {}, "2 people have two rows in one wave"),
        ({"w": [1, 1, 2, 1, 1, 1]}, {"weight": "w"}, "the weight 'w' differs within 1 person"),
        ({"hh": [1, 1, 2, 1, 1, 1]}, {"household": "hh"}, "the household 'hh' differs within 1 person"),
        ({"t": list("abcdef")}, {"wave": None, "time": "t"}, "neither dates nor numbers but string"),
        ({"t": [1.0, 2, 3, 4, 5, float("inf")]}, {"wave": None, "time": "t"}, "infinite or too large"),
    ],
)
def test_tables_that_are_refused(columns: dict[str, Any], changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        units({**PANEL, **columns}, SCHEMA.replace(**changes))


# back


def test_new_ids() -> None:
    made = units(PANEL, SCHEMA)
    wide, form, types = made.table.arrow, made.form, pa.table(PANEL).schema

    def ids(kind: pa.DataType, used: list[Any]) -> pa.ChunkedArray:
        changed = types.set(0, pa.field("pid", kind))
        return lengthened(wide, form, changed, used).column("pid").unique()

    assert ids(pa.int64(), [7, -123]).to_pylist() == [1001, 1002, 1003]
    assert ids(pa.int64(), [10]).to_pylist() == [101, 102, 103]
    assert ids(pa.int8(), [99]).type == pa.int8()
    assert ids(pa.int8(), [100]).type == pa.int64()  # 1001 is too large
    assert ids(pa.float64(), [7.0, float("nan"), None]).to_pylist() == [11.0, 12.0, 13.0]
    assert ids(pa.string(), ["a"]).to_pylist() == ["u1", "u2", "u3"]
    assert ids(pa.string(), ["u2", "uu1"]).to_pylist() == ["uuu1", "uuu2", "uuu3"]


def test_cells_of_other_types() -> None:
    """A released column may hold means, or texts."""
    made = units({**PANEL, "n": [1, 2, 1, 4, 3, 1]}, SCHEMA.replace(other=["n"]))
    types = pa.table({**PANEL, "n": [1, 2, 1, 4, 3, 1]}).schema
    wide = made.table.arrow
    means = wide.set_column(wide.column_names.index("n [2020]"), "n [2020]", pa.array([1.5, 2.5, None]))
    column = lengthened(means, made.form, types, []).column("n")
    assert (column.type, column.to_pylist()) == (pa.float64(), [1.5, 3.0, 2.5, 2.0, 1.0, 1.0])
    texts = wide.set_column(wide.column_names.index("n [2020]"), "n [2020]", pa.array(["[1-2]", "*", None]))
    assert lengthened(texts, made.form, types, []).column("n").to_pylist() == ["[1-2]", "3", "*", "2", "1", "1"]
    ranges = wide.set_column(wide.column_names.index("age (first)"), "age (first)", pa.array(["[1-2]", "*", None]))
    with pytest.raises(InputError, match="first values of column 'age' are no numbers"):
        lengthened(ranges, made.form, types, [])


def test_rows_of_no_pattern() -> None:
    made = units(PANEL, SCHEMA)
    patterns = pa.array([None, "01", "1110"]).dictionary_encode()
    wide = made.table.arrow.set_column(0, "year (rows)", patterns)
    assert lengthened(wide, made.form, pa.table(PANEL).schema, []).column("year").to_pylist() == [
        2021, 2020, 2021, 2022
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"year": [2020, 2020, 2021, 2022, 2020, 2021]}, "two rows with one wave in 'year'"),
        ({"year": [2020, 2022, 2020, 2021, 2022, 1999]}, "a wave in 'year' that has no place"),
        ({"sex": ["m", "f", "f", "f", "f", "f"]}, "two values of 'sex'"),
    ],
)
def test_long_tables_that_are_no_release(change: dict[str, Any], words: str) -> None:
    made = units(PANEL, SCHEMA)
    long = pa.table({**long_again(made, pa.table(PANEL)).to_pydict(), **change})
    with pytest.raises(InputError, match=words):
        widened_again(long, made.form, made.table.arrow.schema)


def test_visits_that_are_no_release() -> None:
    made = units(VISITS, TIMES)
    long = long_again(made, pa.table(VISITS))
    with pytest.raises(InputError, match="the times of somebody in 'day' fall"):
        widened_again(long.take(pa.array([1, 0, 2, 3, 4])), made.form, made.table.arrow.schema)
    with pytest.raises(InputError, match="a time in 'day' that has no place"):
        widened_again(pa.concat_tables([long, long.slice(2, 1)]), made.form, made.table.arrow.schema)
    # the rows of two people may be mixed
    mixed = widened_again(long.take(pa.array([3, 0, 1, 4, 2])), made.form, made.table.arrow.schema)
    assert mixed.to_pylist() == made.table.arrow.to_pylist()[::-1]


def test_one_row() -> None:
    table = {"id": ["p"], "t": [dt.datetime(2024, 1, 1, 5)], "x": ["a"]}
    made = units(table, Schema(quasi=["x"], unit="id", time="t"))
    assert made.table.arrow.to_pydict() == {"t (rows)": ["1"], "t (first)": table["t"], "x": ["a"]}
    assert long_again(made, pa.table(table)).to_pydict() == {**table, "id": ["u1"]}


def test_order_of_categories_stays() -> None:
    kind = pa.dictionary(pa.int8(), pa.string(), ordered=True)
    grades = pa.DictionaryArray.from_arrays(pa.array([1, 0, 2, 1, 0, 2], pa.int8()), ["low", "high", "a"], ordered=True)
    table = pa.table({"id": [1, 1, 2, 2, 3, 3], "w": [1, 2] * 3, "g": grades})
    made = units(table, Schema(quasi=["g"], unit="id", wave="w"))
    assert made.table.column("g [1]").values == ["low", "high", "a"][1:] or made.table.declared("g [1]") == (
        "low", "high", "a"
    )  # fmt: skip
    assert long_again(made, table).schema.field("g").type == kind


@given(
    st.dictionaries(st.integers(1, 31).map("{:05b}".format), st.integers(1, 6), min_size=1, max_size=20),
    st.integers(1, 7),
)
def test_rare_sets_of_rows_are_released_as_what_enough_units_stand_for(patterns: dict[str, int], people: int) -> None:
    paths = _hierarchy(Counter(patterns), people, 0).paths
    assert {*paths} == {*patterns}
    counted = Counter[str]()
    for pattern, n in patterns.items():
        counted[paths[pattern][1]] += n
    assert len(counted) == 1 or min(counted.values()) >= people
    assert all("1" in released for released in counted)
    assert all(paths[each][1] == each for each in counted if each in patterns)


def test_a_second_head_is_left_out() -> None:
    """Read again, it would be the head of a household that has none."""
    more = {name: [*cells, *cells[:4], *cells[:4]] for name, cells in MEMBERS.items()}
    more["hh"][7:] = [4] * 4 + [5] * 4
    more["rel"][10] = "head"
    made = units(more, HOUSEHOLDS, 2)
    assert made.form.slots[: made.form.labelled] == ("head", "spouse")
    assert made.form.left_out == 1
    assert "or are a second one where there is one" in made.notes[0]
    others = [name for name in made.table.names if name.startswith("rel [other")]
    assert {value for name in others for value in made.table.arrow.column(name).to_pylist()} == {"child", None}
