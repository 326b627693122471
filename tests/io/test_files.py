"""Files: every dialect and encoding read whole, every fault named without a person's value."""

from __future__ import annotations

import datetime as dt
import struct
import traceback
from io import BytesIO
from types import SimpleNamespace

import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.backends import engine as computing
from hedgerow.errors import InputError
from hedgerow.io.duckdb_reader import connected
from hedgerow.io.file_format import save_stream
from hedgerow.io.file_sets import parts_of
from hedgerow.io.read import read
from hedgerow.io.write import write_table
from hedgerow.progress import cautions
from hedgerow.schema import Schema


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def rows(folder, content, name="t.csv"):
    return read(put(folder, name, content)).arrow.to_pydict()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\n1,x\n2,y\n", {"a": [1, 2], "b": ["x", "y"]}),
        ("a;b\n1,5;x\n2;y\n", {"a": [1.5, 2.0], "b": ["x", "y"]}),
        ("a\tb\n1\tx, y\n", {"a": [1], "b": ["x, y"]}),
        ("a|b\n1|x\n", {"a": [1], "b": ["x"]}),
        ('a,b\r\n1,"x\r\ny"\r\n2,z\r\n', {"a": [1, 2], "b": ["x\r\ny", "z"]}),
        ('"a\nb",c\r\n1,"x\ny"\r\n2,z\r\n', {"a\nb": [1, 2], "c": ["x\ny", "z"]}),
        ('"a\r\nb",c\n1,x\n2,z\n', {"a\r\nb": [1, 2], "c": ["x", "z"]}),
        ('"a\r\nb",c\r\n1,x\r\n2,z\r\n', {"a\r\nb": [1, 2], "c": ["x", "z"]}),
        ('"a\nb","c\nd"\n1,"x\r\ny"\n2,z\n', {"a\nb": [1, 2], "c\nd": ["x\r\ny", "z"]}),
        ('"a\rb";c\r\n1,5;x\r\n2;z', {"a\rb": [1.5, 2.0], "c": ["x", "z"]}),
        ('1,"x\ny"\r\n2,z\r\n', {"x0": [1, 2], "x1": ["x\ny", "z"]}),
        ("a,b\r1,x\r2,y\r", {"a": [1, 2], "b": ["x", "y"]}),
        ("a,b\n1,x", {"a": [1], "b": ["x"]}),
        ("a,b\n1,x\n\n2,y\n\n", {"a": [1, 2], "b": ["x", "y"]}),
        ("'a','b'\n'1','it''s'\n", {"a": [1], "b": ["it's"]}),
        ('a,b\n1,"x \\"y\\" z"\n2,"k"\n', {"a": [1, 2], "b": ['x "y" z', "k"]}),
        ('a,b\n1,"x ""y"", z"\n', {"a": [1], "b": ['x "y", z']}),
        ("a, b\n1, x\n2, y\n", {"a": [1, 2], "b": ["x", "y"]}),
        ("name\nSmith, John\nDoe, Jane\n", {"name": ["Smith, John", "Doe, Jane"]}),
        ("a\n1\n\n3\n", {"a": [1, None, 3]}),
        ('a,b\n1,""\n2,\n', {"a": [1, 2], "b": ["", None]}),
        ('"a","b"\n"1",""\n"","x"\n', {"a": [1, None], "b": [None, "x"]}),
        ("39,State-gov\n50,Private\n", {"x0": [39, 50], "x1": ["State-gov", "Private"]}),
        ("when,2019\n2020-01-01,5\n", {"when": [dt.date(2020, 1, 1)], "2019": [5]}),
        ('"a b","c.d","e""f",ü\n1,2,3,4\n', {"a b": [1], "c.d": [2], 'e"f': [3], "ü": [4]}),
        ("a,b\n#1,x\n2,y\n", {"a": ["#1", "2"], "b": ["x", "y"]}),
    ],
)
def test_dialects(tmp_path, content, expected):
    assert rows(tmp_path, content) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    content = "näme,größe\nMüller €,1\n".encode(encoding)
    assert rows(tmp_path, content) == {"näme": ["Müller €"], "größe": [1]}


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["007", "010"], ["007", "010"]),
        (["1", "NA", "", "3"], [1, None, None, 3]),
        (["NA", "SE"], ["NA", "SE"]),
        (["1.5", "?", "-2e3"], [1.5, None, -2000.0]),
        (["1", "inf"], [1.0, float("inf")]),
        (["+4912345", "+4812345"], ["+4912345", "+4812345"]),
        (["1234567890123456789", "1"], ["1234567890123456789", "1"]),
        (["TRUE", "FALSE"], [True, False]),
        (["yes", "no"], ["yes", "no"]),
        (["2020-02-29", "NA"], [dt.date(2020, 2, 29), None]),
        (["2020-02-30", "2020-01-01"], ["2020-02-30", "2020-01-01"]),
        (["2020-01-01 10:00:00", ""], [dt.datetime(2020, 1, 1, 10), None]),
        (["01.02.2020", "x"], ["01.02.2020", "x"]),
        (["NA", "NA"], ["NA", "NA"]),
        (["", ""], [None, None]),
    ],
)
def test_types_are_decided_over_the_whole_column(tmp_path, cells, expected):
    content = "name,c\n" + "".join(f"n{i},{cell}\n" for i, cell in enumerate(cells))
    assert rows(tmp_path, content)["c"] == expected


