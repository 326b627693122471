"""What a released table discloses, in numbers: sizes of its groups and how much they give away."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..guarantees import Classes


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
        return {
            "mean_over_groups": self.mean_over_groups,
            "mean_over_records": self.mean_over_records,
            "worst": self.worst,
        }


def sizes(count: npt.NDArray[np.int64]) -> dict[str, Any]:
    """How large the groups are: extremes, quartiles and how many groups have each size class."""
    low, first, middle, third, high = (
        float(q) for q in np.quantile(count, [0, 0.25, 0.5, 0.75, 1])
    )
    edges = [1, 2, 3, 5, 10, 20, 50, 100, 1000, 10_000]
    bins = {}
    for at, edge in enumerate(edges):
        last = edges[at + 1] - 1 if at + 1 < len(edges) else None
        inside = int(np.count_nonzero((count >= edge) & (count <= (last or np.inf))))
        if inside:
            label = f"{edge}" if last == edge else f"{edge}-{last}" if last else f"{edge} or more"
            bins[label] = inside
    return {
        "groups": len(count),
        "smallest": int(low),
        "lower_quartile": first,
        "median": middle,
        "mean": float(count.mean()),
        "upper_quartile": third,
        "largest": int(high),
        "groups_by_size": bins,
    }


def disclosure(classes: Classes) -> dict[str, Disclosure]:
    """The three summaries of the groups' RSD side by side, for every sensitive column."""
    told = {}
    for name in classes.sensitive:
        ratio = classes.rsd(name)
        told[name] = Disclosure(
            # exact sums: classes are numbered by first appearance, and rows may come in any order
            math.fsum(ratio) / len(ratio),
            math.fsum(ratio * classes.sizes) / float(classes.sizes.sum()),
            float(ratio.min()),
        )
    return told


def over_responses(told: Mapping[str, Disclosure]) -> Disclosure | None:
    """The means over the sensitive columns, and the worst of any."""
    if not told:
        return None
    each = list(told.values())
    return Disclosure(
        float(np.mean([d.mean_over_groups for d in each])),
        float(np.mean([d.mean_over_records for d in each])),
        min(d.worst for d in each),
    )
