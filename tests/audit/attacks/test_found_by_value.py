"""Found by a value: whose released row the sensitive values, or another column, find by themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.report.text import found_in_words

SCHEMA = hr.Schema(quasi=["age"], sensitive=["pay", "ill"], other=["note"])
QUICK = {"attacks": False, "learning": False, "inference": False}


def found(people, release, schema=SCHEMA, **more):
    return hr.audit(people, release, schema, **QUICK, **more).to_dict()["risk"]["found"]


def test_six_people_by_hand():
    people = pd.DataFrame(
        {
            "age": [20, 21, 22, 40, 41, 42],
            "pay": [1.0, 1.0, 2.0, 3.0, 3.0, 3.0],  # one of six is alone; without them, two of six find one
            "ill": ["flu", "cold", "flu", "flu", "flu", "flu"],
            "note": ["a", "b", "c", "d", "d", "d"],
        }
    )
    release = people.assign(age=["[20-22]"] * 3 + ["[40-42]"] * 3)
    by = found(people, release)
    assert by["against"] == "other members"
    assert {name: c["found"] for name, c in by["columns"].items()} == pytest.approx(
        {"ill": 1 / 6, "pay": 1 / 6, "note": 1 / 2}
    )
    assert by["columns"]["pay"]["control"] == pytest.approx(2 / 6)
    assert by["together"]["found"] == pytest.approx(3 / 6)
    assert by["together"]["control"] == 0
    # a range finds whom it covers, and two rows that cover a value find nobody
    ranges = release.assign(pay=["[1-2]", "[1-2]", "[1-2]", "[3-4]", "[3-4]", "[3-4]"])
    assert found(people, ranges, paired=False)["columns"]["pay"]["found"] == 0
    wide = people.assign(pay=[1.0, 1.5, 2.0, 3.0, 3.5, 4.0])
    shown = wide.assign(pay=["1", "1.5", "2", "[3-4]", "[3-4]", "4"])
    assert found(wide, shown, paired=False)["columns"]["pay"]["found"] == 0.5


def people_of(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    return pd.DataFrame({"age": age, "pay": (1_000 * (age + rng.normal(0, 20, n))).round(3)})


def test_unique_incomes_find_nearly_everybody_and_drawn_ones_nobody():
    people, others = people_of(2_000, 1), people_of(1_000, 2)
    schema = hr.Schema(quasi=["age"], sensitive=["pay"])
    release = hr.protect(people, schema, hr.MART(k=10))
    by = found(people, release, None)
    assert by["together"]["found"] > 0.95
    assert by["together"]["control"] < 0.01
    by = found(people, release, None, control=others)
    assert by["against"] == "strangers"
    assert by["together"]["control"] < 0.01
    independent = people.assign(pay=np.random.default_rng(3).permutation(people_of(2_000, 4)["pay"]))
    by = found(people, independent, schema, control=others, paired=False)
    assert abs(by["together"]["found"] - by["together"]["control"]) < 0.02
    assert by["together"]["found"] < 0.02


@pytest.mark.filterwarnings("ignore")
def test_it_stands_in_text_report_and_notes_for_the_recipient(tmp_path):
    people = people_of(400, 1)
    people["w"] = np.round(np.random.default_rng(0).uniform(1, 3, 400), 2)
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], weight="w")
    release = hr.protect(people, schema, hr.MART(k=10))
    audit = hr.audit(people, release, **QUICK)
    assert "Somebody who knows a person's pay finds the person's row in 100.0% of the cases" in str(audit)
    assert "Alone, w finds " in str(audit)
    # a row that fits is not known to be the person's where rows are not paired
    unpaired = str(hr.audit(people, release.table, schema, paired=False, **QUICK))
    assert "For 100.0% of the records exactly one row has their" in unpaired
    assert "the person's row" not in unpaired
    audit.report(tmp_path / "report.html")
    first = (tmp_path / "report.html").read_text().split("What is it still good for?")[0]
    assert "finds the person&#39;s row in 100% of the cases" in first
    release.write(tmp_path / "out")
    notes = (tmp_path / "out" / "RECIPIENT.md").read_text()
    assert "finds the person's record if nobody else has that value" in notes
    assert "pay 100.0%" in notes


def test_odd_tables_have_a_figure_or_none():
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(30) // 2, "D")
    people = pd.DataFrame({"age": range(30), "day": day, "one": ["x"] * 30, "gone": [None] * 29 + [5.0]})
    schema = hr.Schema(quasi=["age"], sensitive=["day", "one", "gone"])
    by = found(people, people, schema)
    assert by["columns"]["day"]["found"] == by["columns"]["one"]["found"] == 0
    assert by["columns"]["day"]["control"] == 1
    assert by["columns"]["gone"]["found"] == pytest.approx(1 / 30)
    assert found(people[["age"]], people[["age"]], hr.Schema(quasi=["age"])) is None


@pytest.mark.filterwarnings("ignore")
def test_one_sentence_says_that_nobody_is_found():
    people = people_of(600, 1)
    release = hr.protect(
        people, hr.Schema(quasi=["age"], sensitive=["pay"]), hr.Hedge(k=20, cells="means"), random_state=1
    )
    audit = hr.audit(people, release, **QUICK)
    assert audit.risk["found"]["together"]["found"] == 0
    assert "Nobody's row is found by the person's pay, alone or together; " in str(audit)
    assert "0.0% of the cases" not in str(audit)


def test_sixteen_columns_are_not_listed_twice():
    columns = {f"c{i}": {"role": "sensitive", "found": 0.25 * (i == 3), "control": None} for i in range(16)}
    together = {"found": 0.5, "control": None}
    words = found_in_words({"columns": columns, "together": together, "against": "strangers"}, {"paired": False})
    assert words.startswith("For 50.0% of the people exactly one row has their 16 sensitive values.")
    assert words.endswith("Alone, c3 finds 25.0%.")
