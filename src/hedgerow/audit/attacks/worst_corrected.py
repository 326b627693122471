"""How much the worst group gives away where a learner corrects what the group says of each member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...columns.column import Column
from ...measures import FloatArray, IntArray
from ...measures.disclosure import SLACK
from ...measures.proper_scores import Public
from ...notation import figure
from .group_learners import corrected, sums_of
from .learners import CORRECTING, Lesson

SHUFFLES = 20
"""Times that corrections are shuffled inside their groups, for what chance does."""


def worst_corrected(
    lesson: Lesson, own: Column, members: IntArray, cap: float | None, random_state: int
) -> dict[str, Any] | None:
    """Measure every group with its members' forecasts corrected, by the score and floor of the cap.

    A group's disclosure is what its forecasts take off the public loss of its records, each at
    least a quarter of the average: squared error of numbers, Brier score of categories, ranked
    score of ordinal ones. The largest of many small groups is large by chance: the same corrections
    are shuffled among the members of each group, which leaves chance and takes what they know.

    Parameters
    ----------
    lesson : Lesson
        With `everybody`.
    own : Column
        The sensitive column, one code a released row.
    members : int array
        Released rows of people; their groups are measured.
    cap : float, optional
        The cap on groups; by default the most that one of them gives away uncorrected.
    random_state : int
        Shuffles.

    Returns
    -------
    dict, optional
        ``score``, ``learner``; ``groups`` measured ``of`` all; the ``worst`` disclosure, the
        ``records`` of that group and its disclosure by its values alone (``uncorrected``);
        ``cap``, and groups and people ``above`` it, or above ``limit`` where there is none;
        ``shuffled``: the mean of the worst, and of groups and people above. None where nothing
        is known of any group.
    """
    cells = lesson.cells
    assert cells is not None
    at = cells.of_row[members]
    groups = np.unique(cells.group_of[at[at >= 0]])
    name, vectors = _score(own)
    counts = own.counts()[: own.n_values]
    if not len(groups) or not counts.any():
        return None
    public = counts @ vectors / counts.sum()
    loss = ((vectors - public) ** 2).sum(axis=1)
    floored = np.maximum(loss, loss @ counts / counts.sum() / 4)
    shares = lesson.of_published(groups)
    rng = np.random.default_rng(random_state)
    gains, against, sizes = np.zeros((2 + SHUFFLES, len(groups))), *np.zeros((2, len(groups)))
    for places, rows, forecast in lesson.corrections(groups, random_state):
        rows_in = np.bincount(places, minlength=len(groups))
        means = sums_of(places, forecast, len(groups)) / np.maximum(rows_in, 1)[:, None]
        change = forecast - means[places]
        code = own.codes[rows].astype(np.int64)
        known = code < own.n_values
        code, inside = code[known], places[known]
        sizes += np.bincount(inside, minlength=len(groups))
        against += np.bincount(inside, floored[code], len(groups))
        for i in range(2 + SHUFFLES):
            if i > 1:
                change = change[np.lexsort((rng.random(len(places)), places))]
            made = corrected(shares[places], change * (i > 0), own.is_number)[known]
            away = vectors[code] - (made if own.is_number else made[:, :-1] @ vectors)
            gains[i] += np.bincount(inside, loss[code] - (away**2).sum(axis=1), len(groups))
    told = np.divide(gains, against, out=np.zeros_like(gains), where=against > 0)
    limit = float(told[0].max()) if cap is None else cap
    above, worst = told > limit + SLACK, int(told[1].argmax())
    people = above @ sizes
    return {
        "score": name,
        "learner": CORRECTING[own.is_number],
        "groups": len(groups),
        "of": cells.groups.n_groups,
        "worst": float(told[1, worst]),
        "records": int(sizes[worst]),
        "uncorrected": float(told[0, worst]),
        "cap": cap,
        "limit": limit,
        "above": {"groups": int(above[1].sum()), "people": int(people[1])},
        "shuffled": {
            "worst": float(told[2:].max(axis=1).mean()),
            "groups": float(above[2:].sum(axis=1).mean()),
            "people": float(people[2:].mean()),
        },
        "people": int(sizes.sum()),
    }


def _score(own: Column) -> tuple[str, FloatArray]:
    """The score that looks at the values themselves, and the vector of each value."""
    if own.is_number:
        return "squared", np.asarray(own.by_code[: own.n_values], np.float64)[:, None]
    if own.kind == "ordinal":
        cuts = Public.of(own.value_counts).cuts
        return "ranked", (np.arange(own.n_values)[:, None] <= cuts).astype(np.float64)
    return "Brier", np.eye(own.n_values)


def corrected_in_words(name: str, column: Mapping[str, Any]) -> Iterator[str]:
    """Say what the worst corrected group of a column gives away beside chance, where it was measured."""
    found = column.get("corrected")
    if found is None:
        return
    above, chance = found["above"], found["shuffled"]
    limit = "the cap of" if found["cap"] is not None else "the worst group without them,"
    yield (
        f"{name}: with a learner's forecasts of each member ({found['learner']}) the worst group, of "
        f"{found['records']:,} records, gives away {figure(found['worst'])} ({figure(found['uncorrected'])} "
        f"without them; {figure(chance['worst'])} in the worst where they are shuffled inside groups). "
        f"{above['groups']:,} of {found['groups']:,} groups ({above['people']:,} of "
        f"{found['people']:,} people) lie above {limit} {figure(found['limit'])}; shuffled, "
        f"{chance['groups']:.1f} ({chance['people']:,.0f})."
    )
