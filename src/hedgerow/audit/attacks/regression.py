"""The regression attack: learn from the release, ask about true quasi-identifiers.

Every result stands beside three others: what guessing from public totals
reaches (the public mean or the majority value, the one number that hits most
people, and the value of a random released row), what the same attack reaches on people whose rows it did not see
(so that general inference and leakage about individuals are told apart), and
what it reaches on the original table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...columns.column import Column
from ...measures import BoolArray, Counts, FloatArray, IntArray
from ..design_matrix import (
    OUTSIDE,
    shown_values,
    true_values,
)
from ..non_members import FOLDS
from ..success import AttackTarget, PublicGuess, Rates, attack_record, bootstrap, rate_of
from ..table_pair import Asked, TablePair, by_name, spread
from .learners import LEARNERS, TRAINED, Guesses, TrainingSet, nearest_of


def regression(
    sides: TablePair,
    *,
    learners: Sequence[str] = LEARNERS,
    people: int = 500,
    random_state: int = 0,
    progress: Any = None,
) -> list[dict[str, Any]]:
    """Attack every sensitive column with every learner.

    "nearest" looks through all released rows; the others are trained on at most 20,000 different
    ones, each with all of its records: those of the people asked about among them, or, where rows
    are not paired, those that lie nearest to them.

    Parameters
    ----------
    sides : TablePair
        The tables. Strangers are the control; of pairs without any it is the same people with
        their own rows withheld (3 folds).
    learners : sequence of {"tree", "gradient boosting", "nearest", "linear"}
        Who attacks.
    people : int
        How many members, and how many strangers, are attacked, spread evenly over the table sorted
        by its values.
    random_state : int
        Who is asked; the learners and the bootstrap intervals.
    progress : callable, optional
        Called with a line of text before each attack.

    Returns
    -------
    list of dict
        One a learner and column. ``success`` is the share of people whose value
        was named (see `AttackTarget`), with its Wilson interval.
    """
    out = []
    for j in range(len(sides.sensitive)):
        attack = _prepared(sides, j, people, random_state)
        if attack is not None:
            out += attack.by(learners, random_state, progress)
    return out


def _prepared(sides: TablePair, j: int, most: int, random_state: int) -> ColumnAttack | None:
    """Prepare the attack on one column; None where nobody's value is known and shown."""
    # by name: no result depends on the order in which columns are declared
    quasi, column = by_name(sides.released_quasi), sides.sensitive[j]
    aim = sides.targets[column.name]
    people_asked, orders, near = [], [], []
    for who in sides.people:
        truth = truth_of(who.sensitive[j], column, aim)
        order = sides.order_of(who, truth)
        orders.append(order[known_in(truth, column, aim)[order]])
        picked = spread(orders[-1], most, random_state)
        people_asked.append(Asked(who.known(quasi, picked), [truth[picked]], sides.rows_of(who, picked)))
        if sides.is_paired and who is sides.members:
            near.append(picked)
        else:
            near.append(nearest_of(quasi, sides.classes, people_asked[-1].known))
    if sides.is_paired and not len(orders[0]):
        return None
    members = spread(orders[0], most, random_state)
    # the same attack on the table as it was: what protection took away is the difference
    before = sides.unchanged
    target, nearby = shown_as(column, sides.released_sensitive[j], aim), np.concatenate(near)
    release = _training(sides, j, target, nearby)
    if not release.counts.n_groups:
        return None
    withheld = None
    if sides.is_paired and sides.strangers is None:
        fold = np.full(sides.n_rows, -1)
        fold[orders[0]] = np.arange(len(orders[0])) % FOLDS
        parts = (np.flatnonzero(fold != f) for f in range(FOLDS))
        withheld = [_training(sides, j, target, nearby, rows) for rows in parts], fold[members]
    original = _training(
        before, j, shown_as(before.sensitive[j], before.sensitive[j], aim), sides.original_rows(members)
    )
    return ColumnAttack(column, aim, people_asked, release, original, sides.classes.n_groups, withheld)


