"""How long masking and its measures take, against the time and memory they may.

    python benchmarks/masking.py [--scale 1.0] [--large] [--compare]

`--scale 0.1` runs on a tenth of the rows; `--large` adds microaggregation of a
million rows; `--compare` prints the scores of the methods on the CASC Census file
(from HEDGEROW_DATA) instead. Compiling is done on small tables before the clock starts.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow import LiROP, Microaggregation, NoiseAddition, PoROP, RankSwapping, TopBottomCoding, score
from hedgerow.datasets import load_casc
from hedgerow.measures.masking_scores import score_arrays


def numbers(rows: int, columns: int, seed: int = 1) -> Any:
    """Skewed, dependent columns."""
    random = np.random.default_rng(seed)
    common = random.normal(size=(rows, 1))
    return np.exp(0.5 * common + 0.7 * random.normal(size=(rows, columns)))


def table(values: Any) -> pa.Table:
    """Columns by their number."""
    return pa.table({str(c): values[:, c].copy() for c in range(values.shape[1])})


def cubic(values: Any) -> None:
    """PoROP-k of degree 3 as it is used: rows told apart, keyed noise, what changed counted."""
    PoROP(max(values.size // 100, 10), degree=3, random_state=1).fit(table(values))


def noise(values: Any) -> None:
    """Independent noise."""
    NoiseAddition(0.1, random_state=1).fit(table(values))


def swapping(values: Any) -> None:
    """Rank swapping within 5% of the ranks."""
    RankSwapping(0.05, random_state=1).fit(table(values))


def risk(values: Any) -> None:
    """IL, DLD, PLD and ID against a noisy copy."""
    noise = 0.1 * np.random.default_rng(2).normal(size=values.shape)
    score_arrays(values, values + noise, [str(c) for c in range(values.shape[1])], records=None)


def mdav(values: Any) -> None:
    """MDAV of groups of 10."""
    Microaggregation(10).fit(table(values))


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
            found = score(census, method.fit_transform(census))
        paper = found.paper
        parts = (found.il, found.dld, found.pld, found.id, found.dr, found.score)
        parts += (paper.dld, paper.pld, paper.score)
        rows.append((found.score, f"| {name} | " + " | ".join(f"{v:.1f}" for v in parts) + " |"))
    print(*[row for _, row in sorted(rows)], sep="\n")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--large", action="store_true")
    options.add_argument("--compare", action="store_true")
    given = options.parse_args()
    if given.compare:
        compare()
        return
    cases: list[tuple[str, Callable[[Any], None], int, int, str]] = [
        ("PoROP cubic", cubic, 1_000_000, 10, "3 s"),
        ("noise", noise, 1_000_000, 10, ""),
        ("rank swapping", swapping, 1_000_000, 10, ""),
        ("score, size of Census", risk, 1_080, 13, "0.5 s"),
        ("score", risk, 20_000, 10, "30 s, 2 GB"),
        ("MDAV, k = 10", mdav, 100_000, 4, "6 s of CPU"),
    ]
    if given.large:
        cases.append(("MDAV, k = 10", mdav, 1_000_000, 4, "ends"))
    for _, run, _, columns, _ in cases:
        run(numbers(5_000, columns))
    print(f"{'':24}{'rows':>10}{'columns':>9}{'wall s':>9}{'CPU s':>9}{'peak MB':>9}  at most")
    for name, run, rows, columns, bound in cases:
        values = numbers(max(int(rows * given.scale), 200), columns)
        wall, cpu = time.perf_counter(), time.process_time()
        run(values)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        size = f"{len(values):>10,}{columns:>9}"
        print(f"{name:24}{size}{wall:>9.2f}{cpu:>9.2f}{peak:>9.0f}  {bound}")


if __name__ == "__main__":
    main()
