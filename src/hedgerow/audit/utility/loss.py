"""Information loss of the released quasi-identifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...measures import FloatArray
from ..released_values import ReleasedColumn
from ..table_pair import Pair, TablePair


def certainty_penalty(pair: Pair) -> dict[str, float]:
    """Return the normalised certainty penalty of each column (ARX calls one minus it granularity).

    Of each cell the width as a share of the domain: (hi - lo) / (max - min) for
    numbers, (categories - 1) / (domain - 1) for categories, averaged over the
    rows; 0 nothing lost, 1 everything. Numbers that stand for their group (means,
    medians) have no width of their own: there the true extent of the class counts.
    A cell that is not true of its row (noise, swapping) is as wide as it would have
    to be: a number up to the true one, a category 1. Of a row that was left out
    everything is lost.

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
            widths = cell_widths(column)
            total = float((widths * column.counts).sum()) + _missed(column, widths)
        out[column.name] = (total + pair.suppressed) / max(pair.original.n_rows, 1)
    return out


def cell_widths(column: ReleasedColumn) -> FloatArray:
    """Return the width of each released cell as a share of the domain; shape (n_cells,)."""
    values = column.original.values
    if not column.is_number:
        return column.cover.widths()
    return column.cover.widths((float(values[0]), float(values[-1])) if len(values) else (0.0, 0.0))


def _missed(column: ReleasedColumn, widths: FloatArray) -> float:
    """Return what the cells that are not true of their row lose beyond their width, summed."""
    original = column.original
    false = ~column.covers(original.codes, column.codes)
    if not false.any():
        return 0.0
    cells = column.codes[false]
    needed = np.ones(len(cells))
    if column.is_number:
        y = original.numbers[false]
        reach = np.maximum(column.hi[cells], y) - np.minimum(column.lo[cells], y)
        needed = np.where(np.isfinite(reach), np.clip(reach / (column.span or 1.0), 0.0, 1.0), 1.0)
    return float((needed - widths[cells]).sum())


def _extents(pair: Pair, column: ReleasedColumn) -> tuple[FloatArray, FloatArray]:
    """Return per row the true extent of its class, and of the number that stands for it."""
    y, of = column.original.numbers, pair.classes.labels.astype(np.intp)
    known = np.isfinite(y)
    lo, hi = np.full(pair.classes.n_groups, np.inf), np.full(pair.classes.n_groups, -np.inf)
    np.minimum.at(lo, of[known], y[known])
    np.maximum.at(hi, of[known], y[known])
    stands = np.where(column.anything, np.nan, column.lo)[column.codes]
    some = (hi >= lo)[of]
    return np.where(some, np.fmin(lo[of], stands), np.nan), np.where(
        some, np.fmax(hi[of], stands), np.nan
    )


def discernibility(pair: Pair) -> float:
    """Return the sum of the squared class sizes, a suppressed row counting n; over n^2, so in (0, 1].

    Bayardo, Agrawal (2005), Data privacy through optimal k-anonymization.
    """
    n = pair.original.n_rows
    total = float((pair.classes.sizes.astype(np.float64) ** 2).sum()) + float(pair.suppressed) * n
    return total / float(n) ** 2


def average_class_size(sides: TablePair, k: int | None = None) -> float:
    """Return records over classes, and over k when given (C_avg; 1 is the best partition possible).

    LeFevre et al. (2006), Mondrian.
    """
    return sides.n_rows / sides.classes.n_groups / (k or 1)


