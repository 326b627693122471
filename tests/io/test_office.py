"""Files as office programs write them: thousands, German days, words for nothing."""

from __future__ import annotations

import datetime as dt
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.errors import InputError
from hedgerow.io.read import read

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
def test_thousands(tmp_path: Path, delimiter: str, cells: list[str], numbers: list[float | None]) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"a{delimiter}pay\n" + "".join(f"x{delimiter}{cell}\n" for cell in cells))
    assert read(path).arrow.column("pay").to_pylist() == numbers


@pytest.mark.parametrize(
    "cells", [["1.23,45", "2,5"], ["01.234,50", "2"], ["1,2,3", "4"], ["31.02.2020", "01.01.2020"]]
)
def test_what_is_no_number_and_no_day_stays_text(tmp_path: Path, cells: list[str]) -> None:
    path = tmp_path / "people.csv"
    path.write_text("a;pay\n" + "".join(f"x;{cell}\n" for cell in cells))
    assert read(path).arrow.column("pay").to_pylist() == cells


def test_a_release_is_written_in_the_style_of_its_file(tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["PLZ"], sensitive=["Gehalt"], other=["Geburtsdatum", "Miete"], identifiers=["Nummer"])
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
        one, other = (pc.array_sort_indices(t.column(name).combine_chunks()) for t in (again, before))
        assert again.column(name).take(one).equals(before.column(name).take(other))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_recipient_is_told_how_numbers_are_written(tmp_path: Path, engine: str) -> None:
    schema = hr.Schema(quasi=["PLZ"], sensitive=["Gehalt"], rest="drop")
    release = hr.protect(german(tmp_path), schema, hr.MART(10), engine=engine)
    said = "Numbers have a decimal comma, and fields end with `;`: say so where you read it."
    assert said in (release.write(tmp_path / "out") / "RECIPIENT.md").read_text()
    usual = tmp_path / "usual.csv"
    usual.write_text("PLZ,Gehalt\n" + "".join(f"a{i % 3},{i}.5\n" for i in range(60)))
    release = hr.protect(usual, schema, hr.MART(10), engine=engine)
    assert "fields end" not in (release.write(tmp_path / "usual") / "RECIPIENT.md").read_text()


def test_german_birth_dates_are_coarsened_and_never_joined(tmp_path: Path) -> None:
    schema = hr.Schema(quasi=["Geburtsdatum", "PLZ"], sensitive=["Gehalt"])
    with pytest.warns(UserWarning, match="Geburtsdatum: people.csv does not write its dates as 2020"):
        release = hr.protect(german(tmp_path), schema, hr.MART(k=5, max_disclosure=1.0))
    cells = set(release.table.column("Geburtsdatum").to_pylist())
    assert all(cell.startswith("[") for cell in cells)
    assert not any("+" in cell for cell in cells)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("style", ["%Y-%m-%d", "%d.%m.%Y"])
def test_days_that_are_text_are_told_where_their_style_changes(tmp_path: Path, style: str, engine: str) -> None:
    days = [f"{dt.date(1990, 1, 1) + dt.timedelta(40 * i):{style}}" for i in range(60)]
    table = pa.table({"since": days, "pay": list(range(60))})
    pq.write_table(table, tmp_path / "people.parquet")
    schema = hr.Schema(quasi=["since"], sensitive=["pay"], kinds={"since": "date"})
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        hr.protect(tmp_path / "people.parquet", schema, hr.MART(k=5, max_disclosure=None), engine=engine)
    told = any("does not write its dates as 2020-12-31" in str(w.message) for w in heard)
    assert told == (style == "%d.%m.%Y")


@pytest.mark.parametrize(
    ("encoding", "mark"), [("cp1252", b""), ("utf-8-sig", b"\xef\xbb\xbf"), ("utf-16", b"\xff\xfe")]
)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_an_encoding_is_kept(tmp_path: Path, encoding: str, mark: bytes, engine: str) -> None:
    schema = hr.Schema(quasi=["PLZ"], sensitive=["Gehalt"], other=["Bemerkung"])
    method = hr.MART(k=5, max_disclosure=1.0)
    hr.protect(german(tmp_path, encoding), schema, method, engine=engine).write(tmp_path / "out")
    written = tmp_path / "out/release.csv"
    assert written.read_bytes().startswith(mark)
    text = written.read_text(encoding=encoding)
    assert text.startswith("PLZ;Gehalt;Bemerkung")
    assert sum(line.endswith(";ä") for line in text.splitlines()) == 60
    told = read(written).arrow
    assert isinstance(told, pa.Table)
    assert told.column_names[0] == "PLZ"


