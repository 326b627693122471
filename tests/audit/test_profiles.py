"""Standards as profiles: a table that meets each, one that does not, and what a checker gets."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import hedgerow as hr
from hedgerow.audit.safe_harbor import identifiers_found
from hedgerow.cli.run import run
from hedgerow.errors import ParameterError
from hedgerow.release.evidence import evidence_schema
from hedgerow.report.verdict import verdicts
from hedgerow.table import Table

SCHEMA = hr.Schema(quasi=["job"], sensitive=["ill"])
QUIET = {"attacks": False, "learning": False, "inference": False}


def groups(*sizes: int) -> pa.Table:
    """A released table with groups of these sizes."""
    jobs = [f"job{i}" for i, size in enumerate(sizes) for _ in range(size)]
    return pa.table({"job": jobs, "ill": [i % 2 == 0 for i in range(len(jobs))]})


def against(released: pa.Table, profile: Any, original: Any = None, **more: Any) -> Any:
    schema = more.pop("schema", SCHEMA)
    return hr.audit(original, released, schema, profile=profile, **{**QUIET, **more}).profile


@pytest.mark.parametrize(
    ("profile", "meets", "fails"),
    [
        ("ema-0070", (12, 30), (11, 30)),  # 1/12 = .083, 1/11 = .0909
        ("health-canada-prci", (12, 30), (11, 30)),
        ("ontario-ipc-low", (12, 30), (11, 30)),
        ("ontario-ipc-medium", (14, 30), (13, 30)),  # 1/14 = .0714, 1/13 = .0769
        ("ontario-ipc-high", (20, 30), (19, 30)),  # 1/20 = .05, 1/19 = .0526
        ("cms-cell-size", (11, 30), (10, 30)),
    ],
)
def test_thresholds_of_group_sizes(
    profile: str, meets: tuple[int, ...], fails: tuple[int, ...]
) -> None:
    found = against(groups(*meets), profile)
    assert found["state"] == "meets"
    assert all(row["clause"] and row["threshold"] for row in found["criteria"])
    found = against(groups(*fails), profile)
    assert found["state"] == "does not meet"
    (row, *_) = found["criteria"]
    assert row["figure"] == pytest.approx(
        min(fails) if row["statistic"] == "k" else 1 / min(fails), abs=1e-9
    )


def test_an_average_may_keep_what_the_maximum_does_not() -> None:
    rows = {row["name"]: row for row in against(groups(5, 100, 100), "ema-0070")["criteria"]}
    assert rows["maximum risk"]["state"] == "does not meet"
    assert rows["average risk"]["state"] == "meets"  # 3 groups of 205 records: .0146
    assert rows["average risk"]["figure"] == pytest.approx(3 / 205, abs=1e-9)


@pytest.mark.parametrize("k", [3, 5])
def test_ihsn(k: int) -> None:
    people = groups(k, 20)
    population = pa.concat_tables([people] * 4)
    found = against(people, f"ihsn-k{k}", people, population=population)
    told, risk = found["criteria"]
    assert (told["state"], told["figure"]) == ("meets", k)
    assert (risk["state"], risk["figure"]) == ("measured", pytest.approx(1 / (4 * k)))
    assert found["state"] == "meets"
    found = against(groups(k - 1, 20), f"ihsn-k{k}")
    assert found["state"] == "does not meet"
    assert found["criteria"][1]["state"] == "not measured"


def test_iso_27559_tells_what_was_measured_under_each_clause(tmp_path: Path) -> None:
    people = groups(30, 30)
    population = pa.concat_tables([people] * 2)
    found = against(people, "iso-27559", people, population=population, attacks=True, people=20)
    assert found["state"] == "measured"
    assert {row["clause"] for row in found["criteria"]} == {"7.3.2", "7.3.3", "8.2.3"}
    page = hr.audit(None, people, SCHEMA, profile="iso-27559", **QUIET).to_dict()
    assert [v.meets for v in verdicts(page, None, [])] == [False]  # two were not measured
    page["profile"] = found
    assert verdicts(page, None, []) == []  # nothing was compared, so nothing is met
    found = against(people, "iso-27559")
    assert found["state"] == "not measured"
    lacking = [row["name"] for row in found["criteria"] if row["state"] == "not measured"]
    assert lacking == ["population", "adversarial testing"]
    # thresholds are the organisation's: in a file of its own
    own = tmp_path / "ours.toml"
    own.write_text(
        'title = "Ours"\nsource = "house rule 7"\ndate = "2026-01-01"\n'
        '[[criteria]]\nname = "maximum"\nclause = "7.3.2"\nasks = "At most .04."\n'
        'statistic = "risk_maximum"\nat_most = 0.04\nread = "primary"\n'
    )
    assert against(groups(25, 30), own)["state"] == "meets"  # 1/25
    assert against(groups(24, 30), str(own))["state"] == "does not meet"


def test_wp216_is_answered_by_attacks() -> None:
    # everybody's quasi-identifiers, and a flag that follows the job
    people = pa.table(
        {
            "job": [f"job{i % 20}" for i in range(200)],
            "age": [20 + i % 7 for i in range(200)],
            "ill": [i % 20 < 10 for i in range(200)],
        }
    )
    schema = hr.Schema(quasi=["job", "age"], sensitive=["ill"])
    found = against(people, "wp216", people, schema=schema, attacks=True, people=60)
    assert found["state"] == "does not meet"
    linked = found["criteria"][1]
    assert linked["state"] == "does not meet"
    assert all(row["ours"] for row in found["criteria"])
    hidden = people.set_column(0, "job", pa.array(["*"] * 200)).set_column(
        1, "age", pa.array(["*"] * 200)
    )
    found = against(hidden, "wp216", people, schema=schema, attacks=True, people=60, paired=True)
    states = {row["name"]: row["state"] for row in found["criteria"]}
    assert states == {"singling out": "meets", "linkability": "meets", "inference": "meets"}
    found = against(people, "wp216", people, schema=schema)
    assert found["state"] == "not measured"


FINE = {
    "state": ["NY", "CA"],
    "zip": ["100", "941"],
    "age": ["[30-89]", "[90-]"],
    "year": [1990, 2001],
    "admission": pa.array([dt.date(1990, 1, 1), dt.date(2001, 1, 1)]),  # years, as days
    "cost": [100.5, 99.0],
}
# fmt: off
ODD: dict[str, tuple[str, list[Any], str]] = {
    "names": ("patient_surname", ["Roe", "Doe"], "by its name"),
    "geography": ("zip", ["10001", "94110"], "2 of its distinct cells look like whole ZIP"),
    "dates": ("seen", ["2020-05-17", "2021-01-09"], "days or months"),
    "telephone": ("contact", ["212-555-0187", "(415) 555-0133"], "look like it"),
    "fax": ("fax", ["1", "2"], "by its name"),
    "email": ("note", ["write to a.b@example.org", "-"], "1 of its distinct cells"),
    "social security": ("n", ["078-05-1120", "219-09-9999"], "look like it"),
    "medical record": ("MRN", [1, 2], "by its name"),
    "health plan": ("beneficiary", ["a", "b"], "by its name"),
    "account": ("account", [1, 2], "by its name"),
    "licence": ("license", ["a", "b"], "by its name"),
    "vehicle": ("car", ["1HGCM82633A004352", "-"], "look like it"),
    "device": ("imei", [1, 2], "by its name"),
    "url": ("page", ["https://example.org/a", "-"], "look like it"),
    "ip": ("from", ["192.0.2.17", "-"], "look like it"),
    "biometric": ("iris", ["a", "b"], "by its name"),
    "photograph": ("photo", ["a", "b"], "by its name"),
    "other": ("key", [f"123e4567-e89b-12d3-a456-42661417400{i}" for i in (0, 1)],
              "universal identifiers"),
}
# fmt: on


def test_safe_harbor_is_met_by_states_years_and_ages_pooled() -> None:
    table = pa.concat_tables([pa.table(FINE)] * 20)  # 20 people of each kind
    found = against(table, "hipaa-safe-harbor", schema=hr.Schema(quasi=["state"]))
    assert [row["detail"] for row in found["criteria"] if row["state"] != "meets"] == []
    assert found["state"] == "meets"
    assert len(found["criteria"]) == 18
    assert {row["clause"][-2] for row in found["criteria"]} == set("ABCDEFGHIJKLMNOPQR")


@pytest.mark.parametrize("kind", ODD)
def test_safe_harbor_finds_each_kind(kind: str) -> None:
    name, cells, why = ODD[kind]
    table = pa.concat_tables([pa.table({**FINE, name: cells})] * 20)
    found = against(table, "hipaa-safe-harbor", schema=hr.Schema(quasi=["state"]))
    assert found["state"] == "does not meet"
    (row,) = (row for row in found["criteria"] if row["name"] == kind)
    assert (row["figure"], row["state"]) == (1.0, "does not meet")
    assert name in row["detail"]
    assert why in row["detail"]
    assert not any(str(cell) in row["detail"] for cell in cells if len(str(cell)) > 3)


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("age", [35, 93], "dates"),
        ("age", ["[85-94]"], "dates"),
        ("age", ["[95-]"], "dates"),
        ("zip", ["036", "100"], "geography"),  # too few people live in 036
        ("home", ["10001", "94110"], "geography"),
        ("born", ["[2001-05-01/2003-01-31]"], "dates"),
        ("seen", ["1950", "1951", "1952", "1953-02-01"], "dates"),  # one day among years
        ("seen", ["1950/02/03", "*"], "dates"),
        ("seen", ["02-03-1950", "*"], "dates"),
        ("seen", ["February 3, 1950", "*"], "dates"),
        ("seen", ["3 Feb 1950", "*"], "dates"),
        ("seen", ["02/1950", "*"], "dates"),
        ("dob", [19500203, 19510304], "dates"),
        ("dob", [19500203.0, None], "dates"),
        ("age", ["95 years", "45 years"], "dates"),
        ("age", ["91+", "45"], "dates"),
        ("age", ["90 to 94", "45"], "dates"),
        ("name", ["Ann Lee", "Bo Ray"], "names"),
    ],
)
def test_safe_harbor_reads_cells(name: str, cells: list[Any], kind: str) -> None:
    assert name in identifiers_found(Table(pa.table({name: cells})))[kind]


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("age", [35, 89]),
        ("age", ["[85-90)", "[90-]", "*"]),
        ("age", ["90+", "90 or older", ">=90", "89 years", "95 months"]),
        ("seen", ["1950", "1951-1952", "[1950-1960]"]),
        ("place_name", ["north", "south"]),
        ("account_code", [10010101, 99999999]),
        ("zip", ["*", "*"]),
        ("born", ["[2001-01-01/2003-12-31]"]),
    ],
)
def test_safe_harbor_leaves_alone(name: str, cells: list[Any]) -> None:
    found = identifiers_found(Table(pa.table({name: cells})))
    assert not found["names"]
    assert not found["dates"]
    assert not found["geography"]


def test_every_profile_says_where_its_thresholds_come_from() -> None:
    for name in hr.Profile.names():
        profile = hr.Profile.load(name)
        assert profile.source
        dt.date.fromisoformat(profile.date)
        for criterion in profile.criteria:
            assert criterion.clause
            assert criterion.asks
        if any(criterion.read == "secondary" for criterion in profile.criteria):
            assert "secondary" in profile.note


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 3", "is no profile"),
        ('title = "t"\nsource = "s"\ndate = "d"\ncriteria = []\n', "has no criteria"),
        ('title = "t"\nsource = "s"\ndate = "d"\nlevel = 3\n[[criteria]]\n', "is no profile"),
    ],
)
def test_a_file_that_is_no_profile_is_told(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(ParameterError, match=message):
        hr.Profile.load(path)
    with pytest.raises(ParameterError, match=r"no profile 'ema-70' \(did you mean 'ema-0070'"):
        hr.Profile.load("ema-70")


ROLES = ["--quasi", "age,education", "--sensitive", "income"]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pacsv.write_csv(hr.datasets.make_people(600, seed=1), "people.csv")
    return tmp_path


def test_protect_keeps_a_profile_and_writes_evidence(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["protect", "people.csv", *ROLES, "--profile", "ema-0070", "--out", "out"]) == 0
    said = capsys.readouterr()
    assert "k is 12" in said.err
    assert "of 2 criteria 2 met" in said.out
    plan = hr.Plan.load(people / "out/plan.json")
    assert {"kind": "k_anonymity", "k": 12} in [dict(p) for p in plan.promises]
    told = json.loads((people / "out/evidence.json").read_text())
    jsonschema.validate(told, evidence_schema())
    jsonschema.validate(json.loads((people / "out/audit.json").read_text()), hr.Audit.json_schema())
    assert told["profile"]["state"] == "meets"
    assert set(told["files"]) == {"released", "original"}
    page = (people / "out/report.html").read_text()
    assert "Held against: EMA policy 0070" in page
    assert "threshold not verified in the source" in page
    assert "compliant" not in page
    # the judgement made again from the files gives the same figures
    command = ["audit", "people.csv", "out", "--profile", "ema-0070", "--no-attacks", "--no-learning"]
    assert run([*command, "--evidence", "again.json"]) == 0
    again = json.loads((people / "again.json").read_text())
    assert again["profile"] == told["profile"]
    assert again["files"] == told["files"]


def test_what_does_not_meet_a_profile_is_not_written(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["protect", "people.csv", *ROLES, "--out", "out", "--profile"]
    assert run([*command, "ema-0070", "-k", "5"]) == 2
    assert "takes a k of 12 at least" in capsys.readouterr().err
    own = people / "own.toml"
    own.write_text(
        'title = "Ours"\nsource = "s"\ndate = "2026-01-01"\n[[criteria]]\nname = "small"\n'
        'clause = "1"\nasks = "a"\nstatistic = "risk_average"\nat_least = 0.5\nread = "primary"\n'
    )
    assert run([*command, str(own)]) == 1
    assert "Ours, 1: small is" in capsys.readouterr().err
    assert not (people / "out").exists()
    assert run([*command, "ema-0070", "--no-report"]) == 2


def test_audit_fails_on_a_profile_and_profiles_are_listed(
    people: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["audit", "--release-only", "people.csv", *ROLES, "--profile", "cms-cell-size"]
    assert run(command) == 1
    said = capsys.readouterr()
    assert "cell size is 1, not at least 11" in said.err
    assert "DOES NOT MEET" in said.out
    assert run(["profiles"]) == 0
    assert "hipaa-safe-harbor" in capsys.readouterr().out
    assert run(["profiles", "iso-27559"]) == 0
    assert "[8.2.3]" in capsys.readouterr().out


def test_a_session_repeats_its_profile(people: Path) -> None:
    session = hr.Session("people.csv")
    schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    session.choose(schema, hr.Profile.load("cms-cell-size").strengthened(hr.MART(k=5)))
    session.protect()
    session.measure(profile="cms-cell-size")
    session.write("out")
    assert "--profile cms-cell-size" in session.command_line()
    assert "-k 11" in session.command_line()
    assert "profile='cms-cell-size'" in session.python()
    assert (people / "out/evidence.json").stat().st_mode & 0o077 == 0
