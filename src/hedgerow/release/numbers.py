"""What a released table discloses, in numbers: sizes of its groups and how much they give away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..kernels.group import group_rows
from ..table import Column


@dataclass(frozen=True)
class Disclosure:
    """The relative squared deviation (RSD) of one sensitive column in the released groups.

    1 means that a group tells no more than the whole table, 0 that it tells all.

    Parameters
    ----------
    mean_over_groups : float
        Formula (10) of Li & Sarkar: every group counts once.
    mean_over_records : float
        Every record counts once.
    worst : float
        The smallest RSD of any group.
    """

    mean_over_groups: float
    mean_over_records: float
    worst: float

    def to_json(self) -> dict[str, float]:
        """Plain data."""
        return {"mean_over_groups": self.mean_over_groups, "mean_over_records": self.mean_over_records,
                "worst": self.worst}


def sizes(group: npt.NDArray[Any], n_groups: int) -> dict[str, Any]:
    """How large the groups are: extremes, quartiles and how many groups have each size class."""
    count = np.bincount(group, minlength=n_groups)
    low, first, middle, third, high = (float(q) for q in np.quantile(count, [0, 0.25, 0.5, 0.75, 1]))
    edges = [1, 2, 3, 5, 10, 20, 50, 100, 1000, 10_000]
    bins = {}
    for at, edge in enumerate(edges):
        last = edges[at + 1] - 1 if at + 1 < len(edges) else None
        inside = int(np.count_nonzero((count >= edge) & (count <= (last or np.inf))))
        if inside:
            label = f"{edge}" if last == edge else f"{edge}-{last}" if last else f"{edge} or more"
            bins[label] = inside
    return {"groups": int(n_groups), "smallest": int(low), "lower_quartile": first, "median": middle,
            "mean": float(count.mean()), "upper_quartile": third, "largest": int(high),
            "groups_by_size": bins}


def rsd(group: npt.NDArray[Any], n_groups: int, column: Column) -> npt.NDArray[np.float64]:
    """The RSD of one sensitive column in every group; 1 where the denominator is 0.

    For numbers the group's squared deviations from its own mean over those from
    the mean of all (formula 9 of Li & Sarkar); for categories the Brier score of
    guessing the group's shares over that of guessing the public shares.
    Missing values take no part.

    Parameters
    ----------
    group : unsigned integer array of shape (n,)
        Group of each record.
    n_groups : int
    column : Column
        The sensitive column.

    Returns
    -------
    float64 array of shape (n_groups,)
    """
    known = column.codes != column.n_values
    g, codes = (group, column.codes) if not column.has_missing else (group[known], column.codes[known])
    n = np.bincount(g, minlength=n_groups).astype(float)
    if column.is_number:
        values = np.asarray(column.values, float)
        counts = np.bincount(codes, minlength=len(values))
        spread = float(np.ptp(values)) if len(values) else 0.0
        values = (values - float(counts @ values) / max(len(codes), 1)) / (spread or 1.0)
        y = values[codes]
        total, square = np.bincount(g, y, n_groups), np.bincount(g, y * y, n_groups)
        inside, outside = np.maximum(square - total * total / np.maximum(n, 1), 0.0), square
    else:
        shares = np.bincount(codes, minlength=len(column.values)) / max(len(codes), 1)
        pair, n_pairs = group_rows([g.astype(np.uint32), codes])
        first = np.empty(n_pairs, np.int64)
        first[pair[::-1]] = np.arange(len(pair))[::-1]
        count = np.bincount(pair, minlength=n_pairs)
        at = g[first]
        p = count / n[at]
        inside = 1 - np.bincount(at, p * p, n_groups)
        outside = 1 - 2 * np.bincount(at, p * shares[codes[first]], n_groups) + float(shares @ shares)
        inside, outside = np.where(n > 0, inside, 0.0), np.where(n > 0, outside, 0.0)
    ratio = np.ones(n_groups)
    # below this the deviations are rounding: such a group says what the whole table says
    np.divide(inside, outside, out=ratio, where=outside > 1e-12)
    return np.clip(ratio, 0.0, None)


def disclosure(group: npt.NDArray[Any], n_groups: int, sensitive: Mapping[str, Column]) -> dict[str, Disclosure]:
    """The three summaries of `rsd` side by side, for every sensitive column."""
    weight = np.bincount(group, minlength=n_groups)
    told = {}
    for name, column in sensitive.items():
        ratio = rsd(group, n_groups, column)
        told[name] = Disclosure(float(ratio.mean()), float(np.average(ratio, weights=weight)), float(ratio.min()))
    return told


def over_responses(told: Mapping[str, Disclosure]) -> Disclosure | None:
    """The means over the sensitive columns, and the worst of any."""
    if not told:
        return None
    each = list(told.values())
    return Disclosure(float(np.mean([d.mean_over_groups for d in each])),
                      float(np.mean([d.mean_over_records for d in each])), min(d.worst for d in each))
