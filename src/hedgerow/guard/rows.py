"""Group the released rows, give them their drawn values, and put these into the types of the table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..backends.randomize import hashes
from ..backends.release_order import ReleasedCodes
from ..columns.arrays import WINDOW, decoded, is_text, slices, value_type
from ..columns.column import smallest
from ..columns.order import ranks_of
from ..columns.table import Table
from ..io.file_format import FileFormat
from ..io.text_cells import cell_text, styled
from ..key import Key
from ..measures import Groups, Ints, group
from ..notation import decimals_of, moment
from ..plan import Guard, GuardedColumn, Plan
from .draw import key_of

# bytes that draws take for a cell, at most
DRAWN = 64


def group_numbers(columns: Mapping[str, pa.Array | ReleasedCodes], names: Sequence[str], n_rows: int) -> Groups:
    """Return the classes of equal released cells, numbered in the order of their texts."""
    # columns that share their codes are grouped by these first, which are few
    shared: dict[int, list[tuple[NDArray[Any], NDArray[Any]]]] = {}
    for name in names:
        column = columns[name]
        if isinstance(column, ReleasedCodes):
            numbers, entries, place = column.numbers, column.entries, column.place
        else:
            coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode("encode")
            coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
            missing = len(coded.dictionary)
            numbers = coded.indices.fill_null(missing).to_numpy(zero_copy_only=False)
            entries = pa.concat_arrays([coded.dictionary, pa.nulls(1, coded.dictionary.type)])
            place = np.arange(missing + 1)
        shared.setdefault(id(numbers), []).append((numbers, ranks_of(entries)[0].astype(np.int64)[place]))
    keys = []
    for parts in shared.values():
        numbers = parts[0][0]
        keys.append((group([ranks for _, ranks in parts]).labels if len(parts) > 1 else parts[0][1])[numbers])
    return group(keys, n_rows)


def unguarded_columns(plan: Plan, pseudonyms: Collection[str] = ()) -> list[str]:
    """Return the columns that a guarded release keeps row by row: other ones, and pseudonyms."""
    dropped = set(plan.left_out) - set(pseudonyms)
    guarded = {column.name for column in plan.guard.columns} if plan.guard else set()
    guarded |= {plan.weight} if plan.has_mean_weights else set()
    return [c.name for c in plan.columns if c.role != "quasi" and c.name not in dropped | guarded]


def decoded_cells(table: Table, name: str) -> pa.Array:
    """Return the cells of a column, decoded."""
    parts = [decoded(table.take(name, at)) for at in slices(table.n_rows, WINDOW)]
    return pa.chunked_array(parts).combine_chunks()


def assigned_to_rows(
    plan: Plan,
    columns: Sequence[GuardedColumn],
    items: Mapping[str, Ints],
    table: Table,
    groups: Groups,
    others: Sequence[str],
    key: Key,
) -> dict[str, ReleasedCodes]:
    """Return the released columns: the items of each group, given to its rows.

    Which row of a group gets which item shows where other columns are released as they are, so it
    follows from a keyed hash of these.
    """
    labels, guard = groups.labels, plan.guard
    assert guard is not None
    if others:
        words = hashes(table, others, key_of(key, plan, guard))[0]
        order = np.lexsort((words, labels))
    else:
        order = np.argsort(labels, kind="stable")
    released = {}
    for column in columns:
        codes = np.empty(len(order), smallest(len(column.values) + 1))
        codes[order] = items[column.name]
        released[column.name] = as_released(column, codes, table)
    if plan.has_mean_weights:
        record, of_group = released_weights(plan)
        released[plan.weight] = as_released(record, of_group[labels], table)
    return released


def released_weights(plan: Plan) -> tuple[GuardedColumn, Ints]:
    """Return the released weights as a record of their values, and the code of each group's."""
    assert plan.guard is not None
    values, of_group = np.unique(np.asarray(plan.guard.weights, np.float64), return_inverse=True)
    codes = of_group.astype(smallest(len(values) + 1))
    return GuardedColumn(plan.weight, "other", "numeric", values=tuple(values.tolist())), codes


def as_released(column: GuardedColumn, codes: NDArray[Any], table: Table) -> ReleasedCodes:
    """Return a guarded column from its codes, in the type that it has in the table where that holds its values."""
    entries = entries_of(column, table.types.field(column.name).type)
    return ReleasedCodes(column.name, entries.type, entries, codes, np.arange(len(entries)))


def entries_of(column: GuardedColumn, kind: pa.DataType) -> pa.Array:
    """Return the released values of a column of this type, and missing after them."""
    entries = released_values(column, value_type(kind))
    # for a category that is withheld
    return entries if column.has_missing else pa.concat_arrays([entries, pa.nulls(1, entries.type)])


def released_values(column: GuardedColumn, wanted: pa.DataType) -> pa.Array:
    """Return the released values in a column's own type, or as doubles or text if that cannot hold them."""
    values = list(column.values)
    if column.kind == "date" and pa.types.is_temporal(wanted):
        whole = pa.array([None if v is None else int(v) for v in values], pa.int64())
        unit = whole.cast(pa.int32()).cast(pa.date32()) if column.unit == "day" else whole.cast(pa.timestamp("us"))
        if pa.types.is_timestamp(wanted) and wanted.tz and column.unit == "us":
            unit = whole.cast(pa.timestamp("us", wanted.tz))
        return unit.cast(wanted)
    if column.kind == "date":  # of text or whole numbers
        values = [None if v is None else moment(float(v), column.unit) for v in values]
    entries = pa.array(values, pa.float64() if column.kind == "numeric" else pa.string())
    if column.style:
        entries = styled(entries.cast(pa.date32() if column.unit == "day" else pa.timestamp("us")), column.style)
    if column.kind == "numeric" and is_text(wanted):
        entries = cell_text(entries, places=decimals_of(column.steps[0]) if len(column.steps) else 0)
    if pa.types.is_time(wanted):  # which text becomes as part of a time stamp alone
        entries = pc.binary_join_element_wise("1970-01-01", entries, " ").cast(pa.timestamp(wanted.unit))
    try:
        return entries.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return entries


def with_drawn_places(layout: FileFormat, guard: Guard | None) -> FileFormat:
    """Return the format of a file with the decimals that drawn numbers have.

    As many as the input's cells have all would tell of one person with fewer or more.
    """
    columns = guard.columns if guard is not None else ()
    units = {c.name: c.steps[0] for c in columns if len(c.steps) and c.kind == "numeric"}
    decimals = {name: decimals_of(unit) for name, unit in units.items()}
    places = tuple((dict(layout.dialect.places) | decimals).items())
    return replace(layout, dialect=replace(layout.dialect, places=places))
