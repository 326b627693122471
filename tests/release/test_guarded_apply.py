"""Plans with a guard are applied to other people as runs, in memory, by DuckDB and as SQL; draws are refused."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import UnsupportedError
from hedgerow.release.apply import apply_plan

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = hr.Schema(
    quasi=["age", "education"], sensitive=["income", "rate", "diagnosis", "smoker", "since"], kinds={"rate": "numeric"}
)


def people(n: int = 800, seed: int = 1) -> pa.Table:
    table = hr.datasets.make_people(n, seed=seed).select(["age", "education", "income", "diagnosis", "smoker"])
    draw = np.random.default_rng(seed)
    rate = pa.array(draw.lognormal(0, 1, n).round(3), pa.float64(), mask=draw.random(n) < 0.1)
    since = pa.array([dt.date(2000, 1, 1) + dt.timedelta(int(d)) for d in draw.integers(0, 3000, n)])
    return table.append_column("rate", rate).append_column("since", since)


@pytest.fixture(scope="module")
def release() -> hr.Release:
    return hr.protect(people(), SCHEMA, hr.MART(k=5, max_disclosure=1.0), guard="runs")


def rows(table: pa.Table) -> list[tuple[str, ...]]:
    return sorted(tuple(str(v) for v in row.values()) for row in table.to_pylist())


def test_its_own_people_get_the_same_runs_everywhere(release: hr.Release, tmp_path: Path) -> None:
    wanted = release.released.arrow
    assert release.plan.apply(people()).cast(wanted.schema).equals(wanted)
    pq.write_table(people(), tmp_path / "people.parquet")
    applied = apply_plan(release.plan, tmp_path / "people.parquet", engine="duckdb")
    applied.write(tmp_path / "made.parquet")
    assert pq.read_table(tmp_path / "made.parquet").cast(wanted.schema).equals(wanted)
    source = people()
    made = duckdb.sql(release.plan.to_sql("source")).to_arrow_table()
    assert source.num_rows == made.num_rows
    assert made.schema.field("income").type == people().schema.field("income").type
    assert made.schema.field("since").type == pa.date32()
    assert rows(made) == rows(wanted)


def test_other_people_fall_into_the_runs_of_the_first(release: hr.Release) -> None:
    other = people(300, seed=9)
    other = other.set_column(3, "diagnosis", pa.array(["never seen"] * 10 + other["diagnosis"].to_pylist()[10:]))
    with pytest.warns(UserWarning, match="5 records or more of the plan's own table share") as said:
        made = release.plan.apply(other, unseen="count")
    assert any("in diagnosis" in str(w.message) for w in said)
    for name in SCHEMA.sensitive:
        known = set(release.released.arrow[name].to_pylist())
        assert set(made[name].to_pylist()) <= known | {None}


def test_what_is_applied_says_what_its_cells_are_and_what_leaves_exactly() -> None:
    plan = hr.protect(people(), SCHEMA, hr.MART(numeric="mean", categorical="concatenate"), guard="none").plan
    with pytest.warns(UserWarning, match="these cells describe") as said:
        plan.apply(people(300, seed=9), unseen="count")
    texts = [str(w.message) for w in said]
    assert "age (mean): these cells describe the groups of the plan's own table, not these people" in texts
    exact = "income, diagnosis, smoker, rate, since: sensitive values are released as they are"
    assert any(text.startswith(exact) for text in texts)


def test_postgres_reads_the_statement(release: hr.Release) -> None:
    assert "CASE" in release.plan.to_sql(dialect="postgres")


def test_draws_are_neither_applied_nor_written_as_sql() -> None:
    for method, guard in ((hr.MART(k=5), "redraw"), (hr.Hedge(k=10, cells="rows"), "auto")):
        plan = hr.protect(people(), SCHEMA, method, guard=guard, random_state=1).plan
        for call in (plan.to_sql, lambda plan=plan: plan.apply(people(seed=2))):
            with pytest.raises(UnsupportedError, match="inside") as error:
                call()
            assert "--guard runs" in str(error.value.hint)
        assert "not who is in the table" in str(error.value.hint)


def test_runs_of_times_are_not_written_as_sql() -> None:
    table = people()
    noon = pc.add(table["since"].cast(pa.timestamp("us")), pa.scalar(dt.timedelta(hours=12)))
    table = table.set_column(6, "since", noon)
    plan = hr.protect(table, SCHEMA, hr.MART(k=5, max_disclosure=1.0), guard="runs").plan
    with pytest.raises(UnsupportedError, match="since"):
        plan.to_sql()
    plan.apply(table)
