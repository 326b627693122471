"""Every method that a cluster runs gives what memory gives; so do plans that are applied there."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from benchmarks.private_losses import NumpyNoise, Transcript

import hedgerow as hr
from hedgerow.backends.spark.spark_table import SparkTable
from hedgerow.errors import InputError, PlanError, UnsupportedError
from hedgerow.methods import private
from hedgerow.methods.private import private_tree
from hedgerow.plan.records import Vector
from hedgerow.release import apply_plan
from hedgerow.release.verify import verify

from ..contracts.engine_suite import METHODS, ODD_TABLES, engine_checks
from . import test_check_sql as checks
from .test_spark import plain, same

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])
KNOWN = SCHEMA.replace(identifiers=["number"])
BOTH = SCHEMA.replace(sensitive=["income", "diagnosis"])
N = 300


def _people() -> pa.Table:
    table = hr.datasets.make_people(N, seed=3)
    return plain(table.select(["age", "education", "job", "income", "diagnosis", "region"]))


PEOPLE = _people().append_column("number", pa.array(range(N)))
TWICE = pa.concat_tables([PEOPLE.slice(0, 150)] * 2)  # rows that are alike
TITLES = ("nanoseconds", "bytes and clocks", "nested", "several records a person", "one row", "no rows")


@pytest.fixture(scope="module")
def people(spark: Any) -> Any:
    # more parts than rows of some, so that parts are empty
    return spark.createDataFrame(TWICE).repartition(3, "region").persist()


@pytest.mark.parametrize(
    ("method", "schema"),
    [
        (hr.RandomizedResponse(12, relax="halfway", bins=3, random_state=1, target="both"), SCHEMA),
        (hr.Datafly(5, suppression=0.05), BOTH),
        (hr.Incognito(5, suppression=0.1, l=2), BOTH),
        (hr.Mondrian(8), BOTH),
        (hr.Mondrian(8, objective="loss", max_disclosure=0.6), BOTH),
        (hr.TreePatternPreserving(k=5, l=1.1, response="income"), BOTH),
    ],
    ids=["randomized response", "Datafly", "Incognito", "median", "loss", "trees"],
)
def test_methods_that_ask_for_codes(people: Any, method: Any, schema: hr.Schema) -> None:
    same(hr.protect(people, schema, method), hr.protect(TWICE, schema, method))


def test_draws_by_a_column_of_ids(spark: Any, people: Any) -> None:
    method = hr.RandomizedResponse(12, relax="halfway", bins=3, row_id="number", random_state=1)
    frame = spark.createDataFrame(PEOPLE).repartition(4)
    same(hr.protect(frame, KNOWN, method), hr.protect(PEOPLE, KNOWN, method))
    with pytest.raises(PlanError, match="0 missing and 150 repeated values"):
        hr.protect(people, SCHEMA.replace(other=["number"]), method)


def test_draws_of_other_rows_are_found(people: Any) -> None:
    """The release is drawn again for its verification, row by row: here every age moves one row on."""

    def roll(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            order = np.roll(np.arange(batch.num_rows), 1)
            columns = [batch.column(0).take(pa.array(order)), *batch.columns[1:]]
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    method = hr.RandomizedResponse(12, relax="halfway", bins=3, random_state=1)
    release = hr.protect(people, SCHEMA, method)
    assert isinstance(release.released, SparkTable)
    moved = SparkTable(release.table.mapInArrow(roll, release.table.schema))
    moved.maker = release.released.maker
    found = verify(release.plan, release.original, moved).checks
    assert [check.name for check in found if not check.holds] == ["whole rows"]


def test_pruning_by_many_classes(spark: Any) -> None:
    """More classes than the grower counts in its vector: they are counted for the pruning."""
    i = np.arange(400)
    table = pa.table(
        {
            "age": 18 + i * 7 % 60,
            "job": [("clerk", "cook", "nurse")[j % 3] for j in i],
            "ill": [f"d{j * j % 41}" for j in i],
        }
    )
    schema = hr.Schema(quasi=["age", "job"], sensitive=["ill"])
    method = hr.MART(5, max_disclosure=None, alpha=0.3)
    same(hr.protect(spark.createDataFrame(table), schema, method), hr.protect(table, schema, method))


def _cells(table: pa.Table) -> list[str]:
    return sorted(map(repr, plain(table).to_pylist()))


@pytest.mark.parametrize("method", [hr.MART(5), hr.Datafly(5)], ids=["partition", "maps"])
def test_a_plan_on_other_people(spark: Any, tmp_path: Path, method: Any) -> None:
    plan = hr.protect(PEOPLE, SCHEMA, method).plan
    others = PEOPLE.slice(0, 80).set_column(0, "age", pa.array([*range(200, 240), *range(20, 60)]))
    frame = spark.createDataFrame(others)
    for unseen in ("count", "suppress"):
        found, wanted = (plan.apply(each, unseen=unseen) for each in (frame, others))
        assert repr(found.toArrow().to_pylist()) == repr(wanted.to_pylist())
    pq.write_table(others, tmp_path / "others.parquet")
    made = apply_plan(plan, tmp_path / "others.parquet", unseen="count", engine="spark")
    made.write(tmp_path / "made.csv")
    apply_plan(plan, tmp_path / "others.parquet", unseen="count").write(tmp_path / "wanted.csv")
    assert (tmp_path / "made.csv").read_bytes() == (tmp_path / "wanted.csv").read_bytes()


SQL_TABLES = ("spaces, dots and quotes in names", "nulls", "booleans", "unicode", "NaN and NULL", "dates")


@pytest.mark.parametrize("title", SQL_TABLES)
def test_the_sql_of_a_plan(spark: Any, title: str) -> None:
    """What `to_sql` says, run by Spark, is what `apply` makes."""
    odd = ODD_TABLES[title]()
    table = pa.table(dict(odd.columns))
    frame = spark.createDataFrame(table)
    frame.createOrReplaceTempView("odd_people")
    for method in (hr.MART(3, numeric="mean", categorical="weighted"), hr.MART(3), hr.Datafly(3)):
        try:
            plan = hr.protect(table, odd.schema, method).plan
        except InputError:
            continue
        made = spark.sql(plan.to_sql("odd_people", "spark")).toArrow()
        wanted = plan.apply(table, unseen="count")
        assert made.column_names == wanted.column_names
        assert _numbers(made) == _numbers(wanted)


@pytest.mark.parametrize("method", ["means", "Datafly"])
def test_a_release_is_checked_in_sql(spark: Any, method: str) -> None:
    """Spark finds in a release what `verify` finds, whatever was done to it."""

    def check(plan: hr.Plan, released: pa.Table, original: pa.Table) -> checks.Rows:
        spark.createDataFrame(original).createOrReplaceTempView("an_original")
        spark.createDataFrame(released).createOrReplaceTempView("a_release")
        return checks.read_rows(spark.sql(plan.check_sql("a_release", "an_original", "spark")).collect())

    plan, table, original = checks.release(method, 2)
    assert checks.agree(plan, table, original, check) == {}
    strict = replace(plan, promises=({"kind": "k_anonymity", "k": 9}, {"kind": "disclosure", "maximum": 0.1}))
    changed = checks.column_with(table.slice(3), "job", 0, "nobody")
    assert len(checks.agree(strict, changed, original, check)) > 4
    later = pa.concat_tables([original, checks.people(40, 5, more=("pilot",))])
    checks.agree(plan, apply_plan(plan, later, unseen="count").table, later, check)


def _numbers(table: pa.Table) -> list[str]:
    """Rows with numbers by value: NaN is missing, and there is one zero."""

    def cell(value: Any) -> Any:
        if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
            return None if value != value else float(value) + 0.0
        return value

    rows = plain(table).to_pylist()
    return sorted(repr([cell(v) for v in row.values()]) for row in rows)


def test_odd_frames(spark: Any) -> None:
    i = np.arange(60)
    zone = pa.timestamp("us", "UTC")
    odd = pa.table(
        {
            "a.b": pa.array([18 + j * 7 % 40 for j in i], pa.int16()),
            "`c`": pa.array([Decimal(int(j) % 8) / 4 for j in i], pa.decimal128(9, 2)),
            "at": pa.array([dt.datetime(2020, 1, 1) + dt.timedelta(int(j) % 9) for j in i], zone),
            "none": pa.nulls(60, pa.string()),
            "pay": pa.array([(None, float("nan"), -0.0, 0.0, 7.5)[j % 5] for j in i]),
            "raw": pa.array([(b"\x00", b"\xff", None)[j % 3] for j in i]),
        }
    )
    schema = hr.Schema(quasi=["a.b", "`c`", "at"], sensitive=["pay"], other=["none", "raw"])
    frame = spark.createDataFrame(odd).repartition(5, "`a.b`")
    same(hr.protect(frame, schema, hr.MART(4)), hr.protect(frame.toArrow(), schema, hr.MART(4)))


def test_frames_that_are_refused(spark: Any) -> None:
    from pyspark.sql import functions as f

    frame = spark.createDataFrame(PEOPLE)
    with pytest.raises(UnsupportedError, match="'tags' holds nested values"):
        hr.protect(frame.withColumn("tags", f.array("job")), SCHEMA.replace(other=["tags"]), hr.MART(5))
    with pytest.raises(InputError, match="more than once"):
        hr.protect(frame.select("*", "age"), SCHEMA, hr.MART(5))
    with pytest.raises(InputError, match="no rows"):
        hr.protect(frame.limit(0), SCHEMA, hr.MART(5))
    forest = hr.TreePatternPreserving("forest n_trees=1 seed=1", k=2, response="income")
    with pytest.raises(UnsupportedError, match="records by their position"):
        hr.protect(frame, SCHEMA.replace(quasi=["age"]), forest, keep_order=True)


def test_combinations_are_counted(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"a": ["x", None, "x", "y"] * 3, "b": [1, 2, 1, 1] * 3, "s": list("abcd") * 3})
    held = SparkTable(spark.createDataFrame(table).repartition(3))
    codes, counts = held.combinations(["a", "b"])
    names = [held.entries(n).to_pylist() for n in ("a", "b")]
    rows = zip(*codes.values(), strict=True)
    found = [tuple(v[c] for v, c in zip(names, row, strict=True)) for row in rows]
    assert dict(zip(found, counts.tolist(), strict=True)) == {("x", 1): 6, (None, 2): 3, ("y", 1): 3}
    monkeypatch.setattr("hedgerow.backends.spark.packing.MOST_TOGETHER", 2)
    with pytest.raises(UnsupportedError, match="'a', 'b' have more than 2 combinations"):
        held.combinations(["a", "b"])


@pytest.mark.parametrize(
    "method", [hr.Mondrian(8), hr.TreePatternPreserving(k=5, response="income")], ids=["median", "trees"]
)
def test_codes_that_would_not_fit_here_stay_away(people: Any, method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By hand: 300 rows in at most 300 combinations take over 10,000 bytes, under any method."""

    def never(*_: Any) -> Any:
        raise AssertionError("codes were brought here")

    monkeypatch.setattr("hedgerow.backends.spark.packing.memory_of", lambda _: 10_000)
    monkeypatch.setattr(SparkTable, "combinations", never)
    with pytest.raises(UnsupportedError, match="codes of 300 records come together"):
        hr.protect(people, SCHEMA, method)
    assert hr.protect(people, SCHEMA, hr.MART(20)).checks  # counts, and brings none


