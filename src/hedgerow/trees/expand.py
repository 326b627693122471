"""The compiled loop that grows a branch by sums of the responses, which it counts as histograms.

Nodes with many rows keep the histograms of all columns (one statistics vector per code); the
smaller child's are counted and subtracted from the parent's to give the larger child's. Nodes with
few rows count a bundle of columns at a time, in the processor's first caches. Every open node
lists the codes that occurred in its parent; listing, subtracting and clearing visit only those.
Which node comes next and what becomes of its rows is the same for all policies (`nodes.py`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..kernels import Ints, Ints32
from ..kernels.compiled import inner, loop
from .histogram import (
    Counter,
    Histograms,
    aligned,
    clear,
    count_cells,
    count_cells_by_code,
    count_rows,
    keep_counted,
    subtract,
)
from .node_rows import NodeRows
from .nodes import (
    CODES,
    DEPTH,
    END,
    FIRST_RIGHT,
    LAST_LEFT,
    LEAF,
    MISSING_LEFT,
    NODE,
    OPEN,
    OPEN_NODES,
    SLOT,
    SOURCE,
    SPENT,
    START,
    SUBSET_AT,
    Branch,
    bring_left,
    close_node,
    is_open,
)
from .objective import Rules, Terms, is_within_caps
from .search import BEST, Search
from .sparse import SparseClasses, SparseSums, list_node
from .split import choose

# values of `SOURCE`: a node keeps no histograms, or counts its own; any other value is the slot of its parent's
# histograms, from which the node's are subtracted
NONE, OWN = -1, -2
# nodes with at least WORTH rows, and PER_CODE rows per code, keep the histograms of all columns
WORTH = 64
PER_CODE = 0.25
# codes counted between two checks for interrupts (some 60 ms)
SLICE = 50_000_000


class ByHistograms(NamedTuple):
    """The policy that grows trees with responses, with the histograms of the open nodes.

    Parameters
    ----------
    sums
        Buffers for similarity trees; None for others.
    classes
        Buffers for listed classes; None if every class is counted.
    big
        Nodes with at least this many rows keep histograms.
    rows
        For every open node the histogram rows that may count records.
    listed
        For every open node the start of each column's part of `rows`, with the end of the
        last.
    cells
        For every open node except the root, the counts of its judged columns' cells.
    free
        Unused slots; the first entry is their number.
    scratch
        A histogram that is all zeros between two nodes, like the free slots.
    """

    counter: Counter
    places: Histograms
    terms: Terms
    search: Search
    sums: SparseSums | None
    classes: SparseClasses | None
    big: int
    rows: Ints32
    listed: Ints
    cells: Ints
    slots: Ints
    free: Ints
    scratch: Ints


def policy_and_branch(
    rows: NodeRows, rules: Rules, terms: Terms, part: slice, depth: int, stats: Ints
) -> tuple[ByHistograms, Branch]:
    """Return the policy that grows a branch over a part of the rows, and the branch with one open node."""
    layout, n = terms.layout, part.stop - part.start
    places = Histograms.from_predictors(rows.predictors, layout)
    search = Search.from_histograms(places, layout)
    branch = Branch.from_range(part.start, part.stop, depth, stats, search.subset)
    widest, n_open = len(search.subset), len(branch.stack)
    # Subtracting must cost less than counting. A record costs one addition for four plain sums
    # and one for every class column.
    lanes = -(-int(layout.starts[0]) // 4) * 4 + 4 * layout.q
    big = max(WORTH, int(places.n_rows * layout.stride / lanes * PER_CODE))
    n_slots, rest = (2, n) if n >= big else (0, 0)
    # the larger child takes its parent's slot, so every slot more stands for half of the rows
    while rest > big:
        n_slots, rest = n_slots + 1, rest // 2
    branch.stack[0] = 0, -1, OWN if n_slots else NONE
    every, ends = places.rows()
    hist_rows = np.empty((n_open, len(every)), np.int32)
    listed = np.zeros((n_open, len(ends)), np.int64)
    hist_rows[0], listed[0] = every, ends
    length = places.n_rows * layout.stride
    policy = ByHistograms(
        counter=Counter.from_rows(rows, layout, places),
        places=places,
        terms=terms,
        search=search,
        sums=SparseSums.from_layout(widest, layout) if layout.alone else None,
        classes=SparseClasses.from_layout(rows, n, widest, layout, rules) if layout.n_listed else None,
        big=big,
        rows=hist_rows,
        listed=listed,
        cells=np.zeros((n_open, search.cells.shape[1]), np.int64),
        slots=aligned(n_slots * length).reshape(n_slots, length),
        free=np.array([n_slots, *range(n_slots)]),
        scratch=aligned(length),
    )
    return policy, branch


@inner
def _write_split(node: int, left: int, branch: Branch, rows: Ints32, listed: Ints, search: Search) -> None:
    """Write a node's split into the node table, and the statistics of its two children."""
    nodes, stats, state, split = branch.nodes, branch.stats, branch.state, search.best
    column, place = split.column, search.columns[split.column]
    if place.is_ordered:
        nodes[node, LAST_LEFT], nodes[node, FIRST_RIGHT] = split.last_left, split.first_right
        nodes[node, MISSING_LEFT] = split.missing_left
    else:
        at = state[CODES]
        nodes[node, SUBSET_AT] = at
        for i in range(listed[column], listed[column + 1]):
            code = rows[i] - place.base
            if branch.goes_left[code]:
                branch.codes[at] = code
                at += 1
        nodes[node, LAST_LEFT] = at - state[CODES]
        state[CODES] = at
    side = search.stats[BEST]
    for i in range(side.shape[0]):
        stats[left, i] = side[i]
        # All entries are integers, so the difference is what counting the right side would give.
        stats[left + 1, i] = stats[node, i] - side[i]


