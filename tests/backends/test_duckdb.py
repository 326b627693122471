"""The engine for tables larger than memory: what it reads, refuses, and leaves behind."""

from __future__ import annotations

import gc
import hashlib
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.backends import duckdb as engine
from hedgerow.backends import partitions, release_order
from hedgerow.cli.app import run
from hedgerow.columns.to_parquet import OpenOptions
from hedgerow.columns.workspace import Workspace, memory_of
from hedgerow.errors import (
    Cancelled,
    HedgerowError,
    InputError,
    ParameterError,
    PlanError,
    PromiseError,
    UnsupportedError,
)
from hedgerow.io import write
from hedgerow.io.read import read
from hedgerow.progress import cautions
from hedgerow.release import apply_plan

SCHEMA = hr.Schema(quasi=["age", "job", "since"], sensitive=["pay", "ill"], other=["note"])
METHOD = hr.MART(k=5)


def people(n: int = 3000, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    notes = np.array([f"note {i}" for i in range(n)])
    return pa.table(
        {
            "age": rng.integers(18, 80, n),
            "pay": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(8, 1, n).round(1)),
            "job": pa.array(np.array(["clerk", "cook", "nurse"])[rng.integers(0, 3, n)]),
            "since": pa.array(rng.integers(0, 9000, n).astype("int32"), pa.date32()),
            "ill": pa.array([None if i % 11 == 0 else f"dx {i * 7 % 13}" for i in range(n)]),
            "note": notes[rng.permutation(n)],
        }
    )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    found = tmp_path / "temporary"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "people.parquet"
    pq.write_table(people(), path)
    return path


def digests(folder: Path) -> dict[str, str]:
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(folder.iterdir())}


def written(source: Any, folder: Path, name: str, **more: Any) -> dict[str, str]:
    release = hr.protect(source, SCHEMA, METHOD, engine=name, **more)
    return digests(release.write(folder))


