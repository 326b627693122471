"""Criteria on the sensitive values of equivalence classes, from counts per class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Diversity = Literal["entropy", "distinct", "recursive"]

_SLACK = 1e-12


def distinct(hist: Ints) -> Ints:
    """Number of different values per class."""
    return np.count_nonzero(hist, axis=1)


def entropy(hist: Ints) -> Floats:
    """Entropy per class in nats; entropy l-diversity asks for log(l)."""
    share = hist / np.maximum(hist.sum(axis=1, keepdims=True), 1)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    return -(share * logs).sum(axis=1)


def recursive(hist: Ints, c: float, l: int) -> Bools:
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_d) with falling counts r."""
    ordered = -np.sort(-hist, axis=1)
    return ordered[:, 0] < c * ordered[:, l - 1 :].sum(axis=1)


def distance(hist: Ints, ordered: bool) -> Floats:
    """Earth mover's distance of every class from the whole table, in [0, 1].

    Ordered values (numbers) are |i - j|/(d - 1) apart, others all 1 apart.
    """
    whole = hist.sum(axis=0) / max(int(hist.sum()), 1)
    return distance_from(hist, whole, ordered)


def distance_from(hist: Ints, whole: Floats, ordered: bool) -> Floats:
    """`distance` from given proportions."""
    share = hist / np.maximum(hist.sum(axis=1, keepdims=True), 1)
    apart = share - whole
    if ordered:
        return np.abs(np.cumsum(apart, axis=1)).sum(axis=1) / max(hist.shape[1] - 1, 1)
    return np.abs(apart).sum(axis=1) / 2


@dataclass(frozen=True)
class Sensitive:
    """One sensitive attribute inside the counts of a class.

    Parameters
    ----------
    columns : slice
        Its columns.
    ordered : bool
        Whether its values are ordered (numbers, dates, ordinal).
    whole : float array
        Proportions in the whole table.
    """

    columns: slice
    ordered: bool
    whole: Floats


def accept(
    sensitive: Sequence[Sensitive],
    l: float | None,
    diversity: Diversity,
    c: float,
    t: float | None,
) -> Callable[[Ints, Ints], Bools]:
    """The test of classes that `Lattice` asks for: every attribute, every criterion."""

    def test(size: Ints, hist: Ints) -> Bools:
        good = np.ones(len(size), dtype=bool)
        for one in sensitive:
            part = hist[:, one.columns]
            if l is not None:
                if diversity == "entropy":
                    good &= entropy(part) >= np.log(l) - _SLACK
                elif diversity == "distinct":
                    good &= distinct(part) >= l
                else:
                    good &= recursive(part, c, int(l))
            if t is not None:
                good &= distance_from(part, one.whole, one.ordered) <= t + _SLACK
        return good

    return test
