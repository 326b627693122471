"""Membership: nobody is told apart where nothing leaks, everybody where the table is out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.attacks.membership import _agreements, _Release, membership
from hedgerow.auditing.non_members import left_out, refitting, with_strangers
from hedgerow.auditing.pairing import align, pair_up
from hedgerow.auditing.subject import of_release
from hedgerow.io.read import read
from hedgerow.schema import Schema

SCHEMA = Schema(quasi=["x", "z"], sensitive=["pay"])


def people_of(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 1, n)
    return pd.DataFrame({"x": x, "z": rng.choice(["a", "b", "c"], n), "pay": (x + rng.normal(0, 1, n)).round(6)})


def told(people, release, strangers, schema=SCHEMA, most=500):
    pair = align(people, release, schema)
    found = membership(with_strangers(replace(pair, strangers=pair.people_of(read(strangers)))), people=most)
    return {(a["target"], a["learner"]): a for a in found}


PEOPLE, STRANGERS = people_of(600, 1), people_of(1_200, 2)


def test_a_table_that_is_handed_out_tells_everybody():
    found = told(PEOPLE, PEOPLE, STRANGERS)
    by_values = {"exact value", "values in groups", "runs in groups", "pull", "density"}
    by_distance = {"nearest", "likelihood", "strongest"}
    assert set(found) == {
        *(("quasi-identifiers", learner) for learner in by_distance),
        *(("whole record", learner) for learner in by_distance | by_values | {"numbers"}),
        *(("whole record, most extreme 5%", learner) for learner in {"strongest", *by_values}),
    }
    for (_, learner), attack in found.items():
        if learner in ("pull", "density", "runs in groups", "numbers"):  # which look at no single row
            assert attack["success"] == attack["original"] > 0.6
            continue
        assert attack["success"] == attack["original"] == 1
        assert attack["over_control"] == 1
        if attack["found"]:  # it takes a hundred strangers
            assert attack["found"]["0.1"]["share"] == 1
            assert attack["interval"][0] > 0.95


def test_a_table_of_other_people_tells_nobody():
    found = told(PEOPLE, people_of(600, 3), STRANGERS)
    for attack in found.values():
        low, high = attack["interval"]
        assert low <= 0.5 <= high
        assert attack["control_interval"][0] <= attack["success"] <= attack["control_interval"][1]
        caught = attack["found"].get("0.1")
        assert caught is None or caught["interval"][0] <= 0.1 <= caught["interval"][1]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_a_share_of_the_people_is_found_as_that_share(share):
    kept = np.random.default_rng(5).random(len(PEOPLE)) < share
    release = people_of(600, 4)
    release[kept] = PEOPLE[kept]
    attack = told(PEOPLE, release, STRANGERS, most=600)["whole record", "likelihood"]
    low, high = attack["interval"]
    assert low <= share + (1 - share) / 2 <= high
    caught = attack["found"]["0.1"]["interval"]
    assert caught[0] <= share + (1 - share) * 0.1 <= caught[1]


def test_one_group_of_all_tells_nobody_by_quasi_identifiers():
    release = PEOPLE.assign(x="*", z="*")
    attack = told(PEOPLE, release, STRANGERS)["quasi-identifiers", "likelihood"]
    assert attack["success"] == 0.5
    assert attack["found"]["0.1"]["share"] == pytest.approx(0.1)
    # but true values of a column that few share tell who knows them
    whole = told(PEOPLE, release, STRANGERS)["whole record", "likelihood"]
    assert whole["success"] > 0.9


def test_noise_is_known_by_what_is_near():
    rng = np.random.default_rng(6)
    shaken = PEOPLE.assign(x=PEOPLE["x"] + rng.normal(0, 0.01, 600), pay=PEOPLE["pay"] + rng.normal(0, 0.01, 600))
    found = told(PEOPLE, shaken, STRANGERS)
    assert found["whole record", "nearest"]["success"] > 0.8
    assert found["whole record", "likelihood"]["success"] == pytest.approx(0.5, abs=0.05)


def around(people, share=1.0, seed=0, **columns):
    """A release whose quasi-identifiers are means of twenty, of a share of the people."""
    rng = np.random.default_rng(seed)
    others = rng.random(len(people)) >= share
    made = people.copy()
    made.loc[others, PEOPLE.columns] = people_of(len(people), seed + 100)[others]
    made = made.sort_values("x")
    made["x"] = made["x"].groupby(np.arange(len(made)) // 20).transform("mean")
    return made.sort_index().assign(z="*", **columns)


def test_rows_with_exactly_a_persons_value_tell_who_is_in_the_table():
    found = told(PEOPLE, around(PEOPLE), STRANGERS)
    # a released number that is nobody's own is never at distance 0
    assert found["whole record", "likelihood"]["success"] < 0.6
    assert found["whole record", "exact value"]["success"] > 0.99
    assert found["whole record", "strongest"]["interval"][0] > 0.97
    assert found["whole record", "exact value"]["original"] == 1
    # of values that many have the nearest row decides
    people, others = PEOPLE.round({"pay": 1}), STRANGERS.round({"pay": 1})
    assert others["pay"].isin(people["pay"]).mean() > 0.95
    assert told(people, around(people), others)["whole record", "exact value"]["success"] > 0.8


def test_choosing_the_strongest_of_many_finds_nobody_where_nothing_leaks():
    inside, all_of = {}, {}
    for seed in range(20):
        people, others = people_of(300, 3 * seed), people_of(600, 3 * seed + 1)
        release = around(people_of(300, 3 * seed + 2), seed=seed)
        for attack, figure in told(people, release, others).items():
            low, high = figure["control_interval"]
            inside.setdefault(attack, []).append(low <= figure["success"] <= high)
            all_of.setdefault(attack, []).append(figure["success"])
    bands = {("whole record", f"{band}% of ranks") for band in (1, 5)}
    assert bands < set(all_of)
    assert len(all_of) == 21
    for attack, values in all_of.items():
        # the mean of 20 areas under chance, each with a deviation of .024; of 15 people and as many strangers .11
        deviation = 0.11 if "extreme" in attack[0] else 0.024
        assert abs(np.mean(values) - 0.5) < 4 * deviation / 20**0.5, attack
        assert sum(inside[attack]) >= 16, attack


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_figure_of_exact_values_moves_with_the_share_of_people(share):
    found = told(PEOPLE, around(PEOPLE, share, seed=7), STRANGERS, most=600)
    for learner in ("exact value", "strongest"):
        low, high = found["whole record", learner]["over_control_interval"]
        assert low <= share <= high


def test_altered_numbers_are_looked_for_among_those_of_near_rank():
    rng = np.random.default_rng(8)
    shaken = PEOPLE.assign(pay=PEOPLE["pay"] + rng.normal(0, 0.002, 600), z="*")
    shaken["x"] += rng.normal(0, 0.05, 600)
    found = told(PEOPLE, shaken, STRANGERS)
    assert found["whole record", "exact value"]["success"] == 0.5  # nobody has an exact value
    assert found["whole record", "1% of ranks"]["success"] > 0.8
    assert not any("ranks" in learner for _, learner in told(PEOPLE, PEOPLE, STRANGERS))


def test_each_sensitive_column_is_tried_alone_and_all_together():
    schema = Schema(quasi=["x", "z"], sensitive=["pay", "ill", "day"])
    rng = np.random.default_rng(9)

    def of(people):
        n = len(people)
        day = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, n), "D")
        ill = pd.Series(rng.choice(["flu", "none"], n)).mask(rng.random(n) < 0.3)
        return people.assign(ill=ill, day=day, pay=people["pay"].mask(rng.random(n) < 0.2))

    people, others = of(PEOPLE), of(STRANGERS)
    found = told(people, around(people), others, schema)
    alone = {t: found[t, "exact value"]["success"] for t, how in found if how == "exact value"}
    together = alone.pop("whole record")
    assert alone.pop("whole record, most extreme 5%") > 0.9
    assert set(alone) == {f"quasi-identifiers and {name}" for name in schema.sensitive}
    assert together > 0.99
    assert 0.9 < alone["quasi-identifiers and pay"] <= together
    assert 0.5 < alone["quasi-identifiers and ill"] < alone["quasi-identifiers and day"] < together
    # a stranger of a value that nobody released has, and of equal ones
    tied = people.assign(pay=1.0, ill="flu", day=pd.Timestamp("2020-01-01"))
    for figure in told(tied, around(tied), others, schema).values():
        assert 0 <= figure["interval"][0] <= figure["success"] <= figure["interval"][1] <= 1


def test_shares_near_a_person_by_hand():
    """Two groups of 20, two standard deviations apart; ten of one have the value, of 40 in all."""
    people = pd.DataFrame({"x": [0.0] * 20 + [10.0] * 20, "ill": ["a"] * 10 + ["b"] * 10 + ["c"] * 20})
    pair = align(people, people, Schema(quasi=["x"], sensitive=["ill"]))
    columns, cells = pair.released_quasi, pair.sensitive_cells
    known = pair.members.values_for([*columns, *cells])
    attacks = dict(_agreements(cells, (), 40))
    assert set(attacks) == {("whole record", "exact value"), ("whole record", "values in groups")}
    release = _Release(columns, known.part([0, 5, 25]), cells, attacks)
    assert release.unit == 1  # most have 20 neighbours at distance 0
    scores = release.scores(known.part([0]), known.part([25]))["whole record", "values in groups"]
    other = np.exp(-(2.0**2) / (2 * np.array([1 / 9, 1 / 3, 1, 3]) ** 2))
    mine = np.log((10 / (10.5 / 40) + 0.5) / (20 + 20 * other + 0.5)).mean()
    assert scores.members == pytest.approx([mine], abs=1e-6)
    theirs = np.log((20 / (20.5 / 40) + 0.5) / (20 + 20 * other + 0.5)).mean()
    assert scores.strangers == pytest.approx([theirs], abs=1e-6)


def dealt_in_groups(people, seed, value=None):
    """Means of twenty, with normal numbers of each group's mean and deviation in place of its own."""
    made, rng = around(people).sort_values("x"), np.random.default_rng(seed)
    by_group = made.groupby("x")["pay"]
    drawn = by_group.transform("mean") + by_group.transform("std") * rng.normal(0, 1, len(made))
    return made.assign(pay=drawn if value is None else value(by_group)).sort_index()


