"""Who was in the table: a few lines of numpy on the released file against what the audit says."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import hedgerow as hr

METHODS: dict[str, Any] = {
    "Hedge": lambda: hr.Hedge(screen=True),
    "MART": lambda: hr.MART(k=10),
    "Mondrian": lambda: hr.Mondrian(k=10),
    "Anatomy": lambda: hr.Anatomy(l=3, random_state=1),
    "randomized response": lambda: hr.RandomizedResponse(l=2, random_state=1),
}
ASKED = 500


def made_people() -> tuple[pd.DataFrame, list[str], str]:
    quasi = ["age", "sex", "education", "job", "region"]
    return hr.datasets.make_people(4_000, seed=1).to_pandas()[[*quasi, "income"]], quasi, "income"


def alcohol() -> tuple[pd.DataFrame, list[str], str]:
    people = hr.datasets.load_alcohol().to_pandas().round({"income": 4})
    quasi = ["age", "race", "marital", "region", "educ", "empstatus"]
    return people[[*quasi, "income"]], quasi, "income"


def households() -> tuple[pd.DataFrame, list[str], str]:
    quasi = ["age", "sex", "relat", "roof", "water"]
    people = pd.read_parquet(Path(os.environ["HEDGEROW_DATA"]) / "sdcmicro_testdata.parquet")
    return people[[*quasi, "income"]].astype(dict.fromkeys(quasi[1:], str)), quasi, "income"


TABLES = {"made people": made_people, "alcohol": alcohol, "households": households}


def distances(cells: Any, values: Any, is_number: bool) -> npt.NDArray[np.float64]:
    """How far the cells of a released column are from true values: (rows, people)."""
    texts, place = np.unique(np.array([str(c) for c in cells]), return_inverse=True)
    out = np.zeros((len(texts), len(values)))
    for i, text in enumerate(texts):
        if text in ("*", "nan", "None", "<NA>"):
            continue
        if is_number:
            ends = re.match(r"\[(-?[\d.]+)-(-?[\d.]+)\]", text)
            low, high = map(float, ends.groups() if ends else (text, text))
            out[i] = np.maximum(np.maximum(low - values, values - high), 0) / np.ptp(values)
        else:
            stands_for = {text, *(re.sub(r":\d+$", "", word) for word in text.split("+"))}
            out[i] = [value not in stands_for for value in values.astype(str)]
    return out[place]


def nearest_alike(released: Any, second: Any, people: Any, quasi: list[str], income: str) -> npt.NDArray[np.float64]:
    """Minus the distance of the nearest released row with exactly the person's income."""
    away = np.zeros((len(released), len(people)))
    for name in quasi:
        numbers = pd.api.types.is_numeric_dtype(people[name])
        away += distances(released[name], people[name].to_numpy(), numbers)
    shown = released[income].to_numpy()
    if second is None:
        alike = shown[:, None] == people[income].to_numpy()
    else:  # the group of a row is one of those in which somebody has the income
        group, value = second.columns[:2]
        groups = second.groupby(value)[group].agg(set)
        alike = np.array([np.isin(shown, [*groups.get(v, ())]) for v in people[income]]).T
    return -np.where(alike, away, np.inf).min(axis=0)


def above(members: Any, strangers: Any) -> float:
    """The share of pairs in which the member scores above the stranger, ties halved."""
    return float(np.mean((members[:, None] > strangers) + 0.5 * (members[:, None] == strangers), dtype=float))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("table", TABLES)
def test_the_audit_finds_at_least_as_many_as_the_rows_with_exactly_the_income(
    table: str, method: str, request: pytest.FixtureRequest
) -> None:
    if table != "made people":
        request.getfixturevalue("need_data")
    people, quasi, income = TABLES[table]()
    order = np.random.default_rng(0).permutation(len(people))
    members, strangers = (people.iloc[rows].reset_index(drop=True) for rows in np.array_split(order, 2))
    release = hr.protect(members, hr.Schema(quasi=quasi, sensitive=[income]), METHODS[method](), guard=None)
    second = release.method.st_.to_pandas() if method == "Anatomy" else None
    trivial = above(
        *(nearest_alike(release.table, second, some[:ASKED], quasi, income) for some in (members, strangers))
    )
    audited = hr.audit(
        members, release, control=strangers, people=ASKED, learners=["tree"], learning=False, inference=False
    )
    told = {a["learner"]: a for a in audited.attacks if a["target"] == "whole record"}
    strongest = told["strongest"]
    assert trivial > 0.8
    assert strongest["interval"][1] >= trivial
    assert strongest["success"] >= trivial - 0.02
    if (method, table) == ("Hedge", "made people"):
        assert trivial > 0.98
        assert strongest["success"] > 0.99
        assert told["nearest"]["success"] < 0.55
