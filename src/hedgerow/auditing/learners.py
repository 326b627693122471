"""The intruder's learners: trained on released rows, predicting from true quasi-identifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.spatial import KDTree

from ..errors import ParameterError
from ..kernels.threads import in_parts
from ..measures import Counts, Floats, Groups, Ints, group
from .design_matrix import UNKNOWN, Everybody, Known, design_known, design_released
from .group_learners import GroupCounts, GroupRows, corrected, entries_of, matrix_of, rows_by_group
from .record_distance import NEAR, WHOLE, Reach, bound
from .released_values import ReleasedColumn
from .success import Tolerance
from .table_pair import TablePair, evenly

# learners of rows
TRAINED = ("tree", "gradient boosting", "nearest", "linear")
# the same, and learners of groups: by the person's group, by all groups' counts, corrected by a learner
LEARNERS = (*TRAINED, "group", "group counts", "group corrected")
# learners that correct group forecasts of numbers (True) and categories: boosting fits many classes' noise
CORRECTING = {True: "gradient boosting", False: "linear"}
# records that vote in a forecast by nearest neighbours
NEIGHBOURS = 10
# most different released rows that a learner is trained on, each with all of its records
MOST_CLASSES = 20_000
# fewest records in a leaf of boosting in a forecast
LEAF = 20


def check_learners(names: Sequence[str]) -> None:
    """Raise ParameterError if a name is not in `LEARNERS`, or if no name is given."""
    if (unknown := [name for name in names if name not in LEARNERS]) or not names:
        wrong = ", ".join(map(repr, unknown)) or "none given"
        raise ParameterError(f"unknown learners: {wrong}", hint=f"one of {', '.join(LEARNERS)}")


def attackers(sides: TablePair, names: Sequence[str]) -> tuple[str, ...]:
    """Return the learners that apply to a release; raise ParameterError if there are none."""
    check_learners(names)
    is_grouped = sides.risk_model == "classes"
    # altered rows that equal others form groups as well, and a person's is the nearest
    is_altered = sides.risk_model == "linkage" and sides.classes.n_groups < sides.n_rows
    needs = {
        "group": is_grouped or is_altered,
        "group counts": sides.by_group is not None,
        "group corrected": is_grouped and sides.everybody is not None,
    }
    if not (usable := tuple(name for name in names if needs.get(name, True))):
        raise ParameterError(f"none of these learners applies to this release: {', '.join(names)}")
    return usable


def estimator(learner: str, number: bool, classes: int = 2, random_state: int = 0, leaf: int = 5) -> Any:
    """Return a learner's scikit-learn estimator: a regressor for numbers, a classifier for categories.

    `leaf` is the fewest training rows in a leaf of gradient boosting.
    """
    if learner == "tree":
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        return (DecisionTreeRegressor if number else DecisionTreeClassifier)(random_state=random_state)
    if learner == "gradient boosting":
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

        common = {"min_samples_leaf": leaf, "early_stopping": False, "random_state": random_state}
        if number:
            return HistGradientBoostingRegressor(max_iter=50, **common)
        # one tree a class and round: many classes get fewer, longer steps
        rounds = min(max(100 // classes, 8), 50)
        return HistGradientBoostingClassifier(max_iter=rounds, learning_rate=min(5 / rounds, 0.5), **common)
    from sklearn.linear_model import LogisticRegression, Ridge

    # a ridge keeps indicators that a release never shows apart from pulling against each other
    return Ridge(alpha=1.0) if number else LogisticRegression(max_iter=100)


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The training data of an intruder: released rows, equal ones merged, with the values of their records.

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
    taught : int array
        The classes that learners are trained on and that forecasts search for neighbours. The attack
        by the nearest record searches all classes.
    cells : GroupRows
        The rows by group, for the learners of groups.
    everybody : Everybody, optional
        The true quasi-identifiers behind every released row, if rows are paired.
    altered : bool
        Whether values were altered, so that a person's group is the nearest one.
    """

    released: Sequence[ReleasedColumn]
    first: Ints
    counts: Counts
    values: Floats
    number: bool
    taught: Ints
    cells: GroupRows
    everybody: Everybody | None
    altered: bool
    _models: dict[tuple[str, int, int], Any] = field(default_factory=dict, init=False)
    _reached: dict[Known, tuple[Any, Any]] = field(default_factory=dict, init=False)

    @classmethod
    def from_tables(
        cls,
        tables: TablePair,
        released: Sequence[ReleasedColumn],
        j: int,
        target: tuple[npt.NDArray[Any], Floats],
        number: bool,
        members: Ints,
        rows: Ints | None = None,
    ) -> TrainingSet:
        """Build from the rows with a known value; if there are too many classes, those of `members` are kept first.

        Parameters
        ----------
        tables : TablePair
        released : sequence of ReleasedColumn
            The quasi-identifiers, in the order in which they become features.
        j : int
            The sensitive column.
        target : tuple of int array and float array
            The codes of all rows, and the number behind each code; for categories the last
            code is a missing value.
        number : bool
            Whether the target is a number.
        members : int array
            Rows of the people who will be attacked.
        rows : int array, optional
            The rows to learn from; all by default.
        """
        (codes, values), classes = target, tables.classes
        is_known = np.isfinite(values) if number else np.arange(len(values)) < len(values) - 1
        rows = np.arange(tables.n_rows) if rows is None else rows
        separate = tables.sensitive[j].name == tables.by_group
        cells = GroupRows(classes, tables.value_groups, rows, codes, is_known, members, separate)
        rows = cells.usable
        groups = group([classes.labels[rows]])
        first = rows[groups.first]
        is_asked = np.zeros(classes.n_groups, np.bool_)
        is_asked[classes.labels[members]] = True
        is_taught = is_asked[classes.labels[first]]
        # the rest is spread evenly over their order, which the cells give, so no row order matters
        is_taught[evenly(np.flatnonzero(~is_taught), max(MOST_CLASSES - int(is_taught.sum()), 0))] = True
        counts = cells.expected() if separate else Counts.from_codes(groups, codes[rows], len(values))
        taught = np.flatnonzero(is_taught)
        altered = tables.risk_model == "linkage"
        return cls(released, first, counts, values, number, taught, cells, tables.everybody, altered)

    def attack(
        self,
        learner: str,
        people: Known,
        tolerances: Sequence[Tolerance],
        random_state: int = 0,
        rows: Ints | None = None,
    ) -> dict[str, npt.NDArray[Any]]:
        """Train a learner and guess each person's value; `rows` as in `forecast`.

        Returns
        -------
        dict of arrays, shape (n_people,)
            The guesses that are compared with the true values, by the key of each tolerance.
        """
        if learner == "nearest":
            return self._by_nearest(people, tolerances)
        if learner not in TRAINED:
            forecast = self.forecast(learner, people, random_state, rows)
            guesses = forecast if self.number else forecast.argmax(axis=1)
        elif not self.number and len(self._kinds) == 1:
            guesses = np.full(len(people), self._kinds[0])
        else:
            model = self._model(learner, random_state, 5)
            with quiet():
                guesses = np.asarray(model.predict(design_known(self.released, people)))
        return same_for_all(guesses, tolerances)

    def forecast(self, learner: str, people: Known, random_state: int = 0, rows: Ints | None = None) -> Floats:
        """Train a learner and forecast each person's value, as an expected number or category chances.

        "nearest" averages the 10 released records nearest to each person; ties share their weight.
        "group" averages the person's group or, for a person in no group, the nearest group, in which
        the release would place the person. "group counts" learns from the counts of all groups; if
        each row has its own value, it equals "group". "group corrected" adds to the group's average
        the difference between a learner's forecast for the person and its mean over the group.

        Parameters
        ----------
        rows : int array, shape (n_people,), optional
            The released row of each person; `UNKNOWN` by default, and `OUTSIDE` for people who
            are not in the table: about these, values published by group show only the totals
            and the rule learnt from the counts of all groups.

        Returns
        -------
        float array
            Numbers: the expected value, shape (n_people,). Categories: the chance of each code,
            shape (n_people, n_values).
        """
        if learner == "nearest":
            near = self._near(people)[0]
            of_class = matrix_of(self.counts, self.counts.counts.astype(np.float64))
            if self.number:
                return np.asarray(near @ (of_class @ self._numbers))
            return np.asarray((near @ of_class).toarray())
        if learner not in TRAINED:
            rows = np.full(len(people), UNKNOWN) if rows is None else rows
            return self._of_groups(learner, people, rows, random_state)
        out = np.zeros((len(people), len(self.values)))
        if not self.number and len(self._kinds) == 1:
            out[:, self._kinds[0]] = 1.0
            return out
        counts = self._taught_counts
        # a training row stands for several records: chances need leaves of so many records, not rows
        rows_taught = counts.n_groups if self.number else len(counts.counts)
        leaf = max(1, round(LEAF * rows_taught / max(float(counts.counts.sum()), 1.0)))
        model = self._model(learner, random_state, leaf)
        with quiet():
            features = design_known(self.released, people)
            if self.number:
                return np.asarray(model.predict(features), np.float64)
            out[:, np.asarray(model.classes_, np.int64)] = model.predict_proba(features)
        return out

    @cached_property
    def _kinds(self) -> Ints:
        """Return the target's codes that occur in the training classes."""
        return np.unique(self._taught_counts.values)

    @cached_property
    def _numbers(self) -> Floats:
        """Return the number behind each code; 0 for the missing value, which occurs in no class."""
        return np.where(np.isfinite(self.values), self.values, 0.0)

    def _model(self, learner: str, random_state: int, leaf: int) -> Any:
        """Return a trained learner, cached; equal released rows are one training row, or one for each category."""
        key = learner, random_state, leaf
        if key in self._models:
            return self._models[key]
        x, counts = self._design, self._taught_counts
        model = estimator(learner, self.number, len(self._kinds), random_state, leaf)
        with quiet():
            if self.number:
                # one row with the mean and the weight of its records fits the same as all of them
                weight = counts.sizes.astype(np.float64)
                sums = counts.per_group(counts.counts * self._numbers[counts.values])
                model.fit(x, sums / weight, sample_weight=weight)
            else:
                weight = counts.counts.astype(np.float64)
                model.fit(x[counts.groups], counts.values, sample_weight=weight)
        self._models[key] = model
        return model

    def _of_groups(self, learner: str, people: Known, rows: Ints, random_state: int) -> Floats:
        """Forecast each person's value from their group, corrected or not; from totals for people in no group."""
        places = self.cells.places(rows, lambda ask: self._groups_near(people)[ask])
        outside = np.flatnonzero(np.diff(places.indptr) == 0)
        counts = self._group_counts if learner == "group counts" and self.cells.separate else None
        # without separate groups the counts of all groups say no more than a person's own group
        of_cell = self.cells.shares(self.cells.group_of) if counts is None else counts.chances
        totals, width = self.counts.totals, 1 if self.number else len(self.values)
        of_value = self._numbers[:, None] if self.number else np.eye(width)
        if self.number:  # as many values as records: never a row for each of both
            of_cell = csr_array(of_cell @ of_value)
        out = np.asarray((places @ of_cell).toarray())
        out[outside] = totals @ of_value / totals.sum()
        if counts is not None:
            chances = counts.of_strangers(self.released, people.part(outside))
            kinds = csr_array((totals, (counts.kinds, np.arange(len(totals)))))
            of_kind = (kinds @ of_value) / np.maximum(kinds.sum(axis=1), 1e-9)[:, None]
            out[outside] = chances @ of_kind
        if learner == "group corrected":
            groups = self.cells.group_of
            groups = np.unique(groups if len(outside) else groups[places.indices])
            means, sizes = self.mean_forecasts(groups, random_state)
            at = np.minimum(np.searchsorted(groups, self.cells.group_of), len(groups) - 1)
            average = places @ means[at]
            average[outside] = sizes @ means / sizes.sum()
            out = corrected(out, self._change(people, random_state) - average, self.number)
        return out[:, 0] if self.number else out

    def _change(self, people: Known, random_state: int) -> Floats:
        """Return the forecasts of the learner that corrects groups; shape (n_people, 1 or n_values)."""
        forecast = self.forecast(CORRECTING[self.number], people, random_state)
        return forecast[:, None] if self.number else forecast

    def mean_forecasts(self, groups: Ints, random_state: int) -> tuple[Floats, Floats]:
        """Return the mean of the correcting learner's forecasts over each group's rows, and the number of these rows.

        Each row is asked about by its true quasi-identifiers.
        """
        assert self.everybody is not None
        width, n = 1 if self.number else len(self.values), len(groups)
        sums, sizes = np.zeros((n, width)), np.zeros(n)
        blocks = rows_by_group(self.cells, groups, self.everybody.order, width + self._design.shape[1])
        for places, rows in blocks:
            forecasts = self._change(self.everybody.quasi.part(rows), random_state)
            sums += np.stack([np.bincount(places, each, n) for each in forecasts.T], axis=1)
            sizes += np.bincount(places, minlength=n)
        return sums / np.maximum(sizes, 1.0)[:, None], sizes

    @cached_property
    def _group_counts(self) -> GroupCounts:
        return GroupCounts(self.cells, self.released, self.number)

    @cached_property
    def _taught_counts(self) -> Counts:
        """Return the target's counts in the training classes."""
        counts = self.counts
        place, entries = entries_of(counts, self.taught)
        return Counts(place, counts.values[entries], counts.counts[entries], len(self.taught), counts.n_values)

    @cached_property
    def _design(self) -> Floats:
        return design_released(self.released, self.first[self.taught])

    def _by_nearest(self, people: Known, tolerances: Sequence[Tolerance]) -> dict[str, npt.NDArray[Any]]:
        """Guess each person's value from the released records nearest to the person.

        Records that cover the person are weighted by how `likely` they are. The guess is the most
        frequent category or, for each tolerance, the number that hits most of these records.
        """
        reach, counts, n = Reach(self.released, self.first), self.counts, len(people)

        def guess(person: int) -> list[float]:
            distance = reach.sums(people, person)
            near = np.flatnonzero(distance <= bound(distance.min()))
            cells, weight = _weighted(counts, near, None if distance[near[0]] else reach)
            codes, place = np.unique(counts.values[cells], return_inverse=True)
            amounts = np.bincount(place, weight)
            if not self.number:
                return [codes[amounts.argmax()]]
            values, records = self.values[codes], np.rint(amounts).astype(np.int64)
            ends = np.array([0, len(values)])
            return [tolerance.best(ends, values, records)[1][0] for tolerance in tolerances]

        guesses = np.array(by_person(guess, n, n * len(self.first))).reshape(n, len(tolerances)).T
        return dict(zip((t.key for t in tolerances), guesses, strict=True))

    def _groups_near(self, people: Known) -> Any:
        """Return the chances of each person's nearest classes, by the distance with which the method groups rows.

        This is the Euclidean distance of standardised numbers or, if there are categories, Gower's
        distance (`Reach`).
        """
        columns = self.released
        if not self.altered or not all(c.is_number and not c.general and not c.original.has_missing for c in columns):
            return self._near(people)[1]
        spread = [np.sort(c.original.numbers).std() or 1.0 for c in columns]
        # standardised as the method does it before it groups
        centres = np.stack([c.middle[c.codes[self.first]] for c in columns], axis=1) / spread
        points = np.stack(people.columns, axis=1) / spread
        has_centre, has_point = (np.isfinite(each).all(axis=1) for each in (centres, points))
        if not has_centre.all() or not has_point.all():
            return self._near(people)[1]
        tree = KDTree(centres)
        nearby = tree.query_ball_point(points, tree.query(points)[0] + NEAR, return_sorted=True)
        sizes = self.counts.sizes
        return self._by_person([(np.array(at), sizes[at] / sizes[at].sum()) for at in nearby])

    def _near(self, people: Known) -> tuple[Any, Any]:
        """Return the weights of each person's 10 nearest records, and the chances of the nearest classes.

        Returns
        -------
        sparse array, shape (n_people, n_classes)
            The weight of one record of each class, 0 if the class is not among the 10 nearest records.
            Multiplied by the class sizes, every row sums to 1.
        sparse array, shape (n_people, n_classes)
            The chance that the person is in each of the nearest classes. If cells of several classes
            cover the person's values, only the most likely of these classes count.
        """
        if people in self._reached:
            return self._reached[people]
        every, sizes = self.taught, self._taught_counts.sizes
        reach = Reach(self.released, self.first[every])

        def near(person: int) -> tuple[tuple[Ints, Floats], tuple[Ints, Floats]]:
            distance = reach.sums(people, person)
            tenth = np.flatnonzero(distance <= _tenth(distance, sizes) + NEAR)
            weight = np.ones(len(tenth)) if distance[tenth].any() else reach.likely(tenth)
            first = reach.nearest(distance)
            weight, shares = weight / (weight @ sizes[tenth]), sizes[first] / sizes[first].sum()
            return (every[tenth], weight), (every[first], shares)

        each = by_person(near, len(people), len(people) * len(every))
        tenth, first = (self._by_person([classes[i] for classes in each]) for i in (0, 1))
        self._reached[people] = tenth, first
        return tenth, first

    def _by_person(self, near: Sequence[tuple[Ints, Floats]]) -> Any:
        """Return each person's classes and weights as a sparse matrix, shape (n_people, n_classes)."""
        ends = np.cumsum([0, *(len(classes) for classes, _ in near)])
        # an empty first part keeps the type where nobody is asked about
        at = np.concatenate([np.zeros(0, np.int64), *(classes for classes, _ in near)])
        weights = np.concatenate([np.zeros(0), *(weight for _, weight in near)])
        return csr_array((weights, at, ends), shape=(len(near), self.counts.n_groups))


