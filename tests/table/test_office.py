"""Files as office programs write them: thousands, German days, words for nothing."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import hedgerow as hr
from hedgerow.table import read

GERMAN = """Nummer;Geburtsdatum;PLZ;Gehalt;Miete;Bemerkung
{rows}
"""


def german(tmp_path: Path, encoding: str = "utf-8") -> Path:
    rows = [
        f"{i:05d};{i % 28 + 1:02d}.{i % 12 + 1:02d}.{1950 + i % 50};0{1067 + i % 3};"
        f"{'k.A.' if i % 9 == 0 else f'{i % 40 + 1}.{100 + i},{i % 90 + 10}'};"
        f"{'#N/A' if i % 7 == 0 else f'{300 + i},50'};{'ä' if i % 2 else 'k.A.'}"
        for i in range(120)
    ]
    path = tmp_path / "people.csv"
    path.write_bytes(GERMAN.format(rows="\n".join(rows)).replace("\n", "\r\n").encode(encoding))
    return path


def test_a_german_file_is_read_for_what_it_says(tmp_path: Path) -> None:
    table = read(german(tmp_path))
    kinds = {name: table.kind(name) for name in table.names}
    assert kinds == {
        "Nummer": "categorical",
        "Geburtsdatum": "date",
        "PLZ": "categorical",
        "Gehalt": "numeric",
        "Miete": "numeric",
        "Bemerkung": "categorical",
    }
    rows = table.arrow.to_pylist()
    assert rows[1]["Geburtsdatum"] == dt.date(1951, 2, 2)
    assert rows[1]["Gehalt"] == 2101.11
    assert rows[0]["Gehalt"] is None
    assert rows[0]["Miete"] is None
    assert (rows[1]["PLZ"], rows[1]["Nummer"]) == ("01068", "00001")


@pytest.mark.parametrize(
    ("delimiter", "cells", "numbers"),
    [
        (";", ["22.807,56", "1.234,5", "850"], [22807.56, 1234.5, 850.0]),
        (",", ['"1,234.50"', "17.25", "-"], [1234.5, 17.25, None]),
        (";", ["1.234.567", "12,5"], [1234567.0, 12.5]),
        (",", ['"1,234,567"', "12"], [1234567.0, 12.0]),
        (";", ["1.234", "2.5"], [1.234, 2.5]),
        (";", ["1,234", "2,5"], [1.234, 2.5]),
    ],
)
def test_thousands(
    tmp_path: Path, delimiter: str, cells: list[str], numbers: list[float | None]
) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"a{delimiter}pay\n" + "".join(f"x{delimiter}{cell}\n" for cell in cells))
    assert read(path).arrow.column("pay").to_pylist() == numbers


@pytest.mark.parametrize(
    "cells",
    [["1.23,45", "2,5"], ["01.234,50", "2"], ["1,2,3", "4"], ["31.02.2020", "01.01.2020"]],
)
def test_what_is_no_number_and_no_day_stays_text(tmp_path: Path, cells: list[str]) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a;pay\n" + "".join(f"x;{cell}\n" for cell in cells))
    assert read(path).arrow.column("pay").to_pylist() == cells


def test_a_release_is_written_in_the_style_of_its_file(tmp_path: Path) -> None:
    schema = hr.Schema(
        quasi=["PLZ"], sensitive=["Gehalt"], other=["Geburtsdatum", "Miete"], identifiers=["Nummer"]
    )
    release = hr.protect(german(tmp_path), schema, hr.MART(k=5, max_disclosure=1.0))
    folder = tmp_path / "out"
    release.write(folder)
    lines = (folder / "release.csv").read_text(encoding="utf-8").splitlines()
    days = {line.split(";")[0] for line in lines[1:]}
    assert "02.02.1951" in days
    assert any(line.split(";")[2] == "2101,11" for line in lines)
    again = read(folder / "release.csv").arrow
    before = read(tmp_path / "people.csv").arrow
    for name in ("Geburtsdatum", "Gehalt", "Miete"):
        one, other = (
            pc.array_sort_indices(t.column(name).combine_chunks()) for t in (again, before)
        )
        assert again.column(name).take(one).equals(before.column(name).take(other))


def test_german_birth_dates_are_coarsened_and_never_joined(tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["Geburtsdatum", "PLZ"], sensitive=["Gehalt"])
    release = hr.protect(german(tmp_path), schema, hr.MART(k=5, max_disclosure=1.0))
    cells = set(release.table.column("Geburtsdatum").to_pylist())
    assert all(cell.startswith("[") for cell in cells)
    assert not any("+" in cell for cell in cells)


def test_an_encoding_that_changes_is_told(tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["PLZ"], sensitive=["Gehalt"], other=["Bemerkung"])
    method = hr.MART(k=5, max_disclosure=1.0)
    with pytest.warns(UserWarning, match=r"people.csv is Windows-1252.*UTF-8"):
        hr.protect(german(tmp_path, "cp1252"), schema, method).write(tmp_path / "one")
    assert "ä" in (tmp_path / "one/release.csv").read_text(encoding="utf-8")
    hr.protect(german(tmp_path, "utf-8-sig"), schema, method).write(tmp_path / "two")
    assert (tmp_path / "two/release.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    told = read(tmp_path / "two/release.csv").arrow
    assert isinstance(told, pa.Table)
    assert told.column_names[0] == "PLZ"


def test_a_workbook_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "people.xlsx").write_bytes(b"PK")
    with pytest.raises(hr.HedgerowError, match="save the sheet as CSV"):
        read(tmp_path / "people.xlsx")


def test_a_broken_check_is_told_in_few_digits() -> None:
    from hedgerow.guarantees import Check
    from hedgerow.release.verify import require

    for reached, told in ((0.6999960662570055, "reached 0.7"), (0.5000001, "reached 0.5000001")):
        with pytest.raises(hr.errors.PromiseError, match=rf"required 0\.5, {told}\n"):
            require([Check("disclosure of pay", 0.5, reached, False)])
