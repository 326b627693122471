"""Rows as order-free sums of keyed hashes, beside multisets of plain Python rows."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.columns.arrays import value_class
from hedgerow.columns.row_hashes import RowHasher, RowSums
from hedgerow.kernels.siphash import hash_texts, hash_words, sum_rows
from hedgerow.key import Key

from ..kernels.siphash import siphash_128

KEY = bytes(range(16))
WORDS = tuple(np.frombuffer(KEY, np.uint64))


@pytest.mark.parametrize(
    ("length", "digest"),
    [  # vectors_sip128 of the authors' reference implementation
        (0, "a3817f04ba25a8e66df67214c7550293"),
        (1, "da87c1d86b99af44347659119b22fc45"),
    ],
)
def test_the_reference_is_the_authors_hash(length: int, digest: str) -> None:
    made = siphash_128(bytes(range(length)), KEY)
    assert made.to_bytes(16, "little").hex() == digest


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=20))
def test_texts_are_hashed_as_by_the_reference(texts: list[bytes]) -> None:
    data = np.frombuffer(b"".join(texts) or b"\0", np.uint8)
    ends = np.cumsum([0, *map(len, texts)])
    first, second = np.empty(len(texts), np.uint64), np.empty(len(texts), np.uint64)
    hash_texts(data, ends, *WORDS, first, second)
    for text, a, b in zip(texts, first.tolist(), second.tolist(), strict=True):
        assert a | b << 64 == siphash_128(text, KEY)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
def test_rows_of_words_are_summed_as_by_the_reference(words: list[int]) -> None:
    given_words = np.array(words, np.uint64)
    first, second = np.empty(len(words), np.uint64), np.empty(len(words), np.uint64)
    hash_words(given_words, *WORDS, first, second)
    hashes = [siphash_128(w.to_bytes(8, "little"), KEY) for w in words]
    assert [a | b << 64 for a, b in zip(first.tolist(), second.tolist(), strict=True)] == hashes
    low, high = sum_rows(first, second, *WORDS)
    whole = sum(siphash_128(h.to_bytes(16, "little"), KEY) for h in hashes) % 2**128
    assert int(low) | int(high) << 64 == whole


def sums(table: pa.Table, key: Key, classes: dict[str, str] | None = None) -> RowSums:
    found = classes or {n: value_class(table.schema.field(n).type) for n in table.column_names}
    hasher = RowHasher(found, key)
    total = hasher.zero()
    for batch in table.to_batches(max_chunksize=3):
        total += hasher.add(batch.columns)
    return total


TYPES = {
    "number": (st.sampled_from([0, 1, 2, 2**53, 2**53 + 1, -(2**53) - 1]), pa.int64()),
    "share": (st.sampled_from([0.0, -0.0, 0.1, 1e300, float("nan"), float("inf")]), pa.float64()),
    "small": (st.integers(-128, 127), pa.int8()),
    "text": (st.sampled_from(["", "a", "ab", "ä" * 9]), pa.string()),
    "flag": (st.booleans(), pa.bool_()),
    "day": (st.dates(dt.date(1900, 1, 1), dt.date(1900, 1, 4)), pa.date32()),
    "price": (st.sampled_from([Decimal("0.10"), Decimal("2.00"), Decimal("0.25")]), pa.decimal128(5, 2)),
    "list": (st.lists(st.integers(0, 1), max_size=2), pa.list_(pa.int64())),
}


@st.composite
def two_tables(draw: Any) -> tuple[pa.Table, pa.Table]:
    """A table, and the same shuffled, with or without two cells of a column exchanged."""
    names = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=3, unique=True))
    n = draw(st.integers(1, 8))
    columns = {name: draw(st.lists(st.none() | TYPES[name][0], min_size=n, max_size=n)) for name in names}
    order = draw(st.permutations(range(n)))
    others = {name: [cells[i] for i in order] for name, cells in columns.items()}
    if draw(st.booleans()):
        name, i, j = draw(st.sampled_from(names)), *draw(st.tuples(*[st.integers(0, n - 1)] * 2))
        cells = others[name]
        cells[i], cells[j] = cells[j], cells[i]
    one, other = (
        pa.table({name: pa.array(cells, TYPES[name][1]) for name, cells in made.items()}) for made in (columns, others)
    )
    return one, other


def rows_of(table: pa.Table) -> Counter[str]:
    def plain(cell: Any) -> str:
        missing = cell is None or cell != cell
        return "missing" if missing else str(0.0 if cell == 0 and isinstance(cell, float) else cell)

    return Counter(str([plain(c) for c in row.values()]) for row in table.to_pylist())


@settings(max_examples=300, deadline=None)
@given(two_tables())
def test_sums_are_equal_exactly_when_the_rows_are(tables: tuple[pa.Table, pa.Table]) -> None:
    one, other = tables
    key = Key.new()
    assert (sums(one, key).whole == sums(other, key).whole) == (rows_of(one) == rows_of(other))
    assert sums(one, key).columns == sums(other, key).columns  # exchanging moves cells only
    assert sums(one, key) != sums(one, Key.new())


NUMBER, DATE = {"x": "number"}, {"x": "date"}


@pytest.mark.parametrize(
    ("one", "other", "classes", "same"),
    [
        (pa.array([1, 2]), pa.array([1.0, 2.0]), NUMBER, True),
        (pa.array([1, None]), pa.array([float("nan"), 1.0]), NUMBER, True),
        (pa.array([0.0]), pa.array([-0.0]), NUMBER, True),
        (pa.array([2**53 + 1]), pa.array([float(2**53)]), NUMBER, False),
        (pa.array([2**53 + 1]), pa.array([2**53 + 1], pa.uint64()), NUMBER, True),
        (pa.array([-1]), pa.array([2**64 - 1], pa.uint64()), NUMBER, False),
        (pa.array([2**53 + 1]), pa.array([Decimal(2**53 + 1)]), NUMBER, True),
        (pa.array([0.5]), pa.array([Decimal("0.50")]), NUMBER, True),
        (pa.array([0.1]), pa.array([Decimal("0.1")]), NUMBER, False),
        (pa.array([0.1], pa.float32()), pa.array([0.1]), NUMBER, False),
        (pa.array([1], pa.int8()), pa.array([1], pa.int64()), NUMBER, True),
        (pa.array(["1"]), pa.array([1]), NUMBER, False),
        (pa.array([True]), pa.array([1]), NUMBER, False),
        (pa.array(["1"]), pa.array(["1"], pa.large_string()), {"x": "text"}, True),
        (pa.array(["a", "b", "a"]), pa.array(["a", "b", "a"]).dictionary_encode(), {"x": "text"}, True),
        (pa.array(["1"]), pa.array([1]), {"x": "text"}, False),
        (pa.array([None], pa.string()), pa.nulls(1), {"x": "text"}, True),
        (pa.array([None], pa.string()), pa.array([""]), {"x": "text"}, False),
        (pa.array([3], pa.int32()).cast(pa.date32()), pa.array([3 * 86_400], pa.timestamp("s")), DATE, True),
        (pa.array([7], pa.timestamp("us")), pa.array([7_000], pa.timestamp("ns")), DATE, True),
        (pa.array([7], pa.timestamp("us")), pa.array([7_001], pa.timestamp("ns")), DATE, False),
        (pa.array([7], pa.timestamp("us")), pa.array([7]), DATE, False),
        (pa.array([b"1"]), pa.array(["1"]), {"x": "text"}, False),
    ],
)  # fmt: skip
def test_what_is_the_same_value(one: pa.Array, other: pa.Array, classes: Any, same: bool) -> None:
    key = Key.new()
    tables = [pa.table({"x": array}) for array in (one, other)]
    first, second = (sums(table, key, classes) for table in tables)
    assert (first == second) is same


def test_signed_columns_tell_the_zeros_apart() -> None:
    hasher = RowHasher({"x": "number"}, Key.new(), signed=["x"])
    assert hasher.add([pa.array([0.0])]) != hasher.add([pa.array([-0.0])])


def test_a_column_is_not_another_one() -> None:
    hasher = RowHasher({"a": "number", "b": "number"}, Key.new())
    one, two = pa.array([1, 2]), pa.array([3, 4])
    assert hasher.add([one, two]).whole != hasher.add([two, one]).whole


def test_rows_that_cancel_by_columns_do_not_cancel_as_rows() -> None:
    """(a, x), (b, y) against (a, y), (b, x): sums of single cells are the same."""
    rng = random.Random(0)
    hasher = RowHasher({"job": "text", "income": "number"}, Key.new())
    jobs, incomes = [str(i) for i in range(100)], list(range(100))
    plain = hasher.add([pa.array(jobs), pa.array(incomes)])
    for _ in range(50):
        i, j = rng.sample(range(100), 2)
        swapped = incomes.copy()
        swapped[i], swapped[j] = swapped[j], swapped[i]
        other = hasher.add([pa.array(jobs), pa.array(swapped)])
        assert other.columns == plain.columns
        assert other.whole != plain.whole


def test_two_tables_at_once_give_what_each_gives_alone() -> None:
    people = pa.table({"a": ["x", "y", None], "b": [1.5, None, 2.5], "c": [True, None, False]})
    shared = people.set_column(0, "a", pa.chunked_array([["y", "y", None]]))
    hasher = RowHasher({"a": "text", "b": "number", "c": "boolean"}, Key.new())
    batches = [table.to_batches()[0].columns for table in (people, shared)]
    assert hasher.add_both(*batches) == tuple(map(hasher.add, batches))