@inner
def _copy_lists(top: int, is_left_larger: bool, rows: Ints32, listed: Ints, cells: Ints, sides: Ints) -> None:
    """Copy a node's row lists and its sides' cell counts to its children at `top` and `top + 1`."""
    p = listed.shape[1] - 1
    # A child's codes are among its parent's: counting it drops those that it lacks.
    for c in range(p + 1):
        listed[top + 1, c] = listed[top, c]
    for i in range(listed[top, p]):
        rows[top + 1, i] = rows[top, i]
    large = 0 if is_left_larger else 1
    for i in range(cells.shape[1]):
        cells[top, i] = sides[large, i]
        cells[top + 1, i] = sides[1 - large, i]


@loop
def expand(branch: Branch, policy: ByHistograms, keep: int, max_depth: int, budget: int) -> None:
    """Grow a branch; leave nodes of at most `keep` rows open.

    Return when it is done, when the branch needs more space, or when `budget` codes were counted.
    """
    counter, t, search, scratch = policy.counter, policy.terms, policy.search, policy.scratch
    bundles, bounds, scope, best = policy.places.bundles, search.bounds, search.scope, search.best
    all_rows, all_listed, all_cells = policy.rows, policy.listed, policy.cells
    view, fields, starts = counter.views.bytes, counter.form.cells, counter.layout.cells
    nodes, state, stack = branch.nodes, branch.state, branch.stack
    slots, free, stride = policy.slots, policy.free, t.layout.stride
    p, n_cells, cells = search.columns.shape[0], search.cells.shape[1], search.cells.reshape(-1)
    while is_open(branch, budget):
        top = state[OPEN_NODES] - 1
        node, slot, source = stack[top, NODE], stack[top, SLOT], stack[top, SOURCE]
        a, b, total = nodes[node, START], nodes[node, END], branch.stats[node]
        rows, listed = all_rows[top], all_listed[top]
        may_split = b - a > keep and nodes[node, DEPTH] < max_depth
        # Fewer people cannot make two groups, so no split is searched for.
        may_split = may_split and total[t.layout.persons] >= 2 * t.min_leaf
        is_counted, is_whole = slot >= 0, slot >= 0 or source != NONE
        hist = scratch
        if is_whole:
            if not is_counted:
                slot = free[free[0]]
                free[0] -= 1
            hist = slots[slot]
        middle, column = b, LEAF
        # Only a branch's root is counted: a child's cells are known since its parent was split.
        if node == 0:
            count_cells(search.sides[BEST], a, b, view, fields, starts)
        else:
            for i in range(n_cells):
                search.sides[BEST, i] = all_cells[top, i]
        # the best split by the histograms is nearly always admitted; only if its judged columns
        # break a cap are the judged columns of all candidates checked
        for judging in range(2 if n_cells > 0 else 1):
            # a node takes time of its own, however few rows it has
            state[SPENT] += (b - a) * p + 64
            scope.is_judging, best.gain, best.column = judging > 0, 0.0, LEAF
            if may_split:
                list_node(a, b, policy.classes)
            # The smaller child is counted even where it is a leaf: its sibling's histograms are the
            # parent's less its own.
            for k in range(1 if is_whole else (bundles.shape[0] - 1 if may_split else 0)):
                first, last = bundles[k], p if is_whole else bundles[k + 1]
                if not is_counted:
                    count_rows(hist, listed, first, last, a, b, counter)
                keep_counted(hist, stride, rows, listed, first, last, bounds)
                # what is left of the parent's histograms are the larger sibling's
                if source >= 0 and not is_counted:
                    subtract(slots[source], hist, stride, rows, bounds[first], bounds[last])
                if judging:
                    count_cells_by_code(cells, bounds, first, last, a, b, counter)
                if may_split:
                    scope.first, scope.last = first, last
                    state[SPENT] += choose(hist, rows, total, t, search, policy.sums, policy.classes, t.plain)
                if judging:
                    for i in range(bounds[first], bounds[last]):
                        for j in range(rows[i] * n_cells, (rows[i] + 1) * n_cells):
                            cells[j] = 0
                if not is_whole:
                    clear(hist, stride, rows, bounds[first], bounds[last])
            if is_whole or may_split:
                for c in range(p + 1):
                    listed[c] = bounds[c]
            # A second round reads histograms that are kept; those of bundles are counted again.
            is_counted = is_whole
            column = best.column
            if column < 0:
                break
            # The cells may still refuse this split. The rows stay in their node, whatever their
            # order, so nothing has to be moved back.
            middle = bring_left(counter.views.words, counter.form.codes[column], a, b, branch.goes_left)
            if n_cells == 0:
                break
            # Only the smaller side is counted: the other one has the rest of the cells.
            sides, small = search.sides, 0 if middle - a <= b - middle else 1
            first, last = (middle, b) if small else (a, middle)
            count_cells(sides[small], first, last, view, fields, starts)
            for i in range(n_cells):
                sides[1 - small, i] = sides[BEST, i] - sides[small, i]
            if judging or (is_within_caps(sides[0], t) and is_within_caps(sides[1], t)):
                break
            column = LEAF
        left = close_node(node, OPEN if b - a <= keep else column, middle, branch)
        if left >= 0:
            _write_split(node, left, branch, rows, listed, search)
        if slot >= 0 and (left < 0 or max(middle - a, b - middle) < policy.big):
            clear(slots[slot], stride, rows, listed[0], listed[p])  # nobody below needs the histograms
            free[0] += 1
            free[free[0]] = slot
            slot = -1
        if left >= 0:
            stack[top, SLOT], stack[top, SOURCE] = slot, NONE
            stack[top + 1, SLOT], stack[top + 1, SOURCE] = -1, slot if slot >= 0 else NONE
            _copy_lists(top, middle - a > b - middle, all_rows, all_listed, all_cells, search.sides)
