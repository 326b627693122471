"""Growing trees: by the responses' statistics, or by extents, in one thread or several.

The rows are records in one array (`node_rows.py`), and a node is a range of them. A split moves the
records that go left to the front of the range: each child is a range again, and each leaf a group.

    0                            middle                               n
    +-----------------------------+-----------------------------------+
    |                    node 0 splits at the age                     |
    +-----------------------------+-----------------------------------+
    |  node 1: age up to 39       |  node 4: age from 40, or missing  |
    +----------------+------------+-----------------------------------+
    |  node 2:       |  node 3:   |
    |  job in {a, c} |  other job |
    +----------------+------------+

Of an ordered column the codes up to `last_left` go left, those from `first_right` on go right, and
missing values to one of the sides; of categories, a set of codes goes left (`subset_codes`). Nodes
are numbered in pre-order in the end: the left child of node i is i + 1 (`nodes.Grown`).
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from ..kernels import Floats, Ints
from ..progress import done
from .expand import SLICE, ByHistograms, expand, policy_and_branch
from .extents import ByExtents, expand_by_extents
from .node_rows import NodeRows
from .nodes import (
    COLUMN,
    DEPTH,
    END,
    OPEN,
    OPEN_NODES,
    SETTLED,
    SPENT,
    START,
    Branch,
    Grown,
    Nodes,
    in_preorder,
    joined_nodes,
)
from .objective import Rules, Terms
from .responses import Responses
from .statistics import StatisticsLayout, root_statistics

# the branches of a tree over at least this many rows are grown by several threads
SHARED = 100_000
# seconds between two looks at threads that grow
HEARTBEAT = 0.5


class DistributedRows(Protocol):
    """Rows that stay on a cluster and are counted there."""

    @property
    def n(self) -> int:
        """Return the number of rows."""

    def grow(self, responses: Responses, layout: StatisticsLayout, rules: Rules, max_depth: int | None = None) -> Grown:
        """Return the tree that `grow` builds from these rows."""


@dataclass(frozen=True)
class _Grower:
    """A grower of the branches of one tree, shared by its threads; `rows` may be some of its rows."""

    rows: NodeRows
    rules: Rules
    terms: Terms
    max_depth: int
    stop: threading.Event = field(default_factory=threading.Event)

    def branch(self, start: int, end: int, depth: int, stats: Ints, keep: int) -> Nodes:
        """Grow the branch over the rows start..end; leave nodes of at most `keep` rows open."""
        # Threads grow branches side by side, so each branch has buffers of its own.
        part = slice(start, end)
        policy, branch = policy_and_branch(self.rows, self.rules, self.terms, part, depth, stats)
        return _expanded(branch, policy, self.rows.n, keep, self.max_depth, self.stop)


def _expanded(
    branch: Branch,
    policy: ByHistograms | ByExtents,
    n: int,
    keep: int,
    max_depth: int,
    stop: threading.Event | None = None,
) -> Nodes:
    """Grow a branch slice by slice, report progress in between, and return its nodes."""
    while branch.state[OPEN_NODES] and not (stop and stop.is_set()):
        work = expand if isinstance(policy, ByHistograms) else expand_by_extents
        # A compiled loop does not notice Ctrl-C and cannot make arrays: it returns after each
        # slice, and where its tables are full.
        work(branch, policy, keep, max_depth, SLICE)
        branch.state[SPENT] = 0
        if branch.state[OPEN_NODES]:
            done(float(branch.state[SETTLED]) / n)
        branch = branch.wider()
    return branch.finished


def grow_by_extents(
    rows: NodeRows, positions: Floats, domain: Floats, k: int, objective: int, persons: bool = False
) -> Grown:
    """Grow a tree without responses, splitting so that groups spread little over the quasi-identifiers.

    Parameters
    ----------
    rows : NodeRows
        They are moved in place, each to its leaf.
    positions : float array
        For every column and code (missing included, columns one after the other)
        the value's place in [0, 1]; codes of categories take no place.
    domain : float array of shape (p,)
        The extent of a group with every category: the categories that occur, less one.
    k : int
        Fewest records of a group, or fewest people if `persons` is true.
    objective : {extents.MEDIAN, extents.LOSS}
    persons : bool
        Whether the rows have shares of people, which are then counted instead of records.
    """
    policy = ByExtents.from_rows(rows, positions, domain, k, objective, persons)
    goes_left = np.zeros(len(policy.counts), np.uint8)
    branch = Branch.from_range(0, rows.n, 0, np.array([rows.n]), goes_left)
    return in_preorder(_expanded(branch, policy, rows.n, 0, rows.n), rows, 0)


def grow_below(
    rows: NodeRows,
    layout: StatisticsLayout,
    rules: Rules,
    n: int,
    depth: int,
    stats: Ints,
    max_depth: int | None = None,
) -> Nodes:
    """Grow the branch below one node of a tree over n rows, from the rows of that node alone.

    Parameters
    ----------
    rows : NodeRows
        The rows of the node; they are reordered in place.
    layout, rules, max_depth
        The settings of the whole tree.
    n : int
        Number of rows of the whole tree.
    depth : int
        Depth of the node.
    stats : int64 array of shape (layout.size,)
        Statistics of the node.
    """
    # No tree over n rows is deeper than n, and a number keeps one compiled type.
    grower = _Grower(rows, rules, Terms.from_rules(rules, layout, n), n if max_depth is None else max_depth)
    return grower.branch(0, rows.n, depth, stats, 0)


def grow(
    rows: NodeRows | DistributedRows,
    responses: Responses,
    layout: StatisticsLayout,
    rules: Rules,
    max_depth: int | None = None,
    threads: int | None = None,
) -> Grown:
    """Grow a tree by splitting every node at its best admissible split until none has one.

    Parameters
    ----------
    rows : NodeRows
        They are moved in place, each to its leaf; or rows on a cluster, which stay there.
    responses : Responses
    layout : StatisticsLayout
    rules : Rules
    max_depth : int, optional
        No limit by default.
    threads : int, optional
        Threads for large tables, all processors by default; the tree does not depend on it.
    """
    if not isinstance(rows, NodeRows):
        return rows.grow(responses, layout, rules, max_depth)
    n = rows.n
    root = root_statistics(responses, layout)
    # Shares of people are not values of a column, so only the rows know their sum.
    if layout.persons:
        root[layout.persons] = rows.persons()
    grower = _Grower(rows, rules, Terms.from_rules(rules, layout, n), n if max_depth is None else max_depth)
    n_multiplied = 0 if layout.alone else layout.r  # likeness needs no covariances
    n_threads = (os.cpu_count() or 1) if threads is None else threads
    if n_threads < 2 or n < SHARED:
        return in_preorder(grower.branch(0, n, 0, root, 0), rows, n_multiplied, layout.n_listed)
    # eight branches a thread: they differ in size, and the last ones should be short
    top = grower.branch(0, n, 0, root, n // (8 * n_threads))
    open_nodes = np.flatnonzero(top.nodes[:, COLUMN] == OPEN)
    size = top.nodes[open_nodes, START] - top.nodes[open_nodes, END]
    # large branches first, so that no thread is left alone with one at the end
    by_size = open_nodes[np.argsort(size, kind="stable")]
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            places = top.nodes[by_size][:, [START, END, DEPTH]].tolist()
            tasks = [
                pool.submit(grower.branch, start, end, depth, top.stats[i], 0)
                for i, (start, end, depth) in zip(by_size, places, strict=True)
            ]
            while wait(tasks, HEARTBEAT, FIRST_EXCEPTION).not_done:
                ended = [task for task in tasks if task.done()]
                for task in ended:
                    task.result()  # or raise what ended it
                done(len(ended) / len(tasks))
        finally:
            grower.stop.set()  # an interrupt leaves no thread growing
            pool.shutdown(cancel_futures=True)
    joined = joined_nodes(top, dict(zip(by_size.tolist(), [task.result() for task in tasks], strict=True)))
    return in_preorder(joined, rows, n_multiplied, layout.n_listed)
