"""What a verified release costs on Spark, per row, at two sizes: processor time of all processes.

The table of `benchmarks/engines.py`, read by Spark from Parquet; local[2] on this machine. Processor
time is that of this process, Spark's and the Python workers' together, over what starting and a small
table before it took. Every size is a run of its own.

    python benchmarks/spark.py [--rows 5000000,20000000] [--method MART] [--driver-memory 4g]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from engines import QUASI, SENSITIVE, make

_TICKS = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Of this process and all that came from it, those that ended included."""
    times: dict[int, tuple[int, float]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                told = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            times[int(folder.name)] = int(told[1]), sum(map(int, told[11:15])) / _TICKS
    ours = {os.getpid()}
    while more := {pid for pid, (parent, _) in times.items() if parent in ours} - ours:
        ours |= more
    return sum(times[pid][1] for pid in ours if pid in times)


def job(source: str, folder: str, method: str, memory: str) -> None:
    """One measured run; prints processor seconds by step as JSON."""
    from pyspark.sql import SparkSession

    import hedgerow as hr

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
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    schema = hr.Schema(quasi=QUASI, sensitive=SENSITIVE)
    make(Path(folder, "small.parquet"), 20_000)
    small = spark.read.parquet(str(Path(folder, "small.parquet")))
    hr.protect(small, schema, getattr(hr, method)()).table.unpersist()

    steps: dict[str, float] = {}
    now: list[str | float] = ["", processor_seconds()]

    def progress(step: str, share: float | None) -> None:
        if step != now[0]:
            spent = processor_seconds()
            steps[str(now[0])] = steps.get(str(now[0]), 0.0) + spent - float(now[1])
            now[:] = [step, spent]

    began = time.perf_counter()
    release = hr.protect(
        spark.read.parquet(source), schema, getattr(hr, method)(), progress=progress
    )
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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", default="5000000,20000000")
    parser.add_argument("--method", default="MART", choices=("MART", "Hedge"))
    parser.add_argument("--driver-memory", default="4g")
    parser.add_argument("--job", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        job(*given.job)
        return
    print(f"{'rows':>12} {'µs a row':>9} {'groups':>8} {'peak here':>10} {'wall':>8}  by step, in s")
    for rows in map(int, given.rows.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "people.parquet")
            make(source, rows)
            asked = [str(source), folder, given.method, given.driver_memory]
            done = subprocess.run(
                [sys.executable, "-W", "ignore", __file__, "--job", *asked],
                check=True,
                stdout=subprocess.PIPE,
            )
            told = json.loads(done.stdout.decode().splitlines()[-1])
        each = sum(told["steps"].values()) / rows * 1e6
        steps = ", ".join(f"{name} {spent:.1f}" for name, spent in told["steps"].items())
        print(
            f"{rows:>12,} {each:>9.2f} {told['groups']:>8,} {told['peak']:>8.2f} GB "
            f"{told['seconds']:>6.0f} s  {steps}",
            flush=True,
        )


if __name__ == "__main__":
    main()
