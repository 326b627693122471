"""Membership where rows are not paired: was this person among those it was made from?"""

from __future__ import annotations

from typing import Any

from ..attacks.membership import membership_records, told_apart
from ..pairing import by_name
from ..released_values import unchanged
from .unpaired_tables import Apart


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
    strangers = tables.strangers
    if strangers is None:
        return []
    if progress:
        progress("membership by the quasi-identifiers and by the whole record")
    shown = by_name(tables.released_quasi), by_name(tables.sensitive_cells)
    known = [*shown[0], *shown[1]]
    mine = tables.members.known(known, tables.members.some(people, random_state))
    theirs = strangers.known(known, strangers.canonical)
    before = [[unchanged(column.original) for column in part] for part in shown]
    # nothing shows which of the released numbers are somebody's: all may have been altered
    altered = [c.name for c in tables.sensitive if c.is_number and tables.groups is None]
    found, original = (
        told_apart(cells[0], cells[1], mine, theirs, people, random_state, altered, groups)
        for cells, groups in ((shown, tables.groups), (before, None))
    )
    return membership_records(
        *({attack: [scores] for attack, scores in each.items()} for each in (found, original))
    )
