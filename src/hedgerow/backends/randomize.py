"""Randomized response for the columns of a table, with keyed draws."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.arrays import slices, value_class, value_type
from ..columns.column import Column, smallest
from ..columns.row_hashes import RowHasher, Words, key_words
from ..columns.table import Table, Window
from ..errors import PlanError
from ..kernels.siphash import draw, siphash_words
from ..kernels.threads import streamed
from ..key import Key
from ..plan.fields import plain
from ..plan.recodings import Randomize, Randomized
from .base import Transformed
from .column_maps import places
from .release_order import ReleasedCodes

_HASHED = 1 << 17
# the purpose of the words that number equal rows
NUMBER = "row number"


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table as keyed ids, with a fingerprint of the whole table.

    Parameters
    ----------
    key : Key
    ids : uint64 array of shape (n,)
        One id per row.
    fingerprint : pair of int
        Number of rows, and the sum (modulo 2**128) of their hashes: it identifies
        the table in any row order, and cannot be computed without the key.
    """

    key: Key
    ids: Words
    fingerprint: tuple[int, int]

    @classmethod
    def from_table(cls, table: Table, key: Key, row_id: str | None = None) -> Rows:
        """Hash every row of a table under a key.

        Parameters
        ----------
        table : Table
        key : Key
        row_id : str, optional
            A column of unique ids, hashed instead of the whole row.

        Raises
        ------
        PlanError
            There is no such column, or its values are missing or not unique.
        """
        first, second, whole = hashes(table, table.names, key)
        if row_id is not None:
            check_row_id(table, row_id)
            first, second, _ = hashes(table, [row_id], key)
            _check_ids(table, row_id, first, second)
        return cls(key, numbered(first, second, key_words(key, NUMBER)), (table.n_rows, whole))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """Return the row numbers sorted by id, an order that depends on content alone; shape (n_rows,)."""
        return np.argsort(self.ids)  # ids are distinct

    def sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values of the rows, rearranged into `order`."""
        return values[self.order]

    def back(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return values that are in `order`, rearranged into the order of the table."""
        unsorted = np.empty_like(values)
        unsorted[self.order] = values
        return unsorted

    def under(self, key: Key) -> Rows:
        """Return the same rows with ids, and therefore an order, derived under another key."""
        return Rows(key, words_of(self.ids, key, "order"), self.fingerprint)

    def normals(self, key: Key, purpose: str) -> NDArray[np.float64]:
        """Return a standard normal number for each row, drawn under a key for one purpose."""
        return normal(words_of(self.ids, key, purpose))

    def release_key(self, parameters: Mapping[str, object]) -> Key:
        """Return the key for one release, derived from the table and the parameters of the release.

        The same call gives the same draws; any other table, or other parameters, draw
        independently, so that two releases under one key do not show which values were kept.
        """
        return release_key(self.key, self.fingerprint, parameters)


def release_key(key: Key, fingerprint: tuple[int, int], parameters: Mapping[str, object]) -> Key:
    """Return the key for one release of the table with this fingerprint; see `Rows.release_key`."""
    return key.bound(json.dumps([fingerprint, parameters], sort_keys=True))


def sequence(key: Key, purpose: str, n: int) -> Words:
    """Return n pseudorandom 64-bit words, drawn under a key for one purpose."""
    return siphash_words(np.arange(n, dtype=np.uint64), *key_words(key, purpose))


def words_of(ids: Words, key: Key, purpose: str) -> Words:
    """Return a pseudorandom 64-bit word for each row id, drawn under a key for one purpose."""
    return siphash_words(ids, *key_words(key, purpose))


