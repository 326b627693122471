"""Hedge once more, in plain Python and exact fractions, from its definition. Slow on purpose.

What the definition leaves open is settled here:

- **Missing.** A missing category is a category like any other, its code the last. A missing number
  counts as the mean of the known ones in By and Bx; in Bx a flag beside it tells it apart, which
  weighs as if half of the values were missing and is not counted in Q.
- **Ordinal** columns stand in By and Bx as categories do, and are cut in their declared order.
- **Rare categories.** In Bx (not in By) all beyond the 64 most frequent are one; of equally frequent
  ones the lower code stays.
- **Candidates.** Numbers and ordinals: cuts between consecutive distinct values of the node; where
  some are missing, each cut with the missing on the low side, then each with them on the high side.
  Categories: every cut of every order, one order for each indicator or number of Z (in schema order),
  then for each number of X, then each present category against the rest. Equal means stand by code.
- **Admission.** k people on each side and a gain above 0; nothing else stops a cell.
- **Ties.** First column in schema order, then the first candidate as listed; a later one must gain
  more by a part in 10^9.
- **Depth first**: the low side first; of categories, the side that holds the lowest present code.
- **Sizes.** Cells of k, 2k, 4k and 8k people as far as two of them fit into the table; without
  sensitive columns (or only constant ones) of k. Of equals the smaller. What chance tells is
  measured on the cells of k.
- **Joins.** The worst group is, of those that break a promise, the one of largest disclosure. A
  partner lowers the disclosure where the union's is less. Disclosures (as parts of the cap), losses
  and their ratios that agree to the tenth digit are equal, and the lowest number is taken.
- **Step.** sd is that of the known values of the table (divided by their number).
- **Cells.** Where a number is missing for some but known for k, its cell holds the mean and the
  counts of known and missing; with fewer than k known it is `*` and tells no count. Groups of equal
  cells become one and are told anew, until no two are equal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ..adversary import checker

LG, LJ = 100, 10
SIZES = (1, 2, 4, 8)
WIDEST = 64
TIE = Fraction(1, 10**9)

Members = tuple[int, ...]


@dataclass(frozen=True)
class Column:
    """A column: numbers, or categories in their order; None is missing."""

    kind: str
    """"number", "ordinal" or "category"."""
    values: Sequence[Any]
    order: Sequence[Any] = ()
    """Categories in the order of their codes; sorted by default."""

    @cached_property
    def codes(self) -> list[int]:
        """Return the ranks of the values; a missing one has the last."""
        distinct = list(self.order) or sorted({v for v in self.values if v is not None})
        return [len(distinct) if v is None else distinct.index(v) for v in self.values]

    def centred(self, widest: int | None = None) -> Centred:
        """Return the column's vectors: the number itself, or one indicator a category."""
        if self.kind == "number":
            known = [Fraction(v) for v in self.values if v is not None]
            mean = sum(known, Fraction(0)) / max(len(known), 1)
            return Centred([(mean,) if v is None else (Fraction(v),) for v in self.values])
        codes = self.codes
        if widest is not None:
            seen = Counter(codes)
            often = sorted(seen, key=lambda c: (-seen[c], c))[:widest]
            codes = [c if c in often else -1 for c in codes]
        places = sorted(set(codes))
        return Centred([tuple(Fraction(c == place) for place in places) for c in codes])


class Centred:
    """Vectors less their mean, as whole numbers in one unit, and their sum of squares."""

    def __init__(self, vectors: Sequence[tuple[Fraction, ...] | None], spread: Fraction | None = None) -> None:
        known = [v for v in vectors if v is not None]
        unit = math.lcm(*(x.denominator for v in known for x in v))
        whole = [None if v is None else tuple(int(x * unit) for x in v) for v in vectors]
        self.width = len(known[0]) if known else 0
        sums = self._sum(whole)
        self.rows = [
            None if v is None else tuple(len(known) * x - s for x, s in zip(v, sums, strict=True)) for v in whole
        ]
        self.sst: Fraction | int = sum(x * x for v in self.rows if v is not None for x in v)
        if spread is not None:  # in the unit of the rows
            self.sst = spread * (unit * len(known)) ** 2

    def _sum(self, rows: Sequence[tuple[int, ...] | None]) -> tuple[int, ...]:
        known = [v for v in rows if v is not None]
        return tuple(map(sum, zip(*known, strict=True))) if known else (0,) * self.width

    def explained(self, members: Members) -> Fraction:
        """Return |sum over the members|^2 / their number, where the whole sum of squares is 1."""
        rows = [self.rows[i] for i in members]
        n = sum(v is not None for v in rows)
        return Fraction(sum(s * s for s in self._sum(rows)), n * self.sst) if n else Fraction(0)

    def means(self, members: Members) -> list[Fraction]:
        """Return the mean of every entry; a missing one counts as the mean of the table, 0."""
        return [Fraction(s, len(members)) for s in self._sum([self.rows[i] for i in members])]


