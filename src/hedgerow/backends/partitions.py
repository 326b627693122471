"""Recoding by partitions: each row is routed to its leaf and released as the cells of its group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.arrays import distinct_of, slices
from ..columns.column import Column
from ..columns.cover import Cover
from ..columns.table import Table
from ..hierarchy import TOP
from ..kernels import Bools, Ints32, UInts32
from ..kernels.compiled import checked
from ..plan import Partition, Recoded
from .base import Transformed
from .release_order import TEXT, ReleasedCodes


class CodedTree(NamedTuple):
    """A tree whose splits test codes, stored as arrays over its nodes in pre-order.

    A code goes left if it is below `bar` or, at a subset split, if ``goes_left[subset_at + code]``.
    `missing_code` has one entry per column.
    """

    split: Any
    bar: Any
    is_subset: Any
    subset_at: Any
    goes_left: Any
    missing_left: Any
    missing_code: Any
    right: Any
    leaf: Any


@checked
def follow(codes, tree, out):  # type: ignore[no-untyped-def]
    """Follow the splits of the tree for each row, and write the number of its leaf to `out`."""
    split, bar, is_subset, subset_at, goes_left, missing_left, missing_code, right, leaf = tree
    for i in range(codes.shape[0]):
        node = 0
        while split[node] >= 0:
            column = split[node]
            code = np.int64(codes[i, column])
            if is_subset[node]:
                is_left = goes_left[subset_at[node] + code]
            elif code == missing_code[column]:
                is_left = missing_left[node]
            else:
                is_left = code < bar[node]
            # pre-order: the left child comes right after its parent
            node = node + 1 if is_left else right[node]
        out[i] = leaf[node]


# rows whose codes are stacked into one array at a time
_WINDOW = 1 << 20


def coded_tree(recoding: Partition, columns: list[Column]) -> CodedTree:
    """Return a partition's tree with splits on the codes of `columns`, which are in the recoding's order."""
    split = np.array(recoding.split, np.int64)
    threshold = np.array(recoding.threshold, float)
    subset = np.array(recoding.subset, np.int64)
    bar = np.zeros(len(split), np.int64)
    subset_at = np.zeros(len(split), np.int64)
    tables: list[Bools] = []
    length = 0
    for j, column in enumerate(columns):
        here = np.flatnonzero(split == j)
        if column.is_number:
            # a threshold between two values is a bar between two codes, so rows are compared as small integers
            bar[here] = np.searchsorted(np.asarray(column.values), threshold[here])
            continue
        place = {name: code for code, name in enumerate((*column.values, None))}
        # nodes that send the same categories left share a table
        used, which = np.unique(subset[here], return_inverse=True)
        inside = np.zeros((len(used), len(place)), np.bool_)
        for row, chosen in zip(inside, used, strict=True):
            row[[place[name] for name in recoding.subsets[chosen] if name in place]] = True
        subset_at[here] = length + which * len(place)
        tables.append(inside.ravel())
        length += inside.size
    goes_left = np.concatenate(tables) if tables else np.zeros(1, bool)
    missing_left, right = np.array(recoding.missing_left, bool), np.array(recoding.right, np.int64)
    missing_code, leaf = np.array([c.n_values for c in columns], np.int64), np.cumsum(split < 0) - 1
    return CodedTree(split, bar, subset >= 0, subset_at, goes_left, missing_left, missing_code, right, leaf)


def route(recoding: Partition, columns: list[Column], out: UInts32 | None = None) -> UInts32:
    """Return the leaf number of each row, given the encoded columns in the recoding's order.

    `out` is the array to fill, by default a new one.
    """
    tree, kind = coded_tree(recoding, columns), np.result_type(*(c.codes.dtype for c in columns))
    leaf = np.empty(len(columns[0].codes), np.uint32) if out is None else out
    for rows in slices(len(leaf), _WINDOW):
        codes = np.stack([c.codes[rows] for c in columns], axis=1)
        follow(codes.astype(kind, copy=False), tree, leaf[rows])
    return leaf


def recode(recoding: Partition, table: Table) -> Transformed:
    """Return the released columns: each row is routed to its leaf and gets that leaf's cell in every column."""
    columns = [table.like(c) for c in recoding.columns]
    # one leaf number per row, shared by all columns
    leaf = route(recoding, columns, table.allocate((table.n_rows,), np.uint32))
    released = {}
    for recoded, cells in zip(recoding.columns, recoding.leaf_cells, strict=True):
        entries, place = labels_of(recoded)
        kind = TEXT if pa.types.is_string(entries.type) else entries.type
        released[recoded.name] = ReleasedCodes(recoded.name, kind, entries, leaf, place[np.asarray(cells)])

    def outside(j: int) -> Iterator[tuple[slice, Bools]]:
        column, cells = columns[j], np.asarray(recoding.leaf_cells[j])
        cover = Cover.from_cells(recoding.columns[j].cells, () if column.is_number else column.values, column.exact)
        for rows in slices(table.n_rows, _WINDOW):
            codes, cell = column.codes[rows], cells[leaf[rows]]
            if column.is_number:
                yield rows, ~cover.covers_numbers(column.places[codes], cell)
            else:
                yield rows, ~cover.covers_codes(codes, cell)

    def suppressed(j: int, column: ReleasedCodes) -> ReleasedCodes:
        entries, star = with_star(column.entries)
        codes = table.allocate((table.n_rows,), np.uint32)
        for rows, where in outside(j):
            codes[rows] = np.where(where, len(column.place), leaf[rows])
        return replace(column, entries=entries, numbers=codes, place=np.append(column.place, star))

    return Transformed(
        released,
        lambda: sum(int(np.count_nonzero(where)) for j in range(len(columns)) for _, where in outside(j)),
        lambda: {name: suppressed(j, column) for j, (name, column) in enumerate(released.items())},
    )


def with_star(entries: pa.Array) -> tuple[pa.Array, int]:
    """Return the released values including the suppressed one (`*`, or missing for numbers), and its index."""
    star = pa.array([TOP if pa.types.is_string(entries.type) else None], entries.type)
    if (at := pc.index_in(star, value_set=entries)[0].as_py()) is not None:
        return entries, at
    return pa.concat_arrays([entries, star]), len(entries)


def labels_of(recoded: Recoded) -> tuple[pa.Array, Ints32]:
    """Return a column's distinct released values, perhaps with a missing one, and the index of each cell's value.

    They are text if any of them is, otherwise doubles without a negative zero.
    """
    labels = [c.label for c in recoded.cells]
    is_text = any(isinstance(x, str) for x in labels)
    values, place = distinct_of(None if x is None else str(x) if is_text else float(x) + 0.0 for x in labels)
    return pa.array(values, pa.string() if is_text else pa.float64()), place.astype(np.int32)
