"""Rows told apart by what they hold."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.backends import randomize as rows
from hedgerow.backends.randomize import NUMBER, Rows, normal, numbered, sequence
from hedgerow.columns.row_hashes import key_words
from hedgerow.io.read import read

KEY = hr.Key(b"k" * 32)


def keyed(source, key=KEY):
    table = read(source)
    return rows.hashes(table, table.names, key)


def hashes(source):
    first, second, _ = keyed(source)
    return list(zip(first.tolist(), second.tolist(), strict=True))


def test_the_kind_of_frame_the_types_and_the_order_of_columns_do_not_matter():
    frame = pd.DataFrame({"age": [39, 50, 39], "pay": [1.5, -0.0, np.nan], "job": ["nurse", None, "cook"]})
    table = pa.Table.from_pandas(frame)
    expected = hashes(frame)
    assert len(set(expected)) == 3
    for other in (
        table,
        pl.from_arrow(table),
        frame[["job", "pay", "age"]],
        frame.astype({"age": float}),
        frame.astype({"age": "Int8", "job": "category"}),
        frame.assign(pay=[1.5, 0.0, None]),
        table.set_column(2, "job", table.column("job").cast(pa.large_string())),
    ):
        assert hashes(other) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"x": ["1"], "y": ["2"]}, {"x": ["2"], "y": ["1"]}),
        ({"x": ["1"]}, {"x": [1]}),
        ({"x": ["1"]}, {"y": ["1"]}),
        ({"x": [None], "y": [1]}, {"x": [1], "y": [None]}),
        ({"x": [""]}, {"x": [None]}),
        ({"x": [2**60]}, {"x": [2**60 + 1]}),
        ({"x": [-(2**60)]}, {"x": [2**60]}),
        ({"x": ["ab"], "y": ["c"]}, {"x": ["a"], "y": ["bc"]}),
        ({"x": [[1, 2]]}, {"x": [[1], [2]][:1]}),
    ],
)
def test_what_differs_has_another_hash(one, other):
    a, b = (pa.table({n: pa.array(v) for n, v in c.items()}) for c in (one, other))
    assert hashes(a) != hashes(b)
    assert keyed(a, hr.Key(b"l" * 32))[0].tolist() != [first for first, _ in hashes(a)]
    assert all(first != second for first, second in hashes(a))


def test_every_type_of_column_is_hashed():
    moment = dt.datetime(2020, 1, 2, 3, 4, 5)
    columns = {
        "bool": [True, False, None],
        "date": [dt.date(1999, 1, 1), dt.date(2000, 1, 1), None],
        "stamp": [moment, moment + dt.timedelta(1), None],
        "zone": pa.array([moment, moment + dt.timedelta(1), None], pa.timestamp("ms", "UTC")),
        "time": [dt.time(1), dt.time(2), None],
        "span": [dt.timedelta(1), dt.timedelta(2), None],
        "decimal": [Decimal("1.5"), Decimal("1.25"), None],
        "bytes": [b"a", b"b", None],
        "list": [[1], [2], None],
        "record": [{"a": 1}, {"a": 2}, None],
        "null": [None, None, None],
        "half": pa.array(np.array([1, 2, np.nan], np.float16)),
        "large": pa.array([2**64 - 1, 2**63, None], pa.uint64()),
        "codes": pa.array(["a", "b", None]).dictionary_encode(),
        "numbers": pa.array([7, 8, None]).dictionary_encode(),
    }
    for name, values in columns.items():
        found = hashes(pa.table({"x": pa.array(values)}))
        assert len(set(found)) == (1 if name == "null" else 3), name
    rows = Rows.from_table(read(pa.table(columns)), KEY)
    assert len(set(rows.ids.tolist())) == 3


def test_rows_that_are_alike_are_numbered_and_the_order_is_that_of_the_content():
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.integers(0, 5, 300), "y": rng.choice(["a", "b", None], 300)})
    rows = Rows.from_table(read(table), KEY)
    assert len(set(rows.ids.tolist())) == 300
    order = rng.permutation(300)
    mixed = Rows.from_table(read(table.take(pa.array(order))), KEY)
    assert mixed.fingerprint == rows.fingerprint
    assert Counter(mixed.ids.tolist()) == Counter(rows.ids.tolist())
    ranked = table.take(pa.array(rows.order))
    assert table.take(pa.array(order)).take(pa.array(mixed.order)).equals(ranked)
    values = rng.normal(size=300)
    assert np.array_equal(rows.back(rows.sorted(values)), values)
    other = Rows.from_table(read(table.set_column(0, "x", pa.array(rng.integers(0, 5, 300)))), KEY)
    assert other.fingerprint != rows.fingerprint


def test_rows_that_share_half_a_hash_are_told_apart_by_the_other():
    first = np.array([5, 5, 5, 9, 5], np.uint64)
    second = np.array([3, 1, 3, 0, 2], np.uint64)
    ids = numbered(first, second, key_words(KEY, NUMBER))
    assert len(set(ids.tolist())) == 5
    assert ids[3] == 9
    order = np.array([4, 1, 3, 0, 2])
    again = numbered(first[order], second[order], key_words(KEY, NUMBER))
    assert again[1] == ids[1]
    assert again[0] == ids[4]
    assert set(again[[3, 4]].tolist()) == set(ids[[0, 2]].tolist())


def test_release_keys_are_of_one_table_and_one_request():
    rows = Rows.from_table(read(pa.table({"x": [1, 2]})), KEY)
    other = Rows.from_table(read(pa.table({"x": [1, 3]})), KEY)
    key = rows.release_key({"a": 1, "b": [2]})
    assert key == rows.release_key({"b": [2], "a": 1})
    assert len({key, rows.release_key({"a": 2}), other.release_key({"a": 1, "b": [2]})}) == 3


def test_normals_are_normal():
    from scipy import stats

    drawn = normal(sequence(KEY, "noise", 100_000))
    assert stats.kstest(drawn, "norm").pvalue > 1e-3
    ends = normal(np.array([0, 2**64 - 1], np.uint64))
    assert np.isfinite(ends).all()
    assert ends[0] == -ends[1]
