"""Cells held against values by arrays, beside the same one pair at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.columns import cover as module
from hedgerow.columns.cover import Cover
from hedgerow.notation import Cell

CATEGORIES = ["a", "b", "c"]
numbers = st.sampled_from([-1.0, 0.0, 0.5, 2.0, float("inf")])
number_cells = st.builds(
    lambda ends, missing, anything: Cell(
        "x", *(sorted(ends) if ends else (None, None)), missing=missing, anything=anything
    ),
    st.none() | st.tuples(numbers, numbers),
    st.booleans(),
    st.booleans(),
)
category_cells = st.builds(
    lambda names, missing, anything: Cell("x", categories=tuple(names), missing=missing, anything=anything),
    st.lists(st.sampled_from([*CATEGORIES, "unseen"]), unique=True),
    st.booleans(),
    st.booleans(),
)


def covered(cell: Cell, value: Any) -> bool:
    if cell.anything:
        return True
    if value is None or value != value:
        return cell.missing
    if isinstance(value, str):
        return value in cell.categories
    return cell.lo is not None and cell.hi is not None and cell.lo <= value <= cell.hi


@given(st.lists(number_cells, min_size=1, max_size=4), st.lists(numbers | st.just(float("nan"))), st.data())
def test_numbers(cells: list[Cell], values: list[float], data: Any) -> None:
    beside = [data.draw(st.integers(0, len(cells) - 1)) for _ in values]
    # each end and its neighbours, which drawn values seldom meet
    for i, cell in enumerate(cells):
        if cell.lo is not None and cell.hi is not None:
            values = [*values, cell.lo - 1, cell.lo, cell.hi, cell.hi + 1]
            beside += [i] * 4
    held = Cover.from_cells(cells).covers_numbers(np.array(values, float), np.array(beside, int))
    assert held.tolist() == [covered(cells[i], v) for i, v in zip(beside, values, strict=True)]


@pytest.mark.parametrize("looked_up", [1 << 26, 0], ids=["few pairs", "many pairs"])
@given(
    cells=st.lists(category_cells, min_size=1, max_size=4),
    codes=st.lists(st.integers(0, len(CATEGORIES))),
    data=st.data(),
)
def test_categories(looked_up: int, cells: list[Cell], codes: list[int], data: Any) -> None:
    beside = [data.draw(st.integers(0, len(cells) - 1)) for _ in codes]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LOOKED_UP", looked_up)
        cover = Cover.from_cells(cells, CATEGORIES)
        held = cover.covers_codes(np.array(codes, int), np.array(beside, int))
    values = [[*CATEGORIES, None][code] for code in codes]
    assert held.tolist() == [covered(cells[i], v) for i, v in zip(beside, values, strict=True)]


def test_no_categories_at_all() -> None:
    cover = Cover.from_cells([Cell(None, missing=True), Cell("*", anything=True), Cell("x")], [])
    assert cover.covers_codes(np.array([0, 0, 0]), np.array([0, 1, 2])).tolist() == [True, True, False]
