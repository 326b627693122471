"""Record linkage: which of the records at hand is a person's own.

By distance the nearest record is named, by probability the one whose agreeing
columns weigh most (Fellegi & Sunter 1969), their probabilities estimated by EM on
the counts of the agreement patterns (Jaro 1989), so that pairs are counted and
never stored. Records that are linked equally well share the link.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..kernels.patterns import estimate
from .counts import FloatArray
from .groups import IntArray

MOST_COLUMNS = 20
"""Columns whose agreement patterns can be counted."""
_DIGITS = 9
"""Weights that differ by less are the same but for rounding."""


def credit(ties: npt.NDArray[np.floating] | IntArray) -> FloatArray:
    """The chance that a person's own record is named: 1/t where t records are linked as well.

    Parameters
    ----------
    ties : array
        How many records, the own one included, are linked as well as the own one;
        0 where another is linked better.

    Examples
    --------
    >>> credit(np.array([1, 4, 0])).tolist()
    [1.0, 0.25, 0.0]
    """
    return np.divide(1.0, ties, out=np.zeros(np.shape(ties)), where=np.asarray(ties) > 0)


@dataclass(frozen=True, eq=False)
class Agreement:
    """How often each column agrees among pairs that belong together (m), and among others (u).

    Parameters
    ----------
    m, u : float arrays, shape (d,)
        In (0, 1).
    """

    m: FloatArray
    u: FloatArray

    @classmethod
    def estimated(
        cls, counts: IntArray, columns: int, start: float, steps: int = 1000, change: float = 1e-9
    ) -> Agreement:
        """m, u and the share of pairs that belong together, from all pairs alone.

        Parameters
        ----------
        counts : int64 array, shape (2**columns,)
            Pairs by pattern.
        columns : int
        start : float
            First guess of the share of pairs that belong together.
        steps : int
            Most rounds of EM.
        change : float
            Stop when no probability moves by more.
        """
        seen = np.flatnonzero(counts).astype(np.uint32)
        m, u = np.full(columns, 0.9), np.full(columns, 0.1)
        free = np.zeros(columns, np.bool_)
        found = estimate(seen, counts[seen].astype(float), m, u, start, free, False, steps, change)
        return cls(*found)

    @classmethod
    def of_members(
        cls, counts: IntArray, sure: npt.NDArray[np.bool_], records: int, steps: int = 50
    ) -> Agreement:
        """m, where every person has exactly one of the records and u is seen on all pairs.

        Parameters
        ----------
        counts : int64 array, shape (2**d,)
            Pairs by pattern.
        sure : bool array, shape (d,)
            Columns that agree by construction with the person's own record.
        records : int
            How many records there are.
        steps : int
            Rounds of EM.
        """
        seen = np.flatnonzero(counts).astype(np.uint32)
        weight = counts[seen].astype(float)
        bits = (seen[:, None] >> np.arange(len(sure), dtype=np.uint32)) & 1
        u = np.clip(weight @ bits / weight.sum(), 1e-6, 1 - 1e-6)
        m = np.where(sure, 0.999, 0.99)
        return cls(*estimate(seen, weight, m, u, 1.0 / records, sure, True, steps, 0.0))

    def weights(self, *, informative: bool = False) -> FloatArray:
        """Weight of every pattern, shape (2**d,): log2 m/u where a column agrees, else of the rest.

        Parameters
        ----------
        informative : bool
            A column that agrees less often among pairs that belong together than
            among others weighs nothing.
        """
        yes, no = np.log2(self.m / self.u), np.log2((1 - self.m) / (1 - self.u))
        if informative:
            yes, no = np.maximum(yes, 0.0), np.minimum(no, 0.0)
        made = np.zeros(1)
        for agree, differ in zip(yes, no, strict=True):  # the upper half has the column's bit
            made = np.concatenate([made + differ, made + agree])
        return np.round(made, _DIGITS)


def prefix_weights(counts: IntArray, columns: int, start: float) -> FloatArray:
    """`Agreement.weights` of the first 1, ..., d columns, as `count_ties` reads them.

    Examples
    --------
    >>> weights = prefix_weights(np.array([80, 2, 1, 17]), 2, 0.1)
    >>> weights.shape, bool(weights[4 + 3] > weights[4 + 1])
    ((8,), True)
    """
    made = np.zeros(2 << columns)
    for j in range(1, columns + 1):
        folded = counts.reshape(-1, 1 << j).sum(axis=0)
        made[1 << j : 2 << j] = Agreement.estimated(folded, j, start).weights()
    return made


def last_weights(agreement: Agreement) -> FloatArray:
    """The weights of all columns together, as `count_ties` reads them; shorter prefixes are 0."""
    weights = agreement.weights(informative=True)
    return np.concatenate([np.zeros(len(weights)), weights])
