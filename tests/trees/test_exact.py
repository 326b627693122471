"""Exact sums and bits, against plain Python integers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from hedgerow.kernels.bits import trailing_zeros
from hedgerow.kernels.exact import UNIT_BITS, cross_products, moments, scale

SIZE = 1 << UNIT_BITS


@given(
    st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=40, unique=True),
    st.integers(0, 2**32 - 1),
)
def test_scaling_rounds_to_units_and_centres(values: list[float], seed: int) -> None:
    ordered = np.array(sorted(values))
    if ordered[-1] - ordered[0] < 1e-300:
        return
    counts = np.random.default_rng(seed).integers(1, 9, len(values))
    made = scale(ordered, counts)
    low, span = (
        Fraction(float(ordered[0])),
        Fraction(float(ordered[-1])) - Fraction(float(ordered[0])),
    )
    for value, unit in zip(ordered.tolist(), made.units.tolist(), strict=False):
        exact = (Fraction(value) - low) / span * SIZE
        assert abs(unit + made.middle - exact) <= 1
    assert (
        abs(int(made.units[:-1].astype(np.int64) @ counts)) <= counts.sum()
    )  # the mean is off by less than a unit
    assert made.units[-1] == 0
    assert made.units[0] + made.middle == 0
    assert made.units[-2] + made.middle == SIZE


def test_scaling_of_extreme_spans() -> None:
    made = scale(np.array([-1.7e308, 0.0, 1.7e308]), np.array([1, 1, 1]))
    assert (made.units[:-1] + made.middle).tolist() == [0, SIZE // 2, SIZE]
    assert scale(np.array([5.0]), np.array([3])).units.tolist() == [0, 0]


@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 4))
@settings(max_examples=40)
def test_moments_and_limbs(seed: int, n: int, n_groups: int) -> None:
    rng = np.random.default_rng(seed)
    units = np.append(rng.integers(-SIZE, SIZE, 6), 0).astype(np.int32)
    codes = rng.integers(0, 7, n).astype(np.uint8)
    group = rng.integers(0, n_groups, n).astype(np.uint32)
    made = moments(group, n_groups, codes, units)
    other = rng.integers(-SIZE, SIZE, (2, n)).astype(np.int32)
    high, low = cross_products(group, n_groups, other[0], other[1])
    for g in range(n_groups):
        known = [int(units[c]) for c, h in zip(codes, group, strict=True) if h == g and c != 6]
        assert int(made.n[g]) == len(known)
        assert int(made.total[g]) == sum(known)
        assert (int(made.high[g]) << UNIT_BITS) + int(made.low[g]) == sum(u * u for u in known)
        products = [
            int(a) * int(b) for a, b, h in zip(other[0], other[1], group, strict=True) if h == g
        ]
        assert (int(high[g]) << UNIT_BITS) + int(low[g]) == sum(products)


@njit
def zeros(word: int) -> int:
    return trailing_zeros(word)


@pytest.mark.parametrize("bit", [0, 1, 31, 32, 63])
def test_trailing_zeros(bit: int) -> None:
    assert zeros(np.uint64(1 << bit)) == bit
    assert zeros(np.uint64((1 << bit) | (1 << 63))) == bit
