"""Every measure against its definition over plain lists, and against hand-worked cases."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from hedgerow.columns.column import ValueCounts
from hedgerow.kernels import measures
from hedgerow.measures import Counts, class_measures, disclosure, group, sizes
from hedgerow.measures.disclosure import Disclosed
from hedgerow.measures.proper_scores import ColumnScores, Public

labelled = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=40)


def make(rows: list[tuple[int, int]], n_values: int = 6) -> Counts:
    labels, codes = np.array([a for a, _ in rows]), np.array([b for _, b in rows])
    return Counts.from_codes(group([labels]), codes, n_values)


def by_class(rows: list[tuple[int, int]]) -> list[list[int]]:
    return [[b for _, b in part] for _, part in groupby(sorted(rows), key=lambda r: r[0])]


@settings(max_examples=80, deadline=None)
@given(labelled, st.integers(0, 2**32 - 1))
def test_sums_over_classes_equal_those_of_numpy_bit_for_bit(rows: list[tuple[int, int]], seed: int) -> None:
    counts, rng = make(rows), np.random.default_rng(seed)
    apart, floor = rng.normal(size=6), float(rng.random())
    away = counts.counts * apart[counts.values]
    loss = counts.counts * np.maximum(apart[counts.values] ** 2, floor)
    found = measures.squared_sums(counts.starts, counts.values, counts.counts, apart, floor)
    for made, amounts in zip(found, (away, np.abs(away), loss), strict=True):
        assert made.tolist() == np.bincount(counts.groups, amounts, counts.n_groups).tolist()
    cell = rng.integers(0, 3, 6)
    dense = np.zeros((counts.n_groups, 3), np.int64)
    np.add.at(dense, (counts.groups, cell[counts.values]), counts.counts)
    groups, cells = np.nonzero(dense)
    merged = measures.cell_counts(counts.starts, counts.values, counts.counts, cell, 3)
    for made, plain in zip(merged, (groups, cells, dense[groups, cells]), strict=True):
        assert made.tolist() == plain.tolist()


@settings(max_examples=80, deadline=None)
@given(labelled)
def test_diversity_closeness_and_likeness_equal_their_definitions(rows: list[tuple[int, int]]) -> None:
    counts, n = make(rows), len(rows)
    public = [sum(b == v for _, b in rows) / n for v in range(6)]
    for g, members in enumerate(by_class(rows)):
        q = [members.count(v) / len(members) for v in range(6)]
        present = [x for x in q if x > 0]
        assert class_measures.distinct(counts)[g] == len(present)
        assert class_measures.entropy_l(counts)[g] == pytest.approx(math.exp(-sum(x * math.log(x) for x in present)))
        assert class_measures.largest_share(counts)[g] == pytest.approx(max(q))
        assert class_measures.frequency_l(counts)[g] == pytest.approx(1 / max(q))
        falling = sorted(Counter(members).values(), reverse=True)
        for l in (1, 2, 3):
            tail = sum(falling[l - 1 :])
            reached = class_measures.recursive_c(counts, l)[g]
            assert reached == (pytest.approx(falling[0] / tail) if tail else math.inf)
        assert class_measures.equal_distance(counts)[g] == pytest.approx(
            0.5 * sum(abs(a - b) for a, b in zip(q, public, strict=True))
        )
        cdf = np.abs(np.cumsum(np.array(q) - public)).sum() / 5
        assert class_measures.ordered_distance(counts)[g] == pytest.approx(cdf, abs=1e-12)
        gains = [(a - b) / b for a, b in zip(q, public, strict=True) if b > 0]
        assert class_measures.basic_beta(counts)[g] == pytest.approx(max(gains), abs=1e-12)
        logs = [abs(math.log(a / b)) for a, b in zip(q, public, strict=True) if a > 0]
        assert class_measures.delta_disclosure(counts)[g] == pytest.approx(max(logs), abs=1e-12)


def transport(a: list[float], b: list[float], ordered: bool) -> float:
    """Earth mover's distance by linear programming."""
    from scipy.optimize import linprog

    m = len(a)
    if m < 2:
        return 0.0
    cost = [abs(i - j) / (m - 1) if ordered else float(i != j) for i in range(m) for j in range(m)]
    left = [[float(i == k) for i in range(m) for _ in range(m)] for k in range(m)]
    right = [[float(j == k) for _ in range(m) for j in range(m)] for k in range(m)]
    return float(linprog(cost, A_eq=left + right, b_eq=a + b, method="highs").fun)


