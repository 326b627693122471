"""A survey from the command line: households, weights, the population behind a sample."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import PlanError

FLAGS = "--quasi age,region --sensitive pay --household hid --weight w"


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    home = np.repeat(np.arange(150), rng.integers(1, 6, 150))
    n = len(home)
    made = pd.DataFrame(
        {
            "hid": home,
            "age": rng.integers(0, 90, n),
            "region": np.array(list("abcd"))[home % 4],
            "pay": rng.integers(500, 5000, n),
            "w": rng.uniform(1, 300, n).round(2),
        }
    )
    made.to_csv("survey.csv", index=False)
    return made


@pytest.mark.filterwarnings("ignore")
def test_flags_config_and_python_make_the_same_release(
    survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    rest = "--method mondrian -k 5 --no-report"
    assert run(shlex.split(f"protect survey.csv {FLAGS} {rest} --out flags")) == 0
    assert "people of 5 households" in Path("flags/RECIPIENT.md").read_text()
    assert "households)" in capsys.readouterr().out
    Path("release.toml").write_text(
        'quasi = ["age", "region"]\nsensitive = ["pay"]\nhousehold = "hid"\nweight = "w"\n'
        'method = "mondrian"\nk = 5\nreport = false\nout = "config"\n'
    )
    assert run(["protect", "survey.csv", "--config", "release.toml"]) == 0
    schema = hr.Schema(quasi=["age", "region"], sensitive=["pay"], household="hid", weight="w")
    session = hr.Session("survey.csv")
    session.choose(schema, hr.Mondrian(5))
    session.protect()
    line = session.command_line()
    assert "--household hid --weight w" in line
    session.write("python")
    files = {Path(name, "release.csv").read_bytes() for name in ("flags", "config", "python")}
    assert len(files) == 1
    streamed = hr.protect(Path("survey.csv"), schema, hr.Mondrian(5), engine="duckdb")
    streamed.write("streamed")
    assert Path("streamed/release.csv").read_bytes() in files
    assert list(pd.read_csv("flags/release.csv").columns) == ["age", "region", "pay", "w"]


@pytest.mark.filterwarnings("ignore")
def test_whole_households_from_the_command_line(survey: pd.DataFrame) -> None:
    rest = "--together --method mondrian -k 5 --no-report --out whole"
    assert run(shlex.split(f"protect survey.csv {FLAGS} {rest}")) == 0
    assert "all members of a household have the same" in Path("whole/RECIPIENT.md").read_text()
    schema = hr.Schema(quasi=["age", "region"], household="hid", together=True)
    session = hr.Session("survey.csv")
    session.choose(schema, hr.Mondrian(5))
    assert "--together --household hid" in session.command_line()


@pytest.mark.filterwarnings("ignore")
def test_an_audit_takes_the_weight_of_the_schema(survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    quick = "--no-attacks --no-learning"
    assert run(shlex.split(f"audit survey.csv survey.csv {FLAGS} {quick} --json")) == 0
    found = json.loads(capsys.readouterr().out)
    release = found["risk"]["release"]
    assert release["classes"]["population"]["total"] == pytest.approx(survey["w"].sum())
    assert release["reidentification"]["household"]["households"] == 150
    assert found["utility"]["estimates"]["weight"] == "w"
    again = f"audit survey.csv survey.csv --quasi age --population-size 40000 {quick}"
    assert run(shlex.split(again)) == 0
    assert "by the model zayatz" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_a_plan_remembers_the_weight(survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(shlex.split(f"protect survey.csv {FLAGS} --method mondrian -k 5 --out kept")) == 0
    plan = hr.Plan.load("kept/plan.json")
    assert plan.weight == "w"
    assert "sampling weights, how many people a record stands for: w" in plan.explain()
    assert "weighted by w" in Path("kept/RECIPIENT.md").read_text()
    # nobody says it again: the folder's audit, and what a checker gets, go by it
    quick = "--no-attacks --no-learning"
    capsys.readouterr()
    command = f"audit survey.csv kept {quick} --profile iso-27559 --evidence e.json --json"
    assert run(shlex.split(command)) == 0
    found = json.loads(capsys.readouterr().out)
    total = found["risk"]["release"]["classes"]["population"]["total"]
    assert total == pytest.approx(survey["w"].sum())
    assert found["utility"]["estimates"]["weight"] == "w"
    told = json.loads(Path("e.json").read_text())
    assert told["settings"]["weights"] == "w"
    states = {row["name"]: row["state"] for row in told["profile"]["criteria"]}
    assert states["population"] == "measured"
    # a plan of before holds no weight, and is read as ever
    old = json.loads(Path("kept/plan.json").read_text())
    del old["weight"]
    Path("old.json").write_text(json.dumps(old))
    assert hr.Plan.load("old.json").weight == ""
    again = f"audit survey.csv kept/release.csv --plan old.json {quick} --json"
    assert run(shlex.split(again)) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["risk"]["release"]["classes"]["population"] is None
    # one that names a column that is not released is damaged
    Path("bad.json").write_text(json.dumps({**old, "weight": "hid"}))
    with pytest.raises(PlanError, match="sampling weights is not released"):
        hr.Plan.load("bad.json")
    # other people's weights are held to the same, and told by the plan of those
    survey.assign(w=0.5).to_csv("light.csv", index=False)
    assert run(shlex.split("apply kept/plan.json light.csv --out light-out.csv")) == 2
    assert "sampling weights in 'w' are missing, infinite or below 1" in capsys.readouterr().err
    survey.drop(columns="w").to_csv("none.csv", index=False)
    assert run(shlex.split("apply kept/plan.json none.csv --out none-out.csv")) == 0
    capsys.readouterr()
    given = f"audit none.csv none-out.csv --plan kept/plan.json {quick} --json"
    assert run(shlex.split(given)) == 0
    assert json.loads(capsys.readouterr().out)["risk"]["release"]["classes"]["population"] is None


@pytest.mark.parametrize(("method", "times"), [("mart", 1), ("hedge", 0)])
def test_a_stratum_is_told_once_where_the_release_shows_it(
    method: str, times: int, survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    survey.assign(w=[1.5, 2.5] * (len(survey) // 2) + [1.5] * (len(survey) % 2)).to_csv("survey.csv", index=False)
    flags = "--quasi age,region --sensitive pay --weight w -k 5 --no-report --out out"
    assert run(["protect", "survey.csv", *shlex.split(flags), "--method", method]) == 0
    assert capsys.readouterr().err.count("w takes 2 values") == times
