"""The best admissible split of one node, from the histograms of its columns alone.

A column's histogram has one statistics vector per code. Who counted it does not
matter: the loop that moves rows, a database or a cluster. Candidates are scored
first and asked for admission only when they beat the best so far. Ties, to a
relative 1e-9, keep the earlier column and the smaller threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..kernels.bits import trailing_zeros
from ..kernels.compiled import inner, kernel
from ..kernels.measures import number_terms
from .category_orders import category_means
from .dispatch import (
    admits_beside,
    at_once,
    bring,
    by_room,
    gain_beside,
    left_is_larger,
    list_column,
    order_codes,
    orders_beside,
    take_back,
)
from .histogram import Fields, Tally, aligned, count_cells_by_code, count_rows, keep_counted
from .node_rows import NodeRows, Predictors
from .objective import NOWHERE, TIE, Terms, admissible, gain_of, keeps_silent
from .sparse import Alike, walk_alike
from .statistics import StatisticsLayout

Ints = npt.NDArray[np.int64]

EXHAUSTIVE = 10
"""Up to so many present categories, all binary subsets are tried."""
LEAF = -1
ALIGN = 8
"""A column's histogram begins at a multiple of so many codes."""
LEFT, RIGHT, BEST = range(3)
"""Rows of `Space.stats`."""


