"""The passes of PoROP-k that are bound by memory, each in one sweep."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .compiled import checked

Floats = NDArray[np.float64]
Index = NDArray[np.uint32]


@checked
def normalise_blocks(ordered: Floats, lo: Floats, span: Floats, k: int) -> None:
    """In place: (v - lo) / span for every block of k values; 0 where the span is 0."""
    for b in range(lo.size):
        for i in range(b * k, min((b + 1) * k, ordered.size)):
            ordered[i] = (ordered[i] - lo[b]) / span[b] if span[b] > 0.0 else 0.0


@checked
def trace_back(first: Index, second: Index, k: int, place: Index, block: Index) -> None:
    """Where each value of the second order stood at the start, and its first block."""
    for i in range(second.size):
        place[i] = first[second[i]]
        block[i] = second[i] // k


@checked
def place_back(
    fitted: Floats,
    deviation: Floats,
    normals: Floats,
    place: Index,
    block: Index,
    lo: Floats,
    span: Floats,
    released: Floats,
) -> None:
    """Add the noise, undo the normalisation and both orders."""
    for i in range(place.size):
        y = fitted[i] + deviation[i] * normals[i]
        released[place[i]] = y * span[block[i]] + lo[block[i]]
