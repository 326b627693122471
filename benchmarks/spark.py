"""What a verified release costs on Spark, per row, at two sizes: processor time of all processes.

The table of `benchmarks/speed.py engines`, read by Spark from Parquet; local[2] on this machine. Processor
time is that of this process, Spark's and the Python workers' together, over what starting and a small
table before it took. Every size is a run of its own.

    python benchmarks/spark.py [--rows 5000000,20000000] [--method MART] [--guard auto] [--driver-memory 4g]
    python benchmarks/spark.py --adult   # 30,162 rows of Adult, from a path to a written release
    python benchmarks/spark.py --driver [--rows 1000000,2000000]   # the memory of the process that asks
    python benchmarks/spark.py --nodes 100,1000,10000 [--rows 2000000]   # one level of a tree with as many open nodes
    python benchmarks/spark.py --skew [--rows 5000000]   # 30% of the rows in one group
    python benchmarks/spark.py --values 3000000   # two columns of so many values
    python benchmarks/spark.py --rows 1000000 --columns 200   # 190 more columns, which stay as they are
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

from benchmarks.speed import HASHED_QUASI, HASHED_SENSITIVE, Laps, hashed_case, processors_of, write_hashed


def processor_seconds() -> float:
    """Return the seconds of this process, Spark's and the Python workers'."""
    return processors_of(os.getpid())


def watch() -> None:
    """Look at the processes twice a second, so that few seconds of those that end are missed."""

    def look() -> None:
        while True:
            processor_seconds()
            time.sleep(0.5)

    threading.Thread(target=look, daemon=True).start()


def watched_peaks() -> list[float]:
    """Return a list that grows by the workers' peak of memory, as long as this process runs."""
    peaks = [0.0]

    def look() -> None:
        while True:  # workers end when their task does, or later
            peaks.append(_peak_of_workers())
            time.sleep(0.2)

    threading.Thread(target=look, daemon=True).start()
    return peaks


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


OTHERS = (
    "(hash(i + {j}) % 1000)::INT",
    "round(hash(i * 3 + {j}) % 100003 / 7, 2)",
    "'answer ' || hash(i * 5 + {j}) % 12",
    "DATE '2001-01-01' + (hash(i * 11 + {j}) % 3000)::INT",
    "hash(i * 13 + {j}) % 3 = 0",
)


def make_wide(path: Path, rows: int, columns: int) -> None:
    """Write the made table with more columns, in turn of numbers, doubles, text, dates and booleans."""
    import duckdb

    write_hashed(path, rows)
    names = range(columns - len(HASHED_QUASI) - len(HASHED_SENSITIVE))
    if names:
        narrow = path.rename(path.with_suffix(".narrow"))
        more = ", ".join(f"{OTHERS[j % len(OTHERS)].format(j=j * 1_000_003)} AS other_{j}" for j in names)
        numbered = f"SELECT *, row_number() OVER () AS i FROM read_parquet('{narrow}')"
        duckdb.sql(f"COPY (SELECT * EXCLUDE i, {more} FROM ({numbered})) TO '{path}' (FORMAT parquet)")
        narrow.unlink()


