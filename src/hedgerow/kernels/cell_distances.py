"""How far one person is from many released rows, by what each column's cell says of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiled import checked

Floats = NDArray[np.float64]


@checked
def summed(codes: NDArray[np.int32], starts: NDArray[np.int64], away: Floats, out: Floats) -> None:
    """The distances of a person from the cells of each row, summed over the columns.

    Parameters
    ----------
    codes : array of int32, shape (q, n)
        The cell of each row, one column a line.
    starts : array of int64, shape (q,)
        Where each column's cells begin in `away`.
    away : array
        The person's distance from every cell of every column.
    out : array, shape (n,)
    """
    out[:] = 0.0
    for c in range(codes.shape[0]):
        begin, column = starts[c], codes[c]
        for i in range(out.size):
            out[i] += away[begin + column[i]]


@checked
def agreeing(
    codes: NDArray[np.int32],
    starts: NDArray[np.int64],
    away: Floats,
    within: Floats,
    bits: int,
    out: NDArray[np.uint32],
) -> None:
    """Agreement patterns of a person with each row: the level of each column in bits of its own.

    Parameters
    ----------
    codes, starts, away
        As for `summed`.
    within : array, shape (q, levels - 1)
        The level of a cell is the number of these distances that it lies within.
    bits : int
        Of a column; at most 32 in all.
    out : array of uint32, shape (n,)
    """
    out[:] = 0
    for c in range(codes.shape[0]):
        begin, column, reach, one = starts[c], codes[c], within[c], np.uint32(1 << (bits * c))
        for i in range(out.size):
            distance = away[begin + column[i]]
            for t in range(reach.size):
                if distance <= reach[t]:
                    out[i] += one
