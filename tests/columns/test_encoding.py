"""Codes and dictionaries against a plain Python reference."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.columns.column import ValueCounts, quantile_bins, smallest
from hedgerow.columns.encode import encode
from hedgerow.errors import SchemaError
from hedgerow.io.read import read


def column(values, kind=None, categories=None, type=None, unit=None):
    return read(pa.table({"c": pa.array(values, type)})).column("c", kind=kind, categories=categories, unit=unit)


def decode(found):
    return [found.values[c] if c < len(found.values) else None for c in found.codes.tolist()]


def reference(values):
    """Sorted distinct values and each row's position; missing values come last."""
    there = sorted({v for v in values if v is not None and v == v})
    place = {v: i for i, v in enumerate(there)}
    return there, [place.get(v, len(there)) for v in values]


floats = st.one_of(st.none(), st.integers(-5, 5).map(float), st.floats(allow_nan=True, allow_infinity=True, width=64))


@given(st.lists(floats, min_size=1, max_size=60))
def test_numbers_equal_the_reference(values):
    there, codes = reference(values)
    found = column(values, type=pa.float64())
    assert found.values.tolist() == there
    assert found.codes.tolist() == codes
    assert found.has_missing == any(v is None or v != v for v in values)
    assert found.infinite == any(v is not None and math.isinf(v) for v in values)


@given(st.lists(st.one_of(st.none(), st.integers(-(2**53), 2**53)), min_size=1, max_size=60))
def test_whole_numbers_equal_the_reference(values):
    there, codes = reference(values)
    found = column(values, "numeric", type=pa.int64())
    assert found.values.tolist() == there
    assert found.codes.tolist() == codes


@given(st.lists(st.one_of(st.none(), st.text(max_size=4)), min_size=1, max_size=60), st.booleans())
def test_text_equals_the_reference(values, as_dictionary):
    there, codes = reference(values)
    array = pa.array(values, pa.string())
    table = read(pa.table({"c": array.dictionary_encode() if as_dictionary else array}))
    found = table.column("c")
    assert found.values == there
    assert found.codes.tolist() == codes


def test_many_distinct_numbers_take_the_same_way_as_few():
    values = np.random.default_rng(0).normal(size=9000)
    values[17] = np.nan
    there, codes = reference(values.tolist())
    found = column(values)
    assert found.codes.dtype == np.uint16
    assert found.values.tolist() == there
    assert found.codes.tolist() == codes


def test_codes_are_the_smallest_unsigned_integers():
    assert column(range(256)).codes.dtype == np.uint8
    assert column([*range(256), None]).codes.dtype == np.uint16
    assert column(range(257)).codes.dtype == np.uint16
    assert column([str(i) for i in range(255)] + [None]).codes.dtype == np.uint8
    assert column([str(i) for i in range(256)] + [None]).codes.dtype == np.uint16
    assert [smallest(n) for n in (1, 1 << 16, (1 << 16) + 1)] == [np.uint8, np.uint16, np.uint32]


def test_declared_categories_come_first_then_the_rest_sorted():
    found = column(["b", "z", "a", None, "c"], categories=["z", "unused", "b"])
    assert found.values == ["z", "b", "a", "c"]
    assert found.codes.tolist() == [1, 0, 2, 4, 3]
    assert found.has_missing


def test_256_categories_in_a_declared_order():
    names = [f"{i:03}" for i in range(256)]
    found = column(names, categories=names[::-1])
    assert found.values == names[::-1]
    assert decode(found) == names


def test_numbers_as_categories_are_sorted_by_size():
    assert column([10, 9, 2, 10], "categorical").values == ["2", "9", "10"]
    assert column([2.0, 0.5], "ordinal").values == ["0.5", "2"]
    assert column([2, 1], categories=["2", "1"]).kind == "categorical"


def test_booleans_are_false_and_true():
    found = column([True, None, False])
    assert (found.kind, found.values, found.codes.tolist()) == ("boolean", ["false", "true"], [1, 2, 0])


def test_a_dictionary_with_unused_and_doubled_entries():
    array = pa.DictionaryArray.from_arrays([1, 2, None, 1], ["unused", "b", "b"])
    found = read(pa.table({"c": array})).column("c")
    assert (found.values, found.codes.tolist()) == (["b"], [0, 0, 1, 0])