def job(source: str, folder: str, method: str, memory: str, guard: str) -> None:
    """One measured run; prints processor seconds by step as JSON."""
    import pyarrow.parquet as pq

    import hedgerow as hr

    watch()
    spark = session(folder, memory)
    names = pq.read_schema(source).names
    schema = hr.Schema(
        quasi=HASHED_QUASI, sensitive=HASHED_SENSITIVE, other=[n for n in names if n.startswith("other_")]
    )
    make_wide(Path(folder, "small.parquet"), 20_000, len(names))
    small = spark.read.parquet(str(Path(folder, "small.parquet")))
    hr.protect(small, schema, getattr(hr, method)(), guard=guard).table.unpersist()

    _peak_of_workers()
    began, peaks, laps = time.perf_counter(), watched_peaks(), Laps(processor_seconds)
    release = hr.protect(spark.read.parquet(source), schema, getattr(hr, method)(), guard=guard, progress=laps)
    laps("")
    groups = release.summary()["groups"]
    told = {
        "steps": {step: spent for step, (_, spent) in laps.steps.items()},
        "seconds": time.perf_counter() - began,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "task": max(peaks),
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
    schema, made = hashed_case(method)
    estimates: list[int] = []
    asked = spark_table.check_room

    def check_room(n: int, sizes: Mapping[str, int], besides: int, *told: Any) -> None:
        estimates.append(besides + together(n, sizes))
        asked(n, sizes, besides, *told)

    spark_table.check_room = check_room  # type: ignore[attr-defined]
    write_hashed(Path(folder, "small.parquet"), 20_000)
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


def _peak(process: Path = Path("/proc/self")) -> float:
    """GB that a process held at most since it was asked before; what a parent held is not among them."""
    lines = (process / "status").read_text().splitlines()
    (process / "clear_refs").write_text("5")  # the peak begins anew
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e9


class _Measured(Exception):
    """Ends a job that has measured what it was started for."""


def nodes_job(source: str, folder: str, nodes: str, memory: str) -> None:
    """Count the first level of a tree that has at least so many open nodes; prints what it took, as JSON.

    A node stays open down to a fraction of the rows that it would have on a cluster: what a task holds and
    what a level shuffles depend on the number of nodes and on the rows of a task, not on all rows.
    """
    import pyarrow.parquet as pq

    import hedgerow as hr
    from hedgerow.backends.spark import growing

    wanted = int(nodes)
    spark = session(folder, memory)
    store = spark.sparkContext._jsc.sc().statusStore()
    growing.SMALL = pq.read_metadata(source).num_rows // (6 * wanted)
    split, level = growing._Top._split, {"nodes": 0}
    stages: set[int] = set()

    def counted_split(top: Any, *node: Any) -> Any:
        level["nodes"] += 1
        return split(top, *node)

    def shuffled() -> tuple[int, int]:
        """Bytes of the stages that ended since: written for a shuffle, and returned here."""
        found = _stages(spark, store)
        new = [each for number, each in found.items() if number not in stages]
        stages.update(found)
        return sum(written for written, _ in new), sum(back for _, back in new)

    def ended(_: float | None) -> None:
        workers, here, seconds = _peak_of_workers(), _peak(), time.perf_counter() - now[0]
        processors, (written, back) = processor_seconds() - now[1], shuffled()
        now[:] = [time.perf_counter(), processor_seconds()]
        told = {
            "nodes": level["nodes"],
            "task": workers,
            "driver": here,
            "shuffled": written / 1e9,
            "returned": back / 1e9,
            "seconds": seconds,
            "processors": processors,
        }
        level["nodes"] = 0
        if told["nodes"] >= wanted:
            print(json.dumps(told))
            raise _Measured
        print(json.dumps(told), file=sys.stderr)

    growing._Top._split, growing.done = counted_split, ended  # type: ignore[method-assign]
    watch()
    now = [time.perf_counter(), processor_seconds()]
    schema = hr.Schema(quasi=HASHED_QUASI, sensitive=HASHED_SENSITIVE)
    try:
        hr.protect(spark.read.parquet(source), schema, hr.MART(k=2, max_disclosure=None), guard=None)
    except _Measured:
        pass
    else:
        print(json.dumps({"nodes": 0}))
    spark.stop()


def _stages(spark: Any, store: Any) -> dict[int, tuple[int, int]]:
    """The bytes that each stage of a session wrote for shuffles, and sent to the driver."""
    nothing = spark.sparkContext._jvm.java.util.ArrayList()
    empty = spark.sparkContext._gateway.new_array(spark.sparkContext._jvm.double, 0)
    found = store.stageList(nothing, False, False, empty, nothing)
    listed = [found.apply(i) for i in range(found.size())]
    return {each.stageId(): (each.shuffleWriteBytes(), each.resultSize()) for each in listed}


def _peak_of_workers() -> float:
    """GB that a Python worker of Spark held at most since this was asked before."""
    peaks = [0.0]
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if b"daemon" in (folder / "cmdline").read_bytes() and _is_ours(folder):
                    peaks.append(_peak(folder))
            except OSError:
                continue  # it has ended
    return max(peaks)


def _is_ours(folder: Path) -> bool:
    pid = int(folder.name)
    while pid > 1 and pid != os.getpid():
        pid = int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])
    return pid == os.getpid() and int(folder.name) != pid


def nodes(sizes: Sequence[int], rows: int, memory: str) -> None:
    """A line for every number of open nodes: the memory of a task and of this process, and what moves."""
    print(
        f"{'open nodes':>10} {'a task':>8} {'driver':>8} {'shuffled':>9} {'returned':>9} {'processors':>11} {'wall':>6}"
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "people.parquet")
        write_hashed(source, rows)
        for size in sizes:
            told = run("--nodes-job", source, folder, str(size), memory)
            print(
                f"{told['nodes']:>10,} {told['task']:>5.2f} GB {told['driver']:>5.2f} GB {told['shuffled']:>6.3f} GB "
                f"{told['returned']:>6.3f} GB {told['processors']:>9.0f} s {told['seconds']:>4.0f} s",
                flush=True,
            )


def skew(rows: int, method: str, memory: str) -> None:
    """The cost of a table, and of the same table with 30% of its rows alike in the quasi-identifiers."""
    import duckdb

    print(f"{'':8} {'processors':>11} {'wall':>7} {'a task':>8} {'groups':>7}  by step, in s")
    with tempfile.TemporaryDirectory() as folder:
        even, heavy = Path(folder, "even.parquet"), Path(folder, "heavy.parquet")
        write_hashed(even, rows)
        alike = ", ".join(f"CASE WHEN a THEN first_value({n}) OVER () ELSE {n} END AS {n}" for n in HASHED_QUASI)
        drawn = f"SELECT *, (row_number() OVER ()) % 10 < 3 AS a FROM '{even}'"
        duckdb.sql(f"COPY (SELECT * EXCLUDE a REPLACE ({alike}) FROM ({drawn})) TO '{heavy}' (FORMAT parquet)")
        for source in (even, heavy):
            told = run("--job", source, folder, method, memory, "auto")
            steps = ", ".join(f"{name} {spent:.0f}" for name, spent in told["steps"].items())
            print(
                f"{source.stem:8} {sum(told['steps'].values()):>9.0f} s {told['seconds']:>5.0f} s "
                f"{told['task']:>5.2f} GB {told['groups']:>7,}  {steps}",
                flush=True,
            )


