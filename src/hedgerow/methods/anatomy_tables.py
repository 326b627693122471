"""The two tables of Anatomy: what the second holds, and what a reader makes of both."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.column import Column
from ..columns.table import Table
from ..errors import ParameterError
from ..io.read import read

Ints = NDArray[np.int64]

GROUP = "group"
COUNT = "count"


def codes_of(original: Column, second: Table) -> Ints:
    """Return the sensitive table's values in the original's codes; -1 for values it does not have."""
    codes = second.like(original).codes_in(original, unknown=-1)
    return codes if original.has_missing else np.where(codes == original.n_values, -1, codes)


def faults(original: Column, group: Ints, second: Table, name: str) -> int:
    """Count groups whose values in the sensitive table are not those of their records.

    Parameters
    ----------
    original : Column
        The original sensitive column.
    group : int array of shape (n,)
        Released group of each record.
    second : Table
        Group, value and count, one row for each value of a group.
    name : str
        The sensitive column.
    """
    if second.names != [GROUP, name, COUNT]:
        return len(np.unique(group))
    group_numbers = second.column(GROUP, kind="numeric").numbers
    numbers = np.where(np.isfinite(group_numbers), group_numbers, 0).astype(np.int64)  # groups begin with 1
    counts = second.column(COUNT, kind="numeric").numbers
    codes = codes_of(original, second)
    width = original.n_values + 2
    codes = np.where(codes < 0, width - 1, codes)
    everyone = np.concatenate([group, numbers])
    place = np.unique(everyone, return_inverse=True)[1]
    pairs, at = np.unique(
        place * width + np.concatenate([original.codes.astype(np.int64), codes]), return_inverse=True
    )
    n = len(group)
    expected_counts = np.bincount(at[:n], minlength=len(pairs))
    second_counts = np.bincount(at[n:], np.nan_to_num(counts, nan=-1), minlength=len(pairs))
    rows = np.bincount(at[n:], minlength=len(pairs))
    return len(np.unique(pairs[(expected_counts != second_counts) | (rows != 1)] // width))


def sensitive_table(group: Ints, codes: Ints, values: pa.Array, name: str) -> pa.Table:
    """Return ST: group, value, count, sorted by both."""
    width = int(codes.max()) + 1
    pair, count = np.unique(group * width + codes, return_counts=True)
    return pa.table(
        {
            GROUP: pa.array(pair // width),
            name: values.take(pa.array(pair % width)),
            COUNT: pa.array(count),
        }
    )


def expected(
    cell: Ints,
    cells: int,
    group: Ints,
    st_group: Ints,
    st_codes: Ints,
    d: int,
) -> NDArray[np.float64]:
    """Return the recipient's join: expected counts (cells x values).

    Parameters
    ----------
    cell, group : int arrays of shape (n,)
        Cell and group of every row of the QIT.
    cells : int
    st_group, st_codes : int arrays
        Group and value of every record behind the ST.
    d : int
        Sensitive values.
    """
    width = max(int(group.max()), int(st_group.max())) + 1
    share = (
        np.bincount(st_group * d + st_codes, minlength=width * d).reshape(width, d).astype(float)
    )
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1)
    out = np.zeros((cells, d))
    pairs, n = np.unique(cell * width + group, return_counts=True)
    np.add.at(out, pairs // width, n[:, None] * share[pairs % width])
    return out


def join(qit: Any, st: Any, sensitive: str, columns: list[str]) -> pa.Table:
    """Return the recipient's estimate: counts of columns of the QIT with the sensitive values.

    Parameters
    ----------
    qit, st : path or frame
        The two released tables.
    sensitive : str
        The sensitive column: group numbers in `qit`, values in `st`.
    columns : list of str
        Columns of `qit` to count by.

    Returns
    -------
    pyarrow.Table
        The columns, the sensitive column, ``count`` (expected, not whole numbers).
    """
    first, second = read(qit), read(st)
    for name, table in ((sensitive, first), (sensitive, second), (GROUP, second), (COUNT, second)):
        table.kind(name)
    coded = [first.column(n, kind="categorical") for n in columns]
    dims = [c.n_values + int(c.has_missing) for c in coded]
    if math.prod(dims) > 2**26:
        raise ParameterError(f"these columns span {math.prod(dims):,} cells", hint="count by fewer")
    cell = np.zeros(first.n_rows, dtype=np.int64)
    for column, d in zip(coded, dims, strict=True):
        cell = cell * d + column.codes
    group = first.arrow.column(sensitive).to_numpy().astype(np.int64)
    value = second.column(sensitive, kind="categorical")
    d = value.n_values + int(value.has_missing)
    repeated = second.arrow.column(COUNT).to_numpy().astype(np.int64)
    groups = np.repeat(second.arrow.column(GROUP).to_numpy().astype(np.int64), repeated)
    codes = np.repeat(value.codes.astype(np.int64), repeated)
    counts = expected(cell, math.prod(dims), group, groups, codes, d)
    at, u = np.nonzero(counts)
    places = np.unravel_index(at, dims) if columns else []
    cells = {
        n: pa.array([*c.values, None]).take(pa.array(np.asarray(p)))
        for n, c, p in zip(columns, coded, places, strict=True)
    }
    return pa.table(
        {**cells, sensitive: pa.array([*value.values, None]).take(pa.array(u)), COUNT: counts[at, u]}
    )