ZEROS, TEXT = "missing, zeros and booleans at once", "text, decimals and dictionaries at once"
CODES = ("Mondrian", "Datafly", "Incognito", "RandomizedResponse", "TreePatternPreserving")
CONTRACT = {
    **dict.fromkeys(TITLES, ("MART",)),
    # the file of text that is drawn is not that of text that stands for groups
    "times with a zone": ("RandomizedResponse",),
    ZEROS: (*CODES, "Hedge", "drawn rows"),
    TEXT: ("Hedge", "Incognito", "TreePatternPreserving", "Mondrian", "drawn in ranges"),
    "infinities that stay": ("drawn rows",),
    "both zeros": ("TreePatternPreserving",),  # it takes no missing number
    "infinities": CODES,  # all refuse them, with the same words
}
"""Odd tables, and the methods of the contract that are asked them here."""


DRAWN = hr.Schema(
    quasi=["age", "entry_date", "children"], sensitive=["income", "assets", "diagnosis"], other=["region"]
)


def test_rules_hold_as_in_memory(spark: Any) -> None:
    draw = np.random.default_rng(2)
    town = draw.choice(["Bonn", "Mainz", "Fulda", "Trier"], 600)
    land = {"Bonn": "NRW", "Mainz": "RLP", "Fulda": "HE", "Trier": "RLP"}
    rent, food, begin = draw.integers(200, 900, 600), draw.integers(100, 300, 600), draw.integers(0, 300, 600)
    age = draw.integers(18, 80, 600)
    table = pa.table(
        {
            "age": age, "town": town, "land": [land[each] for each in town], "begin": begin, "rent": rent, "food": food,
            "end": begin + draw.poisson(4, 600), "total": rent + food,
            "job": np.where(age < 25, "none", draw.choice(["nurse", "cook"], 600)),
        }
    )  # fmt: skip
    schema = hr.Schema(
        quasi=["age", "town", "land", "begin", "job"], sensitive=["end", "rent", "food", "total"], unit=None,
        rules=["end >= begin", "total = rent + food", "age >= 25 OR job = 'none'"], determines={"town": "land"},
    )  # fmt: skip
    frame = spark.createDataFrame(table.to_pandas()).repartition(3)
    release, wanted = (hr.protect(each, schema, random_state=1) for each in (frame, table))
    same(release, wanted)
    rules = {check.name for check in release.checks if check.name.startswith("rule ")}
    assert {'rule "end" >= "begin"', "rule total = rent + food", "rule town determines land"} < rules