def same_for_all(guesses: npt.NDArray[Any], tolerances: Sequence[Tolerance]) -> dict[str, npt.NDArray[Any]]:
    """Return guesses that are the same for every tolerance."""
    return dict.fromkeys((t.key for t in tolerances), guesses)


def nearest_of(released: Sequence[ReleasedColumn], classes: Groups, people: Known) -> Ints:
    """Return one row of each person's nearest class; empty if learners are trained on all classes in any case."""
    if classes.n_groups <= MOST_CLASSES:
        return np.zeros(0, np.int64)
    reach, n = Reach(released, classes.first), len(people)
    nearest = by_person(lambda person: reach.sums(people, person).argmin(), n, n * classes.n_groups)
    return classes.first[np.array(nearest, np.int64)]


T = TypeVar("T")


def by_person(work: Callable[[int], T], n: int, cost: int) -> list[T]:
    """Return `work(i)` for each of n people, using several threads if the total number of steps (`cost`) is high."""
    parts = in_parts(lambda part: [work(i) for i in range(part.start, part.stop)], n, cost)
    return [result for part in parts for result in part]


def _weighted(counts: Counts, groups: Ints, reach: Reach | None) -> tuple[Ints, Floats]:
    """Return the entries of the given classes, with record counts weighted by how likely each is the person's class."""
    which, cells = entries_of(counts, groups)
    likely = np.full(len(groups), WHOLE) if reach is None else reach.likely(groups)
    weight = np.multiply(counts.counts[cells], likely[which], dtype=np.float64)
    return cells[weight > 0], weight[weight > 0]


@contextmanager
def quiet() -> Iterator[None]:
    """Run a block in one thread, so that sums are the same on every machine, and ignore convergence warnings."""
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _tenth(distance: Floats, sizes: Ints) -> float:
    """Return the smallest distance within which there are `NEIGHBOURS` records."""
    # each class has a record at least, so the nearest ten classes hold the nearest ten records
    most = min(NEIGHBOURS, len(distance))
    near = np.argpartition(distance, most - 1)[:most]
    near = near[distance[near].argsort()]
    enough = np.cumsum(sizes[near]) >= NEIGHBOURS - NEAR
    return float(distance[near[enough.argmax() if enough.any() else most - 1]])
