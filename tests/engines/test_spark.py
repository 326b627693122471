"""Tables on a cluster: the same plan and the same rows as in memory, however the rows lie."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.engines.spark import growing
from hedgerow.plan.codec import dumps
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


def plain(table: pa.Table) -> pa.Table:
    """A table as Spark holds it: without dictionaries and notes."""
    for i, entry in enumerate(table.schema):
        if pa.types.is_dictionary(entry.type):
            decoded = table.column(i).cast(entry.type.value_type)
            table = table.set_column(i, entry.name, decoded)
    return table.replace_schema_metadata(None)


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


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_neither_parts_nor_who_counts_a_node_matter(
    people: Any, parts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(growing, "SMALL", 90)
    method = hr.MART(5, max_disclosure=0.4)
    found = hr.protect(people.repartition(parts), SCHEMA, method)
    same(found, hr.protect(people.toArrow(), SCHEMA, method))


def test_an_odd_table(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "SMALL", 40)
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
    schema = hr.Schema(
        quasi=odd.column_names[:4],
        sensitive=["many", "pay"],
        other=["note"],
        identifiers=["who"],
    )
    frame = spark.createDataFrame(odd).repartition(3).persist()
    method = hr.MART(4, max_disclosure=0.9)
    same(hr.protect(frame, schema, method), hr.protect(frame.toArrow(), schema, method))


def test_what_a_cluster_cannot_do_is_refused_before_work(people: Any) -> None:
    for method in (hr.Mondrian(5), hr.RandomizedResponse(l=2)):
        with pytest.raises(hr.errors.UnsupportedError, match="does not run on the engine 'spark'"):
            hr.protect(people, SCHEMA, method, engine="spark")
    with pytest.raises(hr.errors.UnsupportedError, match="who is a person"):
        hr.protect(people, SCHEMA.replace(unit="region"), hr.MART(5))
    with pytest.raises(hr.errors.UnsupportedError, match="pseudonyms"):
        hr.protect(people, SCHEMA, hr.MART(5), pseudonym_key=b"0123456789abcdef")
    with pytest.raises(hr.errors.ParameterError, match=r"spark\.executor\.memory"):
        hr.protect(people, SCHEMA, hr.MART(5), memory="4GB")


def test_rows_that_change_are_found(people: Any) -> None:
    def shake(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            age = [a + secrets.randbelow(5) for a in batch.column(0).to_pylist()]
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
