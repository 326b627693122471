"""Randomized response against brute force: Kronecker matrices, draws, finite differences."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from hedgerow.methods.response.contingency import build
from hedgerow.methods.response.risk import CellSet, Risk, optimize
from hedgerow.methods.response.rr_matrix import Channel, to_p, to_t
from hedgerow.plan import Randomized


def matrix(d: int, t: float) -> np.ndarray:
    return t * np.eye(d) + (1 - t) / d * np.ones((d, d))


def kron(dims, t) -> np.ndarray:
    return reduce(np.kron, [matrix(d, x) for d, x in zip(dims, t, strict=True)], np.eye(1))


def people(dims, n, seed, empty=0.0):
    """Codes of dependent columns; some combinations never occur."""
    rng = np.random.default_rng(seed)
    weight = rng.gamma(0.4, size=int(np.prod(dims)))
    weight[rng.random(weight.size) < empty] = 0
    cell = rng.choice(weight.size, n, p=weight / weight.sum())
    return [np.asarray(c, dtype=np.int64) for c in np.unravel_index(cell, dims)]


def setting(dims_q, dims_s, target="quasi", n=400, seed=0, cap=0.5, negations=0, empty=0.3):
    codes = people((*dims_q, *dims_s), n, seed, empty)
    m = len(dims_q)
    return build(codes[:m], dims_q, codes[m:], dims_s, target, cap, negations), codes


def brute_risk(codes, dims_q, d_s, t_q, t_s):
    """Result 1 with every matrix written out: {(cell, value): risk}."""
    cell = np.ravel_multi_index(codes[:-1], dims_q)
    table = np.zeros((int(np.prod(dims_q)), d_s))
    np.add.at(table, (cell, codes[-1]), 1 / len(cell))
    pi = table.sum(axis=1)
    p, ps = kron(dims_q, t_q), matrix(d_s, t_s)
    lam = p @ pi
    out = {}
    for a, u in itertools.product(range(len(pi)), range(d_s)):
        if not table[a, u]:
            continue
        c = table[a] / pi[a]
        eta = pi[a] * sum(p[b, a] ** 2 / lam[b] for b in range(len(pi)) if lam[b] > 0)
        zeta = c[u] * sum(ps[v, u] ** 2 / (ps @ c)[v] for v in range(d_s) if (ps @ c)[v] > 0)
        out[a, u] = (eta, zeta, c[u])
    return out, table


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0.01, 1.0)), min_size=1, max_size=4), st.integers(0, 10_000))
@profile(max_examples=60, deadline=None)
def test_mode_products_are_kronecker_products(modes, seed):
    dims, t = tuple(d for d, _ in modes), np.array([t for _, t in modes])
    x = np.random.default_rng(seed).normal(size=int(np.prod(dims)))
    channel, p = Channel(dims, t), kron(dims, t)
    scale = np.abs(np.linalg.inv(p)).sum(axis=1).max()
    np.testing.assert_allclose(channel.forward(x), p @ x, rtol=0, atol=1e-12 * max(1, np.abs(x).sum()))
    np.testing.assert_allclose(channel.square(x), (p * p) @ x, rtol=0, atol=1e-12 * max(1, np.abs(x).sum()))
    np.testing.assert_allclose(channel.inverse(p @ x), x, rtol=0, atol=1e-12 * scale * np.abs(x).sum())
    inverse = np.linalg.inv(p)
    np.testing.assert_allclose(channel.inverse_square(x), (inverse * inverse) @ x, rtol=1e-9, atol=1e-10 * scale**2)


def test_a_large_right_block_is_tiled_correctly():
    dims, t = (3, 700), np.array([0.3, 1.0])
    x = np.random.default_rng(1).random(2100)
    np.testing.assert_allclose(Channel(dims, t).forward(x), (matrix(3, 0.3) @ x.reshape(3, 700)).ravel(), atol=1e-12)


@pytest.mark.parametrize("target", ["quasi", "sensitive", "both"])
@pytest.mark.parametrize("seed", range(4))
def test_risk_equals_the_matrices(target, seed):
    dims_q, d_s = (3, 2, 4), 3
    made, codes = setting(dims_q, (d_s,), target, seed=seed)
    risk = Risk(made, target)
    t = np.random.default_rng(seed).uniform(0.02, 1, len(risk.dims))
    t_q = t[:3] if target != "sensitive" else np.ones(3)
    t_s = t[-1] if target != "quasi" else None
    expected, _ = brute_risk(codes, dims_q, d_s, t_q, 1.0 if t_s is None else t_s)
    got = risk.full(t)[0]
    for row, cell in enumerate(made.occupied):
        for u in range(d_s):
            eta, zeta, c = expected.get((cell, u), (0, 0, 0))
            want = c * (1 if target == "sensitive" else eta) * (1 if t_s is None else zeta)
            assert got[row, u] == pytest.approx(want, abs=1e-12)


@pytest.mark.parametrize("p_share", [0.0, 0.05, 0.3, 0.7, 0.95, 1.0])
def test_monte_carlo_reconstruction_agrees_with_eta_and_zeta(p_share):
    """Randomize a cell, draw from the attacker's posterior, count the hits."""
    dims, rng = (3, 2), np.random.default_rng(7)
    pi = np.array([0.3, 0.05, 0.25, 0.1, 0.0, 0.3])
    t = np.maximum(p_share * np.array([0.8, 1.0]), 1e-6)
    p = kron(dims, t)
    posterior = (p * pi).T / np.where(p @ pi > 0, p @ pi, 1)  # [true, released]
    eta = Channel(dims, t).reconstruction(pi)
    n = 200_000
    for cell in np.flatnonzero(pi):
        released = rng.choice(6, n, p=p[:, cell])
        hits = (rng.random(n) < posterior[cell, released]).mean()
        sigma = np.sqrt(max(hits * (1 - hits), 1e-9) / n)
        assert abs(hits - eta[cell]) < 5 * sigma + 1e-9