def test_one_late_text_makes_a_column_text(tmp_path):
    cells = [str(i % 100) for i in range(50_000)] + ["unknown"]
    found = rows(tmp_path, "id,c\n" + "".join(f"x{i},{c}\n" for i, c in enumerate(cells)))
    assert found["c"] == cells


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (",age,job", ["column_1", "age", "job"]),
        ('"","age","job"', ["column_1", "age", "job"]),
        (" ,,job", ["column_1", "column_2", "job"]),
        (",column_1,job", ["column_1_", "column_1", "job"]),
    ],
)
def test_a_row_index_without_a_name_gets_one_and_a_caution(tmp_path, header, names):
    path = put(tmp_path, "t.csv", f"{header}\n0,31,cook\n1,44,nurse\n")
    with cautions() as heard:
        found = read(path)
    assert found.names == names
    given = [name for name in names if name.startswith("column") and name != header.split(",")[1]]
    assert heard == [
        f"t.csv: the first columns are without a name, like a row index, and are called {', '.join(given)}"
    ]
    assert found.column(names[-1]).values == ["cook", "nurse"]


def test_a_frame_written_with_its_index_is_read(tmp_path):
    frame = pd.DataFrame({"age": [31, 44], "code": ["1.0", "1.00"]})
    frame.to_csv(tmp_path / "t.csv")
    schema = Schema(quasi=["age", "code"], kinds={"code": "categorical"})
    with pytest.warns(UserWarning, match="column_1"):
        found = read(tmp_path / "t.csv", schema=schema)
    assert found.column("code").values == ["1.0", "1.00"]
    assert found.column("column_1").values.tolist() == [0, 1]


