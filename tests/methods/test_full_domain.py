from __future__ import annotations

import datetime as dt
import itertools
import os
import time
from collections import Counter

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

import hedgerow as hr
from hedgerow.errors import InfeasibleError, ParameterError, SchemaError
from hedgerow.hierarchy import Hierarchy
from hedgerow.io.read import read
from hedgerow.plan import Plan

from ..plan.mapping import mapped_rows

PATIENTS = pa.table(
    {
        "zip": [
            "13053",
            "13068",
            "13068",
            "13053",
            "14853",
            "14853",
            "14850",
            "14850",
            "13053",
            "13053",
            "13068",
            "13068",
        ],
        "age": [28, 29, 21, 23, 50, 55, 47, 49, 31, 37, 36, 35],
        "ill": [
            "heart",
            "heart",
            "viral",
            "viral",
            "cancer",
            "heart",
            "viral",
            "viral",
            "cancer",
            "cancer",
            "cancer",
            "cancer",
        ],
    }
)
HIERARCHIES = {
    "zip": Hierarchy.from_prefixes(PATIENTS.column("zip").to_pylist()),
    "age": Hierarchy.from_intervals(PATIENTS.column("age").to_pylist(), [10, 20, 40]),
}
SCHEMA = hr.Schema(quasi=["zip", "age"], sensitive=["ill"], hierarchies=HIERARCHIES)


def classes(table):
    frame = table.to_pandas()
    return frame.groupby(["zip", "age"], dropna=False)["ill"]


def test_the_textbook_table_becomes_k_anonymous_and_diverse():
    release = hr.protect(PATIENTS, SCHEMA, hr.Incognito(k=2))
    assert classes(release.table).size().min() >= 2
    homogeneous = classes(release.table).nunique().min()
    diverse = hr.protect(PATIENTS, SCHEMA, hr.Incognito(k=2, l=3, diversity="distinct"))
    assert classes(diverse.table).nunique().min() >= 3 > homogeneous
    assert diverse.method.loss_ >= release.method.loss_


@pytest.mark.parametrize(
    "parameters",
    [
        {"l": 2.0, "diversity": "entropy"},
        {"l": 2, "diversity": "recursive", "c": 2.0},
        {"t": 0.3},
        {"l": 2, "t": 0.4, "suppression": 0.3},
        {"suppression": 0.4},
    ],
)
def test_criteria_together_are_verified_on_the_release(parameters):
    release = hr.protect(PATIENTS, SCHEMA, hr.Incognito(k=2, **parameters))
    assert all(check.holds for check in release.verify())
    assert release.method.suppressed_ <= parameters.get("suppression", 0) * 12


def test_datafly_generalises_the_column_with_the_most_values_first():
    fitted = hr.protect(PATIENTS, SCHEMA, hr.Datafly(4)).method
    # By hand: 12 ages against 4 codes; then 4 ages stay the most until they are 2 decades wide.
    assert fitted.node_["age"] >= fitted.node_["zip"] - 1
    release = hr.protect(PATIENTS, SCHEMA, hr.Datafly(3, suppression=0.34))
    assert release.method.suppressed_ in {0, 3, 4}
    assert classes(release.table).size().min() >= 3


def test_suppressed_rows_are_stars_and_form_a_class_of_their_own():
    ages = [20] * 5 + [30] * 5 + [80] * 2 + [90]
    table = pa.table({"age": ages, "ill": ["a", "b"] * 6 + ["a"]})
    method, levels = hr.Incognito(k=3, suppression=0.3), Hierarchy.from_intervals(ages, [100])
    schema = hr.Schema(quasi=["age"], sensitive=["ill"], hierarchies={"age": levels})
    release = hr.protect(table, schema, method, keep_order=True)
    assert release.table.column("age").to_pylist() == ["20"] * 5 + ["30"] * 5 + ["*"] * 3
    assert release.method.suppressed_ == 3


