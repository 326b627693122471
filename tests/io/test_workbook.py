"""Excel workbooks: what the cells say comes in, one plain sheet goes out."""

from __future__ import annotations

import datetime as dt
import random
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import HedgerowError, InputError, UnsupportedError
from hedgerow.io import workbook
from hedgerow.io.read import read
from hedgerow.io.write import write_table

openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")


def book(path: Path, rows: list[list[Any]], name: str = "People") -> Any:
    """A workbook as somebody saved it, with its sheet still open for changes."""
    made = openpyxl.Workbook()
    made.active.title = name
    for row in rows:
        made.active.append(row)
    made.save(path)
    return made


def people(path: Path) -> Path:
    rows = [["nr", "age", "job", "pay", "born", "member"]]
    rows += [
        [f"{i:03d}", 20 + i % 30, ["cook", "nurse"][i % 2], 1000.5 + i,
         dt.date(1990, 1, 1 + i % 28), i % 3 == 0]
        for i in range(60)
    ]  # fmt: skip
    book(path, rows)
    return path


SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay"], other=["born", "member"])


def test_cells_are_read_for_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    made = book(path, [["zip", "shown", "n", "share", "day", "hour", "yes", "mixed", "empty"]])
    page = made.active
    page.append(["01067", 7, 3, 0.5, dt.date(2020, 2, 29), dt.datetime(2020, 2, 29, 12, 30), True,
                 1, None])  # fmt: skip
    page.append(["99999", 1234, None, 2, None, None, False, "a", None])
    for cell in page["B"]:
        cell.number_format = "00000"
    made.save(path)
    table = read(path)
    assert table.arrow.to_pylist() == [
        {"zip": "01067", "shown": "00007", "n": 3, "share": 0.5, "day": dt.date(2020, 2, 29),
         "hour": dt.datetime(2020, 2, 29, 12, 30), "yes": True, "mixed": "1", "empty": None},
        {"zip": "99999", "shown": "01234", "n": None, "share": 2.0, "day": None, "hour": None,
         "yes": False, "mixed": "a", "empty": None},
    ]  # fmt: skip
    assert table.layout.sheet == "People"


def test_a_workbook_goes_out_as_a_workbook(tmp_path: Path) -> None:
    release = hr.protect(people(tmp_path / "people.xlsx"), SCHEMA, hr.MART(k=5, max_disclosure=1.0))
    release.write(tmp_path / "out")
    made = tmp_path / "out/release.xlsx"
    page = openpyxl.load_workbook(made).active
    assert page.title == "People"
    assert [cell.value for cell in page[1]] == ["age", "job", "pay", "born", "member"]
    found = read(made).arrow
    assert found.to_pylist() == release.table.to_pylist()
    assert sorted(found.column("pay").to_pylist()) == [1000.5 + i for i in range(60)]


def test_a_workbook_says_nothing_but_its_cells(tmp_path: Path) -> None:
    table = pa.table({"a": ["=1+1", "+x", "#N/A", "007"], "b": [1, 2, 3, 10**16]})
    for name in ("one", "two"):
        write_table(table, tmp_path / f"{name}.xlsx")
    raw = (tmp_path / "one.xlsx").read_bytes()
    assert raw == (tmp_path / "two.xlsx").read_bytes()
    with zipfile.ZipFile(tmp_path / "one.xlsx") as archive:
        assert b"creator" not in archive.read("docProps/core.xml")
        assert {entry.date_time[0] for entry in archive.infolist()} == {1980}
    loaded = openpyxl.load_workbook(tmp_path / "one.xlsx")
    assert {cell.data_type for cell in loaded.active["A"]} <= {"s", "inlineStr"}  # no formula
    found = read(tmp_path / "one.xlsx").arrow
    assert found.column("a").to_pylist() == ["=1+1", "+x", "#N/A", "007"]
    assert found.column("b").to_pylist() == ["1", "2", "3", str(10**16)]  # no cell holds the last


