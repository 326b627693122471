from __future__ import annotations

import pytest

from hedgerow.errors import PlanError
from hedgerow.plan import Column, ColumnMap, Maps, Plan
from hedgerow.plan.codec import dumps, loads


def make_plan() -> Plan:
    maps = Maps(
        (
            ColumnMap("age", "quasi", "numeric", cuts=(30.0, 60.0), labels=("-29", "30-59", "60-")),
            ColumnMap(
                "job",
                "quasi",
                "categorical",
                categories=("cook", "nurse"),
                labels=("service", "health"),
            ),
        ),
        suppressed=(("-29", "health"),),
    )
    return Plan(
        "Datafly",
        {"k": 2},
        (Column("age", "quasi", "numeric"), Column("job", "quasi", "categorical")),
        maps,
        n_rows=4,
    )


def test_round_trip_keeps_every_field():
    plan = make_plan()
    assert loads(dumps(plan)) == plan


def test_rows_are_recoded_by_the_definition():
    maps = make_plan().recoding
    rows = [(30.0, "cook"), (29.0, "nurse"), (float("nan"), "pilot"), (60.0, None)]
    assert maps.recode(rows) == [("30-59", "service"), ("*", "*"), (None, "*"), ("60-", None)]


def test_public_plan_holds_no_label_and_no_suppressed_class():
    text = str(make_plan().public())
    assert "30-59" not in text
    assert "health" not in text


@pytest.mark.parametrize(
    "damage",
    [
        ("cuts", [60.0, 30.0]),
        ("labels", ["a", "b"]),
        ("cuts", [30.0, 30.0]),
    ],
)
def test_damaged_maps_are_refused(damage):
    import json

    data = json.loads(dumps(make_plan()))
    data["recoding"]["columns"][0][damage[0]] = damage[1]
    with pytest.raises(PlanError):
        loads(json.dumps(data))
