"""The slow Hedge against hand calculation, and its groups against the checker of disclosure."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.table import Table

from ..adversary import checker
from ..adversary.hedge_checker import random_table
from .hedge import LG, Column, Likeness, Told, cells, hedge, joined, step, told_alike

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


def test_one_group_that_breaks_a_promise_is_an_error() -> None:
    like = Likeness([X], [Y])
    with pytest.raises(ValueError, match="one group"):
        joined(cells([X], like, 2), like, Told([Y]), None, [lambda members: len(members) > 8])


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0, 8], "1"), ([0, 7], "0.5"), ([0, 16], "2"), ([0, 3999], "200"), ([0, 0.8], "0.1")],
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


@pytest.mark.parametrize("part", range(4))
def test_the_package_makes_the_same_cells_and_joins(part: int) -> None:
    """Cells as sets, joins from the same numbering: a tie takes the lower number."""
    compared = alike = 0
    for seed in range(100 * part, 100 * part + 60):
        table, quasi, sensitive, (k, cap) = random_table(seed)
        if len(table["row"]) > 70:
            continue
        words = {"number": "numeric", "category": "categorical"}
        kinds = {n: words[kind] for n, kind in {**quasi, **sensitive}.items()}
        schema = hr.Schema(quasi=list(quasi), sensitive=list(sensitive), kinds=kinds)
        method = hr.Hedge(k, max_disclosure=cap, screen=False)
        method.fit_table(Table(pa.table(table)), schema)
        leaf = method.tree_.leaf_of_rows()
        ours = [tuple(np.flatnonzero(leaf == c).tolist()) for c in range(leaf.max() + 1)]
        columns = [Column(kind, table[n]) for n, kind in quasi.items()]
        secrets = [Column(kind, table[n]) for n, kind in sensitive.items()]
        like = Likeness(columns, secrets)
        theirs = cells(columns, like, k)
        alike += sorted(theirs) == sorted(ours)
        # numbers in units of 2^-30 may decide what is equal but for the tenth digit
        explained = [sum(like(c, LG) for c in made) for made in (ours, theirs)]
        assert float(explained[0]) == pytest.approx(float(explained[1]), rel=1e-7), seed
        limit = None if cap is None else Fraction(repr(cap))
        groups = joined(ours, like, Told(secrets), limit)
        told = told_alike(groups, columns, k)
        group = method.group_of_cell_[leaf]
        mine = [tuple(np.flatnonzero(group == g).tolist()) for g in range(group.max() + 1)]
        assert sorted(told.values()) == sorted(mine), seed
        compared += 1
    assert compared > 10
    assert alike >= compared - 2
