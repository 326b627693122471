"""The compiled loop that expands the nodes of a branch.

Depth first, the smaller child first. Nodes with many rows keep the histograms of
all columns (one statistics vector per code); the smaller child's are counted and
subtracted from the parent's to give the larger child's. Nodes with few rows
count a bundle of columns at a time, in the processor's first caches. Every open
node lists the codes that occurred in its parent, and whoever lists, subtracts or
clears looks at no others. What counts and what chooses are other files; here rows
move and nodes are written down.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.bits import borrowed
from ..kernels.compiled import inner, kernel
from .dispatch import list_node, work_of
from .histogram import (
    aligned,
    clear,
    count_cells,
    count_cells_by_code,
    count_rows,
    keep_counted,
    subtract,
)
from .node_rows import MASK, SHIFT, WORD_AT
from .objective import keeps_silent
from .split import BEST, LEAF, Histograms, choose

OPEN = -2
"""Mark of nodes that one call of the kernel leaves to others."""

NONE, OWN = -1, -2
START, END, PARENT, LEFT, RIGHT, COLUMN, LAST_LEFT, FIRST_RIGHT, MISSING_LEFT, DEPTH, SUBSET_AT = (
    range(11)
)
"""Columns of the table of nodes."""
NODES, OPEN_NODES, CODES, SPENT, SETTLED = range(5)
"""Entries of `Branch.state`: nodes made, nodes on the stack, subset codes, work since it was read,
records in leaves."""

BUNDLE = 1 << 15
"""Bytes of histograms that are counted together for a node of few rows."""
SLICE = 50_000_000
"""Codes counted between two looks at the outside world (some 60 ms)."""


class Branch(NamedTuple):
    """A branch that is being grown: its nodes in order of creation, and what is open."""

    nodes: Any
    stats: Any
    codes: Any
    """Codes that go left at categorical nodes, one node after the other."""
    stack: Any
    """Open nodes, the slots of their histograms or -1, and what to do with new ones: take
    them off a slot (its number), keep them (OWN) or nothing (NONE)."""
    rows: Any
    """For every open node the rows of the histograms that may hold records."""
    listed: Any
    """For every open node where each column's of them begin, with the end of the last."""
    cells: Any
    """For every open node but the first the counts of its judged columns' cells."""
    slots: Any
    free: Any
    """Slots that nobody uses; the first entry says how many."""
    scratch: Any
    """All zeros between two nodes, as are free slots."""
    state: Any

    @classmethod
    def of(
        cls,
        start: int,
        end: int,
        depth: int,
        stats: Any,
        places: Histograms,
        n_cells: int,
        big: int,
    ) -> Branch:
        """A branch of one open node over the rows start..end."""
        n, room = end - start, places.n_rows * places.stride
        n_slots, rest = (2, n) if n >= big else (0, 0)
        while rest > big:
            n_slots, rest = n_slots + 1, rest // 2
        nodes = np.zeros((64, 11), np.int64)
        nodes[0, [START, END, PARENT, DEPTH]] = start, end, -1, depth
        stack = np.zeros((2 * n.bit_length() + 2, 3), np.int64)
        stack[0] = 0, -1, OWN if n_slots else NONE
        every, ends = places.listed()
        rows = np.empty((len(stack), len(every)), np.int32)
        listed = np.zeros((len(stack), len(ends)), np.int64)
        rows[0], listed[0] = every, ends
        all_stats = np.zeros((64, len(stats)), np.int64)
        all_stats[0] = stats
        return cls(
            nodes,
            all_stats,
            np.zeros(1024, np.int64),
            stack,
            rows,
            listed,
            np.zeros((len(stack), n_cells), np.int64),
            aligned(n_slots * room).reshape(n_slots, room),
            np.array([n_slots, *range(n_slots)]),
            aligned(room),
            np.array([1, 1, 0, 0, 0]),
        )

    def wider(self, widest: int) -> Branch:
        """The same branch with room for more nodes."""
        n, codes = int(self.state[NODES]), int(self.state[CODES])
        more = {}
        if n + 2 > len(self.nodes):
            for name in ("nodes", "stats"):
                old = getattr(self, name)
                more[name] = np.concatenate([old, np.zeros_like(old)])
        if codes + widest > len(self.codes):
            more["codes"] = np.concatenate([self.codes, np.zeros(codes + widest, np.int64)])
        return self._replace(**more)


