"""Recoding column by column: every value has one released value, whatever its row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from ..hierarchy import TOP
from ..notation import Cell
from .codec import register
from .fields import PRIVATE
from .records import MAPPED, Contradiction, PlanColumn, Recoding

Released = str | float | None


@dataclass(frozen=True)
class ColumnMap(PlanColumn):
    """What each value of one column becomes.

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
        What an unknown category becomes.
    missing : str, float or None
        What a missing value becomes; None leaves it missing.
    """

    relation: ClassVar[str] = MAPPED

    cuts: tuple[float, ...] = field(default=(), metadata=PRIVATE)
    categories: tuple[str, ...] = field(default=(), metadata=PRIVATE)
    labels: tuple[Released, ...] = field(default=(), metadata=PRIVATE)
    default: Released = TOP
    missing: Released = None

    @property
    def is_number(self) -> bool:
        """Whether intervals (True) or categories (False) are mapped."""
        return self.kind in ("numeric", "date") and not self.categories

    @property
    def meanings(self) -> tuple[Cell, ...]:
        """What each released text stands for: every value that becomes it."""
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
            lo, hi = ends[at[0]], math.nextafter(ends[at[-1] + 1], -math.inf)
        else:
            categories = tuple(self.categories[i] for i in at)
        return Cell(label, lo, hi, categories, missing=self.missing == label, anything=label == TOP)

    def check(self) -> None:
        """Raise Contradiction when the fields contradict each other."""
        slots = len(self.cuts) + 1 if self.is_number else len(self.categories)
        if len(self.labels) != slots:
            raise Contradiction("a column map has as many labels as intervals or categories")
        if any(not a < b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise Contradiction("the cuts of a column map do not increase")
        if len(set(self.categories)) != len(self.categories):
            raise Contradiction("a column map holds a category twice")
        if self.kind == "numeric":
            try:
                list(map(float, self.categories))
            except ValueError:
                raise Contradiction("a category of a numeric column is no number") from None


@register
@dataclass(frozen=True)
class Maps(Recoding):
    """Full-domain recoding: one map per column, and classes whose rows are suppressed.

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
        """Raise Contradiction when the fields contradict each other."""
        if any(len(key) != len(self.columns) for key in self.suppressed):
            raise Contradiction("a suppressed class does not name every column")

    def recoded(self) -> tuple[PlanColumn, ...]:
        """The columns that are recoded, with their kinds in the original table."""
        return self.columns

    def meanings(self) -> Mapping[str, tuple[Cell, ...]]:
        """What each released text stands for, by column."""
        return {column.name: column.meanings for column in self.columns}
