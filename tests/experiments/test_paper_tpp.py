"""Table I and the figures of Fu et al., and the learners that read released cells."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.__main__ import main
from experiments.tpp import Bayes, Encoder, _distinct, svm, tree

from experiments import tpp

DATA = os.environ.get("HEDGEROW_DATA", "")
needs_adult = pytest.mark.skipif(
    not (DATA and (Path(DATA) / "adult_train.parquet").exists()),
    reason="the Adult data are absent: set HEDGEROW_DATA to the folder that holds them",
)


@needs_adult
def test_table_1_comes_out():
    made = tpp.table1()
    assert made["records"] == 30717
    assert {row["preserved"]: row["k"] for row in made["rows"]} == {"tree 1": 154, "tree 2": 120, "both": 25}
    assert json.loads(json.dumps(made)) == made


@needs_adult
def test_the_command_prints_table_1(capsys):
    assert main(["tpp-table1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["splits"][0] for row in told["rows"][:2]] == [
        "relationship; education-num < 12.5; capital-gain < 5095.5",
        "relationship; capital-gain < 7073.5; education-num < 12.5",
    ]
    assert main(["tpp-table1"]) == 0
    assert "154" in capsys.readouterr().out


@needs_adult
def test_figures_are_flat_rows_and_pictures(monkeypatch):
    monkeypatch.setattr(
        tpp,
        "scaling",
        lambda: {n: [{k: 1, "seconds": 0.1}] for n, k in (("figure15", "records"), ("figure16", "attributes"))},
    )
    made = tpp.figures(leaves=(2,), folds=2, rows=800)
    assert len(made["adult_scores"]) == 3
    assert len(made["diabetes_scores"]) == 2
    assert made["adult_privacy"][0]["leaves"] == 2
    assert {"k tpp", "k mondrian", "l tpp", "l mondrian"} < set(made["adult_privacy"][0])
    assert len(made["pictures"]) == 10
    assert "leaks" in made["protocols"]


@needs_adult
def test_both_protocols_stand_side_by_side():
    rows = tpp._compare_adult((3,), 3, 0, 1500)
    assert [row["leaves"] for row in rows] == [3]
    for learner in ("tree", "naive Bayes", "linear SVM"):
        scores = rows[0]["scores"][learner]
        assert set(scores) == {"original"} | {
            f"{m} {p}" for m in ("tpp", "mondrian") for p in ("leaking", "honest", "recoded")
        }
        assert all(0 <= v <= 1 for v in scores.values())
    assert rows[0]["k"]["mondrian"] >= rows[0]["k"]["tpp"] >= 2


def test_the_honest_tree_is_the_original_tree():
    """Trained on the sanitized folds and tested on raw records, the tree errs as the original."""
    row = tpp._compare_diabetes((4,), 5, 0)[0]
    scores = row["scores"]["tree"]
    assert scores["tpp honest"] == pytest.approx(scores["original"], abs=0.02)
    assert scores["tpp leaking"] > scores["tpp honest"]


def test_pictures_are_svg_and_the_same_twice():
    from experiments.tpp import pictures

    keys = ("original", "tpp leaking", "tpp honest", "mondrian leaking", "mondrian honest")
    rows = [
        {
            "leaves": size,
            "k": {"tpp": 10, "mondrian": 12},
            "l": {"tpp": 2.0, "mondrian": 2.5},
            "scores": {
                learner: dict.fromkeys(keys, 0.5)
                for learner in ("tree", "naive Bayes", "linear SVM", "linear regression")
            },
        }
        for size in (2, 3)
    ]
    made = {
        "adult": rows,
        "diabetes": rows,
        "figure15": [{"records": n, "seconds": 0.1} for n in (1, 2)],
        "figure16": [{"attributes": n, "seconds": 0.1} for n in (1, 2)],
    }
    first = pictures(made)
    assert first == pictures(made)
    assert all("<svg" in picture for picture in first.values())
    assert set(first) == {f"figure{n}" for n in (5, 6, 7, 8, 9, 11, 12, 13, 15, 16)}


def test_the_encoder_reads_joined_cells_as_shares_and_drops_constants():
    released = pd.DataFrame({"job": ["a+b", "c", "a+b", '"x+y":3+a:1'], "town": ["ALL"] * 4, "age": [1.0, 2, 2, 5]})
    encoder = Encoder().fit(released)
    made = encoder.transform(released)
    assert made.numbers.tolist() == [[1.0], [2.0], [2.0], [5.0]]
    shares = [dict(zip(encoder.parts[0][1], row, strict=True)) for row in made.shares[0].tolist()]
    assert shares[0] == {"a": 0.5, "b": 0.5, "c": 0, "x+y": 0}
    assert shares[3] == {"a": 0.25, "b": 0, "c": 0, "x+y": 0.75}
    raw = encoder.transform(pd.DataFrame({"job": ["b", "new"], "town": "q", "age": [3, 4]}))
    assert raw.shares[0].tolist() == [[0, 1, 0, 0], [0, 0, 0, 0]]


def test_bayes_is_the_textbook_rule():
    frame = pd.DataFrame({"c": list("aabbbcaacb"), "x": np.arange(10.0) ** 1.5})
    y = pd.Series(list("nnynyynnyy"))
    encoder = Encoder().fit(frame)
    made = encoder.transform(frame)
    guess = Bayes().fit(made, y).predict(made)
    for i in range(10):
        told = {}
        for c in "ny":
            own = frame[y == c]
            mean, var = own["x"].mean(), own["x"].var(ddof=0)
            normal = np.exp(-((frame["x"][i] - mean) ** 2) / (2 * var)) / np.sqrt(var)
            share = ((own["c"] == frame["c"][i]).sum() + 1) / (len(own) + 3)
            told[c] = (y == c).mean() * normal * share
        assert guess[i] == max(told, key=told.get)


def test_a_table_without_columns_left_guesses_the_majority():
    frame = pd.DataFrame({"a": ["ALL"] * 5})
    y = pd.Series(list("nnnyy"))
    made = Encoder().fit(frame).transform(frame)
    assert tree(True)(3).fit(made, y).predict(made).tolist() == ["n"] * 5


@needs_adult
def test_figures_say_what_they_do(monkeypatch):
    monkeypatch.setattr(tpp, "scaling", lambda: {"figure15": [], "figure16": []})
    monkeypatch.setattr(tpp, "pictures", lambda found: {})
    heard = []
    tpp.figures(leaves=(2, 3), folds=2, rows=400, progress=lambda *told: heard.append(told))
    steps, shares = zip(*heard, strict=True)
    assert steps[:3] == ("Adult, 2 leaves", "Adult, 3 leaves", "diabetes, 2 leaves")
    assert list(shares) == sorted(shares)
    assert shares[0] == 0 < shares[-1] < 1


@needs_adult
def test_equal_records_train_a_linear_svm_as_one_of_their_number():
    frame = tpp.adult().sample(2000, random_state=1)
    X, y = frame[["age", "education-num", "sex"]].copy(), frame["income"]
    X["age"] = X["age"] // 20
    made = Encoder().fit(X).transform(X)
    ours, plain = svm(2).fit(made, y), svm(2)
    plain.weighted = ()
    assert len(_distinct(made.matrix, y)[0]) < 500
    assert (ours.predict(made) == plain.fit(made, y).predict(made)).mean() > 0.999
