"""Growing without responses: groups that spread little over the quasi-identifiers.

Two objectives share the loop. "median" cuts the column of widest normalised
extent at its median (Mondrian, LeFevre et al. 2006, strict). "loss" takes the
cut after which the normalised certainty penalty is smallest: for every column
the rows are summed up once per code (count, extents, categories present in all
columns), and cuts are scored by merging these summaries.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..kernels.bits import borrowed, count_ones
from ..kernels.compiled import checked
from ..kernels.exact import UNIT_BITS
from .expand import (
    COLUMN,
    DEPTH,
    END,
    FIRST_RIGHT,
    LAST_LEFT,
    LEFT,
    PARENT,
    RIGHT,
    START,
    SUBSET_AT,
    bring_left,
)
from .grow import Grown, in_preorder
from .rows import MASK, SHIFT, WORD_AT, Rows, code_at
from .split import LEAF

MEDIAN, LOSS = 0, 1


def grow_spread(
    rows: Rows,
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
    predictors = rows.predictors
    widths = predictors.n_codes + 1
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    word_at = np.concatenate(
        [[0], np.cumsum(np.where(predictors.ordered, 0, (widths + 63) // 64))]
    ).astype(np.int64)
    limit = max(1, 2 * (rows.n // k))
    nodes = np.zeros((limit, 11), np.int64)
    nodes[0, END], nodes[0, PARENT] = rows.n, -1
    n_nodes, codes = _grow(
        rows.words,
        rows.format.codes,
        share,
        predictors.n_codes.astype(np.int64),
        predictors.ordered,
        offsets,
        positions,
        word_at,
        domain,
        (k - 1) * person + 1,
        person,
        objective,
        nodes,
    )
    nodes = nodes[:n_nodes]
    return in_preorder(nodes, nodes[:, [END]] - nodes[:, [START]], codes, rows, 0)


@checked
def _summarise(  # type: ignore[no-untyped-def]
    words, fields, share, a, b, c, ordered, n_codes, word_at, present, count, lo, hi, bits
):
    """Per code of column c: records, and for every column the extent or the categories present."""
    p = fields.shape[0]
    for i in range(a, b):
        v = code_at(words, i, fields, c)
        if count[v] == 0:
            for j in range(p):
                lo[v, j] = n_codes[j] + 1
                hi[v, j] = -1
            for w in range(bits.shape[1]):
                bits[v, w] = 0
        count[v] += max(code_at(words, i, share, 0), 1)
        for j in range(p):
            code = code_at(words, i, fields, j)
            if ordered[j]:
                if code < n_codes[j]:  # missing values take no place
                    lo[v, j] = min(lo[v, j], code)
                    hi[v, j] = max(hi[v, j], code)
            else:
                bits[v, word_at[j] + (code >> 6)] |= np.uint64(1) << np.uint64(code & 63)
    m = 0
    for value in range(n_codes[c] + 1):
        if count[value] > 0:
            present[m] = value
            m += 1
    return m


@checked
def _extent(lo, hi, bits, j, ordered, offsets, positions, word_at, domain):  # type: ignore[no-untyped-def]
    """Normalised extent of one column of a group, 0 to 1."""
    if ordered[j]:
        if hi[j] < 0:
            return 0.0
        return positions[offsets[j] + hi[j]] - positions[offsets[j] + lo[j]]
    ones = 0
    for w in range(word_at[j], word_at[j + 1]):
        ones += count_ones(bits[w])
    return (ones - 1) / domain[j]


@checked
def _sweep(  # type: ignore[no-untyped-def]
    sequence,
    m,
    count,
    lo,
    hi,
    bits,
    run_lo,
    run_hi,
    run_bits,
    out,
    ordered,
    offsets,
    positions,
    word_at,
    domain,
    n_codes,
):
    """Records times summed extents of the first 1, 2, ... m codes of a sequence."""
    p = ordered.shape[0]
    for j in range(p):
        run_lo[j] = n_codes[j] + 1
        run_hi[j] = -1
    run_bits[:] = 0
    n = 0
    for k in range(m):
        v = sequence[k]
        n += count[v]
        total = 0.0
        for j in range(p):
            run_lo[j] = min(run_lo[j], lo[v, j])
            run_hi[j] = max(run_hi[j], hi[v, j])
        for w in range(run_bits.shape[0]):
            run_bits[w] |= bits[v, w]
        for j in range(p):
            total += _extent(
                run_lo, run_hi, run_bits, j, ordered, offsets, positions, word_at, domain
            )
        out[k] = n * total


@checked
def _grow(  # type: ignore[no-untyped-def]
    words,
    fields,
    share,
    n_codes,
    ordered,
    offsets,
    positions,
    word_at,
    domain,
    min_leaf,
    person,
    objective,
    nodes,
):
    words, fields = borrowed(words), borrowed(fields)
    p = fields.shape[0]
    widest = 1
    for c in range(p):
        widest = max(widest, n_codes[c] + 1)
    n_words = max(word_at[p], 1)
    count = np.zeros(widest, np.int64)
    lo, hi = np.zeros((widest, p), np.int64), np.zeros((widest, p), np.int64)
    bits = np.zeros((widest, n_words), np.uint64)
    run_lo, run_hi, run_bits = (
        np.zeros(p, np.int64),
        np.zeros(p, np.int64),
        np.zeros(n_words, np.uint64),
    )
    present, sequence, backward = (
        np.empty(widest, np.int64),
        np.empty(widest, np.int64),
        np.empty(widest, np.int64),
    )
    best_sequence = np.empty(widest, np.int64)
    ahead, behind = np.empty(widest), np.empty(widest)
    key = np.empty(widest)
    goes_left = np.zeros(widest, np.uint8)
    extents = np.empty(p)
    subset_codes = np.empty(1024, np.int64)
    n_subset = 0
    stack = np.empty(64, np.int64)
    stack[0] = 0
    top = 1
    n_nodes = 1
    while top > 0:
        top -= 1
        node = stack[top]
        a, b = nodes[node, START], nodes[node, END]
        best = np.inf
        column = LEAF
        best_k, best_m = -1, 0
        if (b - a) * person >= 2 * min_leaf:
            if objective == MEDIAN:
                _node_extents(
                    words,
                    fields,
                    a,
                    b,
                    offsets,
                    ordered,
                    n_codes,
                    word_at,
                    positions,
                    domain,
                    run_lo,
                    run_hi,
                    run_bits,
                    extents,
                )
            for attempt in range(p):
                c = attempt
                if objective == MEDIAN:  # the widest column that can be cut; ties by column order
                    c = 0
                    for j in range(1, p):
                        if extents[j] > extents[c] + 1e-12:
                            c = j
                    if extents[c] <= 0.0:
                        break
                    extents[c] = -1.0
                m = _summarise(
                    words,
                    fields,
                    share,
                    a,
                    b,
                    c,
                    ordered,
                    n_codes,
                    word_at,
                    present,
                    count,
                    lo,
                    hi,
                    bits,
                )
                total = 0
                for k in range(m):
                    total += count[present[k]]
                values = m
                if ordered[c] and m > 0 and present[m - 1] == n_codes[c]:
                    values = m - 1  # missing values follow the right side
                if objective == MEDIAN:
                    nl = 0
                    for k in range(values - 1):
                        nl += count[present[k]]
                        if nl >= min_leaf and total - nl >= min_leaf:
                            off = abs(2.0 * nl - total)
                            if off < best:
                                best, best_k, best_m = off, k, m
                                column = c
                                best_sequence[:m] = present[:m]
                elif m > 1:
                    orders = 1 if ordered[c] else 1 + p
                    for order in range(orders):
                        if order == 0:
                            sequence[:m] = present[:m]
                        elif order - 1 == c:  # by size
                            for k in range(m):
                                key[k] = count[present[k]]
                            _ordered(key, present, m, sequence)
                        else:  # by the middle of another column's extent
                            _middles(order - 1, present, m, lo, hi, bits, ordered, word_at, key)
                            _ordered(key, present, m, sequence)
                        for k in range(m):
                            backward[k] = sequence[m - 1 - k]
                        _sweep(
                            sequence,
                            m,
                            count,
                            lo,
                            hi,
                            bits,
                            run_lo,
                            run_hi,
                            run_bits,
                            ahead,
                            ordered,
                            offsets,
                            positions,
                            word_at,
                            domain,
                            n_codes,
                        )
                        _sweep(
                            backward,
                            m,
                            count,
                            lo,
                            hi,
                            bits,
                            run_lo,
                            run_hi,
                            run_bits,
                            behind,
                            ordered,
                            offsets,
                            positions,
                            word_at,
                            domain,
                            n_codes,
                        )
                        nl = 0
                        for k in range(values - 1):
                            nl += count[sequence[k]]
                            if nl < min_leaf or total - nl < min_leaf:
                                continue
                            loss = ahead[k] + behind[m - 2 - k]
                            if loss < best - 1e-9 * abs(best) or best == np.inf:
                                best, best_k, best_m = loss, k, m
                                column = c
                                best_sequence[:m] = sequence[:m]
                for k in range(m):
                    count[present[k]] = 0
                if objective == MEDIAN and column >= 0:
                    break
        nodes[node, COLUMN] = column
        if column == LEAF:
            continue
        for k in range(best_m):
            goes_left[best_sequence[k]] = k <= best_k
        if ordered[column]:
            nodes[node, LAST_LEFT] = best_sequence[best_k]
            nodes[node, FIRST_RIGHT] = best_sequence[best_k + 1]
        else:
            nodes[node, LAST_LEFT], nodes[node, SUBSET_AT] = best_k + 1, n_subset
            chosen = np.sort(best_sequence[: best_k + 1])
            for at in range(chosen.shape[0]):
                if n_subset == subset_codes.shape[0]:
                    wider = np.empty(2 * n_subset, np.int64)
                    wider[:n_subset] = subset_codes
                    subset_codes = wider
                subset_codes[n_subset] = chosen[at]
                n_subset += 1
        middle = bring_left(words, fields[column], a, b, goes_left)
        nodes[node, LEFT], nodes[node, RIGHT] = n_nodes, n_nodes + 1
        nodes[n_nodes, START], nodes[n_nodes, END] = a, middle
        nodes[n_nodes + 1, START], nodes[n_nodes + 1, END] = middle, b
        for child in (n_nodes, n_nodes + 1):
            nodes[child, PARENT] = node
            nodes[child, DEPTH] = nodes[node, DEPTH] + 1
        if top + 2 > stack.shape[0]:
            taller = np.empty(2 * stack.shape[0], np.int64)
            taller[:top] = stack[:top]
            stack = taller
        stack[top], stack[top + 1] = n_nodes + 1, n_nodes
        top += 2
        n_nodes += 2
    return n_nodes, subset_codes[:n_subset]


@checked
def _node_extents(  # type: ignore[no-untyped-def]
    words,
    fields,
    a,
    b,
    offsets,
    ordered,
    n_codes,
    word_at,
    positions,
    domain,
    lo,
    hi,
    bits,
    extents,
):
    p = fields.shape[0]
    for j in range(p):
        lo[j], hi[j] = n_codes[j] + 1, -1
    bits[:] = 0
    for i in range(a, b):
        for j in range(p):
            code = code_at(words, i, fields, j)
            if ordered[j]:
                if code < n_codes[j]:
                    lo[j] = min(lo[j], code)
                    hi[j] = max(hi[j], code)
            else:
                bits[word_at[j] + (code >> 6)] |= np.uint64(1) << np.uint64(code & 63)
    for j in range(p):
        extents[j] = _extent(lo, hi, bits, j, ordered, offsets, positions, word_at, domain)


@checked
def _middles(j, present, m, lo, hi, bits, ordered, word_at, key):  # type: ignore[no-untyped-def]
    """A place for every code on another column: the middle of its extent, or of its categories."""
    for k in range(m):
        v = present[k]
        if ordered[j]:
            key[k] = lo[v, j] + hi[v, j]
        else:
            total, ones = 0.0, 0
            for w in range(word_at[j], word_at[j + 1]):
                for bit in range(64):
                    if (bits[v, w] >> np.uint64(bit)) & np.uint64(1):
                        total += (w - word_at[j]) * 64 + bit
                        ones += 1
            key[k] = total / max(ones, 1)


@checked
def _ordered(key, present, m, sequence):  # type: ignore[no-untyped-def]
    """The codes by key, ties by code."""
    by = np.argsort(key[:m], kind="mergesort")
    for k in range(m):
        sequence[k] = present[by[k]]
