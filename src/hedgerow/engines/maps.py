"""Column maps executed in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..classes import group
from ..notation import number
from ..plan.maps import ColumnMap, Maps, Released
from ..table import Table
from .base import Transformed

Ints = NDArray[np.int64]


def recode(maps: Maps, table: Table) -> Transformed:
    """The released columns: every value by its column's map, small classes suppressed."""
    found = [_places(column, table) for column in maps.columns]
    words = [_words(column, maps) for column in maps.columns]
    coded = [
        np.array([listed[label] for label in _labels(column)], dtype=np.int64)[places]
        for column, listed, places in zip(maps.columns, words, found, strict=True)
    ]
    outside = sum(
        int(np.count_nonzero(places == _unknown(column)))
        for column, places in zip(maps.columns, found, strict=True)
        if not column.is_number
    )
    hidden = _hidden(maps, words, coded)
    made = {}
    for column, listed, codes, places in zip(maps.columns, words, coded, found, strict=True):
        if maps.suppressed:
            codes = np.where(hidden, listed[maps.suppress_label], codes)
        elif _is_identity(column) and not np.any(places == _unknown(column)):
            same = _numbers(column, codes, table)
            if same is not None:
                made[column.name] = same
            continue
        made[column.name] = _moments(column, _array(list(listed), codes))
    return Transformed(made, outside)


def _labels(column: ColumnMap) -> list[Released]:
    """Every released value: of each interval or category, of the unknown, of the missing."""
    # No number is unknown, so a default does not decide the type of numbers.
    return [*column.labels, None if column.is_number else column.default, column.missing]


def _unknown(column: ColumnMap) -> int:
    return len(column.labels)


def _is_identity(column: ColumnMap) -> bool:
    return not column.is_number and column.labels == column.categories and column.missing is None


def _numbers(column: ColumnMap, codes: Ints, table: Table) -> pa.Array | None:
    """Unchanged numbers written alike (-0.0 as 0.0); None where nothing has to be written."""
    wanted = table.arrow.schema.field(column.name).type
    if not pa.types.is_floating(wanted):
        return None
    values = pa.array([*column.labels, None, None], pa.string()).cast(pa.float64()).cast(wanted)
    return values.take(pa.array(codes))


def _places(column: ColumnMap, table: Table) -> Ints:
    """For every row the place of its label in `_labels`."""
    if column.is_number:
        coded = table.like(column)
        place = np.searchsorted(np.asarray(column.cuts), coded.doubles, side="right")
    else:
        coded = table.column(column.name, kind="categorical")
        known = {category: i for i, category in enumerate(column.categories)}
        place = np.array(
            [known.get(value, _unknown(column)) for value in coded.values], dtype=np.int64
        )
    return np.append(place, len(column.labels) + 1)[coded.codes]


def _words(column: ColumnMap, maps: Maps) -> dict[Released, int]:
    """The distinct released values and their numbers."""
    every = [*_labels(column), *([maps.suppress_label] if maps.suppressed else [])]
    return {label: i for i, label in enumerate(dict.fromkeys(every))}


def _hidden(maps: Maps, words: list[dict[Released, int]], coded: list[Ints]) -> NDArray[np.bool_]:
    n = len(coded[0]) if coded else 0
    keys = [
        tuple(listed[label] for listed, label in zip(words, key, strict=True))
        for key in maps.suppressed
        if all(label in listed for listed, label in zip(words, key, strict=True))
    ]
    if not keys:
        return np.zeros(n, dtype=bool)
    found = group(
        [np.concatenate([[key[i] for key in keys], codes]) for i, codes in enumerate(coded)]
    )
    wanted = np.zeros(found.n_groups, dtype=bool)
    wanted[found.labels[: len(keys)]] = True
    return np.asarray(wanted[found.labels[len(keys) :]])


def _array(labels: list[Any], codes: Ints) -> pa.Array:
    """Text as dictionary codes, numbers as doubles."""
    if any(isinstance(label, str) for label in labels):
        texts = [None if label is None else _text(label) for label in labels]
        position = {
            text: i for i, text in enumerate(dict.fromkeys(t for t in texts if t is not None))
        }
        index = np.array([-1 if t is None else position[t] for t in texts], dtype=np.int32)[codes]
        return pa.DictionaryArray.from_arrays(
            pa.array(index, mask=index < 0), pa.array(list(position), pa.string())
        )
    numbers = np.array([np.nan if label is None else float(label) for label in labels])[codes]
    return pa.array(numbers, mask=np.isnan(numbers))


def _moments(column: ColumnMap, made: pa.Array) -> pa.Array:
    """Dates that are released as dates, not as text: counts since 1970 with their type."""
    if column.kind != "date" or not pa.types.is_floating(made.type):
        return made
    if column.unit == "day":
        return made.cast(pa.int32()).cast(pa.date32())
    return made.cast(pa.int64()).cast(pa.timestamp("us"))


def _text(label: str | float) -> str:
    return label if isinstance(label, str) else number(label)
