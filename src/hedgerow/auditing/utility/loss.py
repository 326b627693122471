"""Information loss of the released quasi-identifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, cast

import numpy as np

from ...json_types import Share
from ...measures import Floats
from ..figure import Figure
from ..released_values import ReleasedColumn
from ..table_pair import Pair, TablePair
from .distributions import places_inside


def certainty_penalty(pair: Pair) -> dict[str, float]:
    """Return the normalised certainty penalty of each column (ARX calls one minus it granularity).

    A cell's penalty is its width as a share of the domain: (hi - lo) / (max - min) for
    numbers, (categories - 1) / (domain - 1) for categories. It is averaged over the
    rows; 0 means nothing is lost, 1 everything. For means and medians of a group, the width is the
    range of the group's original values. A cell that does not cover its original value (noise,
    swapping) is as wide as it would have to be to cover it: a number up to the true one, a
    category 1. A row that was left out counts 1.

    References
    ----------
    Xu et al. (2006), Utility-based anonymization using local recoding.
    """
    out = {}
    for column in pair.released_quasi:
        if column.stands_in:
            lo, hi = _extents(pair, column)
            width = np.where(hi > lo, hi - lo, 0.0) / (column.span or 1.0)
            total = float(np.where(column.anything[column.codes], 1.0, width).sum())
        else:
            values, domain = column.original.values, None
            if column.is_number:
                domain = (float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0)
            widths = column.cover.widths(domain)
            total = float((widths * column.counts).sum()) + _missed(column, widths)
        out[column.name] = (total + pair.suppressed) / max(pair.original.n_rows, 1)
    return out


def _missed(column: ReleasedColumn, widths: Floats) -> float:
    """Return the total width that cells lack to cover the true value of their row; 0 if all cover it."""
    original = column.original
    false = ~column.covers(original.codes, column.codes)
    if not false.any():
        return 0.0
    cells = column.codes[false]
    needed = np.ones(len(cells))
    if column.is_number:
        y = original.numbers[false]
        reach = np.maximum(column.hi[cells], y) - np.minimum(column.lo[cells], y)
        # nothing short of every value covers a missing one
        needed = np.where(np.isfinite(reach), np.clip(reach / (column.span or 1.0), 0.0, 1.0), 1.0)
    return float((needed - widths[cells]).sum())


def _extents(pair: Pair, column: ReleasedColumn) -> tuple[Floats, Floats]:
    """Return for each row the lowest and highest of its class's true values and the number that replaces them."""
    y, of = column.original.numbers, pair.classes.labels.astype(np.intp)
    present = np.isfinite(y)
    lo, hi = np.full(pair.classes.n_groups, np.inf), np.full(pair.classes.n_groups, -np.inf)
    np.minimum.at(lo, of[present], y[present])
    np.maximum.at(hi, of[present], y[present])
    stands = np.where(column.anything, np.nan, column.lo)[column.codes]
    some = (hi >= lo)[of]
    return np.where(some, np.fmin(lo[of], stands), np.nan), np.where(some, np.fmax(hi[of], stands), np.nan)


def discernibility(pair: Pair) -> float:
    """Return the discernibility, in (0, 1]: the sum of squared class sizes, n per suppressed row, over n^2.

    Bayardo, Agrawal (2005), Data privacy through optimal k-anonymization.
    """
    n = pair.original.n_rows
    total = float((pair.classes.sizes.astype(np.float64) ** 2).sum()) + float(pair.suppressed) * n
    return total / float(n) ** 2


