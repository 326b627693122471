"""A randomized release held against its promise and its own probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from ...backends.randomize import original_codes
from ...columns.table import Table
from ...measures.guarantees import Check
from ...notation import percent
from ...plan import Randomize, Randomized
from .contingency import windows
from .risk import Risk
from .rr_matrix import to_t

_ALARM = 1e-12
"""How seldom a column that was drawn rightly is called odd on either side."""


def verify(
    plan: Randomize, asked: Risk, original: Table, released: Table, above: float | None
) -> list[Check]:
    """Checks of a release: the capped risk, values in the domain, shares kept.

    Parameters
    ----------
    plan : Randomize
    asked : Risk
        What was capped.
    original, released : Table
        Before and after, row by row.
    above : float or None
        The share of records that may stay above the cap, where that was asked for.
    """
    p = np.array([c.p for c in plan.columns])
    t = to_t(p, np.array([c.d for c in plan.columns]))
    views = asked.setting.views
    ratio = [risk / view.cap for risk, view in zip(asked.full(t), views, strict=True)]
    over = max(float(r.max()) for r in ratio)
    checks = [
        Check(
            f"disclosure risk over its cap ({plan.bound} bound)",
            1.0,
            over,
            over <= 1 or above is not None,
            f"{percent(above)} of the records stay above it, as asked for"
            if above is not None
            else "",
        )
    ]
    strangers, odd, n = [], [], original.n_rows
    drawn = None if released.drawn is None else released.drawn()
    for column in plan.columns:
        if drawn is None:
            kept, strange = _compared(column, original, released)
        else:
            pairs = drawn[column.name]
            kept, strange = int(np.trace(pairs)), bool(pairs[:, column.d].any())
        if strange:
            strangers.append(column.name)
        if likelihood_of_kept(kept, n, column.p) < _ALARM:
            odd.append(column.name)
    told = f"columns at fault: {', '.join(strangers)}"
    far = f"columns far from their p by the exact binomial distribution: {', '.join(odd)}"
    return [
        *checks,
        Check.none("values in the domain", len(strangers), told),
        Check.none("share of values kept", len(odd), far),
    ]


def _compared(column: Randomized, original: Table, released: Table) -> tuple[int, bool]:
    """How many rows kept their category, and whether any is released with none of the domain."""
    before, (lookup, codes) = original_codes(original, column), _released(released, column)
    kept, strange = 0, False
    for here in windows(len(before)):
        after = lookup[codes[here]]
        kept += int(np.count_nonzero(before[here] == after))
        strange = strange or bool(np.any(after == column.d))
    return kept, strange


def likelihood_of_kept(kept: int, n: int, p: float) -> float:
    """The chance that so few, or so many, of n values are kept with probability p: the smaller one.

    Exact, for where n(1 - p) is small the normal distribution calls right draws wrong.
    """
    return min(float(bdtr(kept, n, p)), float(bdtrc(kept - 1, n, p)))


def released_codes(table: Table, column: Randomized) -> NDArray[np.int64]:
    """The categories of released values; d where a value is not in the domain."""
    lookup, codes = _released(table, column)
    return lookup[codes]


def _released(table: Table, column: Randomized) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The category of each code of a released column, and its codes."""
    numbers = any(isinstance(c, float) for c in column.categories)
    coded = table.column(column.name, kind="numeric" if numbers else "categorical")
    place = {c: i for i, c in enumerate(column.categories) if c is not None}
    values = coded.values.tolist() if numbers else coded.values
    missing = column.d - 1 if column.categories[-1] is None else column.d
    found = [*(place.get(v, column.d) for v in values), missing]
    return np.array(found, dtype=np.int64), coded.codes
