"""Column maps by their definition: value after value, row after row."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from hedgerow.notation import moment, number
from hedgerow.plan import ColumnMap, Maps
from hedgerow.plan.recodings import Released


def mapped(column: ColumnMap, value: float | str | None) -> Released:
    """The released value of one original value; None is missing.

    Examples
    --------
    >>> age = ColumnMap("age", "quasi", "numeric", cuts=(30.0, 60.0),
    ...                 labels=("-29", "30-59", "60-"))
    >>> mapped(age, 30.0), mapped(age, 29.5), mapped(age, None)
    ('30-59', '-29', None)
    """
    if value is None or value != value:
        return column.missing
    if column.is_number:
        return column.labels[bisect.bisect_right(column.cuts, float(value))]
    if not isinstance(value, str):
        value = moment(value, column.unit) if column.unit else number(value)
    known = dict(zip(column.categories, column.labels, strict=True))
    return known.get(value, column.default)


def mapped_rows(maps: Maps, rows: Sequence[Sequence[float | str | None]]) -> list[tuple[Released, ...]]:
    """The released rows of column maps; rows of suppressed classes are hidden."""
    hidden = set(maps.suppressed)
    out = []
    for row in rows:
        key = tuple(mapped(c, v) for c, v in zip(maps.columns, row, strict=True))
        out.append((maps.suppress_label,) * len(key) if key in hidden else key)
    return out
