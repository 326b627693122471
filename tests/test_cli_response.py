"""Randomized response and its rivals on the command line."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import hedgerow as hr
from experiments import __main__ as experiments
from hedgerow.cli.app import run


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng = np.random.default_rng(0)
    n = 1500
    table = pa.table(
        {
            "id": np.arange(n),
            "sex": np.array(["f", "m"])[rng.integers(0, 2, n)],
            "job": np.array(["cook", "nurse", "clerk"])[rng.integers(0, 3, n)],
            "ill": np.array(["flu", "cold", "none", "HIV"])[rng.integers(0, 4, n)],
        }
    )
    monkeypatch.chdir(tmp_path)
    pacsv.write_csv(table, "people.csv")
    return tmp_path


ROLES = ["--quasi", "sex,job", "--sensitive", "ill", "--identifiers", "id"]


def test_rr_from_table_to_counts(people: Path, capsys: Any) -> None:
    words = ["protect", "people.csv", *ROLES, "--method", "rr", "-l", "3.8", "--row-id", "id"]
    assert run([*words, "--key-file", "draws.key", "--out", "out"]) == 0
    told = capsys.readouterr()
    assert "Largest operational success" in told.out
    assert "released as they are" in told.err
    assert stat.S_IMODE(os.stat("draws.key").st_mode) == 0o600
    assert run([*words, "--key-file", "draws.key", "--out", "again"]) == 0
    first, second = (Path(f, "release.csv").read_bytes() for f in ("out", "again"))
    assert first == second
    capsys.readouterr()
    assert run(["reconstruct", "out", "--by", "sex,ill", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"] == 1500
    assert sum(row["count"] for row in found["rows"]) == pytest.approx(1500)
    assert run(["reconstruct", "out", "--by", "sex,ill", "--out", "counts.csv"]) == 0
    assert pacsv.read_csv("counts.csv").num_rows == len(found["rows"])
    assert run(["reconstruct", "out/release.csv", "--parameters", "out/public.json"]) == 0
    assert run(["apply", "out/plan.json", "people.csv", "--key-file", "draws.key", "--out",
                "new.csv"]) == 0  # fmt: skip
    new, old = (pacsv.read_csv(f).column("job").to_pylist() for f in ("new.csv", "out/release.csv"))
    assert new == old


def test_a_whole_number_draws_what_it_draws_in_python(people: Path) -> None:
    words = ["protect", "people.csv", *ROLES, "--method", "rr", "--random-state", "1", "--no-report"]
    assert run([*words, "-l", "4", "--out", "out"]) == 0
    schema = hr.Schema(quasi=["sex", "job"], sensitive=["ill"], identifiers=["id"])
    hr.protect("people.csv", schema, hr.RandomizedResponse(l=4, random_state=1)).write("again")
    for name in ("plan.json", "release.csv"):
        assert Path("out", name).read_bytes() == Path("again", name).read_bytes()


def test_a_key_that_is_not_there_repeats_no_draws(people: Path, capsys: Any) -> None:
    rr = ["--method", "rr", "-l", "2", "--key-file", "draws.key"]
    assert run(["protect", "people.csv", *ROLES, *rr, "--out", "drawn"]) == 0
    assert run(["protect", "people.csv", *ROLES, "--method", "mondrian", "--out", "cut"]) == 0
    for plan, key, words in (("drawn", "draw.key", "no key file draw.key"), ("cut", "draws.key", "draws nothing")):
        words_given = ["apply", f"{plan}/plan.json", "people.csv", "--key-file", key]
        assert run([*words_given, "--out", "new.csv"]) == 2
        assert words in " ".join(capsys.readouterr().err.split())
    assert not (people / "draw.key").exists()
    assert not (people / "new.csv").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--method", "anatomy", "-l", "3"],
        ["--method", "datafly", "-k", "5"],
        ["--method", "incognito", "-k", "5", "-l", "2", "--diversity", "distinct", "--t", "0.5"],
        ["--method", "rr", "-l", "2", "--caps", "HIV:0.2", "--known-negations", "1"],
        ["--method", "rr", "-l", "5", "--target", "both", "--relax", "halfway"],
    ],
)
def test_every_method_writes_a_release(people: Path, words: list[str]) -> None:
    assert run(["protect", "people.csv", *ROLES, *words, "--out", "out"]) == 0
    assert (people / "out" / "release.csv").exists()
    assert (people / "out" / "RECIPIENT.md").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["protect", "people.csv", *ROLES, "--method", "rr", "-l", "0.5", "--out", "x"], "at least 1"),
        (["protect", "people.csv", *ROLES, "--method", "rr", "-l", "90", "--out", "x"], "largest feasible l"),
        (["protect", "people.csv", *ROLES, "--method", "rr", "--caps", "HIV", "--out", "x"], "VALUE:CAP"),
        (["protect", "people.csv", *ROLES, "--method", "datafly", "--key-file", "k", "--out", "x"],
         "without --pseudonyms"),
        (["protect", "people.csv", *ROLES, "--method", "anatomy", "-l", "9", "--out", "x"], "feasible l"),
        (["reconstruct", "people.csv"], "a table alone"),
        (["reconstruct", "nowhere"], "no file"),
    ],
)  # fmt: skip
def test_bad_requests_end_with_2_and_write_nothing(people: Path, capsys: Any, words: list[str], message: str) -> None:
    assert run(words) == 2
    assert message in capsys.readouterr().err
    assert not (people / "x").exists()


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")
def test_an_experiment_prints_the_reference_beside(capsys: Any) -> None:
    assert experiments.main(["rr-table3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["checks"]["holds"] is True
    assert "leaves out right guesses" in found["statement"]
