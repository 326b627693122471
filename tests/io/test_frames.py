"""Every kind of frame in, the same kind out."""

from __future__ import annotations

import datetime as dt
import traceback

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import InputError, SchemaError
from hedgerow.io.frames import ArrowSource
from hedgerow.io.read import read


@pytest.fixture
def odd() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "text": pd.array(["a", "b", None], dtype="string"),
            "arrow": pd.array([1, 2, None], dtype=pd.ArrowDtype(pa.int32())),
            "mixed": pd.array([1, "x", None], dtype=object),
            "level": pd.Categorical(["u", None, "v"], categories=["v", "u", "w"], ordered=True),
            "numbers": pd.Categorical([2, 1, None]),
            "both": pd.Categorical([1, "a", None], categories=["a", 1]),
            "month": pd.period_range("2020-01", periods=3, freq="M"),
            "span": pd.interval_range(0, 3),
            "long": pd.to_timedelta([1, 2, None], unit="h"),
            "when": pd.to_datetime(["2020-01-01", None, "2021-05-01"]).tz_localize("Europe/Oslo"),
            "sparse": pd.arrays.SparseArray([0.0, 1, 0]),
            'a "dotted.name" ü': [1.0, np.nan, 2.5],
            7: [1, 2, 3],
        }
    )
    frame.index = pd.Index([5, 5, 1], name="i")
    return frame


def test_pandas_columns_become_what_they_are(odd):
    table = read(odd)
    assert [table.kind(n) for n in table.names] == [
        "numeric", "boolean", "categorical", "numeric", "categorical", "ordinal", "categorical",
        "categorical", "categorical", "categorical", "numeric", "date", "numeric", "numeric",
        "numeric",
    ]  # fmt: skip
    assert table.names[-1] == "7"
    assert table.column("mixed").values == ["1", "x"]
    assert table.column("level").values == ["v", "u"]
    assert table.column("numbers").values == ["1", "2"]
    assert table.column("both").values == ["a", "1"]
    assert table.column("month").values == ["2020-01", "2020-02", "2020-03"]


def test_pandas_comes_back_untouched_but_for_what_changed(odd):
    before = odd.copy(deep=True)
    table = read(odd)
    new = pa.array(["[1-3]", "[1-3]", None])
    back = table.restore({"7": new, "whole": pa.array([2, 2, None])}, drop=["mixed"])
    pd.testing.assert_frame_equal(odd, before)
    assert list(back.columns) == [c for c in odd.columns if c != "mixed"]
    same = [c for c in back.columns if c not in (7, "whole")]
    pd.testing.assert_frame_equal(back[same], before[same])
    pd.testing.assert_index_equal(back.index, before.index)
    assert back["whole"].dtype == "Int64"
    assert [v if isinstance(v, str) else None for v in back[7]] == new.to_pylist()


def test_changing_the_restored_frame_leaves_the_original_alone(odd):
    back = read(odd).restore({})
    back.iloc[0, -1] = 99
    assert odd.iloc[0, -1] == 1


def test_pandas_nullable_types_stay_where_the_new_values_fit():
    frame = pd.DataFrame(
        {
            "i": pd.array([1, 2], dtype="Int32"),
            "s": pd.array(["a", "b"], dtype="string"),
            "p": pd.array([1, 2], dtype=pd.ArrowDtype(pa.int64())),
            "c": pd.Categorical(["a", "b"]),
        }
    )
    back = read(frame).restore(
        {
            "i": pa.array([1.5, None]),
            "s": pa.array(["x", None]).dictionary_encode(),
            "p": pa.array(["y", "z"]),
            "c": pa.array(["a+b", "a+b"]),
        }
    )
    assert back["i"].tolist()[0] == 1.5
    assert back["s"].dtype == frame["s"].dtype
    assert back["p"].dtype == pd.ArrowDtype(pa.string())
    assert back["c"].tolist() == ["a+b", "a+b"]


@pytest.mark.parametrize("lazy", [False, True])
def test_polars(lazy):
    frame = pl.DataFrame(
        {
            "e": pl.Series(["x", None], dtype=pl.Enum(["z", "x"])),
            "c": pl.Series(["q", "p"], dtype=pl.Categorical),
            "d": [dt.date(2020, 1, 1), None],
            "n": [None, None],
            "f": [1, 2],
        }
    )
    table = read(frame.lazy() if lazy else frame)
    assert table.column("e").values == ["x"]
    assert table.column("c").values == ["p", "q"]
    back = table.restore({"f": pa.array(["[1-2]"] * 2)}, drop=["c"])
    assert isinstance(back, pl.LazyFrame if lazy else pl.DataFrame)
    expected = frame.drop("c").with_columns(f=pl.Series(["[1-2]"] * 2))
    assert (back.collect() if lazy else back).equals(expected)
    assert back.collect_schema()["e"] == frame.schema["e"]


