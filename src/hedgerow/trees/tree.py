"""A fitted tree: the nodes, what they measure, and the path of its subtrees."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from .grow import Grown
from .prune import NodeMeasures, cut, lifetimes, measure, prune_order
from .responses import Responses
from .split import LEAF
from .statistics import StatisticsLayout


@dataclass(frozen=True)
class Tree:
    """A regression tree over quasi-identifiers, as every tree method leaves it in `tree_`.

    Parameters
    ----------
    grown : Grown
        The nodes in pre-order and the rows of each.
    responses : Responses
    layout : StatisticsLayout
    words : callable
        Gives what each node asks, as `splits` has it; asked when somebody reads it.
    numbers : int array
        1-based pre-order numbers in the tree as it was grown, which pruning keeps.
    """

    grown: Grown
    responses: Responses
    layout: StatisticsLayout
    words: Callable[[], tuple[str, ...]]
    numbers: npt.NDArray[np.int64]

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """What goes left at each node, in words; empty for leaves."""
        return self.words()

    @cached_property
    def measures(self) -> NodeMeasures:
        """Errors, digressions, ratios and p-values of all nodes."""
        return measure(self.grown, self.responses, self.layout)

    @property
    def n_leaves(self) -> int:
        """Number of groups."""
        return int(np.count_nonzero(self.grown.column == LEAF))

    def __repr__(self) -> str:
        return f"Tree({self.grown.n_nodes:,} nodes, {self.n_leaves:,} leaves)"

    def leaf_of_rows(self) -> npt.NDArray[np.uint32]:
        """The leaf (0-based, in pre-order) of each row."""
        leaf = self.grown.column == LEAF
        start, end = self.grown.start[leaf], self.grown.end[leaf]
        made = np.empty(len(self.grown.rows), np.uint32)
        made[self.grown.rows] = np.repeat(np.arange(len(start), dtype=np.uint32), end - start)
        return made

    def to_table(self) -> pa.Table:
        """The nodes as a table, one row a node in pre-order.

        Returns
        -------
        pyarrow.Table
            node and parent (1-based, as in Figure 1 of Li & Sarkar; parent null
            at the root), depth, split (what goes left; null for leaves), n,
            leaf, error, branch_error, digression, branch_digression, q (null
            for leaves), p_value, explained (the largest of any response).
        """
        g, m = self.grown, self.measures
        parent = np.where(g.parent >= 0, self.numbers[np.maximum(g.parent, 0)], 0)
        leaf = g.column == LEAF
        return pa.table(
            {
                "node": self.numbers,
                "parent": pa.array(parent, mask=g.parent < 0),
                "depth": g.depth,
                "split": pa.array([s or None for s in self.splits], pa.string()),
                "n": g.end - g.start,
                "leaf": leaf,
                "error": m.error,
                "branch_error": m.branch_error,
                "digression": m.digression,
                "branch_digression": m.branch_digression,
                "q": pa.array(m.q, mask=leaf),
                "p_value": m.p_value,
                "explained": m.explained.max(axis=1, initial=0.0),
            }
        )

    def pruned(self, nodes: npt.NDArray[np.int64]) -> Tree:
        """The subtree in which the given nodes (0-based) are leaves."""
        leaves = self.grown.column == LEAF
        leaves[nodes] = True
        grown, kept = cut(self.grown, leaves)

        words = partial(_splits_of, self, grown, kept)
        return Tree(grown, self.responses, self.layout, words, self.numbers[kept])

    def error_digression_pruned(self, k: int, alpha: float | None) -> Tree:
        """The subtree that error-digression pruning leaves (Li & Sarkar 2014, Figure 4).

        Parameters
        ----------
        k : int
            Fewest records of a leaf.
        alpha : float, optional
            Least p-value of an internal node.
        """
        m = self.measures
        violates = m.p_value < alpha if alpha is not None else np.zeros(self.grown.n_nodes, bool)
        return self.pruned(prune_order(self.grown, m, k, violates)[0])

    def path(self) -> Path:
        """The nested sequence of subtrees by smallest q, down to the root."""
        return Path(self, *prune_order(self.grown, self.measures, 0, self.grown.column != LEAF))


def _splits_of(tree: Tree, grown: Grown, kept: npt.NDArray[np.int64]) -> tuple[str, ...]:
    """The words of a subtree's splits, from those of the tree it was cut from."""
    return tuple("" if grown.column[i] == LEAF else tree.splits[old] for i, old in enumerate(kept))