def test_sheets_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.xlsx"
    made = book(path, [["a"], [1]], "First")
    made.create_sheet("Empty")
    made.save(path)
    assert read(path).arrow.to_pylist() == [{"a": 1}]  # an empty sheet is none
    second = made.create_sheet("My people")
    second.append(["b"])
    second.append([2])
    second.append([3])
    made.save(path)
    with pytest.raises(InputError, match="several sheets: First, My people"):
        read(path)
    assert read(f"{path}::My people").arrow.to_pylist() == [{"b": 2}, {"b": 3}]
    with pytest.raises(InputError, match=r"no sheet 'Nobody'"):
        read(f"{path}::Nobody")
    assert run(["inspect", str(path), "--sheet", "My people"]) == 0
    assert run(["inspect", str(path)]) == 2
    assert "name one: t.xlsx::My people\n" in capsys.readouterr().err
    assert run(["audit", str(path), str(path)]) == 2
    assert "--sheet" not in capsys.readouterr().err  # which an audit has not


def test_a_release_replaces_no_folder_with_its_workbook(tmp_path: Path) -> None:
    people(tmp_path / "people.xlsx")
    release = hr.protect(f"{tmp_path}/people.xlsx::People", SCHEMA, hr.MART(k=5, max_disclosure=1.0))
    with pytest.raises(HedgerowError, match="which is an input"):
        release.write(tmp_path, force=True)


def test_merged_cells_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    made = book(path, [["person", None, "pay"], ["SECRET", 1, 2], ["b", 3, 4]])
    made.active.merge_cells("A1:B1")
    made.save(path)
    with pytest.raises(InputError, match=r"merged cells in its header: A1:B1"):
        read(path)
    made.active.unmerge_cells("A1:B1")
    made.active["B1"] = "n"
    made.active.merge_cells("A2:A3")
    made.save(path)
    with pytest.raises(InputError, match="1 merged cells, of which only the first") as caught:
        read(path)
    assert "SECRET" not in str(caught.value)


def test_formulas_are_their_values(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    book(path, [["a", "b"], [1, "=A2*2"], [2, "=A3*2"]])
    with pytest.raises(InputError, match="2 formulas whose values are not stored, in column B"):
        read(path)
    # as Excel stores it: the value beside the formula
    with zipfile.ZipFile(path) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    for row in (2, 3):
        empty, full = b"<f>A%d*2</f><v />" % row, b"<f>A%d*2</f><v>%d</v>" % (row, 2 * (row - 1))
        assert empty in parts[sheet] or empty.replace(b" /", b"/") in parts[sheet]
        parts[sheet] = parts[sheet].replace(empty, full).replace(empty.replace(b" /", b"/"), full)
    with zipfile.ZipFile(path, "w") as new:
        for name, content in parts.items():
            new.writestr(name, content)
    assert read(path).arrow.to_pylist() == [{"a": 1, "b": 2}, {"a": 2, "b": 4}]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "a"], [1, 2]], "more than once: 'a'"),
        ([["a", None], [1, "SECRET"]], "without a name: number 2"),
        ([["a"]], "a header but no rows"),
        ([["A title"], ["a", None, "b"], ["SECRET", 1, 2]], "without a name: number 2, 3"),
        ([["A title", "2024"], ["a", "b", "c"], ["SECRET", 1, 2]], "without a name: number 3"),
    ],
)
def test_odd_sheets_are_told(tmp_path: Path, rows: list[list[Any]], message: str) -> None:
    book(tmp_path / "t.xlsx", rows)
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path / "t.xlsx")
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("merged", [False, True])
def test_titles_above_the_header_are_read_over_and_told(tmp_path: Path, merged: bool) -> None:
    """Two title lines were refused twice in turn: first as merged cells, then as columns without a name."""
    path = tmp_path / "t.xlsx"
    made = book(path, [["Staff 2024"], ["Confidential"], ["age", "pay"], [30, 1], [40, 2]])
    if merged:
        made.active.merge_cells("A1:B1")
        made.active.merge_cells("A2:B2")
        made.save(path)
    with pytest.warns(UserWarning, match=r"its first lines that hold something \(2\)"):
        assert read(path).arrow.to_pylist() == [{"age": 30, "pay": 1}, {"age": 40, "pay": 2}]