def test_a_sign_that_an_encoding_has_not_is_told(tmp_path: Path) -> None:
    file = tmp_path / "levels.csv"
    file.write_text("".join(f"0{1067 + i};Λ\n" for i in range(3)), encoding="utf-8")
    schema = hr.Schema(
        quasi=["PLZ"], sensitive=["Gehalt"], other=["Bemerkung"],
        hierarchies={"PLZ": hr.Hierarchy.from_csv(file)},
    )  # fmt: skip
    release = hr.protect(german(tmp_path, "cp1252"), schema, hr.Datafly(60))
    with pytest.raises(hr.errors.OutputError, match="characters that cp1252 has not"):
        release.write(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_numbers_keep_how_many_decimals_their_column_has(tmp_path: Path) -> None:
    source = frame(
        tmp_path,
        "code;pay;share;free\n"
        + "".join(f"c{i % 2};{26_060 + i},{i % 4 * 25:02d};1.{i:03d},0;{i},{i}\n" for i in range(40)),
    )
    schema = hr.Schema(quasi=["code"], sensitive=["pay"], other=["share", "free"])
    for engine in ("memory", "duckdb"):
        made = tmp_path / engine
        hr.protect(source, schema, hr.Mondrian(k=5), engine=engine).write(made)
        rows = [r.split(";") for r in (made / "release.csv").read_text().splitlines()[1:]]
        assert sorted(row[1] for row in rows) == sorted(f"{26_060 + i},{i % 4 * 25:02d}" for i in range(40))
        assert {row[2] for row in rows} == {f"1{i:03d},0" for i in range(40)}
        assert {"0", "1,1"} <= {row[3] for row in rows}  # decimals of several lengths: the shortest


def test_numbers_with_more_decimals_than_their_column_had_keep_them() -> None:
    from hedgerow.io.text_cells import cell_text

    numbers = pa.array([26060.0, -0.5, 1.25, 2.125, 1e-9, float("inf"), None, float("nan")])
    assert cell_text(numbers, places=2).to_pylist() == [
        "26060.00", "-0.50", "1.25", "2.125", "1e-9", "inf", None, None,
    ]  # fmt: skip


def test_a_broken_check_is_told_in_few_digits() -> None:
    from hedgerow.measures.guarantees import Check
    from hedgerow.release.verify import require

    for reached, told in ((0.6999960662570055, "reached 0.7"), (0.5000001, "reached 0.5000001")):
        with pytest.raises(hr.errors.PromiseError, match=rf"required 0\.5, {told}\n"):
            require([Check("disclosure of pay", 0.5, reached, False)])


def frame(tmp_path: Path, text: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "people.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        # another column tells what the sign is
        ("a;pay\n3,5;22.807\n4,25;1.150\n", [22807, 1150]),
        ("a;pay\n3.5;22.807\n4.25;1.150\n", [22.807, 1.15]),
        ('a,pay\n3.5,"22,807"\n4.25,"1,150"\n', [22807, 1150]),
        # nothing tells: a point is a decimal point, a comma in quotes between commas is none
        ("a;pay\nx;22.807\ny;1.150\n", [22.807, 1.15]),
        ("a;pay\nx;22,807\ny;1,150\n", [22.807, 1.15]),
        ('a,pay\nx,"22,807"\ny,"1,150"\n', [22807, 1150]),
        # signs between thousands that are nothing else
        ("a;pay\nx;22'807.50\ny;1'150.00\n", [22807.5, 1150.0]),
        ("a;pay\nx;22\u202f807,50\ny;850\n", [22807.5, 850.0]),
        ("a;pay\nx;22 807,50\ny;1 234 567,00\n", [22807.5, 1234567.0]),
        # a key in groups of three is no number
        ("a;pay\nx;612 345 678\ny;612 345 679\n", ["612 345 678", "612 345 679"]),
    ],
)
def test_one_file_has_one_decimal_sign(tmp_path: Path, text: str, numbers: list[object]) -> None:
    assert read(frame(tmp_path, text)).arrow.column("pay").to_pylist() == numbers