def bundles_of(places: Histograms) -> Any:
    """Columns whose histograms fit the first caches together: where each bundle begins, and the end."""
    begins, size = [0], 0
    for c, (n_codes, _, _) in enumerate(places.columns.tolist()):
        room = (n_codes + 1) * places.stride * 8
        if size and size + room > BUNDLE:
            begins.append(c)
            size = 0
        size += room
    return np.array([*begins, len(places.columns)], np.int64)


@inner
def bring_left(words, field, a, b, goes_left):  # type: ignore[no-untyped-def]
    """Bring the records whose code goes left to the front; returns where the right ones begin."""
    word, shift = np.uint64(field[WORD_AT]), np.uint64(field[SHIFT])
    mask, n_words = np.uint64(field[MASK]), np.uint64(words.shape[1])
    middle = np.uint64(a)
    for i in range(np.uint64(a), np.uint64(b)):
        # every record changes places: cheaper than a branch that nobody can foresee
        left = np.uint64(goes_left[(words[i, word] >> shift) & mask])
        for w in range(n_words):
            words[i, w], words[middle, w] = words[middle, w], words[i, w]
        middle += left
    return np.int64(middle)


@inner
def _both_silent(views, a, middle, b, f, t, space):  # type: ignore[no-untyped-def]
    """Count the cells of a split's sides; whether both keep the caps on judged columns."""
    sides = space.sides
    first, last, small = (a, middle, 0) if middle - a <= b - middle else (middle, b, 1)
    count_cells(sides[small], views, first, last, f)
    for i in range(sides.shape[1]):
        sides[1 - small, i] = sides[BEST, i] - sides[small, i]
    return keeps_silent(sides[0], t) and keeps_silent(sides[1], t)


@inner
def _write_split(node, top, size, branch, columns, space):  # type: ignore[no-untyped-def]
    """Write down what a node asks, and its two children but for their rows."""
    nodes, stats, state = branch.nodes, branch.stats, branch.state
    column = space.found[0]
    if columns[column, 1]:
        for i in range(3):
            nodes[node, LAST_LEFT + i] = space.found[1 + i]
    else:
        at = state[CODES]
        nodes[node, SUBSET_AT] = at
        for i in range(branch.listed[top, column], branch.listed[top, column + 1]):
            code = branch.rows[top, i] - columns[column, 2]
            if space.subset[code]:
                branch.codes[at] = code
                at += 1
        nodes[node, LAST_LEFT] = at - state[CODES]
        state[CODES] = at
    left = state[NODES]
    nodes[node, LEFT], nodes[node, RIGHT] = left, left + 1
    for i in range(size):
        stats[left, i] = space.stats[BEST, i]
        stats[left + 1, i] = stats[node, i] - space.stats[BEST, i]
    for child in range(left, left + 2):
        nodes[child, PARENT] = node
        nodes[child, DEPTH] = nodes[node, DEPTH] + 1
    listed = branch.listed
    for c in range(columns.shape[0] + 1):
        listed[top + 1, c] = listed[top, c]
    for i in range(listed[top, columns.shape[0]]):
        branch.rows[top + 1, i] = branch.rows[top, i]
    state[NODES] += 2


