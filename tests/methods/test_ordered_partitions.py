"""The arithmetic of PoROP-k against the paper's closed formulas and a plain rewriting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import InputError, ParameterError
from hedgerow.methods.porop import PoROP, fit_blocks, order, polynomial_basis


def linear(v: np.ndarray) -> np.ndarray:
    """The paper's closed formulas for degree 1."""
    k, n = len(v), np.arange(len(v))
    s0, s1 = v.sum(), (n * v).sum()
    beta = 2 / (k * (k + 1)) * (-3 * s0 + 6 / (k - 1) * s1)
    alpha = 2 / (k * (k + 1)) * ((2 * k - 1) * s0 - 3 * s1)
    return alpha + beta * n


def quadratic(v: np.ndarray) -> np.ndarray:
    """The paper's Figure 5."""
    k, n = len(v), np.arange(len(v))
    s0, s1, s2 = v.sum(), (n * v).sum(), (n**2 * v).sum()
    a, b, c = k * (k**2 + 3 * k + 2), k * (k**3 + k**2 - 4 * k - 4), k * (k**4 - 5 * k**2 + 4)
    gamma = 30 * s0 / a - 180 * s1 / b + 180 * s2 / c
    beta = -18 * (2 * k - 1) * s0 / a + 12 * (16 * k**2 - 30 * k + 11) * s1 / c - 180 * s2 / b
    alpha = 3 * (3 * k**2 - 3 * k + 2) * s0 / a - 18 * (2 * k - 1) * s1 / a + 30 * s2 / a
    return alpha + beta * n + gamma * n**2


@pytest.mark.parametrize("k", [4, 5, 17, 100])
@pytest.mark.parametrize(("degree", "formula"), [(1, linear), (2, quadratic)])
def test_closed_formulas_of_the_paper(k, degree, formula):
    blocks = np.sort(np.random.default_rng(k).random((3, k)), axis=1)
    expected = np.array([formula(block) for block in blocks])
    assert np.abs(fit_blocks(blocks, degree) - expected).max() < 1e-12


@pytest.mark.parametrize(("k", "degree"), [(2, 1), (9, 8), (50, 20), (1000, 12), (7, 0)])
def test_the_basis_is_orthonormal_and_reproduces_polynomials(k, degree):
    basis = polynomial_basis(k, degree)
    assert np.abs(basis @ basis.T - np.eye(degree + 1)).max() < 1e-12
    x = np.linspace(-1, 1, k)
    for power in range(degree + 1):
        assert np.allclose(fit_blocks((x**power)[None], degree), x**power, atol=1e-9)


@pytest.mark.parametrize("degree", [3, 5])
def test_fits_equal_least_squares(degree):
    blocks = np.random.default_rng(1).random((4, 60))
    fitted = fit_blocks(blocks, degree)
    x = np.linspace(-1, 1, 60)
    for block, curve in zip(blocks, fitted, strict=True):
        assert np.allclose(np.polyval(np.polyfit(x, block, degree), x), curve, atol=1e-10)


def naive(values, k, degree, noise, normals):
    """Steps 1 to 7 of the method, block by block."""
    n = len(values)
    o1 = np.argsort(values, kind="stable")
    v, z = values[o1], np.empty(n)
    lo, span = np.empty(n), np.empty(n)
    for s in range(0, n, k):
        block = v[s : s + k]
        lo[s : s + k], span[s : s + k] = block.min(), block.max() - block.min()
        z[s : s + k] = (block - block.min()) / np.ptp(block) if np.ptp(block) else 0.0
    o2 = np.argsort(z, kind="stable")
    z2, y = z[o2], np.empty(n)
    for s in range(0, n, k):
        size = min(k, n - s)
        window = z2[s : s + k] if size == k else z2[n - k :]
        x = np.linspace(-1, 1, k)
        curve = np.polyval(np.polyfit(x, window, degree), x)
        mine = curve[k - size :]
        rms = np.sqrt(((window - curve) ** 2).sum() / k)
        spread = rms if noise == "synthetic" else np.abs(z2[s : s + size] - mine)
        y[s : s + size] = mine + spread * normals[s : s + size]
    released = np.empty(n)
    released[o1[o2]] = y * span[o2] + lo[o2]
    return released


@pytest.mark.parametrize("noise", ["synthetic", "perturbative"])
@pytest.mark.parametrize(("n", "k", "degree"), [(60, 20, 2), (67, 20, 1), (50, 50, 3), (41, 40, 2)])
def test_equals_the_plain_rewriting(n, k, degree, noise):
    random = np.random.default_rng(n)
    values = random.lognormal(size=n).round(1)  # with ties
    normals = random.standard_normal(n)
    made = order(values, k).protect(degree, noise, normals)
    assert np.allclose(made, naive(values, k, degree, noise, normals), atol=1e-9)


@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=2, max_size=60), st.integers(2, 60))
@settings(max_examples=60, deadline=None)
def test_without_noise_a_full_degree_gives_the_values_back(values, k):
    values, k = np.array(values), min(k, len(values), 12)
    made = order(values, k).protect(k - 1, "synthetic", np.zeros(len(values)))
    assert np.allclose(made, values, atol=1e-6 * (1 + np.abs(values).max()))


def test_without_noise_the_bare_fit_is_released():
    values = np.random.default_rng(2).random(90)
    ordered = order(values, 30)
    quiet = ordered.protect(2, "synthetic", np.zeros(90))
    assert np.allclose(quiet, ordered.protect(2, "perturbative", np.zeros(90)))
    curves = fit_blocks(ordered.z.reshape(3, 30), 2).ravel()
    restored = curves * ordered.span[ordered.block] + ordered.lo[ordered.block]
    assert np.allclose(quiet[ordered.place], restored)


def test_degrees_block_by_block():
    values = np.random.default_rng(3).random(70)
    ordered, still = order(values, 30), np.zeros(70)
    mixed = ordered.protect([1, 3, 2], "synthetic", still)[ordered.place]
    for block, degree in enumerate([1, 3, 2]):
        alone = ordered.protect(degree, "synthetic", still)[ordered.place]
        part = slice(30 * block, 30 * block + 30)
        assert np.array_equal(mixed[part], alone[part])
    with pytest.raises(ParameterError, match="2 degrees are given for 3 blocks"):
        ordered.protect([1, 2], "synthetic", still)


def test_constant_values_come_back_and_huge_spreads_are_refused():
    assert (order(np.full(20, 7.0), 10).protect(1, "synthetic", np.ones(20)) == 7.0).all()
    far = pd.DataFrame({"x": [-1.7e308, 1.7e308, 0.0]})
    with pytest.raises(InputError, match="values beyond 1e\\+150"):
        PoROP(3, degree=0, random_state=1).fit(far)
