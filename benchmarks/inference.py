"""What learners infer from MART's releases under caps: the table of the guide to choosing them.

For every table and cap: groups, the worst group's disclosure, and what the best of four learners
infers about members, the worst tenth of them, and strangers; the member advantage with its
interval. The first 6,000 rows of every table.

    HEDGEROW_DATA=... python benchmarks/inference.py [--rows 6000] [--tables adult,credit] [-k 10]
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import pyarrow.parquet as pq

import hedgerow as hr

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


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--tables", default="")
    parser.add_argument("-k", type=int, default=10)
    given = parser.parse_args()
    wanted = [w.strip() for w in given.tables.split(",") if w.strip()]
    print(
        "| table | cap | groups | worst group | members | worst tenth | strangers | advantage | s |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, file, quasi, sensitive in CASES:
        if wanted and not any(w in name for w in wanted):
            continue
        path = Path(os.environ["HEDGEROW_DATA"]) / f"{file}.parquet"
        table = pq.read_table(path, columns=[*quasi, sensitive]).slice(0, given.rows)
        schema = hr.Schema(quasi=quasi, sensitive=(sensitive,))
        for cap in CAPS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                release = hr.protect(table, schema, hr.MART(k=given.k, max_disclosure=cap))
                began = time.monotonic()
                column = hr.inference(table, schema, release=release).columns[sensitive]
            told = release.summary()
            low, high = column["advantage"]["interval"]
            print(
                f"| {name} | {cap or 'none'} | {told['groups']['groups']} "
                f"| {told['disclosure']['worst']:.2f} | {column['members']['explained']:.3f} "
                f"| {column['worst_tenth']['explained']:.3f} "
                f"| {column['strangers']['explained']:.3f} "
                f"| {column['advantage']['explained']:.3f} [{low:.3f}, {high:.3f}] "
                f"| {time.monotonic() - began:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
