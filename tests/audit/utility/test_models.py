"""Learning from a release: the errors by hand, and what the comparison must show."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.auditing.pairing import align
from hedgerow.auditing.utility.models import errors, learning
from tests.audit.conftest import people_of


def test_errors_by_hand():
    found = errors(np.array([0.0, 2.0, -4.0]), np.array([1.0, 1.0, -5.0]))
    assert found["mape"] == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert found["relative_mae"] == pytest.approx(1.0 / 2.0)
    assert found["zero_share"] == pytest.approx(1 / 3)
    truth = np.array([0.0, 2.0, -4.0])
    assert found["r2"] == pytest.approx(1 - 3 / ((truth - truth.mean()) ** 2).sum())


def test_an_unchanged_release_teaches_the_same(people, schema):
    for row in learning(align(people, people, schema)):
        assert row["release"] == row["original"]
        assert row["release"] != row["constant"]


def test_a_release_teaches_less_than_the_original_and_more_than_nothing(people, schema, release):
    rows = learning(align(people, release, schema))
    (row,) = (row for row in rows if row["estimator"] == "linear")
    assert row["target"] == "pay"
    assert row["constant"]["r2"] < row["release"]["r2"] <= row["original"]["r2"] + 0.01


def test_a_control_is_the_test_whether_rows_are_paired_or_not(people, schema, release):
    """Two releases of one table, with one control, gave two R2 of the same original."""
    control = people_of(400, seed=9)
    paired, unpaired = (
        hr.audit(people, release, schema, paired=each, control=control, attacks=False).utility["learning"]
        for each in (True, False)
    )
    linear = [row for rows in (paired, unpaired) for row in rows if row["estimator"] == "linear"]
    assert [row["folds"] for row in linear] == [1, 1]
    assert linear[0]["original"]["r2"] == pytest.approx(linear[1]["original"]["r2"])
