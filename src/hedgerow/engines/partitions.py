"""Partitions executed in memory: every row is routed to its leaf."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from numba import njit

from ..kernels.threads import side_by_side
from ..plan import Partition, Recoded
from ..table import Column, Table
from ..table.cover import Cover
from .base import Transformed


@njit(cache=True, nogil=True)
def _route(  # type: ignore[no-untyped-def]
    codes, split, bar, is_subset, subset_at, goes_left, missing_left, missing_code, right, leaf, out
):
    """Follow each row down the tree to the number of its leaf."""
    for i in range(codes.shape[0]):
        node = 0
        while split[node] >= 0:
            column = split[node]
            code = np.int64(codes[i, column])
            if is_subset[node]:
                left = goes_left[subset_at[node] + code]
            elif code == missing_code[column]:
                left = missing_left[node]
            else:
                left = code < bar[node]
            node = node + 1 if left else right[node]
        out[i] = leaf[node]


def route(recoding: Partition, columns: list[Column]) -> npt.NDArray[np.uint32]:
    """The leaf of each row, given the encoded columns in the recoding's order."""
    n = len(columns[0].codes)
    split = np.array(recoding.split, np.int64)
    right = np.array(recoding.right, np.int64)
    threshold = np.array(recoding.threshold, float)
    subset = np.array(recoding.subset, np.int64)
    is_subset = subset >= 0
    bar = np.zeros(len(split), np.int64)
    subset_at = np.zeros(len(split), np.int64)
    tables: list[npt.NDArray[np.bool_]] = []
    placed: dict[tuple[int, int], int] = {}
    length = 0
    for j, column in enumerate(columns):
        here = np.flatnonzero(split == j)
        if column.is_number:
            bar[here] = np.searchsorted(np.asarray(column.values), threshold[here])
            continue
        for node in here:
            key = (j, int(subset[node]))
            if key not in placed:
                chosen = set(recoding.subsets[key[1]])
                tables.append(
                    np.array([*(v in chosen for v in column.values), None in chosen], bool)
                )
                placed[key] = length
                length += len(tables[-1])
            subset_at[node] = placed[key]
    lut = np.concatenate(tables) if tables else np.zeros(1, bool)
    leaf = np.cumsum(split < 0) - 1
    out = np.empty(n, np.uint32)
    _route(
        _stack(columns),
        split,
        bar,
        is_subset,
        subset_at,
        lut,
        np.array(recoding.missing_left, bool),
        np.array([c.n_values for c in columns], np.int64),
        right,
        leaf,
        out,
    )
    return out


def _stack(columns: list[Column]) -> npt.NDArray[np.unsignedinteger]:
    kind = np.result_type(*(c.codes.dtype for c in columns))
    return np.ascontiguousarray(
        np.stack([c.codes for c in columns], axis=1).astype(kind, copy=False)
    )


def partition(recoding: Partition, table: Table) -> Transformed:
    """The released cells of the leaf that each row comes to."""
    columns = [encoded(c, table) for c in recoding.columns]
    leaf = route(recoding, columns)

    def one(j: int) -> tuple[pa.Array, int]:
        recoded = recoding.columns[j]
        cell = np.array(recoding.leaf_cells[j], np.int32)[leaf]
        return released_column(recoded, cell), count_outside(recoded, cell, columns[j])

    made = side_by_side(one, range(len(columns)), table.n_rows * len(columns))
    names = [c.name for c in recoding.columns]
    return Transformed(
        {n: array for n, (array, _) in zip(names, made, strict=True)}, sum(o for _, o in made)
    )


def encoded(recoded: Recoded, table: Table) -> Column:
    """A table's column under the kind and unit that the plan knows it by."""
    return table.column(recoded.name, kind=recoded.kind, unit=recoded.unit or None)


def released_column(recoded: Recoded, cell: npt.NDArray[np.int32]) -> pa.Array:
    """The released values of the given cells: text as dictionary codes, numbers as doubles."""
    labels = [c.label for c in recoded.cells]
    if any(isinstance(x, str) for x in labels):
        words = [None if x is None else str(x) for x in labels]
        position = {w: i for i, w in enumerate(dict.fromkeys(w for w in words if w is not None))}
        index = np.array([-1 if w is None else position[w] for w in words], np.int32)[cell]
        return pa.DictionaryArray.from_arrays(
            pa.array(index, mask=index < 0), pa.array(list(position), pa.string())
        )
    numbers = np.array([np.nan if x is None else float(x) for x in labels])[cell]
    return pa.array(numbers, mask=np.isnan(numbers))


def count_outside(recoded: Recoded, cell: npt.NDArray[np.int32], column: Column) -> int:
    """Cells whose original value the released cell does not cover."""
    cover = Cover.of(recoded.cells, () if column.is_number else column.values)
    if column.is_number:
        held = cover.numbers(column.by_code[column.codes], cell)
    else:
        held = cover.categories(column.codes, cell)
    return int(np.count_nonzero(~held))
