"""The policy of trees without responses: groups that spread little over the quasi-identifiers.

There are two objectives. "median" cuts the column of widest normalised extent at its median
(Mondrian, LeFevre et al. 2006, strict). "loss" chooses the cut after which the normalised certainty
penalty (NCP) is smallest: for every column the records are summarised once per code (count,
extents, categories present in all columns), and cuts are scored by merging these summaries. A node
has at most as many categories as records, even if a column has many more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels import Bools, Floats, Ints, Ints32, Records, Words
from ..kernels.compiled import inner, loop
from ..kernels.exact_sums import UNIT_BITS
from .category_orders import sort_places
from .node_rows import FIELD, LONG, NodeRows, code_at
from .nodes import (
    CODES,
    DEPTH,
    END,
    FIRST_RIGHT,
    LAST_LEFT,
    LEAF,
    NODE,
    OPEN,
    OPEN_NODES,
    SPENT,
    START,
    SUBSET_AT,
    Branch,
    bring_left,
    close_node,
    is_open,
)

# if fewer than one in this many codes occurs, the codes are sorted; otherwise all are scanned
SCANNED = 16
MEDIAN, LOSS = 0, 1
# the best cut so far: its loss, the position of the last code on the left, the number of codes, and the column
CUT = np.dtype([("loss", np.float64), ("at", np.int64), ("n_codes", np.int64), ("column", np.int64)])
# the extent of a column over some records: lowest code, highest code, number of categories
EXTENT = np.dtype([("low", np.int64), ("high", np.int64), ("n_categories", np.int64)])


class ByExtents(NamedTuple):
    """The policy for growing trees by extents: the columns, one column's codes in a node, and the best cut so far.

    Parameters
    ----------
    words
        The records.
    min_leaf
        Smallest size of a leaf, in the units of `person`.
    share
        Position of a record's share of a person, as in `Format.codes`.
    person
        Units in one person: 1 if every record is a person.
    offsets
        Offset of each column's codes among all codes, with the end of the last.
    counts
        Records per code; all 0 between two columns.
    lo, hi
        The extent per code and column.
    begins
        The index of the first category per code and column, with the end of the last column's.
    rows
        The records, code after code.
    met
        For every category of every column, the tick of `now` at which it last occurred.
    run : EXTENT array
        Per column, over the first codes of a sequence.
    present
        The codes of a column that occur in a node, ascending.
    sequence
        Orders in which they are cut: forward, backward, and that of the best cut.
    lost
        The loss of the first codes of a sequence together, and of the last ones.
    cut : CUT record
    """

    words: Words
    objective: int
    min_leaf: int
    share: Records
    person: int
    fields: Records
    n_codes: Ints
    ordered: Bools
    offsets: Ints
    positions: Floats
    domain: Floats
    counts: Ints
    lo: Ints
    hi: Ints
    begins: Ints
    category: Ints32
    rows: Ints
    met: Ints
    now: Ints
    run: Records
    present: Ints
    sequence: Ints
    order: Ints
    key: Floats
    lost: Floats
    extents: Floats
    cut: Any

    @classmethod
    def from_rows(
        cls, rows: NodeRows, positions: Floats, domain: Floats, k: int, objective: int, persons: bool
    ) -> ByExtents:
        """Return the policy for one tree; the parameters are those of `grow.grow_by_extents`."""
        share, person = np.zeros(1, FIELD), 1  # without a mask every record counts 1
        if persons:
            byte, person = 4 * int(rows.format.quantities[0]), 1 << UNIT_BITS
            share[0] = LONG, 0, byte // 8, byte % 8 * 8, (1 << 32) - 1
        predictors, n = rows.predictors, rows.n if objective == LOSS else 0
        widths = predictors.n_codes + 1
        p, widest = len(widths), int(widths.max())
        codes = widest if objective == LOSS else 0
        shapes: dict[str, Any] = {"counts": widest, "rows": n, "met": int(widths.sum()), "now": 1, "present": widest}
        shapes |= {"lo": (codes, p), "hi": (codes, p), "begins": (codes, p + 1)}
        shapes |= {"sequence": (3, widest), "order": (2, widest)}
        buffers: dict[str, Any] = {name: np.zeros(shape, np.int64) for name, shape in shapes.items()}
        return cls(
            words=rows.words,
            objective=objective,
            # A sum of shares never overstates the people, so a sum above k - 1 means k of them.
            min_leaf=(k - 1) * person + 1,
            share=share,
            person=person,
            fields=rows.format.codes,
            n_codes=predictors.n_codes.astype(np.int64),
            ordered=predictors.ordered,
            offsets=np.concatenate([[0], np.cumsum(widths)]).astype(np.int64),
            positions=positions,
            domain=domain,
            category=np.zeros(n * int(np.count_nonzero(~predictors.ordered)), np.int32),
            run=np.zeros(p, EXTENT),
            key=np.zeros(widest),
            lost=np.zeros((2, widest)),
            extents=np.zeros(p),
            cut=np.zeros(1, CUT)[0],
            **buffers,
        )


@inner
def _sort(codes: Ints, m: int, policy: ByExtents) -> None:
    """Sort the first m codes in place, ascending."""
    key, order = policy.key, policy.order
    for k in range(m):
        key[k] = codes[k]
    sort_places(key, m, order)
    for k in range(m):
        codes[k] = key[order[0, k]]


@inner
def _count_codes(a: int, b: int, c: int, policy: ByExtents) -> int:
    """Count the records a..b by code of column c, list the codes in `present`, return their number."""
    words, present, count = policy.words, policy.present, policy.counts
    n_codes = policy.n_codes[c]
    m = 0
    for i in range(a, b):
        code = code_at(words, i, policy.fields, c)
        if count[code] == 0:
            present[m] = code
            m += 1
        count[code] += max(code_at(words, i, policy.share, 0), 1)
    # few of many codes: sorting them is cheaper than looking at every code
    if m * SCANNED < n_codes:
        _sort(present, m, policy)
    else:
        m = 0
        for code in range(n_codes + 1):
            if count[code] > 0:
                present[m] = code
                m += 1
    return m


@inner
def _begin(policy: ByExtents) -> int:
    """Clear the running extents and return a new tick."""
    for j in range(policy.fields.shape[0]):
        run = policy.run[j]
        run.low, run.high, run.n_categories = policy.n_codes[j] + 1, -1, 0
    # Categories are marked with a tick, because clearing the marks of all of them would cost more
    # than a small node does.
    policy.now[0] += 1
    return policy.now[0]


@inner
def _extent(j: int, policy: ByExtents) -> float:
    """Return the running normalised extent of column j, 0 to 1."""
    run, at = policy.run[j], policy.offsets[j]
    if policy.ordered[j]:
        return 0.0 if run.high < 0 else policy.positions[at + run.high] - policy.positions[at + run.low]
    # One category alone has no extent, as one number has none.
    return (run.n_categories - 1) / policy.domain[j]


@inner
def _write_extents(a: int, b: int, policy: ByExtents) -> None:
    """Write every column's normalised extent over the records a..b."""
    words, extents = policy.words, policy.extents
    now, run = _begin(policy), policy.run
    p = policy.fields.shape[0]
    for i in range(a, b):
        for j in range(p):
            code = code_at(words, i, policy.fields, j)
            if policy.ordered[j]:
                if code < policy.n_codes[j]:  # missing values take no place
                    run[j].low, run[j].high = min(run[j].low, code), max(run[j].high, code)
            elif policy.met[policy.offsets[j] + code] != now:
                policy.met[policy.offsets[j] + code] = now
                run[j].n_categories += 1
    for j in range(p):
        extents[j] = _extent(j, policy)