def test_a_small_rest_is_filled_up_so_that_it_too_has_k_records():
    ages = [20] * 6 + [30] * 4 + [80]
    table = pa.table({"age": ages, "ill": ["a", "b"] * 5 + ["a"]})
    method, levels = hr.Incognito(k=4, suppression=0.5), Hierarchy.from_intervals(ages, [100])
    schema = hr.Schema(quasi=["age"], sensitive=["ill"], hierarchies={"age": levels})
    release = hr.protect(table, schema, method, keep_order=True)
    assert release.table.column("age").to_pylist() == ["20"] * 6 + ["*"] * 5


def test_missing_values_stay_missing_until_the_top():
    table = pa.table({"job": ["cook", None, None, "nurse"] * 2, "ill": ["a", "b"] * 4})
    job = Hierarchy({"cook": ("cook", "work", "*"), "nurse": ("nurse", "work", "*")})
    schema = hr.Schema(quasi=["job"], sensitive=["ill"], hierarchies={"job": job})
    release = hr.protect(table, schema, hr.Incognito(k=3), keep_order=True)
    assert release.table.column("job").to_pylist() == ["work", None, None, "work"] * 2
    release = hr.protect(table, schema, hr.Incognito(k=5))
    assert release.table.column("job").to_pylist() == ["*"] * 8


def test_hierarchies_are_built_where_none_is_given():
    people = hr.datasets.make_people(400, seed=2)
    schema = hr.Schema(quasi=["age", "sex", "education"], sensitive=["income"])
    release = hr.protect(people, schema, hr.Incognito(k=10))
    assert all(check.holds for check in release.verify())


def test_the_order_of_rows_does_not_matter():
    order = np.random.default_rng(0).permutation(12)
    method = hr.Incognito(k=2, suppression=0.3)
    one = hr.protect(PATIENTS, SCHEMA, method)
    two = hr.protect(PATIENTS.take(pa.array(order)), SCHEMA, method)
    assert one.plan == two.plan
    assert one.table.equals(two.table)


def test_plans_save_load_and_apply(tmp_path):
    release = hr.protect(PATIENTS, SCHEMA, hr.Incognito(k=3, suppression=0.3), keep_order=True)
    release.plan.save(tmp_path / "plan.json")
    plan = Plan.load(tmp_path / "plan.json")
    assert plan == release.plan
    assert plan.apply(PATIENTS, keep_order=True).to_pylist() == release.table.to_pylist()
    rows = list(zip(PATIENTS.column("zip").to_pylist(), map(float, PATIENTS.column("age").to_pylist()), strict=True))
    expected = mapped_rows(plan.recoding, rows)
    got = [
        tuple(map(str, row)) for row in zip(*(release.table.column(n).to_pylist() for n in ("zip", "age")), strict=True)
    ]
    assert got == [tuple(map(str, row)) for row in expected]


def test_scikit_learn_conventions():
    method = hr.Incognito(k=3, schema=hr.Schema(hierarchies=HIERARCHIES))
    assert clone(method).get_params()["k"] == 3
    frame = PATIENTS.to_pandas()
    out = clone(method).fit(frame[["zip", "age"]], frame["ill"]).transform(frame[["zip", "age"]])
    assert isinstance(out, pd.DataFrame)
    assert out.groupby(["zip", "age"], observed=True).size().min() >= 3


@pytest.mark.parametrize(
    ("method", "error", "message"),
    [
        (hr.Incognito(k=0), ParameterError, "k must be a whole number"),
        (hr.Incognito(k=13), ParameterError, "the table has only 12 rows"),
        (hr.Incognito(k=2, suppression=1.0), ParameterError, "suppression"),
        (hr.Incognito(k=2, l=0.5), ParameterError, "l must be at least 1"),
        (hr.Incognito(k=2, l=1.5, diversity="distinct"), ParameterError, "whole number"),
        (hr.Incognito(k=2, diversity="good"), ParameterError, "diversity"),
        (hr.Incognito(k=2, t=2), ParameterError, "t must be a number from 0 to 1"),
        (hr.Incognito(k=2, c=0), ParameterError, "c must be above 0"),
        (hr.Incognito(k=2, l=9, diversity="distinct"), InfeasibleError, "not even the top"),
        (hr.Datafly(k=2, suppression=-0.1), ParameterError, "suppression"),
    ],
)
def test_bad_requests(method, error, message):
    with pytest.raises(error, match=message):
        hr.protect(PATIENTS, SCHEMA, method)