class Likeness:
    """The part of the sensitive columns (By) and quasi-identifiers (Bx) that a group explains."""

    def __init__(self, quasi: Sequence[Column], sensitive: Sequence[Column]) -> None:
        self.z = [c for c in (s.centred() for s in sensitive) if c.sst]
        self.x = [c for c in (q.centred(WIDEST) for q in quasi) if c.sst]
        n = len(quasi[0].values)
        gaps = [[v is None for v in q.values] for q in quasi if q.kind == "number"]
        self.flags = [
            Centred([(Fraction(g), Fraction(not g)) for g in gap], Fraction(n, 2))
            for gap in gaps
            if any(gap) and not all(gap)
        ]
        numbers = [q.centred() for q in quasi if q.kind == "number"]
        self.keys = [*self.z, *(c for c in numbers if c.sst)]
        """Return the vectors by which categories are ordered."""
        self._known: dict[tuple[Members, int], Fraction] = {}

    def __call__(self, members: Members, weight: int) -> Fraction:
        """Return By + weight Bx."""
        if (members, weight) not in self._known:
            by, bx = (
                sum((c.explained(members) for c in (*of, *flags)), Fraction(0)) / max(len(of), 1)
                for of, flags in ((self.z, []), (self.x, self.flags))
            )
            self._known[members, weight] = by + weight * bx
        return self._known[members, weight]

    def lost(self, a: Members, b: Members, weight: int) -> Fraction:
        """Return how much less one group explains than two."""
        return self(a, weight) + self(b, weight) - self(tuple(sorted(a + b)), weight)


# ------------------------------------------------------------------ cells


def candidates(column: Column, members: Members, like: Likeness) -> Iterator[set[int]]:
    """Yield sets of codes that may stand on one side of a split."""
    present = sorted({column.codes[i] for i in members})
    if column.kind != "category":
        missing = [max(column.codes)] if None in column.values else []
        known = [c for c in present if c not in missing]
        for extra in [set(missing), set()] if len(known) < len(present) else [set()]:
            for cut in range(1, len(known)):
                yield set(known[:cut]) | extra
        return
    holders = {c: tuple(i for i in members if column.codes[i] == c) for c in present}
    for key in like.keys:
        means = {c: key.means(holders[c]) for c in present}
        for entry in range(key.width):
            sequence = sorted(present, key=lambda c: means[c][entry])
            for cut in range(1, len(sequence)):
                yield set(sequence[:cut])
    for c in present:
        yield {c}


def split(members: Members, quasi: Sequence[Column], like: Likeness, k: int) -> tuple[Members, Members] | None:
    """Return the two sides of the best split, in the order of their numbers."""
    best, sides = Fraction(0), None
    for column in quasi:
        tried: set[frozenset[int]] = set()
        lowest = min(column.codes[i] for i in members)
        for codes in candidates(column, members, like):
            if frozenset(codes) in tried:
                continue
            tried.add(frozenset(codes))
            inside = tuple(i for i in members if column.codes[i] in codes)
            others = tuple(i for i in members if column.codes[i] not in codes)
            if min(len(inside), len(others)) < k:
                continue
            gain = like(inside, LG) + like(others, LG) - like(members, LG)
            if gain > best * (1 + TIE):
                turned = column.kind == "category" and lowest not in codes
                best, sides = gain, (others, inside) if turned else (inside, others)
    return sides


def cells(quasi: Sequence[Column], like: Likeness, k: int) -> list[Members]:
    """Return the leaves of the tree grown under k alone, depth first."""

    def leaves(members: Members) -> list[Members]:
        sides = split(members, quasi, like, k)
        return [members] if sides is None else leaves(sides[0]) + leaves(sides[1])

    return leaves(tuple(range(len(quasi[0].values))))


def sizes(n: int, like: Likeness, k: int) -> list[int]:
    """Return the numbers of people a cell that are tried."""
    return [m * k for m in SIZES if m == 1 or (like.z and 2 * m * k <= n)]


def beyond_chance(made: Sequence[Sequence[Members]], like: Likeness) -> list[Fraction]:
    """Return what cells explain beyond twice chance, by size, the smallest first."""
    told = [sum((like(c, 0) for c in of), Fraction(0)) for of in made]
    n = sum(map(len, made[0]))
    chance = (1 - told[0]) / max(n - len(made[0]), 1)
    return [t - 2 * chance * (len(of) - 1) for t, of in zip(told, made, strict=True)]


# ------------------------------------------------------------------ joins


