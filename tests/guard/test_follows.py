"""Columns that are declared to follow another are drawn with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import SchemaError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore")
ROLES = {"quasi": ["age", "sex"], "sensitive": ["amount", "visits"]}
SCHEMA = hr.Schema(**ROLES, follows={"amount": "visits"})


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 900
    visits = rng.choice(["none", "some", "many"], n, p=[0.15, 0.5, 0.35])
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "sex": rng.choice(["f", "m"], n),
            "visits": visits,
            "amount": np.where(visits == "none", 0, np.round(rng.lognormal(5, 1, n)) + 1),
        }
    )


def torn(table: pd.DataFrame) -> float:
    """Return the share of the rows with an amount and no visit, or a visit and no amount."""
    return float(((table["visits"] == "none") != (table["amount"] == 0)).mean())


@pytest.mark.parametrize("method", [hr.Hedge(), hr.Hedge(cells="means"), hr.MART()])
def test_what_a_category_rules_out_stays_out(people: pd.DataFrame, method: hr.MART) -> None:
    assert torn(people) == 0
    apart = [hr.protect(people, hr.Schema(**ROLES), method, guard="redraw", random_state=key) for key in range(1, 6)]
    assert np.mean([torn(each.table) for each in apart]) > 0.02
    release = hr.protect(people, SCHEMA, method, guard="redraw", random_state=1)
    assert torn(release.table) == 0
    assert {c.name: c.follows for c in release.plan.guard.columns}["amount"] == "visits"
    assert list(release.table.columns) == list(people.columns)
    # nobody's own: the amounts of a group are not those of its people
    assert sorted(release.table["amount"]) != sorted(people["amount"])


def test_every_engine_and_the_command_draw_the_same(people: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    (tmp_path / "release.toml").write_text('[follows]\namount = "visits"\n')
    words = [str(path), "--quasi", "age,sex", "--sensitive", "amount,visits", "--random-state", "1"]
    made = []
    for name, more in (
        ("flag", ["--follows", "amount=visits"]),
        ("config", ["--config", str(tmp_path / "release.toml")]),
        ("duckdb", ["--follows", "amount=visits", "--engine", "duckdb"]),
    ):
        assert run(["protect", *words, *more, "--out", str(tmp_path / name)]) == 0
        made.append((tmp_path / name / "release.csv").read_bytes())
    hr.protect(path, SCHEMA, random_state=1).write(tmp_path / "python")
    assert "from somebody with nearly the same visits" in (tmp_path / "python" / "RECIPIENT.md").read_text()
    assert {*made} == {(tmp_path / "python" / "release.csv").read_bytes()}


@pytest.mark.parametrize(
    ("schema", "options"),
    [
        (SCHEMA, {"method": hr.MART()}),
        (SCHEMA, {"method": hr.MART(), "guard": "runs"}),
        (hr.Schema(**ROLES, follows={"sex": "age"}), {"method": hr.MART(), "guard": "redraw"}),
    ],
)
def test_columns_that_are_not_drawn_follow_nobody(
    people: pd.DataFrame, schema: hr.Schema, options: dict[str, object]
) -> None:
    with pytest.raises(UnsupportedError, match="cannot follow another column"):
        hr.protect(people, schema, **options)


@pytest.mark.parametrize(
    ("follows", "says"),
    [
        ({"amount": "age"}, "both must be quasi-identifiers, or both sensitive"),
        ({"amount": "cost"}, "both must be quasi-identifiers, or both sensitive"),
        ({"amount": "visit"}, "did you mean 'visits'"),
        ({"amount": "amount"}, "'amount' follows itself"),
        ({"amount": "visits", "visits": "amount"}, "'amount' follows itself through 'visits'"),
    ],
)
def test_who_cannot_follow_whom_is_said(follows: dict[str, str], says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        hr.Schema(**ROLES, follows=follows)


def test_a_schema_keeps_who_follows_whom() -> None:
    assert hr.Schema.from_toml(SCHEMA.to_toml()) == SCHEMA
    three = hr.Schema(sensitive=["a", "b", "c"], follows={"c": "b", "b": "a"})
    assert three.leaders("c") == ["b", "a"]


@pytest.mark.parametrize("leader", [["visits"], {"visits": 1}, 5])
def test_a_leader_is_the_name_of_a_column(leader: object) -> None:
    with pytest.raises(SchemaError, match="follows"):
        hr.Schema(**ROLES, follows={"amount": leader})


@pytest.mark.parametrize("others", [0, 11])
def test_a_person_without_the_first_value_lends_the_second_to_nobody_alone(others: int) -> None:
    """One person has no visits: no row is drawn without.

    If eleven others have none either, whose diagnoses are too rare to be drawn, some rows are drawn without visits, and
    they do not all have that person's diagnosis.
    """
    rng = np.random.default_rng(1)
    visits = rng.choice(["none", "some", "many"], 1500).astype(object)
    diagnosis = rng.choice(["flu", "cold", "hiv"], 1500, p=[0.6, 0.35, 0.05])
    diagnosis, without = diagnosis.astype(object), np.flatnonzero(diagnosis == "hiv")[: others + 1]
    visits[without], diagnosis[without[1:]] = None, [f"rare {i}" for i in range(others)]
    table = pd.DataFrame({"age": rng.integers(18, 80, 1500), "visits": visits, "diagnosis": diagnosis})
    schema = hr.Schema(quasi=["age"], sensitive=["visits", "diagnosis"], follows={"diagnosis": "visits"})
    drawn = []
    for seed in range(12):
        released = hr.protect(table, schema, random_state=seed).table
        drawn += released["diagnosis"][released["visits"].isna()].tolist()
    if others:
        assert drawn
        assert drawn.count("hiv") < len(drawn) / 2
    else:
        assert not drawn


def test_a_rare_category_of_a_follower_is_no_missing_value() -> None:
    """Columns that are correlated follow by themselves; categories that few people have were drawn as missing."""
    rng = np.random.default_rng(0)
    score = rng.normal(50, 15, 1200).round()
    table = pd.DataFrame(
        {"age": rng.integers(18, 90, 1200), "score": score, "band": [f"b{int(v // 10)}" for v in score]}
    )
    assert (table["band"].value_counts() < 10).any()
    release = hr.protect(table, hr.Schema(quasi=["age"], sensitive=["score", "band"]), random_state=1)
    assert {c.name: c.follows for c in release.plan.guard.columns}["band"] == "score"
    assert release.table["band"].notna().all()


def test_a_count_that_many_people_share_lends_its_own_companions() -> None:
    rng = np.random.default_rng(1)
    visits = rng.poisson(2, 1200)
    bill = np.where(visits == 0, 0, rng.lognormal(5, 1, 1200).round() + 1)
    table = pd.DataFrame({"age": rng.integers(18, 80, 1200), "visits": visits, "bill": bill})
    schema = hr.Schema(quasi=["age"], sensitive=["visits", "bill"], follows={"bill": "visits"})
    released = hr.protect(table, schema, random_state=1).table
    assert ((released["visits"] == 0) == (released["bill"] == 0)).all()
