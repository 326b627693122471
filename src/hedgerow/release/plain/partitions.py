"""Partitions, plainly: rows go down the tree by their values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import PlanError
from ...kernels.walk import count_outside, descend
from ...plan import Partition
from ...table import Table
from ...table.cover import Cover
from ...table.rowhash import value_class
from .recipe import Categories, Labels, Made, Numbers, Rows


class PartitionRecipe:
    """A partition: rows go down the tree by their values."""

    def __init__(self, tree: Partition, original: Table) -> None:
        self._tree = tree
        self._columns: list[Numbers | Categories] = [
            Numbers(c, original)
            if c.kind in ("numeric", "date")
            else Categories(c, original, c.kind)
            for c in tree.columns
        ]
        self._nodes = self._arrays(tree)
        ends = np.asarray(tree.split) < 0
        self._leaf = np.where(ends, np.cumsum(ends) - 1, -1)
        self._labels = [Labels.of([cell.label for cell in c.cells]) for c in tree.columns]
        self._cover = [
            Cover.of(c.cells, column.names if isinstance(column, Categories) else ())
            for c, column in zip(tree.columns, self._columns, strict=True)
        ]
        self.classes = {
            c.name: value_class(labels.values.type)
            for c, labels in zip(tree.columns, self._labels, strict=True)
        }

    def _arrays(self, tree: Partition) -> tuple[Any, ...]:
        """The tree as `descend` takes it, each subset as codes of its column."""
        split, subset = np.asarray(tree.split), np.asarray(tree.subset)
        numeric = np.array([isinstance(c, Numbers) for c in self._columns])
        first, last = np.zeros(len(split), np.int64), np.zeros(len(split), np.int64)
        members: list[int] = []
        for j, column in enumerate(self._columns):
            if isinstance(column, Numbers):
                continue
            here = np.flatnonzero(split == j)
            used, which = np.unique(subset[here], return_inverse=True)
            ends = [len(members)]
            for s in used:
                members += [column.place[n] for n in tree.subsets[s] if n in column.place]
                ends.append(len(members))
            first[here], last[here] = np.array(ends)[which], np.array(ends)[which + 1]
        width = max([len(c.names) + 1 for c in self._columns if isinstance(c, Categories)] + [1])
        return (
            numeric,
            split,
            np.asarray(tree.threshold),
            np.asarray(tree.missing_left),
            np.asarray(tree.right),
            first,
            last,
            np.array(members, np.int64),
            width,
        )

    def recode(self, rows: Rows) -> Made:
        """The cells of the leaf that each row comes to, held against the row's values."""
        values = np.stack([column.of(rows) for column in self._columns], axis=1)
        values = np.ascontiguousarray(values, np.float64)
        node = np.full(len(values), -1, np.int64)
        descend(values, *self._nodes, node)
        if len(node) and node.min() < 0:
            raise PlanError("the plan's tree does not lead every row to a group")
        leaf = self._leaf[node]
        columns, uncovered = {}, {}
        for j, column in enumerate(self._tree.columns):
            cell = np.asarray(self._tree.leaf_cells[j])[leaf]
            columns[column.name] = self._labels[j].of_cells(cell)
            outside = self._outside(j, values[:, j], cell)
            if outside:
                uncovered[column.name] = outside
        return Made(columns, uncovered)

    def _outside(self, j: int, values: NDArray[Any], cell: NDArray[Any]) -> int:
        cover = self._cover[j]
        if isinstance(self._columns[j], Numbers):
            low = np.where(cover.anything, -np.inf, cover.low)
            high = np.where(cover.anything, np.inf, cover.high)
            return int(count_outside(values, cell, low, high, cover.missing | cover.anything))
        return int(np.count_nonzero(~cover.categories(values, cell)))
