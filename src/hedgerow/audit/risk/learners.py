"""The intruder's learners: trained on weighted class summaries, asked about true values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...classes import Counts, FloatArray, IntArray
from ..design_matrix import Known, distance_blocks, nearest_of
from ..released_values import ReleasedColumn

LEARNERS = ("tree", "gradient boosting", "nearest", "linear")


def estimator(learner: str, number: bool, classes: int = 2, random_state: int = 0) -> Any:
    """A scikit-learn estimator for a target of numbers or of categories."""
    if learner == "tree":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        return (DecisionTreeRegressor if number else DecisionTreeClassifier)(
            random_state=random_state
        )
    if learner == "gradient boosting":
        from sklearn.ensemble import (
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
        )

        common = {"min_samples_leaf": 5, "early_stopping": False, "random_state": random_state}
        if number:
            return HistGradientBoostingRegressor(max_iter=50, **common)
        # one tree a class and round: many classes get fewer, longer steps
        rounds = min(max(100 // classes, 8), 50)
        return HistGradientBoostingClassifier(
            max_iter=rounds, learning_rate=min(5 / rounds, 0.5), **common
        )
    if learner == "linear":
        from sklearn.linear_model import LogisticRegression, Ridge

        # a ridge keeps indicators that a release never shows apart from pulling against each other
        return Ridge(alpha=1.0) if number else LogisticRegression(max_iter=100)
    raise ValueError(f"no learner {learner!r}")


def predict(
    learner: str,
    number: bool,
    x: FloatArray,
    counts: Counts,
    values: FloatArray,
    asked: FloatArray,
    random_state: int = 0,
) -> npt.NDArray[Any]:
    """Train on classes and predict the asked rows.

    Identical released rows are one training row: for numbers the mean of their
    targets with their count as weight, for categories each value with its count.
    No prediction depends on the order of rows.

    Parameters
    ----------
    learner : str
        One of `LEARNERS` but "nearest".
    number : bool
        Whether the target is a number.
    x : float array, shape (n_groups, n_features)
        The released classes.
    counts : Counts
        The targets by class.
    values : float array, shape (n_values,)
        The numbers behind the codes (unused for categories).
    asked : float array, shape (n_people, n_features)
        True values.
    """
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    classes = len(np.unique(counts.values))
    model = estimator(learner, number, classes, random_state)
    # one thread: the data are small, and the sums come out the same on every machine
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        if number:
            weight = counts.sizes.astype(np.float64)
            y = counts.per_group(counts.counts * values[counts.values]) / weight
            model.fit(x, y, sample_weight=weight)
            return np.asarray(model.predict(asked), np.float64)
        if classes == 1:
            return np.full(len(asked), counts.values[0])
        model.fit(x[counts.groups], counts.values, sample_weight=counts.counts.astype(np.float64))
        return np.asarray(model.predict(asked), np.int64)


def nearest(
    released: Sequence[ReleasedColumn],
    rows: IntArray,
    people: Known,
    number: bool,
    counts: Counts,
    values: FloatArray,
) -> npt.NDArray[Any]:
    """Predict by the released classes nearest to each person, ties shared.

    Distances are to the released cells (0 inside), summed over the columns;
    all classes at the smallest distance vote with their records.
    """
    n = len(people)
    out = np.zeros(n) if number else np.zeros(n, np.int64)
    if number:
        sums = counts.per_group(counts.counts * values[counts.values])
    else:
        table = np.zeros((counts.n_groups, counts.n_values), np.float32)
        table[counts.groups, counts.values] = counts.counts
    for part, columns in distance_blocks(released, people, rows):
        closest = nearest_of(columns).astype(np.float64)
        if number:
            out[part] = (closest @ sums) / (closest @ counts.sizes)
        else:
            out[part] = (closest @ table).argmax(axis=1)
    return out
