"""How many different sensitive values a class has, and how evenly: l-diversity and alpha.

Machanavajjhala et al. (2006, 2007), "l-diversity"; Wong et al. (2006), "(alpha, k)-anonymity".
A missing value counts as a value of its own.
"""

from __future__ import annotations

import numpy as np

from ..kernels.measures import entropies, largest_counts
from .class_counts import Counts, FloatArray
from .groups import IntArray


def distinct(counts: Counts) -> IntArray:
    """Different values in each class; distinct l-diversity is the smallest."""
    return np.diff(counts.starts)


def entropy_l(counts: Counts) -> FloatArray:
    """exp of the entropy of each class; entropy l-diversity is the smallest.

    Machanavajjhala et al. (2007), Definition 4.1: every class has an entropy of
    at least log l. A real number; its floor is the whole l that some packages print.
    """
    return np.exp(entropies(counts.counts, counts.starts, counts.sizes))


def recursive_c(counts: Counts, l: int) -> FloatArray:
    """For each class r_1 / (r_l + ... + r_m), counts in falling order.

    Machanavajjhala et al. (2007), Definition 4.2: recursive (c, l)-diversity
    holds for every c above the largest of these; a class with fewer than l
    values gives infinity.
    """
    order = np.lexsort((-counts.counts, counts.groups))
    ordered = counts.counts[order]
    rank = np.arange(len(ordered)) - counts.starts[counts.groups]
    tail = counts.per_group(np.where(rank >= l - 1, ordered, 0))
    with np.errstate(divide="ignore"):
        return ordered[counts.starts[:-1]] / tail


def frequency_l(counts: Counts) -> FloatArray:
    """Records of each class over those of its most frequent value.

    The least of them is the l of the frequency form of l-diversity, and the L of
    Fu et al. (2010).
    """
    return counts.sizes / largest_counts(counts.counts, counts.starts)


def largest_share(counts: Counts) -> FloatArray:
    """The share of the most frequent value in each class; alpha is the largest."""
    return largest_counts(counts.counts, counts.starts) / counts.sizes
