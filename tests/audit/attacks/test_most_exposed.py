"""The most exposed people: everything that leaks is found, and nothing where nothing leaks."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest
from scipy.stats import norm

import hedgerow as hr
from hedgerow.auditing.attacks.most_exposed import ByCommand, exposed, least_epsilon, most_exposed, remaking, summary
from hedgerow.auditing.subject import Subject, of_release
from hedgerow.cli import main
from hedgerow.columns.table import Table
from hedgerow.io.read import read

SCHEMA = hr.Schema(quasi=["age", "sex", "education"], sensitive=["income", "assets"])
COLUMNS = [*SCHEMA.quasi, *SCHEMA.sensitive]


def people(n: int, seed: int) -> pa.Table:
    return hr.datasets.make_people(n, seed=seed).select(COLUMNS)


def test_people_of_a_copy_are_found_and_nobody_in_a_table_of_others():
    copied = most_exposed(read(people(500, 1)), SCHEMA, lambda t, run: Subject(t, SCHEMA), runs=20)
    assert copied["auc"] == copied["found"] == copied["worst"] == 1
    assert copied["epsilon"] > 1.25  # of replacing one person by another twice as much
    # as many as were given: the number of rows tells nobody
    others = people(500, 2)
    none = most_exposed(
        read(people(500, 1)), SCHEMA, lambda t, run: Subject(read(others.slice(0, t.n_rows)), SCHEMA), runs=20
    )
    assert none["auc"] == none["worst"] == 0.5
    assert none["epsilon"] == none["found"] == 0


def test_releases_of_other_people_give_chance():
    """Each release is of people drawn anew, whoever was put in."""

    def release(table: Table, run: int) -> Subject:
        return Subject(read(people(table.n_rows, 100 + run)), SCHEMA)

    areas = [most_exposed(read(people(400, s)), SCHEMA, release, runs=20, random_state=s)["auc"] for s in range(4)]
    assert abs(np.mean(areas) - 0.5) < 0.05
    assert all(abs(area - 0.5) < 0.12 for area in areas)


def test_the_worst_are_those_who_stand_apart():
    rows = people(300, 3).to_pydict()
    rows["income"][7], rows["assets"][11], rows["age"][23] = 9e6, 9e8, 119
    assert {7, 11, 23} <= set(exposed(read(pa.table(rows)), SCHEMA, 10).tolist())


def test_any_command_can_be_asked(tmp_path):
    copy = f"{sys.executable} -c 'import shutil, sys; shutil.copy(*sys.argv[1:])' {{in}} {{out}}"
    made = ByCommand(copy, SCHEMA)(read(people(50, 4)), 1)
    assert made.table.n_rows == 50
    for fault, says in (("raise SystemExit(3)", "exit status 3"), ("", "wrote no")):
        with pytest.raises(hr.errors.InputError, match=says):
            ByCommand(f"{sys.executable} -c '{fault}' {{in}} {{out}}", SCHEMA)(read(people(50, 4)), 1)
    with pytest.raises(hr.errors.InputError, match="command failed"):
        ByCommand("no-such-tool {in} {out}", SCHEMA)(read(people(50, 4)), 1)


@pytest.mark.parametrize(
    ("number", "says"), [({"runs": 30}, "half of"), ({"people": 3}, "half of"), ({"people": 60}, "small")]
)
def test_numbers_that_say_nothing_are_refused(number, says):
    with pytest.raises(hr.errors.ParameterError, match=says):
        most_exposed(read(people(100, 1)), SCHEMA, lambda t, run: Subject(t, SCHEMA), **number)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_bound_of_epsilon_is_below_what_answers_were_paid_for(epsilon: float):
    """Each person's answer is turned with the chance that randomised response allows."""
    bounds = []
    for seed in range(20):
        draw = np.random.default_rng(seed)
        is_in = draw.random((100, 20)) < 0.5
        honest = draw.random(is_in.shape) < np.exp(epsilon) / (1 + np.exp(epsilon))
        bounds.append(least_epsilon(np.where(honest, is_in, ~is_in) + 0.0, is_in, np.arange(100) < 50))
    assert np.mean(np.array(bounds) > epsilon) <= 0.1
    assert np.median(bounds) > 0.6 * epsilon


