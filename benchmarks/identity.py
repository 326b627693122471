"""Whether random tables, written by many programs, give the same release on every engine, byte for byte.

Every seed makes a table of 20 to 400 rows (numbers, decimals, dates, times, text in several scripts with quotes
and line breaks, missing cells, zeros of two signs), writes it by one program, and protects it by one method,
through Python or through the command line: by the engine in memory, by DuckDB and, with --spark, each tenth table
by Spark as well. The files of the releases and the warnings must be the same. A table that a method refuses does
not count, and must be refused by every engine with the same words.

    python benchmarks/identity.py [--accepted 200] [--seed 0] [--spark]
    python benchmarks/identity.py --accepted 0 --seed 17   # this seed alone, with all that differs
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import gzip
import io
import os
import re
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

import hedgerow as hr
from hedgerow.cli.app import run as command

TEXTS = ("é́", "日本", "🦔", "", " edge ", "a+b", "c:3", "*", "line\nbreak", 'say "so"', "x, y; z", "=1+1", "Ärztin",
         "ärztin", "محاسب", "NA", "-", "[1-3]", "кок", "cook", "007", "1e3", "true")  # fmt: skip
NAMES = ("age", "job title", "pay (€)", "an 'odd' \"name\"", "日", "a.b", "Job Title", "select", "no;1", "x  y", "r0")
SPARK_EACH = 10
"""Of so many seeds, one is tried on Spark."""


def _floats(draw: np.random.Generator, n: int) -> pa.Array:
    return pa.array(draw.choice([0.0, -0.0, 0.1, 1e-9, 2500.5, -7e6, 1 / 3, 12.25], n))


def _texts(draw: np.random.Generator, n: int) -> pa.Array:
    return pa.array(draw.choice(draw.choice(TEXTS, draw.integers(2, 9), replace=False), n).tolist(), pa.string())


def _decimals(draw: np.random.Generator, n: int) -> pa.Array:
    return pa.array([Decimal(int(i)) / 4 for i in draw.integers(-9, 40, n)], pa.decimal128(9, 2))


def _times(draw: np.random.Generator, n: int, unit: str = "us", zone: str | None = None) -> pa.Array:
    hours = draw.integers(0, draw.choice([9, 500]), n)
    start = dt.datetime(2021, 3, 28, 0, 30, tzinfo=dt.UTC if zone else None)
    return pa.array([start + dt.timedelta(hours=int(h)) for h in hours], pa.timestamp(unit, zone))


COLUMNS: dict[str, Callable[[np.random.Generator, int], pa.Array]] = {
    "few whole numbers": lambda draw, n: pa.array(draw.integers(-2, 6, n), pa.int8()),
    "whole numbers": lambda draw, n: pa.array(draw.integers(18, 95, n)),
    "large whole numbers": lambda draw, n: pa.array(draw.integers(2**62, 2**62 + 9, n)),
    "doubles": _floats,
    "amounts": lambda draw, n: pa.array(draw.lognormal(8, 1, n).round(2)),
    "floats": lambda draw, n: pa.array(draw.normal(0, 9, n).round(1), pa.float32()),
    "decimals": _decimals,
    "booleans": lambda draw, n: pa.array(draw.random(n) < 0.4),
    "dates": lambda draw, n: pa.array([dt.date(1950, 1, 1) + dt.timedelta(int(i)) for i in draw.integers(0, 25000, n)]),
    "times": _times,
    "times in ms": lambda draw, n: _times(draw, n, "ms"),
    "times with a zone": lambda draw, n: _times(draw, n, "us", "Europe/Paris"),
    "texts": _texts,
    "long texts": lambda draw, n: _texts(draw, n).cast(pa.large_string()),
    "dictionary": lambda draw, n: _texts(draw, n).dictionary_encode(),
    "notes": lambda draw, n: pa.array([f"{i * 7919 % 1009}\nnote" for i in range(n)]),
    "constant": lambda draw, n: pa.array(["all"] * n),
}
ROLES = ("quasi", "quasi", "sensitive", "quasi", "other", "identifiers", "sensitive", "quasi")
"""The roles of columns, in their order."""

METHODS: dict[str, dict[str, Any]] = {
    "MART": {"k": 4},
    "MART, means": {"k": 3, "numeric": "mean", "categorical": "weighted"},
    "MART, medians": {"k": 3, "numeric": "median", "categorical": "concatenate"},
    "MART, drawn": {"k": 4, "guard": "redraw"},
    "MART, runs": {"k": 4, "guard": "runs"},
    "Hedge": {"k": 4},
    "Hedge, means": {"k": 4, "cells": "means"},
    "Hedge, ranges": {"k": 4, "cells": "ranges"},
    "Mondrian": {"k": 5},
    "Mondrian, regression": {"k": 5, "objective": "regression"},
    "Mondrian, information_gain": {"k": 5, "objective": "information_gain"},
    "Mondrian, loss": {"k": 5, "objective": "loss"},
    "Datafly": {"k": 3, "suppression": 0.1},
    "Incognito": {"k": 3, "suppression": 0.2},
    "RandomizedResponse": {"l": 3.0, "relax": "halfway", "bins": 3},
    "TreePatternPreserving": {"k": 3},
}
COMMANDS = {"RandomizedResponse": "rr", "TreePatternPreserving": "tpp"}
DRAWN = ("Hedge", "Hedge, means", "Hedge, ranges", "MART, drawn", "RandomizedResponse")


@dataclass
class Trial:
    """A table, its file, and what is done with it."""

    table: pa.Table
    roles: dict[str, list[str]]
    writer: str
    method: str
    by_command: bool
    source: Any = None
    """A path, or a function that returns a relation."""
    in_memory: Any = None
    """The source that the engine in memory takes, where it takes another: it reads no database."""


def made(seed: int, writers: Sequence[str]) -> Trial:
    """Draw the table, the writer and the method of a seed."""
    draw = np.random.default_rng(seed)
    n, width = int(draw.integers(20, 401)), int(draw.integers(3, 9))
    writer, method = str(draw.choice(writers)), str(draw.choice(list(METHODS)))
    # a table of DuckDB has no two names that differ in case alone
    names = [name for name in NAMES if name != "Job Title" or not ("DuckDB" in writer or writer == "database")]
    names = [str(name) for name in draw.choice(names, width, replace=False)]
    roles: dict[str, list[str]] = {role: [] for role in ROLES}
    columns = {}
    for name, role in zip(names, ROLES, strict=False):
        cells = COLUMNS[str(draw.choice(list(COLUMNS)))](draw, n)
        if role == "identifiers":
            cells = pa.array([f"P{i * 7919 % 100_003}" for i in range(n)])
        elif draw.random() < 0.3:
            cells = cells.take(pa.array(np.arange(n), mask=draw.random(n) < draw.choice([0.02, 0.3])))
        columns[name] = cells
        roles[role].append(name)
    return Trial(pa.table(columns), roles, writer, method, bool(draw.random() < 0.5) and writer != "relation")


def _csv(table: pa.Table, path: Path) -> None:
    pa.csv.write_csv(pa.table([_plain(c) for c in table.columns], table.column_names), path)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without dictionary, which some writers do not take."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _gz(table: pa.Table, path: Path) -> None:
    with gzip.open(path, "wb") as file:
        pa.csv.write_csv(pa.table([_plain(c) for c in table.columns], table.column_names), file)


def _groups_of_three(table: pa.Table, path: Path) -> None:
    """Write row groups of 3, with an empty one among them, long text and dictionaries."""
    types = [pa.large_string() if t == pa.string() else t for t in table.schema.types]
    table = table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))
    with pq.ParquetWriter(path, table.schema, compression="gzip") as writer:
        writer.write_table(table.slice(0, 7), row_group_size=3)
        writer.write_table(table.slice(0, 0))
        writer.write_table(table.slice(7), row_group_size=3)


def _dictionaries(table: pa.Table, path: Path) -> None:
    cells = [c.dictionary_encode() if c.type == pa.string() else c for c in table.columns]
    pq.write_table(pa.table(cells, table.column_names), path, use_dictionary=False)


def _hive(table: pa.Table, path: Path) -> None:
    """Write a folder of folders, as pyarrow and Spark divide a table by a column."""
    table = table.append_column("ward", pa.array([i % 3 for i in range(table.num_rows)]))
    pq.write_to_dataset(table, path.parent.parent, partition_cols=["ward"])


def _relation(table: pa.Table, path: Path) -> None:
    pq.write_table(table, path)


def _database(table: pa.Table, path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.register("given", table)
        connection.execute("CREATE SCHEMA ward; CREATE TABLE ward.visits AS FROM given; CREATE TABLE other (x INT)")


def _duckdb(table: pa.Table, path: Path, layout: str = "parquet") -> None:
    with duckdb.connect() as connection:
        connection.register("given", table)
        connection.execute(f"COPY given TO '{path}' (FORMAT {layout})")


def _spark(table: pa.Table, path: Path) -> None:
    plain = pa.table([_plain(c) for c in table.columns], table.column_names)
    _session().createDataFrame(plain).repartition(2).write.parquet(str(path))


WRITERS: dict[str, tuple[str, Callable[[pa.Table, Path], Any]]] = {
    "CSV of pyarrow": ("people.csv", _csv),
    "CSV of pandas": ("people.csv", lambda table, path: table.to_pandas().to_csv(path, index=False)),
    "CSV of Polars": ("people.csv", lambda table, path: pl.from_arrow(table).write_csv(path, separator=";")),
    "CSV of DuckDB": ("people.csv", lambda table, path: _duckdb(table, path, "csv")),
    "CSV.gz": ("people.csv.gz", _gz),
    "pandas": ("people.parquet", lambda table, path: table.to_pandas().to_parquet(path)),
    "Polars": ("people.parquet", lambda table, path: pl.from_arrow(table).write_parquet(path, row_group_size=50)),
    "DuckDB": ("people.parquet", _duckdb),
    "pyarrow, row groups of 3": ("people.parquet", _groups_of_three),
    "pyarrow, dictionaries": ("people.parquet", _dictionaries),
    "hive folder": ("wards/*/*.parquet", _hive),
    "database": ("people.duckdb", _database),
    "relation": ("relation.parquet", _relation),
    "Spark": ("people.spark", _spark),
}
"""By name, the file that is written and what writes it."""


def written(trial: Trial, folder: Path) -> None:
    """Write the table of a trial, and say where each engine finds it."""
    name, write = WRITERS[trial.writer]
    path = folder / name
    write(trial.table, path)
    trial.source = path
    if trial.writer == "relation":
        trial.source = lambda: duckdb.connect().read_parquet(str(path))
    elif trial.writer == "database":
        trial.source = f"{path}::ward.visits"
        trial.in_memory = lambda: duckdb.connect(str(path), read_only=True).table("ward.visits")


def _settings(trial: Trial, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of the method, and those of `protect`."""
    parameters = dict(METHODS[trial.method])
    given = {"guard": parameters.pop("guard")} if "guard" in parameters else {}
    if trial.method == "TreePatternPreserving":
        parameters["response"] = trial.roles["sensitive"][0]
    if trial.method in DRAWN:
        where = parameters if trial.method == "RandomizedResponse" else given
        where["random_state"] = seed
    return parameters, given