def test_cells_merged_with_the_header_are_refused_below_titles_too(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    made = book(path, [["Staff 2024"], ["age", "pay"], [30, 1], [40, 2]])
    made.active.merge_cells("A2:A3")
    made.save(path)
    with pytest.raises(InputError, match="merged cells in its header: A2:A3"):
        read(path)


def test_space_around_a_table_is_no_column(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    made = book(path, [])
    for i, row in enumerate([["age", "pay"], [30, 1], [40, 2]]):
        for j, value in enumerate(row):
            made.active.cell(4 + i, 3 + j, value)
    made.active["H20"] = " "  # a cell that somebody touched
    made.save(path)
    table = read(path).arrow
    assert table.column_names == ["age", "pay"]
    assert table.to_pylist()[:2] == [{"age": 30, "pay": 1}, {"age": 40, "pay": 2}]


def test_what_a_sheet_hides_is_read_and_told(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    made = book(path, [["age", "pay"], [30, 1], [40, 2]])
    made.active.row_dimensions[2].hidden = True
    made.save(path)
    with pytest.warns(UserWarning, match="the sheet 'People' of t.xlsx hides rows, which are read"):
        assert read(path).n_rows == 2
    made.active.column_dimensions["B"].hidden = True
    made.save(path)
    with pytest.warns(UserWarning, match="hides rows and columns"):
        assert read(path).names == ["age", "pay"]


def test_a_workbook_needs_twice_the_memory_of_what_it_unpacks_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.xlsx"
    book(path, [["a"], [1], [2]])
    with zipfile.ZipFile(path) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    monkeypatch.setattr(workbook, "memory_of", lambda asked: 2 * size)
    assert read(path).n_rows == 2
    monkeypatch.setattr(workbook, "memory_of", lambda asked: 2 * size - 1)
    with pytest.raises(InputError, match="too little memory"):
        read(path)


def test_cells_with_errors_are_told(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    made = book(path, [["a"], [1], [2]])
    made.active["A3"] = "#DIV/0!"
    made.active["A3"].data_type = "e"
    made.save(path)
    with pytest.raises(InputError, match=r"1 cell with errors such as #DIV/0! in 'a'"):
        read(path)


@pytest.mark.parametrize("content", [b"PK", b"\xd0\xcf\x11\xe0 a locked one"])
def test_a_locked_or_damaged_workbook_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "people.xlsx").write_bytes(content)
    with pytest.raises(InputError, match="damaged or locked by a password"):
        read(tmp_path / "people.xlsx")


_SHEET = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    b'<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1" t="str"><v>a</v></c></row>'
    b'<row r="2"><c r="A2"><v>1</v></c></row>%s</sheetData></worksheet>'
)


def packed(path: Path, inside: bytes) -> Path:
    """A workbook whose sheet has one cell, and more."""
    book(path, [["a"]])
    return altered(path, "xl/worksheets/sheet1.xml", lambda _: _SHEET % inside)


def altered(path: Path, part: str, change: Callable[[bytes], bytes]) -> Path:
    """A workbook with one of its parts changed."""
    with zipfile.ZipFile(path) as source:
        parts = {name: source.read(name) for name in source.namelist()}
    parts[part] = change(parts[part])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, content)
    return path


_DAMAGED = "not an Excel workbook, or it is damaged"


@pytest.mark.parametrize(
    "part",
    ["xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/styles.xml",
     "docProps/core.xml", "[Content_Types].xml", "xl/_rels/workbook.xml.rels"],
)  # fmt: skip
@pytest.mark.parametrize("content", [b"<a><b></a>", b"", b"\0"])
def test_a_workbook_with_a_damaged_part_is_refused(tmp_path: Path, part: str, content: bytes) -> None:
    path = altered(people(tmp_path / "t.xlsx"), part, lambda _: content)
    with pytest.raises(InputError, match=_DAMAGED):
        read(path)


def test_a_workbook_with_damaged_bytes_is_read_right_or_refused(tmp_path: Path) -> None:
    path, rng = people(tmp_path / "t.xlsx"), random.Random(1)
    whole, content, n_refused = read(path).arrow, path.read_bytes(), 0
    for _ in range(60):
        at = rng.randrange(len(content) - 20)
        path.write_bytes(content[:at] + rng.randbytes(20) + content[at + 20 :])
        try:
            assert read(path).arrow.equals(whole)
        except InputError as error:
            n_refused += _DAMAGED in str(error)
    assert n_refused > 40


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'r="A3"', b'r="ZZZZ3"'),
        (b"<v>21</v>", b"<v>x21</v>"),
        (b'<row r="3"', b'<row r="99999999"'),
        (b'<row r="3"', b'<row r="500"'),  # the rows below it would be left out
        (b'<row r="3"', b'<row r="2"'),
    ],
)
def test_a_sheet_with_cells_that_no_sheet_has_is_refused(tmp_path: Path, old: bytes, new: bytes) -> None:
    def change(xml: bytes) -> bytes:
        assert old in xml
        return xml.replace(old, new, 1)

    path = altered(people(tmp_path / "t.xlsx"), "xl/worksheets/sheet1.xml", change)
    with pytest.raises(InputError, match=_DAMAGED):
        read(path)


