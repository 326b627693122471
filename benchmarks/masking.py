"""How long masking and its measures take, against the time and memory they may.

    python benchmarks/masking.py [--scale 1.0] [--large]

`--scale 0.1` runs on a tenth of the rows; `--large` adds microaggregation of a
million rows. Compiling is done on small tables before the clock starts.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.audit.scores import score_arrays
from hedgerow.methods.microaggregation import Microaggregation
from hedgerow.methods.ordered_partitions import order


def numbers(rows: int, columns: int, seed: int = 1) -> Any:
    """Skewed, dependent columns."""
    random = np.random.default_rng(seed)
    common = random.normal(size=(rows, 1))
    return np.exp(0.5 * common + 0.7 * random.normal(size=(rows, columns)))


def cubic(values: Any) -> None:
    """PoROP-k of degree 3 on all values, noise included."""
    normals = np.random.default_rng(1).standard_normal(values.size)
    order(values.ravel(), max(values.size // 100, 10)).protect(3, "synthetic", normals)


def risk(values: Any) -> None:
    """IL, DLD, PLD and ID against a noisy copy."""
    noise = 0.1 * np.random.default_rng(2).normal(size=values.shape)
    score_arrays(values, values + noise, [str(c) for c in range(values.shape[1])], records=None)


def mdav(values: Any) -> None:
    """MDAV of groups of 10."""
    table = pa.table({str(c): values[:, c] for c in range(values.shape[1])})
    Microaggregation(10).fit(table)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scale", type=float, default=1.0)
    options.add_argument("--large", action="store_true")
    given = options.parse_args()
    cases: list[tuple[str, Callable[[Any], None], int, int, str]] = [
        ("PoROP cubic", cubic, 1_000_000, 10, "3 s"),
        ("score, size of Census", risk, 1_080, 13, "0.5 s"),
        ("score", risk, 20_000, 10, "30 s, 2 GB"),
        ("MDAV, k = 10", mdav, 100_000, 4, "6 s of CPU"),
    ]
    if given.large:
        cases.append(("MDAV, k = 10", mdav, 1_000_000, 4, "ends"))
    for _, run, _, columns, _ in cases:
        run(numbers(200, columns))
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
