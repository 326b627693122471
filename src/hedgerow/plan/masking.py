"""Masking: what was done to the numbers of one table, which no other table can repeat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import UnsupportedError
from .codec import register
from .records import LEFT_OUT, RANDOM, PlanColumn, Recoding


@dataclass(frozen=True)
class MaskedColumn(PlanColumn):
    """What became of one column, as shares of its cells (0 to 1). No value of a person.

    Parameters
    ----------
    released : str
        Type of the released column.
    missing : float
        Missing in the original, and left so.
    unchanged : float
        Released as they were, missing ones not counted.
    outside : float
        Released outside the extent of the original column, before any clipping.
    clipped : float
        Moved back by clipping or coding.
    suppressed : float
        Made missing by the method.
    """

    released: str = ""
    missing: float = 0.0
    unchanged: float = 0.0
    outside: float = 0.0
    clipped: float = 0.0
    suppressed: float = 0.0

    @property
    def kept(self) -> bool:
        """Whether every cell was released as it was."""
        return self.unchanged >= 1


@register
@dataclass(frozen=True)
class Mask(Recoding):
    """A masking method with its outcome per column.

    The masking is a function of the whole table (ranks, groups, noise), so the
    record says what was done and cannot do it to other people.

    Parameters
    ----------
    method : str
        What was done, in a few words.
    columns : tuple of MaskedColumn
    facts : mapping of str to number or str
        Outcomes for the table as a whole, publishable.
    judged_by : {"linkage", "classes"}
        Whether cells were altered, or only left out.
    """

    kind: ClassVar[str] = "mask"
    applies: ClassVar[bool] = False

    method: str
    columns: tuple[MaskedColumn, ...]
    facts: Mapping[str, Any]
    judged_by: str = "linkage"

    @property
    def most(self) -> str:
        """The method by the name that its words have in brackets, or by its words."""
        words, _, name = self.method.partition(" (")
        return f"changed most by {name.rstrip(')') or words}"

    def recoded(self) -> tuple[PlanColumn, ...]:
        """The columns that are recoded, with their kinds in the original table."""
        return self.columns

    @property
    def yardstick(self) -> str:
        """What judges a release; see `Recoding`."""
        return self.judged_by

    def relations(self) -> Mapping[str, str]:
        """Cells that were left out are the same or missing; others are anything."""
        relation = LEFT_OUT if self.judged_by == "classes" else RANDOM
        return {column.name: relation for column in self.columns}

    def refuse(self) -> UnsupportedError:
        """The error for whoever wants to apply this to a table."""
        return UnsupportedError(
            f"{self.method} cannot be applied from a plan: each released value depends on the "
            f"whole table it was made from",
            hint="run the method on the new table instead",
        )
