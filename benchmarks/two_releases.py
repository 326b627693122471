"""What two releases of nearly the same people tell together, which no single release promises.

*Differencing*: the same method on a table with and without one person. What stands in one file
alone is that person's record: his sensitive value, and how his group is released.
*Intersection*: two methods on the same people. Whoever knows a person's quasi-identifiers
finds his group in both files; the sensitive values that both groups have are all that is left.

    HEDGEROW_DATA=... python benchmarks/two_releases.py [--rows 6000] [--people 40]
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hedgerow as hr

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country")
SENSITIVE = "hours-per-week"
SCHEMA = hr.Schema(quasi=QUASI, sensitive=[SENSITIVE])
K = 10


def released(people: pa.Table, method: Any) -> Counter[tuple[Any, Any]]:
    """Every released record's cells with its sensitive value, and how often they occur."""
    rows = hr.protect(people, SCHEMA, method).table.to_pylist()
    return Counter((tuple(row[name] for name in QUASI), row[SENSITIVE]) for row in rows)


def differencing(people: pa.Table, chosen: Any) -> tuple[float, float]:
    """Of people who were added: how often the value is told, and how often other groups change."""
    told = moved = 0
    whole = released(people, hr.MART(k=K))
    for person in chosen:
        others = people.filter(pa.array(np.arange(people.num_rows) != person))
        without = released(others, hr.MART(k=K))
        values = Counter(v for _, v in whole.elements())
        values.subtract(v for _, v in without.elements())
        left = [v for v, n in values.items() if n > 0]
        told += left == [people[SENSITIVE][int(person)].as_py()]
        moved += sum((whole - without).values()) > 1
    return told / len(chosen), moved / len(chosen)


def intersection(people: pa.Table, one: Any, other: Any) -> tuple[float, float, float]:
    """Shares of people with fewer than k records left, and with one value left; the mean left."""
    first, second = (hr.protect(people, SCHEMA, method) for method in (one, other))
    found = hr.audit(people, first, others=[second], k=K, attacks=False, learning=False)
    left = found.risk["composition"]["columns"][SENSITIVE]["together"]
    return left["fewer_than_k"], left["certain"], left["records"]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6_000)
    parser.add_argument("--people", type=int, default=40)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    file = Path(os.environ["HEDGEROW_DATA"], "adult_train.parquet")
    people = pq.read_table(file, columns=[*QUASI, SENSITIVE]).slice(0, given.rows)
    chosen = np.random.default_rng(0).choice(people.num_rows, given.people, replace=False)
    told, moved = differencing(people, chosen)
    print(f"one person more, MART(k={K}), {given.people} people: value told {told:.0%}, ", end="")
    print(f"other people's groups change as well {moved:.0%}")
    pairs = {
        "MART and MART with max_disclosure=0.3": (hr.MART(k=K), hr.MART(k=K, max_disclosure=0.3)),
        "MART and Mondrian (median)": (hr.MART(k=K), hr.Mondrian(k=K)),
        "MART and MART with k = 25": (hr.MART(k=K), hr.MART(k=25)),
    }
    for name, (one, other) in pairs.items():
        few, single, mean = intersection(people, one, other)
        print(f"{name}: fewer than {K} records left {few:.1%}, one value left {single:.1%}, ", end="")
        print(f"{mean:.1f} records left on average")


if __name__ == "__main__":
    main()
