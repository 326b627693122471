"""What a file holds beside its rows: dictionaries, notes, buffers under missing cells."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.io.read import read
from hedgerow.io.write import write_table
from hedgerow.release import apply_plan

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

N = 120
SCHEMA = hr.Schema(quasi=["age", "town"], sensitive=["ill"], identifiers=["name"], other=["ward", "seen"])
NOTE = "note about Zebedee"


def people() -> pa.Table:
    """A table full of what should not be handed out: rare values, notes, wide dictionaries."""
    rng = np.random.default_rng(3)
    town = pa.array([f"town-of-{i % 60:02d}" for i in range(N)])
    ward = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, 4, N), pa.int32()),
        pa.array(["ward-a", "ward-b", "ward-c", "ward-d", "ward-of-nobody"]),
    )
    columns = {
        "name": pa.array([f"person-{i:03d}" for i in range(N)]),
        "age": pa.array(rng.integers(18, 90, N)),
        "town": town.dictionary_encode(),
        "ill": pa.array(rng.choice(["flu-case", "cold-case", "none-case"], N)).dictionary_encode(),
        "ward": ward,
        "seen": pa.array([dt.date(2020, 1, 1)] * N),
        "height": pa.array([f"height-{i:03d}" for i in range(N)]),
    }
    fields = [
        pa.field(name, array.type, metadata={"who": NOTE, "eldest": "person-007"}) for name, array in columns.items()
    ]
    return pa.table(list(columns.values()), pa.schema(fields, metadata={"made by": NOTE}))


def texts(path: Path) -> bytes:
    """All bytes of a file, compressed parts written out."""
    data = path.read_bytes()
    if path.suffix == ".parquet":
        table = pq.read_table(path, read_dictionary=None)
        again = pa.BufferOutputStream()
        file = pq.ParquetFile(path)
        for column in range(file.metadata.num_columns):
            for group in range(file.metadata.num_row_groups):
                data += str(file.metadata.row_group(group).column(column).statistics).encode()
        names = [n for n in table.column_names if pa.types.is_string(table.schema.field(n).type)]
        kept = pq.ParquetFile(path, read_dictionary=names).read()
        pa.ipc.new_stream(again, kept.schema).write_table(kept)
        data += again.getvalue().to_pybytes() + pages(path)
    if path.suffix in (".feather", ".arrow"):
        with pa.ipc.open_file(path) as reader:
            data += str(reader.schema.to_string(show_field_metadata=True)).encode()
            for i in range(reader.num_record_batches):
                for column in reader.get_batch(i).columns:
                    data += b"".join(bytes(b) for b in column.buffers() if b is not None)
                    if pa.types.is_dictionary(column.type):
                        data += str(column.dictionary.to_pylist()).encode()
    return data


def pages(path: Path) -> bytes:
    """Every zstd frame of a file, written out: dictionary pages hold what no row may have."""
    data, made, at = path.read_bytes(), b"", 0
    codec = pa.Codec("zstd")
    while (at := data.find(b"\x28\xb5\x2f\xfd", at)) >= 0:
        for size in (1 << 12, 1 << 16, 1 << 20):
            try:
                made += bytes(codec.decompress(data[at:], size))
                break
            except (OSError, ValueError, pa.ArrowException):
                made += frame(data[at:])
                break
        at += 4
    return made


def frame(data: bytes) -> bytes:
    """One zstd frame whose size nobody tells."""
    try:
        return pa.CompressedInputStream(pa.BufferReader(data), "zstd").read(1 << 20)
    except (OSError, pa.ArrowException):
        return b""


def secrets(source: pa.Table, released: Any) -> set[bytes]:
    """Every text of the original that no released cell is, and every note."""
    shown = {str(v) for column in read(released).arrow.columns for v in column.to_pylist()}
    held = {
        str(value)
        for name in source.column_names
        if name not in ("age", "seen")
        for value in source.column(name).to_pylist()
    }
    told = " ".join(sorted(shown))
    return {text.encode() for text in held | {"ward-of-nobody", NOTE} if text not in told}


def assert_nothing_else(path: Path, source: pa.Table, released: Any) -> None:
    data = texts(path)
    found = [secret for secret in secrets(source, released) if secret in data]
    assert not found


FORMATS = [".parquet", ".feather", ".csv"]


def sources(tmp_path: Path, suffix: str) -> list[Any]:
    table = people()
    frame = table.to_pandas().set_index("name", drop=False)
    frame.attrs["made by"] = NOTE
    enum = pl.Enum(sorted({*table.column("town").to_pylist(), "town-of-nobody"}))
    polars = pl.from_arrow(table).with_columns(pl.col("town").cast(pl.String).cast(enum))  # type: ignore[union-attr]
    pq.write_table(table, tmp_path / "people.parquet")
    write_table(table, tmp_path / f"people{suffix}")
    return [table, frame, polars, tmp_path / "people.parquet", tmp_path / f"people{suffix}"]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("method", [hr.MART(5), hr.LocalSuppression(3), hr.Datafly(5)], ids=repr)
def test_a_release_holds_nothing_but_its_cells(suffix: str, method: Any, tmp_path: Path) -> None:
    for i, source in enumerate(sources(tmp_path, suffix)):
        release = hr.protect(source, SCHEMA, method)
        folder = release.write(tmp_path / f"out{i}")
        (file,) = folder.glob("release.*")
        assert_nothing_else(file, people(), release.table)
        write_table(release.released.arrow, tmp_path / f"again{suffix}")
        assert_nothing_else(tmp_path / f"again{suffix}", people(), release.table)


@pytest.mark.parametrize("suffix", FORMATS)
def test_two_people_recoded_by_a_plan_bring_nobody_along(suffix: str, tmp_path: Path) -> None:
    plan = hr.protect(people(), SCHEMA, hr.MART(5)).plan
    two = people().slice(50, 2)
    for source in (two, two.to_pandas(), pl.from_arrow(two)):
        made = apply_plan(plan, source)
        write_table(read(made.table).arrow, tmp_path / f"two{suffix}")
        assert_nothing_else(tmp_path / f"two{suffix}", people(), made.table)


def test_frames_carry_no_index_notes_or_categories(tmp_path: Path) -> None:
    table, frame, polars, *_ = sources(tmp_path, ".csv")
    release = hr.protect(frame, SCHEMA, hr.MART(5), keep_order=True)
    assert release.table.attrs == {}
    assert release.table.index.equals(pd.RangeIndex(N))
    assert "ward-of-nobody" not in release.table["ward"].cat.categories
    others = release.plan.apply(frame.head(2))
    assert others.index.equals(pd.RangeIndex(2))
    assert set(others["ward"].cat.categories) == set(others["ward"])
    arrow = hr.protect(table, SCHEMA, hr.MART(5)).table
    assert arrow.schema.metadata is None
    assert all(field.metadata is None for field in arrow.schema)
    schema = SCHEMA.replace(quasi=["age"], other=["town"])
    towns = hr.protect(polars, schema, hr.MART(5)).table["town"]
    assert towns.dtype == pl.Enum(sorted(set(towns)))


def test_what_is_looked_for_would_be_found(tmp_path: Path) -> None:
    """Files as other libraries write them hold the dictionary, the notes and more."""
    table = people().slice(0, 2)
    shown = table.select(["ill"])
    pq.write_table(table, tmp_path / "two.parquet", compression="zstd")
    with pa.ipc.new_file(tmp_path / "two.feather", table.schema) as writer:
        writer.write_table(table)
    for name in ("two.parquet", "two.feather"):
        data = texts(tmp_path / name)
        found = {secret for secret in secrets(people(), shown) if secret in data}
        assert {b"ward-of-nobody", b"town-of-41", NOTE.encode()} <= found
    # a missing cell can have its value left beneath it
    hidden = pa.array(np.array([7_700_000_077, 5]), mask=np.array([True, False]))
    with pa.ipc.new_file(tmp_path / "x.feather", pa.schema([("x", pa.int64())])) as writer:
        writer.write_table(pa.table({"x": hidden}))
    value = (7_700_000_077).to_bytes(8, "little")
    assert value in texts(tmp_path / "x.feather")
    write_table(pa.table({"x": hidden}), tmp_path / "bare.feather")
    assert value not in texts(tmp_path / "bare.feather")
