"""The finer groups that a method refused to make, derived from quasi-identifiers alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..measures import Bools, Ints
from ..trees.nodes import LEAF, Grown
from ..trees.search import EXHAUSTIVE
from ..trees.tree import Tree
from .design import Quasi

# Splits of a group that are looked at, evenly chosen; leaving some out weakens an intruder.
_MOST = 32


@dataclass(frozen=True)
class Refused:
    """A released group, with the finer groups that its method refused to form.

    Parameters
    ----------
    rows : int64 array of shape (n,)
        The records of the group.
    parts : bool array of shape (p, n)
        The left side of each refused split, or each cell of a group that was joined.
    is_joined : bool
        Whether the group was joined from cells, at least one of which broke a promise. Otherwise
        every split was refused, because one of its sides broke a promise.
    needs_gain : bool
        Whether the method tries only splits that change the means or shares.
    """

    rows: Ints
    parts: Bools
    is_joined: bool = False
    needs_gain: bool = False


def refused_splits(tree: Tree, grown: Tree, quasi: Quasi, k: int, depth: int | None) -> list[Refused]:
    """Return the leaves whose splits were all refused, with those splits.

    Parameters
    ----------
    tree, grown : Tree
        The released tree, and the one that it was cut from; a leaf that was cut is left out.
    quasi : Quasi
    k : int
        Fewest records of a side.
    depth : int, optional
        Leaves of this depth were not split.
    """
    codes = [cut.codes(column.codes) for column, cut in zip(quasi.columns, quasi.cuts, strict=True)]
    refused, nodes = [], tree.grown
    for node in np.flatnonzero((nodes.column == LEAF) & (nodes.end - nodes.start >= 2 * k)):
        # A leaf that was cut from the grown tree had splits that no promise refused.
        if grown.grown.column[tree.numbers[node] - 1] != LEAF or nodes.depth[node] == depth:
            continue
        rows = _rows(nodes, int(node))
        splits = [
            side
            for column, code, cut in zip(quasi.columns, codes, quasi.cuts, strict=True)
            for side in _splits(code[rows], cut.n_bins, column.value_counts.is_ordered)
        ]
        sides = np.array(splits, np.bool_).reshape(-1, len(rows))
        n_left = sides.sum(axis=1)
        # Different columns may split a group in the same way, which adds no information.
        sides = np.unique(sides[(n_left >= k) & (len(rows) - n_left >= k)], axis=0)
        if len(sides):
            # A bound on time: the measured intruder looks at some of the splits, and infers less by it.
            chosen = np.unique(np.linspace(0, len(sides) - 1, _MOST).astype(np.int64))
            refused.append(Refused(rows, sides[chosen], needs_gain=True))
    return refused


def _rows(grown: Grown, node: int) -> Ints:
    return np.sort(grown.rows[grown.start[node] : grown.end[node]]).astype(np.int64)


def _splits(codes: npt.NDArray[np.integer], missing: int, ordered: bool) -> Iterator[Bools]:
    """Yield the left side of each split that the grower tries; nothing if there are many unordered categories."""
    present = np.unique(codes)
    if ordered:
        values = present[present < missing]
        for last in values[:-1]:
            yield codes <= last
            if len(values) < len(present):
                yield (codes <= last) | (codes == missing)
    elif len(present) <= EXHAUSTIVE:
        place = np.searchsorted(present, codes)
        for subset in range(1, 1 << (len(present) - 1)):
            yield (subset >> place) & 1 > 0


def known_splits(tree: Tree, grown: Tree) -> list[Refused]:
    """Return the leaves that had splits before pruning, for a tree grown on quasi-identifiers alone."""
    refused, full = [], grown.grown
    for node in tree.numbers[tree.grown.column == LEAF] - 1:
        if full.column[node] != LEAF:
            rows = _rows(full, int(node))
            # In pre-order the node after a split one is its left side.
            refused.append(Refused(rows, np.isin(rows, _rows(full, int(node) + 1))[None]))
    return refused


def joined_cells(tree: Tree, joined: Ints, group_of_cell: Ints) -> list[Refused]:
    """Return the groups that were joined from several cells, with those cells.

    Parameters
    ----------
    tree : Tree
        Its leaves are the cells.
    joined, group_of_cell : int64 arrays, one number a cell
        The groups once they keep every promise, and the released groups: groups with equal cells
        are merged there, and are left out.
    """
    refused, nodes = [], tree.grown
    leaves = np.flatnonzero(nodes.column == LEAF)
    for number in range(int(group_of_cell.max()) + 1):
        cells = np.flatnonzero(group_of_cell == number)
        if len(cells) > 1 and (joined[cells] == joined[cells[0]]).all():
            parts: Sequence[Ints] = [_rows(nodes, int(leaves[cell])) for cell in cells]
            rows = np.sort(np.concatenate(parts))
            refused.append(Refused(rows, np.stack([np.isin(rows, part) for part in parts]), is_joined=True))
    return refused
