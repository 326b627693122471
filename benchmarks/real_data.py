"""MART on public microdata: what a release gives away, what it keeps, that its promises hold.

Writes the table of docs/results.md. The files are those of `hedgerow.datasets`; put
them into the folder that HEDGEROW_DATA names.

    python benchmarks/real_data.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

import hedgerow as hr
from hedgerow import datasets
from hedgerow.io.read import read
from hedgerow.measures import Classes

ADULT = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country", "hours-per-week"]
GERMAN = ["duration_months", "installment_rate_pct", "credit_amount"]
CENSUS = ["age", "sex", "race", "education", "major_occupation_code", "marital_stat"]
ALCOHOL = ["drinks", "income"]


def tables() -> Iterator[tuple[str, pa.Table, list[str], list[str], list[int]]]:
    """(name, table, quasi-identifiers, sensitive columns, values of k)."""
    adult = datasets.load_adult()
    money = ["capital-gain", "capital-loss"]
    for sensitive in ([money[0]], [money[1]], ["occupation"], [*money, "occupation"]):
        yield "Adult", adult, ADULT, sensitive, [10]
    german = datasets.load_german_credit()
    others = [n for n in german.column_names if n not in (*GERMAN, "class")]
    yield "German Credit", german, others, GERMAN, [10, 20, 30]
    alcohol = datasets.load_alcohol()
    others = [n for n in alcohol.column_names if n not in ALCOHOL]
    yield "Alcohol", alcohol, others, ALCOHOL, [10, 20, 30]
    yield "Census-Income", datasets.load_census_income(), CENSUS, ["wage_per_hour"], [30]


def methods(k: int) -> Iterator[tuple[str, Any]]:
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


def main() -> None:
    """Run and print a Markdown table."""
    print(
        "| Table | sensitive | rule | groups | smallest | disclosure, groups | records | worst "
        "| R2 | checks | seconds |"
    )
    print("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, table, quasi, sensitive, ks in tables():
        schema = hr.Schema(quasi=quasi, sensitive=sensitive)
        for k in ks:
            for rule, method in methods(k):
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