def test_an_ordered_dictionary_is_ordinal_in_its_order():
    array = pa.DictionaryArray.from_arrays([1, 0], ["low", "high"], ordered=True)
    found = read(pa.table({"c": array})).column("c")
    assert (found.kind, found.values) == ("ordinal", ["low", "high"])
    array = pa.DictionaryArray.from_arrays([1, 0], ["low", "high"])
    assert read(pa.table({"c": array})).column("c").values == ["high", "low"]


def test_chunks_with_dictionaries_of_their_own():
    chunks = [pa.array(["b", "a"]).dictionary_encode(), pa.array(["c", "a"]).dictionary_encode()]
    found = read(pa.table({"c": pa.chunked_array(chunks)})).column("c")
    assert (found.values, found.codes.tolist()) == (["a", "b", "c"], [1, 0, 2, 0])


def test_dates_are_days_and_times_are_microseconds():
    day = column([dt.date(1970, 1, 3), None, dt.date(1969, 12, 31)])
    assert (day.kind, day.unit, day.values.tolist()) == ("date", "day", [-1, 2])
    time = column([dt.datetime(1970, 1, 1, 0, 0, 1), dt.datetime(1969, 12, 31)])
    assert (time.unit, time.values.tolist()) == ("us", [-86_400e6, 1e6])
    midnight = column([dt.datetime(1970, 1, 2), None])
    assert (midnight.unit, midnight.values.tolist()) == ("day", [1])
    forced = column([dt.datetime(1970, 1, 1, 12)], unit="day")
    assert (forced.unit, forced.values.tolist()) == ("day", [0.5])
    assert column([dt.date(1970, 1, 2)], unit="us").values.tolist() == [86_400e6]


def test_times_with_a_zone_count_in_utc():
    found = column([dt.datetime(1970, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))])
    assert found.values.tolist() == [-3600e6]


@pytest.mark.parametrize(
    "texts", [["2020-02-29", None], ["29.02.2020", ""], ["29/02/2020", None], ["02/29/2020", None]]
)
def test_text_declared_a_date(texts):
    found = column(texts, "date")
    days = (dt.date(2020, 2, 29) - dt.date(1970, 1, 1)).days
    assert (found.unit, found.values.tolist(), found.codes.tolist()) == ("day", [days], [0, 1])


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["2020-02-30"], "there is no date in 1 of its cells, the first in record 1\n"),
        (["01/02/2020"], "can be read in several ways"),
        (["1.2.2020", None, "31.02.2020", "13.2.2020", "soon", " "], "in 2 of its cells, the first in record 3\n"),
    ],
)
def test_text_that_is_no_date_or_could_be_two(texts, says):
    with pytest.raises(SchemaError, match="'c' is declared a date, but .*" + says) as caught:
        column(texts, "date")
    assert not any(text in str(caught.value) for text in texts if text and text.strip())


def test_text_declared_numeric():
    assert column([" 1.5", "2", None, ""], "numeric").values.tolist() == [1.5, 2]
    with pytest.raises(SchemaError, match="no number in 2 of its cells, the first in record 2\n") as caught:
        column(["1", "secret", "secret"], "numeric")
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_kinds_that_do_not_fit_are_refused():
    for values, kind in (([dt.date(2020, 1, 1)], "numeric"), ([1.5], "date"), ([[1]], None)):
        with pytest.raises(SchemaError, match="'c'"):
            column(values, kind)
    with pytest.raises(SchemaError, match="unknown kind 'number'"):
        column([1], "number")
    with pytest.raises(SchemaError, match="no column 'd'"):
        read(pa.table({"c": [1]})).column("d")


