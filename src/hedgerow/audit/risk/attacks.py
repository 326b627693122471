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

from ...classes import BoolArray, Counts, FloatArray, IntArray, group
from ...table import Column, Table
from ..design_matrix import known_rows, known_table, shown_values, true_values, values_in
from ..intervals import attack_record, bootstrap, rate_of
from ..outside import FOLDS
from ..pairing import Pair, by_name, evenly
from ..released_values import ReleasedColumn
from ..tolerances import Target
from .learners import LEARNERS, Guesses, Lesson


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
        People who are not in the original, with the same columns. Without it
        the control is the same people with their own rows withheld (3 folds).
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
    # by name: no result depends on the order in which columns are declared
    quasi = tuple(by_name(pair.released_quasi))
    before = tuple(by_name(pair.unchanged.released_quasi))
    attack = _Attack(pair, quasi, before, control, learners, people, random_state)
    return [row for j in range(len(pair.sensitive)) for row in attack.on(j, progress)]


@dataclass(frozen=True, eq=False)
class _Attack:
    """The attack, for one sensitive column after the other."""

    pair: Pair
    quasi: tuple[ReleasedColumn, ...]
    unchanged: tuple[ReleasedColumn, ...]
    control: Table | None
    learners: Sequence[str]
    people: int
    random_state: int

    def on(self, j: int, progress: Any) -> list[dict[str, Any]]:
        """All learners on one column."""
        pair, own, shown = self.pair, self.pair.sensitive[j], self.pair.released_sensitive[j]
        aim = pair.targets[own.name]
        truth, target = truth_of(own, aim), shown_as(own, shown, aim)
        released_codes, released_values = target
        usable = taught(target, aim)
        order = pair.canonical[known_in(truth, own, aim)[pair.canonical]]
        if not len(order) or not usable.any():
            return []
        picked = evenly(order, self.people)
        fold = np.full(pair.n_rows, -1)
        fold[order] = np.arange(len(order)) % FOLDS
        known, y, rows = known_rows(self.quasi, picked), truth[picked], np.flatnonzero(usable)

        def lesson(kept: IntArray) -> Lesson:
            return Lesson.of(self.quasi, pair.classes, kept, target, aim.is_number, picked)

        release = lesson(rows)
        folds = range(FOLDS if self.control is None else 0)
        apart = [lesson(np.flatnonzero(usable & (fold != f))) for f in folds]
        before = self._before(j, aim, pair.rows[picked])
        public = Counts.of(group([], len(rows)), released_codes[rows], len(released_values))
        base = baselines(public, released_values, y, aim)
        out = []
        for learner in self.learners:
            if progress:
                progress(f"regression attack on {own.name}: {learner}")
            made = release.attack(learner, known, aim.tolerances, self.random_state)
            held = self._held(learner, release, apart, fold[picked], known, y, own, aim)
            told = before.attack(learner, known, aim.tolerances, self.random_state)
            members, original = score(made, y, aim), score(told, y, aim)
            row = attack_row(own, aim, learner, members, held, original, base, self.random_state)
            out.append(row | {"trained": made.trained, "classes": pair.classes.n_groups})
        return out

    def _before(self, j: int, aim: Target, asked: IntArray) -> Lesson:
        """What the whole original teaches, with the rows that were left out."""
        whole = self.pair.unchanged
        own = whole.sensitive[j]
        target = shown_as(own, own, aim)
        rows = np.flatnonzero(taught(target, aim))
        return Lesson.of(self.unchanged, whole.classes, rows, target, aim.is_number, asked)

    def _held(
        self,
        learner: str,
        release: Lesson,
        apart: Sequence[Lesson],
        fold: IntArray,
        known: Any,
        y: Any,
        own: Column,
        aim: Target,
    ) -> Score:
        """The attack on people whose rows it did not see."""
        if self.control is not None:
            asked, theirs = known_table(self.quasi, self.control), _others(own, self.control, aim)
            there = known_in(theirs, own, aim)
            guesses = release.attack(learner, asked.part(there), aim.tolerances, self.random_state)
            return score(guesses, theirs[there], aim)
        none = 0.0 if aim.is_number else -1.0  # where nobody is left to learn from
        values = np.full(len(y), none)
        named = {t.key: values.copy() for t in aim.tolerances}
        for f, lesson in enumerate(apart):
            mine = fold == f
            if not mine.any() or not lesson.counts.n_groups:
                continue
            made = lesson.attack(learner, known.part(mine), aim.tolerances, self.random_state)
            values[mine] = made.values
            for key, guess in made.named.items():
                named[key][mine] = guess
        return score(Guesses(values, named, 0), y, aim)


def truth_of(own: Column, aim: Target) -> npt.NDArray[Any]:
    """The value of each row: a number, or the code of a category."""
    return true_values(own) if aim.is_number else own.codes.astype(np.int64)


def known_in(truth: npt.NDArray[Any], own: Column, aim: Target) -> BoolArray:
    """Whose value is known: nobody is asked for one that is missing."""
    return np.isfinite(truth) if aim.is_number else truth != own.n_values


def taught(target: tuple[npt.NDArray[Any], FloatArray], aim: Target) -> BoolArray:
    """The rows that show a value to learn from."""
    codes, values = target
    return np.isfinite(values)[codes] if aim.is_number else codes < len(values) - 1


def _others(own: Column, table: Table, aim: Target) -> npt.NDArray[Any]:
    """The same of other people; categories that the original lacks are known, and never named."""
    if aim.is_number:
        return values_in(own, table)
    return table.like(own).codes_in(own, unknown=-2)


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


def attack_row(
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
