"""Disclosure of a group, as compiled formulas that the grower, the checks and the audit share.

Each formula reads a group's counts as one stretch of an array, whether the
stretch holds every value of a column (a node's statistics) or only those that
occur (the sparse counts of a class). Disclosure comes as a fraction, so that
``gain > cap * public`` compares without dividing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import Floats, Ints
from .compiled import checked


@checked
def number_terms(n: float, total: float, square: float) -> tuple[float, float]:
    """Return a group's disclosure of a number as a fraction (gain, public).

    It is the public squared error less the error of guessing the group's mean, divided by
    the public squared error: (total^2 / n) / square, the complement of a term of
    formula (10) in Li & Sarkar (2014).

    Parameters
    ----------
    n : number
        Records with a known value.
    total : float
        Sum of the values' deviations from the public mean.
    square : float
        Sum of the records' public losses. These are the squared deviations; callers that check a
        cap pass losses with a floor instead (`squared_sums`), so that no record's loss is below it.
    """
    return total * total, n * square


@checked
def brier_terms(counts: npt.NDArray[Any], public: Floats, begin: int, end: int, rest: float) -> tuple[float, float]:
    """Return a group's disclosure of a category as a fraction (gain, public).

    It is the Brier score of guessing the public shares P less that of guessing the
    group's shares p, divided by the former: |p - P|^2 / (1 - 2 p.P + P.P).

    Parameters
    ----------
    counts : array
        The group's records by value, from `begin` to `end`.
    public : float array
        Public share of the value at the same place; below 0 leaves it out (missing).
    begin, end : int
    rest : float
        Sum of the squared public shares of the values that are not in this range.
    """
    n_known = 0.0
    for c in range(begin, end):
        if public[c] >= 0.0:
            n_known += counts[c]
    distance = 0.0
    square = 0.0
    for c in range(begin, end):
        p = public[c]
        if p >= 0.0:
            distance += (counts[c] - n_known * p) ** 2
            square += counts[c] * (1.0 - 2.0 * p) + n_known * p * p
    return distance + n_known * n_known * rest, n_known * (square + n_known * rest)


@checked
def share_gain(
    counts: npt.NDArray[Any], begin: int, end: int, public: Floats, loss: Floats
) -> tuple[float, float, float]:
    """Return the terms of a group's Brier score as (known, gain, lost).

    The disclosure is gain / (known * lost): gain is the sum of (c - known P)^2, lost is
    the sum of the records' public losses.

    Parameters
    ----------
    counts : array
        The group's records by class, from `begin` to `end`.
    public, loss : float arrays
        Public share of each class, and the public loss of one of its records.
    """
    n_known = 0
    gain = lost = 0.0
    for c in range(begin, end):
        n_known += counts[c]
        lost += counts[c] * loss[c]
    for c in range(begin, end):
        gain += (counts[c] - n_known * public[c]) ** 2
    return n_known, gain, lost


@checked
def ranked_gain(
    counts: npt.NDArray[Any], begin: int, end: int, n_known: float, public: Floats, loss: Floats
) -> tuple[float, float]:
    """Return the terms of a group's ranked score over ordered cells as (gain, lost), like `share_gain`."""
    gain = lost = above = 0.0
    for c in range(begin, end):
        above += counts[c] - n_known * public[c]
        gain += above * above  # nothing is left behind the last cell
        lost += counts[c] * loss[c]
    return gain, lost


@checked
def largest(counts: npt.NDArray[Any], begin: int, end: int) -> float:
    """Return the largest count from `begin` to `end`; 0 if there is none."""
    most = counts[begin] if end > begin else 0
    for c in range(begin, end):
        most = max(most, counts[c])
    return most


@checked
def entropy(counts: npt.NDArray[Any], begin: int, end: int, n: float) -> float:
    """Return the entropy in nats of the counts from `begin` to `end`, which sum to n."""
    h = 0.0
    for c in range(begin, end):
        if counts[c] > 0:
            h -= counts[c] / n * np.log(counts[c] / n)
    return h


