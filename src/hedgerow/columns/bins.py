"""Cutting a column into bins of whole distinct values, from its value counts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .column import smallest
from .value_counts import ValueCounts


@dataclass(frozen=True, eq=False, repr=False)
class Bins:
    """Bins of whole distinct values.

    Parameters
    ----------
    lookup : ndarray of the smallest unsigned integers, shape (n_values + 1,)
        Bin of each value code; the missing code, at the end, becomes `n_bins`.
    n_bins : int
        Number of bins.
    lo, hi : ndarray of float64, shape (n_bins,)
        Smallest and largest value in each bin; empty for categories.
    thresholds : ndarray of float64, shape (n_bins - 1,)
        Midpoints between neighbouring bins; values below `thresholds[i]` lie in bins 0 .. i.
    public : bool
        Whether the thresholds are points that somebody declared.
    """

    lookup: NDArray[Any]
    n_bins: int
    lo: NDArray[np.float64]
    hi: NDArray[np.float64]
    thresholds: NDArray[np.float64]
    public: bool = False

    @property
    def changes(self) -> bool:
        """Whether bins differ from the value codes."""
        return self.n_bins + 1 != len(self.lookup) or self.lookup[-1] != self.n_bins

    def whole(self) -> Bins:
        """All values in one bin, missing ones too, so that nothing is cut."""
        one = slice(0, 1 if len(self.lo) else 0)
        lookup = np.zeros_like(self.lookup)
        return Bins(lookup, 1, self.lo[one], self.hi[-1:], self.thresholds[:0])

    def codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        """The bin of each row, from the row's value codes; `codes` itself where nothing changes."""
        return self.lookup[codes] if self.changes else codes


def bins_between(counts: ValueCounts, points: NDArray[np.float64]) -> Bins:
    """Cut a column of numbers at public points: a bin holds the values from one on, below the next.

    Bins without values are left out; each threshold is the point where the bin above it begins.

    Examples
    --------
    >>> import numpy as np
    >>> ages = ValueCounts("age", "numeric", "", np.array([1.0, 2, 3, 9]), np.ones(4, int))
    >>> cut = bins_between(ages, np.array([2.0, 4, 6, 8]))
    >>> cut.lookup.tolist(), cut.thresholds.tolist()
    ([0, 1, 1, 2, 3], [2.0, 8.0])
    """
    values = np.asarray(counts.values, np.float64)
    held, first, bins = np.unique(
        np.searchsorted(points, values, side="right"), return_index=True, return_inverse=True
    )
    last = np.append(first[1:], len(values)) - 1
    lookup = np.append(bins.reshape(-1), len(held)).astype(smallest(len(held) + 1))
    return Bins(lookup, len(held), values[first], values[last], points[held[1:] - 1], True)


def bins_of(counts: ValueCounts, max_bins: int = 1024) -> Bins:
    """Cut a column of numbers at quantiles into at most `max_bins` bins.

    A bin holds whole distinct values, so the cut does not depend on row order. Columns
    with at most `max_bins` distinct values, and categories, keep one bin per value.

    Parameters
    ----------
    counts : ValueCounts
    max_bins : int
        Most bins, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> ages = ValueCounts("age", "numeric", "", np.array([1.0, 2, 3, 9]), np.ones(4, int))
    >>> cut = bins_of(ages, max_bins=2)
    >>> cut.lookup.tolist(), cut.lo.tolist(), cut.hi.tolist(), cut.thresholds.tolist()
    ([0, 0, 1, 1, 2], [1.0, 3.0], [2.0, 9.0], [2.5])
    """
    n = counts.n_values
    if not counts.is_number:
        empty = np.empty(0)
        return Bins(np.arange(n + 1, dtype=smallest(n + 1)), n, empty, empty, empty)
    lo = hi = np.asarray(counts.values, np.float64)
    lookup = np.arange(n + 1, dtype=smallest(n + 1))
    first = np.flatnonzero(
        np.append(True, lo[1:] != lo[:-1])
    )  # numbers that share a double: one bin
    if n > max_bins:
        before = np.cumsum(counts.counts) - counts.counts
        share = before * max_bins // max(counts.known, 1)
        first = first[np.flatnonzero(np.diff(share[first], prepend=-1))]
    if len(first) < n:
        bins = np.repeat(np.arange(len(first)), np.diff(first, append=n))
        lo, hi = lo[first], hi[np.append(first[1:], n) - 1]
        lookup = np.append(bins, len(first)).astype(smallest(len(first) + 1))
    middle = hi[:-1] / 2 + lo[1:] / 2
    thresholds = np.where(middle > hi[:-1], middle, lo[1:])
    return Bins(lookup, len(lo), lo, hi, thresholds)
