"""Methods that mask a table as a whole: the odd tables, and nothing but releases or clear errors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError
from hedgerow.table import read

from .methods import Case
from .tables import TABLES
from .test_methods import MUST_FAIL, assert_clear, outcome

METHODS: dict[str, Callable[[], Any]] = {
    "PoROP": lambda: hr.PoROP(k=5, degree=2, random_state=1),
    "LiROP": lambda: hr.LiROP(k=5, random_state=1),
    "Microaggregation": lambda: hr.Microaggregation(k=3),
    "V-MDAV": lambda: hr.Microaggregation(k=3, grouping="v-mdav"),
    "individual ranking": lambda: hr.Microaggregation(k=3, grouping="individual_ranking"),
    "noise": lambda: hr.NoiseAddition(scale=0.2, random_state=1),
    "rank swapping": lambda: hr.RankSwapping(proportion=0.1, random_state=1),
    "PRAM": lambda: hr.PRAM(stay=0.8, random_state=1),
    "top and bottom coding": lambda: hr.TopBottomCoding(top_share=0.1, bottom_share=0.1),
    "local suppression": lambda: hr.LocalSuppression(k=3),
    "TPP": lambda: hr.TreePatternPreserving(k=2),
}


def case(name: str, schema: hr.Schema) -> Case:
    """The method under test; TPP predicts the first sensitive column."""

    def make() -> Any:
        method = METHODS[name]()
        if name == "TPP" and schema.sensitive:
            method.set_params(response=schema.sensitive[0])
        return method

    return Case(name, make)


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("name", METHODS)
def test_a_release_or_a_clear_error(name: str, kind: str) -> None:
    table, schema = TABLES[kind]()
    before = copy.deepcopy(table)
    found = outcome(case(name, schema), table, schema)
    assert table.equals(before), "protect changed the table it was given"
    if isinstance(found, HedgerowError):
        assert_clear(found)
        return
    assert kind not in MUST_FAIL
    assert type(found.table) is type(table)
    assert all(check.holds for check in found.verify())
    made, original = read(found.table), read(table)
    assert made.n_rows == original.n_rows
    assert made.names == [n for n in original.names if n not in schema.identifiers]


@pytest.mark.parametrize("name", METHODS)
def test_the_same_seed_gives_the_same_release(name: str) -> None:
    people = hr.datasets.make_people(120, seed=4)
    quasi = ["sex", "marital"] if name == "PRAM" else ["age", "hours_per_week"]
    people = people.drop_null() if hasattr(people, "drop_null") else people
    schema = hr.Schema(quasi=quasi, sensitive=["smoker"])
    once, again = (outcome(case(name, schema), people, schema) for _ in range(2))
    assert not isinstance(once, HedgerowError), once
    assert once.table.equals(again.table)
