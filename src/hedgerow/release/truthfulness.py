"""Whether what a released table says about each record is true of the record it came from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import SchemaError
from ..plan import Cell, Recoded
from ..table import Column, Table

# Pairs of (released, original) values are looked up in a table up to this size.
_LARGEST = 1 << 27


@dataclass(frozen=True)
class Coverage:
    """How many cells of one column are unknown to the plan, or do not cover their original."""

    unmapped: int
    uncovered: int


def coverage(recoded: Recoded, original: Table, released: Table) -> Coverage:
    """Hold every released cell of a column against the original cell.

    A released value stands for all cells of the plan with that label: their
    extents, categories and missing values together.
    """
    numeric = any(
        not isinstance(cell.label, str) for cell in recoded.cells if cell.label is not None
    )
    numeric = numeric and not any(isinstance(cell.label, str) for cell in recoded.cells)
    new = released.column(recoded.name, kind="numeric" if numeric else "categorical")
    old = original.column(recoded.name, kind=recoded.kind, unit=recoded.unit or None)
    cells = _by_value(new, recoded.cells)
    known = np.array([bool(c) for c in cells])
    unmapped = int(np.count_nonzero(~known[new.codes]))
    matched = _matches(old, cells)
    return Coverage(unmapped, int(np.count_nonzero(~matched(new.codes, old.codes))) - unmapped)


def _by_value(column: Column, cells: Sequence[Cell]) -> list[list[Cell]]:
    """For every released value, then for missing, the cells of the plan with that label."""
    places: dict[Any, int] = {value: i for i, value in enumerate(_plain(column))}
    found: list[list[Cell]] = [[] for _ in range(len(column.values) + 1)]
    for cell in cells:
        place = column.n_values if cell.label is None else places.get(cell.label)
        if place is not None:
            found[place].append(cell)
    return found


def _plain(column: Column) -> list[Any]:
    return column.values.tolist() if isinstance(column.values, np.ndarray) else list(column.values)


def _matches(old: Column, cells: Sequence[Sequence[Cell]]) -> Any:
    """A function of (released codes, original codes) that tells which pairs agree."""
    anything = np.array([any(c.anything for c in group) for group in cells])
    missing = anything | np.array([any(c.missing for c in group) for group in cells])
    if old.is_number:
        low = np.array([min((c.lo for c in g if c.lo is not None), default=np.inf) for g in cells])
        high = np.array(
            [max((c.hi for c in g if c.hi is not None), default=-np.inf) for g in cells]
        )
        low[anything], high[anything] = -np.inf, np.inf
        values = old.by_code

        def numbers(new: npt.NDArray[Any], was: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
            value = values[was]
            held = (low[new] <= value) & (value <= high[new])
            return held | (missing[new] & (was == old.n_values)) if old.has_missing else held

        return numbers
    width = old.n_values + 1
    place = {name: i for i, name in enumerate(old.values)}
    if len(cells) * width <= _LARGEST:
        table = np.zeros((len(cells), width), bool)
        table[anything] = True
        table[:, -1] = missing
        for i, group in enumerate(cells):
            table[i, [place[name] for c in group for name in c.categories if name in place]] = True
        flat = table.ravel()
        return lambda new, was: flat[new.astype(np.int64) * width + was]
    pairs = [
        i * width + place[n]
        for i, g in enumerate(cells)
        for c in g
        for n in c.categories
        if n in place
    ]
    pairs += [i * width + width - 1 for i in np.flatnonzero(missing).tolist()]
    allowed = np.unique(np.array(pairs, np.int64))
    return lambda new, was: np.isin(new.astype(np.int64) * width + was, allowed) | anything[new]


def unchanged(name: str, original: Table, released: Table) -> bool:
    """Whether a column holds the same values, whatever type a file gave them."""
    ours, theirs = original.arrow.column(name), released.arrow.column(name)
    if ours.type == theirs.type and ours.equals(theirs):
        return True
    kind = original.kind(name)
    order = original.declared(name) or None  # files may forget a declared order
    a = original.column(name, kind=kind, categories=order)
    try:
        b = released.column(name, kind=kind, categories=order)
    except SchemaError:  # numbers became text
        return False
    if a.codes.shape != b.codes.shape or len(a.values) != len(b.values):
        return False
    same = np.array_equal(a.values, b.values) if a.is_number else list(a.values) == list(b.values)
    return bool(same and np.array_equal(a.codes, b.codes))


def identical(released: Table, back: Table) -> bool:
    """Whether a file holds exactly the table that was verified, column by column."""
    return (
        released.names == back.names
        and released.n_rows == back.n_rows
        and all(
            _plain_type(released.arrow.column(n).type) == _plain_type(back.arrow.column(n).type)
            and unchanged(n, released, back)
            for n in back.names
        )
    )


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """A column's type; for a dictionary, which files write out, that of its values."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind
