"""How long `protect` takes from a Parquet file to a written, verified release.

Beside it the growing of the tree alone, on the same table and one thread. Every measurement is a
process of its own, so that peak memory is that of one job; kernels are compiled
before. Also the starts that a user feels: `--version`, and 1,000 rows of CSV.

    python benchmarks/protect.py [--rows 1000000] [--runs 3]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

QUASI = ("age", "sex", "education", "years_schooling", "job", "region", "marital", "hours_per_week")
SENSITIVE = ("income", "assets")
K, CAP = 10, 0.5


def job(name: str, source: str, target: str) -> None:
    """One measured job; prints (wall, processor) seconds by step and peak memory as JSON."""
    import hedgerow as hr

    steps: dict[str, tuple[float, float]] = {}
    start = time.perf_counter(), time.process_time()

    def done(step: str) -> None:
        nonlocal start
        now = time.perf_counter(), time.process_time()
        steps[step] = now[0] - start[0], now[1] - start[1]
        start = time.perf_counter(), time.process_time()

    if name == "protect":
        schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE, identifiers=["person_id"])
        release = hr.protect(source, schema, hr.MART(k=K, max_disclosure=CAP))
        done("protect")
        release.write(target)
        done("write")
    else:
        import numpy as np

        from hedgerow.methods.partition import Quasi
        from hedgerow.table import read
        from hedgerow.trees.grow import grow
        from hedgerow.trees.responses import Responses
        from hedgerow.trees.statistics import SSE, Rules, StatisticsLayout

        table = read(source)
        quasi = Quasi.of(table, hr.Schema(quasi=QUASI, sensitive=SENSITIVE), 1024)
        responses = Responses.of([table.column(n) for n in SENSITIVE])
        rules = Rules(K, np.full(len(SENSITIVE), CAP), np.ones(0), np.zeros(0), SSE)
        layout = StatisticsLayout.of(responses)
        done("read and encode")
        grow(quasi.predictors, responses, layout, rules, threads=1)
        done("grow")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"steps": steps, "peak": peak}))


def measured(name: str, source: Path, folder: Path, runs: int) -> dict[str, Any]:
    """Median (wall, processor) seconds by step and the largest peak of several processes."""
    found = []
    for i in range(runs):
        arguments = [
            sys.executable,
            __file__,
            "--job",
            name,
            str(source),
            str(folder / f"{name}{i}"),
        ]
        made = subprocess.run(arguments, capture_output=True, text=True, check=True)
        found.append(json.loads(made.stdout))
    steps = {
        s: tuple(statistics.median(f["steps"][s][i] for f in found) for i in (0, 1))
        for s in found[0]["steps"]
    }
    return {"steps": steps, "peak": max(f["peak"] for f in found)}


def command(*arguments: str, runs: int) -> float:
    """Median wall-clock seconds of a command line."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "hedgerow", *arguments], capture_output=True, check=True
        )
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        job(*given.job)
        return
    os.environ["NUMBA_NUM_THREADS"] = "1"
    import pyarrow.csv as pacsv
    import pyarrow.parquet as pq

    from hedgerow.datasets import make_people

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large, tenth = folder / "large.parquet", folder / "tenth.parquet"
        pq.write_table(make_people(given.rows, seed=1), large)
        pq.write_table(make_people(max(given.rows // 10, 1_000), seed=1), tenth)
        pacsv.write_csv(make_people(1_000, seed=1), folder / "small.csv")
        roles = ["--quasi", ",".join(QUASI), "--sensitive", ",".join(SENSITIVE), "-k", str(K)]
        roles += ["--identifiers", "person_id", "--force", "--out", str(folder / "out")]
        command("protect", str(folder / "small.csv"), *roles, runs=1)  # compile
        measured("grow", tenth, folder, 1)
        growing = measured("grow", large, folder, given.runs)
        whole = measured("protect", large, folder, given.runs)
        (folder / "less").mkdir()
        less = measured("protect", tenth, folder / "less", given.runs)
        for title, made in (("growing alone", growing), ("protect", whole)):
            steps = ", ".join(
                f"{step} {wall:.2f} s ({busy:.2f} s)"
                for step, (wall, busy) in made["steps"].items()
            )
            print(f"{title:<14} {steps}; peak memory {made['peak']:.2f} GB")
        for i, clock in enumerate(("wall clock", "processor time")):
            total, grown = sum(t[i] for t in whole["steps"].values()), growing["steps"]["grow"][i]
            tenth_total = sum(t[i] for t in less["steps"].values())
            print(
                f"{clock}: file to verified release {total:.2f} s, {total / grown:.2f} times the "
                f"growing; ten times the rows {total / tenth_total:.2f} times the time"
            )
        print(f"hedgerow --version: {command('--version', runs=2 * given.runs + 1):.2f} s")
        small = command("protect", str(folder / "small.csv"), *roles, runs=given.runs)
        print(f"hedgerow protect, 1,000 rows: {small:.2f} s")


if __name__ == "__main__":
    main()
