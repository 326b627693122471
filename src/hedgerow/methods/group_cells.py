"""Released cells of groups: ranges, means, concatenations, ancestors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns.column import Column, ValueCounts
from ..errors import SchemaError
from ..hierarchy import TOP, Hierarchy
from ..kernels.exact_sums import deviations
from ..kernels.group import distinct_sets
from ..measures import Counts, Groups, group
from ..notation import (
    DAY,
    JOIN,
    MISSING,
    WEIGHT,
    Cell,
    between,
    interval,
    moment,
    number,
    quote,
)

Ints = npt.NDArray[np.int64]

SECOND = 1_000_000
"""Microseconds."""


def recode(
    column: Column,
    style: str,
    rows: npt.NDArray[np.uint32],
    starts: Ints,
    hierarchy: Hierarchy | None = None,
) -> tuple[list[Cell], Ints]:
    """Return the distinct cells of a column, and which of them each group gets.

    Parameters
    ----------
    column : Column
        The original column.
    style : str
        "range" for numbers and dates (their means are `rounded`); "concatenate", "weighted",
        "hierarchy" or "suppress" for categories.
    rows : uint32 array of shape (n,)
        Row numbers, group by group.
    starts : int array of shape (groups,)
        Where each group begins in `rows`.
    hierarchy : Hierarchy, optional
        For "hierarchy".
    """
    codes = column.codes[rows]
    if column.is_number:
        return _ranges(column, codes, starts)
    if style == "suppress":
        return [Cell(TOP, anything=True)], np.zeros(len(starts), np.int64)
    if style == "weighted":
        return _weighted(column, codes, starts)
    if style == "hierarchy":
        assert hierarchy is not None
        return _sets(column, codes, starts, _ancestor(column, hierarchy))
    return _sets(column, codes, starts, _concatenated(column))


def _ranges(
    column: Column, codes: npt.NDArray[np.unsignedinteger], starts: Ints
) -> tuple[list[Cell], Ints]:
    """Return ranges of true extent."""
    values: Sequence[Any] = column.exact or column.values.tolist()
    n = np.diff(np.append(starts, len(codes)))
    first = np.minimum.reduceat(codes, starts).astype(np.int64)
    if column.has_missing:
        known = codes != column.n_values
        n_known = np.add.reduceat(known, starts, dtype=np.int64)
        last = np.maximum.reduceat(codes * known, starts).astype(np.int64)
        last[n_known == 0] = -1
        absent = n - n_known
    else:
        last = np.maximum.reduceat(codes, starts).astype(np.int64)
        absent = np.zeros(len(starts), np.int64)
    cells = []
    distinct = group([first, last + 1, absent > 0])
    at = distinct.first
    for a, b, gap in zip(first[at], last[at], absent[at] > 0, strict=True):
        if b < 0:
            cells.append(Cell(None, missing=True))
            continue
        label = interval(values[a], values[b], column.unit) + (f"+{MISSING}" if gap else "")
        cells.append(Cell(label, values[a], values[b], missing=bool(gap)))
    return cells, distinct.labels.astype(np.int64)


def _merged(cells: Sequence[Cell]) -> tuple[list[Cell], Ints]:
    """Return the distinct cells, and which one each group has."""
    distinct = {cell: i for i, cell in enumerate(dict.fromkeys(cells))}
    return list(distinct), np.array([distinct[c] for c in cells], np.int64)


def between_points(
    column: Column,
    rows: npt.NDArray[np.uint32],
    starts: Ints,
    low: npt.NDArray[np.float64],
    high: npt.NDArray[np.float64],
) -> tuple[list[Cell], Ints]:
    """Return the distinct half-open cells of a column that is told between public points, and each group's.

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


def rounded(
    column: Column,
    style: str,
    rows: npt.NDArray[np.uint32],
    starts: Ints,
    step: float,
    enough: npt.NDArray[np.bool_],
) -> tuple[list[Cell], Ints]:
    """Return means or medians of groups at multiples of a public step, half to even, and each group's.

    Parameters
    ----------
    column, style, rows, starts
        As in `recode`.
    step : float
        0 leaves them as they are.
    enough : bool array of shape (groups,)
        Whether so many people of a group have a value that their mean may be told.
    """
    codes = column.codes[rows]
    known = codes != column.n_values
    some = np.add.reduceat(known.astype(np.int64), starts)
    sizes = np.diff(np.append(starts, len(rows)))
    if not step:
        centre = _centres(column.values, style, codes, starts, some)
    else:
        steps = _whole_steps(column, codes, starts, some, step) if style == "mean" else None
        if steps is None:
            centre = _centres(column.values, style, codes, starts, some)
            steps = _on_grid(centre / step, column, style, codes, starts, some, step)
        whole = math.isfinite(1 / step) and step < 1
        centre = steps / round(1 / step) if whole else steps * step
        if column.unit:  # half a step beyond the first or last day may be none
            centre = np.clip(centre, column.values[0], column.values[-1])
    first = np.minimum.reduceat(codes, starts).astype(np.int64)
    last = np.maximum.reduceat(np.where(known, codes.astype(np.int64), -1), starts)
    values: Sequence[Any] = column.exact or column.values.tolist()
    cells = []
    for middle, a, b, n, size, is_told in zip(
        centre.tolist(), first, last, some.tolist(), sizes.tolist(), enough, strict=True
    ):
        if not is_told:
            cells.append(Cell(TOP, anything=True))
        else:
            label: float | str = middle + 0.0
            if column.unit:
                label = moment(middle, column.unit)
            if n < size:
                text = label if column.unit else number(middle + 0.0)
                label = f"{text}{WEIGHT}{n}{JOIN}{MISSING}{WEIGHT}{size - n}"
            cells.append(Cell(label, values[a], values[b], missing=n < size))
    if any(isinstance(cell.label, str) for cell in cells):  # the column is text
        cells = [
            replace(c, label=number(c.label)) if isinstance(c.label, float) else c for c in cells
        ]
    return _merged(cells)


