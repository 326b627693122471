"""Rows told apart by what they hold, never by where they stand, and what is drawn for each.

A row's id is a keyed hash of the whole row (or of a declared id); rows that are alike in
every column are numbered. So the order of a table changes no draw, and whoever lacks the
key cannot tell which id a row has.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..errors import PlanError
from ..kernels.draws import siphash_bytes, siphash_words
from ..kernels.threads import PARTS, side_by_side
from ..key import Key
from ..table import Table
from ..table.encode import as_text, indexed, is_text

Words = NDArray[np.uint64]

_EXACT = 1 << 53
_MISSING = np.uint64(0x6E6F2076616C7565)
_WHOLE = np.uint64(0x77686F6C65206E6F)  # tells large whole numbers from the bits of doubles


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table under a key.

    Parameters
    ----------
    key : Key
    ids : uint64 array of shape (n,)
        One id a row.
    fingerprint : tuple of three int
        Number of rows, and the sums (modulo 2**64) of their hashes and of hashes of
        these: it knows the table again in any order, and nobody without the key can make it.
    """

    key: Key
    ids: Words
    fingerprint: tuple[int, int, int]

    @classmethod
    def of(cls, table: Table, key: Key, row_id: str | None = None) -> Rows:
        """Hash every row of a table.

        Parameters
        ----------
        table : Table
        key : Key
        row_id : str, optional
            A column of ids that tells the rows apart instead.

        Raises
        ------
        PlanError
            There is no such column, or its values are missing or not unique.
        """
        hashes = row_hashes(table.arrow, key)
        again = words_of(hashes, key, "fingerprint")
        sums = (int(hashes.sum(dtype=np.uint64)), int(again.sum(dtype=np.uint64)))
        if row_id is not None:
            return cls(key, _declared(table, row_id, key), (table.n_rows, *sums))

        def other_half(rows: NDArray[np.intp]) -> Words:
            return row_hashes(table.arrow.take(pa.array(rows)), key, 1)

        return cls(key, _numbered(hashes, other_half, key), (table.n_rows, *sums))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The rows in an order that their content gives."""
        return np.argsort(self.ids, kind="stable")

    def sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the rows, in `order`."""
        return values[self.order]

    def back(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values that stand in `order`, in the order of the table."""
        made = np.empty_like(values)
        made[self.order] = values
        return made

    def under(self, key: Key) -> Rows:
        """The same rows with ids, and so an order, that another key gives."""
        return Rows(key, words_of(self.ids, key, "order"), self.fingerprint)

    def normals(self, key: Key, purpose: str) -> NDArray[np.float64]:
        """A standard normal number for every row, drawn under a key for one purpose."""
        return normal(words_of(self.ids, key, purpose))

    def release_key(self, parameters: Mapping[str, Any]) -> Key:
        """The key of one release: bound to this table and to what is done with it.

        The same call gives the same draws; any other table, or other parameters, draw
        independently, so that two releases under one key do not tell which values were kept.
        """
        return self.key.bound(json.dumps([self.fingerprint, parameters], sort_keys=True))


def row_hashes(arrow: pa.Table, key: Key, half: int = 0) -> Words:
    """A keyed 64-bit hash of every row, whatever the order of the columns.

    Values are hashed, not their types: a whole number hashes alike as integer and as double,
    a text alike as dictionary entry and by itself. A row's hash is the sum over its columns
    (modulo 2**64) of what each column's own key makes of the cell.

    Parameters
    ----------
    arrow : pyarrow.Table
    key : Key
    half : int
        Hashes of different halves are independent: rows that share one rarely share another.
    """

    def one(name: str) -> Words:
        places, entries = _entries(arrow.column(name))
        hashed = _hashed(entries, key, f"row {half} {name}")
        return hashed if places is None else hashed[places]

    made = np.zeros(arrow.num_rows, np.uint64)
    names = arrow.column_names
    for at in range(0, len(names), PARTS):
        part = names[at : at + PARTS]
        for hashed in side_by_side(one, part, arrow.num_rows * len(part)):
            made += hashed
    return made


def sequence(key: Key, purpose: str, n: int) -> Words:
    """n keyed 64-bit words for one purpose."""
    return siphash_words(np.arange(n, dtype=np.uint64), *_pair(key, purpose))


def words_of(ids: Words, key: Key, purpose: str) -> Words:
    """A keyed 64-bit word for every row."""
    return siphash_words(ids, *_pair(key, purpose))


def normal(words: Words) -> NDArray[np.float64]:
    """Standard normal numbers of words, by the inverse of the normal distribution."""
    from scipy.special import ndtri

    # the middles of 2**52 equal parts, exact in a double: never 0 or 1
    middles = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return np.asarray(ndtri(middles))


def _pair(key: Key, purpose: str) -> tuple[np.uint64, np.uint64]:
    first, second = key.words(purpose)
    return np.uint64(first), np.uint64(second)


def _numbered(first: Words, other_half: Callable[[NDArray[np.intp]], Words], key: Key) -> Words:
    """Ids from hashes; rows that share one are told apart by the other half, then numbered.

    Rows that share both are alike, so which of them has which number is no matter.
    """
    order = np.argsort(first, kind="stable")
    ranked = first[order]
    again = np.flatnonzero(ranked[1:] == ranked[:-1]) + 1
    if not len(again):
        return first
    shared = np.unique(np.concatenate([again - 1, again]))
    rows = order[shared]
    rows = rows[np.lexsort((other_half(rows), first[rows]))]
    new = np.ones(len(rows), bool)
    new[1:] = first[rows[1:]] != first[rows[:-1]]
    start = np.maximum.accumulate(np.where(new, np.arange(len(rows)), 0))
    number = (np.arange(len(rows)) - start).astype(np.uint64)
    ids = first.copy()
    ids[rows] = words_of(first[rows] + number, key, "row number")
    return ids


def _declared(table: Table, name: str, key: Key) -> Words:
    """Ids from a column of ids."""
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
    places, entries = _entries(column)
    hashed = _hashed(entries, key, "row id")
    return hashed if places is None else hashed[places]


def _entries(column: pa.ChunkedArray) -> tuple[NDArray[np.int64] | None, pa.Array | Words]:
    """What is hashed, and where each row's stands (None: row by row).

    Numbers, dates and booleans are hashed as 64-bit words, everything else as text, the
    last entry being that of missing cells.
    """
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.chunked_array([c.storage for c in column.chunks], kind.storage_type)
        kind = column.type
    if not (is_text(kind) or pa.types.is_dictionary(kind) or pa.types.is_null(kind)):
        words = _numbers(column)
        if words is not None:
            return None, words
    if pa.types.is_nested(kind):
        column = pa.chunked_array([as_text(chunk) for chunk in column.chunks], pa.string())
    places, values = indexed(column)
    words = None if is_text(values.type) else _numbers(values)
    if words is not None:
        return places, np.append(words, _MISSING)
    return places, pa.concat_arrays([_large(as_text(values)), pa.nulls(1, pa.large_string())])


def _numbers(array: Any) -> Words | None:
    """The words of numbers, dates and booleans; None for other types."""
    kind, missing = array.type, array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(kind):
        array = array.cast(pa.uint8())
    elif pa.types.is_date(kind):
        array = array.cast(pa.timestamp("us")).cast(pa.int64())
    elif pa.types.is_timestamp(kind):
        array = array.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
    if pa.types.is_floating(array.type):
        values = array.cast(pa.float64()).fill_null(np.nan).to_numpy() + 0.0  # one zero
        return np.where(np.isnan(values), _MISSING, values.view(np.uint64))
    if not pa.types.is_integer(array.type):
        return None
    whole = array.fill_null(0).to_numpy()
    words = whole.astype(np.float64).view(np.uint64)
    if whole.dtype.itemsize == 8:
        large = whole > _EXACT
        if whole.dtype.kind == "i":
            large |= whole < -_EXACT
        words[large] = whole[large].astype(np.uint64) ^ _WHOLE
    words[missing] = _MISSING
    return words


def _hashed(entries: pa.Array | Words, key: Key, purpose: str) -> Words:
    """Keyed hashes of words or of texts; a missing text has one of its own."""
    first, second = _pair(key, purpose)
    if isinstance(entries, np.ndarray):
        return siphash_words(entries, first, second)
    _, offsets, data = entries.buffers()
    ends = np.frombuffer(offsets, np.int64)[entries.offset : entries.offset + len(entries) + 1]
    raw = np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
    made = siphash_bytes(raw, ends, first, second)
    missing = entries.is_null().to_numpy(zero_copy_only=False)
    made[missing] = siphash_words(np.full(1, _MISSING), first, second)
    return made


def _large(texts: pa.Array) -> pa.Array:
    return texts.cast(pa.large_string())
