"""Kernels against plain references."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, pairwise
from math import log2

import numpy as np
import pytest
from tpp_tables import numbers

from hedgerow.methods.tpp import TreeSettings
from hedgerow.methods.tpp.builder import Builder, bootstrap, features_at, midpoint
from hedgerow.methods.tpp.encoding import PredictedColumn, Predictor
from hedgerow.methods.tpp.split_scores import CRITERIA, best_of, gain_of, gains, histogram, xlogx, xlogx_shift


def grow(columns, response, settings):
    return Builder(columns, response, settings).grow()


def plain_gain(left, total, criterion):
    """The textbook score, by definition."""
    right = [t - a for a, t in zip(left, total, strict=True)]

    def impurity(counts):
        n = sum(counts)
        if criterion == "gini":
            return n * (1 - sum((c / n) ** 2 for c in counts))
        return -sum(c * log2(c / n) for c in counts if c)

    if criterion == "variance":
        (nl, sl), (nr, sr), (n, s) = left, right, total
        return float(Fraction(sl * sl, nl) + Fraction(sr * sr, nr) - Fraction(s * s, n))
    gain = impurity(total) - impurity(left) - impurity(right)
    if criterion == "gain_ratio":
        n, nl = sum(total), sum(left)
        gain /= -sum(m * log2(m / n) for m in (nl, n - nl))
    return gain


def random_hist(rng, d, width, criterion):
    hist = rng.integers(0, 6, (d, width))
    if criterion == "variance":
        hist[:, 1] = np.where(hist[:, 0] > 0, rng.integers(-50, 50, d), 0)
    return hist.astype(np.int64)


@pytest.mark.parametrize("criterion", list(CRITERIA))
def test_gain_and_numeric_scan_equal_the_definition(criterion):
    for seed in range(200):
        rng = np.random.default_rng(seed)
        width = 2 if criterion == "variance" else int(rng.integers(2, 5))
        hist = random_hist(rng, int(rng.integers(2, 9)), width, criterion)
        sizes = hist[:, 0] if criterion == "variance" else hist.sum(axis=1)
        total, n = hist.sum(axis=0), int(sizes.sum())
        if np.count_nonzero(sizes) < 2:
            continue
        scale = 2.0 ** xlogx_shift(n) if criterion == "entropy" else 1.0
        table = xlogx(n)
        least = int(rng.integers(1, 4))
        present = np.flatnonzero(sizes)
        best = (-1.0, -1, -1)
        for lo, hi in pairwise(present):
            left = hist[: lo + 1].sum(axis=0)
            nl = int(sizes[: lo + 1].sum())
            got = gain_of(left, total, table, CRITERIA[criterion])
            if got >= 0:
                assert got / scale == pytest.approx(
                    plain_gain(left.tolist(), total.tolist(), criterion), rel=1e-6, abs=1e-6
                )
            if min(nl, n - nl) >= least and got > best[0]:
                best = (got, int(lo), int(hi))
        found, records = gains(hist, total, table, CRITERIA[criterion], least, True)
        assert records.tolist() == sizes.tolist()
        lo = int(found.argmax())
        hi = min((v for v in present.tolist() if v > lo), default=-1)
        assert (found[lo], lo, hi) == best or (best[0] == -1 and found.max() == -1)


def best_subset(hist, table, code):
    """Gain, categories on the left and tie of the best of all subsets."""
    p, total = len(hist), hist.sum(axis=0)
    members = np.arange(1, 1 << (p - 1))[:, None] >> np.arange(p) & 1
    found, _ = gains(members @ hist, total, table, code, 1, False)
    best, is_turned, is_even = best_of(found, members @ hist, total)
    side = (members[best[0]] == 1) != is_turned[0]
    return found.max(), set(np.flatnonzero(side).tolist()), is_even or len(best) > 1


@pytest.mark.parametrize("criterion", list(CRITERIA))
def test_subset_scan_finds_the_best_of_all_subsets_and_ignores_order(criterion):
    for seed in range(80):
        rng = np.random.default_rng(seed)
        p = int(rng.integers(2, 7))
        hist = random_hist(rng, p, 3 if criterion != "variance" else 2, criterion)
        hist[:, 0] += 1
        total = hist.sum(axis=0)
        n = int(total[0] if criterion == "variance" else total.sum())
        table, code = xlogx(n), CRITERIA[criterion]
        columns = [hist, hist[order := rng.permutation(p)]]
        (gain, chosen, tied), (again, other, _) = (best_subset(h, table, code) for h in columns)
        expected = [
            gain_of(hist[list(s)].sum(axis=0), total, table, code)
            for size in range(1, p)
            for s in combinations(range(p), size)
        ]
        assert gain == max(expected)
        if gain < 0 or tied:
            continue
        assert again == gain
        assert {int(order[j]) for j in other} == chosen


def test_single_scan_finds_the_best_category_against_the_rest():
    for seed in range(80):
        rng = np.random.default_rng(seed)
        hist = random_hist(rng, 70, 2, "entropy")
        hist[:, 0] += 1
        total = hist.sum(axis=0)
        alone = rng.random(70) < 0.7
        table = xlogx(int(total.sum()))
        found, _ = gains(hist[alone], total, table, CRITERIA["entropy"], 2, False)
        best, _, _ = best_of(found, hist[alone], total)
        allowed = [
            gain_of(hist[i], total, table, 0) for i in range(70) if alone[i] and 2 <= hist[i].sum() <= total.sum() - 2
        ]
        assert found.max() == max(allowed)
        assert found[best[0]] == found.max()


def test_histogram_counts_every_value():
    rng = np.random.default_rng(3)
    codes, y = rng.integers(0, 50, 300).astype(np.int32), rng.integers(0, 3, 300)
    w = rng.integers(1, 4, 300)
    for rows in (np.arange(300, dtype=np.int32), np.array([7, 3, 250], np.int32)):
        expected = np.zeros((50, 3), np.int64)
        np.add.at(expected, (codes[rows], y[rows]), w[rows])
        assert np.array_equal(histogram(codes, y, w, rows, 50, 3, 0), expected)


def test_midpoint_stays_above_the_left_value():
    assert midpoint(1.0, 2.0) == 1.5
    low = 1.0
    high = np.nextafter(low, 2.0)
    assert low < midpoint(low, high) <= high
    assert midpoint(1e308, 1.7e308) == 1.7e308


def test_draws_are_functions_of_seed_tree_and_path():
    counts = bootstrap(7, 3, 1000)
    assert counts.sum() == 1000
    assert np.array_equal(counts, bootstrap(7, 3, 1000))
    assert not np.array_equal(counts, bootstrap(7, 4, 1000))
    # The share of records never drawn is close to 1/e (standard deviation about 0.01).
    assert abs((counts == 0).mean() - np.exp(-1)) < 0.05
    assert features_at(1, 0, "LR", 10, 4) == features_at(1, 0, "LR", 10, 4)
    assert len({tuple(features_at(1, 0, path, 10, 4)) for path in ("", "L", "R", "LL")}) > 1


def test_sorting_and_counting_agree():
    """A column with many more values than records in a node takes the other path."""
    rng = np.random.default_rng(0)
    n = 400
    x = rng.normal(size=n)
    y = PredictedColumn.from_classes([str(v) for v in (x + rng.normal(size=n) > 0).astype(int)])
    settings = TreeSettings("entropy", n_splits=60)
    few = grow([numbers("x", x)], y, settings)
    wide = Predictor("x", (np.unique(x, return_inverse=True)[1] * 1).astype(np.int32), np.unique(x))
    assert grow([wide], y, settings).nodes == few.nodes
    deep = [node for node in few.nodes if node.feature >= 0 and 4 * node.n + 64 < n]
    for node in deep:  # each cut lies between neighbouring values present in its node
        assert node.lo < node.hi
    assert deep


def test_min_gain_stops_growth_in_its_own_units():
    rng = np.random.default_rng(1)
    x, noise = rng.integers(0, 20, 300), rng.integers(0, 2, 300)
    y = PredictedColumn.from_classes([str(v) for v in ((x > 9) ^ (noise & (x % 2))).astype(int)])
    free = grow([numbers("x", x)], y, TreeSettings("gini", n_splits=10))
    root = plain_gain([*free.nodes[1].value], [*free.nodes[0].value], "gini") / 300
    for share, splits in ((0.99, 1), (1.01, 0)):
        tree = grow([numbers("x", x)], y, TreeSettings("gini", n_splits=1, min_gain=root * share))
        assert tree.n_splits == splits
    values = PredictedColumn.from_numbers(x * 1.5 + noise)
    tree = grow([numbers("x", x)], values, TreeSettings("variance", n_splits=1))
    left, right = tree.nodes[1], tree.nodes[2]
    mean = (left.n * left.value[0] + right.n * right.value[0]) / 300
    drop = (left.n * (left.value[0] - mean) ** 2 + right.n * (right.value[0] - mean) ** 2) / 300
    for share, splits in ((0.99, 1), (1.01, 0)):
        again = grow([numbers("x", x)], values, TreeSettings("variance", n_splits=1, min_gain=drop * share))
        assert again.n_splits == splits