def _training(
    tables: TablePair,
    j: int,
    target: tuple[npt.NDArray[Any], FloatArray],
    near: IntArray,
    rows: IntArray | None = None,
) -> TrainingSet:
    """Return what some rows of a release teach of one column, as it is attacked."""
    number = tables.targets[tables.sensitive[j].name].is_number
    quasi = by_name(tables.released_quasi)
    return TrainingSet.from_tables(tables, quasi, j, target, number, near, rows)


@dataclass(frozen=True, eq=False)
class ColumnAttack:
    """The attack on one sensitive column.

    Parameters
    ----------
    column : Column
    aim : AttackTarget
    people : sequence of Asked
        The members, with their values of this column alone; behind them people who took no part.
    release, before : TrainingSet
        What the release teaches, and the original.
    classes : int
        Different released rows.
    withheld : (sequence of TrainingSet, int array), optional
        Lessons without one part of the rows each, and the part of each member: the control where
        there is nobody else.
    """

    column: Column
    aim: AttackTarget
    people: Sequence[Asked]
    release: TrainingSet
    before: TrainingSet
    classes: int
    withheld: tuple[Sequence[TrainingSet], IntArray] | None = None

    def by(
        self, learners: Sequence[str], random_state: int, progress: Any = None
    ) -> list[dict[str, Any]]:
        """Return what each learner reaches, as plain data; nothing where nobody has a value."""
        aim, training, quasi = self.aim, self.release, self.people[0].known
        truth = self.people[0].values[0]
        if not len(truth) or training.cells is None:
            return []
        base, out = baselines(training.cells.totals, training.values, truth, aim), []
        # the nearest record names what a group says of its members
        tried = (*TRAINED, "group counts") if training.cells.separate else TRAINED
        for learner in [name for name in learners if name in tried]:
            if progress:
                progress(f"regression attack on {self.column.name}: {learner}")
            guessed = [
                training.attack(learner, who.known, aim.tolerances, random_state, who.released)
                for who in self.people
            ]
            members, *others = (
                score(guesses, who.values[0], aim)
                for guesses, who in zip(guessed, self.people, strict=True)
            )
            guessed_before = self.before.attack(learner, quasi, aim.tolerances, random_state)
            control = self._score_withheld(learner, random_state)
            if others and len(others[0].errors):
                control = others[0]
            original = score(guessed_before, truth, aim)
            row = _row(self.column, aim, learner, members, control, original, base, random_state)
            out.append(row | {"trained": guessed[0].trained, "classes": self.classes})
        return out

    def _score_withheld(self, learner: str, random_state: int) -> Score | None:
        """Attack people whose rows the learner did not see; None where there is another control, or none."""
        if self.withheld is None:
            return None
        (trainings, part), aim = self.withheld, self.aim
        quasi, truth = self.people[0].known, self.people[0].values[0]
        none = 0.0 if aim.is_number else -1.0  # where nobody is left to learn from
        values = np.full(len(truth), none)
        named = {t.key: values.copy() for t in aim.tolerances}
        for f, training in enumerate(trainings):
            mine = part == f
            if not mine.any() or not training.counts.n_groups:
                continue
            outside = np.full(int(mine.sum()), OUTSIDE)
            guesses = training.attack(learner, quasi.part(mine), aim.tolerances, random_state, outside)
            values[mine] = guesses.values
            for key, guess in guesses.named.items():
                named[key][mine] = guess
        return score(Guesses(values, named, 0), truth, aim)


def truth_of(column: Column, original: Column, aim: AttackTarget) -> npt.NDArray[Any]:
    """Return people's values: numbers, or the codes of `original`, with one more for a value that it lacks."""
    if aim.is_number:
        return true_values(column)
    if column.values is original.values:
        return column.codes.astype(np.int64)
    return column.codes_in(original, unknown=original.n_values + 1)


def known_in(truth: npt.NDArray[Any], original: Column, aim: AttackTarget) -> BoolArray:
    """Return whose value is known: nobody is asked for one that is missing."""
    return np.isfinite(truth) if aim.is_number else truth != original.n_values