def test_groups_that_keep_only_a_mean_show_hardly_who_is_in_them():
    """A mean that twenty people share moves a little towards each; what is told as it is moves most."""
    told_of = {"runs in groups": [], "pull": [], "density": []}
    for seed in range(20):
        found = told(PEOPLE, dealt_in_groups(PEOPLE, seed), STRANGERS)
        for learner, figures in told_of.items():
            figures.append(found["whole record", learner]["success"])
    for learner, figures in told_of.items():
        assert 0.45 < np.mean(figures) < 0.66, learner
    shuffled = around(PEOPLE)  # the groups' own values
    found = told(PEOPLE, shuffled, STRANGERS)
    assert found["whole record", "runs in groups"]["success"] > 0.75


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_strangers_are_asked_or_nobody(n):
    found = told(PEOPLE, around(PEOPLE), STRANGERS[:n])
    assert bool(found) == (n > 1)
    # a choice needs strangers on both sides
    assert (("whole record", "strongest") in found) == (n >= 3)


def test_without_sensitive_columns_the_quasi_identifiers_alone_are_known():
    schema = Schema(quasi=["x", "z"])
    found = told(PEOPLE, PEOPLE, STRANGERS, schema)
    assert {target for target, _ in found} == {"quasi-identifiers"}
    assert {learner for _, learner in found} == {"nearest", "likelihood", "strongest"}