@kernel
def expand(  # type: ignore[no-untyped-def]
    views, columns, bundles, stride, t, f, tally, space, branch, max_depth, keep, big, budget
):
    """Grow a branch; nodes of at most `keep` rows are left open.

    Returns when it is done, when the branch needs more room, or when it has counted `budget` codes.
    """
    views, columns, bundles, t = borrowed(views), borrowed(columns), borrowed(bundles), borrowed(t)
    f, tally, space, branch = borrowed(f), borrowed(tally), borrowed(space), borrowed(branch)
    nodes, stats, state = branch.nodes, branch.stats, branch.state
    slots, free, stack = branch.slots, branch.free, branch.stack
    p, size, n_cells = columns.shape[0], space.stats.shape[1], space.cells.shape[1]
    cells, bounds = space.cells.reshape(-1), space.bounds
    room = branch.codes.shape[0] - space.subset.shape[0]
    while state[OPEN_NODES] > 0:
        if state[NODES] + 2 > nodes.shape[0] or state[CODES] > room or state[SPENT] > budget:
            return
        top = state[OPEN_NODES] - 1
        state[OPEN_NODES] = top
        node, slot, source = stack[top, 0], stack[top, 1], stack[top, 2]
        a, b = nodes[node, START], nodes[node, END]
        total, rows, listed = stats[node], branch.rows[top], branch.listed[top]
        asked = b - a > keep
        asked = asked and total[t.persons] >= 2 * t.min_leaf and nodes[node, DEPTH] < max_depth
        counted, whole = slot >= 0, slot >= 0 or source != NONE
        hist = branch.scratch
        if whole:
            if not counted:
                slot = free[free[0]]
                free[0] -= 1
            hist = slots[slot]
        middle, column = b, LEAF
        if node == 0:
            count_cells(space.sides[BEST], views, a, b, f)
        else:
            for i in range(n_cells):
                space.sides[BEST, i] = branch.cells[top, i]
        # the best split by what histograms tell is nearly always good; only where its judged
        # columns break a cap are all candidates asked for theirs
        for judging in range(2 if n_cells > 0 else 1):
            state[SPENT] += (b - a) * p + 64
            space.judging[0], space.best[0], space.found[0] = judging, 0.0, LEAF
            if asked:
                list_node(a, b, space.beside)
            for k in range(1 if whole else (bundles.shape[0] - 1 if asked else 0)):
                first, last = bundles[k], p if whole else bundles[k + 1]
                if not counted:
                    count_rows(hist, stride, columns, listed, first, last, views, a, b, f, tally)
                keep_counted(hist, stride, rows, listed, first, last, bounds)
                if source >= 0 and not counted:
                    subtract(slots[source], hist, stride, rows, bounds[first], bounds[last])
                if judging:
                    count_cells_by_code(
                        cells, n_cells, columns, bounds, first, last, views, a, b, f
                    )
                if asked:
                    choose(hist, stride, columns, rows, bounds, first, last, total, t, space)
                    state[SPENT] += work_of(space.beside)
                if judging:
                    for i in range(bounds[first], bounds[last]):
                        for j in range(rows[i] * n_cells, (rows[i] + 1) * n_cells):
                            cells[j] = 0
                if not whole:
                    clear(hist, stride, rows, bounds[first], bounds[last])
            if whole or asked:
                for c in range(p + 1):
                    listed[c] = bounds[c]
            counted = whole
            column = space.found[0]
            if column >= 0:
                middle = bring_left(views.words, f.codes[column], a, b, space.subset)
                if n_cells > 0 and _both_silent(views, a, middle, b, f, t, space):
                    break
                if n_cells > 0 and not judging:
                    column = LEAF
            else:
                break
        if b - a <= keep:
            column = OPEN
        nodes[node, COLUMN] = column
        if column == LEAF:
            state[SETTLED] += b - a
        if column >= 0:
            left, right = state[NODES], state[NODES] + 1
            _write_split(node, top, size, branch, columns, space)
            nodes[left, START], nodes[left, END] = a, middle
            nodes[right, START], nodes[right, END] = middle, b
        if slot >= 0 and max(middle - a, b - middle) * (column >= 0) < big:
            clear(slots[slot], stride, rows, 0, listed[p])  # nobody below needs the histograms
            free[0] += 1
            free[free[0]] = slot
            slot = -1
        if column >= 0:
            small, large = (left, right) if middle - a <= b - middle else (right, left)
            stack[top, 0], stack[top, 1], stack[top, 2] = large, slot, NONE
            stack[top + 1, 0], stack[top + 1, 1] = small, -1
            stack[top + 1, 2] = slot if slot >= 0 else NONE
            for i in range(n_cells):
                branch.cells[top, i] = space.sides[large - left, i]
                branch.cells[top + 1, i] = space.sides[small - left, i]
            state[OPEN_NODES] = top + 2
