"""What learners infer where rows are not paired: of members, and of people who took no part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...measures import IntArray
from ...progress import Tell
from ..attacks.group_learners import OUTSIDE, UNKNOWN
from ..attacks.learners import nearest_of
from ..design_matrix import true_values
from ..inference import MOST_ASKED, WITHOUT, Asked, Inference, asked_of, attackers
from .unpaired_tables import Apart, People


def infer_apart(
    tables: Apart, *, learners: Sequence[str], random_state: int, tell: Tell
) -> Inference:
    """`hedgerow.inference` of a release whose rows are not paired; strangers are the control."""

    def some(people: People, row: int) -> Asked:
        rows: IntArray = people.some(MOST_ASKED)
        values = [true_values(column, rows) for column in people.sensitive]
        known = people.known(tables.released_quasi, rows)
        return Asked(known, values, rows, np.full(len(rows), row))

    asked = list(map(some, tables.people, (UNKNOWN, OUTSIDE)))
    return asked_of(
        tables,
        asked,
        np.concatenate(
            [nearest_of(tables.released_quasi, tables.classes, each.known) for each in asked]
        ),
        attackers(tables, learners),
        random_state,
        tell,
        notes=() if tables.strangers is not None else (WITHOUT,),
    )
