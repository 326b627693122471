"""What is written reads back to the same values, for its owner alone."""

from __future__ import annotations

import datetime as dt
import io
import stat
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import OutputError
from hedgerow.io import duckdb_reader, write
from hedgerow.io.csv_file import CsvLayout, _opened, read_csv_batches
from hedgerow.io.duckdb_reader import whole
from hedgerow.io.file_format import Dialect
from hedgerow.io.read import read
from hedgerow.io.text_cells import escape_cells, unescape_cells
from hedgerow.io.write import parquet_writer, write_table
from tests.limits import a_file_holds

TABLE = pa.table(
    {
        "n": [1, 2, None],
        'odd "name", ü': ["=1+1", 'q"u,o\nte', None],
        "=name": ["", " s ", "-5"],
        "day": [dt.date(2020, 1, 1), None, dt.date(1900, 2, 3)],
        "flag": [True, None, False],
        "share": [1.5, -2e-7, None],
        "group": pa.array(["[1-2]", "a+b", None]).dictionary_encode(),
        "time": pa.array([dt.datetime(2020, 1, 1, 3, 4, 5, 6), None, dt.datetime(1960, 1, 1)]),
    }
)
SUFFIXES = [".csv", ".tsv", ".parquet", ".feather"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_round_trip_keeps_values_and_order(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write_table(TABLE, path)
    found = read(path, unescape_formulas=True)
    assert found.arrow.to_pylist() == TABLE.to_pylist()
    assert found.names == TABLE.column_names


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_are_private_even_when_they_stood_there(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    path.touch(0o644)
    write_table(TABLE, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("a;b;c\r\n1,5;x;WAHR\r\n2,25;y;FALSCH\r\n", "utf-8"),
        ("a,b\n1,TRUE\n2,FALSE\n", "utf-8"),
        ("a,b\n1,True\n,False\n", "utf-8"),
        ('"a"\t"b"\n"1"\t"x"\n"2"\t"y"\n', "utf-8"),
        ("'a'|'b'\n'1'|'it''s'\n", "utf-8"),
        ("a, b\n1, x\n2, y\n", "utf-8"),
        ("1,x\n2,y\n", "utf-8"),
        ('a,b\n1,"x \\"y\\" z"\n2,k\n', "utf-8"),
        ("name,b\nMüller,1\n", "cp1252"),
        ("a;pay\nx;26060,00\ny;-7,50\n", "utf-8"),
        ('a,b\n1,""\n2,\n', "utf-8"),
    ],
)
def test_the_dialect_that_came_in_goes_out(tmp_path, content, encoding):
    path = tmp_path / "in.csv"
    path.write_bytes(content.encode(encoding))
    table = read(path)
    write_table(table.restore({}), tmp_path / "out.csv", like=table)
    assert (tmp_path / "out.csv").read_bytes() == content.encode(encoding)


def test_the_ending_decides_the_format_and_like_fills_in(tmp_path):
    (tmp_path / "in.csv").write_text("a;b\n1;x\n")
    table = read(tmp_path / "in.csv")
    write_table(table.arrow, tmp_path / "out.parquet", like=table)
    assert pq.read_table(tmp_path / "out.parquet").equals(table.arrow)
    write_table(table.arrow, tmp_path / "release.part", like=table)
    assert (tmp_path / "release.part").read_text() == "a;b\n1;x\n"
    write_table(table.arrow, tmp_path / "bare")
    assert pq.read_table(tmp_path / "bare").equals(table.arrow)


def test_parquet_has_plain_text_and_no_notes(tmp_path):
    frame = pd.DataFrame({"secret": pd.Categorical(["x", "y"]), "a": [1, 2]}, index=[3, 3])
    table = pa.Table.from_pandas(frame).drop_columns(["secret"])
    table = table.append_column("g", pa.array(["u", "u"]).dictionary_encode())
    write_table(table, tmp_path / "t.parquet")
    found = pq.read_table(tmp_path / "t.parquet")
    assert found.schema.field("g").type == pa.string()
    assert b"secret" not in (tmp_path / "t.parquet").read_bytes()


def test_parquet_keeps_types_of_its_own_and_of_arrow(tmp_path):
    table = pa.table(
        {
            "s": pa.array(["a"]),
            "z": pa.array([dt.datetime(2020, 1, 1)], pa.timestamp("us", "Europe/Oslo")),
            "d": pa.array([Decimal("1.50")]),
            "l": pa.array([[1, 2]]),
            "t": pa.array([dt.timedelta(1)]),
        }
    )
    write_table(table, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").arrow.equals(table)


def test_formulas_are_written_as_text(tmp_path):
    cells = ["=cmd()", "+1+1", "-x", "@a", "\tq", "\rq", "'=x", "-5", "+3.2", "[1-2]", "cook"]
    table = pa.table({"c": cells, "g": pa.array(cells).dictionary_encode()})
    write_table(table, tmp_path / "t.csv")
    shown = read(tmp_path / "t.csv").arrow.column("c").to_pylist()
    assert shown == ["'" + c if c[0] in "=@\t\r'" or c in ("+1+1", "-x") else c for c in cells]
    back = read(tmp_path / "t.csv", unescape_formulas=True).arrow
    assert back.to_pydict() == {"c": cells, "g": cells}
    write_table(table, tmp_path / "raw.csv", escape=False)
    assert read(tmp_path / "raw.csv").arrow.column("c").to_pylist() == cells
    write_table(table, tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").arrow.column("c").to_pylist() == cells


@given(st.lists(st.one_of(st.none(), st.text("'=+-@\t\r1a.", max_size=6))))
def test_escaping_is_undone_exactly(cells):
    array = pa.array(cells, pa.string())
    escaped = escape_cells(array)
    assert unescape_cells(escaped).to_pylist() == cells
    for text in escaped.drop_null().to_pylist():
        if text[:1] in ("=", "@", "\t", "\r"):
            raise AssertionError("a formula was left")
        if text[:1] in ("+", "-"):
            float(text)


words = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\x7f")
    | st.sampled_from(list("\",;'\n|\t\\ =+-@")),
    max_size=8,
)
dialects = st.sampled_from(
    ["a,b,c\nx,1,y\n", "a;b;c\nx;1,5;y\n", '"a"\t"b"\t"c"\n"x"\t"1"\t"y"\n', "'a'|b|c\n'x'|1|y\n"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.tuples(words, st.integers(-9, 9), words), min_size=1, max_size=6), dialects)
def test_any_text_survives_any_dialect(tmp_path, records, dialect):
    (tmp_path / "in.csv").write_text(dialect)
    like = read(tmp_path / "in.csv")
    # The first record settles the types and shows the quotes.
    records = [("plain text", 1, "plain text"), *records]
    table = pa.table({"a": [r[0] for r in records], "b": [float(r[1]) for r in records],
                      "c": [r[2] for r in records]})  # fmt: skip
    write_table(table, tmp_path / "out.csv", like=like)
    like_again = Dialect(**vars(like.layout.dialect))
    layout = CsvLayout(["a", "b", "c"], replace(like_again, encoding="utf-8"))
    with _opened(tmp_path / "out.csv", layout) as relation:
        read_back = whole(relation).rename_columns(["a", "b", "c"])
    empty = None if like_again.quote_all else ""
    for name in ("a", "c"):
        expected = [v or empty for v in table.column(name).to_pylist()]
        assert unescape_cells(read_back.column(name)).to_pylist() == expected
    numbers = [float(v.replace(",", ".")) for v in read_back.column("b").to_pylist()]
    assert numbers == table.column("b").to_pylist()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_disk_without_room_is_named_and_leaves_what_was_there(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    for before in (None, b"an earlier file"):
        if before is not None:
            path.write_bytes(before)
        with a_file_holds(10), pytest.raises(OutputError, match="File too large") as caught:
            write_table(TABLE, path)
        assert str(path) in str(caught.value)
        assert [f.read_bytes() for f in tmp_path.iterdir()] == ([before] if before else [])


def test_unwritable_places_are_named(tmp_path):
    with pytest.raises(OutputError, match="No such file or directory"):
        write_table(TABLE, tmp_path / "none" / "t.csv")
    with pytest.raises(OutputError, match="Is a directory"):
        write_table(TABLE, tmp_path)


def test_nested_cells_in_csv(tmp_path):
    write_table(pa.table({"l": [[1, 2], None], "a": [1, 2]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == 'l,a\n"[1, 2]",1\n,2\n'


def test_many_batches(tmp_path):
    n = 150_000
    table = pa.table({"k": range(n), "g": pa.array([f"g{i % 7}" for i in range(n)])})
    for suffix in SUFFIXES:
        write_table(table, tmp_path / f"t{suffix}")
        assert read(tmp_path / f"t{suffix}").arrow.to_pydict() == table.to_pydict()


cells = {
    "whole": st.integers(-(10**17), 10**17),
    "share": st.floats(allow_nan=False, width=64),
    "day": st.dates(dt.date(1000, 1, 1), dt.date(9999, 1, 1)),
    "time": st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(2200, 1, 1)),
    "flag": st.booleans(),
    "text": words.map(lambda w: f"word {w}"),
}


@st.composite
def tables(draw):
    n = draw(st.integers(1, 8))
    columns = {}
    for name, values in cells.items():
        drawn = draw(st.lists(st.none() | values, min_size=n, max_size=n))
        # A column needs one value for its type to show in text.
        columns[name] = [draw(values), *drawn]
    return pa.table(columns)


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(tables())
def test_any_table_survives_any_format(tmp_path, suffix, table):
    write_table(table, tmp_path / f"t{suffix}")
    found = read(tmp_path / f"t{suffix}", unescape_formulas=True)
    assert found.arrow.to_pylist() == table.to_pylist()
    assert [found.kind(n) for n in table.column_names] == [
        "numeric", "numeric", "date", "date", "boolean", "categorical",
    ]  # fmt: skip


def test_a_cell_that_ends_in_a_backslash_is_read_again(tmp_path):
    text = ["word ,\\", "word ,", None, "a"]
    table = pa.table({"whole": [0, 1, 2, 3], "share": [0.5, None, None, 1.0], "text": text})
    write_table(table, tmp_path / "t.csv")
    assert read(tmp_path / "t.csv").arrow.column("text").to_pylist() == text


@pytest.mark.parametrize("unit", ["s", "date64", "time32"])
def test_parquet_knows_no_seconds(tmp_path, unit):
    """As pandas has them, which a release must hold and its reader find unchanged."""
    kinds = {"s": pa.timestamp("s"), "date64": pa.date64(), "time32": pa.time32("s")}
    column = pa.array([86_400_000 if unit == "date64" else 5] * 40, kinds[unit])
    people = pa.table({"age": [*range(20, 40)] * 2, "pay": range(40), "then": column})
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], other=["then"])
    folder = hr.protect(people, schema, hr.MART(k=4)).write(tmp_path / "release")
    found = pq.read_table(folder / "release.parquet").column("then")
    assert found.cast(column.type).to_pylist() == column.to_pylist()


@pytest.mark.parametrize(("length", "n_values"), [(5, 20), (9, 1000), (20, 50_000)])
def test_how_text_is_held_leaves_no_trace(tmp_path, length, n_values):
    """As dictionaries or as text, in whichever order their entries stand; few or many values."""
    rng = np.random.default_rng(0)
    texts = pa.array([f"{i:x}".rjust(length, "v") for i in range(n_values)])
    codes = rng.integers(0, n_values, 120_000).astype(np.int32)
    coded = pa.DictionaryArray.from_arrays(pa.array(codes, mask=rng.random(120_000) < 0.1), texts)
    plain = coded.cast(pa.string())
    made = []
    for i, column in enumerate((plain, plain.dictionary_encode(), coded)):
        write_table(pa.table({"note": column}), path := tmp_path / f"{i}.parquet")
        made.append(path.read_bytes())
    assert made[0] == made[1] == made[2]
    assert pq.read_table(path).column("note").combine_chunks().equals(plain)


def test_a_part_shows_no_value_of_another(tmp_path, monkeypatch):
    monkeypatch.setattr(write, "ROW_GROUP", 500)
    notes = pa.array(["first"] * 500 + ["second"] * 500).dictionary_encode()
    folder = tmp_path / "parts"
    write.write_parts(write.in_parts(pa.table({"note": notes})), folder)
    one, other = (path.read_bytes() for path in sorted(folder.iterdir()))
    assert b"first" in one
    assert b"second" not in one
    assert b"first" not in other


@pytest.mark.parametrize(
    "cells",
    [
        ["a"] * 20_000 + ["b", "c", "d"] * 10,  # pages after the first have more values
        sorted(f"v{i % 9_000}" for i in range(60_000)),
        [f"note {i}" for i in range(60_000)],
        ["x", None] * 300,
        [],
    ],
)
def test_a_file_does_not_tell_how_its_text_was_held(cells):
    plain = pa.array(cells, pa.string())
    cut = pa.chunked_array([plain[: len(plain) // 3], plain[len(plain) // 3 :]])
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 100), pa.array(["a", "a", None]))
    held = [plain, cut, plain.dictionary_encode(), plain.dictionary_encode()[::-1][::-1]]
    for same in (held, [twice, twice.dictionary_decode()]):
        written = set()
        for column in same:
            file = io.BytesIO()
            table = pa.table({"text": column})
            with parquet_writer(table.schema, file) as put:
                put(table)
            written.add(file.getvalue())
        assert len(written) == 1


LONG = """
import resource, sys
import numpy as np, pyarrow as pa
from hedgerow.io import write

class Counted:
    size = 0
    def write(self, part):
        self.size += len(part)

cells = pa.array(["x" * 16_000, "y" * 16_000, "z"])
coded = pa.DictionaryArray.from_arrays(np.arange(65_536) % 3, cells)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
file = Counted()
write.write_csv(["a"], [pa.table({"a": coded})], file, write.Dialect(), True)
print(file.size, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_cells_that_list_thousands_of_categories_take_little_memory() -> None:
    """Two texts of 16,000 letters over 65,536 rows are 700 MB in the file alone."""
    told = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True)
    written, memory = map(int, told.stdout.split())
    assert written > 690_000_000
    assert memory < 0.8 * written


@pytest.mark.parametrize("suffix", [".csv"])
def test_long_cells_in_pieces_are_the_same_bytes(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [None, "", "=1", 'a "b", c', "d" * 3_000, "e\nf"]
    table = pa.table(
        {
            "coded": pa.array([texts[i % 6] for i in range(500)]).dictionary_encode(),
            "plain": pa.array([texts[-i % 6] for i in range(500)]),
            "n": np.arange(500) / 4,
        }
    )
    write_table(table, tmp_path / f"whole{suffix}")
    monkeypatch.setattr(write, "_TEXT", 5_000)
    write_table(table, tmp_path / f"pieces{suffix}")
    whole, again = ((tmp_path / f"{n}{suffix}").read_bytes() for n in ("whole", "pieces"))
    assert whole == again
    parts = list(write._batches(table))
    assert len(parts) > 100
    assert pa.concat_tables(parts).equals(table.unify_dictionaries())


def test_text_that_no_column_holds_stays_a_dictionary() -> None:
    """An Arrow column of text ends at 2 GiB; the cells of a release can be more."""
    table = read(pa.table({"a": np.arange(150_000)}))
    coded = pa.DictionaryArray.from_arrays(np.zeros(150_000, np.int32), ["x" * 15_000])
    made = table.restore({"a": pa.chunked_array([coded])})
    assert pa.types.is_dictionary(made.column("a").type)
    short = pa.DictionaryArray.from_arrays(np.zeros(150_000, np.int32), ["x"])
    assert table.restore({"a": pa.chunked_array([short])}).column("a").type == pa.string()


def test_long_rows_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i},{'x' * 100}\n" for i in range(20_000)))
    _, batches = read_csv_batches(path, 1 << 17, "utf-8")
    assert [batch.num_rows for batch in batches] == [20_000]
    monkeypatch.setattr(duckdb_reader, "_BYTES", 500_000)
    _, batches = read_csv_batches(path, 1 << 17, "utf-8")
    rows = [batch.column(0).to_pylist() for batch in batches]
    assert max(map(len, rows)) < 10_000
    assert [cell for part in rows for cell in part] == [str(i) for i in range(20_000)]
