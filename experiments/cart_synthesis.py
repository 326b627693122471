"""Sequential CART: a small port of the default of R's synthpop (Nowok, Raab and Dibben 2016).

The first column is drawn with replacement. For every further column a tree learns it from the columns
before it, on true values; a synthetic row falls into a leaf by its synthetic values and gets the value
of a person in this leaf. As there, a leaf has at least 5 people, a node is split from 15 on, and nothing
is pruned or smoothed. Categories that explain are ordered by the mean of the column to learn, as rpart
does for numbers; a missing value is a value.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hedgerow.columns.table import Table

LEAF = 5
"""Fewest people of a leaf; three times as many to split a node."""
Ints = NDArray[np.int64]


def synthesised(table: Table, seed: int = 0) -> pa.Table:
    """Return a synthetic table with as many rows and the same columns.

    Parameters
    ----------
    table : Table
    seed : int
    """
    generator = np.random.default_rng(seed)
    names = list(table.names)
    codes = [table.column(name).codes.astype(np.int64) for name in names]
    rows = [generator.integers(0, table.n_rows, table.n_rows)]
    made = [codes[0][rows[0]]]
    for at in range(1, len(names)):
        rows.append(_donors(table, names[: at + 1], codes, made, generator))
        made.append(codes[at][rows[at]])
    return pa.table({n: table.arrow.column(n).take(pa.array(r)) for n, r in zip(names, rows, strict=True)})


def _donors(
    table: Table, names: list[str], codes: list[Ints], made: list[Ints], generator: np.random.Generator
) -> Ints:
    """Return for each synthetic row the person whose value of the last column it gets."""
    column, own = table.column(names[-1]), codes[len(names) - 1]
    y = own.astype(float)
    if column.is_number and not column.has_missing:
        y = np.asarray(column.values, np.float64)[own]
    parts: tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]] = ([], [])
    for name, true, synthetic in zip(names[:-1], codes, made, strict=False):
        explaining = table.column(name)
        if explaining.is_number:
            values = np.append(np.asarray(explaining.values, np.float64), -1e15)  # missing is below all
        else:
            n = np.bincount(true, minlength=explaining.n_values + 1)
            values = np.bincount(true, y, len(n)) / np.maximum(n, 1)
        for part, cells in zip(parts, (true, synthetic), strict=True):
            part.append(values[cells])
    kind = DecisionTreeRegressor if column.is_number else DecisionTreeClassifier
    tree = kind(min_samples_leaf=LEAF, min_samples_split=3 * LEAF, random_state=int(generator.integers(2**31)))
    tree.fit(np.stack(parts[0], 1), y)
    mine, theirs = (tree.apply(np.stack(part, 1)) for part in parts)
    order = np.argsort(mine, kind="stable")
    begin = np.searchsorted(mine[order], theirs)
    size = np.searchsorted(mine[order], theirs, side="right") - begin
    return np.asarray(order[begin + (generator.random(len(theirs)) * size).astype(np.int64)], np.int64)
