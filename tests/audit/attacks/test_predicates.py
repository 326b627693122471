"""Predicate singling out: luck is told from knowledge, and groups of any size do not stop who adds to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from hedgerow.auditing.attacks.singling_out import predicate_singling_out
from hedgerow.auditing.non_members import with_strangers
from hedgerow.auditing.pairing import align
from hedgerow.io.read import read
from hedgerow.schema import Schema

SCHEMA = Schema(quasi=["x", "y"], sensitive=["pay"])


def people_of(n, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 100, (2, n))
    return pd.DataFrame({"x": x, "y": y, "pay": rng.integers(0, 1_000, n)})


PEOPLE, STRANGERS = people_of(400, 1), people_of(2_000, 2)


def told(people, release, strangers=None, schema=SCHEMA):
    pair = align(people, release, schema)
    outside = [] if strangers is None else with_strangers(replace(pair, strangers=pair.people_of(read(strangers))))
    return {a["learner"]: a for a in predicate_singling_out(pair, outside)}


def squares(people, side):
    """Groups that are squares of a public grid."""

    def part(values):
        start = values // side * side
        return [f"[{a}-{a + side - 1}]" for a in start]

    return people.assign(x=part(people["x"]), y=part(people["y"]))


def test_an_unchanged_table_describes_whoever_is_alone():
    found = told(PEOPLE, PEOPLE, STRANGERS)
    for learner in ("description", "group and value"):
        attack = found[learner]
        assert attack["success"] > 0.9
        assert attack["over_control"] > 0.8
        assert attack["success"] == attack["original"]
    alone = PEOPLE.groupby(["x", "y"])["pay"].transform("size") == 1
    assert alone.mean() > 0.9


def test_descriptions_of_large_groups_isolate_nobody():
    attack = told(PEOPLE, squares(PEOPLE, 25), STRANGERS)["description"]
    assert attack["success"] == 0.0
    assert attack["original"] > 0.9


def test_a_lone_value_in_a_group_names_somebody_whatever_the_size_of_the_group():
    people = PEOPLE.assign(pay=np.arange(400))
    attack = told(people, people.assign(x="*", y="*"), STRANGERS)["group and value"]
    assert attack["success"] == 1.0
    # nobody is rarer by it than one in all: a guess of that weight is lucky in 37% of the cases
    assert attack["public_guess"] == pytest.approx(attack["public_best"])
    assert attack["public_best"] == pytest.approx((1 - 1 / 400) ** 399)


def test_a_random_predicate_in_a_group_singles_out_as_often_as_chance():
    # squares of a grid say nothing of the people in them beyond their number
    attack = told(PEOPLE, squares(PEOPLE, 25), STRANGERS)["group and chance"]
    low, high = attack["interval"]
    assert low <= 1 / np.e <= high
    assert attack["control_interval"][0] <= attack["success"] + 0.05
    assert abs(attack["over_control"]) < 0.15


def test_a_coin_in_groups_that_keep_close_to_their_people_beats_luck():
    rng = np.random.default_rng(4)
    corner = rng.integers(0, 10, 400) * 10_000
    people = pd.DataFrame({"x": corner + rng.integers(0, 5, 400), "y": corner + rng.integers(0, 5, 400)}).assign(
        pay=rng.integers(0, 1_000, 400)
    )
    ends = corner // 10_000 * 10_000
    release = people.assign(x=[f"[{a}-{a + 4}]" for a in ends], y=[f"[{a}-{a + 4}]" for a in ends])
    strangers = pd.DataFrame({"x": rng.integers(0, 90_005, 2_000), "y": rng.integers(0, 90_005, 2_000), "pay": 1})
    attack = told(people, release, strangers)["group and chance"]
    assert attack["success"] == pytest.approx(1 / np.e, abs=0.02)
    assert attack["control"] < 0.05
    assert attack["over_control"] > 0.3


@pytest.mark.parametrize("share", [0.25, 0.75])
def test_a_share_of_true_values_isolates_that_share(share):
    people = PEOPLE.assign(pay=np.arange(400))
    # the others show the pay of somebody else, whose own group is another one
    corner = (people["x"] < 50).to_numpy()
    shown = people["pay"].to_numpy().copy()
    rng = np.random.default_rng(6)
    swapped = np.flatnonzero(rng.random(400) >= share)
    here, there = swapped[corner[swapped]], swapped[~corner[swapped]]
    n = min(len(here), len(there))
    shown[here[:n]], shown[there[:n]] = shown[there[:n]], shown[here[:n]]
    release = people.assign(x=np.where(corner, "[0-49]", "[50-99]"), y="*", pay=shown)
    attack = told(people, release)["group and value"]
    low, high = attack["interval"]
    assert low <= 1 - 2 * n / 400 <= high
    assert attack["control"] is None


def test_rows_and_columns_need_no_order():
    rng = np.random.default_rng(3)
    release = squares(PEOPLE, 10)
    order, columns = rng.permutation(400), ["pay", "y", "x"]
    back = told(
        PEOPLE.iloc[order][columns],
        release.iloc[order][columns],
        STRANGERS.iloc[rng.permutation(2_000)][columns],
        Schema(quasi=["y", "x"], sensitive=["pay"]),
    )
    assert told(PEOPLE, release, STRANGERS) == back


def test_without_sensitive_columns_groups_and_rows_describe():
    schema = Schema(quasi=["x", "y"])
    assert set(told(PEOPLE, PEOPLE, None, schema)) == {"description", "group and chance"}
