"""Tables on a cluster: the same plan and the same rows as in memory, however the rows lie."""

from __future__ import annotations

import datetime as dt
import os
import secrets
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.backends.spark import cluster, growing, packing, spark_files
from hedgerow.backends.spark import spark_table as table
from hedgerow.plan.records import dumps
from hedgerow.release.release import Release

PEOPLE = hr.datasets.make_people(600, seed=3).select(
    ["age", "education", "job", "entry_date", "income", "diagnosis", "region"]
)
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = hr.Schema(quasi=["age", "education", "job"], sensitive=["income", "diagnosis"])


def same(found: Release, wanted: Release) -> None:
    """Two releases of the same people: one from a cluster, one from memory."""
    assert dumps(found.plan) == dumps(wanted.plan)
    rows = found.table.toArrow()
    assert rows.schema == plain(wanted.table).schema
    # as text: numbers that are none equal each other, and zeros of two signs do not
    assert repr(rows.to_pylist()) == repr(wanted.table.to_pylist())
    assert found.checks == wanted.checks
    assert found.summary() == wanted.summary()


def plain(rows: pa.Table) -> pa.Table:
    """A table as Spark holds it: without dictionaries and notes."""
    for i, entry in enumerate(rows.schema):
        if pa.types.is_dictionary(entry.type):
            decoded = rows.column(i).cast(entry.type.value_type)
            rows = rows.set_column(i, entry.name, decoded)
    return rows.replace_schema_metadata(None)


@pytest.fixture(scope="module")
def people(spark: Any) -> Any:
    frame = spark.createDataFrame(plain(PEOPLE)).persist()
    frame.count()
    return frame


def test_a_release_is_that_of_memory(people: Any, tmp_path: Path) -> None:
    given = people.toArrow()
    found = hr.protect(people, SCHEMA, hr.MART(8))
    wanted = hr.protect(given, SCHEMA, hr.MART(8))
    same(found, wanted)
    found.write(tmp_path / "found")
    wanted.write(tmp_path / "wanted")
    name = "release.parquet"
    assert (tmp_path / "found" / name).read_bytes() == (tmp_path / "wanted" / name).read_bytes()
    assert found.verify_written(people.sparkSession.read.parquet(str(tmp_path / "found" / name)))


