"""Derive maps, pseudonyms and partitions a second time, and check means, medians and shares against their groups."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.arrays import WINDOW, filled, floats, inexact, since_1970, value_class
from ...columns.column import Column
from ...columns.cover import Cover
from ...columns.numbers import one_zero
from ...columns.table import Table, Window
from ...errors import PlanError, PromiseError
from ...hierarchy import TOP
from ...kernels import Ints
from ...kernels.walk import WalkTree, count_outside, descend
from ...key import Secret
from ...notation import DAY, JOIN, MISSING, WEIGHT, Cell, Exact, number, split_concatenation
from ...plan import ColumnMap, Maps, Partition, PlanColumn, Recoded
from ...plan.recodings import Released

# Part of the spread of a column by which sums of doubles may be off.
CLOSE = 1e-9


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

    def values_in(self, part: Window) -> NDArray[Any]:
        """Return the values of the rows in a window."""
        raise NotImplementedError

    def all(self) -> NDArray[Any]:
        """Return the values of all rows."""
        return np.concatenate([self.values_in(part) for part in self._original.windows([self._name], WINDOW)])


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

    def values_in(self, part: Window) -> NDArray[np.float64]:
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

    def values_in(self, part: Window) -> NDArray[np.int64]:
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
    def from_released(cls, labels: Sequence[Released], text: Callable[[float], str] = str) -> Labels:
        """Build the labels: as text if any of them is text, otherwise as doubles."""
        is_text = any(isinstance(label, str) for label in labels)
        kind, convert = (pa.string(), text) if is_text else (pa.float64(), float)
        words = [x if x is None or isinstance(x, str) else convert(x) for x in labels]
        place = {word: i for i, word in enumerate(dict.fromkeys(words))}
        return cls(pa.array(list(place), kind), np.array([place[w] for w in words], np.int32))

    def at(self, places: NDArray[Any]) -> pa.Array:
        """Return the released values at these positions, one per row."""
        # places are in range as they are made; checking them takes one more pass
        return pa.DictionaryArray.from_arrays(pa.array(self.place[places]), self.values, safe=False)


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
        codes = pa.array(self._source.values_in(part).astype(np.int32))
        (name,) = self.classes
        return Made({name: pa.DictionaryArray.from_arrays(codes, self._made)}, {})


class MapsRecipe:
    """A recipe for column maps, which looks up the released value of every value in the map's definition."""

    def __init__(self, maps: Maps, original: Table, same: Collection[str] | None = None) -> None:
        self._columns = [
            _Mapped(column, maps, original, None if same is None else column.name in same) for column in maps.columns
        ]
        keys = [[c.place_of(x) for c, x in zip(self._columns, key, strict=True)] for key in maps.suppressed]
        self._hidden = _Keys(keys)
        self.classes = {column.name: column.kind for column in self._columns}
        self.same = [column.name for column in self._columns if column.same]
        self.columns_read = [column.name for column in self._columns if column.direct]

    def recode(self, part: Window) -> Made:
        """Return the released values of each row, with the rows of suppressed classes hidden."""
        places = [column.values_in(part) for column in self._columns]
        hidden = self._hidden.among(places)
        columns = zip(self._columns, places, strict=True)
        return Made({column.name: column.released(place, hidden, part) for column, place in columns}, {})


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
        if same is None:
            same = not maps.suppressed and not column.is_number and labels == [*self._source.names, None]
        self.same = same
        every = [*labels, maps.suppress_label] if maps.suppressed else labels
        self._distinct = {label: i for i, label in enumerate(dict.fromkeys(every))}
        self._place = np.array([self._distinct[label] for label in labels], np.int64)
        self._stars = self._distinct.get(maps.suppress_label, -1)
        self._labels = Labels.from_released(list(self._distinct), number)
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

    def values_in(self, part: Window) -> NDArray[np.int64]:
        """Return the position of each row's released value."""
        values = self._source.values_in(part)
        if isinstance(self._source, Categories):
            return self._place[values]
        return self._place[np.where(np.isnan(values), len(self._place) - 1, np.digitize(values, self._cuts))]

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
            # drop a row as soon as no key has its prefix
            matches = (code < width) & (keys[place] == key)
            alive, at = alive[matches], place[matches]
        hidden[alive] = True
        return hidden


