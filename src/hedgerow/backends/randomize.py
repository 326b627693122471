"""Randomized response of a table: keyed draws, column by column."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.column import Column, smallest
from ..columns.row_hashes import Words, key_words, row_hashes
from ..columns.table import Table
from ..errors import PlanError
from ..kernels.siphash import draw, siphash_words
from ..key import Key
from ..plan.fields import plain
from ..plan.recodings import Randomize, Randomized
from .base import Transformed
from .release_order import ReleasedCodes

_HASHED = 1 << 17
NUMBER = "row number"
"""The purpose of the words that number rows which are alike."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a table under a key.

    Parameters
    ----------
    key : Key
    ids : uint64 array of shape (n,)
        One id a row.
    fingerprint : pair of int
        Number of rows, and the sum (modulo 2**128) of their hashes: it knows the table again
        in any order, and nobody without the key can make it.
    """

    key: Key
    ids: Words
    fingerprint: tuple[int, int]

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
        first, second, whole = hashes(table, table.names, key)
        if row_id is not None:
            check_row_id(table, row_id)
            first, second, _ = hashes(table, [row_id], key)
            _check_ids(table, row_id, first, second)
        number = key_words(key, NUMBER)
        return cls(key, numbered(first, second, number), (table.n_rows, whole))

    @cached_property
    def order(self) -> NDArray[np.intp]:
        """The rows in an order that their content gives."""
        return np.argsort(self.ids)  # ids are distinct

    def sorted(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the rows, in `order`."""
        return values[self.order]

    def back(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values that stand in `order`, in the order of the table."""
        unsorted = np.empty_like(values)
        unsorted[self.order] = values
        return unsorted

    def under(self, key: Key) -> Rows:
        """Return the same rows with ids, and so an order, that another key gives."""
        return Rows(key, words_of(self.ids, key, "order"), self.fingerprint)

    def normals(self, key: Key, purpose: str) -> NDArray[np.float64]:
        """Return a standard normal number for every row, drawn under a key for one purpose."""
        return normal(words_of(self.ids, key, purpose))

    def release_key(self, parameters: Mapping[str, Any]) -> Key:
        """Return the key of one release: bound to this table and to what is done with it.

        The same call gives the same draws; any other table, or other parameters, draw
        independently, so that two releases under one key do not tell which values were kept.
        """
        return release_key(self.key, self.fingerprint, parameters)


def release_key(key: Key, fingerprint: tuple[int, int], parameters: Mapping[str, Any]) -> Key:
    """`Rows.release_key`, from the fingerprint of a table."""
    return key.bound(json.dumps([fingerprint, parameters], sort_keys=True))


def sequence(key: Key, purpose: str, n: int) -> Words:
    """n keyed 64-bit words for one purpose."""
    return siphash_words(np.arange(n, dtype=np.uint64), *key_words(key, purpose))


def words_of(ids: Words, key: Key, purpose: str) -> Words:
    """Return a keyed 64-bit word for every row."""
    return siphash_words(ids, *key_words(key, purpose))


def normal(words: Words) -> NDArray[np.float64]:
    """Standard normal numbers of words, by the inverse of the normal distribution."""
    from scipy.special import ndtri

    # the middles of 2**52 equal parts, exact in a double: never 0 or 1
    middles = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
    return np.asarray(ndtri(middles))


def numbered(first: Words, second: Words, key: tuple[np.uint64, np.uint64]) -> Words:
    """Ids from both words of hashes; rows that share the first have a number as well.

    Rows that share both are alike, so which of them has which number is no matter. Rows that share
    the first must be side by side here; `key` are the words of the purpose `NUMBER`.
    """
    order = np.argsort(first)
    same = np.append(False, first[order[1:]] == first[order[:-1]])
    shared = same | np.append(same[1:], False)
    rows, same = order[shared], same[shared]
    if (second[rows[1:]] != second[rows[:-1]])[same[1:]].any():
        rows = rows[np.lexsort((second[rows], first[rows]))]
    start = np.maximum.accumulate(np.where(same, 0, np.arange(len(rows))))
    number = (np.arange(len(rows)) - start).astype(np.uint64)
    ids = first.copy()
    ids[rows] = siphash_words(first[rows] + number, *key)
    return ids


def hashes(table: Table, names: Sequence[str], key: Key) -> tuple[Words, Words, int]:
    """Two words for every row of a table, of what it holds in some columns, and their sum."""
    types = pa.schema([table.types.field(name) for name in names])
    windows = ((w.rows, [w.cells[n] for n in names]) for w in table.windows(names, _HASHED))
    return row_hashes(types, windows, table.n_rows, key, table.allocate)


def _check_ids(table: Table, name: str, first: Words, second: Words) -> None:
    """Return whether the hashes of a column of ids tell every row apart."""
    missing = sum(w.cells[name].null_count for w in table.windows([name], _HASHED))
    order = np.lexsort((second, first))
    same = (np.diff(first[order]) == 0) & (np.diff(second[order]) == 0)
    refuse_ids(name, missing, int(np.count_nonzero(same)))


def check_row_id(table: Table, name: str) -> None:
    """Raise PlanError where a table lacks the column of row ids."""
    if name not in table.names:
        raise PlanError(f"the plan draws by the row id {name!r}, and the table has no such column")


def refuse_ids(name: str, missing: int, again: int) -> None:
    """Raise PlanError where ids are missing, or so many occurred before."""
    doubled = again - max(missing - 1, 0)
    if missing or doubled:
        raise PlanError(
            f"the row id {name!r} has {missing:,} missing and {doubled:,} repeated values",
            hint="row ids are unique: equal ids would get equal draws",
        )


_WINDOW = 1 << 20
PURPOSE = "column "
"""The purpose of a column's words, before its name."""


def execute(plan: Randomize, table: Table, key: Key | None) -> Transformed:
    """Randomize under a key, by default one that is made for this once and forgotten."""
    return Transformed(*randomize(table, plan, key or Key.new()))


def original_codes(table: Table, column: Randomized) -> NDArray[np.unsignedinteger]:
    """Categories of the plan per row; d where the plan does not know the value."""
    coded = table.like(column)
    lookup = category_of_code(coded, column)
    codes = table.allocate((table.n_rows,), lookup.dtype)
    for here in _windows(table):
        codes[here] = lookup[coded.codes[here]]
    return codes


def category_of_code(coded: Column, column: Randomized) -> NDArray[np.unsignedinteger]:
    """Return the plan's category behind each code of a column; d where the plan does not know the value."""
    is_number = column.kind in ("numeric", "date")
    d = column.d
    if is_number:
        place = np.searchsorted(np.asarray(column.cuts), coded.doubles, side="right")
    else:
        place_of = {c: i for i, c in enumerate(column.categories) if c is not None}
        place = np.array([place_of.get(v, d) for v in coded.values], dtype=np.int64)
    lost = d - 1 if column.categories[-1] is None else d
    return np.append(place, lost).astype(smallest(d + 1))


def bound_to(plan: Randomize) -> dict[str, Any]:
    """Return the parameters that the draws of a plan are bound to."""
    columns = [plain(column) for column in plan.columns]
    return {"columns": columns, "row_id": plan.row_id, "bound": plan.bound}


def randomize(table: Table, plan: Randomize, key: Key) -> tuple[dict[str, ReleasedCodes], int]:
    """Return the randomized columns, and how many cells held a value that the plan does not know.

    Parameters
    ----------
    table : Table
    plan : Randomize
    key : Key
        The same key, table and plan give the same draws, whatever the row order; another
        table or plan draws independently.
    """
    rows = Rows.of(table, key, plan.row_id)
    mine = rows.release_key(bound_to(plan))
    released, outside = {}, 0
    for column in plan.columns:
        codes = original_codes(table, column)
        unknown = sum(int(np.count_nonzero(codes[here] == column.d)) for here in _windows(table))
        outside += unknown
        if column.p < 1 or unknown:
            words = mine.words(PURPOSE + column.name)
            for here in _windows(table):
                codes[here] = draw(codes[here], rows.ids[here], words, column.p, column.d)
        table.spill()
        values = released_values(column, table.types.field(column.name).type)
        place = np.arange(len(values))
        released[column.name] = ReleasedCodes(column.name, values.type, values, codes, place)
    return released, outside


def _windows(table: Table) -> Iterator[slice]:
    return (slice(a, a + _WINDOW) for a in range(0, table.n_rows, _WINDOW))


def released_values(column: Randomized, wanted: pa.DataType) -> pa.Array:
    """Return the released values, in the column's own type where it holds them."""
    labels = list(column.categories)
    values = pa.array(labels, pa.float64() if _floats(labels) else pa.string())
    if pa.types.is_dictionary(wanted):
        wanted = wanted.value_type
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = values.cast(wanted)
    return values


def _floats(labels: list[str | float | None]) -> bool:
    return any(isinstance(label, float) for label in labels)
