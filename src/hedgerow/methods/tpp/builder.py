"""The exact builder: best-first growth whose every decision is a function of record sets.

Builder contract B1 to B4: exact scores (`split_scores`), midpoints of neighbouring
present values, binary category subsets, ties by rule, a stated number of splits.

It is not the grower of `trees`: that one searches ordered codes, weighs several responses
in floats and lets k and caps decide what may be split. Here a recipient must rebuild the
tree to the last bit from other values of the same records. So sums are integers, equal
scores are equal exactly, categories are unordered, and the number of splits alone ends growth.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .encoding import PredictedColumn, Predictor
from .split_scores import (
    CRITERIA,
    ENTROPY,
    GINI,
    RATIO,
    VARIANCE,
    gain_of,
    histogram,
    scan_numeric,
    scan_single,
    scan_subsets,
    xlogx,
    xlogx_shift,
)
from .tree_settings import TreeSettings


@dataclass(frozen=True)
class Node:
    """A node; a leaf has feature -1 and order -1.

    `lo` and `hi` are the ranks of the neighbouring present values around the
    threshold, `left_set` and `right_set` the present categories of each side,
    `order` the step at which the node was split, `tied` whether the category
    order had to choose among equal splits. `value` is the class counts or (mean,).
    """

    path: str
    depth: int
    n: int
    value: tuple[float, ...]
    feature: int = -1
    threshold: float = 0.0
    lo: int = -1
    hi: int = -1
    left_set: tuple[int, ...] = ()
    right_set: tuple[int, ...] = ()
    left: int = -1
    right: int = -1
    order: int = -1
    tied: bool = False


@dataclass(frozen=True)
class BuiltTree:
    """A grown tree: nodes in order of creation, and the node of every record."""

    nodes: tuple[Node, ...]
    leaf: NDArray[np.int32]
    closed_left: bool = False
    """Whether a value equal to the threshold goes left (scikit-learn) or right."""

    @property
    def n_splits(self) -> int:
        """Number of splits."""
        return sum(1 for node in self.nodes if node.feature >= 0)

    @property
    def used(self) -> set[int]:
        """Predictors that the tree tests."""
        return {node.feature for node in self.nodes if node.feature >= 0}

    def prefix(self, n_splits: int) -> BuiltTree:
        """Return the tree as it stood after its first splits."""
        return self.keep(lambda node: node.order < n_splits)

    def keep(self, wanted: Callable[[Node], bool]) -> BuiltTree:
        """Return the tree with only the wanted splits; a dropped split drops those below it."""
        target = list(range(len(self.nodes)))
        for i, node in enumerate(self.nodes):  # parents stand before their children
            if node.feature >= 0 and (target[i] != i or not wanted(node)):
                target[node.left] = target[node.right] = target[i]
        remaining = [i for i, at in enumerate(target) if at == i]
        new = {old: at for at, old in enumerate(remaining)}
        nodes = []
        for old in remaining:
            node = self.nodes[old]
            if node.feature >= 0 and target[node.left] == node.left:
                nodes.append(replace(node, left=new[node.left], right=new[node.right]))
            else:
                nodes.append(leaf_of(node))
        lookup = np.array([new[at] for at in target], np.int32)
        return BuiltTree(tuple(nodes), lookup[self.leaf], self.closed_left)


def leaf_of(node: Node) -> Node:
    """Return the node without its split."""
    return Node(node.path, node.depth, node.n, node.value)


Chooser = Callable[[str], Sequence[int]]
Split = tuple[float, dict[str, Any]]
"""The gain of a candidate split, and the fields that it gives its node."""


class Builder:
    """Grows one tree on encoded columns.

    Parameters
    ----------
    columns : sequence of Predictor
        The predictors in their fixed order.
    response : PredictedColumn
        Classes or numbers.
    settings : TreeSettings
        How to grow.
    weights : array of int64, optional
        How often each record counts (bootstrap rows).
    choose : callable, optional
        The predictors allowed at a node, by its path of L and R.
    min_split : int
        Fewest records of a node that may be split.
    ordered_anyway : bool
        Whether categories are ordered by mean whatever the smallest leaf (rpart).
    """

    def __init__(
        self,
        columns: Sequence[Predictor],
        response: PredictedColumn,
        settings: TreeSettings,
        weights: NDArray[np.int64] | None = None,
        choose: Chooser | None = None,
        min_split: int = 2,
        ordered_anyway: bool = False,
    ) -> None:
        settings = settings.for_response(response.classes)
        self.columns, self.response, self.settings = columns, response, settings
        self.criterion = CRITERIA[str(settings.criterion)]
        self.width = 2 if self.criterion == VARIANCE else max(len(response.labels), 1)
        self.weights = np.ones(response.n, np.int64) if weights is None else weights
        n = int(self.weights.sum())
        self.table = xlogx(n) if self.criterion in (ENTROPY, RATIO) else np.zeros(1, np.int64)
        self.min_split = max(min_split, 2 * settings.min_leaf, 2)
        self.choose = choose or (lambda path: range(len(columns)))
        self.ordered = self.criterion == VARIANCE or (self.width <= 2 and self.criterion != RATIO)
        self.ordered = self.ordered and (settings.min_leaf == 1 or ordered_anyway)
        # min_gain in the units of the integer scores
        shifts = {ENTROPY: xlogx_shift(n), GINI: 0, VARIANCE: 2 * response.shift}
        self.floor = settings.min_gain
        if self.criterion in shifts:
            self.floor = float(np.ldexp(settings.min_gain * n, shifts[self.criterion]))

    def best_split(self, rows: NDArray[np.int32], path: str, total: NDArray[np.int64]) -> Split:
        """Return the best admissible split of a node; its gain is 0 when there is none."""
        y, w = self.response.codes[rows], self.weights[rows]
        best: Split = (0.0, {})
        for feature in self.choose(path):
            column = self.columns[feature]
            if column.n_values < 2:
                continue
            search = self._cut if column.numeric else self._subset
            gain, changes = search(column, column.codes[rows], y, w, total)
            if gain > best[0]:
                best = gain, {"feature": feature, **changes}
        return best if best[0] >= self.floor else (0.0, {})

    def _cut(
        self,
        column: Predictor,
        codes: NDArray[np.int32],
        y: NDArray[np.int64],
        w: NDArray[np.int64],
        total: NDArray[np.int64],
    ) -> Split:
        present = np.arange(column.n_values)
        if len(present) > 4 * len(codes) + 64:
            # a histogram over all values would cost more than a sort
            present, ranks = np.unique(codes, return_inverse=True)
            codes = ranks.astype(np.int32)
        hist = histogram(codes, y, w, len(present), self.width, self.criterion)
        least = self.settings.min_leaf
        gain, lo, hi = scan_numeric(hist, total, self.table, self.criterion, least)
        return gain, {"lo": int(present[lo]), "hi": int(present[hi])}

    def _subset(
        self,
        column: Predictor,
        codes: NDArray[np.int32],
        y: NDArray[np.int64],
        w: NDArray[np.int64],
        total: NDArray[np.int64],
    ) -> Split:
        hist = histogram(codes, y, w, column.n_values, self.width, self.criterion)
        ranks = np.flatnonzero(hist[:, 0] if self.criterion == VARIANCE else hist.sum(axis=1))
        if len(ranks) < 2:
            return 0.0, {}
        hist, least, tied = hist[ranks], self.settings.min_leaf, False
        if self.ordered:
            gain, goes_left = self._prefix(hist, total)
        elif column.wide:
            alone = np.asarray(column.alone or (True,) * column.n_values)[ranks]
            gain, j, is_left, tied = scan_single(
                hist, alone, total, self.table, self.criterion, least
            )
            goes_left = (np.arange(len(ranks)) == j) == is_left
        else:
            masks = np.arange(1, 1 << (len(ranks) - 1), dtype=np.uint64)
            gain, mask, tied = scan_subsets(hist, masks, total, self.table, self.criterion, least)
            goes_left = (int(mask) >> np.arange(len(ranks))) & 1 == 1
        return gain, {
            "left_set": tuple(map(int, ranks[goes_left])),
            "right_set": tuple(map(int, ranks[~goes_left])),
            "tied": bool(tied),
        }

    def _prefix(
        self, hist: NDArray[np.int64], total: NDArray[np.int64]
    ) -> tuple[float, NDArray[np.bool_]]:
        """Cut the categories, ordered by mean response, between distinct means.

        Of equal gains the shortest prefix wins.
        """
        n = self.size(total)
        means = [Fraction(int(row[-1]), self.size(row)) for row in hist]
        order = sorted(range(len(means)), key=lambda j: means[j])
        best, chosen = 0.0, np.zeros(len(order), bool)
        left = np.zeros(self.width, np.int64)
        for at, (j, after) in enumerate(itertools.pairwise(order), start=1):
            left += hist[j]
            nl = self.size(left)
            if means[j] == means[after] or min(nl, n - nl) < self.settings.min_leaf:
                continue
            gain = gain_of(left, total, self.table, self.criterion)
            if gain > best:
                best, chosen = gain, np.isin(np.arange(len(order)), order[:at])
        return best, chosen

    def size(self, total: NDArray[np.int64]) -> int:
        """Return the number of records that statistics are of."""
        return int(total[0] if self.criterion == VARIANCE else total.sum())

    def totals(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the statistics of a node."""
        y, w = self.response.codes[rows], self.weights[rows]
        if self.criterion == VARIANCE:
            return np.array([w.sum(), (w * y).sum()], np.int64)
        return np.bincount(y, weights=w, minlength=self.width).astype(np.int64)

    def node(self, path: str, rows: NDArray[np.int32], total: NDArray[np.int64]) -> Node:
        """Return a leaf of these rows."""
        if self.criterion != VARIANCE:
            return Node(path, len(path), self.size(total), tuple(int(c) for c in total))
        y = np.repeat(self.response.y[rows], self.weights[rows])
        # fsum is correctly rounded, so the mean does not depend on the order of records.
        return Node(path, len(path), int(total[0]), (fsum(y) / int(total[0]),))

    def grow(self) -> BuiltTree:
        """Grow the tree: at most `n_splits` splits, largest gain first, then the oldest node."""
        n_splits, max_depth = self.settings.n_splits, self.settings.max_depth
        nodes: list[Node] = []
        open_leaves: dict[int, tuple[NDArray[np.int32], NDArray[np.int64]]] = {}
        queue: list[tuple[float, int, dict[str, Any]]] = []

        def add(path: str, rows: NDArray[np.int32]) -> None:
            total = self.totals(rows)
            open_leaves[len(nodes)] = rows, total
            nodes.append(self.node(path, rows, total))

        def offer(at: int) -> None:
            rows, total = open_leaves[at]
            is_deepest = max_depth is not None and nodes[at].depth >= max_depth
            if is_deepest or self.size(total) < self.min_split:
                return
            gain, changes = self.best_split(rows, nodes[at].path, total)
            if gain > 0:
                heapq.heappush(queue, (-gain, at, changes))

        add("", np.flatnonzero(self.weights > 0).astype(np.int32))
        offer(0)
        for order in range(n_splits):
            if not queue:
                break
            _, at, changes = heapq.heappop(queue)
            rows, _ = open_leaves.pop(at)
            node = nodes[at]
            left, right = len(nodes), len(nodes) + 1
            node = replace(node, left=left, right=right, order=order, **changes)
            column = self.columns[node.feature]
            codes = column.codes[rows]
            if column.numeric:
                goes_left = codes <= node.lo
                threshold = midpoint(float(column.values[node.lo]), float(column.values[node.hi]))
                node = replace(node, threshold=threshold)
            else:
                goes_left = np.isin(codes, node.left_set)
            nodes[at] = node
            add(node.path + "L", rows[goes_left])
            add(node.path + "R", rows[~goes_left])
            if order + 1 < n_splits:
                offer(left)
                offer(right)
        return BuiltTree(tuple(nodes), route(nodes, self.columns, self.response.n))


