"""Measure each quasi-identifier's part of the disclosure, by making the release again without it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ..columns.column import Column
from ..errors import Cancelled, HedgerowError
from ..notation import plain
from ..progress import Progress, telling
from ..schema import Schema
from .frontier import Prepared, Trial

# a coarsened number has at most so many ranges between its open ends
STEPS = 6
# shares of the records between which the ranges lie: those beyond are told as open ends
_ENDS = (0.05, 0.95)


@dataclass(frozen=True)
class Carried:
    """The part of a release's disclosure that is due to one quasi-identifier.

    Parameters
    ----------
    column : str
    explained : float or None
        The share of the public loss that the groups explain in a release without this column; None if
        no such release is possible.
    share : float or None
        The relative fall of `explained` when the column is left out; negative if it rises.
    utility : float or None
        The certainty that the cells of the other columns keep in the release without this column.
    grid : tuple, optional
        First, last and step of round cut points that coarsen the column; only for numbers.
    coarse_explained, coarse_share : float, optional
        `explained` and `share` for a release that keeps the column but cuts it only at these points.
    """

    column: str
    explained: float | None = None
    share: float | None = None
    utility: float | None = None
    grid: tuple[float, float, float] | None = None
    coarse_explained: float | None = None
    coarse_share: float | None = None


@dataclass(frozen=True)
class Shares:
    """The disclosure of a release by its groups, and the part that is due to each quasi-identifier.

    Parameters
    ----------
    explained : float or None
        The share of the public loss that the groups explain, averaged over the sensitive columns: R squared
        for numbers, its counterpart by the Brier score for categories. None if the method makes no groups
        of equal cells, or makes random draws.
    sensitive : tuple of str
    columns : tuple of Carried
        One entry per quasi-identifier, largest share first.
    """

    explained: float | None
    sensitive: tuple[str, ...]
    columns: tuple[Carried, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the shares as a plain dict."""
        return plain(asdict(self))


def shares(ready: Prepared, method: Any, progress: Progress | None = None) -> Shares:
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

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(1000, seed=1)
    >>> schema = hr.Schema(quasi=["age", "sex"], sensitive=["income"])
    >>> [each.column for each in shares(Prepared.of(people, schema), hr.MART(k=10)).columns]
    ['age', 'sex']
    """
    report, roles = telling(progress), ready.roles
    sensitive = tuple(roles.sensitive)
    if method.risk_model != "classes" or method.draws or not roles.sensitive:
        return Shares(None, sensitive)

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
    if not whole or len(roles.quasi) < 2:
        return Shares(whole, sensitive)
    columns = []
    for i, name in enumerate(roles.quasi):
        report(f"without {name}", i / len(roles.quasi))
        remaining, utility = explained(_without(roles, name))
        one = Carried(name, remaining, _lost_share(remaining, whole), utility)
        grid = None
        if "grid" in method.supported_fields and name not in roles.grid:
            grid = coarser(ready.rows.declared_column(roles, name))
        if grid is not None:
            coarse, _ = explained(roles.replace(grid={**roles.grid, name: grid}))
            one = replace(one, grid=grid, coarse_explained=coarse, coarse_share=_lost_share(coarse, whole))
        columns.append(one)
    columns.sort(key=lambda each: (-(each.share or 0.0), each.column))
    return Shares(whole, sensitive, tuple(columns))


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