@inner
def _summarise(a: int, b: int, c: int, m: int, policy: ByExtents) -> int:
    """Write each column's extent or categories for every code of column c; return how many categories."""
    words, present = policy.words, policy.present
    begins, rows, met = policy.begins, policy.rows, policy.met
    p = policy.fields.shape[0]
    for k in range(m):
        begins[present[k], 0] = 0
    for i in range(a, b):
        begins[code_at(words, i, policy.fields, c), 0] += 1
    at = 0
    for k in range(m):
        size = begins[present[k], 0]
        begins[present[k], 0] = at
        at += size
    # A counting sort: the records of each code are then read together, column by column.
    for i in range(a, b):
        code = code_at(words, i, policy.fields, c)
        rows[begins[code, 0]] = i
        begins[code, 0] += 1
    first = listed = 0
    for k in range(m):
        code = present[k]
        last = begins[code, 0]
        for j in range(p):
            begins[code, j] = listed
            if policy.ordered[j]:
                low, high = policy.n_codes[j] + 1, -1
                for i in range(first, last):
                    other = code_at(words, rows[i], policy.fields, j)
                    if other < policy.n_codes[j]:
                        low, high = min(low, other), max(high, other)
                policy.lo[code, j], policy.hi[code, j] = low, high
            else:
                policy.now[0] += 1
                for i in range(first, last):
                    place = policy.offsets[j] + code_at(words, rows[i], policy.fields, j)
                    if met[place] != policy.now[0]:
                        met[place] = policy.now[0]
                        policy.category[listed] = place
                        listed += 1
        begins[code, p] = listed
        first = last
    return listed


