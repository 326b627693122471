"""What attackers infer from releases: the tables of the guide to choosing k and max_disclosure.

*caps*: for every table and cap of MART groups, the worst group's disclosure, and what the best
attacker infers about members, the worst tenth of them, and strangers; the member advantage with
its interval. *anatomy*: Adult's occupation at l = 3: learners on values dealt at random inside buckets, what the
audit measures, and who is named right. The first 6,000 rows of every table; the whole of Adult's
complete records with --rows 40000 --part anatomy.

    HEDGEROW_DATA=... python benchmarks/inference.py [--rows 6000] [--tables adult,credit] [-k 10] \\
        [--part caps,anatomy]
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hedgerow as hr
from hedgerow.audit.attacks.learners import TRAINED
from hedgerow.audit.inference import infer
from hedgerow.audit.pairing import align

CAPS = (None, 0.5, 0.3, 0.2)
ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
CREDIT = ("status_checking_account", "credit_history", "purpose", "age", "housing", "job")
ALCOHOL = ("age", "race", "marital", "region", "empstatus", "educ", "limits")
CASES = (
    ("adult hours", "adult_train", ADULT, "hours-per-week"),
    ("adult occupation", "adult_train", ADULT, "occupation"),
    ("german credit", "german_credit", CREDIT, "credit_amount"),
    ("alcohol income", "alcohol_kenkel_terza", ALCOHOL, "income"),
)
BUCKETS = (("age", "sex", "education", "native-country"), ADULT)


def read(file: str, columns: tuple[str, ...], rows: int, complete: bool = False) -> pa.Table:
    """The first rows of a table."""
    table = pq.read_table(Path(os.environ["HEDGEROW_DATA"]) / f"{file}.parquet")
    return (table.drop_null() if complete else table).select(list(columns)).slice(0, rows)


def releases(rows: int, wanted: list[str], methods: list[Any]) -> Iterator[tuple[str, Any, str]]:
    """Every table, released by every method; its name, release and sensitive column."""
    for name, file, quasi, sensitive in CASES:
        if wanted and not any(w in name for w in wanted):
            continue
        table = read(file, (*quasi, sensitive), rows)
        schema = hr.Schema(quasi=quasi, sensitive=(sensitive,))
        for method in methods:
            yield name, hr.protect(table, schema, method, guard=None), sensitive


def caps(rows: int, wanted: list[str], k: int) -> None:
    """What MART's caps do to what attackers infer."""
    head = "table | cap | groups | worst group | members | by | worst tenth | strangers | advantage | s"
    print(f"| {head} |\n|{'---|' * 10}")
    methods = [hr.MART(k=k, max_disclosure=cap, categorical="concatenate") for cap in CAPS]
    for name, release, sensitive in releases(rows, wanted, methods):
        began = time.monotonic()
        found = hr.inference(release.original, release.schema, release=release)
        column, told = found.columns[sensitive], release.summary()
        low, high = column["advantage"]["interval"]
        print(
            f"| {name} | {release.method.max_disclosure or 'none'} | {told['groups']['groups']} "
            f"| {told['disclosure']['worst']:.2f} | {column['members']['explained']:.3f} "
            f"| {column['members']['learner']} | {column['worst_tenth']['explained']:.3f} "
            f"| {column['strangers']['explained']:.3f} "
            f"| {column['advantage']['explained']:.3f} [{low:.3f}, {high:.3f}] "
            f"| {time.monotonic() - began:.1f} |",
            flush=True,
        )


def anatomy(rows: int) -> None:
    """Anatomy at l = 3: dealt values, and what its two tables say."""
    print("| quasi-identifiers | records | attacker | explained | strangers | right |")
    print("|---|---|---|---|---|---|")
    for quasi in BUCKETS:
        table = read("adult_train", (*quasi, "occupation"), rows, complete=True)
        schema = hr.Schema(quasi=quasi, sensitive=("occupation",))
        release = hr.protect(table, schema, hr.Anatomy(l=3, random_state=1))
        lines = [("best of four on dealt values", _dealt(table, schema, release), None)]
        found = hr.inference(table, schema, release=release).columns["occupation"]
        attacks = hr.audit(table, release, people=5_000, inference=False, learning=False).attacks
        right = {a["learner"]: a["success"] for a in attacks if a["attack"] == "regression"}
        for name, each in found["learners"].items():
            lines.append((name, each["members"]["explained"], each["strangers"]["explained"]))
        for name, explained, strangers in lines:
            rule = "" if strangers is None else f"{strangers:.3f}"
            named = f"{right[name]:.1%}" if name in right else ""
            print(f"| {len(quasi)} | {table.num_rows} | {name} | {explained:.3f} | {rule} | {named} |", flush=True)


def _dealt(table: pa.Table, schema: hr.Schema, release: Any) -> float:
    """What the best of four learners explains where each record is dealt a value of its bucket."""
    order = np.random.default_rng(0).permutation(table.num_rows)
    bucket = release.method.group_
    rows = np.empty(table.num_rows, np.int64)
    rows[np.argsort(bucket, kind="stable")] = order[np.argsort(bucket[order], kind="stable")]
    values = table.column("occupation").take(pa.array(rows))
    dealt = table.set_column(table.num_columns - 1, "occupation", values)
    found = infer(align(table, dealt, schema), folds=0, learners=TRAINED)
    return float(found.columns["occupation"]["members"]["explained"])


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--tables", default="")
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--part", default="caps,anatomy")
    given = parser.parse_args()
    wanted = [w.strip() for w in given.tables.split(",") if w.strip()]
    warnings.simplefilter("ignore")
    if "caps" in given.part:
        caps(given.rows, wanted, given.k)
    if "anatomy" in given.part:
        anatomy(given.rows)


if __name__ == "__main__":
    main()
