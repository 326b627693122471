"""hedgerow protect --method tpp and hedgerow verify-model, from the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from hedgerow.cli.run import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("tpp")
    rng = np.random.default_rng(0)
    n = 900
    age, town = rng.integers(18, 90, n), rng.choice(["a", "b", "c", "=d"], n)
    rate, faith = np.round(rng.random(n), 3), rng.choice(["p", "q", "r"], n)
    ill = np.where(age / 90 + rate + (town == "c") + rng.normal(0, 0.2, n) > 1.1, "yes", "no")
    frame = pd.DataFrame({"age": age, "town": town, "rate": rate, "faith": faith, "ill": ill})
    frame["name"] = [f"person {i}" for i in range(n)]
    frame.to_csv(home / "people.csv", index=False)
    return home


def protect(folder, out, *more):
    return run(
        [
            "protect",
            str(folder / "people.csv"),
            "--quasi",
            "age,town,rate",
            "--sensitive",
            "faith",
            "--identifiers",
            "name",
            "--response",
            "ill",
            "--method",
            "tpp",
            "-k",
            "5",
            "--out",
            str(folder / out),
            *more,
        ]
    )


def test_release_model_and_verification(folder, capsys):
    assert (
        protect(folder, "release", "--trees", "tree criterion=gini n_splits=4", "--l", "1.2") == 0
    )
    out = folder / "release"
    assert {p.name for p in out.iterdir()} == {
        "release.csv",
        "plan.json",
        "audit.json",
        "RECIPIENT.md",
        "model.json",
        "trees.svg",
        "report.html",
    }
    # the published trees stand in the report
    assert "trees.svg: published with the release" in (out / "report.html").read_text("utf-8")
    assert "hedgerow verify-model model.json release.csv" in (out / "RECIPIENT.md").read_text()
    model = json.loads((out / "model.json").read_text())
    assert model["hedgerow_model"] == 1
    assert model["reached"]["k"] >= 5
    assert model["reached"]["l"] > 1.2
    checks = {c["name"] for c in json.loads((out / "audit.json").read_text())["checks"]}
    assert "model rebuilt" in checks
    capsys.readouterr()
    assert run(["verify-model", str(out / "model.json"), str(out / "release.csv")]) == 0
    assert capsys.readouterr().out == "identical\n"
    released = pd.read_csv(out / "release.csv")
    assert released.groupby(["age", "town", "rate"]).size().min() == model["reached"]["k"]
    original = pd.read_csv(folder / "people.csv")
    both = ["ill", "faith"]
    assert released.value_counts(both).to_dict() == original.value_counts(both).to_dict()


def test_a_changed_release_exits_1_with_the_first_node(folder, capsys):
    assert protect(folder, "changed") == 0
    out = folder / "changed"
    released = pd.read_csv(out / "release.csv")
    used = next(
        n["attribute"]
        for n in json.loads((out / "model.json").read_text())["models"][0]["trees"][0]["nodes"]
        if "threshold" in n
    )
    released[used] = released[used] + 1e-9
    released.to_csv(out / "changed.csv", index=False)
    capsys.readouterr()
    assert run(["verify-model", str(out / "model.json"), str(out / "changed.csv")]) == 1
    assert "threshold" in capsys.readouterr().out
    assert run(["verify-model", str(out / "model.json"), str(out / "changed.csv"), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["identical"] is False


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--trees", "tree pruning=cost_complexity"], "cost-complexity"),
        (["--trees", "tree criterion=c4.5"], "average-gain"),
        (["--trees", "rpart cp=0.01"], "cost complexity"),
        (["--l", "2.9"], "even the first split"),
        (["--alpha", "0.1"], "no option"),
    ],
)
def test_refusals_exit_2_and_write_nothing(folder, capsys, more, words):
    assert protect(folder, "refused", *more) == 2
    assert words in capsys.readouterr().err
    assert not (folder / "refused").exists()


def test_a_broken_model_file_exits_2(folder, capsys):
    (folder / "broken.json").write_text("{}")
    assert run(["verify-model", str(folder / "broken.json"), str(folder / "people.csv")]) == 2
    assert run(["verify-model", str(folder / "none.json"), str(folder / "people.csv")]) == 2
