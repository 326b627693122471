"""Equivalence classes of rows, and how often each value occurs in each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import UnsupportedError
from ..kernels import Floats, Ints
from ..kernels.group import number_keys, place

# keys stay below this, so that 64 bits hold them
_WIDEST = 1 << 62


@dataclass(frozen=True, eq=False)
class Groups:
    """The rows of a table, split into equivalence classes.

    Parameters
    ----------
    labels : uint32 array, shape (n_rows,)
        The class of each row, 0 .. n_groups - 1. Widen them before arithmetic.
    first : int64 array, shape (n_groups,)
        The first row of each class.
    """

    labels: npt.NDArray[np.uint32]
    first: Ints

    @property
    def n_rows(self) -> int:
        """Return the number of rows."""
        return len(self.labels)

    @property
    def n_groups(self) -> int:
        """Return the number of classes."""
        return len(self.first)

    @cached_property
    def sizes(self) -> Ints:
        """Return the number of records in each class."""
        return np.bincount(self.labels, minlength=self.n_groups).astype(np.int64, copy=False)

    def in_order(self) -> tuple[npt.NDArray[np.uint32], Ints]:
        """Return the row numbers sorted by class (rows of a class keep their order), and each class's start.

        Examples
        --------
        >>> rows, starts = group([np.array([1, 1, 0, 1])]).in_order()
        >>> rows.tolist(), starts.tolist()
        ([2, 0, 1, 3], [0, 1])
        """
        starts = np.cumsum(self.sizes) - self.sizes
        rows = np.empty(self.n_rows, np.uint32)
        # `place` moves each start on as it fills the class.
        place(self.labels, starts.copy(), rows)
        return rows, starts


def spans(starts: Ints, n_rows: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Yield pairs of slices: classes with at most `size` records (or one larger class), and their rows.

    Parameters
    ----------
    starts : int64 array, shape (n_groups,)
        Where each class begins among rows that stand class by class.
    n_rows, size : int

    Examples
    --------
    >>> list(spans(np.array([0, 2, 3, 9]), 10, 3))
    [(slice(0, 2, None), slice(0, 3, None)), (slice(2, 3, None), slice(3, 9, None)), \
(slice(3, 4, None), slice(9, 10, None))]
    """
    ends, first = np.append(starts[1:], n_rows), 0
    while first < len(starts):
        # A class of more records than `size` is a range by itself.
        last = max(int(np.searchsorted(ends, starts[first] + size, "right")), first + 1)
        yield slice(first, last), slice(int(starts[first]), int(ends[last - 1]))
        first = last


def group(codes: Sequence[npt.NDArray[Any]], n_rows: int | None = None) -> Groups:
    """Group the rows that have equal codes in every column.

    Classes are numbered by their codes, the first column deciding first, so the
    numbers do not depend on the order of the rows.

    Parameters
    ----------
    codes : sequence of integer arrays, each of shape (n_rows,)
        Codes of at least 0, one array a column. No column makes one class.
    n_rows : int, optional
        Number of rows, needed where there is no column.

    Examples
    --------
    >>> import numpy as np
    >>> groups = group([np.array([1, 1, 0, 1]), np.array([5, 0, 0, 5])])
    >>> groups.labels.tolist(), groups.sizes.tolist(), groups.first.tolist()
    ([2, 1, 0, 2], [1, 1, 2], [2, 1, 0])
    """
    n = len(codes[0]) if codes else int(n_rows or 0)
    keys, space = np.zeros(n, np.int64), 1
    for column in codes:
        width = int(column.max()) + 1 if n else 1
        # Keys would overflow 64 bits: ranks take their place, which are at most the rows and keep
        # the order of the columns before.
        if space * width > _WIDEST:
            ranks, distinct, _ = number_keys(keys)
            keys, space = ranks.astype(np.int64), max(len(distinct), 1)
        if space > 1:
            keys *= width
        keys += column
        space *= width
    labels, _, first = number_keys(keys)
    return Groups(labels, first)


# rows that are counted at once: their keys take eight bytes each, twice
_AT_ONCE = 1 << 24


