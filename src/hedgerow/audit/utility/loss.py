"""Information loss of the released quasi-identifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...classes import FloatArray
from ..pairing import Pair
from ..released_values import Extent


def penalty(pair: Pair) -> dict[str, float]:
    """Normalised certainty penalty of each column (ARX calls one minus it granularity).

    Of each cell the width as a share of the domain: (hi - lo) / (max - min) for
    numbers, (categories - 1) / (domain - 1) for categories, averaged over the
    rows; 0 nothing lost, 1 everything. A column of numbers that stand for their
    group (means, medians) has no width of its own: there the true extent of the
    class counts. A cell that is not true of its row (noise, swapping) is as wide
    as it would have to be: a number up to the true one, a category 1.

    References
    ----------
    Xu et al. (2006), Utility-based anonymization using local recoding.
    """
    out = {}
    for extent in pair.extents:
        if extent.is_number and not extent.general:
            out[extent.name] = _true_width(pair, extent)
        else:
            widths = cell_widths(extent)
            total = float((widths * extent.counts).sum()) + _missed(extent, widths)
            out[extent.name] = total / max(pair.n_rows, 1)
    return out


def cell_widths(extent: Extent) -> FloatArray:
    """The width of each released cell as a share of the domain; shape (n_cells,)."""
    domain = extent.domain
    if extent.is_number:
        span = float(domain.values[-1] - domain.values[0]) if domain.n_values else 0.0
        width = (extent.hi - extent.lo) / span if span > 0 else np.zeros(extent.n_cells)
    else:
        sizes = np.array([len(m) for m in extent.members], np.float64)
        width = (sizes - 1) / (domain.n_values - 1) if domain.n_values > 1 else np.zeros(len(sizes))
    width = np.clip(np.nan_to_num(width), 0.0, 1.0)
    return np.where(extent.anything, 1.0 if domain.n_values > 1 else 0.0, width)


def _missed(extent: Extent, widths: FloatArray) -> float:
    """What the cells that are not true of their row lose beyond their width, summed."""
    domain = extent.domain
    false = ~extent.covers(domain.codes, extent.codes)
    if not false.any():
        return 0.0
    cells = extent.codes[false]
    needed = np.ones(len(cells))
    if extent.is_number:
        y = domain.numbers[false]
        span = float(domain.values[-1] - domain.values[0]) or 1.0
        reach = np.maximum(extent.hi[cells], y) - np.minimum(extent.lo[cells], y)
        needed = np.where(np.isfinite(reach), np.clip(reach / span, 0.0, 1.0), 1.0)
    return float((needed - widths[cells]).sum())


def _true_width(pair: Pair, extent: Extent) -> float:
    """Mean true extent of a numeric column over the classes, and to the number that stands
    for them; 0 where nothing changed."""
    domain = extent.domain
    y = domain.numbers
    span = float(domain.values[-1] - domain.values[0]) if domain.n_values else 0.0
    if span == 0 or np.array_equal(y, extent.lo[extent.codes], equal_nan=True):
        return 0.0
    labels, known = pair.classes.labels, np.isfinite(y)
    lo, hi = np.full(pair.classes.n_groups, np.inf), np.full(pair.classes.n_groups, -np.inf)
    np.minimum.at(lo, labels[known], y[known])
    np.maximum.at(hi, labels[known], y[known])
    stands = np.where(hi >= lo, extent.lo[extent.codes[pair.classes.first]], np.nan)
    lo, hi = np.fmin(lo, stands), np.fmax(hi, stands)
    width = np.where(hi >= lo, hi - lo, 0.0) / span
    return float((width * pair.classes.sizes).sum() / pair.n_rows)


def discernibility(pair: Pair) -> float:
    """Sum of the squared class sizes, a suppressed row counting n; over n^2, so in (0, 1].

    Bayardo, Agrawal (2005), Data privacy through optimal k-anonymization.
    """
    n = pair.n_rows + pair.suppressed
    total = float((pair.classes.sizes.astype(np.float64) ** 2).sum()) + float(pair.suppressed) * n
    return total / float(n) ** 2


def average_class_size(pair: Pair, k: int | None = None) -> float:
    """Records over classes, and over k when given (C_avg; 1 is the best partition possible).

    LeFevre et al. (2006), Mondrian.
    """
    return pair.n_rows / pair.classes.n_groups / (k or 1)


def entropy_loss(extent: Extent) -> float:
    """Non-uniform entropy: bits lost about a column as a share of those it held.

    Per row -log2(P(value) / P(cell)), P the shares in the original column, over
    -log2 P(value). Gionis, Tassa (2009), k-anonymization with minimal loss of
    information. A cell that does not cover the value counts nothing.
    """
    domain = extent.domain
    counts = domain.counts().astype(np.float64)
    m = domain.n_values
    if extent.is_number:
        before = np.concatenate([[0.0], np.cumsum(counts[:m])])
        lo = np.searchsorted(domain.values, extent.lo, "left")
        hi = np.searchsorted(domain.values, extent.hi, "right")
        known = np.isfinite(extent.lo)
        mass = np.where(known, before[np.where(known, hi, 0)] - before[np.where(known, lo, 0)], 0.0)
    else:
        mass = np.array([counts[members].sum() for members in extent.members])
    mass = mass + np.where(extent.missing | extent.anything, counts[m], 0.0)
    mass = np.where(extent.anything, counts.sum(), mass)
    inside = extent.covers(domain.codes, extent.codes)
    own = counts[domain.codes]
    lost = np.log2(np.maximum(mass[extent.codes], own) / own)[inside].sum()
    held = -np.log2(own / counts.sum()).sum()
    return float(lost / held) if held > 0 else 0.0


def cells(pair: Pair) -> dict[str, Any]:
    """Share of quasi-identifier cells that were changed at all, and that were suppressed."""
    changed, suppressed = {}, {}
    for extent in pair.extents:
        domain = extent.domain
        gone = domain.codes == domain.n_values
        if extent.is_number:
            y = domain.numbers
            lo, hi = extent.lo[extent.codes], extent.hi[extent.codes]
            kept = (lo == y) & (hi == y) & ~extent.missing[extent.codes]
        else:
            only = np.array([m[0] if len(m) == 1 else -1 for m in extent.members], np.int64)
            kept = (only[extent.codes] == domain.codes) & ~extent.missing[extent.codes]
        empty = np.array([label is None for label in extent.labels], np.bool_)
        kept |= gone & empty[extent.codes]
        kept &= ~extent.anything[extent.codes]
        changed[extent.name] = float(1 - kept.mean())
        suppressed[extent.name] = float(extent.anything[extent.codes].mean())
    return {"changed": changed, "suppressed": suppressed}


def loss_summary(pair: Pair, k: int | None = None) -> dict[str, Any]:
    """Every loss of the release."""
    columns, bits = penalty(pair), {e.name: entropy_loss(e) for e in pair.extents}
    edited = cells(pair)
    return {
        "ncp": float(np.mean(list(columns.values()))),
        "discernibility": discernibility(pair),
        "average_class_size": average_class_size(pair),
        "c_avg": average_class_size(pair, k) if k else None,
        "entropy_loss": float(np.mean(list(bits.values()))),
        "cells_changed": float(np.mean(list(edited["changed"].values()))),
        "cells_suppressed": float(np.mean(list(edited["suppressed"].values()))),
        "rows_suppressed": pair.suppressed / (pair.n_rows + pair.suppressed),
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
