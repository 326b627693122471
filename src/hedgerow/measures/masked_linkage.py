"""Record linkage of a masked file with its original: by distance, by probability, by rank.

Domingo-Ferrer & Torra (2001), "A quantitative comparison of disclosure control
methods for microdata"; Torra & Domingo-Ferrer (2003) for the two linkages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..columns.numbers import standardise
from ..errors import ParameterError, UnsupportedError
from ..kernels.neighbours import build, count_patterns, count_ties, near_patterns, nearest_ties
from ..kernels.threads import in_parts
from .agreement import MOST_COLUMNS, bits_of, credit, prefix_weights

Floats = NDArray[np.float64]

Scale = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Puts an original and a masked file on a scale on which their columns are compared."""

LEVELS = (0.2, 0.02, 1e-9)
"""Standardised values this near agree: roughly, nearly, wholly. Chosen on the CASC files; of more
than 10 columns, whose patterns would be too many, roughly is all that is told apart."""

_BLOCK = 1 << 17
"""Pairs whose patterns are at hand at once."""


def by_deviations(original: Floats, masked: Floats) -> tuple[Floats, Floats]:
    """Standardise both files by their own means and deviations, as the papers do.

    One masked value far from all others moves every other one of its column.
    """
    return standardise(original), standardise(masked)


def by_ranks(original: Floats, masked: Floats) -> tuple[Floats, Floats]:
    """Put both files on the original's ranks, in deviations of these; ties on their middle rank.

    A masked value between two originals lies between their ranks, one beyond all of them at the
    end. Ranks, and not deviations from a median: no value moves another, a heavy tail is no wider than
    its share of the records, and where most values are equal there still is a scale.

    Examples
    --------
    >>> x = np.array([[1.0], [2.0], [2.0], [9.0]])
    >>> before, after = by_ranks(x, np.array([[1.0], [5.5], [2.0], [1e9]]))
    >>> (before * 4 / 12**0.5).ravel().tolist(), (after * 4 / 12**0.5).ravel().tolist()
    ([0.5, 2.0, 2.0, 3.5], [0.5, 2.75, 2.0, 3.5])
    """
    n, columns = original.shape
    before, after = np.empty(original.shape), np.empty(masked.shape)
    for c in range(columns):
        values, counts = np.unique(original[:, c], return_counts=True)
        scaled = (np.cumsum(counts) - counts / 2) * (12**0.5 / n)
        for out, given in ((before, original), (after, masked)):
            out[:, c] = np.interp(given[:, c], values, scaled)
    return before, after


def _known(columns: int, known: int | None) -> int:
    known = (columns + 1) // 2 if known is None else known
    if not 1 <= known <= columns:
        raise ParameterError(
            f"known is {known}; the files share {columns} columns", hint=f"choose 1 to {columns}"
        )
    return known


def distance_linkage(
    original: Floats,
    masked: Floats,
    known: int | None = None,
    rows: NDArray[np.int64] | None = None,
    scale: Scale = by_deviations,
) -> Floats:
    """Per cent of masked records whose nearest original is their own, for growing knowledge.

    A tie among t originals counts 1/t. Exact: a search tree finds whether anything lies nearer
    than the own original, and counts what lies as near.

    Parameters
    ----------
    original, masked : array, shape (n, a)
        Row i of one belongs to row i of the other.
    known : int, optional
        Attributes the intruder knows, 1 to a; half of them (rounded up) by default.
    rows : array of int, optional
        The masked records to link; all by default.
    scale : callable
        `by_deviations` or `by_ranks`.

    Returns
    -------
    array, shape (known,)
        Entry j - 1: only the first j attributes are used.
    """
    known = _known(original.shape[1], known)
    z, target = (each[:, :known] for each in scale(original, masked))
    rows = np.arange(len(z)) if rows is None else rows
    by_value = np.lexsort(z.T[::-1])
    ordered = z[by_value]
    changed = np.zeros(len(z), bool)
    changed[:1] = True
    shares = np.empty(known)
    for j in range(1, known + 1):
        changed[1:] |= ordered[1:, j - 1] != ordered[:-1, j - 1]
        starts = np.flatnonzero(changed)
        distinct = np.empty(len(z), np.int64)
        distinct[by_value] = np.cumsum(changed) - 1
        weight = np.diff(np.append(starts, len(z)))
        ties = _ties(ordered[starts, :j], weight, target[rows, :j], distinct[rows])
        shares[j - 1] = credit(ties).mean()
    return 100.0 * shares