@pytest.fixture(scope="module")
def drawn_people(spark: Any) -> tuple[Any, pa.Table]:
    """People with dates and missing numbers, in an order of the cluster's own."""
    table = hr.datasets.make_people(400, seed=4)
    rows = plain(table.select([*DRAWN.quasi, *DRAWN.sensitive, *DRAWN.other]))
    missing = pa.array([None if i % 9 == 0 else v for i, v in enumerate(rows.column("assets").to_pylist())])
    rows = rows.set_column(rows.column_names.index("assets"), "assets", missing)
    return spark.createDataFrame(rows).repartition(3, "region").persist(), rows


@pytest.mark.parametrize(
    ("method", "schema"),
    [
        (None, DRAWN.replace(other=[])),
        (hr.Hedge(8, max_disclosure=0.3), DRAWN),
        (hr.Hedge(8, cells="means"), DRAWN),
        (hr.Hedge(8, cells="ranges"), DRAWN.replace(other=[])),
        (hr.Datafly(5), DRAWN),
        (hr.MART(8), DRAWN),
    ],
    ids=["default", "rows", "means", "ranges", "Datafly", "runs"],
)
def test_values_are_drawn_as_in_memory(
    drawn_people: tuple[Any, pa.Table], method: Any, schema: hr.Schema, tmp_path: Path
) -> None:
    frame, rows = drawn_people
    guard = {"random_state": 1, "guard": "redraw" if isinstance(method, hr.Datafly) else "auto"}
    guard = {"guard": "runs"} if isinstance(method, hr.MART) else guard
    release, wanted = (hr.protect(each, schema, method, **guard) for each in (frame, rows))
    assert release.plan.guard is not None
    same(release, wanted)
    release.write(tmp_path / "release")
    wanted.write(tmp_path / "wanted")
    for file in (tmp_path / "wanted").iterdir():
        assert (tmp_path / "release" / file.name).read_bytes() == file.read_bytes(), file.name
    assert release.verify_written(frame.sparkSession.read.parquet(str(tmp_path / "release" / "release.parquet")))


