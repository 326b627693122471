"""The intruder's learners: trained on weighted class summaries, asked about true values."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...classes import Counts, FloatArray, Groups, IntArray, group
from ...errors import ParameterError
from ...kernels.threads import in_parts
from ..design_matrix import Known, design_known, design_released
from ..reach import NEAR, Reach, bound
from ..released_values import ReleasedColumn
from ..tolerances import Tolerance

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
    taught : int array, optional
        The classes that learners are trained on and forecasts ask for neighbours; all by
        default. The attack by the nearest record looks through all of them.
    """

    released: Sequence[ReleasedColumn]
    first: IntArray
    counts: Counts
    values: FloatArray
    number: bool
    taught: IntArray | None = None

    @classmethod
    def of(
        cls,
        released: Sequence[ReleasedColumn],
        classes: Groups,
        rows: IntArray,
        target: tuple[npt.NDArray[Any], FloatArray],
        number: bool,
        members: IntArray,
    ) -> Lesson:
        """Learn from some rows of classes; of many whole classes, those of `members` before others.

        Parameters
        ----------
        target : tuple of int array and float array
            The codes of all rows, and the number behind each code.
        members : int array
            Rows of the people who will be asked about.
        """
        codes, values = target
        groups = group([classes.labels[rows]])
        counts = Counts.of(groups, codes[rows], len(values))
        first = rows[groups.first]
        asked = np.zeros(classes.n_groups, np.bool_)
        asked[classes.labels[members]] = True
        return cls(released, first, counts, values, number, _taught(asked[classes.labels[first]]))

    def attack(
        self,
        learner: str,
        people: Known,
        tolerances: Sequence[Tolerance],
        random_state: int = 0,
    ) -> Guesses:
        """Train, and guess the value of each person."""
        if learner == "nearest":
            return self._by_nearest(people, tolerances)
        classes = len(np.unique(self._lesson.values))
        if not self.number and classes == 1:
            made = np.full(len(people), self._lesson.values[0])
        else:
            model = self._trained(estimator(learner, self.number, classes, random_state))
            with quiet():
                made = np.asarray(model.predict(design_known(self.released, people)))
        return Guesses.same(made, tolerances, self._lesson.n_groups)

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
            return self._neighbours(people)
        counts, out = self._lesson, np.zeros((len(people), len(self.values)))
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
    def _lesson(self) -> Counts:
        """The counts of the classes that are taught."""
        if self.taught is None:
            return self.counts
        place = np.full(self.counts.n_groups, -1)
        place[self.taught] = np.arange(len(self.taught))
        at = place[self.counts.groups]
        kept, n = at >= 0, len(self.taught)
        c = self.counts
        return Counts(at[kept], c.values[kept], c.counts[kept], n, c.n_values)

    @property
    def _rows(self) -> IntArray:
        return self.first if self.taught is None else self.first[self.taught]

    @cached_property
    def _design(self) -> FloatArray:
        return design_released(self.released, self._rows)

    def _trained(self, model: Any) -> Any:
        """Identical released rows are one training row, or one for each of their categories."""
        x, counts = self._design, self._lesson
        with quiet():
            if self.number:
                weight = counts.sizes.astype(np.float64)
                told = counts.per_group(counts.counts * self.values[counts.values])
                return model.fit(x, told / weight, sample_weight=weight)
            weight = counts.counts.astype(np.float64)
            return model.fit(x[counts.groups], counts.values, sample_weight=weight)

    def _by_nearest(self, people: Known, tolerances: Sequence[Tolerance]) -> Guesses:
        """The best guess from the records at each person's smallest distance.

        Records that may be the person's count by how `likely` they are. Of categories the
        most frequent one; of numbers the mean, and by each tolerance the number that hits most
        of these records.
        """
        reach, counts, n = Reach(self.released, self.first), self.counts, len(people)
        means, named = np.zeros(n), np.zeros((len(tolerances), n))

        def ask(part: slice) -> None:
            for i in range(part.start, part.stop):
                away = reach.sums(people, i)
                near = np.flatnonzero(away <= bound(away.min()))
                cells, weight = _weighted(counts, near, None if away[near[0]] else reach)
                codes, inverse = np.unique(counts.values[cells], return_inverse=True)
                held = np.zeros(len(codes), np.int64)
                np.add.at(held, inverse, weight)
                if not self.number:
                    means[i] = codes[held.argmax()]
                    continue
                values = self.values[codes]
                means[i] = values @ held / held.sum()
                for t, tolerance in enumerate(tolerances):
                    named[t, i] = tolerance.best(np.array([0, len(values)]), values, held)[1][0]

        in_parts(ask, n, n * len(self.first))
        if not self.number:
            return Guesses.same(means.astype(np.int64), tolerances, counts.n_groups)
        by_key = {t.key: named[k] for k, t in enumerate(tolerances)}
        return Guesses(means, by_key, counts.n_groups)

    def _neighbours(self, people: Known) -> FloatArray:
        """The mean, or the shares, of the 10 records nearest to each person."""
        reach, counts = Reach(self.released, self._rows), self._lesson
        out = np.zeros((len(people), 1 if self.number else len(self.values)))

        def ask(part: slice) -> None:
            for i in range(part.start, part.stop):
                away = reach.sums(people, i)
                near = np.flatnonzero(away <= _tenth(away, counts.sizes) + NEAR)
                fits = not away[near].any()
                cells, weight = _weighted(counts, near, reach if fits else None)
                if self.number:
                    out[i, 0] = weight @ self.values[counts.values[cells]] / weight.sum()
                else:
                    held = np.bincount(counts.values[cells], weight, len(self.values))
                    out[i] = held / weight.sum()

        in_parts(ask, len(people), len(people) * counts.n_groups)
        return out[:, 0] if self.number else out


