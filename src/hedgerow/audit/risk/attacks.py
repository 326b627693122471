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

from ...classes import Counts, FloatArray, group
from ...kernels.windows import best_windows
from ...table import Column, Table
from ..design_matrix import known_rows, known_table, shown_values, true_values, values_in
from ..intervals import Rate, attack_record, bootstrap, wilson
from ..pairing import Pair, evenly
from ..released_values import ReleasedColumn
from .learners import LEARNERS, Lesson
from .numeric import TOLERANCES

FOLDS = 3


def as_unchanged(released: Sequence[ReleasedColumn]) -> tuple[ReleasedColumn, ...]:
    """The original columns as if they had been released unchanged."""
    out = []
    for column in released:
        original, m = column.original, column.original.n_values
        values = original.by_code if original.is_number else np.full(m + 1, np.nan)
        one = [np.array([i]) for i in range(m)] + [np.zeros(0, np.int64)]
        shares = [np.ones(1)] * m + [np.zeros(0)]
        missing = np.arange(m + 1) == m
        labels: list[str | None] = [*map(str, range(m)), None]
        out.append(
            ReleasedColumn(
                original,
                original.codes,
                labels,
                values,
                values,
                tuple(one),
                tuple(shares),
                missing,
                np.zeros(m + 1, np.bool_),
                False,
            )
        )
    return tuple(out)


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
        was named (numbers: within 10%), with its Wilson interval.
    """
    out = []
    for j in range(len(pair.sensitive)):
        out += _attack_column(pair, j, control, learners, people, random_state, progress)
    return out


def _attack_column(
    pair: Pair,
    j: int,
    control: Table | None,
    learners: Sequence[str],
    people: int,
    random_state: int,
    progress: Any,
) -> list[dict[str, Any]]:
    own, shown = pair.sensitive[j], pair.released_sensitive[j]
    number = own.is_number
    truth, target = true_values(own), shown_values(own, shown)
    released_codes, released_values = target
    usable = np.isfinite(truth) & (np.isfinite(released_values)[released_codes] | (not number))
    order = pair.canonical[usable[pair.canonical]]
    if not len(order):
        return []
    picked = evenly(order, people)
    fold = np.full(pair.n_rows, -1)
    fold[order] = np.arange(len(order)) % FOLDS
    known = known_rows(pair.released_quasi, picked)
    y = truth[picked]
    rows, quasi = np.flatnonzero(usable), pair.released_quasi
    release = Lesson.of(quasi, pair.classes, rows, target, number)
    before = Lesson.of(
        as_unchanged(quasi), pair.original_classes, rows, shown_values(own, own), number
    )
    others = [np.flatnonzero(usable & (fold != f)) for f in range(FOLDS if control is None else 0)]
    apart = [Lesson.of(quasi, pair.classes, kept, target, number) for kept in others]
    public = Counts.of(group([], len(order)), released_codes[order], len(released_values))
    base = _baselines(public, released_values, y, number)
    out = []
    for learner in learners:
        if progress:
            progress(f"regression attack on {own.name}: {learner}")
        hits = _score(release.predict(learner, known, random_state), y, number)
        if control is not None:
            asked, y2 = known_table(quasi, control), values_in(own, control)
            held = np.isfinite(y2)
            guesses = release.predict(learner, asked.part(held), random_state)
            held_hits = _score(guesses, y2[held], number)
        else:
            guesses = np.zeros(len(picked))
            for f, lesson in enumerate(apart):
                mine = fold[picked] == f
                if mine.any() and len(others[f]):
                    guesses[mine] = lesson.predict(learner, known.part(mine), random_state)
            held_hits = _score(guesses, y, number)
        original = _score(before.predict(learner, known, random_state), y, number)
        out.append(_row(own, learner, hits, held_hits, original, base, random_state))
    return out


@dataclass(frozen=True)
class _Score:
    """How near the guesses came, person by person."""

    hits: dict[str, FloatArray]
    errors: FloatArray
    squares: FloatArray


def _score(guess: npt.NDArray[Any], y: FloatArray, number: bool) -> _Score:
    if not number:
        right = (guess == y).astype(np.float64)
        return _Score({"exact": right}, 1 - right, 1 - right)
    away = np.abs(guess - y)
    hits = {f"{t:.2f}": (away <= t * np.abs(y)).astype(np.float64) for t in TOLERANCES}
    return _Score(hits, away, away**2)


def _baselines(public: Counts, values: FloatArray, y: FloatArray, number: bool) -> dict[str, Any]:
    """What needs no attack: the public mean or majority, and a random released row."""
    shares = public.shares
    if not number:
        majority = public.values[int(shares.argmax())]
        share = np.zeros(len(values))
        share[public.values] = shares
        guess = _score(np.full(len(y), majority), y, False)
        return {
            "key": "exact",
            "guess": guess,
            "best": float(guess.hits["exact"].mean()),
            "random_row": float(share[y.astype(np.int64)].mean()),
        }
    levels = values[public.values]
    mean = float(levels @ shares)
    best = best_windows(np.array([0, len(levels)]), levels, public.counts, 0.10)[0]
    cdf = np.concatenate([[0.0], np.cumsum(shares)])
    lo = np.searchsorted(levels, y - 0.10 * np.abs(y), "left")
    hi = np.searchsorted(levels, y + 0.10 * np.abs(y), "right")
    return {
        "key": "0.10",
        "guess": _score(np.full(len(y), mean), y, True),
        "best": float(best) / int(public.counts.sum()),
        "random_row": float(np.maximum(cdf[hi] - cdf[lo], 0.0).mean()),
    }


def _rate(values: FloatArray) -> Rate:
    return wilson(float(values.sum()), len(values))


def _row(
    own: Column,
    learner: str,
    members: _Score,
    held: _Score,
    original: _Score,
    base: dict[str, Any],
    random_state: int,
) -> dict[str, Any]:
    key = base["key"]
    success, control, before = (_rate(s.hits[key]) for s in (members, held, original))
    row = attack_record(
        "regression",
        learner=learner,
        target=own.name,
        means="the exact value" if key == "exact" else "within 10% of the value",
        success=success,
        control=control,
        original=before,
        public_guess=float(base["guess"].hits[key].mean()),
        public_best=base["best"],
        random_row=base["random_row"],
    )
    if key != "exact":
        public = float(base["guess"].errors.mean()) or 1.0
        error = bootstrap(members.errors, random_state=random_state)
        spread = float(base["guess"].squares.mean()) or 1.0
        row |= {
            "matching": {
                t: {
                    "release": float(v.mean()),
                    "control": float(held.hits[t].mean()),
                    "public": float(base["guess"].hits[t].mean()),
                    "original": float(original.hits[t].mean()),
                }
                for t, v in members.hits.items()
            },
            "relative_error": error.value / public,
            "relative_error_interval": [error.low / public, error.high / public],
            "relative_error_control": float(held.errors.mean()) / public,
            "relative_error_original": float(original.errors.mean()) / public,
            "explained": 1 - float(members.squares.mean()) / spread,
            "explained_control": 1 - float(held.squares.mean()) / spread,
            "explained_original": 1 - float(original.squares.mean()) / spread,
        }
    return row
