"""rpart's rules against its own published output."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_iris

from hedgerow.methods.tpp import RpartSettings, TreePatternPreserving, verify_model


def test_iris_as_rpart_prints_it():
    """``rpart(Species ~ ., iris)``: Petal.Length< 2.45 (50), then Petal.Width< 1.75 (54, 46).

    The first split ties with Petal.Width< 0.8: the first variable wins.
    """
    X, y = load_iris(return_X_y=True, as_frame=True)
    species = y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))
    method = TreePatternPreserving(RpartSettings("class", maxdepth=2), k=2).fit(X, species)
    nodes = {n["path"]: n for n in method.model_["models"][0]["trees"][0]["nodes"]}
    assert (nodes[""]["attribute"], nodes[""]["threshold"]) == ("petal length (cm)", 2.45)
    assert (nodes["R"]["attribute"], nodes["R"]["threshold"]) == ("petal width (cm)", 1.75)
    assert [nodes[p]["n"] for p in ("L", "RL", "RR")] == [50, 54, 46]
    assert [nodes[p]["value"] for p in ("L", "RL", "RR")] == [[50, 0, 0], [0, 49, 5], [0, 1, 45]]
    assert verify_model(method.model_, method.transform(X), species).identical


def test_minsplit_and_minbucket_hold():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (300, 2)).astype(float)
    y = (X[:, 0] + rng.normal(0, 6, 300) > 15).astype(int).astype(str)
    settings = RpartSettings("class", minsplit=60, minbucket=20, maxdepth=4)
    method = TreePatternPreserving(settings, k=2).fit(X, y)
    nodes = method.model_["models"][0]["trees"][0]["nodes"]
    assert all(n["n"] >= 60 for n in nodes if "attribute" in n)
    assert all(n["n"] >= 20 for n in nodes)
    assert verify_model(method.model_, method.transform(X), y).identical