@pytest.mark.parametrize("t", [1e-6, 0.1, 0.4, 0.8, 0.99, 1.0])
@pytest.mark.parametrize("target", ["sensitive", "both"])
def test_monte_carlo_risk_with_a_randomized_sensitive_attribute(t, target):
    """Pick a record of the group, then reconstruct what it holds: the product of Result 1."""
    gender = np.repeat([0, 1], [600, 400])
    ill = np.concatenate([np.repeat([0, 1, 2], [300, 200, 100]), np.repeat([0, 1, 2], [40, 60, 300])])
    made = build([gender], [2], [ill], [3], target, 0.5)
    level = np.full(2 if target == "both" else 1, t)
    risk = Risk(made, target).full(level)[0]
    rng, n = np.random.default_rng(3), 200_000
    p_s, p_q = matrix(3, t), matrix(2, t if target == "both" else 1.0)
    c = made.views[0].share
    for row, u in itertools.product(range(2), range(3)):
        released = rng.choice(2, n, p=p_q[:, row])
        back = p_q[released, row] * made.pi[row] / (p_q @ made.pi)[released]
        own = rng.random(n) < back
        told = rng.choice(3, n, p=p_s[:, u])
        guess = rng.random(n) < p_s[told, u] * c[row, u] / (p_s @ c[row])[told]
        hits = (own & guess & (rng.random(n) < c[row, u])).mean()
        sigma = np.sqrt(max(hits * (1 - hits), 1e-9) / n)
        assert abs(hits - risk[row, u]) < 5 * sigma + 1e-9


