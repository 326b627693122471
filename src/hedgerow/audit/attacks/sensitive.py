"""What the classes of a table give away about one sensitive column, in the audit's figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...columns.column import Column
from ...hierarchy import Hierarchy
from ...kernels.exact_sums import total
from ...measures import (
    FloatArray,
    Groups,
    IntArray,
    Persons,
    SensitiveCounts,
    class_measures,
    disclosure,
    group,
)
from ..histograms import BINS, scatter
from ..tolerances import Target
from .numeric import matching

CATEGORIES = 20
"""Values up to which those of a number are counted as categories."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def sensitive_summary(
    column: SensitiveCounts,
    target: Target,
    hierarchy: Hierarchy | None = None,
    smallest_cell: int | None = None,
) -> dict[str, Any]:
    """Every measure of one sensitive column.

    Parameters
    ----------
    column : SensitiveCounts
        Its values by class.
    target : Target
        How it is attacked.
    hierarchy : Hierarchy, optional
        For t-closeness with hierarchical distances.
    smallest_cell : int, optional
        What `smallest_cell` counted.
    """
    told, sizes = column.scores.worst, column.counts.sizes
    matched = None
    if column.is_number:
        matched = matching(column.counts, column.by_code, target.tolerances)
    diversity = diversity_summary(column, hierarchy)
    return {
        "kind": column.kind,
        "attacked_as": target.attacked_as,
        **diversity,
        **fitting_closeness(column.kind, target, diversity),
        "matching": matched,
        "rsd": total(disclosure.rsd(column)) / len(sizes),
        "disclosure": disclosure_summary(told, sizes, column.scores.by_score),
        "exposed": disclosure.exposed(column, sizes),
        "smallest_cell": smallest_cell,
        "scatter": scatter(sizes, told),
    }


def smallest_cell(groups: Groups, column: Column, persons: Persons | None) -> int | None:
    """Count the records, or people, of the smallest group by value that has any.

    A missing value is one. Counts of several groups, of several values, and a total less any of
    them, are sums of such cells, so none of those is smaller. None for a number or a date of more
    than 20 values, which are no categories.
    """
    if column.is_number and column.n_values > CATEGORIES:
        return None
    cells = group([groups.labels, column.codes])
    if persons is None or persons.unit is None:
        return int(cells.sizes.min())
    return int(replace(persons, homes=None).held(cells).different.min())


def fitting_closeness(kind: str, target: Target, found: Mapping[str, Any]) -> dict[str, Any]:
    """t-closeness by the distance that fits a column: which, and how much.

    Hierarchical where a hierarchy is given; ordered for numbers, dates and orders; equal for
    categories, and for numbers that are attacked as such.
    """
    if found["t_hierarchical"] is not None:
        distance = "hierarchical"
    elif kind == "ordinal" or target.is_number:
        distance = "ordered"
    else:
        distance = "equal"
    return {"t": found[f"t_{distance}"], "t_distance": distance}


def diversity_summary(
    column: SensitiveCounts, hierarchy: Hierarchy | None = None
) -> dict[str, Any]:
    """Diversity, closeness and likeness, each of the class that does worst."""
    counts = column.counts
    l = int(class_measures.distinct(counts).min())
    enhanced, holds = class_measures.enhanced_beta(counts)
    hierarchical = None
    if hierarchy is not None:
        names = [*map(str, column.values), "(missing)"][: counts.n_values]
        hierarchical = float(class_measures.hierarchical_distance(counts, names, hierarchy).max())
    return {
        "distinct_l": l,
        "entropy_l": float(class_measures.entropy_l(counts).min()),
        # at l = 1 the definition says nothing about a class: the sum is the whole of it
        "recursive_c": float(class_measures.recursive_c(counts, l).max()) if l >= 2 else None,
        "alpha": float(class_measures.largest_share(counts).max()),
        "t_equal": float(class_measures.equal_distance(counts).max()),
        "t_ordered": float(class_measures.ordered_distance(counts).max())
        if column.kind != "categorical"
        else None,
        "t_hierarchical": hierarchical,
        "basic_beta": float(class_measures.basic_beta(counts).max()),
        "enhanced_beta": enhanced,
        "enhanced_beta_holds": holds,
        "delta": float(class_measures.delta_disclosure(counts).max()),
        "delta_classes_lacking_a_value": class_measures.classes_lacking_values(counts),
    }


def twentieths(told: FloatArray, sizes: IntArray) -> list[float]:
    """The share of the records by a figure of their group, from 0 to 1, in twentieths."""
    place = np.clip(np.ceil(BINS * told - 1e-9).astype(int) - 1, 0, BINS - 1)
    made: list[float] = (np.bincount(place, sizes, BINS) / max(int(sizes.sum()), 1)).tolist()
    return made


def disclosure_summary(
    told: FloatArray, sizes: IntArray, by_score: Mapping[str, FloatArray]
) -> dict[str, Any]:
    """Disclosure over the classes, never one number alone.

    ``mean_over_groups`` counts every class once, ``mean_over_records`` weighs them by size,
    ``worst`` is what the most exposed class gives away, ``scores`` the same by every
    score that the column is judged by. ``shares`` are those of the records by what their class
    gives away, in twentieths.
    """
    quantiles = zip(QUANTILES, np.quantile(told, QUANTILES), strict=True)
    order = np.argsort(told, kind="stable")
    below = np.cumsum(sizes[order])
    middle = told[order[np.searchsorted(below, below[-1] / 2)]] if len(told) else 0.0
    return {
        **disclosure.Disclosed.of(told, sizes).to_json(),
        "median_over_records": float(middle),
        "shares": twentieths(told, sizes),
        "quantiles": {f"{q:.2f}": float(v) for q, v in quantiles},
        "scores": {name: float(each.max(initial=0.0)) for name, each in by_score.items()},
    }
