"""Rows that share a combination of codes: the classes every measure starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels.group import number_keys

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