def test_numbers_that_can_be_read_in_two_ways_are_told_and_settled(tmp_path: Path) -> None:
    path = frame(tmp_path, "job;pay\nx;22.807\ny;1.150\nz;2.400\n")
    seen = hr.inspect(path)
    assert seen.schema.decimal == "."
    assert "pay" in seen.warnings[-1]
    assert "--decimal ," in seen.warnings[-1]
    told = hr.inspect(path, decimal=",")
    assert told.schema.decimal == ","
    assert not any("22.807" in text for text in told.warnings)
    schema = hr.Schema.from_toml(told.schema.to_toml())
    assert read(path, schema=schema).arrow.column("pay").to_pylist() == [22807, 1150, 2400]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_words_for_missing_are_missing_in_every_column(tmp_path: Path, engine: str) -> None:
    rows = "".join(
        f"{20 + i};{('k.A.', 'cook', 'nurse')[i % 3]};{('999', '1.200', '2.400')[i % 3]};{i},5\n" for i in range(30)
    )
    path = frame(tmp_path, "age;job;pay;rate\n" + rows)
    schema = hr.Schema(quasi=["age", "job"], sensitive=["pay"], other=["rate"], missing=["k.A.", "999"])
    release = hr.protect(path, schema, hr.Mondrian(k=3), engine=engine)
    assert release.original.column("job").values == ["cook", "nurse"]
    assert release.original.column("pay").values.tolist() == [1200.0, 2400.0]
    assert int(release.original.column("pay").counts()[-1]) == 10
    folder = release.write(tmp_path / "out")
    text = (tmp_path / "out" / "release.csv").read_text()
    assert "k.A." not in text
    assert "999" not in text
    assert "0,5" in text  # decimals as they came
    # who reads the release again, or applies its plan, reads the file as it was read
    plan = hr.Plan.load(tmp_path / "out" / "plan.json")
    assert (plan.missing, plan.decimal) == (("k.A.", "999"), "")
    found = hr.audit(path, tmp_path / "out", attacks=False, learning=False)
    assert found.broken(k=3) == []
    assert folder


def test_a_table_with_types_knows_itself_what_is_missing() -> None:
    people = pa.table({"age": [1, 2, 3, 4], "job": ["k.A.", "cook", "cook", "cook"]})
    schema = hr.Schema(quasi=["age", "job"], missing=["k.A."])
    with pytest.raises(hr.HedgerowError, match=r"'job'.*not a text file"):
        hr.protect(people, schema, hr.Mondrian(k=2))


def test_words_that_look_missing_are_named(tmp_path: Path) -> None:
    path = frame(tmp_path, "age;job\n1;k.A.\n2;cook\n3;-\n")
    (warning,) = [text for text in hr.inspect(path).warnings if "--missing" in text]
    assert "job" in warning
    assert warning.endswith("--missing -,k.A.")
    seen = hr.inspect(path, missing=["k.A.", "-"])
    assert seen.schema.missing == ("k.A.", "-")
    assert not any("--missing" in text for text in seen.warnings)


def test_columns_with_different_decimal_signs_are_told(tmp_path: Path) -> None:
    path = frame(tmp_path, "a;b;c\n1,5;2.25;3,5\n2,5;3.25;4,5\n")
    (told,) = hr.inspect(path).warnings[-1:]
    assert told.startswith("b: decimals are written with another sign")


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
def test_encodings_of_offices(tmp_path: Path, encoding: str) -> None:
    table = read(frame(tmp_path, "Stra\u00dfe;Wert\nM\u00fcller;1,5\nS\u00e4ge;2,5\n", encoding))
    assert table.names == ["Stra\u00dfe", "Wert"]
    assert table.arrow.column("Wert").to_pylist() == [1.5, 2.5]


