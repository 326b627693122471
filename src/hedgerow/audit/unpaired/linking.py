"""Linking without pairs: does the best match know the rest of a person, does it join two files?"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...measures import FloatArray, IntArray, group
from ..intervals import area, attack_record, rate_of
from ..record_distance import NEAR
from .matches import Matches, halves, match
from .unpaired_tables import Apart

WARNING = (
    "How near released records lie is no measure of what they give away: records that lie far "
    "from everybody can tell who took part, and near ones may be what everybody is like. Read "
    "the attacks, not this distance."
)


def linking(
    tables: Apart, *, people: int = 500, random_state: int = 0
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Match people with released records: the attacks, and how near the records lie.

    "best match": the intruder takes the released record nearest to what is known of a person,
    ties shared, and succeeds when it has the person's sensitive values too. "two files": half
    of the known columns stand in one file and half in another; a person whose two halves are
    nearest to the same t released records is linked with a chance of 1/t. Both are asked of
    strangers as well.

    Parameters
    ----------
    tables : Apart
        The tables.
    people : int
        How many members, and how many strangers, are matched.
    random_state : int
        Whom.

    Returns
    -------
    list of dict
        The attacks.
    dict
        How near the nearest records lie, beside `WARNING`.
    """
    rows = tables.members.some(people, random_state)
    mine = match(tables, tables.members, rows)
    theirs = None
    if tables.strangers is not None:
        theirs = match(tables, tables.strangers, tables.strangers.some(people, random_state))
    out = []
    if tables.sensitive_cells:
        out.append(_best(tables, mine, theirs, rows))
    if halves(tables)[1]:
        success, control = rate_of(mine.joined), None if theirs is None else rate_of(theirs.joined)
        one, alike = 1 / tables.n_rows, tables.unchanged.classes
        out.append(
            attack_record(
                "linking",
                learner="two files",
                target="both halves",
                means="the person's two halves lead to one released record, ties shared",
                success=success,
                control=control,
                original=rate_of(1 / alike.sizes[alike.labels[rows]]),
                public_guess=one,
                public_best=one,
                random_row=one,
            )
        )
    return out, _near(mine, theirs)


def _best(tables: Apart, mine: Matches, theirs: Matches | None, rows: IntArray) -> dict[str, Any]:
    """The nearest record, and whether its sensitive values are the person's."""
    people = tables.members
    alike = tables.unchanged.classes
    same = group([alike.labels, *(c.codes for c in people.sensitive)])
    original = same.sizes[same.labels[rows]] / alike.sizes[alike.labels[rows]]
    shown = group([c.codes for c in tables.sensitive_cells])
    commonest = float(shown.sizes.max()) / tables.n_rows
    return attack_record(
        "linking",
        learner="best match",
        target="own record",
        means="the nearest released record has all sensitive values of the person",
        success=rate_of(mine.own),
        control=None if theirs is None else rate_of(theirs.own),
        original=rate_of(original),
        public_guess=commonest,
        public_best=commonest,
        random_row=float(mine.chance.mean()),
    )


def _near(mine: Matches, theirs: Matches | None) -> dict[str, Any]:
    """Distances of the nearest record, and how often a member's is the smaller one."""
    closer, interval = None, None
    if theirs is not None:
        near, far = (-np.round(d / NEAR) for d in (mine.nearest, theirs.nearest))
        nearer = area([(near, far)])
        closer, interval = nearer.value, nearer.interval
    return {
        "members": _quantiles(mine.nearest),
        "strangers": None if theirs is None else _quantiles(theirs.nearest),
        "closer": closer,
        "interval": interval,
        "warning": WARNING,
    }


def _quantiles(distances: FloatArray) -> dict[str, float]:
    return {
        "closest_tenth": float(np.quantile(distances, 0.1)),
        "median": float(np.median(distances)),
        "none": float((distances <= NEAR).mean()),
    }
