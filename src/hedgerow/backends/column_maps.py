"""Recoding by column maps: each value is replaced by its column's map, and small classes are suppressed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.arrays import since_1970, slices
from ..columns.column import Column, smallest
from ..columns.table import Table
from ..kernels import Ints
from ..measures import group
from ..notation import number
from ..plan.recodings import ColumnMap, Maps, Randomized, Released
from .base import Transformed
from .release_order import TEXT, ReleasedCodes

_WINDOW = 1 << 20


def recode(maps: Maps, table: Table, changed: Sequence[str] = ()) -> Transformed:
    """Return the released columns: values replaced by the column maps, rows of small classes suppressed.

    If the table is a part, `changed` are the columns that change in the whole table.
    """
    columns, outside = coded_maps(maps, table)
    codes: list[NDArray[Any]] = [column.coded.codes for column in columns]
    # a window at a time, because grouping keys takes eight bytes per row and column
    if maps.suppressed:  # suppressed rows get a code of their own
        codes = [table.allocate((table.n_rows,), smallest(len(column.places) + 1)) for column in columns]
        for rows in slices(table.n_rows, _WINDOW):
            labels = [column.by_code[column.coded.codes[rows]] for column in columns]
            hidden = suppressed(maps, [column.numbers for column in columns], labels)
            for column, out in zip(columns, codes, strict=True):
                out[rows] = np.where(hidden, len(column.places), column.coded.codes[rows])
    recoded = {}
    for column, out in zip(columns, codes, strict=True):
        if (released := column.released(maps, table, changed)) is not None:
            kind, entries, place = released
            name = column.map.name
            recoded[name] = ReleasedCodes(name, kind, entries, out, place)
    return Transformed(recoded, outside)


def coded_maps(maps: Maps, table: Table) -> tuple[list[CodedMap], int]:
    """Return each map applied to the codes of its column, and the number of cells whose value no map lists."""
    columns = [CodedMap(column, maps, table) for column in maps.columns]
    outside = sum(
        int(column.coded.counts()[column.places == len(column.map.labels)].sum())
        for column in columns
        if not column.map.is_number
    )
    return columns, outside


class CodedMap:
    """A column map, applied to the codes of a table's column.

    Attributes
    ----------
    map : ColumnMap
    coded : Column
    places : int64 array
        The index of each code's label in `_labels`.
    numbers : dict
        The distinct released values and their numbers.
    by_code : int64 array
        The number of the released value of each code.
    """

    def __init__(self, column: ColumnMap, maps: Maps, table: Table) -> None:
        self.map = column
        self.coded = table.like(column) if column.is_number else table.column(column.name, kind="categorical")
        self.places = np.append(places(column, self.coded), len(column.labels) + 1)
        labels = _labels(column)
        every = [*labels, *([maps.suppress_label] if maps.suppressed else [])]
        self.numbers = {label: i for i, label in enumerate(dict.fromkeys(every))}
        self.by_code = np.array([self.numbers[label] for label in labels], np.int64)[self.places]

    def released(
        self, maps: Maps, table: Table, changed: Sequence[str] = ()
    ) -> tuple[pa.DataType, pa.Array, Ints] | None:
        """Return the type, the released values, and the index of each code's released value.

        Maps that suppress rows have one more code, for a suppressed row. Return None if the
        column does not change; `changed` are columns that change in another part of the table.
        """
        if not maps.suppressed and self.is_identity and self.map.name not in changed:
            unchanged = _unchanged_numbers(self.map, table)
            return None if unchanged is None else (unchanged.type, unchanged, self.places)
        place = self.by_code
        if maps.suppressed:
            place = np.append(place, self.numbers[maps.suppress_label])
        values = _values(self.map, list(self.numbers))
        if not pa.types.is_string(values.type):
            return values.type, values, place
        text = values.dictionary_encode("encode")  # two labels may have the same text
        return TEXT, text.dictionary, text.indices.to_numpy()[place]

    @property
    def is_identity(self) -> bool:
        """Return whether the map leaves every value unchanged."""
        column, places = self.map, self.places[:-1]  # missing values have a label of their own
        same = column.labels == column.categories and column.missing is None
        return same and not column.is_number and not np.any(places == len(column.labels))


def _labels(column: ColumnMap) -> list[Released]:
    """Return all released values: one per interval or category, then the default, then that of missing cells."""
    # Every number has an interval, so a default must not decide the type of numbers.
    return [*column.labels, None if column.is_number else column.default, column.missing]


def _unchanged_numbers(column: ColumnMap, table: Table) -> pa.Array | None:
    """Return the values of an unchanged float column with -0.0 replaced by 0.0; None for any other type."""
    kind = table.types.field(column.name).type
    if not pa.types.is_floating(kind):
        return None
    return pa.array([*column.labels, None, None], pa.string()).cast(pa.float64()).cast(kind)


def places(column: ColumnMap | Randomized, coded: Column) -> Ints:
    """Return the index of each value's interval or category; the number of categories for values that have none."""
    if coded.is_number:
        return np.searchsorted(np.asarray(column.cuts), coded.doubles, side="right")
    place_of = {category: i for i, category in enumerate(column.categories)}
    return np.array([place_of.get(value, len(column.categories)) for value in coded.values], np.int64)


def suppressed(maps: Maps, numbers: Sequence[Mapping[Released, int]], coded: Sequence[Ints]) -> NDArray[np.bool_]:
    """Return for each row whether its combination of released values is suppressed.

    `numbers` gives a number to each released value of a column, `coded` the number for each row.
    """
    n = len(coded[0]) if coded else 0
    keys = [
        tuple(number[label] for number, label in zip(numbers, key, strict=True))
        for key in maps.suppressed
        if all(label in number for number, label in zip(numbers, key, strict=True))
    ]
    if not keys:
        return np.zeros(n, dtype=bool)
    # suppressed keys come first and are grouped with the rows, so no key is looked up row by row
    groups = group([np.concatenate([[key[i] for key in keys], codes]) for i, codes in enumerate(coded)])
    hidden = np.zeros(groups.n_groups, dtype=bool)
    hidden[groups.labels[: len(keys)]] = True
    return np.asarray(hidden[groups.labels[len(keys) :]])


def _values(column: ColumnMap, labels: list[Any]) -> pa.Array:
    """Return the released values as text if any of them is text, otherwise as doubles or dates."""
    if any(isinstance(label, str) for label in labels):
        return pa.array([number(x) if isinstance(x, float) else x for x in labels], pa.string())
    values = pa.array([None if label is None else float(label) for label in labels], pa.float64())
    return since_1970(values, column.unit) if column.kind == "date" else values
