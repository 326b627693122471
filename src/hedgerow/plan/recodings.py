"""The recodings of a plan other than trees of groups: column maps, maskings, randomized response, Anatomy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ..errors import UnsupportedError
from ..hierarchy import TOP
from ..notation import Cell
from .fields import PRIVATE
from .records import LEFT_OUT, MAPPED, RANDOM, Contradiction, PlanColumn, Recoding

Released = str | float | None


@dataclass(frozen=True)
class ColumnMap(PlanColumn):
    """A map from each value of one column to its released value.

    A number or date (in its unit since 1970) falls into one of the half-open
    intervals ``(-inf, cuts[0]), [cuts[0], cuts[1]), ..., [cuts[-1], inf)``, so
    there is one label more than there are cuts. A category has the label at its
    place in `categories`; a category that is not there becomes `default`. A number or
    date whose map has `categories` is mapped by its text (a hierarchy of values).

    Parameters
    ----------
    cuts : tuple of float
        Strictly increasing; empty for categories (and for a number with one label).
    categories : tuple of str
        The categories that the map knows; empty for numbers and dates.
    labels : tuple of str, float or None
        The released values, one per interval or per category. None is a missing cell.
    default : str, float or None
        The released value of an unknown category.
    missing : str, float or None
        The released value of a missing value; None leaves it missing.
    """

    relation: ClassVar[str] = MAPPED

    cuts: tuple[float, ...] = field(default=(), metadata=PRIVATE)
    categories: tuple[str, ...] = field(default=(), metadata=PRIVATE)
    labels: tuple[Released, ...] = field(default=(), metadata=PRIVATE)
    default: Released = TOP
    missing: Released = None

    @property
    def is_number(self) -> bool:
        """Return whether the map has intervals of numbers (True) or categories (False)."""
        return self.kind in ("numeric", "date") and not self.categories

    @property
    def meanings(self) -> tuple[Cell, ...]:
        """Return a Cell for each released text, with the original values that it stands for."""
        slots: dict[Released, list[int]] = {}
        for i, label in enumerate(self.labels):
            slots.setdefault(label, []).append(i)
        texts = {label for label in (*slots, self.missing) if isinstance(label, str)}
        return tuple(self._meaning(label, slots.get(label, [])) for label in sorted(texts))

    def _meaning(self, label: str, at: list[int]) -> Cell:
        lo = hi = None
        categories: tuple[str, ...] = ()
        if self.is_number and at:
            ends = (-math.inf, *self.cuts, math.inf)
            # Intervals are half-open: the largest number of one is the last below its upper cut.
            lo, hi = ends[at[0]], math.nextafter(ends[at[-1] + 1], -math.inf)
        else:
            categories = tuple(self.categories[i] for i in at)
        return Cell(label, lo, hi, categories, missing=self.missing == label, anything=label == TOP)

    def check(self) -> None:
        """Raise Contradiction if the fields contradict each other."""
        if len(self.labels) != (len(self.cuts) + 1 if self.is_number else len(self.categories)):
            raise Contradiction("a column map has as many labels as intervals or categories")
        # `not a < b` refuses NaN as well, for which `a >= b` is false.
        if any(not a < b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise Contradiction("the cuts of a column map do not increase")
        if len(set(self.categories)) != len(self.categories):
            raise Contradiction("a column map holds a category twice")
        if self.kind == "numeric":
            try:
                list(map(float, self.categories))
            except ValueError:
                raise Contradiction("a category of a numeric column is no number") from None


@dataclass(frozen=True)
class Maps(Recoding):
    """Full-domain recoding: one map per column, and the classes whose rows are suppressed.

    Parameters
    ----------
    columns : tuple of ColumnMap
        The recoded columns, in table order.
    suppressed : tuple of tuple
        Released keys (one label per column) of classes that are too small: rows
        that would get one of them get `suppress_label` in every recoded column.
    """

    kind: ClassVar[str] = "maps"
    complete: ClassVar[bool] = True

    columns: tuple[ColumnMap, ...]
    suppressed: tuple[tuple[Released, ...], ...] = field(default=(), metadata=PRIVATE)
    suppress_label: str = TOP

    def check(self) -> None:
        """Raise Contradiction if the fields contradict each other."""
        if any(len(key) != len(self.columns) for key in self.suppressed):
            raise Contradiction("a suppressed class does not name every column")

    def meanings(self) -> Mapping[str, tuple[Cell, ...]]:
        """Return, for each column, a Cell for each released text."""
        return {column.name: column.meanings for column in self.columns}


@dataclass(frozen=True)
class MaskedColumn(PlanColumn):
    """The outcome of masking one column, as shares of its cells (0 to 1), without any person's value.

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
    def is_unchanged(self) -> bool:
        """Return whether every cell was released unchanged."""
        return self.unchanged >= 1


