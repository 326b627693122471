"""Encode a column as small integers and a sorted dictionary."""

from __future__ import annotations

from dataclasses import replace
from math import floor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import InputError, SchemaError
from ..io.text_cells import are_dates, infer_type, parse_dates, parse_integers
from ..kernels import Bools, Floats, Ints
from ..kernels.sorting import stable_sort
from ..notation import DAY, beyond_years
from ..schema import Kind
from ..texts import refusal
from .arrays import (
    as_text,
    beyond_doubles,
    decimals,
    decoded,
    floats,
    indexed,
    inexact,
    is_moment,
    is_number,
    is_text,
    kind_of,
    microseconds,
    mostly_distinct,
    storage,
    trial,
)
from .column import Column, smallest

# integers within a span this wide are counted into a table instead of hashed
_SPAN = 1 << 16


# the last time stamps that can be counted in microseconds
_LAST = {"s": (1 << 63) // 10**6 - 1, "ms": (1 << 63) // 10**3 - 1}


def encode(name: str, array: pa.ChunkedArray, kind: Kind, unit: str | None = None, of_records: bool = True) -> Column:
    """Encode one column as integer codes into its sorted distinct values.

    Parameters
    ----------
    name : str
        Column name.
    array : pyarrow.ChunkedArray
        Its values.
    kind : str
        Kind to encode it as.
    unit : {"day", "us"}, optional
        Unit for dates; by default days if no value has a time of day.
    of_records : bool
        Whether there is one value a record, so that a refusal can say which record is the first at fault.

    Raises
    ------
    SchemaError
        The values do not fit the kind.
    """
    array = storage(array)
    if kind == "numeric":
        array = _numbers(name, array, of_records)
        if beyond_doubles(array):
            return _encode_exact(name, kind, "", array)
        # without this, one missing age would make every age a double
        if pa.types.is_integer(array.type) and array.null_count:
            whole = array.fill_null(0).cast(pa.int64()).to_numpy()
            if (column := _encode_narrow(name, kind, "", whole, array.is_valid().to_numpy())) is not None:
                return column
        return _encode_numbers(name, kind, "", _doubles(array))
    if kind == "date":
        array = _moments(name, array, of_records)
        if unit != "day" and beyond_doubles(array):
            column = _encode_exact(name, kind, "us", array)
        else:
            numbers, found_unit = _in_unit(array, unit)
            column = _encode_numbers(name, kind, found_unit, numbers)
        zone = array.type.tz if pa.types.is_timestamp(array.type) else None
        return replace(column, zone=zone or "")
    return _encode_categories(name, array, kind)


def natural_order(name: str, values: pa.Array) -> Ints:
    """Return the positions that sort distinct values into the order that columns use.

    A dictionary in this order can usually be used as it is: its positions are already the column's codes.
    """
    try:
        ranks = encode(name, pa.chunked_array([values]), kind_of(values.type)).codes
    except SchemaError:  # no order of their own, such as times beyond the year 9999
        ranks = np.array(list(map(repr, values.to_pylist())))
    return np.argsort(ranks, kind="stable")


def _numbers(name: str, array: pa.ChunkedArray, of_records: bool) -> pa.ChunkedArray:
    """Convert a column to integers, doubles or decimals."""
    array = decoded(array)
    kind = array.type
    if is_text(kind):
        return _text_numbers(name, array, of_records)
    if pa.types.is_boolean(kind):
        return array.cast(pa.uint8())
    if pa.types.is_duration(kind):
        return array.cast(pa.int64())
    if not (is_number(kind) or pa.types.is_null(kind)):
        raise SchemaError(**refusal("other_kind", "columns", name=name, declared="numeric", kind=kind))
    return array


def _unread(name: str, declared: str, what: str, bad: Bools, of_records: bool) -> SchemaError:
    """Return an error that says how many of a column's cells, or of its values, do not read as its kind."""
    fault, at = "its text can be read in several ways", np.flatnonzero(bad)
    if len(at):
        where = f"cells, the first in record {at[0] + 1:,}" if of_records else "different values"
        fault = f"there is no {what} in {len(at):,} of its {where}"
    return SchemaError(
        f"column {name!r} is declared {declared}, but {fault}",
        hint="repair or empty these cells, write days as YYYY-MM-DD (hh:mm), or declare the column categorical",
    )


def _doubles(array: pa.ChunkedArray) -> NDArray[Any]:
    """Return integers as int64 if none is missing; otherwise return float64, with NaN for missing numbers."""
    if pa.types.is_integer(array.type) and not array.null_count:
        return array.cast(pa.int64()).to_numpy()
    return floats(array).to_numpy()


def _text_numbers(name: str, array: pa.ChunkedArray, of_records: bool) -> pa.ChunkedArray:
    index, texts = indexed(array)
    _check_legible(name, texts)
    numbers = np.full(len(texts) + 1, np.nan)
    bad = np.zeros(len(texts) + 1, dtype=bool)
    for i, text in enumerate(texts.to_pylist()):
        try:
            numbers[i] = float(text)
        except (TypeError, ValueError):
            bad[i] = bool(text and text.strip())
    if bad.any():
        # amounts of money, and signs between thousands, if all can be read in one way only
        parsed, notes = infer_type(pa.chunked_array([texts]))
        if not is_number(parsed.type) or parsed.null_count or "either" in notes:
            raise _unread(name, "numeric", "number", bad[index], of_records)
        return pa.chunked_array([pa.concat_arrays(parsed.chunks).take(pa.array(index, mask=index < 0))])
    try:
        exact = decimals(texts)
    except pa.ArrowInvalid:
        raise inexact([name]) from None
    if exact is not None:
        return pa.chunked_array([exact.take(pa.array(index, mask=index < 0))])
    return pa.chunked_array([pa.array(numbers[index])])


def _moments(name: str, array: pa.ChunkedArray, of_records: bool) -> pa.ChunkedArray:
    """Convert a column to dates or time stamps; a column of nulls stays as it is."""
    array = decoded(array)
    if is_text(array.type):
        index, texts = indexed(array)
        if (parsed := parse_dates(texts)) is None:
            present = pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(texts.cast(pa.string())), ""), False)
            bad = np.append(pc.and_(present, pc.invert(are_dates(texts))), False)
            raise _unread(name, "a date", "date", bad[index], of_records)
        return pa.chunked_array([parsed.take(pa.array(index, mask=index < 0))])
    if is_number(array.type):
        numbers = pc.if_else(pc.is_nan(array), None, array) if pa.types.is_floating(array.type) else array
        index, entries = indexed(numbers)
        if (parsed := parse_integers(entries)) is None:
            raise SchemaError(
                f"column {name!r} is declared a date, but its numbers are not all days such as 20201231",
                hint="repair or empty the other cells, or declare the column numeric or categorical",
            )
        return pa.chunked_array([parsed.take(pa.array(index, mask=index < 0))])
    if not (is_moment(array.type) or pa.types.is_null(array.type)):
        raise SchemaError(**refusal("other_kind", "columns", name=name, declared="a date", kind=array.type))
    if pa.types.is_timestamp(array.type) and array.type.unit in ("s", "ms"):
        most = _LAST[array.type.unit]
        ends = pc.min_max(array.cast(pa.int64())).as_py().values()
        if any(end is not None and abs(end) > most for end in ends):
            raise beyond_years([name])
    return array


