"""The released records nearest to a person, by all that is known and by each half of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernels.threads import in_parts
from ...measures import BoolArray, FloatArray, IntArray
from ..pairing import by_name
from ..record_distance import Reach
from ..released_values import ReleasedColumn
from .unpaired_tables import Apart, People


@dataclass(frozen=True, eq=False)
class Matches:
    """How some people are matched with released records.

    Parameters
    ----------
    nearest : float array, shape (n_people,)
        Distance of the nearest record over the quasi-identifiers, 0 where one may be theirs.
    own : float array, shape (n_people,)
        The share of the nearest records that have the person's sensitive values as well.
    chance : float array, shape (n_people,)
        The share of all records that have the person's sensitive values.
    joined : float array, shape (n_people,)
        1/t where t records are nearest by one half of the columns and by the other; else 0.
    """

    nearest: FloatArray
    own: FloatArray
    chance: FloatArray
    joined: FloatArray


def halves(tables: Apart) -> tuple[list[ReleasedColumn], list[ReleasedColumn]]:
    """The quasi-identifiers in two files that tell about as much; by the released values."""

    def bits(column: ReleasedColumn) -> float:
        p = column.counts[column.counts > 0] / len(column.codes)
        return -float(np.sort(p * np.log2(p)).sum())

    order = sorted(tables.released_quasi, key=lambda c: (-round(bits(c), 9), c.name))
    # 1st, 4th, 5th, 8th ... against 2nd, 3rd, 6th, 7th ...
    return (
        by_name([c for i, c in enumerate(order) if i % 4 in (0, 3)]),
        by_name([c for i, c in enumerate(order) if i % 4 in (1, 2)]),
    )


def match(tables: Apart, people: People, rows: IntArray) -> Matches:
    """Match some people with all released records.

    Distances are those of `Reach`, summed over the columns; records at the same distance share,
    but of those that may be the person's the most likely come first.
    At hand are 8 bytes a record and column, and 24 a record for each person who is asked about.
    """
    first, sizes = tables.records.first, tables.records.sizes
    parts = halves(tables)
    files = [Reach(half, first) for half in parts if half]
    known = [people.known(half, rows) for half in parts if half]
    whole = Reach([column for half in parts for column in half], first)
    agree = [_Agreement(people, column, rows, first) for column in by_name(tables.sensitive_cells)]
    n = len(rows)
    nearest, own, chance, joined = (np.zeros(n) for _ in range(4))

    def ask(part: slice) -> None:
        for i in range(part.start, part.stop):
            seen = [file.sums(k, i) for file, k in zip(files, known, strict=True)]
            if len(seen) == 2:
                one, other = (file.nearest(s) for file, s in zip(files, seen, strict=True))
                both = np.intersect1d(one, other, assume_unique=True)
                joined[i] = 1 / sizes[both].sum() if len(both) else 0.0
                seen[0] += seen[1]
            nearest[i] = seen[0].min()
            best = whole.nearest(seen[0])
            same = np.ones(len(first), np.bool_)
            for column in agree:
                same &= column.with_person(i)
            own[i] = sizes[best[same[best]]].sum() / sizes[best].sum()
            chance[i] = sizes[same].sum() / tables.n_rows

    in_parts(ask, n, n * len(first))
    return Matches(nearest, own, chance, joined)


class _Agreement:
    """Whether released records may have the person's own value of a sensitive column."""

    def __init__(
        self, people: People, column: ReleasedColumn, rows: IntArray, first: IntArray
    ) -> None:
        own = next(c for c in people.sensitive if c.name == column.name)
        self._column, self._codes, self._cells = column, own.codes[rows], column.codes[first]
        self._every = np.arange(column.n_cells)

    def with_person(self, i: int) -> BoolArray:
        value = np.full(len(self._every), self._codes[i])
        return self._column.covers(value, self._every)[self._cells]
