"""Randomized response as a plan: which values, how often kept. The key is never here."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from .codec import register
from .fields import PRIVATE
from .records import RANDOM, Contradiction, PlanColumn, Recoding

RARE = 0.001
"""Share of changed cells below which a column is randomized in name only."""


@dataclass(frozen=True)
class Randomized(PlanColumn):
    """A randomized column: public, because nobody can use the release without it.

    Parameters
    ----------
    categories : tuple of str, float or None
        The released values, in the order that the draws count them; None is missing.
    p : float
        Probability that a value is kept, in (1/d, 1]; else each other category is
        drawn with probability (1 - p)/(d - 1).
    cuts : tuple of float
        For numbers and dates: values in the half-open interval i have the category i.
    """

    relation: ClassVar[str] = RANDOM

    categories: tuple[str | float | None, ...] = ()
    p: float = 1.0
    cuts: tuple[float, ...] = ()

    @property
    def d(self) -> int:
        """Number of categories."""
        return len(self.categories)

    @property
    def t(self) -> float:
        """The probability of keeping without a draw from all: (d p - 1)/(d - 1)."""
        return (self.d * self.p - 1) / (self.d - 1) if self.d > 1 else 1.0

    @property
    def epsilon(self) -> float:
        """Local guarantee ln(p (d - 1)/(1 - p)); infinite where the value is always kept."""
        if self.p >= 1 or self.d < 2:
            return math.inf
        return math.log(self.p * (self.d - 1) / (1 - self.p))

    @property
    def kept(self) -> bool:
        """Whether every cell is certain to be released as it was."""
        return self.p >= 1 and self.d > 1

    @property
    def in_name_only(self) -> bool:
        """Return whether fewer than one cell in a thousand is expected to change."""
        return 1 - self.p < RARE and self.d > 1

    def check(self) -> None:
        """Raise Contradiction when the fields contradict each other."""
        known = [c for c in self.categories if c is not None]
        if len(set(self.categories)) != self.d or (None in self.categories[:-1]):
            raise Contradiction("a randomized column holds a category twice")
        if self.kind not in ("numeric", "date") and not all(isinstance(c, str) for c in known):
            raise Contradiction("a category is no text")
        if len({isinstance(c, str) for c in known}) > 1:
            raise Contradiction("the categories are numbers or texts")
        if self.kind in ("numeric", "date") and len(self.cuts) != max(len(known) - 1, 0):
            raise Contradiction("a randomized column has one category more than it has cuts")
        if not (self.d > 0 and 1 / self.d < self.p + (self.d == 1) and self.p <= 1):
            raise Contradiction("p lies in (1/d, 1]")


@register
@dataclass(frozen=True)
class Randomize(Recoding):
    """Randomized response, column by column, with draws keyed per (key, row id, column).

    Parameters
    ----------
    columns : tuple of Randomized
    row_id : str or None
        The column of row ids; None numbers the rows by position.
    bound : str
        What was capped: "paper" (Result 1) or "operational".
    risk, success, unprotected : float
        On the table the plan was fitted on: the largest paper risk, the largest
        operational success, the share of records above the requested cap.
    """

    kind: ClassVar[str] = "randomize"
    draws: ClassVar[bool] = True

    columns: tuple[Randomized, ...]
    row_id: str | None = None
    bound: str = "paper"
    risk: float = field(default=math.nan, metadata=PRIVATE)
    success: float = field(default=math.nan, metadata=PRIVATE)
    unprotected: float = field(default=math.nan, metadata=PRIVATE)

    def recoded(self) -> tuple[PlanColumn, ...]:
        """The columns that are recoded, with their kinds in the original table."""
        return self.columns

    @property
    def most(self) -> str:
        """Its columns are randomized, not coarsened."""
        return "randomized most"

    @property
    def yardstick(self) -> str:
        """A released cell may be false, so classes of equal cells say nothing."""
        return "linkage"
