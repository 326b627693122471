"""Exact sums and bits, against plain Python integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from hedgerow.kernels.bits import trailing_zeros
from hedgerow.kernels.exact_sums import UNIT_BITS, deviations, scale

SIZE = 1 << UNIT_BITS


@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=40, unique=True), st.integers(0, 2**32 - 1))
def test_scaling_rounds_to_units_and_centres(values: list[float], seed: int) -> None:
    ordered = np.array(sorted(values))
    if ordered[-1] - ordered[0] < 1e-300:
        return
    counts = np.random.default_rng(seed).integers(1, 9, len(values))
    made = scale(ordered, counts)
    low, span = (Fraction(float(ordered[0])), Fraction(float(ordered[-1])) - Fraction(float(ordered[0])))
    from_low = made.astype(np.int64) - int(made[0])
    for value, unit in zip(ordered.tolist(), from_low.tolist(), strict=False):
        exact = (Fraction(value) - low) / span * SIZE
        assert abs(unit - exact) <= 1
    assert abs(int(made[:-1].astype(np.int64) @ counts)) <= counts.sum()  # the mean is off by less than a unit
    assert made[-1] == 0
    assert from_low[-2] == SIZE


def test_scaling_of_extreme_spans() -> None:
    made = scale(np.array([-1.7e308, 0.0, 1.7e308]), np.array([1, 1, 1]))
    assert (made[:-1].astype(np.int64) - int(made[0])).tolist() == [0, SIZE // 2, SIZE]
    assert scale(np.array([5.0]), np.array([3])).tolist() == [0, 0]


@given(
    st.lists(
        st.tuples(st.one_of(st.floats(-1e12, 1e12), st.sampled_from([-1e14, 1e14, 1e15, 0.1])), st.integers(0, 2**40)),
        min_size=1,
        max_size=30,
    )
)
def test_deviations_from_the_exact_mean(made: list[tuple[float, int]]) -> None:
    values, counts = np.array([v for v, _ in made]), np.array([n for _, n in made])
    found = deviations(values, counts)
    used = counts > 0
    assert np.isnan(found[~used]).all()
    if not used.any():
        return
    n = sum(counts.tolist())
    mean = sum(Fraction(v) * m for v, m in made) / n
    largest = np.abs(values[used]).max()
    down = Fraction(2) ** -int(np.frexp(largest)[1])
    for value, told in zip(values[used].tolist(), found[used].tolist(), strict=True):
        exact = float((Fraction(value) - mean) * down)
        near = 2**-52 * abs(value) * float(down)  # a decimal at the mean counts as there
        assert told == pytest.approx(exact, rel=1e-14, abs=max(near, 1e-30))
    assert np.isnan(deviations(np.array([np.nan, np.inf]), np.array([1, 2]))).all()


@njit
def zeros(word: int) -> int:
    return trailing_zeros(word)


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 63])
def test_trailing_zeros(bit: int) -> None:
    assert zeros(np.uint64(1 << bit)) == bit
    assert zeros(np.uint64((1 << bit) | (1 << 63))) == bit
