"""The intruder's learners: trained on weighted class summaries, asked about true values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...classes import Counts, FloatArray, Groups, IntArray, group
from ...errors import ParameterError
from ..design_matrix import NEAR, Known, design_known, design_released, distance_blocks
from ..released_values import ReleasedColumn

LEARNERS = ("tree", "gradient boosting", "nearest", "linear")
NEIGHBOURS = 10
"""Records that vote where nearest neighbours forecast."""
MOST_CLASSES = 20_000
"""Different released rows that a learner is trained on, each with all of its records."""
LEAF = 20
"""Records in a leaf of boosting where it forecasts."""


def check_learners(names: Sequence[str]) -> None:
    """Refuse learners that there are not, by name."""
    unknown = [name for name in names if name not in LEARNERS]
    if unknown or not names:
        raise ParameterError(
            f"unknown learners: {', '.join(map(repr, unknown)) or 'none given'}",
            hint="one of " + ", ".join(LEARNERS),
        )


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


@dataclass(frozen=True, eq=False)
class Lesson:
    """What an intruder learns from: released rows of equal cells, with the values of their records.

    Parameters
    ----------
    released : sequence of ReleasedColumn
    first : int array, shape (n_classes,)
        A row of every class.
    counts : Counts
        The target's codes in each class.
    values : float array, shape (n_values,)
        The number behind each code; not used for categories.
    number : bool
        Whether the target is a number.
    """

    released: Sequence[ReleasedColumn]
    first: IntArray
    counts: Counts
    values: FloatArray
    number: bool

    @classmethod
    def of(
        cls,
        released: Sequence[ReleasedColumn],
        classes: Groups,
        rows: IntArray,
        target: tuple[npt.NDArray[Any], FloatArray],
        number: bool,
        members: IntArray | None = None,
    ) -> Lesson:
        """Learn from some rows of classes: whole classes, those of `members` before others.

        Parameters
        ----------
        target : tuple of int array and float array
            The codes of all rows, and the number behind each code.
        """
        kept = _kept(classes, rows, members)
        codes, values = target
        groups = group([classes.labels[kept]])
        counts = Counts.of(groups, codes[kept], len(values))
        return cls(released, kept[groups.first], counts, values, number)

    def predict(self, learner: str, people: Known, random_state: int = 0) -> npt.NDArray[Any]:
        """Train, and guess the value of each person.

        Returns
        -------
        array, shape (n_people,)
            Numbers, or codes of categories.
        """
        if learner == "nearest":
            told = self._near(people, lambda away: away.min(axis=1, keepdims=True))
            return told[:, 0] if self.number else told.argmax(axis=1)
        classes = len(np.unique(self.counts.values))
        if not self.number and classes == 1:
            return np.full(len(people), self.counts.values[0])
        model = self._trained(estimator(learner, self.number, classes, random_state))
        with quiet():
            made = model.predict(design_known(self.released, people))
        return np.asarray(made, np.float64 if self.number else np.int64)

    def forecast(self, learner: str, people: Known, random_state: int = 0) -> FloatArray:
        """Train, and forecast the value of each person.

        "nearest" is the 10 released records nearest to each person, ties sharing.

        Returns
        -------
        float array
            Numbers: the expected value, shape (n_people,). Categories: the chance of each code,
            shape (n_people, n_values).
        """
        if learner == "nearest":
            told = self._near(people, lambda away: _reach(away, self.counts.sizes))
            return told[:, 0] if self.number else told
        counts, out = self.counts, np.zeros((len(people), len(self.values)))
        classes = np.unique(counts.values)
        if not self.number and len(classes) == 1:
            out[:, classes[0]] = 1.0
            return out
        # a training row stands for several records
        rows = counts.n_groups if self.number else len(counts.counts)
        leaf = max(1, round(LEAF * rows / max(int(counts.counts.sum()), 1)))
        model = self._trained(estimator(learner, self.number, len(classes), random_state, leaf))
        with quiet():
            asked = design_known(self.released, people)
            if self.number:
                return np.asarray(model.predict(asked), np.float64)
            out[:, np.asarray(model.classes_, np.int64)] = model.predict_proba(asked)
        return out

    @cached_property
    def _design(self) -> FloatArray:
        return design_released(self.released, self.first)

    def _trained(self, model: Any) -> Any:
        """Identical released rows are one training row, or one for each of their categories."""
        x, counts = self._design, self.counts
        with quiet():
            if self.number:
                weight = counts.sizes.astype(np.float64)
                return model.fit(x, self._told[:, 0] / weight, sample_weight=weight)
            weight = counts.counts.astype(np.float64)
            return model.fit(x[counts.groups], counts.values, sample_weight=weight)

    @cached_property
    def _told(self) -> npt.NDArray[Any]:
        """Per class the sum of its numbers, or how often each value occurs."""
        counts = self.counts
        if self.number:
            return counts.per_group(counts.counts * self.values[counts.values])[:, None]
        table = np.zeros((counts.n_groups, len(self.values)), np.float32)
        table[counts.groups, counts.values] = counts.counts
        return table

    def _near(
        self, people: Known, reach: Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]
    ) -> FloatArray:
        """The mean, or the shares, of the records within reach of each person.

        Distances are to the released cells (0 inside), summed over the columns.
        """
        sizes = self.counts.sizes.astype(np.float64)
        out = np.zeros((len(people), self._told.shape[1]))
        for part, columns in distance_blocks(self.released, people, self.first):
            away = np.sum(columns, axis=0)
            closest = (away <= reach(away) + NEAR).astype(np.float64)
            out[part] = (closest @ self._told) / (closest @ sizes)[:, None]
        return out


def _kept(classes: Groups, rows: IntArray, members: IntArray | None) -> IntArray:
    """The rows to learn from: of many classes those of the members, and others spread evenly."""
    labels = classes.labels[rows]
    if group([labels]).n_groups <= MOST_CLASSES:
        return rows
    chosen = np.zeros(classes.n_groups, np.bool_)
    if members is not None:
        chosen[classes.labels[members]] = True
    rest = np.unique(labels[~chosen[labels]])
    free = max(MOST_CLASSES - int(chosen.sum()), 0)
    if len(rest) and free:
        chosen[rest[np.unique(np.linspace(0, len(rest) - 1, free).astype(np.int64))]] = True
    return rows[chosen[labels]]


@contextmanager
def quiet() -> Iterator[None]:
    """One thread, so that sums come out the same on every machine; no word on convergence."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _reach(away: npt.NDArray[np.float32], sizes: IntArray) -> npt.NDArray[np.float32]:
    """For each person the distance within which `NEIGHBOURS` records lie, shape (n, 1)."""
    most = min(NEIGHBOURS, away.shape[1])
    near = np.argpartition(away, most - 1, axis=1)[:, :most]
    near = np.take_along_axis(near, np.take_along_axis(away, near, 1).argsort(axis=1), 1)
    held = np.cumsum(sizes[near], axis=1) >= NEIGHBOURS
    last = np.where(held.any(axis=1), held.argmax(axis=1), most - 1)
    return np.take_along_axis(away, np.take_along_axis(near, last[:, None], 1), 1)
