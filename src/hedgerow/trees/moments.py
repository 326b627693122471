"""Exact second moments of the numeric responses: sums of products in every group of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..kernels.compiled import kernel
from ..kernels.exact_sums import UNIT_BITS
from .node_rows import NodeRows

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Products:
    """Sums of products of every pair of numeric responses, by group; groups add up.

    Parameters
    ----------
    high, low : int64 arrays of shape (groups, pairs)
        Limbs of 30 bits. The pairs are (0, 0), (0, 1), ... (1, 1), ...
    """

    high: Ints
    low: Ints

    def between(self, first: Ints, last: Ints) -> Floats:
        """Sums over the groups first..last, in the scaled numbers' own unit (2^60 is 1)."""
        unit = float(1 << UNIT_BITS)
        limbs = [_running(part) for part in (self.high, self.low)]  # exact: integers
        high, low = (part[last] - part[first] for part in limbs)
        return np.asarray(high / unit + low / unit**2, np.float64)

    def merged(self, first: Ints, last: Ints) -> Products:
        """The groups first..last made one, for each pair of bounds."""
        high, low = (_running(part) for part in (self.high, self.low))
        return Products(high[last] - high[first], low[last] - low[first])


def _running(part: Ints) -> Ints:
    return np.concatenate([np.zeros((1, part.shape[1]), np.int64), np.cumsum(part, axis=0)])


def products(rows: NodeRows, r: int, start: Ints, end: Ints) -> Products:
    """The products of the last r whole numbers of the records start..end of every group."""
    high = np.zeros((len(start), r * (r + 1) // 2), np.int64)
    low = np.zeros_like(high)
    at = rows.format.quantities[len(rows.format.quantities) - r :]
    if r:
        _products(rows.views.longs, at, start, end, high, low)
    return Products(high, low)


@kernel
def _products(longs, at, start, end, high, low):  # type: ignore[no-untyped-def]
    r = at.shape[0]
    for g in range(start.shape[0]):
        for i in range(start[g], end[g]):
            pair = 0
            for j in range(r):
                a = np.int64(longs[i, at[j]])
                for k in range(j, r):
                    product = a * np.int64(longs[i, at[k]])
                    high[g, pair] += product >> UNIT_BITS
                    low[g, pair] += product & ((1 << UNIT_BITS) - 1)
                    pair += 1
