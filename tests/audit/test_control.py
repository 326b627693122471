"""A control holds people who took no part, or the audit says that it does not."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.non_members import check_control
from hedgerow.auditing.whole_rows import row_labels
from hedgerow.errors import HedgerowError, InputError
from hedgerow.io.read import read

pytestmark = pytest.mark.filterwarnings("ignore")

SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay"])


def people(n, seed, jobs="abc", pays=10**6):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"age": rng.integers(20, 60, n), "job": rng.choice(list(jobs), n), "pay": rng.integers(0, pays, n)}
    )


MEMBERS = people(300, 0)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("part", [300, 20])
def test_members_are_no_control(paired, part):
    control = pd.concat([MEMBERS[:part], people(180, 1)]).sample(frac=1, random_state=0)
    with pytest.raises(InputError, match=f"{part} of the {part + 180} records of the control"):
        hr.audit(MEMBERS, MEMBERS, SCHEMA, paired=paired, control=control, learning=False)


def test_nor_are_they_strangers_of_an_inference():
    with pytest.raises(InputError, match="300 of the 300"):
        hr.inference(MEMBERS, SCHEMA, hr.MART(k=5), control=MEMBERS[::-1])


def test_strangers_who_are_like_members_by_chance_are_a_control():
    for seed in range(200):
        few = {"jobs": "ab", "pays": 2 + seed % 7}
        members, control = people(150, seed, **few), people(10 + seed, seed + 1000, **few)
        check_control(read(members), read(control), SCHEMA)


def test_values_that_one_table_alone_has_are_equal_to_none_of_the_other():
    one = read(pd.DataFrame({"a": ["x", "x", "y"], "b": ["u", "v", None]}))
    other = read(pd.DataFrame({"a": ["y", "y", "x"], "b": ["w", None, "w"]}))
    labels = row_labels(one, other, ["a", "b"]).tolist()
    assert labels[2] == labels[4]
    assert len(set(labels)) == 5


def test_a_stranger_may_have_a_value_that_no_member_has() -> None:
    """It ended with an IndexError where rows were paired."""
    draws = np.random.default_rng(1)

    def people(n: int, illnesses: str) -> pd.DataFrame:
        who = {"age": draws.integers(20, 60, n), "sex": draws.choice(["f", "m"], n)}
        return pd.DataFrame({**who, "ill": draws.choice(list(illnesses), n)})

    members, strangers = people(300, "abc"), people(300, "abcd")
    roles = hr.Schema(quasi=["age", "sex"], sensitive=["ill"])
    found = hr.audit(members, members, roles, control=strangers, people=50, learning=False, inference=False)
    assert all(attack["control"] is not None for attack in found.attacks if attack["attack"] == "regression")


@pytest.mark.parametrize("paired", [True, False])
def test_a_control_that_is_written_otherwise_gains_nothing_by_that(paired: bool) -> None:
    """Everybody with a job that no member has was told from members by it, and the release was blamed."""
    members, control = people(400, 0), people(400, 1)
    control.loc[:99, "job"] = "z"
    released = members if paired else people(400, 2)
    found, plain = (
        hr.audit(members, released, SCHEMA, paired=paired, control=each, learning=False, learners=["nearest"])
        for each in (control, control[100:])
    )
    assert found.attacks == plain.attacks
    assert found.table["strangers"] == 300
    (note,) = (note for note in found.table["notes"] if "of the control" in note)
    assert note.startswith("100 of the 400 people of the control have a category that nobody of the original has (job)")
    control["job"] = "z"
    found = hr.audit(members, released, SCHEMA, paired=paired, control=control, learning=False, attacks=False)
    assert any("what is said of membership may come from the control" in note for note in found.table["notes"])


@pytest.mark.parametrize("share", [0.04, 0.96])
def test_a_control_without_any_value_of_a_column_is_told_from_members_by_that(share: float) -> None:
    members, control = people(400, 0), people(400, 1).assign(job=None)
    members.loc[: 400 * share - 1, "job"] = None
    found = hr.audit(members, members, SCHEMA, control=control, learning=False, attacks=False)
    notes = [note for note in found.table["notes"] if "nobody of the control has a value of job" in note]
    assert len(notes) == (share < 0.5)


def test_a_control_needs_no_identifiers() -> None:
    members, schema = MEMBERS.assign(id=range(300)), SCHEMA.replace(identifiers=["id"], unit="id")
    assert hr.audit(members, members, schema, control=people(50, 1), people=9, learning=False).table["strangers"] == 50


@pytest.mark.parametrize("name", ["attacks", "learning", "inference", "paired"])
def test_what_is_not_true_or_false_is_refused(name: str) -> None:
    with pytest.raises(HedgerowError, match=f"{name} must be True or False"):
        hr.audit(MEMBERS, MEMBERS, SCHEMA, **{name: "no"})


def test_a_date_may_be_a_date() -> None:
    day = dt.date(2026, 1, 31)
    found = hr.audit(MEMBERS, MEMBERS, SCHEMA, attacks=False, learning=False, date=day)
    assert found.parameters["date"] == "2026-01-31"


def test_rare_categories_of_a_control_stay() -> None:
    members, control = people(400, 0), people(400, 1)
    control.loc[:19, "job"] = "z"
    assert hr.audit(members, members, SCHEMA, control=control, learning=False, attacks=False).table["strangers"] == 400


def test_what_is_wrong_with_a_control_is_said_to_be_the_control() -> None:
    control = people(50, 1)
    broken = {"pay": control.assign(pay="a lot"), "'job'": control.drop(columns="job"), "nope.csv": "nope.csv"}
    for why, control in broken.items():
        with pytest.raises(HedgerowError, match=rf"the control: .*{why}"):
            hr.audit(MEMBERS, MEMBERS, SCHEMA, control=control, learning=False)
        with pytest.raises(HedgerowError, match=rf"the control: .*{why}"):
            hr.inference(MEMBERS, SCHEMA, hr.MART(k=5), control=control)


def test_a_plan_that_is_none_is_named() -> None:
    with pytest.raises(HedgerowError, match="plan must be a plan, not 3"):
        hr.audit(MEMBERS, MEMBERS, SCHEMA, plan=3)
