"""A binary heap of node or group numbers whose keys change while they are in it."""

from __future__ import annotations

from . import Floats, Ints
from .compiled import inner


@inner
def _is_before(a: int, b: int, first: Floats, second: Ints | None) -> bool:
    if first[a] != first[b]:
        return first[a] > first[b]
    if second is not None and second[a] != second[b]:
        return second[a] > second[b]
    # Numbers decide last, so the order never depends on how the heap was built.
    return a < b


@inner
def sift(heap: Ints, place: Ints, i: int, size: int, first: Floats, second: Ints | None) -> None:
    """Move the entry at position i up or down until the heap is in order.

    The largest `first` is on top; ties go to the largest `second` (None: there is no second key),
    then to the lowest number. `place` is the position of each number in the heap.
    """
    entry = heap[i]
    # up, and if it did not move, down: a key may have changed either way
    while i > 0 and _is_before(entry, heap[(i - 1) >> 1], first, second):
        heap[i] = heap[(i - 1) >> 1]
        place[heap[i]] = i
        i = (i - 1) >> 1
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and _is_before(heap[child + 1], heap[child], first, second):
            child += 1
        if not _is_before(heap[child], entry, first, second):
            break
        heap[i] = heap[child]
        place[heap[i]] = i
        i = child
    heap[i] = entry
    place[entry] = i
