"""Sampling weights: whether a column can be one, and what it tells of who was drawn from where."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from .column import Column
from .table import Table

_SHARED = 10
"""A weight takes few values where so many records have each of them, on average."""
_TOLD = 0.9
"""A weight tells a column where so large a share of the records have a weight that goes with one
value of it."""


def check_weights(table: Table, name: str) -> Column:
    """The column of sampling weights.

    Raises
    ------
    InputError
        Weights are missing, infinite or below 1.
    """
    column = table.column(name, kind="numeric")
    known = np.asarray(column.values, np.float64)
    wrong = np.append(~((known >= 1) & np.isfinite(known)), True)
    bad = int(column.counts()[: len(wrong)][wrong[: len(column.counts())]].sum())
    if bad:
        raise InputError(
            f"{bad:,} sampling weights in {name!r} are missing, infinite or below 1",
            hint="a weight says how many people a record stands for; one that does not can be "
            "released as other (other=, --other)",
        )
    return column


def strata_told(table: Table, name: str, columns: Sequence[str]) -> str | None:
    """What a weight of few values gives away: the stratum that a record was drawn from.

    Parameters
    ----------
    table : Table
    name : str
        The column of weights.
    columns : sequence of str
        Columns of which it is asked whether the weight tells them.

    Returns
    -------
    str or None
        A sentence; None where the weight is the same for all, or takes many values.
    """
    column = table.column(name, kind="categorical")
    n = column.n_values
    if n < 2 or n * _SHARED > table.n_rows:
        return None
    told = [other for other in columns if other != name and _tells(column, table, other) >= _TOLD]
    return (
        f"{name} takes {n:,} values in {table.n_rows:,} records, so a record's weight gives away "
        "the stratum that it was drawn from"
        + (f", and with it {', '.join(told)}" if told else "")
        + "; round or calibrate the weights, or name the column among the quasi-identifiers"
    )


def _tells(weight: Column, table: Table, name: str) -> float:
    """The share of records whose weight goes with one value of a column that has several."""
    other = table.column(name, kind="categorical")
    m = other.n_values + 1
    if other.n_values < 2:
        return 0.0
    keys, sizes = np.unique(weight.codes.astype(np.int64) * m + other.codes, return_counts=True)
    own = keys // m
    alone = np.bincount(own)[own] == 1
    return float(sizes[alone].sum() / table.n_rows)
