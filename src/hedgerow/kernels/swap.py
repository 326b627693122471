"""Swapping of ranked values within a window."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .compiled import checked
from .draws import unit_interval, word_at

_TRIES = 32


@checked
def _swap_ranks(n: int, window: int, k0: Any, k1: Any) -> NDArray[np.int64]:
    partner = np.full(n, -1)
    drawn = np.uint64(0)
    for i in range(n):
        if partner[i] >= 0:
            continue
        last = min(i + window, n - 1)
        chosen = -1
        for _ in range(_TRIES):
            if last == i:
                break
            drawn += np.uint64(1)
            j = i + 1 + int(unit_interval(word_at(drawn, k0, k1)) * (last - i))
            if partner[j] < 0:
                chosen = j
                break
        if chosen < 0:  # few are free: count them and draw one
            free = 0
            for j in range(i + 1, last + 1):
                free += partner[j] < 0
            drawn += np.uint64(1)
            nth = int(unit_interval(word_at(drawn, k0, k1)) * free) if free else -1
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


def swap_ranks(n: int, window: int, first: int, second: int) -> NDArray[np.int64]:
    """A pairing of the ranks 0..n-1: each not yet paired takes a random free one above it.

    Parameters
    ----------
    n : int
    window : int
        Largest difference of paired ranks, at least 1.
    first, second : 64-bit integers
        The key of the draws.

    Returns
    -------
    array of int, shape (n,)
        The partner of every rank; itself where no free one was in reach.
    """
    return _swap_ranks(n, window, np.uint64(first), np.uint64(second))
