"""Categories of many classes: listed pairs give the tree that counting every class gives."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numba import njit

from hedgerow import MART
from hedgerow.io.read import read
from hedgerow.kernels.bits import scatter_apart
from hedgerow.trees.grow import grow
from hedgerow.trees.sparse import STEPS
from hedgerow.trees.statistics import COUNTED, ENTROPY, StatisticsLayout
from hedgerow.trees.tree import measure

from .tables import Given, Sensitive, predictors
from .test_grow import rules, signature

ASKED: dict[str, dict[str, Any]] = {
    "plain": {"min_leaf": 2},
    "cap": {"min_leaf": 3, "cap": 0.2113},
    "share": {"min_leaf": 4, "share": 0.6231},
    "entropy": {"min_leaf": 4, "entropy": 1.013},
    "information": {"min_leaf": 5, "gain": ENTROPY},
}


def columns_of(rng: Any, n: int, kinds: str, n_classes: int, missing: bool = False) -> Sensitive:
    """One column a letter: n numeric, c classes that are as frequent, z a few frequent ones."""
    made = {}
    for j, kind in enumerate(kinds):
        codes = rng.zipf(1.4, n) % n_classes if kind == "z" else rng.integers(0, n_classes, n)
        gone = rng.random(n) < 0.1 * missing
        made[f"y{j}"] = pa.array(rng.normal(size=n) if kind == "n" else [f"{c:05}" for c in codes])
        if kind != "n":
            made[f"y{j}"] = pa.array([None if g else v.as_py() for v, g in zip(made[f"y{j}"], gone, strict=True)])
    table = read(pa.table(made))
    return Sensitive(tuple(table.column(name) for name in made))


def both_trees(given: Given, made: Sensitive, **asked: Any) -> list[Any]:
    """The tree of counted classes and that of listed ones, each with its layout."""
    rule = rules(made, **asked)
    if made.scored:
        caps = np.full(len(made.responses.judged), asked.get("cap", 1.0))
        rule = replace(rule, cap=np.concatenate([rule.cap, caps]))
    found = []
    for counted in (None, 0):
        layout = StatisticsLayout.from_responses(made.responses, rule.gain, squares=rule.cap.min() < 1, counted=counted)
        found.append((grow(made.rows(given), made.responses, layout, rule), layout))
    return found


def without_statistics(grown: Any, given: Given) -> list[Any]:
    parts = signature(grown, given, np.arange(len(given.codes)))
    return [*parts[:6], *parts[7:]]


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("columns", ["o", "c", "Cw", "ocw"])
@pytest.mark.parametrize("kinds", ["c", "z", "cz", "nz"])
def test_the_same_tree_as_where_every_class_is_counted(kinds: str, columns: str, asked: str) -> None:
    if asked == "information" and "n" in kinds:
        pytest.skip("entropy is of classes alone")
    sizes = []
    for seed in range(4):
        rng = np.random.default_rng([seed, len(kinds), len(columns), ord(kinds[-1])])
        n, n_classes = [(60, 90), (150, 12), (150, 40), (250, 40)][seed]
        given = predictors(rng, n, columns, missing=seed % 2 == 1)
        made = columns_of(rng, n, kinds, n_classes, missing=seed > 1)
        (dense, _), (listed, _) = both_trees(given, made, **ASKED[asked])
        assert without_statistics(dense, given) == without_statistics(listed, given)
        assert listed.stats.shape[1] < dense.stats.shape[1]
        sizes.append(dense.n_nodes)
    assert max(sizes) > 4


@pytest.mark.parametrize("kinds", ["c", "nz"])
@pytest.mark.parametrize("seed", range(4))
def test_a_node_that_is_asked_twice_is_listed_anew(kinds: str, seed: int) -> None:
    """Where the best split breaks a cap on judged columns, its records have changed places."""
    rng = np.random.default_rng(seed)
    given = predictors(rng, 280, "Cw")
    made = replace(columns_of(rng, 280, kinds, 30, missing=True), scored=True)
    assert made.responses.judged
    (dense, _), (listed, _) = both_trees(given, made, min_leaf=3, cap=0.3119)
    assert dense.n_nodes > 5
    assert without_statistics(dense, given) == without_statistics(listed, given)


@pytest.mark.parametrize("kinds", ["c", "zc", "nz"])
@pytest.mark.parametrize("missing", [False, True])
def test_nodes_measure_the_same(kinds: str, missing: bool) -> None:
    rng = np.random.default_rng(3)
    given = predictors(rng, 200, "oc")
    made = columns_of(rng, 200, kinds, 25, missing)
    (dense, all_of), (listed, apart) = both_trees(given, made, min_leaf=6)
    first, second = measure(dense, made.responses, all_of), measure(listed, made.responses, apart)
    for name in ("error", "digression", "q", "p_value", "explained"):
        assert getattr(second, name) == pytest.approx(getattr(first, name), rel=1e-9, nan_ok=True)


def test_neither_row_order_nor_threads_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a node has so many classes that their orders are brief."""
    rng = np.random.default_rng(5)
    n = 3_000
    given = predictors(rng, n, "Cow", n_codes=40)
    made = columns_of(rng, n, "zc", 1_500, missing=True)
    assert len(made.responses.classes[1].counts) > 2 * STEPS
    monkeypatch.setattr("hedgerow.trees.grow.SHARED", 1_000)
    asked = rules(made, min_leaf=5, cap=0.5)
    layout = StatisticsLayout.from_responses(made.responses, counted=COUNTED)

    def grown(order: Any, threads: int) -> list[Any]:
        mixed = made[order]
        tree = grow(mixed.rows(given[order]), mixed.responses, layout, asked, threads=threads)
        return signature(tree, given, order)

    flat = grown(np.arange(n), 1)
    assert len(flat[0]) > 100
    assert grown(rng.permutation(n), 1) == flat
    assert grown(rng.permutation(n), 2) == flat


