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
from numba import njit

from ..kernels.bits import count_ones
from .expand import LEAF, bring_left
from .grow import Grown, Predictors, visit_order

MEDIAN, LOSS = 0, 1


def grow_spread(
    predictors: Predictors, positions: npt.NDArray[np.float64], min_leaf: int, objective: int
) -> Grown:
    """Grow a tree by extents.

    Parameters
    ----------
    predictors : Predictors
    positions : float array
        For every column and code (missing included, columns one after the other)
        the value's place in [0, 1]; codes of categories take no place.
    min_leaf : int
        Fewest records of a group.
    objective : {MEDIAN, LOSS}
    """
    codes = np.ascontiguousarray(predictors.codes)
    n, p = codes.shape
    widths = predictors.n_codes + 1
    offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    word_at = np.concatenate(
        [[0], np.cumsum(np.where(predictors.ordered, 0, (widths + 63) // 64))]
    ).astype(np.int64)
    domain = np.array([max(len(np.unique(codes[:, c])) - 1, 1) for c in range(p)], float)
    limit = max(1, 2 * (n // min_leaf))
    whole = [np.zeros(limit, np.int64) for _ in range(9)]
    missing_left = np.zeros(limit, np.bool_)
    rows = np.arange(n, dtype=np.uint32)
    n_nodes, subset_codes = _grow(
        codes.copy(),
        rows,
        predictors.n_codes.astype(np.int64),
        predictors.ordered,
        offsets,
        positions,
        word_at,
        domain,
        min_leaf,
        objective,
        *whole,
    )
    start, end, parent, left, right, column, lo, hi, depth = (part[:n_nodes] for part in whole)
    order = visit_order(column, left, right)
    new = np.empty(n_nodes, np.int64)
    new[order] = np.arange(n_nodes)
    column = column[order]
    above = parent[order]
    # subsets were stored with their place in `hi`
    categorical = (column >= 0) & ~predictors.ordered[np.maximum(column, 0)]
    return Grown(
        start[order],
        end[order],
        np.where(above >= 0, new[np.maximum(above, 0)], -1),
        np.where(column >= 0, new[right[order]], 0),
        column,
        lo[order],
        hi[order],
        missing_left[:n_nodes],
        depth[order],
        (end - start)[order][:, None].copy(),
        np.where(categorical, hi[order], 0),
        subset_codes,
        rows,
    )


@njit(cache=True, nogil=True)
def _summarise(codes, a, b, c, offsets, ordered, n_codes, word_at, present, count, lo, hi, bits):  # type: ignore[no-untyped-def]
    """Per code of column c: records, and for every column the extent or the categories present."""
    p = codes.shape[1]
    for i in range(a, b):
        v = np.int64(codes[i, c])
        if count[v] == 0:
            for j in range(p):
                lo[v, j] = n_codes[j] + 1
                hi[v, j] = -1
            for w in range(bits.shape[1]):
                bits[v, w] = 0
        count[v] += 1
        for j in range(p):
            code = np.int64(codes[i, j])
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _grow(  # type: ignore[no-untyped-def]
    codes,
    rows,
    n_codes,
    ordered,
    offsets,
    positions,
    word_at,
    domain,
    min_leaf,
    objective,
    start,
    end,
    parent,
    left,
    right,
    column,
    lo_out,
    hi_out,
    depth,
):
    n, p = codes.shape
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
    no_z, no_classes = np.empty((n, 0), np.int32), np.empty((n, 0), np.uint16)
    goes_left = np.zeros(widest, np.bool_)
    extents = np.empty(p)
    subset_codes = np.empty(1024, np.int64)
    n_subset = 0
    stack = np.empty(64, np.int64)
    stack[0] = 0
    top = 1
    start[0], end[0], parent[0] = 0, n, -1
    n_nodes = 1
    while top > 0:
        top -= 1
        node = stack[top]
        a, b = start[node], end[node]
        best = np.inf
        column[node] = LEAF
        best_k, best_m = -1, 0
        if b - a >= 2 * min_leaf:
            if objective == MEDIAN:
                _node_extents(
                    codes,
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
                    codes, a, b, c, offsets, ordered, n_codes, word_at, present, count, lo, hi, bits
                )
                values = m
                if ordered[c] and m > 0 and present[m - 1] == n_codes[c]:
                    values = m - 1  # missing values follow the right side
                if objective == MEDIAN:
                    nl = 0
                    for k in range(values - 1):
                        nl += count[present[k]]
                        if nl >= min_leaf and b - a - nl >= min_leaf:
                            off = abs(2.0 * nl - (b - a))
                            if off < best:
                                best, best_k, best_m = off, k, m
                                column[node] = c
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
                            if nl < min_leaf or b - a - nl < min_leaf:
                                continue
                            loss = ahead[k] + behind[m - 2 - k]
                            if loss < best - 1e-9 * abs(best) or best == np.inf:
                                best, best_k, best_m = loss, k, m
                                column[node] = c
                                best_sequence[:m] = sequence[:m]
                for k in range(m):
                    count[present[k]] = 0
                if objective == MEDIAN and column[node] >= 0:
                    break
        c = column[node]
        if c == LEAF:
            continue
        for k in range(best_m):
            goes_left[best_sequence[k]] = k <= best_k
        if ordered[c]:
            lo_out[node], hi_out[node] = best_sequence[best_k], best_sequence[best_k + 1]
        else:
            lo_out[node], hi_out[node] = best_k + 1, n_subset
            chosen = np.sort(best_sequence[: best_k + 1])
            for at in range(chosen.shape[0]):
                if n_subset == subset_codes.shape[0]:
                    wider = np.empty(2 * n_subset, np.int64)
                    wider[:n_subset] = subset_codes
                    subset_codes = wider
                subset_codes[n_subset] = chosen[at]
                n_subset += 1
        middle = bring_left(codes, codes, no_z, no_classes, rows, a, b, c, goes_left)
        left[node], right[node] = n_nodes, n_nodes + 1
        start[n_nodes], end[n_nodes] = a, middle
        start[n_nodes + 1], end[n_nodes + 1] = middle, b
        for child in (n_nodes, n_nodes + 1):
            parent[child] = node
            depth[child] = depth[node] + 1
        if top + 2 > stack.shape[0]:
            taller = np.empty(2 * stack.shape[0], np.int64)
            taller[:top] = stack[:top]
            stack = taller
        stack[top], stack[top + 1] = n_nodes + 1, n_nodes
        top += 2
        n_nodes += 2
    return n_nodes, subset_codes[:n_subset]


@njit(cache=True, nogil=True)
def _node_extents(  # type: ignore[no-untyped-def]
    codes, a, b, offsets, ordered, n_codes, word_at, positions, domain, lo, hi, bits, extents
):
    for j in range(codes.shape[1]):
        lo[j], hi[j] = n_codes[j] + 1, -1
    bits[:] = 0
    for i in range(a, b):
        for j in range(codes.shape[1]):
            code = np.int64(codes[i, j])
            if ordered[j]:
                if code < n_codes[j]:
                    lo[j] = min(lo[j], code)
                    hi[j] = max(hi[j], code)
            else:
                bits[word_at[j] + (code >> 6)] |= np.uint64(1) << np.uint64(code & 63)
    for j in range(codes.shape[1]):
        extents[j] = _extent(lo, hi, bits, j, ordered, offsets, positions, word_at, domain)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _ordered(key, present, m, sequence):  # type: ignore[no-untyped-def]
    """The codes by key, ties by code."""
    by = np.argsort(key[:m], kind="mergesort")
    for k in range(m):
        sequence[k] = present[by[k]]
