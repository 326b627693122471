"""Orders in which many categories are split: by every response's mean, and by their main axis.

Breiman et al. (1984, theorem 4.5): for one response the best subset of categories is a
cut in the order of their means.
"""

from __future__ import annotations

import numpy as np

from ..kernels import Floats, Ints
from ..kernels.compiled import inner
from .histogram import CodeSums
from .objective import Plain, Terms
from .search import Search

# Dense and sparse searches (`sparse.py`) take the same number of steps. If they stopped at a
# threshold, rounding could make them stop at different ones.
AXIS_STEPS = 30
# scores and spreads whose relative difference is smaller count as equal, so rounding decides nothing
EQUAL = 1e-9


@inner
def category_means(codes: CodeSums, t: Terms, means: Floats) -> int:
    """Write each category's weighted, centred mean of every response (classes as indicators).

    The means of one category are one row of `means`; return the length of a row.
    """
    hist, total, r = codes.hist, codes.total, t.layout.r
    n_channels = r
    for j in range(t.layout.orders):
        if t.layout.weight[r + j] > 0.0:
            n_channels += t.layout.starts[j + 1] - t.layout.starts[j]
    n = total[0]
    for k in range(codes.last - codes.first):
        row = np.int64(codes.rows[codes.first + k]) * t.layout.stride
        here = hist[row]
        for j in range(r):
            at = t.layout.missing_at[j]
            n_known = here - hist[row + at] if at > 0 else here
            known_all = n - total[at] if at > 0 else n
            difference = 0.0
            # A category without a known value stays at the node's mean and moves no order.
            if n_known > 0:
                mean = float(hist[row + t.layout.sums + j]) / n_known
                difference = mean - float(total[t.layout.sums + j]) / known_all
            # With the root here, squared distances have the weights that the gain has.
            means[k * n_channels + j] = difference * np.sqrt(t.layout.weight[j])
        at = k * n_channels + r
        for j in range(t.layout.orders):
            if t.layout.weight[r + j] > 0.0:
                for c in range(t.layout.starts[j], t.layout.starts[j + 1]):
                    difference = float(hist[row + c]) / here - float(total[c]) / n
                    means[at] = difference * np.sqrt(t.layout.weight[r + j])
                    at += 1
    return n_channels


@inner
def write_order(
    codes: CodeSums, sequence: int, n_channels: int, stride: int, search: Search, plain: Plain | None
) -> int:
    """Order the categories' histogram rows by the mean of one response, or by their main axis.

    Write them to `search.rows` and return their number. `plain` is None for similarity trees, which
    go by no axis.
    """
    key, order, m = search.key, search.order, codes.last - codes.first
    if sequence < n_channels:
        for k in range(m):
            key[k] = search.means[k * n_channels + sequence]
    elif plain is not None:
        _principal_axis(codes, n_channels, stride, search.means, key)
        # Scores on the axis are sums of many products: rounding must not order equal categories.
        level(key, m)
    sort_places(key, m, order)
    for k in range(m):
        search.rows[k] = codes.rows[codes.first + order[0, k]]
    return m


@inner
def level(key: Floats, m: int) -> None:
    """Round the scores in place, so that scores that differ by rounding alone become equal."""
    most = 0.0
    for k in range(m):
        most = max(most, abs(key[k]))
    if most > 0.0:
        for k in range(m):
            key[k] = np.rint(key[k] / (most * EQUAL))


@inner
def _principal_axis(codes: CodeSums, d: int, stride: int, means: Floats, key: Floats) -> None:
    """Write each category's score on the first principal axis of their scatter (power iteration).

    The scatter matrix, the axis and its next step are stored in `means` after the m rows of d means.
    """
    m = codes.last - codes.first
    scatter = means[m * d : (m + d) * d]
    axis = means[(m + d) * d : (m + d + 1) * d]
    moved = means[(m + d + 1) * d : (m + d + 2) * d]
    for i in range(d * d):
        scatter[i] = 0.0
    for k in range(m):
        n = codes.hist[codes.rows[codes.first + k] * stride]
        for a in range(d):
            for b in range(d):
                scatter[a * d + b] += n * means[k * d + a] * means[k * d + b]
    for a in range(d):
        moved[a] = scatter[a * d + a]
    # power steps from the widest response: no start is drawn, so the axis is the same everywhere
    first_axis(moved, d, axis)
    for _ in range(AXIS_STEPS):
        for a in range(d):
            moved[a] = 0.0
            for b in range(d):
                moved[a] += scatter[a * d + b] * axis[b]
        if not next_axis(moved, d, axis):
            break
    for k in range(m):
        score = 0.0
        for a in range(d):
            score += means[k * d + a] * axis[a]
        key[k] = score


@inner
def first_axis(spread: Floats, d: int, axis: Floats) -> None:
    """Write the start of a power iteration: the axis of the widest spread, the first in a tie."""
    widest = 0
    for a in range(d):
        axis[a] = 0.0
        if spread[a] > spread[widest] * (1.0 + EQUAL):
            widest = a
    axis[widest] = 1.0


@inner
def next_axis(moved: Floats, d: int, axis: Floats) -> bool:
    """Write the moved axis, scaled to length 1; return False if its length is 0."""
    norm = 0.0
    for a in range(d):
        norm += moved[a] ** 2
    if norm <= 0.0:
        return False
    norm = np.sqrt(norm)
    for a in range(d):
        axis[a] = moved[a] / norm
    return True


@inner
def sort_places(key: Floats, m: int, order: Ints) -> None:
    """Write the ascending order of the first m keys into `order[0]`; ties keep their order (merge sort)."""
    # Functions that count no references cannot make arrays, and numpy's argsort makes one.
    for i in range(m):
        order[0, i] = i
    width = 1
    while width < m:
        for low in range(0, m, 2 * width):
            middle, high = min(low + width, m), min(low + 2 * width, m)
            i, j = low, middle
            for k in range(low, high):
                if i < middle and (j >= high or key[order[0, i]] <= key[order[0, j]]):
                    order[1, k] = order[0, i]
                    i += 1
                else:
                    order[1, k] = order[0, j]
                    j += 1
        for k in range(m):
            order[0, k] = order[1, k]
        width *= 2
