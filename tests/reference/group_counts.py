"""deFinetti's attack once more, record by record: slow on purpose, of two published tables alone.

Naive Bayes by EM on the counts of groups (D. Kifer, SIGMOD 2009). What it leaves open is settled
here: a number falls into bins between the distinct values at sixteenths of the records, a category
into one of its own, a missing value into the last; chances are smoothed by one record whose
values are those of the whole table (each bin of a column counted once more than it occurs);
in each of at most 40 steps the records of a group are balanced five times; it ends when no chance
moves by 1e-4.
"""

from __future__ import annotations

import math

import numpy as np

BINS, STEPS, ROUNDS, SETTLED = 16, 40, 5, 1e-4


def binned(column, categories=None):
    """Return the bin of each cell of a column, and the number of bins."""
    if categories is not None:
        return [categories.index(v) if v is not None else len(categories) for v in column], (len(categories) + 1)
    known = sorted(v for v in column if v is not None)
    # the first value that at least b sixteenths of the records do not exceed
    cuts = sorted({known[math.ceil(b * len(known) / BINS) - 1] for b in range(1, BINS)})
    places = [len(cuts) + 1 if v is None else sum(cut < v for cut in cuts) for v in column]
    return places, len(cuts) + 2


def group_counts(columns, groups, published, values):
    """Return the chance of each value for each record.

    Parameters
    ----------
    columns : list of (list of int, int)
        Bins of every quasi-identifier, and how many there are.
    groups : list
        The group of each record.
    published : dict of group to dict of value to count
    values : list
    """
    n = len(groups)
    size = {g: sum(held.values()) for g, held in published.items()}
    marginal = [[(bins.count(b) + 1) / (n + many) for b in range(many)] for bins, many in columns]

    def share(i, v):
        return published[groups[i]].get(v, 0) / size[groups[i]]

    def balanced(likely):
        chance = [{v: share(i, v) * likely(i, v) for v in published[groups[i]]} for i in range(n)]
        for _ in range(ROUNDS):
            for each in chance:
                total = sum(each.values())
                for v in each:
                    each[v] /= total
            for g, held in published.items():
                inside = [i for i in range(n) if groups[i] == g]
                for v, count in held.items():
                    total = sum(chance[i][v] for i in inside)
                    for i in inside:
                        chance[i][v] *= count / total
        for each in chance:
            total = sum(each.values())
            for v in each:
                each[v] /= total
        return chance

    chance = balanced(lambda i, v: 1.0)
    for _ in range(STEPS):
        before = chance
        weight = {v: sum(each.get(v, 0.0) for each in chance) for v in values}
        table = {}
        for j, (bins, many) in enumerate(columns):
            for v in values:
                for b in range(many):
                    inside = sum(chance[i].get(v, 0.0) for i in range(n) if bins[i] == b)
                    table[j, b, v] = (inside + marginal[j][b]) / (weight[v] + 1)

        def likely(i, v, table=table):
            return math.prod(table[j, bins[i], v] for j, (bins, _) in enumerate(columns))

        chance = balanced(likely)
        if max(abs(a[v] - b[v]) for a, b in zip(chance, before, strict=True) for v in a) < SETTLED:
            break
    return np.array([[each.get(v, 0.0) for v in values] for each in chance])
