"""An encoded column under another kind, order or unit: the codes change by a small table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..notation import number
from ..schema import Kind
from .column import Column
from .dates import DAY


def ordered(column: Column, kind: Kind, categories: Sequence[str]) -> Column:
    """Categories in a declared order, those that are not declared after it as they stood."""
    place = {text: i for i, text in enumerate(categories)}
    ranks = [place.get(text, len(place)) for text in column.values]
    if all(a <= b for a, b in pairwise(ranks)):
        return replace(column, kind=kind)
    order = np.argsort(ranks, kind="stable")
    table = np.empty(len(order) + 1, column.codes.dtype)
    table[order] = np.arange(len(order))
    table[-1] = len(order)
    return replace(
        column,
        kind=kind,
        codes=table[column.codes],
        values=[column.values[i] for i in order.tolist()],
    )


def as_categories(column: Column) -> Column:
    """Whole numbers or doubles as categories with the same codes.

    They stand in the order of their size in either case, and each has one text.
    """
    values = column.exact or column.values.tolist()
    texts = [repr(v) if v in (np.inf, -np.inf) else number(v) for v in values]
    return replace(column, kind="categorical", values=texts, exact=())


def in_unit(column: Column, unit: str) -> Column | None:
    """Dates in days or microseconds; None where two moments would become one."""
    if unit == column.unit:
        return column
    values = column.values * DAY if unit == "us" else column.values / DAY
    if column.exact or not (np.diff(values) > 0).all():
        return None
    return replace(column, unit=unit, values=values)