@dataclass(frozen=True, eq=False)
class Counts:
    """The number of records with each value in each class, zeros left out.

    Counts of different rows over the same classes and values add up (`+`), so
    they may be taken batch by batch.

    Parameters
    ----------
    groups, values, counts : int64 arrays, shape (n_cells,)
        Sorted by class, then by value code; every count is above 0.
    n_groups, n_values : int
        Number of classes and of values in the whole table.
    whole : int64 array, shape (n_values,), optional
        Records of each value in the public's table, where that is more than
        these classes together.
    """

    groups: Ints
    values: Ints
    counts: Ints
    n_groups: int
    n_values: int
    whole: Ints | None = None

    @classmethod
    def from_codes(cls, groups: Groups, codes: npt.NDArray[Any], n_values: int) -> Counts:
        """Count the values of one column in each class.

        Parameters
        ----------
        groups : Groups
        codes : integer array, shape (n_rows,)
            Codes of the values, 0 .. n_values - 1.
        n_values : int
            A missing value has a code like any other.

        Examples
        --------
        >>> from hedgerow.measures import group
        >>> counts = Counts.from_codes(group([np.array([0, 1, 1, 1])]), np.array([2, 0, 2, 0]), 3)
        >>> list(zip(counts.groups.tolist(), counts.values.tolist(), counts.counts.tolist()))
        [(0, 2, 1), (1, 0, 2), (1, 2, 1)]
        """
        parts = (slice(a, a + _AT_ONCE) for a in range(0, max(len(codes), 1), _AT_ONCE))
        return reduce(add, (cls._from_rows(groups, codes, n_values, part) for part in parts))

    @classmethod
    def _from_rows(cls, groups: Groups, codes: npt.NDArray[Any], n_values: int, rows: slice) -> Counts:
        """Count the values of the given rows in each class."""
        space = _space(groups.n_groups, n_values)
        keys = groups.labels[rows].astype(np.int64)
        keys *= n_values
        keys += codes[rows]
        # Few cells: a full table is counted in one pass. Many: sorting keys needs memory of the
        # rows alone, however many values there are.
        if space <= 2 * len(keys):
            dense = np.bincount(keys, minlength=space)
            cells = np.flatnonzero(dense)
            return cls._at(cells, dense[cells], (groups.n_groups, n_values))
        # stable: values that were drawn group by group are sorted already, which it notices
        keys.sort(kind="stable")
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        return cls._at(keys[starts], np.diff(starts, append=len(keys)), (groups.n_groups, n_values))

    @classmethod
    def by_record(cls, groups: Groups, codes: npt.NDArray[Any], n_values: int) -> Counts:
        """Build counts with one cell per record, unsorted: enough for sums over the records of a class.

        A value stands in a class as often as it occurs there, in any order. Such counts serve
        promises on numbers, nearly all of whose values differ; they are not added to others.

        Parameters
        ----------
        groups : Groups
            With ascending labels.
        codes : integer array, shape (n_rows,)
        n_values : int

        Examples
        --------
        >>> counts = Counts.by_record(group([np.array([0, 0, 1])]), np.array([2, 2, 0]), 3)
        >>> counts.sizes.tolist()
        [2, 1]
        """
        labels, each = groups.labels.astype(np.int64), np.ones(len(codes), np.int64)
        return cls(labels, codes.astype(np.int64), each, groups.n_groups, n_values)

    @classmethod
    def dense(cls, table: Ints, whole: Ints | None = None) -> Counts:
        """Build counts from a full table of shape (classes, values).

        Examples
        --------
        >>> Counts.dense(np.array([[4, 0], [1, 2]])).counts.tolist()
        [4, 1, 2]
        """
        flat = np.ascontiguousarray(table).reshape(-1)
        cells = np.flatnonzero(flat)
        return cls._at(cells, flat[cells].astype(np.int64, copy=False), table.shape, whole)

    @classmethod
    def _at(cls, keys: Ints, counts: Ints, shape: tuple[int, ...], whole: Ints | None = None) -> Counts:
        """Build counts from ascending cell numbers (class * n_values + value); `shape` is (classes, values)."""
        groups = keys // max(shape[1], 1)
        counts = counts.astype(np.int64, copy=False)
        return cls(groups, keys - groups * shape[1], counts, shape[0], shape[1], whole)

    @classmethod
    def _summed(cls, keys: Ints, counts: Ints, shape: tuple[int, int], whole: Ints | None) -> Counts:
        """Build counts from cell numbers in any order, adding up the counts of equal numbers."""
        order = np.argsort(keys, kind="stable")
        keys, counts = keys[order], counts[order]
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        added = np.add.reduceat(counts, starts) if len(starts) else counts
        return cls._at(keys[starts], added, shape, whole)

    def __add__(self, other: Counts) -> Counts:
        shape = self.n_groups, self.n_values
        if shape != (other.n_groups, other.n_values):
            raise ValueError("counts of other classes or values do not add up")
        whole = None if self.whole is None or other.whole is None else self.whole + other.whole
        keys = np.concatenate([self._keys, other._keys])
        return Counts._summed(keys, np.concatenate([self.counts, other.counts]), shape, whole)

    @property
    def _keys(self) -> Ints:
        return self.groups * self.n_values + self.values

    def some(self, cells: npt.NDArray[Any] | slice) -> Counts:
        """Return the chosen cells alone; classes and values keep their numbers."""
        return replace(self, groups=self.groups[cells], values=self.values[cells], counts=self.counts[cells])

    def placed(
        self,
        *,
        groups: Ints | None = None,
        n_groups: int | None = None,
        values: Ints | None = None,
        n_values: int | None = None,
    ) -> Counts:
        """Renumber classes and values, and add up the counts that then share a cell.

        Parameters
        ----------
        groups, values : int64 arrays, optional
            The new number of each class, of each value.
        n_groups, n_values : int, optional
            How many there are then.
        """
        g = self.n_groups if n_groups is None else n_groups
        v = self.n_values if n_values is None else n_values
        _space(g, v)
        at = self.groups if groups is None else groups[self.groups]
        code = self.values if values is None else values[self.values]
        whole = self.whole
        if whole is not None:
            whole = np.bincount(np.arange(self.n_values) if values is None else values, whole, v)
            whole = whole.astype(np.int64)
        return Counts._summed(at * v + code, self.counts, (g, v), whole)

    @cached_property
    def starts(self) -> Ints:
        """Return the index of each class's first cell, then the number of cells; shape (n_groups + 1,)."""
        return np.searchsorted(self.groups, np.arange(self.n_groups + 1)).astype(np.int64)

    @cached_property
    def sizes(self) -> Ints:
        """Return the number of records in each class."""
        return self.per_group(self.counts).astype(self.counts.dtype)

    @cached_property
    def totals(self) -> Ints:
        """Return the number of records with each value in the whole table."""
        if self.whole is not None:
            return self.whole
        return np.bincount(self.values, self.counts, self.n_values).astype(np.int64)

    @cached_property
    def public(self) -> Floats:
        """Return the share of each value in the whole table."""
        return self.totals / max(int(self.totals.sum()), 1)

    @cached_property
    def shares(self) -> Floats:
        """Return each cell's share of the records of its class; shape (n_cells,)."""
        return self.counts / self.sizes[self.groups]

    def per_group(self, amounts: npt.NDArray[Any]) -> Floats:
        """Sum an amount per cell over each class; shape (n_groups,)."""
        return np.bincount(self.groups, amounts, self.n_groups).astype(np.float64, copy=False)

    def max_per_group(self, amounts: npt.NDArray[np.floating]) -> Floats:
        """Return the largest amount of any cell in each class; shape (n_groups,)."""
        return np.maximum.reduceat(amounts, self.starts[:-1]) if self.n_groups else np.zeros(0)


def _space(n_groups: int, n_values: int) -> int:
    space = n_groups * n_values
    if space >= 1 << 63:
        raise UnsupportedError(
            f"{n_groups:,} groups and {n_values:,} values make more pairs than can be numbered",
            hint="coarsen the sensitive column",
        )
    return space
