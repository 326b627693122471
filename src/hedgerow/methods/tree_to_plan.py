"""A grown tree in a plan's words: its conditions, its regions, and its leaves as groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns.column import Column
from ..measures import Classes, Persons, group
from ..measures.guarantees import Guarantee
from ..notation import moment, number
from ..trees.grow import Grown
from ..trees.responses import Responses
from ..trees.split import LEAF
from ..trees.statistics import StatisticsLayout
from ..trees.tree import Tree
from .design import Quasi

_AT_ONCE = 1 << 21
"""Records whose groups are looked at at once."""


@dataclass(frozen=True)
class Parts:
    """The groups of a partition: leaves of a tree, or several leaves each.

    Parameters
    ----------
    grown : Grown
    threshold : float64 array over the nodes
    group_of_leaf : int64 array of shape (n_leaves,), or None
        The group of every leaf; None where each is a group.
    rows : array of shape (n,)
        Row numbers, group by group.
    starts : int64 array of shape (n_groups,)
        Where each group begins among them.
    persons : Persons, optional
        Where a person may have several records.
    """

    grown: Grown
    threshold: npt.NDArray[np.float64]
    group_of_leaf: npt.NDArray[np.int64] | None
    rows: npt.NDArray[Any]
    starts: npt.NDArray[np.int64]
    persons: Persons | None

    @classmethod
    def of(
        cls,
        grown: Grown,
        threshold: npt.NDArray[np.float64],
        group_of_leaf: npt.NDArray[np.int64] | None,
        persons: Persons | None = None,
    ) -> Parts:
        """The groups with their rows side by side."""
        leaf = grown.column == LEAF
        starts, ends = grown.start[leaf], grown.end[leaf]
        if not isinstance(grown.rows, np.ndarray):
            return cls(grown, threshold, group_of_leaf, grown.rows, starts, persons)
        if group_of_leaf is None:
            return cls(grown, threshold, None, grown.rows, starts, persons)
        of_place = np.repeat(group_of_leaf, ends - starts)
        rows = grown.rows[np.argsort(of_place, kind="stable")]
        sizes = np.bincount(group_of_leaf, ends - starts).astype(np.int64)
        return cls(grown, threshold, group_of_leaf, rows, np.cumsum(sizes) - sizes, persons)

    def held(
        self, column: Column, whole: bool
    ) -> tuple[Column, npt.NDArray[Any], npt.NDArray[np.int64]]:
        """A column, the rows of its codes group by group, and where each group begins.

        Where the rows are elsewhere and `whole` does not ask for every one of them, the codes are
        those that tell what each group holds: of numbers the ends, of categories each once.
        """
        if isinstance(self.rows, np.ndarray):
            return column, self.rows, self.starts
        made: tuple[Column, npt.NDArray[Any], npt.NDArray[np.int64]] = self.rows.column(
            column, self.starts, self.group_of_leaf, whole
        )
        return made

    def known(self, column: Column) -> npt.NDArray[np.int64]:
        """`people` of every group who have a value in a column."""
        if not isinstance(self.rows, np.ndarray):
            made: npt.NDArray[np.int64] = self.rows.known(column, self.starts, self.group_of_leaf)
            return made
        sizes = np.diff(np.append(self.starts, len(self.rows)))
        known = column.codes[self.rows] != column.n_values
        number = np.repeat(np.arange(len(sizes)), sizes)[known]
        if self.persons is not None:
            there = group([number])  # without the groups in which nobody has a value
            held = self.persons.taken(self.rows[known]).sizes(there)
            return np.bincount(number[there.first], held, len(sizes)).astype(np.int64)
        return np.bincount(number, minlength=len(sizes)).astype(np.int64)

    def of_leaves(self, of_groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What every leaf gets of what is given for the groups."""
        return of_groups if self.group_of_leaf is None else of_groups[self.group_of_leaf]

    def between(self, j: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Between which thresholds on column j every group lies; infinite where open."""
        low, high = regions(self.grown, j, self.threshold)
        if self.group_of_leaf is None:
            return low, high
        n = int(self.group_of_leaf.max()) + 1
        least, most = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(least, self.group_of_leaf, low)
        np.maximum.at(most, self.group_of_leaf, high)
        return least, most


def classes_of(
    tree: Tree,
    sensitive: Sequence[Column],
    persons: Persons | None,
    number: npt.NDArray[np.int64] | None = None,
) -> Classes:
    """The classes of a tree's leaves, or of the groups that `number` says of each leaf."""
    grown = tree.grown
    starts = grown.start[grown.column == LEAF]
    if not isinstance(grown.rows, np.ndarray):
        made: Classes = grown.rows.classes(starts, sensitive, number)
        return made
    if number is None:
        return Classes.of_rows(grown.rows, starts, sensitive, persons)
    return Classes.of(group([number[tree.leaf_of_rows()]]), sensitive, persons)


def keeping(
    tree: Tree,
    promises: Sequence[Guarantee],
    sensitive: Sequence[Column],
    persons: Persons | None,
) -> npt.NDArray[np.bool_]:
    """Which leaves of a tree keep every promise, looked at a few million records at a time."""
    grown = tree.grown
    if persons is None and isinstance(grown.rows, np.ndarray):
        starts = grown.start[grown.column == LEAF]
        pieces = Classes.pieces(grown.rows, starts, sensitive, _AT_ONCE)
    else:
        pieces = iter([classes_of(tree, sensitive, persons)])
    return np.concatenate(
        [np.all([promise.kept_by(each) for promise in promises], axis=0) for each in pieces]
    )


def conditions(
    grown: Grown, quasi: Quasi
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64], list[tuple[str | None, ...]]]:
    """Thresholds and left subsets of every node, in the plan's form."""
    n = grown.n_nodes
    threshold, subset = np.zeros(n), np.full(n, -1, np.int64)
    subsets: dict[tuple[str | None, ...], int] = {}
    codes, width = grown.subset_codes.tobytes(), grown.subset_codes.itemsize
    for j, (column, cut) in enumerate(zip(quasi.columns, quasi.cuts, strict=True)):
        here = np.flatnonzero(grown.column == j)
        if cut.public:
            threshold[here] = cut.thresholds[grown.first_right[here] - 1]
            continue
        if column.is_number:
            a, b = cut.hi[grown.last_left[here]], cut.lo[grown.first_right[here]]
            middle = a / 2 + b / 2
            threshold[here] = np.where((a < middle) & (middle <= b), middle, b)
            continue
        names = [*column.values, None]
        ends, begins = grown.last_left[here].tolist(), grown.subset_at[here].tolist()
        number_of: dict[Any, int] = {}  # by codes, which are cheaper to compare than names
        if column.kind == "ordinal":  # a threshold over declared categories is a subset of them
            asked: list[Any] = list(zip(ends, grown.missing_left[here].tolist(), strict=True))
            for end, gap in dict.fromkeys(asked):
                chosen = (*names[: end + 1], *([None] if gap else []))
                number_of[end, gap] = subsets.setdefault(chosen, len(subsets))
        else:
            asked = [
                codes[width * begin : width * (begin + end)]
                for begin, end in zip(begins, ends, strict=True)
            ]
            for text in dict.fromkeys(asked):
                places = np.frombuffer(text, grown.subset_codes.dtype).tolist()
                chosen = tuple([names[c] for c in places])
                number_of[text] = subsets.setdefault(chosen, len(subsets))
        subset[here] = [number_of[each] for each in asked]
    return threshold, subset, list(subsets)