def test_many_files_of_rows_give_the_bytes_of_one(
    file: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (write, engine):
        monkeypatch.setattr(module, "ROW_GROUP", 700)
    wanted = written(file, tmp_path / "wanted", "memory")
    monkeypatch.setattr(release_order, "_WINDOW", 512)
    monkeypatch.setattr(release_order, "_ROW", 1 << 40)
    monkeypatch.setattr(Workspace, "allocate", _always_mapped)
    dealt = []
    before = release_order.Ordered._dealt
    monkeypatch.setattr(release_order.Ordered, "_dealt", lambda self, n: dealt.append(n) or before(self, n))
    release = hr.protect(file, SCHEMA, METHOD, engine="duckdb")
    assert dealt == [-(-3000 // 512)]
    assert digests(release.write(tmp_path / "found")) == wanted
    assert pq.ParquetFile(tmp_path / "found" / "release.parquet").metadata.num_row_groups == 5
    rows = np.asarray(release.rows)
    assert sorted(rows.tolist()) == list(range(3000))
    original = pq.read_table(file).take(pa.array(rows))
    assert original.column("note").equals(pq.read_table(tmp_path / "found" / "release.parquet").column("note"))


def _always_mapped(self: Workspace, shape: tuple[int, ...], kind: Any) -> Any:
    self._used = self.memory
    return _ALLOCATE(self, shape, kind)


_ALLOCATE = Workspace.allocate


def test_kept_order_is_the_order_of_the_input(file: Path, tmp_path: Path, home: Path) -> None:
    kept = {"keep_order": True}
    with pytest.warns(UserWarning, match="order of the input"):
        wanted = written(file, tmp_path / "wanted", "memory", **kept)
    with pytest.warns(UserWarning, match="order of the input"):
        assert written(file, tmp_path / "found", "duckdb", **kept) == wanted


def test_pseudonyms_are_those_of_memory(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "people.parquet"
    table = people(400).append_column("who", pa.array([f"P{i}" for i in range(400)]))
    pq.write_table(table, path)
    made = [
        digests(
            hr.protect(
                path, SCHEMA.replace(identifiers=["who"]), METHOD, pseudonym_key=b"0123456789abcdef", engine=name
            ).write(tmp_path / name)
        )
        for name in ("memory", "duckdb")
    ]
    assert made[0] == made[1]


@pytest.mark.parametrize("declared", [{}, {"kinds": {"code": "categorical"}}])
def test_text_files_give_the_bytes_of_memory(declared: dict[str, Any], tmp_path: Path, home: Path) -> None:
    path = tmp_path / "people.csv"
    table = people(600)
    flags = np.arange(600) % 3 == 0
    codes = [("250.1", "250.10", "7")[i % 3] for i in range(600)]
    rows = zip(*(table.column(n).to_pylist() for n in table.column_names), strict=True)
    lines = [";".join([*table.column_names, "flag", "code"])]
    for row, flag, code in zip(rows, flags, codes, strict=True):
        cells = ["" if v is None or v != v else str(v).replace(".", ",") for v in row]
        cells[-1] = f'"={row[-1]}; or ""so"""'
        lines.append(";".join([*cells, "True" if flag else "False", code]))
    path.write_text("\n".join(lines) + "\n")
    schema = SCHEMA.replace(quasi=[*SCHEMA.quasi, "flag", "code"], **declared)
    made = [
        digests(hr.protect(path, schema, METHOD, engine=name).write(tmp_path / name)) for name in ("memory", "duckdb")
    ]
    assert made[0] == made[1]
    assert "release.csv" in made[0]


def test_a_row_index_without_a_name_is_told_by_either_engine(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "indexed.csv"
    people(60).select(["age", "job"]).to_pandas().to_csv(path)
    schema, told, made = hr.Schema(quasi=["age", "job"]), [], []
    for name in ("memory", "duckdb"):
        with cautions() as heard:
            release = hr.protect(path, schema, hr.Mondrian(3), engine=name)
        made.append(digests(release.write(tmp_path / name)))
        told.append(["column_1" in text for text in heard if "without a name" in text])
    assert made[0] == made[1]
    assert told == [[True], [True]]


def test_text_parts_are_one_table(tmp_path: Path, home: Path) -> None:
    whole = ["age,job", *(f"{20 + i % 30},{'ab'[i % 2]}" for i in range(90))]
    (tmp_path / "whole.csv").write_text("\n".join(whole) + "\n")
    (tmp_path / "parts").mkdir()
    for i in range(3):
        part = [whole[0], *whole[1 + 30 * i : 31 + 30 * i]]
        (tmp_path / "parts" / f"{i}.csv").write_text("\n".join(part) + "\n")
    schema, method = hr.Schema(quasi=["age", "job"]), hr.Mondrian(3)
    made = [
        digests(hr.protect(tmp_path / source, schema, method, engine="duckdb").write(tmp_path / out))
        for source, out in (("whole.csv", "one"), ("parts", "two"), ("parts/*.csv", "three"))
    ]
    assert made[0] == made[1] == made[2]


RESPONSES = {"quasi": {}, "both": {"target": "both"}, "an id": {"row_id": "note"}, "all kept": {"l": 1.0}}


@pytest.mark.parametrize("asked", RESPONSES.values(), ids=RESPONSES)
def test_draws_are_those_of_memory(
    asked: dict[str, Any], file: Path, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = people()
    for i in range(3):
        pq.write_table(table.slice(i * 1000, 1000), tmp_path / f"part-{i}.parquet")
    pandas = table.to_pandas()
    pandas.sample(frac=1, random_state=1).to_csv(tmp_path / "people.csv", index=False)
    schema = SCHEMA.replace(quasi=["age", "job"], other=["note", "since"], sensitive=["ill", "pay"])
    key = hr.Key(b"0123456789abcdef" * 2)
    asked = {"l": 8, "relax": "halfway", "bins": 4, "key": key, **asked}
    wanted = hr.protect(file, schema, hr.RandomizedResponse(**asked), engine="memory")
    files = digests(wanted.write(tmp_path / "wanted", mapping=True))
    monkeypatch.setattr("hedgerow.backends.randomize._WINDOW", 512)
    monkeypatch.setattr("hedgerow.backends.randomize._HASHED", 700)
    monkeypatch.setattr("hedgerow.methods.response.contingency.WINDOW", 900)
    release = hr.protect(tmp_path / "part-*.parquet", schema, hr.RandomizedResponse(**asked), engine="duckdb")
    assert digests(release.write(tmp_path / "found", mapping=True)) == files
    text = hr.protect(tmp_path / "people.csv", schema, hr.RandomizedResponse(**asked), engine="duckdb")
    text.write(tmp_path / "text")
    rows = [r["note"] for r in pq.read_table(tmp_path / "wanted" / "release.parquet").to_pylist()]
    lines = (tmp_path / "text" / "release.csv").read_text().splitlines()
    assert [line.split(",")[-1] for line in lines[1:]] == rows
    found = []
    for name in ("memory", "duckdb"):
        made = apply_plan(wanted.plan, file, key=key, engine=name)
        made.write(tmp_path / f"{name}.csv")
        found.append((tmp_path / f"{name}.csv").read_bytes())
    assert found[0] == found[1]


def test_identifiers_are_counted_by_their_own_column(tmp_path: Path, home: Path) -> None:
    """DuckDB takes names that differ in case for one."""
    path = tmp_path / "people.parquet"
    pq.write_table(people(300).append_column("Job", pa.array([f"P{i}" for i in range(300)])), path)
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"], identifiers=["Job"])
    for each in ("memory", "duckdb"):
        hr.protect(path, schema, hr.MART(5), engine=each).write(tmp_path / each)
    found, wanted = ((tmp_path / each / "release.parquet").read_bytes() for each in ("duckdb", "memory"))
    assert found == wanted


def test_equal_row_ids_are_refused(tmp_path: Path, home: Path) -> None:
    table = people(90)
    for ids, told in (
        ([f"{i % 88}" for i in range(90)], "0 missing and 2 repeated"),
        ([None, None, None, *(str(i) for i in range(87))], "3 missing and 0 repeated"),
    ):
        pq.write_table(table.append_column("who", pa.array(ids)), tmp_path / "people.parquet")
        for name in ("memory", "duckdb"):
            with pytest.raises(PlanError, match=f"'who' has {told}"):
                hr.protect(
                    tmp_path / "people.parquet",
                    hr.Schema(quasi=["job"], sensitive=["ill"], identifiers=["who"], unit=None),
                    hr.RandomizedResponse(1.0, row_id="who", random_state=1),
                    engine=name,
                )


def test_moved_draws_are_found(file: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows paired with those of others, and a column of draws that keeps too few values."""
    schema = SCHEMA.replace(quasi=["age", "job"], other=["note", "since"])
    method = hr.RandomizedResponse(8, relax="halfway", bins=3, random_state=1)
    release = hr.protect(file, schema, method, engine="duckdb")
    rows = np.array(release.rows)
    rows[[0, -1]] = rows[[-1, 0]]
    release._rows = rows
    with pytest.raises(PromiseError, match="whole rows"):
        release.verify()
    monkeypatch.setattr("hedgerow.backends.randomize.draw", lambda codes, *given: (codes + 1) % 3)
    with pytest.raises(PromiseError, match="share of values kept"):
        hr.protect(file, schema, method, engine="duckdb")


def test_trees_that_stay_are_those_of_memory(file: Path, tmp_path: Path, home: Path) -> None:
    table = people()
    pay = pa.array([0.0 if v is None or v != v else v for v in table["pay"].to_pylist()])
    pq.write_table(table.set_column(1, "pay", pay), file)
    trees = "tree criterion=variance n_splits=3 min_leaf=300; tree max_depth=2"
    made = [
        digests(
            hr.protect(
                file, SCHEMA, hr.TreePatternPreserving(trees, k=5, response="pay", sensitive="ill"), engine=name
            ).write(tmp_path / name)
        )
        for name in ("memory", "duckdb")
    ]
    assert made[0] == made[1]
    assert "model.json" in made[0]


def test_relations_and_database_tables(file: Path, tmp_path: Path, home: Path) -> None:
    wanted = hr.protect(file, SCHEMA, METHOD, engine="memory")
    base = tmp_path / "people.duckdb"
    with duckdb.connect(str(base)) as connection:
        connection.execute(f"CREATE TABLE visits AS SELECT * FROM '{file}'")
        connection.execute('CREATE TABLE "a b.c" AS SELECT 1 AS x')
        relation = connection.sql("SELECT * FROM visits")
        release = hr.protect(relation, SCHEMA, METHOD, engine="duckdb")
        assert release.plan == wanted.plan
        found = release.relation()
        there = duckdb.read_parquet(str(wanted.write(tmp_path / "wanted") / "release.parquet"))
        assert found.except_(there).aggregate("count(*)").fetchall() == [(0,)]
        assert found.aggregate("count(*)").fetchall() == [(3000,)]
    assert hr.protect(f"{base}::visits", SCHEMA, METHOD).plan == wanted.plan
    with pytest.raises(UnsupportedError, match="is a database"):
        hr.protect(f"{base}::visits", SCHEMA, hr.Microaggregation(3))
    with pytest.raises(InputError, match="2 tables"):
        hr.protect(base, SCHEMA, METHOD)
    with pytest.raises(InputError, match="no table 'people'"):
        hr.protect(f"{base}::people", SCHEMA, METHOD)
    with pytest.raises(InputError, match="there is no file"):
        hr.protect(tmp_path / "none.duckdb", SCHEMA, METHOD)
    (tmp_path / "bad.duckdb").write_bytes(b"no database" * 1000)
    with pytest.raises(InputError, match="cannot be read as a DuckDB database"):
        hr.protect(tmp_path / "bad.duckdb", SCHEMA, METHOD)


def test_what_else_lies_in_a_database(tmp_path: Path, home: Path) -> None:
    base, gone = tmp_path / "people.duckdb", tmp_path / "gone.parquet"
    pq.write_table(people(300), gone)
    with duckdb.connect(str(base)) as connection:
        connection.execute(f"CREATE VIEW v AS SELECT * FROM '{gone}'")
        connection.execute("CREATE SCHEMA ward")
        connection.execute("CREATE TABLE ward.visits AS SELECT * FROM v")
        connection.execute("CREATE TABLE days AS SELECT *, INTERVAL 1 DAY AS stay FROM v")
        connection.execute("CREATE TABLE kinds AS SELECT *, union_value(k := 1) AS kind FROM v")
    release = hr.protect(f"{base}::ward.visits", SCHEMA, METHOD)
    assert release.plan == hr.protect(gone, SCHEMA, METHOD).plan
    gone.unlink()
    for name, column in (("days", "stay"), ("kinds", "kind")):
        with pytest.raises(UnsupportedError, match=f"no Parquet file holds: '{column}'"):
            hr.protect(f"{base}::{name}", SCHEMA, METHOD)
    with pytest.raises(InputError, match=r"'v' of people\.duckdb cannot be read"):
        hr.protect(f"{base}::v", SCHEMA, METHOD)
    with pytest.raises(InputError, match=r"it holds days, kinds, v, ward\.visits"):
        hr.protect(f"{base}::visits", SCHEMA, METHOD)
    writes = f"import duckdb; c = duckdb.connect({str(base)!r}); print(flush=True); input()"
    arguments = [sys.executable, "-c", writes]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(InputError, match=r"another process has the database people\.duckdb"):
            hr.protect(f"{base}::ward.visits", SCHEMA, METHOD)
        other.kill()
    del release
    assert not list(home.iterdir())


def test_an_error_of_a_relation_leaves_nothing_until_the_next_collection(home: Path) -> None:
    with duckdb.connect() as connection:
        relation = connection.sql("SELECT error('nobody sees this') AS age")
        gc.disable()
        try:
            with pytest.raises(InputError, match=r"relation cannot be read$"):
                hr.protect(relation, hr.Schema(quasi=["age"]), METHOD, engine="duckdb")
            assert not list(home.iterdir())
        finally:
            gc.enable()


def _other_columns(folder: Path) -> None:
    pq.write_table(people(50).rename_columns(["age", "pay", "job", "until", "ill", "note"]), folder)


def _other_order(folder: Path) -> None:
    pq.write_table(people(50).select(["pay", "age", "job", "since", "ill", "note"]), folder)


def _other_type(folder: Path) -> None:
    table = people(50)
    pq.write_table(table.set_column(0, "age", table.column("age").cast(pa.string())), folder)


def _cut_short(path: Path) -> None:
    pq.write_table(people(50), path)
    path.write_bytes(path.read_bytes()[:-40])


def _spoilt(path: Path) -> None:
    pq.write_table(people(5000), path, compression="none", use_dictionary=False)
    data = bytearray(path.read_bytes())
    data[4:3000] = b"\xff" * 2996
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (_other_columns, "lacks 'since' and has 'until'"),
        (_other_order, "stand in another order"),
        (_other_type, r"'age' \(string, there int64\)"),
        (_cut_short, "b.parquet is not a Parquet file"),
        (_spoilt, "b.parquet cannot be read to its end"),
        (lambda path: path.mkdir(), r"holds 1 folder \(b.parquet\) and 1 table file"),
        (lambda path: path.write_bytes(b""), "b.parquet is empty"),
        (lambda path: path.with_suffix(".csv").write_text("a\n1\n"), "several kinds: .csv, .parquet"),
    ],
)
def test_bad_parts_are_named(spoil: Callable[[Path], Any], words: str, tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    pq.write_table(people(50), folder / "a.parquet")
    spoil(folder / "b.parquet")
    with pytest.raises(InputError, match=words):
        hr.protect(folder, SCHEMA, METHOD, engine="duckdb")
    assert not list(home.iterdir())


@pytest.mark.parametrize("parts", [False, True])
def test_bad_parts_are_named_where_a_plan_is_applied(
    parts: bool, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hr.protect(people(50), SCHEMA, METHOD).plan.save(tmp_path / "plan.json")
    folder, out = tmp_path / "parts", tmp_path / ("out" if parts else "out.parquet")
    folder.mkdir()
    words = ["apply", str(tmp_path / "plan.json"), str(folder), "--engine", "duckdb"]
    words += ["--unseen", "count", *(["--parts"] if parts else []), "--out", str(out)]

    def refused(told: str) -> None:
        assert run(words) == 2
        assert re.search(told, capsys.readouterr().err)
        assert not out.exists()
        assert not list(home.iterdir())

    refused("holds no table file")
    pq.write_table(people(50), folder / "a.parquet")
    for spoil, told in (
        (_other_columns, "lacks 'since' and has 'until'"),
        (_other_type, r"'age' \(string, there int64\)"),
        (_cut_short, "b.parquet is not a Parquet file"),
        (_spoilt, "b.parquet cannot be read to its end"),
    ):
        spoil(folder / "b.parquet")
        refused(told)
    pq.write_table(people(50), folder / "b.parquet")
    assert run(words) == 0
    files = sorted(out.iterdir()) if parts else [out]
    assert sum(pq.read_metadata(file).num_rows for file in files) == 100


def test_a_folder_is_inspected(tmp_path: Path, home: Path) -> None:
    for i in range(3):
        pq.write_table(people(seed=1).slice(i * 1000, 1000), tmp_path / f"{i}.parquet")
    assert hr.inspect(tmp_path / "*.parquet") == hr.inspect(people(seed=1))


def test_folders_and_patterns_without_files(tmp_path: Path, home: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "_SUCCESS").write_text("")
    for source in (tmp_path / "parts", tmp_path / "parts" / "*.parquet"):
        with pytest.raises(InputError, match="holds no table file"):
            hr.protect(source, SCHEMA, METHOD)


def test_text_parts_that_differ(tmp_path: Path, home: Path) -> None:
    (tmp_path / "a.csv").write_text("age,job\n" + "30,a\n" * 9)
    (tmp_path / "b.csv").write_text("age,job\n" + "old,a\n" * 9)
    schema, pattern = hr.Schema(quasi=["age", "job"]), tmp_path / "*.csv"
    with pytest.raises(InputError, match=r"'age' is of other types.*number in a\.csv, text in b\.csv"):
        hr.protect(pattern, schema, hr.Mondrian(3))
    declared = schema.replace(kinds={"age": "categorical"})
    assert hr.protect(pattern, declared, hr.Mondrian(3)).summary()["rows"] == 18


def test_what_cannot_be_done_is_refused_before_work(file: Path, home: Path) -> None:
    told = []

    def progress(step: str, share: float | None) -> None:
        told.append(step)

    for method in (hr.PRAM(), hr.Anatomy(2), hr.Microaggregation(3)):
        with pytest.raises(UnsupportedError, match=f"{type(method).__name__} does not run on"):
            hr.protect(file, SCHEMA, method, engine="duckdb", progress=progress)
    assert set(told) == {"reading"}
    with pytest.raises(UnsupportedError, match="max_inference"):
        hr.protect(file, SCHEMA, METHOD, engine="duckdb", max_inference=0.5)
    with pytest.raises(UnsupportedError, match="is in memory already"):
        hr.protect(people(50), SCHEMA, METHOD, engine="duckdb")
    with pytest.raises(ParameterError, match=r"the engines are auto, memory, duckdb"):
        hr.protect(file, SCHEMA, METHOD, engine="none")
    with pytest.raises(ParameterError, match="memory= limits"):
        hr.protect(file, SCHEMA, METHOD, engine="memory", memory="4GB")
    for size in ("4", "much", "-1GB", True, "4I"):
        with pytest.raises(ParameterError, match=r"memory is|hardly enough"):
            memory_of(size)


def test_auto_takes_what_has_room(file: Path, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert hr.protect(file, SCHEMA, METHOD).original.is_loaded
    monkeypatch.setattr("hedgerow.backends.select._CELL", 1 << 30)
    assert not hr.protect(file, SCHEMA, METHOD).original.is_loaded
    alone = hr.protect(file, SCHEMA.replace(sensitive=["ill"]), hr.Anatomy(2))
    assert alone.original.is_loaded


def test_too_many_values_for_the_memory(file: Path, home: Path) -> None:
    table = engine.open(file)
    table.workspace.memory = 4000
    with pytest.raises(UnsupportedError, match="'note' has more than 3,000 distinct values"):
        table.column("note")


def test_too_many_rows_for_the_memory(file: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hedgerow.columns.chunked_table._ROW", 1 << 20)
    with pytest.raises(ParameterError, match=r"3,000 records of 6 columns take some 3\.7 GB"):
        hr.protect(file, SCHEMA, METHOD, engine="duckdb", memory="2GB")
    assert not list(home.iterdir())
    assert hr.protect(file, SCHEMA, METHOD, engine="duckdb", memory="4GB").checks
    monkeypatch.setattr("hedgerow.methods.hedge._CELL", 1 << 20)
    with pytest.raises(ParameterError, match=r"some 4\.3 GB"):
        hr.protect(file, SCHEMA, hr.Hedge(k=5), engine="duckdb", memory="4GB")


def test_groups_of_k_ask_for_what_they_were_seen_to_take() -> None:
    """Peaks of 10 million rows of ten columns, two of them sensitive, measured."""
    rows, rest = 10_000_000, 0.5e9 + 10_000_000 * (16 + 3 * 10)
    assert 1.22e9 <= rest + hr.Mondrian(10).memory_estimate(rows, 2) <= 1.2 * 1.22e9
    few, rest = rows // 5, 0.5e9 + 2_000_000 * (16 + 3 * 10)
    for objective, peak in (("regression", 1.04e9), ("information_gain", 1.02e9), ("loss", 1.03e9)):
        asked = rest + hr.Mondrian(10, objective=objective).memory_estimate(few, 2)
        assert peak * 0.98 <= asked <= 1.2 * peak
    assert hr.MART(k=10).memory_estimate(rows, 2) == 0  # whose cap leaves fewer groups
    mart, other = hr.MART(k=10, max_disclosure=None), hr.Mondrian(10, objective="regression")
    assert mart.memory_estimate(rows, 2) == other.memory_estimate(rows, 2)
    more = hr.Mondrian(10).memory_estimate(rows, 12) - hr.Mondrian(10).memory_estimate(rows, 2)
    assert more >= 10 * rows // 10 * 2 * 8  # two numbers of every group are kept of a column


def test_what_duckdb_puts_aside_lies_with_our_files(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counting more distinct texts than fit leaves nothing in the folder that people work in."""
    monkeypatch.chdir(tmp_path)
    told = []
    connect = duckdb.connect

    def asked(*given: Any, config: dict[str, Any], **more: Any) -> Any:
        told.append(config)
        return connect(*given, config=config, **more)

    monkeypatch.setattr(duckdb, "connect", asked)
    pq.write_table(people(), "people.parquet")
    table = engine.open("people.parquet", OpenOptions(memory="1GB"))
    assert table.distinct_share("note") == 1.0
    assert told[-1]["temp_directory"] == str(table.workspace.folder)
    assert told[-1]["memory_limit"] == "441MiB"  # 10^9 bytes less 2^29
    Path("people.csv").write_text("age,job\n" + "41,cook\n" * 20)
    engine.open("people.csv")
    assert {each["temp_directory"] for each in told} == {"", str(table.workspace.folder)}


def test_temporary_files_are_private_and_go(file: Path, tmp_path: Path, home: Path) -> None:
    release = hr.protect(file, SCHEMA, METHOD, engine="duckdb")
    (folder,) = home.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in folder.iterdir()} == {0o600}
    release.write(tmp_path / "out")
    # whoever still holds an array of the release, a thread of Arrow for a moment, holds no folder
    rows = release.rows
    del release
    assert not list(home.iterdir())
    assert sorted(rows.tolist()) == list(range(3000))
    with pytest.raises(HedgerowError):
        hr.protect(file, SCHEMA, hr.Mondrian(k=3001), engine="duckdb")
    assert not list(home.iterdir())


@pytest.mark.parametrize("stopped", ["fitting", "recoding", "verifying"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, Cancelled])
def test_nothing_is_left_when_work_is_stopped(stopped: str, error: type[BaseException], file: Path, home: Path) -> None:
    def progress(step: str, share: float | None) -> None:
        if step == stopped:
            raise error("stop")

    with pytest.raises(error):
        hr.protect(file, SCHEMA, METHOD, engine="duckdb", progress=progress)
    assert not list(home.iterdir())


_KILLED = """
import sys, tempfile
tempfile.tempdir = sys.argv[2]
import hedgerow as hr
hr.protect(sys.argv[1], hr.Schema(quasi=["age", "job"], sensitive=["pay"]), hr.Mondrian(5),
    engine="duckdb", progress=lambda step, share: step == "verifying" and (print(flush=True), input()))
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_what_a_killed_process_left_is_swept(file: Path, home: Path) -> None:
    arguments = [sys.executable, "-c", _KILLED, str(file), str(home)]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        alive = list(home.iterdir())
        with_living = Workspace(memory_of("1GB"))
        assert alive[0] in home.iterdir()  # a living process keeps its own
        process.send_signal(signal.SIGKILL)
    with_living.close()
    assert list(home.iterdir()) == alive
    left = time.monotonic()
    Workspace(memory_of("1GB")).close()
    assert not list(home.iterdir()), time.monotonic() - left


def test_a_changed_file_does_not_leave(file: Path, tmp_path: Path, home: Path) -> None:
    release = hr.protect(file, SCHEMA, METHOD, engine="duckdb")
    made = release.released.scan.paths[0]
    table = pq.read_table(made)
    other = table.set_column(1, "pay", table.column("pay").take(pa.array(range(3000))[::-1]))
    pq.write_table(other, made)
    with pytest.raises(PromiseError, match="whole rows"):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_wrong_recoding_is_found(file: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = partitions.labels_of

    def shifted(recoded: Any) -> Any:
        values, place = before(recoded)
        return values, (place + 1) % len(values)

    monkeypatch.setattr(partitions, "labels_of", shifted)
    with pytest.raises(PromiseError, match="mapped"):
        hr.protect(file, SCHEMA, METHOD, engine="duckdb")


def test_a_file_that_changes_while_it_is_read(file: Path, home: Path) -> None:
    table = engine.open(file)
    before = table.values_of

    def then_changed(names: Any) -> Any:
        found = before(names)
        pq.write_table(people(seed=1), file)
        return found

    table.values_of = then_changed  # type: ignore[method-assign]
    with pytest.raises(InputError, match="changed while it was read"):
        table.encode(["note", "pay"])


def test_the_disk_is_full(file: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Workspace, "allocate", _always_mapped)
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    with pytest.raises(HedgerowError, match=r"no room for .* of temporary files.*No space left"):
        hr.protect(file, SCHEMA, METHOD, engine="duckdb")
    assert not list(home.iterdir())


def test_apply_gives_the_bytes_of_memory(file: Path, tmp_path: Path, home: Path) -> None:
    means = SCHEMA.replace(quasi=["age", "job"])
    for schema, styles in ((SCHEMA, {}), (means, {"numeric": "mean", "categorical": "weighted"})):
        plan = hr.protect(file, schema, hr.MART(k=5, **styles)).plan
        others = people(1000, seed=3)
        aged = pa.array([200 if i % 50 == 0 else a for i, a in enumerate(others["age"].to_pylist())])
        strange = pa.array([None if i % 70 == 0 else j for i, j in enumerate(others["job"].to_pylist())])
        others = others.set_column(0, "age", aged).set_column(2, "job", strange)
        pq.write_table(others, tmp_path / "others.parquet")
        for unseen in ("count", "suppress"):
            found = []
            for name in ("memory", "duckdb"):
                with cautions() as heard:
                    made = apply_plan(plan, tmp_path / "others.parquet", engine=name, unseen=unseen)
                made.write(tmp_path / f"{name}.parquet")
                made.write(tmp_path / f"{name}.csv")
                found.append(
                    [(tmp_path / f"{name}{end}").read_bytes() for end in (".parquet", ".csv")]
                    + [heard, made.outside, made.dropped]
                )
            assert found[0] == found[1]
            assert made.outside >= 20
            ages = pq.read_table(tmp_path / "duckdb.parquet")["age"].to_pylist()
            hidden = ages.count("*") + ages.count(None)
            assert hidden >= 20 if unseen == "suppress" else hidden == 0
        for name in ("memory", "duckdb"):
            with pytest.raises(PlanError, match=f"{made.outside} cells fall outside"):
                apply_plan(plan, tmp_path / "others.parquet", engine=name, unseen="error")
    with pytest.raises(ParameterError, match="unseen"):
        apply_plan(plan, file, unseen="drop")
    with pytest.raises(UnsupportedError, match="as Parquet or CSV"):
        made.write(tmp_path / "duckdb.feather")


def test_the_report_is_that_of_memory(file: Path, tmp_path: Path, home: Path) -> None:
    found = []
    for name in ("memory", "duckdb"):
        session = hr.Session(file, engine=name)
        session.choose(SCHEMA, METHOD)
        session.protect()
        session.measure()
        found.append(digests(session.write(tmp_path / name)))
    assert found[0] == found[1]
    assert "report.html" in found[0]
    with pytest.raises(UnsupportedError, match="attacks, inference: these need all rows"):
        session.measure(attacks=True, inference=True)
    assert "--sample" in str(_hint(lambda: session.measure(attacks=True)))
    with pytest.raises(UnsupportedError, match="per_person: these need all rows"):
        session.measure(per_person=True, sample=100)
    session.measure(attacks=True, sample=1000)
    assert "--attacks --no-learning --sample 1000" in session.command_line()
    session.table.workspace.memory = 100_000
    with pytest.raises(UnsupportedError, match="measuring 3,000 records takes"):
        session.measure()


def _hint(call: Callable[[], Any]) -> str | None:
    with pytest.raises(HedgerowError) as refused:
        call()
    return refused.value.hint


def test_on_the_command_line(file: Path, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    roles = ["--quasi", "age,job,since", "--sensitive", "pay,ill", "--other", "note", "--method", "mart", "-k", "5"]
    for name in ("memory", "duckdb"):
        limit = ["--memory", "2GB"] if name == "duckdb" else []
        out = ["--out", str(tmp_path / name), "--engine", name, *limit]
        assert run(["protect", str(file), *roles, *out]) == 0
        out = ["--out", str(tmp_path / f"{name}.csv"), "--engine", name, *limit]
        assert run(["apply", str(tmp_path / name / "plan.json"), str(file), *out]) == 0
    assert digests(tmp_path / "memory") == digests(tmp_path / "duckdb")
    assert (tmp_path / "memory.csv").read_bytes() == (tmp_path / "duckdb.csv").read_bytes()
    assert not list(home.iterdir())
    out = ["--out", str(tmp_path / "none"), "--engine", "duckdb"]
    assert run(["protect", str(file), *roles[:6], *out, "--method", "pram"]) == 2
    assert "does not run on the engine 'duckdb'" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")
def test_adult_gives_the_bytes_of_memory(tmp_path: Path, home: Path) -> None:
    path = tmp_path / "adult.parquet"
    pq.write_table(hr.datasets.load_adult(complete=False), path)
    schema = hr.Schema(
        quasi=["age", "workclass", "education", "marital-status", "occupation", "native-country"],
        sensitive=["hours-per-week", "income"],
        other=["fnlwgt"],
    )
    for method in (hr.MART(k=10), hr.Hedge(k=10)):
        made = [
            digests(hr.protect(path, schema, method, guard=None, engine=name).write(tmp_path / name, force=True))
            for name in ("memory", "duckdb")
        ]
        assert made[0] == made[1]


def test_how_a_table_was_encoded_and_cut_leaves_no_trace(tmp_path: Path, home: Path) -> None:
    """Whether text is read as dictionaries is told by the size it takes in its files."""
    table = people(240).set_column(5, "note", pa.array([f"note {i % 61}" for i in range(240)]))
    whole, parts, plain = tmp_path / "whole.parquet", tmp_path / "parts", tmp_path / "plain.parquet"
    pq.write_table(table, whole)
    pq.write_table(table, plain, use_dictionary=False)
    parts.mkdir()
    for i in range(8):
        pq.write_table(table.slice(i * 30, 30), parts / f"{i}.parquet")
    kinds, made = set(), set()
    for i, source in enumerate((whole, parts, plain)):
        kinds.add(str(engine.open(source).types.field("note").type))
        for name in ("memory", "duckdb"):
            if name == "memory" and source is parts:
                continue
            out = tmp_path / f"{i}-{name}"
            hr.protect(source, SCHEMA, METHOD, engine=name).write(out)
            made.add((out / "release.parquet").read_bytes())
    assert len(kinds) == 2
    assert len(made) == 1


def test_the_type_of_text_does_not_follow_from_how_it_was_written(tmp_path: Path, home: Path) -> None:
    """Polars writes large strings; as dictionaries, plainly or in parts they are the same text."""
    table = people(600)
    texts = ("job", "ill", "note")
    plain, kinds = {"use_dictionary": False}, [pa.string(), pa.large_string(), pa.string_view()]
    try:
        pq.write_table(pa.table({"a": pa.array(["b"], pa.string_view())}), tmp_path / "v.parquet")
    except pa.ArrowNotImplementedError:  # the lowest pyarrow writes none
        kinds.pop()
    made, sources = set(), []

    def source(name: str, write: Callable[[Path], None]) -> None:
        write(tmp_path / f"{name}.parquet")
        sources.append(tmp_path / f"{name}.parquet")

    for kind in kinds:
        cast = table
        for name in texts:
            at = cast.schema.get_field_index(name)
            cast = cast.set_column(at, name, table.column(name).cast(kind))
        source(f"{kind}", lambda path, t=cast: pq.write_table(t, path))
        source(f"{kind} plain", lambda path, t=cast: pq.write_table(t, path, **plain))
        if kind != pa.string_view():
            coded = cast
            for name in texts:
                at = coded.schema.get_field_index(name)
                coded = coded.set_column(at, name, cast.column(name).dictionary_encode())
            source(f"{kind} coded", lambda path, t=coded: pq.write_table(t, path))
    mixed = tmp_path / "mixed"  # parts by two writers
    mixed.mkdir()
    pq.write_table(table.slice(0, 90), mixed / "a.parquet")
    pq.write_table(table.slice(90).cast(pa.schema(
        [f.with_type(pa.large_string()) if f.name in texts else f for f in table.schema]
    )), mixed / "b.parquet", **plain)  # fmt: skip
    sources.append(mixed)
    polars = pytest.importorskip("polars", reason="polars is not installed")
    source("polars", lambda path: polars.from_arrow(table).write_parquet(path))
    source("categories", lambda path: polars.from_arrow(table).with_columns(
        polars.col("job").cast(polars.Categorical), polars.col("ill").cast(polars.Categorical)
    ).write_parquet(path))  # fmt: skip
    for path in sources:
        for name in ("memory", "duckdb"):
            out = tmp_path / f"{path.stem} {name}"
            hr.protect(path, SCHEMA, METHOD, engine=name).write(out)
            made.add((out / "release.parquet").read_bytes())
            assert pq.read_schema(out / "release.parquet").field("note").type == pa.string()
    assert len(made) == 1


def test_names_and_cells_with_apostrophes_are_read_as_in_memory(tmp_path: Path) -> None:
    """A column called -x is written as '-x, so that no spreadsheet runs its name."""
    path = tmp_path / "people.csv"
    write.write_table(pa.table({"-x": ["=1", "cook"], "age": [30, 40]}), path)
    assert path.read_text().startswith("'-x")
    options = OpenOptions(unescape_formulas=True)
    tables = [read(path, unescape_formulas=True), engine.open(path, options)]
    assert [table.names for table in tables] == [["-x", "age"]] * 2
    assert [table.head(["-x"], 2)[0].to_pylist() for table in tables] == [["=1", "cook"]] * 2
