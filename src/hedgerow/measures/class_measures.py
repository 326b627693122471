"""Criteria of one class's sensitive values: l-diversity and alpha, t-closeness, beta-likeness, delta-disclosure.

Machanavajjhala et al. (2006, 2007), "l-diversity"; Wong et al. (2006), "(alpha, k)-anonymity";
Li, Li & Venkatasubramanian (2007), "t-Closeness", with two of their distances: the earth mover's
distance is 0 if class and table have the same distribution, and at most 1. A missing value counts as
a value of its own, after the others.
"""

from __future__ import annotations

import numpy as np

from ..kernels import Floats, Ints
from ..kernels.measures import entropies, largest_counts
from .class_counts import Counts


def distinct(counts: Counts) -> Ints:
    """Return the number of distinct values in each class; the smallest is the table's distinct l-diversity."""
    return np.diff(counts.starts)


def entropy_l(counts: Counts) -> Floats:
    """Return the exponential of each class's entropy; the smallest is the table's entropy l-diversity.

    Machanavajjhala et al. (2007), Definition 4.1: every class has an entropy of
    at least log l. A real number; its floor is the whole l that some packages print.
    """
    return np.exp(entropies(counts.counts, counts.starts, counts.sizes))


def recursive_c(counts: Counts, l: int) -> Floats:
    """Return r_1 / (r_l + ... + r_m) for each class, with its value counts r in descending order.

    Machanavajjhala et al. (2007), Definition 4.2: recursive (c, l)-diversity
    holds for every c above the largest of these; a class with fewer than l
    values gives infinity.
    """
    ordered = counts.counts[np.lexsort((-counts.counts, counts.groups))]
    rank = np.arange(len(ordered)) - counts.starts[counts.groups]
    tail = counts.per_group(np.where(rank >= l - 1, ordered, 0))
    with np.errstate(divide="ignore"):
        return ordered[counts.starts[:-1]] / tail


def frequency_l(counts: Counts) -> Floats:
    """Return each class's size divided by the count of its most frequent value.

    The least of them is the l of the frequency form of l-diversity, and the L of
    Fu et al. (2010).
    """
    return counts.sizes / largest_counts(counts.counts, counts.starts)


def largest_share(counts: Counts) -> Floats:
    """Return the share of the most frequent value in each class; the largest is the table's alpha."""
    return largest_counts(counts.counts, counts.starts) / counts.sizes


def equal_distance(counts: Counts) -> Floats:
    """Return each class's distance from the table if all values are 1 apart: half the L1 distance.

    This is the earth mover's distance "equal" of Li et al. (2007), section 4.2.
    """
    # Values that a class lacks differ by their public share: together by 1 less that of the rest.
    p = counts.public[counts.values]
    inside = counts.per_group(np.abs(counts.shares - p) - p)
    return np.clip(0.5 * (1.0 + inside), 0.0, 1.0)


def ordered_distance(counts: Counts) -> Floats:
    """Return each class's earth mover's distance from the table over ranks (Li et al. 2007, section 4.1).

    It is the sum of the absolute differences between the CDFs of class and table, divided by
    m - 1 for m values. The class's CDF is constant between its own values, so each stretch
    is summed from prefix sums of the public CDF: the cost does not grow with m.
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
    # |cdf - P| of the stretch, whose sign changes at most once, where P crosses the class's CDF:
    # before `cross` the CDF lies above, after it below.
    stretch = (
        cdf * (cross - start) - (prefix[cross] - prefix[start]) + (prefix[stop] - prefix[cross]) - cdf * (stop - cross)
    )
    return np.clip((counts.per_group(stretch) + prefix[counts.values[counts.starts[:-1]]]) / (m - 1), 0.0, 1.0)


def basic_beta(counts: Counts) -> Floats:
    """Return each class's largest gain (p - P) / P: p is a value's share in the class, P in the table.

    Cao, Karras (2012), Publishing microdata with a robust privacy guarantee,
    basic beta-likeness.
    """
    return counts.max_per_group(_gains(counts))


def enhanced_beta(counts: Counts) -> tuple[float, bool]:
    """Return the enhanced beta, the largest min(beta, -ln P) of any value, and whether the table satisfies it.

    Cao, Karras (2012): the gain of each value must not exceed min(beta, -ln P)
    of that value. A frequent value can gain more than -ln P; then no beta makes
    the release enhanced beta-like, and the second result is False.
    """
    gains = _gains(counts)
    value = np.minimum(gains.max(), -np.log(counts.public[counts.public > 0])).max()
    return float(value), bool((gains <= -np.log(counts.public[counts.values]) + 1e-12).all())


def delta_disclosure(counts: Counts) -> Floats:
    """Return each class's largest |ln(p / P)| over the values that occur in the class.

    Brickell, Shmatikov (2008), The cost of privacy: delta-disclosure. A value
    that a class lacks makes the strict definition infinite; `classes_lacking_values` counts
    such classes.
    """
    return counts.max_per_group(np.abs(np.log(counts.shares / counts.public[counts.values])))


def classes_lacking_values(counts: Counts) -> int:
    """Count the classes that lack at least one value of the table."""
    return int((distinct(counts) < (counts.totals > 0).sum()).sum())


def _gains(counts: Counts) -> Floats:
    public = counts.public[counts.values]
    return np.asarray((counts.shares - public) / public, np.float64)
