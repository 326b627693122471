"""How surely the most exposed people of a table are found in releases of it, by an attacker with shadow models.

    HEDGEROW_DATA=... python benchmarks/worst_person.py [--tables adult,german] [--rows 1500] [--runs 100]
    python benchmarks/worst_person.py --null 20    releases that show nobody: so many tables of made people

The same of a table of yours, and of any tool:

    hedgerow audit people.csv made.csv --schema people.toml --unpaired --remake "tool {in} {out}"
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from experiments.guarded import TABLES
from experiments.hedge import sample
from experiments.shadows import RELEASES

import hedgerow as hr
from hedgerow.auditing.attacks.most_exposed import most_exposed
from hedgerow.auditing.subject import Subject, of_release
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
    parser.add_argument("--null", type=int, default=0, help="attack so many tables in releases of other people")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.null:
        _null(given)
        return
    print(f"{'table':<16}{'release':<24}{'AUC':<22}{'found at 1%':<22}{'epsilon':>8}{'worst':>8}{'seconds':>9}")
    wanted = [part.strip().lower() for part in given.tables.split(",") if part.strip()] or [c.lower() for c in CHOSEN]
    for case in TABLES:
        if any(part in case.name.lower() for part in wanted):
            table = sample(case, given.rows * 3 // 2, 0)[0]
            # of the whole table and once, as if somebody had said that they are public knowledge
            schema = hr.inspect(table.arrow).public(case.schema)
            for name, release in METHODS.items():
                if given.method.lower() in name.lower():
                    _attacked(case.name, name, given, table, schema if release is _private else case.schema, release)


def _null(given: argparse.Namespace) -> None:
    """Attack people in releases of people drawn anew, whoever was put in: chance is all that may be found."""
    schema = hr.Schema(quasi=["age", "sex", "education"], sensitive=["income", "assets"], rest="drop")

    def people(rows: int, seed: int) -> Table:
        return read(hr.datasets.make_people(rows, seed=seed).select([*schema.quasi, *schema.sensitive]))

    found = []
    for seed in range(given.null):
        release = partial(_of_others, people=people, schema=schema, seed=seed)
        found.append(
            most_exposed(people(400, seed), schema, release, people=given.people, runs=given.runs, random_state=seed)
        )
        print(f"\r{seed + 1} of {given.null} tables ", end="", file=sys.stderr, flush=True)
    areas = np.array([each["auc"] for each in found])
    holds = sum(each["auc_interval"][0] <= 0.5 <= each["auc_interval"][1] for each in found)
    error = areas.std(ddof=1) / len(areas) ** 0.5
    alarms, epsilon = (np.array([each[n] for each in found]) for n in ("found", "epsilon"))
    print(
        f"\r{given.null} tables: AUC {areas.mean():.3f} (s.e. {error:.3f}), {holds} intervals hold .5; found at 1% "
        f"{alarms.mean():.3f}; epsilon at most {epsilon.max():.2f}"
    )


def _of_others(table: Table, run: int, *, people: Callable[[int, int], Table], schema: Schema, seed: int) -> Subject:
    return Subject(people(table.n_rows, 1_000 * (seed + 1) + run), schema)


def _attacked(table: str, name: str, given: argparse.Namespace, people: Any, schema: Schema, release: Any) -> None:
    begun = time.perf_counter()
    found = most_exposed(
        read(people, schema=schema),
        schema,
        lambda table, run: release(table, schema, run),
        people=given.people,
        runs=given.runs,
        progress=_progress(begun),
    )
    auc, share = ("{:.3f} [{:.3f}, {:.3f}]".format(found[n], *found[f"{n}_interval"]) for n in ("auc", "found"))
    seconds = time.perf_counter() - begun
    print("\r" + " " * 50, end="\r", file=sys.stderr, flush=True)
    line = f"{table:<16}{name:<24}{auc:<22}{share:<22}{found['epsilon']:8.2f}{found['worst']:8.3f}{seconds:9.0f}"
    print(line, flush=True)


def _progress(begun: float) -> Callable[[str, float | None], None]:
    """Return what says on a terminal how far it is, and how long it will take."""

    def report(step: str, share: float | None = None) -> None:
        if share and (sys.stderr.isatty() or step.count("release 1 of")):
            left = (time.perf_counter() - begun) * (1 / share - 1)
            print(f"\r{step}, {left:.0f} s left ", end="", file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":
    try:
        main()
    except HedgerowError as error:
        sys.exit(f"\n{error}")
