"""The exact builder: it grows trees best first, and every decision depends only on sets of records.

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
from functools import cache
from math import fsum
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError, UnsupportedError
from ...kernels import Ints
from ...kernels.siphash import mixed
from ...validation import Kind, check, check_whole
from .encoding import PredictedColumn, Predictor
from .split_scores import CRITERIA, ENTROPY, GINI, RATIO, VARIANCE, best_of, gains, histogram, xlogx, xlogx_shift

Rows = NDArray[np.int32]
Columns = Sequence[Predictor]

CLASS_CRITERIA = ("entropy", "gini", "gain_ratio")


@dataclass(frozen=True)
class Node:
    """A node of a grown tree; a leaf has feature -1 and order -1.

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
    """A grown tree: its nodes in order of creation, and the index of each record's leaf."""

    nodes: tuple[Node, ...]
    leaf: NDArray[np.int32]
    # whether a value equal to the threshold goes left (scikit-learn) or right
    closed_left: bool = False

    @property
    def n_splits(self) -> int:
        """Return the number of splits."""
        return sum(1 for node in self.nodes if node.feature >= 0)

    def keep(self, wanted: Callable[[Node], bool]) -> BuiltTree:
        """Return the tree with only the splits that `wanted` accepts; splits below a dropped one are dropped too."""
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
        return BuiltTree(tuple(nodes), np.array([new[at] for at in target], np.int32)[self.leaf], self.closed_left)


def leaf_of(node: Node) -> Node:
    """Return a copy of the node as a leaf, without its split."""
    return Node(node.path, node.depth, node.n, node.value)


Trees = tuple[BuiltTree, ...]
Chooser = Callable[[str], Sequence[int]]
# the gain of a split, and the fields that it sets in its node; empty if there is no split
Split = tuple[float, dict[str, Any]]


def best_first(
    columns: Columns,
    n: int,
    n_splits: int,
    leaf: Callable[[str, Rows], Node],
    best_split: Callable[[Node, Rows], Split],
    *,
    weights: NDArray[np.int64] | None = None,
    closed_left: bool = False,
) -> BuiltTree:
    """Grow a tree of at most `n_splits` splits, each at the leaf with the largest gain (in a tie, the oldest).

    Parameters
    ----------
    columns : sequence of Predictor
    n : int
        Number of records; those of weight 0 are assigned to a leaf as well.
    n_splits : int
    leaf : callable
        Returns a leaf from its path of L and R and its records of positive weight.
    best_split : callable
        Returns the best split of a node from its records of positive weight.
    weights : array of int64, optional
        How often each record counts.
    closed_left : bool
        Whether a value equal to the threshold goes left.
    """
    nodes: list[Node] = []
    open_leaves: dict[int, tuple[Rows, int]] = {}
    queue: list[tuple[float, int, dict[str, Any]]] = []

    def add(path: str, rows: Rows, n_counted: int) -> None:
        open_leaves[len(nodes)] = rows, n_counted
        nodes.append(leaf(path, rows[:n_counted]))

    def offer(at: int) -> None:
        rows, n_counted = open_leaves[at]
        gain, fields = best_split(nodes[at], rows[:n_counted])
        if fields:
            # The heap compares nodes after gains, so of equal gains the oldest node is split.
            heapq.heappush(queue, (-gain, at, fields))

    rows = np.arange(n, dtype=np.int32)
    if weights is not None:
        # Records that count stand before idle ones of weight 0, which only come to their leaf.
        rows = np.argsort(weights == 0, kind="stable").astype(np.int32)
    add("", rows, n if weights is None else int(np.count_nonzero(weights)))
    offer(0)
    for order in range(n_splits):
        if not queue:
            break
        _, at, fields = heapq.heappop(queue)
        (rows, n_counted), left = open_leaves.pop(at), len(nodes)
        node = nodes[at] = replace(nodes[at], left=left, right=left + 1, order=order, **fields)
        column = columns[node.feature]
        codes = column.codes[rows]
        if column.numeric:
            # By the threshold: idle records may lie between the two values around it.
            values, threshold = column.values, node.threshold
            goes_left = codes < np.searchsorted(values, threshold, "right" if closed_left else "left")
        else:
            lookup = np.zeros(column.n_values, np.bool_)
            lookup[list(node.left_set)] = True
            if weights is not None:
                # A category of idle records alone goes to the larger side, left if equal.
                counted = rows[:n_counted]
                sizes = np.bincount(codes[:n_counted], weights[counted], column.n_values)
                lookup |= (sizes == 0) & (sizes[lookup].sum() >= sizes[~lookup].sum())
            goes_left = lookup[codes]
        n_left = int(np.count_nonzero(goes_left[:n_counted]))
        add(node.path + "L", rows[goes_left], n_left)
        add(node.path + "R", rows[~goes_left], n_counted - n_left)
        # The children of the last split stay leaves: no search for theirs.
        if order + 1 < n_splits:
            offer(left)
            offer(left + 1)
    leaf_of_row = np.zeros(n, np.int32)
    for at, (rows, _) in open_leaves.items():
        leaf_of_row[rows] = at
    return BuiltTree(tuple(nodes), leaf_of_row, closed_left)


