"""A table that is worked on and killed, and where its temporary files lie."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest


def people(n: int = 3000) -> pa.Table:
    """Made people, some without a note."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "age": rng.integers(18, 80, n),
            "job": np.array(["clerk", "cook", "nurse"])[rng.integers(0, 3, n)],
            "pay": rng.lognormal(8, 1, n).round(1),
            "note": [None if i % 7 == 0 else f"note {i * 7919 % n}" for i in range(n)],
        }
    )


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go, here and in other processes."""
    found = tmp_path / "temporary"
    found.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(found))
    monkeypatch.setenv("TMPDIR", str(found))
    return found


@pytest.fixture(params=["parquet", "csv"])
def file(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    path = tmp_path / f"people.{request.param}"
    write = pq.write_table if request.param == "parquet" else pyarrow.csv.write_csv
    write(people(), path)
    return path
