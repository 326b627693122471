"""Rows that a release leaves out are lost, and the original is the whole original."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.pairing import align
from hedgerow.auditing.utility import distributions, loss, queries
from hedgerow.auditing.utility.models import learning

SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay"])


def rare_and_frequent():
    """216 records: 64 of eight frequent combinations, and 152 of their own kind, one of them alone."""
    frequent = list(itertools.product([20, 30], ["cook", "nurse", "clerk", "smith"])) * 8
    rare = [(40, "baker")] + [(41, "baker")] * 151
    people = pd.DataFrame(frequent + rare, columns=["age", "job"])
    return people.assign(pay=np.arange(216.0), id=range(216))


@pytest.fixture
def people():
    return rare_and_frequent()


def test_figures_of_the_original_are_those_of_the_whole_original(people):
    found = hr.audit(people, people.head(64), SCHEMA, key="id", learning=False, people=30)
    assert found.table["rows"] == 64
    assert found.table["suppressed"] == 152
    before, after = (found.risk[side]["classes"] for side in ("original", "release"))
    assert (before["k"], before["classes"], before["uniques"]) == (1, 10, 1)
    assert (after["k"], after["classes"]) == (8, 8)
    alone = hr.audit(people, people, SCHEMA, key="id", learning=False, people=30)
    assert found.risk["original"] == alone.risk["original"]
    shares = [{e["column"]: e["original"] for e in each.risk["influence"]} for each in (found, alone)]
    assert shares[0] == shares[1]
    assert shares[0].keys() == {"age", "job"}


def test_attacks_on_the_original_are_on_the_whole_original():
    """Everybody in the release is unique there, and has three like them among those who were left out."""
    one = pd.DataFrame({"age": range(20, 60), "pay": np.arange(40) * 100.0})
    people = pd.concat([one, *[one.assign(pay=0.0)] * 3], ignore_index=True).assign(id=range(160))
    schema = hr.Schema(quasi=["age"], sensitive=["pay"])
    options = {"key": "id", "learning": False, "learners": ["nearest"], "inference": False}
    found = hr.audit(people, people.head(40), schema, **options).attacks
    linking = [a for a in found if a["attack"] == "linking"]
    assert [(a["success"], a["original"]) for a in linking] == [(1.0, 0.25)] * 2
    regression = next(a for a in found if a["attack"] == "regression")
    assert regression["success"] == 1.0
    assert regression["original"] < 0.7
    single = next(a for a in found if a["attack"] == "predicate singling out")
    assert single["success"] > 0.9
    assert single["original"] == 0.0


def test_lost_rows_are_lost_in_every_loss(people):
    pair = align(people, people.head(64), SCHEMA, key="id")
    lost = 152 / 216
    found = loss.loss_summary(pair)
    for name in ("ncp", "cells_changed", "cells_suppressed", "rows_suppressed"):
        assert found[name] == pytest.approx(lost)
    # bits: of each column those that the lost rows held, over those of all
    for name in ("age", "job"):
        shares = people[name].map(people[name].value_counts(normalize=True))
        bits = -np.log2(shares)
        assert found["columns"][name]["entropy_loss"] == pytest.approx(bits[64:].sum() / bits.sum())


def test_means_and_stars_lose_with_the_rows_that_were_left_out():
    people = pd.DataFrame({"age": [20, 30, 40, 60], "id": range(4)})
    told = pd.DataFrame({"age": [25.0, 25.0], "id": [0, 1]})
    pair = align(people, told, hr.Schema(quasi=["age"]), key="id")
    assert loss.certainty_penalty(pair)["age"] == pytest.approx((0.25 * 2 + 2) / 4)
    stars = pd.DataFrame({"age": ["*", "20"], "id": [1, 0]})
    pair = align(people, stars, hr.Schema(quasi=["age"]), key="id")
    assert loss.certainty_penalty(pair)["age"] == pytest.approx((1 + 0 + 2) / 4)


def test_distances_are_from_the_whole_original(people):
    pair = align(people, people.head(64), SCHEMA, key="id")
    told = distributions.distribution_summary(pair)["columns"]
    # what is left has none of the 152 bakers of 40 and 41
    assert told["job"]["total_variation"] == pytest.approx(152 / 216)
    assert told["age"]["total_variation"] == pytest.approx(152 / 216)
    assert told["pay"]["total_variation"] == pytest.approx(152 / 216)


def test_queries_count_the_people_who_were_left_out(people):
    pair = align(people, people.head(64), SCHEMA, key="id")
    jobs = pair.released_quasi[1]
    bakers = np.array([name == "baker" for name in [*jobs.original.values, ""]])
    before, after = (queries._joint_counts([column]) for column in (jobs.whole.codes, jobs.codes))
    assert queries._fitting(before, [bakers]) == 152
    assert queries._fitting(after, [queries._overlap(jobs, bakers)]) == 0
    assert queries.group_queries(pair)["by"]["pay by job"] > 0.4  # bakers have no average


def test_learners_are_asked_about_the_people_who_were_left_out():
    """The rule turns round for the half that is left out: a learner of the rest has it wrong."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"age": rng.integers(20, 60, 400), "id": range(400)})
    people["pay"] = np.where(people["age"] < 40, people["age"], 80 - people["age"]) * 10.0
    schema = hr.Schema(quasi=["age"], sensitive=["pay"])
    kept = people[people["age"] < 40]
    found = [learning(align(people, part, schema, key="id")) for part in (people, kept)]
    for whole, half in zip(*found, strict=True):
        assert half["original"] == whole["original"]
    tree = [next(row for row in each if row["estimator"] == "tree") for each in found]
    assert tree[0]["release"]["r2"] > 0.9
    assert tree[1]["release"]["r2"] < 0.3
