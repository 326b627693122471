"""Read a released column: the values that each of its cells covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ..columns.column import Column
from ..columns.cover import Cover
from ..hierarchy import TOP, Hierarchy
from ..measures import Bools, Floats, Ints
from ..notation import MISSING, Cell, counted, number, parse_dates, parse_range, split_concatenation
from . import cell_patterns
from .cell_patterns import Ends


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """A released column: the cell of each row, and the original values that each distinct cell covers.

    Parameters
    ----------
    original : Column
        The original column, one code a pair of rows; until the rows are paired all of it.
    codes : unsigned integer array, shape (n_rows,)
        Released cell of each row.
    labels : list of str or None
        The distinct cells as released; None is a missing cell.
    lo, hi : float arrays, shape (n_cells,)
        Ends of a number or date; NaN for cells of missing values alone. Unused for
        categories.
    members, weights : tuples of arrays
        Codes of the original categories of each cell, ascending, with their shares.
    missing, anything : boolean arrays, shape (n_cells,)
        Whether a missing value is possible; whether any value is (``*``).
    general : bool
        Whether the column holds ranges, sets, generalised or suppressed cells;
        otherwise it holds plain values, original or perturbed.
    every : Column, optional
        All of the original column, where the release left rows out.
    """

    original: Column
    codes: npt.NDArray[Any]
    labels: list[str | None]
    lo: Floats
    hi: Floats
    members: tuple[Ints, ...]
    weights: tuple[Floats, ...]
    missing: Bools
    anything: Bools
    general: bool
    every: Column | None = None

    @property
    def whole(self) -> Column:
        """Return the original column with all rows, including those that the release left out."""
        return self.every or self.original

    @property
    def name(self) -> str:
        """Return the column's name."""
        return self.original.name

    @property
    def n_cells(self) -> int:
        """Return the number of distinct released cells."""
        return len(self.labels)

    @property
    def is_number(self) -> bool:
        """Return whether the column has numbers or dates."""
        return self.original.is_number

    @property
    def span(self) -> float:
        """Return the largest original number minus the smallest."""
        values = self.original.values
        return float(values[-1] - values[0]) if len(values) else 0.0

    @cached_property
    def stands_in(self) -> bool:
        """Return whether the cells are single numbers that replace the original values (means, noise)."""
        if not self.is_number or ((self.hi > self.lo) & ~self.anything).any():
            return False
        return not self.covers(self.original.codes, self.codes).all()

    @property
    def empty(self) -> Bools:
        """Return, for each cell, whether it is a missing cell; shape (n_cells,)."""
        return np.array([label is None for label in self.labels], np.bool_)

    @cached_property
    def wild(self) -> Bools:
        """Return, for each cell, whether it matches anything (``*`` and missing); shape (n_cells,)."""
        return self.anything | self.empty

    @cached_property
    def counts(self) -> Ints:
        """Return the number of rows with each cell; shape (n_cells,)."""
        return np.bincount(self.codes, minlength=self.n_cells).astype(np.int64)

    @cached_property
    def middle(self) -> Floats:
        """Return the midpoint of each numeric cell, or the column's median if the cell is open; shape (n_cells,)."""
        # halves first: the sum of two large doubles is infinite
        out = self.lo / 2 + self.hi / 2
        values = self.whole.counts()[:-1]
        at = np.searchsorted(np.cumsum(values), values.sum() / 2)
        default = self.original.values[at] if len(values) else 0.0
        return np.where(np.isfinite(out) & ~self.anything, out, default)

    @cached_property
    def absent(self) -> Floats:
        """Return the share of missing values that each numeric cell states; shape (n_cells,)."""
        pairs = [counted(label) if isinstance(label, str) else None for label in self.labels]
        return np.where(np.isfinite(self.lo), [pair[1] / sum(pair) if pair else 0.0 for pair in pairs], 1.0)

    @cached_property
    def categories(self) -> tuple[Ints, Ints]:
        """Return all pairs of a cell and a category that it can stand for, as two arrays sorted by cell."""
        cells = np.repeat(np.arange(self.n_cells), [len(each) for each in self.members])
        return cells, np.concatenate([np.zeros(0, np.int64), *self.members])

    @cached_property
    def shares(self) -> Any:
        """Return each category's weight in each cell, with missing last; sparse, rows sum to 1."""
        m, (cells, members) = self.original.n_values, self.categories
        weights = np.concatenate([np.zeros(0), *self.weights])
        # what no category takes is the share of missing values
        rest = np.maximum(1.0 - np.bincount(cells, weights, self.n_cells), 0.0)
        incomplete = np.flatnonzero(rest)
        weights = np.concatenate([weights, rest[incomplete]])
        rows = np.concatenate([cells, incomplete])
        columns = np.concatenate([members, np.full(len(incomplete), m)])
        return csr_array((weights, (rows, columns)), shape=(self.n_cells, m + 1))

    @cached_property
    def cover(self) -> Cover:
        """Return the cells as a `Cover`, which tests if they cover given values."""
        m, (cells, members) = self.original.n_values, self.categories
        return Cover(self.lo, self.hi, self.missing, self.anything, cells * m + members, m)

    def paired(self, rows: Ints, released_rows: Ints, *, is_drawn: bool = False) -> ReleasedColumn:
        """Return the column for paired rows; missing cells count as suppressed if the original value is known.

        Where cells are drawn, a missing one counts as suppressed only if the original has no missing values.
        """
        original = of_rows(self.original, rows)
        every = None if original is self.original else self.original
        column = replace(self, original=original, every=every, codes=_codes_of_rows(self.codes, released_rows))
        hidden = column.empty[column.codes] & (original.codes != original.n_values)
        return suppressed(column) if hidden.any() and not (is_drawn and self.original.has_missing) else column

    def covers(self, values: npt.NDArray[Any], cells: npt.NDArray[Any]) -> Bools:
        """Return, element by element, whether a cell can stand for an original value code.

        Codes equal to the number of values are missing values.
        """
        if self.is_number:
            return self.cover.covers_numbers(self.original.by_code[values], cells)
        return self.cover.covers_codes(values, cells)


