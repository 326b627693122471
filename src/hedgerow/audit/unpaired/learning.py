"""The regression attack without pairs: learn from all released rows, ask members and strangers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...classes import Counts, IntArray, group
from ..pairing import by_name, evenly
from ..risk.attacks import attack_row, baselines, known_in, score, shown_as, taught, truth_of
from ..risk.learners import LEARNERS, Lesson, nearest_of
from ..tolerances import Target
from .tables import Apart, People


def regression(
    tables: Apart,
    *,
    learners: Sequence[str] = LEARNERS,
    people: int = 500,
    random_state: int = 0,
    progress: Any = None,
) -> list[dict[str, Any]]:
    """The regression attack on every sensitive column by every learner.

    Of very many different released rows those that lie nearest to the people who will be asked
    about, members and strangers alike, are among the ones that learners are trained on.

    Parameters
    ----------
    tables : Apart
        The tables.
    learners : sequence of {"tree", "gradient boosting", "nearest", "linear"}
        Who attacks.
    people : int
        How many members, and how many strangers, are asked about.
    random_state : int
        For the learners and the bootstrap intervals.
    progress : callable, optional
        Called with a line of text before each attack.
    """
    attack = _Attack(tables, learners, people, random_state)
    return [row for j in range(len(tables.members.sensitive)) for row in attack.on(j, progress)]


@dataclass(frozen=True, eq=False)
class _Attack:
    """The attack, for one sensitive column after the other."""

    tables: Apart
    learners: Sequence[str]
    people: int
    random_state: int

    def on(self, j: int, progress: Any) -> list[dict[str, Any]]:
        """All learners on one column."""
        tables, before = self.tables, self.tables.unchanged
        quasi, own = by_name(tables.released_quasi), tables.members.sensitive[j]
        aim = before.targets[own.name]
        codes, values = told = shown_as(own, tables.released_sensitive[j], aim)
        usable = np.flatnonzero(taught(told, aim))
        groups = [(people, *self._asked(people, j, aim)) for people in tables.people]
        if not len(usable) or not len(groups[0][1]):
            return []
        known = [people.known(quasi, rows) for people, rows, _ in groups]
        near = np.concatenate([nearest_of(quasi, tables.classes, k) for k in known])
        lesson = Lesson.of(quasi, tables.classes, usable, told, aim.is_number, near)
        mine, y = groups[0][1:]
        unprotected = Lesson.of(
            by_name(before.released_quasi),
            before.classes,
            np.flatnonzero(known_in(truth_of(own, aim), own, aim)),
            shown_as(own, own, aim),
            aim.is_number,
            mine,
        )
        public = Counts.of(group([], len(usable)), codes[usable], len(values))
        base = baselines(public, values, y, aim)
        out = []
        for learner in self.learners:
            if progress:
                progress(f"regression attack on {own.name}: {learner}")
            made = [lesson.attack(learner, k, aim.tolerances, self.random_state) for k in known]
            scores = [score(g, truth, aim) for g, (_, _, truth) in zip(made, groups, strict=True)]
            original = unprotected.attack(learner, known[0], aim.tolerances, self.random_state)
            held = scores[1] if len(scores) > 1 else None
            row = attack_row(
                own, aim, learner, scores[0], held, score(original, y, aim), base, self.random_state
            )
            out.append(row | {"trained": made[0].trained, "classes": tables.classes.n_groups})
        return out

    def _asked(self, people: People, j: int, aim: Target) -> tuple[IntArray, Any]:
        """Some people whose value is known, and the value."""
        own = people.sensitive[j]
        truth = truth_of(own, aim)
        known = known_in(truth, own, aim)
        rows = evenly(people.canonical[known[people.canonical]], self.people)
        return rows, truth[rows]
