"""Growing without responses: groups that spread little over the quasi-identifiers.

Two objectives share the loop. "median" cuts the column of widest normalised extent at its
median (Mondrian, LeFevre et al. 2006, strict). "loss" takes the cut after which the normalised
certainty penalty is smallest: for every column the records are summed up once per code (count,
extents, categories present in all columns), and cuts are scored by merging these summaries. A
node has no more categories than records, however many there are in all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.bits import borrowed
from ..kernels.compiled import inner, kernel
from ..kernels.exact_sums import UNIT_BITS
from ..progress import done
from .category_orders import sort_places
from .expand import (
    CODES,
    COLUMN,
    DEPTH,
    END,
    FIRST_RIGHT,
    LAST_LEFT,
    LEFT,
    NODES,
    OPEN_NODES,
    PARENT,
    RIGHT,
    SETTLED,
    SLICE,
    SPENT,
    START,
    SUBSET_AT,
    bring_left,
)
from .grow import Grown, in_preorder
from .node_rows import MASK, SHIFT, WORD_AT, NodeRows, code_at
from .split import LEAF

SCANNED = 16
"""Codes are sorted where fewer than one of so many occurs, and else looked for one by one."""


class Spread(NamedTuple):
    """The columns, and what the codes of one of them hold in one node."""

    fields: Any
    n_codes: Any
    ordered: Any
    offsets: Any
    """Where each column's codes begin among all, with the end of the last."""
    positions: Any
    domain: Any
    person: int
    """What one record counts where no shares of people are given."""
    count: Any
    """Per code, all 0 between two columns."""
    lo: Any
    hi: Any
    """Per code and column: the extent."""
    begins: Any
    """Per code and column: where its categories begin, with the end of the last column's."""
    category: Any
    rows: Any
    """The records, code after code."""
    seen: Any
    """By category of any column: when it was last seen."""
    now: Any
    run: Any
    """Of a column: lowest and highest code, and categories, of the first codes of a sequence."""

    @classmethod
    def of(
        cls,
        rows: NodeRows,
        positions: npt.NDArray[np.float64],
        domain: npt.NDArray[np.float64],
        person: int,
        summed: bool,
    ) -> Spread:
        """Room for the nodes of a tree; `summed` if codes are summed up."""
        predictors, n = rows.predictors, rows.n if summed else 0
        widths = predictors.n_codes + 1
        p, widest = len(widths), int(widths.max())
        codes = widest if summed else 0
        return cls(
            rows.format.codes,
            predictors.n_codes.astype(np.int64),
            predictors.ordered,
            np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
            positions,
            domain,
            person,
            np.zeros(widest, np.int64),
            np.zeros((codes, p), np.int64),
            np.zeros((codes, p), np.int64),
            np.zeros((codes, p + 1), np.int64),
            np.zeros(n * int(np.count_nonzero(~predictors.ordered)), np.int32),
            np.zeros(n, np.int64),
            np.zeros(int(widths.sum()), np.int64),
            np.zeros(1, np.int64),
            np.zeros((p, 3), np.int64),
        )


@inner
def count_codes(words, share, a, b, c, spread, present):  # type: ignore[no-untyped-def]
    """Count the records a..b by code; returns how many codes occur, ascending in `present`."""
    count, n_codes = spread.count, spread.n_codes[c]
    m = 0
    for i in range(a, b):
        code = code_at(words, i, spread.fields, c)
        if count[code] == 0:
            present[m] = code
            m += 1
        count[code] += max(code_at(words, i, share, 0), 1)
    if m * SCANNED < n_codes:
        present[:m].sort()
    else:
        m = 0
        for code in range(n_codes + 1):
            if count[code] > 0:
                present[m] = code
                m += 1
    return m


@inner
def _begin(spread):  # type: ignore[no-untyped-def]
    """Nothing was seen yet; returns the time that is now."""
    for j in range(spread.fields.shape[0]):
        spread.run[j, 0], spread.run[j, 1], spread.run[j, 2] = spread.n_codes[j] + 1, -1, 0
    spread.now[0] += 1
    return spread.now[0]


@inner
def _extent(j, spread):  # type: ignore[no-untyped-def]
    """Normalised extent of column j in what was seen, 0 to 1."""
    if spread.ordered[j]:
        if spread.run[j, 1] < 0:
            return 0.0
        at = spread.offsets[j]
        return spread.positions[at + spread.run[j, 1]] - spread.positions[at + spread.run[j, 0]]
    return (spread.run[j, 2] - 1) / spread.domain[j]


