"""Released cells of groups: ranges, means, concatenations, ancestors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..classes import Counts, Groups, group
from ..errors import SchemaError
from ..hierarchy import TOP, Hierarchy
from ..kernels.sets import distinct_sets
from ..notation import JOIN, MISSING, Cell, between, concatenation, interval, moment, quote
from ..table import Column

Ints = npt.NDArray[np.int64]


def recode(
    column: Column,
    style: str,
    rows: npt.NDArray[np.uint32],
    starts: Ints,
    hierarchy: Hierarchy | None = None,
) -> tuple[list[Cell], Ints]:
    """The distinct cells of a column, and which of them each group gets.

    Parameters
    ----------
    column : Column
        The original column.
    style : str
        "range", "mean" or "median" for numbers and dates; "concatenate",
        "weighted", "hierarchy" or "suppress" for categories.
    rows : uint32 array of shape (n,)
        Row numbers, group by group.
    starts : int array of shape (groups,)
        Where each group begins in `rows`.
    hierarchy : Hierarchy, optional
        For "hierarchy".
    """
    codes = column.codes[rows]
    if column.is_number:
        return _numbers(column, style, codes, starts)
    if style == "suppress":
        return [Cell(TOP, anything=True)], np.zeros(len(starts), np.int64)
    if style == "weighted":
        return _weighted(column, codes, starts)
    if style == "hierarchy":
        assert hierarchy is not None
        return _sets(column, codes, starts, _ancestor(column, hierarchy))
    return _sets(column, codes, starts, _concatenated(column))


def _numbers(
    column: Column, style: str, codes: npt.NDArray[np.unsignedinteger], starts: Ints
) -> tuple[list[Cell], Ints]:
    """Ranges of true extent, or means and medians with the extent kept beside them."""
    values: Sequence[Any] = column.exact or column.values.tolist()
    n = np.diff(np.append(starts, len(codes)))
    first = np.minimum.reduceat(codes, starts).astype(np.int64)
    if column.has_missing:
        known = codes != column.n_values
        last = np.maximum.reduceat(np.where(known, codes.astype(np.int64), -1), starts)
        absent = n - np.add.reduceat(known.astype(np.int64), starts)
    else:
        last = np.maximum.reduceat(codes, starts).astype(np.int64)
        absent = np.zeros(len(starts), np.int64)
    if style == "range":
        cells = []
        alike = group([first, last + 1, absent > 0])
        at = alike.first
        for a, b, gap in zip(first[at], last[at], absent[at] > 0, strict=True):
            if b < 0:
                cells.append(Cell(None, missing=True))
                continue
            label = interval(values[a], values[b], column.unit) + (f"+{MISSING}" if gap else "")
            cells.append(Cell(label, values[a], values[b], missing=bool(gap)))
        return cells, alike.labels.astype(np.int64)
    centre = _centres(column.values, style, codes, starts, n - absent)
    cells = []
    for a, b, gap, middle in zip(first, last, absent > 0, centre, strict=True):
        if b < 0:
            cells.append(Cell(None, missing=True))
        else:
            told = moment(middle, column.unit) if column.unit else float(middle)
            cells.append(Cell(told, values[a], values[b], missing=bool(gap)))
    return _merged(cells)


def _merged(cells: Sequence[Cell]) -> tuple[list[Cell], Ints]:
    """The distinct cells, and which one each group has."""
    distinct = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    return list(distinct), np.array([distinct[c] for c in cells], np.int64)


def between_points(
    column: Column,
    rows: npt.NDArray[np.uint32],
    starts: Ints,
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
) -> tuple[list[Cell], Ints]:
    """The distinct half-open cells of a column that is told between public points, and each group's.

    Parameters
    ----------
    column, rows, starts
        As in `recode`.
    low, high : float arrays of shape (groups,)
        Where each group begins and ends; infinite where it is open.
    """
    known = column.codes[rows] != column.n_values
    some = np.add.reduceat(known.astype(np.int64), starts)
    gap = some < np.diff(np.append(starts, len(rows)))
    cells = []
    for a, b, n, absent in zip(low.tolist(), high.tolist(), some, gap, strict=True):
        if not n:
            cells.append(Cell(None, missing=True))
            continue
        lo, hi = (None if np.isinf(end) else end for end in (a, b))
        if lo is None and hi is None:
            cells.append(Cell(TOP, anything=True))
            continue
        label = between(lo, hi, column.unit) + (f"{JOIN}{MISSING}" if absent else "")
        below = None if hi is None else hi - 1 if column.unit else float(np.nextafter(hi, -np.inf))
        cells.append(Cell(label, lo, below, missing=bool(absent)))
    return _merged(cells)


def _centres(
    values: npt.NDArray[np.float64],
    style: str,
    codes: npt.NDArray[np.unsignedinteger],
    starts: Ints,
    known: Ints,
) -> npt.NDArray[np.float64]:
    """Mean or median of each group's known values, summed in ascending order."""
    group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(codes))))
    order = np.lexsort((codes, group))
    ordered = np.append(values, 0.0)[codes[order]]  # missing values come last and count 0
    least, most = ordered[starts], ordered[starts + np.maximum(known - 1, 0)]
    if style == "mean":
        # a power of two keeps sums of huge numbers finite and changes no digit
        down = 2.0**-64 if max(abs(values[0]), abs(values[-1])) > 1e280 else 1.0
        centre = np.add.reduceat(ordered * down, starts) / np.maximum(known, 1) / down
    else:
        low, high = starts + np.maximum(known - 1, 0) // 2, starts + known // 2 * (known > 0)
        centre = ordered[low] / 2 + ordered[high] / 2
    return np.asarray(np.clip(centre, least, most), np.float64)  # rounding stays in the extent


