from __future__ import annotations

import pytest

from hedgerow.errors import PlanError, UnsupportedError
from hedgerow.plan import ColumnMap, Maps, Plan, PlanColumn
from hedgerow.plan.records import Contradiction, dumps, loads

from .mapping import mapped_rows


def make_plan() -> Plan:
    maps = Maps(
        (
            ColumnMap("age", "quasi", "numeric", cuts=(30.0, 60.0), labels=("-29", "30-59", "60-")),
            ColumnMap("job", "quasi", "categorical", categories=("cook", "nurse"), labels=("service", "health")),
        ),
        suppressed=(("-29", "health"),),
    )
    return Plan(
        "Datafly",
        {"k": 2},
        (PlanColumn("age", "quasi", "numeric"), PlanColumn("job", "quasi", "categorical")),
        maps,
        n_rows=4,
    )


def test_round_trip_keeps_every_field():
    plan = make_plan()
    assert loads(dumps(plan)) == plan


def test_rows_are_recoded_by_the_definition():
    maps = make_plan().recoding
    rows = [(30.0, "cook"), (29.0, "nurse"), (float("nan"), "pilot"), (60.0, None)]
    assert mapped_rows(maps, rows) == [("30-59", "service"), ("*", "*"), (None, "*"), ("60-", None)]


def test_public_plan_holds_no_label_and_no_suppressed_class():
    text = str(make_plan().public())
    assert "30-59" not in text
    assert "health" not in text


@pytest.mark.parametrize("damage", [("cuts", [60.0, 30.0]), ("labels", ["a", "b"]), ("cuts", [30.0, 30.0])])
def test_damaged_maps_are_refused(damage):
    import json

    data = json.loads(dumps(make_plan()))
    data["recoding"]["columns"][0][damage[0]] = damage[1]
    with pytest.raises(PlanError):
        loads(json.dumps(data))


def test_a_number_has_no_word_as_a_category():
    ColumnMap("age", "quasi", "numeric", categories=("19", "2e1"), labels=("a", "b")).check()
    with pytest.raises(Contradiction, match="no number"):
        ColumnMap("age", "quasi", "numeric", categories=("19", "x"), labels=("a", "b")).check()


def test_sql_makes_the_same_release_in_duckdb():
    import datetime as dt

    import duckdb
    import pyarrow as pa

    days = [dt.date(2020, 1, 1), dt.date(2021, 6, 1), None, dt.date(2022, 1, 1)]
    people = pa.table({"age": [29.0, 30.0, None, float("nan")], "job": ["cook", "o'hara", None, "x"],
                       "day": pa.array(days), "shoe": [40, 41, 42, 43]})  # fmt: skip
    maps = Maps((
        ColumnMap("age", "quasi", "numeric", cuts=(30.0,), labels=(25.5, 60.0)),
        ColumnMap("job", "quasi", "categorical", categories=("cook", "o'hara"), labels=("a", "b'")),
        ColumnMap("day", "quasi", "date", "day", cuts=(18628.5,), labels=("early", "late")),
        ColumnMap("shoe", "quasi", "numeric", categories=("40", "41", "42"), labels=("s", "s", "m")),
    ))  # fmt: skip
    plan = Plan("X", {}, tuple(PlanColumn(c.name, "quasi", c.kind, c.unit) for c in maps.columns), maps)
    with duckdb.connect() as connection:
        connection.register("people", people)
        made = connection.sql(plan.to_sql()).to_arrow_table()
    assert made.to_pylist() == plan.apply(people, keep_order=True, unseen="count").to_pylist()
    assert made.column("age").to_pylist() == [25.5, 60.0, None, None]


def test_suppressed_classes_are_not_written_as_sql():
    with pytest.raises(UnsupportedError):
        make_plan().to_sql()