def values(sizes: Sequence[int], memory: str) -> None:
    """The cost of coding two columns of many values, looked up by kept hashes and by Arrow's table for every few rows.

    Every value occurs twice. The codes of the rows are counted, and nothing is protected.
    """
    import duckdb

    print("    values  looked up by   processors   wall   a task")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "values.parquet")
        for size in sizes:
            rows = f"SELECT (i * 7919) % {size} AS a, 'v' || (i * 104729) % {size} AS b FROM range({2 * size}) AS t(i)"
            duckdb.sql(f"COPY ({rows}) TO '{source}' (FORMAT parquet)")
            for way in ("hashes", "Arrow"):
                told = run("--values-job", source, folder, way, memory)
                print(
                    f"{size:>10,}  {way:12} {told['processors']:>10.0f} s {told['seconds']:>4.0f} s "
                    f"{told['task']:>5.2f} GB",
                    flush=True,
                )


def values_job(source: str, folder: str, way: str, memory: str) -> None:
    """Code the columns of a table once; prints what it took beyond listing their values, as JSON."""
    from hedgerow.backends.spark import cluster
    from hedgerow.backends.spark.spark_table import SparkTable

    cluster.MANY = 0 if way == "hashes" else 1 << 62
    watch()
    table = SparkTable(session(folder, memory).read.parquet(source))
    for name in table.names:
        table.values(name)
    _peak_of_workers()
    began, spent, peaks = time.perf_counter(), processor_seconds(), watched_peaks()
    table.encode(table.names)
    for _ in range(2):  # the second pass reads what the first one kept
        assert table.packed[1].count() == table.n_rows
    told = {"processors": processor_seconds() - spent, "seconds": time.perf_counter() - began, "task": max(peaks)}
    print(json.dumps(told))
    table.frame.sparkSession.stop()


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
                write_hashed(source, rows)
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
    parser.add_argument("--columns", type=int, default=10, help="of the table, the first ten of which are recoded")
    parser.add_argument("--method", choices=("MART", "Hedge", "Mondrian", *SIDE_BY_SIDE))
    parser.add_argument("--guard", choices=("auto", "none", "redraw"), default="auto")
    parser.add_argument("--driver", action="store_true", help="memory of the process that asks")
    parser.add_argument("--driver-memory", default="4g")
    parser.add_argument("--adult", action="store_true")
    parser.add_argument("--job", nargs=5, help=argparse.SUPPRESS)
    parser.add_argument("--driver-job", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--values", help="values of two columns, such as 3000000,10000000")
    parser.add_argument("--values-job", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--skew", action="store_true", help="one heavy group against even ones")
    parser.add_argument("--nodes", help="open nodes of a level of the tree, such as 100,1000,10000")
    parser.add_argument("--nodes-job", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        job(*given.job)
        return
    if given.driver_job:
        driver_job(*given.driver_job)
        return
    if given.values_job:
        values_job(*given.values_job)
        return
    if given.values:
        values([int(each) for each in given.values.split(",")], given.driver_memory)
        return
    if given.skew:
        skew(int(given.rows or 5_000_000), given.method or "MART", given.driver_memory)
        return
    if given.nodes_job:
        nodes_job(*given.nodes_job)
        return
    if given.nodes:
        nodes([int(each) for each in given.nodes.split(",")], int(given.rows or 2_000_000), given.driver_memory)
        return
    asked = given.rows or ("1000000,2000000" if given.driver else "5000000,20000000")
    sizes = [int(each) for each in asked.split(",")]
    if given.driver:
        driver(sizes, [given.method] if given.method else SIDE_BY_SIDE, given.driver_memory)
        return
    if given.adult:
        adult()
        return
    print(f"{'rows':>12} {'µs a row':>9} {'groups':>8} {'peak here':>10} {'a task':>8} {'wall':>8}  by step, in s")
    for rows in sizes:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "people.parquet")
            make_wide(source, rows, given.columns)
            told = run("--job", source, folder, given.method or "MART", given.driver_memory, given.guard)
        each = sum(told["steps"].values()) / rows * 1e6
        steps = ", ".join(f"{name} {spent:.1f}" for name, spent in told["steps"].items())
        print(
            f"{rows:>12,} {each:>9.2f} {told['groups']:>8,} {told['peak']:>7.2f} GB {told['task']:>5.2f} GB "
            f"{told['seconds']:>6.0f} s  {steps}",
            flush=True,
        )


if __name__ == "__main__":
    main()