def test_rows_that_a_sheet_leaves_out_or_does_not_number_are_no_damage(tmp_path: Path) -> None:
    more = b'<row r="9"><c r="A9"><v>2</v></c></row><row><c><v>3</v></c></row><row r="1048576" ht="15"/>'
    assert read(packed(tmp_path / "t.xlsx", more)).arrow.to_pylist() == [{"a": 1}, {"a": 2}, {"a": 3}]


def test_a_workbook_that_unpacks_without_end_is_refused(tmp_path: Path, capsys: Any) -> None:
    bomb = packed(tmp_path / "bomb.xlsx", b" " * 300_000_000)
    assert bomb.stat().st_size < 400_000
    with pytest.raises(InputError, match=r"0\.3 MB and unpacks to 300 MB") as told:
        read(bomb)
    assert "save the sheet as CSV" in told.value.hint
    assert run(["inspect", str(bomb)]) == 2
    assert "unpacks to 300 MB" in capsys.readouterr().err


def test_a_directory_that_lies_about_what_is_packed(tmp_path: Path) -> None:
    """Nothing beyond what it says is unpacked, and then the check sum is wrong."""
    path = packed(tmp_path / "lie.xlsx", b" " * 2_000_000)
    size = struct.pack("<I", len(_SHEET % b"") + 2_000_000)
    content = path.read_bytes()
    assert content.count(size) == 2
    path.write_bytes(content.replace(size, struct.pack("<I", 10_000)))
    with pytest.raises(InputError, match=_DAMAGED):
        read(path)


def test_a_workbook_for_which_there_is_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "t.xlsx", b" " * 1_000_000)
    monkeypatch.setattr(workbook, "memory_of", lambda _: 1_000_000)
    with pytest.raises(InputError, match="for which there is too little memory"):
        read(path)


