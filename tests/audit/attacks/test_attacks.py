"""The attacks: what they must find, what they must not, and that row order decides nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hedgerow.auditing.attacks.downcoding import _within_cells
from hedgerow.auditing.attacks.linking import linking_attacks
from hedgerow.auditing.attacks.regression import regression
from hedgerow.auditing.attacks.singling_out import predicate_singling_out
from hedgerow.auditing.design_matrix import known_rows
from hedgerow.auditing.influence import influence
from hedgerow.auditing.pairing import align
from hedgerow.auditing.record_distance import Reach
from hedgerow.auditing.table_pair import spread
from hedgerow.io.read import read
from hedgerow.schema import Schema

from ..conftest import people_of

FAST = ("tree", "nearest", "linear")


@pytest.fixture(scope="module")
def pair(people, release, schema):
    return align(people, release, schema)


@pytest.fixture(scope="module")
def attacks(pair):
    return {(a["target"], a["learner"]): a for a in regression(pair, people=300)}


def test_every_learner_attacks_every_column(attacks):
    learners = {"tree", "gradient boosting", "nearest", "linear"}
    assert set(attacks) == {(t, name) for t in ("pay", "ill") for name in learners}


def test_success_lies_between_public_totals_and_the_original(attacks):
    for attack in attacks.values():
        low, high = attack["interval"]
        assert low <= attack["success"] <= high
        assert attack["success"] > attack["public_guess"]
    for learner in ("tree", "nearest"):
        assert attacks["pay", learner]["success"] < attacks["pay", learner]["original"]


def test_a_tree_recalls_an_unprotected_table_exactly_and_its_control_does_not():
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"a": np.arange(300), "y": rng.normal(100, 30, 300)})
    schema = Schema(quasi=["a"], sensitive=["y"])
    (attack,) = regression(align(people, people, schema), learners=["tree"])
    # noise cannot be inferred: all success beyond the control is leakage about the rows
    assert attack["success"] == 1.0
    assert attack["control"] < 0.4
    assert attack["over_control"] == pytest.approx(1.0)


def test_one_group_gives_the_public_mean(people):
    schema = Schema(quasi=["age", "job"], sensitive=["pay", "ill"])
    pair = align(people, people.assign(age="*", job="*"), schema)
    for attack in regression(pair, learners=FAST, people=1200):
        # the nearest records are all: the number that hits most of them is the best in public
        best = attack["learner"] == "nearest"
        assert attack["success"] == pytest.approx(attack["public_best" if best else "public_guess"])


def test_random_row_and_majority_by_hand():
    people = pd.DataFrame({"a": [1, 2, 3, 4], "ill": ["flu", "flu", "flu", "cold"], "y": [100.0, 105.0, -10.0, 0.0]})
    pair = align(people, people.assign(a="[1-4]"), Schema(quasi=["a"], sensitive=["ill", "y"]))
    ill, y = regression(pair, learners=["nearest"])
    assert ill["random_row"] == pytest.approx((3 * 0.75 + 0.25) / 4)
    assert (ill["success"], ill["public_best"]) == (0.75, 0.75)
    # 100 and 105 hit each other within 10%; -10 and 0 are hit by themselves alone
    assert y["random_row"] == pytest.approx((2 * 0.5 + 2 * 0.25) / 4)
    assert y["public_best"] == 0.5


def test_held_out_people_without_a_value_are_no_control(pair):
    others = people_of(50, seed=9).assign(pay=np.nan)
    (pay, ill) = regression(replace(pair, strangers=pair.people_of(read(others))), learners=["tree"], people=100)
    assert pay["control"] is None
    assert ill["control"] is not None


def test_held_out_people_are_the_control_when_given(pair):
    others = pair.people_of(read(people_of(400, seed=9)))
    (pay, ill) = regression(replace(pair, strangers=others), learners=["nearest"], people=300)
    for attack in (pay, ill):
        assert attack["control"] > attack["public_guess"]
        assert abs(attack["control"] - attack["success"]) < 0.15


def test_attacks_do_not_depend_on_row_order(people, release, schema):
    order = np.random.default_rng(0).permutation(len(people))
    one = align(people, release, schema)
    two = align(people.iloc[order], release.iloc[order], schema)
    assert regression(one, people=100) == regression(two, people=100)
    assert linking_attacks(one, people=100) == linking_attacks(two, people=100)
    assert predicate_singling_out(one) == predicate_singling_out(two)
    assert influence(one) == influence(two)


def test_identical_rows_share_the_link():
    people = pd.DataFrame({"a": [1, 2, 3, 4, 5, 6]})
    release = people.assign(a=["[1-3]", "[1-3]", "[1-3]", "[4-5]", "[4-5]", "6"])
    for attack in linking_attacks(align(people, release, Schema(quasi=["a"]))):
        assert attack["success"] == pytest.approx((3 * (1 / 3) + 2 * (1 / 2) + 1) / 6)
        assert attack["original"] == 1.0
        # only the single record's owner is not mistaken for somebody else
        assert attack["control"] == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([1.0, 2.0, 3.0, None], ["[1-2]", "[1-2]", "[2-3]+(missing)", "[2-3]+(missing)"]),
        (["cook", "nurse", "cook", None], ["cook+nurse", "cook+nurse", "cook+(missing)", "cook+(missing)"]),
    ],
)
def test_a_missing_value_agrees_with_cells_that_may_be_missing_alone(values, cells):
    people = pd.DataFrame({"a": values, "y": [1.0, 2.0, 3.0, 4.0]})
    pair = align(people, people.assign(a=cells), Schema(quasi=["a"], sensitive=["y"]))
    rows = np.arange(4)
    reach, known = Reach(pair.released_quasi, rows), known_rows(pair.released_quasi, rows)
    assert reach.sums(known, 3).tolist() == [1, 1, 0, 0]
    (column,) = pair.released_quasi
    own = [column.codes[0], column.codes[2]]
    inside = _within_cells(column, np.array(own))[:, own]
    assert not inside[0, 1]  # who may be missing is not in a cell where nobody is
    assert inside.diagonal().all()


def test_a_cell_lies_in_one_that_may_be_missing_as_well():
    people = pd.DataFrame({"a": [1.0, 2.0, 2.0, 1.0, None], "y": np.arange(5.0)})
    release = people.assign(a=["[1-2]"] * 2 + ["[1-2]+(missing)"] * 3)
    (column,) = align(people, release, Schema(quasi=["a"], sensitive=["y"])).released_quasi
    narrow, wide = column.codes[0], column.codes[4]
    inside = _within_cells(column, np.array([narrow, wide]))[:, [narrow, wide]]
    assert inside.tolist() == [[True, False], [True, True]]


def test_linking_finds_perturbed_records(people):
    rng = np.random.default_rng(4)
    schema = Schema(quasi=["age", "pay"])
    release = people.assign(pay=people["pay"] + rng.normal(0, 1, len(people)))
    distance, probabilistic = linking_attacks(align(people, release, schema))
    assert distance["success"] > 0.8
    assert probabilistic["success"] <= distance["success"]


def test_influence_names_the_columns_that_tell(pair):
    rows = {r["column"]: r for r in influence(pair)}
    assert sum(r["release"]["tree"] for r in rows.values()) == pytest.approx(1.0)
    assert rows["age"]["original"]["tree"] > rows["job"]["original"]["tree"] > 0.2
    # sex has no part in pay or illness
    assert rows["sex"]["original"]["tree"] < 0.02
    assert abs(rows["sex"]["original"]["without"]) < 0.02


def test_who_hides_the_people_asked_by_default_is_found_by_another_number():
    rng = np.random.default_rng(0)
    n = 1000
    people = pd.DataFrame({"a": np.arange(n), "d": rng.integers(0, 9, n).astype(str)})
    schema = Schema(quasi=["a"], sensitive=["d"])
    release = people.copy()
    pair = align(people, release, schema)
    release.loc[spread(pair.canonical, 200), "d"] = "0"

    def success(random_state):
        found = regression(
            align(people, release, schema), learners=["nearest"], people=200,
            random_state=random_state,
        )  # fmt: skip
        return found[0]["success"]

    assert success(0) < 0.3
    assert success(1) > 0.6
