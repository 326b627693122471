"""Anatomy as a plan: nothing is recoded, the sensitive column moves to a table of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from .codec import register
from .records import RANDOM, Recoding


@register
@dataclass(frozen=True)
class Anatomize(Recoding):
    """The sensitive column is replaced by a group number; values per group stand apart.

    Parameters
    ----------
    sensitive : str
        The column.
    l : float
        In every group each sensitive value has at most the share 1/l.
    groups : int
        Number of groups.
    """

    kind: ClassVar[str] = "anatomy"
    applies: ClassVar[bool] = False
    beside: ClassVar[str] = "sensitive"

    sensitive: str
    l: float
    groups: int

    def relations(self) -> Mapping[str, str]:
        """A number in place of the sensitive value."""
        return {self.sensitive: RANDOM}
