"""Node measures, error-digression pruning and the path, against the definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from hedgerow.io.read import read
from hedgerow.measures import SensitiveCounts, group
from hedgerow.measures.disclosure import rsd
from hedgerow.trees.grow import grow
from hedgerow.trees.nodes import LEAF
from hedgerow.trees.statistics import StatisticsLayout
from hedgerow.trees.tree import Tree, cut, measure, prune_order

from .reference import error_digression_order
from .tables import Sensitive, predictors, responses
from .test_grow import rules


def tree(seed: int, kinds: str, n: int = 200, min_leaf: int = 3, missing: bool = False) -> tuple[Tree, Sensitive]:
    rng = np.random.default_rng(seed)
    given = predictors(rng, n, "ooc", missing=missing)
    made = responses(rng, given, kinds, missing=missing)
    layout = StatisticsLayout.from_responses(made.responses, squares=False)
    grown = grow(made.rows(given), made.responses, layout, rules(made, min_leaf=min_leaf))
    words = tuple("" if c == LEAF else f"x{c}" for c in grown.column)
    numbers = np.arange(1, grown.n_nodes + 1)
    return Tree(grown, made.responses, layout, lambda: words, numbers), made


def rows_of(made: Tree, i: int) -> Any:
    return made.grown.rows[made.grown.start[i] : made.grown.end[i]]


def scaled(made: Sensitive) -> Any:
    """The numeric responses less their means, on the scale [0, 1], up to the rounding to 2^-30."""
    return made.z / 2.0**30


def leaves_below(made: Tree, i: int) -> list[int]:
    if made.grown.column[i] == LEAF:
        return [i]
    return leaves_below(made, i + 1) + leaves_below(made, int(made.grown.right[i]))


@pytest.mark.parametrize("kinds", ["n", "nn", "nnn", "nc", "c", "ncc"])
def test_error_and_digression_by_definition(kinds: str) -> None:
    made, sensitive = tree(4, kinds)
    y, classes = scaled(sensitive), sensitive.classes
    mixed = bool(made.responses.categorical)

    def scatter(rows: Any) -> Any:
        """Numeric scatter, the Gini scatters as further diagonal entries."""
        apart = y[rows] - y[rows].mean(0)
        gini = [
            len(rows) - (np.bincount(classes[rows, j]) ** 2).sum() / len(rows)
            for j in range(len(made.responses.categorical))
        ]
        r = y.shape[1]
        both = np.zeros((r + len(gini), r + len(gini)))
        both[:r, :r] = apart.T @ apart
        both[r:, r:] = np.diag(gini)
        return both

    whole = scatter(np.arange(len(y)))
    weight = 1 / np.diag(whole) if mixed else np.ones(len(whole))
    error = [float((np.diag(scatter(rows_of(made, i))) * weight).sum()) for i in range(made.grown.n_nodes)]
    digression = [float(np.linalg.det(whole - scatter(rows_of(made, i)))) for i in range(made.grown.n_nodes)]
    m = made.measures
    np.testing.assert_allclose(m.error, error, rtol=1e-6, atol=1e-8)
    size = np.prod(np.diag(whole))  # of which rounding is a share
    np.testing.assert_allclose(m.digression / size, np.array(digression) / size, rtol=1e-6, atol=1e-8)
    for i in range(made.grown.n_nodes):
        below = leaves_below(made, i)
        e, d = sum(error[t] for t in below), sum(digression[t] for t in below)
        assert m.branch_error[i] == pytest.approx(e, rel=1e-6, abs=1e-8)
        assert m.branch_digression[i] / size == pytest.approx(d / size, rel=1e-6, abs=1e-7)
        if len(below) > 1 and d > digression[i]:
            assert m.q[i] == pytest.approx((error[i] - e) / (d - digression[i]), rel=1e-5)
    assert np.isnan(m.q).tolist() == (made.grown.column == LEAF).tolist()


@pytest.mark.parametrize("kinds", ["n", "nn", "nnn", "nc", "cc"])
def test_p_values_against_scipy(kinds: str) -> None:
    made, sensitive = tree(6, kinds, min_leaf=8)
    y, classes = scaled(sensitive), sensitive.classes
    r = y.shape[1]
    for i in range(1, made.grown.n_nodes):
        rows = rows_of(made, i)
        statistic, freedom = 0.0, r * (r + 1) // 2
        if r:
            whole = np.cov(y.T).reshape(r, r)
            part = np.cov(y[rows].T).reshape(r, r)
            ratio = np.log(np.linalg.det(whole) / np.linalg.det(part))
            statistic += (len(rows) - 1) * (ratio + np.trace(part @ np.linalg.inv(whole)) - r)
        for j in range(len(made.responses.categorical)):
            n_classes = len(made.responses.classes[j].counts)
            shares = np.bincount(classes[:, j], minlength=n_classes) / len(y)
            seen = np.bincount(classes[rows, j], minlength=n_classes)
            there = seen > 0
            statistic += 2 * (seen[there] * np.log(seen[there] / (len(rows) * shares[there]))).sum()
            freedom += n_classes - 1
        assert made.measures.p_value[i] == pytest.approx(chi2.sf(statistic, freedom), rel=1e-5, abs=1e-12)
    assert made.measures.p_value[0] == 1


def test_a_singular_node_is_rejected() -> None:
    """Two records cannot have a covariance matrix of full rank; nor can equal records."""
    made, _ = tree(1, "nn", min_leaf=2)
    small = made.grown.end - made.grown.start == 2
    assert small.any()
    assert (made.measures.p_value[small] == 0).all()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kinds", ["n", "nn", "c", "nc"])
def test_disclosure_of_a_node_is_that_of_the_criteria(kinds: str, missing: bool) -> None:
    """The grower's measure and the one that verifies a release, each from its own data."""
    import pyarrow as pa

    rng = np.random.default_rng(8)
    given = predictors(rng, 150, "oc", missing=missing)
    values = {
        f"y{j}": rng.lognormal(size=150) if kind == "n" else rng.integers(0, 3, 150).astype(str)
        for j, kind in enumerate(kinds)
    }
    table = read(pa.table({name: pa.array(v, mask=(rng.random(150) < 0.2) & missing) for name, v in values.items()}))
    columns = [table.column(name) for name in values]
    made = Sensitive(tuple(columns))
    layout = StatisticsLayout.from_responses(made.responses)
    grown = grow(made.rows(given), made.responses, layout, rules(made, min_leaf=5))
    measures = measure(grown, made.responses, layout)
    ordered = sorted(columns, key=lambda c: not c.is_number)
    for i in range(grown.n_nodes):
        inside = np.zeros(150, np.uint8)
        inside[grown.rows[grown.start[i] : grown.end[i]]] = 1
        for j, column in enumerate(ordered):
            left = rsd(SensitiveCounts.from_groups(group([inside]), column))[-1]
            assert 1 - measures.explained[i, j] == pytest.approx(left, abs=1e-7)


