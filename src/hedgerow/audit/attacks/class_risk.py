"""Everything about the classes of one table, and what its groups tell: original or release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...columns.column import Column
from ...measures import Classes, FloatArray, Groups, group, sizes
from ..table_pair import Sides
from .numeric import covariance_test
from .households import told as told_of_households
from .population import Population
from .sensitive import sensitive_summary, smallest_cell


def released_risk(
    sides: Sides, journalist: Population | None, threshold: float, size: int | None = None
) -> dict[str, Any]:
    """The release's classes, its suppressed cells matching anything for the wildcard k."""
    cells = [(e.codes, e.wild[e.codes]) for e in sides.released_quasi]
    sensitive = sides.released_sensitive
    return _risk(sides, sides.classes, cells, sides.told, sensitive, journalist, threshold, size)


def unprotected_risk(
    sides: Sides, journalist: Population | None, threshold: float, size: int | None = None
) -> dict[str, Any]:
    """The classes of the whole original."""
    cells, own = [(c.codes, c.codes == c.n_values) for c in sides.quasi], sides.classes
    return _risk(sides, own, cells, own, sides.sensitive, journalist, threshold, size)


def _risk(
    sides: Sides,
    groups: Groups,
    cells: Sequence[tuple[Any, Any]],
    told: Groups,
    sensitive: Sequence[Column],
    journalist: Population | None,
    threshold: float,
    size: int | None,
) -> dict[str, Any]:
    """Everything about the classes of one table, and what its groups tell.

    `size` is how many people the population has, where no weights and no table tell it.
    """
    made, hierarchies = Classes.of(told, sensitive), sides.schema.hierarchies
    wildcard = sizes.wildcard_k(groups, [c for c, _ in cells], [wild for _, wild in cells])
    persons = sides.persons
    people = None if persons is None or persons.unit is None else persons.people(groups)
    homes = None if persons is None else persons.held(groups).households
    found = groups.sizes if people is None else people
    behind = None if journalist is None else journalist.risk
    everybody = size if size is not None or journalist is None else journalist.total
    return {
        "classes": _sizes(groups)
        | {
            "people": None if people is None else int(people.min()),
            "households": None if homes is None else int(homes.min()),
            "wildcard_k": wildcard,
            "population": None if journalist is None else _behind(journalist),
        },
        "reidentification": sizes.attackers(groups.sizes, behind, threshold, people)
        | {
            "threshold": threshold,
            "household": told_of_households(
                sides, (1.0 / found if behind is None else behind)[groups.labels]
            ),
        },
        "uniqueness": None
        if everybody is None
        else sizes.population_uniques(found, float(everybody)).to_json(),
        "sensitive": {
            column.name: sensitive_summary(
                made.sensitive[column.name],
                sides.targets[column.name],
                hierarchies.get(column.name),
                smallest_cell(told, column, persons),
            )
            for column in sensitive
        },
        "covariance": _covariance(told, [c.numbers for c in sensitive if c.is_number]),
    }


def _behind(population: Population) -> dict[str, float]:
    """How many people of the population the classes stand for."""
    return {
        "smallest": float(population.sizes.min()),
        "average": float(population.sizes.mean()),
        "total": population.total,
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
    p = covariance_test(groups, y[known]) if known.any() else None
    if p is None:
        return None
    return {
        "responses": y.shape[1],
        "smallest": float(p.min()),
        "below_0.05": float((p < 0.05).mean()),
        "quantiles": {f"{q:.2f}": float(np.quantile(p, q)) for q in (0.25, 0.5, 0.75)},
    }
