"""Swap drawn values inside groups, so that pairs of columns are as in the table, and none that nobody has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from ..kernels.even_draws import COUNT, GAIN, PAIR, PRODUCT, SIDE, PairErrors, swap_impossible, swap_towards
from ..measures import Ints
from ..plan import Guard, GuardedColumn

# people who should have a pair of values that hardly anybody has
EXPECTED = 10
# records of tables whose drawn rows are brought near to them: in smaller ones that would show who is in them
LEAST_SWAPPED = 1000
# average count of a cell in the two-way tables that drawn rows are fitted to
PER_PAIR = 50
# standard errors of a sample as large as the table within which counts and correlations stay as they were drawn
ERRORS = 2
# pairs of rows that are compared for each column, and in all columns together, at most
# and rows of its group that each row with a rare pair is held against in a turn
TURNS, COMPARED, LOOKED = 24, 3_000_000, 1_000
# normal scores of pairs are rounded to whole numbers of 32nds, so that their squares are exact
_UNIT = 32
# how rare a pair of bins is: too few people have it, or nobody
HARDLY_ANYBODY, NOBODY = 1, 2


@dataclass(frozen=True)
class _BinnedRows:
    """The bins of a column's values in the rows of the table, and whether each value may be released."""

    of_row: Ints
    is_visible: NDArray[np.bool_]


@dataclass(frozen=True)
class RarePairs:
    """The pairs of values that too few people have, though many should.

    Parameters
    ----------
    bins : mapping of str to int64 array of shape (n_values,)
        By column, the bin of each code.
    rarity : mapping of pair of str to uint8 array of shape (n_bins, n_bins of the other)
        By two columns that have rare pairs: `HARDLY_ANYBODY`, `NOBODY`, or 0 for what enough people have.
    """

    bins: Mapping[str, Ints]
    rarity: Mapping[tuple[str, str], NDArray[np.uint8]]

    def between(self, one: str, two: str) -> NDArray[np.uint8] | None:
        """Return how rare each bin of a column is with each of another; None if no pair of them is."""
        return self.rarity[two, one].T if (two, one) in self.rarity else self.rarity.get((one, two))


def rare_pairs(guard: Guard, codes: Mapping[str, Ints]) -> RarePairs:
    """Return the bin of each code of each column, and which pairs of bins hardly anybody has.

    A pair is rare if fewer people have it than share a released value, and `EXPECTED` and ten times as
    many would if the two columns had nothing to do with each other: one person more makes no pair possible.
    """
    bins = {c.name: bins_of(c) for c in guard.columns}
    rows = {name: _BinnedRows(of_code[codes[name]], codes[name] >= 0) for name, of_code in bins.items()}
    rarity: dict[tuple[str, str], NDArray[np.uint8]] = {}
    unit = _bundles(guard)
    for i, a in enumerate(guard.columns):
        for j, b in enumerate(guard.columns[:i]):
            if unit[i] == unit[j]:  # they move together, so no swap parts them
                continue
            n_a, n_b = (int(bins[c.name].max(initial=0)) + 1 for c in (a, b))
            counted = _pair_counts(rows[a.name], rows[b.name], n_a * n_b, n_b).reshape(n_a, n_b)
            expected = np.outer(counted.sum(axis=1), counted.sum(axis=0)) / max(int(counted.sum()), 1)
            few = (counted < guard.people) & (expected >= EXPECTED) & (EXPECTED * counted <= expected)
            if few.any():
                rarity[a.name, b.name] = (few * np.where(counted, HARDLY_ANYBODY, NOBODY)).astype(np.uint8)
    return RarePairs(bins, rarity)


def _pair_counts(one: _BinnedRows, two: _BinnedRows, n_cells: int, width: int) -> Ints:
    """Count the pairs of bins of two columns in the rows in which both values may be released."""
    cells, with_value = one.of_row * width + two.of_row, one.is_visible & two.is_visible
    return np.bincount(cells if with_value.all() else cells[with_value], minlength=n_cells)


