"""What each released cell says about the value it stands for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from ..classes import FloatArray, IntArray
from ..hierarchy import TOP, Hierarchy
from ..notation import MISSING, Cell, counted, number, parse_dates, parse_range, split_concatenation
from ..table import Column
from ..table.cover import Cover

BoolArray = npt.NDArray[np.bool_]

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_INTERVAL = re.compile(rf"^[\[(\]]\s*({_NUMBER})\s*[,;]\s*({_NUMBER})\s*[\])\[]$")
"""Intervals as other tools write them: [20, 30], [20, 30[, (20, 30]."""
_SET = re.compile(r"^\{(.*)\}$")


class Unreadable(ValueError):
    """A released cell that no original value could have given."""


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """A released column: for each row one of its distinct cells, and what each cell covers.

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
    lo: FloatArray
    hi: FloatArray
    members: tuple[IntArray, ...]
    weights: tuple[FloatArray, ...]
    missing: BoolArray
    anything: BoolArray
    general: bool
    every: Column | None = None

    @property
    def whole(self) -> Column:
        """The original column with the rows that the release left out."""
        return self.every or self.original

    @property
    def name(self) -> str:
        """Column name."""
        return self.original.name

    @property
    def n_cells(self) -> int:
        """Number of distinct released cells."""
        return len(self.labels)

    @property
    def is_number(self) -> bool:
        """Whether the column holds numbers or dates."""
        return self.original.is_number

    @property
    def span(self) -> float:
        """How far the original numbers lie apart."""
        values = self.original.values
        return float(values[-1] - values[0]) if len(values) else 0.0

    @cached_property
    def stands_in(self) -> bool:
        """Whether numbers stand here that are not their row's own (means, noise), and no ranges."""
        if not self.is_number or ((self.hi > self.lo) & ~self.anything).any():
            return False
        return not self.covers(self.original.codes, self.codes).all()

    @cached_property
    def wild(self) -> BoolArray:
        """Cells that match anything: ``*`` and missing; shape (n_cells,)."""
        return self.anything | np.array([label is None for label in self.labels], np.bool_)

    @cached_property
    def counts(self) -> IntArray:
        """Rows per cell."""
        return np.bincount(self.codes, minlength=self.n_cells).astype(np.int64)

    @cached_property
    def middle(self) -> FloatArray:
        """Midpoint of each cell of numbers; the domain's median where nothing is known."""
        out = self.lo / 2 + self.hi / 2
        values = self.whole.counts()[:-1]
        at = np.searchsorted(np.cumsum(values), values.sum() / 2)
        default = self.original.values[at] if len(values) else 0.0
        return np.where(np.isfinite(out) & ~self.anything, out, default)

    @cached_property
    def absent(self) -> FloatArray:
        """Share of missing values that each cell of numbers tells of its group."""
        told = [counted(label) if isinstance(label, str) else None for label in self.labels]
        share = [pair[1] / sum(pair) if pair else 0.0 for pair in told]
        return np.where(np.isfinite(self.lo), share, 1.0)

    @cached_property
    def shares(self) -> Any:
        """Weight of each original category (last: missing) in each cell; rows sum to 1. Sparse."""
        m = self.original.n_values
        sizes = [len(members) for members in self.members]
        cells = np.repeat(np.arange(self.n_cells), sizes)
        members = np.concatenate([np.zeros(0, np.int64), *self.members])
        weights = np.concatenate([np.zeros(0), *self.weights])
        rest = np.maximum(1.0 - np.bincount(cells, weights, self.n_cells), 0.0)
        gone = np.flatnonzero(rest)
        return csr_array(
            (
                np.concatenate([weights, rest[gone]]),
                (np.concatenate([cells, gone]), np.concatenate([members, np.full(len(gone), m)])),
            ),
            shape=(self.n_cells, m + 1),
        )

    @cached_property
    def cover(self) -> Cover:
        """The same for whoever asks what covers what."""
        m = self.original.n_values
        keys = [cell * m + members for cell, members in enumerate(self.members)]
        members = np.concatenate([np.zeros(0, np.int64), *keys])
        return Cover(self.lo, self.hi, self.missing, self.anything, members, m)

    def paired(self, rows: IntArray, released_rows: IntArray) -> ReleasedColumn:
        """The column as read, for pairs of rows; a missing cell of a known value was suppressed."""
        own = taken(self.original, rows)
        every = None if own is self.original else self.original
        made = replace(self, original=own, every=every, codes=_taken(self.codes, released_rows))
        return _suppressed_nulls(made)

    def covers(self, values: npt.NDArray[Any], cells: npt.NDArray[Any]) -> BoolArray:
        """Whether each cell could stand for the original value code beside it.

        Codes equal to the number of values are missing values.
        """
        if self.is_number:
            return self.cover.numbers(self.original.by_code[values], cells)
        return self.cover.categories(values, cells)


@dataclass
class _Reader:
    """Reads the distinct cells of one released column."""

    original: Column
    hierarchy: Hierarchy | None
    index: Mapping[str, int]
    below: Mapping[str, list[int]]
    meanings: Mapping[str, Cell]

    @classmethod
    def of(cls, original: Column, hierarchy: Hierarchy | None, meanings: Sequence[Cell]) -> _Reader:
        names = (
            [number(v) for v in original.exact or original.values.tolist()]
            if original.is_number
            else list(original.values)
        )
        index = {name: code for code, name in enumerate(names)}
        below: dict[str, list[int]] = {}
        for path in hierarchy.paths.values() if hierarchy else ():
            code = index.get(path[0])
            for node in dict.fromkeys(path[1:]):
                if code is not None and node != path[0]:
                    below.setdefault(node, []).append(code)
                below.setdefault(node, [])
        told = {cell.label: cell for cell in meanings if isinstance(cell.label, str)}
        return cls(original, hierarchy, index, below, told)

    def parts(self, label: str) -> list[tuple[str | None, int]]:
        """The (value, weight) pairs of a cell."""
        made = _SET.match(label)
        if made:
            return [(part.strip(), 1) for part in made[1].split(",")]
        try:
            return split_concatenation(label)
        except ValueError:
            raise Unreadable from None

    def categories(self, label: str) -> tuple[dict[int, float], float, bool]:
        """Weights by category code, the weight of missing, and whether the cell is general."""
        if label == MISSING:
            return {}, 1.0, True
        exact = self.index.get(label)
        if exact is None and label in self.below:
            found = self.below[label] or range(self.original.n_values)
            return dict.fromkeys(found, 1.0), 0.0, True
        try:
            parts = self.parts(label)
        except Unreadable:
            parts = []
        known = [name is None or name in self.index for name, _ in parts]
        if exact is not None and not (len(parts) > 1 and all(known)):
            return {exact: 1.0}, 0.0, False
        if not parts or not all(known):
            return self._meant(label)
        weights: dict[int, float] = {} if exact is None else {exact: 1.0}
        gone = 0.0
        for name, weight in parts:
            if name is None:
                gone += weight
            else:
                weights[self.index[name]] = weights.get(self.index[name], 0.0) + weight
        return weights, gone, len(parts) > 1

    def _meant(self, label: str) -> tuple[dict[int, float], float, bool]:
        """A category cell that only the plan explains."""
        cell = self.meanings.get(label)
        if cell is None:
            raise Unreadable
        found = [self.index[c] for c in cell.categories if c in self.index]
        return dict.fromkeys(found, 1.0), float(cell.missing), True

    def numbers(self, label: str) -> tuple[float, float, bool, bool]:
        """Ends of the cell, whether missing is possible, and whether the cell is general."""
        try:
            return self._numbers(label)
        except Unreadable:
            cell = self.meanings.get(label)
            if cell is None:
                raise
        values = self.original.values
        ends = [found for c in cell.categories if (found := self._ends(c)) is not None]
        if cell.lo is not None and cell.hi is not None and len(values):
            ends.append((max(float(cell.lo), values[0]), min(float(cell.hi), values[-1])))
        if not ends:
            return np.nan, np.nan, cell.missing, True
        return min(e[0] for e in ends), max(e[1] for e in ends), cell.missing, True

    def _numbers(self, label: str) -> tuple[float, float, bool, bool]:
        ends, gone, general = [], False, False
        exact = self._ends(label)
        parts: Sequence[str | None] = [label]
        if exact is None and (MISSING in label or "+" in label):
            parts = [part for part, _ in self.parts(label)]
        for part in parts:
            if part is None:
                gone, general = True, True
                continue
            found = self._ends(part)
            if found is None and self.below.get(part):
                values = self.original.values[self.below[part]]
                found = (float(values.min()), float(values.max()))
                general = True
            if found is None or found[0] > found[1]:
                raise Unreadable
            general |= found[0] < found[1]
            ends.append(found)
        if not ends:
            return np.nan, np.nan, True, True
        return min(e[0] for e in ends), max(e[1] for e in ends), gone, general or len(ends) > 1

    def _ends(self, text: str) -> tuple[float, float] | None:
        """The ends of a range, open ones at the extent of the original."""
        if self.original.kind == "date":
            dates = parse_dates(text)
            if dates is None:
                return None
            low, high = (self._moment(end) if end else None for end in dates)
            if high is not None and text.endswith(")"):
                high -= 1
        else:
            made = _INTERVAL.match(text)
            found = (float(made[1]), float(made[2])) if made else parse_range(text)
            if found is None:
                return None
            low, high = (end if np.isfinite(end) else None for end in found)
        values = self.original.values
        if low is None and high is not None:
            low = min(float(values[0]), high) if len(values) else high
        if high is None and low is not None:
            high = max(float(values[-1]), low) if len(values) else low
        return None if low is None or high is None else (low, high)

    def _moment(self, text: str) -> float:
        moment = np.datetime64(text[:26], "us").astype(np.int64)  # a float tells no more
        return float(moment // 86_400_000_000 if self.original.unit == "day" else moment)


def read_released(
    original: Column,
    codes: npt.NDArray[Any],
    labels: list[str | None] | FloatArray,
    hierarchy: Hierarchy | None = None,
    meanings: Sequence[Cell] = (),
) -> tuple[ReleasedColumn, IntArray]:
    """Understand the distinct cells of a released column.

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
        What the plan says of texts that do not say it themselves.

    Returns
    -------
    ReleasedColumn
    int64 array
        The cells that no original value could have given.
    """
    texts: list[Any] = list(labels)
    if len(codes) and int(codes.max()) == len(texts):
        texts.append(None)
    n, m = len(texts), original.n_values
    lo, hi = np.full(n, np.nan), np.full(n, np.nan)
    ends = (
        (float(original.values[0]), float(original.values[-1]))
        if original.is_number and m
        else (np.nan,) * 2
    )
    members: list[IntArray] = [np.zeros(0, np.int64)] * n
    weights: list[FloatArray] = [np.zeros(0)] * n
    missing, anything = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    reader, general, bad = _Reader.of(original, hierarchy, meanings), False, []
    public = original.counts()[:m] / max(int(original.counts()[:m].sum()), 1)
    for i, label in enumerate(texts):
        if label is None:
            missing[i] = True
        elif label == TOP:
            anything[i] = missing[i] = general = True
            lo[i], hi[i] = ends
            members[i], weights[i] = np.arange(m), public
        elif original.is_number:
            if isinstance(label, float):
                lo[i] = hi[i] = label
                continue
            try:
                lo[i], hi[i], missing[i], wide = reader.numbers(label)
            except Unreadable:
                bad.append(i)
                continue
            general |= wide
        else:
            try:
                found, gone, wide = reader.categories(label)
            except Unreadable:
                bad.append(i)
                continue
            total = sum(found.values()) + gone
            members[i] = np.array(sorted(found), np.int64)
            weights[i] = np.array([found[c] for c in members[i]]) / total
            missing[i] = gone > 0
            general |= wide
    if original.is_number and general:
        outside = np.flatnonzero((hi < ends[0]) | (lo > ends[1]))
        bad = sorted({*bad, *outside.tolist()})
    names = [None if t is None else t if isinstance(t, str) else repr(t) for t in texts]
    column = ReleasedColumn(
        original, codes, names, lo, hi, tuple(members), tuple(weights), missing, anything, general
    )
    return column, np.array(bad, np.int64)


def unchanged(column: Column) -> ReleasedColumn:
    """An original column as if it had been released unchanged."""
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


def taken(column: Column, rows: IntArray) -> Column:
    """The column for some rows; its dictionary stays."""
    codes = _taken(column.codes, rows)
    return column if codes is column.codes else replace(column, codes=codes)


def _taken(codes: npt.NDArray[Any], rows: IntArray) -> npt.NDArray[Any]:
    """The codes of some rows; the same array where these are all, in order."""
    if len(rows) == len(codes) and (rows[:-1] < rows[1:]).all():
        return codes
    return codes[rows]


def _suppressed_nulls(column: ReleasedColumn) -> ReleasedColumn:
    """A missing cell where the original has a value was suppressed: it may be anything."""
    cell = next((i for i, label in enumerate(column.labels) if label is None), None)
    if cell is None:
        return column
    hidden = (column.codes == cell) & (column.original.codes != column.original.n_values)
    if not hidden.any():
        return column
    original, m = column.original, column.original.n_values
    anything, lo, hi = column.anything.copy(), column.lo.copy(), column.hi.copy()
    members, weights = list(column.members), list(column.weights)
    anything[cell] = True
    if original.is_number:
        lo[cell], hi[cell] = original.values[0], original.values[-1]
    public = column.whole.counts()[:m]
    members[cell], weights[cell] = np.arange(m), public / public.sum()
    return replace(
        column,
        anything=anything,
        lo=lo,
        hi=hi,
        members=tuple(members),
        weights=tuple(weights),
        general=True,
    )


def duplicates(codes: npt.NDArray[Any]) -> int:
    """Rows whose code occurs more than once."""
    return sum(n for n in Counter(codes.tolist()).values() if n > 1)
