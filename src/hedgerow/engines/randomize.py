"""Randomized response of a table: keyed draws, column by column."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import PlanError
from ..kernels.draws import draw, siphash_bytes
from ..key import Key
from ..plan.randomized import Randomize, Randomized
from ..table import Table
from ..table.encode import smallest
from .base import Transformed


def row_ids(table: Table, name: str | None, key: Key) -> NDArray[np.uint64]:
    """A 64-bit id per row: its position, or the hash of an id column's value."""
    if name is None:
        return np.arange(table.n_rows, dtype=np.uint64)
    if name not in table.names:
        raise PlanError(f"the plan draws by the row id {name!r}, and the table has no such column")
    column = table.arrow.column(name)
    missing = column.null_count
    doubled = table.n_rows - missing - pc.count_distinct(column, mode="only_valid").as_py()
    if missing or doubled:
        raise PlanError(
            f"the row id {name!r} has {missing:,} missing and {doubled:,} repeated values",
            hint="row ids are unique: equal ids would get equal draws",
        )
    texts = column.cast(pa.large_string()).combine_chunks()
    if isinstance(texts, pa.ChunkedArray):
        texts = pa.concat_arrays(texts.chunks)
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    raw = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    k0, k1 = key.words("row id")
    return siphash_bytes(raw, ends, np.uint64(k0), np.uint64(k1))


def execute(plan: Randomize, table: Table, key: Key | None) -> Transformed:
    """Randomize under a key, by default one that is made for this once and forgotten."""
    made, outside = randomize(table, plan, key or Key.new())
    return Transformed(made, sum(outside.values()))


def original_codes(table: Table, column: Randomized) -> NDArray[np.unsignedinteger]:
    """Categories of the plan per row; d where the plan does not know the value."""
    is_number = column.kind in ("numeric", "date")
    found = table.column(column.name, kind=column.kind, unit=column.unit or None)
    d = column.d
    if is_number:
        place = np.searchsorted(np.asarray(column.cuts), found.values, side="right")
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
        The same key, ids and plan give the same draws, whatever the row order.
    """
    ids = row_ids(table, plan.row_id, key)
    made, outside = {}, {}
    for column in plan.columns:
        codes = original_codes(table, column)
        unknown = int(np.count_nonzero(codes == column.d))
        if unknown:
            outside[column.name] = unknown
        if column.p < 1 or unknown:
            codes = draw(codes, ids, key.words("column " + column.name), column.p, column.d)
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