def _whole_steps(
    column: Column,
    codes: npt.NDArray[np.unsignedinteger],
    starts: Ints,
    known: Ints,
    step: float,
) -> npt.NDArray[np.float64] | None:
    """Return means in whole steps, half to even, by integer arithmetic; None where values are no integers."""
    values = np.asarray(column.values, np.float64)
    limit = 2.0**53 / len(codes)  # sums and products below it are exact
    if column.exact or max(np.abs(values).max(), step) > limit:
        return None
    for digits in range(5):
        scale = 10.0**digits
        whole = np.rint(values * scale)
        if (
            (whole / scale == values).all()
            and (step * scale).is_integer()
            and max(np.abs(whole).max(), step * scale) <= limit
        ):
            units = np.append(whole, 0.0).astype(np.int64)
            total = np.add.reduceat(units[codes], starts)
            per = np.maximum(known, 1) * int(step * scale)
            below, rest = np.divmod(total, per)
            up = (2 * rest > per) | ((2 * rest == per) & (below % 2 == 1))
            return (below + up).astype(np.float64)
    return None


def _on_grid(
    steps: npt.NDArray[np.float64],
    column: Column,
    style: str,
    codes: npt.NDArray[np.unsignedinteger],
    starts: Ints,
    known: Ints,
    step: float,
) -> npt.NDArray[np.float64]:
    """Round numbers of steps, half to even; exactly where doubles leave it open."""
    whole = np.rint(steps)
    close = np.abs(np.abs(steps - np.floor(steps)) - 0.5) <= 1e-6 * np.maximum(np.abs(steps), 1)
    if not close.any():
        return whole
    exact = column.exact or [Decimal(repr(v)) for v in column.values.tolist()]
    unit = Fraction(repr(step))
    ends = np.append(starts, len(codes))
    for at in np.flatnonzero(close & (known > 0)):
        n = int(known[at])
        mine = np.sort(codes[ends[at] : ends[at + 1]])[:n]
        if style == "mean":
            pairs = zip(*(a.tolist() for a in np.unique(mine, return_counts=True)), strict=True)
            centre = sum((Fraction(exact[v]) * c for v, c in pairs), Fraction(0)) / n
        else:
            centre = (Fraction(exact[mine[(n - 1) // 2]]) + Fraction(exact[mine[n // 2]])) / 2
        whole[at] = round(centre / unit)
    return whole


def public_step(column: ValueCounts) -> float:
    """Return the largest of 1, 2, 5 x 10^m that is not above a quarter of the standard deviation.

    Days are at least one; times are told in steps of days, or seconds within a day. 0 where
    there is nothing to round.

    Examples
    --------
    >>> ages = ValueCounts("age", "numeric", "", np.array([20.0, 30, 60]), np.array([5, 4, 3]))
    >>> public_step(ages)
    2.0
    """
    if column.n_values < 2:
        return 0.0
    deviation = deviations(column.deviations, column.counts)
    spread = math.sqrt(float(deviation * deviation @ column.counts) / column.known)
    power = int(np.frexp(np.abs(column.deviations).max())[1])
    quarter = math.ldexp(spread, power - 2)
    if not quarter:  # the numbers next to 0
        return 0.0
    for unit in {"day": (1.0,), "us": (DAY, SECOND, 1.0)}.get(column.unit, ()):
        if quarter >= unit or unit == 1.0:
            return unit * max(_one_two_five(quarter / unit), 1.0)
    return _one_two_five(quarter)


def _one_two_five(most: float) -> float:
    """Return the largest of 1, 2, 5 x 10^m that is not above `most`."""
    m = math.floor(math.log10(most))
    steps = [float(f"{digit}e{power}") for power in (m - 1, m, m + 1) for digit in (1, 2, 5)]
    return max(step for step in steps if step <= most)


def _centres(
    values: npt.NDArray[np.float64],
    style: str,
    codes: npt.NDArray[np.unsignedinteger],
    starts: Ints,
    known: Ints,
) -> npt.NDArray[np.float64]:
    """Return mean or median of each group's known values, summed in ascending order."""
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
    """Return cells that depend only on which categories a group holds, the missing one among them."""
    index, members, ends = distinct_sets(codes, starts, column.n_values + 1)
    cells: list[Cell] = []
    codes_of_sets, begin = members.tolist(), 0
    for end in ends.tolist():
        cells.append(label(codes_of_sets[begin:end]))
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
    """Return concatenations with counts, ``a:4+b:1``."""
    sizes = np.diff(np.append(starts, len(codes)))
    groups = Groups(np.repeat(np.arange(len(starts), dtype=np.uint32), sizes), starts)
    counts = Counts.from_codes(groups, codes, column.n_values + 1)
    begin, code, count = counts.starts.tolist(), counts.values.tolist(), counts.counts.tolist()
    names, missing = column.values, column.n_values
    quoted = [*map(quote, names), MISSING]
    cells = []
    for first, end in pairwise(begin):
        present = code[first:end]
        known = present[:-1] if present[-1] == missing else present
        if not known:
            cells.append(Cell(None, missing=True))
            continue
        label = quoted[present[0]]
        if len(present) > 1:
            label = JOIN.join(
                [f"{quoted[c]}{WEIGHT}{n}" for c, n in zip(present, count[first:end], strict=True)]
            )
        cells.append(
            Cell(label, categories=tuple([names[c] for c in known]), missing=len(known) < len(present))
        )
    return _merged(cells)
