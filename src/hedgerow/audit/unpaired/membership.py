"""Membership where rows are not paired: was this person among those it was made from?"""

from __future__ import annotations

from typing import Any

from ..pairing import by_name
from ..released_values import unchanged
from ..risk.membership import KNOWS, membership_record, told_apart
from .tables import Apart


def membership(
    tables: Apart, *, people: int = 500, random_state: int = 0, progress: Any = None
) -> list[dict[str, Any]]:
    """The attacks of `risk.membership`; nothing where nobody took no part.

    Parameters
    ----------
    tables : Apart
        The tables; strangers are its control.
    people, random_state, progress
        As there.
    """
    strangers, out = tables.strangers, []
    if strangers is None:
        return []
    rows = tables.members.some(people, random_state)
    for knows in KNOWS if tables.sensitive_cells else KNOWS[:1]:
        if progress:
            progress(f"membership by the {knows}")
        shown = by_name(tables.released_quasi)
        if knows == KNOWS[1]:
            shown += by_name(tables.sensitive_cells)
        mine = tables.members.known(shown, rows)
        theirs = strangers.known(shown, strangers.canonical)
        before = [unchanged(column.original) for column in shown]
        found, told = (
            told_apart(cells, n, mine, theirs, people, random_state)
            for cells, n in ((shown, tables.n_rows), (before, tables.members.n_rows))
        )
        out += [
            membership_record(knows, learner, [found[learner]], [told[learner]])
            for learner in found
            if found[learner].asked
        ]
    return out
