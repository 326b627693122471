"""What a newcomer meets on the command line: messages, progress, the demo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import hedgerow as hr
from hedgerow import datasets
from hedgerow.cli.run import run
from hedgerow.progress import listening, telling

ROLES = ["--quasi", "age,job", "--sensitive", "income", "--identifiers", "name"]


def people(n: int = 120) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "name": [f"Person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "job": np.array(["nurse", "cook", "smith"])[rng.integers(0, 3, n)],
            "income": rng.lognormal(10, 1, n).round(2),
        }
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pacsv.write_csv(people(), "people.csv")
    return tmp_path


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(words) == 2
    return capsys.readouterr().err


def test_weights_that_the_release_recodes_are_refused_by_that(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["protect", "people.csv", *ROLES, "-k", "5", "--out", "out", "--no-report"]) == 0
    told = refused(["audit", "people.csv", "out", "--weights", "age"], capsys)
    assert "'age' is recoded in the release" in told


def test_trees_without_a_split_are_refused_by_that(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["protect", "people.csv", *ROLES, "--method", "tpp", "--response", "income"]
    told = refused([*words, "--trees", "tree n_splits=0", "--out", "out"], capsys)
    assert "n_splits=0 asks for trees without a split" in told
    told = refused([*words, "--trees", "forest n_trees=1000000", "--out", "out"], capsys)
    assert "n_trees must be a whole number between 1 and 10,000" in told


def test_a_forest_and_a_search_say_how_far_they_are() -> None:
    from hedgerow.methods.tpp import ForestSettings, TreeSettings

    told: list[tuple[str, float | None]] = []
    schema = hr.Schema(quasi=["age", "job"], sensitive=["income"])
    method = hr.TreePatternPreserving(
        k=2,
        response="income",
        trees=ForestSettings(4, bootstrap=False, tree=TreeSettings(n_splits=1, min_leaf=20)),
    )
    with listening(telling(lambda step, share: told.append((step, share))), "fitting"):
        method.fit_table(hr.Session(people()).table, schema)
    assert {("fitting", tree / 4) for tree in range(4)} <= set(told)
    told.clear()
    masked = hr.PoROP(random_state=1)
    with listening(telling(lambda step, share: told.append((step, share))), "fitting"):
        masked.fit_table(hr.Session(people()).table, hr.Schema(quasi=["age", "income"]))
    shares = [share for _, share in told if share is not None]
    assert shares == sorted(shares)
    assert len(shares) > 10


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told_with_what_to_do(here: Path) -> None:
    import subprocess
    import sys

    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hedgerow", "inspect", "people.csv"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2
    assert "error: cannot write the output: No space left on device\n  " in done.stderr


def test_data_that_are_absent_are_fetched_by_an_option(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(here))
    told = refused(["reproduce", "mart-table4"], capsys)
    assert "--download" in told
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        raise hr.HedgerowError("no network here")

    monkeypatch.setattr(datasets, "_fetch", fetch)
    assert "no network here" in refused(["reproduce", "mart-table4", "--download"], capsys)
    assert asked
    assert "--download" in refused(["reproduce", "mart-table4"], capsys)


def test_reproduce_says_what_each_experiment_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("mart-example ") and "14 people" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_names_of_columns_are_text_for_who_reads_the_release(here: Path) -> None:
    odd = people().rename_columns(["<i>name</i>", "<b>age</b>", "job|`x`", "income"])
    schema = hr.Schema(
        quasi=["<b>age</b>", "job|`x`"], sensitive=["income"], identifiers=["<i>name</i>"]
    )
    hr.protect(odd, schema, hr.MART(k=5, max_disclosure=1.0)).write("out")
    told = Path("out/RECIPIENT.md").read_text()
    assert "| \\<b\\>age\\</b\\> |" in told
    assert "| job\\|\\`x\\` |" in told
    assert "Left out: \\<i\\>name\\</i\\>." in told