def test_rows_and_columns_need_no_order():
    rng = np.random.default_rng(7)
    schema = Schema(quasi=["z", "x"], sensitive=["pay"])
    release = people_of(600, 4)
    release[:200] = PEOPLE[:200]
    order, turned = rng.permutation(600), rng.permutation(1_200)
    columns = ["pay", "z", "x"]
    back = told(
        PEOPLE.iloc[order][columns], release.iloc[order][columns], STRANGERS.iloc[turned][columns], schema, most=100
    )
    assert told(PEOPLE, release, STRANGERS, most=100) == back


def test_strangers_are_left_out_of_a_release_made_again():
    people = hr.datasets.make_people(600, seed=1)
    schema = Schema(quasi=["age", "education"], sensitive=["income"], identifiers=["person_id"])
    release = hr.protect(people, schema, hr.MART(k=10))
    pair = pair_up(people, of_release(release))
    parts = list(left_out(pair, refitting(release.method, schema), progress=lambda _: None))
    assert sorted(np.concatenate([p.places for p in parts]).tolist()) == list(range(600))
    members = np.concatenate([p.sides.rows[p.members] for p in parts])
    assert len(members) == 600
    found = membership(parts, people=100)
    every = [a for a in found if "extreme" not in a["target"]]
    assert {a["people"] for a in every} == {300}
    assert {a["strangers"] for a in every} == {300}
    assert {a["people"] for a in found if a not in every} == {30}
    by = {(a["target"], a["learner"]): a for a in found}
    assert by["quasi-identifiers", "likelihood"]["interval"][0] < 0.55
    assert by["whole record", "likelihood"]["success"] > 0.6


def test_without_strangers_nothing_is_said():
    assert membership([]) == []


def test_an_audit_of_a_release_says_who_is_found(tmp_path):
    people = hr.datasets.make_people(400, seed=1)
    schema = Schema(quasi=["age", "education"], sensitive=["income"], identifiers=["person_id"])
    release = hr.protect(people, schema, hr.MART(k=10))
    found = hr.audit(people, release, people=60, learners=["tree"], learning=False)
    assert [a["target"] for a in found.attacks if a["attack"] == "membership"] == [
        *["quasi-identifiers"] * 3,
        *["whole record, most extreme 5%"] * 6,
        *["whole record"] * 9,
    ]
    assert "Membership: shown one person" in str(found)
    assert not any(line.startswith("membership") for line in found.to_dict()["not_measured"])
    found.report(tmp_path / "report.html")
    assert "of strangers for members finds" in (tmp_path / "report.html").read_text()
    by_hand = hr.audit(people, release.table, schema, people=60, learners=["tree"], learning=False)
    assert not any(a["attack"] == "membership" for a in by_hand.attacks)
    assert any(line.startswith("membership") for line in by_hand.to_dict()["not_measured"])
