"""Features: numbers made of a column's values, which models use as regressors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..measures import Floats, Ints
from ..plan import GuardedColumn
from .moments import SCALE, scores_of

# values of a number beyond these quantiles count as the quantile
ENDS = (0.005, 0.995)
# categories that have a feature of their own, the commonest ones, and values of a number that many people have
CATEGORIES, HEAPS = 8, 3
# the part of the people who have a value from which on it is a heap, and the part that makes it one in full
HEAP = (0.05, 0.10)
# people from whom on a value has a feature in full: fewer have a smaller one, so that nobody decides whether it has one
IN_FULL = 100


@dataclass(frozen=True)
class Feature:
    """A number for each value of a column: its mean over the table is 0, its variance at most 1.

    Parameters
    ----------
    column : int
        The place of the column in the guard.
    rank : int
        0 for a number itself and for the one feature of two values; 1 for the feature of one value among others;
        2 for the square of a number, less what the number itself says of it.
    of_code : int64 array of shape (n_codes + 1,)
        In 32nds; the last, for what is withheld, is 0.
    """

    column: int
    rank: int
    of_code: Ints


def features_of(columns: Sequence[GuardedColumn], people: int) -> list[Feature]:
    """Return the features of columns, column after column, from how many people have each value.

    Parameters
    ----------
    columns : sequence of GuardedColumn
    people : int
        Fewest people who share a released value: a value that no more have has no feature.
    """
    features = []
    for i, column in enumerate(columns):
        for rank, values in _features(column, people):
            of_code = np.append(values, 0)
            if of_code.any():
                features.append(Feature(i, rank, of_code))
    return features


def _features(column: GuardedColumn, people: int) -> Iterator[tuple[int, Ints]]:
    """Yield the rank of each feature of a column, and what it is for each code."""
    counts, n = np.asarray(column.people, np.int64), column.n_values
    total, in_full = int(counts.sum()), max(IN_FULL, 2 * people)
    weight = np.clip((counts - people) / (in_full - people), 0.0, 1.0)
    if column.kind in ("numeric", "date") and n > 2:
        z = scores_of(np.array(column.values[:n], np.float64), counts[:n], ENDS).of_run
        z = np.append(z, np.zeros(len(counts) - n, np.int64))
        yield 0, z
        share = counts / total
        is_heap = np.clip((share - HEAP[0]) / (HEAP[1] - HEAP[0]), 0.0, 1.0) * (share < 1 - HEAP[0])
        heaps = np.argsort(-counts[:n], kind="stable")[:HEAPS]
        for code in [*heaps[is_heap[heaps] > 0], *range(n, len(counts))]:
            size = weight[code] * (is_heap[code] if code < n else 1.0)
            yield 1, _of_one_value(int(code), counts, float(size))
        # sums of whole numbers, so that their order changes nothing
        linear = float(counts @ z**3) / max(float(counts @ z**2), 1.0)
        yield 2, _standardised(np.where(np.arange(len(counts)) < n, z**2 - linear * z, np.nan), counts)
        return
    order = np.argsort(-counts, kind="stable")
    order = order[: np.count_nonzero(counts)]
    if len(order) == 2:
        yield 0, _of_one_value(int(order[1]), counts, float(weight[order[1]]))
    elif len(order) > 2:
        for code in order[:-1][:CATEGORIES]:
            yield 1, _of_one_value(int(code), counts, float(weight[code]))


def _of_one_value(code: int, counts: Ints, size: float) -> Ints:
    """Return the standardised feature of having one value, times `size`."""
    return np.asarray(np.rint(size * _standardised(np.arange(len(counts)) == code, counts)), np.int64)


def _standardised(values: Floats, counts: Ints) -> Ints:
    """Return values less their mean and over their standard deviation, in 32nds; 0 where they are NaN."""
    is_known = ~np.isnan(values)
    values, counts = np.where(is_known, values, 0.0), counts * is_known
    mean = float(values @ counts) / max(int(counts.sum()), 1)
    spread = float(np.sqrt((values - mean) ** 2 @ counts / max(int(counts.sum()), 1)))
    return np.asarray(np.rint(SCALE * np.where(is_known, values - mean, 0.0) / (spread or 1.0)), np.int64)
