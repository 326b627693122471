"""Recoding column by column: every value has one released value, whatever its row."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..errors import UnsupportedError
from ..hierarchy import TOP
from ..notation import Cell, moment, number
from .codec import register
from .records import PRIVATE, PlanColumn, Recoding

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

    Examples
    --------
    >>> age = ColumnMap("age", "quasi", "numeric", cuts=(30.0, 60.0),
    ...                 labels=("-29", "30-59", "60-"))
    >>> age.released(30.0), age.released(29.5), age.released(None)
    ('30-59', '-29', None)
    """

    cuts: tuple[float, ...] = field(default=(), metadata=PRIVATE)
    categories: tuple[str, ...] = field(default=(), metadata=PRIVATE)
    labels: tuple[Released, ...] = field(default=(), metadata=PRIVATE)
    default: Released = TOP
    missing: Released = None

    @property
    def is_number(self) -> bool:
        """Whether intervals (True) or categories (False) are mapped."""
        return self.kind in ("numeric", "date") and not self.categories

    def released(self, value: float | str | None) -> Released:
        """The released value of one original value; None is missing."""
        if value is None or value != value:
            return self.missing
        if self.is_number:
            return self.labels[bisect.bisect_right(self.cuts, float(value))]
        text = value if isinstance(value, str) else _text(value, self.unit)
        known = dict(zip(self.categories, self.labels, strict=True))
        return known.get(text, self.default)

    @property
    def meanings(self) -> tuple[Cell, ...]:
        """What each released text stands for: every value that becomes it."""
        texts = {label for label in (*self.labels, self.missing) if isinstance(label, str)}
        return tuple(self._meaning(label) for label in sorted(texts))

    def _meaning(self, label: str) -> Cell:
        at = [i for i, other in enumerate(self.labels) if other == label]
        lo = hi = None
        categories: tuple[str, ...] = ()
        if self.is_number and at:
            ends = (-math.inf, *self.cuts, math.inf)
            lo, hi = ends[at[0]], math.nextafter(ends[at[-1] + 1], -math.inf)
        else:
            categories = tuple(self.categories[i] for i in at)
        return Cell(label, lo, hi, categories, missing=self.missing == label, anything=label == TOP)

    def check(self) -> None:
        """Raise ValueError when the fields contradict each other."""
        slots = len(self.cuts) + 1 if self.is_number else len(self.categories)
        if len(self.labels) != slots:
            raise ValueError("a column map has as many labels as intervals or categories")
        if any(not a < b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise ValueError("the cuts of a column map do not increase")
        if len(set(self.categories)) != len(self.categories):
            raise ValueError("a column map holds a category twice")

    def sql(self, identifier: Callable[[str], str]) -> str:
        """The released value as an SQL expression (DuckDB's dialect)."""
        name = identifier(self.name)
        other = () if self.is_number else (self.default,)
        words = any(isinstance(label, str) for label in (*self.labels, *other, self.missing))
        if self.kind == "numeric":
            value = f"NULLIF(CAST({name} AS DOUBLE), CAST('NaN' AS DOUBLE))"
        elif self.is_number:
            value = f"CAST({name} AS {'DATE' if self.unit == 'day' else 'TIMESTAMP'})"
        else:
            value = f"CAST({name} AS VARCHAR)"
        parts = [f"WHEN {value} IS NULL THEN {_literal(self.missing, words)}"]
        if self.is_number:
            for cut, label in zip(self.cuts, self.labels, strict=False):
                parts.append(f"WHEN {value} < {self._bound(cut)} THEN {_literal(label, words)}")
            last = self.labels[-1]
        else:
            for category, label in zip(self.categories, self.labels, strict=True):
                key = _double(float(category)) if self.kind == "numeric" else _quoted(category)
                parts.append(f"WHEN {value} = {key} THEN {_literal(label, words)}")
            last = self.default
        return f"CASE {' '.join(parts)} ELSE {_literal(last, words)} END"

    def _bound(self, cut: float) -> str:
        if self.kind == "numeric":
            return _double(cut)
        # Whole days and microseconds: x < t is x < ceil(t).
        written = moment(math.ceil(cut), self.unit).replace("T", " ")
        return f"{'DATE' if self.unit == 'day' else 'TIMESTAMP'} {_quoted(written)}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "name": self.name,
            "role": self.role,
            "kind": self.kind,
            "unit": self.unit,
            "cuts": self.cuts,
            "categories": self.categories,
            "labels": self.labels,
            "default": self.default,
            "missing": self.missing,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ColumnMap:
        """The record of plain JSON data."""
        made = cls(
            data["name"],
            data["role"],
            data["kind"],
            data["unit"],
            tuple(float(c) for c in data["cuts"]),
            tuple(data["categories"]),
            tuple(data["labels"]),
            data["default"],
            data["missing"],
        )
        made.check()
        return made


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _double(value: float) -> str:
    written = repr(float(value))
    return written if "e" in written else written + "e0"


def _literal(label: Released, words: bool) -> str:
    if label is None:
        return f"CAST(NULL AS {'VARCHAR' if words else 'DOUBLE'})"
    if words:
        return _quoted(label if isinstance(label, str) else number(label))
    return _double(float(label))


def _text(value: float, unit: str) -> str:
    return moment(value, unit) if unit else number(value)


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

    columns: tuple[ColumnMap, ...]
    suppressed: tuple[tuple[Released, ...], ...] = field(default=(), metadata=PRIVATE)
    suppress_label: str = TOP

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {
            "columns": [c.to_json() for c in self.columns],
            "suppressed": [list(key) for key in self.suppressed],
            "suppress_label": self.suppress_label,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Maps:
        """The record of plain JSON data."""
        made = cls(
            tuple(ColumnMap.from_json(c) for c in data["columns"]),
            tuple(tuple(key) for key in data["suppressed"]),
            data["suppress_label"],
        )
        made.check()
        return made

    def check(self) -> None:
        """Raise ValueError when the fields contradict each other."""
        for column in self.columns:
            column.check()
        if any(len(key) != len(self.columns) for key in self.suppressed):
            raise ValueError("a suppressed class does not name every column")

    def recoded(self) -> tuple[PlanColumn, ...]:
        """The columns that are recoded, with their kinds in the original table."""
        return self.columns

    def meanings(self) -> Mapping[str, tuple[Cell, ...]]:
        """What each released text stands for, by column."""
        return {column.name: column.meanings for column in self.columns}

    def sql_columns(self, identifier: Callable[[str], str]) -> dict[str, str]:
        """The SQL expression of every recoded column.

        Raises
        ------
        UnsupportedError
            Classes are suppressed, which no column decides by itself.
        """
        if self.suppressed:
            raise UnsupportedError(
                "a plan that suppresses small classes cannot be written as SQL",
                hint="apply it with `Plan.apply`, or fit it with suppression=0",
            )
        return {column.name: column.sql(identifier) for column in self.columns}

    def recode(self, rows: Sequence[Sequence[float | str | None]]) -> list[tuple[Released, ...]]:
        """The released rows, by the definition (engines do the same by columns)."""
        hidden = set(self.suppressed)
        out = []
        for row in rows:
            key = tuple(c.released(v) for c, v in zip(self.columns, row, strict=True))
            out.append((self.suppress_label,) * len(key) if key in hidden else key)
        return out

    def explain(self) -> str:
        """The recoding in words."""
        lines = []
        for column in self.columns:
            what = "intervals" if column.is_number else "categories"
            distinct = len(set(column.labels))
            lines.append(
                f"{column.name}: {len(column.labels):,} {what} become {distinct:,} released values"
            )
        if self.suppressed:
            lines.append(
                f"rows of {len(self.suppressed):,} small classes are released "
                f"as {self.suppress_label!r} in every column above"
            )
        return "\n".join(lines)
