"""The best guess of a reader who reconstructs what a randomized release was made from."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...backends.randomize import original_codes
from ...columns.column import Column
from ...measures import Counts, FloatArray, Groups, class_measures, group
from ...methods.response.request import DESCRIBED
from ...plan.recodings import Randomize
from ..pairing import Pair
from ..tolerances import Target
from .sensitive import twentieths


def reconstructed(pair: Pair, recoding: Randomize) -> dict[str, Any] | None:
    """How often the best guess per group is right, for a reader who knows its true counts.

    Randomized response publishes its chances so that counts can be reconstructed. A reader who does
    so knows the most frequent value of a group of people with the same quasi-identifiers (numbers
    in their published bins) and may guess it for all of them. No cap on a record limits that. The
    true counts are the most that any reconstruction can find.

    Returns
    -------
    dict, or None
        ``least`` records of a group that is looked at, ``groups`` and ``records`` of that size, and
        by sensitive column what a right guess ``means``, ``worst``, the share of people of the
        worst group about whom it is right, ``right``, that of all these records, and ``shares`` of
        the records by how often the guess is right in their group, in twentieths. None without
        such groups or sensitive columns.
    """
    randomized = {column.name: column for column in recoding.columns}
    codes = [
        original_codes(pair.original, randomized[column.name])[pair.rows]
        if column.name in randomized
        else column.codes
        for column in pair.quasi
    ]
    groups = group(codes, pair.n_rows)
    large = groups.sizes >= DESCRIBED
    if not large.any() or not pair.sensitive:
        return None
    sizes = groups.sizes[large]
    columns = {}
    for column in pair.sensitive:
        target = pair.targets[column.name]
        share = _right(groups, column, target)[large]
        columns[column.name] = {
            "means": target.headline.words,
            "worst": float(share.max()),
            "right": float(share @ sizes / sizes.sum()),
            "shares": twentieths(share, sizes),
        }
    return {
        "least": DESCRIBED,
        "groups": int(large.sum()),
        "records": int(sizes.sum()),
        "columns": columns,
    }


def _right(groups: Groups, column: Column, target: Target) -> FloatArray:
    """Per group the share of its people whose value the best guess names."""
    counts = Counts.of(groups, column.codes, column.n_values + column.has_missing)
    if not target.is_number:
        return class_measures.largest_share(counts)
    y = np.append(column.doubles, np.nan)[counts.values]
    known = np.isfinite(y)
    starts = np.searchsorted(counts.groups[known], np.arange(counts.n_groups + 1))
    hits = target.headline.best(starts, y[known], counts.counts[known])[0]
    return np.asarray(hits / groups.sizes, np.float64)
