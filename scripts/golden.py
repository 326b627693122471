"""Record what the package makes as hashes, to compare before and after code is moved.

    python scripts/golden.py record before.json [--engines memory,duckdb] [--only mart]
    python scripts/golden.py compare before.json after.json

Every method releases a dozen tables on every engine; the hash of each written file, of the audit
with attacks and of its report is kept, with the signatures of the public names, the help texts and
the JSON schemas. Only the public names of the package are called, so that the script outlives moves
within it. A combination that is refused is recorded by its error. `HEDGEROW_DATA` adds real tables.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hedgerow as hr

COMMANDS = (
    "", "demo", "inspect", "protect", "apply", "audit", "frontier", "score", "reconstruct", "verify-model", "studio",
)  # fmt: skip
METHODS: dict[str, Callable[[str], Any]] = {
    "MART": lambda y: hr.MART(3),
    "MART, papers": lambda y: hr.MART(3, max_disclosure=None, alpha=0.05, min_leaf=2, categorical="concatenate"),
    "MART, joined": lambda y: hr.MART(3, categorical="concatenate"),
    "MART, medians": lambda y: hr.MART(3, numeric="median", categorical="suppress"),
    "Hedge": lambda y: hr.Hedge(3, cells="means", screen=True),
    "Hedge, rows": lambda y: hr.Hedge(3),
    "Hedge, ranges": lambda y: hr.Hedge(3, numeric="range", categorical="concatenate", max_disclosure=0.4),
    "Hedge, all columns": lambda y: hr.Hedge(3, cells="means"),
    "Mondrian": lambda y: hr.Mondrian(3),
    "Mondrian, loss": lambda y: hr.Mondrian(3, objective="loss"),
    "Mondrian, regression": lambda y: hr.Mondrian(3, objective="regression", max_disclosure=0.5),
    "Mondrian, gain": lambda y: hr.Mondrian(3, objective="information_gain"),
    "Datafly": lambda y: hr.Datafly(3, suppression=0.1),
    "Incognito": lambda y: hr.Incognito(3, suppression=0.1),
    "Anatomy": lambda y: hr.Anatomy(2, random_state=1),
    "randomized response": lambda y: hr.RandomizedResponse(1.2, bins=3, random_state=1),
    "randomized response, both": lambda y: hr.RandomizedResponse(1.5, target="both", bins=2, random_state=1),
    "TPP": lambda y: hr.TreePatternPreserving("tree n_splits=2 min_leaf=8 criterion=variance", response=y, k=2),
    "PoROP": lambda y: hr.PoROP(12, degree=2, random_state=1),
    "LiROP": lambda y: hr.LiROP(10, random_state=1),
    "MDAV": lambda y: hr.Microaggregation(3, distance="gower"),
    "noise": lambda y: hr.NoiseAddition(0.2, random_state=1),
    "rank swapping": lambda y: hr.RankSwapping(0.1, random_state=1),
    "PRAM": lambda y: hr.PRAM(0.8, random_state=1),
    "top and bottom coding": lambda y: hr.TopBottomCoding(top_share=0.1, bottom_share=0.1),
    "local suppression": lambda y: hr.LocalSuppression(3),
}


def tables() -> Iterator[tuple[str, pa.Table, hr.Schema]]:
    """Yield name, table and schema of the tables that are released."""
    people = hr.datasets.make_people(300, seed=1)
    ids = ("person_id", "postcode")
    yield (
        "people",
        people,
        hr.Schema(quasi=["age", "education", "job"], sensitive=["income", "assets"], identifiers=ids),
    )
    yield (
        "a grid",
        people,
        hr.Schema(quasi=["age", "sex", "job"], sensitive=["income"], identifiers=ids, grid={"age": (0, 85, 5)}),
    )
    rng = np.random.default_rng(2)
    n = 120
    numbers = pa.table(
        {name: rng.lognormal(3, 1, n).round(2) for name in ("a", "b", "c", "pay")} | {"d": rng.integers(0, 40, n)}
    )
    yield ("numbers", numbers, hr.Schema(quasi=["a", "b", "c", "d"], sensitive=["pay"]))
    jobs = np.array(["a+b", "nurse", "c:3", "[1-2]", "*", "=1+1", "日本", " edge "])
    odd = pa.table(
        {
            "the job": pa.array(jobs[rng.integers(0, 8, n)]),
            "sex": pa.array(np.array(["f", "m"])[rng.integers(0, 2, n)]),
            "ill": pa.array(np.array(["no", "yes"])[rng.integers(0, 2, n)]),
        }
    )
    yield ("odd categories", odd, hr.Schema(quasi=["the job", "sex"], sensitive=["ill"]))
    age = rng.integers(18, 90, n)
    gaps = pa.table(
        {
            "age": pa.array([None if i % 7 == 1 else int(a) for i, a in enumerate(age)]),
            "job": pa.array([None if i % 5 == 2 else str(jobs[1 + i % 3]) for i in range(n)]),
            "pay": pa.array([None if i % 11 == 3 else float(i * 37 % 501) for i in range(n)]),
        }
    )
    yield "missing values", gaps, hr.Schema(quasi=["age", "job"], sensitive=["pay"])
    born = pa.table(
        {
            "born": pa.array(rng.integers(-20_000, 12_000, n).astype("int32"), pa.date32()),
            "seen": pa.array(rng.integers(10**15, 10**15 + 10**12, n), pa.timestamp("us", "UTC")),
            "member": pa.array(rng.random(n) < 0.4),
            "pay": rng.lognormal(8, 1, n).round(2),
        }
    )
    yield "dates", born, hr.Schema(quasi=["born", "seen", "member"], sensitive=["pay"])
    visits = people.append_column("who", pa.array([f"p{i // 2}" for i in range(people.num_rows)]))
    yield (
        "several records a person",
        visits,
        hr.Schema(quasi=["age", "education"], sensitive=["income"], identifiers=[*ids, "who"], unit="who"),
    )
    data = os.environ.get("HEDGEROW_DATA")
    if not data:
        return

    def real(file: str, rows: int) -> pa.Table:
        return pq.read_table(Path(data, f"{file}.parquet")).slice(0, rows)

    yield (
        "Adult",
        real("adult_train", 600),
        hr.Schema(
            quasi=["age", "workclass", "education", "sex", "native-country"], sensitive=["occupation", "hours-per-week"]
        ),
    )
    yield (
        "German Credit",
        real("german_credit", 500),
        hr.Schema(
            quasi=["credit_history", "purpose", "age", "job", "housing"], sensitive=["credit_amount", "duration_months"]
        ),
    )
    yield (
        "alcohol",
        real("alcohol_kenkel_terza", 500),
        hr.Schema(quasi=["age", "race", "marital", "educ"], sensitive=["income", "drinks"]),
    )
    yield (
        "Tarragona",
        real("casc_tarragona", 300),
        hr.Schema(quasi=["FIXED.ASSETS", "TREASURY", "SALES", "LABOR.COSTS"], sensitive=["NET.PROFIT"]),
    )
    yield (
        "households",
        real("sdcmicro_testdata", 500),
        hr.Schema(
            quasi=["urbrur", "roof", "sex", "age", "relat"],
            sensitive=["income", "expend"],
            household="ori_hid",
            kinds=dict.fromkeys(("urbrur", "roof", "sex", "relat"), "categorical"),
        ),
    )


def digest(data: bytes | str) -> str:
    """Hash some bytes or text, without the version of a library that a record names."""
    if isinstance(data, str):
        data = data.encode()
    return hashlib.sha256(data).hexdigest()[:20]


def released(source: Path, schema: hr.Schema, method: Any, engine: str, attacks: bool) -> dict[str, str]:
    """Protect, write and audit; return the hash of every result."""
    out: dict[str, str] = {}
    try:
        # drawn rows of one key; the others as the papers release them
        values: dict[str, Any] = {"random_state": 1} if getattr(method, "in_rows", False) else {"guard": None}
        release = hr.protect(source, schema, method, engine=engine, **values)
    except hr.HedgerowError as error:
        return {"refused": digest(str(error)) + " " + type(error).__name__}
    with tempfile.TemporaryDirectory() as folder:
        try:
            release.write(Path(folder, "out"))
            for file in sorted(Path(folder, "out").rglob("*")):
                if file.is_file():
                    out[file.name] = digest(file.read_bytes())
            if attacks:
                audit = hr.audit(source, release, people=40, learners=["tree", "nearest"])
                out["audited"] = digest(json.dumps(audit.to_dict(), sort_keys=True))
                out["audited, text"] = digest(str(audit))
                audit.report(Path(folder, "r.html"))
                out["audited, report"] = digest(Path(folder, "r.html").read_bytes())
        except hr.HedgerowError as error:
            out["refused"] = digest(str(error)) + " " + type(error).__name__
        if engine == "memory":
            for dialect in ("duckdb", "postgres"):
                try:
                    out[dialect] = digest(release.plan.to_sql(dialect=dialect))
                except hr.HedgerowError as error:
                    out[dialect] = type(error).__name__
    return out


def faces() -> Iterator[tuple[str, str]]:
    """Yield the signatures of public names, help texts and JSON schemas."""
    for name in sorted(hr.__all__):
        thing = getattr(hr, name)
        if callable(thing):
            yield f"signature of {name}", str(inspect.signature(thing))
        for part in dir(thing) if inspect.isclass(thing) else ():
            if not part.startswith("_") and callable(getattr(thing, part)):
                try:
                    yield (f"signature of {name}.{part}", str(inspect.signature(getattr(thing, part))))
                except (TypeError, ValueError):
                    continue
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    for command in COMMANDS:
        asked = [sys.executable, "-m", "hedgerow", *command.split(), "--help"]
        text = subprocess.run(asked, capture_output=True, text=True, env=environment).stdout
        yield f"help of {command or 'hedgerow'}", digest(re.sub(r"\s+", " ", text))
    yield "schema of an audit", digest(json.dumps(hr.Audit.json_schema(), sort_keys=True))


def record(to: Path, engines: list[str], only: str) -> None:
    """Write all hashes into a JSON file."""
    out: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for title, table, schema in tables():
            source = Path(folder, title.replace(" ", "-") + ".parquet")
            pq.write_table(table, source)
            for name, method in METHODS.items():
                if only.lower() not in name.lower():
                    continue
                for engine in engines:
                    made = method(schema.sensitive[0])
                    out[f"{title} | {name} | {engine}"] = released(
                        source, schema, made, engine, attacks=engine == "memory"
                    )
            print(title, flush=True)
    out["faces"] = dict(faces())
    to.write_text(json.dumps(out, indent=1, sort_keys=True))


def compare(before: Path, after: Path) -> int:
    """Print the differences and return their number."""
    one, two = (json.loads(path.read_text()) for path in (before, after))
    differ = 0
    for name in sorted({*one, *two}):
        mine, theirs = one.get(name, {}), two.get(name, {})
        parts = [p for p in sorted({*mine, *theirs}) if mine.get(p) != theirs.get(p)]
        if parts:
            differ += len(parts)
            print(f"{name}: {', '.join(parts)}")
    print(f"{differ} differences in {len(one)} and {len(two)} combinations")
    return differ


def main() -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("do", choices=("record", "compare"))
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--engines", default="memory,duckdb")
    parser.add_argument("--only", default="", help="part of a method's name")
    asked = parser.parse_args()
    if asked.do == "compare":
        return int(compare(*asked.paths) > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record(asked.paths[0], asked.engines.split(","), asked.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
