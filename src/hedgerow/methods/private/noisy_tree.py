"""Grow a tree by noisy choices, and measure its leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ...kernels import Ints
from ...kernels.threads import side_by_side
from ..response.rr_matrix import projected
from . import depth_of
from .domain import PublicColumn
from .noise import Ledger

# values that splits compare are whole multiples of 2^-20
ONE = 1 << 20
# numbers are compared between the points that this share of people lies beyond
_OUTER = 0.05

Codes = Mapping[str, NDArray[np.uint16]]


@dataclass(frozen=True)
class NoisyNode:
    """A node of the tree: the bins of each column that it holds, and its two children.

    Parameters
    ----------
    box : tuple of bool arrays
        For each quasi-identifier, the bins whose rows it may hold; missing is the last.
    split : int
        The column that divides it; -1 for a leaf.
    at : int
        The first bin that goes to the second child, or the only one that goes to the first; see `is_left`.
    children : tuple of int
    """

    box: tuple[NDArray[np.bool_], ...]
    split: int = -1
    at: int = -1
    children: tuple[int, int] | tuple[()] = ()


@dataclass(frozen=True)
class Measurements:
    """Everything that was bought, from which rows are made.

    Parameters
    ----------
    nodes : list of NoisyNode
    leaves : list of int
        Their places in `nodes`.
    histograms : list of int64 arrays of shape (n_leaves, n_bins)
        For each sensitive column.
    marginals : list of int64 arrays of shape (n_bins,)
        For each quasi-identifier, over the whole table.
    people : int
        The noisy number of records.
    deviations : tuple of float
        Standard deviations of the noise of one count: of `people`, `histograms` and `marginals`.
    """

    nodes: list[NoisyNode]
    leaves: list[int]
    histograms: list[Ints]
    marginals: list[Ints]
    people: int
    deviations: tuple[float, float, float]


def scores_by_bin(column: PublicColumn, noisy: Ints, n_columns: int) -> Ints:
    """Return what a row of each bin adds to the sums that splits compare; each at most ONE / n_columns in all.

    Numbers lie between -1 and 1, their noisy 5% and 95% points; a category is its indicator less even shares.

    Parameters
    ----------
    column : PublicColumn
    noisy : int64 array of shape (n_bins,)
        Its noisy counts over the whole table; used for numbers alone.
    n_columns : int
        Sensitive columns, which weigh the same.
    """
    n = column.n_bins
    if column.is_number:
        edges = np.asarray(column.edges)
        middle = (edges[1:] + edges[:-1]) / 2
        reached = np.cumsum(projected(noisy[:-1] / max(noisy[:-1].sum(), 1)))
        low, high = (middle[min(int((reached < share).sum()), n - 2)] for share in (_OUTER, 1 - _OUTER))
        half = max((high - low) / 2, (edges[-1] - edges[0]) / 1024)
        z = np.append(np.clip((middle - (low + high) / 2) / half, -1.0, 1.0), 0.0)[:, None]
    else:
        z = (np.eye(n) - 1 / n) / 2
    return np.trunc(z / n_columns * ONE).astype(np.int64)


def candidates(column: PublicColumn, box: NDArray[np.bool_]) -> Ints:
    """Return the admissible cuts of a node, from its box alone: the first bin on the right, or the one on the left."""
    bins = np.flatnonzero(box)
    return bins[1:] if column.is_ordered or len(bins) == 2 else (bins if len(bins) > 2 else bins[:0])


def is_left(column: PublicColumn, box: NDArray[np.bool_], at: int) -> NDArray[np.bool_]:
    """Return which bins go to the first child."""
    bins = np.arange(len(box))
    return bins < at if column.is_ordered or box.sum() == 2 else bins == at


def measure(
    quasi: Sequence[PublicColumn],
    sensitive: Sequence[PublicColumn],
    codes: Codes,
    ledger: Ledger,
    shares: Mapping[str, Fraction],
    people: int,
    deviation: float,
) -> Measurements:
    """Grow the tree, and buy the counts of its leaves and of each quasi-identifier.

    Parameters
    ----------
    quasi, sensitive : sequences of PublicColumn
    codes : mapping of str to arrays
        The bin of each row, by column.
    ledger : Ledger
    shares : mapping of str to Fraction
        What "splits", "centres", "leaves" and "marginals" may cost.
    people, deviation : int, float
        The noisy number of records, and the standard deviation of its noise.
    """
    n_rows = len(codes[quasi[0].name])
    depth = depth_of(people, ledger.epsilon / ledger.records)
    nodes = [NoisyNode(tuple(np.ones(column.n_bins, bool) for column in quasi))]
    level, place = [0], np.zeros(n_rows, np.uint16)
    scores = []
    for column in sensitive:
        shape = np.zeros(column.n_bins, np.int64)
        if column.is_number and depth:
            bought = ledger.buy(f"shape, {column.name}", shares["shapes"])
            shape = bought.counts(np.bincount(codes[column.name], minlength=column.n_bins))
        scores.append(scores_by_bin(column, shape, len(sensitive)))
    for turn in range(depth):
        choosing = ledger.buy(f"splits, level {turn + 1}", shares["splits"] / depth)
        centring = ledger.buy(f"centres, level {turn + 1}", shares["centres"] / depth)
        sums, counts = _sums(quasi, sensitive, codes, place, len(level), scores)
        totals = np.column_stack([counts[0].sum(1) * ONE, sums[0].sum(1)])
        noisy = centring.counts(totals, 2 * ONE)
        following: list[int] = []
        moves = np.zeros((len(level), len(quasi), max(c.n_bins for c in quasi)), np.uint16)
        chosen = np.zeros(len(level), np.int64)
        for i, number in enumerate(level):
            node = nodes[number]
            centre = _centre(noisy[i])
            cuts, gains = _gains(quasi, node, [s[i] for s in sums], [c[i] for c in counts], centre)
            if not cuts:
                moves[i] = len(following)
                following.append(number)
                continue
            # a row moves the sums by its own values and by the centre
            which, at = cuts[choosing.pick(gains, ONE + int(np.abs(centre).sum()))]
            first_side = is_left(quasi[which], node.box[which], at)
            ends = []
            for side in (first_side, ~first_side):
                box = tuple(b & side if j == which else b for j, b in enumerate(node.box))
                moves[i, which, : len(side)][side] = len(following)
                following.append(len(nodes))
                ends.append(len(nodes))
                nodes.append(NoisyNode(box))
            nodes[number] = NoisyNode(node.box, which, at, (ends[0], ends[1]))
            chosen[i] = which
        place = _moved(quasi, codes, place, moves, chosen)
        level = following
    each = shares["leaves"] / len(sensitive)
    histograms = []
    for column in sensitive:
        bought = ledger.buy(f"leaves, {column.name}", each)
        joint = place.astype(np.int64) * column.n_bins + codes[column.name]
        counts_of = np.bincount(joint, minlength=len(level) * column.n_bins).reshape(len(level), -1)
        histograms.append(bought.counts(counts_of))
        noise = bought.deviation()
    marginals, one = [], shares["marginals"] / len(quasi)
    for column in quasi:
        bought = ledger.buy(f"marginal, {column.name}", one)
        marginals.append(bought.counts(np.bincount(codes[column.name], minlength=column.n_bins)))
    return Measurements(nodes, level, histograms, marginals, people, (deviation, noise, bought.deviation()))


def _sums(
    quasi: Sequence[PublicColumn],
    sensitive: Sequence[PublicColumn],
    codes: Codes,
    place: NDArray[np.uint16],
    n_nodes: int,
    scores: Sequence[Ints],
) -> tuple[list[Ints], list[Ints]]:
    """Return, for each quasi-identifier, the sums and counts of each node and bin: dense, with empty ones."""

    def crossed(column: PublicColumn) -> tuple[Ints, Ints]:
        cell = place.astype(np.int64) * column.n_bins + codes[column.name]
        n, sums = n_nodes * column.n_bins, []
        for other, score in zip(sensitive, scores, strict=True):
            joint = np.bincount(cell * other.n_bins + codes[other.name], minlength=n * other.n_bins).reshape(n, -1)
            sums.append(joint @ score)
        shape = (n_nodes, column.n_bins)
        return np.concatenate(sums, 1).reshape(*shape, -1), joint.sum(1).reshape(shape)

    both = side_by_side(crossed, quasi, len(place) * len(quasi) * len(sensitive))
    return [s for s, _ in both], [c for _, c in both]


def _centre(noisy: Ints) -> Ints:
    """Return the noisy mean of a node's values, none of whose sums of absolute values is above ONE."""
    people = max(int(noisy[0]), ONE) / ONE
    centre = np.trunc(noisy[1:] / people)
    size = np.abs(centre).sum()
    return np.trunc(centre * min(1.0, ONE / size)).astype(np.int64) if size else centre.astype(np.int64)