def _in_unit(array: pa.ChunkedArray, unit: str | None) -> tuple[NDArray[Any], str]:
    """Return dates as days or microseconds since 1970, and the name of that unit."""
    if pa.types.is_date(array.type):
        days = _whole(array.cast(pa.date32()).cast(pa.int32()))
        return (days, "day") if unit != "us" else (days * DAY, "us")
    if pa.types.is_null(array.type):
        return np.full(len(array), np.nan), unit or "day"
    stamp = pa.timestamp("us", tz=array.type.tz)
    moments = _whole(array.cast(stamp, safe=False).cast(pa.int64()))
    present = moments[~np.isnan(moments)] if moments.dtype.kind == "f" else moments
    if unit is None:
        unit = "day" if not np.any(present % DAY) else "us"
    if unit == "us":
        return moments, unit
    return (moments // DAY if not np.any(present % DAY) else moments / DAY), unit


def _whole(array: pa.ChunkedArray) -> NDArray[Any]:
    return array.to_numpy().astype(np.float64 if array.null_count else np.int64, copy=False)


def _encode_numbers(name: str, kind: Kind, unit: str, numbers: NDArray[Any]) -> Column:
    if numbers.dtype.kind == "i" and (column := _encode_narrow(name, kind, unit, numbers)) is not None:
        return column
    numbers = numbers.astype(np.float64, copy=False) + 0.0  # -0.0 becomes 0.0
    # a sample decides: sorting is faster than hashing if most values differ
    if mostly_distinct(len(np.unique(numbers[: trial(len(numbers))])), len(numbers)):
        distinct, codes = _ranked(numbers)
    else:
        coded = pa.array(numbers).dictionary_encode()
        distinct = coded.dictionary.to_numpy(zero_copy_only=False)
        order = np.argsort(distinct)  # NaN sorts last
        rank = np.empty(len(distinct), dtype=smallest(len(distinct)))
        # NaNs of several bit patterns are entries of their own, but one missing value.
        rank[order] = np.minimum(np.arange(len(distinct)), np.count_nonzero(~np.isnan(distinct)))
        distinct, codes = distinct[order], rank[coded.indices.to_numpy()]
    n = int(np.count_nonzero(~np.isnan(distinct)))
    return Column(name, kind, unit, codes, distinct[:n], n < len(distinct))


def _encode_narrow(name: str, kind: Kind, unit: str, numbers: Ints, present: Bools | None = None) -> Column | None:
    """Encode whole numbers by a lookup table over their range; return None if the range is too wide."""
    values_present = numbers if present is None else numbers[present]
    if not len(values_present):
        return None
    low, high = int(values_present.min()), int(values_present.max())
    if high - low >= _SPAN:
        return None
    offset = numbers - low
    if present is not None:
        # missing numbers are counted in a bin of their own, after the highest
        offset[~present] = high - low + 1
    occurs = np.bincount(offset) > 0
    lut = (np.cumsum(occurs) - 1).astype(smallest(int(occurs.sum())))
    values = (np.flatnonzero(occurs[: high - low + 1]) + low).astype(np.float64)
    return Column(name, kind, unit, lut[offset], values, present is not None)


def _ranked(numbers: Floats) -> tuple[Floats, NDArray[Any]]:
    """Return the distinct numbers in ascending order, NaN last, and the index of each row's number among them."""
    missing = np.isnan(numbers)
    n_missing = int(np.count_nonzero(missing))
    # one bit pattern for all missing numbers, which sorts after infinity
    ranked, order = stable_sort(np.where(missing, np.nan, numbers) if n_missing else numbers)
    new = np.empty(len(ranked), np.bool_)
    new[:1] = True
    np.not_equal(ranked[1:], ranked[:-1], out=new[1:])
    new[len(ranked) - n_missing + 1 :] = False
    distinct = ranked[new]
    codes = np.empty(len(order), smallest(len(distinct)))
    codes[order] = np.cumsum(new, dtype=np.uint32) - np.uint32(1)
    return distinct, codes


def _encode_exact(name: str, kind: Kind, unit: str, array: pa.ChunkedArray) -> Column:
    """Encode numbers or times that doubles cannot represent, by their exact values."""
    index, entries = indexed(array)
    numbers = microseconds(entries) if pa.types.is_timestamp(array.type) else entries.to_pylist()
    order = sorted(range(len(numbers)), key=numbers.__getitem__)
    exact = tuple(numbers[i] for i in order)
    values = np.array([float(v if kind == "numeric" else floor(v)) for v in exact])
    rank = np.full(len(order) + 1, len(order), dtype=smallest(len(order) + 1))
    rank[order] = np.arange(len(order))
    return Column(name, kind, unit, rank[index], values, bool((index < 0).any()), exact=exact)


def _encode_categories(name: str, array: pa.ChunkedArray, kind: Kind) -> Column:
    if pa.types.is_nested(array.type):
        raise SchemaError(f"column {name!r} holds nested values ({array.type})", hint="leave it out, or flatten it")
    index, entries = indexed(array)
    # several entries may have the same text, such as 1 and 1.0: they are one category
    texts = as_text(entries).dictionary_encode()
    unique = texts.dictionary
    _check_legible(name, unique)
    merged = np.append(texts.indices.cast(pa.int64()).fill_null(-1).to_numpy(), -1)
    used_entries, used = np.zeros(len(merged), bool), np.zeros(len(unique) + 1, bool)
    used_entries[index] = True
    used[merged[used_entries]] = True
    present = np.flatnonzero(used[:-1])
    order = present[_natural(entries, merged, unique, present)]
    missing = bool(used[-1])
    # the type has room for a missing code only if a value is missing
    missing_code = len(order) if missing else 0
    lut = np.full(len(unique) + 1, missing_code, dtype=smallest(len(order) + missing))
    lut[order] = np.arange(len(order))
    return Column(name, kind, "", lut[merged][index], unique.take(pa.array(order)).to_pylist(), missing)


def _check_legible(name: str, texts: pa.Array) -> None:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        raise InputError(f"column {name!r} holds text that is not UTF-8", hint="write it in UTF-8") from None


def _natural(entries: pa.Array, merged: NDArray[Any], unique: pa.Array, present: NDArray[Any]) -> NDArray[Any]:
    """Return the positions that sort the categories that occur: numbers by size, everything else by text."""
    if not is_number(entries.type):
        return pc.sort_indices(unique.take(pa.array(present))).to_numpy()
    key = np.zeros(len(unique) + 1, np.uint64)
    key[merged[:-1]] = pc.rank(entries).to_numpy()
    return np.argsort(key[present])
