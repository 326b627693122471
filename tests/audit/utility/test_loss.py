"""Losses, distances and queries worked out by hand on four people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.pairing import align
from hedgerow.auditing.utility import distributions, loss, queries
from hedgerow.schema import Schema

PEOPLE = pd.DataFrame({"age": [20, 30, 40, 60], "job": ["cook", "nurse", "clerk", "cook"], "pay": [1.0, 2.0, 3.0, 6.0]})
RELEASE = PEOPLE.assign(age=["[20-30]", "[20-30]", "[40-60]", "[40-60]"], job=["cook+nurse", "cook+nurse", "*", "*"])
SCHEMA = Schema(quasi=["age", "job"], sensitive=["pay"])


@pytest.fixture
def pair():
    return align(PEOPLE, RELEASE, SCHEMA)


def test_certainty_penalty_by_hand(pair):
    # age: 10/40 and 20/40, two people each; job: 1/2 of the domain of three, and all of it
    assert loss.certainty_penalty(pair) == {
        "age": pytest.approx((0.25 + 0.5) / 2),
        "job": pytest.approx((0.5 + 1.0) / 2),
    }


def test_means_count_the_true_extent_of_their_class():
    means = PEOPLE.assign(age=[25.0, 25.0, 50.0, 50.0])
    assert loss.certainty_penalty(align(PEOPLE, means, Schema(quasi=["age"]))) == {"age": pytest.approx(0.375)}
    assert loss.certainty_penalty(align(PEOPLE, PEOPLE, SCHEMA))["age"] == 0.0


def test_means_beside_cells_without_one_count_as_they_would_alone():
    # the mean of 20 and 30, one of three missing; two whose mean is not told
    five = pd.DataFrame({"age": [20, 30, None, 40, 60]})
    told = pd.DataFrame({"age": ["25:2+(missing):1"] * 3 + ["*"] * 2})
    pair = align(five, told, Schema(quasi=["age"]))
    assert loss.certainty_penalty(pair)["age"] == pytest.approx((3 * 0.25 + 2 * 1.0) / 5)
    # the cell holds two values and the missing one: 3 of 5; every value has share 1/5
    lost = (3 * np.log2(3) + 2 * np.log2(5)) / (5 * np.log2(5))
    assert loss.entropy_loss(pair, pair.released_quasi[0]) == pytest.approx(lost)


def test_means_lose_the_bits_of_their_class():
    means = PEOPLE.assign(age=[25.0, 25.0, 50.0, 50.0])
    pair = align(PEOPLE, means, Schema(quasi=["age"]))
    assert loss.entropy_loss(pair, pair.released_quasi[0]) == pytest.approx(0.5)


def test_shares_that_are_equal_are_no_distance_apart():
    jobs = pd.DataFrame({"job": ["a"] + ["b"] * 4 + ["c"]})
    cells = pd.DataFrame({"job": ["a:1+b:4+c:1"] * 6})
    pair = align(jobs, cells, Schema(quasi=["job"]))
    assert distributions.column_distances(pair.released_quasi[0])["total_variation"] == 0.0


def test_entropy_loss_by_hand(pair):
    # age: every value has share 1/4 (2 bits), every cell holds two: 1 bit lost of 2
    assert loss.entropy_loss(pair, pair.released_quasi[0]) == pytest.approx(0.5)
    # job: P(cook) = 1/2; cook+nurse holds 3 people, * all 4
    lost = np.log2(3 / 2) + np.log2(3 / 1) + np.log2(4 / 1) + np.log2(4 / 2)
    held = 1 + 2 + 2 + 1
    assert loss.entropy_loss(pair, pair.released_quasi[1]) == pytest.approx(lost / held)


def test_sizes_and_cells(pair):
    found = loss.loss_summary(pair, k=2)
    assert found["discernibility"] == pytest.approx((4 + 4) / 16)
    assert (found["average_class_size"], found["c_avg"]) == (2.0, 1.0)
    assert (found["cells_changed"], found["cells_suppressed"]) == (1.0, 0.25)
    same = loss.loss_summary(align(PEOPLE, PEOPLE, SCHEMA))
    assert (same["ncp"], same["entropy_loss"], same["cells_changed"]) == (0.0, 0.0, 0.0)


def test_suppressed_rows_cost_the_whole_table():
    people = PEOPLE.assign(id=range(4))
    pair = align(people, people[:3], SCHEMA, key="id")
    assert loss.discernibility(pair) == pytest.approx((3 + 4) / 16)
    assert loss.loss_summary(pair)["rows_suppressed"] == 0.25


def test_distances_by_hand(pair):
    # even spreading leaves ages as they were
    age = distributions.column_distances(pair.released_quasi[0])
    assert age == {"total_variation": 0.0, "kolmogorov_smirnov": 0.0, "wasserstein": 0.0}
    means = align(PEOPLE, PEOPLE.assign(age=[25.0, 25.0, 50.0, 50.0]), SCHEMA)
    moved = distributions.column_distances(means.released_quasi[0])
    # a quarter of the people moves 5 up, 5 down, 10 up, 10 down, over a range of 40
    assert moved["wasserstein"] == pytest.approx((5 + 5 + 10 + 10) / 4 / 40)
    assert moved["total_variation"] == pytest.approx(1.0)
    assert moved["kolmogorov_smirnov"] == pytest.approx(0.25)
    # cook+nurse puts a half on each, * the public shares: cook 2/4 + 2 * 1/2 ...
    job = distributions.column_distances(pair.released_quasi[1])
    after = {"clerk": 2 * 0.25, "cook": 2 * 0.5 + 2 * 0.5, "nurse": 2 * 0.5 + 2 * 0.25}
    before = {"clerk": 1, "cook": 2, "nurse": 1}
    gap = sum(abs(after[j] - before[j]) for j in before) / 4 / 2
    assert job["total_variation"] == pytest.approx(gap)


def test_dependences_equal_their_definitions():
    rng = np.random.default_rng(2)
    x = rng.normal(size=300)
    y = x + rng.normal(size=300)
    c = (x > 0).astype(int) + (rng.random(300) > 0.7)
    people = pd.DataFrame({"x": x, "y": y, "c": c.astype(str), "d": (y > 1).astype(str)})
    pair = align(people, people, Schema(quasi=["x", "c"], sensitive=["y", "d"]))
    found = {tuple(p["columns"]): p["before"] for p in distributions.distribution_summary(pair)["dependence"]["pairs"]}
    assert found["x", "y"] == pytest.approx(abs(np.corrcoef(x, y)[0, 1]))
    groups = people.groupby("c")["y"]
    between = (groups.size() * (groups.mean() - y.mean()) ** 2).sum()
    assert found["c", "y"] == pytest.approx(np.sqrt(between / ((y - y.mean()) ** 2).sum()))
    joint = pd.crosstab(people["c"], people["d"], normalize=True).to_numpy()

    def entropy(p):
        p = p[p > 0]
        return -(p * np.log(p)).sum()

    a, b, ab = entropy(joint.sum(1)), entropy(joint.sum(0)), entropy(joint.ravel())
    assert found["c", "d"] == pytest.approx(2 * (a + b - ab) / (a + b))


def test_released_sets_depend_by_what_they_count() -> None:
    """Two groups of the same shares: cells as names said that their columns told everything of each other."""
    people = pd.DataFrame({"town": list("aabbaabb"), "job": list("xyxyxyxy"), "pay": [1.0] * 4 + [3.0] * 4})
    cells = people.assign(town=["a:2+b:2"] * 4 + ["b:2+a:2"] * 4, job=["x:2+y:2"] * 4 + ["y+x"] * 4)
    pair = align(people, cells, Schema(quasi=["town", "job"], sensitive=["pay"]))
    pairs = distributions.distribution_summary(pair)["dependence"]["pairs"]
    assert {(*each["columns"], each["before"], each["after"]) for each in pairs} == {
        ("town", "job", 0.0, 0.0), ("town", "pay", 0.0, 0.0), ("job", "pay", 0.0, 0.0),
    }  # fmt: skip
    moved = people.assign(town=list("aaabbbbb"))
    pair = align(
        moved, moved.assign(town=["a:3+b:1"] * 4 + ["b:4"] * 4), Schema(quasi=["town", "job"], sensitive=["pay"])
    )
    after = {tuple(p["columns"]): p["after"] for p in distributions.distribution_summary(pair)["dependence"]["pairs"]}
    # 3 of town a have 1, and one of the 5 of b: the squares between the towns, of 8 in all
    assert after["town", "pay"] == pytest.approx(np.sqrt((3 * 1 + 5 * (3 / 5) ** 2) / 8))


def test_missing_values_leave_dependences_to_complete_rows():
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, 6.0])
    y = np.array([2.0, 1.0, np.nan, 5.0, 9.0, 7.0])
    a, b = (distributions.Variable.from_codes(n, np.arange(6), v) for n, v in (("x", x), ("y", y)))
    both = np.isfinite(x) & np.isfinite(y)
    assert distributions.dependence(a, b) == pytest.approx(abs(np.corrcoef(x[both], y[both])[0, 1]))


def test_a_dependence_does_not_tell_the_order_of_rows():
    x = np.tile([0.1, 0.2, 0.7, 0.9], 50)
    names = np.repeat(np.arange(5), 40)  # x has the same mean in each
    found = set()
    for seed in range(20):
        rows = np.random.default_rng(seed).permutation(200)
        number = distributions.Variable.from_codes("x", np.arange(200), x[rows])
        found.add(distributions.dependence(distributions.Variable("c", names[rows]), number))
    assert found == {0.0}


def test_queries_on_an_unchanged_table_have_no_error_and_are_seeded(people, schema, release):
    same = align(people, people, schema)
    assert queries.range_queries(same, n_queries=30)["mean"] == 0.0
    assert queries.group_queries(same)["mean"] == pytest.approx(0.0, abs=1e-12)
    pair = align(people, release, schema)
    assert queries.range_queries(pair, n_queries=30, random_state=1) == queries.range_queries(
        pair, n_queries=30, random_state=1
    )
    assert queries.range_queries(pair, n_queries=30, random_state=1) != queries.range_queries(
        pair, n_queries=30, random_state=2
    )
    assert 0 < queries.range_queries(pair, n_queries=30)["mean"] < 0.2


def test_a_range_query_by_hand(pair):
    extent = pair.released_quasi[0]
    chosen = np.array([False, True, True, False, False])  # ages 30 and 40
    assert queries._overlap(extent, chosen)[extent.codes].tolist() == [0.5, 0.5, 0.5, 0.5]


@pytest.mark.filterwarnings("ignore")
def test_a_new_survey_differs_as_two_samples_of_the_same_people_do() -> None:
    schema = hr.Schema(quasi=["age", "job", "region"], sensitive=["income"])
    chosen = ["age", "job", "region", "income"]
    measured = []
    for seed in range(6):
        one, two = (hr.datasets.make_people(2_000, seed=s).select(chosen) for s in (2 * seed, 2 * seed + 1))
        found = hr.audit(one, two, schema, attacks=False, learning=False).utility["queries"]["range"]
        measured.append([found["median"], found["p90"], *found["new_survey"].values()])
    median, p90, survey_median, survey_p90 = np.mean(measured, axis=0)
    assert median == pytest.approx(survey_median, rel=0.15)
    assert p90 == pytest.approx(survey_p90, rel=0.15)
