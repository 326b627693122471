"""What a release tells although every check holds is said with counts, wherever it is told."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.methods.masking import NoiseAddition, TopBottomCoding
from hedgerow.methods.microaggregation import Microaggregation
from hedgerow.release.warnings import certainty_lost

from ..workflow.conftest import CHOSEN, chosen, here

__all__ = ["here"]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

PEOPLE = pd.DataFrame(
    {
        "age": [20, 20, 20, 30, 30, 30, 40, 40, 40],
        "ill": ["no", "no", "no", "yes", "no", "no", "yes", "yes", "yes"],
        "pay": [10, 11, 12, 13, 14, 15, 16, 17, 18],
    }
)
ROLES = hr.Schema(quasi=["age"], sensitive=["ill", "pay"])


def told(method: Any, roles: hr.Schema = ROLES, people: pd.DataFrame = PEOPLE) -> list[str]:
    return hr.protect(people[[*roles.quasi, *roles.sensitive]], roles, method).cautions


def test_groups_of_one_value_are_counted() -> None:
    words = "in 2 of 3 groups everybody has the same value of ill, which the group reveals (6 records)"
    assert told(hr.Mondrian(k=3), ROLES.replace(sensitive=["ill"])) == [words]


def test_records_that_are_alone_are_counted() -> None:
    """Anatomy leaves the quasi-identifiers as they are."""
    people = PEOPLE.assign(age=[20, 20, 20, 20, 20, 20, 40, 50, 60])
    said = told(hr.Anatomy(l=2), ROLES.replace(sensitive=["pay"]), people)
    assert said[0] == "k = 1: 3 of 9 records are alone with the released quasi-identifiers"


def test_a_group_that_gives_away_all_without_being_of_one_value() -> None:
    """Whose pay is known in the first group has one; where it is missing, nothing is known."""
    people = PEOPLE.assign(pay=[10, 10, None, 13, 14, 15, 16, 17, 18])
    said = told(hr.Mondrian(k=3), ROLES.replace(sensitive=["pay"]), people)
    assert said == [
        "2 of 3 groups give away more than half of pay, the worst 1.000 of 1 (6 records), and no cap was promised"
    ]


def test_nothing_is_said_where_nothing_is_told() -> None:
    roles = ROLES.replace(sensitive=["pay"])
    people = pd.concat([PEOPLE] * 3)
    assert told(hr.MART(k=9, max_disclosure=0.99), roles, people) == []
    everybody = people.assign(ill="no")  # what everybody has is public
    roles = ROLES.replace(sensitive=["ill"])
    (word,) = told(hr.Mondrian(k=5), roles, everybody)  # that there is nothing to infer
    assert word.startswith("ill: all records have the same value")


def test_a_high_information_loss_gives_a_caution() -> None:
    whole, said, ends = told(hr.Mondrian(k=9))
    assert whole == "all records are one group: ask for a smaller k, or for a looser cap"
    assert ends.startswith("1 age range ends on a value that fewer than")
    assert said == "the recoded cells lost 100% of their detail (NCP), so they say little"


@pytest.mark.parametrize(
    "texts",
    [
        [*map(str, range(20_000, 20_009)), "unknown"],
        [*(f"{i},5" for i in range(12, 21)), "k.A."],
        [*(f"{i}.12.2020" for i in range(11, 20)), "?"],
        [f"1.{i}0,50 €" for i in range(10, 20)],
        [str(2**53 + i) for i in range(10)],
    ],
)
def test_numbers_and_dates_that_arrive_as_text_are_told(texts: list[str]) -> None:
    people = pd.DataFrame({"age": [20, 30] * 30, "pay": sorted(texts * 6)})
    roles = hr.Schema(quasi=["age"], sensitive=["pay"])
    (said,) = told(hr.Mondrian(k=10), roles, people)
    n = sum(text[0].isdigit() for text in texts) * 6
    assert said.startswith(f"pay: judged as categories, but {n} of its 60 values look like numbers or dates")
    assert not any(text in said for text in texts)
    declared = roles.replace(kinds={"pay": "categorical"})  # who says so has looked
    assert told(hr.Mondrian(k=10), declared, people) == []


def test_dates_that_arrive_as_text_get_no_ranges() -> None:
    people = pd.DataFrame({"born": [f"{i % 28 + 1}.12.{1960 + i % 9}" for i in range(60)], "pay": range(60)})
    roles = hr.Schema(quasi=["born"], sensitive=["pay"])
    said = [text for text in told(hr.MART(k=10), roles, people) if text.startswith("born")]
    assert said[0].startswith("born: 60 of its 60 values look like dates")
    assert not any("12.19" in text for text in said)
    for kind in ("date", "categorical"):
        declared = told(hr.MART(k=10), roles.replace(kinds={"born": kind}), people)
        assert not any("look like dates" in text for text in declared)
    people.loc[5, "born"] = "31.02.1990"
    assert told(hr.MART(k=10), roles, people)[0].startswith("born: 59 of its 60 values look like dates")
    sizes = people.assign(born=[f"1.{i}" for i in range(20, 79)] + ["1.72 m"])
    assert told(hr.MART(k=10), roles, sizes)[0].startswith("born: 59 of its 60 values look like numbers, but")
    codes = people.assign(born=[f"{i:05}" for i in range(60)])
    assert not any("look like dates" in text for text in told(hr.MART(k=10), roles, codes))


def test_codes_are_no_numbers_that_arrive_as_text() -> None:
    people = pd.DataFrame({"age": [20, 30] * 30, "isco": sorted([*map(str, range(2000, 2010))] * 6)})
    assert not any(
        "judged" in text for text in told(hr.Mondrian(k=10), hr.Schema(quasi=["age"], sensitive=["isco"]), people)
    )


def test_text_that_differs_nearly_everywhere_is_told() -> None:
    people = pd.DataFrame({"age": [20, 30] * 15, "note": [f"note {i}" for i in range(30)]})
    roles = hr.Schema(quasi=["age"], sensitive=["note"])
    (said,) = told(hr.Mondrian(k=10), roles, people)
    assert said.startswith("note: judged as categories, but 30 of its 30 values differ")
    repeated = people.assign(note=[f"note {i // 2}" for i in range(30)])
    assert told(hr.Mondrian(k=10), roles, repeated) == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (pd.to_timedelta([1, 2, 3] * 20, unit="D"), r"come: durations come back as numbers \(\w+seconds\)"),
        ([1, "two", 3.5] * 20, "come: mixed types come back as text"),
        (np.array([1j, 2 + 1j, 3] * 20), "come: values of the type complex come back as text"),
        (pd.period_range("2000", periods=3, freq="Y").repeat(20), "come: values of the type Period come back as text"),
        (pd.arrays.IntervalArray.from_breaks([0, 1, 2, 3]).repeat(20), "come: values of the type Interval come back"),
        ([dt.time(1), dt.time(2), dt.time(3)] * 20, "come: times of day come back as text"),
    ],
)
def test_types_that_do_not_come_back_are_told(values: Any, words: str) -> None:
    people = pd.DataFrame({"come": values, "pay": range(60)})
    said = hr.protect(people, hr.Schema(quasi=["come"], sensitive=["pay"]), hr.Hedge(5)).cautions
    assert [text for text in said if re.match(words, text)]
    unchanged = hr.protect(people, hr.Schema(quasi=["pay"], sensitive=["come"]), hr.MART(20, max_disclosure=None))
    assert unchanged.table["come"].dtype == people["come"].dtype
    assert not any("come back" in text for text in unchanged.cautions)


def test_mixed_types_give_a_caution_in_every_kind_of_frame() -> None:
    come: list[Any] = [1, "two", 3.5] * 20
    frames: list[Any] = [
        {"come": come, "pay": [*range(60)]},
        pl.DataFrame({"come": pl.Series(come, dtype=pl.Object), "pay": range(60)}),
        pd.DataFrame({"come": come, "pay": range(60)}),
    ]
    for people in frames:
        said = hr.protect(people, hr.Schema(quasi=["come"], sensitive=["pay"]), hr.Hedge(5)).cautions
        assert "come: mixed types come back as text" in said
    array = np.array([[each, i] for i, each in enumerate(come)], object)
    said = hr.protect(array, hr.Schema(quasi=["x0"], sensitive=["x1"]), hr.Hedge(5)).cautions
    assert "x0: mixed types come back as text" in said


def test_events_that_judge_nothing_are_told() -> None:
    people = pd.concat([PEOPLE] * 3)
    events = {"pay": ["> 12", "> 17.5", "> 18", ">= 10"]}
    roles = hr.Schema(quasi=["age"], sensitive=["pay"], events=events)
    assert told(hr.Mondrian(k=9), roles, people)[:2] == [
        "pay: the declared event > 18 holds for no value, so it has no effect",
        "pay: the declared event >= 10 holds for every value, so it has no effect",
    ]


def test_altered_records_that_tell_one_value_together_are_counted() -> None:
    roles = ROLES.replace(sensitive=["ill"])
    people = PEOPLE.assign(age=[20, 21, 22, 30, 31, 32, 40, 41, 42])
    said = told(Microaggregation(3), roles, people)
    assert said == ["in 2 of 3 groups everybody has the same value of ill, which the group reveals (6 records)"]


def test_records_that_masking_hardly_moves_are_counted() -> None:
    people = pd.DataFrame({"age": [i * 1.5 for i in range(40)], "ill": ["a", "b"] * 20})
    roles = hr.Schema(quasi=["age"], sensitive=["ill"])
    words = "of 40 records keep all their quasi-identifiers (numbers to a thousandth of their spread)"
    assert told(NoiseAddition(1e-9, random_state=1), roles, people) == [f"40 {words}"]
    assert told(NoiseAddition(0.5, random_state=1), roles, people) == []
    (said,) = told(TopBottomCoding(top_share=0.1), roles, people)
    assert said.split(" of ")[0] in ("36", "37")
    assert said.endswith(words)
    shuffled = people.sample(frac=1, random_state=1)
    assert told(TopBottomCoding(top_share=0.1), roles, shuffled) == [said]


def test_anatomy_is_measured_by_the_values_of_its_buckets() -> None:
    """The released column holds numbers of buckets, which tell nothing of the values."""
    people = pd.DataFrame({"age": range(8), "ill": list("aabbccdd")})
    roles = hr.Schema(quasi=["age"], sensitive=["ill"])
    release = hr.protect(people, roles, hr.Anatomy(l=2, random_state=1))
    buckets = release.method.st_.to_pandas().groupby("group")["ill"].agg(list)
    assert set(buckets.map(len)) == {2}
    # |p - P|^2 = 2/4 - 2/4 + 1/4 = 1/4; every record's loss is 1 - 2/4 + 1/4 = 3/4
    found = release.summary()["disclosure"]["columns"]["ill"]
    assert found == pytest.approx(dict.fromkeys(found, 1 / 3))


def test_columns_that_chance_leaves_as_they_are_are_named() -> None:
    people = pd.concat([PEOPLE] * 20).assign(sex=["a", "b"] * 90)
    roles = hr.Schema(quasi=["age", "sex"], sensitive=["ill"])
    free = hr.RandomizedResponse(l=1.5, random_state=1)  # the sex tells nothing of the illness
    release = hr.protect(people, roles.replace(quasi=["sex"]), free)
    assert [column.p for column in release.plan.recoding.columns] == [1.0]
    assert release.cautions[-1] == "the method left every cell, or nearly every one, as it was in: sex"
    still = hr.PRAM(stay=1.0, invariant=False, random_state=1)
    assert told(still, roles.replace(quasi=["sex"]), people) == [release.cautions[-1]]


@pytest.mark.parametrize("name", [name for name in CHOSEN if name != "private-tree"])  # its rows are nobody's
def test_the_certainty_lost_is_that_of_the_audit(name: str, here: Path) -> None:
    roles, method = chosen(name)
    release = hr.protect("people.csv", roles, method)
    lost = certainty_lost(release.plan, release.original, release.released)
    if release.plan.recoding.risk_model == "linkage" or name == "anatomy":
        assert lost is None
        return
    measured = hr.audit("people.csv", release, attacks=False, learning=False)
    assert lost == pytest.approx(measured.utility["loss"]["ncp"], abs=1e-12)


def test_terminal_report_json_session_and_python_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    words = "in 2 of 3 groups everybody has the same value of ill, which the group reveals (6 records)"
    roles = ["--quasi", "age", "--sensitive", "ill,pay"]
    command = ["protect", "people.csv", *roles, "--method", "mondrian", "-k", "3"]
    assert run([*command, "--out", "out", "--json"]) == 0
    seen = capsys.readouterr()
    assert seen.err.count(f"warning: {words}\n") == 1
    assert words in json.loads(seen.out)["cautions"]
    assert words in json.loads(Path("out/audit.json").read_text())["release"]["cautions"]
    assert words in Path("out/report.html").read_text()
    assert words not in Path("out/RECIPIENT.md").read_text()
    session = hr.Session("people.csv")
    session.choose(ROLES, hr.Mondrian(k=3))
    release = session.protect()
    assert session.cautions == release.cautions
    with pytest.warns(UserWarning, match="everybody has the same value") as heard:
        hr.protect("people.csv", ROLES, hr.Mondrian(k=3))
    assert Counter(str(w.message) for w in heard) == Counter(release.cautions)
    assert {w.filename for w in heard} == {__file__}


@pytest.mark.parametrize("method", [hr.MART, hr.Mondrian, hr.Incognito])
def test_a_cap_that_chance_breaks_is_told(method: Any) -> None:
    people = hr.datasets.make_people(300, seed=1).select(["age", "income"])
    roles = hr.Schema(quasi=["age"], sensitive=["income"])

    def said(k: int, cap: float | None) -> list[str]:
        made = hr.protect(people, roles, method(k=k, max_disclosure=cap), guard=None)
        return [text for text in made.cautions if "drawn at random" in text]

    assert said(10, 0.2) == [
        "k = 10 with max_disclosure = 0.2: even 10 records drawn at random often exceed that cap; use k of at least 15"
    ]
    assert said(15, 0.2) == said(10, 0.3) == said(10, None) == []
    assert "records are too few for a k" in said(10, 1e-300)[0]


def test_extremes_that_few_have_are_told_wherever_a_release_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One person of 109 and one of 3 stand in ranges of their groups, five to a group."""
    people = pd.DataFrame({"age": [3, *range(20, 70, 5), 109] * 1, "pay": range(12)})
    people = pd.concat([people, people.iloc[1:-1], people.iloc[1:-1]], ignore_index=True)
    people.to_csv("people.csv", index=False)
    words = "2 age ranges end on a value that fewer than 3 records have"
    roles = hr.Schema(quasi=["age"], sensitive=["pay"])
    release = hr.protect(people, roles, hr.Mondrian(3))
    cells = release.table["age"].astype(str)
    shown = int(cells.str.contains("109").sum() + cells.str.startswith("[3-").sum())
    assert release.summary()["extremes"] == {"age": {"cells": 2, "records": shown}}
    (said,) = [text for text in release.cautions if "age ranges end" in text]
    assert said.startswith(words)
    assert f"({shown} records show them)" in said
    found = hr.audit(people, release, attacks=False, learning=False)
    assert found.table["extremes"] == {"age": {"cells": 2, "records": shown}}
    assert said in found.table["notes"]
    asked = ["protect", "people.csv", "--quasi", "age", "--sensitive", "pay", "-k", "3"]
    assert run([*asked, "--method", "mondrian", "--out", "out"]) == 0
    assert words in " ".join(capsys.readouterr().err.split())
    assert words in (here / "out/report.html").read_text()
    released = json.loads((here / "out/audit.json").read_text())["release"]
    assert released["extremes"]["age"]["cells"] == 2
    public = roles.replace(grid={"age": [20, 40, 60]})
    assert hr.protect(people, public, hr.Mondrian(3)).summary()["extremes"] == {}
