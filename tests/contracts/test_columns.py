"""Every type, state and role of a column, from every kind of input: no raw error, no change without a word."""

from __future__ import annotations

import pytest

from .columns import ROLES, STATES, check

# why a column may be refused
REASONS = ("is constant: there is nothing to infer", "is wholly missing")


@pytest.mark.parametrize("own", [False, True], ids=["common", "own"])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("state", STATES)
def test_nothing_changes_without_a_word(state: str, role: str, own: bool) -> None:
    faults, refused = check(state, role, own)
    assert faults == []
    messages = [message for by_column in refused.values() for message in by_column.values()]
    assert all(any(reason in message for reason in REASONS) for message in messages)
    # what is refused of one input is refused of all
    assert len({tuple(by_column) for by_column in refused.values()}) == 1
