"""What a verified release costs on Spark, per row, at two sizes: processor time of all processes.

The table of `benchmarks/engines.py`, read by Spark from Parquet; local[2] on this machine. Processor
time is that of this process, Spark's and the Python workers' together, over what starting and a small
table before it took. Every size is a run of its own.

    python benchmarks/spark.py [--rows 5000000,20000000] [--method MART] [--guard auto] [--driver-memory 4g]
    python benchmarks/spark.py --adult   # 30,162 rows of Adult, from a path to a written release
    python benchmarks/spark.py --driver [--rows 1000000,2000000]   # the memory of the process that asks
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from engines import LEFT_OUT, METHODS, QUASI, SENSITIVE, make

_TICKS = os.sysconf("SC_CLK_TCK")


_SEEN: dict[tuple[int, str], float] = {}
"""Processor seconds of every process that was seen, by its number and start."""
_LOOKING = threading.Lock()


def processor_seconds() -> float:
    """Of this process and all that came from it, as last seen of those that ended.

    What ended is not told by its parent: Spark's daemon does not wait for its Python workers.
    """
    parents: dict[int, int] = {}
    own: dict[int, tuple[str, float]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                told = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            parents[int(folder.name)] = int(told[1])
            own[int(folder.name)] = told[19], (int(told[11]) + int(told[12])) / _TICKS
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    with _LOOKING:
        _SEEN.update({(pid, own[pid][0]): own[pid][1] for pid in ours if pid in own})
        return sum(_SEEN.values())


def watch() -> None:
    """Look at the processes twice a second, so that few seconds of those that end are missed."""

    def look() -> None:
        while True:
            processor_seconds()
            time.sleep(0.5)

    threading.Thread(target=look, daemon=True).start()


def session(folder: str, memory: str, **more: str) -> Any:
    """Spark on two processors of this machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.master": "local[2,4]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": memory,
        "spark.driver.maxResultSize": memory,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": folder,
        "spark.sql.session.timeZone": "UTC",
        **more,
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def job(source: str, folder: str, method: str, memory: str, guard: str) -> None:
    """One measured run; prints processor seconds by step as JSON."""
    import hedgerow as hr

    watch()
    spark = session(folder, memory)
    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE)
    make(Path(folder, "small.parquet"), 20_000)
    small = spark.read.parquet(str(Path(folder, "small.parquet")))
    hr.protect(small, schema, getattr(hr, method)(), guard=guard).table.unpersist()

    steps: dict[str, float] = {}
    now: list[str | float] = ["", processor_seconds()]

    def progress(step: str, share: float | None) -> None:
        if step != now[0]:
            spent = processor_seconds()
            steps[str(now[0])] = steps.get(str(now[0]), 0.0) + spent - float(now[1])
            now[:] = [step, spent]

    began = time.perf_counter()
    release = hr.protect(spark.read.parquet(source), schema, getattr(hr, method)(), guard=guard, progress=progress)
    progress("end", None)
    steps.pop("")
    groups = release.summary()["groups"]
    told = {
        "steps": steps,
        "seconds": time.perf_counter() - began,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "groups": groups["groups"],
        "smallest": groups["smallest"],
    }
    print(json.dumps(told))
    spark.stop()


SIDE_BY_SIDE = ("Datafly", "Incognito", "RandomizedResponse", "TreePatternPreserving", "Mondrian-median")
"""Methods whose codes come together in the process that asks."""


def driver_job(source: str, folder: str, method: str, memory: str) -> None:
    """One run; prints the most memory that this process took, and what it was estimated to take."""
    import hedgerow as hr
    from hedgerow.backends.spark import spark_table
    from hedgerow.backends.spark.packing import together

    spark = session(folder, memory, **{"spark.sql.shuffle.partitions": "4"})
    quasi = [name for name in QUASI if name not in LEFT_OUT.get(method, ())]
    schema = hr.Schema(quasi=quasi, sensitive=SENSITIVE)
    made = getattr(hr, method.partition("-")[0])(**METHODS[method])
    estimates: list[int] = []
    asked = spark_table.check_room

    def check_room(n: int, sizes: Mapping[str, int], besides: int, *told: Any) -> None:
        estimates.append(besides + together(n, sizes))
        asked(n, sizes, besides, *told)

    spark_table.check_room = check_room  # type: ignore[attr-defined]
    make(Path(folder, "small.parquet"), 20_000)
    small = spark.read.parquet(str(Path(folder, "small.parquet")))
    hr.protect(small, schema, made).table.unpersist()
    before, peaks, now = _peak(), {"": 0.0}, [""]

    def progress(step: str, share: float | None) -> None:
        if step != now[0]:
            peaks[now[0]] = _peak()
            now[0] = step

    began = time.perf_counter()
    estimates.clear()
    hr.protect(spark.read.parquet(source), schema, made, memory="100GB", progress=progress)
    progress("end", None)
    told = {"before": before, "peaks": peaks, "estimate": max(estimates) / 1e9}
    print(json.dumps({**told, "seconds": time.perf_counter() - began}))
    spark.stop()


