"""Derive pseudonyms and mapped columns a second time, each row from its own cell."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.arrays import inexact, since_1970, value_class
from ...columns.numbers import one_zero
from ...columns.table import Table, Window
from ...key import Secret
from ...notation import number
from ...plan import ColumnMap, Maps, PlanColumn
from ...plan.recodings import Released
from .recipe import Categories, Labels, Made, Numbers


class PseudonymRecipe:
    """A recipe that replaces an identifier by 16 hexadecimal digits of its HMAC-SHA256."""

    def __init__(self, column: PlanColumn, original: Table, secret: Secret) -> None:
        self._source = Categories(column, original, "categorical")
        texts = [f"{column.name}\0{text}".encode() for text in self._source.names]
        texts_of = [f"{int.from_bytes(secret.hmac(text)[:8], 'big'):016x}" for text in texts]
        self._made = pa.array([*texts_of, None], pa.string())
        self.classes: Mapping[str, str] = {column.name: "text"}
        self.columns_read = [column.name]

    def recode(self, part: Window) -> Made:
        """Return the pseudonyms of the given rows; a missing identifier stays missing."""
        codes = pa.array(self._source.of(part).astype(np.int32))
        (name,) = self.classes
        return Made({name: pa.DictionaryArray.from_arrays(codes, self._made)}, {})


class MapsRecipe:
    """A recipe for column maps, which looks up the released value of every value in the map's definition."""

    def __init__(self, maps: Maps, original: Table, same: Collection[str] | None = None) -> None:
        self._columns = [
            _Mapped(column, maps, original, None if same is None else column.name in same) for column in maps.columns
        ]
        self._hidden = _Keys(
            [
                [column.place_of(label) for column, label in zip(self._columns, key, strict=True)]
                for key in maps.suppressed
            ]
        )
        self.classes = {column.name: column.kind for column in self._columns}
        self.same = [column.name for column in self._columns if column.same]
        self.columns_read = [column.name for column in self._columns if column.direct]

    def recode(self, part: Window) -> Made:
        """Return the released values of each row, with the rows of suppressed classes hidden."""
        places = [column.of(part) for column in self._columns]
        hidden = self._hidden.among(places)
        return Made(
            {
                column.name: column.released(place, hidden, part)
                for column, place in zip(self._columns, places, strict=True)
            },
            {},
        )


class _Mapped:
    """One column map together with the original column that it maps."""

    def __init__(self, column: ColumnMap, maps: Maps, original: Table, same: bool | None) -> None:
        self.name, self._cuts = column.name, np.asarray(column.cuts, np.float64)
        self._source: Numbers | Categories
        if column.is_number:
            self._source = Numbers(column, original)
            # intervals are found by doubles, which do not hold these numbers
            if self._source.exact:
                raise inexact([column.name])
            labels: list[Released] = [*column.labels, column.missing]
        else:
            self._source = Categories(column, original, "categorical")
            label_of = dict(zip(column.categories, column.labels, strict=True))
            labels = [label_of.get(name, column.default) for name in self._source.names]
            labels.append(column.missing)
        # What is left as it is keeps its type; a zero is written without its sign.
        self.same = (
            not maps.suppressed and not column.is_number and labels == [*self._source.names, None]
            if same is None
            else same
        )
        every = [*labels, maps.suppress_label] if maps.suppressed else labels
        self._distinct = {label: i for i, label in enumerate(dict.fromkeys(every))}
        self._place = np.array([self._distinct[label] for label in labels], np.int64)
        self._stars = self._distinct.get(maps.suppress_label, -1)
        self._labels = Labels.of(list(self._distinct), number)
        if column.kind == "date" and value_class(self._labels.values.type) == "number":
            self._labels = Labels(since_1970(self._labels.values, column.unit), self._labels.place)
        kind = original.types.field(column.name).type
        self.kind = value_class(kind if self.same else self._labels.values.type)

    @property
    def direct(self) -> bool:
        """Return whether the column's cells are read row by row, and not from the whole column."""
        return self.same or self._source.direct

    def place_of(self, label: Released) -> int:
        """Return a released value's position in the list of distinct ones; -1 if no row can have the value."""
        return self._distinct.get(label, -1)

    def of(self, part: Window) -> NDArray[np.int64]:
        """Return the position of each row's released value."""
        values = self._source.of(part)
        if isinstance(self._source, Categories):
            return self._place[values]
        interval = np.digitize(values, self._cuts)
        return self._place[np.where(np.isnan(values), len(self._place) - 1, interval)]

    def released(self, place: NDArray[np.int64], hidden: NDArray[np.bool_] | None, part: Window) -> pa.Array:
        """Return the released values of the given rows."""
        if self.same:
            return one_zero(part.cells[self.name])
        if hidden is not None:
            place = np.where(hidden, self._stars, place)
        return self._labels.at(place)


class _Keys:
    """A set of keys (one code per column) that rows are matched against column by column."""

    def __init__(self, keys: Sequence[Sequence[int]]) -> None:
        """Build the key set; a key that contains -1 matches no row and is dropped."""
        wanted = np.array([key for key in keys if min(key) >= 0], np.int64)
        self._steps: list[tuple[int, NDArray[np.int64]]] = []
        at = np.zeros(len(wanted), np.int64)
        for codes in wanted.T:
            width = int(codes.max()) + 1
            keys_so_far, at = np.unique(at * width + codes, return_inverse=True)
            self._steps.append((width, keys_so_far))

    def among(self, columns: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_] | None:
        """Return, for each row, whether it matches one of the keys; None if there are no keys."""
        if not self._steps:
            return None
        hidden = np.zeros(len(columns[0]), np.bool_)
        alive, at = np.arange(len(columns[0])), np.zeros(len(columns[0]), np.int64)
        for (width, keys), codes in zip(self._steps, columns, strict=True):
            code = codes[alive]
            key = at * width + code
            place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            # a row leaves as soon as the beginning of its key is that of no key
            matches = (code < width) & (keys[place] == key)
            alive, at = alive[matches], place[matches]
        hidden[alive] = True
        return hidden
