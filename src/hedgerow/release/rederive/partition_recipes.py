"""Derive partitions a second time, and check means, medians and shares against their groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...columns.arrays import value_class
from ...columns.cover import Cover
from ...columns.table import Table, Window
from ...errors import PlanError
from ...hierarchy import TOP
from ...kernels import Ints
from ...kernels.walk import WalkTree, count_outside, descend
from ...notation import JOIN, MISSING, WEIGHT, Cell, split_concatenation
from ...plan import Partition, Recoded
from .recipe import Categories, Labels, Made, Numbers

# Part of the spread of a column by which sums of doubles may be off.
CLOSE = 1e-9


def untrue(column: Recoded, source: Numbers | Categories, cells: NDArray[Any], groups: Ints) -> int:
    """Return the number of cells that differ from the mean, median or shares of their group.

    Parameters
    ----------
    column : Recoded
    source : Numbers or Categories
        Its original.
    cells : int array of shape (n_groups,)
        The cell of every group.
    groups : int64 array of shape (n_rows,)
        The group of every row of the original.
    """
    if isinstance(source, Numbers):
        if column.style not in ("mean", "median"):
            return 0
        return _off_centre(column, source, cells, groups)
    return _off_shares(column, source, cells, groups) if column.style == "weighted" else 0


def _off_centre(column: Recoded, source: Numbers, cells: NDArray[Any], groups: Ints) -> int:
    values = source.all()
    finite = np.isfinite(values)
    power = -int(np.frexp(np.abs(values[finite]).max(initial=0.0))[1])  # sums of giants are finite
    values = np.ldexp(values, power)
    middle = float(values[finite].mean()) if finite.any() else 0.0
    n = np.bincount(groups[finite], minlength=len(cells))
    size = np.bincount(groups, minlength=len(cells))
    deviations, mine = values[finite] - middle, groups[finite]
    if column.style == "mean":
        centre = np.bincount(mine, deviations, len(cells)) / np.maximum(n, 1)
    else:
        order = np.lexsort((deviations, mine))
        begin, ordered = np.cumsum(n) - n, np.append(deviations[order], 0.0)
        # of an even count the median is between its two middle values
        low, high = begin + np.maximum(n - 1, 0) // 2, begin + n // 2 * (n > 0)
        centre = ordered[low] / 2 + ordered[high] / 2
    stated = np.array([_read(cell, column.unit) for cell in column.cells])[cells]
    label, counted, absent, silent = stated.T
    # dates are told in whole units
    half = np.ldexp(max(column.step, 1.0 if column.unit else 0.0), power - 1)
    reach = np.abs(deviations).max(initial=0.0) + abs(middle)
    off = np.abs(np.ldexp(label, power) - middle - centre) > half + CLOSE * reach
    # counts stand beside a rounded mean where some have no value, and only there
    uncounted = (n < size) & (column.step > 0)
    miscounted = np.where(counted + absent > 0, (counted != n) | (absent != size - n), uncounted)
    empty = np.isnan(label) & (n == 0)
    return int(np.count_nonzero((size > 0) & (silent == 0) & ~empty & (off | miscounted)))


def _read(cell: Cell, unit: str) -> tuple[float, float, float, float]:
    """Return a cell's number, its stated counts of values and of missing ones, and whether it is `*`."""
    label, counted, absent = cell.label, 0.0, 0.0
    if label is None or label == TOP:
        return np.nan, 0.0, 0.0, float(label is not None)
    if isinstance(label, str) and MISSING in label:
        value, _, rest = label.rpartition(JOIN)
        label, _, first = value.rpartition(WEIGHT)
        if first.isdigit() and rest.rpartition(WEIGHT)[2].isdigit():
            counted, absent = float(first), float(rest.rpartition(WEIGHT)[2])
        else:
            label = value
    if unit and isinstance(label, str):
        label = float(np.datetime64(label, "D" if unit == "day" else "us").astype(np.int64))
    return float(label), counted, absent, 0.0


def _off_shares(column: Recoded, source: Categories, cells: NDArray[Any], groups: Ints) -> int:
    m = len(source.place)
    keys, weights = [], []
    whole, parts = np.zeros(len(column.cells), np.int64), np.zeros(len(column.cells), np.int64)
    for at, cell in enumerate(column.cells):
        pairs = [(None, 1)] if cell.label is None else split_concatenation(str(cell.label))
        keys += [at * m + source.place.get(name, -at * m - 1) for name, _ in pairs]
        weights += [weight for _, weight in pairs]
        whole[at], parts[at] = sum(weight for _, weight in pairs), len(pairs)
    order = np.argsort(keys)
    sorted_keys, weight = np.append(np.array(keys)[order], -1), np.append(np.array(weights)[order], 0)
    present, count = np.unique(groups * m + source.all(), return_counts=True)
    group = present // m
    cell = cells[group]
    at = np.searchsorted(sorted_keys[:-1], cell * m + present % m)
    stated = np.where(sorted_keys[at] == cell * m + present % m, weight[at], 0)
    n, kinds = np.bincount(group, count, len(cells)), np.bincount(group, minlength=len(cells))
    off = np.zeros(len(cells), np.bool_)
    # shares are compared by products of integers, which are exact
    off[group[count * whole[cell] != stated * n[group]]] = True
    return int(np.count_nonzero(off | ((kinds != parts[cells]) & (kinds > 0))))