def uniforms(words: Words) -> NDArray[np.float64]:
    """Convert 64-bit words to numbers in [0, 1)."""
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal(words: Words) -> NDArray[np.float64]:
    """Convert 64-bit words to standard normal numbers, by the inverse of the normal distribution function."""
    from scipy.special import ndtri

    # the middles of 2**52 equal parts, exact in a double: never 0 or 1
    return np.asarray(ndtri(((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52))


def numbered(first: Words, second: Words, key: tuple[np.uint64, np.uint64]) -> Words:
    """Return a distinct 64-bit id for each row, made from the two words of its hash.

    Rows that share the first word are numbered. Rows that share both are equal, so it does not
    matter which of them gets which number. `key` holds the key words for the purpose `NUMBER`.
    """
    order = np.argsort(first)
    same = np.append(False, first[order[1:]] == first[order[:-1]])
    shared = same | np.append(same[1:], False)
    # different rows share a word with a chance of n^2 / 2^65, so nearly all of these are equal rows
    rows, same = order[shared], same[shared]
    if (second[rows[1:]] != second[rows[:-1]])[same[1:]].any():
        rows = rows[np.lexsort((second[rows], first[rows]))]
    start = np.maximum.accumulate(np.where(same, 0, np.arange(len(rows))))
    number = (np.arange(len(rows)) - start).astype(np.uint64)
    ids = first.copy()
    ids[rows] = siphash_words(first[rows] + number, *key)
    return ids


def hasher_of(table: Table, names: Sequence[str], key: Key) -> RowHasher:
    """Return a hasher of a table's rows over the named columns."""
    return RowHasher({name: value_class(table.types.field(name).type) for name in names}, key)


def hashes(table: Table, names: Sequence[str], key: Key) -> tuple[Words, Words, int]:
    """Return a 128-bit hash of each row's named columns, as two words, and the sum of all hashes modulo 2^128.

    The hashes do not depend on the order of rows and columns.
    """
    hasher = hasher_of(table, names, key)
    first, second = (table.allocate((table.n_rows,), np.uint64) for _ in range(2))

    def add(window: Window) -> int:
        rows = window.rows
        # windows are disjoint, so threads write to their own rows
        first[rows] = second[rows] = 0
        return hasher.hash_into([window.cells[n] for n in names], first[rows], second[rows])

    return first, second, sum(streamed(add, table.windows(names, _HASHED))) % (1 << 128)


def _check_ids(table: Table, name: str, first: Words, second: Words) -> None:
    """Raise PlanError if row ids are missing or if two of them have the same hash."""
    missing = sum(w.cells[name].null_count for w in table.windows([name], _HASHED))
    order = np.lexsort((second, first))
    same = (np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)
    refuse_ids(name, missing, int(np.count_nonzero(same)))


def check_row_id(table: Table, name: str) -> None:
    """Raise PlanError if the table lacks the column of row ids."""
    if name not in table.names:
        raise PlanError(f"the plan draws by the row id {name!r}, and the table has no such column")


def refuse_ids(name: str, missing: int, again: int) -> None:
    """Raise PlanError if any row id is missing or repeated."""
    doubled = again - max(missing - 1, 0)
    if missing or doubled:
        raise PlanError(
            f"the row id {name!r} has {missing:,} missing and {doubled:,} repeated values",
            hint="row ids are unique: equal ids would get equal draws",
        )


_WINDOW = 1 << 20
# the purpose of a column's words, before its name
PURPOSE = "column "


def original_codes(table: Table, column: Randomized) -> NDArray[np.unsignedinteger]:
    """Return the index of each row's category in the plan; d if the plan does not list the row's value."""
    coded = table.like(column)
    # categories are matched once for each distinct value, and looked up for each row
    lookup = category_of_code(coded, column)
    codes = table.allocate((table.n_rows,), lookup.dtype)
    for here in slices(table.n_rows, _WINDOW):
        codes[here] = lookup[coded.codes[here]]
    return codes


def category_of_code(coded: Column, column: Randomized) -> NDArray[np.unsignedinteger]:
    """Return the index of the plan's category for each code of a column; d if the plan does not list it."""
    lost = column.d - (column.categories[-1] is None)
    return np.append(places(column, coded), lost).astype(smallest(column.d + 1))


def bound_to(plan: Randomize) -> dict[str, object]:
    """Return the parameters of a plan that its random draws depend on."""
    return {"columns": [plain(column) for column in plan.columns], "row_id": plan.row_id, "bound": plan.bound}


def execute(plan: Randomize, table: Table, key: Key | None) -> Transformed:
    """Return the randomized columns; cells count as outside if the plan does not list their value.

    Parameters
    ----------
    plan : Randomize
    table : Table
    key : Key, optional
        The same key, table and plan give the same draws, whatever the row order; another
        table or plan draws independently. By default a fresh key, which is forgotten.
    """
    key = key or Key.new()
    rows = Rows.from_table(table, key, plan.row_id)
    columns, outside = drawn_columns(plan, table, rows.release_key(bound_to(plan)))
    released = {}
    for column in columns:
        codes, name = original_codes(table, column.plan), column.plan.name
        for here in slices(table.n_rows, _WINDOW):
            codes[here] = column.randomized(codes[here], rows.ids[here])
        table.spill()
        released[name] = ReleasedCodes(name, column.values.type, column.values, codes, np.arange(len(column.values)))
    return Transformed(released, outside)


@dataclass(frozen=True)
class DrawnColumn:
    """A column to randomize: its plan, the words to draw by, if it is drawn, and the released values."""

    plan: Randomized
    words: tuple[int, int] | None
    values: pa.Array

    def randomized(self, codes: NDArray[Any], ids: Words) -> NDArray[Any]:
        """Return the category of each row after the draw, given the one before it and the row's id."""
        return codes if self.words is None else draw(codes, ids, self.words, self.plan.p, self.plan.d)


def drawn_columns(plan: Randomize, table: Table, draws: Key) -> tuple[list[DrawnColumn], int]:
    """Return the columns to randomize, and the number of cells whose value the plan does not list."""
    columns, outside = [], 0
    for column in plan.columns:
        coded = table.like(column)
        unknown = int(coded.counts()[category_of_code(coded, column) == column.d].sum())
        outside += unknown
        # a value that the plan does not list is always drawn, even if p is 1
        words = draws.words(PURPOSE + column.name) if column.p < 1 or unknown else None
        columns.append(DrawnColumn(column, words, released_values(column, table.types.field(column.name).type)))
    return columns, outside


def released_values(column: Randomized, wanted: pa.DataType) -> pa.Array:
    """Return the released values in the column's own type if it can hold them, otherwise as doubles or text."""
    labels = list(column.categories)
    has_numbers = any(isinstance(label, float) for label in labels)
    values = pa.array(labels, pa.float64() if has_numbers else pa.string())
    # a range or a text does not fit the type of numbers
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = values.cast(value_type(wanted))
    return values
