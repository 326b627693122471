"""How fast a million people are grouped, beside scikit-learn's regression tree.

Both sides run in this process, on one thread, in turns; processor time, medians.

Growing, like with like: the same integer codes of eight quasi-identifiers and the same two
responses, at least ten records a leaf, every code ordered, each side's own arrays made
before. Beside it: MART as it is used, with categorical subsets, and with a cap on disclosure.

Fitting, from the same Arrow table in memory: `MART(k=10, categorical="concatenate").fit(X, y)` (encoding, growing under
the default cap, checking it, naming the released cells) against what scikit-learn needs for
its fit: numbers to float32, text by `OrdinalEncoder`, then the tree. Its tree alone, on
a matrix that was made before, is printed as well.

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
import pyarrow as pa
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeRegressor

from hedgerow import MART
from hedgerow.datasets import make_people
from hedgerow.io.read import read
from hedgerow.methods.partition import Quasi
from hedgerow.schema import Schema
from hedgerow.trees.grow import grow
from hedgerow.trees.node_rows import NodeRows, Predictors
from hedgerow.trees.nodes import LEAF
from hedgerow.trees.objective import Rules
from hedgerow.trees.responses import Responses
from hedgerow.trees.statistics import SSE, StatisticsLayout

QUASI = ("age", "sex", "education", "years_schooling", "job", "region", "marital", "hours_per_week")
SENSITIVE = ("income", "assets")
K = 10


class People:
    """Made people, as each side takes them."""

    def __init__(self, n: int) -> None:
        people = make_people(n, seed=1)
        table = read(people)
        self.X, self.y = people.select(list(QUASI)), people.select(list(SENSITIVE))
        self.quasi = Quasi.from_table(table, Schema(quasi=QUASI, sensitive=SENSITIVE), 1024)
        self.columns = [table.column(name) for name in SENSITIVE]
        counts = [c.value_counts for c in self.columns]
        self.responses = Responses.of(counts)
        self.scored = Responses.of(counts, scored=True)
        self.subsets = self.quasi.predictors
        # for the comparison, a missing code is one more ordered code
        self.ordered = Predictors(self.subsets.n_codes + 1, np.ones(len(QUASI), bool))

    def rows(self, predictors: Predictors, responses: Responses) -> NodeRows:
        """The records that one growing uses up."""
        codes = [cut.codes(c.codes) for c, cut in zip(self.quasi.columns, self.quasi.cuts, strict=True)]
        return NodeRows.of(predictors, codes, responses, [c.codes for c in self.columns])

    def grow(self, predictors: Predictors, cap: float = 1.0, scored: bool = False) -> tuple[float, int]:
        """Processor seconds of growing, and the number of leaves.

        The cap is one on the squared score alone, or on all proper scores.
        """
        responses = self.scored if scored else self.responses
        caps = np.full(len(SENSITIVE) + len(responses.judged), cap)
        rules = Rules(K, caps, np.ones(0), np.zeros(0), SSE)
        layout = StatisticsLayout.of(responses, SSE, squares=cap < 1, floored=True)
        rows = self.rows(predictors, responses)
        start = time.process_time()
        grown = grow(rows, responses, layout, rules, threads=1)
        return time.process_time() - start, int(np.count_nonzero(grown.column == LEAF))

    def fit(self) -> tuple[float, int]:
        """Processor seconds of `MART.fit` from the table, and the number of groups."""
        start = time.process_time()
        made = MART(k=K, categorical="concatenate").fit(self.X, self.y)
        return time.process_time() - start, made.tree_.n_leaves

    def arrays(self) -> tuple[Any, Any]:
        """scikit-learn's own types, so that it need not convert."""
        codes = [cut.codes(c.codes) for c, cut in zip(self.quasi.columns, self.quasi.cuts, strict=True)]
        scaled = [q.units[self.columns[q.source].codes] / float(1 << 30) for q in self.responses.numbers]
        return np.stack(codes, axis=1).astype(np.float32), np.stack(scaled, axis=1)

    def sklearn_tree(self, arrays: tuple[Any, Any]) -> tuple[float, int]:
        """Processor seconds of scikit-learn's tree on a matrix that is there, and its leaves."""
        tree = DecisionTreeRegressor(min_samples_leaf=K, random_state=0)
        start = time.process_time()
        tree.fit(*arrays)
        return time.process_time() - start, int(tree.get_n_leaves())

    def sklearn_fit(self) -> tuple[float, int]:
        """Processor seconds of scikit-learn's tree from the table, and its leaves."""
        tree = DecisionTreeRegressor(min_samples_leaf=K, random_state=0)
        start = time.process_time()
        x = np.empty((self.X.num_rows, self.X.num_columns), np.float32)
        text = []
        for j, column in enumerate(self.X.columns):
            kind = column.type
            if pa.types.is_integer(kind) or pa.types.is_floating(kind):
                x[:, j] = column.cast(pa.float32(), safe=False).to_numpy()
            else:
                text.append(j)
        names = self.X.select(text).to_pandas().to_numpy(object)
        x[:, text] = OrdinalEncoder(dtype=np.float32).fit_transform(names)
        tree.fit(x, np.stack([c.to_numpy() for c in self.y.columns], axis=1))
        return time.process_time() - start, int(tree.get_n_leaves())


