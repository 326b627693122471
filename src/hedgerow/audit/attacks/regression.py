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
from ...columns.table import Table
from ...measures import BoolArray, Counts, FloatArray, IntArray
from ..design_matrix import Known, known_rows, known_table, shown_values, true_values, values_in
from ..non_members import FOLDS
from ..pairing import Pair, by_name, spread
from ..released_values import ReleasedColumn
from ..success import Target, attack_record, bootstrap, rate_of
from ..table_pair import Sides
from .group_learners import OUTSIDE
from .learners import LEARNERS, TRAINED, Guesses, Lesson, nearest_of


def regression_attacks(
    pair: Pair,
    *,
    control: Table | None = None,
    learners: Sequence[str] = LEARNERS,
    people: int = 500,
    random_state: int = 0,
    progress: Any = None,
) -> list[dict[str, Any]]:
    """Attack every sensitive column with every learner.

    "nearest" looks through all released rows; the others are trained on at most 20,000 different
    ones, those of the people asked about among them, each with all of its records.

    Parameters
    ----------
    pair : Pair
        The original and the release.
    control : Table, optional
        People who are not in the original, with the same columns; at most `people` of them are
        asked. Without it the control is the same people with their own rows withheld (3 folds).
    learners : sequence of {"tree", "gradient boosting", "nearest", "linear"}
        Who attacks.
    people : int
        How many people of the table are attacked, spread evenly over the table
        sorted by its values.
    random_state : int
        For the bootstrap intervals.
    progress : callable, optional
        Called with a line of text before each attack.

    Returns
    -------
    list of dict
        One a learner and column. ``success`` is the share of people whose value
        was named (see `Target`), with its Wilson interval.
    """
    out = []
    for j in range(len(pair.sensitive)):
        attack = _on(pair, j, control, people, random_state)
        if attack is not None:
            out += attack.by(learners, random_state, progress)
    return out


def _on(
    pair: Pair, j: int, control: Table | None, people: int, random_state: int
) -> OnColumn | None:
    """One sensitive column; None where nobody's value is known and shown."""
    own, shown = pair.sensitive[j], pair.released_sensitive[j]
    # by name: no result depends on the order in which columns are declared
    quasi, aim = by_name(pair.released_quasi), pair.targets[own.name]
    truth, target = truth_of(own, aim), shown_as(own, shown, aim)
    order = pair.canonical[known_in(truth, own, aim)[pair.canonical]]
    if not len(order):
        return None
    picked = spread(order, people, random_state)
    asked, near = [(known_rows(quasi, picked), truth[picked], picked)], [picked]
    if control is not None:
        asked.append(_others(quasi, own, aim, control, people, random_state))
        near.append(nearest_of(quasi, pair.classes, asked[1][0]))

    def lesson(rows: IntArray) -> Lesson:
        return attack_lesson(pair, j, rows, target, np.concatenate(near))

    withheld = None
    if control is None:
        fold = np.full(pair.n_rows, -1)
        fold[order] = np.arange(len(order)) % FOLDS
        withheld = [lesson(np.flatnonzero(fold != f)) for f in range(FOLDS)], fold[picked]
    release = lesson(np.arange(pair.n_rows))
    if not release.counts.n_groups:
        return None
    before = unprotected(pair.unchanged, j, pair.rows[picked])
    return OnColumn(own, aim, asked, release, before, pair.classes.n_groups, withheld)


def attack_lesson(
    sides: Sides,
    j: int,
    rows: IntArray,
    target: tuple[npt.NDArray[Any], FloatArray],
    near: IntArray,
) -> Lesson:
    """What some rows of a release teach of one column, as it is attacked."""
    name = sides.sensitive[j].name
    quasi, number = by_name(sides.released_quasi), sides.targets[name].is_number
    separate = name == sides.by_group
    return Lesson.of(quasi, sides.classes, rows, target, number, near, sides.told, separate)


def _others(
    quasi: Sequence[ReleasedColumn],
    own: Column,
    aim: Target,
    control: Table,
    people: int,
    random_state: int,
) -> tuple[Known, npt.NDArray[Any], IntArray]:
    """People of a control with their values; a value that nobody in the original has is no guess."""
    known = known_table(quasi, control)
    if aim.is_number:
        truth = values_in(own, control)
    else:
        truth = control.like(own).codes_in(own, unknown=own.n_values + 1)
    order = np.lexsort((truth, *known.columns))
    rows = spread(order[known_in(truth, own, aim)[order]], people, random_state)
    return known.part(rows), truth[rows], np.full(len(rows), OUTSIDE)


def unprotected(whole: Pair, j: int, asked: IntArray) -> Lesson:
    """What the whole original teaches of one column, with the rows that a release left out."""
    own = whole.sensitive[j]
    aim = whole.targets[own.name]
    return attack_lesson(whole, j, np.arange(whole.n_rows), shown_as(own, own, aim), asked)


