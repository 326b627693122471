"""What an audit says of the rows of one unit, against plain computations on the long tables."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.report.text import summary

QUICK = {"attacks": False, "learning": False, "paired": False}
pytestmark = pytest.mark.filterwarnings("ignore")


def panel(seed: int, keeps: float) -> pd.DataFrame:
    """People in up to five years, some years missing, whose wages and jobs last."""
    rng, n = np.random.default_rng(seed), 300
    born, wage, job = rng.integers(1950, 1990, n), rng.normal(3000, 500, n), rng.choice(["cook", "nurse"], n)
    frames = []
    for year in range(2001, 2006):
        wage = 3000 + keeps * (wage - 3000) + rng.normal(0, 200, n)
        job = np.where(rng.random(n) < keeps, job, rng.choice(["cook", "nurse", "clerk"], n))
        some = pd.Series(wage.round()).where(rng.random(n) < 0.95)
        frame = pd.DataFrame({"id": range(n), "year": year, "age": year - born, "job": job, "wage": some})
        frames.append(frame[rng.random(n) < 0.9])
    return pd.concat(frames).sample(frac=1, random_state=seed).reset_index(drop=True)


def homes(seed: int) -> pd.DataFrame:
    """Households with a head, most with a spouse, and children."""
    rng, rows = np.random.default_rng(seed), []
    for home in range(250):
        pay, edu = rng.normal(2000, 400), rng.choice(["low", "high"])
        rows.append((home, "head", edu, round(pay)))
        if rng.random() < 0.7:
            rows.append((home, "spouse", edu if rng.random() < 0.5 else "low", round(pay / 2 + rng.normal(800, 300))))
        rows += [(home, "child", "low", 0)] * int(rng.integers(0, 3))
    return pd.DataFrame(rows, columns=["home", "who", "edu", "pay"])


def visits(seed: int, pause: int) -> pd.DataFrame:
    """Patients with one to six visits."""
    rng, rows = np.random.default_rng(seed), []
    for patient in range(150):
        day, pressure = int(rng.integers(18_000, 19_000)), rng.normal(130, 15)
        for _ in range(int(rng.integers(1, 7))):
            rows.append((patient, day, round(pressure + rng.normal(0, 8))))
            day += int(rng.integers(1, pause))
    frame = pd.DataFrame(rows, columns=["patient", "day", "pressure"])
    return frame.assign(day=pd.to_datetime(frame["day"], unit="D").astype("date32[pyarrow]"))


def found(one: pd.DataFrame, two: pd.DataFrame, schema: hr.Schema) -> tuple[dict, dict, hr.auditing.Audit]:
    audit = hr.audit(one, two, schema, **QUICK)
    kept = audit.utility["units"]
    at = {
        (r["column"], r["measure"], *r["members"], *[r["apart"]] * bool(r["apart"])): (r["original"], r["release"])
        for r in kept["relations"]
    }
    return kept, at, audit


def correlations(long: pd.DataFrame, apart: int) -> float:
    wide = long.pivot(index="id", columns="year", values="wage")
    pairs = [(wide[year], wide[year + apart]) for year in range(2001, 2006 - apart)]
    return float(np.mean([one.corr(two) for one, two in pairs if (one.notna() & two.notna()).sum() >= 30]))


def next_pairs(long: pd.DataFrame, name: str) -> pd.DataFrame:
    wide = long.pivot(index="id", columns="year", values=name)
    return pd.concat([wide[[year, year + 1]].set_axis(["now", "then"], axis=1).dropna() for year in range(2001, 2005)])


def test_panels_are_compared_from_wave_to_wave():
    one, two = panel(1, 0.8), panel(2, 0.5)
    kept, at, audit = found(one, two, hr.Schema(quasi=["age"], sensitive=["job", "wage"], unit="id", wave="year"))
    for long, side in ((one, "original"), (two, "release")):
        rows = long.groupby("id").size()
        assert (kept[side]["units"], kept[side]["rows"]) == (len(rows), len(long))
        assert (kept[side]["mean"], kept[side]["deviation"]) == pytest.approx((rows.mean(), rows.std(ddof=0)))
        assert kept[side]["shares"] == pytest.approx([(rows == n).mean() for n in range(1, 13)])
    for apart in range(1, 5):
        assert at["wage", "correlation", apart] == pytest.approx((correlations(one, apart), correlations(two, apart)))
    pairs = [next_pairs(long, "wage") for long in (one, two)]
    assert at["wage", "change", 1] == pytest.approx([(each["then"] - each["now"]).std(ddof=0) for each in pairs])
    pairs = [next_pairs(long, "job") for long in (one, two)]
    assert at["job", "same", 1] == pytest.approx([(each["then"] == each["now"]).mean() for each in pairs])
    before, after = (pd.crosstab(each["now"], each["then"], normalize="index") for each in pairs)
    often = ["cook", "nurse"]  # of which at least 50 people have each in some year
    assert at["job", "followers", 1] == (None, pytest.approx((before - after).loc[often].abs().to_numpy().max()))
    assert at["age", "step"][0] == pytest.approx(1, abs=0.2)
    assert not [key for key in at if key[0] in ("id", "year")]
    text = summary(audit.to_dict())
    assert "From wave to wave" in text
    assert "wage: correlation with that of the wave before" in text


def test_values_that_few_units_have_are_left_out():
    one, two = panel(1, 0.8), panel(2, 0.8)
    for long in (one, two):
        rare = long["id"] < 40
        long["job"] = np.where(rare, np.where(long["year"] == 2001, "rare", long["job"]), long["job"])
    two.loc[two["id"] < 40, "job"] = "rare"
    schema = hr.Schema(quasi=["age"], sensitive=["job", "wage"], unit="id", wave="year")
    assert found(one, two, schema)[1]["job", "followers", 1][1] < 0.2  # "rare" is followed by others, then by itself
    few = one[one["id"] < 25]
    assert not [key for key in found(few, few, schema)[1] if key[1] == "correlation"]


def test_households_are_compared_within():
    one, two = homes(1), homes(2)
    two["pay"] = two["pay"].sample(frac=1, random_state=1).to_numpy()
    kept, at, _ = found(one, two, hr.Schema(quasi=["who"], sensitive=["edu", "pay"], household="home", member="who"))
    couples = [
        pd.merge(*[long[long["who"] == who] for who in ("head", "spouse")], on="home", suffixes=("", "_2"))
        for long in (one, two)
    ]
    assert at["pay", "correlation", "head", "spouse"] == pytest.approx([c["pay"].corr(c["pay_2"]) for c in couples])
    assert at["edu", "same", "head", "spouse"] == pytest.approx([(c["edu"] == c["edu_2"]).mean() for c in couples])
    assert kept["order"] == "member"
    assert {key[2:] for key in at} == {("head", "spouse")}


def test_times_are_compared_by_their_steps():
    one, two = visits(1, 40), visits(2, 60)
    _, at, _ = found(one, two, hr.Schema(sensitive=["pressure"], quasi=["day"], unit="patient", time="day"))
    ordered = [long.assign(day=pd.to_datetime(long["day"])).sort_values(["patient", "day"]) for long in (one, two)]
    steps = [long.groupby("patient")["day"].diff().dt.days.dropna().to_numpy() for long in ordered]
    assert at["day", "days"] == pytest.approx([each.mean() for each in steps])
    below = [[(each <= x).mean() for each in steps] for x in range(61)]
    assert at["day", "steps"] == (None, pytest.approx(max(abs(a - b) for a, b in below)))
    wide = [
        long.assign(slot=long.groupby("patient").cumcount()).pivot(index="patient", columns="slot", values="pressure")
        for long in ordered
    ]
    known = [[(a, b) for a, b in pairwise(range(6)) if w[[a, b]].dropna().shape[0] >= 30] for w in wide]
    both = [pair for pair in known[0] if pair in known[1]]
    assert at["pressure", "correlation", 1] == pytest.approx(
        [np.mean([w[a].corr(w[b]) for a, b in both]) for w in wide]
    )


def test_other_tables_have_none():
    people = pd.DataFrame({"age": [20, 20, 30, 30] * 5, "pay": range(20)})
    audit = hr.audit(people, people, hr.Schema(quasi=["age"], sensitive=["pay"]), attacks=False, learning=False)
    assert audit.utility["units"] is None
    described = hr.Audit.json_schema()["properties"]["utility"]["properties"]["units"]
    assert described == {"anyOf": [{"$ref": "#/$defs/UnitsKept"}, {"type": "null"}]}


def test_courses_and_compositions_are_counted_as_by_hand() -> None:
    everybody = panel(5, 0.9)
    people, others = (everybody[everybody["id"] % 2 == i] for i in (0, 1))
    schema = hr.Schema(quasi=["age"], sensitive=["job", "wage"], unit="id", wave="year")
    release = hr.protect(people, schema, hr.Hedge(k=10), random_state=1)
    audit = hr.audit(people, release, control=others, attacks=False, learning=False)
    courses = [
        tuple(map(tuple, long.pivot(index="id", columns="year", values="job").fillna("-").to_numpy()))
        for long in (people, others, release.table)
    ]
    shares = []
    for told in courses[:2]:
        alone = [course for course in told if told.count(course) == 1]
        shares.append(sum(course in courses[2] for course in alone) / len(alone))
    found = audit.to_dict()["risk"]["courses"]["job"]
    assert [found["members"], found["strangers"]] == pytest.approx(shares)
    assert found["alone"] == sum(courses[0].count(course) == 1 for course in courses[0])
    assert re.search(r"Of the \d+ people whose course of '\w+' over all their rows", summary(audit.to_dict()))
    without = hr.audit(people, release, attacks=False, learning=False).to_dict()
    assert without["risk"]["courses"]["job"] == {**found, "strangers": None}
    assert "(a control would say how many strangers do)" in summary(without)


def test_households_are_found_by_their_composition() -> None:
    table = homes(1).drop_duplicates(["home", "who"])
    schema = hr.Schema(quasi=["who", "edu"], sensitive=["pay"], household="home", member="who")
    release = hr.protect(table, schema, hr.Hedge(k=10), random_state=1)
    audit = hr.audit(table, release, attacks=False, learning=False).to_dict()
    told = [
        tuple(map(tuple, long.pivot(index="home", columns="who", values="edu").fillna("-").to_numpy()))
        for long in (table, release.table)
    ]
    found = audit["risk"]["courses"]
    assert [*found] == ["composition"]
    assert found["composition"]["alone"] == sum(told[0].count(one) == 1 for one in told[0])


def test_rows_of_other_tools_without_a_slot_are_left_out_and_said() -> None:
    table = visits(1, 40)
    schema = hr.Schema(sensitive=["pressure"], quasi=["day"], unit="patient", time="day")
    many = table[table["patient"] == table["patient"].iloc[0]]
    longer = pd.concat([table, *(many.assign(day=many["day"].max()) for _ in range(30))]).assign(
        patient=lambda t: "x" + t["patient"].astype(str)
    )
    notes = hr.audit(table, longer, schema, attacks=False, learning=False).to_dict()["table"]["notes"]
    assert any("rows are not measured, because their 'day' has no place" in note for note in notes)