def test_a_hierarchy_of_other_values_is_refused():
    with pytest.raises(SchemaError, match="lacks 12 of its 12 values"):
        hr.protect(PATIENTS, SCHEMA.replace(hierarchies={"age": HIERARCHIES["zip"]}), hr.Incognito(k=2))


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")
def test_adult_is_released_and_verified_with_suppression():
    hierarchies = hr.datasets.load_adult_hierarchies()
    quasi = [name for name in hierarchies if name != "occupation"]
    schema = hr.Schema(quasi=quasi, sensitive=["occupation"], hierarchies={n: hierarchies[n] for n in quasi})
    release = hr.protect(hr.datasets.load_adult("train"), schema, hr.Incognito(k=5, l=3, suppression=0.05))
    assert all(check.holds for check in release.checks)


@pytest.mark.parametrize(
    "jobs",
    [
        ["a", "b", "*", "c", "d"],
        ["a", "b", "", "", "d"],
        [" ", "a", "  ", "*", ""],
        ["a", "b", "{a..b}", "c", '"c'],
        ["a", "a..b", "b..c", "c", '"*"'],
        ["(missing)", None, "a+b", "*", "[1-2]"],
    ],
)
@pytest.mark.parametrize("k", [2, 5, 9])
@pytest.mark.parametrize("method", [hr.Incognito(suppression=0.3), hr.Datafly()])
def test_a_built_hierarchy_takes_values_that_look_like_signs(jobs, k, method):
    people = pd.DataFrame({"job": [*jobs, *jobs[:3]] * 2, "ill": list("xxyy" * 4)})
    schema = hr.Schema(quasi=["job"], sensitive=["ill"])
    release = hr.protect(people, schema, method.copy().set_params(k=k))
    assert release.summary()["groups"]["smallest"] >= k
    # no cell tells of a value that is none of its group's
    shown = pd.DataFrame({"was": people["job"][release.rows].tolist(), "is": release.table["job"]})
    for cell, values in shown.groupby("is", dropna=False)["was"]:
        told = {v for v in jobs if v == cell and v not in ("*", "{a..b}", '"*"')}
        assert not told or set(values) == told
    found = hr.audit(people, release, attacks=False, learning=False)
    assert found.risk["release"]["classes"]["k"] >= k
    with duckdb.connect() as connection:
        connection.register("people", people)
        made = connection.execute(release.plan.to_sql("people")).fetchall()
    assert Counter(row[0] for row in made) == Counter(None if pd.isna(cell) else cell for cell in release.table["job"])


@pytest.mark.parametrize("method", [hr.Incognito(k=5), hr.Datafly(k=5)])
def test_the_order_of_the_roles_decides_nothing(method):
    people, roles = hr.datasets.make_people(300, seed=2), ["age", "education", "job", "sex"]
    made = [
        hr.protect(people, hr.Schema(quasi=quasi, sensitive=["income"]), method).table
        for quasi in itertools.permutations(roles)
    ]
    assert all(table.equals(made[0]) for table in made)


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
def test_a_hierarchy_of_dates_is_made_from_the_column_itself(zone):
    times = pd.Series(pd.date_range("1999-11-05 23:30", periods=60, freq="31h", tz=zone))
    times[7:11] = None
    people = pd.DataFrame({"when": times, "s": [i % 7 for i in range(60)]})
    schema = hr.Schema(quasi=["when"], sensitive=["s"])
    arrow = pa.array(times)
    columns = [times, times.tolist(), arrow, arrow.to_pylist()]
    columns += [times.to_numpy()] if zone is None else []
    made = []
    for column in columns:
        levels = {"when": hr.Hierarchy.from_dates(column, ["month", "year"])}
        release = hr.protect(people, schema.replace(hierarchies=levels), hr.Incognito(k=4))
        made.append(release.table)
    assert all(table.equals(made[0]) for table in made)
    assert set(made[0]["when"].dropna()) == {"1999-11", "1999-12", "2000-01"}


