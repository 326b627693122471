"""Make ordinary rows from noisy measurements alone, by a public key."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...kernels import Ints
from ..response.rr_matrix import projected
from .domain import PublicColumn
from .noisy_tree import Measurements

Array = NDArray[np.float64]
# noisy counts of "other" and missing values below so many standard deviations of the noise are taken for none
_TELLING = 3.0


def apportioned(shares: Array, n: int) -> Ints:
    """Return whole numbers that add to n, as near to the shares as they can be (largest remainders)."""
    wanted = shares * n
    counts = np.floor(wanted).astype(np.int64)
    lacking = n - int(counts.sum())
    counts[np.argsort(counts - wanted, kind="stable")[:lacking]] += 1
    return counts


def _below(measured: Measurements) -> list[list[int]]:
    """Return the places of the leaves at and below each node."""
    place = {node: i for i, node in enumerate(measured.leaves)}
    below: list[list[int]] = [[] for _ in measured.nodes]
    for i in range(len(measured.nodes) - 1, -1, -1):
        children = measured.nodes[i].children
        below[i] = [place[i]] if not children else below[children[0]] + below[children[1]]
    return below


def sizes(measured: Measurements) -> Array:
    """Return the estimated number of rows of each leaf, none negative, from all counts that tell of it."""
    below = _below(measured)
    totals = np.mean([h.sum(1) for h in measured.histograms], axis=0).astype(float)
    variance = np.mean([h.shape[1] for h in measured.histograms]) * measured.deviations[1] ** 2
    variance /= len(measured.histograms)
    whole, counted = measured.deviations[0] ** 2, variance * len(totals)
    weight = counted / (counted + whole) if counted + whole else 1.0
    wanted = {0: max(0.0, totals.sum() + weight * (measured.people - totals.sum()))}
    for i, node in enumerate(measured.nodes):
        if node.children:
            parts = [totals[below[child]].sum() for child in node.children]
            leaves = [len(below[child]) for child in node.children]
            error = wanted[i] - sum(parts)
            for child, part, n in zip(node.children, parts, leaves, strict=True):
                wanted[child] = part + error * n / sum(leaves)
            first, second = (max(0.0, wanted[child]) for child in node.children)
            total = first + second
            scale = wanted[i] / total if total else 0.0
            wanted[node.children[0]], wanted[node.children[1]] = first * scale, second * scale
    return np.array([wanted[leaf] for leaf in measured.leaves])


def _without_noise(column: PublicColumn, counts: Array, deviation: float) -> Array:
    """Return the shares of noisy counts, with none for "other" and missing values where noise explains them."""
    rare = np.arange(len(counts)) >= len(counts) - (1 if column.is_number else 2)
    counts = np.where(rare & (counts < _TELLING * deviation), 0.0, counts)
    return counts / max(counts.sum(), 1.0)


def shares(column: PublicColumn, measured: Measurements, which: int, sizes: Array) -> Array:
    """Return the estimated shares of a sensitive column in each leaf, shrunk toward those of the nodes above it."""
    below, counts = _below(measured), measured.histograms[which].astype(float)
    root = _without_noise(column, counts.sum(0), measured.deviations[1] * math.sqrt(len(counts)))
    counts = np.where(root == 0.0, 0.0, counts)
    estimated = {0: projected(root)}
    for i, node in enumerate(measured.nodes):
        for child in node.children:
            mine = below[child]
            people = max(sizes[mine].sum(), 1.0)
            differing = counts[mine].sum(0) - people * estimated[i]
            noise = (len(differing) - 2) * len(mine) * measured.deviations[1] ** 2
            square = float(differing @ differing)
            # James and Stein: as much of the difference as noise does not explain
            part = max(0.0, 1.0 - noise / square) if square else 0.0
            estimated[child] = projected(estimated[i] + part * differing / people)
    return np.array([estimated[leaf] for leaf in measured.leaves])


class PublicDraws:
    """Uniform numbers that follow from a public key; the same on every machine."""

    def __init__(self, row_key: bytes) -> None:
        self._bits = np.random.Philox(key=int.from_bytes(row_key, "little"))

    def uniform(self, n: int) -> Array:
        """Return n numbers from 0 to below 1."""
        words = np.atleast_1d(self._bits.random_raw(n)) if n else np.zeros(0, np.uint64)
        return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def order(self, n: int) -> Ints:
        """Return the numbers below n in a random order."""
        return np.argsort(self.uniform(n), kind="stable")


def made_rows(
    quasi: Sequence[PublicColumn], sensitive: Sequence[PublicColumn], measured: Measurements, row_key: bytes
) -> dict[str, pa.Array]:
    """Return the columns of the released table, from public numbers alone."""
    draws, wanted = PublicDraws(row_key), sizes(measured)
    n = round(float(wanted.sum()))
    rows = apportioned(wanted / wanted.sum(), n) if n else np.zeros(len(wanted), np.int64)
    marginals = [
        projected(_without_noise(column, counts.astype(float), measured.deviations[2]))
        for column, counts in zip(quasi, measured.marginals, strict=True)
    ]
    within = [shares(column, measured, i, wanted) for i, column in enumerate(sensitive)]
    bins: dict[str, list[Ints]] = {c.name: [] for c in (*quasi, *sensitive)}
    for i, leaf in enumerate(measured.leaves):
        size, box = int(rows[i]), measured.nodes[leaf].box
        inside = [share * b if (share * b).sum() else b for share, b in zip(marginals, box, strict=True)]
        parts = [part / part.sum() for part in inside] + [each[i] for each in within]
        for in_bins, part in zip(bins.values(), parts, strict=True):
            in_bins.append(np.repeat(np.arange(len(part)), apportioned(part, size))[draws.order(size)])
    order = draws.order(n)
    empty = np.zeros(0, np.int64)
    return {
        c.name: values_of(c, np.concatenate([empty, *bins[c.name]])[order], draws.uniform(n))
        for c in (*quasi, *sensitive)
    }


def values_of(column: PublicColumn, bins: Ints, uniform: Array) -> pa.Array:
    """Return a value in each bin: even on the column's scale, whole or to the cent where that is enough."""
    missing = bins == column.n_bins - 1
    if not column.is_number:
        return pa.array([*column.labels, None], pa.string()).take(pa.array(bins))
    edges = np.asarray(column.edges)
    at = np.minimum(bins, len(edges) - 2)
    if column.whole:
        low, high = edges[at], edges[at + 1]
        values = np.floor(low + uniform * (high - low))
        return pa.array(values.astype(np.int64), mask=missing)
    places = column.stretched(edges)
    values = column.unstretched(places[at] + uniform * (places[at + 1] - places[at]))
    digits = max(0, 5 - int(np.floor(np.log10(edges[-1] - edges[0]))))
    return pa.array(np.clip(np.round(values, digits), edges[0], edges[-1]), mask=missing)
