"""Randomized response of a table: keyed draws, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.column import Column, smallest
from ..columns.table import Table
from ..kernels.siphash import draw
from ..key import Key
from ..plan.fields import plain
from ..plan.recodings import Randomize, Randomized
from .base import Transformed
from .release_order import ReleasedCodes
from .row_ids import Rows

_WINDOW = 1 << 20
PURPOSE = "column "
"""The purpose of a column's words, before its name."""


def execute(plan: Randomize, table: Table, key: Key | None) -> Transformed:
    """Randomize under a key, by default one that is made for this once and forgotten."""
    return Transformed(*randomize(table, plan, key or Key.new()))


def original_codes(table: Table, column: Randomized) -> NDArray[np.unsignedinteger]:
    """Categories of the plan per row; d where the plan does not know the value."""
    found = table.like(column)
    lookup = category_of_code(found, column)
    codes = table.allocate((table.n_rows,), lookup.dtype)
    for here in _windows(table):
        codes[here] = lookup[found.codes[here]]
    return codes


def category_of_code(found: Column, column: Randomized) -> NDArray[np.unsignedinteger]:
    """The plan's category behind each code of a column; d where the plan does not know the value."""
    is_number = column.kind in ("numeric", "date")
    d = column.d
    if is_number:
        place = np.searchsorted(np.asarray(column.cuts), found.doubles, side="right")
    else:
        known = {c: i for i, c in enumerate(column.categories) if c is not None}
        place = np.array([known.get(v, d) for v in found.values], dtype=np.int64)
    lost = d - 1 if column.categories[-1] is None else d
    return np.append(place, lost).astype(smallest(d + 1))


def bound_to(plan: Randomize) -> dict[str, Any]:
    """The parameters that the draws of a plan are bound to."""
    told = [plain(column) for column in plan.columns]
    return {"columns": told, "row_id": plan.row_id, "bound": plan.bound}


def randomize(table: Table, plan: Randomize, key: Key) -> tuple[dict[str, ReleasedCodes], int]:
    """The randomized columns, and how many cells held a value that the plan does not know.

    Parameters
    ----------
    table : Table
    plan : Randomize
    key : Key
        The same key, table and plan give the same draws, whatever the row order; another
        table or plan draws independently.
    """
    rows = Rows.of(table, key, plan.row_id)
    mine = rows.release_key(bound_to(plan))
    made, outside = {}, 0
    for column in plan.columns:
        codes = original_codes(table, column)
        unknown = sum(int(np.count_nonzero(codes[here] == column.d)) for here in _windows(table))
        outside += unknown
        if column.p < 1 or unknown:
            words = mine.words(PURPOSE + column.name)
            for here in _windows(table):
                codes[here] = draw(codes[here], rows.ids[here], words, column.p, column.d)
        table.spill()
        values = released_values(column, table.types.field(column.name).type)
        place = np.arange(len(values))
        made[column.name] = ReleasedCodes(column.name, values.type, values, codes, place)
    return made, outside


def _windows(table: Table) -> Iterator[slice]:
    return (slice(a, a + _WINDOW) for a in range(0, table.n_rows, _WINDOW))


def released_values(column: Randomized, wanted: pa.DataType) -> pa.Array:
    """The released values, in the column's own type where it holds them."""
    labels = list(column.categories)
    values = pa.array(labels, pa.float64() if _floats(labels) else pa.string())
    if pa.types.is_dictionary(wanted):
        wanted = wanted.value_type
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = values.cast(wanted)
    return values


def _floats(labels: list[str | float | None]) -> bool:
    return any(isinstance(label, float) for label in labels)