@pytest.mark.parametrize("kinds", ["n", "nn", "nc"])
@pytest.mark.parametrize("k", [0, 3, 7, 20])
@pytest.mark.parametrize("alpha", [None, 0.05, 0.4])
def test_pruning_is_that_of_looking_at_every_node_again(kinds: str, k: int, alpha: float | None) -> None:
    for seed in range(3):
        made, _ = tree(seed, kinds, min_leaf=2)
        g, m = made.grown, made.measures
        violates = m.p_value < alpha if alpha is not None else np.zeros(g.n_nodes, bool)
        order, q = prune_order(g, m, k, violates)
        expected, ratios = error_digression_order(
            g.column, g.right, g.depth, g.end - g.start, k, violates, m.error, m.digression
        )
        assert order.tolist() == expected
        assert q.tolist() == ratios
        pruned = made.error_digression_pruned(k, alpha)
        n, parent = pruned.grown.end - pruned.grown.start, pruned.grown.parent
        leaf = pruned.grown.column == LEAF
        if pruned.grown.n_nodes > 1:
            assert n[leaf].min() >= k
            assert alpha is None or (pruned.measures.p_value[~leaf] >= alpha).all()
            assert not leaf[parent[1:]].any()


@pytest.mark.parametrize("seed", range(3))
def test_the_path_prunes_the_smallest_ratio_each_time(seed: int) -> None:
    made, _ = tree(seed, "nn", min_leaf=4)
    g, m = made.grown, made.measures
    path = made.path()
    order, _ = error_digression_order(
        g.column, g.right, g.depth, g.end - g.start, 0, g.column != LEAF, m.error, m.digression
    )
    assert path.order.tolist() == order
    table = path.to_table().to_pandas()
    assert table["node"].iloc[1:].astype(int).tolist() == made.numbers[order].tolist()
    before: set[int] | None = None
    for step in range(len(path)):
        sub = path[step]
        kept = set(sub.numbers.tolist())
        assert before is None or kept < before  # nested
        before = kept
        leaf = sub.grown.column == LEAF
        n = (sub.grown.end - sub.grown.start)[leaf]
        told = sub.measures.explained[leaf]
        row = table.iloc[step]
        assert row["groups"] == leaf.sum() == sub.n_leaves
        assert row["smallest"] == n.min()
        assert row["error"] == pytest.approx(sub.measures.error[leaf].sum(), rel=1e-9)
        assert row["explained_mean_over_groups"] == pytest.approx(told.mean(), rel=1e-9)
        assert row["explained_worst"] == told.max()
    assert before == {1}


def test_cutting_keeps_what_is_above() -> None:
    made, _ = tree(2, "n")
    g = made.grown
    inner = np.flatnonzero(g.column != LEAF)
    leaves = g.column == LEAF
    chosen = int(inner[len(inner) // 2])
    leaves[chosen] = True
    small, kept = cut(g, leaves)
    gone = set(range(chosen + 1, int(max(leaves_below(made, chosen))) + 1))
    assert set(kept.tolist()) == set(range(g.n_nodes)) - gone
    for new, old in enumerate(kept.tolist()):
        assert (small.start[new], small.end[new]) == (g.start[old], g.end[old])
        if old != chosen and g.column[old] != LEAF:
            assert kept[small.right[new]] == g.right[old]
        if new:
            assert kept[small.parent[new]] == g.parent[old]


def test_a_leaf_of_each_row() -> None:
    made, _ = tree(3, "n")
    leaf = made.leaf_of_rows()
    at = np.flatnonzero(made.grown.column == LEAF)
    for number, i in enumerate(at):
        assert set(np.flatnonzero(leaf == number)) == set(rows_of(made, int(i)).tolist())