class Histograms(NamedTuple):
    """Where the histograms of the columns stand, one after the other.

    Row b + c of a histogram, which begins at (b + c) * stride, is the statistics
    vector of code c of the column whose base is b.
    """

    columns: Any
    """int64 array of shape (p, 3): codes without the missing one, ordered or not, base."""
    n_rows: int
    stride: int

    @classmethod
    def of(cls, predictors: Predictors, layout: Any) -> Histograms:
        """The place of every column's histogram."""
        width = -(-(predictors.n_codes + 1) // ALIGN) * ALIGN
        ends = np.cumsum(width)
        columns = np.stack([predictors.n_codes, predictors.ordered, ends - width], axis=1)
        stride = -(-layout.size // 4) * 4  # sums are added four at a time
        return cls(columns.astype(np.int64), int(ends[-1]) if len(ends) else 0, stride)

    def listed(self) -> tuple[Any, Any]:
        """All rows, column after column, and where each column's begin, with the end of the last."""
        sizes = self.columns[:, 0] + 1
        rows = [b + np.arange(n) for n, b in zip(sizes, self.columns[:, 2], strict=True)]
        return (
            np.concatenate([np.zeros(0), *rows]).astype(np.int32),
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        )


class Space(NamedTuple):
    """Where a search works and leaves what it found; one for each thread."""

    bounds: Any
    """Where each column's listed rows begin, with the end of the last."""
    best: Any
    """The best gain so far."""
    found: Any
    """Its column, last code left, first code right, whether missing values go left."""
    subset: Any
    """Which codes go left."""
    stats: Any
    """Statistics vectors: of a candidate's sides, and of the best split's left one."""
    goes_left: Any
    means: Any
    key: Any
    rows: Any
    order: Any
    judging: Any
    """1 while candidates are asked for their judged columns, whose cells are then counted."""
    cells: Any
    """Counts of the judged columns' cells by row of the histogram."""
    sides: Any
    """The same of a candidate's left and right side, and of the node."""
    beside: Any
    """`Alike` where likeness is asked for, `Listed` where classes are listed, else nothing."""

    @classmethod
    def of(cls, histograms: Histograms, layout: Any, listed: Any = ()) -> Space:
        """Room to search columns of these histograms."""
        n_codes, ordered = histograms.columns[:, 0], histograms.columns[:, 1]
        widest = int(n_codes.max(initial=0)) + 1
        many = int(n_codes[ordered == 0].max(initial=0)) + 1
        many = many if many > EXHAUSTIVE or layout.alone else 0
        channels = layout.r + sum(
            int(layout.starts[j + 1] - layout.starts[j])
            for j in range(layout.q if layout.orders < 0 else layout.orders)
            if layout.weight[layout.r + j] > 0
        )
        dense = many and channels > 1 and not layout.alone
        axis = channels * (channels + 2) if dense else 0
        n_cells = int(layout.cells[-1])
        return cls(
            np.zeros(len(n_codes) + 1, np.int64),
            np.zeros(1),
            np.zeros(4, np.int64),
            np.zeros(widest, np.uint8),
            np.zeros((3, layout.size), np.int64),
            np.zeros(widest, np.uint8),
            np.empty(many * channels + axis),
            np.empty(many),
            np.empty(many, np.int32),
            np.empty((2, many), np.int64),
            np.zeros(1, np.int64),
            np.zeros((histograms.n_rows, n_cells), np.int64),
            np.zeros((3, n_cells), np.int64),
            Alike.of(widest, layout) if layout.alone else listed,
        )


@inner
def choose(hist, stride, columns, present, bounds, first_column, last_column, total, t, space):  # type: ignore[no-untyped-def]
    """Improve the best split by those of some columns, whose rows that occur are listed.

    `space.best` and `space.found` hold what earlier columns gave, or 0 and LEAF.

    Every column offers one sequence of its codes or a few: ordered columns their own,
    with missing values on either side; categories all subsets in Gray code, or, when they
    are many, orders by every response's mean and by their main axis. Where the layout says
    so (`alone`), these orders without the axis, and each category against the rest.
    """
    best, found = space.best, space.found
    untold = at = first_column - first_column + NOWHERE  # no constant: one type is compiled
    for c in range(first_column, last_column):
        begin, end = bounds[c], bounds[c + 1]
        m = end - begin
        if m < 2:
            continue
        missing = columns[c, 2] + columns[c, 0]
        ordered = columns[c, 1] > 0
        base, beside = columns[c, 2], space.beside
        list_column(hist, stride, present, begin, end, base, c, total, t, beside)
        gray = not ordered and m <= EXHAUSTIVE and not t.alone
        in_order = not ordered and not gray
        n_channels = zero = begin - begin
        extra = NOWHERE + zero
        sequences = zero + 1
        rows, first, last = present, begin, end
        if ordered and present[end - 1] == missing:
            last = end - 1
            sequences = zero + 2
        elif in_order:
            n_channels = category_means(hist, stride, present, begin, m, total, t, space.means)
            sequences = n_channels + orders_beside(
                hist, stride, present, begin, m, base, n_channels, total, t, beside
            )
            rows, first, last = space.rows, zero, m
        for sequence in range(sequences):
            extra = missing if sequence + 2 == sequences and ordered else NOWHERE + zero
            alone = t.alone and not ordered and sequence == n_channels
            if alone:
                for k in range(m):
                    space.rows[k] = present[begin + k]
            elif in_order:
                last = order_codes(
                    hist, stride, present, begin, m, sequence, n_channels, total, t, space, beside
                )
            if _is_plain(space, t, beside):
                gain, step = _best_plain(
                    hist, stride, rows, first, last, extra, gray, total, best[0], t.plain, beside
                )
            else:
                gain, step = _best_of(
                    hist, stride, rows, first, last, extra, base, gray, alone, total, best[0], t,
                    space, beside,
                )  # fmt: skip
            if step == 0:
                continue
            best[0] = gain
            found[0], found[1], found[2], found[3] = c, 0, 0, extra != NOWHERE
            untold, at = c, step
            if in_order or (gray and at_once(beside)):
                # the next sequence, or column, will write over what this one is read by
                for k in range(m):
                    space.goes_left[k] = ((at ^ (at >> 1)) >> k) & 1 if gray else 0
                if alone:
                    space.goes_left[step - 1] = 1
                elif in_order:
                    for k in range(step):
                        space.goes_left[space.order[0, k]] = 1
                _take(hist, stride, present, begin, m, columns, c, total, t, space)
                untold = NOWHERE
    if untold == NOWHERE:
        return
    begin, m = bounds[untold], bounds[untold + 1] - bounds[untold]
    base, missing = columns[untold, 2], columns[untold, 2] + columns[untold, 0]
    if columns[untold, 1]:
        found[1], found[2] = present[begin + at - 1] - base, present[begin + at] - base
        for k in range(m):
            space.goes_left[k] = k < at if present[begin + k] != missing else found[3]
    else:
        for k in range(m):
            space.goes_left[k] = ((at ^ (at >> 1)) >> k) & 1
    _take(hist, stride, present, begin, m, columns, untold, total, t, space)


@inner
def _take(hist, stride, present, begin, m, columns, c, total, t, space):  # type: ignore[no-untyped-def]
    """Make the codes that `goes_left` names the left side of the best split so far."""
    goes_left, chosen = space.goes_left, space.stats[BEST]
    ordered, base = columns[c, 1] > 0, columns[c, 2]
    size = total.shape[0]
    for i in range(size):
        chosen[i] = 0
    for k in range(m):
        if goes_left[k]:
            for i in range(size):
                chosen[i] += hist[present[begin + k] * stride + i]
    flip = not ordered and (
        _left_is_larger(chosen, total, t)
        or left_is_larger(
            present, begin, m, base, goes_left, total[t.divisor], chosen[t.divisor], t, space.beside
        )
    )
    if flip:
        for i in range(size):
            chosen[i] = total[i] - chosen[i]
    for k in range(m):
        space.subset[present[begin + k] - base] = goes_left[k] != flip


@inner
def _left_is_larger(left, total, t):  # type: ignore[no-untyped-def]
    """Whether a subset split should change sides: the smaller summed mean goes left."""
    nl, nr = float(left[t.divisor]), float(total[t.divisor] - left[t.divisor])
    apart = 0.0
    if t.r > 0:
        for j in range(t.sums, t.sums + t.r):
            apart += float(left[j]) * nr - float(total[j] - left[j]) * nl
    elif t.weight.shape[0] > 0:  # classes only: the larger share of the first class goes left
        for c in range(t.starts[0], t.starts[1]):
            apart = float(total[c] - left[c]) * nl - float(left[c]) * nr
            if apart != 0.0:
                break
    return apart > 0.0


@inner
def _walk(  # type: ignore[no-untyped-def]
    hist, stride, rows, first, last, extra, base, gray, alone, total, best, t, space, beside
):
    """The best of the left sides that a sequence of rows of a histogram goes through.

    Step k brings row k to the left, or, in Gray code, moves one row to the other side, so
    that all binary subsets come by. Row `extra` is on the left all the time unless it is
    NOWHERE. Returns (gain, step); step 0 when nothing beats `best`.
    """
    left, right = space.stats[LEFT], space.stats[RIGHT]
    size = total.shape[0]
    m = last - first
    at = 0
    for i in range(size):
        left[i] = hist[extra * stride + i] if extra != NOWHERE else 0
    judging = space.judging[0] > 0
    n_cells = space.cells.shape[1] if judging else 0
    for i in range(n_cells):
        space.sides[LEFT, i] = space.cells[extra, i] if extra != NOWHERE else 0
    if extra != NOWHERE:
        bring(extra - base, 1, t, beside)
    n, walked = total[t.divisor], first
    for step in range(1, (1 << (m - 1)) if gray else m):
        row, sign = first + step - 1, 1
        if gray:
            bit = trailing_zeros(np.uint64(step))
            row, sign = first + bit, 1 - 2 * ((step >> (bit + 1)) & 1)
        place = rows[row] * stride
        for i in range(size):
            left[i] += sign * hist[place + i]
        bring(rows[row] - base, sign, t, beside)
        walked = max(walked, row + 1)
        for i in range(n_cells):
            space.sides[LEFT, i] += sign * space.cells[rows[row], i]
        if left[t.persons] < t.min_leaf:
            continue
        if total[t.persons] - left[t.persons] < t.min_leaf:
            if gray:
                continue
            break
        gain = gain_of(left, total, t) + gain_beside(n, left[t.divisor], t, beside)
        if gain > best * (1.0 + TIE) and gain > 0.0:
            for i in range(size):
                right[i] = total[i] - left[i]
            for i in range(n_cells):
                space.sides[RIGHT, i] = space.sides[BEST, i] - space.sides[LEFT, i]
            if (
                admissible(left, t)
                and admissible(right, t)
                and admits_beside(n, left[t.divisor], beside)
                and (not judging or keeps_silent(space.sides[LEFT], t))
                and (not judging or keeps_silent(space.sides[RIGHT], t))
            ):
                best = gain
                at = step
    take_back(rows, first, walked, extra, base, beside)
    return best, at


@inner
def _plain_walk(hist, stride, rows, first, last, extra, gray, total, best, q, beside):  # type: ignore[no-untyped-def]
    """`_walk` for one or two numeric responses: sums stay in registers."""
    one, second, square = np.uint64(1), np.uint64(q.second), np.uint64(q.square)
    width = np.uint64(stride)
    end = square + second - one
    n, s, u, s2, u2 = total[0], total[1], total[second], total[square], total[end]
    nl = ls = lu = ls2 = lu2 = 0
    if extra != NOWHERE:
        place = np.uint64(extra * stride)
        nl, ls, lu = hist[place], hist[place + one], hist[place + second]
        ls2, lu2 = hist[place + square], hist[place + end]
    m = last - first
    bar, at = best * (1.0 + TIE), 0
    for step in range(1, (1 << (m - 1)) if gray else m):
        row, back = first + step - 1, False
        if gray:
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
            if gray:
                continue
            break
        fl, fr = float(nl), float(n - nl)
        a, b = float(ls), float(s - ls)
        c, d = float(lu), float(u - lu)
        da, db = a * fr - b * fl, c * fr - d * fl
        top, bottom = q.weight_a * da * da + q.weight_b * db * db, float(n) * fl * fr
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
def _exceeds(n, total, square, cap):  # type: ignore[no-untyped-def]
    told, public = number_terms(n, total, square)
    return told > cap * public


@inner
def _of_sums(space, t, beside):  # type: ignore[no-untyped-def]
    return t.plain.second > 0 and space.judging[0] == 0


@inner
def _never(*given):  # type: ignore[no-untyped-def]
    return False


@inner
def _nowhere(*given):  # type: ignore[no-untyped-def]
    return 0.0, 0


_is_plain = by_room(_of_sums, Alike=_never, Listed=_never)
"""(space, t, room): whether one or two numeric responses are all that is asked about."""
_best_plain = by_room(_plain_walk, Alike=_nowhere, Listed=_nowhere)
"""`_plain_walk`, where it can be asked for."""
_best_of = by_room(_walk, Alike=walk_alike)
"""The best of the left sides that a sequence goes through, as `_walk`."""


@dataclass(frozen=True)
class Split:
    """What a node asks.

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
    """The histograms of some nodes; those of parts of their rows add up.

    Parameters
    ----------
    sums : int64 array of shape (nodes, codes, layout.size)
        Per node a statistics vector for every code, columns one after the other, each with its
        missing code last.
    cells : int64 array of shape (nodes, codes, cells)
        The same of the judged columns' cells.
    """

    sums: Ints
    cells: Ints

    @classmethod
    def of(cls, rows: NodeRows, bounds: Ints, layout: StatisticsLayout) -> Counted:
        """Count rows that lie node by node.

        Parameters
        ----------
        rows : Rows
        bounds : int64 array of shape (nodes + 1,)
            Where each node's rows begin, with the end of the last.
        layout : StatisticsLayout
        """
        places, n_cells = Histograms.of(rows.predictors, layout), int(layout.cells[-1])
        nodes, room = len(bounds) - 1, places.n_rows * places.stride
        sums = aligned(nodes * room).reshape(nodes, room)
        cells = np.zeros((nodes, places.n_rows * n_cells), np.int64)
        _, listed = places.listed()
        _count(
            sums,
            cells,
            places.stride,
            n_cells,
            places.columns,
            listed,
            rows.views,
            bounds,
            Fields.of(rows.format, layout),
            Tally.of(rows.format, layout),
        )
        at = codes_of(places)
        return cls(
            sums.reshape(nodes, places.n_rows, places.stride)[:, at, : layout.size],
            cells.reshape(nodes, places.n_rows, n_cells)[:, at],
        )


def codes_of(places: Histograms) -> Ints:
    """Where the codes of all columns stand in histograms, column after column."""
    return places.listed()[0].astype(np.int64)


@kernel
def _count(sums, cells, stride, n_cells, columns, listed, views, bounds, f, tally):  # type: ignore[no-untyped-def]
    p = columns.shape[0]
    for k in range(sums.shape[0]):
        a, b = bounds[k], bounds[k + 1]
        count_rows(sums[k], stride, columns, listed, 0, p, views, a, b, f, tally)
        if n_cells > 0:
            count_cells_by_code(cells[k], n_cells, columns, listed, 0, p, views, a, b, f)


def best_split(
    sums: Ints,
    cells: Ints,
    total: Ints,
    predictors: Predictors,
    layout: StatisticsLayout,
    terms: Terms,
) -> Split | None:
    """The split that the grower makes of a node; None where it leaves it alone.

    It asks for the judged columns' cells only where the best split without them breaks a cap.

    Parameters
    ----------
    sums, cells : int64 arrays of shape (codes, ...)
        The node's own, as in `Counted`.
    total, predictors, layout, terms
        As `choose_split` takes them.
    """
    ends = np.cumsum(predictors.n_codes + 1)[:-1]
    counted, judged = np.split(sums, ends), np.split(cells, ends)
    found = choose_split(counted, total, predictors, layout, terms)
    if found is None or not cells.shape[1]:
        return found
    own = judged[found.column]
    if predictors.ordered[found.column]:
        goes_left = np.arange(len(own)) <= found.last_left
        goes_left[-1] = found.missing_left
    else:
        goes_left = np.isin(np.arange(len(own)), found.left_codes)
    left, right = own[goes_left].sum(axis=0), own[~goes_left].sum(axis=0)
    if _silent(left, terms) and _silent(right, terms):
        return found
    return choose_split(counted, total, predictors, layout, terms, judged)


@kernel
def _silent(counts, t):  # type: ignore[no-untyped-def]
    return keeps_silent(counts, t)


def choose_split(
    counted: Sequence[Ints],
    total: Ints,
    predictors: Predictors,
    layout: Any,
    terms: Terms,
    cells: Sequence[Ints] | None = None,
) -> Split | None:
    """The split of a node whose histograms somebody has counted; None where there is none.

    Parameters
    ----------
    counted : sequence of int64 arrays of shape (n_codes + 1, layout.size)
        Every column's histogram: a statistics vector per code, the missing one last.
    total : int64 array of shape (layout.size,)
        The node's own statistics.
    predictors : Predictors
    layout : StatisticsLayout
        With every class counted; those that are `listed` would not be asked.
    terms : Terms
    cells : sequence of int64 arrays, optional
        Every column's counts of the judged columns' cells by code. Without them the
        split is the best as far as the histograms tell: where a side of it breaks a cap
        on a judged column (`keeps_silent`), count the cells and ask again.
    """
    places = Histograms.of(predictors, layout)
    space = Space.of(places, layout)
    hist = np.zeros((places.n_rows, places.stride), np.int64)
    for (n_codes, _, base), own in zip(places.columns, counted, strict=True):
        hist[base : base + n_codes + 1, : layout.size] = own
    if cells is not None:
        space.judging[0], space.sides[BEST] = 1, np.sum(cells[0], axis=0)
        for (n_codes, _, base), own in zip(places.columns, cells, strict=True):
            space.cells[base : base + n_codes + 1] = own
    flat = hist.reshape(-1)
    rows, listed = places.listed()
    space.best[0], space.found[0] = 0.0, LEAF
    if total[terms.persons] >= 2 * terms.min_leaf:
        _choose_of_all(flat, places.stride, places.columns, rows, listed, total, terms, space)
    column, last, first, missing = space.found.tolist()
    if column == LEAF:
        return None
    categorical = not predictors.ordered[column]
    occurs = counted[column][:, 0] > 0
    codes = np.flatnonzero(space.subset[: len(occurs)] * occurs) if categorical else ()
    return Split(
        column,
        last,
        first,
        bool(missing),
        tuple(int(c) for c in codes),
        float(space.best[0]),
        space.stats[BEST].copy(),
    )


@kernel
def _choose_of_all(hist, stride, columns, rows, listed, total, t, space):  # type: ignore[no-untyped-def]
    """`choose` among all columns of a node that somebody else counted."""
    p = columns.shape[0]
    space.bounds[0] = 0
    keep_counted(hist, stride, rows, listed, 0, p, space.bounds)
    choose(hist, stride, columns, rows, space.bounds, 0, p, total, t, space)
