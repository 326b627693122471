"""A plan as SQL, run on a real PostgreSQL: the rows that `apply` makes, on odd tables."""

from __future__ import annotations

import datetime as dt
import math
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, ParameterError
from hedgerow.release import apply_plan

from ..contracts.engine_suite import ODD_TABLES
from . import test_check_sql as checks

psycopg = pytest.importorskip("psycopg")


def _programs() -> Path | None:
    """The folder of PostgreSQL's own programs."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((f for f in folders if (f / "initdb").exists() and (f / "postgres").exists()), None)


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A server of our own that listens on a socket in a private folder alone."""
    programs = _programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    # it refuses to be run by root
    user: dict[str, Any] = {"user": "nobody", "extra_groups": []} if os.getuid() == 0 else {}
    home = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    if user:
        shutil.chown(home, "nobody")
    try:
        asked = ["-D", str(home / "data"), "-A", "trust", "-U", "steward", "-E", "UTF8"]
        made = subprocess.run(
            [programs / "initdb", *asked, "--locale=C", "--no-sync"], capture_output=True, text=True, cwd=home, **user
        )
        if made.returncode:
            pytest.skip(f"PostgreSQL cannot be set up here: {made.stderr.strip()[:200]}")
        options = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", f"unix_socket_directories={home}"]
        with open(home / "log", "wb") as log:
            process = subprocess.Popen(
                [programs / "postgres", "-D", str(home / "data"), *options], stdout=log, stderr=log, cwd=home, **user
            )
        try:
            yield _connected(home, process)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _connected(home: Path, process: subprocess.Popen[bytes]) -> Any:
    end = time.monotonic() + 60
    while True:
        try:
            return psycopg.connect(host=str(home), user="steward", dbname="postgres", autocommit=True)
        except psycopg.OperationalError:
            if process.poll() is not None or time.monotonic() > end:
                pytest.skip(f"PostgreSQL does not start: {(home / 'log').read_text()[-300:]}")
            time.sleep(0.1)


_TYPES = {
    pa.int8(): "smallint",
    pa.int64(): "bigint",
    pa.uint64(): "numeric",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.null(): "text",
    pa.binary(): "bytea",
    pa.time64("us"): "time",
}


def _type(kind: pa.DataType) -> str | None:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    if pa.types.is_timestamp(kind):
        return None if kind.unit == "ns" else "timestamptz" if kind.tz else "timestamp"
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    return _TYPES.get(kind)


def _store(server: Any, table: pa.Table, name: str) -> None:
    """A table as PostgreSQL holds it."""
    columns = [(field.name, _type(field.type)) for field in table.schema]
    if any(kind is None for _, kind in columns):
        pytest.skip("PostgreSQL has no such type")
    quoted = ['"' + n.replace('"', '""') + '"' for n, _ in columns]
    made = ", ".join(f"{n} {kind}" for n, (_, kind) in zip(quoted, columns, strict=True))
    with server.cursor() as cursor:
        cursor.execute(f'DROP TABLE IF EXISTS "{name}" CASCADE')
        cursor.execute(f'CREATE TABLE "{name}" ({made})')
        with cursor.copy(f'COPY "{name}" FROM STDIN') as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)


def _rows(server: Any, statement: str) -> Counter[Any]:
    with server.cursor() as cursor:
        cursor.execute(statement)
        names = [column.name for column in cursor.description]
        return Counter((tuple(names), *map(_plain, row)) for row in cursor.fetchall())


