"""A fitted tree: its nodes, their measures, error-digression pruning and the path of subtrees.

A node's error e(t) is the trace of its scatter matrix, its digression Delta(t) the determinant
of S - S(t) (Li & Sarkar 2010, 2014). Categorical responses add their Gini scatter as one more
diagonal entry. Branch sums run over the leaves below a node.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..errors import UnsupportedError
from ..kernels import Bools, Floats, Ints, UInts32
from ..kernels.compiled import checked, inner
from ..kernels.exact_sums import UNIT_BITS
from ..kernels.heap import sift
from .nodes import LEAF, Grown
from .responses import Responses
from .statistics import StatisticsLayout


class NodeMeasures(NamedTuple):
    """The measures of every node that Li & Sarkar (2014) define, as arrays over the nodes in pre-order.

    Parameters
    ----------
    error, digression : float arrays
        e(t) of equation (2), Delta(t) of equation (3).
    branch_error, branch_digression : float arrays
        Sums over the leaves below, equations (7) and (5); a leaf's own values.
    q : float array
        Error-digression ratio, equation (8); NaN for leaves.
    p_value : float array
        P-value of the likelihood ratio test that the node's covariance matrix is the table's,
        equation (9) with n_t - 1; for classes, of the G-test. With both, the statistics are added.
    explained : float array of shape (nodes, responses)
        Share by which a node reduces the public squared error: 1 less the terms of formula (10).
    """

    error: Floats
    digression: Floats
    branch_error: Floats
    branch_digression: Floats
    q: Floats
    p_value: Floats
    explained: Floats


def scatters(tree: Grown, layout: StatisticsLayout) -> Floats:
    """Return the scatter matrix of the scaled numeric responses in every node, shape (nodes, r, r)."""
    r = layout.r
    between = tree.products.between(*_leaves_below(tree))
    sums = tree.stats[:, layout.sums : layout.sums + r] / float(1 << UNIT_BITS)
    n = tree.stats[:, 0].astype(float)
    matrices = np.zeros((tree.n_nodes, r, r))
    pairs = ((j, k) for j in range(r) for k in range(j, r))
    for at, (j, k) in enumerate(pairs):
        matrices[:, j, k] = matrices[:, k, j] = between[:, at] - sums[:, j] * sums[:, k] / n
    return matrices


def _leaves_below(tree: Grown) -> tuple[Ints, Ints]:
    """Return the range first..last of the leaves (0-based, in pre-order) below every node."""
    starts = tree.start[tree.column == LEAF]
    return np.searchsorted(starts, tree.start), np.searchsorted(starts, tree.end)


class ClassSums(NamedTuple):
    """Sums for every node over the classes of one column; c is a class's count in the node, C in the root."""

    n: Floats
    # sum of c^2
    square: Floats
    # sum of c C
    cross: Floats
    # sum of c log (c N / (n C))
    divergence: Floats
    # number of classes that occur
    n_classes: int


def class_sums(tree: Grown, layout: StatisticsLayout, j: int, drop_last: bool = False) -> ClassSums:
    """Return the `ClassSums` of the j-th class column, on request without its last (missing) class."""
    if layout.listed is None:
        a, b = int(layout.starts[j]), int(layout.starts[j + 1]) - drop_last
        table = tree.stats[:, a:b]
        # The counts that are not 0, as for listed classes: both layouts share the sums below.
        node, at = np.nonzero(table)
        counts, whole = table[node, at].astype(float), table[0].astype(float)
    else:
        a, b = int(layout.listed.starts[j]), int(layout.listed.starts[j + 1]) - drop_last
        node, at, counts = _listed_counts(tree, j, b - a)
        whole = np.bincount(at[node == 0], counts[node == 0], b - a)

    def by_node(values: Floats) -> Floats:
        return np.bincount(node, values, tree.n_nodes).astype(np.float64)

    n = by_node(counts)
    divergence = counts * np.log(counts * whole.sum() / (n[node] * whole[at]))
    square, cross = by_node(counts**2), by_node(counts * whole[at])
    return ClassSums(n, square, cross, by_node(divergence), int(np.count_nonzero(whole)))


