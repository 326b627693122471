"""Swap drawn values inside groups, so that moments come near the table's and few rows have a pair that nobody has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log10

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..backends.randomize import normal, uniforms, words_of
from ..columns.arrays import slices
from ..kernels.even_draws import MOMENT, PARTNER, SIDE, Moments, Moves, RareBins, swap_impossible, swap_towards
from ..key import Key
from ..measures import Floats, Ints
from ..plan import Guard, GuardedColumn
from .features import Feature, features_of
from .moments import SCALE
from .slots import Slots

# people who should have a pair of values that hardly anybody has, by the version of the plan
EXPECTED = {1: 10, 2: 50, 3: 50, 4: 50}
# people for each moment that drawn rows are brought near to, at least, and for each of the first; how many these are
PER_MOMENT, PER_FIRST, FIRST = 20, 5, 75
# moments, and features of these, at most
MOST, FEATURES = 5_000, 400
# by how many places moments of quasi-identifiers alone stand behind those with a sensitive column
BEHIND = 3
# by how many places moments of one column in two slots stand before others, twice in two in a row, and by how many
# moments ten slots apart stand behind
SAME, STAYS, LATER = 0.5, 2.0, 1.5
# standard errors within which a moment stays as it was drawn, and people whose products what is wanted is moved by
SLACK, NOISE = 0.1, 8
# what a rare pair costs where these and moments are looked at together, in squares of the slack: first, and at last
PRICES = 10, 10_000
# rows of its group that each row is compared with, at least and at most, and values that are compared in all
TURNS, COMPARED = (2, 24), 40_000_000
# rows of its group that each row with a rare pair is held against in a turn
LOOKED = 1_000
# features of rows lie between these, so that products of millions of them do not overflow
LARGEST = 2**12 - 1
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


@dataclass(frozen=True)
class WantedMoments:
    """Features, and the pairs of them whose products are summed, the most useful first.

    Parameters
    ----------
    features : list of Feature
        Unit after unit.
    pairs : int64 array of shape (n_pairs, 2)
        Places in `features`, of different units.
    moment : int64 array of shape (n_pairs,)
        The moment that the products of each pair are summed in: one for the same two columns any slots apart.
    """

    features: Sequence[Feature]
    pairs: Ints
    moment: Ints

    @property
    def n_moments(self) -> int:
        """Return how many sums there are."""
        return int(self.moment.max(initial=-1)) + 1


def rare_pairs(guard: Guard, codes: Mapping[str, Ints], slots: Slots) -> RarePairs:
    """Return the bin of each code of each column, and which pairs of bins hardly anybody has.

    A pair is rare if fewer people have it than share a released value, and `EXPECTED` and ten times as
    many would if the two columns had nothing to do with each other: one person more makes no pair possible.
    """
    bins = {c.name: bins_of(c) for c in guard.columns}
    # where there is no cell is a bin of its own
    bins |= {name: np.append(bins[name], bins[name].max(initial=0) + 1) for name in bins.keys() & slots.cells.keys()}
    rows = {name: _BinnedRows(of_code[codes[name]], codes[name] >= 0) for name, of_code in bins.items()}
    rarity: dict[tuple[str, str], NDArray[np.uint8]] = {}
    unit, n_bins = _bundles(guard), {name: int(of_code.max(initial=0)) + 1 for name, of_code in bins.items()}
    most = {name: int(np.bincount(row.of_row[row.is_visible]).max(initial=0)) for name, row in rows.items()}
    n_withheld = {name: int(np.count_nonzero(~row.is_visible)) for name, row in rows.items()}
    wanted = EXPECTED[guard.version]
    for i, a in enumerate(guard.columns):
        for j, b in enumerate(guard.columns[:i]):
            if unit[i] == unit[j]:  # they move together, so no swap parts them
                continue
            n_rows = len(codes[a.name]) - n_withheld[a.name] - n_withheld[b.name]
            # not even the two commonest bins would have enough people together: most pairs of hundreds of numbers
            if most[a.name] * most[b.name] < wanted * n_rows:
                continue
            n_a, n_b = n_bins[a.name], n_bins[b.name]
            counted = _pair_counts(rows[a.name], rows[b.name], n_a * n_b, n_b).reshape(n_a, n_b)
            expected = np.outer(counted.sum(axis=1), counted.sum(axis=0)) / max(int(counted.sum()), 1)
            few = (counted < guard.people) & (expected >= wanted) & (10 * counted <= expected)
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


def wanted_moments(guard: Guard, key: Key, slots: Slots) -> WantedMoments:
    """Return the moments that rows are brought near to, the most useful ones of a table of this size.

    Pairs of numbers with a sensitive one come first. A value that a tenth of the people have stands one place behind,
    one that a hundredth have two. The key multiplies these counts by 1 to 2, so that nobody can tell from the order
    whether one person more has a value.
    """
    unit, n = _bundles(guard), int(np.asarray(guard.sizes).sum())
    features = features_of(guard.columns, guard.people, slots.cells)
    # of hundreds of columns not all, sensitive ones and numbers first
    if slots.form is None:
        features.sort(key=lambda f: guard.columns[f.column].role == "quasi")
    features = sorted(features[:FEATURES], key=lambda f: int(unit[f.column]))
    uniform = uniforms(words_of(np.arange(len(features), dtype=np.uint64), key, "guard features"))
    place = np.log10(np.maximum(1, n / (np.array([f.people for f in features]) * (1 + uniform))))
    of = np.array([unit[f.column] for f in features], np.int64)
    is_quasi = ~np.isin(of, unit[[c.role == "sensitive" for c in guard.columns]])
    pairs = np.stack(np.triu_indices(len(features), 1), axis=1)
    one, two = pairs[of[pairs[:, 0]] != of[pairs[:, 1]]].T
    rank = place[one] + place[two] + BEHIND * (is_quasi[one] & is_quasi[two]) * (slots.form is None)
    moment, later = _pooled(guard, features, one, two, slots)
    rank += later
    order, most = np.argsort(rank, kind="stable"), min(max(n // PER_MOMENT, min(n // PER_FIRST, FIRST)), MOST)
    # moments in the order of their most useful pairs
    _, first, number = np.unique(moment[order], return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[number.reshape(-1)]
    chosen = order[number < most]
    pairs = np.stack([one, two], axis=1)[chosen]
    used = np.unique(pairs)
    return WantedMoments([features[i] for i in used], np.searchsorted(used, pairs), number[number < most])


def _pooled(guard: Guard, features: Sequence[Feature], one: Ints, two: Ints, slots: Slots) -> tuple[Ints, Floats]:
    """Return the moment of each pair of features, and by how many places it stands behind for the slots in between."""
    if slots.form is None:
        return np.arange(len(one)), np.zeros(len(one))
    names, number, moments, later = (
        [guard.columns[f.column].name for f in features],
        dict[object, int](),
        [],
        list[float](),
    )
    of = [(slots.cells.get(name, (name, -1)), feature.of) for name, feature in zip(names, features, strict=True)]
    for i, j in zip(one.tolist(), two.tolist(), strict=True):
        ((a, at), x), ((b, other), y) = of[i], of[j]
        sides = sorted([(at, (a, x, slots.kind_of(at))), (other, (b, y, slots.kind_of(other)))])
        if at == other or min(at, other) < 0 or sides[0][1][2] != sides[1][1][2]:
            key: object = (*sorted(side for _, side in sides), 0)
        else:
            key = (*(side for _, side in sides), abs(at - other))
        moments.append(number.setdefault(key, len(number)))
        distance = abs(at - other) if min(at, other) >= 0 else 0
        # what stays the same from a slot to the next comes first, also of what few have
        likeness = (a == b) * (SAME + (distance == 1) * (STAYS if x == y else SAME))
        later.append(LATER * log10(distance) - likeness if distance else 0.0)
    return np.array(moments, np.int64), np.array(later)


def near_table(
    guard: Guard,
    items: Mapping[str, Ints],
    codes: Mapping[str, Ints],
    wanted: WantedMoments,
    key: Key,
    slots: Slots,
    rare: RarePairs | None = None,
    price: int = 0,
) -> dict[str, Ints]:
    """Swap values inside groups until the moments of the rows are about those of the table; return the moved codes.

    With rare pairs each of them costs as much as a moment that is off by `price` squares of the slack.
    What is wanted gets noise with a standard deviation of `NOISE` people's products, so that whoever knows all people
    but one learns little of the last. Of a value that few people have, it is partly what groups alone would give.
    """
    if not len(wanted.pairs):
        return dict(items)
    unit, sizes, n = _bundles(guard), np.asarray(guard.sizes, np.int64), sum(guard.sizes)
    features, (first, second) = wanted.features, wanted.pairs.T
    of_table = _products(_in_rows(guard, features, codes))[first, second]
    in_rows = _in_rows(guard, features, items)
    of_items = _products(in_rows)[first, second]
    weight = np.min(np.array([f.weight for f in features])[wanted.pairs], axis=1)
    few = np.flatnonzero(weight < 1)
    starts = np.cumsum(sizes) - sizes
    sums = {f: np.add.reduceat(in_rows[:, f], starts, dtype=np.int64) for f in np.unique(wanted.pairs[few])}
    for m in few:  # what few people have is partly as the groups alone would have it
        alone = int((sums[first[m]] * sums[second[m]] // sizes).sum())
        of_table[m] = round(weight[m] * int(of_table[m]) + (1 - weight[m]) * alone)
    moment, several = wanted.moment, np.sqrt(np.bincount(wanted.moment))
    noise = normal(words_of(np.arange(len(several), dtype=np.uint64), key, "guard moments")).clip(-3, 3)
    off = np.zeros(len(several), MOMENT)
    np.add.at(off["excess"], moment, of_items - of_table)
    off["excess"] -= np.rint(NOISE * SCALE**2 * noise * several).astype(np.int64)
    off["slack"] = (SLACK * np.sqrt(n) * SCALE**2 * several).astype(np.int64)
    either, other = np.append(first, second), np.append(second, first)
    order = np.argsort(either, kind="stable")
    partners = np.zeros(len(order), PARTNER)
    partners["feature"], partners["moment"] = other[order], np.tile(moment, 2)[order]
    begin = np.searchsorted(unit[[f.column for f in features]], np.arange(int(unit.max()) + 2))
    starts = np.searchsorted(either[order], np.arange(len(features) + 1))
    place = np.tile(np.arange(n), (int(unit.max()) + 1, 1))
    turns = int(np.clip(COMPARED // place.size, *TURNS))
    pairs = _pairs(guard, items, rare or RarePairs({}, {}), unit, int(price * (SLACK * SCALE**2) ** 2 * n))
    moments, classes = Moments(in_rows, begin, partners, starts, off), slots.exchangeable(guard, items, unit)
    swap_towards(sizes, place, moments, turns, classes, pairs, _moves(guard, unit, slots))
    return {c.name: items[c.name][place[u]] for c, u in zip(guard.columns, unit, strict=True)}


def _moves(guard: Guard, unit: Ints, slots: Slots) -> Moves:
    """Return the units that two rows may swap: each by itself, and all of a slot at once."""
    of_slot: dict[int, list[int]] = {}
    for column, u in zip(guard.columns, unit.tolist(), strict=True):
        if column.name in slots.cells:
            of_slot.setdefault(slots.cells[column.name][1], []).append(u)
    moves = [[u] for u in range(int(unit.max()) + 1)] + [sorted({*units}) for units in of_slot.values()]
    return Moves(np.concatenate(moves), np.append(0, np.cumsum([*map(len, moves)])))


def _in_rows(guard: Guard, features: Sequence[Feature], codes: Mapping[str, Ints]) -> NDArray[np.int16]:
    """Return the features of rows; shape (n_rows, n_features)."""
    of_row = np.empty((len(codes[guard.columns[0].name]), len(features)), np.int16)
    for i, feature in enumerate(features):
        of_row[:, i] = feature.of_code.clip(-LARGEST, LARGEST)[codes[guard.columns[feature.column].name]]
    return of_row


def _products(rows: NDArray[np.int16]) -> Ints:
    """Return the sums over rows of the products of any two features; shape (n_features, n_features)."""
    sums = np.zeros((rows.shape[1],) * 2, np.int64)
    with threadpool_limits(1):  # threads of small products wait for each other
        for block in slices(len(rows), 1 << 16):
            sums += np.asarray(rows[block].T.astype(np.float64) @ rows[block], np.int64)  # exact in doubles
    return sums


def without_impossible(
    guard: Guard, items: Mapping[str, Ints], rare: RarePairs, slots: Slots
) -> tuple[dict[str, Ints], int]:
    """Swap values inside groups to remove rare pairs; return the rows that keep one that nobody has."""
    if not rare.rarity:
        return dict(items), 0
    unit = _bundles(guard)
    place = np.tile(np.arange(sum(guard.sizes)), (int(unit.max()) + 1, 1))
    pairs, sizes = _pairs(guard, items, rare, unit), np.asarray(guard.sizes, np.int64)
    swap_impossible(sizes, place, pairs, LOOKED, slots.exchangeable(guard, items, unit))
    swapped = {c.name: items[c.name][place[u]] for c, u in zip(guard.columns, unit, strict=True)}
    return swapped, count_impossible(swapped, rare)


def _pairs(guard: Guard, items: Mapping[str, Ints], rare: RarePairs, unit: Ints, price: int = 0) -> RareBins:
    """Return the rare pairs as the loops take them."""
    names, bins = [c.name for c in guard.columns], rare.bins
    if not rare.rarity:
        return RareBins(unit[:0], np.zeros((0, 0), np.uint32), np.zeros(0, SIDE), unit[:0], np.zeros(0, np.bool_), 0)
    sides, start = list[tuple[int, tuple[int, ...]]](), 0
    for (a, b), few in rare.rarity.items():
        i, j, width = names.index(a), names.index(b), few.shape[1]
        sides += [(unit[i], (i, j, start, width, 1)), (unit[j], (j, i, start, 1, width))]
        start += few.size
    sides.sort()
    coarse = np.stack([bins[name].astype(np.uint32)[items[name]] for name in names], axis=1)
    impossible = np.concatenate([few.ravel() for few in rare.rarity.values()]) > 0
    ends = np.searchsorted([u for u, _ in sides], np.arange(int(unit.max()) + 2))
    return RareBins(unit, coarse, np.array([side for _, side in sides], SIDE), ends, impossible, price)


def count_impossible(items: Mapping[str, Ints], rare: RarePairs) -> int:
    """Count the rows with a pair of values that nobody has."""
    is_impossible = np.zeros(len(next(iter(items.values()))), np.bool_)
    for (a, b), few in rare.rarity.items():
        is_impossible |= few[rare.bins[a][items[a]], rare.bins[b][items[b]]] == NOBODY
    return int(is_impossible.sum())


def _bundles(guard: Guard) -> Ints:
    """Return the number of each column's bundle, whose columns move together."""
    head = guard.bundles().values()
    number = {first: i for i, first in enumerate(dict.fromkeys(head))}
    return np.array([number[first] for first in head], np.int64)


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
