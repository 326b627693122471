"""Work on rows or columns in parts, by threads: for work that releases the interpreter's lock."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
I = TypeVar("I")

# not the number of processors: sums by part are the same on every machine
PARTS = 4
# threads are worth starting from this many small steps on
WORTH = 1_000_000


def _workers() -> int:
    """Return the number of threads, at most one per processor: more would evict each other's caches."""
    return min(PARTS, os.cpu_count() or 1)


def in_parts(work: Callable[[slice], T], rows: int, cost: int) -> list[T]:
    """Return the results of `work` on consecutive slices of the rows, in order.

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
    return side_by_side(work, [slice(a, b) for a, b in itertools.pairwise(bounds)], cost)


def side_by_side(work: Callable[[I], T], items: Iterable[I], cost: int) -> list[T]:
    """Return the results of `work` on every item, in order; use threads if `cost` is high enough.

    Parameters
    ----------
    work : callable
        Takes one item; calls do not touch each other's results.
    items : iterable
    cost : int
        Steps in all; few are done one after the other.
    """
    if cost < WORTH:
        return [work(item) for item in items]
    with ThreadPoolExecutor(_workers()) as threads:
        return list(threads.map(work, items))


def streamed(work: Callable[[I], T], items: Iterable[I]) -> Iterator[T]:
    """Yield the results of `work` on every item, in order, computed a few items ahead by threads.

    Closing the iterator stops the threads.
    """
    waiting: deque[Future[T]] = deque()
    with ThreadPoolExecutor(_workers()) as threads:
        try:
            for item in items:
                waiting.append(threads.submit(work, item))
                # Only a few results wait at a time, because each may be large.
                if len(waiting) > PARTS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(wait=True, cancel_futures=True)
