"""How long the optimum, the draws and the estimators of randomized response take.

    python benchmarks/randomized_response.py [--largest]

Adult (from HEDGEROW_DATA), made tables of 1e6 cells and, with --largest, of 1e7 cells;
10 million rows times 5 attributes of draws; EM on 1e6 cells. Every kernel is run once
before it is timed.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from hedgerow.kernels.siphash import draw
from hedgerow.methods.response.contingency import build
from hedgerow.methods.response.risk import Risk, optimize
from hedgerow.methods.response.rr_matrix import Channel, em, projected


def timed(label: str, allowed: float | None, work: Callable[[], Any]) -> Any:
    """Run once, print the seconds beside what is allowed."""
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    told = ""
    if allowed is not None:
        told = f"   at most {allowed:g} s   {'ok' if seconds <= allowed else 'TOO SLOW'}"
    print(f"{label:<52} {seconds:8.3f} s{told}", flush=True)
    return result


def made(dims: tuple[int, ...], d_s: int, n: int) -> tuple[list[Any], Any]:
    """Skewed dependent columns."""
    rng = np.random.default_rng(0)
    columns = [np.minimum((rng.gamma(1.0, size=n) * d / 4).astype(np.int64), d - 1) for d in dims]
    return columns, (columns[0] * 3 + columns[1] + rng.integers(0, 6, n)) % d_s


def optimum(dims: tuple[int, ...], columns: list[Any], sensitive: Any, d_s: int, target: Any) -> Any:
    """The whole way from codes to p, at l = 3."""
    setting = build(columns, dims, [sensitive], [d_s], target, 1 / 3)
    best = optimize(Risk(setting, target))
    assert best is not None
    assert best.worst <= 1
    return best


def main() -> None:
    """Print one line per promise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", action="store_true", help="also 1e7 cells")
    largest = parser.parse_args().largest

    columns, sensitive = made((3, 3), 4, 1000)
    optimum((3, 3), columns, sensitive, 4, "both")  # compiled and imported
    if "HEDGEROW_DATA" in os.environ:
        from experiments.randomized_response import data

        for which in ("EMGRW", "ESGRO"):
            found = data(which, "both")
            for target in ("quasi", "both"):
                timed(
                    f"optimum, Adult {which}, target={target}",
                    0.3,
                    lambda f=found, t=target: optimum(f.dims[:-1], list(f.codes[:-1]), f.codes[-1], f.dims[-1], t),
                )
    sizes: list[Any] = [((10,) * 5, 10, (2.0, 10.0))]
    if largest:
        sizes.append(((20, 20, 10, 10, 25), 10, (None, None)))
    for dims, d_s, limits in sizes:
        columns, sensitive = made(dims, d_s, 1_000_000)
        cells = int(np.prod(dims)) * d_s
        for target, limit in zip(("quasi", "both"), limits, strict=True):
            timed(
                f"optimum, {cells:,} cells, target={target}",
                limit,
                lambda d=dims, c=columns, s=sensitive, k=d_s, t=target: optimum(d, c, s, k, t),
            )

    n = 10_000_000
    ids = np.arange(n, dtype=np.uint64)
    codes = (np.random.default_rng(0).random(n) * 8).astype(np.uint8)
    draw(codes[:10], ids[:10], (1, 2), 0.5, 8)
    timed("draws, 10,000,000 rows x 5 attributes", 5, lambda: [draw(codes, ids, (1, i), 0.5, 8) for i in range(5)])

    dims = (10, 10, 10, 10, 10, 10)
    channel = Channel(dims, np.array([0.8, 0.7, 0.9, 0.8, 0.7, 1.0]))
    rng = np.random.default_rng(0)
    counts = rng.poisson(rng.gamma(0.3, 3, 1_000_000)).astype(float)
    fitted = timed("EM, 1,000,000 cells", 5, lambda: em(channel, counts))
    print(f"  ({fitted.steps} steps, stopped by its rule: {fitted.stopped})")
    timed("inversion and projection, 1,000,000 cells", 5, lambda: projected(channel.inverse(counts / counts.sum())))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.2f} GB, at most 4 GB")


if __name__ == "__main__":
    main()
