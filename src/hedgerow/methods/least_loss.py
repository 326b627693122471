"""The least that records lose when groups of at least k of them are released as averages.

The loss of a partition is its within-group sum of squares. Two bounds hold for all partitions
into groups of at least k, and the larger is taken:

- In a group S of s >= k records the sum of squares is that of the squared distances between
  all ordered pairs, over 2s. A record has s - 1 partners in it, none nearer than its s - 1
  nearest records of the table: it adds at least (s - 1) / s times half their mean squared
  distance, which does not fall as s grows. So the loss is at least the sum over all records of
  the squared distances to their k - 1 nearest, over 2k.
- The loss of all columns is the sum of the losses of each, none of which is below that of the
  best partition for that column alone: runs of its sorted values (Hansen & Mukherjee 2003),
  which are found exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.neighbours import build, nearest

Floats = NDArray[np.float64]

_ROUNDING = 1e-9
"""Part of a bound by which sums may be off; it stays a bound."""


def least_loss(points: Floats, k: int) -> float:
    """A sum of squares that no partition into groups of at least k goes below.

    Parameters
    ----------
    points : float array of shape (n, d)
    k : int
        At least 1.

    Examples
    --------
    >>> round(least_loss(np.array([[0.0], [1.0], [5.0], [7.0]]), 2), 6)
    2.5
    """
    if not points.size:
        return 0.0
    points = np.ascontiguousarray(points[np.lexsort(points.T[::-1])])  # one sum in any order
    if len(points) < 2 * k:
        return float(((points - points.mean(axis=0)) ** 2).sum() * (1 - _ROUNDING))
    runs = sum(best_runs(np.sort(column), k) for column in points.T)
    found = runs if points.shape[1] == 1 else max(runs, near_sum(points, k) / (2 * k))
    return float(found * (1 - _ROUNDING))


def near_sum(points: Floats, k: int) -> float:
    """The squared distances of all records to their k - 1 nearest others, summed."""
    tree, found, gaps = build(points), np.empty(k, np.int64), np.empty(k)
    summed = 0.0
    for point in points:
        nearest(tree, point, k, found, gaps)  # itself, or one that is equal, among them
        summed += float(gaps.sum())
    return summed


def best_runs(values: Floats, k: int) -> float:
    """The least sum of squares of ascending values cut into runs of at least k."""
    n = len(values)
    apart = values - values.mean()
    sums = np.concatenate([[0.0], np.cumsum(apart)])
    squares = np.concatenate([[0.0], np.cumsum(apart * apart)])
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    for end in range(k, n + 1):
        begin = np.arange(max(end - 2 * k + 1, 0), end - k + 1)  # longer runs are better halved
        away = sums[end] - sums[begin]
        loss = np.maximum(squares[end] - squares[begin] - away * away / (end - begin), 0.0)
        best[end] = (best[begin] + loss).min()
    return float(best[n])
