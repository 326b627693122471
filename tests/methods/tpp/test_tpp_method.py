"""The public class: frames in and out, model file, verification, refusals."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier
from tests.plan.mapping import mapped

from hedgerow.errors import HedgerowError, InfeasibleError, ParameterError, PlanError, SchemaError, UnsupportedError
from hedgerow.io.read import read
from hedgerow.methods.tpp import BoostingSettings, ForestSettings, TreePatternPreserving, TreeSettings, verify_model
from hedgerow.methods.tpp.builder import Node
from hedgerow.methods.tpp.model import dumps
from hedgerow.methods.tpp.sanitize import Step, groups_of, keeps
from hedgerow.plan.records import dumps as plan_dumps
from hedgerow.plan.records import loads as plan_loads


def people(n=600, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    job = rng.choice(["nurse", "cook", "clerk", "a+b", "=sum", "judge"], n).astype(object)
    job[rng.random(n) < 0.1] = None
    rate = np.round(rng.random(n) * 3, 2)
    town = rng.choice(["x", "y"], n)
    risk = 0.03 * age + (job == "cook") + rate + rng.normal(size=n)
    X = pd.DataFrame({"age": age, "the job": job, "rate": rate, "town": town})
    return (X, pd.Series(np.where(risk > 3.5, "ill", "well"), name="state"), pd.Series(np.round(risk, 2), name="risk"))


def test_every_kind_of_frame_comes_back_as_it_came():
    X, y, _ = people()
    method = TreePatternPreserving(TreeSettings("entropy", n_splits=3), k=5).fit(X, y)
    released = method.transform(X)
    assert isinstance(released, pd.DataFrame)
    assert released.columns.tolist() == X.columns.tolist()
    assert released.fillna("none").value_counts().min() == method.k_
    polars = TreePatternPreserving(TreeSettings("entropy", n_splits=3), k=5).fit(pl.from_pandas(X), pl.Series(y))
    assert isinstance(polars.transform(pl.from_pandas(X)), pl.DataFrame)
    arrow = TreePatternPreserving(TreeSettings("entropy", n_splits=3), k=5)
    arrow.fit(pa.Table.from_pandas(X), pa.array(y))
    assert arrow.model_["models"] == polars.model_["models"] == method.model_["models"]
    array = TreePatternPreserving(TreeSettings("entropy", n_splits=2), k=5)
    assert isinstance(
        array.fit(X[["age", "rate"]].to_numpy(), y.to_numpy()).transform(X[["age", "rate"]].to_numpy()), np.ndarray
    )


@pytest.mark.parametrize(
    "trees",
    [
        None,
        [TreeSettings("entropy", n_splits=3), TreeSettings("gini", n_splits=2, min_leaf=3)],
        ForestSettings(3, seed=4, max_features=3, tree=TreeSettings("gini", n_splits=2)),
    ],
)
def test_the_written_release_rebuilds_the_model(trees, tmp_path):
    X, y, _ = people()
    method = TreePatternPreserving(trees, k=2).fit(X, y)
    released = method.transform(X).assign(state=y)
    released.to_csv(tmp_path / "release.csv", index=False)
    (tmp_path / "model.json").write_text(dumps(method.model_), encoding="utf-8")
    found = verify_model(tmp_path / "model.json", tmp_path / "release.csv")
    assert (found.identical, str(found)) == (True, "identical")
    assert found.n_splits >= 1
    released.to_parquet(tmp_path / "release.parquet")
    assert verify_model(tmp_path / "model.json", tmp_path / "release.parquet").identical


def test_a_changed_release_is_told_by_its_first_node():
    X, y, _ = people()
    method = TreePatternPreserving(TreeSettings("entropy", n_splits=3), k=5).fit(X, y)
    released = method.transform(X)
    used = next(n["attribute"] for n in method.model_["models"][0]["trees"][0]["nodes"] if "threshold" in n)
    spoiled = released.assign(**{used: released[used] + 0.5})
    found = verify_model(method.model_, spoiled, y)
    assert not found.identical
    assert "threshold" in found.difference
    other = y.copy()
    other[:40] = other[:40].map({"ill": "well", "well": "ill"})
    assert not verify_model(method.model_, released, other).identical
    with pytest.raises(SchemaError, match="lacks"):
        verify_model(method.model_, released.drop(columns=used), y)
    assert "does not know" in str(verify_model(method.model_, released.assign(**{"the job": "pilot"}), y))


def test_a_mean_that_was_changed_a_little_is_told_and_its_last_digits_are_free():
    X, _, y = people()
    method = TreePatternPreserving(TreeSettings("variance", n_splits=3), k=5).fit(X, y)
    released = method.transform(X)
    for factor, identical in ((1 + 1e-14, True), (1 + 1e-9, False)):
        model = deepcopy(method.model_)
        node = model["models"][0]["trees"][0]["nodes"][-1]
        node["value"] = [value * factor for value in node["value"]]
        found = verify_model(model, released, y)
        assert found.identical is identical
        assert identical or "the prediction differs" in found.difference


def test_a_model_of_more_people_is_told():
    X, y, _ = people()
    method = TreePatternPreserving(TreeSettings("entropy", n_splits=2), k=5).fit(X, y)
    found = verify_model({**method.model_, "n_records": 601}, method.transform(X), y)
    assert not found.identical
    assert "600 records, 601 published" in found.difference


def test_a_state_keeps_k_to_the_person_and_l_strictly():
    state = Step(1, (), (), 5, 2.0)
    assert keeps(state, 5, 1.9)
    assert not keeps(state, 6, 1.9)
    assert not keeps(state, 5, 2.0)
    assert not keeps(Step(1, (), (), 5, None), 5, 1.0)  # no column to measure L on


def test_categories_stay_apart_where_their_order_decided_among_equals():
    split = Node("", 0, 9, (1.0,), feature=0, left_set=(0, 1), right_set=(2,), left=1, right=2)
    assert groups_of(5, [split]).tolist() == [0, 0, 1, 2, 2]
    assert groups_of(5, [replace(split, tied=True)]).tolist() == [0, 1, 2, 3, 3]


def test_model_files_are_versioned_and_checked(tmp_path):
    X, y, _ = people()
    model = TreePatternPreserving(TreeSettings("entropy", n_splits=2), k=5).fit(X, y).model_
    assert json.loads(dumps(model)) == json.loads(dumps(deepcopy(model)))
    with pytest.raises(PlanError, match="version"):
        verify_model({**model, "hedgerow_model": 99}, X, y)
    with pytest.raises(PlanError, match="not a Hedgerow model"):
        verify_model({}, X, y)
    with pytest.raises(PlanError, match="damaged"):
        verify_model({k: v for k, v in model.items() if k != "models"}, X, y)
    with pytest.raises(PlanError, match="cannot read"):
        verify_model(tmp_path / "none.json", X, y)
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(PlanError, match="JSON"):
        verify_model(tmp_path / "bad.json", X, y)


def test_the_plan_alone_makes_the_same_release():
    X, y, _ = people()
    method = TreePatternPreserving(TreeSettings("entropy", n_splits=4), k=5).fit(X, y)
    plan = plan_loads(plan_dumps(method.plan_))
    released = read(method.transform(X))
    for record in plan.recoding.columns:
        old = read(X).column(record.name, kind=record.kind)
        new = released.column(record.name, kind=record.kind)
        values = [*old.values, None]
        texts = [*new.values, None]
        assert all(mapped(record, values[a]) == texts[b] for a, b in zip(old.codes, new.codes, strict=True))


def test_sensitive_columns_stay_and_l_holds_strictly():
    X, y, _ = people()
    rng = np.random.default_rng(1)
    X = X.assign(faith=rng.choice(["p", "q", "r"], len(X), p=[0.5, 0.3, 0.2]))
    free = TreePatternPreserving(TreeSettings("entropy", n_splits=5), k=2, sensitive="faith").fit(X, y)
    l_first = free.trade_off_[0]["l"]
    assert free.transform(X)["faith"].equals(X["faith"])
    held = TreePatternPreserving(TreeSettings("entropy", n_splits=5), k=2, l=1.5, sensitive="faith").fit(X, y)
    released = held.transform(X)
    quasi = [c for c in released if c != "faith"]
    groups = released.fillna("none").groupby(quasi)["faith"]
    worst = min(len(g) / g.value_counts().max() for _, g in groups)
    assert worst == pytest.approx(held.l_)
    assert held.l_ > 1.5
    with pytest.raises(InfeasibleError, match=r"reaches only K = \d+ and L = "):
        TreePatternPreserving(TreeSettings("entropy"), k=2, l=l_first, sensitive="faith").fit(X, y)


def test_infeasible_k_tells_what_was_reached():
    X, y, _ = people()
    with pytest.raises(InfeasibleError, match=r"even the first split reaches only K = \d+"):
        TreePatternPreserving(TreeSettings("entropy"), k=len(X)).fit(X, y)


def test_more_categories_than_subsets_can_be_tried():
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"place": rng.choice([f"p{i:02}" for i in range(30)], 900), "age": rng.integers(0, 9, 900)})
    y = ((X["place"] > "p2").astype(int) + (X["age"] > 4) + (rng.random(900) < 0.2)).astype(str)
    settings = TreeSettings("gini", n_splits=6, min_leaf=2)
    method = TreePatternPreserving(settings, k=2).fit(X, y)
    assert method.model_["predictors"][0]["one_against_rest"]
    assert method.n_steps_ > 1
    assert verify_model(method.model_, method.transform(X), y).identical


def test_people_not_seen_are_routed_as_the_tree_routes_them():
    X, y, _ = people()
    method = TreePatternPreserving(TreeSettings("gini", n_splits=3), k=5).fit(X, y)
    new, _, _ = people(300, seed=9)
    released = method.transform(new)
    nodes = method.model_["models"][0]["trees"][0]["nodes"]
    for node in nodes:
        if "threshold" in node:
            name, t = node["attribute"], node["threshold"]
            assert ((new[name] < t) == (released[name] < t)).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TreeSettings("gain_ratio_average"), "average-gain"),
        (lambda: TreeSettings(pruning="cost_complexity"), "cost-complexity"),
        (lambda: TreeSettings(size="cross_validated"), "cross-validation"),
        (lambda: ForestSettings(3, seed=None), "seed"),
    ],
)
def test_what_falls_outside_is_refused_by_name(make, message):
    with pytest.raises(UnsupportedError, match=message):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: TreeSettings("entropie"),
        lambda: TreeSettings(n_splits=-1),
        lambda: TreeSettings(min_leaf=0),
        lambda: TreeSettings(max_depth=0),
        lambda: TreeSettings(min_gain=-1),
        lambda: TreeSettings(n_splits=True),
        lambda: BoostingSettings(learning_rate=0),
        lambda: BoostingSettings(tree=TreeSettings("gini")),
    ],
)
def test_settings_out_of_range(make):
    with pytest.raises(ParameterError):
        make()


def test_bad_input_is_told_clearly():
    X, y, risk = people()
    tree = TreeSettings("entropy", n_splits=2)
    numeric = TreeSettings("variance", n_splits=2)
    holes = X.assign(rate=X["rate"].where(X["rate"] > 1))
    cases = [
        (X, pd.Series("ill", index=X.index, name="s"), {}, "constant"),
        (X, y.where(y == "ill"), {}, "missing in"),
        (X, y[:5], {}, "has 5"),
        (X, None, {}, "not named"),
        (X, None, {"response": "nothing"}, "no column"),
        (X, y.rename("age"), {}, "column of X as well"),
        (X, y, {"k": 1}, "at least 2"),
        (X, y, {"k": 601}, "the table has only 600 rows"),
        (X, y, {"k": True}, "whole number"),
        (X, y, {"l": 0.5}, "at least 1"),
        (X, y, {"l": 2}, "needs a sensitive"),
        (X, y, {"sensitive": "faith", "l": 2}, "faith"),
        (X, y, {"trees": numeric}, "needs numbers"),
        (X, y, {"trees": 7}, "neither"),
        (X, y, {"trees": "shrub n_splits=3"}, "unknown kind"),
        (X, y, {"trees": "tree splits=3"}, "names are"),
        (X, y, {"trees": "tree n_splits=many"}, "must be a whole number"),
        (X, y, {"trees": " ; "}, "empty"),
        (X, y, {"trees": []}, "empty"),
        (holes, y, {}, "missing values"),
        (X.assign(rate=np.inf), y, {}, "infinite"),
        (X[["age"]].assign(age=1), y, {}, "no tree has a split"),
        (X, risk.where(risk > 0, np.inf), {"trees": numeric}, "infinite"),
        (X, y, {"trees": BoostingSettings()}, "needs numbers"),
    ]
    for frame, response, changes, message in cases:
        method = TreePatternPreserving(**{"trees": tree, "k": 2, **changes})
        with pytest.raises(HedgerowError, match=message):
            method.fit(frame, response)


def test_errors_hold_no_values():
    X, y, _ = people()
    with pytest.raises(HedgerowError) as caught:
        TreePatternPreserving(TreeSettings("variance"), k=2).fit(X, y)
    assert "ill" not in str(caught.value).split()


def test_clone_keeps_the_fitted_tree_and_get_params_works():
    X, y, _ = people()
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X[["age", "rate"]], y)
    method = TreePatternPreserving(tree, k=4, sensitive="town")
    again = clone(method)
    assert again.get_params(deep=False) == method.get_params(deep=False)
    again.fit(X[["age", "rate", "town"]], y)
    assert not hasattr(method, "plan_")
    assert TreePatternPreserving(TreeSettings(), k=4).set_params(k=6).k == 6


def test_dates_and_booleans():
    rng = np.random.default_rng(2)
    n = 500
    born = pd.Timestamp("1950-01-01") + pd.to_timedelta(rng.integers(0, 20000, n), unit="D")
    X = pd.DataFrame({"born": born, "member": rng.random(n) < 0.4})
    y = pd.Series(
        ((born > pd.Timestamp("1980-06-01")) ^ (X["member"] & (rng.random(n) < 0.4))).astype(str), name="state"
    )
    method = TreePatternPreserving(TreeSettings("gini", n_splits=2), k=5).fit(X, y)
    assert method.n_steps_ == 2
    released = method.transform(X)
    assert verify_model(method.model_, released, y).identical


@pytest.mark.parametrize(
    ("trees", "numbers", "classes"),
    [
        ("tree n_splits=2", "variance", "entropy"),
        (TreeSettings(n_splits=2), "variance", "entropy"),
        ("forest n_trees=2 n_splits=1 bootstrap=false", "variance", "entropy"),
    ],
)
def test_trees_that_say_nothing_of_it_follow_the_response(trees, numbers, classes):
    X, state, risk = people()
    X = X.drop(columns="the job")
    for y, wanted in ((risk, numbers), (state, classes), ((state == "ill").astype(int), classes)):
        (model,) = TreePatternPreserving(trees, k=2).fit(X, y).model_["models"]
        said = {**model, **model.get("tree", {})}
        assert said["criterion"] == wanted
        assert ("classes" in TreePatternPreserving(trees, k=2).fit(X, y).model_["response"]) == (wanted == classes)


def test_a_smaller_tree_than_asked_is_told_with_what_the_next_one_reaches():
    X, y, _ = people()
    with pytest.warns(UserWarning, match=r"was to have 31 leaves and is published with (\d+)") as told:
        method = TreePatternPreserving(TreeSettings(n_splits=30), k=20).fit(X, y)
    after = method.trade_off_[method.n_steps_]
    assert f"{method.n_steps_ + 2} leaves reach only K = {after['k']}" in str(told[0].message)
    assert method.k_ >= 20 > after["k"]
