"""How surely the most exposed people of a table are found in releases of it, by an attacker with shadow models.

    HEDGEROW_DATA=... python benchmarks/worst_person.py [--tables adult,german] [--rows 1500] [--runs 100]

The same of the command of any tool, on a table of your own; {in} stands for a CSV file that it reads, {out} for one
that it writes. After the first release it says how long it will take:

    python benchmarks/worst_person.py --table people.csv --schema people.toml --remake "tool {in} {out}"
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from experiments.guarded import TABLES
from experiments.hedge import sample
from experiments.shadows import RELEASES
from experiments.worst_person import remade, worst_person

import hedgerow as hr
from hedgerow.audit.subject import Subject, of_release
from hedgerow.columns.table import Table
from hedgerow.errors import HedgerowError
from hedgerow.io.read import read
from hedgerow.schema import Schema
from hedgerow.workflow.protect import protect

CHOSEN = "Adult", "German Credit", "CASC Census"


def _mart(table: Table, schema: Schema, seed: int) -> Any:
    return of_release(protect(table, schema, hr.MART()))


def _private(table: Table, schema: Schema, seed: int) -> Any:
    return Subject(read(protect(table, schema, hr.PrivateTree(epsilon=1)).table), schema)


METHODS = {"MART": _mart} | dict(RELEASES) | {"PrivateTree, epsilon 1": _private}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="", help="parts of names, joined by commas")
    parser.add_argument("--method", default="", help="a part of the names of methods")
    parser.add_argument("--rows", type=int, default=1_500, help="of the shared tables")
    parser.add_argument("--runs", type=int, default=100, help="releases: 20, 40, 60 ...")
    parser.add_argument("--people", type=int, default=20, help="people who are attacked, an even number")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="releases that are made at once")
    parser.add_argument("--table", help="your own table, for --remake")
    parser.add_argument("--schema", help="its schema, as hedgerow inspect writes it")
    parser.add_argument("--remake", metavar="COMMAND", help="what releases {in} as {out}")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'table':<16}{'release':<24}{'AUC':<22}{'found at 1%':<22}{'epsilon':>8}{'worst':>8}{'seconds':>9}")
    if given.remake:
        if not (given.table and given.schema):
            parser.error("--remake needs --table and --schema")
        schema = Schema.from_toml(given.schema)
        people = read(given.table, schema=schema)
        _attacked(Path(given.table).stem, "--remake", given, people, schema, remade(given.remake))
        return
    wanted = [part.strip().lower() for part in given.tables.split(",") if part.strip()] or [c.lower() for c in CHOSEN]
    for case in TABLES:
        if any(part in case.name.lower() for part in wanted):
            table = sample(case, given.rows * 3 // 2, 0)[0]
            # of the whole table and once, as if somebody had said that they are public knowledge
            schema = hr.inspect(table.arrow).public(case.schema)
            for name, release in METHODS.items():
                if given.method.lower() in name.lower():
                    _attacked(case.name, name, given, table, schema if release is _private else case.schema, release)


def _attacked(table: str, name: str, given: argparse.Namespace, people: Any, schema: Schema, release: Any) -> None:
    begun = time.perf_counter()
    counts = {name: getattr(given, name) for name in ("people", "runs", "jobs")}
    found = worst_person(people, schema, release, **counts, progress=_telling(given.runs, begun))
    auc, share = ("{:.3f} [{:.3f}, {:.3f}]".format(found[n], *found[f"{n}_interval"]) for n in ("auc", "found"))
    seconds = time.perf_counter() - begun
    print("\r" + " " * 50, end="\r", file=sys.stderr, flush=True)
    line = f"{table:<16}{name:<24}{auc:<22}{share:<22}{found['epsilon']:8.2f}{found['worst']:8.3f}{seconds:9.0f}"
    print(line, flush=True)


def _telling(runs: int, begun: float) -> Callable[[int], None]:
    """Return what tells on a terminal how far it is, and how long it will take."""
    finished = 0

    def tell(run: int) -> None:
        nonlocal finished
        finished += 1
        left = (time.perf_counter() - begun) / finished * (runs - finished)
        if sys.stderr.isatty() or finished == 1:
            print(f"\r{finished} of {runs} releases, {left:.0f} s left ", end="", file=sys.stderr, flush=True)

    return tell


if __name__ == "__main__":
    try:
        main()
    except HedgerowError as error:
        sys.exit(f"\n{error}")
