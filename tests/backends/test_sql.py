from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from typing import ClassVar

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.backends.sql import SqlRequest, identifier, select
from hedgerow.errors import PlanError, UnsupportedError
from hedgerow.plan import Cell, Partition, Plan, PlanColumn, Recoded, Recoding

from ..plan.partitions import chain, mixed, plan_of, recoded

PEOPLE = pa.table(
    {
        "name": pa.array([f"person {i}" for i in range(8)]),
        "age": pa.array([25, None, 39, 40, 90, float("nan"), 20, 41], pa.float64()),
        "job": ["nurse", "O'Hara", None, "cook\\", "a+b", "a+b", "unheard of", None],
        "born": pa.array([dt.date(1970, 1, d) for d in (1, 11, 12, 13, 2, 11, 12, 11)]),
        "height": pa.array([150.0, 160.0, None, 170.0, 1.0, 2.0, 3.0, 4.0]),
        "key_0": list(range(8)),
        "leaf": [f"leaf {i}" for i in range(8)],
    }
)
EXTRA = (PlanColumn("key_0", "sensitive", "numeric"), PlanColumn("leaf", "other", "categorical"))


def run(statement: str, people: pa.Table) -> pa.Table:
    with duckdb.connect() as connection:
        connection.register("people", people)
        return connection.sql(statement).to_arrow_table()


def many() -> Partition:
    """Three splits by forty jobs; missing goes left once."""
    jobs = [f"job {i}, 'q'" for i in range(39)] + ["größe"]
    cell = [Cell(str(i), categories=(job,)) for i, job in enumerate(jobs[:4])]
    subsets = ((*jobs[::2], None), tuple(jobs[::4]), tuple(jobs[1:20:2]))
    return Partition(
        (Recoded("job", "quasi", "categorical", cells=tuple(cell)),),
        (0, 0, -1, -1, 0, -1, -1),
        (0.0,) * 7,
        (0, 1, -1, -1, 2, -1, -1),
        (False,) * 7,
        (4, 3, -1, -1, 6, -1, -1),
        subsets,
        ((0, 1, 2, 3),),
    )


def test_sql_gives_the_release_of_the_plain_reference() -> None:
    tree = mixed()
    plan = plan_of(tree, EXTRA)
    plan = Plan(
        plan.method, plan.parameters, (PlanColumn("name", "identifier", "categorical"), *plan.columns), plan.recoding
    )
    made = run(plan.to_sql(), PEOPLE)
    assert made.column_names == ["age", "job", "born", "height", "key_0", "leaf"]
    rows = sorted(made.to_pylist(), key=lambda row: row["key_0"])
    for record, row in zip(PEOPLE.to_pylist(), rows, strict=True):
        assert {n: row[n] for n in ("age", "job", "born", "height")} == recoded(tree, record)
        assert row["leaf"] == record["leaf"]
    assert pa.types.is_floating(made.schema.field("height").type)


def test_sql_and_the_engine_agree() -> None:
    memory = pytest.importorskip("hedgerow.backends")
    from hedgerow.io.read import read

    plan = plan_of(mixed(), EXTRA)
    made = memory.transform(plan, read(PEOPLE)).columns
    rows = sorted(run(plan.to_sql(), PEOPLE).to_pylist(), key=lambda row: row["key_0"])
    for name, array in made.items():
        assert array.to_pylist() == [row[name] for row in rows]


def test_long_lists_of_categories_are_one_join_and_no_join_a_split() -> None:
    tree = many()
    people = [*(f"job {i}, 'q'" for i in range(39)), "größe", None, "unheard of", "", "1"]
    table = pa.table({"job": people, "key": list(range(len(people)))})
    plan = plan_of(tree, (PlanColumn("key", "other", "numeric"),))
    made = run(plan.to_sql(), table).to_pylist()
    by_key = {row["key"]: row["job"] for row in made}
    assert by_key == {i: recoded(tree, {"job": job})["job"] for i, job in enumerate(people)}
    assert len(set(by_key.values())) == 4
    with duckdb.connect() as connection:
        connection.register("people", table)
        explained = connection.execute("EXPLAIN " + plan.to_sql()).fetchall()[0][1]
    assert "MARK" not in explained


@pytest.mark.parametrize("depth", [1, 59, 60, 61, 300])
def test_a_deep_tree_does_not_break_the_parser(depth: int) -> None:
    people = pa.table({"age": list(range(depth + 3))})
    made = run(plan_of(chain(depth)).to_sql(), people)
    want = [str(min(age, depth)) for age in range(depth + 3)]
    assert sorted(made.column("age").to_pylist(), key=int) == sorted(want, key=int)


@pytest.mark.parametrize("dialect", ["spark", "postgres", "bigquery", "snowflake"])
@pytest.mark.parametrize("tree", [mixed(), chain(300), many()], ids=["mixed", "deep", "many"])
def test_other_dialects_parse_as_themselves(dialect: str, tree: Partition) -> None:
    import sqlglot

    statement = plan_of(tree).to_sql(dialect=dialect)
    parsed = sqlglot.parse_one(statement, read=dialect)
    assert [column.alias_or_name for column in parsed.expressions] == [c.name for c in tree.columns]