def possible(guard: Guard, items: Mapping[str, Ints], rare: RarePairs) -> dict[str, Ints]:
    """Move numbers that would make a rare pair with every category drawn in their cell.

    They go to the nearest run of the table that does not. Only quasi-identifiers outside bundles are
    looked at: shares of sensitive columns are smoothed. Nothing of the cell enters but its draws.
    """
    sizes = np.asarray(guard.cells, np.int64)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    leaders = {c.follows for c in guard.columns}
    alone = [c for c in guard.columns if c.role == "quasi" and not c.follows and c.name not in leaders]
    moved = dict(items)
    for column in (c for c in alone if c.by_moments):
        n = column.n_values
        bin_of, codes = rare.bins[column.name], items[column.name]
        n_bins = int(bin_of[n - 1]) + 1
        fits = np.ones((len(sizes), n_bins), np.bool_)
        for other in alone:
            few = rare.between(column.name, other.name)
            if few is None or other.by_moments:
                continue
            occurs = np.zeros((len(sizes), few.shape[1]), np.float32)
            occurs[labels, rare.bins[other.name][items[other.name]]] = 1
            harmless: NDArray[np.bool_] = np.asarray(few[:n_bins].T == 0)
            fits &= np.greater(occurs @ harmless, 0)
        number = np.arange(n_bins)
        first = np.searchsorted(bin_of[:n], number)
        last = np.searchsorted(bin_of[:n], number, side="right") - 1
        below: Ints = np.maximum.accumulate(np.where(fits, number, -1), axis=1)
        above: Ints = np.minimum.accumulate(np.where(fits, number, n_bins)[:, ::-1], axis=1)[:, ::-1]
        some: NDArray[np.bool_] = np.asarray(fits.any(axis=1))
        at = np.flatnonzero((codes < n) & some[labels])
        at = at[~fits[labels[at], bin_of[codes[at]]]]
        place = labels[at], bin_of[codes[at]]
        low, high = last[below[place]], first[np.minimum(above[place], n_bins - 1)]
        down = np.where(below[place] >= 0, codes[at] - low, n)
        up = np.where(above[place] < n_bins, high - codes[at], n)
        moved[column.name] = codes.copy()
        moved[column.name][at] = np.where(down <= up, low, high)
    return moved


