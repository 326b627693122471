"""Partitions, plainly: rows go down the tree by their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...columns.arrays import value_class
from ...columns.cover import Cover
from ...columns.table import Table, Window
from ...errors import PlanError
from ...kernels.walk import count_outside, descend
from ...plan import Partition, Recoded
from .centres import untrue
from .recipe import Categories, Labels, Made, Numbers


class PartitionRecipe:
    """A partition: rows go down the tree by their values."""

    def __init__(self, tree: Partition, original: Table) -> None:
        self._columns = [
            _Recoded(column, np.asarray(cells), original)
            for column, cells in zip(tree.columns, tree.leaf_cells, strict=True)
        ]
        self._nodes = self._arrays(tree)
        self._group = np.asarray(tree.groups, np.int64)
        if not len(self._group):
            self._group = np.arange(tree.n_leaves)
        self._leaf = np.zeros(original.n_rows if self.centred else 0, np.int32)
        self.classes = {c.name: value_class(c.labels.values.type) for c in self._columns}

    def _arrays(self, tree: Partition) -> tuple[Any, ...]:
        """The tree as `descend` takes it, each subset as codes of its column."""
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
                members += [place[name] for name in tree.subsets[s] if name in place]
                ends.append(len(members))
            first[here], last[here] = np.array(ends)[which], np.array(ends)[which + 1]
        return (
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

    @property
    def asked(self) -> Sequence[str]:
        """The columns whose values it reads."""
        return [column.name for column in self._columns if column.source.direct]

    def recode(self, part: Window) -> Made:
        """The cells of the leaf that each row comes to, held against the row's values."""
        values = np.stack([column.source.of(part) for column in self._columns], dtype=np.float64)
        leaf = np.full(values.shape[1], -1, np.int32)
        descend(values, *self._nodes, leaf)
        if len(leaf) and leaf.min() < 0:
            raise PlanError("the plan's tree does not lead every row to a group")
        if self.centred:
            self._leaf[part.rows] = leaf
        outside = {
            column.name: column.outside(mine, leaf, part)
            for column, mine in zip(self._columns, values, strict=True)
        }
        return Made(
            {column.name: column.labels.at(leaf) for column in self._columns},
            {name: count for name, count in outside.items() if count},
        )

    @property
    def centred(self) -> bool:
        """Whether any column tells means, medians or shares."""
        return any(c.recoded.style in ("mean", "median", "weighted") for c in self._columns)

    def untrue(self) -> Mapping[str, int]:
        """By column, cells that are not the mean, median or shares of their group."""
        first = np.zeros(int(self._group.max()) + 1, np.int64)
        first[self._group] = np.arange(len(self._group))
        groups = self._group[self._leaf]
        counted = {
            c.name: untrue(c.recoded, c.source, c.cells[first], groups) for c in self._columns
        }
        return {name: count for name, count in counted.items() if count}


class _Recoded:
    """One column of a partition: its original, and what each leaf says of it."""

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
        """How many values the cells of their leaves do not cover."""
        if isinstance(self.source, Numbers):
            if self.source.exact:
                values = self.source.places(part)
            return int(count_outside(values, leaf, self._low, self._high, self._missing))
        return int(np.count_nonzero(~self._cover.covers_codes(values, self.cells[leaf])))
