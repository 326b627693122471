"""Pairing tables and reading released cells."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.auditing.pairing import align
from hedgerow.errors import InputError, SchemaError
from hedgerow.hierarchy import Hierarchy
from hedgerow.schema import Schema

PEOPLE = pd.DataFrame(
    {
        "id": [11, 12, 13, 14],
        "age": [27.0, 39.0, np.nan, 16.0],
        "job": ["nurse", "cook", "a+b", None],
        "born": [dt.date(2001, 5, 1), dt.date(2003, 1, 31), dt.date(1999, 1, 1), dt.date(1999, 1, 1)],
        "pay": [10, 20, 30, 40],
    }
)
SCHEMA = Schema(quasi=["age", "job", "born"], sensitive=["pay"])


def released(**columns):
    return PEOPLE.assign(**columns)


def test_ranges_sets_weights_missing_and_dates_are_understood():
    pair = align(
        PEOPLE,
        released(
            age=["[27-39]", "[27-39]", "[16-20]+(missing)", "[16-20]+(missing)"],
            job=["cook+nurse", "cook+nurse", '"a+b":3+(missing):1', '"a+b":3+(missing):1'],
            born=["[2001-05-01/2003-01-31]"] * 2 + ["1999-01-01"] * 2,
        ),
        SCHEMA,
    )
    age, job, born = pair.released_quasi
    assert (age.lo[age.codes] == [27, 27, 16, 16]).all()
    assert (age.hi[age.codes] == [39, 39, 20, 20]).all()
    assert age.missing[age.codes].tolist() == [False, False, True, True]
    names = job.original.values
    assert [[names[m] for m in job.members[c]] for c in job.codes[[0, 2]]] == [["cook", "nurse"], ["a+b"]]
    assert job.weights[job.codes[2]].tolist() == [0.75]
    assert job.missing[job.codes[2]]
    assert born.hi[born.codes[0]] == (dt.date(2003, 1, 31) - dt.date(1970, 1, 1)).days
    assert pair.classes.sizes.tolist() == [2, 2]


@pytest.mark.parametrize("cell", ["[27, 39]", "[27, 40[", "(20, 39]", "[2.7e1-39]"])
def test_foreign_intervals(cell):
    people = PEOPLE.dropna()
    pair = align(people[:2], people[:2].assign(age=[cell] * 2), Schema(quasi=["age"]))
    assert pair.released_quasi[0].general
    assert pair.released_quasi[0].lo[0] <= 27
    assert pair.released_quasi[0].hi[0] >= 39


def test_star_null_and_hierarchy():
    jobs = Hierarchy(
        {"nurse": ("nurse", "health", "*"), "cook": ("cook", "service", "*"), "a+b": ("a+b", "service", "*")}
    )
    schema = Schema(quasi=["job", "age"], hierarchies={"job": jobs})
    pair = align(PEOPLE, released(job=["health", "service", "service", None], age=["*", None, None, "16"]), schema)
    job, age = pair.released_quasi
    assert [sorted(job.original.values[m] for m in job.members[c]) for c in job.codes[:2]] == [
        ["nurse"],
        ["a+b", "cook"],
    ]
    # row 2 had no age: its missing cell is original; but row 1's was suppressed
    assert age.anything[age.codes].tolist() == [True, True, True, False]


def test_pandas_means_are_plain_numbers():
    pair = align(PEOPLE, released(age=[33.0, 33.0, np.nan, 16.0]), Schema(quasi=["age"]))
    assert not pair.released_quasi[0].general


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"age": ["[90-99]"] * 4}, r"value could have given: '\[90-99\]' \(4 rows\) of 'age'"),
        ({"age": ["[39-27]"] * 4}, r"cannot be read: '\[39-27\]' \(4 rows\) of 'age'"),
        ({"job": ["nurse", "baker", "baker", None]}, r"'baker' \(2 rows\) of 'job'"),
        ({"age": ["[10-20]", "[10-20]", "*", "*"]}, "do not cover .*'age' \\(2 rows\\)"),
    ],
)
def test_impossible_cells_are_counted(columns, says):
    with pytest.raises(InputError, match=says):
        align(PEOPLE, released(**columns), SCHEMA)


def test_outside_can_be_allowed():
    pair = align(PEOPLE, released(age=["[10-20]", "[10-20]", "*", "*"]), SCHEMA, allow_outside=True)
    assert any("'age' (2 rows)" in note for note in pair.notes)


@pytest.mark.parametrize("key", ["id", None])
def test_fewer_rows_are_found_by_a_key_or_by_whole_rows(key):
    fewer = PEOPLE.iloc[[3, 0]]
    pair = align(PEOPLE, fewer, SCHEMA, key=key)
    assert (pair.n_rows, pair.suppressed) == (2, 2)
    assert pair.rows.tolist() == [0, 3]
    assert pair.quasi[0].values[pair.quasi[0].codes].tolist() == [27.0, 16.0]
    assert pair.released_quasi[0].lo[pair.released_quasi[0].codes].tolist() == [27.0, 16.0]


def test_reordered_release_is_found_by_its_key():
    shuffled = released(age=["[27-39]", "[27-39]", None, "16"]).iloc[[2, 0, 3, 1]]
    pair = align(PEOPLE, shuffled, SCHEMA, key="id")
    assert pair.released_quasi[0].labels[pair.released_quasi[0].codes[0]] == "[27-39]"
    with pytest.raises(InputError, match="key or the plan belong"):
        align(PEOPLE, shuffled, SCHEMA)


@pytest.mark.parametrize(
    ("key", "values", "says"),
    [
        ("id", [11, 11, 13, 14], "that share one: 2"),
        ("id", [11, 12, 13, 99], "1 of 4 released rows"),
        ("id", [11, 12, 13, None], "rows without a value: 1"),
    ],
)
def test_bad_keys(key, values, says):
    with pytest.raises(InputError, match=says):
        align(PEOPLE, released(id=values), SCHEMA, key=key)


def test_missing_columns():
    with pytest.raises(SchemaError, match="released table lacks 'age'"):
        align(PEOPLE, PEOPLE.drop(columns="age"), SCHEMA)
    with pytest.raises(SchemaError, match="no column 'agee'"):
        align(PEOPLE, PEOPLE, Schema(quasi=["agee"]))
    with pytest.raises(SchemaError, match="no key column"):
        align(PEOPLE, PEOPLE.drop(columns="id"), SCHEMA, key="id")
    with pytest.raises(SchemaError, match=r"original and the released table \(did you mean 'id'"):
        align(PEOPLE, PEOPLE, SCHEMA, key="idd")
    with pytest.raises(SchemaError, match="no quasi-identifiers"):
        align(PEOPLE, PEOPLE, Schema())


def test_notes_name_identifiers_and_changed_columns():
    pair = align(PEOPLE, released(pay=[10, 20, 30, 41]), Schema(quasi=["job"], sensitive=["pay"], identifiers=["id"]))
    said = " ".join(pair.notes)
    assert "direct identifiers are in the release: id" in said
    assert "row by row: pay" in said
    assert "released unchanged: age, born" in said


def test_a_sensitive_category_of_another_name_is_named_and_never_counted_as_hidden():
    people = pd.DataFrame({"id": range(60), "a": range(60), "ill": ["flu", "cold", "ok"] * 20})
    schema = hr.Schema(quasi=["a"], sensitive=["ill"])
    found = hr.audit(people, people.assign(ill=people.ill.str.upper()), schema, key="id", learning=False)
    assert not found.attacks
    assert "'COLD' (20 rows)" in found.to_dict()["not_measured"][0]
    blank = people.assign(ill=people.ill + " ")
    found = hr.audit(people, blank, schema, key="id", people=60, learning=False)
    assert all(a["success"] == 1.0 for a in found.attacks if a["learner"] == "nearest")


def test_sets_of_sensitive_values_are_noted_and_not_used_for_training():
    people = pd.DataFrame({"id": range(60), "a": range(60), "ill": ["flu", "cold", "ok"] * 20})
    schema = hr.Schema(quasi=["a"], sensitive=["ill"])
    release = people.assign(ill=people.ill.replace({"flu": "{cold, flu}", "cold": "{cold, flu}"}))
    asked = {"people": 60, "learning": False, "learners": ["nearest"]}
    found = hr.audit(people, release, schema, key="id", **asked)
    assert any("ill (40 rows)" in note for note in found.table["notes"])
    one = next(a for a in found.attacks if a["attack"] == "regression")
    assert one["success"] == pytest.approx(1 / 3)
    told = found.risk["release"]["sensitive"]["ill"]
    alone = hr.audit(None, release, schema).risk["release"]["sensitive"]["ill"]
    assert told["t_equal"] == alone["t_equal"]


def noted(people, release, schema, **given):
    return hr.audit(people, release, schema, attacks=False, learning=False, **given).table["notes"]


def test_numbers_of_another_unit_are_told():
    people = pd.DataFrame({"a": np.arange(50), "pay": np.arange(50) + 100.5, "id": np.arange(50)})
    schema = hr.Schema(quasi=["a"], sensitive=["pay"])
    for column in ("a", "pay"):
        release = people.assign(**{column: people[column] * 1000})
        (note,) = [n for n in noted(people, release, schema, key="id") if "another unit" in n]
        assert f"{column} (" in note
    noisy = people.assign(pay=people.pay + 20, a=people.a - 20)
    assert not any("another unit" in n for n in noted(people, noisy, schema, key="id"))


@pytest.mark.parametrize("text", ["{}", "{}.50", "{},5", "2020-01-{}", "{}.12.1989"])
def test_numbers_and_dates_that_stand_as_text_are_told(text):
    people = pd.DataFrame({"a": np.arange(40), "pay": [text.format(n % 20 + 10) for n in range(40)]})
    schema = hr.Schema(quasi=["a"], sensitive=["pay"])
    told = [any("reads as numbers" in n for n in noted(people, people, schema))]
    told += [any("reads as numbers" in n for n in noted(None, people, schema))]
    told += [any("reads as numbers" in n for n in noted(people, people, schema, key="a"))]
    told += [any("reads as numbers" in n for n in noted(people, people, schema, paired=False))]
    assert told == [True] * 4
    declared = schema.replace(kinds={"pay": "categorical"})
    assert not any("reads as numbers" in n for n in noted(people, people, declared, key="a"))


def test_columns_under_each_others_names_are_told():
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"id": np.arange(80), "age": rng.integers(18, 90, 80)})
    people["hours"], people["pay"] = rng.integers(1, 99, 80), rng.integers(1, 99, 80)
    schema = hr.Schema(quasi=["age", "hours"], sensitive=["pay"])
    for one, two in (("age", "hours"), ("hours", "pay")):
        release = people.rename(columns={one: two, two: one})
        (note,) = [n for n in noted(people, release, schema, key="id") if "names exchanged" in n]
        assert f"{one} has those of {two}, {two} has those of {one}" in note
    swapped = people.assign(age=rng.permutation(people.age))
    assert not any("names exchanged" in n for n in noted(people, swapped, schema, key="id"))
    twins = people.assign(pay=people.hours)
    assert not any("names exchanged" in n for n in noted(twins, twins, schema, key="id"))
