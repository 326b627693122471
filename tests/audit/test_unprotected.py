"""What a table gives away as it is, counted by hand."""

from __future__ import annotations

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.single_table import unprotected
from hedgerow.errors import SchemaError
from hedgerow.io.read import read

PEOPLE = pd.DataFrame(
    {
        "age": [30, 30, 30, 40, 40, 50],
        "job": ["a", "a", "b", "a", "a", "b"],
        "ill": ["yes", "no", "yes", "no", "no", "yes"],
    }
)
SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["ill"])


def test_sample_uniques_are_counted() -> None:
    found = unprotected(read(PEOPLE), SCHEMA, attacks=False)
    assert (found["classes"]["groups"], found["classes"]["uniques"]) == (4, 2)
    # chances 1/2, 1/2, 1, 1/2, 1/2, 1
    assert found["reidentification"]["prosecutor"]["average"] == pytest.approx(4 / 6)
    assert found["attacks"] is None


def test_a_tree_knows_its_own_people_better_than_strangers() -> None:
    # 200 people whose illness nobody could guess: each is alone, so the tree has learned them by heart
    people = pd.DataFrame({"age": range(200), "ill": [(i * 7919) % 97 % 2 for i in range(200)]})
    people["ill"] = people["ill"].map({0: "no", 1: "yes"})
    found = unprotected(read(people), hr.Schema(quasi=["age"], sensitive=["ill"]))
    (attack,) = found["attacks"]
    assert attack["success"] == 1.0
    assert attack["control"] < 0.7
    assert [row["column"] for row in found["influence"]] == ["age"]


def test_the_order_of_the_rows_changes_nothing() -> None:
    people = hr.datasets.make_people(400, seed=2).to_pandas()
    schema = hr.Schema(quasi=["age", "job"], sensitive=["income"])
    one = unprotected(read(people), schema)
    two = unprotected(read(people.sample(frac=1, random_state=1)), schema)
    assert one == two


def test_no_quasi_identifier_is_refused() -> None:
    with pytest.raises(SchemaError, match="no quasi-identifiers"):
        unprotected(read(PEOPLE), hr.Schema(sensitive=["ill"]))


def test_a_session_keeps_it_until_the_roles_change() -> None:
    session = hr.Session(PEOPLE)
    session.choose(SCHEMA, hr.MART(k=2))
    session.today(attacks=False)
    assert "today" in session.done
    session.choose(SCHEMA, hr.MART(k=3))
    assert "today" in session.done
    session.choose(hr.Schema(quasi=["age"], sensitive=["ill"]), hr.MART(k=3))
    assert "today" not in session.done
