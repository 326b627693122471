"""The folder to hand out holds what the recipient needs, and nothing that tells of single people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import OutputError, ParameterError

from ..contracts.methods import CASES, Case
from ..contracts.tables import TABLES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

PUBLIC = {"RECIPIENT.md", "report.html"}
PRIVATE = {"plan.json", "audit.json", "mapping.json"}


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def test_every_method_hands_out_its_public_files_alone(case: Case, tmp_path: Path) -> None:
    table, schema = TABLES[case.table]()
    release = hr.protect(table, schema, case.method(schema))
    measured = hr.audit(table, release, attacks=False, learning=False)
    options = {"measured": measured, "mapping": True, "public": tmp_path / "out"}
    private = release.write(tmp_path / "own", **options)
    names = {path.name for path in private.iterdir()}
    handed = {path.name for path in (tmp_path / "out").iterdir()}
    own = release.method.release_files(release)
    tables = {"release.parquet"} | ({"sensitive.parquet"} & names)
    assert handed == tables | PUBLIC | set(own)
    assert names >= handed | PRIVATE
    for name in handed - {"report.html"}:
        assert (tmp_path / "out" / name).read_bytes() == (private / name).read_bytes()
    assert "for the recipient" in (tmp_path / "out" / "report.html").read_text()
    assert all(p.stat().st_mode & 0o077 == 0 for p in (tmp_path / "out").iterdir())


def rare() -> pd.DataFrame:
    """One of 400 people is an astronaut."""
    n = 400
    jobs = ["astronaut", *(["nurse", "cook", "clerk"] * n)[: n - 1]]
    return pd.DataFrame({"age": [20 + i % 60 for i in range(n)], "job": jobs, "pay": range(n)})


def test_no_rare_category_with_its_share_is_handed_out(tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
    release = hr.protect(rare(), schema, hr.MART(20, categorical="suppress"))
    measured = hr.audit(rare(), release, attacks=False, learning=False)
    private = release.write(tmp_path / "own", measured=measured, public=tmp_path / "out")
    told = {p.name: p.read_text() for p in (tmp_path / "out").iterdir() if p.suffix != ".parquet"}
    assert not any("astronaut" in text for text in told.values())
    # what stays with the steward tells it
    assert any("astronaut" in (private / name).read_text() for name in ("audit.json", "plan.json"))


def test_the_command_line_writes_it_and_says_what_to_hand_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    rare().to_csv("people.csv", index=False)
    words = ["protect", "people.csv", "--quasi", "age,job", "--sensitive", "pay", "-k", "20"]
    assert run([*words, "--out", "own", "--public", "out"]) == 0
    assert "hand out   out" in capsys.readouterr().out
    assert {p.name for p in Path("out").iterdir()} == PUBLIC | {"release.csv"}
    assert run([*words, "--out", "own2", "--public", "out"]) == 2
    assert "out exists already" in capsys.readouterr().err
    assert not Path("own2").exists()
    assert run([*words, "--out", "own", "--public", "out", "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["public"] == "out"
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    assert run([*words, "--out", "own3", "--public", "mine", "--force"]) == 2
    assert Path("mine/notes.txt").exists()


def test_the_public_folder_is_never_around_the_private_one(tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
    release = hr.protect(rare(), schema, hr.MART(20))
    with pytest.raises(OutputError, match="private folder"):
        release.write(tmp_path / "same", public=tmp_path / "same")
    assert not (tmp_path / "same").exists()


def test_what_is_handed_out_replaces_no_private_release(tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
    release = hr.protect(rare(), schema, hr.MART(20))
    kept = release.write(tmp_path / "one", public=tmp_path / "out")
    with pytest.raises(OutputError, match="holds a private release"):
        release.write(tmp_path / "two", public=kept, force=True)
    assert (kept / "plan.json").exists()
    assert not (tmp_path / "two").exists()
    release.write(tmp_path / "one", public=tmp_path / "out", force=True)
    with pytest.raises(ParameterError, match="public must be a path"):
        release.write(tmp_path / "two", public=True)


def test_only_true_keeps_the_order() -> None:
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
    with pytest.raises(ParameterError, match="keep_order must be True or False"):
        hr.protect(rare(), schema, hr.MART(20), keep_order="no")