def test_an_inspection_fits_eighty_columns(tmp_path: Path) -> None:
    names = ["a_rather_long_name_for_a_column_of_a_survey", "age", *(f"q{i}" for i in range(50))]
    rows = "".join(",".join([str(i % 7)] * len(names)) + "\n" for i in range(60))
    text = str(hr.inspect(frame(tmp_path, ",".join(names) + "\n" + rows)))
    assert max(map(len, text.splitlines())) <= 80
    assert names[0] in text


def comma_people(path: Path) -> hr.Schema:
    """Write people with decimal commas, numbers below zero, missing ones, and a column that only looks like ranges."""
    rng = np.random.default_rng(5)
    weights = np.round(rng.normal(10, 12, 400), 1)
    bands = "[0,5-1,5]", "[1,000-2,000)", "[1,5-2,5]", "*"
    lines = [
        f"{'' if i % 50 == 0 else w};{i % 7}.5;{i % 2}.5;{rng.integers(1, 99)}.25;".replace(".", ",")
        + bands[i % 4]
        + "\n"
        for i, w in enumerate(weights)
    ]
    path.write_text("weight;turn;half;income;band\n" + "".join(lines))
    return hr.Schema(quasi=["weight", "turn", "half", "band"], sensitive=["income"])


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("method", [hr.MART(k=20), hr.Mondrian(k=20), hr.Hedge(k=20, cells="means")], ids=str)
def test_ranges_keep_the_decimal_comma_of_their_file(tmp_path: Path, method: Any, engine: str) -> None:
    source, out = tmp_path / "people.csv", tmp_path / "out" / "release.csv"
    schema = comma_people(source)
    hr.protect(source, schema, method, guard=None, engine=engine).write(out.parent)
    text = out.read_text()
    assert "." not in text
    # categories stay as they are spelled
    assert "[1,000-2,000)" in text
    assert read(source).arrow.column("band")[1].as_py() == "[1,000-2,000)"
    in_memory = hr.protect(source, schema, method, guard=None)
    in_memory.write(tmp_path / "memory")
    assert (tmp_path / "memory" / "release.csv").read_text() == text
    # whoever says that they are numbers reads the ranges as they stand in the plan
    again = read(out, schema=hr.Schema(kinds={"weight": "numeric"}), unescape_formulas=True).arrow.column("weight")
    assert again.to_pylist() == in_memory.table.column("weight").to_pylist()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("method", [hr.MART(k=20), hr.Mondrian(k=20)], ids=str)
def test_a_release_with_decimal_commas_is_audited_like_its_table(tmp_path: Path, method: Any, engine: str) -> None:
    source = tmp_path / "people.csv"
    schema = comma_people(source)
    if engine == "duckdb":  # which cannot pair a column of which each value stays one, with points or commas
        schema = schema.replace(quasi=("weight", "turn", "band"))
    release = hr.protect(source, schema, method, guard=None)
    folder = release.write(tmp_path / "out")
    loose = tmp_path / "loose.csv"
    loose.write_bytes((folder / "release.csv").read_bytes())
    options: dict[str, Any] = {"attacks": False, "learning": False}
    wanted = hr.audit(source, release, **options)
    assert wanted.table["paired"]
    for given in ((folder,), (folder, schema)):
        found = hr.audit(source, *given, engine=engine, **options)
        assert found.table["paired"]
        assert (found.risk["release"], found.utility["loss"]) == (wanted.risk["release"], wanted.utility["loss"])
    # without a plan its cells say what they stand for
    alone = hr.audit(source, loose, schema, paired=False, **options)
    assert alone.risk["release"]["classes"] == wanted.risk["release"]["classes"]
    applied = hr.Plan.load(folder / "plan.json").apply(source)
    assert applied.num_rows == 400


