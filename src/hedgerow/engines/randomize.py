"""Randomized response of a table: keyed draws, column by column."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..kernels.draws import draw
from ..key import Key
from ..plan.fields import plain
from ..plan.randomized import Randomize, Randomized
from ..table import Table
from ..table.encode import smallest
from .base import Transformed
from .rows import Rows


def execute(plan: Randomize, table: Table, key: Key | None) -> Transformed:
    """Randomize under a key, by default one that is made for this once and forgotten."""
    made, outside = randomize(table, plan, key or Key.new())
    return Transformed(made, sum(outside.values()))


def original_codes(table: Table, column: Randomized) -> NDArray[np.unsignedinteger]:
    """Categories of the plan per row; d where the plan does not know the value."""
    is_number = column.kind in ("numeric", "date")
    found = table.like(column)
    d = column.d
    if is_number:
        place = np.searchsorted(np.asarray(column.cuts), found.doubles, side="right")
    else:
        known = {c: i for i, c in enumerate(column.categories) if c is not None}
        place = np.array([known.get(v, d) for v in found.values], dtype=np.int64)
    lost = d - 1 if column.categories[-1] is None else d
    return np.append(place, lost).astype(smallest(d + 1))[found.codes]


def randomize(
    table: Table, plan: Randomize, key: Key
) -> tuple[dict[str, pa.Array], dict[str, int]]:
    """The randomized columns, and how many rows held a value that the plan does not know.

    Parameters
    ----------
    table : Table
    plan : Randomize
    key : Key
        The same key, table and plan give the same draws, whatever the row order; another
        table or plan draws independently.
    """
    rows = Rows.of(table, key, plan.row_id)
    told = [plain(column) for column in plan.columns]
    mine = rows.release_key({"columns": told, "row_id": plan.row_id, "bound": plan.bound})
    made, outside = {}, {}
    for column in plan.columns:
        codes = original_codes(table, column)
        unknown = int(np.count_nonzero(codes == column.d))
        if unknown:
            outside[column.name] = unknown
        if column.p < 1 or unknown:
            words = mine.words("column " + column.name)
            codes = draw(codes, rows.ids, words, column.p, column.d)
        made[column.name] = decode(codes, column, table.arrow.schema.field(column.name).type)
    return made, outside


def decode(codes: NDArray[Any], column: Randomized, wanted: pa.DataType) -> pa.Array:
    """Released values of codes, in the column's own type where it holds them."""
    labels = list(column.categories)
    values = pa.array(labels, pa.float64() if _floats(labels) else pa.string())
    if pa.types.is_dictionary(wanted):
        wanted = wanted.value_type
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = values.cast(wanted)
    return values.take(pa.array(codes))


def _floats(labels: list[str | float | None]) -> bool:
    return any(isinstance(label, float) for label in labels)