def entropy_loss(pair: Pair, column: ReleasedColumn) -> float:
    """Return the non-uniform entropy: bits lost about a column as a share of those it held.

    Per row -log2(P(value) / P(cell)), P the shares in the original column, over
    -log2 P(value). Gionis, Tassa (2009), k-anonymization with minimal loss of
    information. Numbers that stand for their group count as its true extent; another
    cell that does not cover the value counts nothing, a row that was left out all it held.
    """
    original = column.original
    counts = column.whole.counts().astype(np.float64)
    m = original.n_values
    if column.is_number:
        before = np.concatenate([[0.0], np.cumsum(counts[:m])])
        low, high = _extents(pair, column) if column.stands_in else (column.lo, column.hi)
        known = np.isfinite(low)
        first = np.searchsorted(original.values, np.where(known, low, 0.0), "left")
        last = np.searchsorted(original.values, np.where(known, high, 0.0), "right")
        mass = np.where(known, before[last] - before[first], 0.0)
    else:
        mass = np.array([counts[members].sum() for members in column.members])
    if not column.stands_in:
        mass = mass[column.codes]
    mass = mass + np.where(column.missing, counts[m], 0.0)[column.codes]
    mass = np.where(column.anything[column.codes], counts.sum(), mass)
    inside = column.stands_in | column.covers(original.codes, column.codes)
    own = counts[original.codes]
    lost = np.log2(np.maximum(mass, own) / own)[inside].sum()
    held = told = -np.log2(own / counts.sum()).sum()
    if pair.suppressed:
        there = counts[counts > 0]
        held = -there @ np.log2(there / counts.sum())
        lost += held - told
    return float(lost / held) if held > 0 else 0.0


def changed_cells(pair: Pair) -> dict[str, Any]:
    """Return the share of quasi-identifier cells that were changed at all, and that were suppressed.

    A row that was left out counts as both.
    """
    n = max(pair.original.n_rows, 1)
    changed, suppressed = {}, {}
    for column in pair.released_quasi:
        original = column.original
        gone = original.codes == original.n_values
        if column.is_number:
            y = original.numbers
            lo, hi = column.lo[column.codes], column.hi[column.codes]
            kept = (lo == y) & (hi == y) & ~column.missing[column.codes]
        else:
            only = np.array([m[0] if len(m) == 1 else -1 for m in column.members], np.int64)
            kept = (only[column.codes] == original.codes) & ~column.missing[column.codes]
        empty = np.array([label is None for label in column.labels], np.bool_)
        kept |= gone & empty[column.codes]
        kept &= ~column.anything[column.codes]
        hidden = float(column.anything[column.codes].sum())
        changed[column.name] = 1 - float(kept.sum()) / n
        suppressed[column.name] = (hidden + pair.suppressed) / n
    return {"changed": changed, "suppressed": suppressed}


def loss_summary(pair: Pair, k: int | None = None) -> dict[str, Any]:
    """Return every loss of the release."""
    columns = certainty_penalty(pair)
    bits = {e.name: entropy_loss(pair, e) for e in pair.released_quasi}
    edited = changed_cells(pair)
    return {
        "ncp": float(np.mean(list(columns.values()))),
        "discernibility": discernibility(pair),
        "average_class_size": average_class_size(pair),
        "c_avg": average_class_size(pair, k) if k else None,
        "entropy_loss": float(np.mean(list(bits.values()))),
        "cells_changed": float(np.mean(list(edited["changed"].values()))),
        "cells_suppressed": float(np.mean(list(edited["suppressed"].values()))),
        "rows_suppressed": pair.suppressed / pair.original.n_rows,
        "columns": {
            name: {
                "ncp": columns[name],
                "entropy_loss": bits[name],
                "changed": edited["changed"][name],
                "suppressed": edited["suppressed"][name],
            }
            for name in columns
        },
    }


def loss_unpaired(sides: TablePair, k: int | None = None) -> dict[str, Any]:
    """Return `loss_summary` where no cell can be held against its own: sizes of groups, where some are."""
    size = average_class_size(sides) if sides.risk_model == "classes" else None
    nothing = dict.fromkeys(("ncp", "entropy_loss", "changed", "suppressed"))
    return {
        "ncp": None,
        "discernibility": None,
        "average_class_size": size,
        "c_avg": size / k if size and k else None,
        "entropy_loss": None,
        "cells_changed": None,
        "cells_suppressed": None,
        "rows_suppressed": None,
        "columns": {column.name: nothing for column in sides.released_quasi},
    }
