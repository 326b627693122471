"""The order of a release is that of its rows' text."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.columns.order import content_order

CELLS: dict[str, st.SearchStrategy[Any]] = {
    "text": st.one_of(st.none(), st.text("ab\0é", max_size=20)),
    "whole": st.one_of(st.none(), st.integers(-12, 120)),
    "double": st.one_of(st.none(), st.sampled_from([0.5, -0.5, 10.25, 9.0, 1e20, float("inf")])),
    "flag": st.one_of(st.none(), st.booleans()),
    "day": st.one_of(st.none(), st.dates(dt.date(1999, 1, 1), dt.date(2001, 1, 1))),
}
TYPES = dict(zip(CELLS, (pa.string(), pa.int64(), pa.float64(), pa.bool_(), pa.date32()), strict=True))


def said(value: Any) -> tuple[int, bytes]:
    """A cell as the recipient of a CSV file reads it; missing first."""
    if value is None:
        return 0, b""
    if isinstance(value, bool):
        return 1, str(value).lower().encode()
    if isinstance(value, float):
        return 1, pa.scalar(value).cast(pa.string()).as_py().encode()
    return 1, str(value).encode()


def expected(rows: list[tuple[Any, ...]]) -> list[int]:
    return sorted(range(len(rows)), key=lambda i: [said(cell) for cell in rows[i]])


@settings(max_examples=200)
@given(
    names=st.lists(st.sampled_from(list(CELLS)), min_size=1, max_size=4),
    coded=st.sets(st.integers(0, 3)),
    data=st.data(),
)
def test_rows_stand_as_their_text_sorts(names: list[str], coded: set[int], data: Any) -> None:
    rows = data.draw(st.lists(st.tuples(*(CELLS[name] for name in names)), min_size=1, max_size=30))
    columns = []
    for j, name in enumerate(names):
        column = pa.array([row[j] for row in rows], TYPES[name])
        columns.append(column.dictionary_encode() if j in coded else column)
    table = pa.table(columns, [f"{j}" for j in range(len(names))])
    assert content_order(table).tolist() == expected(rows)


def test_many_rows_of_mostly_distinct_cells() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    text = np.array([f"{v:020d}"[: 1 + v % 20] for v in rng.integers(0, 10**9, n)], object)
    text[rng.random(n) < 0.1] = None
    rows = list(zip(rng.integers(0, 3, n).tolist(), text, rng.random(n).round(3).tolist(), strict=True))
    table = pa.table([pa.array(c) for c in zip(*rows, strict=True)], ["a", "b", "c"])
    assert content_order(table).tolist() == expected(rows)
    late = table.select(["c", "b", "a"])
    assert content_order(late).tolist() == expected([row[::-1] for row in rows])


def test_keys_that_outgrow_a_word_are_settled_in_between() -> None:
    rng = np.random.default_rng(1)
    rows = [tuple(row) for row in rng.integers(0, 9, (300, 40)).tolist()]
    rows += [(*row[:-1], (row[-1] + 1) % 9) for row in rows]
    columns = [pa.array(column).dictionary_encode() for column in zip(*rows, strict=True)]
    assert content_order(pa.table(columns, [str(j) for j in range(40)])).tolist() == expected(rows)


@pytest.mark.parametrize(
    "cells",
    [
        [[2], [1], None, [1, 2]],
        [Decimal("9.50"), Decimal("10.00"), None],
        [b"b", b"a", None],
        [dt.datetime(2001, 1, 1, 5), dt.datetime(2001, 1, 1), None],
        [None, None],
    ],
)
def test_odd_types_have_an_order_of_their_own(cells: list[Any]) -> None:
    table = pa.table({"x": pa.array(cells)})
    shuffled = table.take(pa.array(np.random.default_rng(0).permutation(len(cells))))
    sorted_once, again = (t.take(pa.array(content_order(t))) for t in (table, shuffled))
    assert sorted_once.equals(again)
    assert sorted_once.column(0)[0].as_py() is None


def test_numbers_that_are_none_do_not_mix_with_missing_ones() -> None:
    table = pa.table({"x": pa.array([float("nan"), None, 1.0, float("nan"), None])})
    assert content_order(table).tolist() == [1, 4, 0, 3, 2]