def regions(
    grown: Grown, j: int, threshold: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Between which of the splits' thresholds on column j every leaf lies; infinite where open."""
    low, high = np.full(grown.n_nodes, -np.inf), np.full(grown.n_nodes, np.inf)
    inner = grown.column != LEAF
    for depth in range(int(grown.depth.max())):
        at = np.flatnonzero(inner & (grown.depth == depth))
        left, right = at + 1, grown.right[at]
        for ends in (low, high):
            ends[left] = ends[right] = ends[at]
        mine = grown.column[at] == j
        high[left[mine]] = low[right[mine]] = threshold[at[mine]]
    return low[~inner], high[~inner]


def describe(grown: Grown, quasi: Quasi) -> tuple[str, ...]:
    """What goes left at each node, in words; empty for leaves."""
    threshold, subset, subsets = conditions(grown, quasi)
    said = []
    for i, j in enumerate(grown.column.tolist()):
        if j == LEAF:
            said.append("")
        elif subset[i] < 0:
            column = quasi.columns[j]
            at = (
                moment(np.ceil(threshold[i]), column.unit)
                if column.unit
                else number(float(threshold[i]))
            )
            said.append(f"{column.name} < {at}")
        else:
            chosen = sorted("(missing)" if c is None else c for c in subsets[subset[i]])
            said.append(f"{quasi.columns[j].name} in {{{', '.join(chosen)}}}")
    return tuple(said)


def full_tree(grown: Grown, responses: Responses, layout: StatisticsLayout, quasi: Quasi) -> Tree:
    """A grown tree with its splits in words."""
    return Tree(
        grown,
        responses,
        layout,
        partial(describe, grown, quasi),
        np.arange(1, grown.n_nodes + 1),
    )
