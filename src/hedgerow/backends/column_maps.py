"""Column maps: in memory, and as a table streams past."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.column import Column, smallest
from ..columns.table import Table
from ..measures import group
from ..notation import number
from ..plan.recodings import ColumnMap, Maps, Released
from .base import Transformed
from .release_order import ReleasedColumn

Ints = NDArray[np.int64]

_WINDOW = 1 << 20


def recode(maps: Maps, table: Table) -> Transformed:
    """The released columns: every value by its column's map, small classes suppressed."""
    read = [Read.of(column, maps, table) for column in maps.columns]
    places = [each.places[each.codes] for each in read]
    coded = [each.words[found] for each, found in zip(read, places, strict=True)]
    outside = sum(
        int(np.count_nonzero(found == _unknown(each.column)))
        for each, found in zip(read, places, strict=True)
        if not each.column.is_number
    )
    hidden = suppressed(maps, [each.listed for each in read], coded)
    made = {}
    for each, codes in zip(read, coded, strict=True):
        column = each.column
        if maps.suppressed:
            codes = np.where(hidden, each.listed[maps.suppress_label], codes)
        elif each.same:
            unchanged = _numbers(column, codes, table)
            if unchanged is not None:
                made[column.name] = unchanged
            continue
        made[column.name] = _moments(column, _array(list(each.listed), codes))
    return Transformed(made, outside)


def recode_streaming(maps: Maps, table: Table) -> Transformed:
    """The same of a table that streams past: what each code of a column is released as."""
    read, outside = reads(maps, table)
    numbers: list[NDArray[Any]] = [each.codes for each in read]
    if maps.suppressed:
        numbers = [table.allocate((table.n_rows,), smallest(len(each.places) + 1)) for each in read]
        for a in range(0, table.n_rows, _WINDOW):
            here = slice(a, a + _WINDOW)
            coded = [each.by_code[each.codes[here]] for each in read]
            hidden = suppressed(maps, [each.listed for each in read], coded)
            for each, out in zip(read, numbers, strict=True):
                out[here] = np.where(hidden, len(each.places), each.codes[here])
    made = {}
    for each, out in zip(read, numbers, strict=True):
        if (told := each.released(maps, table)) is not None:
            kind, entries, place = told
            name = each.column.name
            made[name] = ReleasedColumn(name, kind, entries, out, place)
    return Transformed(made, outside)


def reads(maps: Maps, table: Table) -> tuple[list[Read], int]:
    """The columns as maps read them, and how many cells hold categories that no map knows."""
    read = [Read.of(column, maps, table) for column in maps.columns]
    outside = sum(
        int(each.coded.counts()[each.places == _unknown(each.column)].sum())
        for each in read
        if not each.column.is_number
    )
    return read, outside


@dataclass(frozen=True, eq=False)
class Read:
    """A column as a map reads it.

    Parameters
    ----------
    column : ColumnMap
    coded : Column
    places : int64 array
        For every code the place of its label in `_labels`.
    listed : mapping
        The distinct released values and their numbers.
    words : int64 array
        The number of every label.
    """

    column: ColumnMap
    coded: Column
    places: Ints
    listed: dict[Released, int]
    words: Ints

    @classmethod
    def of(cls, column: ColumnMap, maps: Maps, table: Table) -> Read:
        """A column of a table."""
        coded, places = _places(column, table)
        listed = _words(column, maps)
        words = np.array([listed[label] for label in _labels(column)], dtype=np.int64)
        return cls(column, coded, places, listed, words)

    @property
    def codes(self) -> NDArray[Any]:
        """The code of each row."""
        return self.coded.codes

    @property
    def by_code(self) -> Ints:
        """The number of what each code is released as."""
        return self.words[self.places]

    def released(self, maps: Maps, table: Table) -> tuple[pa.DataType, pa.Array, Ints] | None:
        """The type, the released values, and which of them each code stands for.

        Of maps that suppress one code more: that of a suppressed row. None where the column
        stays as it is.
        """
        if not maps.suppressed and self.same:
            unchanged = _numbers(self.column, np.arange(len(_labels(self.column))), table)
            return None if unchanged is None else (unchanged.type, unchanged, self.places)
        place = self.by_code
        if maps.suppressed:
            place = np.append(place, self.listed[maps.suppress_label])
        every = _moments(self.column, _array(list(self.listed), np.arange(len(self.listed))))
        entries = every.dictionary_decode() if pa.types.is_dictionary(every.type) else every
        return every.type, entries, place

    @property
    def same(self) -> bool:
        """Whether every value is released as it is."""
        held = self.places[:-1]  # the missing one is mapped apart
        return _is_identity(self.column) and not np.any(held == _unknown(self.column))


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
    wanted = table.types.field(column.name).type
    if not pa.types.is_floating(wanted):
        return None
    values = pa.array([*column.labels, None, None], pa.string()).cast(pa.float64()).cast(wanted)
    return values.take(pa.array(codes))


def _places(column: ColumnMap, table: Table) -> tuple[Column, Ints]:
    """A column, and for every code the place of its label in `_labels`."""
    if column.is_number:
        coded = table.like(column)
        place = np.searchsorted(np.asarray(column.cuts), coded.doubles, side="right")
    else:
        coded = table.column(column.name, kind="categorical")
        known = {category: i for i, category in enumerate(column.categories)}
        place = np.array(
            [known.get(value, _unknown(column)) for value in coded.values], dtype=np.int64
        )
    return coded, np.append(place, len(column.labels) + 1)


def _words(column: ColumnMap, maps: Maps) -> dict[Released, int]:
    """The distinct released values and their numbers."""
    every = [*_labels(column), *([maps.suppress_label] if maps.suppressed else [])]
    return {label: i for i, label in enumerate(dict.fromkeys(every))}


def suppressed(
    maps: Maps, words: Sequence[Mapping[Released, int]], coded: Sequence[Ints]
) -> NDArray[np.bool_]:
    """Which rows have a key that is suppressed; their words are numbered as in `words`."""
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
