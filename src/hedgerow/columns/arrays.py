"""Functions on Arrow arrays: kinds of types, memory layout, and numbers that doubles cannot represent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import SchemaError, reprs
from ..notation import beyond_years, moment, number
from ..schema import Kind

T = TypeVar("T")
# what Arrow raises, except that there is no more memory
ArrowFault = tuple(e for e in pa.ArrowException.__subclasses__() if not issubclass(e, MemoryError))
# beyond this, whole numbers share a double
_EXACT = 1 << 53
# a decimal of fewer digits is the shortest text of its double
_DIGITS = Decimal(10**15)
# text of more digits than a double has, or of a whole number that may lie beyond 2^53
_LONG = r"[1-9](\.?\d){17,}|^[+-]?0*[1-9]\d{15,}(\.0*)?$"
_MICROSECONDS = {"s": Decimal(10**6), "ms": Decimal(10**3), "us": Decimal(1), "ns": Decimal("0.001")}
# rows that are read at once
WINDOW = 1 << 17
# fewest values in the sample that decides between hashing and sorting
_TRIAL = 4096


def filled(array: pa.Array, value: Any) -> pa.Array:
    """Return an array with its missing cells filled with a value; the array itself if none is missing."""
    return array.fill_null(value) if array.null_count else array


def slices(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows that cover n rows."""
    return (slice(a, min(a + size, n)) for a in range(0, n, size))