class ModelSettings:
    """The base class of all builder settings; those of a regression by default."""

    kind: ClassVar[str]
    # whether a step is a whole tree; else it is a split of the only tree
    ensemble: ClassVar[bool] = True
    # the name of the setting that gives the number of steps
    steps: ClassVar[str] = "n_trees"

    @property
    def classes(self) -> bool:
        """Return whether the settings are for a response of classes."""
        return False

    def for_response(self, classes: bool) -> Self:
        """Return the settings with the criterion that depends on the response filled in, if it was left open."""
        return self

    def grow(self, columns: Columns, response: PredictedColumn, step: int) -> Trees:
        """Return the trees of the first `step` steps."""
        raise NotImplementedError


@dataclass(frozen=True)
class TreeSettings(ModelSettings):
    """One tree of Hedgerow's own exact builder.

    Parameters
    ----------
    criterion : {"entropy", "gini", "gain_ratio", "variance"}, optional
        "variance" (also "deviance") grows a regression tree, the others a
        classification tree. By default "variance" if the response is a number, "entropy"
        if it is a class.
    n_splits : int
        Most splits of the tree, at least 0. The tree grows best first: the
        split with the largest gain comes next.
    min_leaf : int
        Fewest records in a leaf, at least 1.
    max_depth : int, optional
        Deepest level of a leaf; the root is level 0.
    min_gain : float
        Least decrease of impurity, weighted by the node's share of all records
        (bits for entropy; y units squared for variance), at least 0.
    pruning, size : str
        Only "none" and "fixed". They exist so that other values, which the guarantee does not cover,
        are refused with a clear message.

    Examples
    --------
    >>> TreeSettings(criterion="gini", n_splits=3).criterion
    'gini'
    """

    kind = "tree"
    steps, ensemble = "n_splits", False

    criterion: str | None = None
    n_splits: int = 7
    min_leaf: int = 1
    max_depth: int | None = None
    min_gain: float = 0.0
    pruning: str = "none"
    size: str = "fixed"

    def __post_init__(self) -> None:
        if self.criterion == "deviance":  # R's word for it
            object.__setattr__(self, "criterion", "variance")
        if self.criterion in ("gain_ratio_average", "c4.5", "j48"):
            raise UnsupportedError(
                "the average-gain filter is outside the guarantee: it averages all splits, and sanitizing removes some",
                hint='use criterion="gain_ratio", the plain ratio',
            )
        if self.criterion not in (None, *CLASS_CRITERIA, "variance"):
            raise ParameterError(f"unknown criterion {self.criterion!r}", hint="entropy, gini, gain_ratio, variance")
        if self.pruning != "none":
            raise UnsupportedError(
                f"pruning {self.pruning!r} is outside the guarantee: cost-complexity compares subtrees of the original",
                hint="state the number of splits instead (n_splits)",
            )
        if self.size != "fixed":
            raise UnsupportedError(
                f"size {self.size!r} is outside the guarantee: cross-validation grows trees that are not preserved",
                hint="choose n_splits beforehand and state it",
            )
        check_whole("n_splits", self.n_splits, 0)
        check_whole("min_leaf", self.min_leaf, 1)
        if self.max_depth is not None:
            check_whole("max_depth", self.max_depth, 1)
        check("min_gain", self.min_gain, Kind("a finite number of at least 0", lambda v: 0 <= v < float("inf")))

    @property
    def classes(self) -> bool:
        """Return whether the tree predicts classes."""
        return self.criterion != "variance"

    def for_response(self, classes: bool) -> Self:
        """Return the settings with the criterion filled in, if it was left open."""
        return self if self.criterion else replace(self, criterion="entropy" if classes else "variance")

    def grow(self, columns: Columns, response: PredictedColumn, step: int) -> Trees:
        """Grow a tree with `step` splits."""
        return (Builder(columns, response, replace(self, n_splits=step)).grow(),)


