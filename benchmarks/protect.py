"""How long `protect` takes from a Parquet file to a written, verified release.

The yardstick is `MART.fit` on the same table in memory under the same cap: encoding, growing and
naming the cells. Every measurement is a process of its own, so that peak memory is that of one
job; the jobs take turns, so that a busy machine slows both alike; kernels are compiled
and packages loaded before.
Also the starts that a user feels: `--version`, and 1,000 rows of CSV. With `--first`, nothing but the
first start on a machine, before any kernel is compiled: its clock, and the processor time of all its processes.

    python benchmarks/protect.py [--rows 1000000] [--runs 3]
    python benchmarks/protect.py --first 3
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
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
    import pyarrow.parquet as pq

    import hedgerow as hr

    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE, identifiers=["person_id"])
    method = hr.MART(k=K, max_disclosure=CAP, categorical="concatenate")
    with tempfile.TemporaryDirectory() as folder:  # load packages and compiled kernels
        small = Path(folder, "small.parquet")
        pq.write_table(hr.datasets.make_people(20_000, seed=2), small)
        hr.protect(small, schema, method).write(Path(folder, "out"))
    steps: dict[str, tuple[float, float]] = {}
    start = time.perf_counter(), time.process_time()

    def done(step: str) -> None:
        nonlocal start
        now = time.perf_counter(), time.process_time()
        steps[step] = now[0] - start[0], now[1] - start[1]
        start = time.perf_counter(), time.process_time()

    if name == "protect":
        release = hr.protect(source, schema, method)
        done("protect")
        release.write(target)
        done("write")
    else:
        people = pq.read_table(source)
        X, y = people.select(list(QUASI)), people.select(list(SENSITIVE))
        done("read")
        method.fit(X, y)
        done("fit")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps({"steps": steps, "peak": peak}))


def measured(jobs: dict[str, tuple[str, Path]], folder: Path, runs: int) -> dict[str, Any]:
    """Per title: median (wall, processor) seconds by step, and the largest peak of all runs."""
    found: dict[str, list[Any]] = {title: [] for title in jobs}
    for i in range(runs):
        for at, (title, (name, source)) in enumerate(jobs.items()):
            target = str(folder / f"{at}-{i}")
            arguments = [sys.executable, __file__, "--job", name, str(source), target]
            made = subprocess.run(arguments, capture_output=True, text=True, check=True)
            found[title].append(json.loads(made.stdout))
            shutil.rmtree(target, ignore_errors=True)
    return {
        title: {
            "steps": {
                step: tuple(statistics.median(r["steps"][step][i] for r in runs) for i in (0, 1))
                for step in runs[0]["steps"]
            },
            "peak": max(r["peak"] for r in runs),
        }
        for title, runs in found.items()
    }


def command(*arguments: str, runs: int) -> float:
    """Median wall-clock seconds of a command line."""
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "hedgerow", *arguments], capture_output=True, check=True)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def first(runs: int) -> None:
    """Median seconds of `protect` on 1,000 rows of CSV where nothing is compiled, by method."""
    import pyarrow.csv as pacsv

    from hedgerow.datasets import make_people

    roles = ["--quasi", ",".join(QUASI), "--sensitive", ",".join(SENSITIVE), "-k", str(K)]
    for method in ("mart", "mondrian", "hedge"):
        found = []
        for _ in range(runs):
            with tempfile.TemporaryDirectory() as name:
                pacsv.write_csv(make_people(1_000, seed=1), Path(name, "small.csv"))
                os.environ["NUMBA_CACHE_DIR"] = str(Path(name, "kernels"))
                given = [str(Path(name, "small.csv")), *roles, "--method", method]
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                wall = command("protect", *given, "--out", str(Path(name, "out")), runs=1)
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
                busy = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
                found.append((wall, busy))
        wall, busy = (statistics.median(f[i] for f in found) for i in (0, 1))
        print(f"first hedgerow protect, {method}: {wall:.1f} s (processors {busy:.1f} s)")


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--first", type=int, metavar="RUNS")
    parser.add_argument("--job", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        job(*given.job)
        return
    if given.first:
        first(given.first)
        return
    os.environ["NUMBA_NUM_THREADS"] = "1"
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a second start finds modules compiled
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
        measured({"fit": ("fit", tenth)}, folder, 1)
        jobs = {"fit": ("fit", large), "protect": ("protect", large), "tenth": ("protect", tenth)}
        made = measured(jobs, folder, given.runs)
        for title in ("fit", "protect"):
            steps = ", ".join(
                f"{step} {wall:.2f} s ({busy:.2f} s)" for step, (wall, busy) in made[title]["steps"].items()
            )
            print(f"{title:<8} {steps}; peak memory {made[title]['peak']:.2f} GB")
        for i, clock in enumerate(("wall clock", "processor time")):
            total, tenths = (sum(step[i] for step in made[t]["steps"].values()) for t in ("protect", "tenth"))
            fit = made["fit"]["steps"]["fit"][i]
            print(
                f"{clock}: file to verified release {total:.2f} s, {total / fit:.2f} times fit in "
                f"memory; ten times the rows {total / tenths:.2f} times the time"
            )
        print(f"hedgerow --version: {command('--version', runs=2 * given.runs + 1):.2f} s")
        small = command("protect", str(folder / "small.csv"), *roles, runs=given.runs)
        print(f"hedgerow protect, 1,000 rows: {small:.2f} s")


if __name__ == "__main__":
    main()
