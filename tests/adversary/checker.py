"""Disclosure by its definition, with fractions and loops: shares nothing with the package.

Slow and obvious on purpose; every promise about disclosure is held against this file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

Vector = tuple[Fraction, ...]


def cuts(values: Sequence[Any]) -> list[Any]:
    """The cut points of a column of known values, ascending."""
    ordered = sorted(values)
    distinct = sorted(set(ordered))
    n, count = len(ordered), Counter(ordered)
    chosen = set()
    for b in range(1, 16):
        chosen.add(next(y for y in distinct if Fraction(sum(v <= y for v in ordered), n) >= Fraction(b, 16)))
    for place, y in enumerate(distinct):
        if Fraction(count[y], n) > Fraction(1, 16):
            chosen.add(y)
            if place:
                chosen.add(distinct[place - 1])
    return sorted(y for y in chosen if y < distinct[-1])


def vectors(values: Sequence[Any], score: str) -> list[Vector]:
    """Every record's vector under a score of numbers ("squared", "ranked", "local") or "brier"."""
    if score == "squared":
        return [(Fraction(y),) for y in values]
    if score == "brier":
        names = sorted(set(values), key=str)
        return [tuple(Fraction(y == name) for name in names) for y in values]
    points = cuts(values)
    if score == "ranked":
        return [tuple(Fraction(y <= t) for t in points) for y in values]
    cell = [sum(y > t for t in points) for y in values]
    return [tuple(Fraction(c == k) for k in range(len(points) + 1)) for c in cell]


def _apart(a: Vector, b: Vector) -> Fraction:
    return sum(((x - y) ** 2 for x, y in zip(a, b, strict=True)), Fraction(0))


def _mean(rows: Sequence[Vector]) -> Vector:
    return tuple(sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True))


def disclosures(groups: Sequence[Hashable], rows: Sequence[Vector]) -> dict[Hashable, Fraction]:
    """gain / sum of max(loss, U/4) of every group."""
    public = _mean(rows)
    loss = [_apart(row, public) for row in rows]
    floor = sum(loss, Fraction(0)) / len(rows) / 4
    members: dict[Hashable, list[int]] = {}
    for i, group in enumerate(groups):
        members.setdefault(group, []).append(i)
    told = {}
    for group, inside in members.items():
        gain = len(inside) * _apart(_mean([rows[i] for i in inside]), public)
        against = sum((max(loss[i], floor) for i in inside), Fraction(0))
        told[group] = gain / against if against else Fraction(0)
    return told


def column_disclosures(
    groups: Sequence[Hashable], values: Sequence[Any], kind: str
) -> dict[Hashable, dict[str, Fraction]]:
    """Every score of every group for one column; None is missing.

    Parameters
    ----------
    groups : the released cells of each record
    values : its sensitive value
    kind : "number", "ordinal" (values must compare in their order) or "category"
    """
    scores = {"number": ("squared", "ranked", "local"), "ordinal": ("ranked", "local")}.get(kind, ("brier",))
    known = [i for i, y in enumerate(values) if y is not None]
    told: dict[Hashable, dict[str, Fraction]] = {group: {} for group in groups}
    for score in scores if known else ():
        rows = vectors([values[i] for i in known], score)
        for group, value in disclosures([groups[i] for i in known], rows).items():
            told[group][score] = value
    if len(known) < len(values):
        rows = vectors([y is None for y in values], "brier")
        for group, value in disclosures(list(groups), rows).items():
            told[group]["missing"] = value
    return told


def worst(groups: Sequence[Hashable], values: Sequence[Any], kind: str) -> Fraction:
    """The largest disclosure of any group by any score."""
    told = column_disclosures(groups, values, kind)
    return max((v for scores in told.values() for v in scores.values()), default=Fraction(0))