def test_row_order_is_kept_with_line_breaks_inside_quotes(tmp_path):
    n = 120_000
    lines = [f'{i},"a\n{i}"' if i % 7 == 0 else f"{i},b{i}" for i in range(n)]
    found = read(put(tmp_path, "t.csv", "k,v\n" + "\n".join(lines) + "\n")).arrow
    assert found.column("k").to_pylist() == list(range(n))
    assert found.column("v")[7].as_py() == "a\n7"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "t.csv is empty"),
        ("t.csv", "\n\n", "t.csv is empty"),
        ("t.csv", "a,b\n", "a header but no rows"),
        ("t.csv", "a,b,a\n1,2,3\n", "more than once: 'a'"),
        ("t.csv", "a,,b\nSECRET,2,3\n", "without a name: number 2"),
        ("t.csv", ",\nSECRET,2\n", "without a name: number 1, 2"),
        ("t.csv", "Staff of 2024,,\nname,age,pay\nSECRET,2,3\n", "or take out what stands above the header"),
        ("t.csv", "\ufeff\ufeffid,b\nSECRET,2\n", r"byte order mark \(U\+FEFF\) before the column names 'id'"),
        ("t.csv", "id,\ufeffage\nSECRET,2\n", "before the column names 'age'"),
        ("t.csv", "a,b,c\n1,2,3\nSECRET,2\n4,5,6\n1,2,3,4\n",
         "ragged: line 3 has 2 fields where the first line has 3; lines at fault: 2"),
        ("t.csv", 'a,b\n1,"x\ny"\nSECRET\n', "ragged: line 4 has 1 field "),
        ("t.csv", 'a,b\n1,"SECRET\n2,z\n', "cannot be read as CSV"),
        ("t.csv", bytes(range(256)), r"holds zero bytes \(NUL\), the first in line 1"),
        ("t.csv", b"a,b\nSECRET\x81,1\n", "unreadable encoding"),
        ("t.csv", b"a,b\nSECRET\x00,1\n", r"holds zero bytes \(NUL\), the first in line 2"),
        ("t.csv", b"a,b\nSECRET,1\n" + b"x,1\n" * 300_000 + b"x\0,1\n", "the first in line 300,003"),
        ("t.csv", " <!DOCTYPE html>\n<p>SECRET", "t.csv begins like HTML or XML and is not a table"),
        ("t.csv", '\ufeff<?xml version="1.0"?><a>SECRET</a>', "begins like HTML or XML"),
        ("t.csv", '[\n {"a": "SECRET", "b": 1}]', "begins like JSON"),
        ("t.csv", '{"a": "SECRET"}\n', "begins like JSON"),
        ("t.csv", r"{\rtf1\ansi SECRET, SECRET}", "begins like RTF"),
        ("t.csv", b"\xef\xbb\xbfa,b\nSECRET\xff,1\n", "unreadable encoding"),
        ("t.ods", "SECRET", "ending of t.ods is not read"),
        ("t.csv.gz", "SECRET", "unpack it first: gunzip people.csv.gz"),
        ("t.parquet", "SECRET", "not a Parquet file"),
        ("t.parquet", "", "t.parquet is empty"),
        ("t.feather", "ARROW1 SECRET", "not an Arrow or Feather file"),
        ("t.arrow", "SECRET", "not an Arrow or Feather file"),
        ("t.jsonl", '{"a": "SECRET"}\n', "COPY .FROM 'people.jsonl'. TO 'people.parquet'"),
    ],
)  # fmt: skip
def test_faults_are_named_without_a_value(tmp_path, name, content, message):
    path = put(tmp_path, name, content)
    with pytest.raises(InputError, match=message) as caught:
        read(path)
    assert "SECRET" not in "".join(traceback.format_exception(caught.value))


def test_text_that_only_looks_like_other_text_is_a_table(tmp_path):
    """Names may stand in brackets; UTF-16 without a mark has a zero in nearly every sign."""
    assert rows(tmp_path, "[age],{job},<5\n[18-24],x,2\n") == {"[age]": ["[18-24]"], "{job}": ["x"], "<5": [2]}
    path = put(tmp_path, "u.csv", "a,b\n1,x\n".encode("utf-16-le"))
    assert read(path, schema=Schema(encoding="utf-16-le")).arrow.to_pydict() == {"a": [1], "b": ["x"]}


@pytest.mark.parametrize("sign", ["\u200b", "\u200f", "\u202e", "\xa0"])
def test_invisible_signs_in_names_stay(tmp_path, sign):
    path = put(tmp_path, "t.csv", f"{sign}age,jo{sign}b{sign}\n1,x\n")
    table = read(path)
    assert table.names == [f"{sign}age", f"jo{sign}b{sign}"]
    write_table(table.arrow, tmp_path / "out.csv", like=table)
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


def test_standard_input_is_copied_with_progress(tmp_path):
    told, content = [], b"a,b\n" + b"1,2\n" * 300_000
    path = save_stream(BytesIO(content), tmp_path, lambda step, share: told.append(step))
    assert path.name == "standard-input.csv"
    assert path.read_bytes() == content
    assert told == ["0.0 GB of standard input"] * 2


def test_standard_input_that_is_no_table_is_refused_at_once(tmp_path):
    stream = BytesIO(bytes(10_000_000))
    with pytest.raises(InputError, match=r"standard input holds zero bytes \(NUL\), the first in line 1"):
        save_stream(stream, tmp_path, lambda step, share: None)
    assert stream.tell() == 1 << 20
    with pytest.raises(InputError, match="standard input begins like HTML"):
        save_stream(BytesIO(b"<html>"), tmp_path, lambda step, share: None)
    save_stream(BytesIO("a,b\n1,2\n".encode("utf-16-le")), tmp_path, lambda step, share: None)


