"""Small histograms and scatters for pictures: never one point a person above 1,000."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..measures import FloatArray, IntArray
from ..notation import moment, number
from .released_values import ReleasedColumn
from .table_pair import TablePair
from .utility.distributions import value_shares

BINS = 20
TOP = 12
POINTS = 1000
_WHOLE = 2.0**53


def histograms(pair: TablePair) -> dict[str, dict[str, Any]]:
    """Shares before and after of every quasi-identifier, in few bins."""
    return {e.name: histogram(e) for e in pair.released_quasi}


def histogram(column: ReleasedColumn) -> dict[str, Any]:
    """Shares before and after of a column, in few bins or by its most frequent categories."""
    return _number_bins(column) if column.is_number else _category_bins(column)


def _number_bins(column: ReleasedColumn) -> dict[str, Any]:
    values, before, after = value_shares(column)
    if not len(values):
        return {"kind": "numbers", "labels": [], "before": [], "after": []}
    edges, labels = _bins(column, values)
    place = np.clip(np.searchsorted(edges, values, "right") - 1, 0, len(labels) - 1)
    return {
        "kind": "numbers",
        "labels": labels,
        "before": np.bincount(place, before, len(labels)).tolist(),
        "after": np.bincount(place, after, len(labels)).tolist(),
    }


def _bins(column: ReleasedColumn, values: FloatArray) -> tuple[FloatArray, list[str]]:
    """Where bins begin, and their names; whole numbers and days have bins of whole ones."""
    unit, own = column.original.unit, column.whole.values
    first, last = float(values[0]), float(values[-1])
    if not np.isfinite(last - first):  # no double says how far apart they are
        return values[:1], [f"{first:.6g} to {last:.6g}"]
    steps = max(-first, last) < _WHOLE  # beyond it a double and its next are more than 1 apart
    if unit != "us" and steps and (own == np.floor(own)).all():
        first, last = np.floor(first), np.ceil(last)
        wide = max(-(-(last - first + 1) // BINS), 1.0)
        edges = np.arange(first, last + 1, wide)
        ends = edges if wide == 1 or unit else edges + wide - 1
    else:
        edges = np.linspace(first, last, min(BINS, max(len(values) - 1, 1)) + 1)[:-1]
        ends = edges
    names = [moment(e, unit) if unit else number(float(f"{e:.6g}")) for e in (*edges, *ends)]
    pairs = zip(names[: len(edges)], names[len(edges) :], strict=True)
    return edges, [a if a == b else f"{a} to {b}" for a, b in pairs]


def _category_bins(column: ReleasedColumn) -> dict[str, Any]:
    original = column.whole
    before = original.counts() / max(len(original.codes), 1)
    after = column.counts @ column.shares / max(len(column.codes), 1)
    names = [*original.values, "(missing)"]
    used = [i for i in range(len(names)) if before[i] > 0 or after[i] > 1e-12]
    if len(used) > TOP:
        top = sorted(sorted(used, key=lambda i: (-before[i], i))[: TOP - 1])
        rest = [i for i in used if i not in top]
        return {
            "kind": "categories",
            "labels": [*(names[i] for i in top), f"({len(rest)} others)"],
            "before": [*(float(before[i]) for i in top), float(before[rest].sum())],
            "after": [*(float(after[i]) for i in top), float(after[rest].sum())],
        }
    return {
        "kind": "categories",
        "labels": [names[i] for i in used],
        "before": [float(before[i]) for i in used],
        "after": [float(after[i]) for i in used],
    }


def scatter(sizes: IntArray, disclosure: FloatArray) -> dict[str, Any]:
    """Class size against disclosure: points up to 1,000 classes, counts in bins beyond."""
    if len(sizes) <= POINTS:
        order = np.lexsort((disclosure, sizes))
        return {"sizes": sizes[order].tolist(), "disclosure": disclosure[order].round(6).tolist()}
    top = int(np.ceil(np.log2(float(sizes.max()) + 1)))
    x_edges = np.unique(
        np.concatenate(
            [[float(sizes.min())], np.geomspace(max(float(sizes.min()), 1.0), 2.0**top, 25)]
        )
    )
    y_edges = np.linspace(0, 1, 21)
    table, _, _ = np.histogram2d(sizes, disclosure, [x_edges, y_edges])
    return {
        "size_edges": x_edges.tolist(),
        "disclosure_edges": y_edges.tolist(),
        "classes": table.astype(int).tolist(),
    }