@pytest.mark.parametrize(
    ("values", "kind", "type"),
    [
        ([Decimal("1.50"), None], "numeric", None),
        ([1, None], "numeric", pa.uint64()),
        ([1.5, None], "numeric", pa.float32()),
        ([1.5, None], "numeric", pa.float16()),
        (["a", None], "categorical", pa.large_string()),
        (["a", None], "categorical", pa.string_view()),
        ([b"\xff", None], "categorical", pa.binary()),
        ([dt.time(3), None], "categorical", None),
        ([dt.timedelta(1), None], "numeric", None),
        ([dt.date(2020, 1, 1), None], "date", pa.date64()),
        ([1_600_000_000, None], "date", pa.timestamp("s")),
        ([1_600_000_000_000_000_000, None], "date", pa.timestamp("ns")),
        ([True, None], "boolean", None),
    ],
)
def test_every_flat_type_has_a_kind(values, kind, type):
    array = pa.array(np.array(values, dtype=np.float16)) if type == pa.float16() else None
    array = pa.array(values, type) if array is None else array
    found = read(pa.table({"c": array})).column("c")
    assert (found.kind, found.n_values, found.codes.tolist()) == (kind, 1, [0, 1])


def test_a_column_with_nothing_in_it():
    for type in (pa.null(), pa.string(), pa.float64(), pa.date32(), pa.bool_()):
        found = column([None, None], type=type)
        assert (found.n_values, found.codes.tolist(), found.has_missing) == (0, [0, 0], True)


def test_minus_zero_is_zero():
    assert column([0.0, -0.0]).codes.tolist() == [0, 0]
    assert column([0.0, -0.0], "categorical").values == ["0"]


def test_a_column_is_encoded_once():
    table = read(pa.table({"c": ["a", "b"]}))
    assert table.column("c") is table.column("c")
    assert table.column("c", categories=["b"]) is not table.column("c")


def test_no_value_shows_in_a_repr():
    table = read(pa.table({"c": ["secret"]}))
    shown = (
        repr(table)
        + repr(table.column("c"))
        + repr(table.column("c").value_counts)
        + repr(quantile_bins(table.column("c").value_counts))
    )
    assert "secret" not in shown


