"""Search trees and MDAV against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.kernels.masking_loops import mdav, mdav_gower
from hedgerow.kernels.neighbours import build, delete, farthest, nearest, nearest_ties


def points(n, d, seed, tied):
    made = np.random.default_rng(seed).normal(size=(n, d))
    return made.round(0) if tied else made


def gaps_to(data, q):
    total = np.zeros(len(data))
    for c in range(data.shape[1]):
        total += (data[:, c] - q[c]) ** 2
    return total


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (13, 2), (200, 3), (150, 8)])
def test_searches_with_deletions(n, d, tied):
    data, random = points(n, d, n + d, tied), np.random.default_rng(5)
    tree, left = build(data), np.ones(n, bool)
    while left.any():
        q = random.normal(size=d)
        gaps, ids = gaps_to(data, q), np.arange(n)
        far = max(ids[left], key=lambda i: (gaps[i], -i))
        assert farthest(tree, q) == far
        k = int(random.integers(1, 8))
        found, apart = np.empty(k, np.int64), np.empty(k)
        count = nearest(tree, q, k, found, apart)
        expected = sorted(ids[left], key=lambda i: (gaps[i], i))[:k]
        assert found[:count].tolist() == expected
        assert apart[:count].tolist() == [gaps[i] for i in expected]
        gone = int(random.choice(ids[left]))
        delete(tree, gone)
        left[gone] = False
    assert farthest(tree, np.zeros(d)) == -1


@pytest.mark.parametrize("tied", [False, True])
def test_ties_with_the_nearest(tied):
    data = np.unique(points(120, 2, 1, tied), axis=0)
    weight = np.random.default_rng(2).integers(1, 4, len(data))
    queries = points(len(data), 2, 3, tied)
    own = np.arange(len(data))
    ties = nearest_ties(build(data), weight, queries, own)
    for i, q in enumerate(queries):
        gaps = gaps_to(data, q)
        expected = weight[gaps == gaps[i]].sum() if gaps[i] == gaps.min() else 0
        assert ties[i] == expected


def naive_mdav(data, k):
    left, group, formed = list(range(len(data))), np.full(len(data), -1), 0

    def take(q):
        nonlocal left, formed
        gaps = gaps_to(data, q)
        for i in sorted(left, key=lambda i: (gaps[i], i))[:k]:
            group[i] = formed
            left.remove(i)
        formed += 1

    def farthest_from(q):
        gaps = gaps_to(data, q)
        return data[max(left, key=lambda i: (gaps[i], -i))]

    while len(left) >= 3 * k:
        r = farthest_from(data[left].mean(axis=0))
        take(r)
        take(farthest_from(r))
    if len(left) >= 2 * k:
        take(farthest_from(data[left].mean(axis=0)))
    group[left] = formed
    return group


@pytest.mark.parametrize(("n", "k"), [(30, 3), (31, 3), (32, 5), (100, 7), (5, 5), (9, 3)])
def test_mdav(n, k):
    data = points(n, 3, n, False)
    groups = mdav(data, k)
    assert groups.tolist() == naive_mdav(data, k).tolist()
    sizes = np.bincount(groups)
    assert (sizes[:-1] == k).all()
    assert k <= sizes[-1] < 2 * k


def test_gower_without_categories_is_mdav_by_city_blocks():
    data = points(40, 1, 9, False)  # in one dimension both distances agree
    none = np.empty((40, 0), np.int64)
    assert mdav_gower(data, none, np.empty(0, np.int64), 4).tolist() == mdav(data, 4).tolist()


def test_gower_keeps_categories_together():
    codes = np.repeat([0, 1, 2], 6)[:, None].astype(np.int64)
    groups = mdav_gower(points(18, 1, 1, False) * 1e-3, codes, np.array([3]), 6)
    assert len({(g, c) for g, c in zip(groups, codes[:, 0], strict=True)}) == 3
