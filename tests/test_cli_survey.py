"""A survey from the command line: households, weights, the population behind a sample."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.run import run

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
def test_an_audit_takes_the_weight_of_the_schema(
    survey: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
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
