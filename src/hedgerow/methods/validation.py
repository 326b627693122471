"""Parameters that several methods check alike."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..columns.table import Table
from ..errors import ParameterError
from ..measures import Persons
from ..schema import Schema
from ..validation import check, is_number, whole


def check_clip(clip: Any) -> None:
    """ParameterError when `clip` is neither a bool nor an increasing pair of finite numbers."""
    if isinstance(clip, bool):
        return
    pair = isinstance(clip, (tuple, list)) and len(clip) == 2 and all(map(is_number, clip))
    if not pair or not -math.inf < clip[0] < clip[1] < math.inf:
        raise ParameterError("clip must be True, False or two increasing numbers")


def check_whole(name: str, value: Any, least: int, most: float = math.inf) -> int:
    """A whole number of at least `least` and at most `most`, else ParameterError."""
    check(name, value, whole(least, most))
    return int(value)


def check_k(k: Any, table: Table, least: int = 2) -> int:
    """The size of a group, a whole number that the table has rows for, else ParameterError."""
    if check_whole("k", k, least) > table.n_rows:
        raise ParameterError(
            f"k is {k:,}, but the table has only {table.n_rows:,} rows",
            hint="ask for smaller groups",
        )
    return int(k)


def check_people(k: Any, table: Table, schema: Schema, least: int = 2) -> Persons | None:
    """`check_k`, and the people whom the schema makes k count; None where it counts records."""
    return Persons.asked(table, schema, check_k(k, table, least))


def check_named(what: str, names: Iterable[Any], schema: Schema) -> None:
    """Refuse what is said of columns that are not recoded."""
    odd = [name for name in names if name not in schema.quasi]
    if odd:
        raise ParameterError(
            f"{what} names columns that are no quasi-identifiers: {', '.join(map(repr, odd))}"
        )


def check_share(name: str, value: Any, *, zero: bool = False) -> float:
    """A number in (0, 1], or in [0, 1] with `zero`, else ParameterError."""
    if not is_number(value) or not (0 <= value <= 1) or (value == 0 and not zero):
        raise ParameterError(f"{name} must be a number from {'0' if zero else 'above 0'} to 1")
    return float(value)