def test_workers_load_only_what_they_run(people: Any) -> None:
    """No pictures, no pages, no command line and no learners are loaded where the rows are."""
    hr.protect(people, SCHEMA, hr.Hedge(8), guard=None).verify()

    def modules(parts: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in parts:
            yield pa.RecordBatch.from_pydict({"name": sorted(sys.modules)})

    rows = people.sparkSession.range(8).repartition(8).mapInArrow(modules, "name string").distinct().collect()
    loaded = {row.name for row in rows}
    assert "hedgerow.trees.grow" in loaded, "no worker answered that worked"
    houses = {
        f"hedgerow.{name}" for name in ("auditing", "cli", "datasets", "profiles", "report", "studio", "workflow")
    }
    heavy = {"duckdb", "jinja2", "matplotlib", "narwhals", "rich", "scipy.stats", "sklearn", "sqlglot", "typer"}
    assert not loaded & (houses | heavy)


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_neither_parts_nor_who_counts_a_node_matter(people: Any, parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "SMALL", 90)
    method = hr.MART(5, max_disclosure=0.4)
    found = hr.protect(people.repartition(parts), SCHEMA, method)
    same(found, hr.protect(people.toArrow(), SCHEMA, method))


@pytest.mark.parametrize("moved", [False, True], ids=["rows stay", "rows move"])
def test_little_memory_of_tasks_and_driver_changes_nothing(
    people: Any, moved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes are counted one by one, on executors and here, and no node's counts wait for its larger child."""
    split, ways = growing._Top._split, set()

    def counted_split(top: Any, *node: Any) -> Any:
        families = split(top, *node)
        ways.update(family.sibling >= 0 for family in families)
        assert top.together == 1
        assert top.waiting <= top.most_waiting
        return families

    monkeypatch.setattr(growing._Top, "_split", counted_split)
    monkeypatch.setattr(growing, "SMALL", 40)
    monkeypatch.setattr(growing, "LEAST", 0)
    monkeypatch.setattr(growing, "ROW", -1 if moved else 1 << 40)
    monkeypatch.setattr(growing, "memory_of", lambda _: 60_000)
    monkeypatch.setattr(growing, "task_memory", lambda *_: 1 << 16)
    method = hr.MART(5, max_disclosure=None)
    same(hr.protect(people.repartition(3), SCHEMA, method), hr.protect(people.toArrow(), SCHEMA, method))
    assert ways == {False, True}  # alone, and with a larger sibling that is not counted


@pytest.mark.parametrize(
    "method",
    [
        hr.Hedge(8),
        hr.Mondrian(8, objective="regression"),
        hr.Mondrian(8, objective="information_gain", categorical="weighted", numeric="median"),
    ],
    ids=["Hedge", "regression", "information gain"],
)
def test_other_methods_and_cells(people: Any, method: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "SMALL", 250)
    found, wanted = (hr.protect(each, SCHEMA, method, guard=None) for each in (people, people.toArrow()))
    same(found, wanted)


def test_a_lost_worker_changes_nothing(people: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = table.map_parts

    def dying(frame: Any, work: Any, schema: Any, **options: Any) -> Any:
        mark = str(tmp_path / work.__qualname__)  # a worker dies once at each kind of work

        def once(part: pa.Table) -> Iterator[pa.RecordBatch]:
            try:
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                yield from work(part)
                return
            os.kill(os.getpid(), signal.SIGKILL)

        return real(frame, once, schema, **options)

    for module in (cluster, table, growing, packing, spark_files):
        monkeypatch.setattr(module, "map_parts", dying)
    monkeypatch.setattr(growing, "SMALL", 400)
    found = hr.protect(people, SCHEMA, hr.MART(8))
    killed = len(list(tmp_path.iterdir()))
    same(found, hr.protect(people.toArrow(), SCHEMA, hr.MART(8)))
    assert killed >= 7


@pytest.mark.parametrize(
    ("settings", "memory", "wanted"),
    [
        ({"spark.master": "local[2,4]", "spark.driver.memory": "2g"}, None, 1 << 30),
        ({"spark.master": "local[4]"}, None, 1 << 28),
        ({"spark.master": "yarn", "spark.executor.memory": "8192", "spark.executor.cores": "4"}, None, 1 << 31),
        ({"spark.executor.memory": "8g", "spark.executor.pyspark.memory": "512m"}, None, 1 << 29),
        ({"spark.executor.memory": "8g"}, "1GB", 10**9),
    ],
)
def test_the_share_of_a_task(settings: dict[str, str], memory: str | None, wanted: int) -> None:
    frame = SimpleNamespace(sparkSession=SimpleNamespace(conf=settings))
    assert cluster.task_memory(frame, memory) == wanted


def test_the_rows_of_a_large_group_are_counted_in_batches(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thirds of the rows are alike: leaves and classes are counted a few rows at a time before they meet."""
    real, session = cluster.map_parts, people.sparkSession
    watched: set[str] = set()

    def few(frame: Any, work: Any, schema: Any, **options: Any) -> Any:
        if not work.__qualname__.startswith(("SparkLeaves._count", "classes")):
            return real(frame, work, schema, **options)
        watched.add(work.__qualname__)

        def checked(part: pa.Table) -> Iterator[pa.RecordBatch]:
            assert part.num_rows < 250
            yield from work(part)

        return real(frame, checked, schema, **options)

    for module in (cluster, growing, spark_files):
        monkeypatch.setattr(module, "map_parts", few)
    monkeypatch.setattr(table.SparkTable, "at_once", 50)
    rows = plain(PEOPLE)
    rows = pa.concat_tables([rows, *[rows.slice(0, 1)] * 1_200])
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "50")
    try:
        found = hr.protect(session.createDataFrame(rows).repartition(3), SCHEMA, hr.MART(8))
        same(found, hr.protect(rows, SCHEMA, hr.MART(8)))
    finally:
        session.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert watched == {"SparkLeaves._count.<locals>.work", "classes.<locals>.count", "classes.<locals>.add"}


def test_arithmetic_that_does_not_overflow_aloud(people: Any) -> None:
    session = people.sparkSession
    before = session.conf.get("spark.sql.ansi.enabled")
    session.conf.set("spark.sql.ansi.enabled", "false" if before == "true" else "true")
    try:
        found = hr.protect(people, SCHEMA, hr.MART(8))
        same(found, hr.protect(people.toArrow(), SCHEMA, hr.MART(8)))
    finally:
        session.conf.set("spark.sql.ansi.enabled", before)


@pytest.mark.parametrize("many", [cluster.MANY, 1], ids=["few values", "many values"])
def test_an_odd_table(spark: Any, many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "SMALL", 40)
    monkeypatch.setattr(cluster, "MANY", many)
    i = np.arange(160)
    start = dt.date(1899, 12, 30)
    odd = pa.table(
        {
            " the age.of it ": pa.array([None if j % 11 == 0 else 18 + j * 7 % 60 for j in i]),
            'job "quoted", `b`': pa.array([(None, "é́", "🦔", "", "a+b", "*")[j % 6] for j in i]),
            "day": pa.array([start + dt.timedelta(int(j) * 997) for j in i]),
            "x": pa.array([(0.0, -0.0, float("nan"), None, 2.5)[j % 5] for j in i]),
            "many": pa.array([f"v{j * 7 % 40}" for j in i]),
            "pay": pa.array([None if j % 13 == 0 else 100 + j / 7 for j in i]),
            "note": pa.array([(0.0, -0.0, float("nan"), None)[j % 4] for j in i]),
            "who": pa.array([f"P{j}" for j in i]),
        }
    )
    schema = hr.Schema(quasi=odd.column_names[:4], sensitive=["many", "pay"], other=["note"], identifiers=["who"])
    frame = spark.createDataFrame(odd).repartition(3).persist()
    method = hr.MART(4, max_disclosure=0.9)
    same(hr.protect(frame, schema, method), hr.protect(frame.toArrow(), schema, method))


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_come_in_and_go_out_byte_for_byte(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"people.{suffix}"
    if suffix == "csv":
        pacsv.write_csv(plain(PEOPLE), file)
    else:
        pq.write_table(plain(PEOPLE), file)
    for engine in ("spark", "memory"):
        release = hr.protect(file, SCHEMA, hr.MART(8), engine=engine)
        release.write(tmp_path / engine)
    found, wanted = (sorted((tmp_path / e).iterdir()) for e in ("spark", "memory"))
    assert [f.name for f in found] == [f.name for f in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("kind", ["large", "cp1252", "few"])
def test_large_text_and_other_encodings_are_as_in_memory(tmp_path: Path, kind: str) -> None:
    table = plain(PEOPLE)
    at = table.schema.get_field_index("job")
    jobs = [f"{job} ü" if kind == "cp1252" or i == 0 else job for i, job in enumerate(table["job"].to_pylist())]
    table = table.set_column(at, "job", pa.array(jobs, pa.large_string()))
    if kind == "large":
        file = tmp_path / "people.parquet"
        pq.write_table(table, file, use_dictionary=False)
    else:
        file = tmp_path / "people.csv"
        pacsv.write_csv(pa.concat_tables([table] * (1 if kind == "cp1252" else 2)), file)
        lines = file.read_text().splitlines(keepends=True)
        if kind == "few":
            lines = [lines[0], lines[1], *[line for line in lines[1:] if "ü" not in line]]
        file.write_bytes("".join(lines).encode("cp1252"))
    made = set()
    for engine in ("spark", "memory"):
        if kind == "few":
            with pytest.raises(hr.errors.InputError, match="but for 1 of its"):
                hr.protect(file, SCHEMA, hr.MART(8), engine=engine)
            continue
        hr.protect(file, SCHEMA, hr.MART(8), engine=engine).write(tmp_path / engine)
        made.add((tmp_path / engine / f"release{file.suffix}").read_bytes())
    assert len(made) == (kind != "few")


@pytest.mark.usefixtures("spark")
def test_types_that_spark_does_not_hold_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "people.parquet"
    clock = pa.array([dt.time(i % 24) for i in range(PEOPLE.num_rows)])
    pq.write_table(PEOPLE.append_column("clock", clock), file)
    with pytest.raises(hr.errors.UnsupportedError, match="clock"):
        hr.protect(file, SCHEMA, hr.MART(8), engine="spark")


def test_what_a_cluster_cannot_do_is_refused_before_work(people: Any) -> None:
    with pytest.raises(hr.errors.UnsupportedError, match="does not run on the engine 'spark'"):
        hr.protect(people, SCHEMA, hr.Anatomy(l=2), engine="spark")
    with pytest.raises(hr.errors.UnsupportedError, match="who is a person"):
        hr.protect(people, SCHEMA.replace(unit="region"), hr.MART(5))
    with pytest.raises(hr.errors.UnsupportedError, match="pseudonyms"):
        hr.protect(people, SCHEMA, hr.MART(5), pseudonym_key=b"0123456789abcdef")
    with pytest.raises(hr.errors.ParameterError, match="hardly enough to start"):
        hr.protect(people, SCHEMA, hr.MART(5), memory="4MB")


def test_what_spark_puts_aside_lies_where_nobody_else_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sql = pytest.importorskip("pyspark.sql")
    from pyspark.errors import PySparkException

    def active() -> Any:
        raise PySparkException("no session runs")

    told: dict[str, str] = {}

    def config(name: str, value: str) -> Any:
        told[name] = value
        return builder

    started = SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=str))
    builder = SimpleNamespace(config=config, getOrCreate=lambda: started)
    nobody = SimpleNamespace(active=active, builder=builder)
    monkeypatch.setattr(sql, "SparkSession", nobody)
    monkeypatch.setattr("shutil.which", lambda _: "java")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cluster.session() is started
    folder = Path(told["spark.local.dir"])
    assert folder.parent == tmp_path
    assert told["spark.sql.caseSensitive"] == "true"  # files may hold names that differ in case alone
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_what_executors_lack_is_named() -> None:
    errors = pytest.importorskip("pyspark.errors")

    def job() -> None:
        raise errors.PythonException("ModuleNotFoundError: No module named 'pyarrow.lib'\n")

    with pytest.raises(hr.errors.UnsupportedError, match="the Python package 'pyarrow'"):
        cluster.run(job)


def test_what_is_too_much_for_the_driver_is_named() -> None:
    """The words of Spark's TaskSetManager."""
    errors = pytest.importorskip("pyspark.errors")

    def job() -> None:
        raise errors.PySparkException(
            "Job aborted due to stage failure: Total size of serialized results of 3 tasks "
            "(1025.0 MiB) is bigger than spark.driver.maxResultSize (1024.0 MiB)"
        )

    with pytest.raises(hr.errors.UnsupportedError, match=r"more than spark\.driver\.maxResultSize"):
        cluster.run(job)


def test_rows_that_change_are_found(people: Any) -> None:
    def shake(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            age = [a + secrets.randbelow(10_000) for a in batch.column(0).to_pylist()]
            columns = [pa.array(age, batch.schema.types[0]), *batch.columns[1:]]
            yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)

    shaken = people.mapInArrow(shake, people.schema)
    with pytest.raises(hr.errors.InputError, match="each time it is computed"):
        hr.protect(shaken, SCHEMA, hr.MART(8))


def test_a_release_on_a_cluster_has_no_row_numbers(people: Any) -> None:
    release = hr.protect(people, SCHEMA, hr.MART(20))
    with pytest.raises(hr.errors.UnsupportedError, match="no numbers"):
        release.rows  # noqa: B018
    with pytest.raises(hr.errors.UnsupportedError, match="on a cluster"):
        release.original.arrow  # noqa: B018
