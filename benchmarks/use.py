"""What learners still learn from a release, and what they learn of its own people.

`experiments.hedge` has the protocol; this runs it on as many rows as its pages tell of.

    HEDGEROW_DATA=... python benchmarks/use.py [--splits 3] [--rows 9000] [--tables adult,credit]

With ``--guarded`` it prints what values drawn anew keep and hide, beside exact ones, sequential trees and
a fresh sample (`experiments.guarded`); ``--screened`` adds releases that leave out columns that explain nothing.
With ``--mart`` it prints the table of docs/results.md: what MART gives away and keeps by each of its rules, and that
its promises hold, on the whole public tables.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from experiments.hedge import ATTACKING, CAPS, CASES, HARD, JUDGED, averaged, measure

import hedgerow as hr
from experiments import guarded
from hedgerow import datasets
from hedgerow.io.read import read
from hedgerow.measures import Classes


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=9_000)
    parser.add_argument("--tables", default="", help="parts of names, joined by commas")
    parser.add_argument("--guarded", action="store_true", help="values drawn anew, beside their rivals")
    parser.add_argument("--screened", action="store_true", help="with --guarded: releases with a screen as well")
    parser.add_argument("--mart", action="store_true", help="MART by each of its rules, on whole tables")
    given = parser.parse_args()
    wanted = [w.strip().lower() for w in given.tables.split(",") if w.strip()]
    if given.mart:
        _mart(wanted)
        return
    if given.guarded:
        _guarded(given, wanted)
        return
    for title, cases, caps in (("tables", CASES, CAPS), ("hard tables", HARD, (0.5,))):
        print(f"{title:<20} cap   method             groups  R2 boosting/ridge/tree   advantage b/t/nearest")
        found = []
        for case in cases:
            if wanted and not any(w in case.name.lower() for w in wanted):
                continue
            for row in measure(case, (None, *caps), rows=given.rows, splits=given.splits):
                found.append(row)
                _tell(row)
        for row in averaged(found):
            _tell({"table": "mean", "groups": 0} | row)


COLUMNS = ("advantage", "nearest", "membership", "equal", "counts", "overlap", "impossible", "rare", "cell_means")


def _guarded(given: argparse.Namespace, wanted: list[str]) -> None:
    """Print the figures of every release of every table, and their means."""
    heads = "  ".join(f"{name.replace('_', ' '):>10}" for name in COLUMNS)
    print(f"{'table':<17} {'release':<32} {'R2 boosting/ridge/tree':<22} {heads}")
    leave = () if given.screened else guarded.SCREENED
    found: list[dict[str, object]] = []
    for case in guarded.TABLES:
        if wanted and not any(w in case.name.lower() for w in wanted):
            continue
        for row in guarded.measure(case, rows=given.rows, splits=given.splits, leave=leave):
            found.append(row)
            _tell_guarded(row)
    for row in guarded.averaged(found):
        _tell_guarded(row)


def _tell_guarded(row: dict[str, object]) -> None:
    use = "/".join(f"{row[f'r2_{n}']:.3f}" for n in JUDGED) if "r2_tree" in row else ""
    counts = f"{row['counts_median']:.1f}/{row['counts_nine_in_ten']:.1f}"
    cells = {n: f"{row[n]:.3f}" if n in row and row[n] == row[n] else "" for n in COLUMNS if n != "counts"}
    told = "  ".join(f"{({'counts': counts} | cells)[n]:>10}" for n in COLUMNS)
    print(f"{row['table']:<17} {row['release']:<32} {use:<22} {told}", flush=True)


def _tell(row: dict[str, object]) -> None:
    use = "/".join(f"{row[f'r2_{n}']:.3f}" for n in JUDGED)
    own = "/".join(f"{row[f'advantage_{n}']:.3f}" for n in ATTACKING)
    cap = "none" if row["cap"] is None else row["cap"]
    said = f"{row['table']:<20} {cap!s:<5} {row['method']:<18} {row['groups']:6}  {use:<24} {own}"
    print(said, row.get("of_uncapped_mart", ""), flush=True)


MART_ADULT = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country", "hours-per-week"]
MART_GERMAN = ["duration_months", "installment_rate_pct", "credit_amount"]
MART_CENSUS = ["age", "sex", "race", "education", "major_occupation_code", "marital_stat"]
MART_ALCOHOL = ["drinks", "income"]


def tables() -> Iterator[tuple[str, pa.Table, list[str], list[str], list[int]]]:
    """(name, table, quasi-identifiers, sensitive columns, values of k)."""
    adult = datasets.load_adult()
    money = ["capital-gain", "capital-loss"]
    for sensitive in ([money[0]], [money[1]], ["occupation"], [*money, "occupation"]):
        yield "Adult", adult, MART_ADULT, sensitive, [10]
    german = datasets.load_german_credit()
    others = [n for n in german.column_names if n not in (*MART_GERMAN, "class")]
    yield "German Credit", german, others, MART_GERMAN, [10, 20, 30]
    alcohol = datasets.load_alcohol()
    others = [n for n in alcohol.column_names if n not in MART_ALCOHOL]
    yield "Alcohol", alcohol, others, MART_ALCOHOL, [10, 20, 30]
    yield "Census-Income", datasets.load_census_income(), MART_CENSUS, ["wage_per_hour"], [30]


def rules(k: int) -> Iterator[tuple[str, Any]]:
    """The rules that are set side by side."""
    yield f"k = {k}", hr.MART(k=k, max_disclosure=None, categorical="concatenate")
    yield f"k = {k}, d = 0.5", hr.MART(k=k, max_disclosure=0.5, categorical="concatenate")
    yield f"k = {k}, alpha = 0.05", hr.MART(k=k, max_disclosure=None, alpha=0.05, categorical="concatenate")


def explained(released: Classes) -> float:
    """Share of the squared (or Gini) error of the sensitive columns that the groups explain, averaged."""
    shares = []
    n = released.n_records
    for column in released.sensitive.values():
        counts = column.counts
        if column.is_number:
            y = column.by_code
            mean = float(counts.totals @ y) / n
            sums = counts.per_group(counts.counts * (y - mean)[counts.values])
            whole = float(counts.totals @ (y - mean) ** 2)
            shares.append(float((sums**2 / counts.sizes).sum()) / whole)
        else:
            inside = n - counts.per_group(counts.counts**2.0 / counts.sizes[counts.groups]).sum()
            shares.append(1 - inside / (n - float((counts.totals**2.0).sum()) / n))
    return float(np.mean(shares))


def _mart(wanted: list[str]) -> None:
    """Print a table in Markdown."""
    print(
        "| Table | sensitive | rule | groups | smallest | disclosure, groups | records | worst "
        "| R2 | checks | seconds |"
    )
    print("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, table, quasi, sensitive, ks in tables():
        if wanted and not any(w in name.lower() for w in wanted):
            continue
        schema = hr.Schema(quasi=quasi, sensitive=sensitive)
        for k in ks:
            for rule, method in rules(k):
                start = time.process_time()
                release = hr.protect(table, schema, method)
                checks = release.verify()
                seconds = time.process_time() - start
                told = release.summary()
                groups = Classes.from_table(read(release.table), quasi, sensitive)
                disclosure = told["disclosure"]
                figures = [disclosure[name] for name in ("mean_over_groups", "mean_over_records", "worst")]
                cells = [
                    f"{name}, {table.num_rows:,}",
                    ", ".join(sensitive),
                    rule,
                    f"{told['groups']['groups']:,}",
                    f"{told['groups']['smallest']:,}",
                    *(f"{f:.3f}" for f in figures),
                    f"{explained(groups):.3f}",
                    f"{sum(c.holds for c in checks)} of {len(checks)}",
                    f"{seconds:.1f}",
                ]
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
