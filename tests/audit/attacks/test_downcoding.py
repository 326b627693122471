"""Downcoding: what is there to be found is found, and nothing where nothing is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.attacks.downcoding import downcoding
from hedgerow.auditing.pairing import align, pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.hierarchy import Hierarchy
from hedgerow.schema import Schema

CITIES = ("ulm", "bonn", "kiel", "jena")


def attacked(people, release, schema, most=500):
    found = {a["learner"]: a for a in downcoding(align(people, release, schema), people=most)}
    assert set(found) <= {"rule", "dependence", "rule and dependence"}
    return found


def hidden(people, column, share, seed=0):
    """A release that leaves some cells of one column out, by chance alone."""
    away = np.random.default_rng(seed).random(len(people)) < share
    return people.assign(**{column: people[column].where(~away, "*")})


def copying(share, n=3_000, seed=1):
    """People whose city is named by their dialect with some probability, else by chance."""
    rng = np.random.default_rng(seed)
    city = rng.choice(CITIES, n)
    copied = rng.random(n) < share
    return pd.DataFrame({"city": city, "dialect": np.where(copied, city, rng.choice(CITIES, n)), "pay": rng.random(n)})


def schema_of(*quasi):
    return Schema(quasi=quasi, sensitive=["pay"])


def test_columns_that_say_the_same_tell_every_hidden_cell():
    people = copying(1.0)
    schema = schema_of("city", "dialect")
    found = attacked(people, hidden(people, "city", 0.3), schema)
    assert found["dependence"]["success"] == 1
    assert found["dependence"]["over_control"] > 0.9


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_a_dependence_by_chance_is_found_as_far_as_it_goes(share):
    people = copying(share)
    found = attacked(people, hidden(people, "city", 0.4), schema_of("city", "dialect"), most=3_000)["dependence"]
    truth = share + (1 - share) / len(CITIES)
    low, high = found["interval"]
    assert low <= truth <= high
    assert found["control"] == pytest.approx(0.25, abs=0.03)


def test_cells_hidden_by_chance_among_independent_columns_tell_nothing():
    people = copying(0.0)
    found = attacked(people, hidden(people, "city", 0.4), schema_of("city", "dialect"), most=3_000)
    for attack in found.values():
        low, high = attack["interval"]
        assert low <= attack["control"] <= high


def test_a_minimal_suppression_excludes_the_values_of_its_large_groups():
    # who lives in ulm or bonn would have kept the city, for there are many
    city = ["ulm"] * 40 + ["bonn"] * 40 + ["jena"] * 3 + ["kiel"] * 2
    people = pd.DataFrame({"city": city, "sex": "f", "pay": np.arange(85.0)})
    schema = schema_of("city", "sex")
    release = hr.protect(people, schema, hr.LocalSuppression(k=5))
    rule = attacked_release(people, release, schema)["rule"]
    assert rule["cells"] == 5
    assert rule["success"] == pytest.approx(3 / 5)
    assert rule["public_guess"] == 0  # the most frequent city is the one that it is not
    assert rule["control"] < 0.1


def attacked_release(people, release, schema):
    return {a["learner"]: a for a in downcoding(pair_up(people, of_release(release, schema)))}


def test_a_hierarchy_excludes_what_has_a_group_of_its_own():
    paths = {c: (c, "south" if c in ("ulm", "bonn") else "north", "*") for c in CITIES}
    people = pd.DataFrame({"city": ["ulm"] * 20 + ["bonn"] * 5, "pay": np.arange(25.0)})
    release = people.assign(city=["ulm"] * 20 + ["south"] * 5)
    schema = Schema(quasi=["city"], sensitive=["pay"], hierarchies={"city": Hierarchy(paths)})
    rule = attacked(people, release, schema)["rule"]
    assert (rule["success"], rule["public_guess"]) == (1, 0)


def test_extents_have_somebody_at_each_end():
    # four people in 0-10 and four in 5-15: ranges that overlap are extents of their groups
    people = pd.DataFrame({"age": [0, 0, 10, 10, 5, 5, 15, 15], "sex": list("ffffmmmm"), "pay": np.arange(8.0)})
    release = people.assign(age=["[0-10]"] * 4 + ["[5-15]"] * 4)
    rule = attacked(people, release, schema_of("age", "sex"))["rule"]
    assert rule["success"] == 0.5
    assert rule["cells"] == 8


def test_groups_of_two_show_both_ends():
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": rng.integers(0, 120, 150), "size": rng.integers(0, 99, 150), "pay": rng.random(150)})
    schema = schema_of("age", "size")
    two = attacked_release(people, hr.protect(people, schema, hr.Mondrian(k=2)), schema)["rule"]
    ten = attacked_release(people, hr.protect(people, schema, hr.Mondrian(k=10)), schema)["rule"]
    assert two["success"] > 0.4 > two["control"]
    assert ten["control"] < ten["success"] < two["success"]


def test_nothing_is_said_of_a_release_without_coarse_cells(people, schema):
    assert downcoding(align(people, people, schema)) == []


def test_neither_rows_nor_columns_need_an_order(people, release, schema):
    order = np.random.default_rng(3).permutation(len(people))
    one = downcoding(align(people, release, schema), people=2_000)
    turned = Schema(quasi=["sex", "age", "job"], sensitive=["ill", "pay"])
    columns = list(people.columns)[::-1]
    two = downcoding(align(people.iloc[order][columns], release.iloc[order][columns], turned), people=2_000)
    assert one == two
    assert set(one[0]["columns"]) == {"age", "sex"}  # no group joins jobs


def test_many_valued_columns_share_steps():
    rng = np.random.default_rng(5)
    people = pd.DataFrame({"x": rng.permutation(5_000) * 1.5, "pay": rng.random(5_000)})
    release = people.assign(x=["[0-3748.5]" if x < 3750 else "[3750-7498.5]" for x in people.x])
    for attack in attacked(people, release, schema_of("x")).values():
        assert attack["public_best"] == pytest.approx(1 / 64, abs=0.02)
        assert attack["interval"][0] <= 1 / 64 <= attack["interval"][1]
