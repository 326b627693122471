"""Node statistics: one vector per node, and what is asked of it.

The vector holds n, then sum z of each numeric response, then the counts of each
class of each class column, then (where a cap on disclosure asks for it) sum z^2
of each numeric response. Everything is a 64-bit integer, so sums are exact and
do not depend on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from ..kernels.exact import UNIT_BITS
from .responses import Responses

SSE, ENTROPY = 0, 1


@dataclass(frozen=True)
class Rules:
    """How splits are scored and which groups are admitted.

    Parameters
    ----------
    min_leaf : int
        Fewest records of a group.
    cap : float array of shape (r + q,)
        Largest disclosure 1 - RSD of each numeric, then each categorical response; 1 is off.
    share : float array of shape (q,)
        Largest share of one class; 1 is off.
    entropy : float array of shape (q,)
        Least entropy of a group in nats; 0 is off.
    gain : {SSE, ENTROPY}
        SSE is the sum of squared errors (Gini impurity for classes).
    """

    min_leaf: int
    cap: npt.NDArray[np.float64]
    share: npt.NDArray[np.float64]
    entropy: npt.NDArray[np.float64]
    gain: int = SSE


@dataclass(frozen=True)
class StatisticsLayout:
    """Where things stand in the statistics vector, and the weights of the responses."""

    r: int
    q: int
    starts: npt.NDArray[np.int64]
    """Offsets of the class columns' counts, with the end of the last."""
    missing_at: npt.NDArray[np.int64]
    """Per numeric response the offset of its missing count, or 0."""
    weight: npt.NDArray[np.float64]
    """Per numeric response and then per class column; 0 leaves it out of the gain."""
    public: npt.NDArray[np.float64]
    """Public share of every class among the known values, at the class's offset; missing is -1."""
    shift: int
    """z^2 is kept as z^2 >> shift, so that its sum fits 64 bits."""
    squares: bool
    """Whether sum z^2 is kept."""

    @property
    def size(self) -> int:
        """Length of the vector."""
        return int(self.starts[-1]) + (self.r if self.squares else 0)

    @classmethod
    def of(cls, responses: Responses, gain: int = SSE, squares: bool = True) -> StatisticsLayout:
        """The layout of a table's responses.

        With numeric responses only, every response weighs the same on its
        scale [0, 1] (the papers' equation 2). As soon as a categorical one is
        there, each impurity is divided by its value at the root.
        """
        n, r = responses.z.shape
        sizes = responses.n_classes
        starts = np.concatenate([[1 + r], 1 + r + np.cumsum(sizes, dtype=np.int64)]).astype(
            np.int64
        )
        missing = np.array([starts[m] if m >= 0 else 0 for m in responses.missing_of], np.int64)
        public = np.zeros(int(starts[-1]))
        n_categorical = len(responses.categorical)
        weight = np.zeros(r + len(sizes))
        for j in range(len(sizes)):
            counts = np.bincount(responses.classes[:, j], minlength=sizes[j])
            public[starts[j] : starts[j + 1]] = counts / max(n, 1)
            if j < n_categorical:
                absent = responses.categorical[j].n_missing
                if absent:
                    public[starts[j] : starts[j + 1]] = counts / max(n - absent, 1)
                    public[starts[j + 1] - 1] = -1.0
                weight[r + j] = (
                    1.0
                    if gain == ENTROPY
                    else 1.0 / max(n - (counts.astype(float) ** 2).sum() / n, 1.0)
                )
        unit = float(1 << UNIT_BITS)
        for j in range(r):
            weight[j] = 1.0 / unit**2
            if n_categorical:
                known = max(n - responses.numeric[j].n_missing, 1)
                z = responses.z[:, j].astype(np.int64)
                low, high = z & 0x7FFF, z >> 15  # two limbs keep the sum of squares exact
                square = (int(high @ high) << 30) + (int(high @ low) << 16) + int(low @ low)
                weight[j] = 1.0 / max(square - int(z.sum()) ** 2 / known, 1.0)
        shift = max(0, 2 * UNIT_BITS + int(n).bit_length() - 62)
        return cls(r, len(sizes), starts, missing, weight, public, shift, squares and r > 0)


