"""Rows whose quasi-identifiers are all suppressed: by themselves, as wildcards, or as a class."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.app import run

pytestmark = pytest.mark.filterwarnings("ignore")
QUICK = {"attacks": False, "learning": False}
ROLES = hr.Schema(quasi=["age", "zip"], sensitive=["pay"])


def generalised() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 200 people and their release in four classes of about 50, of which two people are suppressed."""
    draws = np.random.default_rng(1)
    people = pd.DataFrame({"age": draws.integers(20, 60, 200), "zip": draws.choice(["10", "11", "20", "21"], 200)})
    people["pay"] = draws.integers(1000, 3000, 200)
    release = people.assign(
        age=np.where(people["age"] < 40, "20-39", "40-59").astype(object), zip=people["zip"].str[:1] + "*"
    )
    release.loc[[7, 90], ["age", "zip"]] = "*"
    return people, release


@pytest.mark.parametrize("paired", [None, False])
def test_two_suppressed_rows_are_no_class_of_two(paired: bool | None) -> None:
    """A risk of .5 was said where ARX's rule gives one in the smallest class, and sdcMicro's two rows more."""
    people, release = generalised()
    sizes = release[release["age"] != "*"].groupby(["age", "zip"]).size()
    smallest = {"separate": sizes.min(), "wildcard": sizes.min() + 2, "strict": 2}
    for how, k in smallest.items():
        found = hr.audit(people, release, ROLES, suppressed=how, paired=paired, **QUICK)
        figures = found.risk["release"]
        assert figures["classes"]["k"] == k
        assert figures["reidentification"]["prosecutor"]["highest"] == pytest.approx(1 / k)
        assert found.table["wholly_suppressed"] == 2
        assert found.parameters["suppressed"] == how
        (note,) = (note for note in found.table["notes"] if "suppressed: 2" in note)
        assert "--suppressed" in note
        assert bool(found.broken(k=10)) == (how == "strict")
    alone = hr.audit(None, release, ROLES)
    assert alone.risk["release"]["classes"]["k"] == sizes.min()


def test_classes_are_held_against_the_totals_of_all_rows() -> None:
    """Without the rows that no class has, classes that are unlike the table were like it: t = 0."""
    people = pd.DataFrame({"group": ["a"] * 40 + ["b"] * 40 + ["c"] * 20, "ill": ["yes", "no"] * 40 + ["yes"] * 20})
    release = people.assign(group=people["group"].where(people["group"] != "c", "*"))
    for how in ("separate", "wildcard"):
        found = hr.audit(people, release, hr.Schema(quasi=["group"], sensitive=["ill"]), suppressed=how, **QUICK)
        assert found.risk["release"]["sensitive"]["ill"]["t"] == pytest.approx(0.1)


@pytest.mark.parametrize("seed", range(4))
def test_a_suppressed_cell_matches_anything_in_wildcard_counts(seed: int) -> None:
    """It did so only where some row was suppressed in all columns; counted here pair by pair."""
    draws, n = np.random.default_rng(seed), 120
    people = pd.DataFrame({name: draws.integers(0, 3, n).astype(str) for name in "abc"})
    people["pay"] = draws.integers(0, 9, n)
    lost = draws.random((n, 3)) < 0.2
    lost[lost.all(axis=1)] &= seed % 2 == 0
    release = people.copy()
    for i, name in enumerate("abc"):
        release.loc[lost[:, i], name] = None
    cells = release[list("abc")].to_numpy(object)
    agree = ((cells[:, None] == cells[None]) | lost[:, None] | lost[None]).all(axis=2).sum(axis=1)[~lost.all(axis=1)]
    for original in (people, None):
        roles = hr.Schema(quasi=list("abc"), sensitive=["pay"])
        found = hr.audit(original, release, roles, suppressed="wildcard", **QUICK)
        classes, risk = (found.risk["release"][part] for part in ("classes", "reidentification"))
        assert (classes["k"], classes["uniques"]) == (agree.min(), (agree == 1).sum())
        assert risk["prosecutor"]["expected"] == pytest.approx((1 / agree).sum())
        assert any("match anything" in note for note in found.table["notes"])


def test_nobody_is_alone_whom_a_suppressed_row_matches() -> None:
    people, release = generalised()
    release.loc[0, "age"] = "20-20"
    for how, alone in (("separate", 1), ("wildcard", 0), ("strict", 1)):
        classes = hr.audit(people, release, ROLES, suppressed=how, paired=False, **QUICK).risk["release"]["classes"]
        assert classes["uniques"] == alone
        assert (classes["unique_share"] > 0) == (alone > 0)


