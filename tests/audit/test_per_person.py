"""What the group of every record gives away: against counting, and told to nobody else."""

from __future__ import annotations

import json
import stat

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import ParameterError

from .conftest import grouped, people_of

PLAIN = {"attacks": False, "learning": False}


@pytest.fixture(scope="module")
def people():
    made = people_of(400, seed=3)
    made["flag"] = np.random.default_rng(1).integers(0, 2, 400)
    made["start"] = pd.Timestamp("1990-01-01") + pd.to_timedelta(made.index * 9, "D")
    made["id"] = [f"=p{i}" for i in range(400)]
    return made


@pytest.fixture(scope="module")
def schema():
    return hr.Schema(quasi=["age", "job", "sex"], sensitive=["pay", "ill", "flag", "start"], identifiers=["id"])


@pytest.fixture(scope="module")
def release(people):
    return grouped(people, ["age", "job", "sex"], ["pay"], 4)


@pytest.fixture(scope="module")
def found(people, release, schema):
    return hr.audit(people, release, schema, key="id", per_person=True, **PLAIN)


def test_every_record_is_told_as_counting_tells_it(people, release, found):
    told = found.per_person.table.to_pandas().set_index("row").sort_index()
    assert told.index.tolist() == list(range(400))
    assert (told.id == people.id).all()
    near = {
        "pay": lambda own, others: (others - own).abs() <= 0.1 * abs(own),
        "ill": lambda own, others: others == own,
        "flag": lambda own, others: others == own,
        "start": lambda own, others: (others - own).abs() <= pd.Timedelta(days=30),
    }
    for _, rows in release.groupby(["age", "job", "sex"]):
        mine = told.loc[rows.index]
        assert (mine.records == len(rows)).all()
        assert mine.prosecutor.to_numpy() == pytest.approx(1 / len(rows))
        for name, agrees in near.items():
            assert (mine[f"{name} values"] == rows[name].nunique()).all()
            expected = [agrees(own, rows[name]).mean() for own in people.loc[rows.index, name]]
            assert mine[f"{name} named"].to_numpy() == pytest.approx(expected)
    columns = found.risk["release"]["sensitive"]
    for name, column in columns.items():
        assert told[f"{name} disclosure"].max() == pytest.approx(column["disclosure"]["worst"])
    assert set(told["pay by"]) <= set(columns["pay"]["disclosure"]["scores"])


def test_those_most_at_risk_come_first(found):
    every = found.per_person.table.to_pandas()
    assert every.disclosure.is_monotonic_decreasing
    sensitive = [f"{name} disclosure" for name in ("pay", "ill", "flag", "start")]
    assert every.disclosure[0] == pytest.approx(every[sensitive].to_numpy().max())


def test_nobody_is_told_but_who_asked(found, people, release, schema, tmp_path):
    without = hr.audit(people, release, schema, key="id", **PLAIN)
    assert without.per_person is None
    assert found.to_json() == without.to_json()
    assert str(found) == str(without)
    assert repr(found.per_person) == "PerPerson(400 records)"
    for name in ("one.csv", "one.parquet"):
        found.per_person.save(tmp_path / name)
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    assert pd.read_csv(tmp_path / "one.csv").id.str.startswith("'=p").all()
    made = hr.protect(people, schema, hr.MART(k=5, max_disclosure=None))
    told = hr.audit(people, made, per_person=True, **PLAIN)
    made.write(tmp_path / "out", measured=told)
    written = (tmp_path / "out" / "audit.json").read_text()
    assert "disclosure" in json.loads(written)["risk"]["release"]["sensitive"]["pay"]
    assert "per_person" not in written
    assert "=p7" not in written


def test_a_record_that_is_alone_is_told_wholly(people, schema):
    alone = hr.audit(people.iloc[:50], people.iloc[:50], schema, per_person=True, **PLAIN)
    unique = [r for r in alone.per_person.table.to_pylist() if r["records"] == 1]
    assert unique
    for record in unique:
        assert record["disclosure"] == pytest.approx(1.0)
        assert record["prosecutor"] == record["pay named"] == record["ill named"] == 1.0


def test_people_of_several_records_are_counted_once(people, schema):
    visits = pd.concat([people, people.iloc[:100]], ignore_index=True)
    told = hr.audit(visits, visits, schema.replace(unit="id"), per_person=True, **PLAIN)
    table = told.per_person.table.to_pandas()
    assert (table.people < table.records).any()
    assert table.prosecutor.to_numpy() == pytest.approx(1 / table.people)
    assert table.people.min() == told.risk["release"]["classes"]["people"]


def test_buckets_of_anatomy_tell_in_place_of_groups(people):
    schema = hr.Schema(quasi=["age", "job"], sensitive=["job2"])
    table = people.assign(job2=np.arange(400) % 5)[["age", "job", "job2"]].astype({"job2": str})
    release = hr.protect(table, schema, hr.Anatomy(l=4))
    told = hr.audit(table, release, per_person=True, **PLAIN).per_person.table.to_pandas()
    assert told["job2 named"].max() <= 0.25
    assert told["job2 values"].min() >= 4


def test_altered_values_have_no_groups_to_tell_of(people, schema):
    numbers = hr.Schema(quasi=["age"], sensitive=["pay"])
    release = hr.protect(people[["age", "pay"]], numbers, hr.NoiseAddition(random_state=1))
    with pytest.raises(ParameterError, match="altered values"):
        hr.audit(people[["age", "pay"]], release, per_person=True, **PLAIN)


def test_the_command_line_writes_a_private_file(people, release, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    release.to_csv("release.csv", index=False)
    words = ["audit", "people.csv", "release.csv", "--quasi", "age,job,sex", "--sensitive", "pay"]
    words += ["--key", "id", "--no-attacks", "--no-learning", "--per-person", "each.csv"]
    assert run(words) == 0
    assert "each.csv" in capsys.readouterr().out
    assert stat.S_IMODE((tmp_path / "each.csv").stat().st_mode) == 0o600
    assert len(pd.read_csv("each.csv")) == 400
    assert run(words) == 2  # nothing is replaced
    assert "each.csv exists already" in capsys.readouterr().err