def test_pyarrow_keeps_types_and_drops_what_pandas_noted():
    frame = pd.DataFrame({"a": [1, 2], "b": pd.Categorical(["x", "y"])}, index=[4, 4])
    arrow = pa.Table.from_pandas(frame)
    table = read(arrow)
    assert table.restore({}) is arrow
    back = table.restore({"a": pa.array(["z", "z"]).dictionary_encode()})
    assert back.schema.field("a").type == pa.string()
    assert back.schema.field("b").type == arrow.schema.field("b").type
    assert b"pandas" not in (back.schema.metadata or {})
    assert read(arrow.to_batches()[0]).arrow.equals(arrow)


def test_duckdb_relation():
    relation = duckdb.sql("SELECT 1 a, 'x'::ENUM('y', 'x') e, 1.5::DECIMAL(5,2) d, DATE '2020-01-01' t")
    table = read(relation)
    assert [table.kind(n) for n in table.names] == ["numeric", "categorical", "numeric", "date"]
    back = table.restore({"a": pa.array(["*"])}, drop=["e"])
    assert isinstance(back, duckdb.DuckDBPyRelation)
    assert back.columns == ["a", "d", "t"]
    assert [str(t) for t in back.types] == ["VARCHAR", "DECIMAL(5,2)", "DATE"]


def test_a_query_stays_a_query_and_odd_names_stay():
    relation = duckdb.sql("""SELECT 1 "a b", 2 "x.y", 'z' "q""u" """)
    back = read(relation).restore({"x.y": pa.array(["[1-2]"]), "new": pa.array([7])})
    assert back.columns == ["a b", "x.y", 'q"u', "new"]
    assert back.fetchall() == [(1, "[1-2]", "z", 7)]
    query = read(pl.LazyFrame({"a": [1], "b": [2]})).restore({}, drop=["a"])
    assert isinstance(query, pl.LazyFrame)
    assert query.collect().to_dict(as_series=False) == {"b": [2]}


def test_numpy_comes_back_as_objects():
    array = np.array([[1.0, np.nan], [2.5, 3.0]])
    table = read(array)
    assert table.names == ["x0", "x1"]
    back = table.restore({"x0": pa.array(["[1-2.5]"] * 2)})
    assert back.dtype == object
    assert back[:, 0].tolist() == ["[1-2.5]"] * 2
    assert back[1, 1] == 3.0
    assert array[0, 0] == 1.0
    assert read(np.array([[1, "a"], [None, "b"]], dtype=object)).kind("x1") == "categorical"
    assert read(np.array(["a", "b"]), prefix="y").names == ["y0"]


def test_series_and_arrays_are_tables_of_one_column():
    assert read(pd.Series([1, 2], name="y")).names == ["y"]
    assert read(pd.Series([1, 2])).names == ["x0"]
    assert read(pl.Series("y", [1, 2])).names == ["y"]
    assert read(pa.array([1, 2])).names == ["x0"]
    assert read({"a": [1, "x"], "b": np.array([1, 2])}).column("a").values == ["1", "x"]


def test_a_table_is_read_once():
    table = read(pa.table({"a": [1]}))
    assert read(table) is table


def test_new_columns_go_to_the_end():
    for frame in (pa.table({"a": [1]}), pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]})):
        back = read(frame).restore({"group": pa.array([7])})
        assert [str(c) for c in getattr(back, "column_names", back.columns)][:2] == (
            ["a", "group"] if not isinstance(back, pa.Table) else back.column_names
        )
    assert read(np.array([[1]])).restore({"g": pa.array([7])}).tolist() == [[1, 7]]


def test_restore_refuses_what_does_not_fit():
    table = read(pa.table({"a": [1, 2]}))
    with pytest.raises(InputError, match="'a' has 1 new values for 2 rows"):
        table.restore({"a": pa.array([1])})
    with pytest.raises(SchemaError, match="no column 'b'"):
        table.restore({}, drop=["b"])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame(), "has no columns"),
        (pd.DataFrame({"a": []}), "has no rows"),
        (pl.DataFrame({"a": []}), "has no rows"),
        (pa.table({"a": pa.array([], pa.int64())}), "has no rows"),
        (np.empty((0, 2)), "has no rows"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]), "more than once: 'a'"),
        (pd.DataFrame([[1, 2]], columns=["a", "  "]), "without a name: number 2"),
        (pa.Table.from_arrays([pa.array([1])] * 2, names=["a", "a"]), "more than once: 'a'"),
        ({"a": [1], "b": [1, 2]}, "differ in length"),
        (5, "int is not a table"),
        ([1, 2], "list is not a table"),
    ],
)
def test_frames_that_are_no_tables(frame, message):
    with pytest.raises(InputError, match=message):
        read(frame)


def test_a_query_with_doubled_names_is_no_table():
    with pytest.raises(InputError, match="names more than once"):
        read(duckdb.sql("SELECT 1 a, 2 a"))


def test_queries_that_fail_when_run_show_no_value():
    relation = duckdb.sql("SELECT CAST(x AS INT) a FROM (VALUES ('SECRET')) t(x)")
    query = pl.LazyFrame({"a": ["SECRET"]}).with_columns(pl.col("a").cast(pl.Int64))
    for frame in (relation, query):
        with pytest.raises(InputError, match="failed when it was run") as caught:
            read(frame)
        assert "SECRET" not in "".join(traceback.format_exception(caught.value))


