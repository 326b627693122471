"""The two tables of Anatomy: making and checking the second, and estimating counts from both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ..columns.column import Column
from ..columns.table import Table
from ..io.read import read
from ..measures import Floats, Ints
from ..measures import group as by_codes

GROUP = "group"
COUNT = "count"


def whole_numbers(table: Table, name: str) -> Ints:
    """Return a column of group numbers or counts as int64, with 0 for cells that hold no number."""
    numbers = table.column(name, kind="numeric").numbers
    return np.where(np.isfinite(numbers), numbers, 0).astype(np.int64)


def codes_of(original: Column, second: Table) -> Ints:
    """Return the sensitive table's values as codes of the original column; -1 for values unknown there."""
    codes = second.like(original).codes_in(original, unknown=-1)
    return codes if original.has_missing else np.where(codes == original.n_values, -1, codes)


def faults(original: Column, group: Ints, second: Table, name: str) -> int:
    """Count the groups whose rows in the sensitive table do not match the values of their records.

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
    codes = codes_of(original, second)
    values = np.concatenate([original.codes, np.where(codes < 0, original.n_values + 1, codes)])
    # A file may hold any numbers for its groups: their ranks are small and not negative.
    ranks = np.unique(np.concatenate([group, whole_numbers(second, GROUP)]), return_inverse=True)[1]
    pairs = by_codes([ranks, values])
    in_first, in_second = pairs.labels[: len(group)], pairs.labels[len(group) :]
    expected_counts = np.bincount(in_first, minlength=pairs.n_groups)
    counts = np.nan_to_num(second.column(COUNT, kind="numeric").numbers, nan=-1)
    second_counts = np.bincount(in_second, counts, minlength=pairs.n_groups)
    rows = np.bincount(in_second, minlength=pairs.n_groups)
    wrong = (expected_counts != second_counts) | (rows != 1)
    return len(np.unique(ranks[pairs.first[wrong]]))


def sensitive_table(group: Ints, codes: Ints, values: pa.Array, name: str) -> pa.Table:
    """Return the sensitive table (ST) with columns group, value and count, sorted by group and value."""
    width = int(codes.max()) + 1
    pair, count = np.unique(group * width + codes, return_counts=True)
    return pa.table({GROUP: pa.array(pair // width), name: values.take(pa.array(pair % width)), COUNT: pa.array(count)})


def expected(cell: Ints, cells: int, group: Ints, st_group: Ints, st_codes: Ints, d: int) -> Floats:
    """Return the expected number of records for each cell and sensitive value, given both tables.

    Parameters
    ----------
    cell, group : int arrays of shape (n,)
        Cell and group of every row of the QIT.
    cells : int
    st_group, st_codes : int arrays
        Group and value of every record behind the ST.
    d : int
        Sensitive values.

    Returns
    -------
    float64 array of shape (cells, d)
    """
    width = max(int(group.max()), int(st_group.max())) + 1
    counts = np.bincount(st_group * d + st_codes, minlength=width * d).reshape(width, d)
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    out = np.zeros((cells, d))
    pairs, n = np.unique(cell * width + group, return_counts=True)
    np.add.at(out, pairs // width, n[:, None] * share[pairs % width])
    return out


def join(qit: Any, st: Any, sensitive: str, columns: list[str]) -> pa.Table:
    """Estimate joint counts of the given columns and the sensitive column from the two released tables.

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
        The columns, the sensitive column, ``count`` (an expectation, so no whole number).
    """
    first, second = read(qit), read(st)
    for name, table in ((sensitive, first), (sensitive, second), (GROUP, second), (COUNT, second)):
        table.kind(name)
    coded = [first.column(n, kind="categorical") for n in columns]
    cells = by_codes([c.codes for c in coded], first.n_rows)
    group = first.arrow.column(sensitive).to_numpy().astype(np.int64)
    value = second.column(sensitive, kind="categorical")
    repeated = second.arrow.column(COUNT).to_numpy().astype(np.int64)
    groups = np.repeat(second.arrow.column(GROUP).to_numpy().astype(np.int64), repeated)
    codes = np.repeat(value.codes.astype(np.int64), repeated)
    labels, d = cells.labels.astype(np.int64), value.n_values + int(value.has_missing)
    counts = expected(labels, cells.n_groups, group, groups, codes, d)
    at, u = np.nonzero(counts)
    rows = cells.first[at]
    counted = {c.name: pa.array([*c.values, None]).take(pa.array(c.codes[rows])) for c in coded}
    values = pa.array([*value.values, None]).take(pa.array(u))
    return pa.table({**counted, sensitive: values, COUNT: counts[at, u]})
