"""Li & Sarkar's experiments: the worked example to the last digit, the protocol, the claims."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from experiments.folds import Feature, errors, folds, paired, predict, remaining_uncertainty
from experiments.regression_mondrian import regression_mondrian
from scipy.stats import ttest_rel
from sklearn.tree import DecisionTreeRegressor

from experiments import folds as protocol
from experiments import mart
from hedgerow.hierarchy import Hierarchy
from hedgerow.io.read import read
from hedgerow.measures import SensitiveCounts
from hedgerow.measures import group as by_codes
from hedgerow.measures.disclosure import rsd

with_data = pytest.mark.skipif(
    not os.environ.get("HEDGEROW_DATA"), reason="HEDGEROW_DATA does not name the data folder"
)


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return mart.example()


def test_the_worked_example_is_the_printed_one_but_for_q5(example: dict[str, Any]) -> None:
    apart = {r["figure"] for r in example["figures"] if r["here"] != r["printed"]}
    assert apart == {"q5, grown tree", "q5, once 9 is a leaf"}
    here = {r["figure"]: r["here"] for r in example["figures"]}
    assert here["q5, grown tree"] == "4.0189"
    assert here["q5, once 9 is a leaf"] == "5.2905"


def test_the_worked_example_s_groups(example: dict[str, Any]) -> None:
    assert example["leaves_at_k_2_and_alpha_0.05"] == example["leaves_printed"]
    assert example["groups_at_k_4"] == example["groups_at_k_4_printed"]


def made(n: int = 400, seed: int = 5) -> tuple[list[Any], list[Hierarchy | None], np.ndarray]:
    rng = np.random.default_rng(seed)
    job = rng.integers(0, 5, n)
    age = rng.integers(20, 60, n)
    names = np.array(["baker", "cook", "nurse", "medic", "smith"])
    table = read(pa.table({"age": age, "job": names[job]}))
    y = np.stack([job * 3.0 + age / 10 + rng.normal(size=n), age + 9 * rng.random(n)], axis=1)
    group = {"baker": "food", "cook": "food", "nurse": "care", "medic": "care", "smith": "craft"}
    hierarchy = Hierarchy({v: (v, g, "*") for v, g in group.items()})
    return [table.column("age"), table.column("job")], [None, hierarchy], y


@pytest.mark.parametrize("k", [5, 30])
def test_mondrian_groups_hold_k_training_records_and_cover_them(k: int) -> None:
    columns, hierarchies, y = made()
    training = next(folds(len(y), 5, 1))
    found = regression_mondrian(columns, hierarchies, y, training, k)
    assert np.bincount(found.leaf[training], minlength=found.n_leaves).min() >= k
    assert found.n_leaves > 3
    age = np.asarray(columns[0].values)[columns[0].codes]
    job = np.array(columns[1].values)[columns[1].codes]
    for leaf in range(found.n_leaves):
        inside = training & (found.leaf == leaf)
        assert found.cells[0][leaf] == pytest.approx(age[inside].mean())
        assert found.cells[1][leaf] == hierarchies[1].common(set(job[inside]))


def test_a_category_branches_into_all_children_or_not_at_all() -> None:
    columns, hierarchies, y = made()
    jobs = np.array(columns[1].values)[columns[1].codes]
    everyone = np.ones(len(y), bool)
    split = regression_mondrian(columns[1:], hierarchies[1:], y, everyone, 5)
    assert sorted(split.cells[0]) == sorted(set(jobs))  # food and care first, then each job
    smiths = int((jobs == "smith").sum())
    whole = regression_mondrian(columns[1:], hierarchies[1:], y, everyone, smiths + 1)
    assert (whole.n_leaves, whole.cells) == (1, [["*"]])


def test_a_test_record_without_a_branch_follows_the_largest() -> None:
    columns, hierarchies, y = made()
    jobs = np.array(columns[1].values)[columns[1].codes]
    training = jobs != "smith"
    found = regression_mondrian(columns[1:], hierarchies[1:], y, training, 5)
    reached = {found.cells[0][i] for i in np.unique(found.leaf[~training])}
    assert len(reached) == 1
    assert reached < {"baker", "cook", "nurse", "medic"}


def test_fitting_weighted_kinds_is_fitting_all_records() -> None:
    rng = np.random.default_rng(2)
    n = 300
    leaf = rng.integers(0, 12, n)
    cells = [rng.normal(size=12), [f"v{i % 5}" for i in range(12)], [f"w{i % 4}" for i in range(12)]]
    y = rng.normal(size=(n, 2)) + leaf[:, None]
    training = next(folds(n, 4, 0))
    guesses = predict(protocol.by_group(cells, leaf), y, training)

    x = np.stack([cells[0][leaf]], axis=1)
    for labels in cells[1:]:
        values = np.array(labels)[leaf]
        x = np.hstack([x, values[:, None] == np.unique(values)])
    full = np.hstack([np.ones((n, 1)), x])
    beta = np.linalg.lstsq(full[training], y[training], rcond=1e-10)[0]
    np.testing.assert_allclose(guesses["linear"], full[~training] @ beta, atol=1e-8)
    for j in range(2):
        tree = DecisionTreeRegressor(min_samples_leaf=protocol.LEAF, random_state=0)
        tree.fit(x[training], y[training, j])
        error = ((tree.predict(x[~training]) - guesses["tree"][:, j]) ** 2).mean()
        assert error < 1e-3  # equal splits may be chosen between equal columns


def test_least_squares_with_more_columns_than_kinds_gives_group_means() -> None:
    leaf = np.arange(60) % 6
    cells = [[f"a{i}" for i in range(6)], [f"b{i}" for i in range(6)]]
    y = np.random.default_rng(0).normal(size=(60, 1))
    training = np.arange(60) < 48
    guess = predict(protocol.by_group(cells, leaf), y, training)["linear"][:, 0]
    expected = [y[training & (leaf == g), 0].mean() for g in leaf[~training]]
    np.testing.assert_allclose(guess, expected, atol=1e-9)


def test_formula_10_is_the_criterion_s() -> None:
    rng = np.random.default_rng(3)
    y = np.stack([rng.lognormal(size=200).round(3), rng.integers(0, 9, 200)], axis=1).astype(float)
    group = rng.integers(0, 7, 200)
    table = read(pa.table({"a": y[:, 0], "b": y[:, 1]}))
    groups = by_codes([group])
    ratio = np.stack([rsd(SensitiveCounts.from_groups(groups, table.column(c))) for c in "ab"], axis=1)
    found = remaining_uncertainty(group, y)
    n = np.bincount(group)
    assert found.rsd == pytest.approx(ratio.mean())
    assert found.records == pytest.approx((ratio.mean(axis=1) * n).sum() / 200)
    assert found.worst == pytest.approx(ratio.min())
    assert found.worst_group == pytest.approx(ratio.mean(axis=1).min())


def test_a_group_at_the_public_mean_counts_as_1() -> None:
    y = np.array([[2.0], [2.0], [1.0], [3.0]])
    assert remaining_uncertainty(np.array([0, 0, 1, 1]), y).rsd == 1.0


def test_errors_leave_out_zeros_and_say_mae() -> None:
    truth = np.array([[2.0, 0.0], [4.0, 0.0], [0.0, 5.0]])
    guess = np.array([[1.0, 3.0], [5.0, 1.0], [2.0, 4.0]])
    found = errors(truth, guess)
    np.testing.assert_allclose(found.by_response, [(0.5 + 0.25) / 2, 0.2])
    assert found.mape == pytest.approx((0.375 + 0.2) / 2)
    assert found.mae == pytest.approx((4 / 3 / 2 + 5 / 3 / (5 / 3)) / 2)
    np.testing.assert_allclose(found.each, [0.5, 0.25, 0.2])


def test_the_paired_test_is_scipy_s() -> None:
    a, b = np.random.default_rng(4).normal(size=(2, 10))
    assert paired(a, b) == pytest.approx(ttest_rel(a, b).pvalue)
    assert paired(a, a) == 1.0


def test_folds_test_every_record_once() -> None:
    parts = [~training for training in folds(103, 10, 7)]
    assert (np.sum(parts, axis=0) == 1).all()
    assert {int(p.sum()) for p in parts} == {10, 11}


def test_numbers_are_numbers_and_categories_indicators() -> None:
    feature = protocol.by_group([np.array([1.5, 2.5]), ["x", "x"]], np.array([0, 1, 1]))
    assert isinstance(feature[0], Feature)
    assert feature[0].values.tolist() == [1.5, 2.5]
    assert feature[1].values == ["x"]
    assert feature[1].codes.tolist() == [0, 0, 0]


@pytest.fixture(scope="module")
def table4() -> dict[str, Any]:
    return mart.table4()


@pytest.fixture(scope="module")
def table5() -> dict[str, Any]:
    return mart.table5()


@with_data
def test_mart_leaves_more_uncertain_than_regression_mondrian(table4: dict[str, Any]) -> None:
    claims = table4["in_how_many_of_3_orders_the_claim_holds"]
    fails = {(r["data"], r["rule"], r["against"], r["k"]) for r in claims if r["larger_rsd"] < mart.ORDERS}
    # The mean over groups of formula (10), with multi-way splits, on the smaller set.
    assert fails == {("German Credit", mart.DEFAULT, mart.RM, k) for k in (20, 30)}
    assert len(claims) == 24


@with_data
def test_the_worst_group_keeps_what_mart_promises(table4: dict[str, Any]) -> None:
    worst = {(r["data"], r["k"], r["method"]): r["rsd_worst"] for r in table4["results"] if r["k"]}
    for (data, k, method), left in worst.items():
        if method == mart.DEFAULT:
            assert left >= 0.5 - 1e-9
            assert left > worst[data, k, mart.RM]
        if method == mart.STRICT:
            assert left >= 0.7 - 1e-9


@with_data
def test_mape_on_german_credit_by_the_tree(table4: dict[str, Any]) -> None:
    claims = table4["in_how_many_of_3_orders_the_claim_holds"]
    held = [
        r["smaller_mape_tree"]
        for r in claims
        if (r["data"], r["rule"], r["against"]) == ("German Credit", mart.DEFAULT, mart.RM)
    ]
    assert held == [3, 3, 3]


@with_data
def test_fewer_quasi_identifiers_serve_linear_regression(table4: dict[str, Any]) -> None:
    for row in table4["half_of_the_columns_as_quasi_identifiers"]:
        if row["data"] == "German Credit":
            assert row["mape_linear_original"] < row["mape_linear_half"] < row["mape_linear_all"], row["k"]


@with_data
@pytest.mark.parametrize(
    ("rule", "groups", "left", "worst", "r2"),
    [
        ("Regression Mondrian, binary k=10", 79, 0.707, 0.115, 0.285),
        ("Regression Mondrian, binary k=40", 20, 0.851, 0.641, 0.123),
        ("error-digression path to RSD 0.85, k=10", 6, 0.866, 0.764, 0.075),
        ("MART k=10, max_disclosure=0.4", 61, 0.819, 0.638, 0.214),
    ],
)
def test_in_sample_figures_of_another_implementation(
    table4: dict[str, Any], rule: str, groups: int, left: float, worst: float, r2: float
) -> None:
    row = next(r for r in table4["german_credit_in_sample"] if r["rule"] == rule)
    assert row["groups"] == groups
    assert row["rsd"] == pytest.approx(left, abs=0.001)
    assert row["worst_group"] == pytest.approx(worst, abs=0.001)
    assert row["r2"] == pytest.approx(r2, abs=0.001)


@with_data
def test_table_5_s_order(table5: dict[str, Any]) -> None:
    fails = {(r["measure"], r["order"]) for r in table5["order"] if not r["holds"]}
    # Datafly ends near the root here, where RSD is near 1; the two trees' MAPE is a tie.
    assert fails == {("RSD", "MART > Datafly"), ("MAPE tree", "MART < Regression Mondrian")}
    tie = next(r for r in table5["order"] if (r["measure"], r["order"]) == ("MAPE tree", "MART < Regression Mondrian"))
    assert tie["p"] > 0.1
    census = {r["method"]: r for r in table5["results"]}
    assert census[mart.DEFAULT]["rsd_records"] > census[mart.RM]["rsd_records"] + 0.2