def unchanged(column: Column) -> ReleasedColumn:
    """Return an original column as if it had been released unchanged."""
    m = column.n_values
    one = np.arange(0 if column.is_number else m)[:, None]
    none = [np.zeros(0)] * (m + 1 - len(one))
    values = column.by_code if column.is_number else np.full(m + 1, np.nan)
    return ReleasedColumn(
        column,
        column.codes,
        [*map(str, range(m)), None],
        values,
        values,
        (*one, *(each.astype(np.int64) for each in none)),
        (*np.ones((len(one), 1)), *none),
        np.arange(m + 1) == m,
        np.zeros(m + 1, np.bool_),
        False,
    )


def of_rows(column: Column, rows: Ints) -> Column:
    """Return the given rows of a column, with the same dictionary."""
    codes = _codes_of_rows(column.codes, rows)
    if codes is column.codes:
        return column
    return replace(column, codes=codes, here=None if column.here is None else column.here[rows])


def _codes_of_rows(codes: npt.NDArray[Any], rows: Ints) -> npt.NDArray[Any]:
    """Return the codes of the given rows, without a copy if these are all rows in order."""
    # without a copy, and the column keeps what it has cached
    return codes if len(rows) == len(codes) and (rows[:-1] < rows[1:]).all() else codes[rows]


def suppressed(column: ReleasedColumn) -> ReleasedColumn:
    """Return the column with its missing cell, if it has one, changed to stand for every value."""
    empty, original, m = column.empty, column.original, column.original.n_values
    if not empty.any():
        return column
    lo, hi = column.lo, column.hi
    if original.is_number:
        lo, hi = np.where(empty, original.values[0], lo), np.where(empty, original.values[-1], hi)
    public = column.whole.counts()[:m]
    everything, shares = np.arange(m), public / max(int(public.sum()), 1)
    return replace(
        column,
        anything=column.anything | empty,
        lo=lo,
        hi=hi,
        members=tuple(everything if e else each for e, each in zip(empty, column.members, strict=True)),
        weights=tuple(shares if e else each for e, each in zip(empty, column.weights, strict=True)),
        general=True,
    )


_DAY = 86_400_000_000


class Unreadable(ValueError):
    """Raised for a released cell that the original column cannot explain."""


@dataclass(frozen=True, eq=False)
class CellReading:
    """The released cells of a column, with those that could not be read.

    Parameters
    ----------
    column : ReleasedColumn
    unread : tuple of int
        The cells that cannot be read.
    outside : tuple of int
        The cells that describe values which do not occur in the original.
    """

    column: ReleasedColumn
    unread: tuple[int, ...]
    outside: tuple[int, ...]

    def rows_of(self, some: Sequence[int]) -> dict[str, int]:
        """Count the rows that have each of the given cells, by released text."""
        return {str(self.column.labels[i]): int(self.column.counts[i]) for i in some}


