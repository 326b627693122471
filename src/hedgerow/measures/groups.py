"""Rows that share a combination of codes: the classes every measure starts from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels.group import number_keys, place

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]

_WIDEST = 1 << 62
"""Keys stay below this, so that 64 bits hold them."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows split into classes.

    Parameters
    ----------
    labels : uint32 array, shape (n_rows,)
        The class of each row, 0 .. n_groups - 1. Widen them before arithmetic.
    first : int64 array, shape (n_groups,)
        The first row of each class.
    """

    labels: npt.NDArray[np.uint32]
    first: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.labels)

    @property
    def n_groups(self) -> int:
        """Number of classes."""
        return len(self.first)

    @cached_property
    def sizes(self) -> IntArray:
        """Records of each class."""
        return np.bincount(self.labels, minlength=self.n_groups).astype(np.int64, copy=False)

    def in_order(self) -> tuple[npt.NDArray[np.uint32], IntArray]:
        """Row numbers class by class, in the order of the rows, and where each class begins.

        Examples
        --------
        >>> rows, starts = group([np.array([1, 1, 0, 1])]).in_order()
        >>> rows.tolist(), starts.tolist()
        ([2, 0, 1, 3], [0, 1])
        """
        starts = np.cumsum(self.sizes) - self.sizes
        rows = np.empty(self.n_rows, np.uint32)
        place(self.labels, starts.copy(), rows)
        return rows, starts


def spans(starts: IntArray, n_rows: int, size: int) -> Iterator[tuple[slice, slice]]:
    """Classes of so many records at a time, or one of more: which, and their places.

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
        last = max(int(np.searchsorted(ends, starts[first] + size, "right")), first + 1)
        yield slice(first, last), slice(int(starts[first]), int(ends[last - 1]))
        first = last


def group(codes: Sequence[npt.NDArray[Any]], n_rows: int | None = None) -> Groups:
    """The classes of rows with equal codes in every column.

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
    >>> found = group([np.array([1, 1, 0, 1]), np.array([5, 0, 0, 5])])
    >>> found.labels.tolist(), found.sizes.tolist(), found.first.tolist()
    ([2, 1, 0, 2], [1, 1, 2], [2, 1, 0])
    """
    n = len(codes[0]) if codes else int(n_rows or 0)
    keys, space = np.zeros(n, np.int64), 1
    for column in codes:
        width = int(column.max()) + 1 if n else 1
        if space * width > _WIDEST:
            keys, space = _ranked(keys)
        if space > 1:
            keys *= width
        keys += column
        space *= width
    labels, _, first = number_keys(keys)
    return Groups(labels, first)


def _ranked(keys: IntArray) -> tuple[IntArray, int]:
    """Keys replaced by their ranks, which keep their order, and how many there are."""
    labels, distinct, _ = number_keys(keys)
    return labels.astype(np.int64), max(len(distinct), 1)