def probabilistic_linkage(
    original: Floats,
    masked: Floats,
    known: int | None = None,
    rows: NDArray[np.int64] | None = None,
    levels: Sequence[float] = LEVELS,
    scale: Scale = by_deviations,
) -> Floats:
    """Per cent of masked records linked to their own original by Fellegi and Sunter's weights.

    Two values agree wholly, nearly, roughly or not, by how far they differ on the scale
    (`LEVELS`). How often pairs that belong together reach each level (m) is estimated by EM
    on the counts of the agreement patterns, so that pairs are counted and never stored; how often
    others do (u) is seen on all pairs, and every record has one original.

    Parameters
    ----------
    original, masked, known, rows, scale
        As for `distance_linkage`; at most 20 known attributes.
    levels : sequence of float
        Three distances within which values agree, or one.

    Returns
    -------
    array, shape (known,)
        Entry j - 1: only the first j attributes are used.
    """
    known = _known(original.shape[1], known)
    if known > MOST_COLUMNS:
        raise UnsupportedError(
            f"probabilistic linkage on {known} attributes needs 2**{known} patterns or more",
            hint=f"set known to at most {MOST_COLUMNS}",
        )
    before, target = (each[:, :known] for each in scale(original, masked))
    z = np.ascontiguousarray(before.T)
    rows = np.arange(len(target)) if rows is None else rows
    target = np.ascontiguousarray(target[rows])
    once, bits = np.ones(z.shape[1], np.int64), min(bits_of(known), len(levels))
    within = np.array(levels[: (1 << bits) - 1])

    def counted(part: slice) -> NDArray[np.int64]:
        counts = np.zeros(1 << (bits * known), np.int64)
        for _, patterns in _blocks(z, target, part, within):
            counts += count_patterns(patterns, once, bits * known)
        return counts

    pairs = z.shape[1] * len(rows)
    counts = np.sum(in_parts(counted, len(rows), pairs), axis=0)
    weights = prefix_weights(counts, known, 1.0 / z.shape[1])
    own = rows.astype(np.int64)

    def linked(part: slice) -> Floats:
        return np.concatenate(
            [
                credit(count_ties(patterns, once, own[block], weights, bits))
                for block, patterns in _blocks(z, target, part, within)
            ]
        )

    return 100.0 * np.concatenate(in_parts(linked, len(rows), pairs)).mean(axis=0)


def _blocks(
    originals: Floats, masked: Floats, part: slice, within: Floats
) -> Iterator[tuple[slice, NDArray[np.uint32]]]:
    """The agreement patterns of some masked records with all originals, a few at a time."""
    step, bits = max(1, _BLOCK // originals.shape[1]), len(within).bit_length()
    for begin in range(part.start, part.stop, step):
        block = slice(begin, min(begin + step, part.stop))
        yield block, near_patterns(originals, masked[block], within, bits)


def _ties(
    distinct: Floats, weight: NDArray[np.int64], queries: Floats, own: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Per query, how many originals are as near as its own; 0 when some are nearer."""
    tree = build(np.ascontiguousarray(distinct))
    queries = np.ascontiguousarray(queries)
    return np.concatenate(
        in_parts(
            lambda part: nearest_ties(tree, weight, queries[part], own[part]),
            len(own),
            100 * len(own),
        )
    )


def interval_disclosure(original: Floats, masked: Floats) -> Floats:
    """Per cent of originals within the rank interval of their masked value.

    For p = 1 to 10 per cent and h = floor(p n / 100), the interval of a masked
    value runs from the masked value h ranks below to the one h ranks above it
    (cut at the ends). A masked value that occurs t times holds t ranks; the share
    of these whose interval holds the original is counted, so that no order of
    the rows matters.

    Returns
    -------
    array, shape (a,)
        Per attribute, averaged over p.
    """
    n, columns = original.shape
    shares = np.empty(columns)
    for c in range(columns):
        ranked = np.sort(masked[:, c])
        first = np.searchsorted(ranked, masked[:, c], "left")
        last = np.searchsorted(ranked, masked[:, c], "right") - 1
        # The interval of rank t holds x when rank t - h is not above x (low of them
        # end at `below`) and rank t + h not under it.
        above = np.searchsorted(ranked, original[:, c], "left")
        below = np.searchsorted(ranked, original[:, c], "right") - 1
        inside = (below >= 0) & (above <= n - 1)
        total = 0.0
        for p in range(1, 11):
            h = p * n // 100
            ranks = np.minimum(last, below + h) - np.maximum(first, above - h) + 1
            total += (np.maximum(ranks, 0) * inside / (last - first + 1)).mean()
        shares[c] = 10.0 * total
    return shares