@inner
def extents_of(words, a, b, spread, extents):  # type: ignore[no-untyped-def]
    """The normalised extents of the records a..b."""
    now, run = _begin(spread), spread.run
    p = spread.fields.shape[0]
    for i in range(a, b):
        for j in range(p):
            code = code_at(words, i, spread.fields, j)
            if spread.ordered[j]:
                if code < spread.n_codes[j]:  # missing values take no place
                    run[j, 0] = min(run[j, 0], code)
                    run[j, 1] = max(run[j, 1], code)
            elif spread.seen[spread.offsets[j] + code] != now:
                spread.seen[spread.offsets[j] + code] = now
                run[j, 2] += 1
    for j in range(p):
        extents[j] = _extent(j, spread)


@inner
def summarise(words, a, b, c, m, present, spread):  # type: ignore[no-untyped-def]
    """Sum up the records a..b by code of column c; returns how many categories were listed."""
    begins, rows, seen = spread.begins, spread.rows, spread.seen
    p = spread.fields.shape[0]
    for k in range(m):
        begins[present[k], 0] = 0
    for i in range(a, b):
        begins[code_at(words, i, spread.fields, c), 0] += 1
    at = 0
    for k in range(m):
        held = begins[present[k], 0]
        begins[present[k], 0] = at
        at += held
    for i in range(a, b):
        code = code_at(words, i, spread.fields, c)
        rows[begins[code, 0]] = i
        begins[code, 0] += 1
    first = listed = 0
    for k in range(m):
        code = present[k]
        last = begins[code, 0]
        for j in range(p):
            begins[code, j] = listed
            if spread.ordered[j]:
                low, high = spread.n_codes[j] + 1, -1
                for i in range(first, last):
                    other = code_at(words, rows[i], spread.fields, j)
                    if other < spread.n_codes[j]:
                        low, high = min(low, other), max(high, other)
                spread.lo[code, j], spread.hi[code, j] = low, high
            else:
                spread.now[0] += 1
                for i in range(first, last):
                    place = spread.offsets[j] + code_at(words, rows[i], spread.fields, j)
                    if seen[place] != spread.now[0]:
                        seen[place] = spread.now[0]
                        spread.category[listed] = place
                        listed += 1
        begins[code, p] = listed
        first = last
    return listed


@inner
def sweep(sequence, m, spread, out):  # type: ignore[no-untyped-def]
    """Records times summed extents of the first 1, 2, ... m codes of a sequence."""
    now, run = _begin(spread), spread.run
    n = 0
    for k in range(m):
        code = sequence[k]
        n += spread.count[code]
        total = 0.0
        for j in range(spread.fields.shape[0]):
            if spread.ordered[j]:
                run[j, 0] = min(run[j, 0], spread.lo[code, j])
                run[j, 1] = max(run[j, 1], spread.hi[code, j])
            for e in range(spread.begins[code, j], spread.begins[code, j + 1]):
                place = spread.category[e]
                if spread.seen[place] != now:
                    spread.seen[place] = now
                    run[j, 2] += 1
            total += _extent(j, spread)
        out[k] = n * total


@inner
def middles(j, present, m, spread, key):  # type: ignore[no-untyped-def]
    """A place for every code on another column: the middle of its extent, or of its categories."""
    for k in range(m):
        code = present[k]
        if spread.ordered[j]:
            key[k] = spread.lo[code, j] + spread.hi[code, j]
        else:
            total = 0.0
            begin, end = spread.begins[code, j], spread.begins[code, j + 1]
            for e in range(begin, end):
                total += spread.category[e] - spread.offsets[j]
            key[k] = total / max(end - begin, 1)


MEDIAN, LOSS = 0, 1
NEXT, BEST_AT, BEST_OF, BEST_COLUMN = range(5, 9)
"""Entries of `Room.state` after those of `Branch.state`: the next column to try at the node on
top, and the best cut so far: after how many codes less one, of how many, of which column."""


