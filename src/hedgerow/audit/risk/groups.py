"""Everything about the classes of one table, and what its groups tell: original or release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...classes import Classes, FloatArray, Groups, group, sizes
from ...table import Column
from ..sides import Sides
from . import numeric
from .sensitive import sensitive_summary


def released_risk(sides: Sides, journalist: FloatArray | None, threshold: float) -> dict[str, Any]:
    """The release's classes, its suppressed cells matching anything for the wildcard k."""
    cells = [(e.codes, e.wild[e.codes]) for e in sides.released_quasi]
    sensitive = sides.released_sensitive
    return _risk(sides, sides.classes, cells, sides.told, sensitive, journalist, threshold)


def unprotected_risk(
    sides: Sides, journalist: FloatArray | None, threshold: float
) -> dict[str, Any]:
    """The classes of the whole original."""
    cells, own = [(c.codes, c.codes == c.n_values) for c in sides.quasi], sides.classes
    return _risk(sides, own, cells, own, sides.sensitive, journalist, threshold)


def _risk(
    sides: Sides,
    groups: Groups,
    cells: Sequence[tuple[Any, Any]],
    told: Groups,
    sensitive: Sequence[Column],
    journalist: FloatArray | None,
    threshold: float,
) -> dict[str, Any]:
    """Everything about the classes of one table, and what its groups tell."""
    made, hierarchies = Classes.of(told, sensitive), sides.schema.hierarchies
    wildcard = sizes.wildcard_k(groups, [c for c, _ in cells], [wild for _, wild in cells])
    people = None if sides.persons is None else sides.people_in(groups)
    return {
        "classes": _sizes(groups)
        | {
            "people": None if people is None else int(people.min()),
            "wildcard_k": wildcard,
        },
        "reidentification": sizes.attackers(groups.sizes, journalist, threshold, people)
        | {"threshold": threshold},
        "sensitive": {
            name: sensitive_summary(column, sides.targets[name], hierarchies.get(name))
            for name, column in made.sensitive.items()
        },
        "covariance": _covariance(told, [c.numbers for c in sensitive if c.is_number]),
    }


def _sizes(groups: Groups) -> dict[str, Any]:
    """k, the number of classes and how their sizes are distributed."""
    told = sizes.summary(groups.sizes)
    return {
        "k": told.smallest,
        "classes": told.groups,
        "average_size": told.mean,
        "largest": told.largest,
        "quartiles": [told.lower_quartile, told.median, told.upper_quartile],
        "uniques": told.uniques,
        "unique_share": told.unique_share,
        "histogram": list(told.histogram),
    }


def _covariance(groups: Groups, columns: list[FloatArray]) -> dict[str, Any] | None:
    """The covariance test of all numeric responses together."""
    if not columns:
        return None
    y = np.stack(columns, axis=1)
    known = np.isfinite(y).all(axis=1)
    if not known.all():
        groups = group([groups.labels[known]])
    p = numeric.covariance_test(groups, y[known]) if known.any() else None
    if p is None:
        return None
    return {
        "responses": y.shape[1],
        "smallest": float(p.min()),
        "below_0.05": float((p < 0.05).mean()),
        "quantiles": {f"{q:.2f}": float(np.quantile(p, q)) for q in (0.25, 0.5, 0.75)},
    }
