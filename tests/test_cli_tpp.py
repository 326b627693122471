"""hedgerow protect --method tpp and hedgerow verify-model, from the command line."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.io.read import read
from hedgerow.io.write import write_table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    home = tmp_path_factory.mktemp("tpp")
    rng = np.random.default_rng(0)
    n = 900
    age, town = rng.integers(18, 90, n), rng.choice(["a", "b", "c", "=d"], n)
    rate, faith = rng.integers(0, 512, n) / 512, rng.choice(["p", "q", "r"], n)
    ill = np.where(age / 90 + rate + (town == "c") + rng.normal(0, 0.2, n) > 1.1, "yes", "no")
    frame = pd.DataFrame({"age": age, "town": town, "rate": rate, "faith": faith, "ill": ill})
    frame["colour"] = rng.choice(["red", "green"], n)
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
    assert protect(folder, "release", "--trees", "tree criterion=gini n_splits=4", "--l", "1.2") == 0
    out = folder / "release"
    assert {p.name for p in out.iterdir()} == {
        "release.csv",
        "plan.json",
        "audit.json",
        "RECIPIENT.md",
        "model.json",
        "report.html",
    }
    assert "hedgerow verify-model model.json release.csv" in (out / "RECIPIENT.md").read_text()
    model = json.loads((out / "model.json").read_text())
    assert model["hedgerow_model"] == 1
    assert model["reached"]["k"] >= 5
    assert model["reached"]["l"] > 1.2
    released = json.loads((out / "audit.json").read_text())["release"]
    checks = {c["name"] for c in released["checks"]}
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


def test_a_tree_that_had_to_shrink_is_told_wherever_the_release_is(folder, capsys):
    assert protect(folder, "shrunk", "--trees", "tree n_splits=40") == 0
    words = "the tree was to have 41 leaves and is published with"
    assert words in " ".join(capsys.readouterr().err.split())
    assert words in (folder / "shrunk" / "report.html").read_text("utf-8")
    assert words in (folder / "shrunk" / "audit.json").read_text("utf-8")
    assert protect(folder, "kept", "--trees", "tree n_splits=1") == 0
    assert "was to have" not in capsys.readouterr().err


def test_a_release_with_an_untested_column_gets_its_report_and_can_be_audited(folder, capsys):
    assert protect(folder, "untested", "--quasi", "colour", "--trees", "tree n_splits=1") == 0
    out = folder / "untested"
    released = pd.read_csv(out / "release.csv")
    assert set(released["colour"]) == {"ALL"}
    assert (out / "report.html").is_file()
    capsys.readouterr()
    for release in (out, out / "release.csv"):
        command = ["audit", str(folder / "people.csv"), str(release), "--no-learning", "--json"]
        roles = ["--quasi", "age,town,rate,colour", "--sensitive", "faith"]
        given = [] if release == out else [*roles, "--plan", str(out / "plan.json")]
        assert run([*command, *given]) == 0, capsys.readouterr().err
        assert json.loads(capsys.readouterr().out)["risk"]["release"]["classes"]["k"] >= 200


def test_an_empty_model_or_another_number_of_records_is_no_verification(folder, capsys):
    assert protect(folder, "counted") == 0
    out = folder / "counted"
    model = json.loads((out / "model.json").read_text())
    for empty in ({"models": []}, {"models": [{**model["models"][0], "trees": []}]}):
        (folder / "empty.json").write_text(json.dumps(model | empty))
        assert run(["verify-model", str(folder / "empty.json"), str(out / "release.csv")]) == 2
        assert "publishes no tree" in capsys.readouterr().err
    (folder / "more.json").write_text(json.dumps(model | {"n_records": 901}))
    assert run(["verify-model", str(folder / "more.json"), str(out / "release.csv")]) == 1
    assert "900 records, 901 published" in capsys.readouterr().out


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".feather"])
def test_what_the_recipient_is_told_to_run_reads_the_file_that_is_there(folder, tmp_path, suffix):
    people = read(folder / "people.csv")
    write_table(people.arrow, tmp_path / f"people{suffix}")
    if suffix == ".csv":  # as a spreadsheet of many countries writes it
        text = (tmp_path / "people.csv").read_text().replace(",", ";").replace(".", ",")
        (tmp_path / "people.csv").write_text(text)
    schema = hr.Schema(quasi=["age", "rate"], sensitive=["ill"])
    frame = people.arrow.select(["age", "rate"]).to_pandas()
    tree = DecisionTreeClassifier(max_leaf_nodes=3, min_samples_leaf=50, random_state=0)
    tree.fit(frame, people.arrow.column("ill").to_pandas())
    method = hr.TreePatternPreserving(tree, k=5)
    with pytest.warns(UserWarning, match="left out"):
        release = hr.protect(tmp_path / f"people{suffix}", schema, method)
    out = release.write(tmp_path / "out")
    told = (out / "RECIPIENT.md").read_text()
    assert set(re.findall(r"[\w-]+\.(?:csv|parquet|feather|json|svg)\b(?!\()", told)) <= {
        path.name for path in out.iterdir()
    }
    lines = [line[4:] for line in told.splitlines() if line.startswith("    ")]
    start = lines.index("import pandas as pd")
    *code, fit = lines[start : start + 4]
    known = {}
    exec("\n".join([*code, f"made = {fit}"]).replace('"release.', f'"{out}/release.'), known)
    root = release.method.model_["models"][0]["trees"][0]["nodes"][0]
    assert known["made"].tree_.threshold[0] == root["threshold"]
    assert ('sep=";", decimal=","' in code[2]) == (suffix == ".csv")