class Builder:
    """The exact builder of one tree, from encoded predictors and an encoded response.

    Parameters
    ----------
    columns : sequence of Predictor
        The predictors in their fixed order.
    response : PredictedColumn
        Classes or numbers.
    settings : TreeSettings
        The settings of the tree.
    weights : array of int64, optional
        How often each record counts (bootstrap rows).
    choose : callable, optional
        The predictors allowed at a node, by its path of L and R.
    """

    def __init__(
        self,
        columns: Columns,
        response: PredictedColumn,
        settings: TreeSettings,
        weights: NDArray[np.int64] | None = None,
        choose: Chooser | None = None,
    ) -> None:
        settings = settings.for_response(response.classes)
        self.columns, self.response, self.settings = columns, response, settings
        self.criterion = CRITERIA[str(settings.criterion)]
        self.width = 2 if self.criterion == VARIANCE else max(len(response.labels), 1)
        self.is_weighted = weights is not None
        self.weights = np.ones(response.n, np.int64) if weights is None else weights
        n = int(self.weights.sum())
        self.table = xlogx(n) if self.criterion in (ENTROPY, RATIO) else np.zeros(1, np.int64)
        self.choose = choose or (lambda path: range(len(columns)))
        self.ordered = settings.min_leaf == 1 and (
            self.criterion == VARIANCE or (self.width <= 2 and self.criterion != RATIO)
        )
        # min_gain in the units of the integer scores
        shifts = {ENTROPY: xlogx_shift(n), GINI: 0, VARIANCE: 2 * response.shift}
        self.floor = settings.min_gain
        if self.criterion in shifts:
            self.floor = float(np.ldexp(settings.min_gain * n, shifts[self.criterion]))

    def grow(self) -> BuiltTree:
        """Grow the tree and return it."""
        weights, n_splits = self.weights if self.is_weighted else None, self.settings.n_splits
        return best_first(self.columns, self.response.n, n_splits, self.leaf, self.best_split, weights=weights)

    def leaf(self, path: str, rows: Rows) -> Node:
        """Return a leaf node with the class counts or the mean response of the given records."""
        w = self.weights[rows] if self.is_weighted else None
        if self.criterion != VARIANCE:
            counts = np.bincount(self.response.codes[rows], w, self.width)
            return Node(path, len(path), int(counts.sum()), tuple(map(int, counts)))
        y = self.response.y[rows]
        if w is not None:
            y = np.repeat(y, w)
        # fsum is correctly rounded, so the mean does not depend on the order of records.
        return Node(path, len(path), len(y), (fsum(y.tolist()) / len(y),))

    def best_split(self, node: Node, rows: Rows) -> Split:
        """Return the gain and the fields of a node's best admissible split; (0, {}) if there is none."""
        max_depth = self.settings.max_depth
        best: Split = (0.0, {})
        if node.n < 2 * self.settings.min_leaf or (max_depth is not None and node.depth >= max_depth):
            return best
        statistics: Sequence[float] = node.value
        if self.criterion == VARIANCE:
            statistics = (node.n, int(self.weights[rows] @ self.response.codes[rows]))
        total = np.array(statistics, np.int64)
        for feature in self.choose(node.path):
            column = self.columns[feature]
            if column.n_values < 2:
                continue
            search = self._cut if column.numeric else self._subset
            gain, fields = search(column, rows, total, best[0])
            if fields:
                best = gain, {"feature": feature, **fields}
        return best if best[0] >= self.floor else (0.0, {})

    def gains(self, hist: Ints, total: Ints, is_running: bool) -> tuple[NDArray[np.float64], Ints]:
        """Return the gain of every split and the records in every row of `hist`; see `split_scores.gains`."""
        return gains(hist, total, self.table, self.criterion, self.settings.min_leaf, is_running)

    def _histogram(self, column: Predictor, rows: Rows) -> tuple[Ints, Ints]:
        """Return the ranks of a column that are looked at, with those that occur, and their statistics."""
        codes, y, w = column.codes, self.response.codes, self.weights
        present = np.arange(column.n_values)
        if column.n_values > 4 * len(rows) + 64:
            # a histogram over all values would cost more than a sort
            present, ranks = np.unique(codes[rows], return_inverse=True)
            codes, y, w = ranks.astype(np.int32), y[rows], w[rows]
            rows = np.arange(len(rows), dtype=np.int32)
        return present, histogram(codes, y, w, rows, len(present), self.width, self.criterion)

    def _cut(self, column: Predictor, rows: Rows, total: Ints, beat: float) -> Split:
        """Return the best threshold split of a numeric column if its gain is above `beat`, else (0, {})."""
        present, hist = self._histogram(column, rows)
        gain, sizes = self.gains(hist, total, True)
        at = int(gain.argmax())  # of equal gains the lowest threshold
        if gain[at] <= beat:
            return 0.0, {}
        lo, hi = int(present[at]), int(present[at + 1 + (sizes[at + 1 :] > 0).argmax()])
        threshold = midpoint(float(column.values[lo]), float(column.values[hi]))
        return float(gain[at]), {"lo": lo, "hi": hi, "threshold": threshold}

    def _subset(self, column: Predictor, rows: Rows, total: Ints, beat: float) -> Split:
        """Return the best two-sided split of a categorical column if its gain is above `beat`, else (0, {})."""
        present, hist = self._histogram(column, rows)
        occurs = hist.any(axis=1)
        present, hist = present[occurs], hist[occurs]
        p, tied = len(present), False
        if self.ordered:
            # With two classes or numbers the best subset is a prefix by mean. With three classes,
            # or with a smallest leaf, it need not be, and the release would give another tree.
            means = self.means(hist)
            order = sorted(range(p), key=means.__getitem__)
            gain, _ = self.gains(hist[order], total, True)
            gain[:-1][[means[a] == means[b] for a, b in itertools.pairwise(order)]] = -1.0
            if gain.max() <= beat:
                return 0.0, {}
            goes_left = np.isin(np.arange(p), order[: gain.argmax() + 1])  # the shortest prefix
        else:
            # p categories have 2**(p - 1) subsets; beyond 12, one category stands against the rest.
            if column.wide:
                splits = np.flatnonzero(np.asarray(column.alone or (True,) * column.n_values)[present])
                lefts = hist[splits]
            else:
                members = _subsets(p)
                lefts = members @ hist
            gain, _ = self.gains(lefts, total, False)
            if gain.max(initial=0.0) <= beat:
                return 0.0, {}
            ties, is_turned, is_even = best_of(gain, lefts, total)
            tied = is_even or len(ties) > 1
            if column.wide:
                goes_left = (np.arange(p) == splits[ties[0]]) != is_turned[0]
            else:
                sides = (members[ties] == 1) != is_turned[:, None]
                if is_even:
                    sides ^= ~sides[:, :1]
                # The first category in which two equal subsets differ goes left.
                goes_left = np.array(max(sides.tolist()))
        return float(gain.max()), {
            "left_set": tuple(present[goes_left].tolist()),
            "right_set": tuple(present[~goes_left].tolist()),
            "tied": tied,
        }

    def means(self, hist: Ints) -> list[Fraction]:
        """Return each category's mean response as a fraction; with two classes, the share of the second."""
        # Fractions: means that are equal must compare equal.
        sizes = hist[:, 0] if self.criterion == VARIANCE else hist.sum(axis=1)
        return [Fraction(*pair) for pair in zip(hist[:, -1].tolist(), sizes.tolist(), strict=True)]