@dataclass(frozen=True)
class Meaning:
    """The meaning of one cell: weighted categories, or the ends of a range of numbers."""

    weights: Mapping[int, float] | None = None
    ends: Ends = (np.nan, np.nan)
    missing: float = 0.0
    general: bool = True
    anything: bool = False


ANYTHING = Meaning(missing=1.0, anything=True)


def read_released(
    original: Column,
    codes: npt.NDArray[Any],
    labels: list[str | None] | Floats,
    hierarchy: Hierarchy | None = None,
    meanings: Sequence[Cell] = (),
) -> CellReading:
    """Read the distinct cells of a released column.

    Each cell is read by the first rule that fits: as a value of the original, as Hedgerow's own notation,
    as a node of the hierarchy, as the plan describes it, or as the notation of other tools (`cells`).

    Parameters
    ----------
    original : Column
        The original column.
    codes : integer array, shape (n_rows,)
        Cell of each row; ``len(labels)`` is a missing cell.
    labels : list of str, or float array
        The distinct released cells.
    hierarchy : Hierarchy, optional
        Where generalised values are looked up.
    meanings : sequence of Cell
        The meanings that the plan gives to texts which cannot be read by themselves.
    """
    texts: list[Any] = list(labels)
    if len(codes) and int(codes.max()) == len(texts):
        texts.append(None)
    n, m = len(texts), original.n_values
    lo, hi = np.full(n, np.nan), np.full(n, np.nan)
    members: list[Ints] = [np.zeros(0, np.int64)] * n
    weights: list[Floats] = [np.zeros(0)] * n
    missing, anything = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    reader, general, unread = _Reader(original, hierarchy, meanings), False, []
    public = original.counts()[:m] / max(int(original.counts()[:m].sum()), 1)
    for i, label in enumerate(texts):
        if label is None:
            missing[i] = True
            continue
        if isinstance(label, float):
            lo[i] = hi[i] = label
            continue
        try:
            meaning = ANYTHING if label == TOP else reader.cell(label)
        except Unreadable:
            unread.append(i)
            continue
        general |= meaning.general
        missing[i], anything[i] = meaning.missing > 0, meaning.anything
        if meaning.anything:
            lo[i], hi[i] = reader.extent
            members[i], weights[i] = np.arange(m), public
        elif meaning.weights is None:
            lo[i], hi[i] = meaning.ends
        else:
            codes_meant = np.array(sorted(meaning.weights), np.int64)
            total = sum(meaning.weights.values()) + meaning.missing
            members[i] = codes_meant
            weights[i] = np.array([meaning.weights[c] for c in codes_meant.tolist()]) / (total or 1)
    outside: list[int] = []
    if original.is_number and general:
        low, high = reader.extent
        # a mean that its plan rounds may lie beside all values
        outside = [i for i in np.flatnonzero((hi < low) | (lo > high)).tolist() if texts[i] not in reader.meanings]
    names = [None if t is None else t if isinstance(t, str) else repr(t) for t in texts]
    column = ReleasedColumn(original, codes, names, lo, hi, tuple(members), tuple(weights), missing, anything, general)
    return CellReading(column, tuple(unread), tuple(outside))


