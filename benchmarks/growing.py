"""How fast a million people are grouped, beside scikit-learn's regression tree.

Both sides run in this process, on one thread, on the same integer codes of eight
quasi-identifiers and the same two responses, with at least ten records a leaf, and
both treat every code as ordered. Beside it: MART as it is used, with categorical
subsets, and with a cap on disclosure.

    python benchmarks/growing.py [--rows 1000000] [--runs 3]
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from hedgerow.datasets import make_people
from hedgerow.methods.partition import Quasi
from hedgerow.schema import Schema
from hedgerow.table import read
from hedgerow.trees.expand import LEAF
from hedgerow.trees.grow import Predictors, grow
from hedgerow.trees.responses import Responses
from hedgerow.trees.statistics import SSE, Rules, StatisticsLayout

QUASI = ("age", "sex", "education", "years_schooling", "job", "region", "marital", "hours_per_week")
SENSITIVE = ("income", "assets")
K = 10


class People:
    """The codes of made people, as both sides take them."""

    def __init__(self, n: int) -> None:
        table = read(make_people(n, seed=1))
        self.quasi = Quasi.of(table, Schema(quasi=QUASI, sensitive=SENSITIVE), 1024)
        self.responses = Responses.of([table.column(name) for name in SENSITIVE])
        given = self.quasi.predictors
        # for the comparison, a missing code is one more ordered code
        self.ordered = Predictors(given.codes, given.n_codes + 1, np.ones(len(QUASI), bool))
        self.subsets = given

    def grow(self, predictors: Predictors, cap: float = 1.0) -> int:
        """Number of leaves that MART grows."""
        rules = Rules(K, np.full(len(SENSITIVE), cap), np.ones(0), np.zeros(0), SSE)
        layout = StatisticsLayout.of(self.responses, SSE, squares=cap < 1)
        return int(
            np.count_nonzero(
                grow(predictors, self.responses, layout, rules, threads=1).column == LEAF
            )
        )

    def arrays(self) -> tuple[Any, Any]:
        """scikit-learn's own types, so that it need not convert."""
        low = self.responses.z.min(axis=0)
        scaled = (self.responses.z - low.astype(np.int64)) / float(1 << 30)
        return np.ascontiguousarray(self.subsets.codes, np.float32), scaled


def timed(call: Callable[[], Any], runs: int) -> tuple[float, Any]:
    """Median processor time and the last result (processor time: other work does not count)."""
    seconds, made = [], None
    for _ in range(runs):
        start = time.process_time()
        made = call()
        seconds.append(time.process_time() - start)
    return statistics.median(seconds), made


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    small = People(max(given.rows // 10, 1_000))
    small.grow(small.ordered), small.grow(small.ordered, 0.5)  # compile
    small.grow(small.subsets), small.grow(small.subsets, 0.5)
    tenth, _ = timed(lambda: small.grow(small.ordered), 2 * given.runs + 1)
    tenth_capped, _ = timed(lambda: small.grow(small.subsets, 0.5), 2 * given.runs + 1)
    people = People(given.rows)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    ours, leaves = timed(lambda: people.grow(people.ordered), given.runs)
    print(
        f"{given.rows:,} people, {len(QUASI)} quasi-identifiers, {len(SENSITIVE)} responses, k = {K}; "
        f"median processor time of {given.runs} runs"
    )
    print(f"MART, ordered codes           {ours:7.2f} s   {leaves:>8,} leaves")
    subsets, leaves = timed(lambda: people.grow(people.subsets), given.runs)
    print(f"MART, categorical subsets     {subsets:7.2f} s   {leaves:>8,} leaves")
    capped, leaves = timed(lambda: people.grow(people.subsets, 0.5), given.runs)
    print(f"MART, max_disclosure = 0.5    {capped:7.2f} s   {leaves:>8,} leaves")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    codes, scaled = people.arrays()
    tree = DecisionTreeRegressor(min_samples_leaf=K, random_state=0)
    theirs, made = timed(lambda: tree.fit(codes, scaled), given.runs)
    print(f"scikit-learn, ordered codes   {theirs:7.2f} s   {made.get_n_leaves():>8,} leaves")
    print(
        f"ratio, like with like         {theirs / ours:7.2f}     (with subsets {theirs / subsets:.2f}, "
        f"with max_disclosure {theirs / capped:.2f})"
    )
    print(
        f"ten times the rows            {ours / tenth:7.2f} times the time "
        f"(with max_disclosure {capped / tenth_capped:.2f})"
    )
    print(
        f"peak memory                   {peak:7.2f} GB, of which {memory:.2f} GB to make and encode the people"
    )


if __name__ == "__main__":
    main()
