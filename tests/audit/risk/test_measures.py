"""Risk measures against plain references over dictionaries and against hand-worked cases."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from hedgerow.audit.grouping import count, group
from hedgerow.audit.risk import classes, disclosure, numeric
from hedgerow.hierarchy import Hierarchy

labelled = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), min_size=1, max_size=40)


def make(rows):
    labels = np.array([a for a, _ in rows])
    codes = np.array([b for _, b in rows])
    grouping = group([labels])
    return grouping, count(grouping, codes, 6), codes


def by_class(rows):
    ordered = sorted(rows)
    return [[b for _, b in part] for _, part in groupby(ordered, key=lambda r: r[0])]


@settings(max_examples=80, deadline=None)
@given(labelled)
def test_diversity_and_closeness_equal_their_definitions(rows):
    _, counts, _ = make(rows)
    groups = by_class(rows)
    n = len(rows)
    public = [sum(b == v for _, b in rows) / n for v in range(6)]
    for g, members in enumerate(groups):
        q = [members.count(v) / len(members) for v in range(6)]
        present = [x for x in q if x > 0]
        assert disclosure.distinct(counts)[g] == len(present)
        assert disclosure.entropy(counts)[g] == pytest.approx(
            math.exp(-sum(x * math.log(x) for x in present))
        )
        assert disclosure.largest_share(counts)[g] == pytest.approx(max(q))
        assert disclosure.closeness_equal(counts)[g] == pytest.approx(
            0.5 * sum(abs(a - b) for a, b in zip(q, public, strict=True))
        )
        cdf = np.abs(np.cumsum(np.array(q) - public)).sum() / 5
        assert disclosure.closeness_ordered(counts)[g] == pytest.approx(cdf, abs=1e-12)
        gains = [(a - b) / b for a, b in zip(q, public, strict=True) if b > 0]
        assert disclosure.basic_beta(counts)[g] == pytest.approx(max(gains), abs=1e-12)
        logs = [abs(math.log(a / b)) for a, b in zip(q, public, strict=True) if a > 0]
        assert disclosure.delta(counts)[g] == pytest.approx(max(logs), abs=1e-12)
        if len(present) >= 2:
            r = sorted((members.count(v) for v in set(members)), reverse=True)
            assert disclosure.recursive(counts, 2)[g] == pytest.approx(r[0] / sum(r[1:]))
        top = 1 - sum(x * x for x in q)
        bottom = (
            1 - 2 * sum(a * b for a, b in zip(q, public, strict=True)) + sum(b * b for b in public)
        )
        expected = top / bottom if bottom > 1e-12 else 1.0
        assert disclosure.brier(counts)[g] == pytest.approx(expected, abs=1e-9)


def test_wong_salary_example_of_t_closeness():
    # Li et al. (2007), section 4.1: salaries 3K..11K, one of each; the classes
    # {3,4,5} and {6,8,11} have distances 0.375 and 0.167
    counts = count(group([np.array([0, 0, 0, 1, 2, 1, 2, 2, 1])]), np.arange(9), 9)
    t = disclosure.closeness_ordered(counts)
    assert t[0] == pytest.approx(0.375)
    assert t[1] == pytest.approx(1 / 6, abs=1e-9)


def test_disease_example_of_hierarchical_t_closeness():
    # three leaves of two branches: H = 2. Class A is all "gastric ulcer".
    paths = {
        "ulcer": ("ulcer", "stomach", "*"),
        "gastritis": ("gastritis", "stomach", "*"),
        "flu": ("flu", "lung", "*"),
        "asthma": ("asthma", "lung", "*"),
    }
    values = sorted(paths)
    codes = np.array(
        [
            values.index(v)
            for v in ["ulcer", "ulcer", "gastritis", "gastritis", "flu", "flu", "asthma", "asthma"]
        ]
    )
    counts = count(group([np.array([0, 0, 1, 1, 1, 1, 1, 1])]), codes, 4)
    # by hand: move .25 from gastritis (height 1, cost 1/2) and .5 over the top (cost 1)
    t = disclosure.closeness_hierarchical(counts, values, Hierarchy(paths))
    assert t[0] == pytest.approx(0.25 * 0.5 + 0.5 * 1)


def test_recursive_diversity_is_undefined_below_two():
    counts = count(group([np.array([0, 0])]), np.array([0, 0]), 1)
    with pytest.raises(ValueError, match="undefined"):
        disclosure.recursive(counts, 1)
    assert disclosure.diversity_summary(counts, "categorical", ["a"])["recursive_c"] is None


def test_enhanced_beta_says_when_no_beta_holds():
    # public share of value 0 is 3/4: its gain in the pure class is 1/3 > -ln(3/4) = .2877
    counts = count(group([np.array([0, 0, 1, 1])]), np.array([0, 0, 0, 1]), 2)
    value, holds = disclosure.enhanced_beta(counts)
    assert value == pytest.approx(min(1.0, -math.log(0.25)))
    assert not holds


@settings(max_examples=80, deadline=None)
@given(labelled)
def test_rsd_equals_formula_10(rows):
    grouping, counts, codes = make(rows)
    values = np.array([-3.0, 0.0, 1.5, 2.0, 10.0, 1e6])
    y = values[codes]
    ratio = numeric.rsd(counts, values)
    for g in range(grouping.n_groups):
        mine = y[grouping.labels == g]
        against = ((mine - y.mean()) ** 2).sum()
        expected = ((mine - mine.mean()) ** 2).sum() / against if against > 0 else 1.0
        assert ratio[g] == pytest.approx(expected, abs=1e-6)


@settings(max_examples=80, deadline=None)
@given(labelled, st.sampled_from([0.05, 0.1, 0.2, 0.5]))
def test_matching_equals_trying_every_guess(rows, tolerance):
    grouping, counts, codes = make(rows)
    values = np.array([-105.0, -100.0, 0.0, 95.0, 100.0, 130.0])
    y = values[codes]

    def most(sample):
        ends = np.concatenate([sample - tolerance * abs(sample), sample + tolerance * abs(sample)])
        return max(
            int((np.abs(g - sample) <= tolerance * np.abs(sample) + 1e-12).sum()) for g in ends
        )

    found = numeric.matching(counts, values, (tolerance,))[f"{tolerance:.2f}"]
    hits = sum(most(y[grouping.labels == g]) for g in range(grouping.n_groups))
    assert found["release"] == pytest.approx(hits / len(y))
    assert found["public"] == pytest.approx(most(y) / len(y))


def test_covariance_test_on_the_worked_example_node_9():
    # Table 1's leaf-to-be 9 by definition: p from formula 9 computed directly
    rng = np.random.default_rng(5)
    y = rng.normal(size=(60, 2)) @ np.array([[1.0, 0.4], [0.0, 0.8]])
    labels = np.repeat([0, 1, 2], 20)
    y[labels == 1] *= 0.2
    p = numeric.covariance_test(group([labels]), y)
    overall = np.cov(y.T)
    for g in range(3):
        inside = np.cov(y[labels == g].T)
        statistic = 19 * (
            math.log(np.linalg.det(overall) / np.linalg.det(inside))
            + np.trace(inside @ np.linalg.inv(overall))
            - 2
        )
        assert p[g] == pytest.approx(chi2.sf(statistic, 3), rel=1e-6)
    y[labels == 2, 1] = y[labels == 2, 0]
    assert numeric.covariance_test(group([labels]), y)[2] == 0.0
    assert numeric.covariance_test(group([labels]), np.ones((60, 1))) is None


def test_sizes_uniques_and_attackers_by_hand():
    grouping = group([np.array([0, 0, 0, 1, 1, 2]), np.array([7, 7, 7, 7, 7, 7])])
    summary = classes.sizes_summary(grouping)
    assert (summary["k"], summary["classes"], summary["uniques"]) == (1, 3, 1)
    assert [(b["from"], b["classes"], b["records"]) for b in summary["histogram"]] == [
        (1, 1, 1),
        (2, 2, 5),
    ]
    risk = classes.attackers(grouping.sizes, np.array([30.0, 4.0, 2.0]), threshold=0.4)
    assert risk["prosecutor"] == {"highest": 1.0, "average": 0.5, "above": 0.5}
    assert risk["journalist"]["highest"] == 0.5
    assert risk["journalist"]["average"] == pytest.approx((3 / 30 + 2 / 4 + 1 / 2) / 6)
    assert risk["marketer"]["average"] == risk["journalist"]["average"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=25
    )
)
def test_wildcards_match_anything(rows):
    codes = [np.array(c) for c in zip(*rows, strict=True)]
    wild = [c == 2 for c in codes]
    grouping = group(codes)
    sizes = classes.wildcard_sizes(grouping, codes, wild)
    for i, row in enumerate(rows):
        fits = sum(
            all(a == b or 2 in (a, b) for a, b in zip(row, other, strict=True)) for other in rows
        )
        assert sizes[grouping.labels[i]] == fits
    for candidates in (1, 1000):
        assert classes.wildcard_k(grouping, codes, wild, candidates) == sizes.min()


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), min_size=1, max_size=30), st.randoms()
)
def test_classes_do_not_depend_on_row_order(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    one = group([np.array(c) for c in zip(*rows, strict=True)])
    two = group([np.array(c) for c in zip(*shuffled, strict=True)])
    assert one.sizes.tolist() == two.sizes.tolist()
    assert dict(zip(rows, one.labels.tolist(), strict=True)) == dict(
        zip(shuffled, two.labels.tolist(), strict=True)
    )
    assert (one.labels[one.first] == np.arange(one.n_groups)).all()