class PartitionRecipe:
    """A recipe for a partition, which sends each row down the tree by its values."""

    def __init__(self, tree: Partition, original: Table, leaves: bool = False) -> None:
        self._columns = [
            _Recoded(column, np.asarray(cells), original)
            for column, cells in zip(tree.columns, tree.leaf_cells, strict=True)
        ]
        self._nodes = self._arrays(tree)
        self._group = np.asarray(tree.groups, np.int64)
        if not len(self._group):
            self._group = np.arange(tree.n_leaves)
        self.columns_read = [c.name for c in self._columns if c.source.direct]
        # means and shares can be checked only when every row has come by
        self.centred = any(c.recoded.style in ("mean", "median", "weighted") for c in self._columns)
        self._with_leaves = leaves or self.centred
        self.leaf = np.zeros(original.n_rows if self._with_leaves else 0, np.int32)
        self.classes = {c.name: value_class(c.labels.values.type) for c in self._columns}

    def _arrays(self, tree: Partition) -> WalkTree:
        """Return the tree in arrays for `descend`, with each subset as codes of its column."""
        split, subset = np.asarray(tree.split), np.asarray(tree.subset)
        first, last = np.zeros(len(split), np.int64), np.zeros(len(split), np.int64)
        members: list[int] = []
        for j, column in enumerate(self._columns):
            if isinstance(column.source, Numbers):
                continue
            here = np.flatnonzero(split == j)
            used, which = np.unique(subset[here], return_inverse=True)
            ends, place = [len(members)], column.source.place
            for s in used:
                # a category that the original lacks leads no row
                members += [place[name] for name in tree.subsets[s] if name in place]
                ends.append(len(members))
            first[here], last[here] = np.array(ends)[which], np.array(ends)[which + 1]
        return WalkTree(
            np.array([isinstance(c.source, Numbers) for c in self._columns]),
            split,
            np.asarray(tree.threshold),
            np.asarray(tree.missing_left),
            np.asarray(tree.right),
            first,
            last,
            np.array(members, np.int64),
            1 + max([len(c.source.place) for c in self._columns]),
            (np.cumsum(split < 0) - 1).astype(np.int32),
        )

    def recode(self, part: Window) -> Made:
        """Return the cells of each row's leaf, and per column how many do not cover the row's value."""
        # codes of categories are exact as doubles too
        values = np.stack([column.source.of(part) for column in self._columns], dtype=np.float64)
        leaf = np.full(values.shape[1], -1, np.int32)
        descend(values, self._nodes, leaf)
        if len(leaf) and leaf.min() < 0:
            raise PlanError("the plan's tree does not lead every row to a group")
        if self._with_leaves:
            self.leaf[part.rows] = leaf
        return Made(
            {c.name: c.labels.at(leaf) for c in self._columns},
            {c.name: c.outside(mine, leaf, part) for c, mine in zip(self._columns, values, strict=True)},
        )

    def untrue(self) -> Mapping[str, int]:
        """Count, per column, the cells that differ from the mean, median or shares of their group."""
        # any leaf of a group has its cell
        first = np.zeros(int(self._group.max()) + 1, np.int64)
        first[self._group] = np.arange(len(self._group))
        groups = self._group[self.leaf]
        counted = {c.name: untrue(c.recoded, c.source, c.cells[first], groups) for c in self._columns}
        return {name: count for name, count in counted.items() if count}


class _Recoded:
    """One column of a partition: the original values and the released cell of each leaf."""

    def __init__(self, column: Recoded, cells: NDArray[np.int32], original: Table) -> None:
        self.name, self.recoded, self.cells = column.name, column, cells
        self.source: Numbers | Categories
        if column.kind in ("numeric", "date"):
            self.source = Numbers(column, original)
        else:
            self.source = Categories(column, original, column.kind)
        self.labels = Labels.of([cell.label for cell in column.cells]).of_places(cells)
        exact = self.source.exact if isinstance(self.source, Numbers) else ()
        self._cover = Cover.from_cells(column.cells, self.source.names, exact)
        anything = self._cover.anything
        self._low = np.where(anything, -np.inf, self._cover.low)[cells]
        self._high = np.where(anything, np.inf, self._cover.high)[cells]
        self._missing = (anything | self._cover.missing)[cells]

    def outside(self, values: NDArray[np.float64], leaf: NDArray[np.int32], part: Window) -> int:
        """Return the number of values that the cells of their leaves do not cover."""
        if isinstance(self.source, Numbers):
            if self.source.exact:
                values = self.source.places(part)
            return int(count_outside(values, leaf, self._low, self._high, self._missing))
        return int(np.count_nonzero(~self._cover.covers_codes(values, self.cells[leaf])))
