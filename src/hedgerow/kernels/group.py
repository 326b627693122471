"""Grouping rows by several code columns: one hash table, exact, linear."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numba import njit

_MIX = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _first_seen(keys, column, group, table):  # type: ignore[no-untyped-def]
    """Refine `group` by one more column; groups are numbered by first appearance."""
    mask = np.uint64(table.shape[0] - 1)
    n_groups = 0
    for i in range(group.shape[0]):
        key = (np.uint64(group[i]) << np.uint64(32)) | np.uint64(column[i])
        h = key * _MIX
        slot = (h ^ (h >> np.uint64(29))) & mask
        while True:
            g = table[slot]
            if g < 0:
                table[slot] = n_groups
                keys[n_groups] = key
                group[i] = n_groups
                n_groups += 1
                break
            if keys[g] == key:
                group[i] = g
                break
            slot = (slot + np.uint64(1)) & mask
    return n_groups


def group_rows(
    columns: Sequence[npt.NDArray[np.unsignedinteger]], n_rows: int | None = None
) -> tuple[npt.NDArray[np.uint32], int]:
    """Number the distinct rows of several code columns.

    Parameters
    ----------
    columns : sequence of unsigned integer arrays, each of shape (n,)
        Codes; equal codes are equal values. No columns make one group.
    n_rows : int, optional
        The number of rows, needed when there are no columns.

    Returns
    -------
    group : uint32 array of shape (n,)
        Group of each row, numbered by first appearance.
    n_groups : int

    Examples
    --------
    >>> group_rows([np.array([1, 1, 2, 1], "u1"), np.array([0, 5, 0, 0], "u1")])
    (array([0, 1, 2, 0], dtype=uint32), 3)
    """
    n = len(columns[0]) if columns else int(n_rows or 0)
    group = np.zeros(n, np.uint32)
    n_groups = min(n, 1)
    if not n:
        return group, 0
    keys = np.empty(n, np.uint64)
    size = 1 << (2 * n - 1).bit_length()
    table = np.empty(size, np.int32)
    for column in columns:
        table.fill(-1)
        n_groups = _first_seen(keys, np.ascontiguousarray(column), group, table)
    return group, int(n_groups)
