"""Which finer values released cells leave possible, and how often each occurs, as far as the cells tell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ...columns.column import Column
from ...measures import FloatArray, IntArray, group
from ..released_values import ReleasedColumn

STEPS = 128
"""Values that are told apart in a column: more numbers share steps, rarer categories one step."""
FEW = 32
"""The same where a column is evidence on another one."""
ROUNDS = 60
"""Rounds of estimation of one column; of two at a time a quarter of them."""


@dataclass(frozen=True, eq=False)
class Finer:
    """The steps that the cells of one column may stand for.

    Parameters
    ----------
    name : str
    codes : integer array, shape (n_rows,)
        Cell of each row.
    step : int array, shape (n_values + 1,)
        The step of each original value, the last one missing.
    size : float array, shape (n_steps,)
        How many values a step holds.
    held : sparse float array, shape (n_cells, n_steps)
        The share of a step's values that a cell may stand for.
    """

    name: str
    codes: npt.NDArray[Any]
    step: IntArray
    size: FloatArray
    held: csr_array

    @classmethod
    def of(cls, column: ReleasedColumn, most: int = STEPS) -> Finer:
        """A released quasi-identifier."""
        step = _steps(column.original, most)
        size = np.bincount(step).astype(np.float64)
        held = _covered(column, step, len(size))
        return cls(column.name, column.codes, step, size, held @ _inverse(size))

    @classmethod
    def plain(cls, column: Column, most: int = FEW) -> Finer:
        """A column whose values are released as they are."""
        step = _steps(column, most)
        size = np.bincount(step).astype(np.float64)
        return cls(column.name, step[column.codes], step, size, _inverse(np.ones(len(size))))

    @property
    def n_steps(self) -> int:
        """How many steps there are, missing among them."""
        return len(self.size)

    @cached_property
    def coarse(self) -> npt.NDArray[np.bool_]:
        """Which cells may stand for more than one step."""
        return np.diff(self.held.indptr) > 1

    def shares(self, rows: IntArray) -> FloatArray:
        """How often each step occurs among some rows, as far as their cells tell.

        The shares under which what was released is likeliest, found by giving every cell to
        its steps in proportion to the shares so far. One record more, spread over all values,
        keeps what no cell shows alone from having none.
        """
        counts = np.bincount(self.codes[rows], minlength=self.held.shape[0]).astype(np.float64)
        shown = np.flatnonzero(counts)
        held, counts = self.held[shown], counts[shown]
        found = anywhere = self.size / self.size.sum()
        for _ in range(ROUNDS):
            found = found * (held.T @ (counts / np.maximum(held @ found, 1e-300))) + anywhere
            found /= found.sum()
        return np.asarray(found)


def together(
    one: Finer, other: Finer, rows: IntArray, alone: FloatArray, beside: FloatArray
) -> FloatArray:
    """How often each pair of steps of two columns occurs, as far as the cells of some rows tell.

    Parameters
    ----------
    one, other : Finer
    rows : int array
    alone, beside : float arrays
        What `shares` tells of each; pairs start from, and lean towards, their product.

    Returns
    -------
    float array, shape (one.n_steps, other.n_steps)
    """
    pairs = group([one.codes[rows], other.codes[rows]])
    first = rows[pairs.first]
    mine, place = np.unique(one.codes[first], return_inverse=True)
    theirs, beside_place = np.unique(other.codes[first], return_inverse=True)
    held, shown = one.held[mine], other.held[theirs]
    weight = pairs.sizes.astype(np.float64)
    shape = (len(mine), len(theirs))
    apart = np.outer(alone, beside)
    lean = other.n_steps / (len(rows) + other.n_steps)
    found, told = apart, shown.toarray()
    for _ in range(ROUNDS // 4):
        expected = held @ found
        likely = np.einsum("pj,pj->p", expected[place], told[beside_place])
        each = csr_array((weight / np.maximum(likely, 1e-300), (place, beside_place)), shape)
        found = found * (held.T @ (each @ told))
        found /= max(found.sum(), 1e-300)
        found = (1 - lean) * found + lean * apart
    return np.asarray(found)


def nested(column: ReleasedColumn) -> bool:
    """Whether any two cells are apart or one lies in the other, as in a hierarchy."""
    if column.is_number:
        wide = np.isfinite(column.lo) & ~column.anything
        lo, hi = column.lo[wide], column.hi[wide]
        open_ends: list[float] = []
        for i in np.lexsort((-hi, lo)):
            while open_ends and open_ends[-1] < lo[i]:
                open_ends.pop()
            if open_ends and open_ends[-1] < hi[i]:
                return False
            open_ends.append(float(hi[i]))
        return True
    around = np.full(column.original.n_values, -1)
    sets = [(len(m), i) for i, m in enumerate(column.members) if not column.anything[i]]
    for _, i in sorted(sets, key=lambda s: (-s[0], s[1])):
        members = column.members[i]
        if len(members) and (around[members] != around[members[0]]).any():
            return False
        around[members] = i
    return True


def _steps(column: Column, most: int) -> IntArray:
    """The step of each code, as many as `most` and one for missing."""
    m = column.n_values
    step = np.arange(m)
    if m > most:
        step = np.arange(m) * most // m
        if not column.is_number:
            order = np.lexsort((np.arange(m), -column.counts()[:m]))
            step = np.full(m, most - 1)
            step[order[: most - 1]] = np.arange(most - 1)
    return np.append(step, min(m, most)).astype(np.int64)


def _covered(column: ReleasedColumn, step: IntArray, n_steps: int) -> csr_array:
    """How many values of each step a cell may stand for."""
    original, m = column.original, column.original.n_values
    missing = np.flatnonzero((column.missing | column.anything) & original.has_missing)
    if column.is_number:
        lo = np.where(column.anything, -np.inf, column.lo)
        hi = np.where(column.anything, np.inf, column.hi)
        values = np.asarray(original.values, np.float64)
        begin, end = np.searchsorted(values, lo, "left"), np.searchsorted(values, hi, "right")
        # values between those of the original stand for the next one
        end = np.where(np.isnan(lo), begin, np.maximum(end, np.minimum(begin + 1, m)))
        begin = np.minimum(begin, np.maximum(end - 1, 0))
        bounds = np.searchsorted(step[:m], np.arange(n_steps))
        upto = np.append(bounds[1:], m)
        first = step[np.minimum(begin, max(m - 1, 0))]
        last = step[np.minimum(np.maximum(end - 1, 0), max(m - 1, 0))]
        wide = np.where(end > begin, last - first + 1, 0)
        cells = np.repeat(np.arange(column.n_cells), wide)
        at = np.arange(wide.sum()) - np.repeat(np.cumsum(wide) - wide, wide) + first[cells]
        amount = np.minimum(end[cells], upto[at]) - np.maximum(begin[cells], bounds[at])
    else:
        members = [
            np.arange(m) if anything else own
            for own, anything in zip(column.members, column.anything, strict=True)
        ]
        cells = np.repeat(np.arange(column.n_cells), [len(own) for own in members])
        at = step[np.concatenate([np.zeros(0, np.int64), *members])]
        amount = np.ones(len(at))
    cells = np.concatenate([cells, missing])
    at = np.concatenate([at, np.full(len(missing), step[m])])
    amount = np.concatenate([amount, np.ones(len(missing))]).astype(np.float64)
    made = csr_array((amount, (cells, at)), shape=(column.n_cells, n_steps))
    made.sum_duplicates()
    made.sort_indices()
    return made


def _inverse(size: FloatArray) -> csr_array:
    n = len(size)
    return csr_array((1 / np.maximum(size, 1), (np.arange(n), np.arange(n))), shape=(n, n))
