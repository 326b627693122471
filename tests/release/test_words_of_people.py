"""Pseudonyms, weights and methods that change nothing: the release says what is so, or is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import SchemaError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def visits() -> pd.DataFrame:
    """40 people with 20 records each, alike in what others know of them."""
    who = np.repeat(np.arange(40), 20)
    return pd.DataFrame(
        {
            "visit": [f"v{i}" for i in range(800)],
            "person_id": [f"p{i}" for i in who],
            "age": who + 20,
            "cost": np.arange(800) * 7919 % 1000,
        }
    )


ROLES = hr.Schema(quasi=["age"], sensitive=["cost"], identifiers=["person_id", "visit"])
KEY = b"k" * 32


def test_pseudonyms_of_people_with_several_records_are_refused_without_a_unit() -> None:
    """32 of 36 groups held one person, and RECIPIENT.md said "at least 10 records"."""
    with pytest.raises(SchemaError, match="person_id") as refused:
        hr.protect(visits(), ROLES, hr.Mondrian(k=10), pseudonym_key=KEY)
    assert "unit='person_id'" in str(refused.value)
    by_person = hr.protect(visits(), ROLES.replace(unit="person_id"), hr.Mondrian(k=10), pseudonym_key=KEY)
    assert by_person.summary()["people"] >= 10


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_who_says_that_records_are_people_reads_how_many_groups_hold_one(engine: str, tmp_path: Path) -> None:
    visits().to_parquet(tmp_path / "visits.parquet")
    release = hr.protect(
        tmp_path / "visits.parquet", ROLES.replace(unit=None), hr.Mondrian(k=10), pseudonym_key=KEY, engine=engine
    )
    folder = release.write(tmp_path / "out")
    table = pd.read_parquet(folder / "release.parquet")
    people = table.groupby("age", observed=True)["person_id"].nunique()
    assert (people == 1).sum() > 30
    words = f"in {(people == 1).sum()} of {len(people)} groups all records have one pseudonym"
    assert any(words in text for text in release.cautions)
    assert words in (folder / "RECIPIENT.md").read_text()


def test_pseudonyms_of_what_is_no_key_of_people_are_counted() -> None:
    """A ward has many patients, so nobody is asked for a unit; what its pseudonym joins is told."""
    roles = ROLES.replace(identifiers=["ward", "visit"])
    people = visits().rename(columns={"person_id": "ward"})
    said = hr.protect(people, roles, hr.Mondrian(k=10), pseudonym_key=KEY).cautions
    assert any("ward: in " in text and "all records have one pseudonym" in text for text in said)


def test_pseudonyms_that_tell_every_record_apart_are_no_groups(tmp_path: Path) -> None:
    release = hr.protect(visits(), ROLES.replace(identifiers=["visit"]), hr.Mondrian(k=10), pseudonym_key=KEY)
    assert not any("pseudonym" in text for text in release.cautions)


@pytest.mark.parametrize(("unit", "counted"), [(None, True), ("person_id", False)])
def test_where_k_counts_people_a_pseudonym_of_many_is_not_taken_for_one(unit: str | None, counted: bool) -> None:
    roles = ROLES.replace(identifiers=["person_id", "ward", "visit"], unit=unit)
    release = hr.protect(visits().assign(ward="w"), roles, hr.Mondrian(k=10), pseudonym_key=KEY)
    assert any("ward: in " in text for text in release.cautions) == counted


def test_a_group_of_one_record_is_not_counted_for_its_one_pseudonym() -> None:
    roles = hr.Schema(quasi=["cost"], sensitive=["age"], identifiers=["visit"])
    release = hr.protect(visits(), roles, hr.Anatomy(l=2, random_state=1), pseudonym_key=KEY)
    assert release.table["cost"].is_unique
    assert not any("one pseudonym" in text for text in release.cautions)


@pytest.mark.parametrize(("distinct", "warned"), [(800, True), (400, False), (1, False)])
def test_weights_that_nobody_else_has_are_told(distinct: int, warned: bool) -> None:
    """99.8% unique left without a word."""
    people = visits().assign(weight=1 + np.arange(800) % distinct / 7)
    roles = hr.Schema(quasi=["age"], sensitive=["cost"], weight="weight")
    said = hr.protect(people[["age", "cost", "weight"]], roles, hr.Mondrian(k=10)).cautions
    words = "800 of 800 records have a weight that no other record has; a weight is a quasi-identifier"
    assert any(words in text for text in said) == warned


def test_a_randomized_release_that_changed_nothing_does_not_say_randomized(tmp_path: Path) -> None:
    people = hr.datasets.make_people(500, seed=1)
    roles = hr.Schema(quasi=["sex", "region"], sensitive=["job"])
    release = hr.protect(people, roles, hr.RandomizedResponse(1.01, random_state=1))
    assert [column.p for column in release.plan.recoding.columns] == [1.0, 1.0]
    said = (release.write(tmp_path / "out") / "RECIPIENT.md").read_text()
    assert "Nothing was randomized: 100.0% of the cells of sex, region are the records' own." in said
    assert "were randomized to protect" not in said
    assert "the method left every cell, or nearly every one, as it was in: sex, region" in release.cautions


def test_a_column_that_is_kept_but_for_one_in_a_million_is_not_called_randomized(tmp_path: Path) -> None:
    people = hr.datasets.make_people(2000, seed=1)
    roles = hr.Schema(quasi=["age", "education"], sensitive=["job"])
    release = hr.protect(people, roles, hr.RandomizedResponse(3, random_state=1))
    nearly = [c.name for c in release.plan.recoding.columns if 0.999 < c.p < 1]
    assert nearly == ["age"]
    said = (release.write(tmp_path / "out") / "RECIPIENT.md").read_text()
    assert "Not randomized: age (99.9999% of the cells are the records' own)" in said
    assert "| age | quasi | randomized |" not in said
    assert any("nearly every one, as it was in: age" in text for text in release.summary()["unbounded"])


def test_columns_that_were_not_randomized_are_named(tmp_path: Path) -> None:
    people = hr.datasets.make_people(2000, seed=1).append_column("one", [["a"] * 2000])
    roles = hr.Schema(quasi=["sex", "one"], sensitive=["diagnosis"])
    release = hr.protect(people, roles, hr.RandomizedResponse(1.3, random_state=1))
    said = (release.write(tmp_path / "out") / "RECIPIENT.md").read_text()
    certain = [c.name for c in release.plan.recoding.columns if c.p >= 1]
    assert "one" in certain
    assert f"{', '.join(certain)} " in said.split("\n")[2]