@pytest.mark.parametrize(
    "labels", [("[0-1.9]", "[2-3.9]"), ("[0-1,9]", "[2-3,9]"), ("1.000", "2.000"), ("low", "high")]
)
@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_labels_of_a_hierarchy_keep_their_pairs(tmp_path: Path, labels: tuple[str, str], kind: str) -> None:
    source = tmp_path / "people.csv"
    source.write_text("x;pay\n" + "".join(f"{i % 4},5;{i % 3},25\n" for i in range(200)))
    paths = {f"{v}.5": (f"{v}.5", labels[v > 1], "*") for v in range(4)}
    schema = hr.Schema(quasi=["x"], sensitive=["pay"], hierarchies={"x": hr.Hierarchy(paths)}, kinds={"x": kind})
    folder = hr.protect(source, schema, hr.Datafly(k=60)).write(tmp_path / "out")
    if labels[0] == "1.000":  # thousands, perhaps
        assert "1.000;" in (folder / "release.csv").read_text()
    if labels[0] != "1.000" or kind == "categorical":  # as a number it is none of the group's
        assert hr.audit(source, folder, attacks=False, learning=False).table["paired"]


@pytest.mark.parametrize(
    "text",
    [
        "a;b\n[1,5-2,5];1\n[x-2,5];2\n",
        "a;b\n1,5x;1\n2,5;2\n",
        'a,b\n"[1,5-2,5]",1\n"[2,5-3,5]",2\n',
        "a;b\n[1-2];1\n[2-3];2\n",
        "a;b\n[1,000-2,000];1\n[2,000-3,000];2\n",
    ],
)
def test_texts_that_are_no_ranges_of_a_comma_file_stay(tmp_path: Path, text: str) -> None:
    first = text.split("\n")[1]
    wanted = first.split('"')[1] if '"' in first else first.split(";")[0]
    for schema in (hr.Schema(), hr.Schema(kinds={"a": "numeric"})):
        assert read(frame(tmp_path, text), schema=schema).arrow.column("a")[0].as_py() == wanted


def test_tiny_numbers_with_a_decimal_comma_are_numbers(tmp_path: Path) -> None:
    source = tmp_path / "people.csv"
    source.write_text("age;dose\n" + "".join(f"{20 + i % 30};{i + 1},5e-9\n" for i in range(60)))
    assert read(source).arrow.column("dose")[1].as_py() == 2.5e-9
    folder = hr.protect(source, hr.Schema(quasi=["age"], sensitive=["dose"]), random_state=1).write(tmp_path / "out")
    assert pa.types.is_floating(read(folder / "release.csv").arrow.column("dose").type)


def test_thousands_in_bands_of_another_tool_are_no_decimals(tmp_path: Path) -> None:
    for name, cell in (("original", "{}"), ("released", '"[1,235-4,567]"')):
        rows = "".join(f"{cell.format(1235 + 40 * i)},{i % 9}\n" for i in range(80))
        (tmp_path / f"{name}.csv").write_text("x,pay\n" + rows)
    schema = hr.Schema(quasi=["x"], sensitive=["pay"])
    audit = hr.audit(tmp_path / "original.csv", tmp_path / "released.csv", schema, attacks=False, learning=False)
    assert audit.table["rows"] == 80  # whose cells nobody explains, instead of ranges from 1.235 to 4.567


@pytest.mark.parametrize("title", ["List of people", "People, as of 31.12.2020", "sep=;", "People\n"])
def test_a_title_above_the_header_raises_an_error_with_the_number_of_fields(tmp_path: Path, title: str) -> None:
    """A title with a comma was taken for the header, and decimal commas for the ends of fields."""
    path = german(tmp_path)
    path.write_text(f"{title}\n{path.read_text()}")
    with pytest.raises(InputError, match="most of its lines have 6 fields, the first has not"):
        read(path)


