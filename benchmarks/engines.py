"""What a release costs on every engine: processor time by step, peak memory, and the same bytes.

The table is made by DuckDB from hashes of row numbers: 8 quasi-identifiers (numbers, text of up to 96
values, dates, missing ones) and two sensitive columns. Every run is a process of its own, so that
peak memory is that of one job; a small table before it loads packages and compiled kernels.

    python benchmarks/engines.py [--rows 10000000] [--memory 4GB] [--method MART] [--parts]
        [--engines memory,duckdb] [--folder DIR]
    python benchmarks/engines.py --peaks [--rows 2000000] [--memory 1GB]

The second holds the peak memory of every method, of `apply` and of `audit` against `--memory`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

QUASI = ("age", "sex", "education", "job", "region", "hours", "children", "entry")
SENSITIVE = ("income", "diagnosis")
OBJECTIVES = ("median", "regression", "information_gain", "loss")
METHODS: dict[str, dict[str, Any]] = {
    "MART": {},
    "Hedge": {},
    "Mondrian": {"k": 10},
    **{f"Mondrian-{name}": {"k": 10, "objective": name} for name in OBJECTIVES},
    "Datafly": {"k": 10},
    "Incognito": {"k": 10},
    "RandomizedResponse": {"l": 4, "relax": "halfway", "bins": 4, "random_state": 1},
    "TreePatternPreserving": {"k": 10, "response": "income"},
}
"""What can be measured, and its parameters where they are not the method's own."""
LEFT_OUT = {"RandomizedResponse": ("region",), "TreePatternPreserving": ("children",)}
"""Columns that a method does not take: too many cells in all, missing numbers."""
OTHERS = ("apply", "audit")
"""What is done with the release of MART, each in a process of its own."""

_TABLE = """
WITH drawn AS (
  SELECT {draws} FROM range({rows}) AS numbers(i)
)
SELECT
  (18 + 70 * a)::BIGINT AS "age",
  CASE WHEN b < 0.5 THEN 'female' ELSE 'male' END AS "sex",
  'school ' || (16 * sqrt(c))::INT AS "education",
  'job ' || (25 * c + 25 * d)::INT AS "job",
  'region ' || (95 * e)::INT AS "region",
  (20 + 40 * d)::BIGINT AS "hours",
  CASE WHEN f >= 0.05 THEN (6 * f)::BIGINT END AS "children",
  DATE '2000-01-01' + (7300 * f)::INT AS "entry",
  round(2000 + 3000 * c + 4200 * a + 2000 * d * e + 1500 * f) * 10.0 AS "income",
  'illness ' || (18 * a + 12 * g)::INT AS "diagnosis"
FROM drawn
"""


def make(path: Path, rows: int) -> None:
    """Write the made table as one Parquet file."""
    import duckdb

    draws = ", ".join(f"(hash(i * 7 + {j}) % 1000003) / 1000003.0 AS {name}" for j, name in enumerate("abcdefg"))
    with duckdb.connect(config={"threads": 2, "memory_limit": "4GB"}) as connection:
        connection.execute("SET enable_progress_bar = false")
        query = _TABLE.format(draws=draws, rows=rows)
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 1000000)")


def job(source: str, target: str, engine: str, memory: str, method: str, parts: bool) -> None:
    """One measured run; prints processor seconds by step, peak memory and digests as JSON."""
    import hedgerow as hr

    quasi = [name for name in QUASI if name not in LEFT_OUT.get(method, ())]
    schema = hr.Schema(quasi=quasi, sensitive=SENSITIVE)
    limit: dict[str, Any] = {"memory": memory} if engine != "memory" else {}
    made = getattr(hr, method.partition("-")[0])(**METHODS[method])
    with tempfile.TemporaryDirectory() as folder:
        make(Path(folder, "small.parquet"), 50_000)
        small = hr.protect(Path(folder, "small.parquet"), schema, made, engine=engine, **limit)
        small.write(Path(folder, "out"))
        del small
    steps: dict[str, float] = {}
    now = ["", time.process_time()]

    def progress(step: str, share: float | None) -> None:
        if step != now[0]:
            steps[str(now[0])] = steps.get(str(now[0]), 0.0) + time.process_time() - float(now[1])
            now[:] = [step, time.process_time()]

    began = time.perf_counter()
    release = hr.protect(source, schema, made, engine=engine, progress=progress, parts=parts, **limit)
    release.write(target, progress=progress)
    progress("end", None)
    steps.pop("")
    digests = {}
    for path in sorted(Path(target).rglob("*")):
        if path.suffix == ".parquet" or path.name == "plan.json":
            with open(path, "rb") as file:
                digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    print(json.dumps({"steps": steps, "seconds": time.perf_counter() - began, "peak": _peak(), "digests": digests}))


