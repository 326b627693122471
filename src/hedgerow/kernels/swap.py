"""Swapping of ranked values within a window."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

_TRIES = 32


@njit(cache=True, nogil=True)
def swap_ranks(n: int, window: int, random: Any) -> NDArray[np.int64]:
    """A pairing of the ranks 0..n-1: each not yet paired takes a random free one above it.

    Parameters
    ----------
    n : int
    window : int
        Largest difference of paired ranks, at least 1.
    random : numpy Generator

    Returns
    -------
    array of int, shape (n,)
        The partner of every rank; itself where no free one was in reach.
    """
    partner = np.full(n, -1)
    for i in range(n):
        if partner[i] >= 0:
            continue
        last = min(i + window, n - 1)
        chosen = -1
        for _ in range(_TRIES):
            if last == i:
                break
            j = i + 1 + int(random.random() * (last - i))
            if partner[j] < 0:
                chosen = j
                break
        if chosen < 0:  # few are free: count them and draw one
            free = 0
            for j in range(i + 1, last + 1):
                free += partner[j] < 0
            nth = int(random.random() * free) if free else -1
            for j in range(i + 1, last + 1):
                if partner[j] < 0:
                    if nth == 0:
                        chosen = j
                        break
                    nth -= 1
        if chosen < 0:
            partner[i] = i
        else:
            partner[i], partner[chosen] = chosen, i
    return partner
