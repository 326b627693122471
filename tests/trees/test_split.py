"""Choosing a split from histograms that somebody else counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hedgerow.trees.grow import grow
from hedgerow.trees.nodes import LEAF
from hedgerow.trees.objective import Terms
from hedgerow.trees.split import Counted, Split, best_split
from hedgerow.trees.statistics import ENTROPY, StatisticsLayout

from .tables import Given, Sensitive, predictors, responses
from .test_grow import left_codes, rules


def vectors(made: Sensitive, layout: StatisticsLayout) -> Any:
    """What every row adds to the statistics vector, by plain numpy; shape (n, size)."""
    n = len(made.columns[0].codes)
    added = np.zeros((n, layout.size), np.int64)
    added[:, 0] = 1
    z, classes = made.z.astype(np.int64), made.classes
    for j in range(z.shape[1]):
        added[:, layout.sums + j] = z[:, j]
        if layout.squares >= 0:
            added[:, layout.squares + j] = (z[:, j] * z[:, j]) >> layout.shift
    for j in range(classes.shape[1]):
        added[np.arange(n), layout.starts[j] + classes[:, j]] = 1
    return added


def counted(given: Given, rows: Any, added: Any) -> list[Any]:
    """The histogram of every column over some rows."""
    made = []
    for c, n_codes in enumerate(given.n_codes):
        hist = np.zeros((n_codes + 1, added.shape[1]), np.int64)
        np.add.at(hist, given.codes[rows, c], added[rows])
        made.append(hist)
    return made


def _best(hist: list[Any], *about: Any) -> Split | None:
    sums = np.concatenate(hist)
    return best_split(sums, np.zeros((len(sums), 0), np.int64), *about)


@pytest.mark.parametrize("kinds", ["n", "nn", "nnn", "nc", "cc"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("cap", [1.0, 0.4371])
def test_the_same_choice_as_the_grower_at_every_node(kinds: str, missing: bool, cap: float) -> None:
    rng = np.random.default_rng([len(kinds), missing, ord(kinds[-1])])
    given = predictors(rng, 1_500, "oowcO", n_codes=5, missing=missing)
    made = responses(rng, given, kinds, missing=missing)
    asked = rules(made, min_leaf=12, cap=cap)
    layout = StatisticsLayout.from_responses(made.responses, squares=cap < 1)
    grown = grow(made.rows(given), made.responses, layout, asked)
    assert grown.n_nodes > (20 if cap == 1 else 2)
    added, terms = vectors(made, layout), Terms.from_rules(asked, layout, 1_500)
    for i in range(grown.n_nodes):
        rows = grown.rows[grown.start[i] : grown.end[i]]
        hist = counted(given, rows, added)
        found = _best(hist, grown.stats[i], given.predictors, layout, terms)
        if grown.column[i] == LEAF:
            assert found is None
            continue
        assert found is not None
        assert found.column == grown.column[i]
        assert found.left.tolist() == grown.stats[i + 1].tolist()
        if given.ordered[found.column]:
            assert (found.last_left, found.first_right, found.missing_left) == (
                grown.last_left[i],
                grown.first_right[i],
                grown.missing_left[i],
            )
        else:
            assert set(found.left_codes) == left_codes(grown, given, i)


@pytest.mark.parametrize("columns", ["oc", "w", "ow"])
@pytest.mark.parametrize("gain", ["squares", "entropy"])
def test_persons_are_asked_of_the_layout(columns: str, gain: str) -> None:
    """Every row half a person: more than 29 persons are 30, so groups need 59 rows."""
    rng = np.random.default_rng(3)
    given = predictors(rng, 300, columns, n_codes=5, missing=True)
    made = responses(rng, given, "nnc" if gain == "squares" else "c")
    kind = {} if gain == "squares" else {"gain": ENTROPY}
    shared = StatisticsLayout.from_responses(made.responses, **kind)
    apart = StatisticsLayout.from_responses(made.responses, persons=True, **kind)
    assert (apart.persons, apart.sums) == (1, 2)
    rows = np.arange(300)

    def chosen(layout: StatisticsLayout, min_leaf: int, persons: int = 1) -> Split | None:
        added = vectors(made, layout)
        if layout.persons:
            added[:, layout.persons] = layout.person // persons
        terms = Terms.from_rules(rules(made, min_leaf=min_leaf, cap=0.6, **kind), layout, 300)
        hist = counted(given, rows, added)
        return _best(hist, added.sum(axis=0), given.predictors, layout, terms)

    one, two = chosen(shared, 59), chosen(apart, 30, persons=2)
    assert one is not None
    assert two is not None
    assert replace(two, left=one.left) == replace(one, left=one.left)
    assert two.left[2:].tolist() == one.left[1:].tolist()
    assert one.left[0] >= 59


def test_histograms_of_billions_of_records_choose_the_same_split() -> None:
    """Only the counts grow: a cluster's histograms past 4 billion records."""
    rng = np.random.default_rng(8)
    given = predictors(rng, 400, "oc", n_codes=6)
    made = responses(rng, given, "n")
    layout = StatisticsLayout.from_responses(made.responses, squares=False)
    added = vectors(made, layout)
    hist = counted(given, np.arange(400), added)
    total = added.sum(axis=0)
    many = 15_000_000
    small = _best(hist, total, given.predictors, layout, Terms.from_rules(rules(made), layout, 400))
    terms = Terms.from_rules(rules(made, min_leaf=4 * many), layout, 400 * many)
    large = _best([h * many for h in hist], total * many, given.predictors, layout, terms)
    assert small is not None
    assert large is not None
    assert (large.column, large.last_left, large.left_codes) == (small.column, small.last_left, small.left_codes)
    assert int(total[0]) * many == 6_000_000_000
    assert large.left.tolist() == [int(v) * many for v in small.left]
    assert large.gain == pytest.approx(small.gain * many, rel=1e-12)


def test_nothing_to_choose_from_is_a_leaf() -> None:
    rng = np.random.default_rng(1)
    given = predictors(rng, 40, "oc", n_codes=1)
    made = responses(rng, given, "n")
    layout = StatisticsLayout.from_responses(made.responses, squares=False)
    added = vectors(made, layout)
    hist = counted(given, np.arange(40), added)
    terms = Terms.from_rules(rules(made, min_leaf=2), layout, 40)
    assert _best(hist, added.sum(axis=0), given.predictors, layout, terms) is None


@pytest.mark.parametrize("kinds", ["n", "on", "nc"])
def test_caps_on_judged_columns_are_kept_at_every_node(kinds: str) -> None:
    """Where the best split breaks one, the next one that keeps them all is taken."""
    rng = np.random.default_rng(len(kinds))
    given = predictors(rng, 900, "owC", n_codes=9)
    made = replace(responses(rng, given, kinds, missing=True), scored=True)
    asked = rules(made, min_leaf=3, cap=0.2119)
    layout = StatisticsLayout.from_responses(made.responses, floored=True)
    rows, terms = made.rows(given), Terms.from_rules(asked, layout, 900)
    grown = grow(rows, made.responses, layout, asked)
    assert len(layout.share)
    assert grown.n_nodes > 5
    for i in range(grown.n_nodes):
        part = replace(rows, words=rows.words[grown.start[i] : grown.end[i]].copy())
        counts = Counted.from_rows(part, np.array([0, part.n]), layout)
        sums, cells = counts.sums[0], counts.cells[0]
        found = best_split(sums, cells, grown.stats[i], given.predictors, layout, terms)
        assert (LEAF if found is None else found.column) == grown.column[i]
        if found is not None:
            assert found.left.tolist() == grown.stats[i + 1].tolist()