def midpoint(v1: float, v2: float) -> float:
    """Return the threshold between two neighbouring values; x < threshold goes left."""
    middle = (v1 + v2) / 2
    return middle if v1 < middle <= v2 else v2


def route(nodes: Sequence[Node], columns: Sequence[Predictor], n: int) -> NDArray[np.int32]:
    """Return the leaf of every record, whether it took part in growing or not.

    A category that was absent from a node goes to the larger child, the left of equal ones.
    """
    leaf, rows_at = np.zeros(n, np.int32), {0: np.arange(n)}
    for i, node in enumerate(nodes):
        rows = rows_at.pop(i)
        if node.feature < 0:
            leaf[rows] = i
            continue
        column = columns[node.feature]
        if column.numeric:
            cut = np.searchsorted(column.values, node.threshold, side="left")
            goes_left = column.codes[rows] < cut
        else:
            larger_left = nodes[node.left].n >= nodes[node.right].n
            lookup = np.full(column.n_values, larger_left)
            lookup[list(node.left_set)] = True
            lookup[list(node.right_set)] = False
            goes_left = lookup[column.codes[rows]]
        rows_at[node.left], rows_at[node.right] = rows[goes_left], rows[~goes_left]
    return leaf


def grow(
    columns: Sequence[Predictor],
    response: PredictedColumn,
    settings: TreeSettings,
    weights: NDArray[np.int64] | None = None,
    choose: Chooser | None = None,
) -> BuiltTree:
    """Grow one tree of the own builder."""
    return Builder(columns, response, settings, weights, choose).grow()


def features_at(seed: int, tree: int, path: str, n_features: int, n_chosen: int) -> list[int]:
    """Return the predictors a forest tries at a node: a function of seed, tree and path alone."""

    def draw(feature: int) -> bytes:
        return hashlib.sha256(f"{seed}/{tree}/{path}/{feature}".encode()).digest()

    return sorted(sorted(range(n_features), key=draw)[:n_chosen])


def bootstrap(seed: int, tree: int, n: int) -> NDArray[np.int64]:
    """Return how often each record is drawn for a tree: splitmix64 of (seed, tree, draw)."""
    key = int.from_bytes(hashlib.sha256(f"{seed}/{tree}".encode()).digest()[:8], "little")
    with np.errstate(over="ignore"):
        x = np.uint64(key) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    row = ((x >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return np.bincount(row.astype(np.int64), minlength=n).astype(np.int64)
