"""Partitions executed in memory: every row is routed to its leaf."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..kernels.compiled import checked
from ..kernels.threads import side_by_side
from ..plan import Partition, Recoded
from ..table import Column, Table
from ..table.cover import Cover
from .base import Transformed


@checked
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
    length = 0
    for j, column in enumerate(columns):
        here = np.flatnonzero(split == j)
        if column.is_number:
            bar[here] = np.searchsorted(np.asarray(column.values), threshold[here])
            continue
        place = {name: code for code, name in enumerate((*column.values, None))}
        used, which = np.unique(subset[here], return_inverse=True)
        inside = np.zeros((len(used), len(place)), np.bool_)
        for row, chosen in zip(inside, used, strict=True):
            row[[place[name] for name in recoding.subsets[chosen] if name in place]] = True
        subset_at[here] = length + which * len(place)
        tables.append(inside.ravel())
        length += inside.size
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
    columns = [table.like(c) for c in recoding.columns]
    leaf = route(recoding, columns)
    places = range(len(columns))

    def released(j: int) -> pa.Array:
        return released_column(recoding.columns[j], np.asarray(recoding.leaf_cells[j]), leaf)

    def outside(j: int) -> int:
        cell = np.asarray(recoding.leaf_cells[j])[leaf]
        return count_outside(recoding.columns[j], cell, columns[j])

    made = side_by_side(released, places, table.n_rows * len(columns))
    names = [c.name for c in recoding.columns]
    return Transformed(dict(zip(names, made, strict=True)), lambda: sum(map(outside, places)))


def released_column(
    recoded: Recoded, cells: npt.NDArray[np.int32], leaf: npt.NDArray[np.uint32]
) -> pa.Array:
    """The released values of rows, given the cell of each leaf and the leaf of each row.

    Text comes as dictionary codes, numbers as doubles without a negative zero.
    """
    labels = [c.label for c in recoded.cells]
    if any(isinstance(x, str) for x in labels):
        words = [None if x is None else str(x) for x in labels]
        # entries of this very table alone: a file shows its whole dictionary
        used = np.bincount(leaf, minlength=len(cells)) > 0
        held = np.flatnonzero(np.bincount(cells[used], minlength=len(words)))
        kept = dict.fromkeys(w for w in (words[i] for i in held) if w is not None)
        position = {w: i for i, w in enumerate(kept)}
        index = np.array([position.get(w, -1) if w is not None else -1 for w in words], np.int32)
        codes = index[cells][leaf]
        missing = codes < 0 if any(words[i] is None for i in held) else None
        return pa.DictionaryArray.from_arrays(
            pa.array(codes, mask=missing), pa.array(list(position), pa.string()), safe=False
        )
    values = np.array([np.nan if x is None else float(x) + 0.0 for x in labels])[cells][leaf]
    return pa.array(values, mask=np.isnan(values))


def count_outside(recoded: Recoded, cell: npt.NDArray[np.int32], column: Column) -> int:
    """Cells whose original value the released cell does not cover."""
    cover = Cover.of(recoded.cells, () if column.is_number else column.values, column.exact)
    if column.is_number:
        held = cover.numbers(column.places[column.codes], cell)
    else:
        held = cover.categories(column.codes, cell)
    return int(np.count_nonzero(~held))
