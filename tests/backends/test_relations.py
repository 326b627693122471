"""A relation of DuckDB in gives one out, and the engine that nobody named is told with its reason."""

from __future__ import annotations

import gc
from pathlib import Path

import duckdb
import pytest

import hedgerow as hr
from hedgerow.backends import select
from hedgerow.release import apply_plan

from .conftest import people

SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay"], other=["note"])
METHOD = hr.MART(k=8)
Relation = duckdb.DuckDBPyRelation


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_relation_gives_a_relation(engine: str, home: Path) -> None:
    with duckdb.connect() as connection:
        table = people()
        relation = connection.from_arrow(table)
        release = hr.protect(relation, SCHEMA, METHOD, engine=engine)
        assert isinstance(release.table, Relation)
        wanted = hr.protect(table, SCHEMA, METHOD).table.to_pylist()
        found = release.table.fetchall()
        assert [tuple(row.values()) for row in wanted] == found
        assert release.verify()
        made = apply_plan(release.plan, relation, engine=engine)
        assert isinstance(made.table, Relation)
        frame = made.table
        del made, release
        gc.collect()
        assert frame.fetchall() == found  # its files are there as long as it is
        del frame
        gc.collect()
        assert not list(home.iterdir())


def test_the_bytes_of_a_relation_do_not_depend_on_the_engine(home: Path, tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.register("people", people())
        relation = connection.sql(
            "SELECT *, job AS place, 's'::ENUM ('s', 't') AS letter, "
            "TIMESTAMP_S '2020-01-02 03:04:05' AS then FROM people"
        )
        schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"], other=["note", "place", "letter", "then"])
        made = [
            hr.protect(relation, schema, METHOD, engine=engine).write(tmp_path / engine)
            for engine in ("memory", "duckdb")
        ]
        one, other = ((folder / "release.parquet").read_bytes() for folder in made)
        assert one == other


def test_a_relation_without_room_streams(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with duckdb.connect() as connection:
        relation = connection.from_arrow(people())
        assert isinstance(hr.protect(relation, SCHEMA, METHOD).table, Relation)
        monkeypatch.setattr(select, "_CELL", 1 << 20)  # 3,000 rows of 4 columns: 12.6 GB
        release = hr.protect(relation, SCHEMA, METHOD, memory="8GB")
        assert release.original.engine == "duckdb"
        plan = release.plan
        monkeypatch.setattr("hedgerow.columns.workspace._of_machine", lambda: 1 << 33)
        assert plan.apply(relation).aggregate("count(*)").fetchall() == [(3000,)]