def test_standard_input_without_end_leaves_room_on_the_disk(tmp_path, monkeypatch):
    """As much is left as was copied, up to a gigabyte."""
    room = 50_000_000
    used = lambda folder: SimpleNamespace(free=room - sum(path.stat().st_size for path in folder.iterdir()))  # noqa: E731
    monkeypatch.setattr("hedgerow.io.file_format.shutil.disk_usage", used)
    endless = SimpleNamespace(read=lambda size: b"a,b\n" * (size // 4))
    with pytest.raises(InputError, match="before the disk is full: 25 MB of it were copied to"):
        save_stream(endless, tmp_path, lambda step, share: None)


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(InputError, match="there is no file"):
        read(str(tmp_path / "none.csv"))


def test_an_arrow_file_with_damaged_offsets_is_refused(tmp_path):
    path, offsets = tmp_path / "t.arrow", struct.pack("<3i", 4, 8, 12)
    pyarrow.feather.write_feather(pa.table({"job": ["cook"] * 30}), path, compression="uncompressed")
    content = path.read_bytes()
    assert content.count(offsets) == 1
    path.write_bytes(content.replace(offsets, struct.pack("<3i", 4, 1 << 30, 12)))
    with pytest.raises(InputError, match="not an Arrow or Feather file, or it is damaged"):
        read(path)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow"])
def test_binary_files_keep_their_types(tmp_path, suffix):
    table = pa.table(
        {
            "i": pa.array([1, None], pa.int8()),
            "d": pa.array([dt.date(2020, 1, 1), None]),
            "s": pa.array(["ü", None], pa.large_string()),
            "c": pa.array(["x", "y"]).dictionary_encode(),
        }
    )
    path = tmp_path / f"t{suffix}"
    write = pq.write_table if suffix == ".parquet" else pyarrow.feather.write_feather
    write(table, path)
    found = read(path)
    if suffix == ".parquet":  # whose large text is a dictionary, or its type would follow from its size
        table = table.set_column(2, "s", table.column("s").cast(pa.string()).dictionary_encode())
    assert found.arrow.equals(table)
    assert found.suffix == {".parquet": ".parquet"}.get(suffix, ".feather")
    assert isinstance(found.restore({}), pa.Table)


def test_parquet_text_that_repeats_is_not_written_out(tmp_path):
    n = 5000
    table = pa.table(
        {
            "repeats": pa.array([None, "a b", "ü"] * n),
            "differs": [f"person {i}" for i in range(3 * n)],
            "nested": [["a"]] * (3 * n),
            "struct": [{"repeats": "a"}] * (3 * n),
            "a.b": ["x"] * (3 * n),
            "binary": [b"x"] * (3 * n),
            "number": [1] * (3 * n),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=4000)
    found = read(tmp_path / "t.parquet")
    coded = [n for n in found.names if pa.types.is_dictionary(found.arrow.schema.field(n).type)]
    assert coded == ["repeats", "a.b"]
    assert found.arrow.to_pydict() == table.to_pydict()
    assert found.column("repeats").values == ["a b", "ü"]
    assert found.column("repeats").counts().tolist() == [n, n, n]


def test_a_folder_name_adds_no_column(tmp_path):
    folder = tmp_path / "year=2020"
    folder.mkdir()
    pq.write_table(pa.table({"a": [1]}), folder / "t.parquet")
    assert read(folder / "t.parquet").names == ["a"]


def test_parquet_without_rows(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t\.parquet has no rows"):
        read(tmp_path / "t.parquet")


def test_an_ipc_stream(tmp_path):
    table = pa.table({"a": [1, 2]})
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    assert read(tmp_path / "t.arrow").arrow.equals(table)


@pytest.mark.parametrize("text", ['word \\"', '\\"', 'a\\"b', '\\""', '"\\"', "\\"])
def test_backslashes_before_doubled_quotes(tmp_path, text):
    """A backslash is a sign like any other in a file that doubles its quotes."""
    table = pa.table({"text": [text, "plain"], "number": [1, 2]})
    write_table(table, tmp_path / "t.csv")
    assert read(tmp_path / "t.csv").arrow.column("text").to_pylist() == [text, "plain"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_names_of_folders_are_no_columns(tmp_path, suffix):
    """Folders of partitioned data sets are called so; the file in one is a table by itself."""
    folder = tmp_path / "year=2020"
    folder.mkdir()
    table = pa.table({"age": [30, 40], "job": ["cook", "nurse"]})
    write_table(table, folder / f"people{suffix}")
    assert read(folder / f"people{suffix}").arrow.to_pydict() == table.to_pydict()
    release = hr.protect(folder / f"people{suffix}", hr.Schema(quasi=["age"], sensitive=["job"]), hr.Mondrian(2))
    written = release.write(folder / "out") / f"release{suffix}"
    assert read(written).names == ["age", "job"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("inside", ["\n", "\r\n"])
def test_a_header_with_line_breaks_is_released_and_audited(tmp_path, end, inside):
    name = f"a{inside}ge"
    lines = [f'"{name}",job,pay', *(f'{i % 7},"x{inside}{i % 2}",{i % 3}' for i in range(60))]
    path = put(tmp_path, "people.csv", "".join(line + end for line in lines))
    schema = hr.Schema(quasi=[name, "job"], sensitive=["pay"])
    folder = hr.protect(path, schema, hr.MART(5)).write(tmp_path / "out")
    assert read(folder / "release.csv").names == [name, "job", "pay"]
    found = hr.audit(path, folder, attacks=False, learning=False)
    assert found.risk["release"]["classes"]["k"] >= 5
    assert (folder / "release.csv").read_bytes().endswith(end.encode())


def test_whole_numbers_beyond_doubles_are_told_apart(tmp_path):
    numbers = [str(2**53 + i) for i in range(80)]
    path = put(tmp_path, "big.csv", "id,age,pay\n" + "".join(f"{n},{int(n) % 9},1\n" for n in numbers))
    found = {column.name: column for column in hr.inspect(path).columns}
    assert "constant" not in str(found["id"]) + str(hr.inspect(path).warnings)
    assert read(path).column("id").n_values == 80
    schema = hr.Schema(quasi=["id"], sensitive=["age"])
    release = hr.protect(path, schema, hr.MART(5, max_disclosure=None))
    assert len(set(release.table.column("id").to_pylist())) > 5


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
@pytest.mark.parametrize(("name", "beside"), [("st*r", "star"), ("x[1]", "x1"), ("q?", "qa")])
def test_a_name_is_no_pattern(tmp_path, name, beside, ending):
    """DuckDB would read the neighbour as well, or in its place."""
    ages = {name: 30, beside: 90}
    for each, age in ages.items():
        made = pa.table({"age": [age, age + 1], "id": ["a", "b"]})
        write_table(made, tmp_path / f"{each}{ending}")
    assert read(tmp_path / f"{name}{ending}").arrow.column("age").to_pylist() == [30, 31]
    table = computing("duckdb").open(tmp_path / f"{name}{ending}")
    assert table.n_rows == 2
    assert table.distinct_share("id") == 1
    assert table.scan.relation().aggregate("min(age)").fetchall()[0][0] in (30, "30")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_paths_that_lead_nowhere(tmp_path, engine):
    link = tmp_path / "people.parquet"
    link.symlink_to(tmp_path / "gone.parquet")
    with pytest.raises(InputError, match=r"people\.parquet is a link to a file that does not exist"):
        computing(engine).open(link)
    with pytest.raises(InputError, match="there is no file"):
        computing(engine).open("a" * 5000 + ".parquet")
    with pytest.raises(InputError, match="there is no file"):
        hr.protect("a" * 5000 + ".csv", hr.Schema(quasi=["a"], sensitive=["b"]), hr.MART(k=2))


def test_a_folder_that_is_called_like_a_database(tmp_path):
    folder = tmp_path / "people.db"
    folder.mkdir()
    pq.write_table(pa.table({"age": [1, 2]}), folder / "a.parquet")
    assert computing("duckdb").open(folder).n_rows == 2


def test_values_in_names_of_folders_are_not_told(tmp_path):
    for job in ("cook", "nurse"):
        (tmp_path / f"job={job}").mkdir()
    with pytest.raises(InputError, match=r"it holds 2 folders \(job=\.\.\.\)"):
        parts_of(tmp_path)


def test_ctrl_c_while_duckdb_works_is_ctrl_c():
    """DuckDB makes a RuntimeError of it, which was called a fault in Hedgerow."""
    with pytest.raises(KeyboardInterrupt), connected(lambda: InputError("no count")):
        raise RuntimeError("Query interrupted")
    with pytest.raises(RuntimeError, match="other"), connected(lambda: InputError("no count")):
        raise RuntimeError("other: the upload was interrupted")
