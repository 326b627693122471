"""The user's own scikit-learn trees: read, planned in float32, rebuilt to the bit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from tpp_tables import PREDICTORS, adult_frame, numbers

from hedgerow.errors import ParameterError, SchemaError, UnsupportedError
from hedgerow.methods.tpp import TreePatternPreserving, TreeSettings, verify_model
from hedgerow.methods.tpp.encoding import PredictedColumn
from hedgerow.methods.tpp.sanitize import Sanitizer
from hedgerow.methods.tpp.targets import SklearnTree


def public_arrays(estimator):
    t = estimator.tree_
    return [a.tolist() for a in (t.children_left, t.children_right, t.feature, t.threshold, t.value, t.n_node_samples)]


def test_diabetes_is_rebuilt_for_every_seed():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    for seed in range(12):
        tree = DecisionTreeRegressor(random_state=seed, max_leaf_nodes=3 + seed).fit(X, y)
        method = TreePatternPreserving(tree, k=2).fit(X, y)
        again = DecisionTreeRegressor(random_state=seed, max_leaf_nodes=method.n_steps_ + 1)
        released = method.transform(X)
        same = DecisionTreeRegressor(random_state=seed, max_leaf_nodes=method.n_steps_ + 1).fit(X, y)
        assert public_arrays(again.fit(released, y)) == public_arrays(same)
        assert (again.predict(released) == same.predict(X)).all()
        assert released.value_counts().min() == method.k_ >= 2


def test_random_columns_are_rebuilt_at_every_size():
    """One column each, so that no two attributes tie; values lie more than 1e-7 apart."""
    looked = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(30, 200))
        x = rng.normal(size=n) * 10.0 ** rng.integers(-1, 5) if seed % 2 else rng.integers(0, 40, n)
        column = numbers("x", x.astype(np.float32))
        if len(column.values) < 2 or np.diff(column.values).min() <= 2e-7:
            continue
        maker = DecisionTreeRegressor if seed % 3 else DecisionTreeClassifier
        y = rng.integers(0, 30 if seed % 3 else 3, n)
        response = PredictedColumn.from_numbers(y) if seed % 3 else PredictedColumn.from_classes(y.astype(str))
        tree = maker(random_state=seed, max_leaf_nodes=10, min_samples_leaf=int(rng.integers(1, 5)))
        target = SklearnTree(tree.fit(column.values[column.codes].reshape(-1, 1), y))
        sanitizer = Sanitizer([column], [response], [target])
        for step in range(1, sanitizer.n_steps + 1):
            assert sanitizer.compare(sanitizer.state(step)) is None, f"seed {seed}, step {step}"
            looked += 1
    assert looked > 200


@pytest.mark.parametrize("seed", range(3))
def test_adult_one_hot_is_rebuilt(seed):
    frame = adult_frame()
    X, y = pd.get_dummies(frame[list(PREDICTORS)]), frame["income"]
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=seed).fit(X, y)
    method = TreePatternPreserving(tree, k=10, l=1.5, sensitive="occupation")
    full = X.assign(occupation=frame["occupation"])
    released = method.fit(full, y).transform(full)
    assert method.n_steps_ == 3
    assert released["occupation"].equals(full["occupation"])
    fresh = DecisionTreeClassifier(max_leaf_nodes=4, random_state=seed)
    assert public_arrays(fresh.fit(released.drop(columns="occupation"), y)) == public_arrays(tree)
    assert verify_model(method.model_, released, y).identical


def test_depth_first_trees_and_the_float32_cast():
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(4000, 2)), 3) + 1e-9 * rng.random((4000, 2))
    y = (X[:, 0] + X[:, 1] > rng.normal(size=4000)).astype(int)
    tree = DecisionTreeClassifier(max_depth=3, random_state=1, criterion="entropy").fit(X, y)
    method = TreePatternPreserving(tree, k=2).fit(X, y)
    released = np.asarray(method.transform(X), dtype=float)
    assert (released == released.astype(np.float32)).all()
    assert method.n_steps_ == tree.tree_.node_count // 2
    fresh = DecisionTreeClassifier(max_depth=3, random_state=1, criterion="entropy").fit(released, y)
    assert public_arrays(fresh) == public_arrays(tree)


def test_three_classes_and_another_tree_beside():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.astype(np.float32).drop(columns="petal length (cm)")  # it ties with the petal width
    tree = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(X, y)
    method = TreePatternPreserving([tree, TreeSettings("gini", n_splits=2)], k=2).fit(X, y)
    assert verify_model(method.model_, method.transform(X), y).identical
    wide = X.astype(float) + 1e-12
    both = [DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(wide, y), TreeSettings()]
    with pytest.raises(ParameterError, match="float32"):
        TreePatternPreserving(both, k=2).fit(wide, y)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        (DecisionTreeClassifier(ccp_alpha=0.01, random_state=0), "cost-complexity"),
        (DecisionTreeClassifier(splitter="random", random_state=0), "splitter"),
        (DecisionTreeClassifier(), "tie-breaking"),
        (DecisionTreeClassifier(max_features=2), "max_features"),
        (DecisionTreeClassifier(class_weight="balanced", random_state=0), "class_weight"),
        (RandomForestClassifier(3, random_state=0), "ForestSettings"),
        (GradientBoostingClassifier(n_estimators=2, random_state=0), "BoostingSettings"),
        (ExtraTreeClassifier(random_state=0), "not a supported tree"),
    ],
)
def test_outside_the_guarantee(tree, message):
    X, y = load_iris(return_X_y=True, as_frame=True)
    with pytest.raises(UnsupportedError, match=message):
        TreePatternPreserving(tree.fit(X, y), k=2).fit(X, y)


def test_estimators_that_do_not_fit_the_table():
    X, y = load_iris(return_X_y=True, as_frame=True)
    fitted = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    with pytest.raises(ParameterError, match="not fitted"):
        TreePatternPreserving(DecisionTreeClassifier(random_state=0), k=2).fit(X, y)
    with pytest.raises(SchemaError, match="other columns"):
        TreePatternPreserving(fitted, k=2).fit(X.rename(columns={X.columns[0]: "length"}), y)
    with pytest.raises(SchemaError, match="another order"):
        TreePatternPreserving(fitted, k=2).fit(X[X.columns[::-1]], y)
    with pytest.raises(SchemaError, match="4 columns"):
        TreePatternPreserving(fitted, k=2).fit(X.iloc[:, :3], y)
    with pytest.raises(ParameterError, match="categories"):
        TreePatternPreserving(fitted, k=2).fit(X.assign(**{X.columns[3]: "a"}), y)
    with pytest.raises(ParameterError, match="another tree"):
        TreePatternPreserving(fitted, k=2).fit(X, y.sample(frac=1, random_state=1).to_numpy())
    noisy = y + 0.1
    regressor = DecisionTreeRegressor(max_leaf_nodes=3, random_state=0).fit(X, noisy)
    with pytest.raises(UnsupportedError, match="whole numbers"):
        TreePatternPreserving(regressor, k=2).fit(X, noisy)
