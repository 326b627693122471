"""Routing of rows down a tree of splits by their values, and comparison of values with their cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import Bools, Floats, Ints
from .compiled import checked


class WalkTree(NamedTuple):
    """A tree of splits in pre-order, as arrays over its nodes.

    A category goes left if ``members[first[node]:last[node]]`` contains its code, which is below
    `n_codes`. `number` contains the leaf numbers; `numeric` has one entry per column.
    """

    numeric: Any
    split: Any
    threshold: Any
    missing_left: Any
    right: Any
    first: Any
    last: Any
    members: Any
    n_codes: Any
    number: Any


@checked
def descend(values: Floats, tree: WalkTree, leaf_of: NDArray[Any]) -> None:
    """Write the leaf that each row reaches into `leaf_of`, node by node.

    `values[column, row]` is a number (NaN where missing) or a category's code.
    """
    numeric, split, threshold, missing_left, right, first, last, members, n_codes, number = tree
    n_rows, n_nodes = values.shape[1], split.shape[0]
    # rows that go right wait in `others`, so both sides keep their order
    rows, others = np.arange(n_rows), np.empty(n_rows, np.int64)
    start, stop = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    inside = np.zeros(n_codes, np.bool_)
    stop[0] = n_rows
    for node in range(n_nodes):
        a, b, column = start[node], stop[node], split[node]
        if column < 0:
            for i in range(a, b):
                leaf_of[rows[i]] = number[node]
            continue
        if a == b:
            continue
        at, n_others = a, 0
        if numeric[column]:
            bound, missing = threshold[node], missing_left[node]
            for i in range(a, b):
                row = rows[i]
                value = values[column, row]
                # Only NaN differs from itself; bits instead of `and` and `or` spare branches.
                left = (value < bound) | (missing & (value != value))
                # Both lists get the row and one keeps it: a branch would often be mispredicted.
                rows[at] = row
                others[n_others] = row
                at += left
                n_others += not left
        else:
            for j in range(first[node], last[node]):
                inside[members[j]] = True
            for i in range(a, b):
                row = rows[i]
                left = inside[np.int64(values[column, row])]
                rows[at] = row
                others[n_others] = row
                at += left
                n_others += not left
            for j in range(first[node], last[node]):
                # code by code: a node has few members, the column may have very many codes
                inside[members[j]] = False
        for i in range(n_others):
            rows[at + i] = others[i]
        start[node + 1], stop[node + 1] = a, at
        start[right[node]], stop[right[node]] = at, b


@checked
def count_outside(values: Floats, cells: Ints, low: Floats, high: Floats, missing: Bools) -> int:
    """Return how many values are outside their cell; NaN is a missing value."""
    n = 0
    for i in range(values.shape[0]):
        value, cell = values[i], cells[i]
        is_known = value == value
        n += (is_known & ~((low[cell] <= value) & (value <= high[cell]))) | (~is_known & ~missing[cell])
    return n