@pytest.fixture(scope="module")
def drawn_release(drawn_people: tuple[Any, pa.Table]) -> hr.Release:
    return hr.protect(drawn_people[0], DRAWN, random_state=1)


@pytest.mark.parametrize("change", ["a value", "swapped", "a row twice", "another key", "a spread", "another original"])
def test_drawn_rows_that_were_changed(
    drawn_people: tuple[Any, pa.Table], drawn_release: hr.Release, change: str
) -> None:
    """The second path finds on a cluster what was changed in a table, its plan or its original."""
    release, session = drawn_release, drawn_people[0].sparkSession
    rows = release.table.toArrow()
    plan, key, at = release.plan, release._key, rows.column_names.index("income")
    incomes = rows.column("income").to_pylist()
    i = next(i for i in range(1, len(incomes)) if incomes[i] != incomes[0])
    if change == "a value":
        incomes[0] = incomes[i]
    elif change == "swapped":
        groups = np.asarray(release.plan.guard.sizes)
        assert len(groups) > 1
        order = np.argsort([-1 if v is None else v for v in incomes])
        incomes[order[0]], incomes[order[-1]] = incomes[order[-1]], incomes[order[0]]
    elif change == "another key":
        key = hr.Key.new()
    elif change == "a spread":
        first = plan.guard.columns[0]
        people = Vector("i", np.asarray(first.people) + 1)
        columns = (replace(first, people=people), *plan.guard.columns[1:])
        plan = replace(plan, guard=replace(plan.guard, columns=columns))
    original = release.original
    if change == "another original":
        other = drawn_people[1].column("income").to_pylist()
        other[0], other[1] = other[1] + 7919, other[0]
        spoilt = drawn_people[1].set_column(drawn_people[1].column_names.index("income"), "income", pa.array(other))
        original = SparkTable(session.createDataFrame(spoilt))
    if change == "a row twice":
        rows = pa.concat_tables([rows.slice(0, 1), rows.slice(0, len(rows) - 1)])
    elif change in ("a value", "swapped"):
        rows = rows.set_column(at, "income", pa.array(incomes, rows.column("income").type))
    verified = verify(plan, original, SparkTable(session.createDataFrame(rows)), key=key, rows=release._rows)
    assert not all(check.holds for check in verified.checks)


