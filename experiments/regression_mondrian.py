"""Regression Mondrian with hierarchies, the baseline of Li & Sarkar's experiments.

LeFevre, DeWitt & Ramakrishnan, *Workload-Aware Anonymization Techniques for
Large-Scale Datasets*, ACM TODS 33(3), 2008: top down, the admissible split that
reduces the squared error of the responses most. A number is cut in two, a
category branches into all children of its node in the hierarchy. Written for
clarity; `hedgerow.Mondrian` is the method for people's tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hedgerow.columns.column import Column
from hedgerow.hierarchy import Hierarchy

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Block:
    """One way to divide the people: a number's values, or one level of a hierarchy."""

    attribute: int
    values: Floats | None  # None for a level of a hierarchy
    codes: Ints  # of every record
    n_codes: int


@dataclass(frozen=True)
class MultiWay:
    """The groups of Regression Mondrian.

    Parameters
    ----------
    leaf : int array of shape (n,)
        The group of every record, training and test alike.
    n_leaves : int
    cells : list of float arrays or lists of str
        Per quasi-identifier the released value of each group: the mean of a
        number, the lowest common ancestor of categories.
    """

    leaf: Ints
    n_leaves: int
    cells: list[Floats | list[str]]


def regression_mondrian(
    columns: Sequence[Column],
    hierarchies: Sequence[Hierarchy | None],
    responses: Floats,
    training: NDArray[np.bool_],
    k: int,
) -> MultiWay:
    """Partition the training records; send the others down the same tree.

    Parameters
    ----------
    columns : sequence of Column
        Quasi-identifiers without missing values.
    hierarchies : sequence of Hierarchy or None
        Of the categorical ones, None for numbers.
    responses : float array of shape (n, r)
        Sensitive columns.
    training : bool array of shape (n,)
    k : int
        Fewest training records of a branch; a split with a smaller one is inadmissible.
        A child of the hierarchy without training records makes no branch; a test
        record that belongs there follows the largest branch.
    """
    blocks = _blocks(columns, hierarchies)
    known = np.flatnonzero(training)
    low, high = responses[known].min(axis=0), responses[known].max(axis=0)
    scaled = (responses - low) / np.where(high > low, high - low, 1)
    start = np.concatenate([[0], np.cumsum([b.n_codes for b in blocks])]).astype(np.int64)
    flat = np.stack([b.codes + s for b, s in zip(blocks, start[:-1], strict=True)], axis=1)

    leaf = np.zeros(len(training), np.int64)
    cells: list[list[float | str]] = [[] for _ in columns]
    n_leaves = 0
    open_nodes = [np.arange(len(training))]
    while open_nodes:
        rows = open_nodes.pop()
        inside = rows[training[rows]]
        branch = _best(blocks, start, flat[inside], scaled[inside], k)
        if branch is None:
            leaf[rows] = n_leaves
            n_leaves += 1
            for j, column in enumerate(columns):
                cells[j].append(_cell(column, hierarchies[j], column.codes[inside]))
            continue
        at, way = branch
        taken = way[blocks[at].codes[rows]]
        open_nodes += [rows[taken == b] for b in range(int(way.max()), -1, -1)]
    released: list[Floats | list[str]] = [
        np.array(values, float) if column.is_number else [str(v) for v in values]
        for column, values in zip(columns, cells, strict=True)
    ]
    return MultiWay(leaf, n_leaves, released)


def _blocks(columns: Sequence[Column], hierarchies: Sequence[Hierarchy | None]) -> list[_Block]:
    made = []
    for j, (column, hierarchy) in enumerate(zip(columns, hierarchies, strict=True)):
        codes = column.codes.astype(np.int64)
        if hierarchy is None:
            values = np.asarray(column.values, float)
            made.append(_Block(j, values, codes, column.n_values))
            continue
        for level in range(hierarchy.n_levels - 2, -1, -1):  # below the top, coarse to fine
            labels = [hierarchy.generalize(v, level) for v in column.values]
            names, index = np.unique(labels, return_inverse=True)
            made.append(_Block(j, None, index[codes], len(names)))
    return made


def _best(blocks: Sequence[_Block], start: Ints, flat: Ints, y: Floats, k: int) -> tuple[int, Ints] | None:
    """The block and branch of each code of the admissible split of largest gain."""
    n, width, size = len(flat), flat.shape[1], int(start[-1])
    if n < 2 * k:
        return None
    where = flat.ravel()
    count = np.bincount(where, minlength=size)
    sums = np.array([np.bincount(where, np.repeat(column, width), minlength=size) for column in y.T], float)
    whole = float((y.sum(axis=0) ** 2).sum()) / n
    least = 1e-9 * max(float((y**2).sum()) - whole, 0.0)
    filled = np.maximum(count, 1)
    gain = np.add.reduceat((sums**2).sum(axis=0) / filled, start[:-1]) - whole
    smallest = np.minimum.reduceat(np.where(count > 0, count, n + 1), start[:-1])
    branches = np.add.reduceat((count > 0).astype(np.int64), start[:-1])
    found: tuple[float, int, Ints] | None = None
    settled: set[int] = set()
    for at, block in enumerate(blocks):
        part = slice(start[at], start[at + 1])
        if block.values is not None:
            worth, way = _cut(block.values, count[part], sums[:, part], n, whole, k)
        else:
            # The hierarchy's node here is the finest that all records share; the first
            # level below it where they part is the only split it has.
            if block.attribute in settled or branches[at] < 2:
                continue
            settled.add(block.attribute)
            if smallest[at] < k:
                continue
            worth, way = float(gain[at]), np.cumsum(count[part] > 0) - 1
            way[count[part] == 0] = way[int(count[part].argmax())]
        if worth > least and (found is None or worth > found[0] * (1 + 1e-9)):
            found = worth, at, way
    return None if found is None else (found[1], found[2])


def _cut(values: Floats, count: Ints, sums: Floats, n: int, whole: float, k: int) -> tuple[float, Ints]:
    """Gain and branches of the best cut of a number in two, midway between neighbours."""
    left = np.cumsum(count)[:-1]
    right = n - left
    allowed = np.flatnonzero((left >= k) & (right >= k) & (count[:-1] > 0))
    if not len(allowed):
        return -1.0, left
    below = np.cumsum(sums, axis=1)[:, allowed]
    total = sums.sum(axis=1, keepdims=True)
    gain = (below**2).sum(axis=0) / left[allowed]
    gain += ((total - below) ** 2).sum(axis=0) / right[allowed] - whole
    best = int(gain.argmax())
    last = int(allowed[best])
    following = last + 1 + int((count[last + 1 :] > 0).argmax())
    way = (values >= (values[last] + values[following]) / 2).astype(np.int64)
    return float(gain[best]), way


def _cell(column: Column, hierarchy: Hierarchy | None, codes: NDArray[np.integer]) -> float | str:
    if hierarchy is None:
        return float(np.asarray(column.values, float)[codes].mean())
    present = [column.values[c] for c in np.flatnonzero(np.bincount(codes))]
    return present[0] if len(present) == 1 else hierarchy.common(present)
