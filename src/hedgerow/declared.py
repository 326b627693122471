"""What a schema declares of single columns: cut points of a grid, events of a number."""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

from .errors import SchemaError
from .notation import number

_SIGNS = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
}


@dataclass(frozen=True)
class Event:
    """Something that may be true of a number, such as "> 200000".

    Parameters
    ----------
    sign : {"<", "<=", ">", ">=", "="}
    bound : Decimal
        As it is written.
    """

    sign: str
    bound: Decimal

    @classmethod
    def parse(cls, column: str, text: str) -> Event:
        """Read an event; SchemaError when it is none."""
        found = re.fullmatch(r"\s*(<=|>=|<|>|=)\s*(.+?)\s*", str(text))
        try:
            bound = Decimal(found[2] if found else "nan")
            near = float(bound)
        except (ValueError, InvalidOperation):  # of no number, of a signalling NaN
            bound, near = Decimal(0), math.nan
        if not found or not math.isfinite(near) or bool(near) != bool(bound):
            raise SchemaError(
                f"an event of column {column!r} is not a sign and a number",
                hint='write for example events = {"income": ["> 200000"]}',
            )
        return cls(found[1], bound)

    def holds(self, value: Any) -> bool:
        """Whether a number has it: doubles are held against the double nearest to the bound."""
        bound = float(self.bound) if isinstance(value, float) else self.bound
        return bool(_SIGNS[self.sign](value, bound))

    @property
    def text(self) -> str:
        """The event as it is written."""
        return f"{self.sign} {number(self.bound)}"


class Points(tuple[Any, ...]):
    """The cut points of a grid, written out: numbers, or dates as ISO text."""

    __slots__ = ()


MOST_POINTS = 65_000


def points_of(name: str, given: Any) -> Points:
    """The cut points of a grid, ascending; numbers, or dates as ISO text."""
    hint = (
        'write grid={"age": (0, 85, 5)}, "0:85:5", or grid={"age": [0, 18, 25, 85]}; dates are '
        'listed: grid={"day": ["2020-01-01", "2020-07-01"]}, --grid day=2020-01-01,2020-07-01'
    )
    if isinstance(given, Points):
        return given
    if isinstance(given, str) and re.fullmatch(r"[^:]+:[^:]+:[^:]+", given):
        try:
            given = tuple(float(part) for part in given.split(":"))
        except ValueError:
            given = ""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SchemaError(f"the grid of column {name!r} is not a list of cut points", hint=hint)
    points = tuple(given)
    if isinstance(given, tuple) and len(points) == 3 and all(map(_is_number, points)):
        first, last, step = points
        if 0 < last - first < step:
            raise SchemaError(
                f"the grid of column {name!r} steps over its last point; three cut points are a list",
                hint=hint,
            )
        if step <= 0 or last < first:
            raise SchemaError(
                f"the grid of column {name!r} has no points from first to last", hint=hint
            )
        count = math.floor(min((last - first) / step, 1e18) + 1e-9)
        if count > MOST_POINTS:
            raise SchemaError(
                f"the grid of column {name!r} has {count:,} points; at most {MOST_POINTS:,} are cut at",
                hint="take a larger step",
            )
        points = tuple(first + i * step for i in range(count + 1))
        points = tuple(p if isinstance(p, int) else float(f"{p:.15g}") for p in points)
    texts = all(isinstance(p, (str, dt.date)) for p in points)
    if not points or not (texts or all(map(_is_number, points))):
        raise SchemaError(f"the grid of column {name!r} is not a list of cut points", hint=hint)
    if texts:
        points = tuple(p if isinstance(p, str) else p.isoformat() for p in points)
        try:
            moments = [dt.datetime.fromisoformat(p) for p in points]
        except ValueError:
            raise SchemaError(
                f"the grid of column {name!r} holds text that is no date", hint=hint
            ) from None
        if len({moment.tzinfo is None for moment in moments}) > 1:
            raise SchemaError(
                f"the grid of column {name!r} has points with and without a time zone", hint=hint
            )
        increasing = all(a < b for a, b in pairwise(moments))
    else:
        increasing = all(a < b for a, b in pairwise(points))
    if not increasing:
        raise SchemaError(f"the grid of column {name!r} does not increase", hint=hint)
    return Points(points)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
