"""hedgerow score, and the masking methods from the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from hedgerow.cli.app import run
from hedgerow.workflow.methods import METHODS, make


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    wage = random.lognormal(3, 1, 200).round(2)
    frame = pd.DataFrame({"wage": wage, "rent": (wage * 0.3).round(2), "sex": ["f", "m"] * 100})
    frame.to_csv("people.csv", index=False)
    return tmp_path


@pytest.mark.parametrize(
    ("quasi", "words"),
    [
        ("wage,rent", "porop --block-size 200 --degree 2 --clip --random-state 1"),
        ("wage,rent", "lirop --block-size 150 --noise perturbative"),
        ("wage,rent", "microaggregation -k 4 --distance euclidean"),
        ("wage,sex", "microaggregation -k 4 --distance gower"),
        ("wage,rent", "noise --scale 0.2 --correlated"),
        ("wage,rent", "rank-swapping --proportion 0.1"),
        ("wage,rent", "top-bottom --top-share 0.1 --replace mean"),
        ("sex", "pram --stay 0.6 --no-invariant"),
        ("wage,sex", "local-suppression -k 3"),
    ],
)
def test_every_masking_method_writes_a_release(folder, quasi, words, capsys):
    given = ["protect", "people.csv", "--quasi", quasi, "--method", *words.split(), "--out", "out"]
    given += ["--rest", "release", "--keep-order"]
    assert run(given) == 0
    assert (folder / "out" / "MASKING.md").exists()
    plan = json.loads((folder / "out" / "plan.json").read_text())
    assert plan["recoding"]["kind"] == "mask"
    assert "random_state" not in plan["parameters"]
    released = pd.read_csv(folder / "out" / "release.csv")
    original = pd.read_csv("people.csv")
    assert list(released) == list(original)
    kept = [n for n in original if n not in quasi.split(",")]
    pd.testing.assert_frame_equal(released[kept], original[kept])
    assert not released.equals(original)


def test_score_of_files(folder, capsys):
    pd.read_csv("people.csv").assign(wage=lambda f: f["wage"] + 5).to_csv("m.csv", index=False)
    assert run(["score", "people.csv", "m.csv", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["columns"] == ["wage", "rent"]
    both = told["distance"], told["distance_ranks"]
    assert told["dld"] == pytest.approx(max(np.mean(each) for each in both))
    assert told["paper"]["dld"] == pytest.approx(np.mean(told["distance"]))
    assert told["score"] == pytest.approx((told["il"] + told["dr"]) / 2)
    assert told["loss"]["variances"] == pytest.approx(0, abs=1e-9)
    assert told["paired_by"] in ("order", "columns")
    assert run(["score", "people.csv", "m.csv", "--columns", "rent", "--known", "1"]) == 0
    told = capsys.readouterr().out
    assert "information loss  0.00" in told
    assert told.count("as in the papers") == told.count("which no single value moves") == 2
    assert run(["score", "people.csv", "m.csv", "--known", "5"]) == 2
    assert "known is 5" in capsys.readouterr().err
    assert run(["score", "people.csv", "nothing.csv"]) == 2


def test_bad_input_writes_nothing(folder, capsys):
    for words, said in (
        ("wage,sex --method porop --block-size 100", "'sex' (categorical)"),
        ("wage --method porop --block-size 201 --degree 1", "only 200 values"),
        ("wage --method porop --block-size 2 --degree 1", "passes through 2 values"),
        ("wage --method lirop --degree 2", "no option --degree"),
    ):
        assert run(["protect", "people.csv", "--quasi", *words.split(), "--out", "out"]) == 2
        assert said in capsys.readouterr().err
        assert not (folder / "out").exists()


def test_every_listed_method_can_be_made():
    for name in METHODS:
        assert make(name, {}).get_params() is not None
