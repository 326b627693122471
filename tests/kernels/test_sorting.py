"""The stable sort against numpy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.kernels.masking_loops import swap_ranks
from hedgerow.kernels.sorting import stable_sort


def check(values):
    ordered, place = stable_sort(values)
    assert np.array_equal(place, np.argsort(values, kind="stable"))
    assert np.array_equal(ordered, values[place])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=80))
@settings(deadline=None)
def test_any_short_list(values):
    check(np.array(values, dtype=np.float64))


R = np.random.default_rng(0)


@pytest.mark.parametrize(
    "values",
    [
        R.lognormal(size=200_000),
        R.normal(size=200_000).round(1),
        np.zeros(100_000),
        np.concatenate((R.random(99_999), [1e300])),
        np.where(R.random(150_000) < 0.3, 0.0, R.normal(size=150_000) * 1e-12),
        np.array([0.0, -0.0, 5e-324, -5e-324] * 20_000),
    ],
    ids=["skewed", "tied", "zeros", "outlier", "zeros and tiny", "subnormal"],
)
def test_long_vectors(values):
    before = values.copy()
    check(values)
    assert np.array_equal(values, before)


def test_threads_do_not_matter(monkeypatch):
    from hedgerow.kernels import threads

    monkeypatch.setattr(threads, "WORTH", 0)
    check(np.array([3.0, 1.0]))
    check(np.random.default_rng(1).normal(size=50_000).round(3))


@pytest.mark.parametrize(("n", "window"), [(1, 1), (2, 1), (101, 5), (500, 499), (1000, 1)])
def test_swapping_pairs_ranks_within_the_window(n, window):
    partner = swap_ranks(n, window, np.uint64(1), np.uint64(2))
    assert np.array_equal(partner[partner], np.arange(n))
    assert np.abs(partner - np.arange(n)).max(initial=0) <= window
    alone = np.flatnonzero(partner == np.arange(n))
    # A rank stays alone only when every rank above it in reach found another partner.
    for i in alone:
        above = np.arange(i + 1, min(i + window, n - 1) + 1)
        assert (partner[above] < i).all()
