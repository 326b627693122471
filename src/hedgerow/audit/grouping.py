"""Rows that share a combination of codes: the classes every measure starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


def _dense(space: int, n: int) -> bool:
    """Whether counting into a table of all keys is cheaper than sorting n keys."""
    return space <= 4 * n + (1 << 12)


@dataclass(frozen=True)
class Grouping:
    """Rows split into classes.

    Parameters
    ----------
    labels : int64 array, shape (n_rows,)
        The class of each row, 0 .. n_groups - 1; classes are numbered by their
        codes, so the numbering does not depend on row order.
    n_groups : int
        Number of classes.
    """

    labels: IntArray
    n_groups: int

    @cached_property
    def sizes(self) -> IntArray:
        """Rows per class."""
        return np.bincount(self.labels, minlength=self.n_groups).astype(np.int64)

    @cached_property
    def first(self) -> IntArray:
        """One row of each class."""
        rows = np.empty(self.n_groups, np.int64)
        rows[self.labels[::-1]] = np.arange(len(self.labels) - 1, -1, -1)
        return rows

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)


def compress(keys: IntArray, space: int) -> tuple[IntArray, int]:
    """Keys renumbered 0 .. m - 1 in their order, and m."""
    if _dense(space, len(keys)):
        seen = np.zeros(space, np.bool_)
        seen[keys] = True
        ranks = np.cumsum(seen, dtype=np.int64) - 1
        return ranks[keys], int(ranks[-1]) + 1 if space else 0
    distinct, inverse = np.unique(keys, return_inverse=True)
    return inverse.astype(np.int64).reshape(-1), len(distinct)


def group(codes: Sequence[npt.NDArray[np.integer]], n_rows: int | None = None) -> Grouping:
    """The classes of rows with equal codes in every column.

    Parameters
    ----------
    codes : sequence of integer arrays, each of shape (n_rows,)
        Non-negative codes, one array a column.
    n_rows : int, optional
        Number of rows when there is no column at all.
    """
    if not codes:
        n = n_rows or 0
        return Grouping(np.zeros(n, np.int64), int(n > 0))
    keys = np.zeros(len(codes[0]), np.int64)
    space = 1
    for column in codes:
        width = int(column.max()) + 1 if len(column) else 1
        if space * width >= 1 << 62:
            keys, space = compress(keys, space)
        keys = keys * width + column
        space *= width
    return Grouping(*compress(keys, space))


@dataclass(frozen=True)
class Counts:
    """How often each value occurs in each class, without the zeros.

    Parameters
    ----------
    groups, values, counts : int64 arrays, shape (n_cells,)
        Sorted by class, then by value code.
    n_groups, n_values : int
        Number of classes and of values in the whole table.
    """

    groups: IntArray
    values: IntArray
    counts: IntArray
    n_groups: int
    n_values: int

    def known(self, n_known: int) -> Counts:
        """Without the codes from `n_known` on, such as that of missing values."""
        if n_known >= self.n_values:
            return self
        kept = self.values < n_known
        return Counts(
            self.groups[kept], self.values[kept], self.counts[kept], self.n_groups, n_known
        )

    @cached_property
    def starts(self) -> IntArray:
        """Where each class begins, with the end of the last one."""
        return np.searchsorted(self.groups, np.arange(self.n_groups + 1)).astype(np.int64)

    @cached_property
    def sizes(self) -> IntArray:
        """Records per class."""
        return np.bincount(self.groups, self.counts, self.n_groups).astype(np.int64)

    @cached_property
    def public(self) -> FloatArray:
        """Share of each value in the whole table."""
        totals = np.bincount(self.values, self.counts, self.n_values)
        return totals / max(totals.sum(), 1)

    @cached_property
    def shares(self) -> FloatArray:
        """Share of each value in its class."""
        return self.counts / self.sizes[self.groups]

    def per_group(self, amounts: npt.NDArray[np.floating]) -> FloatArray:
        """The amounts of the cells, summed by class."""
        return np.bincount(self.groups, amounts, self.n_groups).astype(np.float64, copy=False)

    def max_per_group(self, amounts: npt.NDArray[np.floating]) -> FloatArray:
        """The largest amount in each class."""
        return np.maximum.reduceat(amounts, self.starts[:-1]) if self.n_groups else np.zeros(0)


def count(grouping: Grouping, codes: npt.NDArray[np.integer], n_values: int) -> Counts:
    """Count the values of one column in every class."""
    keys = grouping.labels * n_values + codes
    space = grouping.n_groups * n_values
    if _dense(space, len(keys)):
        dense = np.bincount(keys, minlength=space)
        cells = np.flatnonzero(dense)
        counts = dense[cells]
    else:
        cells, counts = np.unique(keys, return_counts=True)
    return Counts(
        cells // n_values, cells % n_values, counts.astype(np.int64), grouping.n_groups, n_values
    )