@pytest.mark.parametrize("zone", [None, "Europe/Vienna"])
@pytest.mark.parametrize("step", [dt.timedelta(hours=31), dt.timedelta(days=3, microseconds=500)])
def test_time_stamps_are_recoded_in_sql_as_in_memory(zone, step):
    times = [dt.datetime(2020, 1, 1) + i * step for i in range(60)]
    people = pa.table(
        {
            "when": pa.array(times * 3, pa.timestamp("us", tz=zone)),
            "age": [i % 5 for i in range(180)],
            "s": [i % 7 for i in range(180)],
        }
    )
    roles = hr.Schema(quasi=["when", "age"], sensitive=["s"])
    release = hr.protect(people, roles, hr.Incognito(k=5))
    with duckdb.connect() as connection:
        connection.register("people", people)
        made = connection.execute(release.plan.to_sql("people")).fetchall()
    released = release.table.select(["when", "age", "s"]).to_pylist()
    assert Counter(map(str, (row[0] for row in made))) == Counter(str(r["when"]) for r in released)


def scattered(columns, rows, values):
    """Rows that hardly agree in anything: built hierarchies are deep, and few ways keep k."""
    rng = np.random.default_rng(0)
    names = [f"c{i}" for i in range(columns)]
    table = {name: rng.integers(0, values, rows) for name in names}
    return pa.table({**table, "s": rng.integers(0, 5, rows)}), hr.Schema(quasi=names, sensitive=["s"])


def test_millions_of_ways_to_generalise_take_seconds():
    people, schema = scattered(8, 100, 50)
    hr.Incognito(k=3).fit_table(read(people.select(["c0", "s"])), schema.replace(quasi=["c0"]))
    began = time.process_time()
    method = hr.Incognito(k=3).fit_table(read(people), schema)
    assert time.process_time() - began < 6
    assert sum(method.node_.values()) > 30


def test_more_ways_than_can_be_searched_are_refused_and_datafly_walks():
    people, schema = scattered(12, 60, 30)
    with pytest.raises(ParameterError, match="2,176,782,336 ways together"):
        hr.Incognito(k=3).fit_table(read(people), schema)
    assert hr.Datafly(k=3).fit_table(read(people), schema).loss_ > 0.5


@pytest.mark.parametrize("method", [hr.Datafly(k=5), hr.Incognito(k=5)])
def test_many_categories_are_released(method):
    n = 20_000
    codes = np.random.default_rng(0).permutation(n)
    people = pa.table({"code": [f"v{c:06d}" for c in codes], "s": codes % 7})
    schema = hr.Schema(quasi=["code"], sensitive=["s"])
    release = hr.protect(people, schema, method)
    assert release.summary()["groups"]["smallest"] >= 5