def test_verdict_and_exit_code_follow(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    people, release = generalised()
    people.to_csv(tmp_path / "people.csv", index=False)
    release.to_csv(tmp_path / "release.csv", index=False)
    words = ["audit", str(tmp_path / "people.csv"), str(tmp_path / "release.csv"), "--quasi", "age,zip"]
    words += ["--sensitive", "pay", "-k", "10", "--no-attacks", "--no-learning", "--json"]
    for how, code in (("separate", 0), ("wildcard", 0), ("strict", 1)):
        assert run([*words, "--suppressed", how]) == code
        assert json.loads(capsys.readouterr().out)["parameters"]["suppressed"] == how
    assert run(words) == 0
    capsys.readouterr()
    assert run([*words, "--suppressed", "loosely"]) == 2


def test_a_missing_value_that_the_original_has_too_is_a_value() -> None:
    people = pd.DataFrame({"age": [30.0, 30.0, np.nan, np.nan, np.nan], "pay": range(5)})
    roles = hr.Schema(quasi=["age"], sensitive=["pay"])
    found = hr.audit(people, people, roles, **QUICK)
    assert found.table["wholly_suppressed"] == 0
    assert found.risk["release"]["classes"]["classes"] == 2


def test_where_all_rows_are_suppressed_they_are_a_class() -> None:
    people, _ = generalised()
    release = people.assign(age="*", zip="*")
    found = hr.audit(people, release, ROLES, **QUICK)
    assert found.risk["release"]["classes"]["k"] == 200


def test_a_category_called_missing_is_a_category() -> None:
    """It ended with: released cells do not cover the original value of their row."""
    table = pd.DataFrame({"q": ["(missing)", "a"] * 30, "sex": list("fmfmmf") * 10, "pay": range(60)})
    roles = hr.Schema(quasi=["q", "sex"], sensitive=["pay"])
    found = hr.audit(table, table, roles, **QUICK)
    assert found.risk["release"]["classes"]["k"] == found.risk["original"]["classes"]["k"] == 10
    assert found.utility["loss"]["cells_changed"] == 0


def test_diversity_is_that_of_known_values() -> None:
    """Four people with hiv and one whose illness is unknown had two different values."""
    table = pd.DataFrame({"q": [1] * 5 + [2] * 5 + [3] * 2})
    table["ill"] = ["hiv"] * 4 + [None, "flu", "hiv", "flu", "hiv", None, None, None]
    figures = hr.audit(table, table, hr.Schema(quasi=["q"], sensitive=["ill"]), **QUICK).risk["release"]
    diversity = figures["sensitive"]["ill"]
    # a class of which nobody's value is known has one
    assert (diversity["distinct_l"], diversity["entropy_l"], diversity["alpha"]) == (1, 1.0, 1.0)
    known = hr.audit(table[5:10], table[5:10], hr.Schema(quasi=["q"], sensitive=["ill"]), **QUICK).risk["release"]
    diversity = known["sensitive"]["ill"]
    assert (diversity["distinct_l"], diversity["entropy_l"], diversity["alpha"]) == (2, pytest.approx(2.0), 0.5)


def test_a_group_of_which_nobodys_value_is_known_reveals_none() -> None:
    """Everybody had "the same value, which the group reveals"."""
    table = pd.DataFrame(
        {"q": [1] * 5 + [2] * 5 + [3] * 5, "ill": [None] * 5 + ["flu"] * 5 + ["flu", "hiv"] * 2 + ["hiv"]}
    )
    found = hr.audit(table, table, hr.Schema(quasi=["q"], sensitive=["ill"]), **QUICK)
    assert found.risk["release"]["sensitive"]["ill"]["exposed"]["single_valued"] == 1


def test_people_who_have_several_rows_are_counted_whatever_matches() -> None:
    """With a unit, --suppressed wildcard once counted rows, and k of one person was 10."""
    visits = pd.DataFrame({"id": np.repeat(np.arange(60), 10), "age": np.repeat(np.arange(60), 10).astype(str)})
    visits["ill"] = "x"
    visits.loc[:9, "age"] = "*"
    roles = hr.Schema(quasi=["age"], sensitive=["ill"], unit="id")
    for how in ("separate", "wildcard", "strict"):
        risk = hr.audit(visits, visits, roles, suppressed=how, **QUICK).risk["release"]
        assert (risk["classes"]["people"], risk["reidentification"]["prosecutor"]["highest"]) == (1, 1.0)
