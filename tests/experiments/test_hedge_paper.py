"""The protocol behind docs/hedge.md."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from experiments import hedge
from hedgerow.auditing.subject import of_fitted
from hedgerow.io.read import read

PEOPLE = hr.datasets.make_people(500, seed=3)
ROLES = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])


def test_mondrian_is_given_the_least_k_that_keeps_the_cap():
    members = read(PEOPLE)
    made = hedge.mondrian_under(members, ROLES, 0.3)
    k = made.method.k
    assert made.summary()["disclosure"]["worst"] <= 0.3
    assert k > hedge.K
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        below = hr.protect(members, ROLES, hr.Mondrian(k - max(k // 20, 1), objective="loss"))
    assert below.summary()["disclosure"]["worst"] > 0.3


def test_a_learner_that_is_taught_on_the_table_itself_has_an_advantage_with_its_members():
    members, others = (read(hr.datasets.make_people(300, seed=seed)) for seed in (1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = hr.protect(members, ROLES, hr.Mondrian(k=300, objective="loss"))
        open_ = hr.protect(members, ROLES, hr.Hedge(k=2, max_disclosure=None))
    # one group teaches nothing: the mean, of which nothing is left to take away
    told = hedge.learnt(hedge.pair_up(members, hedge.of_release(whole)), others)
    assert told["tree"] == pytest.approx([0, 0], abs=0.05)
    found = hedge.learnt(hedge.pair_up(members, hedge.of_release(open_)), others)
    strangers, own = found["nearest"]
    assert 0.2 < strangers < own < 1


def test_larger_cells_give_less_away_where_there_is_nothing_to_learn():
    given = []
    for seed in range(3):
        draw = np.random.default_rng(seed)
        drawn = {
            "age": draw.integers(18, 80, 900),
            "job": draw.choice([*"abcdef"], 900),
            "pay": draw.lognormal(size=900),
        }
        schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
        members, others = (read(pa.table(drawn).slice(at, 450)) for at in (0, 450))
        for screen in (True, False):
            made = hr.Hedge(max_disclosure=None, screen=screen).fit_table(members, schema)
            pair = hedge.pair_up(members, of_fitted(made, members, schema))
            found = hedge.learnt(pair, others)
            given.append([own - strange for strange, own in found.values()])
    less, more = np.mean(given[::2], axis=0), np.mean(given[1::2], axis=0)
    for learner, a, b in zip(found, less, more, strict=True):
        if learner in hedge.ATTACKING:
            assert a < b / 2, learner


def test_r2_below_zero_counts_nothing_in_the_means():
    def record(cap, method, use, own):
        return {
            "cap": cap,
            "method": method,
            **{f"r2_{n}": use for n in hedge.JUDGED},
            **{f"advantage_{n}": own for n in hedge.ATTACKING},
        }

    found = hedge.averaged(
        [
            record(None, "MART", 0.4, 0.1),
            record(None, "MART", -5.0, 0.3),
            record(0.5, "Hedge", 0.3, 0.1),
            record(0.5, "Hedge", 0.0, -0.1),
        ]
    )
    mart, made = found
    assert (mart["r2_tree"], mart["advantage_tree"], mart["of_uncapped_mart"]) == (0.2, 0.2, 1.0)
    assert (made["r2_tree"], made["advantage_tree"], made["of_uncapped_mart"]) == (0.15, 0.0, 0.75)


@pytest.mark.usefixtures("need_data")
def test_samples_are_apart_and_changed_as_they_say():
    holes = next(c for c in hedge.HARD if c.name == "a tenth missing")
    members, others = hedge.sample(holes, 900, 0)
    assert (members.n_rows, others.n_rows) == (600, 300)
    share = members.arrow.column("age").null_count / 600
    assert 0.07 < share < 0.13
    wide = next(c for c in hedge.HARD if c.name.startswith("15"))
    assert hedge.sample(wide, 90, 0)[0].names[-2:] == ["nothing 15", "hours-per-week"]


@pytest.mark.usefixtures("need_data")
def test_slopes_are_kept_by_means_and_flattened_by_ranges():
    rows = {r["read_from"]: r for r in hedge.slopes(draws=1, rows=2_000)[:4]}
    age = {name: row["hours_per_year_of_age"] for name, row in rows.items()}
    off = {name: abs(slope - age["original"]) for name, slope in age.items()}
    assert off["Hedge, means"] < off["Hedge, ranges"]
    assert age["Hedge, ranges"] < age["original"]


@pytest.mark.usefixtures("need_data")
def test_the_picture_is_the_same_on_every_run():
    first = hedge.idea()
    assert first.startswith("<?xml")
    assert first == hedge.idea()