@inner
def _sweep(sequence: Ints, m: int, policy: ByExtents, out: Floats) -> None:
    """Write the loss of the first 1, 2, ... m codes of a sequence: records times summed extents."""
    now, run = _begin(policy), policy.run
    n = 0
    for k in range(m):
        code = sequence[k]
        n += policy.counts[code]
        total = 0.0
        for j in range(policy.fields.shape[0]):
            if policy.ordered[j]:
                run[j].low = min(run[j].low, policy.lo[code, j])
                run[j].high = max(run[j].high, policy.hi[code, j])
            for e in range(policy.begins[code, j], policy.begins[code, j + 1]):
                place = policy.category[e]
                if policy.met[place] != now:
                    policy.met[place] = now
                    run[j].n_categories += 1
            total += _extent(j, policy)
        out[k] = n * total


@inner
def _write_middles(j: int, m: int, policy: ByExtents) -> None:
    """Write a sort key for every code: the middle of its extent, or of its categories, in column j."""
    present, key = policy.present, policy.key
    for k in range(m):
        code = present[k]
        if policy.ordered[j]:
            key[k] = policy.lo[code, j] + policy.hi[code, j]
        else:
            total = 0.0
            begin, end = policy.begins[code, j], policy.begins[code, j + 1]
            for e in range(begin, end):
                total += policy.category[e] - policy.offsets[j]
            key[k] = total / max(end - begin, 1)


@inner
def _widest(policy: ByExtents) -> int:
    """Return the widest column not yet tried, the first in a tie, and mark it as tried; LEAF if none is left."""
    extents, c = policy.extents, 0
    for j in range(1, extents.shape[0]):
        # extents that differ by rounding are equal: the earlier column is cut
        if extents[j] > extents[c] + 1e-12:
            c = j
    if extents[c] <= 0.0:
        return LEAF
    extents[c] = -1.0
    return c