class _Reader:
    """A reader of the distinct cells of one released column."""

    def __init__(self, original: Column, hierarchy: Hierarchy | None, meanings: Sequence[Cell]) -> None:
        names = list(original.values)
        if original.is_number:
            names = [number(v) for v in original.exact or original.values.tolist()]
        self.original = original
        self.index = {name: code for code, name in enumerate(names)}
        # the original codes below each node of the hierarchy
        self.below: dict[str, list[int]] = {}
        for path in hierarchy.paths.values() if hierarchy else ():
            code = self.index.get(path[0])
            for node in dict.fromkeys(path[1:]):
                if code is not None and node != path[0]:
                    self.below.setdefault(node, []).append(code)
                self.below.setdefault(node, [])
        self.meanings = {cell.label: cell for cell in meanings if isinstance(cell.label, str)}
        self.whole = original.is_number and bool((original.values == np.floor(original.values)).all())

    @property
    def extent(self) -> Ends:
        """Return the smallest and the largest original number."""
        values = self.original.values
        if not self.original.is_number or not len(values):
            return np.nan, np.nan
        return float(values[0]), float(values[-1])

    def cell(self, label: str) -> Meaning:
        """Return the meaning of a cell; raise Unreadable if it has none."""
        # in this order: Hedgerow's own notation is never read as another tool's
        planned = self.meanings.get(label)
        if self.original.is_number:
            meaning = self._own_numbers(label) or self._planned_numbers(planned) or self._foreign_numbers(label)
        else:
            meaning = self._own_categories(label) or self._planned_categories(planned)
            meaning = meaning or self._foreign_categories(label)
        if meaning is None and not cell_patterns.suppressed(label):
            raise Unreadable
        return meaning or ANYTHING

    # numbers and dates

    def _own_numbers(self, label: str) -> Meaning | None:
        ranges, missing, general = [], False, False
        parts: Sequence[tuple[str | None, int]] = [(label, 1)]
        if self._ends(label) is None and (MISSING in label or "+" in label):
            try:
                parts = split_concatenation(label)
            except ValueError:
                return None
        for part, _ in parts:
            if part is None:
                missing = general = True
                continue
            ends = self._ends(part)
            if ends is None and self.below.get(part):
                values = self.original.values[self.below[part]]
                ends, general = (float(values.min()), float(values.max())), True
            if ends is None or ends[0] > ends[1]:
                return None
            general |= ends[0] < ends[1]
            ranges.append(ends)
        return Meaning(None, _around(ranges), float(missing), general or len(ranges) > 1)

    def _planned_numbers(self, cell: Cell | None) -> Meaning | None:
        if cell is None:
            return None
        ranges = [ends for name in cell.categories if (ends := self._ends(name)) is not None]
        low, high = self.extent
        if cell.lo is not None and cell.hi is not None and low == low:
            ranges.append((max(float(cell.lo), low), min(float(cell.hi), high)))
        return Meaning(None, _around(ranges), float(cell.missing))

    def _foreign_numbers(self, label: str) -> Meaning | None:
        if (parts := cell_patterns.members(label)) is not None:
            ranges = [ends for part in parts if (ends := self._ends(part)) is not None]
            return Meaning(None, _around(ranges)) if ranges and len(ranges) == len(parts) else None
        if self.original.kind == "date":
            ends = self._dates(label)
        else:
            open_ends = cell_patterns.number_ends(label)
            ends = None if open_ends is None else self._closed(self._tight(open_ends))
            start = cell_patterns.begins_like(label)
            if start is not None and (ends is None or not self._inside(ends)):
                ends = self._beginning(start) or ends
        return None if ends is None else Meaning(None, ends, general=ends[0] < ends[1])

    def _ends(self, text: str) -> Ends | None:
        """Return the ends of a range in Hedgerow's notation, closing open ends at the original's extremes."""
        if self.original.kind != "date":
            ends = parse_range(text)
            return None if ends is None else self._closed(ends)
        if (dates := parse_dates(text)) is None:
            return None
        low, high = (self._moment(end) if end else None for end in dates)
        if high is not None and text.endswith(")"):
            high -= 1
        return self._closed((-np.inf if low is None else low, np.inf if high is None else high))

    def _dates(self, text: str) -> Ends | None:
        if (ends := cell_patterns.date_ends(text)) is None:
            return None
        low, high = ends
        step = _DAY if self.original.unit == "day" else 1
        return self._closed(
            (-np.inf if low is None else float(-(-low // step)), np.inf if high is None else float(high // step))
        )

    def _moment(self, text: str) -> float:
        moment = np.datetime64(text[:26], "us").astype(np.int64)  # a float tells no more
        return float(moment // _DAY if self.original.unit == "day" else moment)

    def _tight(self, ends: Ends) -> Ends:
        """Round the ends inwards to whole numbers if the column has only whole numbers."""
        return cell_patterns.whole(ends) if self.whole and ends[0] < ends[1] else ends

    def _closed(self, ends: Ends) -> Ends:
        """Close open ends at the original's extremes, or at the other end if that lies beyond them."""
        first, last = self.extent
        low, high = ends
        if np.isneginf(low):
            low = min(first, high) if first == first else high
        if np.isposinf(high):
            high = max(last, low) if last == last else low
        return low, high

    def _inside(self, ends: Ends) -> bool:
        """Return whether any original number lies between two ends."""
        at = np.searchsorted(self.original.values, ends, "left")
        return bool(at[0] < self.original.n_values and self.original.values[at[0]] <= ends[1])

    def _beginning(self, start: str) -> Ends | None:
        """Return the range of numbers that a prefix such as "12" in 12* may stand for; None if there are none.

        Only lengths count that original numbers with this prefix have.
        """
        # 12* may mean 12, 120 to 129 or 1200 to 1299: only lengths that occur are meant
        lengths = {len(name) for name in self.index if name.startswith(start)}
        masks = [cell_patterns.number_ends(start + "*" * (length - len(start))) for length in lengths]
        ranges = [self._tight(ends) for ends in masks if ends is not None]
        return _around(ranges) if ranges else None

    # categories

    def _own_categories(self, label: str) -> Meaning | None:
        exact = self.index.get(label)
        if exact is None and label == MISSING:  # a value of the original may be called so, and comes first
            return Meaning({}, missing=1.0)
        if exact is None and label in self.below:
            return Meaning(dict.fromkeys(self.below[label] or range(self.original.n_values), 1.0))
        try:
            parts = split_concatenation(label)
        except ValueError:
            parts = []
        is_category = [name is None or name in self.index for name, _ in parts]
        # a category may be named "a+b"; it is joined only if a and b are categories as well
        if exact is not None and not (len(parts) > 1 and all(is_category)):
            return Meaning({exact: 1.0}, general=False)
        if not parts or not all(is_category):
            return None
        weights: dict[int, float] = {} if exact is None else {exact: 1.0}
        missing = 0.0
        for name, weight in parts:
            if name is None:
                missing += weight
            else:
                weights[self.index[name]] = weights.get(self.index[name], 0.0) + weight
        return Meaning(weights, missing=missing, general=len(parts) > 1)

    def _planned_categories(self, cell: Cell | None) -> Meaning | None:
        if cell is None:
            return None
        codes = [self.index[c] for c in cell.categories if c in self.index]
        return Meaning(dict.fromkeys(codes, 1.0), missing=float(cell.missing))

    def _foreign_categories(self, label: str) -> Meaning | None:
        for read in (self._trimmed, self._set, self._masked, self._numbered, self._ordered):
            if codes := read(label):
                return Meaning(dict.fromkeys(codes, 1.0), general=len(codes) > 1 or read != self._trimmed)
        return None

    def _trimmed(self, label: str) -> list[int]:
        """Return the category that equals the label apart from surrounding blanks, as a list."""
        codes = [code for name, code in self.index.items() if name.strip() == label.strip()]
        return codes if len(codes) == 1 else []

    def _set(self, label: str) -> list[int]:
        codes = [self._trimmed(part) for part in cell_patterns.members(label) or []]
        return [code for each in codes for code in each] if all(codes) else []

    def _masked(self, label: str) -> list[int]:
        fits, start = cell_patterns.masked_like(label), cell_patterns.begins_like(label)
        codes = [code for name, code in self.index.items() if fits and fits(name)]
        if not codes and start is not None:
            codes = [code for name, code in self.index.items() if name.startswith(start)]
        return codes

    def _numbered(self, label: str) -> list[int]:
        """Return the categories that are numbers within the label's range."""
        ends = cell_patterns.number_ends(label)
        return [] if ends is None else [code for at, code in self._as_numbers if ends[0] <= at <= ends[1]]

    @cached_property
    def _as_numbers(self) -> list[tuple[float, int]]:
        """Return the categories that are numbers, each as a number with its code."""
        ranges = [(parse_range(name.strip()), code) for name, code in self.index.items()]
        return [(ends[0], code) for ends, code in ranges if ends and ends[0] == ends[1]]

    def _ordered(self, label: str) -> list[int]:
        """Return all categories between the two that the label names, in the column's order."""
        ends = [self._trimmed(name) for name in cell_patterns.first_and_last(label) or ()]
        return list(range(ends[0][0], ends[1][0] + 1)) if ends and all(ends) else []


def _around(ranges: Sequence[Ends]) -> Ends:
    """Return the smallest range that contains all given ranges."""
    if not ranges:
        return np.nan, np.nan
    return min(e[0] for e in ranges), max(e[1] for e in ranges)
