"""Written files are read back a few rows at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.columns.arrays import value_class
from hedgerow.columns.row_hashes import RowHasher
from hedgerow.errors import InputError
from hedgerow.io import verify_read
from hedgerow.io.file_format import FileFormat
from hedgerow.io.write import write_table
from hedgerow.key import Key

SMALL = 1_000


def people(n: int) -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": rng.integers(18, 90, n),
            "pay": np.where(rng.random(n) < 0.1, np.nan, rng.normal(3_000, 500, n)),
            "job": np.array(["cook", "=nurse", None])[rng.integers(0, 3, n)],
            "born": pa.array(rng.integers(0, 9_000, n).astype(np.int32)).cast(pa.date32()),
            "ill": pa.array(rng.random(n) < 0.5),
            "note": np.where(rng.random(n) < 0.5, "2020-01-02", "1"),
        }
    )


def opened(path: Path, table: pa.Table) -> verify_read.Written:
    classes = {field.name: value_class(field.type) for field in table.schema}
    like = FileFormat(path.suffix)
    return verify_read.read_back([path], like=like, classes=classes, unescape_formulas=True)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify_read, "BATCH", SMALL)


@pytest.mark.parametrize("ending", [".csv", ".feather", ".parquet"])
def test_parts_hold_the_rows_that_were_written(few: Any, tmp_path: Path, ending: str) -> None:
    table = people(70_000)
    write_table(table, tmp_path / f"out{ending}")
    found = opened(tmp_path / f"out{ending}", table)
    assert found.names == table.column_names
    hasher = RowHasher({f.name: value_class(f.type) for f in table.schema}, Key.new())
    sums = hasher.zero()
    for batch in found.batches:
        sums += hasher.add(batch.columns)
    assert found.n_rows in (sums.n_rows, None)
    assert sums == hasher.add(table.combine_chunks().to_batches()[0].columns)


@pytest.mark.parametrize("ending", [".feather", ".parquet"])
def test_memory_is_that_of_a_few_rows(few: Any, tmp_path: Path, ending: str) -> None:
    """All of the table takes twice what is allowed here."""
    table = people(400_000)
    write_table(table, tmp_path / f"out{ending}")
    usual = pa.default_memory_pool()
    counted = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(counted)
    try:
        n = sum(batch.num_rows for batch in opened(tmp_path / f"out{ending}", table).batches)
    finally:
        pa.set_memory_pool(usual)
    assert n == table.num_rows
    assert counted.max_memory() < table.nbytes / 2


def test_a_text_file_is_read_as_it_is_asked_for(few: Any, tmp_path: Path) -> None:
    """What is wrong near the end of a long file shows after the rows before it."""
    table = people(400_000)
    write_table(table, tmp_path / "out.csv")
    with open(tmp_path / "out.csv", "a", encoding="utf-8") as file:
        file.write("1,2\n")
    batches = opened(tmp_path / "out.csv", table).batches
    assert next(batches).num_rows >= SMALL
    with pytest.raises(InputError, match="ragged: line 400,002 has 2 fields"):
        list(batches)
