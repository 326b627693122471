"""What statistical offices ask of risks and masking: beside known populations, other packages, and each other.

    python benchmarks/official_statistics.py simulation [--draws 10]    risks of samples of known populations
    python benchmarks/official_statistics.py special-uniques            scores of sdcMicro's testdata beside suda's
    HEDGEROW_DATA=... python benchmarks/official_statistics.py masking  loss, risk and score on the CASC Census file

`benchmarks/speed.py survey special_uniques masking` has their time. suda is installed by ``pip install suda``.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import hedgerow as hr
from hedgerow import LiROP, Microaggregation, NoiseAddition, PoROP, RankSwapping, TopBottomCoding, score
from hedgerow.auditing.attacks.special_uniques import special_uniques
from hedgerow.datasets import load_casc
from hedgerow.io.read import read
from hedgerow.measures import group
from hedgerow.measures.sizes import MODELS, expected_risk, population_uniques

PEOPLE = 1_000_000
WEIGHTS = (10, 100, 1000)


def populations() -> Iterator[tuple[str, np.ndarray]]:
    """Names, and the class of every person of a population."""
    people = read(hr.datasets.make_people(PEOPLE, seed=1))
    for keys in (
        ("age", "sex", "region", "years_schooling", "marital"),
        ("age", "sex", "region", "years_schooling", "marital", "children", "hours_per_week"),
    ):
        codes = [people.column(name, kind="categorical").codes for name in keys]
        yield f"made people, {len(keys)} columns", group(codes).labels
    rng = np.random.default_rng(2)
    ranks = np.floor(rng.pareto(0.6, PEOPLE) * 20)  # few large classes, and a long tail
    yield "long tail", group([np.unique(ranks, return_inverse=True)[1]]).labels
    yield "even, 200,000 classes", rng.integers(0, 200_000, PEOPLE)


def simulated(labels: np.ndarray, weight: int, draws: int) -> list[float]:
    """Means over samples: true and expected risk of sample uniques, 1/W; population uniques."""
    truth = np.bincount(labels)
    unique = int((truth == 1).sum())
    samples = []
    for seed in range(draws):
        rng = np.random.default_rng([weight, seed])
        sample = labels[rng.choice(PEOPLE, PEOPLE // weight, replace=False)]
        seen = np.bincount(sample, minlength=len(truth))
        alone = seen == 1
        sizes = seen[seen > 0]
        risk = expected_risk(np.array([1]), np.array([float(weight)]))[0]
        estimates = population_uniques(sizes, float(PEOPLE))
        models = [estimates["models"][m] for m in MODELS]
        row = [alone.sum(), (1 / truth[alone]).mean(), risk, 1 / weight, unique]
        samples.append([*row, *models, estimates["uniques"]])
    rows = np.array(samples, np.float64)  # None, where a model failed, is NaN
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
            estimates = [
                f"{v:,.0f}" + (f" ({int(n)} of {draws} failed)" if n else "") if not np.isnan(v) else "no solution"
                for v, n in zip(models, failed, strict=True)
            ]
            cells = (f"{alone:,.0f}", f"{true:.4f}", f"{risk:.4f}", f"{naive:.4f}", f"{unique:,.0f}")
            print(f"| {name} | {weight} | " + " | ".join((*cells, *estimates, f"{chosen:,.0f}")) + " |")


KEYS = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]


def scores() -> None:
    """Scores of sdcMicro's testdata, those of suda 0.2.2 beside them."""
    import pandas as pd
    from suda import suda

    folder = Path(os.environ.get("HEDGEROW_DATA", "../shared/data"))
    table = pd.read_parquet(folder / "sdcmicro_testdata.parquet")[KEYS]
    ours = special_uniques([np.unique(table[c], return_inverse=True)[1] for c in KEYS], KEYS, size=3)
    other = suda(table.astype(str), max_msu=3)["suda"].to_numpy()
    some = ours.scores > 0
    print(f"records with a score: {some.sum()}, suda {np.count_nonzero(other)}, both {(some & (other > 0)).sum()}")
    print(f"the same score: {(ours.scores == other)[some].sum()}; sums {ours.scores.sum():.0f} and {other.sum():.0f}")
    differs, smaller = ours.scores != other, ours.counts[:, :2].any(axis=1)
    print(f"another score: {differs.sum()}, of them with sets of 1 or 2: {(differs & smaller).sum()}")


COMPARED = {
    "rank swapping, proportion 0.15": RankSwapping(0.15, random_state=1),
    "MDAV, k = 3": Microaggregation(3),
    "PoROP, searched": PoROP(random_state=1),
    "PoROP, k = 7,020, degree 2": PoROP(7_020, degree=2, random_state=1),
    "MDAV, k = 10": Microaggregation(10),
    "rank swapping, proportion 0.05": RankSwapping(0.05, random_state=1),
    "LiROP, k = 5,000": LiROP(5_000, random_state=1),
    "noise, scale 0.1": NoiseAddition(0.1, random_state=1),
    "top and bottom coding, 5% each": TopBottomCoding(top_share=0.05, bottom_share=0.05),
    "correlated noise, scale 0.1": NoiseAddition(0.1, correlated=True, random_state=1),
}


def compare() -> None:
    """Loss, risk and score of every method on Census, as a table, the best score first.

    The last three columns link by the papers' own standardisation alone.
    """
    census, rows = load_casc("census"), []
    for name, method in COMPARED.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scored = score(census, method.fit_transform(census))
        paper = scored.paper
        parts = (scored.il, scored.dld, scored.pld, scored.id, scored.dr, scored.score)
        parts += (paper.dld, paper.pld, paper.score)
        rows.append((scored.score, f"| {name} | " + " | ".join(f"{v:.1f}" for v in parts) + " |"))
    print(*[row for _, row in sorted(rows)], sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("simulation", "special-uniques", "masking"))
    parser.add_argument("--draws", type=int, default=10, help="samples of each population")
    asked = parser.parse_args()
    if asked.what == "simulation":
        simulation(asked.draws)
    elif asked.what == "masking":
        compare()
    else:
        scores()
