"""Planned values: exact sums, hulls, separation, grids, merging."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.methods.tpp.representatives import Boundary, plan_blocks, unused_value


def random_case(rng, single):
    d = int(rng.integers(3, 40))
    scale = 10.0 ** rng.integers(-6, 7)
    x = np.unique(np.round(rng.normal(size=d), int(rng.integers(0, 5))) * scale + 0.0)
    if single:
        x = np.unique(x.astype(np.float32)).astype(np.float64)
    boundaries = []
    for _ in range(int(rng.integers(1, 6))):
        if len(x) < 2:
            break
        lo = int(rng.integers(0, len(x) - 1))
        hi = int(rng.integers(lo + 1, min(lo + 4, len(x))))
        middle = (float(x[lo]) + float(x[hi])) / 2
        ok = x[lo] <= middle < x[hi] if single else x[lo] < middle <= x[hi]
        if ok:
            boundaries.append(Boundary(lo, hi, middle, single))
    return x, rng.integers(1, 30, len(x)), boundaries


@pytest.mark.parametrize("single", [False, True])
def test_sums_are_exact_hulls_are_kept_and_thresholds_keep_their_bits(single):
    merged = looked = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        x, counts, boundaries = random_case(rng, single)
        if not boundaries:
            continue
        blocks = plan_blocks(x, counts, boundaries, bits=24 if single else 53)
        group = blocks.group
        starts = np.flatnonzero(np.diff(group, prepend=-1)).tolist()
        ends = [*starts[1:], len(x)]
        assert np.array_equal(group, np.searchsorted(starts, np.arange(len(x)), side="right") - 1)
        for r, s, e in zip(blocks.values, starts, ends, strict=True):
            assert x[s] <= r <= x[e - 1]
            if single:
                assert r == np.float32(r)
        for b in boundaries:
            r1 = blocks.values[bisect_right(starts, b.lo) - 1]
            r2 = blocks.values[bisect_right(starts, b.hi) - 1]
            assert Fraction(r1) + Fraction(r2) == Fraction(float(x[b.lo])) + Fraction(float(x[b.hi]))
            assert ((r1 + r2) / 2).hex() == b.threshold.hex()
            assert (r1 <= b.threshold < r2) if single else (r1 < b.threshold <= r2)
        looked += 1
        merged += len(starts) < len({rank for b in boundaries for rank in (b.lo, b.hi)})
    assert looked > 200
    assert merged > 20  # merging happens, it is not only allowed


def test_one_block_per_cell_where_that_is_feasible():
    x = np.arange(0.0, 100.0)
    blocks = plan_blocks(x, np.ones(100, int), [Boundary(29, 30, 29.5), Boundary(28, 31, 29.5)])
    assert len(blocks.values) == 2
    assert sum(blocks.values) == 59.0


def test_whole_columns_stay_whole():
    x = np.arange(0.0, 91.0)
    rng = np.random.default_rng(0)
    blocks = plan_blocks(x, rng.integers(1, 9, 91), [Boundary(20, 21, 20.5), Boundary(60, 61, 60.5)])
    assert all(float(r).is_integer() for r in blocks.values)


def test_adjacent_doubles_keep_their_places():
    low = 1.0
    x = np.array([0.5, low, np.nextafter(low, 2.0), 3.0])
    middle = (x[1] + x[2]) / 2
    threshold = middle if x[1] < middle <= x[2] else x[2]
    blocks = plan_blocks(x, np.ones(4, int), [Boundary(1, 2, float(threshold))])
    starts = np.flatnonzero(np.diff(blocks.group, prepend=-1)).tolist()
    r1 = blocks.values[bisect_right(starts, 1) - 1]
    r2 = blocks.values[bisect_right(starts, 2) - 1]
    assert r1 < threshold <= r2
    again = (r1 + r2) / 2
    assert (again if r1 < again <= r2 else r2) == threshold


def test_unused_value_is_the_mean_and_fits_its_bits():
    values, counts = np.array([0.1, 0.7, 9.3]), np.array([5, 3, 1])
    assert unused_value(values, counts) == pytest.approx((0.5 + 2.1 + 9.3) / 9)
    short = unused_value(values, counts, bits=24)
    assert short == np.float32(short)
    assert short == pytest.approx((0.5 + 2.1 + 9.3) / 9, rel=1e-6)
