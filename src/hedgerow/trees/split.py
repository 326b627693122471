"""Find the best admissible split of a node from the histograms of its columns.

A column's histogram has one statistics vector per code. It may be counted by
the in-memory loop, a database or a cluster. Candidates are scored
first and checked against the limits only if they beat the best so far. Ties, to a
relative 1e-9, keep the earlier column and the smaller threshold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import Ints, Ints32
from ..kernels.bits import trailing_zeros
from ..kernels.compiled import inner, kernel
from ..kernels.measures import number_terms
from .category_orders import category_means, write_order
from .histogram import CodeSums, Counter, Histograms, aligned, count_cells_by_code, count_rows, keep_counted
from .node_rows import NodeRows, Predictors
from .nodes import LEAF
from .objective import NOWHERE, TIE, Plain, Terms, admissible, gain_of, is_within_caps
from .search import BEST, EXHAUSTIVE, LEFT, RIGHT, Search
from .sparse import (
    SparseClasses,
    SparseSums,
    admits_listed,
    bring,
    gain_of_listed,
    list_classes,
    list_holders,
    list_sums,
    should_swap_listed,
    take_back,
    walk_sums,
    write_class_order,
)
from .statistics import StatisticsLayout


@inner
def choose(
    hist: Ints,
    present: Ints32,
    total: Ints,
    t: Terms,
    search: Search,
    sums: SparseSums | None,
    classes: SparseClasses | None,
    plain: Plain | None,
) -> int:
    """Update the best split of a node with the best splits of the columns in `search.scope`, whose rows are listed.

    `search.best` has the result of earlier columns, or the gain 0 and the column LEAF. `sums`
    (likeness), `classes` (listed ones) and `plain` (`Terms.plain`) are None if there are none: then
    numba leaves out the code that needs them.

    Every column offers one sequence of its codes or a few: ordered columns their own,
    with missing values on either side; categories all subsets in Gray code, or, when they
    are many, orders by every response's mean and by their main axis. If the layout
    is `alone`, they offer these orders without the axis, and each category against the rest.

    Return the number of steps taken for listed classes.
    """
    best, bounds, columns, scope = search.best, search.bounds, search.columns, search.scope
    pending = at = scope.first - scope.first + NOWHERE  # no constant: one type is compiled
    for c in range(scope.first, scope.last):
        begin, end = bounds[c], bounds[c + 1]
        m = end - begin
        if m < 2:
            continue
        ordered, base = columns[c].is_ordered, columns[c].base
        missing = base + columns[c].n_codes
        codes = CodeSums(hist, present, begin, end, base, c, ordered, total)
        if sums is not None:
            list_sums(codes, t.layout.stride, t.layout.sums, sums)
        if classes is not None:
            list_classes(codes, t.layout.stride, classes)
        is_gray = not ordered and m <= EXHAUSTIVE and not t.layout.alone
        in_order = not ordered and not is_gray
        n_channels = zero = begin - begin
        extra = NOWHERE + zero
        sequences = zero + 1
        rows, first, last = present, begin, end
        if ordered and present[end - 1] == missing:
            last = end - 1
            sequences = zero + 2
        elif in_order:
            n_channels = category_means(codes, t, search.means)
            sequences = n_channels + (n_channels > 1 or t.layout.alone)
            if classes is not None:
                sequences = n_channels + list_holders(codes, n_channels, t.layout.stride, classes)
            rows, first, last = search.rows, zero, m
        for sequence in range(sequences):
            # Missing values have the largest code. They are tried on the left first, where ties
            # leave them.
            extra = missing if sequence + 2 == sequences and ordered else NOWHERE + zero
            is_alone = t.layout.alone and not ordered and sequence == n_channels
            if is_alone:
                for k in range(m):
                    search.rows[k] = present[begin + k]
            elif in_order:
                if classes is None:
                    last = write_order(codes, sequence, n_channels, t.layout.stride, search, plain)
                else:
                    last = write_class_order(codes, sequence, n_channels, t, search, classes)
            walked = CodeSums(hist, rows, first, last, base, c, ordered, total)
            if sums is not None:
                gain, step = walk_sums(walked, extra, is_alone, best.gain, t, sums)
            if plain is not None:
                # Cells are counted in arrays, so the walk in registers cannot judge them.
                if plain.second > 0 and not scope.is_judging:
                    gain, step = _plain_walk(walked, extra, is_gray, best.gain, t.layout.stride, plain)
                else:
                    gain, step = _walk(walked, extra, is_gray, best.gain, t, search, classes)
            if step == 0:
                continue
            best.gain, best.column, best.missing_left = gain, c, extra != NOWHERE
            best.last_left = best.first_right = 0
            pending, at = c, step
            # the next sequence, or column, overwrites the buffers that this one is read from
            is_written_at_once = in_order
            if classes is not None:
                is_written_at_once = not ordered
            if is_written_at_once:
                for k in range(m):
                    search.goes_left[k] = ((at ^ (at >> 1)) >> k) & 1 if is_gray else 0
                if is_alone:
                    search.goes_left[step - 1] = 1
                elif in_order:
                    for k in range(step):
                        search.goes_left[search.order[0, k]] = 1
                _take(codes, t, search, classes)
                pending = NOWHERE
    if pending != NOWHERE:
        begin, end = bounds[pending], bounds[pending + 1]
        ordered, base = columns[pending].is_ordered, columns[pending].base
        missing = base + columns[pending].n_codes
        if ordered:
            best.last_left, best.first_right = present[begin + at - 1] - base, present[begin + at] - base
            for k in range(end - begin):
                search.goes_left[k] = k < at if present[begin + k] != missing else best.missing_left
        else:
            for k in range(end - begin):
                search.goes_left[k] = ((at ^ (at >> 1)) >> k) & 1
        _take(CodeSums(hist, present, begin, end, base, pending, ordered, total), t, search, classes)
    work = 0
    if classes is not None:
        work, classes.state.steps = classes.state.steps, 0
    return work


@inner
def _take(codes: CodeSums, t: Terms, search: Search, classes: SparseClasses | None) -> None:
    """Make the codes marked in `goes_left` the left side of the best split so far."""
    goes_left, chosen, total = search.goes_left, search.stats[BEST], codes.total
    size, m = total.shape[0], codes.last - codes.first
    # Walks report a step alone, so a better candidate copies nothing; the sums are added up here.
    for i in range(size):
        chosen[i] = 0
    for k in range(m):
        if goes_left[k]:
            for i in range(size):
                chosen[i] += codes.hist[codes.rows[codes.first + k] * t.layout.stride + i]
    # a subset and the rest are one split: which side is called left must not depend on the search
    flip = not codes.ordered and _should_swap_sides(chosen, total, t.layout)
    if classes is not None:
        flip = flip or (not codes.ordered and should_swap_listed(codes, goes_left, chosen[0], t, classes))
    if flip:
        for i in range(size):
            chosen[i] = total[i] - chosen[i]
    for k in range(m):
        search.subset[codes.rows[codes.first + k] - codes.base] = goes_left[k] != flip


@inner
def _should_swap_sides(left: Ints, total: Ints, layout: StatisticsLayout) -> bool:
    """Return whether a subset split should swap its sides, so that the smaller summed mean goes left."""
    nl, nr = float(left[0]), float(total[0] - left[0])
    difference = 0.0
    if layout.r > 0:
        for j in range(layout.sums, layout.sums + layout.r):
            difference += float(left[j]) * nr - float(total[j] - left[j]) * nl
    elif layout.starts.shape[0] > 1:  # classes only: the larger share of the first class goes left
        for c in range(layout.starts[0], layout.starts[1]):
            difference = float(total[c] - left[c]) * nl - float(left[c]) * nr
            if difference != 0.0:
                break
    return difference > 0.0


@inner
def _walk(
    codes: CodeSums, extra: int, is_gray: bool, best: float, t: Terms, search: Search, classes: SparseClasses | None
) -> tuple[float, int]:
    """Return the gain and step of the best split, moving histogram rows to the left one by one.

    Step k moves row k to the left, or, in Gray code, moves one row to the other side, so
    that all binary subsets occur. Row `extra` is always on the left unless it is NOWHERE.
    The step is 0 if no split beats `best`.
    """
    hist, rows, first, total = codes.hist, codes.rows, codes.first, codes.total
    left, right = search.stats[LEFT], search.stats[RIGHT]
    size = total.shape[0]
    m = codes.last - first
    at = 0
    for i in range(size):
        left[i] = hist[extra * t.layout.stride + i] if extra != NOWHERE else 0
    is_judging = search.scope.is_judging
    n_cells = search.cells.shape[1] if is_judging else 0
    for i in range(n_cells):
        search.sides[LEFT, i] = search.cells[extra, i] if extra != NOWHERE else 0
    if classes is not None and extra != NOWHERE:
        bring(extra - codes.base, 1, t, classes)
    n, walked = total[0], first
    # In Gray code a subset costs one row instead of all of its own. The last row stays on the
    # right, because a subset and the rest are one split.
    for step in range(1, (1 << (m - 1)) if is_gray else m):
        row, sign = first + step - 1, 1
        if is_gray:
            # in Gray code step and step - 1 differ in this bit alone
            bit = trailing_zeros(np.uint64(step))
            row, sign = first + bit, 1 - 2 * ((step >> (bit + 1)) & 1)
        place = rows[row] * t.layout.stride
        for i in range(size):
            left[i] += sign * hist[place + i]
        if classes is not None:
            bring(rows[row] - codes.base, sign, t, classes)
        walked = max(walked, row + 1)
        for i in range(n_cells):
            search.sides[LEFT, i] += sign * search.cells[rows[row], i]
        if left[t.layout.persons] < t.min_leaf:
            continue
        if total[t.layout.persons] - left[t.layout.persons] < t.min_leaf:
            if is_gray:
                continue
            break
        gain = gain_of(left, total, t)
        if classes is not None:
            gain += gain_of_listed(n, left[0], t, classes)
        # limits cost more to check than the gain: only a candidate that is better is checked
        if gain > best * (1.0 + TIE) and gain > 0.0:
            for i in range(size):
                right[i] = total[i] - left[i]
            for i in range(n_cells):
                search.sides[RIGHT, i] = search.sides[BEST, i] - search.sides[LEFT, i]
            if not (admissible(left, t) and admissible(right, t)):
                continue
            if classes is not None and not admits_listed(n, left[0], classes):
                continue
            if is_judging and not (is_within_caps(search.sides[LEFT], t) and is_within_caps(search.sides[RIGHT], t)):
                continue
            best = gain
            at = step
    if classes is not None:
        take_back(codes, walked, extra, classes)
    return best, at


@inner
def _plain_walk(codes: CodeSums, extra: int, is_gray: bool, best: float, stride: int, q: Plain) -> tuple[float, int]:
    """Return the result of `_walk` for one or two numeric responses, keeping all sums in registers."""
    hist, rows, first, total = codes.hist, codes.rows, codes.first, codes.total
    one, second, square = np.uint64(1), np.uint64(q.second), np.uint64(q.square)
    width = np.uint64(stride)
    end = square + second - one
    n, s, u, s2, u2 = total[0], total[1], total[second], total[square], total[end]
    nl = ls = lu = ls2 = lu2 = 0
    if extra != NOWHERE:
        place = np.uint64(extra * stride)
        nl, ls, lu = hist[place], hist[place + one], hist[place + second]
        ls2, lu2 = hist[place + square], hist[place + end]
    m = codes.last - first
    bar, at = best * (1.0 + TIE), 0
    for step in range(1, (1 << (m - 1)) if is_gray else m):
        row, back = first + step - 1, False
        if is_gray:
            bit = trailing_zeros(np.uint64(step))
            row, back = first + bit, (step >> (bit + 1)) & 1 > 0
        place = np.uint64(rows[np.uint64(row)]) * width
        if back:
            nl -= hist[place]
            ls -= hist[place + one]
            lu -= hist[place + second]
            if q.capped:
                ls2 -= hist[place + square]
                lu2 -= hist[place + end]
        else:
            nl += hist[place]
            ls += hist[place + one]
            lu += hist[place + second]
            if q.capped:
                ls2 += hist[place + square]
                lu2 += hist[place + end]
        if nl < q.min_leaf:
            continue
        if n - nl < q.min_leaf:
            if is_gray:
                continue
            break
        fl, fr = float(nl), float(n - nl)
        a, b = float(ls), float(s - ls)
        c, d = float(lu), float(u - lu)
        da, db = a * fr - b * fl, c * fr - d * fl
        top, bottom = q.weight_a * da * da + q.weight_b * db * db, float(n) * fl * fr
        # multiplied out: divisions are slow, and few candidates are better
        if not (top > bar * bottom and top > 0.0):
            continue
        if q.capped and (
            _exceeds(fl, a, float(ls2) * q.unit, q.cap_a)
            or _exceeds(fr, b, float(s2 - ls2) * q.unit, q.cap_a)
            or _exceeds(fl, c, float(lu2) * q.unit, q.cap_b)
            or _exceeds(fr, d, float(u2 - lu2) * q.unit, q.cap_b)
        ):
            continue
        best = top / bottom
        bar = best * (1.0 + TIE)
        at = step
    return best, at


@inner
def _exceeds(n: float, total: float, square: float, cap: float) -> bool:
    gain, public = number_terms(n, total, square)
    return gain > cap * public


@dataclass(frozen=True)
class Split:
    """A node's split: its column, the codes that go left, its gain and the left side's statistics.

    Parameters
    ----------
    column : int
    last_left, first_right : int
        For ordered columns: the codes on either side of the threshold.
    missing_left : bool
        For ordered columns: where missing values go.
    left_codes : tuple of int
        For categories: the codes that go left.
    gain : float
    left : int64 array
        Statistics of the left side.
    """

    column: int
    last_left: int
    first_right: int
    missing_left: bool
    left_codes: tuple[int, ...]
    gain: float
    left: Ints


@dataclass(frozen=True, eq=False)
class Counted:
    """The histograms of several nodes; histograms of separate parts of the rows can be added.

    Parameters
    ----------
    sums : int64 array of shape (nodes, codes, layout.size)
        Per node a statistics vector for every code, columns one after the other, each with its
        missing code last.
    cells : int64 array of shape (nodes, codes, cells)
        Counts of the judged columns' cells, in the same layout.
    """

    sums: Ints
    cells: Ints

    @classmethod
    def from_rows(cls, rows: NodeRows, bounds: Ints, layout: StatisticsLayout) -> Counted:
        """Return the histograms of rows that are stored node by node.

        Parameters
        ----------
        rows : NodeRows
        bounds : int64 array of shape (nodes + 1,)
            Where each node's rows begin, with the end of the last.
        layout : StatisticsLayout
        """
        places, n_cells = Histograms.from_predictors(rows.predictors, layout), int(layout.cells[-1])
        nodes, length = len(bounds) - 1, places.n_rows * layout.stride
        sums = aligned(nodes * length).reshape(nodes, length)
        cells = np.zeros((nodes, places.n_rows * n_cells), np.int64)
        at, listed = places.rows()
        _count(sums, cells, listed, bounds, Counter.from_rows(rows, layout, places))
        return cls(
            sums.reshape(nodes, places.n_rows, layout.stride)[:, at, : layout.size],
            cells.reshape(nodes, places.n_rows, n_cells)[:, at],
        )


@kernel
def _count(sums: Ints, cells: Ints, listed: Ints, bounds: Ints, counter: Counter) -> None:
    p = counter.columns.shape[0]
    for k in range(sums.shape[0]):
        a, b = bounds[k], bounds[k + 1]
        count_rows(sums[k], listed, 0, p, a, b, counter)
        if cells.shape[1] > 0:
            count_cells_by_code(cells[k], listed, 0, p, a, b, counter)


def best_split(
    sums: Ints, cells: Ints, total: Ints, predictors: Predictors, layout: StatisticsLayout, terms: Terms
) -> Split | None:
    """Return the split that the grower chooses at a node, or None if it does not split the node.

    Parameters
    ----------
    sums, cells : int64 arrays of shape (codes, ...)
        The node's own, as in `Counted`.
    total : int64 array of shape (layout.size,)
        The node's own statistics.
    predictors : Predictors
    layout : StatisticsLayout
        With every class counted; those that are `listed` would be ignored.
    terms : Terms
    """
    places = Histograms.from_predictors(predictors, layout)
    search = Search.from_histograms(places, layout)
    likeness = SparseSums.from_layout(len(search.subset), layout) if layout.alone else None
    rows, listed = places.rows()
    hist = np.zeros((places.n_rows, layout.stride), np.int64)
    hist[rows, : layout.size], search.cells[rows] = sums, cells
    # The codes of any one column together hold all of the node's records.
    search.sides[BEST] = cells[: listed[1]].sum(axis=0)
    if total[layout.persons] < 2 * terms.min_leaf:
        return None
    # The judged columns' cells matter only if the best split without them breaks a cap.
    for judging in range(2 if cells.shape[1] else 1):
        search.scope["is_judging"], search.best["gain"], search.best["column"] = judging, 0.0, LEAF
        _choose_of_all(hist.reshape(-1), rows.copy(), listed, total, terms, search, likeness)
        gain, column, last, first, missing = search.best.tolist()
        if column == LEAF:
            return None
        here = slice(listed[column], listed[column + 1])
        # Marks of codes that do not occur here may be left from other columns.
        goes_left = (search.subset[: here.stop - here.start] > 0) & (sums[here, 0] > 0)
        sides = cells[here][goes_left].sum(axis=0), cells[here][~goes_left].sum(axis=0)
        if not cells.shape[1] or all(_is_within_caps(side, terms) for side in sides):
            break
    codes = () if predictors.ordered[column] else np.flatnonzero(goes_left).tolist()
    return Split(column, last, first, missing, tuple(codes), gain, search.stats[BEST].copy())


@kernel
def _is_within_caps(counts: Ints, t: Terms) -> bool:
    return is_within_caps(counts, t)


@kernel
def _choose_of_all(
    hist: Ints, rows: Ints32, listed: Ints, total: Ints, t: Terms, search: Search, sums: SparseSums | None
) -> None:
    """Run `choose` over all columns of a node whose histograms are counted."""
    p = search.columns.shape[0]
    keep_counted(hist, t.layout.stride, rows, listed, 0, p, search.bounds)
    choose(hist, rows, total, t, search, sums, None, t.plain)
