"""How much more, or less, frequent a value is in a class than in the table: beta and delta."""

from __future__ import annotations

import numpy as np

from .class_counts import Counts, FloatArray
from .diversity import distinct


def basic_beta(counts: Counts) -> FloatArray:
    """For each class the largest gain (p - P) / P of a value.

    Cao, Karras (2012), Publishing microdata with a robust privacy guarantee,
    basic beta-likeness.
    """
    return counts.max_per_group(_gains(counts))


def enhanced_beta(counts: Counts) -> tuple[float, bool]:
    """The enhanced beta, max over the values of min(beta, -ln P), and whether it holds.

    Cao, Karras (2012): the gain of each value must not exceed min(beta, -ln P)
    of that value. A frequent value can gain more than -ln P; then no beta makes
    the release enhanced beta-like, and the second result is False.
    """
    gains = _gains(counts)
    value = np.minimum(gains.max(), -np.log(counts.public[counts.public > 0])).max()
    within = gains <= -np.log(counts.public[counts.values]) + 1e-12
    return float(value), bool(within.all())


def delta_disclosure(counts: Counts) -> FloatArray:
    """For each class the largest |ln(p / P)| over the values that occur in it.

    Brickell, Shmatikov (2008), The cost of privacy: delta-disclosure. A value
    that a class lacks makes the strict definition infinite; `classes_lacking_values` counts
    such classes.
    """
    return counts.max_per_group(np.abs(np.log(counts.shares / counts.public[counts.values])))


def classes_lacking_values(counts: Counts) -> int:
    """Classes in which some value of the table does not occur."""
    return int((distinct(counts) < (counts.totals > 0).sum()).sum())


def _gains(counts: Counts) -> FloatArray:
    public = counts.public[counts.values]
    return np.asarray((counts.shares - public) / public, np.float64)
