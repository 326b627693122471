"""max_inference: a release that named attackers infer at most so much from."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.inference import InferenceBound, inference
from hedgerow.errors import InfeasibleError, ParameterError, PromiseError
from hedgerow.methods.estimator import RUNGS, rungs

SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
BOUND = 0.5


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    age, job = rng.integers(18, 80, 800), rng.choice(["cook", "clerk", "nurse"], 800)
    return pd.DataFrame({"age": age, "job": job, "pay": 5 * age + rng.normal(0, 120, 800)})


@pytest.fixture(scope="module")
def bounded(people):
    return hr.protect(people, SCHEMA, hr.MART(k=5, max_disclosure=None), max_inference=BOUND)


def test_the_method_is_tightened_until_the_bound_holds(people, bounded):
    assert inference(people, SCHEMA, hr.MART(k=5, max_disclosure=None), folds=0).reached > BOUND
    assert inference(people, SCHEMA, release=bounded, folds=0).reached <= BOUND
    assert bounded.method.k > 5
    k, cap = bounded.plan.parameters["k"], bounded.plan.parameters["max_disclosure"]
    rung = [r for r in rungs({"k": 5, "max_disclosure": None}) if r["k"] == k]
    assert rung == [{"k": k, "max_disclosure": cap}]
    # the step before it was not enough
    if k > 10:
        before = next(r for r in rungs({"k": 5, "max_disclosure": None}) if 2 * r["k"] == k)
        assert inference(people, SCHEMA, hr.MART(**before), folds=0).reached > BOUND


def test_it_is_a_check_a_parameter_and_words(bounded, tmp_path):
    check = bounded.checks[-1]
    assert (check.name, check.required) == ("inference (measured)", BOUND)
    assert check.reached <= BOUND
    assert bounded.verify()[-1] == check
    bounded.write(tmp_path / "out")
    told = json.loads((tmp_path / "out" / "audit.json").read_text())["release"]
    assert told["checks"][-1]["required"] == BOUND
    assert told["parameters"]["max_inference"] == BOUND
    assert hr.Plan.load(tmp_path / "out" / "plan.json").parameters["max_inference"] == BOUND
    words = (tmp_path / "out" / "RECIPIENT.md").read_text()
    assert "Measured, not promised" in words
    assert "Other learners may infer more" in words
    assert "5,000 of them where there are more" in words


def test_a_release_that_tells_more_is_caught(people, bounded):
    """The table as it came in, put in place of the release: the check bites."""
    bound = InferenceBound(BOUND)
    loose = hr.protect(people, SCHEMA, hr.MART(k=5, max_disclosure=None))
    assert bound(bounded).holds
    assert not bound(loose).holds
    with pytest.raises(PromiseError, match="inference"):
        loose.bind(bound, bound.parameters)
    assert "max_inference" not in loose.plan.parameters


def test_what_cannot_be_had_says_what_was_reached(people):
    rule = people.assign(pay=people.age * 2.0)
    with pytest.raises(InfeasibleError, match=r"at least \d\.\d+, with scale=") as told:
        hr.protect(
            rule[["age", "pay"]],
            hr.Schema(quasi=["age"], sensitive=["pay"]),
            hr.NoiseAddition(scale=0.001, random_state=1),
            max_inference=0.1,
        )
    assert "6 tried" in told.value.message


def test_the_ladder_is_short_and_goes_down():
    made = list(rungs(hr.MART(k=10, max_disclosure=0.3).get_params()))
    assert len(made) == RUNGS
    assert [r["k"] for r in made] == [20, 40, 80, 160, 320]
    caps = [r["max_disclosure"] for r in made]
    assert caps == sorted(caps, reverse=True)
    assert caps[0] <= 0.3
    assert list(hr.TopBottomCoding().stricter()) == []
    unfitted = next(hr.Mondrian(k=3).stricter())
    assert (unfitted.k, unfitted.objective) == (6, hr.Mondrian().objective)


@pytest.mark.parametrize("most", [0, 1, -0.1, True, "much"])
def test_wrong_bounds_are_named(people, most):
    with pytest.raises(ParameterError, match="max_inference"):
        hr.protect(people, SCHEMA, hr.MART(), max_inference=most)


def test_nothing_sensitive_has_nothing_to_bound(people):
    with pytest.raises(ParameterError, match="sensitive"):
        hr.protect(people, hr.Schema(quasi=["age"]), hr.Mondrian(), max_inference=0.2)


def test_a_session_repeats_it(people, tmp_path):
    people.to_csv(tmp_path / "people.csv", index=False)
    session = hr.Session(tmp_path / "people.csv")
    session.choose(SCHEMA, hr.MART(k=5, max_disclosure=0.9), max_inference=BOUND)
    assert "max_inference=0.5" in session.python()
    assert "--max-inference 0.5" in session.command_line()
    assert session.protect().plan.parameters["max_inference"] == BOUND


def test_the_command_line_and_its_configuration(people, tmp_path):
    from typer.testing import CliRunner

    from hedgerow.cli.app import app

    people.to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "release.toml").write_text(
        'quasi = ["age", "job"]\nsensitive = ["pay"]\nmethod = "mart"\nk = 5\nmax_inference = 0.5\n'
    )
    done = CliRunner().invoke(
        app,
        [
            "protect",
            str(tmp_path / "people.csv"),
            "--config",
            str(tmp_path / "release.toml"),
            "--out",
            str(tmp_path / "out"),
        ],
    )
    assert done.exit_code == 0, done.output
    told = json.loads((tmp_path / "out" / "audit.json").read_text())["release"]
    assert told["checks"][-1]["name"] == "inference (measured)"
    assert told["checks"][-1]["reached"] <= 0.5


def test_the_frontier_leaves_out_what_tells_more(people):
    found = hr.frontier(people, SCHEMA, hr.MART(), k=[5, 80], max_disclosure=[0.2, None], max_inference=BOUND)
    kept = {(p.parameters["k"], p.parameters["max_disclosure"]) for p in found.points}
    assert (5, None) not in kept
    assert kept
    assert all(p.inferred <= BOUND for p in found.points)
    assert "learners infer" in str(found)
    release = found.release(found.points[0])
    assert release.plan.parameters["max_inference"] == BOUND
    assert release.plan.parameters["k"] == found.points[0].parameters["k"]


def test_the_frontier_has_the_member_advantage_as_an_axis(people):
    found = hr.frontier(people, SCHEMA, hr.MART(), k=[5, 80], max_disclosure=[None], disclosure="advantage")
    small, large = found.points
    assert small.disclosure == small.advantage > large.advantage >= 0
    assert "advantage" in str(found)
    assert "<svg" in found.picture()
    altered = hr.frontier(
        people[["age", "pay"]],
        hr.Schema(quasi=["age"], sensitive=["pay"]),
        hr.NoiseAddition(random_state=1),
        disclosure="inferred",
    )
    assert altered.points[0].disclosure == altered.points[0].inferred > 0
