"""An audit of tables on a cluster: the figures of memory, from pairs that were counted there."""

from __future__ import annotations

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.columns.workspace import LEAST
from hedgerow.errors import InputError, UnsupportedError
from hedgerow.texts import text

from .test_spark import plain

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])


WHOLE: dict[str, Any] = {"attacks": False, "learning": False, "inference": False}
SAMPLED = {**WHOLE, "attacks": True, "sample": 150, "people": 20}
METHODS = [
    hr.MART(8),
    hr.MART(8, numeric="mean", categorical="weighted"),
    hr.Datafly(5),
    hr.RandomizedResponse(l=4, relax="halfway", bins=4, random_state=1),
]


def people(n: int) -> pa.Table:
    """Made people, with a column of no role and rows without a job or an age."""
    table = plain(hr.datasets.make_people(n, seed=2).select([*SCHEMA.quasi, "income"]))
    for i, name in ((0, "age"), (2, "job")):
        some = pa.array([j % 17 != 3 for j in range(n)])
        cells = pc.if_else(some, table[name], pa.scalar(None, table[name].type))
        table = table.set_column(i, name, cells)
    moments = pa.array([1_600_000_000_000_000 + j % 90 for j in range(n)], pa.timestamp("us"))
    return table.append_column("at", moments).append_column("id", pa.array(range(n)))


@pytest.mark.parametrize("method", METHODS, ids=[type(m).__name__ + str(i) for i, m in enumerate(METHODS)])
def test_pairs_are_counted(spark: Any, method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("hedgerow.backends.spark"), "copied_here", None)  # nothing is copied
    table = people(600)
    schema = SCHEMA.replace(other=["at"], identifiers=["id"])
    release = hr.protect(spark.createDataFrame(table).repartition(3), schema, method)
    wanted = hr.protect(table, schema, method)
    told = hr.audit(table, wanted, **SAMPLED).to_dict()
    found = hr.audit(release.original, release, **SAMPLED).to_dict()
    # what the method refused takes the rows of whole groups, so it is measured in memory alone
    assert found["risk"]["knows_method"] is None
    for each in (told, found):
        each["risk"]["knows_method"] = None
        each["not_measured"] = [line for line in each["not_measured"] if line != text("not_measured", "knows_method")]
    for part in told.keys() - {"parameters", "versions"}:
        assert found[part] == told[part], part
    if method is METHODS[0]:  # nothing but tables and the plan is at hand
        frames = release.original.given, release.table
        found = hr.audit(*frames, schema, plan=release.plan, **WHOLE).to_dict()
        assert found["utility"] == told["utility"]
        assert found["risk"]["release"] == told["risk"]["release"]


def swapped(table: pa.Table, released: pa.Table) -> pa.Array:
    """Ages of the table, each moved by one where every released range still covers it."""
    ends = {int(end) for text in released["age"].drop_null().to_pylist() for end in re.findall(r"\d+", text)}
    ages = [a if a is None or {a, a + 1} & ends else a + 1 for a in table["age"].to_pylist()]
    assert ages != table["age"].to_pylist()
    return pa.array(ages, table["age"].type)


def test_another_table(spark: Any) -> None:
    table = people(300)
    schema = SCHEMA.replace(other=["at"], identifiers=["id"])
    release = hr.protect(spark.createDataFrame(table), schema, hr.MART(8))
    moved = table.set_column(0, "age", pc.add(table["age"], 1))
    income = table.set_column(3, "income", table["income"].combine_chunks()[::-1])
    inside = table.set_column(0, "age", swapped(table, release.table.toArrow()))
    for other in (moved, income, table.slice(1), inside):
        with pytest.raises(InputError, match="made from another table"):
            hr.audit(spark.createDataFrame(other), release, **WHOLE)
    bare = schema.replace(identifiers=[])  # draws go by all that a row holds
    drawn = hr.protect(spark.createDataFrame(table), bare, METHODS[-1])
    with pytest.raises(InputError, match="made from another table"):
        hr.audit(spark.createDataFrame(table.drop_columns("id")), drawn, **WHOLE)
    with pytest.raises(UnsupportedError, match="come together for an audit and take some"):
        hr.audit(spark.createDataFrame(table), release, memory=LEAST, **WHOLE)