@pytest.mark.parametrize("level", [0.02, 0.2, 0.5, 0.9, 1.0])
def test_monte_carlo_operational_success(level):
    dims_q, d_s = (2, 3), 3
    made, _ = setting(dims_q, (d_s,), seed=3, empty=0.0)
    t = np.full(2, level)
    success = Risk(made, "quasi").success(t)[0]
    p, rng, n = kron(dims_q, t), np.random.default_rng(5), 100_000
    table = np.zeros((6, d_s))
    table[made.occupied] = made.mass[:, None] * made.views[0].share
    given_released = (p @ table) / (p @ table).sum(axis=1, keepdims=True)
    for row, cell in enumerate(made.occupied):
        released = rng.choice(6, n, p=p[:, cell])
        # Any record of the released cell is taken for the target's.
        cumulative = given_released[released].cumsum(axis=1)
        guess = (rng.random(n)[:, None] > cumulative).sum(axis=1)
        for u in np.flatnonzero(made.views[0].share[row]):
            hits = (guess == u).mean()
            assert abs(hits - success[row, u]) < 5 * np.sqrt(max(hits * (1 - hits), 1e-6) / n)


@pytest.mark.parametrize(
    ("target", "bound"),
    [("quasi", "paper"), ("sensitive", "paper"), ("both", "paper"), ("quasi", "operational"), ("both", "operational")],
)
@pytest.mark.parametrize("negations", [0, 1])
@pytest.mark.parametrize("dims_s", [(3,), (2, 3)])
def test_gradients_are_finite_differences(target, bound, negations, dims_s):
    made, _ = setting((3, 2, 4), dims_s, target, seed=11, negations=negations)
    risk = Risk(made, target, bound)
    rng = np.random.default_rng(2)
    t = rng.uniform(0.15, 0.95, len(risk.dims))
    cells = risk.largest(risk.ratios(t), 12)
    value, gradient = risk.log_ratio(t, cells)
    ratios = risk.ratios(t)
    direct = [ratios[v][r, u] for v, r, u in zip(cells.view, cells.row, cells.value, strict=True)]
    np.testing.assert_allclose(np.exp(value), direct, rtol=1e-12)
    for i in range(len(t)):
        step = 1e-6
        up, down = t.copy(), t.copy()
        up[i] += step
        down[i] -= step
        slope = (risk.log_ratio(up, cells)[0] - risk.log_ratio(down, cells)[0]) / (2 * step)
        np.testing.assert_allclose(gradient[:, i], slope, rtol=2e-6, atol=2e-7)


def test_property_1_the_risk_is_least_at_full_randomization():
    made, _ = setting((3, 2), (3,), "both", seed=5)
    for target in ("quasi", "sensitive", "both"):
        risk = Risk(made, target)
        floor = risk.floors()[0]
        width = len(risk.dims)
        almost = risk.full(np.full(width, 1e-5))[0]
        np.testing.assert_allclose(almost, floor, atol=1e-6)
        for level in np.linspace(0.05, 1, 20):
            assert np.all(risk.full(np.full(width, level))[0] >= floor - 1e-12)
        share = made.views[0].share
        np.testing.assert_allclose(risk.full(np.ones(width))[0], share, atol=1e-12)


def test_the_papers_two_by_three_example_falls_to_its_cell():
    """Female and cancer: RR-QI falls from c_u to pi = 0.12 at p = 1/2."""
    table = np.array([[16, 20, 14], [12, 18, 20]])  # gender x disease; Female & Cancer is [1, 0]
    gender, disease = np.repeat(np.indices((2, 3)).reshape(2, -1), table.ravel(), axis=1)
    made = build([gender], [2], [disease], [3], "quasi", 0.5)
    risk = Risk(made, "quasi")
    assert risk.full(to_t(np.array([0.5]) + 1e-9, np.array([2])))[0][1, 0] == pytest.approx(0.12)
    assert risk.full(np.ones(1))[0][1, 0] == pytest.approx(0.24)


def test_merging_the_other_values_changes_the_reconstruction_probability():
    """The appendix says it does not; three values against two show that it does."""
    c, t = np.array([0.2, 0.3, 0.5]), to_t(0.5, 3)
    whole = Channel((3,), np.array([float(t)])).reconstruction(c)[0]
    p = np.array([[0.5, 0.25], [0.5, 0.75]])  # value 0 kept; any other reached from any other
    merged = np.array([0.2, 0.8])
    two = merged[0] * sum(p[v, 0] ** 2 / (p @ merged)[v] for v in range(2))
    assert abs(whole - two) > 1e-4


