"""The slow Hedge against hand calculation, and its groups against the checker of disclosure."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.columns.table import Table

from ..adversary import checker
from ..adversary.hedge_checker import random_table
from .hedge import LG, Column, Likeness, Members, Told, beyond_chance, cells, hedge, joined, merged_by_cell, sizes, step

X = Column("number", [0, 0, 1, 1, 10, 10, 11, 11])
Y = Column("category", list("aabbabab"))


def test_a_table_of_eight_by_hand() -> None:
    """The sum of squares of X is 202, that of Y's indicators 4; half of all have an a."""
    like, told = Likeness([X], [Y]), Told([Y])
    pairs = cells([X], like, 2)
    assert pairs == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert [told(p) for p in pairs] == [1, 1, 0, 0]
    # a and a with b and b: By loses 1/4 + 1/4 - 0, Bx 4 * .5^2 / 202; with a and b far away
    # By loses 1/4 - 1/8, Bx 4 * 5^2 / 202, and the union tells 4 * 2/16 / (4 * 1/2)
    assert like.lost((0, 1), (2, 3), 1) == Fraction(1, 2) + Fraction(1, 202)
    assert like.lost((0, 1), (4, 5), 1) == Fraction(1, 8) + Fraction(100, 202)
    assert told((0, 1, 4, 5)) == Fraction(1, 4)
    cap = Fraction(3, 10)
    assert joined(pairs, like, told, cap) == [(0, 1, 2, 3), (4, 5), (6, 7)]
    # sd 5.02, a quarter 1.26: step 1, and the mean of 0, 0, 1, 1 goes to the even 0
    assert hedge([X], [Y], k=2, cap=cap) == {(0,): (0, 1, 2, 3), (10,): (4, 5), (11,): (6, 7)}


def test_the_size_of_cells_by_hand() -> None:
    """RareBins tell half of Y: a a and b b all, a b nothing. Halves tell nothing."""

    def beyond(y: str) -> list[Fraction]:
        like = Likeness([X], [Column("category", list(y))])
        assert sizes(8, like, 2) == [2, 4]
        return beyond_chance([cells([X], like, k) for k in (2, 4)], like)

    # a pair tells (1 - 1/2) / (8 - 4) by chance; the three beyond the first are to tell twice that
    assert beyond("aabbabab") == [Fraction(1, 2) - 6 * Fraction(1, 8), -2 * Fraction(1, 8)]
    assert beyond("aabbccdd") == [1, Fraction(1, 3)]
    assert beyond("abababab") == [-6 * Fraction(1, 4), -2 * Fraction(1, 4)]


def test_one_group_that_breaks_a_promise_is_an_error() -> None:
    like = Likeness([X], [Y])
    with pytest.raises(ValueError, match="one group"):
        joined(cells([X], like, 2), like, Told([Y]), None, [lambda members: len(members) > 8])


@pytest.mark.parametrize(
    ("values", "expected"), [([0, 8], "1"), ([0, 7], "0.5"), ([0, 16], "2"), ([0, 3999], "200"), ([0, 0.8], "0.1")]
)
def test_the_public_step_by_hand(values: list[float], expected: str) -> None:
    """Half the distance of two values is their sd."""
    assert step([Fraction(str(v)) for v in values]) == Fraction(expected)


@pytest.mark.parametrize("seed", range(3))
def test_every_group_keeps_k_and_the_cap(seed: int) -> None:
    draw = random.Random(seed)
    age = [draw.choice([None, *range(18, 70)]) for _ in range(90)]
    job = [draw.choice([None, *"abcdefg"]) for _ in range(90)]
    pay = [None if draw.random() < 0.1 else 10 * (a or 40) + draw.randrange(300) for a in age]
    ill = [draw.choice("xyz" if j in ("a", "b", None) else "xw") for j in job]
    quasi = [Column("number", age), Column("category", job)]
    sensitive = [Column("number", pay), Column("category", ill)]
    free = hedge(quasi, sensitive, k=5, cap=None)
    capped = hedge(quasi, sensitive, k=5, cap=Fraction("0.3"))

    def worst(released: dict) -> Fraction:
        label = {i: cell for cell, members in released.items() for i in members}
        assert sorted(label) == list(range(90))
        assert min(map(len, released.values())) >= 5
        labels = [label[i] for i in range(90)]
        told = [(pay, "number"), (ill, "category")]
        scores = [checker.column_disclosures(labels, values, kind) for values, kind in told]
        for cell, members in released.items():
            assert Told(sensitive)(members) == max(v for s in scores for v in s[cell].values())
        return max(v for s in scores for of in s.values() for v in of.values())

    assert worst(free) > Fraction("0.5")
    assert worst(capped) <= Fraction("0.3")
    assert len(capped) > 1