@pytest.mark.parametrize("start", [b"PK\x03\x04", b"\x89PNG", b"%PDF-1.7", b"\xd0\xcf\x11\xe0"])
def test_what_is_no_text_is_named(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(start + bytes(200))
    with pytest.raises(InputError, match=r"people.csv begins like a workbook, a packed file or a picture"):
        read(path)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("method", [hr.MART(k=20), hr.Mondrian(k=20), hr.Hedge(k=20, cells="means")], ids=str)
@pytest.mark.parametrize("half", ["5", "125"])
def test_a_comma_that_ends_fields_and_decimals_is_quoted(tmp_path: Path, half: str, method: Any, engine: str) -> None:
    """Numbers with a decimal comma broke the rows, and a cell 20.125 of one value was read back as 20125."""
    source = tmp_path / "people.csv"
    source.write_text("q,x\n" + "".join(f'"{20 + i // 40},{half}","{i * 7919 % 91},25"\n' for i in range(200)))
    schema = hr.Schema(quasi=["q"], sensitive=["x"], decimal=",")
    release = hr.protect(source, schema, method, guard=None, engine=engine)
    folder = release.write(tmp_path / "out")
    assert "." not in (folder / "release.csv").read_text()
    table = read(folder / "release.csv", schema=schema.reading().replace(kinds={"q": "numeric"})).arrow
    in_memory = hr.protect(source, schema, method, guard=None).table
    for name in ("q", "x"):
        assert sorted(map(str, table[name].to_pylist())) == sorted(map(str, in_memory[name].to_pylist()))
    for given in ((folder,), (folder / "release.csv", schema)):
        audit = hr.audit(source, *given, attacks=False, learning=False)
        assert (audit.table["paired"], audit.broken(k=20)) == (True, [])


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_declared_sign_is_not_overruled_by_one_cell(tmp_path: Path, engine: str) -> None:
    """One cell 4.5 made fractions of all others, 22.807 among them, although the sign was said to be a comma."""
    path = frame(tmp_path, "age;pay\n" + "".join(f"{20 + i};{22 + i}.807\n" for i in range(60)) + "30;4.5\n")
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], decimal=",")
    for people in (path, read(path)) if engine == "memory" else (path,):
        with pytest.raises(hr.errors.SchemaError, match=r"another decimal sign than the declared ',': pay"):
            hr.protect(people, schema, hr.Mondrian(k=5), engine=engine)
    hr.protect(path, schema.replace(kinds={"pay": "categorical"}), hr.Mondrian(k=5), engine=engine)
    hr.protect(path, hr.Schema(quasi=["age"], decimal=","), hr.Mondrian(k=5), engine=engine)  # pay is left out


@pytest.mark.parametrize("cells", [["22.807", "1.150", "2.400"], ["22,5", "1,5", "2"], ["22.807", 1.5, None]])
def test_numbers_as_text_in_a_workbook_are_refused_where_a_comma_is_declared(tmp_path: Path, cells: list[Any]) -> None:
    """The declared sign was passed over: 22.807 was a fraction."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [["age", "pay"], *([20 + i, cell] for i, cell in enumerate(cells * 10))]:
        book.active.append(row)
    book.save(path := tmp_path / "people.xlsx")
    with pytest.raises(InputError, match="a workbook holds numbers as text in 'pay'"):
        hr.inspect(path, decimal=",")
    schema = hr.Schema(quasi=["age"], sensitive=["pay"], decimal=",", kinds={"pay": "categorical"})
    hr.protect(path, schema, hr.Mondrian(k=5))
    hr.inspect(path, decimal=".")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_release_with_another_sign_than_its_original_is_read_by_its_own(
    tmp_path: Path, delimiter: str, engine: str
) -> None:
    """The sign that was declared of the original made 20807 of 20.807 in a release that another tool wrote."""
    rows = [f"{20 + i % 9}.807;{i * 7919 % 91}.25;{i % 7}.5" for i in range(200)]
    (tmp_path / "people.csv").write_text("q;x;z\n" + "\n".join(rows).replace(".", ",") + "\n")
    text = "q;x;z\n" + "\n".join(rows) + "\n"
    (tmp_path / "theirs.csv").write_text(text.replace(";", delimiter))
    schema = hr.Schema(quasi=["q"], sensitive=["x"], other=["z"], decimal=",")
    options: dict[str, Any] = {"engine": engine, "attacks": False, "learning": False}
    audit = hr.audit(tmp_path / "people.csv", tmp_path / "theirs.csv", schema, **options)
    assert audit.table["paired"]
    assert audit.utility["loss"]["ncp"] == 0
    assert not any("another unit" in note for note in audit.table["notes"])