def _plain(value: Any) -> Any:
    """A cell as every database has it: numbers by value, NaN is missing, moments in UTC."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    if isinstance(value, (int, float, Decimal)) and not isinstance(value, bool):
        return None if isinstance(value, float) and math.isnan(value) else float(value)
    return value


def _applied(plan: hr.Plan, table: pa.Table) -> Counter[Any]:
    made = apply_plan(plan, table, keep_order=True, unseen="count").table
    cells = [column.to_pylist() for column in made.columns]
    names = tuple(made.column_names)
    return Counter((names, *map(_plain, row)) for row in zip(*cells, strict=True))


METHODS = {
    "MART": lambda: hr.MART(3),
    "means": lambda: hr.MART(3, numeric="mean", categorical="weighted"),
    "Datafly": lambda: hr.Datafly(3),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("title", ODD_TABLES)
@pytest.mark.filterwarnings("ignore")
def test_postgres_makes_what_apply_makes(server: Any, title: str, method: str) -> None:
    odd = ODD_TABLES[title]()
    table = pa.table(dict(odd.columns))
    try:
        plan = hr.protect(table, odd.schema, METHODS[method]()).plan
    except HedgerowError:
        pytest.skip("no release is made of this table")
    _store(server, table, "odd people")
    assert _rows(server, plan.to_sql("odd people", "postgres")) == _applied(plan, table)


@pytest.fixture(scope="module")
def check(server: Any) -> checks.Check:
    """What PostgreSQL says of a release."""

    def rows(plan: hr.Plan, released: pa.Table, original: pa.Table) -> checks.Rows:
        _store(server, original, "an original")
        _store(server, released, "a release")
        return checks.read_rows(server.execute(plan.check_sql("a release", "an original", "postgres")).fetchall())

    return rows


@pytest.mark.parametrize("method", checks.METHODS)
@pytest.mark.parametrize("title", ODD_TABLES)
@pytest.mark.filterwarnings("ignore")
def test_postgres_checks_odd_tables(check: checks.Check, title: str, method: str) -> None:
    checks.odd(title, method, check)


@pytest.mark.parametrize("how", range(60))
@pytest.mark.filterwarnings("ignore")
def test_postgres_finds_what_verify_finds(check: checks.Check, how: int) -> None:
    plan, table, original = checks.release(list(checks.METHODS)[how % len(checks.METHODS)], 1)
    checks.agree(*checks.tampered(plan, table, random.Random(how)), original, check)
    later = pa.concat_tables([original, checks.people(20, how, more=("pilot",))])
    checks.agree(plan, apply_plan(plan, later, unseen="count").table, later, check)


@pytest.fixture(scope="module")
def plan() -> hr.Plan:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return hr.protect(people(), SCHEMA, hr.MART(k=5)).plan


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore")
def test_numbers_that_are_categories(server: Any, method: str) -> None:
    """A double is written 1.0 by DuckDB and 1 by PostgreSQL; the plan calls it 1."""
    import duckdb

    cells = {"x": [1.0, 2.5, 10.0, 1e20, None] * 20, "pay": list(range(100))}
    table = pa.table(cells)
    schema = hr.Schema(quasi=["x"], sensitive=["pay"], kinds={"x": "categorical"})
    plan = hr.protect(table, schema, METHODS[method]()).plan
    wanted = _applied(plan, table)
    assert len(wanted) == 100
    _store(server, table, "codes")
    assert _rows(server, plan.to_sql("codes", "postgres")) == wanted
    with duckdb.connect() as connection:
        connection.register("codes", table)
        made = connection.sql(plan.to_sql("codes"))
        assert Counter((("x", "pay"), *map(_plain, row)) for row in made.fetchall()) == wanted
    odd = hr.protect(pa.table({"x": ["1.0", "1", "2.0"] * 20, "pay": list(range(60))}), schema, hr.MART(3)).plan
    assert "REGEXP_REPLACE" not in odd.to_sql()  # texts that differ stay two


SCHEMA = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])


def people(n: int = 400, seed: int = 1) -> pa.Table:
    return hr.datasets.make_people(n, seed=seed).select(["age", "education", "job", "income"])


@pytest.mark.filterwarnings("ignore")
def test_people_whom_the_plan_does_not_know(server: Any, plan: hr.Plan) -> None:
    others = people(200, seed=8)
    jobs = [("'; DROP TABLE x; --", "pilot\\", None, "cook")[i % 4] for i in range(200)]
    others = others.set_column(2, "job", pa.array(jobs))
    _store(server, others, "others")
    assert _rows(server, plan.to_sql("public.others", "postgres")) == _applied(plan, others)


@pytest.mark.filterwarnings("ignore")
def test_a_view_follows_its_table(server: Any, plan: hr.Plan) -> None:
    table = people()
    _store(server, table, "people")
    for create in ("view", "table"):
        server.execute(plan.to_sql("people", "postgres", create=create, name=create))
    later = people(50, seed=3)
    for row in zip(*(c.to_pylist() for c in later.columns), strict=True):
        server.execute("INSERT INTO people VALUES (%s, %s, %s, %s)", row)
    before, after = _applied(plan, table), _applied(plan, pa.concat_tables([table, later]))
    read_again = {name: _rows(server, f"SELECT * FROM {name}") for name in ("view", "table")}
    assert read_again == {"view": after, "table": before}
    with server.cursor() as cursor:
        stored = cursor.execute('SELECT * FROM "table"').fetchall()
    assert [row[0] for row in stored] == sorted(row[0] for row in stored)


def test_what_is_created_elsewhere(plan: hr.Plan) -> None:
    import duckdb
    import sqlglot

    for dialect in ("duckdb", "spark", "snowflake", "bigquery"):
        for create in ("view", "table"):
            made = plan.to_sql("a.people", dialect, create=create, name="out.released")
            parsed = sqlglot.parse_one(made, read=dialect)
            assert isinstance(parsed, sqlglot.exp.Create)
            assert parsed.kind == create.upper()
            assert parsed.find(sqlglot.exp.Table).parts[-1].name == "released"
    with pytest.raises(ParameterError, match="create must be one of"):
        plan.to_sql(create="index")
    with duckdb.connect() as connection:
        connection.register("given", people())
        connection.execute("CREATE TABLE people AS SELECT * FROM given")
        connection.execute(plan.to_sql(create="view", name="shown"))
        connection.execute(plan.to_sql(create="table", name="kept"))
        same = "SELECT count(*) FROM (SELECT * FROM shown EXCEPT ALL SELECT * FROM kept)"
        assert connection.execute(same).fetchall() == [(0,)]
        assert connection.execute("SELECT count(*) FROM kept").fetchall() == [(400,)]
