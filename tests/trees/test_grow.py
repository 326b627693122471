"""The grower against a plain reference in exact fractions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.io.read import read
from hedgerow.trees.grow import SHARED, grow
from hedgerow.trees.nodes import LEAF, Grown
from hedgerow.trees.objective import Rules
from hedgerow.trees.statistics import ENTROPY, SSE, StatisticsLayout

from .reference import Grower, Node, Scored
from .tables import Given, Sensitive, predictors, responses


def rules(
    made: Sensitive, min_leaf: int = 4, cap: float = 1.0, share: float = 1.0, entropy: float = 0.0, gain: int = SSE
) -> Rules:
    q, c = len(made.responses.classes), len(made.responses.categorical)
    r = len(made.responses.numbers)
    caps = np.ones(r + q)
    caps[: r + c] = cap
    shares, entropies = np.ones(q), np.zeros(q)
    shares[:c], entropies[:c] = share, entropy
    return Rules(min_leaf, caps, shares, entropies, gain)


def left_codes(grown: Grown, given: Given, i: int) -> set[int]:
    """The codes that go left at node i, whatever the kind of column."""
    c = grown.column[i]
    if not given.ordered[c]:
        return set(grown.subset_codes[grown.subset_at[i] :][: grown.last_left[i]].tolist())
    codes = set(range(int(grown.last_left[i]) + 1))
    return codes | ({int(given.n_codes[c])} if grown.missing_left[i] else set())


def assert_same_tree(grown: Grown, given: Given, root: Node) -> None:
    nodes = root.preorder()
    assert grown.n_nodes == len(nodes)
    for i, node in enumerate(nodes):
        assert set(grown.rows[grown.start[i] : grown.end[i]].tolist()) == set(node.rows)
        assert grown.column[i] == node.column
        assert grown.depth[i] == node.depth
        if node.column >= 0:
            here = set(given.codes[node.rows, node.column].tolist())
            assert left_codes(grown, given, i) & here == node.left_codes
            assert nodes[grown.right[i]] is node.right


def check(given: Given, made: Sensitive, asked: Rules, max_depth: int | None = None) -> Grown:
    squares = bool((asked.cap[: len(made.responses.numbers)] < 1).any())
    layout = StatisticsLayout.from_responses(made.responses, asked.gain, squares=squares)
    grown = grow(made.rows(given), made.responses, layout, asked, max_depth)
    reference = Grower(given.codes, given.n_codes, given.ordered, made, layout, asked)
    assert_same_tree(grown, given, reference.grow(max_depth=99 if max_depth is None else max_depth))
    for i in range(grown.n_nodes):  # the statistics that came with the node are those of its rows
        rows = grown.rows[grown.start[i] : grown.end[i]]
        assert grown.stats[i].tolist() == statistics(made, rows, layout)
    return grown


def statistics(made: Sensitive, rows: Any, layout: StatisticsLayout) -> list[int]:
    """The statistics vector of some rows, entry by entry."""
    z, classes = made.z[rows].tolist(), made.classes[rows].tolist()
    vector = [len(rows)] + [0] * (layout.size - 1)
    for number, seen in zip(z, classes, strict=True):
        for j, value in enumerate(number):
            vector[layout.sums + j] += value
            if layout.squares >= 0:
                vector[layout.squares + j] += (value * value) >> layout.shift
        for j, c in enumerate(seen):
            vector[layout.starts[j] + c] += 1
    return vector


# limits that no share of whole records can meet exactly, where rounding would decide
RULES = {"plain": {}, "cap": {"cap": 0.4371}, "tight": {"cap": 0.2113, "min_leaf": 2}}
CLASS_RULES = {"share": {"share": 0.6231}, "entropy": {"entropy": 0.71}, "both": {"share": 0.6917, "cap": 0.5113}}


@pytest.mark.parametrize("asked", RULES)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kinds", ["n", "nn", "nnn"])
@pytest.mark.parametrize("columns", ["oo", "oc", "cc"])
def test_numeric_responses(columns: str, kinds: str, missing: bool, asked: str) -> None:
    rng = np.random.default_rng([len(columns), len(kinds), missing, ord(columns[0]), ord(columns[1])])
    given = predictors(rng, 70, columns, missing=missing)
    made = responses(rng, given, kinds, missing=missing)
    assert check(given, made, rules(made, **RULES[asked])).n_nodes > 1


@pytest.mark.parametrize("asked", [*RULES, *CLASS_RULES])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kinds", ["c", "nc", "cc"])
def test_categorical_and_mixed_responses(kinds: str, missing: bool, asked: str) -> None:
    rng = np.random.default_rng([len(kinds), missing, ord(kinds[0])])
    given = predictors(rng, 70, "oc", missing=missing)
    made = responses(rng, given, kinds, missing=missing)
    check(given, made, rules(made, **{**RULES, **CLASS_RULES}[asked]))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kinds", ["c", "cc"])
def test_entropy_gain(kinds: str, missing: bool) -> None:
    rng = np.random.default_rng([7, missing, len(kinds)])
    given = predictors(rng, 60, "oc", missing=missing)
    made = responses(rng, given, kinds)
    assert check(given, made, rules(made, gain=ENTROPY)).n_nodes > 1


@pytest.mark.parametrize("kinds", ["n", "nn", "nc"])
@pytest.mark.parametrize("seed", range(4))
def test_many_ties(kinds: str, seed: int) -> None:
    """Few distinct responses: gains are equal again and again."""
    rng = np.random.default_rng(seed)
    given = predictors(rng, 60, "oco", n_codes=3, missing=True)
    made = responses(rng, given, kinds, coarse=True)
    check(given, made, rules(made, min_leaf=2))


@pytest.mark.parametrize("kinds", ["n", "nn", "nc"])
@pytest.mark.parametrize("cap", [1.0, 0.3119])
def test_large_nodes_keep_histograms_and_subtract(kinds: str, cap: float) -> None:
    rng = np.random.default_rng(5)
    given = predictors(rng, 900, "oco", n_codes=5, missing=True)
    made = responses(rng, given, kinds)
    assert check(given, made, rules(made, min_leaf=25, cap=cap)).n_nodes > 9


@pytest.mark.parametrize("kinds", ["n", "nc"])
def test_histograms_of_columns_that_stop_varying_are_left_clean(kinds: str) -> None:
    """Of two codes one is left after the first cut; the other branches see both again."""
    rng = np.random.default_rng(6)
    given = predictors(rng, 1_200, "ooooo", n_codes=2)
    given.codes[:, 0] = rng.integers(0, 2, 1_200) * given.codes[:, 1]
    made = responses(rng, given, kinds)
    assert check(given, made, rules(made, min_leaf=8)).n_nodes > 31


@pytest.mark.parametrize("cap", [0.2113, 0.4371, 0.7119])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("kinds", ["n", "nn", "o", "c", "nc", "noc"])
@pytest.mark.parametrize("columns", ["oo", "oc"])
def test_proper_scores_cap_every_group(columns: str, kinds: str, missing: bool, cap: float) -> None:
    rng = np.random.default_rng([len(kinds), missing, ord(columns[1]), ord(kinds[0])])
    given = predictors(rng, 90, columns, n_codes=5, missing=missing)
    made = replace(responses(rng, given, kinds, missing=missing), scored=True)
    grown = check_scored(given, made, cap, min_leaf=3)
    assert grown.n_nodes > 1


def check_scored(given: Given, made: Sensitive, cap: float, min_leaf: int) -> Grown:
    layout = StatisticsLayout.from_responses(made.responses, floored=True)
    seen = made.responses
    caps = np.array(
        [cap] * len(seen.numeric)
        + [1.0 if r.ordered else cap for r in seen.categorical]
        + [cap] * (len(seen.classes) - len(seen.categorical) + len(seen.judged))
    )
    q = len(seen.classes)
    asked = Rules(min_leaf, caps, np.ones(q), np.zeros(q))
    grown = grow(made.rows(given), seen, layout, asked)
    reference = Scored(given.codes, given.n_codes, given.ordered, made, layout, asked, cap=cap)
    assert_same_tree(grown, given, reference.grow())
    return grown


def test_large_nodes_ask_all_candidates_where_the_best_tells_too_much() -> None:
    rng = np.random.default_rng(8)
    given = predictors(rng, 900, "oco", n_codes=5, missing=True)
    made = replace(responses(rng, given, "nn"), scored=True)
    assert check_scored(given, made, 0.1731, min_leaf=25).n_nodes > 5


def test_depth_is_limited() -> None:
    rng = np.random.default_rng(3)
    given = predictors(rng, 80, "oo")
    made = responses(rng, given, "n")
    assert check(given, made, rules(made), max_depth=2).depth.max() == 2
    assert check(given, made, rules(made), max_depth=0).n_nodes == 1


@pytest.mark.parametrize("kinds", ["n", "nn", "c"])
def test_many_categories_are_cut_in_order(kinds: str) -> None:
    rng = np.random.default_rng(11)
    given = predictors(rng, 150, "w", n_codes=5)
    made = responses(rng, given, kinds)
    check(given, made, rules(made, min_leaf=10), max_depth=1)


@pytest.mark.parametrize("seed", range(3))
def test_one_response_in_order_of_its_means_misses_no_subset(seed: int) -> None:
    """Breiman et al. 1984, theorem 4.5: the best of all 2^(m-1) - 1 subsets is one of m - 1 cuts."""
    rng = np.random.default_rng(seed)
    given = predictors(rng, 120, "c", n_codes=12)
    made = responses(rng, given, "n")
    asked = rules(made, min_leaf=1)
    layout = StatisticsLayout.from_responses(made.responses, squares=False)
    grown = grow(made.rows(given), made.responses, layout, asked, 1)
    reference = Grower(given.codes, given.n_codes, given.ordered, made, layout, asked)
    whole = reference.stats(range(120))

    def gain(codes: set[int]) -> Any:
        inside = [i for i in range(120) if given.codes[i, 0] in codes]
        others = [i for i in range(120) if given.codes[i, 0] not in codes]
        return (
            reference.impurity(whole)
            - reference.impurity(reference.stats(inside))
            - reference.impurity(reference.stats(others))
        )

    z = made.z[:, 0].astype(float)
    sums, n = np.bincount(given.codes[:, 0], z, 12), np.bincount(given.codes[:, 0], minlength=12)
    subsets = [s for size in range(1, 7) for s in combinations(range(12), size)]
    picked = np.zeros((len(subsets), 12))
    for row, s in enumerate(subsets):
        picked[row, list(s)] = 1
    a, b = picked @ sums, picked @ n
    best = subsets[int(np.argmax(a**2 / b + (sums.sum() - a) ** 2 / (120 - b)))]
    assert gain(left_codes(grown, given, 0)) == gain(set(best))


def test_the_principal_axis_finds_what_no_single_response_shows() -> None:
    """Two responses whose difference tells the categories apart, each of them alone does not."""
    rng = np.random.default_rng(2)
    given = predictors(rng, 600, "c", n_codes=14)
    code = given.codes[:, 0]
    side = np.where(code % 2, 1.0, -1.0)
    common = rng.permutation(np.linspace(-1.5, 1.5, 14))[code]
    table = read(pa.table({"a": common + side, "b": common - side}))
    made = Sensitive((table.column("a"), table.column("b")))
    grown = check(given, made, rules(made), max_depth=1)
    assert left_codes(grown, given, 0) in ({c for c in range(14) if c % 2}, {c for c in range(14) if c % 2 == 0})


def signature(grown: Grown, given: Given, order: Any) -> list[Any]:
    """Everything about a tree that must not depend on the order of the rows."""
    rows = [sorted(order[grown.rows[grown.start[i] : grown.end[i]]].tolist()) for i in range(grown.n_nodes)]
    subsets = [
        sorted(left_codes(grown, given, i)) if c != LEAF and not given.ordered[c] else []
        for i, c in enumerate(grown.column.tolist())
    ]
    return [
        rows,
        subsets,
        grown.column.tolist(),
        grown.last_left.tolist(),
        grown.first_right.tolist(),
        grown.missing_left.tolist(),
        grown.stats.tolist(),
        grown.right.tolist(),
    ]


@pytest.mark.parametrize("kinds", ["n", "nn", "nnn", "nc", "cc"])
def test_neither_row_order_nor_threads_nor_repetition_matter(kinds: str) -> None:
    rng = np.random.default_rng(9)
    given = predictors(rng, 3_000, "oocw", n_codes=12, missing=True)
    made = responses(rng, given, kinds, missing=True, coarse=True)
    asked, layout = rules(made, min_leaf=5, cap=0.5), StatisticsLayout.from_responses(made.responses)
    orders = [np.arange(3_000), *(rng.permutation(3_000) for _ in range(3))]
    first = grow(made.rows(given), made.responses, layout, asked)
    assert first.n_nodes > 50

    def again(order: Any) -> list[Any]:
        mixed = made[order]
        return signature(grow(mixed.rows(given[order]), mixed.responses, layout, asked), given, order)

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(again, orders))
    flat = signature(first, given, np.arange(3_000))
    # with categories the subset's codes are part of the plan, so they must agree as well
    assert all(f == flat for f in found)


@pytest.mark.parametrize("kinds", ["nn", "nc"])
def test_large_tables_grow_alike_on_any_number_of_threads(kinds: str) -> None:
    n = SHARED + 1_000
    rng = np.random.default_rng(4)
    given = predictors(rng, n, "oocw", n_codes=20, missing=True)
    made = responses(rng, given, kinds, missing=True)
    asked, layout = rules(made, min_leaf=10, cap=0.5), StatisticsLayout.from_responses(made.responses)

    def grown(threads: int, rows: Any) -> list[Any]:
        mixed = made[rows]
        made_rows = mixed.rows(given[rows])
        return signature(grow(made_rows, mixed.responses, layout, asked, threads=threads), given, rows)

    flat = grown(1, np.arange(n))
    order = rng.permutation(n)
    assert len(flat[0]) > 200
    for threads in (2, 3):
        assert grown(threads, np.arange(n)) == flat
    assert grown(2, order) == flat


def test_nothing_that_was_given_changes() -> None:
    rng = np.random.default_rng(1)
    given = predictors(rng, 200, "oc", missing=True)
    made = responses(rng, given, "nc", missing=True)
    before = given.codes.copy(), made.z.copy(), made.classes.copy()
    layout = StatisticsLayout.from_responses(made.responses)
    grow(made.rows(given), made.responses, layout, rules(made))
    assert all(np.array_equal(a, b) for a, b in zip(before, (given.codes, made.z, made.classes), strict=True))
