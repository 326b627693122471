"""Intervals against statsmodels' figures, entered by hand, and their edge cases."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.auditing.success import gained, relative, wilson


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [
        # Newcombe (1998), Table I: method 3 (the score method without correction)
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_equals_newcombe(hits, n, low, high):
    rate = wilson(hits, n)
    assert rate.low == pytest.approx(low, abs=5e-5)
    assert rate.high == pytest.approx(high, abs=5e-5)


def test_wilson_without_attempts_knows_nothing():
    assert (wilson(0, 0).low, wilson(0, 0).high) == (0.0, 1.0)
    assert wilson(20, 20).high == 1.0


def test_relative_success_may_be_negative():
    assert relative(0.2, 0.6) == pytest.approx(-1.0)
    assert relative(0.8, 0.6) == pytest.approx(0.5)
    assert relative(1.0, 1.0) == 0.0


def test_a_gain_covers_the_truth_as_often_as_its_interval_says():
    rng = np.random.default_rng(5)
    for success, control, n, m in ((0.3, 0.3, 300, 300), (0.8, 0.5, 300, 100), (0.05, 0.02, 400, 400)):
        truth, held = relative(success, control), 0
        for _ in range(400):
            told = gained(wilson(rng.binomial(n, success), n), wilson(rng.binomial(m, control), m))
            held += told.low <= truth <= told.high
        assert 0.92 <= held / 400 <= 0.99


def test_a_gain_at_its_ends():
    told = gained(wilson(200, 200), wilson(0, 200))
    assert (told.value, told.high) == (1.0, 1.0)
    assert 0.97 < told.low < 1
    assert gained(wilson(3, 10), wilson(10, 10)) is None
    assert gained(wilson(0, 50), wilson(25, 50)).high < 0