def log_variance(risk, t):
    """sum_i log ||P_i^-1||_F^2 / d_i up to a constant: what the optimum makes small."""
    return float(np.log1p((np.array(risk.dims) - 1) / t**2).sum())


@pytest.mark.parametrize("target", ["quasi", "both"])
@pytest.mark.parametrize("bound", ["paper", "operational"])
def test_the_optimum_is_feasible_and_no_random_start_is_better(target, bound):
    made, _ = setting((4, 3, 2), (4,), target, n=3000, seed=1, cap=0.55, empty=0.0)
    risk = Risk(made, target, bound)
    best = optimize(risk)
    assert best is not None
    assert best.worst <= 1
    assert max(float((r / 0.55).max()) for r in risk.full(best.t)) <= 1
    loss = log_variance(risk, best.t)
    rng = np.random.default_rng(0)
    for _ in range(6):
        other = optimize(risk, start=rng.uniform(0.05, 0.99, len(risk.dims)))
        assert other is not None
        assert log_variance(risk, other.t) >= loss - 2e-3
    for _ in range(300):
        t = rng.uniform(0.01, 1, len(risk.dims))
        if risk.worst(t) <= 1:
            assert log_variance(risk, t) >= loss - 1e-4


def test_an_easy_cap_needs_no_randomization_and_an_impossible_one_has_no_optimum():
    made, _ = setting((2, 2), (2,), cap=1.0)
    best = optimize(Risk(made, "quasi"))
    assert best is not None
    assert best.p.tolist() == [1, 1]
    made, _ = setting((2, 2), (2,), cap=1e-6)
    assert optimize(Risk(made, "quasi")) is None


def test_one_category_columns_are_left_alone():
    made, _ = setting((1, 3), (3,), cap=0.5, seed=4)
    best = optimize(Risk(made, "quasi"))
    assert best is not None
    assert best.p[0] == 1


def test_known_negations_sharpen_the_attackers_share():
    made, codes = setting((2, 2), (4,), negations=((1, 2),), seed=9, empty=0.0)
    cell = np.ravel_multi_index(codes[:2], (2, 2))
    for row, alpha in enumerate(made.occupied):
        here = np.bincount(codes[2][cell == alpha], minlength=4)
        got = made.target_shares(made.views[0])[row]
        assert got[0] == pytest.approx(here[0] / (here[0] + here[3]))
        assert got[1] == pytest.approx(here[1] / here.sum())  # nobody excludes the truth
    worst, _ = setting((2, 2), (4,), negations=2, seed=9, empty=0.0)
    share = worst.views[0].share
    for row in range(len(share)):
        for u in np.flatnonzero(share[row]):
            others = [sum(pair) for pair in itertools.combinations(np.delete(share[row], u), 2)]
            want = share[row, u] / (1 - max(others))
            assert worst.target_shares(worst.views[0])[row, u] == pytest.approx(want)


def test_epsilon_is_the_likelihood_ratio():
    for d, t in ((2, 0.3), (5, 0.9)):
        p = matrix(d, t)
        column = Randomized("x", "quasi", "categorical", "", tuple("abcde"[:d]), p[0, 0])
        assert column.epsilon == pytest.approx(np.log(p[0, 0] / p[1, 0]))
        assert column.t == pytest.approx(t)
    assert Randomized("x", "quasi", "categorical", "", ("a", "b", "c"), 1.0).epsilon == np.inf
    assert to_p(to_t(0.6, 4), 4) == pytest.approx(0.6)


def test_cells_are_merged_without_doubles():
    one = CellSet(np.array([0, 0]), np.array([1, 2]), np.array([0, 0]))
    two = CellSet(np.array([0]), np.array([2]), np.array([0]))
    assert len(one.merged(two)) == 2