def in_units(columns: list[Column], secrets: list[Column]) -> Likeness:
    """Return the likeness of numbers in units of 2^-30 of their range; a missing one is the rounded mean."""

    def filled(column: Column) -> Column:
        if column.kind != "number":
            return column
        known = [Fraction(v) for v in column.values if v is not None]
        low, unit = min(known), (max(known) - min(known)) / 2**30
        units = [round((v - low) / unit) for v in known]
        middle = math.floor(Fraction(sum(units), len(units)) + Fraction(1, 2))
        told = iter(units)
        return Column("number", [middle if v is None else next(told) for v in column.values])

    made = Likeness([filled(c) for c in columns], [filled(c) for c in secrets])
    made.flags = Likeness(columns, secrets).flags
    return made


def members(method: hr.Hedge) -> list[Members]:
    """Return the rows of every cell."""
    leaf = method.tree_.leaf_of_rows()
    return [tuple(np.flatnonzero(leaf == c).tolist()) for c in range(leaf.max() + 1)]


@pytest.mark.parametrize("part", range(4))
def test_the_package_makes_the_same_cells_and_joins(part: int) -> None:
    """Cells as sets, joins from the same numbering: a tie takes the lower number."""
    compared = alike = 0
    chosen: set[int] = set()
    for seed in range(100 * part, 100 * part + 100):
        table, quasi, sensitive, (k, cap) = random_table(seed)
        if len(table["row"]) > 70:
            continue
        words = {"number": "numeric", "category": "categorical"}
        kinds = {n: words[kind] for n, kind in {**quasi, **sensitive}.items()}
        schema = hr.Schema(quasi=list(quasi), sensitive=list(sensitive), kinds=kinds)
        method = hr.Hedge(k, max_disclosure=cap, screen=bool(seed % 2))
        method.fit_table(Table(pa.table(table)), schema)
        quasi = {n: kind for n, kind in quasi.items() if n not in method.screened_}
        roles = schema.replace(quasi=list(quasi))
        leaf, ours = method.tree_.leaf_of_rows(), members(method)

        def own_cells(size: int, table: Any = table, roles: Any = roles) -> list[Members]:
            made = hr.Hedge(size, max_disclosure=None, screen=False)
            return members(made.fit_table(Table(pa.table(table)), roles))

        columns = [Column(kind, table[n]) for n, kind in quasi.items()]
        secrets = [Column(kind, table[n]) for n, kind in sensitive.items()]
        like = in_units(columns, secrets)
        tried = sizes(len(leaf), like, k) if method.screen else [k]
        # what is equal but for the last digit may be split or not: the choice is of our own cells
        beyond = [float(b) for b in beyond_chance([own_cells(size) for size in tried], like)]
        assert method.cell_size_ in tried, seed
        assert beyond[tried.index(method.cell_size_)] == pytest.approx(max(beyond), abs=1e-9), seed
        chosen.add(method.cell_size_ // k)
        theirs = cells(columns, like, method.cell_size_)
        alike += sorted(theirs) == sorted(ours)
        # doubles may decide what is equal but for the tenth digit
        explained = [sum(like(c, LG) for c in made) for made in (ours, theirs)]
        assert float(explained[0]) == pytest.approx(float(explained[1]), rel=1e-7), seed
        limit = None if cap is None else Fraction(repr(cap))
        groups = joined(ours, like, Told(secrets), limit)
        told = merged_by_cell(groups, columns, k)
        group = method.group_of_cell_[leaf]
        mine = [tuple(np.flatnonzero(group == g).tolist()) for g in range(group.max() + 1)]
        assert sorted(told.values()) == sorted(mine), seed
        compared += 1
    assert compared > 10
    assert alike >= compared - 2
    assert chosen == {1, 2, 4, 8}