def in_turns(calls: dict[str, Callable[[], tuple[float, int]]], runs: int) -> dict[str, Any]:
    """Per title the median seconds and what else the last call gave."""
    found: dict[str, list[tuple[float, int]]] = {title: [] for title in calls}
    for _ in range(runs):
        for title, call in calls.items():
            found[title].append(call())
    return {t: (statistics.median(s for s, _ in f), f[-1][1]) for t, f in found.items()}


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=3)
    given = parser.parse_args()
    os.cpu_count = lambda: 1  # one thread for `fit`, too
    small = People(max(given.rows // 10, 1_000))
    for predictors in (small.ordered, small.subsets):  # compile
        small.grow(predictors), small.grow(predictors, 0.5), small.grow(predictors, 0.5, True)
    small.fit()
    tenth = in_turns(
        {"ordered": lambda: small.grow(small.ordered), "capped": lambda: small.grow(small.subsets, 0.5, True)},
        2 * given.runs + 1,
    )
    people = People(given.rows)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    people.grow(people.subsets, 0.5, True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    arrays = people.arrays()
    found = in_turns(
        {
            "MART, ordered codes": lambda: people.grow(people.ordered),
            "MART, categorical subsets": lambda: people.grow(people.subsets),
            "MART, squared score <= 0.5": lambda: people.grow(people.subsets, 0.5),
            "MART, max_disclosure = 0.5": lambda: people.grow(people.subsets, 0.5, True),
            "MART, squared score <= 0.2": lambda: people.grow(people.subsets, 0.2),
            "MART, max_disclosure = 0.2": lambda: people.grow(people.subsets, 0.2, True),
            "scikit-learn, ordered codes": lambda: people.sklearn_tree(arrays),
            "MART.fit from the table": people.fit,
            "scikit-learn from the table": people.sklearn_fit,
        },
        given.runs,
    )
    print(
        f"{given.rows:,} people, {len(QUASI)} quasi-identifiers, {len(SENSITIVE)} responses, k = {K}; "
        f"median processor time of {given.runs} runs"
    )
    for title, (seconds, leaves) in found.items():
        print(f"{title:<30}{seconds:7.2f} s   {leaves:>8,} leaves")
    ordered, subsets, squared, capped, squared2, capped2, theirs, fit, their_fit = (s for s, _ in found.values())
    print(f"all scores / squared score    {capped / squared:7.2f}     (at 0.2: {capped2 / squared2:.2f})")
    print(
        f"growing, like with like       {theirs / ordered:7.2f}     (with subsets "
        f"{theirs / subsets:.2f}, with max_disclosure {theirs / capped:.2f})"
    )
    print(
        f"fit, from the same table      {their_fit / fit:7.2f}     (against their tree alone, "
        f"on a matrix made before, {theirs / fit:.2f})"
    )
    print(
        f"ten times the rows            {ordered / tenth['ordered'][0]:7.2f} times the time "
        f"(with max_disclosure {capped / tenth['capped'][0]:.2f})"
    )
    print(f"peak memory                   {peak:7.2f} GB, of which {memory:.2f} GB to make and encode the people")


if __name__ == "__main__":
    main()
