"""Record linkage: find out which of several records is a person's own.

Linkage by distance names the nearest record. Linkage by probability names the record whose
levels of agreement, column by column, have the largest weight (Fellegi & Sunter 1969). The
probabilities behind the weights are estimated by EM on the counts of the patterns (Jaro 1989;
levels: Winkler 1990), so pairs are counted and never stored. Records that are linked equally
well share the link.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..kernels import Bools, Floats, Ints
from ..kernels.neighbours import estimate

# columns whose agreement patterns can be counted; up to half of these by levels
MOST_COLUMNS = 20
# weights that differ by less are the same but for rounding
_DIGITS = 9


def credit(ties: npt.NDArray[np.floating] | Ints) -> Floats:
    """Return the chance of naming the person's own record: 1/t if t records tie, 0 if another links better.

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


def bits_of(columns: int) -> int:
    """Return the number of bits per column in a pattern: two (four levels), or one if there are many columns."""
    return 2 if 2 * columns <= MOST_COLUMNS else 1


def estimate_agreement(
    counts: Ints, columns: int, belong: float, sure: Bools | None = None, steps: int = 300, change: float = 1e-7
) -> tuple[Floats, Floats]:
    """Estimate the share of each level of agreement among matching pairs (m) and non-matching pairs (u).

    m is estimated by EM and u from all pairs, given that each person has exactly one of the records.

    Parameters
    ----------
    counts : int64 array, shape (2**bits,)
        Pairs by pattern.
    columns : int
        The pattern's columns, d.
    belong : float
        The share of pairs that belong together: one of the records of each person.
    sure : bool array, shape (d,), optional
        Columns that agree by construction with the person's own record.
    steps : int
        Most rounds of EM.
    change : float
        Stop when no share moves by more.

    Returns
    -------
    float arrays, shape (d, levels)
        m and u, in (0, 1); level 0 is disagreement, the last one the nearest.
    """
    bits = (len(counts).bit_length() - 1) // columns
    patterns = np.flatnonzero(counts).astype(np.uint32)
    weight = counts[patterns].astype(float)
    levels = 1 << bits
    u = np.empty((columns, levels))
    for c in range(columns):
        level = patterns >> np.uint32(bits * c) & np.uint32(levels - 1)
        u[c] = np.bincount(level, weight, levels) / weight.sum()
    u = np.clip(u, 1e-9, 1 - 1e-9)
    sure = np.zeros(columns, np.bool_) if sure is None else sure
    # EM finds the maximum near its start: pairs that belong together mostly agree.
    near = np.where(sure, 0.999, 0.9)[:, None]
    m = np.broadcast_to((1 - near) / (levels - 1), u.shape).copy()
    m[:, -1:] = near
    return estimate(patterns, weight, m, u, belong, sure, steps, change), u


def pattern_weights(m: Floats, u: Floats, *, informative: bool = False) -> Floats:
    """Return the weight of every pattern, shape (2**bits,): the sum over columns of log2 m/u.

    Parameters
    ----------
    m, u : float arrays, shape (d, levels)
        The probabilities that `estimate_agreement` returns.
    informative : bool
        Clip the weights so that agreement never counts against a pair and disagreement never counts
        for it, and the levels between lie between the two.
    """
    by_level = np.log2(m / u)
    if informative:
        far, near = np.minimum(by_level[:, :1], 0.0), np.maximum(by_level[:, -1:], 0.0)
        by_level = np.clip(by_level, far, near)
        by_level[:, :1], by_level[:, -1:] = far, near
    summed = np.zeros(1)
    for column in by_level:  # a later column has higher bits
        summed = np.add.outer(column, summed).reshape(-1)
    # Patterns of one weight must tie, whatever the order in which their levels were added.
    return np.round(summed, _DIGITS)


def prefix_weights(counts: Ints, columns: int, belong: float) -> Floats:
    """Return the `pattern_weights` of the first 1, ..., d columns, laid out as `count_ties` reads them.

    Examples
    --------
    >>> weights = prefix_weights(np.array([80, 2, 1, 17]), 2, 0.1)
    >>> weights.shape, bool(weights[4 + 3] > weights[4 + 1])
    ((8,), True)
    """
    bits = (len(counts).bit_length() - 1) // columns
    weights = np.zeros(2 * len(counts))
    for j in range(1, columns + 1):
        size = 1 << (bits * j)
        folded = counts.reshape(-1, size).sum(axis=0)
        weights[size : 2 * size] = pattern_weights(*estimate_agreement(folded, j, belong))
    return weights