class Terms(NamedTuple):
    """Rules and layout together, in the form that compiled loops take."""

    gain: int
    min_leaf: int
    cap: Any
    share: Any
    entropy: Any
    r: int
    starts: Any
    missing_at: Any
    weight: Any
    public: Any
    squares: int
    """Where sum z^2 begins, or -1 when it is not kept."""
    shift: int
    xlogx: Any

    @classmethod
    def of(cls, rules: Rules, layout: StatisticsLayout, n: int) -> Terms:
        """Bundle rules and layout for a table of n rows."""
        counts = np.arange(n + 1 if rules.gain == ENTROPY else 1, dtype=np.float64)
        xlogx = counts * np.log(np.maximum(counts, 1.0))
        return cls(
            rules.gain,
            rules.min_leaf,
            rules.cap,
            rules.share,
            rules.entropy,
            layout.r,
            layout.starts,
            layout.missing_at,
            layout.weight,
            layout.public,
            int(layout.starts[-1]) if layout.squares else -1,
            layout.shift,
            xlogx,
        )


@njit(cache=True, nogil=True)
def admissible(s, t):  # type: ignore[no-untyped-def]
    """Whether a group with statistics `s` keeps every promise of the terms `t`."""
    n = s[0]
    if n < t.min_leaf:
        return False
    for j in range(t.r):
        if t.cap[j] < 1.0:
            at = t.missing_at[j]
            known = n - s[at] if at > 0 else n
            total = float(s[1 + j])
            if total * total > t.cap[j] * known * (float(s[t.squares + j]) * 2.0**t.shift):
                return False
    for j in range(t.share.shape[0]):
        a, b = t.starts[j], t.starts[j + 1]
        if t.cap[t.r + j] < 1.0:
            known = 0
            for c in range(a, b):
                if t.public[c] >= 0.0:
                    known += s[c]
            apart = 0.0
            square = 0.0
            for c in range(a, b):
                p = t.public[c]
                if p >= 0.0:
                    apart += (s[c] - known * p) ** 2
                    square += s[c] * (1.0 - 2.0 * p) + known * p * p
            if apart > t.cap[t.r + j] * known * square:
                return False
        if t.share[j] < 1.0:
            for c in range(a, b):
                if s[c] > t.share[j] * n:
                    return False
        if t.entropy[j] > 0.0:
            h = 0.0
            for c in range(a, b):
                if s[c] > 0:
                    h -= s[c] / n * np.log(s[c] / n)
            if h < t.entropy[j]:
                return False
    return True


@njit(cache=True, nogil=True)
def gain_of(left, total, t):  # type: ignore[no-untyped-def]
    """What a split gains: reduction of the weighted error (SSE) or of the entropy.

    For squared errors (sL nR - sR nL)^2 / (n nL nR), which loses nothing to cancellation.
    """
    n = total[0]
    nl = left[0]
    nr = n - nl
    r = t.r
    value = 0.0
    if t.gain == ENTROPY:
        for j in range(t.weight.shape[0] - r):
            if t.weight[r + j] > 0.0:
                here = t.xlogx[n] - t.xlogx[nl] - t.xlogx[nr]
                for c in range(t.starts[j], t.starts[j + 1]):
                    here += t.xlogx[left[c]] + t.xlogx[total[c] - left[c]] - t.xlogx[total[c]]
                value += t.weight[r + j] * here
        return value
    both = 0.0
    fnl, fnr = float(nl), float(nr)
    for j in range(r):
        a = float(left[1 + j])
        b = float(total[1 + j] - left[1 + j])
        at = t.missing_at[j]
        if at > 0:
            kl = float(nl - left[at])
            kr = float(nr - (total[at] - left[at]))
            if kl > 0 and kr > 0:
                d = a * kr - b * kl
                value += t.weight[j] * d * d / ((kl + kr) * kl * kr)
        else:
            d = a * fnr - b * fnl
            both += t.weight[j] * d * d
    for j in range(t.weight.shape[0] - r):
        w = t.weight[r + j]
        if w > 0.0:
            for c in range(t.starts[j], t.starts[j + 1]):
                d = float(left[c]) * fnr - float(total[c] - left[c]) * fnl
                both += w * d * d
    return value + both / (float(n) * fnl * fnr)