@pytest.mark.parametrize("ordered", [False, True])
def test_closeness_is_the_least_work_of_moving_shares(ordered: bool) -> None:
    rng = np.random.default_rng(3)
    for _ in range(12):
        n = int(rng.integers(3, 40))
        rows = list(zip(rng.integers(0, 4, n).tolist(), rng.integers(0, 6, n).tolist(), strict=True))
        found = (class_measures.ordered_distance if ordered else class_measures.equal_distance)(make(rows))
        public = [sum(b == v for _, b in rows) / n for v in range(6)]
        for g, members in enumerate(by_class(rows)):
            q = [members.count(v) / len(members) for v in range(6)]
            assert found[g] == pytest.approx(transport(q, public, ordered), abs=1e-9)


def test_closeness_to_a_table_of_which_the_classes_are_a_part() -> None:
    counts = Counts.dense(np.array([[2, 0, 0]]), np.array([2, 1, 1]))
    assert class_measures.equal_distance(counts)[0] == pytest.approx(0.5)
    assert class_measures.ordered_distance(counts)[0] == pytest.approx((0.5 + 0.25) / 2)


def test_wong_salary_example_of_t_closeness() -> None:
    # Li et al. (2007), section 4.1: salaries 3K..11K, one of each; the classes
    # {3,4,5} and {6,8,11} have distances 0.375 and 0.167
    t = class_measures.ordered_distance(make(list(zip([0, 0, 0, 1, 2, 1, 2, 2, 1], range(9), strict=True)), 9))
    assert t[0] == pytest.approx(0.375)
    assert t[1] == pytest.approx(1 / 6, abs=1e-9)


def test_enhanced_beta_says_when_no_beta_holds() -> None:
    # public share of value 0 is 3/4: its gain in the pure class is 1/3 > -ln(3/4) = .2877
    value, holds = class_measures.enhanced_beta(make([(0, 0), (0, 0), (1, 0), (1, 1)], 2))
    assert value == pytest.approx(min(1.0, -math.log(0.25)))
    assert not holds


def told_of_numbers(mine: list[Fraction], everyone: list[Fraction]) -> Fraction:
    """1 - a term of formula (10), exactly."""
    public = sum(everyone) / Fraction(len(everyone))
    outside = sum((y - public) ** 2 for y in mine)
    if not outside:
        return Fraction(0)
    mean = sum(mine) / Fraction(len(mine))
    return 1 - sum((y - mean) ** 2 for y in mine) / outside


SCALES = {
    "plain": [-3.0, 0.0, 1.5, 2.0, 10.0],
    "skewed": [-3.0, 0.0, 1.5, 2.0, 1e9],
    "two giants that cancel": [-1e14, -30_000.25, 17.5, 29_999.0, 1e14],
    "far from zero": [1e15, 1e15 + 1, 1e15 + 2, 1e15 + 5, 1e15 + 6],
    "as large as numbers go": [-1.7e308, -1e300, 0.0, 1e290, 1.7e308],
    "as small as numbers go": [n * 2.0**-1000 for n in (1, 2, 3, 7, 9)],
}


@settings(max_examples=40, deadline=None)
@given(labelled, st.sampled_from(sorted(SCALES)))
def test_disclosure_of_numbers_is_exact_at_every_scale(rows: list[tuple[int, int]], scale: str) -> None:
    values = SCALES[scale]
    exact = [Fraction(v) for v in values]
    found = disclosure.number_disclosure(make(rows), np.array([*values, np.nan]))
    everyone = [exact[b] for _, b in rows if b < 5]
    # a decimal that lies at the mean but for its rounding counts as lying there
    mean = sum(everyone, Fraction(0)) / max(len(everyone), 1)
    assume(not any(0 < abs(y - mean) < Fraction(1, 1 << 50) * abs(y) for y in everyone))
    for g, members in enumerate(by_class(rows)):
        mine = [exact[b] for b in members if b < 5]
        expected = told_of_numbers(mine, everyone) if mine else Fraction(0)
        assert found[g] == pytest.approx(float(expected), abs=1e-12)
        assert 0 <= found[g] <= 1


def test_numbers_at_the_public_mean_tell_nothing() -> None:
    """.1 + .2 + .3 over 3 is not .2 in doubles, but the class of .2 lies at the mean."""
    values = np.array([0.1, 0.2, 0.3])
    counts = make([(0, 0), (0, 2), (1, 1), (1, 1)], 3)
    assert disclosure.number_disclosure(counts, values) == pytest.approx([0, 0], abs=1e-15)
    assert disclosure.number_disclosure(make([(0, 0), (1, 0)], 1), np.array([0.1])).tolist() == [0, 0]
    assert disclosure.number_disclosure(make([(0, 0)], 1), np.array([np.nan])).tolist() == [0]


