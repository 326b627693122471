"""Define the protocol of recipes, and the readers of the original's columns that recipes use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.arrays import WINDOW, filled, floats, value_class
from ...columns.column import Column
from ...columns.table import Table, Window
from ...errors import PromiseError
from ...notation import DAY, Exact
from ...plan import PlanColumn
from ...plan.recodings import Released


@dataclass(frozen=True)
class Made:
    """The released columns of a batch of rows.

    Parameters
    ----------
    columns : mapping of str to pyarrow array
    uncovered : mapping of str to int
        By column, the number of cells that do not cover their original.
    """

    columns: Mapping[str, pa.Array]
    uncovered: Mapping[str, int]


class Recipe(Protocol):
    """A recoding bound to its original, ready to recode any of its rows again."""

    @property
    def classes(self) -> Mapping[str, str]:
        """Return each recoded column with the value class in which its released values are compared."""

    @property
    def columns_read(self) -> Sequence[str]:
        """Return the columns of the original whose cells are read row by row."""

    def recode(self, part: Window) -> Made:
        """Return the released columns of the given rows of the original."""
        ...


class _Source:
    """A column of the original, read cell by cell from each window or, if necessary, as a whole."""

    _name: str
    _original: Table
    _read: Column | None

    @property
    def direct(self) -> bool:
        """Return whether the cells are read from each window, and not from the whole column."""
        return self._read is None

    def of(self, part: Window) -> NDArray[Any]:
        """Return the values of the rows in a window."""
        raise NotImplementedError

    def all(self) -> NDArray[Any]:
        """Return the values of all rows."""
        parts = self._original.windows([self._name], WINDOW)
        return np.concatenate([self.of(part) for part in parts])


class Numbers(_Source):
    """A column of the original as numbers (dates in days or microseconds); NaN is missing."""

    def __init__(self, column: PlanColumn, original: Table) -> None:
        self._name, self._unit, self._original = column.name, column.unit, original
        self.names: tuple[str, ...] = ()
        self.place: dict[str | None, int] = {}
        # Text that is declared a number or a date is read by the table, as a whole; so are
        # numbers that doubles do not hold.
        direct = {"numeric": "number", "date": "date"}.get(column.kind)
        same_class = value_class(original.types.field(column.name).type) == direct
        plain = same_class and not original.beyond_doubles(column.name)
        self._read = None if plain else original.like(column)
        self.exact: Sequence[Exact] = self._read.exact if self._read is not None else ()

    def of(self, part: Window) -> NDArray[np.float64]:
        """Return the numbers of a window's rows, each as the nearest double."""
        if self._read is not None:
            return self._read.by_code[self._read.codes[part.rows]]
        array = part.cells[self._name]
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        kind, scale = array.type, 1
        if pa.types.is_date(kind):
            array = array.cast(pa.date32()).cast(pa.int32())
            scale = DAY if self._unit == "us" else 1
        elif pa.types.is_timestamp(kind):
            array = array.cast(pa.timestamp("us", kind.tz), safe=False).cast(pa.int64())
            scale = 1 if self._unit == "us" else DAY
        values = filled(floats(array), np.nan).to_numpy()
        return values * scale if pa.types.is_date(kind) else values / scale

    def places(self, part: Window) -> NDArray[np.float64]:
        """Return the position in `exact` of each row's value, for numbers that doubles cannot hold."""
        assert self._read is not None
        return self._read.places[self._read.codes[part.rows]]


class Categories(_Source):
    """A column of the original as codes of its distinct texts; the code after the last is missing."""

    def __init__(self, column: PlanColumn, original: Table, kind: str) -> None:
        coded = original.column(column.name, kind=kind)
        self._name, self.names = column.name, tuple(coded.values)
        self._original = original
        self.place = {name: code for code, name in enumerate((*self.names, None))}
        # What is no text is read by the table, as a whole.
        text = value_class(original.types.field(column.name).type) == "text"
        self._read = None if text else coded

    def of(self, part: Window) -> NDArray[np.int64]:
        """Return the codes of a window's rows."""
        if self._read is not None:
            return self._read.codes[part.rows].astype(np.int64)
        array = part.cells[self._name]
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        names = [*coded.dictionary.to_pylist(), None]
        # a dictionary may hold entries that no row has
        places = np.array([self.place.get(name, -1) for name in names], np.int64)
        codes = places[filled(coded.indices, len(names) - 1).to_numpy()]
        if len(codes) and codes.min() < 0:
            raise PromiseError(f"the column {self._name!r} was read in two ways")
        return codes


def counts_in_words(columns: Mapping[str, int]) -> str:
    """Return how many cells of each column are at fault, as text."""
    return ", ".join(f"{count:,} in {name}" for name, count in columns.items() if count)


@dataclass(frozen=True)
class Labels:
    """The distinct released values of one column, and for each cell its position among them."""

    values: pa.Array
    place: NDArray[np.int32]

    @classmethod
    def of(cls, labels: Sequence[Released], text: Callable[[float], str] = str) -> Labels:
        """Build the labels: as text if any of them is text, otherwise as doubles."""
        is_text = any(isinstance(label, str) for label in labels)
        kind, convert = (pa.string(), text) if is_text else (pa.float64(), float)
        words = [x if x is None or isinstance(x, str) else convert(x) for x in labels]
        place = {word: i for i, word in enumerate(dict.fromkeys(words))}
        return cls(pa.array(list(place), kind), np.array([place[w] for w in words], np.int32))

    def of_places(self, places: NDArray[Any]) -> Labels:
        """Return the labels for an array of positions in these labels."""
        return Labels(self.values, self.place[places])

    def at(self, places: NDArray[Any]) -> pa.Array:
        """Return the released values at these positions, one per row."""
        # places are in range as they are made; checking them takes one more pass
        return pa.DictionaryArray.from_arrays(pa.array(self.place[places]), self.values, safe=False)