@dataclass(frozen=True)
class Path:
    """Nested subtrees from the full tree (step 0) to its root (the last step).

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.load_mart_example().to_pandas()
    >>> mart = hr.MART(k=2, max_disclosure=None).fit(people.iloc[:, :3], people.iloc[:, 3:])
    >>> path = mart.path()
    >>> path.to_table()["groups"].to_pylist()
    [6, 5, 4, 3, 2, 1]
    """

    tree: Tree
    order: npt.NDArray[np.int64]
    q: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.order) + 1

    def __getitem__(self, step: int) -> Tree:
        """The subtree after `step` prunings."""
        if not 0 <= step < len(self):
            raise IndexError(f"the path has the steps 0 to {len(self) - 1}")
        return self.tree.pruned(self.order[:step])

    def to_table(self) -> pa.Table:
        """One row a step: what each subtree offers.

        Returns
        -------
        pyarrow.Table
            step, node (the one pruned to get here, null at first), q, groups,
            smallest (records of the smallest group), error (of the tree), r2
            (share of the root's error that the groups explain),
            explained_mean_over_groups, explained_mean_over_records and
            explained_worst (1 - RSD: 0 tells nothing, 1 all): the mean over responses of
            each group, and the worst group and response.
        """
        g, m = self.tree.grown, self.tree.measures
        steps = len(self)
        born, gone = lifetimes(g, self.order)
        n = (g.end - g.start).astype(float)
        seen = born < steps
        each = m.explained.mean(axis=1) if m.explained.shape[1] else np.zeros(g.n_nodes)
        worst = m.explained.max(axis=1, initial=0.0)
        sums = {
            name: self._over_time(value, born, gone, seen)
            for name, value in (
                ("groups", np.ones(g.n_nodes)),
                ("error", m.error),
                ("told", each),
                ("weighted", each * n),
            )
        }
        groups = np.rint(sums["groups"])
        root = max(float(m.error[0]), 1e-300)
        return pa.table(
            {
                "step": np.arange(steps),
                "node": pa.array([None, *self.tree.numbers[self.order].tolist()], pa.int64()),
                "q": pa.array([None, *self.q.tolist()], pa.float64()),
                "groups": groups.astype(np.int64),
                "smallest": self._least(n, born, gone).astype(np.int64),
                "error": np.maximum(sums["error"], 0),
                "r2": 1 - np.maximum(sums["error"], 0) / root,
                "explained_mean_over_groups": sums["told"] / groups,
                "explained_mean_over_records": sums["weighted"] / n[0],
                "explained_worst": -self._least(-worst, born, gone),
            }
        )

    def _over_time(self, value: Any, born: Any, gone: Any, seen: Any) -> npt.NDArray[np.float64]:
        """Sum of a node value over the leaves at every step."""
        change = np.zeros(len(self) + 1)
        np.add.at(change, born[seen], value[seen])
        end = seen & (gone < len(self))
        np.add.at(change, gone[end], -value[end])
        return np.cumsum(change)[: len(self)]

    def _least(self, value: Any, born: Any, gone: Any) -> npt.NDArray[np.float64]:
        """Smallest node value over the leaves at every step."""
        arrivals: list[list[int]] = [[] for _ in range(len(self))]
        for node in np.flatnonzero(born < len(self)):
            arrivals[born[node]].append(int(node))
        heap: list[tuple[float, int]] = []
        least = np.empty(len(self))
        for step, nodes in enumerate(arrivals):
            for leaf in nodes:
                heapq.heappush(heap, (float(value[leaf]), leaf))
            while gone[heap[0][1]] <= step:
                heapq.heappop(heap)
            least[step] = heap[0][0]
        return least
