"""Products with Kronecker chains of ``a I + b J`` matrices, one mode at a time, in place."""

from __future__ import annotations

import numpy as np

from . import Floats
from .compiled import checked

_TILE = 512


@checked
def _mode(x: Floats, left: int, d: int, right: int, a: float, b: float) -> None:
    # The last mode's entries are neighbours, so one number holds their sum.
    if right == 1:
        for i in range(left):
            base = i * d
            total = 0.0
            for j in range(d):
                total += x[base + j]
            total *= b
            for j in range(d):
                x[base + j] = a * x[base + j] + total
        return
    # A tile of columns is summed and rewritten while it is still in the cache.
    sums = np.empty(min(right, _TILE))
    for i in range(left):
        base = i * d * right
        for start in range(0, right, _TILE):
            width = min(_TILE, right - start)
            for r in range(width):
                sums[r] = 0.0
            for j in range(d):
                at = base + j * right + start
                for r in range(width):
                    sums[r] += x[at + r]
            for j in range(d):
                at = base + j * right + start
                for r in range(width):
                    x[at + r] = a * x[at + r] + b * sums[r]


def modes(x: Floats, dims: tuple[int, ...], a: Floats, b: Floats) -> Floats:
    """Return (M_1 x ... x M_m) x with M_i = a_i I + b_i J, over the trailing modes of `x`.

    Parameters
    ----------
    x : array, size a multiple of prod(dims)
        Overwritten when it is contiguous float64; leading axes are a batch.
    dims : tuple of int
        Sizes of the m trailing modes.
    a, b : arrays of shape (m,)

    Returns
    -------
    array shaped as `x`
    """
    x = np.ascontiguousarray(x, dtype=np.float64)
    flat = x.reshape(-1)
    right = 1
    for i in range(len(dims) - 1, -1, -1):
        d = dims[i]
        if flat.size and not (a[i] == 1.0 and b[i] == 0.0):
            _mode(flat, flat.size // (d * right), d, right, float(a[i]), float(b[i]))
        right *= d
    return x
