"""The regression attack without pairs: learn from all released rows, ask members and strangers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..attacks.group_learners import OUTSIDE, UNKNOWN
from ..attacks.learners import LEARNERS, nearest_of
from ..attacks.regression import OnColumn, attack_lesson, known_in, shown_as, truth_of, unprotected
from ..pairing import by_name, spread
from .unpaired_tables import Apart


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
    out = []
    for j in range(len(tables.members.sensitive)):
        attack = _on(tables, j, people, random_state)
        if attack is not None:
            out += attack.by(learners, random_state, progress)
    return out


def _on(tables: Apart, j: int, most: int, random_state: int) -> OnColumn | None:
    """One sensitive column; None where the release shows nothing of it."""
    before = tables.unchanged
    quasi, own = by_name(tables.released_quasi), tables.members.sensitive[j]
    aim = before.targets[own.name]
    asked, rows = [], []
    for people in tables.people:
        truth = truth_of(people.sensitive[j], aim)
        known = people.canonical[known_in(truth, own, aim)[people.canonical]]
        rows.append(spread(known, most, random_state))
        row = UNKNOWN if people is tables.members else OUTSIDE
        who = np.full(len(rows[-1]), row)
        asked.append((people.known(quasi, rows[-1]), truth[rows[-1]], who))
    near = np.concatenate([nearest_of(quasi, tables.classes, known) for known, *_ in asked])
    target = shown_as(own, tables.released_sensitive[j], aim)
    lesson = attack_lesson(tables, j, np.arange(tables.n_rows), target, near)
    if not lesson.counts.n_groups:
        return None
    whole = unprotected(before, j, rows[0])
    return OnColumn(own, aim, asked, lesson, whole, tables.classes.n_groups)