@checked
def number_disclosures(counts: npt.NDArray[Any], deviation: Floats, starts: Ints) -> Floats:
    """Return the disclosure of a numeric column in every class (see `number_terms`); 0 if the public error is 0.

    Parameters
    ----------
    counts : array of shape (n_cells,)
        Records by class and value.
    deviation : float array of shape (n_cells,)
        The cells' values less the public mean; NaN for missing.
    starts : int64 array of shape (n_classes + 1,)
        Where each class begins, with the end of the last.
    """
    disclosure = np.zeros(starts.shape[0] - 1)
    for g in range(disclosure.shape[0]):
        widest = 0.0  # the fraction does not change with the unit, and squares must not vanish
        for c in range(starts[g], starts[g + 1]):
            widest = max(widest, abs(deviation[c]))
        if widest == 0.0:
            continue
        n, total, lost, square = 0, 0.0, 0.0, 0.0
        for c in range(starts[g], starts[g + 1]):
            d = deviation[c] / widest
            if np.isnan(d):
                continue
            n += counts[c]
            term = counts[c] * d
            # the sum's rounding is kept apart (Neumaier), because deviations cancel
            both = total + term
            lost += (total - both) + term if abs(total) >= abs(term) else (term - both) + total
            total = both
            square += term * d
        a, b = number_terms(n, total + lost, square)
        # Rounding may pass 1, which disclosure cannot.
        disclosure[g] = min(a / b, 1.0)
    return disclosure


@checked
def brier_disclosures(counts: npt.NDArray[Any], public: Floats, starts: Ints, whole: float) -> Floats:
    """Return each class's disclosure of a categorical column: gain over loss of `brier_terms`; 0 if the loss is 0.

    Parameters
    ----------
    counts : array of shape (n_cells,)
        Records by class and value.
    public : float array of shape (n_cells,)
        Public share of each cell's value; below 0 for missing.
    starts : int64 array of shape (n_classes + 1,)
        Where each class begins, with the end of the last.
    whole : float
        Sum of all squared public shares.
    """
    disclosure = np.zeros(starts.shape[0] - 1)
    for g in range(disclosure.shape[0]):
        here = 0.0
        for c in range(starts[g], starts[g + 1]):
            if public[c] >= 0.0:
                here += public[c] ** 2
        # rounding may take the difference below 0
        rest = max(whole - here, 0.0)
        a, b = brier_terms(counts, public, starts[g], starts[g + 1], rest)
        if b > 0.0:
            disclosure[g] = min(a / b, 1.0)
    return disclosure


def largest_counts(counts: npt.NDArray[Any], starts: Ints) -> npt.NDArray[Any]:
    """Return the largest count of every class; 0 for an empty class."""
    most = np.zeros(len(starts) - 1, counts.dtype)
    is_filled = starts[1:] > starts[:-1]
    # For an empty stretch reduceat would give the value at its start.
    most[is_filled] = np.maximum.reduceat(counts, starts[:-1][is_filled])
    return most


@checked
def entropies(counts: npt.NDArray[Any], starts: Ints, sizes: npt.NDArray[Any]) -> Floats:
    """Return the entropy in nats of every class; `sizes` are the sums of the classes' counts."""
    h = np.zeros(sizes.shape[0])
    for g in range(h.shape[0]):
        h[g] = entropy(counts, starts[g], starts[g + 1], sizes[g])
    return h


@checked
def squared_sums(
    starts: Ints, values: npt.NDArray[Any], counts: npt.NDArray[Any], deviation: Floats, floor: float
) -> tuple[Floats, Floats, Floats]:
    """Return per class the sums of deviations, of absolute deviations, and of squares with a floor.

    Parameters
    ----------
    starts : int64 array of shape (n_groups + 1,)
        Index of each class's first sparse count, then the number of sparse counts.
    values, counts : int64 arrays
        The codes in each class, and how often each occurs there.
    deviation : float64 array
        Deviation of each code's value.
    floor : float
        The least square that a record counts.

    Examples
    --------
    >>> one = np.array([1, 1])
    >>> squared_sums(np.array([0, 2]), np.array([0, 1]), one, np.array([-1.0, 3.0]), 2.0)
    (array([2.]), array([4.]), array([11.]))
    """
    n = starts.shape[0] - 1
    summed, absolute, loss = np.zeros(n), np.zeros(n), np.zeros(n)
    for group in range(n):
        s, a, w = 0.0, 0.0, 0.0
        for i in range(starts[group], starts[group + 1]):
            d, c = deviation[values[i]], float(counts[i])
            s += c * d
            a += abs(c * d)
            w += c * max(d * d, floor)
        summed[group], absolute[group], loss[group] = s, a, w
    return summed, absolute, loss


