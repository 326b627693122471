"""Work on rows in parts, by threads: for kernels that let go of the interpreter."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")

PARTS = 4
WORTH = 1_000_000
"""Threads pay from so many small steps on."""


def in_parts(work: Callable[[slice], T], rows: int, cost: int) -> list[T]:
    """What `work` gives for consecutive slices of the rows, in order.

    Parameters
    ----------
    work : callable
        Takes a slice; slices do not touch each other's results.
    rows : int
    cost : int
        Steps in all; few are done at once.
    """
    if cost < WORTH:
        return [work(slice(0, rows))]
    bounds = [rows * part // PARTS for part in range(PARTS + 1)]
    with ThreadPoolExecutor(PARTS) as threads:
        return list(threads.map(work, [slice(a, b) for a, b in itertools.pairwise(bounds)]))