def test_the_translation_to_duckdb_itself_changes_nothing() -> None:
    import sqlglot

    plan = plan_of(mixed(), EXTRA)
    ours = run(plan.to_sql(), PEOPLE).sort_by("key_0")
    spark = sqlglot.transpile(plan.to_sql(dialect="spark"), read="spark", write="duckdb")[0]
    assert run(spark, PEOPLE).sort_by("key_0").to_pylist() == ours.to_pylist()


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake"])
def test_what_a_warehouse_is_told_is_run_here(dialect: str) -> None:
    """Its statement is read as that dialect, written as DuckDB's, and run: the rows of `apply`."""
    import sqlglot

    def translated(plan: Plan) -> str:
        return sqlglot.transpile(plan.to_sql(dialect=dialect), read=dialect, write="duckdb")[0]

    rows = "SELECT a FROM UNNEST([STRUCT(1 AS a)])"
    try:
        run(sqlglot.transpile(rows, read="bigquery", write="duckdb")[0], PEOPLE)
    except duckdb.BinderException:
        if dialect == "bigquery":
            pytest.skip(f"sqlglot {sqlglot.__version__} does not write BigQuery's rows for DuckDB")
    plan = plan_of(mixed(), EXTRA)
    ours = run(plan.to_sql(), PEOPLE).sort_by("key_0")
    assert run(translated(plan), PEOPLE).sort_by("key_0").to_pylist() == ours.to_pylist()
    rng = random.Random(5)
    names = ['år in "x"', "job.title", "Order", "since", "sex'"]
    if dialect == "bigquery":  # whose own columns have no such names
        names[:2] = ["år in x", "job title"]
    jobs = ["nurse", "O'Hara", "cook\\", "a+b", "größe", "Nurse", " nurse", "", None]

    def drawn(n: int, more: list[str]) -> pa.Table:
        ages = [rng.choice([None, 0.0, -0.0, 0.1, 39.5, 1e15, 90.0 + i % 7]) for i in range(n)]
        days = [None if i % 9 == 0 else dt.date(1990, 1, 1) + dt.timedelta(i * 37 % 9000) for i in range(n)]
        columns: list[pa.Array] = [
            pa.array(ages, pa.float64()),
            pa.array([rng.choice([*jobs, *more]) for _ in range(n)]),
            pa.array([rng.randrange(-5, 60) for _ in range(n)]),
            pa.array(days, pa.date32()),
            pa.array([rng.choice([True, False, None]) for _ in range(n)]),
        ]
        return pa.table([*columns, list(range(n))], [*names, "pay"])

    schema = hr.Schema(quasi=names, sensitive=["pay"])
    fitted = hr.protect(drawn(600, []), schema, hr.MART(k=4, max_disclosure=None)).plan
    others = drawn(300, ["unheard of", "größe "])
    want = fitted.apply(others, keep_order=True, unseen="count")
    found = run(translated(fitted), others).sort_by("pay")
    assert len({tuple(row.items()) for row in want.select(names).to_pylist()}) > 20
    assert found.to_pylist() == want.to_pylist()


def test_unknown_dialect_lists_the_known_ones() -> None:
    with pytest.raises(PlanError, match=r"(?s)unknown SQL dialect 'klingon'.*duckdb.*spark"):
        plan_of(mixed()).to_sql(dialect="klingon")


def test_a_table_with_a_schema_and_an_odd_name() -> None:
    plan = plan_of(chain(2, 'a "b".c'), (PlanColumn("step_0", "other", "numeric"),))
    people = pa.table({'a "b".c': [0, 1, 2], "step_0": [7, 8, 9]})
    with duckdb.connect() as connection:
        connection.register("source", people)
        connection.sql('CREATE SCHEMA "my data"')
        connection.sql('CREATE TABLE "my data"."step_1" AS SELECT * FROM source')
        made = connection.sql(plan.to_sql("my data.step_1")).fetchall()
    assert sorted(made) == [("0", 7), ("1", 8), ("2", 9)]


@dataclass(frozen=True)
class Doubling(Recoding):
    kind: ClassVar[str] = "doubling"


@select.register
def _doubling(recoding: Doubling, request: SqlRequest) -> str:
    return request.columnwise({"age": f"2 * {identifier('age')}"})


@dataclass(frozen=True)
class Opaque(Recoding):
    kind: ClassVar[str] = "opaque"


def test_further_kinds_write_their_own_select() -> None:
    columns = (PlanColumn("age", "quasi", "numeric"), PlanColumn("job", "other", "categorical"))
    people = pa.table({"job": ["a"], "age": [4]})
    assert run(Plan("X", {}, columns, Doubling()).to_sql(), people).to_pylist() == [{"age": 8, "job": "a"}]
    with pytest.raises(UnsupportedError, match="opaque"):
        Plan("X", {}, columns, Opaque()).to_sql()


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.floats(allow_infinity=False, width=64), min_size=1, max_size=20))
def test_thresholds_keep_every_bit(seed: int, values: list[float]) -> None:
    rng = random.Random(seed)
    known = sorted({v + 0.0 for v in values if v == v}) or [0.0]
    at = rng.choice(known)
    tree = Partition(
        (Recoded("x", "quasi", "numeric", cells=(Cell("left"), Cell("right"))),),
        (0, -1, -1),
        (at, 0.0, 0.0),
        (-1,) * 3,
        (rng.random() < 0.5, False, False),
        (2, -1, -1),
        (),
        ((0, 1),),
    )
    people = pa.table({"x": pa.array(values, pa.float64()), "row": list(range(len(values)))})
    made = run(plan_of(tree, (PlanColumn("row", "other", "numeric"),)).to_sql(), people).sort_by("row")
    assert made.column("x").to_pylist() == [recoded(tree, {"x": v})["x"] for v in values]
