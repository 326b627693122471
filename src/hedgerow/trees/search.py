"""The state of a search for a split: its buffers, and the best split so far."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels import Bytes, Floats, Ints, Ints32, Records
from .histogram import Histograms
from .statistics import StatisticsLayout

# Up to this many present categories, all binary subsets are tried: at most 511. Every further one would double them.
EXHAUSTIVE = 10
# rows of `Search.stats` and `Search.sides`
LEFT, RIGHT, BEST = range(3)
# the first column to search, the end of the last, and whether candidates must keep the caps on judged columns
# (`ScoredColumn`), whose cells are then counted
SCOPE = np.dtype([("first", np.int64), ("last", np.int64), ("is_judging", np.bool_)], align=True)
# the best split so far: its gain and column; of an ordered column the last code left, the first code right, and
# whether missing values go left
SPLIT = np.dtype(
    [
        ("gain", np.float64), ("column", np.int64), ("last_left", np.int64), ("first_right", np.int64),
        ("missing_left", np.bool_),
    ],
    align=True,
)  # fmt: skip


class Search(NamedTuple):
    """The buffers and the result of a search for a split; each thread has its own.

    Parameters
    ----------
    columns
        See `Histograms.columns`.
    bounds
        Offset of each column's listed rows, with the end of the last.
    scope : SCOPE record
        At first all columns.
    best : SPLIT record
    subset
        For every code, whether it goes left.
    stats
        Statistics vectors: those of a candidate's two sides, and of the best split's left
        side.
    goes_left
        For every code that occurs, whether it goes left.
    cells
        Counts of the judged columns' cells by row of the histogram.
    sides
        Counts of the judged columns' cells for a candidate's left and right side, and for the node.
    """

    columns: Records
    bounds: Ints
    scope: Any
    best: Any
    subset: Bytes
    stats: Ints
    goes_left: Bytes
    means: Floats
    key: Floats
    rows: Ints32
    order: Ints
    cells: Ints
    sides: Ints

    @classmethod
    def from_histograms(cls, histograms: Histograms, layout: StatisticsLayout) -> Search:
        """Return buffers for searching the columns of these histograms."""
        n_codes, ordered = histograms.columns["n_codes"], histograms.columns["is_ordered"]
        widest = int(n_codes.max(initial=0)) + 1
        many = int(n_codes[~ordered].max(initial=0)) + 1
        many = many if many > EXHAUSTIVE or layout.alone else 0
        channels = layout.r + sum(
            int(layout.starts[j + 1] - layout.starts[j])
            for j in range(layout.orders)
            if layout.weight[layout.r + j] > 0
        )
        has_axis = many and channels > 1 and not layout.alone
        axis = channels * (channels + 2) if has_axis else 0
        n_cells = int(layout.cells[-1])
        return cls(
            columns=histograms.columns,
            bounds=np.zeros(len(n_codes) + 1, np.int64),
            scope=np.array([(0, len(n_codes), False)], SCOPE)[0],
            best=np.zeros(1, SPLIT)[0],
            subset=np.zeros(widest, np.uint8),
            stats=np.zeros((3, layout.size), np.int64),
            goes_left=np.zeros(widest, np.uint8),
            means=np.empty(many * channels + axis),
            key=np.empty(many),
            rows=np.empty(many, np.int32),
            order=np.empty((2, many), np.int64),
            cells=np.zeros((histograms.n_rows, n_cells), np.int64),
            sides=np.zeros((3, n_cells), np.int64),
        )
