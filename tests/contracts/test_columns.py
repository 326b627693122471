"""Every type, state and role of a column, from every kind of input: no raw error, no change without a word."""

from __future__ import annotations

import pytest

from .columns import ROLES, STATES, check


@pytest.mark.parametrize("own", [False, True], ids=["common", "own"])
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("state", STATES)
def test_nothing_changes_without_a_word(state: str, role: str, own: bool) -> None:
    faults, refused = check(state, role, own)
    assert faults == []
    messages = [message for by_column in refused.values() for message in by_column.values()]
    # nothing can be known of people by what nobody has
    assert bool(messages) == ((state, role) == ("empty", "quasi"))
    assert all("is wholly missing" in message for message in messages)
    # what is refused of one input is refused of all
    assert len({tuple(by_column) for by_column in refused.values()}) == 1
