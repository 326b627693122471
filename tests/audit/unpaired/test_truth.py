"""Attacks without pairs find what was given away: nothing, a share, all; in any order."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.auditing.attacks.linking import linking
from hedgerow.auditing.attacks.membership import membership
from hedgerow.auditing.attacks.regression import regression
from hedgerow.auditing.attacks.singling_out import exchanged, singling_out
from hedgerow.auditing.non_members import with_strangers

from .conftest import SCHEMA, drawn, leaky, tables_of

RECORDS = (("linking", "best match"), ("linking", "two files"), ("singling out", "whole record"))
"""The attacks that find a copied record whenever it is there."""
LEFT = ("ill", "quasi-identifiers")
"""What two values tell little of, and membership by less than the whole record."""


def attacks_on(tables, people=300, learners=("tree", "nearest")):
    return [
        *regression(tables, people=people, learners=learners),
        *linking(tables, people=people)[0],
        *singling_out(tables, people=people),
        *membership(with_strangers(tables), people=people),
    ]


def by_name(attacks):
    return {(a["attack"], a["learner"]): a for a in attacks if a["target"] not in LEFT}


def test_rows_that_are_nobodys_gain_nothing_over_the_control():
    covered = {}
    for seed in range(12):
        tables = tables_of(drawn(300, seed), drawn(300, seed + 50), drawn(250, seed + 100))
        for attack in attacks_on(tables, people=200, learners=("tree",)):
            low, high = attack["over_control_interval"]
            name = attack["attack"], attack["learner"], attack["target"]
            covered.setdefault(name, []).append(low <= 0 <= high)
    assert len(covered) == 30
    shares = {name: np.mean(held) for name, held in covered.items()}
    assert min(shares.values()) >= 9 / 12
    assert np.mean(list(shares.values())) >= 0.9


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_a_copied_share_is_the_figure(members, others, share):
    found = by_name(attacks_on(tables_of(members, leaky(members, share, 3), others)))
    for name in (*RECORDS, ("membership", "nearest"), ("membership", "likelihood")):
        low, high = found[name]["over_control_interval"]
        assert low <= share <= high
        assert high - low < 0.3
    for learner in ("tree", "nearest"):
        assert found["regression", learner]["over_control_interval"][1] > share / 2
    assert found["regression", "nearest"]["over_control_interval"][0] > 0 or share < 0.5


def test_the_people_themselves_are_told_wholly(members, others):
    found = by_name(attacks_on(tables_of(members, members, others)))
    for name in (*RECORDS, ("singling out", "one column"), ("singling out", "several columns")):
        assert found[name]["success"] == 1
        assert found[name]["over_control"] == pytest.approx(1)
    assert found["regression", "nearest"]["success"] == 1
    assert found["regression", "nearest"]["original"] == 1


@pytest.mark.parametrize("n", [60, 240, 1500])
def test_few_or_many_others_change_no_figure(members, n):
    for share in (0.0, 0.5, 1.0):
        tables = tables_of(members, leaky(members, share, 5), drawn(n, 9))
        found = by_name(singling_out(tables, people=300))["singling out", "whole record"]
        low, high = found["over_control_interval"]
        assert low <= share <= high


def test_the_order_of_rows_and_columns_changes_nothing(members, others):
    released = leaky(members, 0.3, 4)
    one = attacks_on(tables_of(members, released, others), people=100)
    rng = np.random.default_rng(0)
    mixed = [t.iloc[rng.permutation(len(t))] for t in (members, released, others)]
    names = list(members.columns)[::-1]
    schema = SCHEMA.replace(quasi=SCHEMA.quasi[::-1])
    two = attacks_on(tables_of(mixed[0][names], mixed[1], mixed[2][names], schema=schema), people=100)
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        assert a.keys() == b.keys()
        for key, value in a.items():
            assert b[key] == pytest.approx(value) if isinstance(value, float) else True


def test_exchanging_people_is_counted_without_drawing_any():
    rng = np.random.default_rng(2)
    n, m, fits = 30, 12, 4000
    mine, theirs = np.array([1, 0, 2, 1, 3]), np.array([0, 1, 1, 2, 0])
    before, after = [], []
    for a, b in zip(mine, theirs, strict=True):
        kept = rng.hypergeometric(a, n - a, n - m, fits) if a else np.zeros(fits)
        before.append(a == 1)
        after.append(np.mean(kept + b == 1))  # all twelve come in
    moved = np.mean(np.array(before) - np.array(after))
    told = exchanged(mine, theirs, n, m)
    assert told.value == pytest.approx(np.clip(np.mean(before) - n / m * moved, 0, 1), abs=0.05)
    many = exchanged(mine, theirs, 12, 12)
    assert many.value == pytest.approx(np.mean(theirs == 1))
    assert many.high - many.low < told.high - told.low
