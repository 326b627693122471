"""The order in which a release is written: by the content of its rows, never by their input order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..io.text_cells import cell_text
from ..kernels import Ints
from ..kernels.sorting import order_of_words
from .arrays import indexed, mostly_distinct, one_piece, trial

Words = NDArray[np.uint64]

_MOST = 1 << 63
_WORD = 8


def content_order(table: pa.Table) -> Ints:
    """Return the row numbers sorted by the rows' text, column by column, bytewise, missing values first.

    Each column is compared only for rows that are tied in all columns before it. Rows with the same
    text in every column keep their order, which the release does not show.

    Parameters
    ----------
    table : pyarrow.Table

    Returns
    -------
    int64 array of shape (n_rows,)
        The row that comes at each place.

    Examples
    --------
    >>> content_order(pa.table({"age": [9, 10, None, 10], "job": ["b", "b", "a", "a"]})).tolist()
    [2, 3, 1, 0]
    """
    order = _Order(table.num_rows)
    for column in table.columns:
        if not len(order.places):
            break
        coded = pa.types.is_dictionary(column.type)
        if not coded and order.width > len(order.places):
            order.settle()  # which may leave few rows to look at
        cells = order.tied(column)
        if coded or not _differs(cells):
            order.by_ranks(*_ranks(cells))
        else:
            order.settle()
            order.by_text(cell_texts(order.tied(column)))
    order.settle()
    return order.order


def order_by_ranks(n: int, columns: Iterable[tuple[NDArray[Any], Words, int]]) -> Ints:
    """Return the row numbers sorted by the ranks of their cells: `content_order` for coded columns.

    Parameters
    ----------
    n : int
        Rows.
    columns : iterable of (numbers, ranks, n_ranks)
        A code for each row, the rank of each code, and the number of ranks.

    Examples
    --------
    >>> import numpy as np
    >>> jobs = np.array([1, 0, 1]), np.array([5, 0], np.uint64), 6
    >>> order_by_ranks(3, [jobs]).tolist()
    [0, 2, 1]
    """
    order = _Order(n)
    for numbers, ranks, n_ranks in columns:
        if not len(order.places):
            break
        order.by_ranks(ranks[numbers[order.order[order.places]]], n_ranks)
    order.settle()
    return order.order


def ranks_of(entries: pa.Array) -> tuple[Words, int]:
    """Return the rank of each distinct value by its text, missing first, and the number of ranks.

    Examples
    --------
    >>> ranks_of(pa.array([9, 10, None]))[0].tolist()
    [2, 1, 0]
    """
    text = cell_texts(pa.chunked_array([entries]))
    by_text = pc.rank(text, "ascending", tiebreaker="dense")
    ranks = np.where(np.asarray(text.is_valid()), by_text.to_numpy(), 0).astype(np.uint64)
    return ranks, int(ranks.max(initial=0)) + 1


class _Order:
    """A sort of rows in progress, with the rows that are still tied.

    The tied rows are at `places` in `order`; rows are tied if their `key`, below `width`, is equal.
    """

    def __init__(self, n: int) -> None:
        self.order = np.arange(n)
        self.places = np.arange(n if n > 1 else 0)
        self.key = np.zeros(len(self.places), np.uint64)
        self.width = self.groups = 1

    def tied(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the cells of the tied rows."""
        rows = self.order[self.places]
        whole = len(rows) == len(column) and bool((rows[:-1] < rows[1:]).all())
        return column if whole else column.take(pa.array(rows))

    def by_ranks(self, ranks: Words, n: int) -> None:
        """Append ranks below n to the keys by which `settle` sorts the tied rows."""
        if n < 2:
            return
        # ranks of several columns share a key until it is full, because one sort then sorts by all of them
        if self.width > _MOST // n:
            ranks = ranks[self.settle()]
        self.key *= np.uint64(n)
        self.key += ranks
        self.width *= n

    def by_text(self, text: pa.Array) -> None:
        """Sort the tied rows by their text, eight bytes at a time."""
        offsets = np.frombuffer(text.buffers()[1], np.int64)[text.offset :][: len(text) + 1]
        data = bytes(text.buffers()[2] or b"") + bytes(_WORD)
        start, length = offsets[:-1], np.diff(offsets)
        # missing sorts before empty, and empty before a zero byte: the words of all three are equal
        last = np.where(np.asarray(text.is_valid()), length + 1, 0).astype(np.uint64)
        at = np.arange(len(text))
        done = 0
        while len(at) and (length[at] > done).any():
            at = at[self._split(_word(data, start[at] + done, length[at] - done))]
            done += _WORD
        if len(at):
            self._split(last[at])

    def _split(self, words: Words) -> Ints:
        """Sort the tied rows by words within their groups, and return the indices of those still tied."""
        if self.groups == 1:
            self.key, self.width = words, _MOST
            return self.settle()
        order = order_of_words(words)
        # stable: sorted by words first, then by group
        order = order[order_of_words(self.key[order])]
        return self._sorted(order, words)

    def settle(self) -> Ints:
        """Sort the tied rows by key, and return the indices of those still tied."""
        return np.arange(len(self.places)) if self.width == self.groups else self._sorted(order_of_words(self.key))

    def _sorted(self, order: NDArray[np.uint32], words: Words | None = None) -> Ints:
        self.order[self.places] = self.order[self.places][order]
        new = np.ones(len(order) + 1, bool)
        new[1:-1] = False
        for keys in (self.key, *(() if words is None else (words,))):
            inside = keys[order]
            new[1:-1] |= inside[1:] != inside[:-1]
        # a row that differs from both neighbours is in its final place
        still = ~(new[1:] & new[:-1])
        self.places = self.places[still]
        self.key = np.cumsum(new[:-1][still]).astype(np.uint64) - np.uint64(1)
        self.groups = self.width = int(self.key[-1]) + 1 if len(self.key) else 1
        return order[still].astype(np.int64)


def _differs(cells: pa.ChunkedArray) -> bool:
    """Return whether most cells are distinct, so that a dictionary would save nothing."""
    if pa.types.is_nested(cells.type) or isinstance(cells.type, pa.BaseExtensionType):
        return True
    return mostly_distinct(len(cells.slice(0, trial(len(cells))).unique()), len(cells))


def _ranks(cells: pa.ChunkedArray) -> tuple[Words, int]:
    """Return the rank of each cell among the column's texts, and the number of ranks."""
    index, entries = indexed(cells)
    ranks, n = ranks_of(entries)
    return np.append(ranks, np.uint64(0))[index], n


def cell_texts(cells: pa.ChunkedArray) -> pa.Array:
    """Return cells as they are written to a file; NaN becomes an empty text and is not missing."""
    array = one_piece(cells)
    text = cell_text(array)
    if pa.types.is_floating(array.type):
        text = pc.if_else(pc.is_nan(array), "", text)
    return text.cast(pa.large_string())


def _word(data: bytes, start: Ints, length: Ints) -> Words:
    """Return the eight bytes from each start as one number, with zeros beyond the length of the text."""
    length = np.clip(length, 0, _WORD)
    at = np.where(length > 0, start, 0)
    view = np.ndarray((len(data) - _WORD + 1,), ">u8", data, strides=(1,))
    beyond = ((_WORD - length) * 8).astype(np.uint64)
    words = view[at].astype(np.uint64)
    shift = np.minimum(beyond, np.uint64(63))
    return np.where(length > 0, words >> shift << shift, np.uint64(0))