def untrue(column: Recoded, source: Numbers | Categories, cells: NDArray[Any], groups: Ints) -> int:
    """Return the number of cells that differ from the mean, median or shares of their group.

    Parameters
    ----------
    column : Recoded
    source : Numbers or Categories
        Its original.
    cells : int array of shape (n_groups,)
        The cell of every group.
    groups : int64 array of shape (n_rows,)
        The group of every row of the original.
    """
    if isinstance(source, Numbers):
        return 0 if column.style not in ("mean", "median") else _off_centre(column, source, cells, groups)
    return _off_shares(column, source, cells, groups) if column.style == "weighted" else 0


def _off_centre(column: Recoded, source: Numbers, cells: NDArray[Any], groups: Ints) -> int:
    values = source.all()
    finite = np.isfinite(values)
    power = -int(np.frexp(np.abs(values[finite]).max(initial=0.0))[1])  # sums of giants are finite
    values = np.ldexp(values, power)
    middle = float(values[finite].mean()) if finite.any() else 0.0
    n = np.bincount(groups[finite], minlength=len(cells))
    size = np.bincount(groups, minlength=len(cells))
    deviations, mine = values[finite] - middle, groups[finite]
    if column.style == "mean":
        centre = np.bincount(mine, deviations, len(cells)) / np.maximum(n, 1)
    else:
        order = np.lexsort((deviations, mine))
        begin, ordered = np.cumsum(n) - n, np.append(deviations[order], 0.0)
        # of an even count the median is between its two middle values
        low, high = begin + np.maximum(n - 1, 0) // 2, begin + n // 2 * (n > 0)
        centre = ordered[low] / 2 + ordered[high] / 2
    stated = np.array([_read(cell, column.unit) for cell in column.cells])[cells]
    label, counted, absent, silent = stated.T
    # dates are told in whole units
    half = np.ldexp(max(column.step, 1.0 if column.unit else 0.0), power - 1)
    reach = np.abs(deviations).max(initial=0.0) + abs(middle)
    off = np.abs(np.ldexp(label, power) - middle - centre) > half + CLOSE * reach
    # counts stand beside a rounded mean where some have no value, and only there
    uncounted = (n < size) & (column.step > 0)
    miscounted = np.where(counted + absent > 0, (counted != n) | (absent != size - n), uncounted)
    empty = np.isnan(label) & (n == 0)
    return int(np.count_nonzero((size > 0) & (silent == 0) & ~empty & (off | miscounted)))


def _read(cell: Cell, unit: str) -> tuple[float, float, float, float]:
    """Return a cell's number, its stated counts of values and of missing ones, and whether it is `*`."""
    label, counted, absent = cell.label, 0.0, 0.0
    if label is None or label == TOP:
        return np.nan, 0.0, 0.0, float(label is not None)
    if isinstance(label, str) and MISSING in label:
        value, _, rest = label.rpartition(JOIN)
        label, _, first = value.rpartition(WEIGHT)
        if first.isdigit() and rest.rpartition(WEIGHT)[2].isdigit():
            counted, absent = float(first), float(rest.rpartition(WEIGHT)[2])
        else:
            label = value
    if unit and isinstance(label, str):
        label = float(np.datetime64(label, "D" if unit == "day" else "us").astype(np.int64))
    return float(label), counted, absent, 0.0


def _off_shares(column: Recoded, source: Categories, cells: NDArray[Any], groups: Ints) -> int:
    m = len(source.place)
    keys, weights = [], []
    whole, parts = np.zeros(len(column.cells), np.int64), np.zeros(len(column.cells), np.int64)
    for at, cell in enumerate(column.cells):
        pairs = [(None, 1)] if cell.label is None else split_concatenation(str(cell.label))
        keys += [at * m + source.place.get(name, -at * m - 1) for name, _ in pairs]
        weights += [weight for _, weight in pairs]
        whole[at], parts[at] = sum(weight for _, weight in pairs), len(pairs)
    order = np.argsort(keys)
    sorted_keys, weight = np.append(np.array(keys)[order], -1), np.append(np.array(weights)[order], 0)
    present, count = np.unique(groups * m + source.all(), return_counts=True)
    group = present // m
    cell = cells[group]
    at = np.searchsorted(sorted_keys[:-1], cell * m + present % m)
    stated = np.where(sorted_keys[at] == cell * m + present % m, weight[at], 0)
    n, kinds = np.bincount(group, count, len(cells)), np.bincount(group, minlength=len(cells))
    off = np.zeros(len(cells), np.bool_)
    # shares are compared by products of integers, which are exact
    off[group[count * whole[cell] != stated * n[group]]] = True
    return int(np.count_nonzero(off | ((kinds != parts[cells]) & (kinds > 0))))