def further(source: str, target: str, what: str, memory: str) -> None:
    """One measured run of `apply` or `audit` on a release folder; prints its peak memory as JSON."""
    import hedgerow as hr
    from hedgerow.release import apply_plan

    if what == "apply":
        plan = hr.Plan.load(Path(target, "plan.json"))
        apply_plan(plan, source, engine="duckdb", memory=memory, unseen="suppress").write(
            Path(target).with_name("applied.parquet")
        )
    else:
        off = {"attacks": False, "learning": False}  # which need all rows at once
        hr.audit(source, target, engine="duckdb", memory=memory, **off)
    print(json.dumps({"steps": {what: time.process_time()}, "peak": _peak()}))


def _peak() -> float:
    """GB, as `--memory` counts them."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def peaks(folder: Path, rows: int, memory: str) -> None:
    """A line for every method, `apply` and `audit`: its peak within a limit, or why it was refused.

    What is refused is tried once more with four times as much.
    """
    from hedgerow.columns.workspace import memory_of

    source, release = folder / "people.parquet", folder / "MART"
    make(source, rows)
    print(f"{rows:,} rows, duckdb, --memory {memory}")
    tried = [(name, memory) for name in (*(n for n in METHODS if n != "Mondrian"), *OTHERS)]
    for name, limit in tried:
        given = (
            ["--other", str(source), str(release), name, limit]
            if name in OTHERS
            else ["--job", str(source), str(folder / name), "duckdb", limit, name, "one"]
        )
        made = subprocess.run([sys.executable, "-W", "ignore", __file__, *given], capture_output=True, text=True)
        if made.returncode:
            why = next(line for line in made.stderr.splitlines()[::-1] if "Error: " in line)
            print(f"{name}, --memory {limit}: {why.partition('Error: ')[2]}", flush=True)
            if limit == memory:
                tried.append((name, f"{4 * memory_of(memory)}"))
            continue
        found = json.loads(made.stdout.splitlines()[-1])
        seconds = sum(found["steps"].values())
        print(f"{name}, --memory {limit}: peak {found['peak']:.2f} GB, {seconds:.1f} s of processor time", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int)
    parser.add_argument("--memory")
    parser.add_argument("--peaks", action="store_true", help="every method against --memory")
    parser.add_argument("--method", default="MART", choices=METHODS)
    parser.add_argument("--parts", action="store_true", help="a folder of files of 1,048,576 rows")
    parser.add_argument("--engines", default="memory,duckdb")
    parser.add_argument("--folder", help="where the tables go; by default a temporary folder")
    parser.add_argument("--job", nargs=6, help=argparse.SUPPRESS)
    parser.add_argument("--other", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.other:
        further(*given.other)
        return
    rows = given.rows or (2_000_000 if given.peaks else 10_000_000)
    memory = given.memory or ("1GB" if given.peaks else "4GB")
    if given.peaks:
        with tempfile.TemporaryDirectory(dir=given.folder) as folder:
            peaks(Path(folder), rows, memory)
        return
    if given.job:
        job(*given.job[:-1], parts=given.job[-1] == "parts")
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        source = Path(folder, "people.parquet")
        make(source, rows)
        print(f"{rows:,} rows, {source.stat().st_size / 1e9:.2f} GB of Parquet, {given.method}")
        found = {}
        for engine in given.engines.split(","):
            target = str(Path(folder, engine))
            parts = "parts" if given.parts else "one"
            arguments = [str(source), target, engine, memory, given.method, parts]
            command = [sys.executable, __file__, "--job", *arguments]
            made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            found[engine] = json.loads(made.stdout.splitlines()[-1])
            tell(engine, found[engine], rows)
        if len(found) > 1:
            one, other = list(found.values())[:2]
            same = one["digests"] == other["digests"]
            ratio = sum(other["steps"].values()) / sum(one["steps"].values())
            print(f"the same bytes: {'yes' if same else 'NO'}; processor time per row: {ratio:.2f}")


def tell(engine: str, found: dict[str, Any], rows: int) -> None:
    """Print one run."""
    whole = sum(found["steps"].values())
    steps = ", ".join(f"{step} {seconds:.1f}" for step, seconds in found["steps"].items())
    print(
        f"{engine}: {whole:.1f} s of processor time ({whole / rows * 1e6:.2f} us a row), "
        f"{found['seconds']:.1f} s, peak {found['peak']:.2f} GB"
    )
    print(f"  {steps}", flush=True)


if __name__ == "__main__":
    main()
