"""What a class gives away about categorical values: diversity, closeness, likeness."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...hierarchy import TOP, Hierarchy
from ..grouping import Counts, FloatArray, IntArray


def distinct(counts: Counts) -> IntArray:
    """Different values in each class (distinct l-diversity is the smallest)."""
    return np.diff(counts.starts)


def entropy(counts: Counts) -> FloatArray:
    """exp of the entropy of each class (entropy l-diversity is the smallest).

    Machanavajjhala et al. (2007), l-diversity, Definition 4.1: every class has
    an entropy of at least log l. Reported as a real number; its floor is the
    whole l that some packages print.
    """
    p = counts.shares
    return np.exp(-counts.per_group(p * np.log(p)))


def recursive(counts: Counts, l: int) -> FloatArray:
    """For each class r_1 / (r_l + ... + r_m), counts in falling order.

    Machanavajjhala et al. (2007), Definition 4.2: recursive (c, l)-diversity
    holds for every c above the largest of these; a class with fewer than l
    values gives infinity. At l = 1 the definition says nothing about a class
    (the sum is the whole class), so l must be at least 2.
    """
    if l < 2:
        raise ValueError("recursive (c,l)-diversity is undefined for l below 2")
    order = np.lexsort((-counts.counts, counts.groups))
    ordered = counts.counts[order]
    rank = np.arange(len(ordered)) - counts.starts[counts.groups]
    tail = counts.per_group(np.where(rank >= l - 1, ordered, 0))
    largest = ordered[counts.starts[:-1]]
    with np.errstate(divide="ignore"):
        return largest / tail


def largest_share(counts: Counts) -> FloatArray:
    """The share of the most frequent value in each class ((alpha, k): alpha is the largest).

    Wong et al. (2006), (alpha, k)-anonymity, for every sensitive value.
    """
    return counts.max_per_group(counts.shares)


def closeness_equal(counts: Counts) -> FloatArray:
    """t-closeness with equal distances: half the absolute differences of the shares.

    Li et al. (2007), t-Closeness, section 4.2; in [0, 1].
    """
    p = counts.public[counts.values]
    inside = counts.per_group(np.abs(counts.shares - p) - p)
    return np.clip(0.5 * (1.0 + inside), 0.0, 1.0)


def closeness_ordered(counts: Counts) -> FloatArray:
    """t-closeness with ordered distances: 1/(m-1) times the summed differences of the CDFs.

    Li et al. (2007), section 4.1; values are compared by rank; in [0, 1]. The
    class's CDF is constant between its own values, so each stretch is summed
    from prefix sums of the public CDF: the cost does not grow with m.
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


def closeness_hierarchical(counts: Counts, values: list[str], hierarchy: Hierarchy) -> FloatArray:
    """t-closeness with hierarchical distances: mass moved over a node costs height / H.

    Li et al. (2007), section 4.3; in [0, 1]. A value outside the hierarchy
    (missing) stands alone below the top.
    """
    height = hierarchy.n_levels - 1
    if height < 1:
        return closeness_equal(counts)
    paths = [hierarchy.paths.get(v, (v,) * height + (TOP,)) for v in values]
    nodes = [_numbered([path[level:] for path in paths]) for level in range(height + 1)]
    out = np.zeros(counts.n_groups)
    step = max(1, (1 << 22) // max(counts.n_values, 1))
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


def basic_beta(counts: Counts) -> FloatArray:
    """For each class the largest gain (q - p) / p of a value.

    Cao, Karras (2012), Publishing microdata with a robust privacy guarantee,
    basic beta-likeness.
    """
    p = counts.public[counts.values]
    return counts.max_per_group((counts.shares - p) / p)


def enhanced_beta(counts: Counts) -> tuple[float, bool]:
    """The enhanced beta, max over the values of min(beta, -ln p), and whether it holds.

    Cao, Karras (2012): the gain of each value must not exceed min(beta, -ln p)
    of that value. A frequent value can gain more than -ln p; then no beta makes
    the release enhanced beta-like, and the second result is False.
    """
    beta = float(basic_beta(counts).max())
    value = float(np.minimum(beta, -np.log(counts.public[counts.public > 0])).max())
    p = counts.public[counts.values]
    return value, bool(((counts.shares - p) / p <= -np.log(p) + 1e-12).all())


def delta(counts: Counts) -> FloatArray:
    """For each class the largest |ln(q / p)| over the values that occur in it.

    Brickell, Shmatikov (2008), The cost of privacy: delta-disclosure. A value
    that a class lacks makes the strict definition infinite; `lacking` counts
    such classes.
    """
    p = counts.public[counts.values]
    return counts.max_per_group(np.abs(np.log(counts.shares / p)))


def lacking(counts: Counts) -> int:
    """Classes in which some value of the table does not occur."""
    return int((distinct(counts) < (counts.public > 0).sum()).sum())


def brier(counts: Counts) -> FloatArray:
    """RSD of a categorical response in each class.

    (1 - sum p_c^2) / (1 - 2 sum p_c P_c + sum P_c^2): the Brier score of
    guessing the class's shares over that of guessing the public shares; 1 when
    both are the same, 0 in a class of one value. A class without records counts
    as 1; leave missing values out by `Counts.known`, as the promise does.
    """
    p, public = counts.shares, counts.public
    top = 1.0 - counts.per_group(p * p)
    bottom = 1.0 - 2.0 * counts.per_group(p * public[counts.values]) + float(public @ public)
    safe = (bottom > 1e-15) & (counts.sizes > 0)
    return np.where(safe, np.clip(top, 0, None) / np.where(safe, bottom, 1.0), 1.0)


def diversity_summary(
    counts: Counts, kind: str, values: list[str], hierarchy: Hierarchy | None = None
) -> dict[str, Any]:
    """Every categorical measure of one sensitive column."""
    l = int(distinct(counts).min())
    enhanced, holds = enhanced_beta(counts)
    return {
        "distinct_l": l,
        "entropy_l": float(entropy(counts).min()),
        "recursive_c": float(recursive(counts, l).max()) if l >= 2 else None,
        "alpha": float(largest_share(counts).max()),
        "t_equal": float(closeness_equal(counts).max()),
        "t_ordered": float(closeness_ordered(counts).max()) if kind != "categorical" else None,
        "t_hierarchical": None
        if hierarchy is None
        else float(closeness_hierarchical(counts, values, hierarchy).max()),
        "basic_beta": float(basic_beta(counts).max()),
        "enhanced_beta": enhanced,
        "enhanced_beta_holds": holds,
        "delta": float(delta(counts).max()),
        "delta_classes_lacking_a_value": lacking(counts),
    }
