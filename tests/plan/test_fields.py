"""Every field of a plan's records is held against its declared type when a file is read."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from hedgerow.errors import PlanError
from hedgerow.plan import (
    Anatomize,
    ColumnMap,
    Maps,
    Mask,
    MaskedColumn,
    Plan,
    PlanColumn,
    Randomize,
    Randomized,
    Recoding,
)
from hedgerow.plan.records import dumps, loads

from .partitions import mixed, plan_of

MAP = ColumnMap("age", "quasi", "numeric", cuts=(30.0,), labels=("young", "old"))
DRAWN = Randomized("sex", "quasi", "categorical", categories=("f", "m"), p=0.75)
ALTERED = MaskedColumn("pay", "quasi", "numeric", released="double", unchanged=0.25)


def of(recoding: Recoding) -> Plan:
    """A plan around one recoding."""
    columns = [PlanColumn(c.name, c.role, c.kind) for c in recoding.recoded()]
    columns.append(PlanColumn("illness", "sensitive", "categorical"))
    promises = ({"kind": "k_anonymity", "k": 2},)
    return Plan("Test", {"k": 2}, tuple(columns), recoding, promises, 9)


PLANS = {
    "partition": plan_of(mixed()),
    "maps": of(Maps((MAP,), (("young",),))),
    "randomize": of(Randomize((DRAWN,), None, "paper", 0.5, 0.6, 0.0)),
    "mask": of(Mask("noise addition", (ALTERED,), {"scale": 0.1})),
    "anatomy": of(Anatomize("illness", 2.0, 4)),
}


def leaves(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in plain data that holds nothing else."""
    inner = data.items() if isinstance(data, dict) else enumerate(data)
    for name, value in inner:
        if path == () and name in ("parameters", "promises"):
            continue  # plain data that the records do not describe
        if path == ("recoding",) and name == "facts":
            continue
        if isinstance(value, (dict, list)):
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.parametrize("promise", [{}, {"kind": 5}, {"kind": "k_anonymity", "k": [1]}])
def test_a_promise_says_what_it_promises(promise: Any) -> None:
    data = json.loads(dumps(PLANS["mask"]))
    with pytest.raises(PlanError, match="a promise does not say"):
        loads(json.dumps({**data, "promises": [promise]}))


@pytest.mark.parametrize("category", [5, 1.5])
def test_a_category_is_a_text(category: Any) -> None:
    data = json.loads(dumps(PLANS["randomize"]))
    data["recoding"]["columns"][0]["categories"][0] = category
    with pytest.raises(PlanError, match="a category is no text"):
        loads(json.dumps(data))


@pytest.mark.parametrize("name", PLANS)
def test_a_value_of_another_type_is_refused_wherever_it_stands(name: str) -> None:
    data = json.loads(dumps(PLANS[name]))
    assert loads(json.dumps(data)) == PLANS[name]
    tried = 0
    for path in leaves(data):
        for wrong in ({"a": 1}, ["a"], 7 if path[-1] in ("name", "role", "method") else {}):
            forged = copy.deepcopy(data)
            place = forged
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = wrong
            with pytest.raises(PlanError):
                loads(json.dumps(forged))
            tried += 1
    assert tried > 20


@pytest.mark.parametrize("name", PLANS)
def test_a_field_that_no_record_has_is_refused(name: str) -> None:
    data = json.loads(dumps(PLANS[name]))
    data["recoding"]["more"] = 1
    with pytest.raises(PlanError, match="damaged"):
        loads(json.dumps(data))


def test_private_fields_are_left_out_and_public_ones_stay() -> None:
    told = PLANS["randomize"].public()["recoding"]
    assert told["columns"][0]["categories"] == ["f", "m"]
    assert not {"risk", "success", "unprotected"} & set(told)
    assert set(PLANS["maps"].public()["recoding"]["columns"][0]) == {
        "name",
        "role",
        "kind",
        "unit",
        "zone",
        "order",
        "events",
        "declared",
        "default",
        "missing",
    }
