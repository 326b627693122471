"""The exact builder: best-first growth whose every decision is a function of record sets.

Builder contract B1 to B4: exact scores (`scores`), midpoints of neighbouring
present values, binary category subsets, ties by rule, a stated number of splits.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import fsum

import numpy as np
from numpy.typing import NDArray

from .encoding import PredictedColumn, Predictor, xlogx, xlogx_shift
from .split_scores import (
    CRITERIA,
    RATIO,
    VARIANCE,
    dense,
    gain_of,
    histogram,
    scan_numeric,
    scan_single,
    scan_subsets,
    split_rows,
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
        """The tree as it stood after its first splits."""
        return self.keep(lambda node: node.order < n_splits)

    def keep(self, wanted: Callable[[Node], bool]) -> BuiltTree:
        """The tree with only the wanted splits; a dropped split drops those below it."""
        moved = list(range(len(self.nodes)))
        for i, node in enumerate(self.nodes):  # parents stand before their children
            if node.feature >= 0 and (moved[i] != i or not wanted(node)):
                moved[node.left] = moved[node.right] = moved[i]
        alive = [i for i, target in enumerate(moved) if target == i]
        new = {old: at for at, old in enumerate(alive)}
        kept = []
        for old in alive:
            node = self.nodes[old]
            if node.feature >= 0 and moved[node.left] == node.left:
                kept.append(replace(node, left=new[node.left], right=new[node.right]))
            else:
                kept.append(leaf_of(node))
        lookup = np.array([new[target] for target in moved], np.int32)
        return BuiltTree(tuple(kept), lookup[self.leaf], self.closed_left)


def leaf_of(node: Node) -> Node:
    """The node without its split."""
    return Node(node.path, node.depth, node.n, node.value)


@dataclass(frozen=True)
class CandidateSplit:
    """A candidate split of one node."""

    gain: float
    feature: int
    lo: int = -1
    hi: int = -1
    left_set: tuple[int, ...] = ()
    right_set: tuple[int, ...] = ()
    tied: bool = False


Chooser = Callable[[str], Sequence[int]]


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
        settings = settings.said(response.classes)
        self.columns, self.response, self.settings = columns, response, settings
        self.criterion = CRITERIA[str(settings.criterion)]
        self.width = 2 if self.criterion == VARIANCE else max(len(response.labels), 1)
        self.weights = weights
        self.rows = np.arange(response.n, dtype=np.int32)
        if weights is not None:
            self.rows = self.rows[weights > 0]
        self.ones = np.ones(response.n, np.int64)
        total = int(response.n if weights is None else weights.sum())
        self.total = total
        needs = self.criterion != VARIANCE and settings.criterion != "gini"
        self.table = xlogx(total) if needs else np.zeros(1, np.int64)
        self.min_split = max(min_split, 2 * settings.min_leaf, 2)
        self.choose = choose or (lambda path: range(len(columns)))
        self.ordered = self.criterion == VARIANCE or (self.width <= 2 and self.criterion != RATIO)
        self.ordered = self.ordered and (settings.min_leaf == 1 or ordered_anyway)

    def gain_floor(self) -> float:
        """`min_gain` in the units of the integer scores."""
        if self.criterion == RATIO:
            return self.settings.min_gain
        shift = {"entropy": xlogx_shift(self.total), "gini": 0}.get(
            str(self.settings.criterion), 2 * self.response.shift
        )
        return float(np.ldexp(self.settings.min_gain * self.total, shift))

    def best_split(
        self, rows: NDArray[np.int32], path: str, total: NDArray[np.int64]
    ) -> CandidateSplit | None:
        """The best admissible split of a node; None when there is none."""
        y = self.response.codes[rows]
        w = self.ones[: len(rows)] if self.weights is None else self.weights[rows]
        best: CandidateSplit | None = None
        for feature in self.choose(path):
            column = self.columns[feature]
            if column.n_values < 2:
                continue
            found = self._search(feature, column, column.codes[rows], y, w, total)
            if found is not None and (best is None or found.gain > best.gain):
                best = found
        if best is None or best.gain <= 0 or best.gain < self.floor:
            return None
        return best

    def _search(
        self,
        feature: int,
        column: Predictor,
        codes: NDArray[np.int32],
        y: NDArray[np.int64],
        w: NDArray[np.int64],
        total: NDArray[np.int64],
    ) -> CandidateSplit | None:
        d, least = column.n_values, self.settings.min_leaf
        present: NDArray[np.int32] | None = None
        if column.numeric:
            if d > 4 * len(codes) + 64:  # a histogram over all values would cost more than a sort
                present, codes = dense(codes)
                d = len(present)
            hist = histogram(codes, y, w, d, self.width, self.criterion)
            gain, lo, hi = scan_numeric(hist, total, self.table, self.criterion, least)
            if gain <= 0:
                return None
            if present is not None:
                lo, hi = int(present[lo]), int(present[hi])
            return CandidateSplit(gain, feature, int(lo), int(hi))
        hist = histogram(codes, y, w, d, self.width, self.criterion)
        sizes = hist[:, 0] if self.criterion == VARIANCE else hist.sum(axis=1)
        ranks = np.flatnonzero(sizes)
        if len(ranks) < 2:
            return None
        hist = hist[ranks]
        if self.ordered:
            found = self._ordered(hist, total)
        elif column.wide:
            alone = np.asarray(column.alone or (True,) * column.n_values)[ranks]
            gain, j, goes_left, tied = scan_single(
                hist, alone, total, self.table, self.criterion, least
            )
            left = np.zeros(len(ranks), bool)
            left[j] = True
            found = None if gain <= 0 else (gain, left if goes_left else ~left, tied)
        else:
            masks = np.arange(1, 1 << (len(ranks) - 1), dtype=np.uint64)
            gain, mask, tied = scan_subsets(hist, masks, total, self.table, self.criterion, least)
            bits = (int(mask) >> np.arange(len(ranks))) & 1 == 1
            found = None if gain <= 0 else (gain, bits, bool(tied))
        if found is None:
            return None
        gain, left, tied = found
        return CandidateSplit(
            gain,
            feature,
            left_set=tuple(map(int, ranks[left])),
            right_set=tuple(map(int, ranks[~left])),
            tied=tied,
        )

    def _ordered(
        self, hist: NDArray[np.int64], total: NDArray[np.int64]
    ) -> tuple[float, NDArray[np.bool_], bool] | None:
        """Categories by mean response, cut between distinct means; ties: the shortest prefix."""
        if self.criterion == VARIANCE:
            means = [Fraction(int(s), int(n)) for n, s in hist]
        else:
            means = [Fraction(int(row[-1]), int(row.sum())) for row in hist]
        order = sorted(range(len(means)), key=lambda j: means[j])
        best, size = 0.0, 0
        left = np.zeros(self.width, np.int64)
        for at, (j, after) in enumerate(itertools.pairwise(order), start=1):
            left += hist[j]
            if means[j] == means[after]:
                continue
            nl = int(left[0] if self.criterion == VARIANCE else left.sum())
            n = int(total[0] if self.criterion == VARIANCE else total.sum())
            if min(nl, n - nl) < self.settings.min_leaf:
                continue
            gain = gain_of(left, total, self.table, self.criterion)
            if gain > best:
                best, size = gain, at
        if size == 0:
            return None
        chosen = np.zeros(len(order), bool)
        chosen[order[:size]] = True
        return best, chosen, False

    def totals(self, rows: NDArray[np.int32]) -> NDArray[np.int64]:
        """The statistics of a node."""
        y = self.response.codes[rows]
        w = self.ones[: len(rows)] if self.weights is None else self.weights[rows]
        if self.criterion == VARIANCE:
            return np.array([w.sum(), (w * y).sum()], np.int64)
        return np.bincount(y, weights=w, minlength=self.width).astype(np.int64)

    def node(self, path: str, rows: NDArray[np.int32], total: NDArray[np.int64]) -> Node:
        """A leaf record of these rows."""
        if self.criterion != VARIANCE:
            return Node(path, len(path), int(total.sum()), tuple(int(c) for c in total))
        y = self.response.y[rows]
        if self.weights is not None:
            y = np.repeat(y, self.weights[rows])
        # fsum is correctly rounded, so the mean does not depend on the order of records.
        return Node(path, len(path), int(total[0]), (fsum(y) / int(total[0]),))

    def grow(self) -> BuiltTree:
        """The tree with at most `n_splits` splits, largest gain first, then smallest node."""
        self.floor = self.gain_floor()
        total = self.totals(self.rows)
        nodes = [self.node("", self.rows, total)]
        held = {0: (self.rows, total)}
        queue: list[tuple[float, int, CandidateSplit]] = []

        def offer(at: int) -> None:
            rows, total = held[at]
            n = int(total[0] if self.criterion == VARIANCE else total.sum())
            deep = (
                self.settings.max_depth is not None and nodes[at].depth >= self.settings.max_depth
            )
            if deep or n < self.min_split:
                return
            split = self.best_split(rows, nodes[at].path, total)
            if split is not None:
                heapq.heappush(queue, (-split.gain, at, split))

        offer(0)
        for order in range(self.settings.n_splits):
            if not queue:
                break
            _, at, split = heapq.heappop(queue)
            rows, _ = held.pop(at)
            column = self.columns[split.feature]
            codes = column.codes[rows]
            if column.numeric:
                goes_left = codes <= split.lo
                threshold = midpoint(float(column.values[split.lo]), float(column.values[split.hi]))
            else:
                lookup = np.zeros(column.n_values, bool)
                lookup[list(split.left_set)] = True
                goes_left, threshold = lookup[codes], 0.0
            children = (len(nodes), len(nodes) + 1)
            for child, side, part in zip(children, "LR", split_rows(rows, goes_left), strict=True):
                total = self.totals(part)
                nodes.append(self.node(nodes[at].path + side, part, total))
                held[child] = (part, total)
            nodes[at] = replace(
                nodes[at],
                feature=split.feature,
                threshold=threshold,
                lo=split.lo,
                hi=split.hi,
                left_set=split.left_set,
                right_set=split.right_set,
                left=children[0],
                right=children[1],
                order=order,
                tied=split.tied,
            )
            if order + 1 < self.settings.n_splits:
                offer(children[0])
                offer(children[1])
        leaf = np.zeros(self.response.n, np.int32)
        if self.weights is None:
            for at, (rows, _) in held.items():
                leaf[rows] = at
        else:
            leaf = route(nodes, self.columns, self.response.n)
        return BuiltTree(tuple(nodes), leaf)


def midpoint(v1: float, v2: float) -> float:
    """The threshold between two neighbouring values; x < threshold goes left."""
    middle = (v1 + v2) / 2
    return middle if v1 < middle <= v2 else v2


def route(nodes: Sequence[Node], columns: Sequence[Predictor], n: int) -> NDArray[np.int32]:
    """The leaf of every record, seen in growing or not.

    A category that was absent from a node goes to the larger child, the left of equal ones.
    """
    at = np.zeros(n, np.int32)
    for i, node in enumerate(nodes):
        if node.feature < 0:
            continue
        rows = np.flatnonzero(at == i)
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
        at[rows] = np.where(goes_left, node.left, node.right)
    return at


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
    """The predictors a forest tries at a node: a function of seed, tree and path alone."""

    def draw(feature: int) -> bytes:
        return hashlib.sha256(f"{seed}/{tree}/{path}/{feature}".encode()).digest()

    return sorted(sorted(range(n_features), key=draw)[:n_chosen])


def bootstrap(seed: int, tree: int, n: int) -> NDArray[np.int64]:
    """How often each record is drawn for a tree: splitmix64 of (seed, tree, draw)."""
    key = int.from_bytes(hashlib.sha256(f"{seed}/{tree}".encode()).digest()[:8], "little")
    with np.errstate(over="ignore"):
        x = np.uint64(key) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        x ^= x >> np.uint64(31)
    drawn = ((x >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return np.bincount(drawn.astype(np.int64), minlength=n).astype(np.int64)