def shown_as(original: Column, released: Column, aim: AttackTarget) -> tuple[npt.NDArray[Any], FloatArray]:
    """Return released codes, and the number behind each; few-valued numbers as the nearest of their own."""
    if aim.is_number or not original.is_number:
        return shown_values(original, released)
    values = np.asarray(original.values)
    middles = (values[1:] + values[:-1]) / 2
    nearest = np.append(np.searchsorted(middles, released.values), original.n_values)
    return nearest[released.codes], np.zeros(original.n_values + 1)


@dataclass(frozen=True)
class Score:
    """Hits and errors of guesses, person by person."""

    hits: dict[str, FloatArray]
    errors: FloatArray
    squares: FloatArray


def score(guess: Guesses, y: npt.NDArray[Any], aim: AttackTarget) -> Score:
    """Compare guesses with the true values."""
    hits = {t.key: t.hits(guess.named[t.key], y) for t in aim.tolerances}
    errors = np.abs(guess.values - y) if aim.is_number else 1 - hits[aim.headline.key]
    return Score(hits, errors, errors**2)


def baselines(public: Counts, values: FloatArray, y: FloatArray, aim: AttackTarget) -> dict[str, Any]:
    """Return what needs no attack: the public mean or majority, and a random released row."""
    shares, key = public.shares, aim.headline.key
    if not aim.is_number:
        majority = public.values[int(shares.argmax())]
        share = np.zeros(len(values))
        share[public.values] = shares
        same = Guesses.same(np.full(len(y), majority), aim.tolerances, 0)
        guess = score(same, y, aim)
        return {
            "guess": guess,
            "best": float(guess.hits[key].mean()),
            "random_row": float(share[y.astype(np.int64)].mean()),
        }
    levels, near = values[public.values], aim.headline
    mean = Guesses.same(np.full(len(y), float(levels @ shares)), aim.tolerances, 0)
    best = near.best(np.array([0, len(levels)]), levels, public.counts)[0][0]
    cdf = np.concatenate([[0.0], np.cumsum(shares)])
    reach = near.share * np.abs(y) + near.width
    lo = np.searchsorted(levels, y - reach, "left")
    hi = np.searchsorted(levels, y + reach, "right")
    return {
        "guess": score(mean, y, aim),
        "best": float(best) / int(public.counts.sum()),
        "random_row": float(np.maximum(cdf[hi] - cdf[lo], 0.0).mean()),
    }


def _row(
    column: Column,
    aim: AttackTarget,
    learner: str,
    members: Score,
    control_score: Score | None,
    original: Score,
    base: dict[str, Any],
    random_state: int,
) -> dict[str, Any]:
    """Return the attack on a column as plain data; without `control_score` there was no control."""
    key = aim.headline.key
    success, before = (rate_of(s.hits[key]) for s in (members, original))
    control = None if control_score is None else rate_of(control_score.hits[key])
    row = attack_record(
        "regression",
        learner=learner,
        target=column.name,
        means=f"{aim.headline.words} of the value" if aim.is_number else "the exact value",
        rates=Rates(success, control, before),
        public=PublicGuess(
            float(base["guess"].hits[key].mean()),
            best=base["best"],
            random_row=base["random_row"],
        ),
    )
    row["attacked_as"] = aim.attacked_as
    if aim.is_number:
        public = float(base["guess"].errors.mean()) or 1.0
        error = bootstrap(members.errors, random_state=random_state)
        spread = float(base["guess"].squares.mean()) or 1.0
        row |= {
            "matching": {
                t: {
                    "release": float(v.mean()),
                    "control": None if control_score is None else float(control_score.hits[t].mean()),
                    "public": float(base["guess"].hits[t].mean()),
                    "original": float(original.hits[t].mean()),
                }
                for t, v in members.hits.items()
            },
            "relative_error": error.value / public,
            "relative_error_interval": [error.low / public, error.high / public],
            "relative_error_control": None if control_score is None else float(control_score.errors.mean()) / public,
            "relative_error_original": float(original.errors.mean()) / public,
            "explained": 1 - float(members.squares.mean()) / spread,
            "explained_control": None if control_score is None else 1 - float(control_score.squares.mean()) / spread,
            "explained_original": 1 - float(original.squares.mean()) / spread,
        }
    return row