class PartitionRecipe:
    """A recipe for a partition, which sends each row down the tree by its values."""

    def __init__(self, tree: Partition, original: Table, leaves: bool = False) -> None:
        self._columns = [
            _Recoded(column, np.asarray(cells), original)
            for column, cells in zip(tree.columns, tree.leaf_cells, strict=True)
        ]
        self._nodes = self._arrays(tree)
        self._group = np.asarray(tree.groups, np.int64)
        if not len(self._group):
            self._group = np.arange(tree.n_leaves)
        self.columns_read = [c.name for c in self._columns if c.source.direct]
        # means and shares can be checked only when every row has come by
        self.centred = any(c.recoded.style in ("mean", "median", "weighted") for c in self._columns)
        self._with_leaves = leaves or self.centred
        self.leaf = np.zeros(original.n_rows if self._with_leaves else 0, np.int32)
        self.classes = {c.name: value_class(c.labels.values.type) for c in self._columns}

    def _arrays(self, tree: Partition) -> WalkTree:
        """Return the tree in arrays for `descend`, with each subset as codes of its column."""
        split, subset = np.asarray(tree.split), np.asarray(tree.subset)
        first, last = np.zeros(len(split), np.int64), np.zeros(len(split), np.int64)
        members: list[int] = []
        for j, column in enumerate(self._columns):
            if isinstance(column.source, Numbers):
                continue
            here = np.flatnonzero(split == j)
            used, which = np.unique(subset[here], return_inverse=True)
            ends, place = [len(members)], column.source.place
            for s in used:
                # a category that the original lacks leads no row
                members += [place[name] for name in tree.subsets[s] if name in place]
                ends.append(len(members))
            first[here], last[here] = np.array(ends)[which], np.array(ends)[which + 1]
        return WalkTree(
            np.array([isinstance(c.source, Numbers) for c in self._columns]),
            split,
            np.asarray(tree.threshold),
            np.asarray(tree.missing_left),
            np.asarray(tree.right),
            first,
            last,
            np.array(members, np.int64),
            1 + max([len(c.source.place) for c in self._columns]),
            (np.cumsum(split < 0) - 1).astype(np.int32),
        )

    def recode(self, part: Window) -> Made:
        """Return the cells of each row's leaf, and per column how many do not cover the row's value."""
        # codes of categories are exact as doubles too
        values = np.stack([column.source.values_in(part) for column in self._columns], dtype=np.float64)
        leaf = np.full(values.shape[1], -1, np.int32)
        descend(values, self._nodes, leaf)
        if len(leaf) and leaf.min() < 0:
            raise PlanError("the plan's tree does not lead every row to a group")
        if self._with_leaves:
            self.leaf[part.rows] = leaf
        return Made(
            {c.name: c.labels.at(leaf) for c in self._columns},
            {c.name: c.outside(mine, leaf, part) for c, mine in zip(self._columns, values, strict=True)},
        )

    def untrue(self) -> Mapping[str, int]:
        """Count, per column, the cells that differ from the mean, median or shares of their group."""
        # any leaf of a group has its cell
        first = np.zeros(int(self._group.max()) + 1, np.int64)
        first[self._group] = np.arange(len(self._group))
        groups = self._group[self.leaf]
        counted = {c.name: untrue(c.recoded, c.source, c.cells[first], groups) for c in self._columns}
        return {name: count for name, count in counted.items() if count}


class _Recoded:
    """One column of a partition: the original values and the released cell of each leaf."""

    def __init__(self, column: Recoded, cells: NDArray[np.int32], original: Table) -> None:
        self.name, self.recoded, self.cells = column.name, column, cells
        self.source: Numbers | Categories
        if column.kind in ("numeric", "date"):
            self.source = Numbers(column, original)
        else:
            self.source = Categories(column, original, column.kind)
        labels = Labels.from_released([cell.label for cell in column.cells])
        self.labels = Labels(labels.values, labels.place[cells])
        exact = self.source.exact if isinstance(self.source, Numbers) else ()
        self._cover = Cover.from_cells(column.cells, self.source.names, exact)
        anything = self._cover.anything
        self._low = np.where(anything, -np.inf, self._cover.low)[cells]
        self._high = np.where(anything, np.inf, self._cover.high)[cells]
        self._missing = (anything | self._cover.missing)[cells]

    def outside(self, values: NDArray[np.float64], leaf: NDArray[np.int32], part: Window) -> int:
        """Return the number of values that the cells of their leaves do not cover."""
        if isinstance(self.source, Numbers):
            if self.source.exact:
                values = self.source.places(part)
            return int(count_outside(values, leaf, self._low, self._high, self._missing))
        return int(np.count_nonzero(~self._cover.covers_codes(values, self.cells[leaf])))
