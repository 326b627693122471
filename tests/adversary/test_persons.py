"""k counts people: 40 people with 20 records each, as a reader of the released file finds them.

Everybody's pay is their own and is released unchanged, so the file itself tells how many
people a group holds, and which part of its records the busiest of them has.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import InfeasibleError, InputError, SchemaError, UnsupportedError

K = 5
TREE = "tree n_splits=2 min_leaf=100 criterion=variance"
METHODS: dict[str, Any] = {
    "MART": hr.MART(K),
    "MART of the papers": hr.MART(K, max_disclosure=None, alpha=0.05, min_leaf=2),
    "Mondrian by median": hr.Mondrian(K),
    "Mondrian by loss": hr.Mondrian(K, objective="loss"),
    "Mondrian by regression": hr.Mondrian(K, objective="regression"),
    "Mondrian by information gain": hr.Mondrian(K, objective="information_gain"),
    "Datafly": hr.Datafly(K),
    "Datafly with suppression": hr.Datafly(K, suppression=0.2),
    "Incognito": hr.Incognito(K),
    "Incognito with suppression": hr.Incognito(K, suppression=0.2),
    "Incognito with l": hr.Incognito(K, l=2, diversity="distinct"),
    "MDAV": hr.Microaggregation(K),
    "MDAV with Gower's distance": hr.Microaggregation(K, distance="gower"),
    "local suppression": hr.LocalSuppression(K),
    "TPP": hr.TreePatternPreserving(TREE, k=K, response="pay"),
}
NUMBERS = ("MDAV",)


def patients(n: int = 40, visits: int = 20, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(n), visits)
    made = pd.DataFrame(
        {
            "person_id": [f"p{i:03d}" for i in who],
            "age": rng.integers(20, 80, n)[who],
            "job": np.array(["cook", "nurse", "smith", "tailor"])[rng.integers(0, 4, n)[who]],
            "week": rng.integers(0, 52, n * visits),
            "pay": rng.permutation(np.arange(1000, 1000 + 7 * n, 7))[who],
            "ill": np.array(["yes", "no"])[rng.integers(0, 2, n)[who]],
        }
    )
    return made.sample(frac=1, random_state=seed)


def schema_for(name: str, changing: bool = False, **more: Any) -> hr.Schema:
    quasi = ["age", "week"] if name in NUMBERS else ["age", "job"]
    quasi += ["week"] if changing and name not in NUMBERS else []
    sensitive = ["pay"] if name == "TPP" else ["pay", "ill"]
    more = {"identifiers": ["person_id"], **more}
    return hr.Schema(quasi=quasi, sensitive=sensitive, other=["ill"] * (name == "TPP"), **more)


def fewest(file: Path, quasi: Any) -> tuple[int, float]:
    """People of the smallest group of a file, and the largest part of a group that one has."""
    groups: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    with open(file, newline="") as stream:
        for row in csv.DictReader(stream):
            groups[tuple(row[name] for name in quasi)][row["pay"]] += 1
    return (
        min(len(people) for people in groups.values()),
        max(max(people.values()) / people.total() for people in groups.values()),
    )


def written(tmp_path: Path, people: pd.DataFrame, schema: hr.Schema, method: Any) -> Path:
    people.to_csv(tmp_path / "people.csv", index=False)
    hr.protect(tmp_path / "people.csv", schema, method).write(tmp_path / "out", force=True)
    return tmp_path / "out" / "release.csv"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("changing", [False, True], ids=["same records", "visits differ"])
@pytest.mark.parametrize("name", METHODS)
def test_a_group_holds_k_people(tmp_path: Path, name: str, changing: bool) -> None:
    schema = schema_for(name, changing)
    method, people = METHODS[name], patients()
    if name == "TPP":  # its predictors are constant over a person
        people["age"] += people["week"] * changing
    with pytest.raises(SchemaError, match=r"unit='person_id'.*--unit none"):
        hr.protect(people, schema, method)
    records = written(tmp_path, people, schema.replace(unit=None), method)
    if not changing or name.startswith("M"):
        few, share = fewest(records, schema.quasi)
        assert few < K or share > 0.5, "k records are not k people: the check must see it"
    told = written(tmp_path, people, schema.replace(unit="person_id"), method)
    few, share = fewest(told, schema.quasi)
    assert few >= K
    assert share <= 0.5
    assert "person_id" not in told.read_text().splitlines()[0]
    recipient = (told.parent / "RECIPIENT.md").read_text()
    assert f"at least {K} people (told apart by person_id)" in recipient


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [n for n in METHODS if n != "TPP"])
def test_nobody_has_more_than_half_of_a_group(tmp_path: Path, name: str) -> None:
    """One of 120 people has 30 of 149 records: any group of a few others with her is hers."""
    people = patients(120, 1)
    one = people.iloc[[0]]
    people = pd.concat([people, *[one] * 29], ignore_index=True)
    people["week"] = np.random.default_rng(1).integers(0, 52, len(people))
    schema = schema_for(name, unit="person_id")
    few, share = fewest(written(tmp_path, people, schema, METHODS[name]), schema.quasi)
    assert few >= K
    assert share <= 0.5
    records = written(tmp_path, people, schema.replace(unit=None), METHODS[name])
    few, share = fewest(records, schema.quasi)
    if name not in ("Incognito", "Datafly", "local suppression"):
        assert few < K or share > 0.5


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", METHODS)
def test_the_order_of_records_takes_no_part(name: str) -> None:
    people = patients(40, 6, seed=3)
    schema = schema_for(name, changing=name != "TPP", unit="person_id")
    rows = []
    for table in (people, people.iloc[::-1].reset_index(drop=True)):
        made = hr.protect(table, schema, METHODS[name]).table
        rows.append(sorted(map(repr, made.itertuples(index=False))))
    assert rows[0] == rows[1]


def test_what_cannot_be_counted_is_refused() -> None:
    people = patients()
    schema = schema_for("MART", unit="person_id")
    nobody = people.assign(person_id=people["person_id"].where(people["week"] > 3))
    with pytest.raises(InputError, match=r"'person_id' is missing in \d+ records"):
        hr.protect(nobody, schema, hr.MART(K))
    with pytest.raises(InfeasibleError, match="the table has 40 people by 'person_id'") as few:
        hr.protect(people, schema, hr.MART(41))
    assert few.value.hint == "ask for smaller groups"  # nobody's records are too many
    heavy = people.assign(person_id=people["person_id"].where(people["week"] > 30, "p000"))
    with pytest.raises(InfeasibleError, match="one person has more than half of the records"):
        hr.protect(heavy, schema, hr.MART(K))
    for method in (hr.Anatomy(2), hr.RandomizedResponse(1.2, bins=3)):
        with pytest.raises(UnsupportedError, match="does not support unit") as refused:
            hr.protect(people, schema, method)
        assert "holds for nobody who has several" in str(refused.value)
    with pytest.raises(UnsupportedError, match=r"hr\.protect"):
        hr.MART(K, schema=hr.Schema(unit="person_id")).fit(people[["age"]], people["pay"])


def test_identifiers_that_repeat_are_refused_only_where_none_is_of_its_own() -> None:
    people = patients()
    schema = schema_for("MART")
    numbered = people.assign(visit=np.arange(len(people)))
    both = schema.replace(identifiers=["person_id", "visit"])
    assert hr.protect(numbered, both, hr.Mondrian(K)).plan.unit is None
    rarely = people.assign(person_id=np.arange(len(people)) // 1.03 // 1)
    assert hr.protect(rarely, schema, hr.Mondrian(K)).checks, "97% distinct: people, by accident"
    with pytest.raises(SchemaError, match="identifiers repeat: 'person_id'"):
        hr.frontier(people, schema, hr.Mondrian(), k=[5])
    coded = people.assign(person_id=people["person_id"].astype("category"))
    with pytest.raises(SchemaError, match="identifiers repeat"):
        hr.protect(coded, schema, hr.Mondrian(K))


@pytest.mark.filterwarnings("ignore")
def test_people_are_told_wherever_records_are(tmp_path: Path) -> None:
    people, schema = patients(), schema_for("MART", unit="person_id")
    people.to_csv(tmp_path / "people.csv", index=False)
    release = hr.protect(tmp_path / "people.csv", schema, hr.MART(K))
    assert release.summary()["people"] >= K
    assert release.summary()["groups"]["smallest"] >= 2 * K
    assert any("a person with many records" in text for text in release.cautions)
    quick: dict[str, Any] = {"attacks": False, "learning": False}
    release.write(tmp_path / "out")
    of_folder = hr.audit(tmp_path / "people.csv", tmp_path / "out", **quick)
    for found in (hr.audit(people, release, **quick), of_folder):
        classes = found.risk["release"]["classes"]
        assert classes["people"] == release.summary()["people"]
        assert classes["k"] == release.summary()["groups"]["smallest"]
        assert "k in people" in str(found)
        assert any("counted over records" in note for note in found.table["notes"])
        assert found.broken(k=classes["people"] + 1)
    found.report(tmp_path / "report.html")
    assert "k in people" in (tmp_path / "report.html").read_text()
    points = hr.frontier(people, schema, hr.Mondrian(), k=[5, 10]).points
    assert all(5 <= point.k <= 20 for point in points)
    release.plan.save(tmp_path / "plan.json")
    assert hr.Plan.load(tmp_path / "plan.json").unit == "person_id"


@pytest.mark.filterwarnings("ignore")
def test_a_group_that_lost_its_people_is_seen() -> None:
    """Verification counts people of the rows as they stand, not what the method says."""
    people, schema = patients(), schema_for("MART", unit="person_id")
    release = hr.protect(people, schema, hr.MART(K))
    alone = people.assign(person_id=people["person_id"].where(people["age"] > 50, "p000"))
    release.original = hr.protect(alone, schema.replace(unit=None), hr.Mondrian(K)).original
    with pytest.raises(hr.errors.PromiseError, match="one person has more than half"):
        release.verify()


@pytest.mark.parametrize("identifiers", [["visit_id", "patient_id", "place"], ["visit_id"], []])
def test_visits_that_are_counted_as_people_are_told(identifiers: list[str]) -> None:
    """A record number tells the rows apart, and groups of five hold one patient."""
    n = 200
    patient = [i // 10 for i in range(n)]
    visits = pa.table(
        {
            "visit_id": [f"V{i}" for i in range(n)],
            "patient_id": [f"P{p}" for p in patient],
            "place": [f"{p // 4:05}" for p in patient],  # people share one, and nobody is one
            "age": [20 + 3 * p for p in patient],
            "pay": [(i * 37) % 91 for i in range(n)],
        }
    )
    schema = hr.Schema(quasi=["age"], sensitive="pay", identifiers=identifiers)
    told = "patient_id: values repeat, so people may have several records"
    with pytest.warns(UserWarning, match=told):
        release = hr.protect(visits, schema, hr.MART(k=5))
    assert any(told in caution for caution in release.cautions)
    assert not any("place" in caution for caution in release.cautions if "repeat" in caution)
    said = schema.replace(unit=None)
    assert not any(told in c for c in hr.protect(visits, said, hr.MART(k=5)).cautions)
    kept = said.replace(identifiers=["visit_id"], rest="release")
    with pytest.raises(hr.HedgerowError, match=r"look like identifiers: .*'patient_id'"):
        hr.protect(visits, kept, hr.MART(k=5))


def spelled(people: pd.DataFrame, writers: list[Any]) -> pd.DataFrame:
    """Every person's records under a few spellings of one name."""
    which = np.arange(len(people)) % len(writers)
    names = [writers[w](p) for w, p in zip(which, people["person_id"], strict=True)]
    return people.assign(person_id=names)


