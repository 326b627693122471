"""What a release tells although every check holds is said with counts, wherever it is told."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.run import run
from hedgerow.release.cautions import certainty_lost

from ..session.conftest import CHOSEN, chosen, here

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
    words = "ill: 2 of 3 groups hold one value, so their 6 records tell it"
    assert told(hr.Mondrian(k=3)) == [words]


def test_records_that_are_alone_are_counted() -> None:
    """Anatomy leaves the quasi-identifiers as they are."""
    people = PEOPLE.assign(age=[20, 20, 20, 20, 20, 20, 40, 50, 60])
    (said,) = told(hr.Anatomy(l=2), ROLES.replace(sensitive=["pay"]), people)
    assert said == "k = 1: 3 of 9 records are alone with their released quasi-identifiers"


def test_a_group_that_gives_away_all_without_being_of_one_value() -> None:
    """Whose pay is known in the first group has one; where it is missing, nothing is known."""
    people = PEOPLE.assign(pay=[10, 10, None, 13, 14, 15, 16, 17, 18])
    said = told(hr.Mondrian(k=3), ROLES.replace(sensitive=["pay"]), people)
    assert said == ["pay: 1 of 3 groups give away all of it (disclosure 1), 3 records"]


def test_nothing_is_said_where_nothing_is_told() -> None:
    roles = ROLES.replace(sensitive=["pay"])
    people = pd.concat([PEOPLE] * 3)
    assert told(hr.MART(k=5, max_disclosure=None), roles, people) == []
    everybody = people.assign(ill="no")  # what everybody has is public
    roles = ROLES.replace(sensitive=["ill"])
    assert told(hr.Mondrian(k=5), roles, everybody) == []


def test_cells_that_say_little_are_told() -> None:
    (said,) = told(hr.Mondrian(k=9))
    assert said == "the recoded cells say little: 100% of their certainty is lost (NCP)"


def test_columns_that_chance_leaves_as_they_are_are_named() -> None:
    people = pd.concat([PEOPLE] * 20).assign(sex=["a", "b"] * 90)
    roles = hr.Schema(quasi=["age", "sex"], sensitive=["ill"])
    free = hr.RandomizedResponse(l=1.5, random_state=1)  # the sex tells nothing of the illness
    release = hr.protect(people, roles.replace(quasi=["sex"]), free)
    assert [column.p for column in release.plan.recoding.columns] == [1.0]
    assert release.cautions[-1] == "released as they were, no cell of them is altered: sex"
    still = hr.PRAM(stay=1.0, invariant=False, random_state=1)
    assert told(still, roles.replace(quasi=["sex"]), people) == [release.cautions[-1]]


@pytest.mark.parametrize("name", CHOSEN)
def test_the_certainty_lost_is_that_of_the_audit(name: str, here: Path) -> None:
    roles, method = chosen(name)
    release = hr.protect("people.csv", roles, method)
    lost = certainty_lost(release.plan, release.original, release.released)
    if release.plan.recoding.yardstick == "linkage" or name == "anatomy":
        assert lost is None
        return
    measured = hr.audit("people.csv", release, attacks=False, learning=False)
    assert lost == pytest.approx(measured.utility["loss"]["ncp"], abs=1e-12)


def test_terminal_report_json_session_and_python_say_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    words = "ill: 2 of 3 groups hold one value, so their 6 records tell it"
    roles = ["--quasi", "age", "--sensitive", "ill,pay"]
    command = ["protect", "people.csv", *roles, "--method", "mondrian", "-k", "3"]
    assert run([*command, "--out", "out", "--json"]) == 0
    seen = capsys.readouterr()
    assert seen.err.count(f"warning: {words}\n") == 1
    assert words in json.loads(seen.out)["cautions"]
    assert words in json.loads(Path("out/audit.json").read_text())["cautions"]
    assert words in Path("out/report.html").read_text()
    assert words not in Path("out/RECIPIENT.md").read_text()
    session = hr.Session("people.csv")
    session.choose(ROLES, hr.Mondrian(k=3))
    release = session.protect()
    assert session.cautions == release.cautions
    with pytest.warns(UserWarning, match="groups hold one value") as heard:
        hr.protect("people.csv", ROLES, hr.Mondrian(k=3))
    assert Counter(str(w.message) for w in heard) == Counter(release.cautions)
    assert {w.filename for w in heard} == {__file__}
