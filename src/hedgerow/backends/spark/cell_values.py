"""Cells of a table on a cluster, where they are: under their names, and by their codes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...columns.numbers import one_zero
from ...columns.table import Table
from ...errors import InputError, SchemaError
from .dataframes import place


def reading(types: pa.Schema, names: Sequence[str]) -> Callable[[pa.Table], pa.Table]:
    """What gives rows of `SparkTable.frame` the table's own names and types."""
    places = [(place(types.names.index(n)), types.field(n)) for n in names]

    def read(part: pa.Table) -> pa.Table:
        columns = [part.column(place).cast(entry.type) for place, entry in places]
        return pa.Table.from_arrays(columns, schema=pa.schema([entry for _, entry in places]))

    return read


def codes_of(
    cells: pa.ChunkedArray, entries: pa.Array, name: str, unknown: int | None = None
) -> NDArray[np.int64]:
    """The place of each cell among the distinct values of its column.

    `unknown` stands for a value that is not among them; by default there is none.
    """
    given = cells.combine_chunks()
    try:
        given = given.cast(entries.type)
    except pa.ArrowException:
        if unknown is None:
            raise
        return np.full(len(given), unknown, np.int64)
    found = pc.index_in(one_zero(given), value_set=one_zero(entries))
    if found.null_count and unknown is not None:
        found = found.fill_null(unknown)
    elif found.null_count:
        raise InputError(
            f"column {name!r} gives other values each time it is computed",
            hint="persist the table, or write it down first",
        )
    return found.to_numpy().astype(np.int64)


def in_order(name: str, values: pa.Array) -> NDArray[np.int64]:
    """The natural order of distinct values; by their text where they have none."""
    try:
        codes = Table(pa.table({name: values})).column(name).codes
    except SchemaError:
        texts = [repr(v) for v in values.to_pylist()]
        return np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
    return np.argsort(codes, kind="stable").astype(np.int64)