def by_python(trial: Trial, source: Any, engine: str, seed: int, out: Path) -> str:
    """Protect and write; returns what was warned of."""
    parameters, given = _settings(trial, seed)
    method = getattr(hr, trial.method.partition(",")[0])(**parameters)
    source = source() if callable(source) else source
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        hr.protect(source, hr.Schema(**trial.roles), method, engine=engine, **given).write(out)
    return "\n".join(str(each.message) for each in warned if each.category is UserWarning)


def by_command(trial: Trial, source: Any, engine: str, seed: int, out: Path) -> str:
    """Protect by the command line, mostly with its report; returns what it warned of."""
    parameters, given = _settings(trial, seed)
    name = trial.method.partition(",")[0]
    words = ["protect", str(source), "--method", COMMANDS.get(name, name.lower()), "--engine", engine]
    words += ["--out", str(out), *(["--no-report"] if seed % SPARK_EACH == 0 else [])]  # it takes long on Spark
    for role, names in trial.roles.items():
        words += [word for each in names for word in (f"--{role}", each)]
    for option, value in {**parameters, **given}.items():
        words += [f"--{option.replace('_', '-')}", str(value)]
    told, warned = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(warned):
        code = command(words)
    if code:
        # a busy machine is told of progress before
        raise hr.HedgerowError(re.sub(r"^.*?\b(?=(warning|error): )", "", " ".join(warned.getvalue().split())))
    return "\n".join(line for line in warned.getvalue().splitlines() if line.startswith("warning"))


