"""Frames as people hand them over, and what is said of those that no release can be made of."""

from __future__ import annotations

import datetime as dt
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.backends.spark import cluster, spark_files
from hedgerow.backends.spark.spark_table import SparkTable
from hedgerow.errors import InputError, SchemaError, UnsupportedError
from hedgerow.release.release import Release

from .test_spark import same

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay"])
N = 60
PEOPLE = pa.table(
    {
        "age": [18 + i * 7 % 40 for i in range(N)],
        "job": [("cook", "Cook", "nurse")[i % 3] for i in range(N)],
        "pay": [1000.0 + i * 37 % 501 for i in range(N)],
    }
)


@pytest.fixture(scope="module")
def people(spark: Any) -> Any:
    return spark.createDataFrame(PEOPLE)


def kept(spark: Any) -> int:
    """How many frames the cluster keeps."""
    return int(spark.sparkContext._jsc.getPersistentRDDs().size())


def test_names_that_differ_in_case_alone(spark: Any, tmp_path: Path) -> None:
    table = PEOPLE.append_column("AGE", pa.array([i % 5 for i in range(N)]))
    schema = SCHEMA.replace(other=["AGE"])
    found = hr.protect(spark.createDataFrame(table), schema, hr.MART(5))
    found.write(tmp_path / "found")
    hr.protect(table, schema, hr.MART(5)).write(tmp_path / "wanted")
    one, other = (tmp_path / e / "release.parquet" for e in ("found", "wanted"))
    assert one.read_bytes() == other.read_bytes()


def test_text_that_a_collation_holds_equal(people: Any) -> None:
    """Spark groups 'cook' with 'Cook' there; released are the people's own words."""
    from pyspark.sql import functions as f

    frame = people.withColumn("job", f.collate("job", "UTF8_LCASE"))
    same(hr.protect(frame, SCHEMA, hr.MART(5)), hr.protect(PEOPLE, SCHEMA, hr.MART(5)))


def test_frames_without_rows_to_count(spark: Any) -> None:
    with pytest.raises(InputError, match="the table is a stream"):
        hr.protect(spark.readStream.format("rate").load(), SCHEMA, hr.MART(5))
    ended = SimpleNamespace(sparkSession=SimpleNamespace(sparkContext=SimpleNamespace(_jsc=None)))
    with pytest.raises(InputError, match="the Spark session of this table has ended"):
        SparkTable(ended)


def test_types_that_spark_does_not_hand_over_are_named(people: Any) -> None:
    from pyspark.sql import functions as f

    frame = people.withColumn("since", f.expr("make_ym_interval(1, 2)"))
    with pytest.raises(UnsupportedError, match=r"columns: 'since' \(interval year to month\)"):
        hr.protect(frame, SCHEMA, hr.MART(5))


def test_moments_lie_in_files_as_in_memory_whatever_spark_is_set_to(spark: Any, tmp_path: Path) -> None:
    """By default Spark writes times in nanoseconds, which end before 1677, and old days by another calendar."""
    days = [dt.date(1500, 2, 28), dt.date(1850, 1, 1), dt.date(9999, 12, 31)]
    table = PEOPLE.append_column("day", pa.array([days[i % 3] for i in range(N)]))
    at = [dt.datetime(d.year, d.month, d.day, 13, 30) for d in days]
    moments = pa.array([at[i % 3] for i in range(N)], pa.timestamp("us", "UTC"))
    table = table.append_column("at", moments)
    schema = SCHEMA.replace(other=["day", "at"])
    hr.protect(table, schema, hr.MART(5)).write(tmp_path / "wanted")
    found = hr.protect(spark.createDataFrame(table), schema, hr.MART(5))
    setting = "spark.sql.parquet.datetimeRebaseModeInWrite"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "LEGACY")
    try:
        found.write(tmp_path / "found")
    finally:
        spark.conf.set(setting, before)
    one, other = (tmp_path / e / "release.parquet" for e in ("found", "wanted"))
    assert one.read_bytes() == other.read_bytes()


def test_numbers_in_a_message_are_of_the_whole_table(spark: Any) -> None:
    """60 different texts in several parts of the table."""
    plan = hr.protect(PEOPLE, SCHEMA, hr.MART(5)).plan
    texts = PEOPLE.set_column(0, "age", pa.array([f"x{i}" for i in range(N)]))
    with pytest.raises(SchemaError, match="60 of its different values"):
        plan.apply(spark.createDataFrame(texts).repartition(3))


def test_the_cluster_keeps_nothing_but_the_release(spark: Any, people: Any) -> None:
    before = kept(spark)
    for method in (hr.MART(5), hr.Datafly(5)):
        release = hr.protect(people, SCHEMA, method)
        assert kept(spark) == before + 1
        release.table.unpersist()
        assert kept(spark) == before