def near_table(guard: Guard, items: Mapping[str, Ints], codes: Mapping[str, Ints]) -> dict[str, Ints]:
    """Swap values inside groups until pairs of columns are about as frequent, and as correlated, as in the table.

    Counts are of pairs of coarse bins. What lies within `ERRORS` standard errors, or half as many people as share a
    released value, is left: it would tell who happens to be in the table, and not what people are like.
    """
    columns, unit, n = guard.columns, _bundles(guard), int(np.asarray(guard.sizes).sum())
    turns = min(COMPARED // max(n * (int(unit.max()) + 1), 1), TURNS)
    if n < LEAST_SWAPPED or not turns:
        return dict(items)
    bins = [bins_of(c, parts=int(np.clip(np.sqrt(n / PER_PAIR), 2, 20))) for c in columns]
    table = [_BinnedRows(of_code[codes[c.name]], codes[c.name] >= 0) for c, of_code in zip(columns, bins, strict=True)]
    released = np.stack([of_code[items[c.name]] for c, of_code in zip(columns, bins, strict=True)])
    scores_of_code = [_normal_scores(c) for c in columns]
    wanted_scores, scores = (
        np.stack([z[rows[c.name]] for c, z in zip(columns, scores_of_code, strict=True)]) for rows in (codes, items)
    )
    wanted_scores = wanted_scores * np.stack([column.is_visible for column in table])
    wanted_sums, sums = (np.einsum("in,jn", z, z).tolist() for z in (wanted_scores, scores))
    pairs = np.zeros((len(unit), len(unit)), PAIR)
    counts, products, start = [np.zeros(0, COUNT)], list[tuple[int, int]](), 0
    for i, j in combinations(range(len(unit)), 2):
        if unit[i] == unit[j]:
            continue
        width = int(bins[j].max()) + 1
        n_cells = (int(bins[i].max()) + 1) * width
        wanted = _pair_counts(table[i], table[j], n_cells, width)
        n_visible = max(int(wanted.sum()), 1)
        # not rounded: at the border of two multiples one person more would move what is wanted by the whole step
        wanted = np.rint(wanted * (n / n_visible)).astype(np.int64)
        count = np.empty(n_cells, COUNT)
        count["excess"] = np.bincount(released[i] * width + released[j], minlength=n_cells) - wanted
        count["slack"] = np.maximum(np.sqrt(wanted) * ERRORS, guard.people / 2)
        count["weight"] = _UNIT**4 // (wanted + 1)
        pairs[i, j] = len(products), start, width, 1
        pairs[j, i] = len(products), start, 1, width
        counts.append(count)
        products.append((sums[i][j] - wanted_sums[i][j] * n // n_visible, int(ERRORS * np.sqrt(n) * _UNIT**2)))
        start += n_cells
    place = np.tile(np.arange(n), (int(unit.max()) + 1, 1))
    bin_of_row, score_of_row = (np.ascontiguousarray(x.T, np.int32) for x in (released, scores))
    off, too_large = np.concatenate(counts), np.array(products, PRODUCT)
    errors = PairErrors(unit, bin_of_row, score_of_row, pairs, off, np.zeros(start, GAIN), too_large)
    swap_towards(np.asarray(guard.sizes, np.int64), place, errors, turns)
    return {c.name: items[c.name][place[u]] for c, u in zip(columns, unit, strict=True)}


def without_impossible(guard: Guard, items: Mapping[str, Ints], rare: RarePairs) -> tuple[dict[str, Ints], int]:
    """Swap values inside groups to remove rare pairs; return the rows that keep one that nobody has."""
    if not rare.rarity:
        return dict(items), 0
    names, unit, bins = [c.name for c in guard.columns], _bundles(guard), rare.bins
    sides, start = list[tuple[int, tuple[int, ...]]](), 0
    for (a, b), few in rare.rarity.items():
        i, j, width = names.index(a), names.index(b), few.shape[1]
        sides += [(unit[i], (i, j, start, width, 1)), (unit[j], (j, i, start, 1, width))]
        start += few.size
    sides.sort()
    n_units = int(unit.max()) + 1
    place = np.tile(np.arange(len(items[names[0]])), (n_units, 1))
    coarse = np.stack([bins[name].astype(np.uint32)[items[name]] for name in names], axis=1)
    impossible = np.concatenate([few.ravel() for few in rare.rarity.values()]) > 0
    ends = np.searchsorted([u for u, _ in sides], np.arange(n_units + 1))
    of_unit = np.array([side for _, side in sides], SIDE)
    swap_impossible(np.asarray(guard.sizes, np.int64), place, unit, coarse, of_unit, ends, impossible, LOOKED)
    swapped = {name: items[name][place[u]] for name, u in zip(names, unit, strict=True)}
    is_impossible = np.zeros(place.shape[1], np.bool_)
    for (a, b), few in rare.rarity.items():
        is_impossible |= few[bins[a][swapped[a]], bins[b][swapped[b]]] == NOBODY
    return swapped, int(is_impossible.sum())


def _bundles(guard: Guard) -> Ints:
    """Return the number of each column's bundle, whose columns move together."""
    leader = {c.name: c.follows or c.name for c in guard.columns}
    for _ in leader:  # a leader may follow another
        leader = {name: leader[first] for name, first in leader.items()}
    number = {first: i for i, first in enumerate(dict.fromkeys(leader.values()))}
    return np.array([number[first] for first in leader.values()], np.int64)


def _normal_scores(column: GuardedColumn) -> Ints:
    """Return the standardised normal score of each code of a column, in 32nds."""
    people = np.asarray(column.people, np.int64)
    middle = (np.cumsum(people) - people / 2) / max(people.sum(), 1)
    scores = ndtri(np.clip(middle, 1e-6, 1 - 1e-6))
    scores -= (scores * people).sum() / max(people.sum(), 1)
    spread = np.sqrt((scores**2 * people).sum() / max(people.sum(), 1))
    # a value that hardly anybody has is far from the others: their products must be numbers that integers hold
    return np.rint(np.clip(scores / (spread or 1.0), -8, 8) * _UNIT).astype(np.int64)


def bins_of(column: GuardedColumn, parts: int = 20) -> Ints:
    """Return the bin of each code: the code itself where these are few, else one of some `parts` of as many people.

    A value that many people have is a bin of its own, such as no income at all.
    """
    people = np.asarray(column.people, np.int64)
    if len(people) <= 3 * parts:
        return np.arange(len(people))
    n, heap = people.sum(), 5 * parts * people >= 2 * people.sum()
    number = (np.cumsum(people) - people) * parts // n
    return np.cumsum(np.append(False, (np.diff(number) > 0) | heap[1:] | heap[:-1]))