def outcome(trial: Trial, engine: str, seed: int, out: Path) -> tuple[str, dict[str, bytes]]:
    """Return the first line of an error or what was warned of, and the files of the release."""
    source = trial.in_memory if engine == "memory" and trial.in_memory is not None else trial.source
    way = by_command if trial.by_command and not callable(source) else by_python
    try:
        warned = way(trial, source, engine, seed, out)
    except hr.HedgerowError as error:
        return f"refused: {str(error).splitlines()[0]}", {}
    except Exception as error:  # a fault of ours, which is shown with its seed
        return f"FAULT: {type(error).__name__}: {error}", {}
    return warned, {f.name: f.read_bytes() for f in sorted(out.iterdir())}


def compared(trial: Trial, engines: Sequence[str], seed: int, folder: Path) -> tuple[bool, list[str]]:
    """Return whether the engine in memory accepted the table, and what differs on the other engines."""
    warned, files = outcome(trial, "memory", seed, folder / "memory")
    differences = [f"memory: {warned}"] if warned.startswith("FAULT") else []
    for engine in engines:
        others_warned, others = outcome(trial, engine, seed, folder / engine)
        # the command line tells more beside an error, and begins warnings otherwise
        is_mixed = trial.by_command and trial.in_memory is not None
        begins = "" if files and others else warned.removeprefix("refused: ")
        alike = (
            others_warned.removeprefix("refused: error: ").startswith(begins) if is_mixed else others_warned == warned
        )
        if not alike:
            differences.append(f"{engine} says {others_warned!r}, and memory {warned!r}")
        names = {*files, *others}
        if is_mixed:  # the command line measures for a report
            names = {name for name in names if name.startswith("release") or name == "plan.json"}
        differences += [f"{engine}: {n} is another" for n in sorted(names) if files.get(n) != others.get(n)]
    return bool(files), differences


