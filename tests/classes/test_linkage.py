"""Agreement patterns, their weights and shared links, against loops over all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.classes.linkage import Agreement, credit, last_weights, prefix_weights
from hedgerow.kernels.patterns import count_patterns, count_ties, near_patterns


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4))
def test_patterns_and_links_of_all_pairs(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    people, records = rng.integers(0, 4, (6, d)).astype(float), rng.integers(0, 4, (5, d)) * 1.0
    sizes, own = rng.integers(1, 4, 5), rng.integers(0, 5, 6)
    patterns = near_patterns(np.ascontiguousarray(records.T), people, 1.0)
    expected = [
        [sum(1 << c for c in range(d) if abs(r[c] - q[c]) <= 1) for r in records] for q in people
    ]
    assert patterns.tolist() == expected
    counts = np.zeros(1 << d, int)
    for i, j in itertools.product(range(6), range(5)):
        counts[expected[i][j]] += sizes[j]
    assert count_patterns(patterns, sizes, d).tolist() == counts.tolist()
    weights = np.round(rng.normal(size=2 << d), 0)
    ties = count_ties(patterns, sizes, own, weights)
    for i, j in itertools.product(range(6), range(1, d + 1)):
        score = [weights[(1 << j) + (p & ((1 << j) - 1))] for p in expected[i]]
        mine = score[own[i]]
        alike = sum(int(n) for n, s in zip(sizes, score, strict=True) if s == mine)
        assert ties[i, j - 1] == (alike if mine == max(score) else 0)
    assert credit(ties).max() <= 1


def plain_em(
    counts: np.ndarray, d: int, m: np.ndarray, u: np.ndarray, p: float, steps: int, fixed: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Expectation and maximisation over the patterns; `fixed` holds u and p."""
    bits = (np.arange(1 << d)[:, None] >> np.arange(d)) & 1
    for _ in range(steps):
        a = p * np.prod(np.where(bits, m, 1 - m), axis=1)
        b = (1 - p) * np.prod(np.where(bits, u, 1 - u), axis=1)
        g = counts * a / (a + b)
        m = np.clip(g @ bits / g.sum(), 1e-6, 1 - 1e-6)
        if not fixed:
            u = np.clip((counts - g) @ bits / (counts.sum() - g.sum()), 1e-6, 1 - 1e-6)
            p = g.sum() / counts.sum()
    return m, u


def test_agreement_is_estimated_by_em() -> None:
    counts = np.random.default_rng(1).integers(1, 900, 8)
    made = Agreement.estimated(counts, 3, 0.05, steps=7, change=0.0)
    m, u = plain_em(counts, 3, np.full(3, 0.9), np.full(3, 0.1), 0.05, 7, fixed=False)
    assert made.m == pytest.approx(m)
    assert made.u == pytest.approx(u)


def test_agreement_of_members_takes_what_is_known_as_given() -> None:
    counts = np.random.default_rng(2).integers(1, 900, 4)
    bits = (np.arange(4)[:, None] >> np.arange(2)) & 1
    seen = counts @ bits / counts.sum()
    made = Agreement.of_members(counts, np.array([False, False]), 40, steps=5)
    m, _ = plain_em(counts, 2, np.full(2, 0.99), seen, 1 / 40, 5, fixed=True)
    assert made.u == pytest.approx(seen)
    assert made.m == pytest.approx(m)
    sure = Agreement.of_members(counts, np.array([True, False]), 40)
    assert sure.m[0] == 0.999


def test_weights_of_patterns() -> None:
    agreement = Agreement(np.array([0.9, 0.2]), np.array([0.1, 0.4]))
    plain = agreement.weights()
    assert plain[0] == pytest.approx(np.log2(0.1 / 0.9) + np.log2(0.8 / 0.6))
    assert plain[1] == pytest.approx(np.log2(9) + np.log2(0.8 / 0.6))
    assert plain[2] == pytest.approx(np.log2(0.1 / 0.9) - 1)
    # the second column agrees less often where it should: it says nothing
    assert agreement.weights(informative=True) == pytest.approx(
        [np.log2(0.1 / 0.9), np.log2(9)] * 2
    )
    assert last_weights(agreement)[4:] == pytest.approx(agreement.weights(informative=True))


def test_weights_grow_with_agreement() -> None:
    # 100 true pairs agree mostly; 9,900 others rarely.
    weights = prefix_weights(np.array([8000, 1000, 850, 150]), 2, 0.01)
    both = weights[4:]
    assert both[3] > max(both[1], both[2]) > min(both[1], both[2]) > both[0]
    assert weights[3] > weights[2]