@settings(max_examples=80, deadline=None)
@given(labelled)
def test_disclosure_of_categories_is_exact(rows: list[tuple[int, int]]) -> None:
    """Code 5 is the missing value, which takes no part."""
    found = disclosure.category_disclosure(make(rows), 5)
    known = [b for _, b in rows if b < 5]
    for g, members in enumerate(by_class(rows)):
        mine = [b for b in members if b < 5]
        if not mine:
            assert found[g] == 0
            continue
        p = [Fraction(mine.count(v), len(mine)) for v in range(5)]
        public = [Fraction(known.count(v), len(known)) for v in range(5)]

        def brier(guess: list[Fraction], mine: list[int] = mine) -> Fraction:
            """Mean squared error of a guess over the members' indicators."""
            errors = [sum(((b == v) - guess[v]) ** 2 for v in range(5)) for b in mine]
            return sum(errors, Fraction(0)) / len(mine)

        outside = brier(public)
        expected = 1 - brier(p) / outside if outside else Fraction(0)
        assert found[g] == pytest.approx(float(expected), abs=1e-12)


def test_disclosure_at_its_ends() -> None:
    values = np.array([1.0, 3.0])
    apart, alike = [(0, 0), (0, 0), (1, 1), (1, 1)], [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert disclosure.number_disclosure(make(apart, 2), values).tolist() == [1, 1]
    assert disclosure.number_disclosure(make(alike, 2), values).tolist() == [0, 0]
    assert disclosure.category_disclosure(make(apart, 2), 2).tolist() == [1, 1]
    assert disclosure.category_disclosure(make(alike, 2), 2).tolist() == [0, 0]


def test_disclosure_summed_up() -> None:
    one = Disclosed.from_classes(np.array([0.0, 0.6]), np.array([30, 10]))
    assert (one.mean_over_groups, one.mean_over_records, one.worst) == pytest.approx((0.3, 0.15, 0.6))
    both = Disclosed.over_columns([one, Disclosed(0.5, 0.25, 0.5)])
    assert both is not None
    assert vars(both) == pytest.approx({"mean_over_groups": 0.4, "mean_over_records": 0.2, "worst": 0.6})
    assert Disclosed.over_columns([]) is None
    assert Disclosed.from_classes(np.zeros(0), np.zeros(0, np.int64)).worst == 0


# The compiled formulas, each beside its plain form.


def plain_terms(counts: Any, public: Any, rest: float) -> tuple[float, float]:
    known = public >= 0
    s, p = counts[known].astype(float), public[known]
    n = s.sum()
    apart = ((s - n * p) ** 2).sum() + n * n * rest
    return apart, n * ((s * (1 - 2 * p)).sum() + n * (p @ p + rest))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_compiled_formulas_equal_their_plain_form(seed: int, m: int) -> None:
    rng = np.random.default_rng(seed)
    row = rng.integers(0, 9, m + 2)
    row[1] += 1
    inside, n = row[1 : m + 1], int(row[1 : m + 1].sum())
    public = rng.dirichlet(np.ones(m))
    public[0] = -1.0 if m > 1 and rng.random() < 0.5 else public[0]
    padded = np.concatenate([[0.3], public, [0.3]])
    assert measures.largest(row, 1, m + 1) == inside.max()
    assert measures.largest(row, 1, 1) == 0
    share = inside[inside > 0] / n
    assert measures.entropy(row, 1, m + 1, n) == pytest.approx(-(share * np.log(share)).sum())
    assert measures.brier_terms(row, padded, 1, m + 1, 0.1) == pytest.approx(plain_terms(inside, public, 0.1))
    z = rng.normal(size=n)
    told, error = measures.number_terms(n, z.sum(), (z**2).sum())
    left = ((z - z.mean()) ** 2).sum() / (z**2).sum()
    assert 1 - told / error == pytest.approx(left)


@settings(max_examples=60, deadline=None)
@given(labelled)
def test_formulas_read_full_and_sparse_counts_alike(rows: list[tuple[int, int]]) -> None:
    """As the grower asks, over all values of a node, and as the classes do, over those that occur."""
    counts = make(rows)
    full = np.zeros((counts.n_groups, 6), np.int64)
    full[counts.groups, counts.values] = counts.counts
    public = counts.public
    sparse = disclosure.category_disclosure(counts, 6)
    for g, row in enumerate(full):
        told, error = measures.brier_terms(row, public, 0, 6, 0.0)
        assert sparse[g] == pytest.approx(told / error if error else 0, abs=1e-12)
        assert measures.entropy(row, 0, 6, row.sum()) == pytest.approx(math.log(class_measures.entropy_l(counts)[g]))


# Sizes.


def test_sizes_uniques_and_attackers_by_hand() -> None:
    groups = group([np.array([0, 0, 0, 1, 1, 2]), np.array([7, 7, 7, 7, 7, 7])])
    told = sizes.summary(groups.sizes)
    assert [told[n] for n in ("smallest", "groups", "uniques", "largest")] == [1, 3, 1, 3]
    assert [told[n] for n in ("lower_quartile", "median", "upper_quartile", "mean")] == [1, 2, 3, 2]
    assert told["unique_share"] == pytest.approx(1 / 6)
    assert told["histogram"] == [
        {"from": 1, "to": 1, "classes": 1, "records": 1},
        {"from": 2, "to": 3, "classes": 2, "records": 5},
    ]
    risk = sizes.attackers(groups.sizes, 1 / np.array([30.0, 4.0, 2.0]), threshold=0.4)
    assert risk["prosecutor"] == {"highest": 1.0, "average": 0.5, "above": 0.5, "expected": 3.0}
    assert risk["journalist"]["highest"] == 0.5
    assert risk["journalist"]["average"] == pytest.approx((3 / 30 + 2 / 4 + 1 / 2) / 6)
    assert risk["marketer"]["average"] == risk["journalist"]["average"]


@pytest.mark.parametrize("found", [1, 2, 3, 10, 29, 30, 31, 100, 101, 5000])
@pytest.mark.parametrize("times", [1.0, 1 + 1e-9, 1.01, 3.0, 100.0, 1e6])
def test_the_expected_risk_of_a_sample_is_its_integral(found: int, times: float) -> None:
    """E(1/F | f) is the integral of (p e^-t / (1 - q e^-t))^f over t from 0 on."""
    p = 1 / times

    def inside(s: float) -> float:  # t = e^s
        t = np.exp(s)
        return float((p * np.exp(-t) / (p * np.exp(-t) - np.expm1(-t))) ** found * t)

    truth = quad(inside, -60, 8, limit=2000, epsabs=0, epsrel=1e-10)[0]
    (told,) = sizes.expected_risk(np.array([found]), np.array([found * times]))
    assert told == pytest.approx(truth, rel=1e-6)
    assert told >= 1 / (found * times) * (1 - 1e-12)


def test_the_expected_risk_is_the_mean_of_what_populations_give() -> None:
    random = np.random.default_rng(0)
    for f, weight in ((1, 100.0), (3, 20.0)):
        people = f + random.negative_binomial(f, 1 / weight, 200_000)
        (told,) = sizes.expected_risk(np.array([f]), np.array([f * weight]))
        assert told == pytest.approx((1 / people).mean(), rel=0.02)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=25))