def _peak() -> float:
    """GB that this process held at most since it was asked before; what a parent held is not among them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9


def run(which: str, source: Path, folder: str, *settings: str) -> dict[str, Any]:
    """What a process of its own prints."""
    asked = [str(source), folder, *settings]
    done = subprocess.run([sys.executable, "-W", "ignore", __file__, which, *asked], check=True, stdout=subprocess.PIPE)
    told: dict[str, Any] = json.loads(done.stdout.decode().splitlines()[-1])
    return told


def driver(sizes: Sequence[int], methods: Sequence[str], memory: str) -> None:
    """A line for every method and size: the peak of the process that asks, beside its estimate."""
    print(f"{'method':22} {'rows':>10} {'peak':>8} {'estimate':>9} {'wall':>7}  peak by step")
    for method in methods:
        for rows in sizes:
            with tempfile.TemporaryDirectory() as folder:
                source = Path(folder, "people.parquet")
                make(source, rows)
                told = run("--driver-job", source, folder, method, memory)
            steps = ", ".join(f"{name} {peak:.2f}" for name, peak in told["peaks"].items() if name)
            print(
                f"{method:22} {rows:>10,} {max(told['peaks'].values()):>5.2f} GB "
                f"{told['estimate']:>6.2f} GB {told['seconds']:>5.0f} s  {steps}",
                flush=True,
            )


def adult() -> None:
    """The time of mosaicrown/mondrian's own example: Adult, 4 quasi-identifiers, K = 3 and L = 2.

    At least two incomes in a group are asked for as an entropy that is more than nothing.
    """
    import pyarrow.parquet as pq

    import hedgerow as hr

    schema = hr.Schema(quasi=["age", "education-num", "race", "native-country"], sensitive=["income"])
    method = hr.Mondrian(3, objective="information_gain", criteria=[hr.guarantees.LDiversity(1.01)])
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "adult.parquet")
        pq.write_table(hr.datasets.load_adult(), source)
        began, spent = time.perf_counter(), processor_seconds()
        release = hr.protect(source, schema, method, engine="spark")
        release.write(Path(folder, "release"))
        groups = release.summary()["groups"]
        print(
            f"{release.table.count():,} rows, {groups['groups']:,} groups of at least "
            f"{groups['smallest']}: {time.perf_counter() - began:.0f} s, "
            f"{processor_seconds() - spent:.0f} s of processor time, Spark's start included"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows")
    parser.add_argument("--method", choices=("MART", "Hedge", "Mondrian", *SIDE_BY_SIDE))
    parser.add_argument("--guard", choices=("auto", "none", "redraw"), default="auto")
    parser.add_argument("--driver", action="store_true", help="memory of the process that asks")
    parser.add_argument("--driver-memory", default="4g")
    parser.add_argument("--adult", action="store_true")
    parser.add_argument("--job", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--driver-job", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        job(*given.job)
        return
    if given.driver_job:
        driver_job(*given.driver_job)
        return
    asked = given.rows or ("1000000,2000000" if given.driver else "5000000,20000000")
    sizes = [int(each) for each in asked.split(",")]
    if given.driver:
        driver(sizes, [given.method] if given.method else SIDE_BY_SIDE, given.driver_memory)
        return
    if given.adult:
        adult()
        return
    print(f"{'rows':>12} {'µs a row':>9} {'groups':>8} {'peak here':>10} {'wall':>8}  by step, in s")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "people.parquet")
            make(source, rows)
            told = run("--job", source, folder, given.method or "MART", given.driver_memory, given.guard)
        each = sum(told["steps"].values()) / rows * 1e6
        steps = ", ".join(f"{name} {spent:.1f}" for name, spent in told["steps"].items())
        print(
            f"{rows:>12,} {each:>9.2f} {told['groups']:>8,} {told['peak']:>8.2f} GB {told['seconds']:>6.0f} s  {steps}",
            flush=True,
        )


if __name__ == "__main__":
    main()