def test_cells_far_away_are_not_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sheet can say that it has 17 billion cells, or have one in the last column of many rows."""
    assert read(packed(tmp_path / "t.xlsx", b"")).arrow.to_pylist() == [{"a": 1}]
    monkeypatch.setattr(workbook, "_CELLS", 100_000)
    far = b"".join(b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (r, r) for r in range(3, 400))
    with pytest.raises(InputError, match="nearly empty: of 16,384 columns"):
        read(packed(tmp_path / "t.xlsx", far))


def test_older_workbooks_are_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "people.xls").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"save the sheet as \.xlsx or CSV"):
        read(tmp_path / "people.xls")


def test_a_missing_package_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    people(tmp_path / "people.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'hedgerow\[excel\]'"):
        read(tmp_path / "people.xlsx")


def test_words_for_no_value_are_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    book(path, [["age", "job"], [31, "k.A."], ["k.A.", "cook"], ["-", "nurse"], [40, "cook"]])
    table = read(path)
    assert table.arrow.column("age").to_pylist() == [31, None, None, 40]  # among numbers
    assert table.arrow.column("job").to_pylist()[0] == "k.A."  # text is text ...
    told = read(path, schema=hr.Schema(quasi=["age", "job"], missing=["k.A."]))
    assert told.arrow.column("job").to_pylist() == [None, "cook", "nurse", "cook"]  # until said
    seen = hr.inspect(path)
    assert any("--missing k.A." in text for text in seen.warnings)
    assert hr.inspect(path, missing=["k.A."]).schema.missing == ("k.A.",)


def test_numbers_stored_as_text_are_proposed_by_what_they_say(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    rows: list[list[Any]] = [["Gehalt", "value", "ward", "ticket", "icd", "PLZ"]]
    rows += [
        [str(22_807 + 13 * i), "k.A." if i == 7 else f"{i}.{i % 9 + 1}", str(i % 4), str(81_000 + 7 * i),
         ["250.1", "250.10", "401"][i % 3], str(10_115 + i)]
        for i in range(60)
    ]  # fmt: skip
    book(path, rows)
    found = hr.inspect(path)
    seen = {c.name: (c.role, c.kind) for c in found.columns}
    assert seen["Gehalt"] == ("sensitive", "numeric")  # by its name, not an identifier
    assert seen["value"] == ("quasi", "numeric")  # of few values, one of them k.A.
    assert seen["ward"] == ("quasi", "numeric")
    assert seen["ticket"] == ("identifier", "numeric")  # whole, nearly all different: keys
    assert seen["icd"][1] == "categorical"  # 250.1 and 250.10 are two codes
    assert seen["PLZ"][1] == "categorical"
    assert {c.name: c.reason for c in found.columns}["Gehalt"].endswith("its text reads as numbers")
    assert read(path).arrow.column("value")[7].as_py() is None
    schema = hr.Schema(quasi=["ward"], sensitive=["Gehalt"], kinds={"Gehalt": "numeric"})
    release = hr.protect(path, schema, hr.Mondrian(k=5))
    release.write(tmp_path / "out")
    assert set(read(tmp_path / "out/release.xlsx").arrow.column("Gehalt").to_pylist()) == {row[0] for row in rows[1:]}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", [".xlsx", ".parquet"])
def test_money_in_texts_of_typed_files_is_told_as_in_files_of_text(tmp_path: Path, suffix: str) -> None:
    """$17,652.36 came back as 24961.11 beside 5394.8, and nobody was told the currency."""
    draws = np.random.default_rng(1)
    pay = [f"${cents / 100:,.2f}" for cents in draws.integers(100_000, 4_000_000, 600)]
    path = tmp_path / f"people{suffix}"
    write_table(pa.table({"age": draws.integers(18, 80, 600), "pay": pay}), path)
    said = "pay ($): amounts are read as numbers"
    proposed = hr.inspect(path)
    assert proposed.schema.kinds == {"pay": "numeric"}
    assert said in str(proposed.warnings)
    release = hr.protect(path, hr.Schema(quasi=["age"], sensitive=["pay"], kinds={"pay": "numeric"}), random_state=1)
    assert said in str(release.cautions)
    out = release.write(tmp_path / "out")
    assert "numbers without their currency: pay ($)" in (out / "RECIPIENT.md").read_text()
    cells = pd.Series(read(out / f"release{suffix}").arrow.column("pay").to_pylist())
    assert cells.str.fullmatch(r"\d+\.\d\d").all()
    kept = hr.protect(
        path, hr.Schema(quasi=["age"], other=["pay"], kinds={"pay": "numeric"}), hr.Mondrian(k=5), guard=None
    )
    assert said not in str(kept.cautions)