@checked
def cell_counts(
    starts: Ints, values: npt.NDArray[Any], counts: npt.NDArray[Any], cell: npt.NDArray[Any], n_cells: int
) -> Ints:
    """Return the non-zero counts of each class's cells, as three rows: class, cell and count.

    Parameters
    ----------
    starts, values, counts
        See `squared_sums`.
    cell : integer array
        The cell of each code.
    n_cells : int

    Examples
    --------
    >>> made = cell_counts(np.array([0, 3]), np.arange(3), np.array([2, 1, 4]), np.array([0, 1, 0]), 2)
    >>> [part.tolist() for part in made]
    [[0, 0], [0, 1], [6, 1]]
    """
    n = starts.shape[0] - 1
    sparse = np.empty((3, min(values.shape[0], n * n_cells)), np.int64)
    here = np.zeros(n_cells, np.int64)
    at = 0
    for group in range(n):
        for i in range(starts[group], starts[group + 1]):
            here[cell[values[i]]] += counts[i]
        for c in range(n_cells):
            if here[c]:
                sparse[0, at], sparse[1, at], sparse[2, at] = group, c, here[c]
                at += 1
                here[c] = 0
    return sparse[:, :at].copy()


@checked
def _best_windows(
    starts: Ints, values: npt.NDArray[Any], weights: Ints, share: float, width: float
) -> tuple[Ints, Floats]:
    best, at = np.zeros(starts.shape[0] - 1, np.int64), np.zeros(starts.shape[0] - 1)
    for g in range(starts.shape[0] - 1):
        first = starts[g]
        inside = 0
        for i in range(starts[g], starts[g + 1]):
            inside += weights[i]
            reach = share * abs(values[i]) + width
            # the slack lets ends that touch by arithmetic touch in floating point
            low = (values[i] - reach) - 1e-12 * abs(values[i])
            while values[first] + share * abs(values[first]) + width < low:
                inside -= weights[first]
                first += 1
            if inside > best[g]:
                high = values[first] + share * abs(values[first]) + width
                best[g] = inside
                # Halved first, because the sum of two huge ends would overflow.
                at[g] = (values[i] - reach) / 2 + high / 2
    return best, at


def best_windows(
    starts: npt.NDArray[np.integer],
    values: npt.NDArray[np.floating],
    weights: npt.NDArray[np.integer],
    share: float,
    width: float = 0.0,
) -> tuple[Ints, Floats]:
    """Return the largest weight that one guess can hit in each group, and the lowest such guess.

    A guess g hits y when |g - y| <= share * |y| + width. For shares below 1 both
    ends of that interval grow with y, so intervals with a common point are
    neighbours in the sorted order.

    Parameters
    ----------
    starts : integer array, shape (n_groups + 1,)
        Where each group begins.
    values : float array, shape (n,)
        Sorted within each group, finite.
    weights : integer array, shape (n,)
        How often each value occurs.
    share : float, in [0, 1)
    width : float, at least 0

    Returns
    -------
    weight : int64 array, shape (n_groups,)
        The weight that the guess hits.
    guess : float array, shape (n_groups,)

    Examples
    --------
    >>> found = best_windows(np.array([0, 3]), np.array([100.0, 104, 200]), np.array([1, 1, 1]), 0.05)
    >>> found[0].tolist(), found[1].round(6).tolist()
    ([2], [101.9])
    """
    begins, n_each = np.asarray(starts, np.int64), np.asarray(weights, np.int64)
    return _best_windows(begins, np.ascontiguousarray(values, np.float64), n_each, float(share), float(width))