@dataclass(frozen=True, eq=False)
class Guesses:
    """What a learner guesses of some people.

    Parameters
    ----------
    values : array, shape (n_people,)
        The expected number, or the code of the category.
    named : mapping of str to array
        By the key of each tolerance the guess that is held against the value.
    trained : int
        Different released rows that were learnt from.
    """

    values: npt.NDArray[Any]
    named: Mapping[str, npt.NDArray[Any]]
    trained: int

    @classmethod
    def same(
        cls, values: npt.NDArray[Any], tolerances: Sequence[Tolerance], trained: int
    ) -> Guesses:
        """One guess for every tolerance."""
        return cls(values, {t.key: values for t in tolerances}, trained)


def nearest_of(released: Sequence[ReleasedColumn], classes: Groups, people: Known) -> IntArray:
    """Where learners are trained on some classes alone: of each person's nearest class a row."""
    if classes.n_groups <= MOST_CLASSES:
        return np.zeros(0, np.int64)
    rows = classes.first
    reach, out = Reach(released, rows), np.zeros(len(people), np.int64)

    def ask(part: slice) -> None:
        for i in range(part.start, part.stop):
            out[i] = rows[reach.sums(people, i).argmin()]

    in_parts(ask, len(people), len(people) * len(rows))
    return out


def _taught(asked: npt.NDArray[np.bool_]) -> IntArray | None:
    """The classes to learn from: of many those that are asked about, and others spread evenly."""
    if len(asked) <= MOST_CLASSES:
        return None
    chosen = asked.copy()
    rest, free = np.flatnonzero(~asked), max(MOST_CLASSES - int(asked.sum()), 0)
    if len(rest) and free:
        chosen[rest[np.unique(np.linspace(0, len(rest) - 1, free).astype(np.int64))]] = True
    return np.flatnonzero(chosen)


def _weighted(counts: Counts, groups: IntArray, reach: Reach | None) -> tuple[IntArray, IntArray]:
    """The entries of some classes, and their records; those that fit a person as they are likely."""
    begin, sizes = counts.starts[groups], np.diff(counts.starts)[groups]
    cells = np.repeat(begin - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum())
    weight = counts.counts[cells].astype(np.int64)
    if reach is None:
        return cells, weight
    weight = weight * np.repeat(reach.likely(groups), sizes)
    some = weight > 0
    return cells[some], weight[some]


@contextmanager
def quiet() -> Iterator[None]:
    """One thread, so that sums come out the same on every machine; no word on convergence."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _tenth(away: FloatArray, sizes: IntArray) -> float:
    """The distance within which `NEIGHBOURS` records lie."""
    most = min(NEIGHBOURS, len(away))
    near = np.argpartition(away, most - 1)[:most]
    near = near[away[near].argsort()]
    held = np.cumsum(sizes[near]) >= NEIGHBOURS
    return float(away[near[held.argmax() if held.any() else most - 1]])
