"""What the steward's page shows of single records: some before and after, and who fits a description."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns.column import Column
from ..columns.table import Table
from ..measures import Groups, IntArray, group
from ..measures.class_counts import Counts
from ..notation import moment, number, plain
from ..notebook import cell
from .released_values import ReleasedColumn
from .table_pair import Pair, evenly

RECORDS = 5
"""So many records are shown before and after."""
MOST = 20_000
"""So many different rows, before or after, a page can look people up in."""


@dataclass(frozen=True, eq=False, repr=False)
class Shown:
    """Records for the eyes of the steward; neither `Audit.to_dict` nor a recipient's page holds them.

    Parameters
    ----------
    names : list of str
        The columns of `before` and `after`.
    before, after : lists of lists of str
        The same records in the original and in the release.
    people : dict, optional
        Which original and released rows fit a description, as `lookup.js` reads it; None where
        values were altered or there are more than 20,000 different rows.
    """

    names: list[str]
    before: list[list[str]]
    after: list[list[str]]
    people: dict[str, Any] | None

    def __repr__(self) -> str:  # no person's value
        return f"Shown({len(self.before)} records)"

    @property
    def script(self) -> str:
        """`people` as JSON that may stand inside a page."""
        return json.dumps(self.people, separators=(",", ":"), allow_nan=False).replace(
            "<", "\\u003c"
        )


def shown(pair: Pair) -> Shown:
    """Records and descriptions of a paired release.

    Parameters
    ----------
    pair : Pair
    """
    roles = (*pair.schema.quasi, *pair.schema.sensitive)
    names = [n for n in pair.original.names if n in roles and n in pair.released.names]
    some = evenly(pair.canonical, RECORDS)
    return Shown(
        names,
        _texts(pair.original, names, pair.rows[some]),
        _texts(pair.released, names, pair.released_rows[some]),
        _people(pair) if pair.risk_model == "classes" else None,
    )


def _texts(table: Table, names: Sequence[str], rows: IntArray) -> list[list[str]]:
    found = [table.take(name, rows).to_pylist() for name in names]
    return [list(map(cell, row)) for row in zip(*found, strict=True)]


def _people(pair: Pair) -> dict[str, Any] | None:
    whole = pair.unchanged
    before, after = whole.classes, pair.classes
    if pair.groups is not None:  # alike by their cells, they may lie in several groups
        after = group([pair.classes.labels, pair.groups.labels], pair.n_rows)
    if max(len(before.sizes), len(after.sizes)) > MOST:
        return None
    sides = (
        (before, whole.value_groups, [c.codes for c in whole.quasi], whole.sensitive),
        (after, pair.value_groups, [c.codes for c in pair.released_quasi], pair.released_sensitive),
    )
    made: dict[str, Any] = {
        "columns": [_column(column) for column in pair.released_quasi],
        "sensitive": [_kind(column) for column in pair.sensitive],
    }
    for name, (groups, told, codes, sensitive) in zip(("before", "after"), sides, strict=True):
        made[name] = {
            "n": groups.sizes.tolist(),
            "keys": [column[groups.first].tolist() for column in codes],
            "told": [_known_values(column, told, groups) for column in sensitive],
        }
    return plain(made, digits=8)


def labels(column: Column) -> list[str]:
    """The values of a column as a page shows them."""
    if not column.is_number:
        return list(map(str, column.values))
    values = column.values.tolist()
    return [moment(v, column.unit) if column.unit else number(v) for v in values]


def _column(released: ReleasedColumn) -> dict[str, Any]:
    """A quasi-identifier: its values, and which of them each released cell may stand for."""
    own, m = released.whole, released.original.n_values
    return {
        "name": own.name,
        "numbers": own.is_number,  # cells are ranges, of dates as well
        "number": own.is_number and not own.unit,
        "labels": labels(own),
        "missing": bool(own.has_missing),
        "means": released.stands_in,
        "cells": _ranges(released, m) if own.is_number else _sets(released, m),
    }


def _ranges(released: ReleasedColumn, m: int) -> list[list[int]]:
    """First and last value of each cell, and whether it may be missing."""
    values = released.original.values
    known = np.isfinite(released.lo)
    lo = np.searchsorted(values, np.where(known, released.lo, np.inf), "left")
    hi = np.searchsorted(values, np.where(known, released.hi, -np.inf), "right") - 1
    free = released.anything | released.stands_in
    lo, hi = np.where(free, 0, lo), np.where(free, m - 1, hi)
    return np.stack([lo, hi, released.missing | free], axis=1).astype(int).tolist()


def _sets(released: ReleasedColumn, m: int) -> list[list[int] | None]:
    """The values of each cell, the last of all the missing one; None where any may be."""
    return [
        None if free else [*members.tolist(), *([m] if missing else [])]
        for members, free, missing in zip(
            released.members, released.anything, released.missing, strict=True
        )
    ]


def _kind(column: Column) -> dict[str, Any]:
    return {"name": column.name, "number": column.is_number}


def _known_values(column: Column, told: Groups, groups: Groups) -> list[Any]:
    """Of each group: how many values are known, their mean and mean square; or counts by value."""
    at = told.labels[groups.first].astype(np.int64)
    if not column.is_number:
        counts = Counts.from_codes(told, column.codes, column.n_values + 1)
        ends = zip(counts.starts[at].tolist(), counts.starts[at + 1].tolist(), strict=True)
        values, n = counts.values.tolist(), counts.counts.tolist()
        return [[values[a:b], n[a:b]] for a, b in ends]
    y = column.numbers
    known = np.isfinite(y)
    labels, n_groups = told.labels.astype(np.int64), len(told.sizes)

    def mean(of: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        total = np.bincount(labels[known], of[known], n_groups)
        return np.asarray(total / np.maximum(n, 1))

    n = np.bincount(labels[known], minlength=n_groups)
    centre = mean(y)
    spread = mean((y - centre[labels]) ** 2)
    return np.stack([n[at], centre[at], spread[at]], axis=1).tolist()
