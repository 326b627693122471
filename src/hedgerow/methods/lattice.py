"""The lattice of full-domain generalisations: classes by roll-up, search with pruning."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..measures import Bools, Floats, Ints, group
from ..measures.persons import PeopleByClass

Levels = tuple[int, ...]

# Classes that all stored nodes hold together, some 32 bytes each.
_SNAPSHOT_GROUPS = 4_000_000
_SNAPSHOTS = 1000
# Nodes that are searched; a table of few rows and many columns has no end of them.
MOST_NODES = 1 << 24


@dataclass(frozen=True)
class Axis:
    """The generalisations of one quasi-identifier, level by level.

    Parameters
    ----------
    levels : list of int arrays of shape (codes,)
        Per level the label of every original code, 0 .. labels - 1.
    share : list of float arrays of shape (codes,)
        Per level the loss of every original code in [0, 1]: the part of the domain
        that its label covers, (leaves - 1)/(domain - 1).
    labels : list of tuple
        Per level the texts of the labels; a missing value is None until the top level.
    values : sequence of str
        The original categories, in the order of their codes.
    """

    levels: list[Ints]
    share: list[Floats]
    labels: Sequence[tuple[str | None, ...]] = ()
    values: Sequence[str] = ()


@dataclass(frozen=True)
class NodeClasses:
    """The equivalence classes of one node of the lattice.

    Parameters
    ----------
    row : int array of shape (g,)
        One base group of each class.
    size : int array of shape (g,)
        Records per class.
    hist : int array of shape (g, u)
        Counts of the sensitive values, all sensitive attributes side by side.
    units : PeopleByClass, optional
        Whose records each class has, if k counts people.
    """

    row: Ints
    size: Ints
    hist: Ints
    units: PeopleByClass | None = None

    def __len__(self) -> int:
        return len(self.size)

    @property
    def people(self) -> Ints:
        """Return the number of people in each class, or of records if k counts records."""
        return self.size if self.units is None else self.units.people

    def few(self, k: int) -> Bools:
        """Return a mask of the classes that have fewer than k different people."""
        # `people` falls to 1 if one person has most records, so it may grow in a union and
        # cannot prune; different people never become fewer.
        return (self.size if self.units is None else self.units.different) < k

    def merged(self, rows: Ints, labels: Ints, chosen: Bools | None = None) -> NodeClasses:
        """Merge classes with equal labels, leaving out classes that are not chosen."""
        some = slice(None) if chosen is None else chosen
        n, at = len(rows), labels[some]
        size, *hist = (np.bincount(at, each[some], n) for each in (self.size, *self.hist.T))
        units = None if self.units is None else self.units.placed(labels, n, chosen)
        return NodeClasses(rows, size.astype(np.int64), np.array(hist, np.int64).T.reshape(n, -1), units)


@dataclass(frozen=True)
class Outcome:
    """A node that can be released, with its loss.

    Parameters
    ----------
    node : tuple of int
        Level per quasi-identifier.
    loss : float
        The share of the domain that a released cell covers, suppressed records included.
    suppressed : int
        Number of suppressed records.
    """

    node: Levels
    loss: float
    suppressed: int

    @property
    def rank(self) -> tuple[float, int, Levels]:
        """Return the sort key: least loss first, then the lowest node, then by level."""
        # Sums in another order differ in the last digits: such losses tie.
        return round(self.loss, 12), sum(self.node), self.node


# (sizes, counts) of classes -> which of them may be released.
Accept = Callable[[Ints, Ints], Bools]


@dataclass
class Lattice:
    """The lattice of a table's full-domain generalisations, with a search for the best of them.

    Parameters
    ----------
    axes : sequence of Axis
    codes : array of shape (groups, m)
        Distinct combinations of original codes.
    size : int array of shape (groups,)
        Records of each combination.
    hist : int array of shape (groups, u)
        Their sensitive values.
    k : int
        Smallest class.
    accept : callable
        The further criteria on the classes.
    limit : int
        Most records that may be suppressed.
    monotone : bool
        Whether merging accepted classes gives accepted classes and no record needs
        suppression; else only the class size prunes.
    units : PeopleByClass, optional
        Whose records each combination has, if k counts people.
    """

    axes: Sequence[Axis]
    codes: NDArray[np.uint32]
    size: Ints
    hist: Ints
    k: int
    accept: Accept
    limit: int = 0
    monotone: bool = True
    units: PeopleByClass | None = None

    def __post_init__(self) -> None:
        self.n = int(self.size.sum())
        self.heights = tuple(len(axis.levels) for axis in self.axes)
        self._snapshots: list[NodeClasses] = []
        # Beside the snapshots as arrays, so that one comparison finds all finer nodes.
        self._nodes = np.zeros((_SNAPSHOTS, len(self.axes)), dtype=np.int64)
        self._groups = np.zeros(_SNAPSHOTS, dtype=np.int64)
        self._store((0,) * len(self.axes), NodeClasses(np.arange(len(self.size)), self.size, self.hist, self.units))

    # --- classes of a node

    def classes(self, node: Levels) -> NodeClasses:
        """Return the classes of a node, merged from the stored finer node that has the fewest classes."""
        # Rolling up from a coarser start is cheaper: it has fewer classes to merge.
        n = len(self._snapshots)
        finer = np.flatnonzero((self._nodes[:n] <= np.asarray(node)).all(axis=1))
        at = int(finer[self._groups[finer].argmin()])
        start = self._snapshots[at]
        if tuple(self._nodes[at].tolist()) == node:
            return start
        groups = group(self.labels(node, start.row))
        classes = start.merged(start.row[groups.first], groups.labels.astype(np.int64))
        # Storing a node pays if it has clearly fewer classes than the node it was made from.
        has_room = n < _SNAPSHOTS and self._groups.sum() + len(classes) <= _SNAPSHOT_GROUPS
        if len(classes) * 3 <= len(start) * 2 and has_room:
            self._store(node, classes)
        return classes

    def _store(self, node: Levels, classes: NodeClasses) -> None:
        at = len(self._snapshots)
        self._nodes[at], self._groups[at] = node, len(classes)
        self._snapshots.append(classes)

    def labels(self, node: Levels, rows: Ints) -> list[Ints]:
        """Return the labels of the base groups `rows` at a node, one array per column."""
        levels = zip(self.axes, node, strict=True)
        return [axis.levels[at][self.codes[rows, i]] for i, (axis, at) in enumerate(levels)]

    # --- a node's worth

    def suppressed_classes(self, classes: NodeClasses) -> Bools | None:
        """Return a mask of the suppressed classes, or None if the node cannot be released.

        The suppressed records form one more released class, so together they must satisfy the
        criteria. If they do not, the smallest other classes are suppressed too.
        """
        out = ~self._good(classes)
        total = int(classes.size[out].sum())
        if total > self.limit:
            return None
        if total == 0 or self._together(classes, out):
            return out
        # Of equally small classes the one whose codes come first: rows in any order suppress alike.
        order = np.lexsort((*self.codes[classes.row].T[::-1], classes.size))
        for at in order[~out[order]]:
            total += int(classes.size[at])
            if total > self.limit:
                return None
            out[at] = True
            if self._together(classes, out):
                return out
        return None

    def _good(self, classes: NodeClasses) -> Bools:
        return (classes.people >= self.k) & self.accept(classes.size, classes.hist)

    def _together(self, classes: NodeClasses, out: Bools) -> bool:
        return bool(self._good(classes.merged(classes.row[:1], np.zeros(len(classes), np.int64), out))[0])

    def outcome(self, node: Levels) -> Outcome | None:
        """Return the node with its loss, or None if it cannot be released."""
        classes = self.classes(node)
        if (out := self.suppressed_classes(classes)) is None:
            return None
        total = int(classes.size[out].sum())
        return Outcome(node, self._loss(node, classes, ~out, total), total)

    def _loss(self, node: Levels, classes: NodeClasses, released: Bools, total: int) -> float:
        """Return a node's loss if the classes in `released` are released and `total` records are suppressed."""
        m, size = len(self.axes), classes.size[released].astype(float)
        share = np.zeros(len(size))
        for i, (axis, level) in enumerate(zip(self.axes, node, strict=True)):
            share += axis.share[level][self.codes[classes.row[released], i]]
        return (float(size @ share) + total * m) / (self.n * m)

    def bounds(self) -> Floats:
        """Return a lower bound on each node's loss, shape `heights`: the loss without suppression."""
        base, parts = self._snapshots[0], []
        for i, n in enumerate(self.heights):
            nodes = np.zeros((n, len(self.axes)), np.int64)
            nodes[:, i] = np.arange(n)
            everything = np.ones(len(base), np.bool_)
            parts.append([self._loss(tuple(node), base, everything, 0) for node in nodes.tolist()])
        # The loss is a sum over the columns, so one list a column gives all nodes.
        return reduce(np.add.outer, map(np.array, parts))

    # --- the search

    @cached_property
    def _status(self) -> NDArray[np.int8]:
        """Return an array over the nodes: 1 for nodes that pass, -1 for nodes that fail, 0 for untested ones.

        Raises
        ------
        ParameterError
            There are too many nodes.
        """
        if (nodes := math.prod(self.heights)) > MOST_NODES:
            raise ParameterError(
                f"quasi-identifiers generalise in {nodes:,} ways together, and at most {MOST_NODES:,} are searched",
                hint="give hierarchies of fewer levels or fewer quasi-identifiers, or Datafly, which walks one way up",
            )
        return np.zeros(self.heights, dtype=np.int8)

    def _by_height(self, alive: Callable[[], Bools]) -> Iterator[Levels]:
        """Yield the nodes from the highest down, only those that `alive` still marks when their height begins."""
        levels = [np.arange(n, dtype=np.int16) for n in self.heights]  # small: one for every node
        height: NDArray[np.int16] = reduce(np.add.outer, levels)
        for level in range(int(height.max()), -1, -1):
            for at in np.flatnonzero(((height == level) & alive()).ravel()):
                yield tuple(map(int, np.unravel_index(at, self.heights)))

    def _test(self, node: Levels) -> bool:
        """Return whether few enough records of a node are in failing classes; mark all nodes that follow from that."""
        if not self._status[node]:
            classes = self.classes(node)
            out = ~self._good(classes) if self.monotone else classes.few(self.k)
            # A node that passes makes all coarser ones pass; one that fails makes all finer ones
            # fail.
            if classes.size[out].sum() <= self.limit:
                self._status[tuple(slice(level, None) for level in node)] = 1
            else:
                self._status[tuple(slice(None, level + 1) for level in node)] = -1
        return bool(self._status[node] > 0)

    def optimal(self) -> Outcome | None:
        """Return the releasable node with the least loss, or None if no node can be released.

        Losses never fall below `bounds`, which grow upwards. So the nodes that could still
        win form a lower set, and testing its highest nodes first rules out most of it at once.
        """
        status, bound = self._status, self.bounds()
        best = self._first(bound)

        def alive() -> Bools:
            # The best loss falls while the search goes on, and rules out more and more nodes.
            most = np.inf if best is None else best.loss + 1e-12
            return (status >= 0) & (bound <= most)

        for node in self._by_height(alive):
            if status[node] < 0 or (best is not None and bound[node] > best.loss + 1e-12):
                continue
            if self._test(node):
                outcome = self.outcome(node)
                if outcome is not None and (best is None or outcome.rank < best.rank):
                    best = outcome
        return best

    def _first(self, bound: Floats) -> Outcome | None:
        """Return a good node to start from: the lowest passing node on the chain of least bounds."""
        chain: list[Levels] = [(0,) * len(self.heights)]
        while above := _above(chain[-1], self.heights):
            chain.append(min(above, key=lambda node: (bound[node], node)))
        at = bisect_left(chain, True, key=self._test)
        return self.outcome(chain[at]) if at < len(chain) else None


def _above(node: Levels, heights: Sequence[int]) -> list[Levels]:
    return [(*node[:i], node[i] + 1, *node[i + 1 :]) for i in range(len(node)) if node[i] + 1 < heights[i]]