def _listed_counts(tree: Grown, j: int, n_classes: int) -> tuple[Ints, Ints, Floats]:
    """Return the node, class and count of every class that occurs in a node, depth by depth.

    Raises
    ------
    UnsupportedError
        The rows are on a cluster.
    """
    if len(tree.listed) < len(tree.rows):
        raise UnsupportedError(
            "what the nodes of this tree tell of classes was not counted, and its rows are on a cluster",
            hint="fit it with alpha, which counts them, or in memory",
        )
    nodes, classes, counts = list[Any](), list[Any](), list[Any]()
    for depth in range(int(tree.depth.max()) + 1):  # nodes of one depth share no row
        here = np.flatnonzero(tree.depth == depth)
        size = tree.end[here] - tree.start[here]
        rows = np.repeat(tree.start[here] - np.cumsum(size) + size, size) + np.arange(size.sum())
        code = tree.listed[rows, j].astype(np.int64)
        # One sort of pairs (node, class) counts the classes of all nodes of this depth.
        keys = np.sort((np.repeat(here, size) * (n_classes + 1) + code)[code < n_classes])
        first = np.flatnonzero(np.diff(keys, prepend=-1))
        nodes.append(keys[first] // (n_classes + 1))
        classes.append(keys[first] % (n_classes + 1))
        counts.append(np.diff(first, append=len(keys)).astype(float))
    return tuple(np.concatenate(part) for part in (nodes, classes, counts))  # type: ignore[return-value]


def measure(tree: Grown, responses: Responses, layout: StatisticsLayout) -> NodeMeasures:
    """Return all measures of every node of a tree."""
    n = tree.stats[:, 0].astype(float)
    r, q_classes = layout.r, len(responses.categorical)
    unit = float(1 << UNIT_BITS)
    scatter = scatters(tree, layout)
    gini = np.zeros((tree.n_nodes, q_classes))
    for j in range(q_classes):
        gini[:, j] = n - class_sums(tree, layout, j).square / n
    error = np.einsum("tjj,j->t", scatter, layout.weight[:r] * unit**2) if r else np.zeros(tree.n_nodes)
    weight = layout.weight[r:] if layout.listed is None else layout.listed.weight
    error = error + gini @ weight[:q_classes]
    # the determinant of a diagonal block matrix is the product of those of its blocks
    digression = np.linalg.det(scatter[0] - scatter) if r else np.ones(tree.n_nodes)
    digression = digression * np.prod(gini[0] - gini, axis=1)
    branch_error, branch_digression, q = _branch_sums(tree.column, tree.right, error, digression)
    p_value, shares = (of_nodes(tree, responses, layout, scatter) for of_nodes in (_p_values, explained))
    return NodeMeasures(error, digression, branch_error, branch_digression, q, p_value, shares)


def explained(tree: Grown, responses: Responses, layout: StatisticsLayout, scatter: Floats) -> Floats:
    """Return the share of each response's squared error that each node explains (1 - RSD); numeric responses first."""
    unit = float(1 << UNIT_BITS)
    columns = []
    for j in range(layout.r):
        at = layout.missing_at[j]
        n = np.maximum(tree.stats[:, 0], 1)
        n_known = n - (tree.stats[:, at] if at else 0)
        total = tree.stats[:, layout.sums + j] / unit
        center = tree.stats[0, layout.sums + j] / max(n_known[0], 1) / unit
        distance = total - n_known * center
        # scatter is about the mean over n; missing values stand at 0 and take no part
        square = scatter[:, j, j] + total * total / n
        outside = square - 2 * center * total + n_known * center**2
        inside = outside - distance**2 / np.maximum(n_known, 1)
        # If guessing the public mean makes no error, nothing is left to be explained.
        columns.append(1 - np.divide(np.maximum(inside, 0), outside, out=np.ones(len(n)), where=outside > 0))
    for j, response in enumerate(responses.categorical):
        sums = class_sums(tree, layout, j, drop_last=response.n_missing > 0)
        n = np.maximum(sums.n, 1)
        public = sums.square[0] / n[0] ** 2
        outside = 1 - 2 * sums.cross / (n * n[0]) + public
        inside = np.maximum(1 - sums.square / n**2, 0)
        left = np.divide(inside, outside, out=np.ones(len(n)), where=outside > 1e-12)
        columns.append(1 - left)
    return np.stack(columns, axis=1) if columns else np.zeros((tree.n_nodes, 0))


def _p_values(tree: Grown, responses: Responses, layout: StatisticsLayout, scatter: Floats) -> Floats:
    """Return every node's p-value by a likelihood ratio test (Li & Sarkar 2014, equation 9).

    The statistic is n_t - 1 times the likelihood ratio of unbiased covariances, plus the G-test
    of every categorical response; it is chi-squared.
    """
    from scipy.special import chdtrc  # scipy.stats takes longer to load than a small table

    n = (tree.end - tree.start).astype(float)
    r = layout.r
    statistic = np.zeros(tree.n_nodes)
    freedom = r * (r + 1) / 2
    if r:
        whole = scatter[0] / max(n[0] - 1, 1)
        part = scatter / np.maximum(n - 1, 1)[:, None, None]
        sign, size = np.linalg.slogdet(whole)
        signs, sizes = np.linalg.slogdet(part)
        # a determinant that is only rounding, against the product of the variances, is singular
        variances = np.prod(np.maximum(np.einsum("tjj->tj", part), 0), axis=1)
        flat = (signs <= 0) | (np.exp(np.minimum(sizes, 700)) <= 1e-12 * variances) | (n < 2)
        if sign > 0:
            trace = np.einsum("tjk,kj->t", part, np.linalg.inv(whole))
            statistic = np.where(flat, np.inf, (n - 1) * (size - sizes + trace - r))
        else:
            statistic = np.full(tree.n_nodes, np.inf)
    for j in range(len(responses.categorical)):
        sums = class_sums(tree, layout, j)
        statistic = statistic + 2 * sums.divergence
        freedom += max(sums.n_classes - 1, 0)
    # The root is compared with itself: rounding must not make it violate.
    statistic[0] = 0.0
    return np.asarray(chdtrc(max(freedom, 1), np.maximum(statistic, 0)), np.float64)


@inner
def _ratio(error: float, digression: float, branch_error: float, branch_digression: float) -> float:
    """Return the error-digression ratio (Li & Sarkar 2014, equation 8), or infinity."""
    growth = branch_digression - digression
    # Rounding may take the difference of equal errors below 0.
    return max(error - branch_error, 0.0) / growth if growth > 0 else np.inf


@checked
def _branch_sums(column: Ints, right: Ints, error: Floats, digression: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the errors and the digressions summed over the leaves below each node, and its ratio q."""
    a, b, q = error.copy(), digression.copy(), np.full(column.shape[0], np.nan)
    # Backwards, because children have larger numbers than their parent.
    for i in range(column.shape[0] - 1, -1, -1):
        if column[i] >= 0:
            a[i] = a[i + 1] + a[right[i]]
            b[i] = b[i + 1] + b[right[i]]
            q[i] = _ratio(error[i], digression[i], a[i], b[i])
    return a, b, q


class _Shape(NamedTuple):
    """The nodes of a tree as `Grown` describes them, with the records of each."""

    column: Ints
    right: Ints
    parent: Ints
    depth: Ints
    n: Ints


@checked
def _prune(shape: _Shape, k: int, violates: Bools, measures: NodeMeasures) -> tuple[Ints, Floats]:
    """Prune the violating node of smallest q until none violates; return those nodes and their q, in order.

    `violates` marks nodes that violate by their own records; a child leaf with
    fewer than k records makes its parent violate as well. Branch sums are changed in place.
    """
    column, right, parent, depth, n = shape
    error, digression = measures.error, measures.digression
    branch_error, branch_digression = measures.branch_error, measures.branch_digression
    nodes = column.shape[0]
    urgency = -measures.q  # the heap has the largest on top, then the deepest
    leaf = column < 0
    heap = np.empty(nodes, np.int64)
    place = np.full(nodes, -1, np.int64)
    size = 0
    order = np.empty(nodes, np.int64)
    pruned_q = np.empty(nodes)
    n_pruned = 0
    for t in range(nodes):
        if not leaf[t]:
            a, b = t + 1, right[t]
            if violates[t] or (leaf[a] and n[a] < k) or (leaf[b] and n[b] < k):
                heap[size] = t
                size += 1
                sift(heap, place, size - 1, size, urgency, depth)
    stack = np.empty(nodes, np.int64)
    while size > 0:
        t = heap[0]
        order[n_pruned] = t
        pruned_q[n_pruned] = -urgency[t]
        n_pruned += 1
        stack[0] = t
        top = 1
        while top > 0:  # the branch leaves the heap
            top -= 1
            s = stack[top]
            if place[s] >= 0:
                i = place[s]
                size -= 1
                place[s] = -1
                if i < size:
                    heap[i] = heap[size]
                    place[heap[i]] = i
                    sift(heap, place, i, size, urgency, depth)
            if not leaf[s]:
                stack[top], stack[top + 1] = s + 1, right[s]
                top += 2
        leaf[t] = True
        branch_error[t] = error[t]
        branch_digression[t] = digression[t]
        # only ancestors have other branch sums now; their places in the heap follow
        s = parent[t]
        while s >= 0:
            branch_error[s] = branch_error[s + 1] + branch_error[right[s]]
            branch_digression[s] = branch_digression[s + 1] + branch_digression[right[s]]
            urgency[s] = -_ratio(error[s], digression[s], branch_error[s], branch_digression[s])
            # Only the parent has a new leaf as its child, and violates if that is too small.
            if place[s] < 0 and s == parent[t] and n[t] < k:
                heap[size] = s
                place[s] = size
                size += 1
            if place[s] >= 0:
                sift(heap, place, place[s], size, urgency, depth)
            s = parent[s]
    return order[:n_pruned], pruned_q[:n_pruned]


def prune_order(tree: Grown, measures: NodeMeasures, k: int, violates: Bools) -> tuple[Ints, Floats]:
    """Return the nodes that error-digression pruning turns into leaves, in order, and the q of each.

    Parameters
    ----------
    tree : Grown
    measures : NodeMeasures
    k : int
        Fewest records of a leaf.
    violates : bool array over the nodes
        Nodes that must go whatever their children are, such as p_value < alpha.
    """
    shape = _Shape(tree.column, tree.right, tree.parent, tree.depth, tree.end - tree.start)
    error, digression = measures.branch_error.copy(), measures.branch_digression.copy()
    return _prune(shape, k, violates, measures._replace(branch_error=error, branch_digression=digression))


def lifetimes(tree: Grown, order: Ints) -> tuple[Ints, Ints]:
    """Return, for each node, the pruning steps [born, end) in which it is a leaf if nodes are pruned in `order`.

    Step 0 is the tree before pruning; internal nodes that stay so are never born.
    """
    never = len(order) + 1
    pruned = np.full(tree.n_nodes, never, np.int64)
    pruned[order] = np.arange(1, len(order) + 1)
    return np.where(tree.column == LEAF, 0, pruned), _first_ancestor(tree.parent, pruned)


@checked
def _first_ancestor(parent: Ints, step: Ints) -> Ints:
    """Return the smallest step among each node's ancestors; the largest integer for the root."""
    least = np.empty_like(step)
    for t in range(parent.shape[0]):
        above = parent[t]
        least[t] = np.iinfo(np.int64).max if above < 0 else min(least[above], step[above])
    return least


def cut(tree: Grown, leaves: Bools) -> tuple[Grown, Ints]:
    """Return the tree with the marked nodes turned into leaves, and each node's number in the old tree."""
    # nodes below a marked one go: their first marked ancestor has step 0
    stays = np.flatnonzero(_first_ancestor(tree.parent, np.where(leaves, 0, 1)) > 0)
    new = np.full(tree.n_nodes, -1, np.int64)
    new[stays] = np.arange(len(stays))
    column = np.where(leaves[stays], LEAF, tree.column[stays])
    first, last = _leaves_below(tree)
    ends = stays[column == LEAF]
    parent = tree.parent[stays]
    names = ("start", "end", "last_left", "first_right", "missing_left", "depth", "stats", "subset_at")
    by_node = {name: getattr(tree, name)[stays] for name in names}
    smaller = replace(
        tree,
        **by_node,
        parent=np.where(parent >= 0, new[np.maximum(parent, 0)], -1),
        right=np.where(column >= 0, new[tree.right[stays]], 0),
        column=column,
        products=tree.products.merged(first[ends], last[ends]),
    )
    return smaller, stays


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
        Returns the value of `splits`; called when `splits` is first read.
    numbers : int array
        1-based pre-order numbers in the tree as it was grown, which pruning keeps.
    """

    grown: Grown
    responses: Responses
    layout: StatisticsLayout
    words: Callable[[], tuple[str, ...]]
    numbers: Ints

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Return the categories or range that go left at each node, in words; empty for leaves."""
        return self.words()

    @cached_property
    def measures(self) -> NodeMeasures:
        """Return the errors, digressions, ratios and p-values of all nodes."""
        return measure(self.grown, self.responses, self.layout)

    @property
    def n_leaves(self) -> int:
        """Return the number of leaves, which are the groups."""
        return int(np.count_nonzero(self.grown.column == LEAF))

    def __repr__(self) -> str:
        return f"Tree({self.grown.n_nodes:,} nodes, {self.n_leaves:,} leaves)"

    def leaf_of_rows(self) -> UInts32:
        """Return the leaf (0-based, in pre-order) of each row."""
        leaf = self.grown.column == LEAF
        start, end = self.grown.start[leaf], self.grown.end[leaf]
        leaf_of = np.empty(len(self.grown.rows), np.uint32)
        leaf_of[self.grown.rows] = np.repeat(np.arange(len(start), dtype=np.uint32), end - start)
        return leaf_of

    def to_table(self) -> pa.Table:
        """Return the nodes as a table in pre-order, one row per node.

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
                **{name: getattr(m, name) for name in ("error", "branch_error", "digression", "branch_digression")},
                "q": pa.array(m.q, mask=leaf),
                "p_value": m.p_value,
                "explained": m.explained.max(axis=1, initial=0.0),
            }
        )

    def pruned(self, nodes: Ints) -> Tree:
        """Return the subtree in which the given nodes (0-based) are leaves."""
        leaves = self.grown.column == LEAF
        leaves[nodes] = True
        grown, stays = cut(self.grown, leaves)

        words = partial(_splits_of, self, grown, stays)
        return Tree(grown, self.responses, self.layout, words, self.numbers[stays])

    def error_digression_pruned(self, k: int, alpha: float | None) -> Tree:
        """Return the subtree that error-digression pruning leads to (Li & Sarkar 2014, Figure 4).

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
        """Return the nested subtrees made by always pruning the node of smallest q, down to the root."""
        return Path(self, *prune_order(self.grown, self.measures, 0, self.grown.column != LEAF))


def _splits_of(tree: Tree, grown: Grown, stays: Ints) -> tuple[str, ...]:
    """Return the splits of a subtree in words, copied from the tree that it was cut from."""
    return tuple("" if grown.column[i] == LEAF else tree.splits[old] for i, old in enumerate(stays))


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
    order: Ints
    q: Floats

    def __len__(self) -> int:
        return len(self.order) + 1

    def __getitem__(self, step: int) -> Tree:
        """Return the subtree after the first `step` prunings."""
        if not 0 <= step < len(self):
            raise IndexError(f"the path has the steps 0 to {len(self) - 1}")
        return self.tree.pruned(self.order[:step])

    def to_table(self) -> pa.Table:
        """Return the groups, the error and the explained shares of every subtree, one row per step.

        Returns
        -------
        pyarrow.Table
            step, node (the one pruned to get here, null at first), q, groups,
            smallest (records of the smallest group), error (of the tree),
            explained_mean_over_groups and explained_worst (1 - RSD: 0 explains nothing, 1
            everything): the mean over responses of each group, and the worst group and response.
        """
        g, m = self.tree.grown, self.tree.measures
        born, end = lifetimes(g, self.order)
        n = (g.end - g.start).astype(float)
        each = m.explained.mean(axis=1) if m.explained.shape[1] else np.zeros(g.n_nodes)
        worst = m.explained.max(axis=1, initial=0.0)
        groups, error, explained = (self._over_time(x, born, end) for x in (np.ones(g.n_nodes), m.error, each))
        groups = np.rint(groups)
        return pa.table(
            {
                "step": np.arange(len(self)),
                "node": pa.array([None, *self.tree.numbers[self.order].tolist()], pa.int64()),
                "q": pa.array([None, *self.q.tolist()], pa.float64()),
                "groups": groups.astype(np.int64),
                "smallest": self._least(n, born, end).astype(np.int64),
                "error": np.maximum(error, 0),
                "explained_mean_over_groups": explained / groups,
                "explained_worst": -self._least(-worst, born, end),
            }
        )

    def _over_time(self, value: Any, born: Any, end: Any) -> Floats:
        """Return the sum of a node value over the leaves, at every step."""
        is_born, change = born < len(self), np.zeros(len(self) + 1)
        np.add.at(change, born[is_born], value[is_born])
        is_over = is_born & (end < len(self))
        np.add.at(change, end[is_over], -value[is_over])
        return np.cumsum(change)[: len(self)]

    def _least(self, value: Any, born: Any, end: Any) -> Floats:
        """Return the smallest node value among the leaves, at every step."""
        arrivals: list[list[int]] = [[] for _ in range(len(self))]
        for node in np.flatnonzero(born < len(self)):
            arrivals[born[node]].append(int(node))
        heap: list[tuple[float, int]] = []
        least = np.empty(len(self))
        for step, nodes in enumerate(arrivals):
            for leaf in nodes:
                heapq.heappush(heap, (float(value[leaf]), leaf))
            # Leaves that ended go when they are on top: deleting others would need a search.
            while end[heap[0][1]] <= step:
                heapq.heappop(heap)
            least[step] = heap[0][0]
        return least
