"""Find equal rows of two tables, by the columns that both have."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal

import numpy as np
import pyarrow as pa

from ..columns.column import Column
from ..columns.encode import encode
from ..columns.table import Table
from ..measures import Ints, group
from ..notation import number


def shared(one: Table, two: Table, names: Collection[str] | None = None) -> list[tuple[Column, Column]]:
    """Return the columns that both tables have, each read as the same kind of column in both."""
    pairs = []
    for name in one.names:
        if name not in two.names or (names is not None and name not in names):
            continue
        # numbers of one table may be text in the other: then texts are compared
        kind = one.kind(name) if one.kind(name) == two.kind(name) else "categorical"
        mine = one.column(name, kind=kind)
        pairs.append((mine, two.column(name, kind=kind, unit=mine.unit or None)))
    return pairs


def row_labels(one: Table, two: Table, names: Collection[str] | None = None) -> Ints:
    """Label the rows of both tables, so that equal rows share a label; shape (n + m,).

    Examples
    --------
    One sign makes a column of numbers text; the other cells still equal numbers.

    >>> import pyarrow as pa
    >>> row_labels(Table(pa.table({"pay": [31.5, 40.0]})), Table(pa.table({"pay": ["*", "31.50"]})))
    array([0, 1, 2, 0])
    >>> row_labels(Table(pa.table({"id": [2**53 + 1, 1000]})), Table(pa.table({"id": ["*", str(2**53), "1_000"]})))
    array([1, 0, 2, 2, 2])
    """
    codes = []
    for mine, theirs in shared(one, two, names):
        if one.kind(mine.name) != two.kind(mine.name):
            mine, theirs = _plain_numbers(mine), _plain_numbers(theirs)
        codes.append(np.concatenate([mine.codes.astype(np.int64), theirs.codes_in(mine, unknown=mine.n_values + 1)]))
    return group(codes, one.n_rows + two.n_rows).labels.astype(np.int64)


def _plain_numbers(column: Column) -> Column:
    """Return a text column whose numbers are written without zeros at their end."""

    def plain(text: str) -> str:
        return number(Decimal(text)) if re.fullmatch(r"-?\d+(\.\d+)?", text) else text

    texts = pa.array([*map(plain, column.values), None], pa.string())
    return encode(column.name, pa.chunked_array([texts.take(pa.array(column.codes))]), "categorical")


def rows_alike(one: Table, two: Table, names: Collection[str] | None = None) -> tuple[Ints, int]:
    """Return, for each row of the second table, an equal row of the first, using each row once.

    Equal rows are paired in their order.

    Returns
    -------
    int array, shape (n_rows of the second,)
        Rows of the first table; arbitrary for rows without an equal row.
    int
        Number of rows without an equal row.

    Examples
    --------
    >>> import pyarrow as pa
    >>> a, b = (Table(pa.table({"c": c})) for c in (["x", "y", "x"], ["x", "x", "y", "y"]))
    >>> rows, lost = rows_alike(a, b)
    >>> rows[:3].tolist(), lost
    ([0, 2, 1], 1)
    """
    n, m = one.n_rows, two.n_rows
    labels = row_labels(one, two, names)
    # the i-th of equal rows has a key of its own, so that each row is used once
    keys, wanted = (part * (n + m) + _numbered(part) for part in (labels[:n], labels[n:]))
    order = np.argsort(keys)
    place = np.minimum(np.searchsorted(keys[order], wanted), max(n - 1, 0))
    if not n:
        return place, m
    return order[place], int((keys[order][place] != wanted).sum())


def _numbered(labels: Ints) -> Ints:
    """Number the rows with the same label from 0, in their order."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.diff(starts, append=len(labels))
    out = np.empty(len(labels), np.int64)
    out[order] = np.arange(len(labels)) - np.repeat(starts, sizes)
    return out