def _sets(
    column: Column,
    codes: npt.NDArray[np.unsignedinteger],
    starts: Ints,
    label: Callable[[list[int]], Cell],
) -> tuple[list[Cell], Ints]:
    """Cells that depend only on which categories a group holds, the missing one among them."""
    index, members, ends = distinct_sets(codes, starts, column.n_values + 1)
    cells: list[Cell] = []
    held, begin = members.tolist(), 0
    for end in ends.tolist():
        cells.append(label(held[begin:end]))
        begin = end
    return cells, index


def _concatenated(column: Column) -> Callable[[list[int]], Cell]:
    names, missing = column.values, column.n_values
    quoted = [*map(quote, names), MISSING]

    def label(codes: list[int]) -> Cell:
        if codes == [missing]:
            return Cell(None, missing=True)
        text = JOIN.join([quoted[c] for c in codes])
        known = codes[:-1] if codes[-1] == missing else codes
        return Cell(
            text, categories=tuple([names[c] for c in known]), missing=len(known) < len(codes)
        )

    return label


def _ancestor(column: Column, hierarchy: Hierarchy) -> Callable[[list[int]], Cell]:
    lacking = sum(v not in hierarchy.paths for v in column.values)
    if lacking:
        raise SchemaError(
            f"the hierarchy of {column.name!r} lacks {lacking:,} of the column's categories",
            hint="add a line for every category",
        )

    missing = column.n_values

    def label(codes: list[int]) -> Cell:
        if codes == [missing]:
            return Cell(None, missing=True)
        common = (
            TOP if codes[-1] == missing else hierarchy.common([column.values[c] for c in codes])
        )
        if common == TOP:
            return Cell(TOP, anything=True)
        below = tuple(v for v, path in hierarchy.paths.items() if common in path)
        return Cell(common, categories=below)

    return label


def _weighted(
    column: Column, codes: npt.NDArray[np.unsignedinteger], starts: Ints
) -> tuple[list[Cell], Ints]:
    """Concatenations with counts, ``a:4+b:1``."""
    sizes = np.diff(np.append(starts, len(codes)))
    groups = Groups(np.repeat(np.arange(len(starts), dtype=np.uint32), sizes), starts)
    counts = Counts.of(groups, codes, column.n_values + 1)
    begin, code, count = counts.starts, counts.values, counts.counts
    cells = []
    for i in range(len(starts)):
        part = slice(begin[i], begin[i + 1])
        names = [column.values[c] for c in code[part] if c < column.n_values]
        missing = int(count[part][-1]) if code[part][-1] == column.n_values else 0
        if not names:
            cells.append(Cell(None, missing=True))
            continue
        weights = count[part][: len(names)].tolist()
        cells.append(
            Cell(
                concatenation(names, weights, missing), categories=tuple(names), missing=missing > 0
            )
        )
    return _merged(cells)