def test_the_one_person_who_leaks_is_found():
    """Choosing the worst gains nothing where nobody leaks."""
    draw = np.random.default_rng(1)
    is_in = draw.random((100, 20)) < 0.5
    guess = draw.random(is_in.shape)
    assert abs(summary(guess, is_in)["worst"] - 0.5) < 0.15
    guess[:, 3] += 2 * is_in[:, 3]
    found = summary(guess, is_in)
    assert found["worst"] == 1
    assert found["auc"] < 0.6


def test_the_interval_of_the_share_found_covers_it():
    """The cut is estimated from the same guesses: an interval that took it as given covered half of the time."""
    is_in = np.tile(np.array([[True] * 10 + [False] * 10, [False] * 10 + [True] * 10]), (50, 1))
    truth = float(norm.sf(norm.isf(0.01) - 2))
    covered = []
    for seed in range(40):
        guess = np.random.default_rng(seed).normal(size=is_in.shape) + 2 * is_in
        low, high = summary(guess, is_in)["found_interval"]
        covered.append(low <= truth <= high)
    assert np.mean(covered) >= 0.85


def test_a_method_of_a_known_epsilon_shows_no_more_than_it():
    """Each of two people is told by a bit that is turned, and a row that both decide shows whom it was not."""
    bounds = []
    for seed in range(6):
        draw = np.random.default_rng(seed)
        first = np.repeat(draw.random(200) < 0.5, 2)
        first[1::2] = ~first[1::2]
        is_in = np.stack([first, ~first], axis=1)
        bits = np.where(draw.random(is_in.shape) < np.e / (1 + np.e), is_in, ~is_in)
        alone = bits[:, 0] != bits[:, 1]
        guess = np.where(alone[:, None], bits, 0.5) + 0.0
        bounds.append(summary(guess, is_in)["epsilon"])
    assert max(bounds) < 1
    assert np.median(bounds) > 0.5


def test_an_audit_asks_the_method_of_a_release_again():
    table = people(300, 5)
    release = hr.protect(table, SCHEMA, hr.MART(5), guard=None)
    told: list[str] = []
    audit = hr.audit(
        table, release, most_exposed=4, remakes=20, attacks=False, learning=False, progress=lambda s, f: told.append(s)
    )
    found = audit.risk["most_exposed"]
    # values leave as they are, so everybody who stands out is found
    assert found["auc"] > 0.95
    assert (found["people"], found["runs"]) == (4, 20)
    assert sum("release 20 of 20" in step for step in told) == 1
    assert "The 4 people who stand out most" in str(audit)
    redrawn = hr.protect(table, SCHEMA, random_state=1)
    again = [
        hr.audit(table, redrawn, most_exposed=4, remakes=20, attacks=False, learning=False).risk["most_exposed"]
        for _ in range(2)
    ]
    assert again[0] == again[1]
    assert again[0]["auc"] < found["auc"]


def test_an_audit_asks_a_function_or_says_what_it_needs():
    table = people(200, 6)
    few = {"most_exposed": 4, "remakes": 20, "attacks": False, "learning": False}
    found = hr.audit(table, table, SCHEMA, paired=False, remake=lambda t, run: t, **few).risk["most_exposed"]
    assert found["auc"] == found["worst"] == 1
    with pytest.raises(hr.errors.ParameterError, match="not known here") as refused:
        hr.audit(table, table, SCHEMA, **few)
    assert "--remake" in refused.value.hint
    with pytest.raises(hr.errors.ParameterError, match="need an original"):
        hr.audit(None, table, SCHEMA, **few)


