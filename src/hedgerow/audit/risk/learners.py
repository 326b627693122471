"""The intruder's learners: trained on weighted class summaries, asked about true values."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from ...classes import Counts, FloatArray, IntArray
from ..design_matrix import NEAR, Known, distance_blocks, nearest_of
from ..released_values import ReleasedColumn

LEARNERS = ("tree", "gradient boosting", "nearest", "linear")
NEIGHBOURS = 10
"""Records that vote where nearest neighbours forecast."""
LEAF = 20
"""Records in a leaf of boosting where it forecasts."""


def estimator(
    learner: str, number: bool, classes: int = 2, random_state: int = 0, leaf: int = 5
) -> Any:
    """A scikit-learn estimator for a target of numbers or of categories.

    `leaf` is the fewest training rows in a leaf of gradient boosting.
    """
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

        common = {"min_samples_leaf": leaf, "early_stopping": False, "random_state": random_state}
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
    classes = len(np.unique(counts.values))
    if not number and classes == 1:
        return np.full(len(asked), counts.values[0])
    model = estimator(learner, number, classes, random_state)
    with _quiet():
        _train(model, number, x, counts, values)
        return np.asarray(model.predict(asked), np.float64 if number else np.int64)


def forecast(
    learner: str,
    number: bool,
    x: FloatArray,
    counts: Counts,
    values: FloatArray,
    asked: FloatArray,
    random_state: int = 0,
) -> FloatArray:
    """Train on classes and forecast the asked rows; parameters as `predict`.

    Returns
    -------
    float array
        Numbers: the expected value, shape (n_people,). Categories: the chance of each code,
        shape (n_people, n_values).
    """
    classes = np.unique(counts.values)
    if not number and len(classes) == 1:
        out = np.zeros((len(asked), len(values)))
        out[:, classes[0]] = 1.0
        return out
    # a training row stands for several records
    rows = counts.n_groups if number else len(counts.counts)
    leaf = max(1, round(LEAF * rows / max(int(counts.counts.sum()), 1)))
    model = estimator(learner, number, len(classes), random_state, leaf)
    with _quiet():
        _train(model, number, x, counts, values)
        if number:
            return np.asarray(model.predict(asked), np.float64)
        out = np.zeros((len(asked), len(values)))
        out[:, np.asarray(model.classes_, np.int64)] = model.predict_proba(asked)
        return out


def _train(model: Any, number: bool, x: FloatArray, counts: Counts, values: FloatArray) -> None:
    """Identical released rows are one training row, or one for each of their categories."""
    if number:
        weight = counts.sizes.astype(np.float64)
        y = counts.per_group(counts.counts * values[counts.values]) / weight
        model.fit(x, y, sample_weight=weight)
    else:
        model.fit(x[counts.groups], counts.values, sample_weight=counts.counts.astype(np.float64))


@contextmanager
def _quiet() -> Iterator[None]:
    """One thread, so that sums come out the same on every machine; no word on convergence."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


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


def neighbours(
    released: Sequence[ReleasedColumn],
    rows: IntArray,
    people: Known,
    number: bool,
    counts: Counts,
    values: FloatArray,
) -> FloatArray:
    """Forecast by the 10 released records nearest to each person, ties sharing.

    Distances are those of `nearest`, so that a person's neighbours are first the records
    whose cells cover what is known. Returns what `forecast` returns.
    """
    sizes = counts.sizes.astype(np.float64)
    if number:
        told = counts.per_group(counts.counts * values[counts.values])[:, None]
    else:
        told = np.zeros((counts.n_groups, len(values)))
        told[counts.groups, counts.values] = counts.counts
    out = np.zeros((len(people), told.shape[1]))
    for part, columns in distance_blocks(released, people, rows):
        away = np.sum(columns, axis=0)
        closest = (away <= _reach(away, sizes) + NEAR).astype(np.float64)
        out[part] = (closest @ told) / (closest @ sizes)[:, None]
    return out[:, 0] if number else out


def _reach(away: npt.NDArray[np.float32], sizes: FloatArray) -> npt.NDArray[np.float32]:
    """For each person the distance within which `NEIGHBOURS` records lie, shape (n, 1)."""
    most = min(NEIGHBOURS, away.shape[1])
    near = np.argpartition(away, most - 1, axis=1)[:, :most]
    near = np.take_along_axis(near, np.take_along_axis(away, near, 1).argsort(axis=1), 1)
    held = np.cumsum(sizes[near], axis=1) >= NEIGHBOURS
    last = np.where(held.any(axis=1), held.argmax(axis=1), most - 1)
    return np.take_along_axis(away, np.take_along_axis(near, last[:, None], 1), 1)
