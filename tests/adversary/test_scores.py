"""The scores that disclosure is judged by, against their definition and against groups made to hide."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.columns.column import ValueCounts
from hedgerow.measures import Counts, group
from hedgerow.measures.proper_scores import ColumnScores, Public

from . import checker


def counted(groups: Any, values: Any, kind: str) -> tuple[Public, Counts]:
    """A column as the package sees it; None is missing."""
    known = sorted({y for y in values if y is not None})
    place = {y: i for i, y in enumerate(known)}
    codes = np.array([len(known) if y is None else place[y] for y in values], np.int64)
    totals = np.bincount(codes, minlength=len(known) + 1)
    sort: Any = {"number": "numeric", "category": "categorical"}.get(kind, kind)
    distinct = np.array(known, float) if kind == "number" else known
    public = Public(ValueCounts("", sort, "", distinct, totals[:-1], int(totals[-1])))
    names = {g: i for i, g in enumerate(dict.fromkeys(groups))}
    classes = group([np.array([names[g] for g in groups], np.int64)])
    return public, Counts.from_codes(classes, codes, len(known) + 1)


def agree(groups: list[int], values: list[Any], kind: str) -> None:
    """Every score of every group equals the definition, and so does who exceeds a cap."""
    public, counts = counted(groups, values, kind)
    names = list(dict.fromkeys(groups))
    ours, truth = ColumnScores(public, counts).by_score, checker.column_disclosures(groups, values, kind)
    for i, name in enumerate(names):
        for score, value in truth[name].items():
            told = float(ours[score][i]) if score in ours else 0.0
            assert told == pytest.approx(float(value), abs=1e-9), (name, score)
    # caps that lie exactly on a group's disclosure are the hard ones
    edges = [float(v) for scores in truth.values() for v in scores.values()][:6]
    for cap in [0.2, 0.3, 0.5, *edges]:
        over = ColumnScores(public, counts).exceeding(cap)
        limit = Fraction(repr(cap))
        expected = [any(v > limit for v in truth[name].values()) for name in names]
        assert over.tolist() == expected


def table(values: Any) -> Any:
    return st.lists(st.tuples(st.integers(0, 4), values), min_size=2, max_size=40)


few = st.integers(1, 5).map(float)
wide = st.one_of(st.integers(-30_000, 30_000).map(float), st.sampled_from([1e14, -1e14, 0.0, 1e-9]))


@pytest.mark.parametrize("kind", ["number", "ordinal", "category"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_scores_are_those_of_the_definition(kind: str, data: Any) -> None:
    values = st.one_of(few, st.none()) if kind != "number" else st.one_of(few, wide, st.none())
    rows = data.draw(table(values))
    agree([g for g, _ in rows], [y for _, y in rows], kind)


@pytest.mark.parametrize("kind", ["number", "ordinal", "category"])
def test_what_is_just_at_the_cap_keeps_it(kind: str) -> None:
    """Every score of every group, at its own fraction and a hair below."""
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 3, 30).tolist()
    values = [None if v == 5 else float(v) for v in rng.integers(1, 6, 30)]
    public, counts = counted(groups, values, kind)
    truth = checker.column_disclosures(groups, values, kind)
    for score, seen, _ in ColumnScores(public, counts)._scored:
        for i, name in enumerate(dict.fromkeys(groups)):
            part = slice(seen.starts[i], seen.starts[i + 1])
            cap = truth[name][score.name]
            assert not score.exceeds(seen.values[part], seen.counts[part], cap)
            below = cap * Fraction(10**12 - 1, 10**12)
            assert score.exceeds(seen.values[part], seen.counts[part], below)


def test_a_cap_is_the_decimal_number_that_was_written() -> None:
    """The double next to 0.6 lies below it: six of seven in a group, of six of fourteen, tell 3/5."""
    groups, values = [0] * 7 + [1] * 7, ["a"] * 6 + ["b"] * 8
    assert checker.column_disclosures(groups, values, "category")[0]["brier"] == Fraction(3, 5)
    public, counts = counted(groups, values, "category")
    assert Fraction(0.6) < Fraction(3, 5)
    assert ColumnScores(public, counts).exceeding(0.6).tolist() == [False, True]


def test_cuts_give_a_heavy_value_a_cell_of_its_own() -> None:
    rng = np.random.default_rng(0)
    for sign in (1.0, -1.0):
        debts = sign * rng.lognormal(8, 1, 20).round()
        values = np.concatenate([np.zeros(480), debts])
        known, totals = np.unique(values, return_counts=True)
        public = Public(ValueCounts("", "numeric", "", known, totals.astype(np.int64)))
        zero = int(np.searchsorted(known, 0.0))
        assert int(np.count_nonzero(public.cell == public.cell[zero])) == 1
        assert [known[t] for t in public.cuts] == checker.cuts(values.tolist())


def test_extremes_beside_small_numbers_are_decided_exactly() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        n = 60
        values = rng.integers(-30_000, 30_000, n).astype(float)
        values[:2] = [1e14, -1e14]
        agree(rng.integers(0, 6, n).tolist(), values.tolist(), "number")


def worst_of(groups: Any, values: Any, kind: str = "number") -> float:
    public, counts = counted(groups, values, kind)
    return float(ColumnScores(public, counts).worst.max())


def test_groups_that_sit_on_the_public_mean_are_seen() -> None:
    """Scores 1 to 5 with mean 3: a group in which all have 3 leaves the squared error untouched."""
    values = [1.0, 2.0, 3.0, 4.0, 5.0] * 40
    groups = [0 if y == 3.0 else 1 for y in values]
    public, counts = counted(groups, values, "number")
    told = ColumnScores(public, counts).by_score
    assert told["squared"][0 if groups[0] == 0 else 1] == pytest.approx(0.0)
    assert worst_of(groups, values) > 0.5


def test_nurses_near_the_public_mean_are_seen_with_and_without_outliers() -> None:
    rng = np.random.default_rng(2)
    others = rng.normal(50_000, 20_000, 3_000).round()
    nurses = rng.normal(50_000, 2_000, 200).round()
    for outliers in (0, 30):
        far = np.full(outliers, 5e7)
        values = np.concatenate([nurses, others, far])
        groups = [0] * len(nurses) + [1] * (len(others) + outliers)
        public, counts = counted(groups, values.tolist(), "number")
        told = ColumnScores(public, counts).by_score
        assert told["squared"][0] < 0.1  # what a cap on means alone would have let pass
        assert max(told["ranked"][0], told["local"][0]) > 0.5


def test_two_exact_values_are_seen_by_the_local_score() -> None:
    rng = np.random.default_rng(3)
    others = rng.normal(0, 1, 2_000)
    low, high = np.quantile(others, [0.3, 0.7])
    values = [*([float(low)] * 10), *([float(high)] * 10), *others.tolist()]
    public, counts = counted([0] * 20 + [1] * 2_000, values, "number")
    told = ColumnScores(public, counts).by_score
    assert told["squared"][0] < 0.05
    assert told["local"][0] > 0.4


def test_a_rare_trait_may_be_absent_from_a_group() -> None:
    """The floor: that all ten are healthy where 99.3% are is no secret; that all are ill is one."""
    values = ["ill"] * 7 + ["well"] * 993
    healthy = [0] * 7 + [0] * 983 + [1] * 10
    assert worst_of(healthy, values, "category") < 0.05
    ill = [1] * 7 + [0] * 993
    assert worst_of(ill, values, "category") > 0.9


def test_the_floor_counts_for_each_record() -> None:
    """None has it: allowed up to d/4 / (1 + d/4) of the public, told in full from a fifth on."""
    for cap in (0.2, 0.3, 0.5):
        edge = cap / 4 / (1 + cap / 4)
        for share, over in ((edge * 0.97, False), (edge * 1.03, True)):
            n = 200_000
            case = round(share * n)
            values = np.array([1] * case + [0] * (n - case))
            groups = np.zeros(n, np.int64)
            groups[-10:] = 1
            public = Public(ValueCounts("", "categorical", "", ["0", "1"], np.array([n - case, case])))
            counts = Counts.from_codes(group([groups]), values, 2)
            assert bool(ColumnScores(public, counts).exceeding(cap)[1]) is over


def test_whether_a_value_is_missing_counts() -> None:
    values = [5.0, 6.0, 7.0, 5.0, 6.0] * 4 + [None] * 100
    groups = [0] * 20 + [1] * 100
    public, counts = counted(groups, values, "number")
    assert ColumnScores(public, counts).by_score["missing"][0] > 0.9
    assert "missing" not in ColumnScores(*counted(groups, [v or 1.0 for v in values], "number")).by_score


@pytest.mark.parametrize("outliers", [0.0, 0.01])
def test_a_union_never_tells_more_than_the_worse_part(outliers: float) -> None:
    rng = np.random.default_rng(4)
    n = 4_000
    values = rng.lognormal(8, 1.2, n).round(1)
    values[rng.random(n) < outliers] *= 1e4
    values[rng.random(n) < 0.2] = 0.0
    known, inverse, totals = np.unique(values, return_inverse=True, return_counts=True)
    public = Public(ValueCounts("", "numeric", "", known, totals.astype(np.int64)))
    pairs = 50_000  # two sorts of columns: 100,000 pairs in all
    sizes = rng.integers(1, 12, (pairs, 2))
    parts = np.repeat(np.arange(2 * pairs), sizes.ravel())
    rows = rng.integers(0, n, len(parts))
    # half of the parts are picked from neighbours in value, so that they tell much
    order = np.argsort(inverse, kind="stable")
    near = order[np.clip(rng.integers(0, n, 2 * pairs)[parts] + rng.integers(0, 20, len(parts)), 0, n - 1)]
    rows = np.where(parts % 4 < 2, rows, near)
    apart = Counts.from_codes(group([parts]), inverse[rows], len(known))
    both = Counts.from_codes(group([parts // 2]), inverse[rows], len(known))
    for score, told in ColumnScores(public, apart).by_score.items():
        joined = ColumnScores(public, both).by_score[score]
        assert (joined <= told.reshape(-1, 2).max(axis=1) + 1e-9).all(), score


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "seeds"), [("number", range(380, 520)), ("category", range(150, 200))])
def test_a_split_exactly_at_the_cap_is_taken(kind: str, seeds: range) -> None:
    """Rounding loses no group that the exact score allows, and lets none pass that it refuses."""
    taken = 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        half = int(rng.choice([5, 6, 8, 10]))
        drawn = rng.integers(0, 3, 2 * half)
        values = drawn.astype(float).tolist() if kind == "number" else [str(v % 2) for v in drawn]
        groups = [0] * half + [1] * half
        worst = checker.worst(groups, values, kind)
        cap = round(float(worst), 4)
        if not 0.02 < cap < 0.98 or Fraction(repr(cap)) != worst:
            continue
        people, schema = pd.DataFrame({"q": groups, "s": values}), hr.Schema(["q"], ["s"])
        at, above, below = (
            hr.protect(people, schema, hr.MART(5, max_disclosure=c)).summary()["groups"]["groups"]
            for c in (cap, cap + 1e-6, cap - 1e-6)
        )
        assert (at, below) == (above, 1)
        taken += at == 2
    assert taken > 3