def test_the_command_line_asks_any_tool(tmp_path, capsys):
    table = people(200, 7)
    pcsv.write_csv(table, tmp_path / "people.csv")
    pcsv.write_csv(table, tmp_path / "made.csv")
    copy = f"{sys.executable} -c 'import shutil, sys; shutil.copy(*sys.argv[1:])' {{in}} {{out}}"
    roles = [
        "--quasi",
        "age,sex,education",
        "--sensitive",
        "income,assets",
        "--unpaired",
        "--no-attacks",
        "--no-learning",
    ]
    ask = ["--most-exposed", "4", "--remakes", "20", "--remake", copy]
    with pytest.raises(SystemExit) as ended:
        main(["audit", str(tmp_path / "people.csv"), str(tmp_path / "made.csv"), *roles, *ask])
    assert ended.value.code == 0
    assert "in 100.0% (100.0% to 100.0%) of the cases" in " ".join(capsys.readouterr().out.split())


def test_a_schema_of_every_role_is_read_in_each_release(tmp_path):
    """Shadows were read without identifiers and other columns, which their schema names."""
    table = hr.datasets.make_people(300, seed=8).select([*COLUMNS, "person_id", "region"])
    schema = SCHEMA.replace(identifiers=["person_id"], other=["region"])
    copy = f"{sys.executable} -c 'import shutil, sys; shutil.copy(*sys.argv[1:])' {{in}} {{out}}"
    few = {"most_exposed": 4, "remakes": 20, "attacks": False, "learning": False}
    audit = hr.audit(table, table, schema, paired=False, remake=copy, **few)
    assert audit.risk["most_exposed"]["auc"] == 1


def test_a_method_draws_anew_in_each_release():
    """Noise of one seed is the same in all releases, so whoever has seen the others can take it off."""
    table = people(200, 9)
    release = hr.protect(table, SCHEMA, hr.RandomizedResponse(4, random_state=1))
    what = of_release(release)
    again = [remaking(None, what, 0)(read(table), run).table.arrow for run in (1, 1, 2)]
    assert again[0].equals(again[1])
    assert not again[0].equals(again[2])


@pytest.mark.parametrize(("command", "says"), [("", "needs"), ("cp a {out}", "needs"), ("cp '{in} {out}", "cannot be")])
def test_a_command_that_reads_or_writes_nothing_is_refused(command, says):
    with pytest.raises(hr.errors.ParameterError, match=says):
        ByCommand(command, SCHEMA)


def test_what_is_stopped_leaves_no_command_and_no_file(tmp_path, monkeypatch):
    """A termination waited for the commands, and their files stayed if it came to a kill."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    wait = ByCommand(f"{sys.executable} -c 'import time; time.sleep(60)' {{in}} {{out}}", SCHEMA)
    threading.Timer(1.0, wait.stop).start()
    begun = time.monotonic()
    with pytest.raises(hr.errors.InputError, match="failed"):
        most_exposed(read(people(200, 10)), SCHEMA, wait, people=4, runs=20)
    assert time.monotonic() - begun < 30
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("n", [9, 60])
def test_few_people_and_empty_columns_end_in_a_line_or_a_figure(n):
    table = people(n, 11).set_column(3, "income", pa.nulls(n, pa.int64()))
    if n == 9:
        with pytest.raises(hr.errors.ParameterError, match="small"):
            most_exposed(read(table), SCHEMA, lambda t, run: Subject(t, SCHEMA), people=4, runs=20)
        return
    assert len(exposed(read(table), SCHEMA, 4)) == 4


def test_persons_of_several_rows_are_refused():
    table = people(60, 12).append_column("who", pa.array([f"p{i // 2}" for i in range(60)]))
    schema = SCHEMA.replace(identifiers=["who"], unit="who")
    with pytest.raises(hr.errors.UnsupportedError, match="row by row"):
        most_exposed(read(table), schema, lambda t, run: Subject(t, schema), people=4, runs=20)
