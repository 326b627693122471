"""Measure each quasi-identifier's part of the disclosure, by making the release again without it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..columns.column import Column
from ..errors import Cancelled, HedgerowError
from ..methods.base import Method
from ..notation import plain
from ..progress import Progress, telling
from ..schema import Schema
from .frontier import Prepared, Trial

# a coarsened number has at most so many ranges between its open ends
STEPS = 6
# shares of the records between which the ranges lie: those beyond are told as open ends
_ENDS = (0.05, 0.95)


def shares(ready: Prepared, method: Method, progress: Progress | None = None) -> dict[str, Any]:
    """Repeat a release without each quasi-identifier, and with each number coarsened, to compare disclosure.

    The share of a column is 1 - E' / E, where E is the share of the sensitive columns' loss that the
    method's groups explain, and E' that of a release by the same method and parameters without
    the column. Columns with the same information hide each other: then none of them has a large share.
    The shares do not depend on the order of the rows.

    Parameters
    ----------
    ready : Prepared
    method : Method
        Unfitted.
    progress : callable, optional

    Returns
    -------
    dict
        ``explained``: the share of the public loss that the groups explain, averaged over the ``sensitive``
        columns: R squared for numbers, its counterpart by the Brier score for categories. None if the
        method makes no groups of equal cells, or makes random draws. ``columns``: for each quasi-identifier,
        largest share first, what the groups explain in a release without it (``explained``; None if no
        such release is possible), by how much that is less (``share``; negative if it is more) and the
        certainty that the other columns keep (``utility``); for numbers the first, last and step of round
        cut points that coarsen it (``grid``), and the same figures of a release that cuts it only there
        (``coarse_explained``, ``coarse_share``).

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(1000, seed=1)
    >>> schema = hr.Schema(quasi=["age", "sex"], sensitive=["income"])
    >>> [each["column"] for each in shares(Prepared.from_people(people, schema), hr.MART(k=10))["columns"]]
    ['age', 'sex']
    """
    report, roles = telling(progress), ready.roles
    result: dict[str, Any] = {"explained": None, "sensitive": roles.sensitive, "columns": []}
    if method.risk_model != "classes" or method.draws or not roles.sensitive:
        return plain(result)

    def explained(schema: Schema) -> tuple[float | None, float | None]:
        trial = Trial(ready.rows, schema, "certainty", "worst", None, 0)
        try:
            figures = trial.figures(method.copy(), report)
        except Cancelled:
            raise
        except HedgerowError:  # no release without it, or none with these cut points
            return None, None
        return figures["explained"], figures["utility"]

    whole, _ = explained(roles)
    result["explained"] = whole
    if not whole or len(roles.quasi) < 2:
        return plain(result)
    for i, name in enumerate(roles.quasi):
        report(f"without {name}", i / len(roles.quasi))
        remaining, utility = explained(_without(roles, name))
        grid = coarse = None
        if "grid" in method.supported_fields and name not in roles.grid:
            grid = coarser(ready.rows.declared_column(roles, name))
        if grid is not None:
            coarse, _ = explained(roles.replace(grid={**roles.grid, name: grid}))
        result["columns"].append(
            {
                "column": name,
                "explained": remaining,
                "share": _lost_share(remaining, whole),
                "utility": utility,
                "grid": grid,
                "coarse_explained": coarse,
                "coarse_share": _lost_share(coarse, whole),
            }
        )
    result["columns"].sort(key=lambda each: (-(each["share"] or 0.0), each["column"]))
    return plain(result)


def _lost_share(remaining: float | None, whole: float) -> float | None:
    return None if remaining is None else 1 - remaining / whole


def _without(schema: Schema, name: str) -> Schema:
    """Return the schema without one column, so that the release omits it."""
    tables = ("kinds", "categories", "hierarchies", "grid")
    tables_left = {part: {n: v for n, v in getattr(schema, part).items() if n != name} for part in tables}
    return schema.replace(quasi=[n for n in schema.quasi if n != name], **tables_left)


def coarser(column: Column) -> tuple[float, float, float] | None:
    """Return round cut points that split most values into at most six ranges; None if there are few values.

    Examples
    --------
    >>> from hedgerow.io.read import read
    >>> coarser(read({"age": list(range(18, 91))}).column("age"))
    (40, 80, 20)
    """
    if column.kind != "numeric":
        return None
    numbers = column.numbers
    finite = np.sort(numbers[np.isfinite(numbers)])
    if not len(finite):
        return None
    low, high = (float(finite[round(share * (len(finite) - 1))]) for share in _ENDS)
    if high <= low:
        return None
    wide = (high - low) / STEPS
    ten = 10.0 ** math.floor(math.log10(wide))
    # rounding must not skip a step that fits exactly
    step = next(factor * ten for factor in (1, 2, 5, 10) if factor * ten >= wide * (1 - 1e-9))
    first, last = math.ceil(low / step) * step, math.floor(high / step) * step
    points = round((last - first) / step) + 1
    if points < 2 or points >= len(np.unique(finite)):
        return None
    if all(value.is_integer() for value in (first, last, step)):
        return int(first), int(last), int(step)
    digits = max(0, -math.floor(math.log10(step)))
    return round(first, digits), round(last, digits), round(step, digits)