class Room(NamedTuple):
    """A tree that is being grown, and where a node's cuts are looked for."""

    codes: Any
    """Codes that go left at categorical nodes, one node after the other."""
    stack: Any
    """Open nodes."""
    present: Any
    """The codes of a column that occur in a node, ascending."""
    sequence: Any
    """Orders in which they are cut: forward, backward, and that of the best cut."""
    order: Any
    key: Any
    lost: Any
    """What the first codes lose together, and the last ones."""
    extents: Any
    goes_left: Any
    best: Any
    state: Any

    @classmethod
    def of(cls, n: int, widest: int, p: int) -> Room:
        """Room for a tree of n records, with the root open."""
        return cls(
            np.zeros(1024, np.int64),
            np.zeros(64, np.int64),
            np.zeros(widest, np.int64),
            np.zeros((3, widest), np.int64),
            np.zeros((2, widest), np.int64),
            np.zeros(widest),
            np.zeros((2, widest)),
            np.zeros(p),
            np.zeros(widest, np.uint8),
            np.full(1, np.inf),
            np.array([1, 1, 0, 0, 0, 0, -1, 0, LEAF]),
        )

    def wider(self, widest: int) -> Room:
        """The same with room for the codes of one more node, and for two more open ones."""
        more = {}
        if self.state[CODES] + widest > len(self.codes):
            more["codes"] = np.concatenate([self.codes, np.zeros(len(self.codes) + widest, int)])
        if self.state[OPEN_NODES] + 2 > len(self.stack):
            more["stack"] = np.concatenate([self.stack, np.zeros_like(self.stack)])
        return self._replace(**more)


