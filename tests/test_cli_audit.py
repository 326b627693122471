"""hedgerow audit and hedgerow frontier, as called."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

from hedgerow.cli.app import run
from tests.audit.conftest import grouped, people_of

ROLES = ["--quasi", "age,job,sex", "--sensitive", "pay,ill"]
QUICK = ["--no-attacks", "--no-learning"]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people = people_of(400)
    people.to_csv("people.csv", index=False)
    grouped(people, ["age", "job", "sex"], ["pay"], 10).to_csv("release.csv", index=False)


@pytest.mark.usefixtures("files")
class TestAudit:
    def test_it_prints_and_writes(self, capsys):
        assert (
            run(
                [
                    "audit",
                    "people.csv",
                    "release.csv",
                    *ROLES,
                    "--people",
                    "40",
                    "--no-learning",
                    "--report",
                    "r.html",
                    "--save",
                    "a.json",
                ]
            )
            == 0
        )
        out = capsys.readouterr().out
        assert out.startswith("Share with care, because whoever knows a person's exact")  # as the page begins
        assert "\n- also: no limit was chosen" in out
        assert "k (smallest group)" in out
        assert "regression: pay (right: within 10% of the value)\n  tree " in out
        assert Path("r.html").read_text().startswith("<!DOCTYPE html>")
        assert json.loads(Path("a.json").read_text())["hedgerow_audit"] == 1

    def test_other_releases_are_told_together(self, capsys):
        grouped(people_of(400), ["age", "sex"], ["ill"], 5).to_csv("theirs.csv", index=False)
        also = ["--also", "theirs.csv", "--also", "release.csv"]
        assert run(["audit", "people.csv", "release.csv", *ROLES, *QUICK, *also]) == 0
        out = capsys.readouterr().out
        assert "'pay', by" in out
        assert "other release 2" in out
        Path("a.toml").write_text('also = ["theirs.csv"]\njson = true\n')
        named = ["audit", "people.csv", "release.csv", *ROLES, *QUICK, "--config", "a.toml"]
        assert run(named) == 0
        told = json.loads(capsys.readouterr().out)["risk"]["composition"]
        assert told["releases"] == 2

    def test_json_and_config(self, capsys):
        Path("a.toml").write_text(
            'original = "people.csv"\nreleased = "release.csv"\nquasi = ["age", "job", "sex"]\n'
            'sensitive = "pay"\nattacks = false\nlearning = false\njson = true\n'
        )
        assert run(["audit", "--config", "a.toml"]) == 0
        assert json.loads(capsys.readouterr().out)["risk"]["release"]["classes"]["k"] >= 10

    def test_a_broken_bound_is_exit_code_1(self, capsys):
        assert run(["audit", "people.csv", "release.csv", *ROLES, *QUICK, "-k", "10"]) == 0
        assert run(["audit", "people.csv", "release.csv", *ROLES, *QUICK, "-k", "400"]) == 1
        assert "fewer than 400" in capsys.readouterr().err
        assert run(["audit", "people.csv", "release.csv", *ROLES, *QUICK, "--max-disclosure", "0.01"]) == 1
        assert "'pay'" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["people.csv"], "two tables"),
            (["people.csv", "nowhere.csv", *ROLES], "nowhere.csv"),
            (["people.csv", "nowhere/"], "no file or folder nowhere/"),
            (["people.csv", "short.csv", *ROLES, "--no-unpaired"], "cannot be aligned"),
            (["people.csv", "lacking.csv", *ROLES], "lacks 'sex'"),
            (["people.csv", "release.csv", "--quasi", "agee"], "did you mean 'age'"),
            (
                ["people.csv", "release.csv", *ROLES, "--audience", "all"],
                "--audience must be one of steward, recipient",
            ),
            (["people.csv", "release.csv", *ROLES, "--max-disclosure", "2"], "a number from above 0 to 1, not 2"),
            (["people.csv", "release.csv", *ROLES, "--report", "no/where.html"], "folder does not exist"),
            (["people.csv", "release.csv", *ROLES, "--key", "pay"], "is no key"),
        ],
    )
    def test_bad_input_is_exit_code_2(self, capsys, arguments, says):
        release = grouped(people_of(400), ["age", "job", "sex"], ["pay"], 10)
        release.head(9).assign(pay=1).to_csv("short.csv", index=False)
        release.drop(columns="sex").to_csv("lacking.csv", index=False)
        assert run(["audit", *arguments, *QUICK]) == 2
        err = capsys.readouterr().err
        assert says in err


@pytest.mark.usefixtures("files")
class TestFrontier:
    GRID = ("-k", "5,20", "--max-disclosure", "0.3,0.7")

    def test_it_shows_the_points_and_picks_one(self, capsys):
        assert (
            run(
                [
                    "frontier",
                    "people.csv",
                    *ROLES,
                    *self.GRID,
                    "--target-disclosure",
                    "0.3",
                    "--picture",
                    "f.svg",
                    "--out",
                    "best",
                ]
            )
            == 0
        )
        out = capsys.readouterr().out
        assert out.count("hedge") >= 4
        assert "best: --method hedge" in out
        assert Path("f.svg").read_text().lstrip().startswith("<?xml")
        assert Path("best/release.csv").exists()

    def test_json_with_two_methods(self, capsys):
        assert run(["frontier", "people.csv", *ROLES, *self.GRID, "--method", "mart,mondrian", "--json"]) == 0
        points = json.loads(capsys.readouterr().out)["points"]
        assert {p["method"] for p in points} == {"mart", "mondrian"}

    def test_methods_by_their_own_parameters_as_a_table(self, capsys):
        roles = ["--quasi", "age", "--sensitive", "pay"]
        wanted = ["--method", "mart,noise,rank-swapping", "--random-state", "1"]
        tried = ["-k", "5,500", "--max-disclosure", "0.7", "--scale", "0.2,0.4"]
        command = ["frontier", "people.csv", *roles, *wanted, *tried, "--csv", "points.csv"]
        assert run(command) == 0
        out = capsys.readouterr().out
        text = Path("points.csv").read_text()
        lines = text.splitlines()
        assert len(lines) == 1 + 2 + 2 + 3
        assert lines[0].startswith("method,asked_k,asked_max_disclosure,asked_scale,")
        assert [line for line in lines if line.startswith("noise,,,0.2")]
        assert "not possible: mart k=500, max_disclosure=0.7: k is 500" in out
        assert "k is 500" in lines[-1]
        assert "inferred" not in out  # what was not measured takes no room
        assert run(command) == 0  # one of ours is written anew
        assert Path("points.csv").read_text() == text
        assert run([*command[:-1], "people.csv"]) == 2

    def test_an_interrupted_search_leaves_nothing(self, monkeypatch, capsys):
        before = {p.name for p in Path().iterdir()}

        def interrupted(*_args, **_given):
            raise KeyboardInterrupt

        tried = importlib.import_module("hedgerow.auditing.frontier")
        monkeypatch.setattr(tried, "infer", interrupted)
        assert (
            run(
                [
                    "frontier",
                    "people.csv",
                    *ROLES,
                    "-k",
                    "5",
                    "--disclosure",
                    "advantage",
                    "--picture",
                    "p.svg",
                    "--csv",
                    "p.csv",
                    "--target-k",
                    "5",
                    "--out",
                    "best",
                ]
            )
            == 130
        )
        assert {p.name for p in Path().iterdir()} == before
        assert "nothing was written" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            ([], "no FILE"),
            (["people.csv", *ROLES, "-k", "five"], "numbers joined by commas"),
            (["people.csv", *ROLES, "--out", "best"], "needs a --target"),
            (["people.csv", *ROLES, *GRID, "--target-utility", "2"], "meets the targets"),
            (["people.csv", "--quasi", "age"], "at least one sensitive"),
            (["people.csv", *ROLES, "--method", "mars"], "did you mean 'mart'"),
            (["people.csv", *ROLES, "--utility", "fun"], "utility must be one of"),
        ],
    )
    def test_bad_input(self, capsys, arguments, says):
        assert run(["frontier", *arguments]) == 2
        assert says in capsys.readouterr().err
        assert not Path("best").exists()
