"""A column is encoded once; whatever else is asked of it comes from its codes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.columns import table as table_module
from hedgerow.columns.column import Column
from hedgerow.columns.encode import encode
from hedgerow.errors import InputError
from hedgerow.io.read import read


def same(a: Column, b: Column) -> bool:
    return (
        (a.name, a.kind, a.unit, a.has_missing, a.infinite) == (b.name, b.kind, b.unit, b.has_missing, b.infinite)
        and list(a.values) == list(b.values)
        and a.codes.tolist() == b.codes.tolist()
    )


def in_order(column: Column, order: Sequence[str]) -> Column:
    """The same column with its categories in a declared order, worked out row by row."""
    texts = [*column.values, None]
    values = [v for v in order if v in texts] + [v for v in column.values if v not in order]
    places = [*values, None]
    codes = np.array([places.index(texts[code]) for code in column.codes.tolist()], column.codes.dtype)
    return replace(column, codes=codes, values=values)


@pytest.fixture
def encoded(monkeypatch) -> list[str]:
    """The names of the columns in the order in which they were encoded."""
    names: list[str] = []

    def counting(name, *rest, **options):
        names.append(name)
        return encode(name, *rest, **options)

    monkeypatch.setattr(table_module, "encode", counting)
    return names


numbers = {
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.int64(): st.integers(-(2**62), 2**62) | st.integers(-5, 5),
    pa.uint64(): st.integers(0, 2**63) | st.integers(0, 5),
    pa.float64(): st.floats(width=64),
    pa.float32(): st.floats(width=32),
}
kinds = st.sampled_from(list(numbers))


@given(st.data(), kinds)
def test_numbers_as_categories_equal_a_direct_encoding(data, kind):
    values = data.draw(st.lists(st.none() | numbers[kind], min_size=1, max_size=40))
    array = pa.chunked_array([pa.array(values, kind)])
    order = tuple(data.draw(st.lists(st.sampled_from(["1", "0", "-3", "x"]), unique=True)))
    table = read(pa.table({"c": array}))
    if data.draw(st.booleans()):
        table.column("c")
    for asked in ("categorical", "ordinal"):
        found = table.column("c", kind=asked, categories=order)
        assert same(found, in_order(encode("c", array, asked), order))


@given(
    st.lists(st.none() | st.sampled_from("abcde"), min_size=1, max_size=30),
    st.lists(st.sampled_from("abcdexyz"), unique=True),
    st.sampled_from(["categorical", "ordinal", "boolean"]),
)
def test_a_declared_order_equals_a_direct_encoding(values, order, kind):
    array = pa.chunked_array([pa.array(values, pa.string())])
    table = read(pa.table({"c": array}))
    found = table.column("c", kind=kind, categories=order)
    assert same(found, in_order(encode("c", array, kind), order))


moments = st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9000, 1, 1)) | st.dates(
    dt.date(1000, 1, 1), dt.date(9000, 1, 1)
).map(lambda d: dt.datetime(d.year, d.month, d.day))


@given(st.lists(st.none() | moments, min_size=1, max_size=20), st.sampled_from(["day", "us"]))
def test_dates_in_either_unit_equal_a_direct_encoding(values, unit):
    array = pa.chunked_array([pa.array(values, pa.timestamp("us"))])
    table = read(pa.table({"c": array}))
    assert same(table.column("c", unit=unit), encode("c", array, "date", unit))


def test_equal_requests_are_encoded_once(encoded):
    table = read(pa.table({"n": [3, 1, 2], "t": ["b", "a", None], "d": [dt.date(2020, 1, 1)] * 3}))
    table.column("n"), table.column("n", kind="numeric"), table.column("n", kind="categorical")
    table.column("t"), table.column("t", categories=("b", "a")), table.column("t", kind="ordinal")
    table.column("d"), table.column("d", unit="day"), table.column("d", unit="us")
    assert encoded == ["n", "t", "d"]


def test_a_replaced_column_is_new_and_the_others_keep_their_codes(encoded):
    frame = pd.DataFrame({"c": pd.Categorical(["q", "p"], ["q", "p"]), "n": [1, 2], "gone": [1, 2]})
    table = read(frame)
    before = {name: table.column(name) for name in table.names}
    made = table.replaced({"n": pa.array(["[1-2]"] * 2), "new": pa.array([7, 7])}, drop=["gone"])
    assert made.names == ["c", "n", "new"]
    assert made.column("c") is before["c"]
    assert made.declared("c") == table.declared("c") == ("q", "p")
    assert made.column("n").values == ["[1-2]"]
    assert made.column("new").values.tolist() == [7]
    assert encoded == ["c", "n", "gone", "n", "new"]
    assert table.column("n") is before["n"]
    with pytest.raises(InputError, match="'n' has 1 new values for 2 rows"):
        table.replaced({"n": pa.array([1])})


def test_a_large_whole_number_keeps_its_own_text():
    values = [2**53, 2**53 + 1, None]
    column = read(pa.table({"c": pa.array(values, pa.int64())})).column("c", kind="categorical")
    assert column.values == [str(2**53), str(2**53 + 1)]
    assert np.bincount(column.codes).tolist() == [1, 1, 1]


def test_the_numbers_of_a_column_and_its_codes_in_another():
    table = read(pa.table({"n": [2.5, None, 1.0], "t": ["b", "a", None]}))
    other = read(pa.table({"n": [1.0, 3.0, 2.5], "t": ["c", "b", "b"]}))
    np.testing.assert_array_equal(table.column("n").by_code, [1.0, 2.5, np.nan])
    np.testing.assert_array_equal(table.column("n").numbers, [2.5, np.nan, 1.0])
    assert table.column("n").codes_in(other.column("n"), unknown=-1).tolist() == [1, 3, 0]
    assert table.column("t").codes_in(other.column("t"), unknown=-1).tolist() == [0, -1, 2]


def test_text_that_is_not_utf_8_is_refused_by_its_column():
    """What a Parquet file of another program may hold; Python tells the byte, and nothing else."""
    texts = pa.array([b"caf\xe9", b"\xed\xa0\x80", b"tea"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 3, texts.buffers())
    with pytest.raises(InputError, match="column 'drink' holds text that is not UTF-8"):
        read(pa.table({"drink": text})).column("drink")