def naive_bins(values, max_bins):
    """Distinct values, cut where the share of records before them passes the next quantile."""
    there = sorted(v for v in values if v is not None)
    bins: dict[int, list[float]] = {}
    for value in sorted(set(there)):
        before = sum(v < value for v in there)
        bins.setdefault(before * max_bins // len(there), []).append(value)
    return list(bins.values())


@given(
    st.lists(st.one_of(st.none(), st.integers(-30, 30)), min_size=1, max_size=150).filter(
        lambda v: any(x is not None for x in v)
    ),
    st.integers(2, 12),
    st.randoms(use_true_random=False),
)
def test_bins_hold_whole_values_whatever_the_row_order(values, max_bins, random):
    found = column(values, type=pa.int64())
    cut = quantile_bins(found.value_counts, max_bins)
    codes = cut.codes(found.codes).tolist()
    if found.n_values > max_bins:
        groups = naive_bins(values, max_bins)
        assert cut.lo.tolist() == [g[0] for g in groups]
        assert cut.hi.tolist() == [g[-1] for g in groups]
    assert cut.n_bins <= max(max_bins, 2)
    for value, code in zip(values, codes, strict=True):
        if value is None:
            assert code == cut.n_bins
        else:
            assert cut.lo[code] <= value <= cut.hi[code]
            assert code == np.searchsorted(cut.thresholds, value, side="right")
    order = list(range(len(values)))
    random.shuffle(order)
    shuffled = column([values[i] for i in order], type=pa.int64())
    again = quantile_bins(shuffled.value_counts, max_bins)
    assert again.thresholds.tolist() == cut.thresholds.tolist()
    assert again.codes(shuffled.codes).tolist() == [codes[i] for i in order]


def test_thresholds_part_neighbouring_doubles():
    low = 1.0
    high = math.nextafter(low, 2)
    cut = quantile_bins(column([low, high]).value_counts)
    assert cut.thresholds.tolist() == [high]
    big = quantile_bins(column([1e308, 1.7e308]).value_counts)
    assert 1e308 < big.thresholds[0] <= 1.7e308


def test_categories_are_not_cut():
    found = column([str(i) for i in range(40)])
    cut = quantile_bins(found.value_counts, 4)
    assert cut.n_bins == 40
    assert cut.codes(found.codes) is found.codes
    assert not len(cut.thresholds)


def test_whole_numbers_that_share_a_double_have_codes_of_their_own():
    """Thresholds are doubles, so a cut leaves them together; what they are is kept."""
    given = [2**62 + i for i in range(9)] + [2**62 + 1024]
    found = column(given)
    assert found.values.tolist() == [float(2**62)] * 9 + [float(2**62 + 1024)]
    assert found.codes.tolist() == list(range(10))
    assert found.exact == tuple(given)
    assert found.value_counts.deviations.tolist() == [*range(9), 1024]
    cut = quantile_bins(found.value_counts)
    assert (cut.n_bins, cut.lookup.tolist()) == (2, [0] * 9 + [1, 2])
    assert quantile_bins(found.value_counts, max_bins=2).lookup.tolist() == [0] * 9 + [1, 2]
    with pytest.raises(SchemaError, match=r"beyond 2\^53.*'c'"):
        _ = found.doubles


@given(st.lists(floats, min_size=1, max_size=60))
def test_value_counts_equal_the_reference(values):
    there, codes = reference(values)
    found = column(values, type=pa.float64()).value_counts
    assert found.values.tolist() == there
    assert found.counts.tolist() == [codes.count(i) for i in range(len(there))]
    assert found.missing == codes.count(len(there))
    assert (found.known, found.total) == (len(values) - found.missing, len(values))
    assert found.infinite == any(math.isinf(v) for v in there)


def test_quantiles_of_billions_of_records_come_from_counts():
    """No row is there: a database would have delivered the counts."""
    many = np.full(4_000, 3_000_000_000)
    counts = ValueCounts("pay", "numeric", "", np.arange(4_000.0), many)
    assert counts.total == 12_000_000_000_000
    cut = quantile_bins(counts, 1_000)
    assert cut.n_bins == 1_000
    assert cut.lo.tolist() == list(range(0, 4_000, 4))
    assert cut.hi.tolist() == list(range(3, 4_000, 4))


@pytest.mark.parametrize("n", [255, 256, 257, 65_535, 65_536, 65_537])
def test_as_many_categories_as_a_type_has_codes(n: int) -> None:
    names = [f"c{i:06d}" for i in range(n)]
    column = read(pa.table({"x": names})).column("x")
    assert column.n_values == n
    assert column.codes.tolist() == list(range(n))
    gone = read(pa.table({"x": [*names, None]})).column("x")
    assert gone.codes.tolist() == list(range(n + 1))
    assert gone.has_missing


@pytest.mark.parametrize("n", [500, 40_000])
@pytest.mark.parametrize("odd", ["random", "tiny", "last bits", "infinite", "all missing"])
def test_numbers_that_nearly_all_differ_are_ranked_as_numpy_does(n, odd):
    rng = np.random.default_rng(n)
    made = {
        "random": rng.normal(size=n),
        "tiny": rng.normal(size=n) * 1e-310,
        "last bits": 1 + rng.integers(0, 5 * n, n) * 2.0**-52,
        "infinite": np.where(rng.random(n) < 0.1, np.inf, -rng.random(n)),
        "all missing": np.full(n, np.nan),
    }[odd]
    made[::7] = np.copysign(np.nan, -1)
    made[1::7] = np.nan
    if odd != "all missing":
        made[2::70] = -0.0
    found, inverse = np.unique(made + 0.0, return_inverse=True)
    column = encode("c", pa.chunked_array([pa.array(made)]), "numeric")
    assert np.array_equal(column.values, found[:-1])
    assert np.array_equal(column.codes, inverse)
    assert column.has_missing


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()])
@pytest.mark.parametrize("gone", [0.0, 0.3, 1.0])
def test_whole_numbers_with_gaps_are_encoded_as_the_same_doubles(kind, gone):
    rng = np.random.default_rng(3)
    whole = pa.array(rng.integers(0, 90, 200), mask=rng.random(200) < gone).cast(kind)
    one = encode("c", pa.chunked_array([whole[:70], whole[70:]]), "numeric")
    other = encode("c", pa.chunked_array([whole.cast(pa.float64())]), "numeric")
    assert one.codes.dtype == other.codes.dtype
    assert one.codes.tolist() == other.codes.tolist()
    assert (one.values.tolist(), one.has_missing) == (other.values.tolist(), other.has_missing)