@dataclass(frozen=True)
class Mask(Recoding):
    """A masking method, with its outcome for each column.

    The masking depends on the whole table (ranks, groups, noise), so this record says
    what was done, but it cannot be applied to other people.

    Parameters
    ----------
    method : str
        A short description of the method.
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
    facts: Mapping[str, object]
    judged_by: str = "linkage"

    @property
    def most_changed(self) -> str:
        """Return the phrase that reports put before the most changed column; it names the method."""
        words, _, name = self.method.partition(" (")
        return f"changed most by {name.rstrip(')') or words}"

    @property
    def risk_model(self) -> str:
        """Return the risk model, "linkage" or "classes"; see `Recoding`."""
        return self.judged_by

    def relations(self) -> Mapping[str, str]:
        """Return, for each column, LEFT_OUT if the method only leaves cells out, otherwise RANDOM."""
        relation = LEFT_OUT if self.judged_by == "classes" else RANDOM
        return {column.name: relation for column in self.columns}

    def refuse(self) -> UnsupportedError:
        """Return the error that `apply` raises, because no masking can be applied to other people's records."""
        return UnsupportedError(
            f"{self.method} cannot be applied from a plan: each released value depends on the whole table",
            hint="run the method on the new table instead",
        )


# share of changed cells below which a column is randomized in name only
RARE = 0.001


@dataclass(frozen=True)
class Randomized(PlanColumn):
    """A randomized column, which is public because nobody can use the release without it.

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
        """Return the number of categories."""
        return len(self.categories)

    @property
    def t(self) -> float:
        """Return the probability that a value is kept without a draw from all categories: (d p - 1)/(d - 1)."""
        return (self.d * self.p - 1) / (self.d - 1) if self.d > 1 else 1.0

    @property
    def epsilon(self) -> float:
        """Return the column's local privacy guarantee ln(p (d - 1)/(1 - p)); infinite if every value stays."""
        return math.inf if self.p >= 1 or self.d < 2 else math.log(self.p * (self.d - 1) / (1 - self.p))

    @property
    def is_unchanged(self) -> bool:
        """Return whether every cell is certain to be released unchanged."""
        return self.p >= 1 and self.d > 1

    @property
    def in_name_only(self) -> bool:
        """Return whether fewer than one in a thousand cells is expected to change."""
        return 1 - self.p < RARE and self.d > 1

    def check(self) -> None:
        """Raise Contradiction if the fields contradict each other."""
        values = [c for c in self.categories if c is not None]
        if len(set(self.categories)) != self.d or (None in self.categories[:-1]):
            raise Contradiction("a randomized column holds a category twice")
        if self.kind not in ("numeric", "date") and not all(isinstance(c, str) for c in values):
            raise Contradiction("a category is no text")
        if len({isinstance(c, str) for c in values}) > 1:
            raise Contradiction("the categories are numbers or texts")
        if self.kind in ("numeric", "date") and len(self.cuts) != max(len(values) - 1, 0):
            raise Contradiction("a randomized column has one category more than it has cuts")
        # With one category p is 1, which is 1/d: the open bound is for two and more.
        if not (self.d > 0 and 1 / self.d < self.p + (self.d == 1) and self.p <= 1):
            raise Contradiction("p lies in (1/d, 1]")


@dataclass(frozen=True)
class Randomize(Recoding):
    """Randomized response by column, with random draws that depend on (key, row id, column).

    Parameters
    ----------
    columns : tuple of Randomized
    row_id : str or None
        The column of row ids; None identifies each row by its content.
    bound : str
        The kind of risk that was capped: "paper" (Guo, Ying & Wu 2010, Result 1) or "operational".
    risk, success, unprotected : float
        On the table the plan was fitted on: the largest paper risk, the largest
        operational success, the share of records above the requested cap.
    """

    kind: ClassVar[str] = "randomize"
    draws: ClassVar[bool] = True
    # released cells may be false, so classes of equal cells mean nothing
    risk_model: ClassVar[str] = "linkage"
    most_changed: ClassVar[str] = "randomized most"

    columns: tuple[Randomized, ...]
    row_id: str | None = None
    bound: str = "paper"
    risk: float = field(default=math.nan, metadata=PRIVATE)
    success: float = field(default=math.nan, metadata=PRIVATE)
    unprotected: float = field(default=math.nan, metadata=PRIVATE)


@dataclass(frozen=True)
class Anatomize(Recoding):
    """Anatomy: a group number replaces the sensitive value, and a second table lists each group's values.

    Parameters
    ----------
    sensitive : str
        The column.
    l : float
        The promise: each sensitive value has at most the share 1/l of every group.
    groups : int
        Number of groups.
    """

    kind: ClassVar[str] = "anatomy"
    applies: ClassVar[bool] = False
    second_file: ClassVar[str] = "sensitive"

    sensitive: str
    l: float
    groups: int

    def relations(self) -> Mapping[str, str]:
        """Return RANDOM for the sensitive column, whose values are replaced by group numbers."""
        return {self.sensitive: RANDOM}