SPELLINGS: dict[str, list[Any]] = {
    "spaces": [str, lambda p: p + " ", lambda p: "\u00a0" + p],
    "case": [str, str.upper],
    "zeros": [lambda p: p[1:], lambda p: p[1:].lstrip("0") or "0"],
    "points": [lambda p: str(int(p[1:])), lambda p: f"{int(p[1:])}.0"],
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("name", ["MART", "Datafly", "MDAV", "local suppression"])
def test_one_person_under_several_spellings_is_one(tmp_path: Path, name: str, spelling: str) -> None:
    people = spelled(patients(), SPELLINGS[spelling])
    schema = schema_for(name, unit="person_id", kinds={"person_id": "categorical"})
    few, share = fewest(written(tmp_path, people, schema, METHODS[name]), schema.quasi)
    assert few >= K
    assert share <= 0.5
    release = hr.protect(people, schema, METHODS[name])
    told = [text for text in release.cautions if "so there are 40 people" in text]
    assert len(told) == 1
    notes = hr.audit(people, release, attacks=False, learning=False).table["notes"]
    assert told[0] in notes


@pytest.mark.filterwarnings("ignore")
def test_people_of_their_own_are_not_joined_and_blank_ones_refused() -> None:
    people, schema = patients(), schema_for("MART", unit="person_id")
    assert not any("there are" in text for text in hr.protect(people, schema, hr.MART(K)).cautions)
    blank = people.assign(person_id=people["person_id"].where(people["week"] > 3, " "))
    with pytest.raises(InputError, match=r"'person_id' is missing in \d+ records"):
        hr.protect(blank, schema, hr.MART(K))


MASKS: dict[str, Any] = {
    "noise": lambda: hr.NoiseAddition(0.5, random_state=1),
    "rank swapping": lambda: hr.RankSwapping(0.1, random_state=1),
    "top and bottom": lambda: hr.TopBottomCoding(top_share=0.05),
    "PoROP": lambda: hr.PoROP(40, degree=1, random_state=1),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MASKS)
def test_what_repeated_records_undo_is_told_where_nothing_is_promised(name: str) -> None:
    people, schema = patients(), schema_for("MDAV", unit="person_id")
    release = hr.protect(people, schema, MASKS[name]())
    said = "person_id: 40 of 40 people have several records, up to 20"
    assert any(text.startswith(said) for text in release.cautions)
    assert "person_id" not in release.table.columns
    once = hr.protect(people.drop_duplicates("person_id"), schema, MASKS["noise"]())
    assert not any("several records" in text for text in once.cautions)


@pytest.mark.filterwarnings("ignore")
def test_averaging_a_persons_records_undoes_their_noise() -> None:
    """Why it is told: the mean of twenty is off by less than a quarter of what one is off by."""
    people, schema = patients(), schema_for("MDAV", unit="person_id")
    release = hr.protect(people, schema, MASKS["noise"]())
    off = release.table["age"].to_numpy(float) - people["age"].to_numpy()[release.rows]
    whose = people["person_id"].to_numpy()[release.rows]
    means = pd.Series(off).groupby(whose).mean()
    assert means.std() < off.std() / 3


@pytest.mark.filterwarnings("ignore")
def test_the_risk_of_being_found_counts_people(tmp_path: Path) -> None:
    """Twenty records of three people hide nobody among twenty."""
    people, schema = patients(30, 10), schema_for("MART", unit="person_id")
    release = hr.protect(people, schema, hr.MART(K))
    found = hr.audit(people, release, attacks=False, learning=False).risk["release"]
    pays = pd.DataFrame(release.table).groupby(["age", "job"])["pay"]
    alone = pays.agg(lambda pay: pay.value_counts().max() * 2 > len(pay))
    risk = 1 / pays.nunique().where(~alone, 1)
    told = found["reidentification"]["prosecutor"]
    assert told["highest"] == pytest.approx(risk.max())
    assert told["average"] == pytest.approx(np.average(risk, weights=pays.size()))
    assert told["highest"] > 1.5 / found["classes"]["k"], "records would have told less"
    by_record = schema.replace(unit=None)
    records = hr.audit(people, release, by_record, attacks=False, learning=False).risk["release"]
    assert records["reidentification"]["prosecutor"]["highest"] == 1 / found["classes"]["k"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "method",
    [
        hr.MART(K, max_disclosure=None, numeric="mean"),
        hr.MART(K, max_disclosure=None, numeric="median"),
        hr.Mondrian(K, numeric="mean"),
        hr.Hedge(K, screen=False),
    ],
    ids=str,
)
@pytest.mark.parametrize("role", ["unit", "household"])
def test_the_records_of_one_person_make_no_mean(method: Any, role: str) -> None:
    who = ["A"] * K + list("BCDEFGHIJKLMNOP")
    people = pd.DataFrame({"who": who, "pay": range(20), "age": [71.0] * K + [None] * 15})
    roles: dict[str, Any] = {"unit": None, role: "who"}
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], identifiers=["who"], **roles)
    assert not any("71" in cell for cell in set(hr.protect(people, schema, method, guard=None).table.age))