def test_what_memory_takes_as_well(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = people(300).rename_columns([*SCHEMA.quasi, "income", "released age", "id"])
    table = table.set_column(4, "released age", pa.array([f"v{j % 90}" for j in range(300)]))
    pq.write_table(table, tmp_path / "people.parquet")
    schema = SCHEMA.replace(sensitive=["income", "released age"], other=["id"])
    hr.protect(table, schema, hr.MART(8)).write(tmp_path / "made")
    narrow = hr.Schema(quasi=["age"], sensitive=["income"], other=["id"])
    values = import_module("hedgerow.backends.spark.spark_table")
    for roles, most in ((schema, values.MOST), (narrow, values.MOST), (schema, 100)):
        monkeypatch.setattr(values, "MOST", most)  # of the column id there are more than 100
        found, told = (
            hr.audit(tmp_path / "people.parquet", tmp_path / "made", roles, engine=engine, **WHOLE).to_dict()
            for engine in ("spark", "memory")
        )
        for part in ("risk", "utility"):
            assert found[part] == told[part], (most, part)
    release = tmp_path / "made" / "release.parquet"
    pq.write_table(pq.read_table(release).append_column("extra", table["id"]), release)
    found, told = (
        hr.audit(tmp_path / "people.parquet", tmp_path / "made", schema, engine=engine, **WHOLE)
        for engine in ("spark", "memory")
    )
    assert found.risk["release"]["classes"] == told.risk["release"]["classes"]
    noted = "release.parquet is not the file that audit.json records"
    assert any(noted in note for note in found.table["notes"])


def test_what_rows_without_numbers_do_not_tell(spark: Any, tmp_path: Path) -> None:
    table = people(300)
    pq.write_table(table, tmp_path / "people.parquet")
    schema = SCHEMA.replace(other=["at"], identifiers=["id"])
    hr.protect(table, schema, METHODS[-1]).write(tmp_path / "drawn", mapping=True)
    with pytest.raises(UnsupportedError, match=r"mapping\.json pairs rows by their numbers"):
        hr.audit(tmp_path / "people.parquet", tmp_path / "drawn", engine="spark", **WHOLE)
    hr.protect(table, schema, METHODS[-1], keep_order=True).write(tmp_path / "kept")
    with pytest.raises(UnsupportedError, match="stand in the order of the input"):
        hr.audit(tmp_path / "people.parquet", tmp_path / "kept", engine="spark", **WHOLE)


def test_copies_where_no_plan_tells_the_pairs(spark: Any) -> None:
    table = people(300)
    schema = SCHEMA.replace(other=["id"])
    wanted = hr.protect(table, schema, hr.MART(8))
    frames = spark.createDataFrame(table), spark.createDataFrame(wanted.table)
    for given in ({"key": "id"}, {"paired": False}):
        found = hr.audit(*frames, schema, **given, **WHOLE).to_dict()
        told = hr.audit(table, wanted.table, schema, **given, **WHOLE).to_dict()
        for part in ("risk", "utility"):
            assert found[part] == told[part], (given, part)
    alone = hr.audit(None, frames[1], schema, engine="spark", **WHOLE).to_dict()
    assert alone["risk"]["release"]["classes"] == told["risk"]["release"]["classes"]
    with pytest.raises(UnsupportedError, match="attacks, learning: these need all rows"):
        hr.audit(*frames, schema)


@pytest.mark.usefixtures("spark")
def test_on_the_command_line(tmp_path: Path) -> None:
    table = plain(hr.datasets.make_people(300, seed=2).select([*SCHEMA.quasi, "income"]))
    pq.write_table(table, tmp_path / "people.parquet")
    words = ["protect", str(tmp_path / "people.parquet"), "--quasi", "age,education,job"]
    words += ["--sensitive", "income", "--method", "datafly", "-k", "5", "--no-inference"]
    for engine in ("spark", "memory"):
        assert run([*words, "--engine", engine, "--out", str(tmp_path / engine)]) == 0
        assert (tmp_path / engine / "report.html").exists()
    name = "release.parquet"
    assert (tmp_path / "spark" / name).read_bytes() == (tmp_path / "memory" / name).read_bytes()
    one, other = (json.loads((tmp_path / engine / "audit.json").read_text()) for engine in ("spark", "memory"))
    assert one["risk"] == other["risk"]
    files = [str(tmp_path / "people.parquet"), str(tmp_path / "memory")]
    plain_words = ["audit", *files, "--no-attacks", "--no-learning", "--save"]
    for engine in ("spark", "memory"):
        assert run([*plain_words, str(tmp_path / f"{engine}.json"), "--engine", engine]) == 0
    saved = [json.loads((tmp_path / f"{e}.json").read_text()) for e in ("spark", "memory")]
    for part in ("table", "risk", "utility"):
        assert saved[0][part] == saved[1][part], part
