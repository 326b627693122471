"""An audit of tables on a cluster: the figures of memory, from a copy that streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.cli.run import run
from hedgerow.errors import UnsupportedError

from .test_spark import plain

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
SCHEMA = hr.Schema(quasi=["age", "education", "job"], sensitive=["income"])


def test_an_audit_of_frames(spark: Any) -> None:
    table = plain(hr.datasets.make_people(400, seed=2).select([*SCHEMA.quasi, "income"]))
    moments = pa.array([1_600_000_000_000_000 + i for i in range(400)], pa.timestamp("us"))
    table = table.append_column("at", moments)
    schema = SCHEMA.replace(other=["at"])
    frame = spark.createDataFrame(table)
    release = hr.protect(frame, schema, hr.MART(8))
    wanted = hr.protect(frame.toArrow(), schema, hr.MART(8))
    whole: dict[str, Any] = {"attacks": False, "learning": False, "inference": False}
    sampled = {**whole, "attacks": True, "sample": 150, "people": 20}
    for asked in (whole, sampled):
        found = hr.audit(frame, release, **asked).to_dict()
        told = hr.audit(frame.toArrow(), wanted, **asked).to_dict()
        for part in ("risk", "utility", "attacks"):
            assert found[part] == told[part], part
        assert found["table"]["sample"] == told["table"]["sample"]
    alone = hr.audit(None, release.table, schema, engine="spark", **whole).to_dict()
    assert alone["risk"]["release"]["classes"]["k"] == found["risk"]["release"]["classes"]["k"]
    with pytest.raises(UnsupportedError, match="attacks, learning: these need all rows"):
        hr.audit(frame, release)


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
    one, other = (
        json.loads((tmp_path / engine / "audit.json").read_text()) for engine in ("spark", "memory")
    )
    assert one["risk"] == other["risk"]