@inner
def _try_column(a: int, b: int, c: int, policy: ByExtents) -> int:
    """Look for a better cut of column c than the best so far; return the number of steps taken.

    The better cut has less loss, or is nearer to the median. Both sides must get enough people.
    """
    present, count, cut = policy.present, policy.counts, policy.cut
    key, order, sequence, lost = policy.key, policy.order, policy.sequence, policy.lost
    p, work, by_loss = policy.fields.shape[0], 0, policy.objective == LOSS
    # losses that differ by rounding are equal; distances from the median are whole numbers
    slack = 1e-9 if by_loss else 0.0
    m = _count_codes(a, b, c, policy)
    if m > 1:
        pairs = _summarise(a, b, c, m, policy) if by_loss else 0
        total = 0
        for k in range(m):
            total += count[present[k]]
        # Missing values have the largest code and go with the right side: no cut stands before them.
        values = m - (policy.ordered[c] and present[m - 1] == policy.n_codes[c])
        # categories have no order of their own: as they stand, by size, and by each other column
        for way in range(1 + p if by_loss and not policy.ordered[c] else 1):
            work += 2 * (m * p + pairs)
            if way == 0:
                for k in range(m):
                    order[0, k] = k
            else:
                if way - 1 == c:  # by size
                    for k in range(m):
                        key[k] = count[present[k]]
                else:  # by the middle of another column's extent
                    _write_middles(way - 1, m, policy)
                sort_places(key, m, order)
            for k in range(m):
                sequence[0, k] = present[order[0, k]]
                sequence[1, m - 1 - k] = sequence[0, k]
            # one sweep from either end gives the loss of both sides of every cut
            if by_loss:
                _sweep(sequence[0], m, policy, lost[0])
                _sweep(sequence[1], m, policy, lost[1])
            nl, is_better = 0, False
            for k in range(values - 1):
                nl += count[sequence[0, k]]
                if nl < policy.min_leaf or total - nl < policy.min_leaf:
                    continue
                score = lost[0, k] + lost[1, m - 2 - k] if by_loss else abs(2.0 * nl - total)
                # Infinity less a part of itself is NaN, so the first cut has its own test.
                if cut.loss == np.inf or score < cut.loss - slack * abs(cut.loss):
                    cut.loss, cut.at, cut.n_codes, cut.column, is_better = score, k, m, c, True
            if is_better:
                for k in range(m):
                    sequence[2, k] = sequence[0, k]
    for k in range(m):
        count[present[k]] = 0
    return work


@inner
def _write_cut(node: int, left: int, branch: Branch, policy: ByExtents) -> None:
    """Write the cut of a node, and the record counts of its children."""
    nodes, state, best, cut = branch.nodes, branch.state, policy.sequence[2], policy.cut
    at, n_left = state[CODES], cut.at + 1
    if policy.ordered[cut.column]:
        nodes[node, LAST_LEFT], nodes[node, FIRST_RIGHT] = best[cut.at], best[n_left]
    else:
        nodes[node, LAST_LEFT], nodes[node, SUBSET_AT] = n_left, at
        # ascending, whatever the order that they were cut in
        for k in range(n_left):
            branch.codes[at + k] = best[k]
        _sort(branch.codes[at:], n_left, policy)
        state[CODES] = at + n_left
    for child in range(left, left + 2):
        branch.stats[child, 0] = nodes[child, END] - nodes[child, START]


@loop
def expand_by_extents(branch: Branch, policy: ByExtents, keep: int, max_depth: int, budget: int) -> None:
    """Grow a branch by extents; parameters and behaviour are those of `expand.expand`."""
    nodes, state, cut, p = branch.nodes, branch.state, policy.cut, policy.fields.shape[0]
    while is_open(branch, budget):
        node = branch.stack[state[OPEN_NODES] - 1, NODE]
        a, b = nodes[node, START], nodes[node, END]
        cut.loss, cut.column = np.inf, LEAF
        may_split = b - a > keep and nodes[node, DEPTH] < max_depth
        if may_split and (b - a) * policy.person >= 2 * policy.min_leaf:
            by_median = policy.objective == MEDIAN
            if by_median:
                _write_extents(a, b, policy)
            for j in range(p):
                c = _widest(policy) if by_median else j
                # By the median, the widest column that can be cut is cut.
                if c == LEAF or (by_median and cut.column != LEAF):
                    break
                state[SPENT] += (b - a) * p + 64 + _try_column(a, b, c, policy)
        column, middle = cut.column, b
        if column >= 0:
            for k in range(cut.n_codes):
                branch.goes_left[policy.sequence[2, k]] = k <= cut.at
            middle = bring_left(policy.words, policy.fields[column], a, b, branch.goes_left)
        left = close_node(node, OPEN if b - a <= keep else column, middle, branch)
        if left >= 0:
            _write_cut(node, left, branch, policy)