def _gains(
    quasi: Sequence[PublicColumn], node: NoisyNode, sums: Sequence[Ints], counts: Sequence[Ints], centre: Ints
) -> tuple[list[tuple[int, int]], Ints]:
    """Return the cuts of a node with how far both sides lie from its centre."""
    cuts: list[tuple[int, int]] = []
    gains = []
    for j, column in enumerate(quasi):
        at = candidates(column, node.box[j])
        if not len(at):
            continue
        differing = sums[j] - counts[j][:, None] * centre
        first = np.array([is_left(column, node.box[j], int(cut)) for cut in at]).astype(np.int64) @ differing
        gains.append(np.abs(first).sum(1) + np.abs(differing.sum(0) - first).sum(1))
        cuts += [(j, int(cut)) for cut in at]
    return cuts, np.concatenate(gains) if gains else np.zeros(0, np.int64)


def _moved(
    quasi: Sequence[PublicColumn], codes: Codes, place: NDArray[np.uint16], moves: NDArray[np.uint16], chosen: Ints
) -> NDArray[np.uint16]:
    """Return the node of each row on the next level."""
    result = np.empty_like(place)
    for j, column in enumerate(quasi):
        mine = chosen == j
        if mine.any():
            rows = mine[place]
            result[rows] = moves[place[rows], j, codes[column.name][rows]]
    return result
