"""Runs beside their definition, on tiny columns and on odd ones."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.columns.column import ValueCounts
from hedgerow.columns.table import Table
from hedgerow.guard.guarding import with_runs
from hedgerow.guard.runs import EACH, previous_values, runs_of
from hedgerow.plan.records import GuardedColumn

from . import reference

numbers = st.one_of(
    st.integers(-20, 20).map(float),
    st.floats(-1e6, 1e6, allow_nan=False).map(lambda v: round(v, 2)),
    st.sampled_from([0.0, 1e-300, -1e-300, 1e300, -1e300, 5e-324, 1.7e308, -1.7e308, 2.0**53, 0.1]),
)
records = st.lists(st.tuples(numbers, st.integers(0, 9)), min_size=1, max_size=30)


def closed(rows: list[tuple[float, int]], least: int, unit: float, each: bool) -> Any:
    """Return the runs of records and how many people each has; `each` record may be a person."""
    values, codes = np.unique([v for v, _ in rows], return_inverse=True)
    counts = ValueCounts("x", "numeric", "", values, np.bincount(codes))
    people = EACH if each else previous_values(codes, np.array([p for _, p in rows]), len(values))
    return runs_of(counts, least, unit, people), codes


@settings(max_examples=60)
@given(rows=records, least=st.integers(2, 5), each=st.booleans())
@example(rows=[(0.0, 0), (1.0, 0), (1.7e308, 1)], least=2, each=False)
def test_runs_are_those_of_the_definition(rows: list[tuple[float, int]], least: int, each: bool) -> None:
    if each:
        rows = [(value, i) for i, (value, _) in enumerate(rows)]
    rows = [(value + 0.0, person) for value, person in rows]  # no -0.0
    is_whole = all(float(v).is_integer() for v, _ in rows)
    found, codes = closed(rows, least, float(is_whole), each)
    wanted = reference.runs(rows, least)
    assert len(found.values) == len(wanted)
    assert (np.diff(found.values) > 0).all()
    for i, run in enumerate(wanted):
        low, high = run[0][0], run[-1][0]
        told = float(found.values[i])
        assert low <= told <= high
        assert len({person for _, person in run}) >= least
        shared = reference.heap(run, least)
        assert shared is None or told == shared
        assert not is_whole or told.is_integer()
        if i:
            assert wanted[i - 1][-1][0] < found.cuts[i - 1] <= low
        assert {found.of_code[c] for c, (v, _) in zip(codes, rows, strict=True) if low <= v <= high} == {i}
    assert found.of_code[-1] == len(wanted)


def test_a_person_with_many_records_is_one() -> None:
    rows = [(float(i), 7) for i in range(20)] + [(30.0 + i, i) for i in range(6)]
    found, _ = closed(rows, 3, 1.0, False)
    wanted = reference.runs(rows, 3)
    assert len(found.values) == len(wanted) == 2
    assert len(wanted[0]) == 22  # twenty records of one person, and two people more


def test_who_joins_a_shared_value_does_not_name_it() -> None:
    rows = [(10.0, 0), (10.0, 1), (10.0, 2), *[(11.0, 3)] * 10, *[(50.0, p) for p in (4, 5, 6)]]
    found, _ = closed(rows, 3, 1.0, False)
    assert found.values.tolist() == [10.0, 50.0]


@pytest.mark.parametrize("top", [1e3, 1e9, 1e300])
def test_an_outlier_is_in_no_end_run(top: float) -> None:
    values = [float(v) for v in range(1, 21)] + [top]
    found, _ = closed([(v, i) for i, v in enumerate(values)], 5, 1.0, True)
    again, _ = closed([(v, i) for i, v in enumerate([*values[:-1], 2 * top])], 5, 1.0, True)
    assert found.values.tolist() == again.values.tolist()
    assert found.values[-1] <= 20


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([], []),
        ([4.0], []),
        ([4.0, 5.0], []),
        ([4.0] * 3, [4.0]),
        ([4.0] * 9, [4.0]),
        ([4.0] * 3 + [9.0], [4.0]),
        ([1.0, 2.0, 3.0], [2.0]),
        ([0.0] * 3 + [1.0] * 3, [0.0, 1.0]),
    ],
)
def test_few_values(values: list[float], wanted: list[float]) -> None:
    found, _ = closed([(v, i) for i, v in enumerate(values)], 3, 1.0, True)
    assert found.values.tolist() == wanted


def test_told_values_are_round() -> None:
    rng = np.random.default_rng(0)
    values = np.sort(rng.lognormal(10, 1, 400).round(2))
    found, codes = closed([(v, i) for i, v in enumerate(values)], 10, 0.01, True)
    run = found.of_code[codes]
    for i, told in enumerate(found.values):
        inside = values[run == i]
        span = (inside.max() - inside.min()) / 20
        if i in (0, run.max()):
            span = min(np.abs(np.sort(inside)[(len(inside) - 1) // 2] - inside[[0, -1]])) / 10
        step = max(s for p in range(-4, 6) for s in (10.0**p, 2 * 10.0**p, 5 * 10.0**p) if s <= span)
        assert abs(told / step - round(told / step)) < 1e-6


def column_of(release: hr.Release) -> GuardedColumn:
    assert release.plan.guard is not None
    return release.plan.guard.columns[0]


def odd_columns() -> dict[str, pa.Array]:
    """Sensitive columns of every type."""
    rng = np.random.default_rng(3)
    pay = rng.lognormal(10, 1, 300)
    bands = np.digitize(pay, [5_000, 20_000, 50_000])
    day = dt.date(1950, 1, 1)
    return {
        "float32": pa.array(pay.astype("f4")),
        "float16": pa.array((pay / 1e3).astype("f2")),
        "int8": pa.array(rng.integers(-120, 127, 300).astype("i1")),
        "uint16": pa.array((pay / 10).clip(0, 65_535).astype("u2")),
        "decimal": pa.array([Decimal(int(x)) / 100 for x in pay], pa.decimal128(12, 2)),
        "date": pa.array([day + dt.timedelta(int(x) % 20_000) for x in pay]),
        "time": pa.array([10**15 + int(x * 1e6) for x in pay], pa.timestamp("us", "UTC")),
        "nanoseconds": pa.array([10**18 + int(x * 1e6) * 1000 for x in pay], pa.timestamp("ns")),
        "boolean": pa.array(pay > 40_000),
        "ordinal": pa.array([["c", "a", "d", "b"][b] for b in bands]),
        "category": pa.array(rng.choice(["x", "y", None], 300)),
        "rare categories": pa.array([f"r{i}" if i < 4 else "xy"[i % 2] if i % 9 else None for i in range(300)]),
        "below zero": pa.array(-pay),
        "tiny": pa.array(pay * 1e-300),
        "huge": pa.array(pay * 1e295),
        "missing": pa.array(np.where(rng.random(300) < 0.3, np.nan, pay), from_pandas=True),
    }  # fmt: skip


@pytest.mark.parametrize("guard", ["runs", "redraw"])
@pytest.mark.parametrize("kind", odd_columns())
@pytest.mark.filterwarnings("ignore")
def test_columns_of_every_type_keep_it(kind: str, guard: str) -> None:
    cells = odd_columns()[kind]
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(18, 80, 300), "job": rng.choice(list("abc"), 300), "s": cells})
    order = {"kinds": {"s": "ordinal"}, "categories": {"s": list("cadb")}} if kind == "ordinal" else {}
    schema = hr.Schema(quasi=["age", "job"], sensitive=["s"], **order)
    release = hr.protect(table, schema, hr.MART(5), guard=guard, random_state=1 if guard == "redraw" else None)
    told = release.table["s"]
    assert told.type == cells.type
    column = column_of(release)
    values = [str(v) for v in told.to_pylist() if v is not None]
    if guard == "redraw" and column.kind in ("numeric", "date"):
        assert 1 < len(column.begins) < len(column.values) < len(set(values))
    else:
        assert 1 < len(set(values)) <= len(column.values)
    if kind in ("int8", "uint16") and guard == "runs":
        assert len(set(values)) < len(set(cells.to_pylist()))
    if kind == "rare categories":
        assert set(values) == {"x", "y"}


def test_runs_have_the_order_and_the_events_of_their_column() -> None:
    rng = np.random.default_rng(2)
    table = pa.table({"grade": rng.choice(["low", "mid", "high"], 200), "income": rng.integers(0, 50, 200)})
    schema = hr.Schema(
        sensitive=["grade", "income"], kinds={"grade": "ordinal"}, categories={"grade": ["low", "mid", "high"]},
        events={"income": ["> 40"]},
    )  # fmt: skip
    with_both, roles = with_runs(Table(table), schema, 5)
    assert with_both.declared_column(roles, "grade (runs)").values == ["low", "mid", "high"]
    runs, exact = (with_both.declared_column(roles, name) for name in ("income (runs)", "income"))
    assert list(runs.events) == list(exact.events) == ["> 40"]


def test_drawn_numbers_have_no_more_decimals_than_those_of_the_table() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, 900), "kg": rng.normal(75, 12, 900).round(1)})
    table["m"] = rng.normal(1.7, 0.1, 900).round(3)
    drawn = hr.protect(table, hr.Schema(quasi=["age", "kg"], sensitive=["m"]), random_state=1).table
    for name, digits in (("kg", 1), ("m", 3)):
        assert drawn[name].nunique() > 20
        assert (drawn[name].round(digits) == drawn[name]).all(), name


@pytest.mark.parametrize("kind", ["number", "category"])
@pytest.mark.filterwarnings("ignore")
def test_a_missing_value_that_one_person_has_is_not_drawn(kind: str) -> None:
    rng, seen = np.random.default_rng(3), []
    table = pd.DataFrame({"age": rng.integers(18, 80, 300), "pay": rng.normal(3000, 500, 300).round()})
    if kind == "category":
        table["pay"] = rng.choice(list("abcd"), 300).astype(object)
    for n in (1, 60):
        lacking = table.assign(pay=table.pay.mask(np.arange(300) < n))
        schema = hr.Schema(quasi=["age"], sensitive=["pay"])
        seen.append([hr.protect(lacking, schema, random_state=seed).table.pay.isna().sum() for seed in range(6)])
    assert set(seen[0]) == {0}
    assert min(seen[1]) > 30


@pytest.mark.filterwarnings("ignore")
def test_a_number_that_one_person_has_decides_no_decimals() -> None:
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"age": np.append(rng.integers(18, 80, 299), 30.5), "ill": rng.choice(["yes", "no"], 300)})
    for seed in range(6):
        age = hr.protect(table, hr.Schema(quasi=["age"], sensitive=["ill"]), random_state=seed).table.age
        assert (age == age.round()).all()
