"""What a file holds of a table: the text of its values, and nothing but its values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.array_memory import one_piece
from ..columns.encode import indexed, is_text
from ..columns.row_hashes import value_class
from ..errors import SchemaError
from .dialect import Dialect


def written(array: pa.Array, dialect: Dialect | None = None, places: int = 0) -> pa.Array:
    """Values as the text that stands for them in a CSV file, before quotes; missing stays missing.

    Parameters
    ----------
    array : pyarrow.Array
        Plain values, no dictionary.
    dialect : Dialect, optional
        How booleans, decimals and days are written.
    places : int
        Decimals that a number has at least.
    """
    dialect = dialect or Dialect()
    kind = array.type
    if pa.types.is_boolean(kind):
        false, true = dialect.booleans
        cells = pc.if_else(array, true, false)
    elif pa.types.is_floating(kind):
        cells = _padded(pc.if_else(pc.is_nan(array), None, array).cast(pa.large_string()), places)
        if dialect.decimal != ".":
            cells = pc.replace_substring(cells, ".", dialect.decimal)
    elif pa.types.is_date(kind) and dialect.dates:
        cells = pc.strftime(array.cast(pa.timestamp("s")), format=dialect.dates)
    elif value_class(kind) in ("bytes", "other") or isinstance(kind, pa.BaseExtensionType):
        texts = [
            value.hex() if isinstance(value, bytes) else None if value is None else str(value)
            for value in array.to_pylist()
        ]
        cells = pa.array(texts, pa.large_string())
    else:
        cells = array.cast(pa.large_string() if is_text(kind) else pa.string())
        if pa.types.is_timestamp(kind):
            cells = pc.replace_substring_regex(cells, r"\.0+(Z?)$", r"\1")
    return cells.cast(pa.large_string())


def _padded(numbers: pa.Array, places: int) -> pa.Array:
    """Numbers with zeros behind, where they have fewer decimals; those with an exponent stay."""
    if not places:
        return numbers
    point = pc.find_substring(numbers, ".")
    there = pc.subtract(pc.utf8_length(numbers).cast(pa.int32()), pc.add(point, 1))
    there = pc.if_else(pc.less(point, 0), 0, pc.min_element_wise(there, places))
    there = pc.if_else(pc.match_substring_regex(numbers, r"^-?\d+(\.\d+)?$"), there, places)
    ends = ["." + "0" * places, *("0" * (places - n) for n in range(1, places + 1))]
    zeros = pa.array(ends, numbers.type).take(there.fill_null(0))
    return pc.binary_join_element_wise(numbers, zeros, pa.scalar("", numbers.type))


def bare(table: pa.Table) -> pa.Table:
    """The table with nothing but its values: no notes, and in dictionaries no entry without a row.

    Entries stand by their text, but for dictionaries that are ordered. All that is no number is
    one NaN, and each column one piece of memory, for both would tell in which order rows came.

    Raises
    ------
    SchemaError
        A column holds values that cannot be written anew.
    """
    columns = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            columns.append(_bare(column))
        except MemoryError:
            raise
        except (pa.ArrowException, ValueError):
            raise SchemaError(
                f"column {name!r} holds values that cannot be written anew ({column.type})",
                hint="leave it out, or give it another type",
            ) from None
    return pa.table(columns, names=table.column_names)


def _bare(column: pa.ChunkedArray) -> pa.ChunkedArray:
    column = pa.chunked_array([one_piece(column)])
    kind = column.type
    if pa.types.is_nested(kind):
        return pa.chunked_array([pa.array(_anew(column.to_pylist()), _without_notes(kind))])
    if not pa.types.is_dictionary(kind):
        column = _one_nan(column)
        # a missing cell may have its value left beneath it, which taking does not copy
        return column.take(pa.array(np.arange(len(column)))) if column.null_count else column
    index, entries = indexed(column)
    entries = _one_nan(entries)
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


def _one_nan(array: Any) -> Any:
    """What is no number has many bit patterns and one meaning."""
    if not pa.types.is_floating(array.type) or not pc.any(pc.is_nan(array)).as_py():
        return array
    return pc.if_else(pc.is_nan(array), pa.scalar(math.nan, array.type), array)


def _anew(value: Any) -> Any:
    """A nested value without what its arrays hold beside it."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_anew, value))
    if isinstance(value, dict):
        return {name: _anew(part) for name, part in value.items()}
    return math.nan if isinstance(value, float) and value != value else value


def _without_notes(kind: pa.DataType) -> pa.DataType:
    """A type whose fields say nothing but name and type."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    if not pa.types.is_nested(kind):
        return kind

    def plain(field: pa.Field) -> pa.Field:
        return pa.field(field.name, _without_notes(field.type), field.nullable)

    if pa.types.is_struct(kind):
        return pa.struct([plain(kind.field(i)) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_field), plain(kind.item_field))
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(plain(kind.value_field), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return (pa.list_ if pa.types.is_list(kind) else pa.large_list)(plain(kind.value_field))
    raise ValueError  # unions, and lists that are views
