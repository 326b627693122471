"""The compiled loop that expands the nodes of a branch.

Depth first, the smaller child first. Nodes with many rows keep a histogram of
all columns (one statistics vector per code); the smaller child's is counted and
subtracted from the parent's to give the larger child's. Nodes with few rows
count one column at a time, which stays in the processor's first cache.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from ..kernels.bits import trailing_zeros
from .split import numeric_split, plain_numeric_split, subset_split
from .statistics import SSE

LEAF = -1
OPEN = -2
"""Mark of nodes that one call of the kernel leaves to others."""


@njit(cache=True, nogil=True)
def _count(hist, row, z, classes, i, t):  # type: ignore[no-untyped-def]
    """Add record i to one row of a histogram."""
    hist[row, 0] += 1
    for j in range(z.shape[1]):
        value = np.int64(z[i, j])
        hist[row, 1 + j] += value
        if t.squares >= 0:
            hist[row, t.squares + j] += (value * value) >> t.shift
    for j in range(classes.shape[1]):
        hist[row, t.starts[j] + classes[i, j]] += 1


@njit(cache=True, nogil=True)
def _fill(hist, codes, z, classes, a, b, p, offsets, plain, squares, t):  # type: ignore[no-untyped-def]
    """Count the records a..b in the histograms of all columns."""
    for k in range(offsets[p]):
        for i in range(hist.shape[1]):
            hist[k, i] = 0
    if plain:
        two = z.shape[1] == 2
        for i in range(a, b):
            u, v = np.int64(z[i, 0]), np.int64(z[i, 1]) if two else 0
            for c in range(p):
                row = offsets[c] + codes[i, c]
                hist[row, 0] += 1
                hist[row, 1] += u
                if two:
                    hist[row, 2] += v
                if squares >= 0:
                    hist[row, squares] += (u * u) >> t.shift
                    if two:
                        hist[row, squares + 1] += (v * v) >> t.shift
        return
    for i in range(a, b):
        for c in range(p):
            _count(hist, offsets[c] + np.int64(codes[i, c]), z, classes, i, t)


@njit(cache=True, nogil=True, inline="always")
def _fill_one(hist, occupied, codes, c, z, classes, a, b, plain, squares, t):  # type: ignore[no-untyped-def]
    """Count the records a..b in the histogram of one column, and mark the codes that occur."""
    if plain:
        two = z.shape[1] == 2
        for i in range(a, b):
            code = np.int64(codes[i, c])
            occupied[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
            u = np.int64(z[i, 0])
            hist[code, 0] += 1
            hist[code, 1] += u
            if squares >= 0:
                hist[code, squares] += (u * u) >> t.shift
            if two:
                v = np.int64(z[i, 1])
                hist[code, 2] += v
                if squares >= 0:
                    hist[code, squares + 1] += (v * v) >> t.shift
        return
    for i in range(a, b):
        code = np.int64(codes[i, c])
        occupied[code >> 6] |= np.uint64(1) << np.uint64(code & 63)
        _count(hist, code, z, classes, i, t)


@njit(cache=True, nogil=True)
def bring_left(codes, words, z, classes, rows, a, b, column, goes_left):  # type: ignore[no-untyped-def]
    """Bring the records that go left to the front; returns where the right ones begin."""
    i, j = a, b - 1
    while True:
        while i <= j and goes_left[codes[i, column]]:
            i += 1
        while i <= j and not goes_left[codes[j, column]]:
            j -= 1
        if i >= j:
            return i
        for w in range(words.shape[1]):
            words[i, w], words[j, w] = words[j, w], words[i, w]
        for w in range(z.shape[1]):
            z[i, w], z[j, w] = z[j, w], z[i, w]
        for w in range(classes.shape[1]):
            classes[i, w], classes[j, w] = classes[j, w], classes[i, w]
        rows[i], rows[j] = rows[j], rows[i]
        i += 1
        j -= 1


@njit(cache=True, nogil=True)
def _left_is_larger(winner, total, t):  # type: ignore[no-untyped-def]
    """Whether a subset split should change sides: the smaller summed mean goes left."""
    nl, nr = float(winner[0]), float(total[0] - winner[0])
    apart = 0.0
    if t.r > 0:
        for j in range(t.r):
            apart += float(winner[1 + j]) * nr - float(total[1 + j] - winner[1 + j]) * nl
    elif t.weight.shape[0] > 0:  # classes only: the larger share of the first class goes left
        for c in range(t.starts[0], t.starts[1]):
            apart = float(total[c] - winner[c]) * nl - float(winner[c]) * nr
            if apart != 0.0:
                break
    return apart > 0.0


@njit(cache=True, nogil=True)
def expand(data, n_codes, ordered, offsets, t, nodes, max_depth, keep):  # type: ignore[no-untyped-def]
    """Grow the branch of node 0 over its rows; nodes of at most `keep` rows are left open."""
    p = n_codes.shape[0]
    first, n = nodes.start[0], nodes.end[0] - nodes.start[0]
    codes, z, classes = data.codes, data.z, data.classes
    size = nodes.stats.shape[1]
    widest = 1
    for c in range(p):
        widest = max(widest, n_codes[c] + 1)
    simple = t.weight.shape[0] == t.r and 0 < t.r <= 2  # one or two numeric responses
    plain = simple and t.gain == SSE
    big = max(256, 8 * offsets[p])  # from here on the histogram of all columns pays
    n_slots = 2
    rest = n
    while rest > big:
        rest //= 2
        n_slots += 1
    slots = np.zeros((n_slots, offsets[p] if n >= big else 1, size), np.int64)
    free = np.arange(n_slots)
    n_free = n_slots
    single = np.zeros((widest, size), np.int64)
    occupied = np.zeros(widest // 64 + 1, np.uint64)
    present = np.empty(widest, np.int64)
    left = np.empty(size, np.int64)
    right = np.empty(size, np.int64)
    winner = np.empty(size, np.int64)
    best_left = np.empty(size, np.int64)
    choice = np.zeros(3, np.int64)
    best_choice = np.zeros(3, np.int64)
    goes_left = np.zeros(widest, np.uint8)
    best_subset = np.zeros(widest, np.uint8)
    subset_codes = np.empty(1024, np.int64)
    n_subset = 0

    constant = np.zeros((nodes.start.shape[0], p), np.bool_)
    stack = np.empty((2 * n_slots + 64, 2), np.int64)
    n_nodes = 1
    stack[0, 0], stack[0, 1] = 0, -1
    if n >= big:
        n_free -= 1
        stack[0, 1] = free[n_free]
        _fill(
            slots[free[n_free]],
            codes,
            z,
            classes,
            first,
            first + n,
            p,
            offsets,
            simple,
            t.squares,
            t,
        )
    depth_of_stack = 1
    while depth_of_stack > 0:
        depth_of_stack -= 1
        node, slot = stack[depth_of_stack, 0], stack[depth_of_stack, 1]
        a, b = nodes.start[node], nodes.end[node]
        total = nodes.stats[node]
        best = 0.0
        column = LEAF
        if b - a <= keep:
            column = OPEN
        elif b - a >= 2 * t.min_leaf and nodes.depth[node] < max_depth:
            for c in range(p):
                if constant[node, c]:
                    continue
                m = 0
                if slot >= 0:
                    hist = slots[slot, offsets[c] : offsets[c + 1]]
                    for code in range(n_codes[c] + 1):
                        if hist[code, 0] > 0:
                            present[m] = code
                            m += 1
                else:
                    hist = single
                    _fill_one(single, occupied, codes, c, z, classes, a, b, simple, t.squares, t)
                    for w in range((n_codes[c] >> 6) + 1):
                        word = occupied[w]
                        while word != 0:
                            present[m] = (w << 6) + trailing_zeros(word)
                            m += 1
                            word &= word - np.uint64(1)
                        occupied[w] = 0
                constant[node, c] = m <= 1
                if m > 1:
                    if ordered[c]:
                        missing = -1
                        values = m
                        if present[m - 1] == n_codes[c]:
                            missing = n_codes[c]
                            values = m - 1
                        if plain and missing < 0:
                            gain = plain_numeric_split(
                                hist, present, values, total, best, t, choice, winner
                            )
                        else:
                            gain = numeric_split(
                                hist,
                                present,
                                values,
                                missing,
                                total,
                                best,
                                t,
                                left,
                                right,
                                choice,
                                winner,
                            )
                    else:
                        gain = subset_split(
                            hist, present, m, total, best, t, left, right, goes_left, winner
                        )
                    if gain > best:
                        best = gain
                        column = c
                        best_left[:] = winner
                        if ordered[c]:
                            best_choice[:] = choice
                        else:
                            flip = _left_is_larger(winner, total, t)
                            best_subset[: n_codes[c] + 1] = 0
                            for k in range(m):
                                best_subset[present[k]] = goes_left[present[k]] != flip
                            if flip:
                                for i in range(size):
                                    best_left[i] = total[i] - winner[i]
                if slot < 0:
                    for k in range(m):
                        for i in range(size):
                            single[present[k], i] = 0
        nodes.column[node] = column
        if column < 0:
            if slot >= 0:
                free[n_free] = slot
                n_free += 1
            continue
        if ordered[column]:
            nodes.choice[node] = best_choice
            for code in range(n_codes[column]):
                best_subset[code] = code <= best_choice[0]
            best_subset[n_codes[column]] = best_choice[2]
        else:
            nodes.subset_at[node] = n_subset
            for code in range(n_codes[column] + 1):
                if best_subset[code]:
                    if n_subset == subset_codes.shape[0]:
                        wider = np.empty(2 * n_subset, np.int64)
                        wider[:n_subset] = subset_codes
                        subset_codes = wider
                    subset_codes[n_subset] = code
                    n_subset += 1
            nodes.choice[node, 0] = n_subset - nodes.subset_at[node]
        middle = bring_left(codes, data.words, z, classes, data.rows, a, b, column, best_subset)
        small, large = n_nodes, n_nodes + 1
        nodes.left[node], nodes.right[node] = small, large
        nodes.start[small], nodes.end[small] = a, middle
        nodes.start[large], nodes.end[large] = middle, b
        nodes.stats[small] = best_left
        for i in range(size):
            nodes.stats[large, i] = total[i] - best_left[i]
        for child in range(n_nodes, n_nodes + 2):
            for c in range(p):  # what does not vary here cannot vary further down
                constant[child, c] = constant[node, c]
            nodes.parent[child] = node
            nodes.depth[child] = nodes.depth[node] + 1
        n_nodes += 2
        if middle - a > b - middle:
            small, large = large, small
        small_slot = -1
        if slot >= 0:
            if nodes.end[large] - nodes.start[large] >= big:
                n_free -= 1
                small_slot = free[n_free]
                _fill(
                    slots[small_slot],
                    codes,
                    z,
                    classes,
                    nodes.start[small],
                    nodes.end[small],
                    p,
                    offsets,
                    simple,
                    t.squares,
                    t,
                )
                for k in range(offsets[p]):
                    for i in range(size):
                        slots[slot, k, i] -= slots[small_slot, k, i]
                if nodes.end[small] - nodes.start[small] < big:
                    free[n_free] = small_slot
                    n_free += 1
                    small_slot = -1
            else:
                free[n_free] = slot
                n_free += 1
                slot = -1
        if depth_of_stack + 2 > stack.shape[0]:
            taller = np.empty((2 * stack.shape[0], 2), np.int64)
            taller[:depth_of_stack] = stack[:depth_of_stack]
            stack = taller
        stack[depth_of_stack, 0], stack[depth_of_stack, 1] = large, slot
        stack[depth_of_stack + 1, 0], stack[depth_of_stack + 1, 1] = small, small_slot
        depth_of_stack += 2
    return n_nodes, subset_codes[:n_subset]
