"""Sum keyed hashes of a table's rows: the same rows have the same sum, in any order.

Values are compared as a reader sees them, by the class of their column:

- *number*: integers, doubles and decimals by their exact value, so that 1 is 1.0; 0.0
  equals -0.0, unless a column is `signed`; NaN is missing;
- *date*: dates and time stamps by their moment;
- *boolean*, *text*, *bytes*, *time*: by their own values; the text "1" is not the number 1;
- *other* (lists, structs): by their plain text.

Missing cells are equal, and a dictionary is compared by its values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..kernels.siphash import add_codes, hash_texts, hash_words, sum_rows
from ..key import Key
from ..notation import DAY, number
from .arrays import filled, same_memory, storage, value_class

Words = NDArray[np.uint64]


# how a cell is hashed, each under a key of its own: a 64-bit word (of a number: its double), a
# whole number that no double holds (and its negative), a text; nothing; a cell of another class
FORMS = ("word", "large", "negative", "text", "missing", "strange")


_WORD, _LARGE, _NEGATIVE, _TEXT, _MISSING, _STRANGE = range(len(FORMS))


_EXACT = 1 << 53


# dictionaries of a column whose hashes are cached: two tables, in parts, have some each
_DICTIONARIES = 4


_LEAST = {pa.int8(): -(1 << 7), pa.uint8(): 0, pa.int16(): -(1 << 15), pa.uint16(): 0}


_BY_ENTRY = ("text", "bytes", "time")


_BOTH = pa.array([False, True, None])


@dataclass(frozen=True)
class RowSums:
    """Sums of row hashes, by which the same rows are recognised in any order.

    Sums of parts add up. Two tables of the same columns have the same sums under one fresh
    key when they hold the same rows, and otherwise with a chance of some 2^-120.

    Parameters
    ----------
    n_rows : int
    whole : int
        Sum modulo 2^128 of the hashes of whole rows.
    columns : tuple of pairs of int
        For every column the sums modulo 2^64 of both halves of its cells' hashes.
    """

    n_rows: int
    whole: int
    columns: tuple[tuple[int, int], ...]

    def __add__(self, other: RowSums) -> RowSums:
        pairs = zip(self.columns, other.columns, strict=True)
        columns = tuple(((a + c) % (1 << 64), (b + d) % (1 << 64)) for (a, b), (c, d) in pairs)
        return RowSums(self.n_rows + other.n_rows, (self.whole + other.whole) % (1 << 128), columns)


class RowHasher:
    """A hasher of rows under one key, for a fixed list of columns.

    Parameters
    ----------
    classes : mapping of str to str
        The column names in order, each with its value class (such as "number" or "text"): values are
        compared after conversion to it.
    key : Key
        A key that is new for every comparison, so that nobody can construct rows that collide.
    signed : sequence of str
        Columns in which -0.0 differs from 0.0.

    Examples
    --------
    >>> hasher = RowHasher({"age": "number", "job": "text"}, Key.new())
    >>> people = hasher.add([pa.array([30, 40]), pa.array(["cook", "nurse"])])
    >>> people == hasher.add([pa.array([40.0, 30.0]), pa.array(["nurse", "cook"])])
    True
    >>> mixed = hasher.add([pa.array([30, 40]), pa.array(["nurse", "cook"])])
    >>> mixed.columns == people.columns, mixed.whole == people.whole
    (True, False)
    """

    def __init__(self, classes: Mapping[str, str], key: Key, signed: Sequence[str] = ()) -> None:
        self._columns = [_Column(key, name, kind, name in signed) for name, kind in classes.items()]
        self._key = key_words(key, "row")

    def zero(self) -> RowSums:
        """Return the sums for no rows."""
        return RowSums(0, 0, ((0, 0),) * len(self._columns))

    def add(self, columns: Sequence[pa.Array]) -> RowSums:
        """Return the sums for the given rows, passed as one array per column."""
        return self.add_both(columns, columns)[0]

    def add_both(self, columns: Sequence[pa.Array], others: Sequence[pa.Array]) -> tuple[RowSums, RowSums]:
        """Return the sums for rows of two tables, hashing columns that share their memory only once."""
        n = len(columns[0]) if columns else 0
        shared = [same_memory(a, b) for a, b in zip(columns, others, strict=True)]
        both = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
        shared_sums = {j: self._columns[j].add(columns[j], *both) for j, same in enumerate(shared) if same}
        sums_of_tables = []
        for arrays in (columns,) if all(shared) else (columns, others):
            first, second = both[0].copy(), both[1].copy()
            sums = tuple(
                shared_sums[j] if j in shared_sums else self._columns[j].add(array, first, second)
                for j, array in enumerate(arrays)
            )
            sums_of_tables.append(RowSums(n, self._whole(first, second), sums))
        return sums_of_tables[0], sums_of_tables[-1]

    def hash_into(self, columns: Sequence[pa.Array], first: Words, second: Words) -> int:
        """Add the hashes of the given rows to two arrays of zeros, and return the sum of the hashes."""
        for column, array in zip(self._columns, columns, strict=True):
            column.add(array, first, second)
        return self._whole(first, second)

    def _whole(self, first: Words, second: Words) -> int:
        low, high = sum_rows(first, second, *self._key)
        return (int(high) << 64) | int(low)


class _Column:
    """A keyed hash for the cells of one column."""

    def __init__(self, key: Key, purpose: str, kind: str, signed: bool) -> None:
        self.kind, self.signed = kind, signed
        self._keys = [key_words(key, f"{form} {purpose}") for form in FORMS]
        self._cache: tuple[tuple[Any, pa.Array, tuple[Words, Words]], ...] = ()

    def add(self, array: pa.Array, first: Words, second: Words) -> tuple[int, int]:
        """Add the hash of each cell to its row, and return the sums for this column alone."""
        array = storage(array)
        if value_class(array.type) in _BY_ENTRY or pa.types.is_decimal(array.type):
            array = array.dictionary_encode()
        if pa.types.is_boolean(array.type):
            codes = filled(array.cast(pa.uint8()), 2).cast(pa.int32())
            array = pa.DictionaryArray.from_arrays(codes, _BOTH, safe=False)
        if pa.types.is_dictionary(array.type):
            entries, codes = array.dictionary, array.indices.cast(pa.int32())
            addresses = (b.address if b is not None else 0 for b in entries.buffers())
            name = (entries.type, entries.offset, len(entries), *addresses)
            codes, tables = filled(codes, len(entries)).to_numpy(), self._tables(name, entries)
        elif array.type in _LEAST:
            # 65,536 hashes at most: cheaper than listing the column's values
            codes, tables = self._of_small(array)
        else:
            a, b = self._hashed(canonical(array, self.kind, self.signed))
            first += a
            second += b
            return int(a.sum()), int(b.sum())
        one, two = add_codes(codes, *tables, first, second)
        return int(one), int(two)

    def _of_small(self, array: pa.Array) -> tuple[NDArray[np.int32], tuple[Words, Words]]:
        """Return integers of up to 16 bits as codes, and the hashes of all values of their type."""
        low, count = _LEAST[array.type], 1 << array.type.bit_width
        codes = filled(array, 0).to_numpy().astype(np.int32) - low
        if array.null_count:
            codes[array.is_null().to_numpy(zero_copy_only=False)] = count
        every = np.arange(low, low + count).astype(array.type.to_pandas_dtype())
        return codes, self._tables(array.type, pa.array(every))

    def _tables(self, name: Any, entries: pa.Array) -> tuple[Words, Words]:
        """Return the hash of each dictionary entry and, last, of a missing cell; cached for the next rows."""
        for cached_name, _, tables in self._cache:
            if cached_name == name:
                return tables
        every = pa.concat_arrays([entries, pa.nulls(1, entries.type)])
        hashes = self._hashed(canonical(every, self.kind, self.signed))
        # the cache keeps the entries alive, so that nothing else can get their address
        self._cache = ((name, entries, hashes), *self._cache[: _DICTIONARIES - 1])
        return hashes

    def _hashed(self, cells: Cells) -> tuple[Words, Words]:
        first, second = np.empty(len(cells.form), np.uint64), np.empty(len(cells.form), np.uint64)
        # nearly every column: plain words alone
        if not cells.form.any():
            hash_words(cells.words, *self._keys[_WORD], first, second)
            return first, second
        for form, key in enumerate(self._keys):
            here = np.flatnonzero(cells.form == form)
            if not len(here):
                continue
            a, b = np.empty(len(here), np.uint64), np.empty(len(here), np.uint64)
            if form in (_TEXT, _STRANGE):
                hash_texts(*cells.bytes(here), *key, a, b)
            else:
                hash_words(cells.words[here], *key, a, b)
            first[here], second[here] = a, b
        return first, second


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells in a canonical form, in which equal values are equal words or texts.

    Parameters
    ----------
    words : uint64 array of shape (n,)
    form : uint8 array of shape (n,)
        Position in `FORMS`.
    texts : pyarrow array of large binary, or None
        The texts of cells whose form is a text.
    """

    words: Words
    form: NDArray[np.uint8]
    texts: pa.Array | None = None

    def bytes(self, here: NDArray[np.intp]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the concatenated bytes of the given texts, and the offsets at which they begin and end."""
        assert self.texts is not None
        chosen = self.texts.take(pa.array(here)).fill_null(b"")
        _, offsets, data = chosen.buffers()
        ends = np.frombuffer(offsets, np.int64)[chosen.offset : chosen.offset + len(chosen) + 1]
        empty = data is None or not data.size
        return np.zeros(1, np.uint8) if empty else np.frombuffer(data, np.uint8), ends


def canonical(array: pa.Array, kind: str, signed: bool = False) -> Cells:
    """Convert cells to the form in which columns of class `kind` are compared.

    Parameters
    ----------
    array : pyarrow.Array
        Not a dictionary.
    kind : str
        The class of the column; a cell of another class equals none of its cells.
    signed : bool
        Whether -0.0 differs from 0.0.
    """
    own_class = value_class(array.type)
    missing = array.is_null().to_numpy(zero_copy_only=False)
    words = np.zeros(len(array), np.uint64)
    form = np.full(len(array), _WORD, np.uint8)
    texts = None
    if own_class not in (kind, "missing"):
        form[:], texts = _STRANGE, _plain_text(array)
    elif pa.types.is_floating(array.type):
        values = filled(array.cast(pa.float64()), 0.0).to_numpy() + (-0.0 if signed else 0.0)
        words, missing = values.view(np.uint64), missing | np.isnan(values)
    elif pa.types.is_integer(array.type):
        words, form = _whole(filled(array, 0).to_numpy())
    elif own_class == "number":
        words, form, texts = _decimals(array.to_pylist())
    elif own_class == "boolean":
        words = filled(array.cast(pa.uint8()), 0).to_numpy().astype(np.uint64)
    elif own_class == "date":
        words, form = _moments(array)
    elif own_class != "missing":
        form[:] = _TEXT
        texts = array.cast(pa.large_binary()) if own_class in ("text", "bytes") else _plain_text(array)
    if missing.any():
        words, form = np.where(missing, np.uint64(0), words), np.where(missing, _MISSING, form)
    return Cells(words, form.astype(np.uint8), texts)


def _whole(values: NDArray[Any]) -> tuple[Words, NDArray[np.uint8]]:
    """Return the word and the form of each integer: its double if that is exact, otherwise the integer itself."""
    words = values.astype(np.float64).view(np.uint64)
    form = np.full(len(values), _WORD, np.uint8)
    if values.dtype.itemsize == 8 and len(values) and (values.max() > _EXACT or values.min() < -_EXACT):
        for i in np.flatnonzero((values > _EXACT) | (values < -_EXACT if values.dtype.kind == "i" else False)):
            words[i], form[i] = _number(int(values[i]))
    return words, form


def _number(value: int) -> tuple[int, int]:
    """Return the word and the form of one integer that fits into 64 bits."""
    if int(float(value)) == value:
        return int(np.float64(value).view(np.uint64)), _WORD
    return abs(value), _NEGATIVE if value < 0 else _LARGE


def _decimals(values: Sequence[Decimal | None]) -> tuple[Words, NDArray[np.uint8], pa.Array]:
    words, form = np.zeros(len(values), np.uint64), np.full(len(values), _WORD, np.uint8)
    texts: list[bytes | None] = [None] * len(values)
    for i, value in enumerate(values):
        if value is None:
            continue
        if Decimal(float(value)) == value:
            words[i] = np.float64(float(value) + 0.0).view(np.uint64)
        elif value == value.to_integral_value() and abs(value) < 1 << 64:
            words[i], form[i] = _number(int(value))
        else:
            form[i], texts[i] = _TEXT, number(value).encode()
    return words, form, pa.array(texts, pa.large_binary())


def _moments(array: pa.Array) -> tuple[Words, NDArray[np.uint8]]:
    """Return dates and times as microseconds since 1970, or as nanoseconds if microseconds are inexact."""
    kind = array.type
    form = np.full(len(array), _WORD, np.uint8)
    if pa.types.is_date(kind):
        days = filled(array.cast(pa.date32()).cast(pa.int32()), 0).to_numpy()
        return (days.astype(np.int64) * DAY).view(np.uint64), form
    counts = filled(array.cast(pa.int64()), 0).to_numpy()
    if kind.unit != "ns":
        steps = {"s": 1_000_000, "ms": 1_000, "us": 1}[kind.unit]
        return (counts * steps).view(np.uint64), form  # years beyond 290,000 wrap, on both sides
    fractional = counts % 1_000 != 0
    form[fractional] = _LARGE
    return np.where(fractional, counts, counts // 1_000).view(np.uint64), form


def _plain_text(array: pa.Array) -> pa.Array:
    """Return cells of any type as text, in bytes."""
    return pa.array([None if v is None else str(v).encode() for v in array.to_pylist()], pa.large_binary())


def key_words(key: Key, purpose: str) -> tuple[np.uint64, np.uint64]:
    first, second = key.words(purpose)
    return np.uint64(first), np.uint64(second)
