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
    out: NDArray[np.uint32],
) -> None:
    """Agreement patterns of a person with each row: bit c, where column c lies within its reach.

    Parameters
    ----------
    codes, starts, away
        As for `summed`; at most 32 columns.
    within : array, shape (q,)
        The largest distance of each column that still agrees.
    out : array of uint32, shape (n,)
    """
    out[:] = 0
    for c in range(codes.shape[0]):
        begin, column, reach, bit = starts[c], codes[c], within[c], np.uint32(1 << c)
        for i in range(out.size):
            if away[begin + column[i]] <= reach:
                out[i] |= bit