def test_thousands_of_categories_and_classes_take_seconds() -> None:
    """3,000 rows of two columns of 2,500 categories, beside 2,900 classes: 200 s were not enough."""
    rng = np.random.default_rng(0)
    names = {"a": 2_500, "b": 2_500, "s": 2_900}
    people = {k: pa.array([f"{v:05}" for v in rng.integers(0, m, 3_000)]) for k, m in names.items()}
    table = pa.table(people)
    MART(k=10).fit(table.slice(0, 200).select(["a", "b"]), table.slice(0, 200).select(["s"]))
    start = time.process_time()
    made = MART(k=10).fit(table.select(["a", "b"]), table.select(["s"]))
    assert time.process_time() - start < 6  # 1 s where nothing else runs
    assert made.tree_.n_leaves > 200


def test_memory_does_not_grow_with_categories_times_classes() -> None:
    """100,000 codes of 10,000 classes would be 8 GB where every class of a code is counted."""
    rng = np.random.default_rng(1)
    n = 20_000
    codes = rng.permutation(100_000)[:n].reshape(-1, 1) // 4 * 4
    given = Given(codes, np.array([100_000]), np.array([False]))
    made = columns_of(rng, n, "c", 10_000)
    assert len(made.responses.classes[0].counts) > 8_000
    asked, rows = rules(made, min_leaf=4_000), made.rows(given)
    layout = StatisticsLayout.from_responses(made.responses, squares=False, counted=COUNTED)
    tracemalloc.start()
    grown = grow(rows, made.responses, layout, asked)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert grown.n_nodes > 1
    assert peak < 100 << 20


def test_scatter_is_exact_beyond_64_bits() -> None:
    apart = njit(lambda n, part, square, cross, whole: scatter_apart(n, part, square, cross, whole))
    for n, part, square, cross, whole in (
        (3_000_000_000, 1_400_000_000, 7 * 10**17, 12 * 10**17, 22 * 10**17),
        (1_000_000, 499_999, 31, 60, 119),
        (5, 2, 4, 6, 13),
    ):
        exact = n * n * square - 2 * n * part * cross + part * part * whole
        assert apart(n, part, square, cross, whole) == pytest.approx(float(exact), rel=1e-15)
