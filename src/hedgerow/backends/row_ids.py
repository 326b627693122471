"""Rows told apart by what they hold, never by where they stand, and what is drawn for each.

A row's id is a keyed hash of the whole row (or of a declared id); rows that are alike in
every column are numbered. So the order of a table changes no draw, and whoever lacks the
key cannot tell which id a row has.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.row_hashes import Words, key_words, row_hashes
from ..columns.table import Table
from ..errors import PlanError
from ..kernels.siphash import siphash_words
from ..key import Key

_WINDOW = 1 << 17
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
        return release_key(self.key, self.fingerprint, parameters)


def release_key(key: Key, fingerprint: tuple[int, int], parameters: Mapping[str, Any]) -> Key:
    """`Rows.release_key`, from the fingerprint of a table."""
    return key.bound(json.dumps([fingerprint, parameters], sort_keys=True))


def sequence(key: Key, purpose: str, n: int) -> Words:
    """n keyed 64-bit words for one purpose."""
    return siphash_words(np.arange(n, dtype=np.uint64), *key_words(key, purpose))


def words_of(ids: Words, key: Key, purpose: str) -> Words:
    """A keyed 64-bit word for every row."""
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
    windows = ((w.rows, [w.cells[n] for n in names]) for w in table.windows(names, _WINDOW))
    return row_hashes(types, windows, table.n_rows, key, table.allocate)


def _check_ids(table: Table, name: str, first: Words, second: Words) -> None:
    """Whether the hashes of a column of ids tell every row apart."""
    missing = sum(w.cells[name].null_count for w in table.windows([name], _WINDOW))
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