def _people_of_many_days(n: int = 400) -> pd.DataFrame:
    """Return people whose days of birth, and codes of diagnoses, hardly anybody shares."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "born": pd.Timestamp("1940-01-01") + pd.to_timedelta(rng.integers(0, 20_000, n), "D"),
            "code": [
                f"{letter}{i:02d}.{j}"
                for letter, i, j in zip(
                    rng.choice(list("CIJ"), n), rng.integers(0, 30, n), rng.integers(0, 10, n), strict=True
                )
            ],
            "age": rng.integers(18, 90, n),
            "land": rng.choice([f"land {i:02d}" for i in range(30)], n, p=np.arange(1, 31) / 465),
            "ill": rng.choice(list("abc"), n),
        }
    )


@pytest.mark.parametrize("method", [hr.Datafly, hr.Incognito])
@pytest.mark.parametrize(
    ("name", "label"), [("born", r"\d{4}-\d\d(-\d\d)?|\d{4}s?|\*"), ("code", r"[CIJ](\d|\*)+(\.[\d*])?|\*")]
)
def test_dates_and_codes_end_on_nobodys_value(method, name, label):
    """15 of 16 end days of ranges were the birthday of one person."""
    people = _people_of_many_days()
    released = hr.protect(people, hr.Schema(quasi=[name], sensitive=["ill"]), method(k=5)).table
    cells = released[name].astype(str)
    assert cells.str.fullmatch(label).all()
    assert 1 < cells.nunique() < len(people) / 5


def test_times_are_told_by_day_first():
    people = _people_of_many_days().assign(
        born=lambda t: pd.Timestamp("2020-02-03 01:00") + pd.to_timedelta(t["age"], "min")
    )
    released = hr.protect(people, hr.Schema(quasi=["born"], sensitive=["ill"]), hr.Datafly(k=4)).table
    assert released["born"].str.fullmatch(r"\d{4}-\d\d-\d\d").all()


@pytest.mark.parametrize("method", [hr.Datafly, hr.Incognito])
@pytest.mark.parametrize(
    ("grid", "labels"),
    [
        ({"age": [30, 50, 70]}, {"[-30)", "[30-50)", "[50-70)", "[70-]"}),
        ({"born": ["1950-01-01", "1970-01-01"]}, {"[-1950-01-01)", "[1950-01-01/1970-01-01)", "[1970-01-01/]"}),
    ],
)
def test_a_grid_is_a_hierarchy_of_public_points(method, grid, labels):
    people = _people_of_many_days()
    schema = hr.Schema(quasi=list(grid), sensitive=["ill"], grid=grid)
    release = hr.protect(people, schema, method(k=10))
    assert {
        str(cell).replace("T00:00:00", "").replace("[/", "[-") for cell in release.table[next(iter(grid))]
    } == labels
    assert not [text for text in release.cautions if "ends on" in text or "end on" in text]
    assert hr.audit(people, release, attacks=False, learning=False).table["extremes"] == {}


def test_a_grid_joins_ranges_where_they_hold_too_few():
    people = _people_of_many_days(40)
    schema = hr.Schema(quasi=["age"], sensitive=["ill"], grid={"age": list(range(20, 90, 5))})
    cells = hr.protect(people, schema, hr.Incognito(k=5)).table["age"].unique()
    assert "*" not in cells
    assert len(cells) > 1
    with pytest.raises(SchemaError, match="no quasi-identifiers: 'ill'"):
        hr.protect(people, schema.replace(grid={"ill": [3]}), hr.Datafly())


@pytest.mark.parametrize("method", [hr.Datafly, hr.Incognito])
def test_ranges_that_end_on_rare_values_are_told(method):
    people = _people_of_many_days().assign(age=lambda t: t["age"].where(t.index > 0, 109))
    schema = hr.Schema(quasi=["age", "land"], sensitive=["ill"])
    release = hr.protect(people, schema, method(k=12))
    found = release.summary()["extremes"]
    assert found["age"]["cells"] >= 1
    assert found["land"]["cells"] >= 1
    assert hr.audit(people, release, attacks=False, learning=False).table["extremes"] == found
    (said,) = [text for text in release.cautions if "land range" in text]
    assert "categories take a hierarchy" in said
    public = Hierarchy.from_values(sorted(people["land"].unique()))
    known = hr.protect(people, schema.replace(hierarchies={"land": public}), method(k=12))
    assert "land" not in known.summary()["extremes"]
