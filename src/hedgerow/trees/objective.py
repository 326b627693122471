"""Checks and scores from a node's statistics: whether its group is admitted, and a split's gain.

`Rules` say how splits are scored and which groups are admitted; bundled with the layout they are
`Terms`, which compiled loops take. All read the statistics vector alone (`statistics.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..kernels import Floats, Ints
from ..kernels.compiled import inner
from ..kernels.measures import entropy, largest, number_terms, ranked_gain, share_gain
from .statistics import ENTROPY, SSE, StatisticsLayout

# the position of a row or column that does not exist
NOWHERE = -1
# the part by which a gain must exceed another to be larger
TIE = 1e-9
# for counts below this, n log n is looked up in a table of 8 MB
TABULATED = 1 << 20


@dataclass(frozen=True)
class Rules:
    """The score of splits, and the limits that every group must keep.

    Parameters
    ----------
    min_leaf : int
        Fewest persons of a group.
    cap : float array of shape (r + q + judged,)
        Largest disclosure of each number (squared error), class and judged column; 1 is off.
    share : float array of shape (q,)
        Largest share of one class; 1 is off.
    entropy : float array of shape (q,)
        Least entropy of a group in nats; 0 is off.
    gain : {SSE, ENTROPY}
        SSE is the sum of squared errors (Gini impurity for classes).
    """

    min_leaf: int
    cap: Floats
    share: Floats
    entropy: Floats
    gain: int = SSE


class Plain(NamedTuple):
    """The terms as plain numbers, for trees with one or two numeric responses and nothing else."""

    min_leaf: int
    # entry of the second response's sum (the first's own when it is alone); 0: not plain
    second: int
    # entry of the first response's sum of squares; the sum's own when they are not kept
    square: int
    capped: bool
    unit: float
    weight_a: float
    weight_b: float
    cap_a: float
    cap_b: float

    @classmethod
    def from_rules(cls, rules: Rules, layout: StatisticsLayout) -> Plain:
        """Return the terms as plain numbers; `second` is 0 if the responses need more."""
        r = layout.r
        classes = layout.q + layout.n_listed
        # The walk in registers has one count, which must serve for k and for means.
        if classes or layout.sums > 1 or not 0 < r <= 2 or rules.gain == ENTROPY:
            return cls(0, 0, 0, False, 1.0, 0.0, 0.0, 1.0, 1.0)
        return cls(
            rules.min_leaf,
            r,
            max(layout.squares, 1),
            layout.squares >= 0,
            2.0**layout.shift,
            float(layout.weight[0]),
            float(layout.weight[1]) if r == 2 else 0.0,
            # A cap of 1 is no cap, but rounding may pass 1: infinity is never passed.
            *(float(c) if c < 1 else np.inf for c in rules.cap[:r]),
            *(np.inf for _ in range(2 - r)),
        )


class Terms(NamedTuple):
    """The rules and the layout, packed in the form the compiled loops expect.

    Numba hands a tuple over field by field, so what few functions ask for is a tuple of its own.
    """

    layout: StatisticsLayout
    # None for similarity trees
    plain: Plain | None
    gain: int
    # in the units of the entry `persons`
    min_leaf: int
    cap: Floats
    judged_cap: Floats
    largest: Floats
    entropy: Floats
    xlogx: Floats

    @classmethod
    def from_rules(cls, rules: Rules, layout: StatisticsLayout, n: int) -> Terms:
        """Return the rules and the layout bundled for a table of n rows."""
        # Every candidate takes n log n of every class: a table is faster than logarithms.
        counts = np.arange(min(n + 1, TABULATED) if rules.gain == ENTROPY else 1, dtype=np.float64)
        r, w = layout.r, layout.n_listed
        return cls(
            layout=layout,
            plain=None if layout.alone else Plain.from_rules(rules, layout),
            gain=rules.gain,
            min_leaf=(rules.min_leaf - 1) * layout.person + 1,  # more than k - 1 people are k
            cap=np.concatenate([rules.cap[:r], rules.cap[r + w :]]),
            judged_cap=rules.cap[len(rules.cap) - len(layout.cells) + 1 :],
            largest=rules.share[w:],
            entropy=rules.entropy[w:],
            xlogx=counts * np.log(np.maximum(counts, 1.0)),
        )


@inner
def admissible(s: Ints, t: Terms) -> bool:
    """Return whether a group with statistics `s` keeps every limit of the terms `t`."""
    # the cheapest question first
    if s[t.layout.persons] < t.min_leaf:
        return False
    n = s[0]
    for j in range(t.layout.r):
        if t.cap[j] < 1.0:
            at = t.layout.missing_at[j]
            n_known = n - s[at] if at > 0 else n
            # a missing value adds the floor to the sum of squares and nothing to the sum
            square = float(s[t.layout.squares + j] - (n - n_known) * t.layout.floors[j]) * 2.0**t.layout.shift
            gain, public = number_terms(n_known, float(s[t.layout.sums + j]), square)
            if gain > t.cap[j] * public:
                return False
    for j in range(t.largest.shape[0]):
        a, b = t.layout.starts[j], t.layout.starts[j + 1]
        if t.cap[t.layout.r + j] < 1.0:
            n_known, gain, lost = share_gain(s, a, b - (t.layout.public[b - 1] < 0.0), t.layout.public, t.layout.loss)
            if gain > t.cap[t.layout.r + j] * n_known * lost:
                return False
        if t.largest[j] < 1.0 and largest(s, a, b) > t.largest[j] * n:
            return False
        if t.entropy[j] > 0.0 and entropy(s, a, b, n) < t.entropy[j]:
            return False
    return True


@inner
def is_within_caps(counts: Ints, t: Terms) -> bool:
    """Return whether a group, given by its cell counts, keeps the caps on the judged columns."""
    for j in range(t.judged_cap.shape[0]):
        cap = t.judged_cap[j]
        if cap < 1.0:
            # The last cell holds the records that take no part.
            a, b = t.layout.cells[j], t.layout.cells[j + 1] - 1
            n_known, gain, lost = share_gain(counts, a, b, t.layout.share, t.layout.local)
            if gain > cap * n_known * lost:
                return False
            gain, lost = ranked_gain(counts, a, b, n_known, t.layout.share, t.layout.ranked)
            if gain > cap * n_known * lost:
                return False
    return True


@inner
def xlogx(count: int, table: Floats) -> float:
    """Return count * log(count), 0 for a count of 0; small counts are looked up in the table."""
    if count < table.shape[0]:
        return table[count]
    return float(count) * np.log(float(count))


@inner
def _entropy_gain(left: Ints, total: Ints, t: Terms) -> float:
    n, nl, table = total[0], left[0], t.xlogx
    value = 0.0
    for j in range(t.layout.weight.shape[0] - t.layout.r):
        if t.layout.weight[t.layout.r + j] > 0.0:
            change = xlogx(n, table) - xlogx(nl, table) - xlogx(n - nl, table)
            for c in range(t.layout.starts[j], t.layout.starts[j + 1]):
                right = total[c] - left[c]
                change += xlogx(left[c], table) + xlogx(right, table) - xlogx(total[c], table)
            value += t.layout.weight[t.layout.r + j] * change
    return above_rounding(value, n, table)


@inner
def above_rounding(value: float, n: int, table: Floats) -> float:
    """Return a gain in entropy, or 0 if rounding errors alone may have caused it: sums of n log n cancel."""
    return value if value > 1e-12 * xlogx(n, table) else 0.0


@inner
def gain_of(left: Ints, total: Ints, t: Terms) -> float:
    """Return the gain of a split: the reduction of the weighted error (SSE) or of the entropy.

    For squared errors it is (sL nR - sR nL)^2 / (n nL nR), which loses no digits to cancellation.
    """
    if t.gain == ENTROPY:
        return _entropy_gain(left, total, t)
    n = total[0]
    nl = left[0]
    nr = n - nl
    value = 0.0
    both = 0.0
    fnl, fnr = float(nl), float(nr)
    for j in range(t.layout.r):
        a = float(left[t.layout.sums + j])
        b = float(total[t.layout.sums + j] - left[t.layout.sums + j])
        at = t.layout.missing_at[j]
        if at > 0:
            kl = float(nl - left[at])
            kr = float(nr - (total[at] - left[at]))
            # A side without a known value has no mean that could differ.
            if kl > 0 and kr > 0:
                d = a * kr - b * kl
                value += t.layout.weight[j] * d * d / ((kl + kr) * kl * kr)
        else:
            # Responses without missing values have one divisor in common, so they are divided once.
            d = a * fnr - b * fnl
            both += t.layout.weight[j] * d * d
    for j in range(t.layout.weight.shape[0] - t.layout.r):
        w = t.layout.weight[t.layout.r + j]
        if w > 0.0:
            for c in range(t.layout.starts[j], t.layout.starts[j + 1]):
                d = float(left[c]) * fnr - float(total[c] - left[c]) * fnl
                both += w * d * d
    return value + both / (float(n) * fnl * fnr)