def test_as_it_was_made_it_holds(drawn_people: tuple[Any, pa.Table], drawn_release: hr.Release) -> None:
    session, rows = drawn_people[0].sparkSession, drawn_release.table.toArrow()
    again = SparkTable(session.createDataFrame(rows))
    checks = verify(
        drawn_release.plan, drawn_release.original, again, key=drawn_release._key, rows=drawn_release._rows
    ).checks
    assert checks
    assert all(check.holds for check in checks)


def test_a_drawn_release_is_audited_where_it_lies(
    drawn_people: tuple[Any, pa.Table], drawn_release: hr.Release
) -> None:
    """Which row of a group is paired with which is nobody's: figures by column are those of memory."""
    frame, rows = drawn_people
    audit = hr.audit(frame, drawn_release, attacks=False, learning=False).to_dict()
    wanted = hr.audit(rows, hr.protect(rows, DRAWN, random_state=1), attacks=False, learning=False).to_dict()
    assert {*audit["utility"]} > {"loss"}
    for part in {*wanted["utility"]} - {"loss"}:
        assert audit["utility"][part] == wanted["utility"][part], part


def test_what_is_drawn_must_fit_here(drawn_people: tuple[Any, pa.Table], monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedError, match="drawn values stay in the order"):
        hr.protect(drawn_people[0], DRAWN, hr.Hedge(8, cells="means"), keep_order=True)
    monkeypatch.setattr("hedgerow.backends.spark.packing.memory_of", lambda _: 10_000)
    with pytest.raises(UnsupportedError, match=r"codes of 400 records come together .* GB"):
        hr.protect(drawn_people[0], DRAWN)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("title", CONTRACT)
def test_the_contract(title: str, tmp_path: Path) -> None:
    """Some of `check_engine("spark")`; all of it takes ten minutes (benchmarks/spark_equal.py)."""
    dict(engine_checks("spark", CONTRACT[title]))[title](tmp_path)


def test_every_method_of_the_contract_runs_here() -> None:
    assert all("spark" in make().engines for make in METHODS.values())


@pytest.mark.parametrize("records", [1, 2])
def test_a_private_tree_is_asked_the_same_counts_as_in_memory(
    spark: Any, monkeypatch: pytest.MonkeyPatch, records: int
) -> None:
    monkeypatch.setattr(private, "_PER_LEAF", 20)
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "who": rng.integers(0, 900, 2_000),
            "age": pa.array(rng.integers(18, 90, 2_000), mask=rng.random(2_000) < 0.02),
            "job": rng.choice(["cook", "nurse", "clerk", "pilot"], 2_000),
            "income": rng.gamma(2, 9_000, 2_000),
        }
    )
    schema = hr.Schema(
        quasi=["age", "job"], sensitive=["income"], unit="who" if records > 1 else None,
        bounds={"age": (0, 100), "income": (0, 1_000_000)}, categories={"job": ["cook", "nurse", "clerk"]},
    )  # fmt: skip
    asked = []
    for frame in (spark.createDataFrame(table), table):
        source = Transcript(NumpyNoise(1))
        monkeypatch.setattr(private_tree, "OpenDP", lambda source=source: source)
        release = hr.protect(frame, schema, hr.PrivateTree(records=records))
        assert set(release.released.names) == {"age", "job", "income"}
        assert len(release.plan.measured.leaves) > 4
        asked.append(source.asked)
    for (kind, before, *rest), (alike, after, *others) in zip(*asked, strict=True):
        assert (kind, rest[:2]) == (alike, others[:2])
        assert np.array_equal(before, after)