def test_wildcards_match_anything(rows: list[tuple[int, int, int]]) -> None:
    codes = [np.array(c) for c in zip(*rows, strict=True)]
    wild = [c == 2 for c in codes]
    groups = group(codes)
    found = sizes.wildcard_sizes(groups, codes, wild)
    for i, row in enumerate(rows):
        fits = sum(all(a == b or 2 in (a, b) for a, b in zip(row, other, strict=True)) for other in rows)
        assert found[groups.labels[i]] == fits
    for candidates in (1, 1000):
        assert sizes.wildcard_k(groups, codes, wild, candidates) == found.min()


def test_a_class_that_tells_all_is_told_as_exactly_one() -> None:
    """A group of one rare value tells all of it, and rounding must not make it less."""
    inexact = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(6, 40))
        rows = [(int(g), int(v)) for g, v in zip(rng.integers(1, 4, n), rng.integers(1, 6, n), strict=True)]
        counts = make([*rows, (0, 0)])
        values = ValueCounts("pay", "numeric", "", rng.lognormal(8, 1, 6).cumsum(), counts.totals, 0)
        names = ValueCounts("job", "categorical", "", list("abcdef"), counts.totals)
        for public in (Public(values), Public(names)):
            told = ColumnScores(public, counts).worst
            exactly = [ColumnScores(public, counts).exceeding(1 - 1e-12)[0], told[0] == 1]
            inexact += exactly == [True, False]
            assert (told <= 1).all()
    assert not inexact