def entropy_loss(pair: Pair, column: ReleasedColumn) -> float:
    """Return the non-uniform entropy of a column: the bits lost as a share of the bits in the original.

    A row loses -log2(P(value) / P(cell)) of its -log2 P(value) bits, where P are the shares in the
    original column; both are summed over the rows. Numbers that replace their group's values count as
    the group's range. A cell that does not cover its value loses nothing, a row that was left
    out loses all its bits.

    Gionis, Tassa (2009), k-anonymization with minimal loss of information.
    """
    original = column.original
    counts = column.whole.counts().astype(np.float64)
    m = original.n_values
    if column.is_number:
        before = np.concatenate([[0.0], np.cumsum(counts[:m])])
        low, high = _extents(pair, column) if column.stands_in else (column.lo, column.hi)
        first, end = places_inside(np.asarray(original.values), low, high)
        mass = before[end] - before[first]
    else:
        mass = np.array([counts[members].sum() for members in column.members])
    if not column.stands_in:
        mass = mass[column.codes]
    mass = mass + np.where(column.missing, counts[m], 0.0)[column.codes]
    mass = np.where(column.anything[column.codes], counts.sum(), mass)
    # a cell that misses its value says nothing true, so no bits are counted for it
    inside = column.stands_in | column.covers(original.codes, column.codes)
    same_value = counts[original.codes]
    lost = np.log2(np.maximum(mass, same_value) / same_value)[inside].sum()
    bits = released_bits = -np.log2(same_value / counts.sum()).sum()
    if pair.suppressed:
        # rows that were left out lose all their bits
        present = counts[counts > 0]
        bits = -present @ np.log2(present / counts.sum())
        lost += bits - released_bits
    return float(lost / bits) if bits > 0 else 0.0


def changed_cells(pair: Pair, column: ReleasedColumn) -> tuple[float, float]:
    """Return the share of a column's cells that were changed, and the share that were suppressed.

    A row that was left out counts as both.
    """
    n, original, cells = max(pair.original.n_rows, 1), column.original, column.codes
    if column.is_number:
        y = original.numbers
        same = (column.lo[cells] == y) & (column.hi[cells] == y)
    else:
        only = np.array([m[0] if len(m) == 1 else -1 for m in column.members], np.int64)
        same = only[cells] == original.codes
    same &= ~column.missing[cells]
    # a missing value that is still missing was not changed
    same |= (original.codes == original.n_values) & column.empty[cells]
    same &= ~column.anything[cells]
    return 1 - float(same.sum()) / n, (float(column.anything[cells].sum()) + pair.suppressed) / n


class ColumnLoss(TypedDict):
    """Information lost of one quasi-identifier; ``changed`` and ``suppressed`` are shares of its cells."""

    ncp: Share | None
    entropy_loss: float | None
    changed: Share | None
    suppressed: Share | None


class Loss(TypedDict):
    """Information lost by the release; only average class sizes if rows are not paired.

    ``average_class_size`` is records over classes, ``c_avg`` the same over k (LeFevre et al. 2006,
    Mondrian; 1 is the best partition possible).
    """

    ncp: Share | None
    discernibility: Share | None
    average_class_size: float | None
    c_avg: float | None
    entropy_loss: float | None
    cells_changed: Share | None
    cells_suppressed: Share | None
    rows_suppressed: Share | None
    columns: Mapping[str, ColumnLoss]


def loss_summary(sides: TablePair, k: int | None = None) -> Loss:
    """Return every information loss of the release; if rows are not paired, only average class sizes."""
    size = sides.n_rows / sides.classes.n_groups if sides.is_paired or sides.risk_model == "classes" else None
    average = {"average_class_size": size, "c_avg": size / k if size is not None and k else None}
    losses = cast(Loss, dict.fromkeys(Loss.__annotations__) | average)
    unknown = cast(ColumnLoss, dict.fromkeys(ColumnLoss.__annotations__))
    if not isinstance(sides, Pair):
        return {**losses, "columns": {column.name: unknown for column in sides.released_quasi}}
    penalties, columns = certainty_penalty(sides), dict[str, ColumnLoss]()
    for column in sides.released_quasi:
        changed, suppressed = changed_cells(sides, column)
        ncp, entropy = penalties[column.name], entropy_loss(sides, column)
        columns[column.name] = {"ncp": ncp, "entropy_loss": entropy, "changed": changed, "suppressed": suppressed}
    by_column: list[Any] = [list(each.values()) for each in columns.values()]
    ncp, entropy, changed, suppressed = np.mean(by_column, axis=0).tolist()
    return {
        **losses,
        "ncp": ncp,
        "discernibility": discernibility(sides),
        "entropy_loss": entropy,
        "cells_changed": changed,
        "cells_suppressed": suppressed,
        "rows_suppressed": sides.suppressed / sides.original.n_rows,
        "columns": columns,
    }


FIGURES = (
    Figure(
        {"utility.loss": Loss | None}, lambda t: loss_summary(t.sides.plain, t.options["k"]), needs=("both tables",)
    ),
)
