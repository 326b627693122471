"""The steps that were taken: what each gave, what it was asked, what makes it out of date."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ParameterError

STEPS = ("open", "inspect", "today", "choose", "frontier", "protect", "measure", "write")
"""The steps of a release in their order."""

_AFTER = {
    "open": ("inspect", "today", "choose", "frontier", "protect", "measure", "write"),
    "choose": ("protect", "measure", "write"),
    "protect": ("measure", "write"),
    "measure": ("write",),
}
"""What a step that is done again makes out of date."""


class Taken:
    """What each step gave and was asked; a step that is taken again undoes those after it."""

    def __init__(self) -> None:
        self._results: dict[str, Any] = {}
        self._asked: dict[str, Mapping[str, Any]] = {}

    def __contains__(self, step: str) -> bool:
        return step in self._results

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps that are done, in their order."""
        return tuple(step for step in STEPS if step in self)

    def keep(self, step: str, result: Any, /, **asked: Any) -> Any:
        """Keep the result of a step and what it was asked."""
        for later in _AFTER.get(step, ()):
            self.undo(later)
        self._results[step] = result
        self._asked[step] = asked
        return result

    def undo(self, step: str) -> None:
        """Take a step back that may have been taken."""
        self._results.pop(step, None)
        self._asked.pop(step, None)

    def result(self, step: str) -> Any:
        """What a step gave; None where it is not done."""
        if step not in STEPS:
            raise ParameterError(f"unknown step {step!r}", hint=f"the steps are {', '.join(STEPS)}")
        return self._results.get(step)

    def needed(self, step: str, call: str) -> Any:
        """What a step gave; ParameterError with the call that takes it where it is not done."""
        found = self._results.get(step)
        if found is None:
            raise ParameterError(f"the step {step!r} is not done yet", hint=f"call {call} first")
        return found

    def asked(self, step: str) -> Mapping[str, Any]:
        """What a step was asked; nothing where it is not done."""
        return self._asked.get(step, {})