class Told:
    """The largest disclosure of a group by any score of any sensitive column."""

    def __init__(self, sensitive: Sequence[Column]) -> None:
        self.scores: list[tuple[Centred, list[int], int]] = []
        for column in sensitive:
            number = column.kind == "number"
            values = column.values if number else column.codes
            gone = [v is None for v in column.values]
            known = [v for v, absent in zip(values, gone, strict=True) if not absent]
            names = {"number": ("squared", "ranked", "local"), "ordinal": ("ranked", "local")}
            for name in names.get(column.kind, ("brier",)) if known else ():
                told = iter(checker.vectors(known, name))
                self._add([None if absent else next(told) for absent in gone])
            if any(gone):
                self._add(list(checker.vectors(gone, "brier")))

    def _add(self, vectors: Sequence[tuple[Fraction, ...] | None]) -> None:
        vector = Centred(vectors)
        loss = [0 if v is None else sum(x * x for x in v) for v in vector.rows]
        self.scores.append((vector, loss, sum(v is not None for v in vector.rows)))

    def __call__(self, members: Members) -> Fraction:
        worst = Fraction(0)
        for vector, loss, n in self.scores:
            floor = Fraction(sum(loss), 4 * n)
            against = sum(max(loss[i], floor) for i in members if vector.rows[i] is not None)
            if against:
                worst = max(worst, vector.explained(members) * vector.sst / against)
        return worst


Promise = Callable[[Members], bool]
"""Whether a group keeps a further promise."""


def joined(
    cells: Sequence[Members], like: Likeness, told: Told, cap: Fraction | None, promises: Sequence[Promise] = ()
) -> list[Members]:
    """Join groups, worst first, until every promise is kept."""
    groups: dict[int, Members] = dict(enumerate(cells))

    def keeps(members: Members, disclosure: Fraction) -> bool:
        return (cap is None or disclosure <= cap) and all(p(members) for p in promises)

    disclosure = {i: told(members) for i, members in groups.items()}
    while broken := [i for i in groups if not keeps(groups[i], disclosure[i])]:
        part = {g: round(disclosure[g] / (cap or 1), 10) for g in groups}
        i = max(broken, key=lambda g: (part[g], -g))
        if len(groups) == 1:
            raise ValueError("one group is left and breaks a promise")
        unions = {j: tuple(sorted(groups[i] + groups[j])) for j in groups if j != i}
        then = {j: told(union) for j, union in unions.items()}
        loss = {j: like.lost(groups[i], groups[j], LJ) for j in unions}
        good = [j for j in unions if keeps(unions[j], then[j])]
        less = [j for j in unions if round(then[j] / (cap or 1), 10) < part[i]]
        if less and not good:
            loss = {j: loss[j] / (disclosure[i] - then[j]) for j in less}
        tried = {j: loss[j] for j in good or less or unions}
        least = min(tried.values())
        j = min(j for j in tried if tried[j] <= least * (1 + Fraction(1, 10**10)))
        low, high = min(i, j), max(i, j)
        groups[low], disclosure[low] = unions[j], then[j]
        del groups[high], disclosure[high]
    return [groups[i] for i in sorted(groups)]


# ------------------------------------------------------------------ forms


def step(values: Sequence[Any]) -> Fraction | None:
    """Return the largest of 1, 2, 5 x 10^m not above a quarter of the standard deviation."""
    known = [Fraction(v) for v in values if v is not None]
    mean = sum(known, Fraction(0)) / max(len(known), 1)
    most = sum(((v - mean) ** 2 for v in known), Fraction(0)) / max(len(known), 1) / 16
    if not most:
        return None
    power = Fraction(10) ** (math.floor(math.log10(float(most)) / 2) + 2)
    while True:
        for digit in (5, 2, 1):
            if (digit * power) ** 2 <= most:
                return digit * power
        power /= 10


def cell(column: Column, members: Members, k: int) -> Hashable:
    """Return a group's cell: (mean, known, missing), counts only where some are missing;
    "*"; or the categories with their counts, counts only where there are several."""
    values = [column.values[i] for i in members]
    known = [v for v in values if v is not None]
    missing = len(values) - len(known)
    if column.kind != "number":
        counts = Counter(values)
        return tuple(sorted(counts.items(), key=str)) if len(counts) > 1 else values[0]
    if len(known) < k:
        return "*"
    mean, unit = sum(map(Fraction, known), Fraction(0)) / len(known), step(column.values)
    if unit is not None:
        mean = round(mean / unit) * unit
    return (mean, len(known), missing) if missing else mean


def merged_by_cell(groups: Sequence[Members], quasi: Sequence[Column], k: int) -> dict[tuple[Hashable, ...], Members]:
    """Return groups by their released cells; those of equal cells are one."""
    while True:
        found: dict[tuple[Hashable, ...], Members] = {}
        for members in groups:
            label = tuple(cell(c, members, k) for c in quasi)
            found[label] = tuple(sorted(found.get(label, ()) + members))
        if len(found) == len(groups):
            return found
        groups = list(found.values())


def hedge(
    quasi: Sequence[Column],
    sensitive: Sequence[Column],
    *,
    k: int,
    cap: Fraction | None,
    promises: Sequence[Promise] = (),
) -> dict[tuple[Hashable, ...], Members]:
    """Return the released cells of every group, and its members' row numbers; cells of k people."""
    like = Likeness(quasi, sensitive)
    groups = joined(cells(quasi, like, k), like, Told(sensitive), cap, promises)
    return merged_by_cell(groups, quasi, k)
