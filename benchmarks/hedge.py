"""How long Hedge takes: a million rows, many categories, and cells that all break the cap.

Every measurement is a process of its own, kernels compiled and packages loaded before; wall and
processor time, and the most memory that it held.

    python benchmarks/hedge.py [--rows 1000000]
    python benchmarks/hedge.py --guard [--rows 1000000] [--runs 3] [--engine duckdb]

The second compares drawn rows (the default) with the same release without a guard, from a Parquet file to the
verified files, in turns in one process.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

QUASI = ("age", "sex", "education", "years_schooling", "job", "region", "marital", "hours_per_week")
SENSITIVE = ("income", "assets")


def made_people(rows: int) -> tuple[Any, Any]:
    """Eight quasi-identifiers and two sensitive columns."""
    import hedgerow as hr

    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE, identifiers=["person_id"])
    return hr.datasets.make_people(rows, seed=1), schema


def many_categories(rows: int) -> tuple[Any, Any]:
    """A category for nearly everybody, against a sensitive column of as many values."""
    import numpy as np
    import pyarrow as pa

    import hedgerow as hr

    rng = np.random.default_rng(0)
    town = np.char.add("t", rng.integers(0, rows * 5 // 6, rows).astype(str))
    ill = np.char.add("d", rng.integers(0, rows * 29 // 30, rows).astype(str))
    table = pa.table({"town": town, "age": rng.integers(18, 90, rows), "ill": ill})
    return table, hr.Schema(quasi=["town", "age"], sensitive=["ill"])


def all_over(rows: int) -> tuple[Any, Any]:
    """Cells of ten whose members all share one of forty values: every cell tells all."""
    import numpy as np
    import pyarrow as pa

    import hedgerow as hr

    cell = np.arange(rows) // 10
    value = np.random.default_rng(0).integers(0, 40, cell[-1] + 1)[cell]
    ill = np.char.add("v", value.astype(str))
    table = pa.table({"at": cell.astype(float), "beside": (cell * 7919 % 1009).astype(float), "ill": ill})
    return table, hr.Schema(quasi=["at", "beside"], sensitive=["ill"])


CASES = {
    "a tenth": (made_people, 0.1, {}),
    "made people": (made_people, 1.0, {}),
    "3,000 x 2,500 categories": (many_categories, 3_000, {"screen": False}),
    "80,000 cells, all over": (all_over, 800_000, {"screen": False, "max_bins": 65_000}),
}


def job(name: str, rows: int) -> None:
    """Measure one case and print it."""
    import hedgerow as hr

    warnings.simplefilter("ignore")
    make, size, more = CASES[name]
    hr.protect(*made_people(2_000), hr.Hedge(10, screen=True), guard=None)
    hr.protect(*many_categories(600), hr.Hedge(10), guard=None)
    table, schema = make(int(size * rows if size <= 1 else size))
    before = time.perf_counter(), time.process_time()
    release = hr.protect(table, schema, hr.Hedge(10, **{"screen": True} | more), guard=None)
    wall, busy = time.perf_counter() - before[0], time.process_time() - before[1]
    cells, groups = release.method.tree_.n_leaves, release.plan.recoding.n_groups
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{name:<26} {cells:>7,} {groups:>7,}  {wall:6.1f}  {busy:6.1f}  {peak:5.2f}", flush=True)


def guards(rows: int, runs: int, engine: str) -> None:
    """Print the median seconds from file to verified files without a guard and with drawn rows, and their ratio."""
    import pyarrow.parquet as pq

    import hedgerow as hr

    warnings.simplefilter("ignore")
    found: dict[tuple[int, str], list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for size in (3_000, rows):
            table, schema = made_people(size)
            pq.write_table(table, folder / f"{size}.parquet")
        del table
        # the small ones first, which load packages and compiled kernels
        for size, turn in [(3_000, 0), *((rows, turn) for turn in range(runs))]:
            for guard in ("none", "redraw"):
                before = time.perf_counter(), time.process_time()
                asked = None if guard == "none" else guard
                release = hr.protect(folder / f"{size}.parquet", schema, guard=asked, engine=engine)
                release.write(folder / f"{size}-{guard}-{turn}")
                wall, busy = time.perf_counter() - before[0], time.process_time() - before[1]
                found.setdefault((size, guard), []).append((wall, busy))
    medians = {g: [statistics.median(f[i] for f in found[rows, g]) for i in (0, 1)] for g in ("none", "redraw")}
    print(f"{rows:,} rows, file to verified files, {engine}; medians of {runs} runs")
    for guard, (wall, busy) in medians.items():
        print(f"guard {guard:<8} {wall:6.1f} s by the clock, {busy:6.1f} s of processor time")
    wall, busy = (medians["redraw"][i] / medians["none"][i] for i in (0, 1))
    print(f"redraw / none  {wall:6.2f}                {busy:6.2f}")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--engine", choices=["memory", "duckdb"], default="memory")
    parser.add_argument("--guard", action="store_true")
    parser.add_argument("--job", default="")
    given = parser.parse_args()
    if given.guard:
        guards(given.rows, given.runs, given.engine)
        return
    if given.job:
        job(given.job, given.rows)
        return
    print(f"{'protect':<26}   cells  groups  wall s  cpu s   GB")
    for name in CASES:
        words = [sys.executable, __file__, "--rows", str(given.rows), "--job", name]
        subprocess.run(words, check=True)


if __name__ == "__main__":
    main()