def _session() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"master": "local[2,4]", "ui.enabled": "false", "ui.showConsoleProgress": "false",
                "sql.shuffle.partitions": "2", "driver.host": "127.0.0.1", "driver.bindAddress": "127.0.0.1",
                "sql.session.timeZone": "UTC", "sql.caseSensitive": "true"}  # fmt: skip
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--accepted", type=int, default=200, help="end after so many; 0: one seed alone")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--spark", action="store_true", help="Spark as a writer, and as an engine for each tenth table")
    given = parser.parse_args()
    if given.spark:
        _session()
    writers = [name for name in WRITERS if given.spark or name != "Spark"]
    accepted, refused, engines_used = Counter[str](), Counter[str](), Counter[str]()
    began, differ, seed = time.perf_counter(), 0, given.seed
    while True:
        trial = made(seed, writers)
        # relations are of this process, and Spark reads no database
        is_path = trial.writer not in ("relation", "database")
        engines = ["duckdb", *(["spark"] if given.spark and seed % SPARK_EACH == 0 and is_path else [])]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "wards").mkdir()
            written(trial, folder)
            is_accepted, differences = compared(trial, engines, seed, folder)
        way = "command line" if trial.by_command else "Python"
        (accepted if is_accepted else refused).update((trial.writer, trial.method, way))
        engines_used.update(engines if is_accepted else [])
        for each in differences:
            print(f"seed {seed} ({trial.writer}; {trial.method}; {way}): {each}", flush=True)
        differ += bool(differences)
        seed += 1
        if sum(accepted[w] for w in WRITERS) >= given.accepted:
            break
    print(f"{'':28} {'accepted':>9} {'refused':>8}")
    for each in (*writers, *METHODS, "Python", "command line"):
        print(f"{each:28} {accepted[each]:>9} {refused[each]:>8}")
    n = sum(accepted[w] for w in WRITERS)
    print(
        f"{n} accepted of {seed - given.seed} tables, {differ} of them differ; accepted by "
        + ", ".join(f"{name} {count}" for name, count in engines_used.items())
        + f"; {time.perf_counter() - began:.0f} s"
    )
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
