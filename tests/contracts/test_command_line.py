"""Every method through the command line, its report, the audit of its file, and the frontier."""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.io.read import read
from hedgerow.methods.estimator import TRIED
from hedgerow.release.folder import OURS

from .methods import CASES, Case
from .tables import TABLES

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    return request.param


def words(case: Case, out: str, *more: str) -> list[str]:
    _, schema = TABLES[case.table]()
    roles = ["--quasi", ",".join(schema.quasi), "--sensitive", ",".join(schema.sensitive)]
    return [
        "protect",
        "people.csv",
        *roles,
        "--method",
        *shlex.split(case.words),
        *(["--guard", "none"] if case.make().usual_guard else []),
        "--out",
        out,
        *more,
    ]


@pytest.fixture
def folder(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    TABLES[case.table]()[0].to_csv("people.csv", index=False)
    return tmp_path


def test_a_release_with_its_report_that_python_gives_as_well(case: Case, folder: Path, capsys: Any) -> None:
    assert run(words(case, "out")) == 0, capsys.readouterr().err
    told = capsys.readouterr()
    files = {path.name for path in Path("out").iterdir()}
    assert {"release.csv", "plan.json", "audit.json", "RECIPIENT.md", "report.html"} <= files
    assert files <= OURS  # else --force would not replace it
    assert "no report" not in told.err
    _, schema = TABLES[case.table]()
    release = hr.protect("people.csv", schema, case.method(schema), guard=None)
    release.write("python")
    assert Path("python/release.csv").read_bytes() == Path("out/release.csv").read_bytes()
    for name, measured in (("python", False), ("out", True)):
        told = json.loads(Path(name, "audit.json").read_text())
        jsonschema.validate(told, hr.Audit.json_schema())
        assert ("risk" in told) is measured
    plans = [hr.Plan.load(Path(folder, "plan.json")) for folder in ("python", "out")]
    assert plans[0].recoding == plans[1].recoding
    assert plans[0].promises == plans[1].promises
    assert run(words(case, "again", "--no-report")) == 0
    assert Path("again/release.csv").read_bytes() == Path("out/release.csv").read_bytes()
    assert read("out/release.csv").n_rows == 40


def test_whatever_is_measured_follows_the_published_schema(case: Case) -> None:
    people, schema = TABLES[case.table]()
    release = hr.protect(people, schema, case.method(schema), guard=None)
    found = hr.audit(people, release, people=20, learners=["nearest", "tree"])
    jsonschema.validate(json.loads(found.to_json()), hr.Audit.json_schema())


def test_a_key_file_decides_what_is_drawn(case: Case, folder: Path, capsys: Any) -> None:
    given = [w for w in words(case, "one", "--no-report") if w != "--random-state"]
    if case.make().draws:
        given.remove("1")
    given += ["--key-file", "steward.key"]
    if not case.make().draws:
        assert run(given) == 2
        assert "--key-file" in capsys.readouterr().err
        assert not Path("steward.key").exists()
        return
    assert run(given) == 0
    again = [w if w != "one" else "two" for w in given]
    assert run(again) == 0
    assert Path("one/release.csv").read_bytes() == Path("two/release.csv").read_bytes()
    secret = Path("steward.key").read_text().split()[1]
    shown = "".join(p.read_text(errors="replace") for p in Path("one").iterdir())
    assert secret not in shown + capsys.readouterr().out


def test_the_audit_of_its_file(case: Case, folder: Path, capsys: Any) -> None:
    assert run(words(case, "out", "--no-report", "--mapping")) == 0
    _, schema = TABLES[case.table]()
    roles = ["--quasi", ",".join(schema.quasi), "--sensitive", ",".join(schema.sensitive)]
    capsys.readouterr()
    code = run(["audit", "people.csv", "out", *roles, "--no-attacks", "--no-learning"])
    told = capsys.readouterr()
    assert code == 0, told.err
    assert "Traceback" not in told.err


def test_its_place_on_the_frontier(case: Case, folder: Path) -> None:
    table, schema = TABLES[case.table]()
    found = hr.frontier(table, schema, case.method(schema), k=[3, 6], max_disclosure=[0.9])
    assert found.points
    for point in found.points:
        assert 0 <= point.disclosure <= 1
    asked = {"k", "max_disclosure"} & set(case.make().get_params())
    assert all(set(p.parameters) - set(TRIED) == set() for p in found.points)
    assert all(asked <= set(p.parameters) for p in found.points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = found.release(found.points[0])
    assert all(check.holds for check in release.checks)
