"""How far the values of each class are distributed from those of the table: t-closeness.

Li, Li & Venkatasubramanian (2007), "t-Closeness", with their three distances.
The earth mover's distance is 0 where both are the same and at most 1. A missing
value is a value of its own, after the others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..hierarchy import TOP, Hierarchy
from .class_counts import Counts, FloatArray
from .groups import IntArray

_BLOCK = 1 << 22
"""Cells of a full table that are worked on at once."""


def equal_distance(counts: Counts) -> FloatArray:
    """All values lie 1 apart: half the absolute differences of the shares (section 4.2)."""
    p = counts.public[counts.values]
    inside = counts.per_group(np.abs(counts.shares - p) - p)
    return np.clip(0.5 * (1.0 + inside), 0.0, 1.0)


def ordered_distance(counts: Counts) -> FloatArray:
    """Neighbouring values lie 1/(m - 1) apart: the summed differences of the CDFs (section 4.1).

    Values are compared by rank. The class's CDF is constant between its own
    values, so each stretch is summed from prefix sums of the public CDF: the
    cost does not grow with m.
    """
    m = counts.n_values
    if m < 2:
        return np.zeros(counts.n_groups)
    public = np.minimum(np.cumsum(counts.public), 1.0)
    public[-1] = 1.0
    prefix = np.concatenate([[0.0], np.cumsum(public)])
    running = np.cumsum(counts.counts)
    before = np.concatenate([[0], running])[counts.starts[counts.groups]]
    cdf = (running - before) / counts.sizes[counts.groups]
    start = counts.values
    is_last = np.zeros(len(start), np.bool_)
    is_last[counts.starts[1:] - 1] = True
    stop = np.where(is_last, m, np.append(start[1:], m))
    cross = np.clip(np.searchsorted(public, cdf), start, stop)
    stretch = (
        cdf * (cross - start)
        - (prefix[cross] - prefix[start])
        + (prefix[stop] - prefix[cross])
        - cdf * (stop - cross)
    )
    ahead = prefix[counts.values[counts.starts[:-1]]]
    return np.clip((counts.per_group(stretch) + ahead) / (m - 1), 0.0, 1.0)


def hierarchical_distance(counts: Counts, values: Sequence[str], hierarchy: Hierarchy) -> FloatArray:
    """Mass moved over a node of a hierarchy costs its height over the whole height (section 4.3).

    Parameters
    ----------
    counts : Counts
    values : sequence of str
        The name behind each code; one outside the hierarchy (missing) stands alone
        below the top.
    hierarchy : Hierarchy
    """
    height = hierarchy.n_levels - 1
    if height < 1:
        return equal_distance(counts)
    paths = [hierarchy.paths.get(v, (v,) * height + (TOP,)) for v in values]
    nodes = [_numbered([path[level:] for path in paths]) for level in range(height + 1)]
    out = np.zeros(counts.n_groups)
    step = max(1, _BLOCK // max(counts.n_values, 1))
    for begin in range(0, counts.n_groups, step):
        end = min(begin + step, counts.n_groups)
        part = slice(counts.starts[begin], counts.starts[end])
        extra = np.zeros((end - begin, counts.n_values))
        extra[counts.groups[part] - begin, counts.values[part]] = counts.shares[part]
        extra -= counts.public
        below = _summed(extra, nodes[0])
        for level in range(1, height + 1):
            parent = np.zeros(below.shape[1], np.int64)
            parent[nodes[level - 1]] = nodes[level]
            positive = _summed(np.maximum(below, 0.0), parent)
            below = _summed(below, parent)
            moved = np.minimum(positive, positive - below)
            out[begin:end] += level / height * moved.sum(axis=1)
    return np.clip(out, 0.0, 1.0)


def _numbered(keys: list[tuple[str, ...]]) -> IntArray:
    """Keys as numbers in order of appearance."""
    numbers: dict[tuple[str, ...], int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)


def _summed(amounts: FloatArray, target: IntArray) -> FloatArray:
    """Columns summed by their target."""
    out = np.zeros((len(amounts), int(target.max()) + 1))
    for column, to in enumerate(target):
        out[:, to] += amounts[:, column]
    return out