@pytest.mark.parametrize(
    ("whose", "step"), [(hr.MART, "release_table"), (Release, "verify")], ids=["fitted", "recoded"]
)
def test_the_cluster_keeps_nothing_of_work_that_was_stopped(
    spark: Any, people: Any, whose: type, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []

    def stop(*_: Any) -> None:
        held.append(kept(spark))
        raise KeyboardInterrupt

    before = kept(spark)
    monkeypatch.setattr(whose, step, stop)
    with pytest.raises(KeyboardInterrupt):
        hr.protect(people, SCHEMA, hr.MART(5))
    assert held[0] > before
    assert kept(spark) == before


def test_memory_limits_what_comes_together_here(people: Any) -> None:
    least = {"memory": "540MB"}  # the program itself takes most of it
    with pytest.raises(UnsupportedError, match=r"0\.5 GB are allowed\n.*--memory"):
        hr.protect(people, SCHEMA, hr.Datafly(5), memory=1 << 29)
    assert hr.protect(people, SCHEMA, hr.Datafly(5), **least).checks
    assert hr.protect(people, SCHEMA, hr.MART(5), memory=1 << 29).checks  # counts, and brings none


def test_settings_of_a_session_that_runs_stay(spark: Any, tmp_path: Path) -> None:
    """Another thread has no session of its own; the one that runs is taken as it is."""
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(cluster.session()))
        thread.start()
        thread.join()
        assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_what_executors_say_comes_with_what_to_do() -> None:
    errors = pytest.importorskip("pyspark.errors")

    def job() -> None:
        raise errors.PythonException(
            "Traceback\nhedgerow.errors.InputError: it changed\n  persist it\n\nSQLSTATE: 38000"
        )

    with pytest.raises(InputError, match=r"^it changed\n  persist it$"):
        cluster.run(job)


def test_what_failed_is_named_without_its_words() -> None:
    errors = pytest.importorskip("pyspark.errors")

    def job() -> None:
        raise errors.PySparkException("the value 'Ann'", errorClass="DIVIDE_BY_ZERO")

    with pytest.raises(InputError, match=r"failed: PySparkException, DIVIDE_BY_ZERO\n") as told:
        cluster.run(job)
    assert "Ann" not in str(told.value)

    def twins() -> None:
        raise errors.PySparkException("", errorClass="COLUMN_ALREADY_EXISTS")

    with pytest.raises(InputError, match=r"names of columns differ in case alone\n.*caseSensitive"):
        cluster.run(twins)


def test_a_file_that_is_gone_is_said_so(spark: Any, tmp_path: Path) -> None:
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    frame = spark.read.parquet(str(tmp_path / "people.parquet"))

    def remove(step: str, share: float | None) -> None:
        if step == "fitting":
            (tmp_path / "people.parquet").unlink(missing_ok=True)

    with pytest.raises(InputError, match="failed: a file of the table is gone"):
        hr.protect(frame, SCHEMA, hr.MART(5), progress=remove)


def test_a_release_shows_itself_in_a_notebook(people: Any) -> None:
    found, wanted = (hr.protect(each, SCHEMA, hr.MART(5)) for each in (people, PEOPLE))
    assert found._repr_html_() == wanted._repr_html_()


def test_a_large_frame_is_not_read_whole_unasked(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """60 records of 3 columns take 60 * 3 * 24 = 4,320 bytes."""
    for room in (4_320, 4_319):
        monkeypatch.setattr("hedgerow.backends.select.memory_of", lambda _, room=room: room)
        if room == 4_320:
            assert hr.protect(people, SCHEMA, hr.Microaggregation(5)).checks
            continue
        with pytest.raises(UnsupportedError, match="Microaggregation takes the rows of this Spark"):
            hr.protect(people, SCHEMA, hr.Microaggregation(5))
        with pytest.raises(UnsupportedError, match="max_inference takes the rows of this Spark"):
            hr.protect(people, SCHEMA, hr.MART(5), max_inference=0.5)


def test_a_table_of_a_catalogue_is_released_into_another_and_checked_there(spark: Any, tmp_path: Path) -> None:
    """As docs/in-a-warehouse.md says of Delta and Iceberg, with Parquet tables of Spark's own catalogue."""
    for name in ("register", "handed_out"):
        spark.sql(f"CREATE DATABASE {name} LOCATION '{tmp_path / name}'")
    try:
        spark.createDataFrame(PEOPLE).writeTo("register.people").using("parquet").create()
        release = hr.protect(spark.table("register.people"), SCHEMA, hr.MART(5))
        release.table.writeTo("handed_out.people").using("parquet").create()
        assert all(check.holds for check in release.verify_written(spark.table("handed_out.people")))
        check = release.plan.check_sql("handed_out.people", "register.people", "spark")
        assert spark.sql(check).isEmpty()
        # one row lacks a copy, and one is there twice
        changed = spark.table("handed_out.people").toArrow()
        changed = pa.concat_tables([changed[1:], changed[-1:]])
        spark.createDataFrame(changed).writeTo("handed_out.changed").using("parquet").create()
        check = release.plan.check_sql("handed_out.changed", "register.people", "spark")
        assert {"rows lacking", "rows too many"} <= {row.check_name for row in spark.sql(check).collect()}
    finally:
        for name in ("register", "handed_out"):
            spark.sql(f"DROP DATABASE IF EXISTS {name} CASCADE")


def test_sort_keys_of_recoded_cells_are_those_of_their_texts() -> None:
    order = object.__new__(spark_files.Order)
    order.kinds = {"k0": "long"}
    order._runs = [[(0, pa.array(["x", "y", None]), np.array([1, 2, 0], np.uint64), 3)]]
    cells = pa.chunked_array([["y", None, "x", "y"]])
    for column in (cells, cells.dictionary_encode(), cells.dictionary_encode("encode")):
        assert order.keys([column])["k0"].to_pylist() == [2, 0, 1, 2]
    with pytest.raises(InputError, match="other values each time"):
        order.keys([pa.chunked_array([["y", "z"]]).dictionary_encode()])
