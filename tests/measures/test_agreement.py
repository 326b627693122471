"""Agreement patterns, their weights and shared links, against loops over all pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.kernels.neighbours import count_patterns, count_ties, near_patterns
from hedgerow.measures.agreement import credit, estimate_agreement, pattern_weights, prefix_weights


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.sampled_from([1, 2]))
def test_patterns_and_links_of_all_pairs(seed: int, d: int, bits: int) -> None:
    rng = np.random.default_rng(seed)
    people, records = rng.integers(0, 4, (6, d)).astype(float), rng.integers(0, 4, (5, d)) * 1.0
    sizes, own = rng.integers(1, 4, 5), rng.integers(0, 5, 6)
    within = np.array([2.0, 1.0, 0.0][: (1 << bits) - 1])
    patterns = near_patterns(np.ascontiguousarray(records.T), people, within, bits)
    expected = [
        [sum(int((abs(r[c] - q[c]) <= within).sum()) << bits * c for c in range(d)) for r in records] for q in people
    ]
    assert patterns.tolist() == expected
    counts = np.zeros(1 << bits * d, int)
    for i, j in itertools.product(range(6), range(5)):
        counts[expected[i][j]] += sizes[j]
    assert count_patterns(patterns, sizes, bits * d).tolist() == counts.tolist()
    weights = np.round(rng.normal(size=2 << bits * d), 0)
    ties = count_ties(patterns, sizes, own, weights, bits)
    for i, j in itertools.product(range(6), range(1, d + 1)):
        size = 1 << bits * j
        score = [weights[size + (p & (size - 1))] for p in expected[i]]
        mine = score[own[i]]
        alike = sum(int(n) for n, s in zip(sizes, score, strict=True) if s == mine)
        assert ties[i, j - 1] == (alike if mine == max(score) else 0)
    assert credit(ties).max() <= 1


@pytest.mark.parametrize("bits", [1, 2])
def test_agreement_is_estimated_by_em(bits: int) -> None:
    d, levels = 3, 1 << bits
    counts = np.random.default_rng(1).integers(1, 900, 1 << bits * d)
    made_m, made_u = estimate_agreement(counts, d, 1 / 40, steps=7, change=0.0)
    level = (np.arange(len(counts))[:, None] >> bits * np.arange(d)) & (levels - 1)
    at = np.eye(levels)[level]  # patterns, columns, levels
    u = np.einsum("p,pcl->cl", counts, at) / counts.sum()
    m = np.full((d, levels), 0.1 / (levels - 1))
    m[:, -1] = 0.9
    for _ in range(7):
        a, b = (np.einsum("pcl,cl->pc", at, x).prod(axis=1) for x in (m, u))
        g = counts * (a / 40) / (a / 40 + b * 39 / 40)
        m = np.clip(np.einsum("p,pcl->cl", g, at) / g.sum(), 1e-6, 1 - 1e-6)
    assert made_u == pytest.approx(u)
    assert made_m == pytest.approx(m)
    sure, _ = estimate_agreement(counts, d, 1 / 40, np.array([True, False, False]))
    assert sure[0, -1] == 0.999


def test_weights_of_patterns() -> None:
    m, u = np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([[0.9, 0.1], [0.6, 0.4]])
    plain = pattern_weights(m, u)
    assert plain[0] == pytest.approx(np.log2(0.1 / 0.9) + np.log2(0.8 / 0.6))
    assert plain[1] == pytest.approx(np.log2(9) + np.log2(0.8 / 0.6))
    assert plain[2] == pytest.approx(np.log2(0.1 / 0.9) - 1)
    # the second column agrees less often where it should: it says nothing
    assert pattern_weights(m, u, informative=True) == pytest.approx([np.log2(0.1 / 0.9), np.log2(9)] * 2)
    four = np.array([[0.4, 0.1, 0.2, 0.3]]), np.array([[0.2, 0.4, 0.3, 0.1]])
    assert pattern_weights(*four) == pytest.approx(np.log2([2, 1 / 4, 2 / 3, 3]))
    assert pattern_weights(*four, informative=True) == pytest.approx([0, 0, 0, np.log2(3)])


def test_weights_grow_with_agreement() -> None:
    # 100 true pairs agree mostly; 9,900 others rarely.
    weights = prefix_weights(np.array([8000, 1000, 850, 150]), 2, 0.01)
    both = weights[4:]
    assert both[3] > max(both[1], both[2]) > min(both[1], both[2]) > both[0]
    assert weights[3] > weights[2]
