"""What a file holds of a table: the text of its values, and nothing but its values."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .dialect import Dialect
from .encode import indexed, is_text


def written(array: pa.Array, dialect: Dialect | None = None) -> pa.Array:
    """Values as the text that stands for them in a CSV file, before quotes; missing stays missing.

    Parameters
    ----------
    array : pyarrow.Array
        Plain values, no dictionary.
    dialect : Dialect, optional
        How booleans and decimals are written.
    """
    dialect = dialect or Dialect()
    kind = array.type
    if pa.types.is_boolean(kind):
        false, true = dialect.booleans
        cells = pc.if_else(array, true, false)
    elif pa.types.is_floating(kind):
        cells = pc.if_else(pc.is_nan(array), None, array).cast(pa.large_string())
        if dialect.decimal != ".":
            cells = pc.replace_substring(cells, ".", dialect.decimal)
    elif pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        texts = [None if value is None else str(value) for value in array.to_pylist()]
        cells = pa.array(texts, pa.large_string())
    else:
        cells = array.cast(pa.large_string() if is_text(kind) else pa.string())
        if pa.types.is_timestamp(kind):
            cells = pc.replace_substring_regex(cells, r"\.0+(Z?)$", r"\1")
    return cells.cast(pa.large_string())


def bare(table: pa.Table) -> pa.Table:
    """The table with nothing but its values: no notes, and in dictionaries no entry without a row.

    Entries stand by their text, but for dictionaries that are ordered.
    """
    return pa.table([_bare(column) for column in table.columns], names=table.column_names)


def _bare(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_nested(column.type):
        plain = _without_notes(column.type)
        return column if plain is None else pa.chunked_array([pa.array(column.to_pylist(), plain)])
    if not pa.types.is_dictionary(column.type):
        # a missing cell may have its value left beneath it, which taking does not copy
        return column.take(pa.array(np.arange(len(column)))) if column.null_count else column
    index, entries = indexed(column)
    merged = entries.dictionary_encode()
    place = np.append(merged.indices.fill_null(-1).to_numpy(), -1)
    entries = merged.dictionary
    held = np.bincount(place[index] + 1, minlength=len(entries) + 1)[1:] > 0
    kept = np.flatnonzero(held)
    if not column.type.ordered:
        kept = kept[pc.sort_indices(written(entries.take(pa.array(kept)))).to_numpy()]
    lut = np.full(len(entries) + 1, -1)
    lut[kept] = np.arange(len(kept))
    codes = lut[place][index]
    return pa.chunked_array(
        [
            pa.DictionaryArray.from_arrays(
                pa.array(codes, mask=codes < 0).cast(column.type.index_type),
                entries.take(pa.array(kept)),
                ordered=column.type.ordered,
            )
        ]
    )


def _without_notes(kind: pa.DataType) -> pa.DataType | None:
    """A nested type whose fields say nothing but name and type; None when it is one."""
    if pa.types.is_struct(kind):
        parts = [kind.field(i) for i in range(kind.num_fields)]
    elif pa.types.is_map(kind):
        parts = [kind.key_field, kind.item_field]
    else:
        parts = [kind.value_field]
    made, changed = [], False
    for part in parts:
        coded = pa.types.is_dictionary(part.type)
        inner = part.type.value_type if coded else part.type
        plain = _without_notes(inner) if pa.types.is_nested(inner) else None
        made.append(pa.field(part.name, inner if plain is None else plain, part.nullable))
        changed |= coded or plain is not None or bool(part.metadata)
    if not changed:
        return None
    if pa.types.is_struct(kind):
        return pa.struct(made)
    return pa.map_(*made) if pa.types.is_map(kind) else pa.list_(made[0])
