"""A person is looked up before and after; figures by hand."""

from __future__ import annotations

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.audit.pairing import align
from hedgerow.audit.single_records import look_up
from hedgerow.errors import InputError, UnsupportedError

BEFORE = pd.DataFrame(
    {
        "age": [20, 22, 31, 33],
        "job": ["nurse", "cook", "nurse", None],
        "pay": [10.0, 20.0, 30.0, 50.0],
        "ill": ["no", "no", "yes", "no"],
    }
)
AFTER = BEFORE.assign(
    age=["[20-22]", "[20-22]", "[31-33]", "[31-33]"],
    job=["cook+nurse", "cook+nurse", "nurse+(missing)", "nurse+(missing)"],
)
SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay", "ill"])
PAIR = align(BEFORE, AFTER, SCHEMA)


@pytest.mark.parametrize(
    ("wanted", "before", "after", "groups"),
    [
        ({}, 4, 4, 2),
        ({"age": "20"}, 1, 2, 1),
        ({"age": "21"}, 0, 2, 1),  # nobody's age, between two that are
        ({"age": "25"}, 0, 0, 0),
        ({"job": "nurse"}, 2, 4, 2),
        ({"job": "cook"}, 1, 2, 1),
        ({"job": ""}, 1, 2, 1),  # a missing value
        ({"job": "pilot"}, 0, 0, 0),
        ({"age": "20", "job": "cook"}, 0, 2, 1),
        ({"age": "31", "job": "cook"}, 0, 0, 0),
    ],
)
def test_who_fits(wanted: dict[str, str], before: int, after: int, groups: int) -> None:
    found = look_up(PAIR, wanted)
    assert found.after is not None
    assert (found.before.records, found.after.records, found.after.groups) == (before, after, groups)


def test_what_is_told_of_whoever_fits() -> None:
    found = look_up(PAIR, {"age": "20"})
    assert found.after is not None
    assert found.before.told == {"pay": 0.0, "ill": 1.0}
    assert found.after.told == {"pay": pytest.approx(5.0), "ill": 1.0}  # 10 and 20; twice "no"
    # 10, 20, 30, 50 around 27.5; three of four "no"
    assert found.nobody == {"pay": pytest.approx(218.75**0.5), "ill": 0.75}
    assert found.numbers == ("pay",)
    nobody = look_up(PAIR, {"age": "25"}).after
    assert nobody is not None
    assert nobody.told == {"pay": None, "ill": None}


def test_a_group_that_fits_in_part_tells_all_of_its_values() -> None:
    people = hr.datasets.make_people(300, seed=4)
    session = hr.Session(people)
    session.choose(hr.Schema(quasi=["age"], sensitive=["diagnosis"]), hr.Anatomy(l=2, random_state=1))
    session.protect()
    some = str(people.column("age")[0].as_py())
    found = session.look_up({"age": some})
    assert found.after is not None
    # Anatomy leaves ages as they are, and a group's diagnoses belong to any of its records
    assert found.after.records == found.before.records
    assert found.after.told["diagnosis"] is not None
    assert found.after.told["diagnosis"] <= 0.5 + 1e-9


def test_before_a_release_the_original_alone_is_looked_through() -> None:
    session = hr.Session(BEFORE)
    session.choose(SCHEMA, hr.MART(k=2))
    found = session.look_up({"job": "nurse"})
    assert (found.before.records, found.after) == (2, None)


def test_what_cannot_be_looked_up_is_said_without_its_value() -> None:
    with pytest.raises(InputError, match="income: no quasi-identifier"):
        look_up(PAIR, {"income": "1"})
    with pytest.raises(InputError, match="what is known of age is not a number") as told:
        look_up(PAIR, {"age": "Ann"})
    assert "Ann" not in str(told.value)
    session = hr.Session(hr.datasets.make_people(300, seed=1))
    session.choose(hr.Schema(quasi=["age", "hours_per_week"], sensitive=["income"]), hr.NoiseAddition(random_state=1))
    session.protect()
    with pytest.raises(UnsupportedError, match="altered values"):
        session.look_up({"age": "30"})
