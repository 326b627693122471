"""Whether Spark gives the release of memory, byte for byte, on public tables and on every odd table.

Adult, Census-Income, the French portfolio of 1,048,575 contracts and made people with missing cells,
dates and text of 20,000 values, each from one Parquet file, through every method that a cluster runs; then
`check_engine("spark")`. Every line is a pair of releases whose files were compared.

    python benchmarks/spark_equal.py [--tables adult,census,portfolio,made] [--methods MART,Hedge]
        [--rows 200000] [--contract]
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from benchmarks.speed import HASHED_QUASI, HASHED_SENSITIVE, write_hashed
from tests.contracts.engine_suite import engine_checks

import hedgerow as hr
from experiments import hedge

METHODS: dict[str, Callable[[], Any]] = {
    "MART": lambda: hr.MART(10, max_disclosure=0.5),
    "means": lambda: hr.MART(10, numeric="mean", categorical="weighted"),
    "Hedge": lambda: hr.Hedge(10),
    "regression": lambda: hr.Mondrian(10, objective="regression"),
    "median": lambda: hr.Mondrian(10),
    "Datafly": lambda: hr.Datafly(10, suppression=0.02),
    "RandomizedResponse": lambda: hr.RandomizedResponse(12, relax="halfway", bins=4, random_state=1),
    "TreePatternPreserving": lambda: hr.TreePatternPreserving("tree n_splits=6", k=10),
}
FEW = ("Datafly", "RandomizedResponse", "TreePatternPreserving")
"""Methods that are given three quasi-identifiers and one sensitive column."""

CASES = {"adult": "Adult, occupation", "census": "Census, wage", "portfolio": "French portfolio"}
"""Tables as the experiments of Hedge take them."""


EMPLOYERS = 20_000
"""Values of the made text."""


def digests(folder: Path) -> dict[str, str]:
    """What the files of a release are known by."""
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(folder.iterdir())}


def written(name: str, rows: int, source: Path) -> tuple[Sequence[str], Sequence[str]]:
    """Write a table; its quasi-identifiers and sensitive columns."""
    if name == "made":
        write_hashed(source, rows)
        pq.write_table(_with_text(pq.read_table(source)), source)
        return ("entry", "employer", "age", *HASHED_QUASI[1:5], "hours", "children"), (*HASHED_SENSITIVE, "paid")
    case = next(case for case in hedge.CASES if case.name == CASES[name])
    pq.write_table(case.load(), source)
    return case.quasi, case.sensitive


def _with_text(table: pa.Table) -> pa.Table:
    """Made people with text of many values, a number that is missing or 0.0 or -0.0, and notes."""
    draw = np.random.default_rng(7)
    employers = [f'{"é日🦔"[i % 3]} "employer", {i}' for i in range(EMPLOYERS)]
    chosen = draw.zipf(1.2, table.num_rows) % EMPLOYERS
    missing = draw.random((2, table.num_rows)) < 0.07
    paid = draw.choice([0.0, -0.0, 0.1, 1e-9, 2500.5, 7e6], table.num_rows)
    notes = pa.array([f"{i * 7919 % 1_000_003}\nnote" for i in range(table.num_rows)])
    return (
        table.append_column("employer", pa.array(employers).take(pa.array(chosen, mask=missing[0])))
        .append_column("paid", pa.array(paid, mask=missing[1]))
        .append_column("note", notes)
    )


def compare(source: Path, schema: hr.Schema, method: str, folder: Path) -> str:
    """The word for how two releases of a table are alike."""
    found = {}
    for engine in ("memory", "spark"):
        try:
            release = hr.protect(source, schema, METHODS[method](), engine=engine)
            release.write(folder / engine, force=True)
            found[engine] = digests(folder / engine)
        except hr.HedgerowError as error:
            found[engine] = {"error": f"{type(error).__name__}: {error}"}
    if "error" in found["memory"]:
        same = found["memory"] == found["spark"]
        return ("the same error: " if same else "DIFFERS: ") + found["memory"]["error"][:60]
    return "same bytes" if found["memory"] == found["spark"] else f"DIFFERS: {found['spark']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tables", default=",".join([*CASES, "made"]))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--rows", type=int, default=200_000, help="of the made table")
    parser.add_argument("--contract", action="store_true", help="check_engine as well")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    differ = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in filter(None, given.tables.split(",")):
            source = Path(folder, f"{name}.parquet")
            quasi, sensitive = written(name, given.rows, source)
            rows = pq.read_metadata(source).num_rows
            for method in given.methods.split(","):
                few = method in FEW
                schema = hr.Schema(quasi=quasi[:3] if few else quasi, sensitive=sensitive[:1] if few else sensitive)
                began = time.perf_counter()
                told = compare(source, schema, method, Path(folder))
                differ += told.startswith("DIFFERS")
                spent = time.perf_counter() - began
                print(f"{name:10} {rows:>9,} {method:22} {told}  {spent:.0f} s", flush=True)
        if given.contract:
            for title, check in engine_checks("spark"):
                with tempfile.TemporaryDirectory() as inside:
                    try:
                        check(Path(inside))
                        print(f"contract   {title:40} as in memory", flush=True)
                    except hr.errors.PromiseError as error:
                        differ += 1
                        print(f"contract   {title:40} {error}", flush=True)
    sys.exit(bool(differ))


if __name__ == "__main__":
    main()