@dataclass(frozen=True, eq=False)
class OnColumn:
    """The attack on one sensitive column.

    Parameters
    ----------
    own : Column
    aim : Target
    asked : sequence of (Known, array, int array)
        The members who are asked about, with their true values and their released rows as in
        `Lesson.forecast`; behind them people who took no part.
    release, before : Lesson
        What the release teaches, and the original.
    classes : int
        Different released rows.
    withheld : (sequence of Lesson, int array), optional
        Lessons without one part of the rows each, and the part of each member: the control where
        there is nobody else.
    """

    own: Column
    aim: Target
    asked: Sequence[tuple[Known, npt.NDArray[Any], IntArray]]
    release: Lesson
    before: Lesson
    classes: int
    withheld: tuple[Sequence[Lesson], IntArray] | None = None

    def by(
        self, learners: Sequence[str], random_state: int, progress: Any = None
    ) -> list[dict[str, Any]]:
        """What each learner reaches, as plain data; nothing where nobody has a value."""
        aim, (known, truth, _), lesson = self.aim, self.asked[0], self.release
        if not len(truth) or lesson.cells is None:
            return []
        base, out = baselines(lesson.cells.totals, lesson.values, truth, aim), []
        # the nearest record names what a group says of its members
        tried = (*TRAINED, "group counts") if lesson.cells.separate else TRAINED
        for learner in [name for name in learners if name in tried]:
            if progress:
                progress(f"regression attack on {self.own.name}: {learner}")
            made = [
                lesson.attack(learner, who, aim.tolerances, random_state, rows)
                for who, _, rows in self.asked
            ]
            members, *others = (
                score(guesses, values, aim)
                for guesses, (_, values, _) in zip(made, self.asked, strict=True)
            )
            told = self.before.attack(learner, known, aim.tolerances, random_state)
            held = self._held(learner, random_state)
            if others and len(others[0].errors):
                held = others[0]
            original = score(told, truth, aim)
            row = _row(self.own, aim, learner, members, held, original, base, random_state)
            out.append(row | {"trained": made[0].trained, "classes": self.classes})
        return out

    def _held(self, learner: str, random_state: int) -> Score | None:
        """The attack on people whose rows it did not see; None where nobody is at hand."""
        if self.withheld is None:
            return None
        (known, truth, _), (lessons, part), aim = self.asked[0], self.withheld, self.aim
        none = 0.0 if aim.is_number else -1.0  # where nobody is left to learn from
        values = np.full(len(truth), none)
        named = {t.key: values.copy() for t in aim.tolerances}
        for f, lesson in enumerate(lessons):
            mine = part == f
            if not mine.any() or not lesson.counts.n_groups:
                continue
            outside = np.full(int(mine.sum()), OUTSIDE)
            made = lesson.attack(learner, known.part(mine), aim.tolerances, random_state, outside)
            values[mine] = made.values
            for key, guess in made.named.items():
                named[key][mine] = guess
        return score(Guesses(values, named, 0), truth, aim)


def truth_of(own: Column, aim: Target) -> npt.NDArray[Any]:
    """The value of each row: a number, or the code of a category."""
    return true_values(own) if aim.is_number else own.codes.astype(np.int64)


def known_in(truth: npt.NDArray[Any], own: Column, aim: Target) -> BoolArray:
    """Whose value is known: nobody is asked for one that is missing."""
    return np.isfinite(truth) if aim.is_number else truth != own.n_values


def shown_as(own: Column, shown: Column, aim: Target) -> tuple[npt.NDArray[Any], FloatArray]:
    """Released codes, and the number behind each; few-valued numbers as the nearest of their own."""
    if aim.is_number or not own.is_number:
        return shown_values(own, shown)
    values = np.asarray(own.values)
    middles = (values[1:] + values[:-1]) / 2
    nearest = np.append(np.searchsorted(middles, shown.values), own.n_values)
    return nearest[shown.codes], np.zeros(own.n_values + 1)


@dataclass(frozen=True)
class Score:
    """How near the guesses came, person by person."""

    hits: dict[str, FloatArray]
    errors: FloatArray
    squares: FloatArray


def score(guess: Guesses, y: npt.NDArray[Any], aim: Target) -> Score:
    """Guesses held against the true values."""
    hits = {t.key: t.hits(guess.named[t.key], y) for t in aim.tolerances}
    away = np.abs(guess.values - y) if aim.is_number else 1 - hits[aim.headline.key]
    return Score(hits, away, away**2)


def baselines(public: Counts, values: FloatArray, y: FloatArray, aim: Target) -> dict[str, Any]:
    """What needs no attack: the public mean or majority, and a random released row."""
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
    own: Column,
    aim: Target,
    learner: str,
    members: Score,
    held: Score | None,
    original: Score,
    base: dict[str, Any],
    random_state: int,
) -> dict[str, Any]:
    """An attack on one column as plain data; without `held` nobody was asked as control."""
    key = aim.headline.key
    success, before = (rate_of(s.hits[key]) for s in (members, original))
    control = None if held is None else rate_of(held.hits[key])
    row = attack_record(
        "regression",
        learner=learner,
        target=own.name,
        means=f"{aim.headline.words} of the value" if aim.is_number else "the exact value",
        success=success,
        control=control,
        original=before,
        public_guess=float(base["guess"].hits[key].mean()),
        public_best=base["best"],
        random_row=base["random_row"],
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
                    "control": None if held is None else float(held.hits[t].mean()),
                    "public": float(base["guess"].hits[t].mean()),
                    "original": float(original.hits[t].mean()),
                }
                for t, v in members.hits.items()
            },
            "relative_error": error.value / public,
            "relative_error_interval": [error.low / public, error.high / public],
            "relative_error_control": None if held is None else float(held.errors.mean()) / public,
            "relative_error_original": float(original.errors.mean()) / public,
            "explained": 1 - float(members.squares.mean()) / spread,
            "explained_control": None if held is None else 1 - float(held.squares.mean()) / spread,
            "explained_original": 1 - float(original.squares.mean()) / spread,
        }
    return row