def regrouped(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Yield the same rows in tables of `size` rows."""
    waiting: list[pa.Table] = []
    n = 0
    for table in tables:
        while n + table.num_rows >= size:
            yield pa.concat_tables([*waiting, table.slice(0, size - n)])
            table, waiting, n = table.slice(size - n), [], 0
        if table.num_rows:
            waiting.append(table)
            n += table.num_rows
    if waiting:
        yield pa.concat_tables(waiting)


def distinct_of(values: Iterable[T]) -> tuple[list[T], NDArray[np.int64]]:
    """Return the distinct values, in the order in which they first occur, and each value's place among them."""
    place: dict[T, int] = {}
    places = [place.setdefault(value, len(place)) for value in values]
    return list(place), np.array(places, np.int64)


def one_piece(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Join the chunks of a column into one array, if its type can hold them all in one."""
    if isinstance(array, pa.ChunkedArray) and array.num_chunks != 1:
        array = array.combine_chunks()
    whole = isinstance(array, pa.ChunkedArray) and array.num_chunks == 1
    return array.chunk(0) if whole else array


def storage(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Return the storage array of an extension array; any other array unchanged."""
    return array.cast(array.type.storage_type) if isinstance(array.type, pa.BaseExtensionType) else array


def same_memory(one: pa.Array | pa.ChunkedArray, other: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether two columns have the same type and share their memory, so that they cannot differ."""
    if one is other:
        return True
    if isinstance(one, pa.ChunkedArray):
        return one.num_chunks == other.num_chunks and all(map(same_memory, one.chunks, other.chunks))
    if (one.type, one.offset, len(one)) != (other.type, other.offset, len(other)):
        return False
    if pa.types.is_dictionary(one.type) and not same_memory(one.dictionary, other.dictionary):
        return False
    return _addresses(one) == _addresses(other)


def _addresses(array: pa.Array) -> list[int | None]:
    return [None if buffer is None else buffer.address for buffer in array.buffers()]


def _any_of(*tests: Callable[[pa.DataType], bool]) -> Callable[[pa.DataType], bool]:
    """Return a test that an Arrow type passes if it passes any of the given tests."""
    return lambda kind: any(test(kind) for test in tests)


is_text = _any_of(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
is_number = _any_of(pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
is_moment = _any_of(pa.types.is_date, pa.types.is_timestamp)


def kind_of(kind: pa.DataType) -> Kind:
    """Return the kind of column (numeric, categorical, ...) that an Arrow type represents."""
    if pa.types.is_dictionary(kind):
        return "ordinal" if kind.ordered else "categorical"
    if pa.types.is_boolean(kind):
        return "boolean"
    if is_moment(kind):
        return "date"
    return "numeric" if is_number(kind) or pa.types.is_duration(kind) else "categorical"


def decoded(array: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a dictionary column as plain values; any other column unchanged."""
    return array.cast(array.type.value_type) if pa.types.is_dictionary(array.type) else array


def text_lengths(cells: pa.Array) -> NDArray[np.int64]:
    """Return the number of bytes of text in each cell, also for dictionaries; 0 for other types."""
    coded = pa.types.is_dictionary(cells.type)
    texts = cells.dictionary if coded else cells
    if not is_text(texts.type):
        return np.zeros(len(cells), np.int64)
    lengths = pc.binary_length(texts)
    lengths = lengths.take(cells.indices) if coded else lengths
    return lengths.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)


def in_parquet(kind: pa.DataType) -> pa.DataType:
    """Return the type in which Parquet stores an Arrow type; Parquet lacks seconds and 64-bit dates."""
    if kind == pa.date64():
        return pa.date32()
    if kind == pa.time32("s"):
        return pa.time32("ms")
    return pa.timestamp("ms", kind.tz) if pa.types.is_timestamp(kind) and kind.unit == "s" else kind


def indexed(array: pa.ChunkedArray) -> tuple[NDArray[np.int64], pa.Array]:
    """Return each cell's position in a dictionary (-1 if missing) and the dictionary, in order of appearance."""
    if pa.types.is_null(array.type):
        return np.full(len(array), -1), pa.array([], pa.string())
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    if pa.types.is_dictionary(array.type):
        coded = array.unify_dictionaries() if array.num_chunks > 1 else array
    else:
        coded = array.dictionary_encode()  # one dictionary for all chunks
    if not coded.num_chunks:
        return np.empty(0, dtype=np.int64), pa.array([], coded.type.value_type)
    parts = [filled(c.indices.cast(pa.int32()), -1).to_numpy() for c in coded.chunks]
    return np.concatenate(parts, dtype=np.int64), coded.chunk(0).dictionary


def since_1970(numbers: pa.Array, unit: str) -> pa.Array:
    """Return whole days or microseconds since 1970 as dates or time stamps."""
    if unit == "day":
        return numbers.cast(pa.int32()).cast(pa.date32())
    return numbers.cast(pa.int64()).cast(pa.timestamp("us"))


def as_text(values: pa.Array) -> pa.Array:
    """Return distinct values as category names; missing values stay missing."""
    kind = values.type
    if pa.types.is_floating(kind):
        exact = values.cast(pa.float64()).to_pylist()
        return pa.array([None if v is None or v != v else number(v) for v in exact], pa.string())
    if pa.types.is_timestamp(kind):
        exactly = microseconds(values)
        return pa.array([None if v is None else moment(v, "us") for v in exactly], pa.string())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values
    try:
        return values.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        try:
            return pa.array(python_texts(values), pa.string())
        except OverflowError:
            raise beyond_years() from None


def python_texts(cells: pa.Array) -> list[str | None]:
    """Return each cell as Python writes its value, bytes in hexadecimal; missing cells stay missing."""
    return [None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in cells.to_pylist()]


_CLASSES: Mapping[str, Callable[[pa.DataType], bool]] = {
    "missing": pa.types.is_null,
    "text": is_text,
    "boolean": pa.types.is_boolean,
    "number": is_number,
    "date": is_moment,
    "time": _any_of(pa.types.is_time, pa.types.is_duration),
    "bytes": _any_of(
        pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view
    ),
}


def holds_text(kind: pa.DataType, text: str) -> bool:
    """Return whether cells of a type can hold a text, and show it as it is."""
    try:
        return text == str(pa.scalar(text).cast(value_type(kind)).as_py())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values; for a dictionary, the type of its entries."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def value_class(kind: pa.DataType) -> str:
    """Return the class in which values of an Arrow type are compared, such as "number"; "missing" for nulls."""
    if pa.types.is_dictionary(kind):
        return value_class(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return value_class(kind.storage_type)
    return next((name for name, holds in _CLASSES.items() if holds(kind)), "other")


def as_entries(cells: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the distinct cells, perhaps with a missing one, and the position of each cell among them."""
    if pa.types.is_dictionary(cells.type):
        entries, codes = cells.dictionary, cells.indices.cast(pa.int32())
        if codes.null_count:
            # missing is an entry like any other, so that equal codes mean equal cells
            codes = codes.fill_null(len(entries))
            entries = pa.concat_arrays([entries, pa.nulls(1, entries.type)])
        return entries, codes
    coded = pc.dictionary_encode(cells, null_encoding="encode")
    return coded.dictionary, coded.indices


def inexact(names: Sequence[str]) -> SchemaError:
    """Build the error for columns with numbers that doubles cannot represent."""
    return SchemaError(
        "numbers that doubles cannot hold (whole ones beyond 2^53, more than 15 digits, parts of microseconds) "
        f"in: {reprs(names)}",
        hint="round them, give them in another unit, or declare the column categorical",
    )


def beyond_doubles(array: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether an array holds numbers, or times in microseconds, that doubles cannot represent."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        counts = array.drop_null().cast(pa.int64()).to_numpy()
        if kind.unit == "ns":
            whole = counts // 1_000
            if (whole * 1_000 != counts).any():
                return True
            counts = whole
        elif kind.unit != "us":
            counts = counts * int(_MICROSECONDS[kind.unit])
        if not len(counts) or (counts.min() >= -_EXACT and counts.max() <= _EXACT):
            return False
        return bool((counts.astype(np.float64).astype(np.int64) != counts).any())
    if kind not in (pa.int64(), pa.uint64()) and not pa.types.is_decimal(kind):
        return False
    ends = [abs(end) for end in pc.min_max(array).as_py().values() if end is not None]
    if not pa.types.is_decimal(kind):
        return max(ends, default=0) > _EXACT
    if max(ends, default=0) < _DIGITS.scaleb(-kind.scale):
        return False
    values = array.unique().drop_null()
    # through the shortest text: 0.1 is the double nearest to it and not exactly that double
    near = map(Decimal, map(number, floats(values).to_pylist()))
    return any(a != b for a, b in zip(near, values.to_pylist(), strict=True))


def floats(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Convert numbers to the nearest doubles."""
    if pa.types.is_decimal(array.type):  # Arrow's own cast is off by a bit now and then
        array = array.cast(pa.string())
    return array.cast(pa.float64(), safe=False)


def decimals(texts: pa.Array) -> pa.Array | None:
    """Convert texts of numbers to decimals if doubles cannot represent them all; otherwise return None.

    A number with a fraction is what its double is, unless it has more than 17 digits.

    Raises
    ------
    pyarrow.ArrowInvalid
        Decimals do not hold them either.
    """
    texts = pc.utf8_trim_whitespace(texts)
    long = texts.filter(pc.match_substring_regex(texts, _LONG)).drop_null().to_pylist()
    if all(Decimal(text) == Decimal(number(float(text))) for text in long):
        return None
    return pa.array([Decimal(text) if text else None for text in texts.to_pylist()])


def microseconds(stamps: pa.Array) -> list[Any]:
    """Return time stamps as exact numbers of microseconds since 1970; None if missing."""
    counts = stamps.cast(pa.int64()).to_pylist()
    per = _MICROSECONDS[stamps.type.unit]
    return [None if c is None else c * per if c * per % 1 else int(c * per) for c in counts]


def trial(n: int) -> int:
    """Return the size of the sample that decides between hashing and sorting n values."""
    return max(_TRIAL, n // 16)


def mostly_distinct(n_distinct: int, n: int) -> bool:
    """Return whether the sample has so many distinct values that sorting all n is faster than hashing.

    Only time depends on the answer, never a result.
    """
    return n_distinct * 2 > trial(n)
