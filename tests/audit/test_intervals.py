"""Intervals against statsmodels' figures, entered by hand, and their edge cases."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.audit.intervals import bootstrap, relative, wilson


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


def test_bootstrap_holds_the_mean_and_ignores_order():
    values = np.random.default_rng(1).normal(5, 2, 400)
    one, two = bootstrap(values, random_state=3), bootstrap(values[::-1], random_state=3)
    assert one == two
    half = 1.96 * 2 / 20
    assert one.low == pytest.approx(values.mean() - half, abs=0.08)
    assert one.high == pytest.approx(values.mean() + half, abs=0.08)


@pytest.mark.parametrize("values", [[], [2.5], [2.5, 2.5, 2.5]])
def test_bootstrap_of_few_or_equal_values_is_their_mean(values):
    rate = bootstrap(np.array(values))
    mean = values[0] if values else 0.0
    assert (rate.value, rate.low, rate.high, rate.n) == (mean, mean, mean, len(values))


def test_relative_success_may_be_negative():
    assert relative(0.2, 0.6) == pytest.approx(-1.0)
    assert relative(0.8, 0.6) == pytest.approx(0.5)
    assert relative(1.0, 1.0) == 0.0
