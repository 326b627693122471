"""The split of one node whose histograms somebody else counted: a database, a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels.compiled import kernel
from .histogram import keep_counted
from .rows import Predictors
from .split import BEST, LEAF, Histograms, Space, choose
from .statistics import Terms

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
