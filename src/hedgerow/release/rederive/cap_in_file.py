"""Check plainly, from a released file and its plan, that a cap holds in every combination that the file shows."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from ...backends.base import sensitive_column
from ...columns.table import Table
from ...kernels import Ints
from ...measures import Classes, group
from ...measures.guarantees import Check, column_guarantees, promised_k
from ...plan import GuardedColumn, Plan
from .guard_recipe import _bins


def cap_in_file(plan: Plan, released: Table) -> list[Check]:
    """Check the promises about sensitive columns in all combinations of one or two quasi-identifiers of a file.

    A combination counts if at least k rows have it. Of a number with many values it is of bins, which the plan knows.

    Parameters
    ----------
    plan : Plan
        Its guard caps the file.
    released : Table
        Nothing else is needed: neither the original nor a key.
    """
    assert plan.guard is not None
    k = promised_k(plan.promises) or plan.guard.people
    sensitive = [sensitive_column(column, released) for column in plan.columns if column.role == "sensitive"]
    bins = [cells_in_bins(column, released) for column in plan.guard.columns if column.role == "quasi"]
    promises = column_guarantees(plan.promises)
    reached: list[list[tuple[float, str]]] = [[] for _ in promises]
    broken, counted = [0] * len(promises), 0
    for some in [*combinations(bins, 1), *combinations(bins, 2)]:
        classes = Classes.from_groups(group(some), sensitive)
        large = classes.sizes >= k
        counted += int(large.sum())
        for i, promise in enumerate(promises if large.any() else ()):
            for name in promise.columns or classes.sensitive:
                figures = promise.reached(classes.sensitive[name])[large]
                reached[i].append((float(figures.min() if promise.side == "at least" else figures.max()), name))
                broken[i] += int(np.count_nonzero(~promise.holds_for(classes.sensitive[name])[large]))
    checks = []
    for promise, of_columns, n_broken in zip(promises, reached, broken, strict=True):
        worst = min if promise.side == "at least" else max
        figure, name = worst(of_columns, key=lambda one: one[0], default=(promise.limit, ""))
        words = f"in {name!r}, of {counted:,} combinations" if of_columns else "no combination has k rows"
        if n_broken:
            words = f"{n_broken:,} of {counted:,} combinations of quasi-identifiers {promise.broken_words}"
        checks.append(Check(f"{promise.name} (file)", promise.limit, figure, not n_broken, words))
    return checks


def cells_in_bins(column: GuardedColumn, released: Table) -> Ints:
    """Return the bin of each cell of a quasi-identifier: more than 60 numbers lie in that of their run, by its cuts."""
    n, bins = column.n_values, _bins(column)
    read = released.like(column)
    if len(column.begins) and len(read.values) <= 60:
        return np.asarray(read.codes, np.int64)
    if column.kind in ("numeric", "date"):
        codes = np.digitize(np.asarray(read.values, np.float64), np.asarray(column.cuts))
    else:
        place = {value: code for code, value in enumerate(column.values[:n])}
        codes = np.array([place.get(value, n) for value in read.values], np.int64)
    # what the plan never releases is as if it were missing
    of_code = np.append(bins[:n], bins.max(initial=0) + 1)
    return np.asarray(of_code[np.append(np.minimum(codes, n), n)][read.codes], np.int64)