def test_polars_objects_become_text():
    frame = pl.DataFrame({"a": pl.Series([(1, 2), None], dtype=pl.Object), "b": [1, 2]})
    table = read(frame)
    assert table.column("a").values == ["(1, 2)"]
    assert table.restore({}).schema["a"] == pl.Object


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_category_that_was_hidden_stands_in_no_type(library: str) -> None:
    """`fit_transform` lists no category that one person had and that was left out."""
    jobs = ["RARE", *"abc" * 20]
    frame = pd.DataFrame({"job": pd.Categorical(jobs), "pay": range(len(jobs))})
    given = (
        frame
        if library == "pandas"
        else pl.DataFrame(frame).with_columns(pl.col("job").cast(pl.Enum([*"abc", "RARE"])))
    )
    schema = hr.Schema(quasi=["job"], sensitive=["pay"])
    released = hr.LocalSuppression(k=5, schema=schema).fit_transform(given)
    assert "RARE" not in f"{released['job'].dtype!r} {released['job'].to_list()}"


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_drawn_categories_keep_their_type_and_order_and_merged_ones_are_text(library: str) -> None:
    levels = ["low", "middle", "high", "nobody's"]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "level": pd.Categorical.from_codes(rng.integers(0, 3, 400), levels, ordered=True),
            "job": pd.Categorical.from_codes(rng.integers(0, 3, 400), ["c", "b", "a"]),
            "pay": rng.integers(0, 9999, 400),
        },
        index=rng.permutation(400),  # which moves no value
    )
    given = {
        "pandas": frame,
        "polars": pl.DataFrame(frame).with_columns(pl.col("level").cast(pl.Enum(levels))),
        "arrow": pa.concat_tables(
            pa.Table.from_pandas(part, preserve_index=False) for part in (frame[:9], frame[9:], frame[:0])
        ),
    }[library]
    schema = hr.Schema(quasi=["level", "job"], sensitive=["pay"])
    drawn = hr.protect(given, schema, method=hr.Hedge(5), random_state=1).table
    merged = hr.Mondrian(300, schema=schema).fit_transform(given)
    if library == "arrow":
        ordered = [drawn[name].type.ordered for name in ("level", "job")]
        entries = [drawn[name].chunk(0).dictionary.to_pylist() for name in ("level", "job")]
        assert (ordered, entries) == ([True, False], [levels[:3], ["a", "b", "c"]])
        assert merged["level"].type == merged["job"].type == pa.string()
    elif library == "pandas":
        assert drawn["level"].dtype == pd.CategoricalDtype(levels[:3], ordered=True)
        assert drawn["job"].dtype == pd.CategoricalDtype(["a", "b", "c"])
        unmerged = hr.Mondrian(2, schema=schema).fit_transform(given)
        assert unmerged["job"].tolist() == frame["job"].tolist()
        assert merged["level"].dtype == merged["job"].dtype != drawn["job"].dtype
    else:
        assert dict(drawn.schema) == {"level": pl.Enum(levels[:3]), "job": pl.Categorical, "pay": pl.Int64}
        assert merged["level"].dtype == merged["job"].dtype == pl.String


def test_drawn_intervals_stay_intervals():
    ages = pd.cut(np.random.default_rng(0).integers(0, 80, 400), [0, 20, 40, 60, 80], right=False)
    frame = pd.DataFrame({"age": ages, "pay": range(400)})
    drawn = hr.protect(frame, hr.Schema(quasi=["age"], sensitive=["pay"]), hr.Hedge(5), random_state=1).table
    assert drawn["age"].dtype == ages.dtype


def test_a_written_release_is_the_same_from_categories_of_arrow_and_pandas(tmp_path):
    rng = np.random.default_rng(0)
    level = pd.Categorical.from_codes(rng.integers(0, 3, 400), ["low", "middle", "high"], ordered=True)
    frame = pd.DataFrame({"level": level, "pay": rng.integers(0, 9999, 400)})
    schema, files = hr.Schema(quasi=["level"], sensitive=["pay"]), []
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(arrow, tmp_path / "people.parquet")
    for name, given in {"frame": frame, "arrow": arrow}.items():
        release = hr.protect(given, schema, hr.Hedge(5), random_state=1)
        files.append((release.write(tmp_path / name) / "release.parquet").read_bytes())
    assert files[0] == files[1]
    # a file's column stays plain
    assert not pa.types.is_dictionary(hr.protect(tmp_path / "people.parquet", schema).table["level"].type)


def test_a_dictionary_that_lists_a_missing_value_loses_no_cell() -> None:
    jobs = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0, 1, 2] * 20), pa.array(["a", "b", None]))
    table = pa.table({"job": jobs, "pay": list(range(120))})
    schema = hr.Schema(quasi=["job"], sensitive=["pay"])
    release = hr.protect(table, schema, hr.Mondrian(30))
    assert sorted(map(str, release.table["job"].to_pylist())) == sorted(["None", "a", "b"] * 40)
    assert ArrowSource(table).restore({"job": pa.array(["x", None, "a"] * 40)}, set())["job"].type == pa.string()