def grow_spread(
    rows: NodeRows,
    positions: npt.NDArray[np.float64],
    domain: npt.NDArray[np.float64],
    k: int,
    objective: int,
    persons: bool = False,
) -> Grown:
    """Grow a tree by extents.

    Parameters
    ----------
    rows : Rows
        They are moved in place, each to its leaf.
    positions : float array
        For every column and code (missing included, columns one after the other)
        the value's place in [0, 1]; codes of categories take no place.
    domain : float array of shape (p,)
        What a group with every category has as extent: the categories that occur, less one.
    k : int
        Fewest records of a group, or people.
    objective : {MEDIAN, LOSS}
    persons : bool
        Whether the rows have shares of people: these are counted then, not records.
    """
    share, person = np.zeros((1, 5), np.int64), 1  # without a mask every record counts 1
    if persons:
        byte, person = 4 * int(rows.format.quantities[0]), 1 << UNIT_BITS
        share[0, [WORD_AT, SHIFT, MASK]] = byte // 8, byte % 8 * 8, (1 << 32) - 1
    widths = rows.predictors.n_codes + 1
    limit = max(1, 2 * (rows.n // k))
    nodes = np.zeros((limit, 11), np.int64)
    nodes[0, END], nodes[0, PARENT] = rows.n, -1
    spread = Spread.of(rows, positions, domain, person, objective == LOSS)
    room = Room.of(rows.n, int(widths.max()), len(widths))
    while room.state[OPEN_NODES]:
        room = room.wider(int(widths.max()))
        _grow(rows.words, share, (k - 1) * person + 1, objective, nodes, spread, room, SLICE)
        room.state[SPENT] = 0
        if room.state[OPEN_NODES]:
            done(float(room.state[SETTLED]) / rows.n)
    nodes = nodes[: room.state[NODES]]
    codes = room.codes[: room.state[CODES]]
    return in_preorder(nodes, nodes[:, [END]] - nodes[:, [START]], codes, rows, 0)


@kernel
def _grow(words, share, min_leaf, objective, nodes, spread, room, budget):  # type: ignore[no-untyped-def]
    """Grow until it is done, there is no room for another node, or `budget` codes were read."""
    words, spread, room = borrowed(words), borrowed(spread), borrowed(room)
    fields, state, person = spread.fields, room.state, spread.person
    p = fields.shape[0]
    widest = room.present.shape[0]
    while state[OPEN_NODES] > 0:
        if (
            state[CODES] + widest > room.codes.shape[0]
            or state[OPEN_NODES] + 2 > room.stack.shape[0]
        ):
            return
        node = room.stack[state[OPEN_NODES] - 1]
        a, b = nodes[node, START], nodes[node, END]
        if (b - a) * person < 2 * min_leaf:
            state[NEXT] = p
        elif objective == MEDIAN and state[NEXT] == 0:
            extents_of(words, a, b, spread, room.extents)
        while state[NEXT] < p:
            if state[SPENT] > budget:
                return
            c = state[NEXT]
            state[NEXT] += 1
            state[SPENT] += (b - a) * p + 64
            if objective == MEDIAN:
                _try_median(words, share, a, b, min_leaf, spread, room)
            else:
                _try_column(words, share, a, b, c, min_leaf, spread, room)
        _write_node(words, node, a, b, nodes, spread, room)


@inner
def _try_median(words, share, a, b, min_leaf, spread, room):  # type: ignore[no-untyped-def]
    """Cut the widest column that was not tried, ties by column order; done if it can be cut."""
    state, present, count = room.state, room.present, spread.count
    p, c = spread.fields.shape[0], 0
    for j in range(1, p):
        if room.extents[j] > room.extents[c] + 1e-12:
            c = j
    if room.extents[c] <= 0.0:
        state[NEXT] = p
        return
    room.extents[c] = -1.0
    m = count_codes(words, share, a, b, c, spread, present)
    total, nl = 0, 0
    for k in range(m):
        total += count[present[k]]
    values = m - (spread.ordered[c] and present[m - 1] == spread.n_codes[c])
    for k in range(values - 1):
        nl += count[present[k]]
        if nl >= min_leaf and total - nl >= min_leaf:
            off = abs(2.0 * nl - total)
            if off < room.best[0]:
                room.best[0] = off
                state[BEST_AT], state[BEST_OF], state[BEST_COLUMN] = k, m, c
    for k in range(m):
        count[present[k]] = 0
    if state[BEST_COLUMN] == c:
        state[NEXT] = p
        for k in range(m):
            room.sequence[2, k] = present[k]


@inner
def _try_column(words, share, a, b, c, min_leaf, spread, room):  # type: ignore[no-untyped-def]
    """Look for a better cut of column c by what its sides lose."""
    state, present, count = room.state, room.present, spread.count
    key, order, sequence = room.key, room.order, room.sequence
    p = spread.fields.shape[0]
    m = count_codes(words, share, a, b, c, spread, present)
    if m > 1:
        pairs = summarise(words, a, b, c, m, present, spread)
        total = 0
        for k in range(m):
            total += count[present[k]]
        # missing values follow the right side
        values = m - (spread.ordered[c] and present[m - 1] == spread.n_codes[c])
        for way in range(1 if spread.ordered[c] else 1 + p):
            state[SPENT] += 2 * (m * p + pairs)
            if way == 0:
                for k in range(m):
                    order[0, k] = k
            else:
                if way - 1 == c:  # by size
                    for k in range(m):
                        key[k] = count[present[k]]
                else:  # by the middle of another column's extent
                    middles(way - 1, present, m, spread, key)
                sort_places(key, m, order)
            for k in range(m):
                sequence[0, k] = present[order[0, k]]
                sequence[1, m - 1 - k] = sequence[0, k]
            sweep(sequence[0], m, spread, room.lost[0])
            sweep(sequence[1], m, spread, room.lost[1])
            nl = 0
            for k in range(values - 1):
                nl += count[sequence[0, k]]
                if nl < min_leaf or total - nl < min_leaf:
                    continue
                loss = room.lost[0, k] + room.lost[1, m - 2 - k]
                best = room.best[0]
                if best == np.inf or loss < best - 1e-9 * abs(best):
                    room.best[0] = loss
                    state[BEST_AT], state[BEST_OF], state[BEST_COLUMN] = k, m, c
                    for i in range(m):
                        sequence[2, i] = sequence[0, i]
    for k in range(m):
        count[present[k]] = 0


@inner
def _write_node(words, node, a, b, nodes, spread, room):  # type: ignore[no-untyped-def]
    """Write down the best cut of the node on top, and open its sides."""
    state, goes_left, best = room.state, room.goes_left, room.sequence[2]
    column, cut, m = state[BEST_COLUMN], state[BEST_AT], state[BEST_OF]
    room.best[0] = np.inf
    state[NEXT], state[BEST_COLUMN] = 0, LEAF
    top = state[OPEN_NODES] - 1
    state[OPEN_NODES] = top
    nodes[node, COLUMN] = column
    if column == LEAF:
        state[SETTLED] += b - a
        return
    for k in range(m):
        goes_left[best[k]] = k <= cut
    if spread.ordered[column]:
        nodes[node, LAST_LEFT], nodes[node, FIRST_RIGHT] = best[cut], best[cut + 1]
    else:
        at = state[CODES]
        nodes[node, LAST_LEFT], nodes[node, SUBSET_AT] = cut + 1, at
        for k in range(cut + 1):
            room.key[k] = best[k]
        sort_places(room.key, cut + 1, room.order)
        for k in range(cut + 1):
            room.codes[at + k] = best[room.order[0, k]]
        state[CODES] = at + cut + 1
    middle = bring_left(words, spread.fields[column], a, b, goes_left)
    left = state[NODES]
    nodes[node, LEFT], nodes[node, RIGHT] = left, left + 1
    nodes[left, START], nodes[left, END] = a, middle
    nodes[left + 1, START], nodes[left + 1, END] = middle, b
    for child in range(left, left + 2):
        nodes[child, PARENT] = node
        nodes[child, DEPTH] = nodes[node, DEPTH] + 1
    room.stack[top], room.stack[top + 1] = left + 1, left
    state[OPEN_NODES], state[NODES] = top + 2, left + 2
