"""Risks of a sample beside a population that is known; and how long a weighted table takes.

python benchmarks/survey.py [--part simulation | clock] [--draws 10]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import hedgerow as hr
from hedgerow.audit.attacks.class_risk import journalist, released_risk
from hedgerow.audit.pairing import align
from hedgerow.io.read import read
from hedgerow.measures import group
from hedgerow.measures.sizes import MODELS, expected_risk, population_uniques

PEOPLE = 1_000_000
WEIGHTS = (10, 100, 1000)


def populations() -> Iterator[tuple[str, np.ndarray]]:
    """Names, and the class of every person of a population."""
    made = read(hr.datasets.make_people(PEOPLE, seed=1))
    for keys in (
        ("age", "sex", "region", "years_schooling", "marital"),
        ("age", "sex", "region", "years_schooling", "marital", "children", "hours_per_week"),
    ):
        codes = [made.column(name, kind="categorical").codes for name in keys]
        yield f"made people, {len(keys)} columns", group(codes).labels
    rng = np.random.default_rng(2)
    ranks = np.floor(rng.pareto(0.6, PEOPLE) * 20)  # few large classes, and a long tail
    yield "long tail", group([np.unique(ranks, return_inverse=True)[1]]).labels
    yield "even, 200,000 classes", rng.integers(0, 200_000, PEOPLE)


def simulated(labels: np.ndarray, weight: int, draws: int) -> list[float]:
    """Means over samples: true and expected risk of sample uniques, 1/W; population uniques."""
    truth = np.bincount(labels)
    unique = int((truth == 1).sum())
    told = []
    for seed in range(draws):
        rng = np.random.default_rng([weight, seed])
        sample = labels[rng.choice(PEOPLE, PEOPLE // weight, replace=False)]
        seen = np.bincount(sample, minlength=len(truth))
        alone = seen == 1
        sizes = seen[seen > 0]
        risk = expected_risk(np.array([1]), np.array([float(weight)]))[0]
        found = population_uniques(sizes, float(PEOPLE))
        models = [found["models"][m] for m in MODELS]
        row = [alone.sum(), (1 / truth[alone]).mean(), risk, 1 / weight, unique]
        told.append([*row, *models, found["uniques"]])
    rows = np.array(told, np.float64)  # None, where a model failed, is NaN
    failed = np.isnan(rows[:, 5:8]).sum(axis=0)
    with np.errstate(all="ignore"):
        means = np.array([np.nan if np.isnan(c).all() else np.nanmean(c) for c in rows.T])
    return [*means, *failed]


def simulation(draws: int) -> None:
    """The table of docs/official-statistics.md."""
    head = ("population", "w", "sample uniques", "true mean 1/F", "expected", "1/w")
    print("| " + " | ".join((*head, "unique, truth", *MODELS, "chosen")) + " |")
    print("|---" + "|---:" * 10 + "|")
    for name, labels in populations():
        for weight in WEIGHTS:
            alone, true, risk, naive, unique, *rest = simulated(labels, weight, draws)
            models, chosen, failed = rest[:3], rest[3], rest[4:]
            told = [
                f"{v:,.0f}" + (f" ({int(n)} of {draws} failed)" if n else "") if not np.isnan(v) else "no solution"
                for v, n in zip(models, failed, strict=True)
            ]
            cells = (f"{alone:,.0f}", f"{true:.4f}", f"{risk:.4f}", f"{naive:.4f}", f"{unique:,.0f}")
            print(f"| {name} | {weight} | " + " | ".join((*cells, *told, f"{chosen:,.0f}")) + " |")


def clock() -> None:
    """Seconds for the risks of a table of a million people, with weights and households."""
    rng = np.random.default_rng(0)
    columns = {f"q{j}": rng.integers(0, levels, PEOPLE) for j, levels in enumerate((2, 3, 5, 8, 10, 15, 20, 50))}
    columns |= {"w": rng.uniform(1, 200, PEOPLE), "home": np.arange(PEOPLE) // 3}
    for n in (10_000, PEOPLE):
        table = pa.table(columns).slice(0, n)
        schema = hr.Schema(quasi=[f"q{j}" for j in range(8)], household="home", weight="w")
        pair = align(table, table, schema)
        assert pair.released_quasi
        begin, cpu = time.perf_counter(), time.process_time()
        behind = journalist(pair, None, "w")
        told = released_risk(pair, behind, 0.2)
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
    print(f"{PEOPLE:,} x 8 with weights and households: {wall:.1f} s, {cpu:.1f} s of processor time")
    print(f"expected re-identifications {told['reidentification']['journalist']['expected']:,.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=("simulation", "clock"))
    parser.add_argument("--draws", type=int, default=10)
    asked = parser.parse_args()
    if asked.part != "clock":
        simulation(asked.draws)
    if asked.part != "simulation":
        clock()
