"""The frontier against the clock on Adult.

Twelve settings of MART on the 30,162 complete rows of Adult, for every kind of axis, beside what
growing their trees takes of it. Seconds of processor time, loading and compiling apart.

    HEDGEROW_DATA=... python benchmarks/frontier.py
"""

from __future__ import annotations

import time
import warnings

import hedgerow as hr
from hedgerow.io.read import read

QUASI = ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country")
SENSITIVE = "hours-per-week"
K, CAPS = (5, 10, 20, 50), (0.2, 0.4, 0.6)
AXES = (
    {"utility": "certainty"},
    {"utility": "queries"},
    {"disclosure": "linkage"},
    {"disclosure": "inferred"},
    {"disclosure": "advantage"},
    {"utility": "learning"},
    {"utility": "learning", "disclosure": "advantage"},
)


def clock() -> None:
    """Twelve points of MART by every axis."""
    people = hr.datasets.load_adult().select([*QUASI, SENSITIVE])
    schema = hr.Schema(quasi=QUASI, sensitive=[SENSITIVE])
    hr.frontier(people.slice(0, 3000), schema, k=[50], max_disclosure=[0.5], utility="learning")
    table = read(people, schema=schema)
    methods = [hr.MART(k=k, max_disclosure=cap, categorical="concatenate") for k in K for cap in CAPS]
    for method in methods:
        method.fit_table(table, schema)  # the table keeps its codes, as it does for the frontier
    busy = time.process_time()
    for method in methods:
        method.fit_table(table, schema)
    print(f"growing twelve trees alone: {time.process_time() - busy:.1f} s")
    for axes in AXES:
        start, busy = time.perf_counter(), time.process_time()
        found = hr.frontier(people, schema, hr.MART(categorical="concatenate"), k=K, max_disclosure=CAPS, **axes)
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        words = ", ".join(f"{name} {value}" for name, value in axes.items())
        print(
            f"{words}: {len(found.points)} points, {busy:.1f} s of processor time "
            f"({seconds:.1f} s by the clock), of optimum at least "
            f"{min(p.of_optimum for p in found.points):.2f} to "
            f"{max(p.of_optimum for p in found.points):.2f}"
        )


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clock()
