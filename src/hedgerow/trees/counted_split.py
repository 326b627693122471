"""The split of one node whose histograms somebody else counted: a database, a cluster.

Whoever has some of the rows counts them (`count`); counts of parts add up, and the smaller child's
taken off its parent's are the larger one's. Nobody needs all rows to choose a split.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels.compiled import kernel
from .histogram import Fields, Tally, aligned, count_cells_by_code, count_rows, keep_counted
from .node_rows import Predictors, Rows
from .objective import Terms, keeps_silent
from .split import BEST, LEAF, Histograms, Space, choose
from .statistics import StatisticsLayout

Ints = npt.NDArray[np.int64]


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
    def of(cls, rows: Rows, bounds: Ints, layout: StatisticsLayout) -> Counted:
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