@cache
def _subsets(p: int) -> Ints:
    """Return all nonempty subsets of p categories without the last one, as 0/1 rows, shape (2**(p-1) - 1, p)."""
    return np.arange(1, 1 << (p - 1))[:, None] >> np.arange(p) & 1


def midpoint(v1: float, v2: float) -> float:
    """Return the midpoint of two neighbouring values, or v2 if it rounds to v1; x < threshold goes left."""
    # The sum may be infinite, and the mean of neighbouring doubles is one of them.
    middle = (v1 + v2) / 2
    return middle if v1 < middle <= v2 else v2


def features_at(seed: int, tree: int, path: str, n_features: int, n_chosen: int) -> list[int]:
    """Return the predictors that a forest tries at a node; they depend on seed, tree and path alone."""

    def draw(feature: int) -> bytes:
        return hashlib.sha256(f"{seed}/{tree}/{path}/{feature}".encode()).digest()

    return sorted(sorted(range(n_features), key=draw)[:n_chosen])


def bootstrap(seed: int, tree: int, n: int) -> NDArray[np.int64]:
    """Return how often each record is drawn for a tree, shape (n,), by splitmix64 of (seed, tree, draw)."""
    # No library's generator: any language can draw the same rows from these integers.
    key = int.from_bytes(hashlib.sha256(f"{seed}/{tree}".encode()).digest()[:8], "little")
    with np.errstate(over="ignore"):
        x = np.uint64(key) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        x = mixed(x)
    row = ((x >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32)
    return np.bincount(row.astype(np.int64), minlength=n).astype(np.int64)
