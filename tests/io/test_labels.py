"""SPSS, Stata and SAS: labels, declared missing values and formats arrive, and go out again."""

from __future__ import annotations

import datetime as dt
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.errors import InputError, OutputError, UnsupportedError
from hedgerow.io.read import read
from hedgerow.io.write import write_table

pyreadstat = pytest.importorskip("pyreadstat", reason="pyreadstat is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")

N = 120
LABELS = {
    "person": "Number of the person",
    "sex": "Sex",
    "educ": "Education",
    "age": "Age in years",
    "income": "Monthly income",
}


def people() -> Any:
    """Codes by arithmetic, so that every figure below is counted by hand."""
    rows = range(N)
    return pandas.DataFrame(
        {
            "person": [1000.0 + i for i in rows],
            "sex": [1.0 + i % 2 for i in rows],
            "educ": [(1.0, 2.0, 3.0, 9.0)[i % 4] for i in rows],
            "age": [20.0 + i % 30 for i in rows],
            "income": [None if i % 40 == 7 else 99998.0 if i % 10 == 0 else 1500.0 + 7 * i for i in rows],
            "region": ["NS"[i % 2] for i in rows],
            "town": ["Ulm" if i % 3 else "Bonn" for i in rows],
            "born": [dt.date(1990, 1, 1) + dt.timedelta(days=i % 5) for i in rows],
        }
    )


VALUES = {
    "sex": {1.0: "male", 2.0: "female", 3.0: "other"},
    "educ": {1.0: "low", 2.0: "middle", 3.0: "high", 9.0: "refused"},
    "income": {99998.0: "would not say", 99999.0: "does not know"},
    "region": {"N": "North", "S": "South"},
}
SCHEMA = hr.Schema(
    quasi=["sex", "age", "educ"],
    sensitive=["income"],
    identifiers=["person"],
    other=["income_missing", "region", "town", "born"],
)


@pytest.fixture(scope="module")
def sav(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("spss") / "people.sav"
    pyreadstat.write_sav(
        people(),
        str(path),
        file_label="A survey",
        column_labels=LABELS,
        variable_value_labels=VALUES,
        missing_ranges={"educ": [9], "income": [{"lo": 99990, "hi": 99999}]},
        variable_measure={"educ": "ordinal", "age": "scale", "sex": "nominal"},
        variable_format={"income": "F10.0", "age": "F3.0", "born": "ADATE10"},
    )
    return path


def protected(source: Path, folder: Path, schema: hr.Schema = SCHEMA) -> Path:
    hr.protect(source, schema, hr.MART(k=5, max_disclosure=1.0)).write(folder)
    (made,) = folder.glob("release.*")
    return made


def test_labels_arrive_as_categories_and_declared_values_as_missing(sav: Path) -> None:
    table = read(sav)
    assert [table.kind(name) for name in ("sex", "educ", "age", "income", "region", "town")] == [
        "categorical", "ordinal", "numeric", "numeric", "categorical", "categorical",
    ]  # fmt: skip
    assert table.kind("born") == "date"
    rows = table.arrow.to_pylist()
    assert [row["educ"] for row in rows[:4]] == ["low", "middle", "high", "refused"]
    assert table.declared("educ") == ("low", "middle", "high", "refused")
    assert table.declared("sex")[:2] == ("male", "female")  # as their codes, not by the alphabet
    assert [row["region"] for row in rows[:2]] == ["North", "South"]
    # 12 of 120 would not say, 3 have nothing: both are missing, and a column says who is which
    income = Counter(row["income"] is None for row in rows)
    assert income[True] == 15
    assert Counter(row["income_missing"] for row in rows) == {"would not say": 12, None: 108}
    assert rows[1]["income"] == 1507
    assert rows[3]["born"] == dt.date(1990, 1, 4)


def test_spss_goes_out_with_its_labels(sav: Path, tmp_path: Path) -> None:
    made = protected(sav, tmp_path / "out")
    assert made.name == "release.sav"
    before, first = pyreadstat.read_sav(sav, user_missing=True)
    after, found = pyreadstat.read_sav(made, user_missing=True)
    assert not found.file_label
    for name in ("sex", "educ", "age", "income"):
        assert found.column_names_to_labels[name] == LABELS[name]
    assert found.missing_ranges["income"] == first.missing_ranges["income"]
    assert found.missing_ranges["educ"] == first.missing_ranges["educ"]
    assert found.original_variable_types["income"] == "F10.0"
    assert found.original_variable_types["born"] == "ADATE10"
    assert found.variable_measure["educ"] in ("ordinal", "nominal")
    # what was left as it was: the codes themselves, and the same number of each
    for name in ("income", "region", "town", "born"):
        assert Counter(after[name].dropna()) == Counter(before[name].dropna()), name
    assert after["income"].isna().sum() == 3
    # a label of which no record has the code is gone, and so is "other" of `sex`
    assert found.variable_value_labels["income"] == {99998.0: "would not say"}
    assert "other" not in found.variable_value_labels["sex"].values()
    # recoded cells are codes, and their labels say what the groups share
    told = found.variable_value_labels["age"]
    assert set(after["age"].dropna()) == set(told)
    assert any("-" in text or "[" in text for text in told.values())


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_the_title_inside_a_file_is_left_out_and_told(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    frame = people()[["age", "person"]]
    write = {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta, "xpt": pyreadstat.write_xport}
    write[ending](frame, str(path), file_label="Study of Dr Roe")
    assert b"Dr Roe" in path.read_bytes()
    schema = hr.Schema(quasi=["age"], sensitive=["person"])
    with pytest.warns(UserWarning, match="left out the title that stands inside the file"):
        made = protected(path, tmp_path / "out", schema)
    for file in made.parent.iterdir():
        assert b"Dr Roe" not in file.read_bytes(), file.name


def test_the_released_file_reads_as_the_released_table(sav: Path, tmp_path: Path) -> None:
    release = hr.protect(sav, SCHEMA, hr.MART(k=5, max_disclosure=1.0))
    release.write(tmp_path / "out")
    found = read(tmp_path / "out/release.sav")
    assert found.names == release.table.column_names
    words = (tmp_path / "out/RECIPIENT.md").read_text()
    assert "| income | sensitive | Monthly income; unchanged numbers |" in words
    assert "income_missing stands in income itself" in words.replace("\\", "")
    assert found.arrow.to_pylist() == release.table.to_pylist()


def test_why_a_number_is_missing_is_released_where_somebody_says_so(sav: Path, tmp_path: Path) -> None:
    schema = SCHEMA.replace(other=["region"])
    with pytest.warns(UserWarning, match="you did not name them:.*income_missing"):
        made = protected(sav, tmp_path / "out", schema)
    after, found = pyreadstat.read_sav(made, user_missing=True)
    assert after["income"].isna().sum() == 15
    assert "income" not in found.variable_value_labels
    assert found.missing_ranges["income"] == [{"lo": 99990.0, "hi": 99999.0}]


def test_the_same_release_has_the_same_bytes(sav: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = protected(sav, tmp_path / "one")
    assert dt.date.today().strftime("%d %b %y").encode() not in one.read_bytes()[:200]
    other = sav.with_name("shuffled.sav")
    frame, about = pyreadstat.read_sav(sav, user_missing=True)
    pyreadstat.write_sav(
        frame.sample(frac=1, random_state=1).reset_index(drop=True),
        str(other),
        file_label="A survey",
        column_labels=LABELS,
        variable_value_labels=about.variable_value_labels,
        missing_ranges=about.missing_ranges,
        variable_measure=about.variable_measure,
        variable_format=about.original_variable_types,
        variable_display_width=about.variable_display_width,
    )
    assert one.read_bytes() == protected(other, tmp_path / "two").read_bytes()


def letters() -> Any:
    """The people, whose letters say why a number is missing."""
    frame = people()
    frame["income"] = ["a" if i % 10 == 0 else None if i % 40 == 7 else 1500 + 7 * i for i in range(N)]
    for name in ("sex", "educ", "age", "person"):
        frame[name] = frame[name].astype(int)
    return frame


@pytest.fixture(scope="module")
def stata(tmp_path_factory: pytest.TempPathFactory) -> Path:
    values = {n: {int(c): t for c, t in VALUES[n].items()} for n in ("sex", "educ")}
    path = tmp_path_factory.mktemp("stata") / "people.dta"
    pyreadstat.write_dta(
        letters(),
        str(path),
        column_labels=LABELS,
        variable_value_labels={**values, "income": {"a": "would not say"}},
        missing_user_values={"income": ["a"]},
        variable_format={"born": "%tdD_m_Y"},
    )
    return path


def test_stata_goes_out_with_its_labels_and_letters(stata: Path, tmp_path: Path) -> None:
    frame = letters()
    rows = read(stata).arrow.to_pylist()
    assert (rows[0]["income"], rows[0]["income_missing"]) == (None, "would not say")
    assert (rows[7]["income"], rows[7]["income_missing"]) == (None, None)
    schema = SCHEMA.replace(quasi=["sex", "age"], other=[*SCHEMA.other, "educ"])
    made = protected(stata, tmp_path / "out", schema)
    assert made.name == "release.dta"
    # as lists: in frames pyreadstat has no room for whole numbers that are missing
    after, found = pyreadstat.read_dta(made, user_missing=True, output_format="dict")
    assert Counter(after["income"]) == Counter(frame["income"].tolist())
    assert found.missing_user_values == {"income": ["a"]}
    assert found.variable_value_labels["income"] == {"a": "would not say"}
    assert found.variable_value_labels["educ"][9] == "refused"
    assert found.original_variable_types["born"] == "%tdD_m_Y"
    assert found.column_names_to_labels["income"] == "Monthly income"
    assert Counter(after["born"]) == Counter(frame["born"])
    assert {age for age in after["age"] if age} == set(found.variable_value_labels["age"])


TRANSPORT = hr.Schema(quasi=["AGE", "sex"], sensitive=["pay"], other=["born", "town"])


def paid() -> Any:
    """The people as SAS has them."""
    frame = people().drop(columns=["income"]).rename(columns={"age": "AGE"})
    frame["pay"] = [1000.5 + i for i in range(N)]
    return frame


def transport(folder: Path, version: int) -> Path:
    path = folder / "people.xpt"
    pyreadstat.write_xport(
        paid(),
        str(path),
        file_format_version=version,
        column_labels={"AGE": "Age in years"},
        variable_format={"born": "DATE9"},
    )
    return path


@pytest.mark.parametrize("version", [5, 8])
def test_a_sas_transport_file_goes_out_with_its_labels(tmp_path: Path, version: int) -> None:
    frame = paid()
    made = protected(transport(tmp_path, version), tmp_path / "out", TRANSPORT)
    assert made.name == "release.xpt"
    assert (b"LIBV8" in made.read_bytes()[:80]) is (version == 8)
    after, found = pyreadstat.read_xport(made)
    assert found.column_names_to_labels["AGE"] == "Age in years"
    assert found.original_variable_types["born"] == "DATE9"
    assert Counter(after["pay"]) == Counter(frame["pay"])
    assert Counter(after["born"]) == Counter(frame["born"])
    assert all(isinstance(cell, str) for cell in after["AGE"])  # SAS keeps labels elsewhere


@pytest.mark.filterwarnings("ignore")
def test_a_column_whose_values_all_have_labels_can_be_numbers(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    rows = range(60)
    frame = pandas.DataFrame(
        {
            "age": [20.0 + i for i in rows],
            "kids": [float(i % 4) for i in rows],
            "mood": [(1.0, 2.0, 3.0, 9.0)[i % 4] for i in rows],
        }
    )
    kids = {0.0: "none", 1.0: "one", 2.0: "two", 3.0: "three or more"}
    mood = {1.0: "low", 2.0: "fair", 3.0: "good", 9.0: "refused"}
    pyreadstat.write_sav(
        frame, str(path), variable_value_labels={"kids": kids, "mood": mood}, missing_ranges={"mood": [9]}
    )
    assert read(path).kind("kids") == "categorical"
    schema = hr.Schema(
        quasi=["age", "kids"], sensitive=["mood"], other=["mood_missing"], kinds={"kids": "numeric", "mood": "numeric"}
    )
    table = read(path, schema=schema)
    assert (table.kind("kids"), table.kind("mood")) == ("numeric", "numeric")
    assert table.arrow.column("kids").to_pylist()[:5] == [0, 1, 2, 3, 0]
    assert table.arrow.column("mood").to_pylist()[:4] == [1, 2, 3, None]
    assert table.arrow.column("mood_missing").to_pylist()[:4] == [None, None, None, "refused"]
    release = hr.protect(path, schema, hr.MART(k=10, max_disclosure=1.0))
    release.write(tmp_path / "out")
    after, found = pyreadstat.read_sav(tmp_path / "out/release.sav", user_missing=True)
    assert Counter(after["mood"]) == Counter(frame["mood"])
    assert found.variable_value_labels["mood"] == mood  # every code still says what it said
    assert found.missing_ranges["mood"] == [{"lo": 9.0, "hi": 9.0}]
    shown = set(release.table.column("kids").to_pylist())
    assert any("-" in cell for cell in shown)  # ranges of numbers, not sets of categories
    session = hr.Session(path)
    session.choose(schema, hr.MART(k=10, max_disclosure=1.0))
    session.protect()
    session.write(tmp_path / "steps")
    made = [tmp_path / name / "release.sav" for name in ("out", "steps")]
    assert made[0].read_bytes() == made[1].read_bytes()
    found = hr.audit(path, tmp_path / "out", attacks=False, learning=False)
    assert found.to_dict()["table"]["sensitive"] == ["mood"]


def test_what_two_codes_say_has_the_code_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    frame = pandas.DataFrame({"job": [1.0, 2.0, 3.0, 3.0], "n": [1.0, 2.0, 3.0, 4.5]})
    labels = {"job": {1.0: "other", 2.0: "other", 3.0: "cook", 4.0: ""}, "n": {1.0: "one"}}
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    table = read(path)
    assert table.arrow.column("job").to_pylist() == ["other (1)", "other (2)", "cook", "cook"]
    assert table.kind("n") == "numeric"  # not all of its values have labels
    write_table(table.arrow, tmp_path / "u.sav", like=table)
    assert read(tmp_path / "u.sav").arrow.to_pylist() == table.arrow.to_pylist()
    _, about = pyreadstat.read_sav(tmp_path / "u.sav")
    assert about.variable_value_labels["n"] == {1.0: "one"}


CODED = {
    "sex": {"m": "male", "f": "female"},
    "job": {"N": "nurse", "CO": "cook", "K": "clerk", "": "no job"},
    "ill": {"y": "yes", "n": "no", "9": "refused"},
}
WHOSE = hr.Schema(quasi=["age", "sex", "job"], sensitive=["income"], other=["ill"])


def coded(path: Path, n: int = 240) -> Path:
    """People whose texts are codes that have labels, as SPSS allows and Stata and SAS do not."""
    frame = pandas.DataFrame(
        {
            "age": [20.0 + i * 7 % 30 for i in range(n)],
            "sex": [("m", "f")[i * 5 % 7 > 3] for i in range(n)],
            "job": [("N", "CO", "K", None)[i * 3 % 11 % 4] for i in range(n)],
            "income": [1500.0 + i * 37 % 900 for i in range(n)],
            "ill": [("y", "n", "n", "9")[i % 4] for i in range(n)],
        }
    )
    pyreadstat.write_sav(
        frame, str(path), variable_value_labels=CODED, missing_ranges={"ill": ["9"]},
        variable_format={"sex": "A1"}, compress=path.suffix == ".zsav",
    )  # fmt: skip
    return path


@pytest.mark.parametrize("ending", ["sav", "zsav"])
@pytest.mark.parametrize(
    "method",
    [hr.MART(5), hr.MART(5, categorical="weighted"), hr.MART(5, categorical="suppress"), hr.Hedge(5), hr.Mondrian(5),
     hr.LocalSuppression(5), hr.Datafly(5)],
    ids=str,
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_codes_of_text_go_out_with_their_labels(tmp_path: Path, method: Any, ending: str) -> None:
    source = coded(tmp_path / f"people.{ending}")
    release = hr.protect(source, WHOSE, method)
    release.write(tmp_path / "out")
    made = tmp_path / "out" / f"release.{ending}"
    assert read(made).arrow.to_pylist() == release.table.to_pylist()
    cells, about = pyreadstat.read_sav(str(made), user_missing=True)
    codes = {name: {text: code for code, text in told.items()} for name, told in CODED.items()}
    for name in ("sex", "job", "ill"):
        labels = about.variable_value_labels[name]
        there = set(cells[name]) - {""}
        assert there == set(labels), name  # whoever reads labels finds one for every code
        for code, text in labels.items():
            assert code == codes[name].get(text, text), name
        assert Counter(labels.get(c) for c in cells[name]) == Counter(release.table[name].to_pylist())
    assert about.missing_ranges["ill"] == [{"lo": "9", "hi": "9"}]


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt", "csv", "parquet", "xlsx"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_recoded_labels_read_alike_in_every_format(tmp_path: Path, ending: str) -> None:
    source = read(coded(tmp_path / "people.sav"))
    table = hr.protect(source, WHOSE, hr.MART(5)).table
    assert any("+" in cell for cell in table["sex"].to_pylist())
    like = source if ending in ("sav", "zsav") else None
    write_table(table, tmp_path / f"out.{ending}", like=like)
    found = read(tmp_path / f"out.{ending}").arrow
    for name in ("sex", "job", "ill"):
        assert found[name].to_pylist() == table[name].to_pylist()


@pytest.mark.parametrize("left", [["x", "y", "z"], ["x", "y"]])
def test_texts_of_which_some_have_labels_are_texts(tmp_path: Path, left: list[str]) -> None:
    labels = {"x": "the first", "y": "the second", "w": "nobody's"}
    frame = pandas.DataFrame({"code": ["x", "y", "z"], "n": [1.0, 2.0, 3.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"), variable_value_labels={"code": labels})
    table = read(tmp_path / "t.sav")
    assert table.arrow["code"].to_pylist() == ["x", "y", "z"]
    write_table(table.arrow.slice(0, len(left)), tmp_path / "u.sav", like=table)
    assert read(tmp_path / "u.sav").arrow["code"].to_pylist() == left
    _, about = pyreadstat.read_sav(tmp_path / "u.sav")
    # where only labelled ones are left, a reader would show the labels instead
    kept = {"code": {"x": "the first", "y": "the second"}} if "z" in left else {}
    assert about.variable_value_labels == kept


def test_a_text_without_labels_that_is_called_missing_stays_one(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"x": [1.0, 2.0], "why_missing": ["gone", "left"]})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"))
    table = read(tmp_path / "t.sav")
    write_table(table.arrow, tmp_path / "u.sav", like=table)
    cells, about = pyreadstat.read_sav(tmp_path / "u.sav")
    assert not about.variable_value_labels
    assert cells["why_missing"].tolist() == ["gone", "left"]


def test_no_released_number_falls_among_those_declared_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    frame = pandas.DataFrame({"x": [1.0, 2.0, 30.0]})
    pyreadstat.write_sav(frame, str(path), missing_ranges={"x": [9]})
    table = read(path)
    write_table(pa.table({"x": [1.0, 9.0, 9.5]}), tmp_path / "u.sav", like=table)
    assert read(tmp_path / "u.sav").arrow.column("x").to_pylist() == [1.0, 9.0, 9.5]
    write_table(table.arrow, tmp_path / "v.sav", like=table)
    assert pyreadstat.read_sav(tmp_path / "v.sav", user_missing=True)[1].missing_ranges


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt", "xlsx"])
def test_any_table_is_written_and_read_with_its_values(tmp_path: Path, ending: str) -> None:
    table = pa.table(
        {
            "whole": pa.array([1, None, 3]),
            "part": pa.array([0.1, 1e300, None]),
            "day": pa.array([dt.date(1999, 12, 31), None, dt.date(2024, 2, 29)]),
            "hour": pa.array([dt.datetime(2024, 2, 29, 23, 59, 58), None, dt.datetime(1970, 1, 1)]),
            "text": ["=1+1", None, "ä" * 300],
            "code": ["007", "008", None],
        }
    )
    path = tmp_path / f"t.{ending}"
    write_table(table, path)
    assert path.stat().st_mode & 0o077 == 0
    found = read(path).arrow
    if ending == "xpt":  # the numbers of SAS are those of old mainframes: 16 ** 63 and 14 digits
        assert found.column("part").to_pylist()[0] == 0.1
        table, found = table.drop_columns(["part"]), found.drop_columns(["part"])
    assert found.to_pylist() == table.to_pylist()


def test_reasons_of_missing_that_no_released_row_has_are_an_empty_column(tmp_path: Path) -> None:
    """Hedgerow makes the column of the codes for missing numbers, so it lacks in no file that has none of these codes.

    Three people who refused are too few to be drawn: protecting ended with a fault of the method, and an audit of
    somebody else's file with a missing column.
    """
    n = 120
    frame = pandas.DataFrame({"age": [20.0 + i % 30 for i in range(n)], "pay": [100.0 * (1 + i % 7) for i in range(n)]})
    answered = tmp_path / "answered.sav"
    pyreadstat.write_sav(frame, str(answered))
    frame.loc[[3, 50, 90], "pay"] = -9.0
    source, labels = tmp_path / "refused.sav", {"pay": {-9: "refused"}}
    ranges = {"pay": [{"lo": -9, "hi": -9}]}
    pyreadstat.write_sav(frame, str(source), variable_value_labels=labels, missing_ranges=ranges)
    schema = hr.Schema(quasi=["age"], sensitive=["pay", "pay_missing"], follows={"pay_missing": "pay"})
    release = hr.protect(source, schema, random_state=1)
    release.write(tmp_path / "out")
    assert "pay_missing" not in read(tmp_path / "out" / "release.sav").names
    for released in (tmp_path / "out", answered):
        assert set(hr.audit(source, released, schema).to_dict()["table"]["sensitive"]) == {"pay", "pay_missing"}


def test_what_a_format_cannot_hold_is_told_by_column(tmp_path: Path) -> None:
    table = pa.table({"fine": [1], "a name": [2]})
    with pytest.raises(OutputError, match="cannot hold the columns 'a name'"):
        write_table(table, tmp_path / "t.sav")
    with pytest.raises(OutputError, match=r"choose the ending \.xpt"):
        write_table(table, tmp_path / "t.sas7bdat")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("ending", ["sav", "zsav", "dta", "xpt", "sas7bdat"])
def test_a_damaged_file_is_told(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"t.{ending}"
    path.write_bytes(b"SECRET" * 100)
    with pytest.raises(InputError, match="or it is damaged") as caught:
        read(path)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("version", [5, 8])
def test_a_cut_transport_file_is_refused(tmp_path: Path, version: int) -> None:
    """Cut at blocks of 80 bytes or not; version 8 says its number of rows, version 5 does not."""
    path, n = tmp_path / "t.xpt", 300
    frame = pandas.DataFrame({"name": [f"p{i}" for i in range(n)], "age": [float(20 + i % 50) for i in range(n)]})
    pyreadstat.write_xport(frame, path, file_format_version=version)
    assert read(path).n_rows == n
    content = path.read_bytes()
    start = content.index(b"HEADER RECORD*******OBS") + 80
    width = 12
    for end in range(start + 160, len(content) - 80, 80):
        for cut in (end, end + 7):
            path.write_bytes(content[:cut])
            if version == 8 or cut % 80 or (cut - start) % width:
                with pytest.raises(InputError, match="it is cut or damaged"):
                    read(path)
    pyreadstat.write_xport(pandas.DataFrame({"name": ["x", "", ""]}), path, file_format_version=version)
    assert read(path).arrow.column(0)[0].as_py() == "x"  # rows of blanks look like the end


def test_a_transport_file_of_several_tables_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(pandas.DataFrame({"a": [1.0, 2.0]}), path, file_format_version=5)
    content = path.read_bytes()
    path.write_bytes(content + content[240:])  # the head of the library comes once
    with pytest.raises(InputError, match="holds several SAS tables"):
        read(path)


def test_a_missing_package_is_named_with_its_extra(sav: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'hedgerow\[stats\]'"):
        read(sav)


R = """
library(haven)
d <- read_sav(FILE, user_na = TRUE)
cat(attr(d$income, "label"), "\\n")
cat(paste(names(attr(d$income, "labels")), collapse = ","), "\\n")
cat(paste(attr(d$income, "na_range"), collapse = ","), "\\n")
cat(paste(names(attr(d$sex, "labels")), collapse = ","), "\\n")
cat(sum(unclass(d$income) %in% 99998), "\\n")
cat(as.character(class(d$born))[1], "\\n")
"""


def _haven(script: str) -> list[str]:
    if not shutil.which("Rscript"):
        pytest.skip("R is not installed")
    done = subprocess.run(["Rscript", "--vanilla", "-e", script], capture_output=True, text=True, check=False)
    if "no package called" in done.stderr:
        pytest.skip("R has no package haven")
    assert done.returncode == 0, done.stderr
    return [line.strip() for line in done.stdout.splitlines()]


def test_haven_reads_what_was_written(sav: Path, tmp_path: Path) -> None:
    made = protected(sav, tmp_path / "out")
    label, values, span, sexes, n, kind = _haven(R.replace("FILE", f"'{made}'"))
    assert (label, values, span, n) == ("Monthly income", "would not say", "99990,99999", "12")
    assert all(re.fullmatch(r"male|female|male:\d+\+female:\d+|\*", sex) for sex in sexes.split(","))
    assert kind == "Date"


def test_letters_of_sas_say_why_a_number_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SAS data sets cannot be written here, so what pyreadstat reads of one stands for the file."""
    path = tmp_path / "t.sas7bdat"
    path.write_bytes(b"x")
    frame = pandas.DataFrame({"pay": [1.5, 2.5, 3.5, 4.5], "age": [20.0, 20.0, 20.0, 20.0]})
    plain = tmp_path / "t.sav"
    pyreadstat.write_sav(frame, str(plain))
    asked = {}

    def read_sas7bdat(file: str, **given: Any) -> Any:
        asked.update(given)
        columns, about = pyreadstat.read_sav(str(plain), output_format="dict")
        return {"pay": [1.5, "A", "_", None], "age": list(columns["age"])}, about

    monkeypatch.setattr(pyreadstat, "read_sas7bdat", read_sas7bdat)
    table = read(path)
    assert asked["user_missing"] is True
    assert table.arrow.column("pay").to_pylist() == [1.5, None, None, None]
    assert table.arrow.column("pay_missing").to_pylist() == [None, "A", "_", None]
    write_table(table.arrow, tmp_path / "u.xpt", like=table)
    after, _ = pyreadstat.read_xport(tmp_path / "u.xpt", output_format="dict")
    assert list(after["pay_missing"]) == ["", "A", "_", ""]


R_STATA = """
library(haven)
d <- read_dta(FILE)
cat(attr(d$income, "label"), "\n")
cat(paste(names(attr(d$educ, "labels")), collapse = ","), "\n")
cat(sum(is_tagged_na(d$income, "a")), sum(is.na(d$income)), "\n")
cat(paste(names(attr(d$income, "labels")), collapse = ","), "\n")
cat(as.character(class(d$born))[1], attr(d$born, "format.stata"), "\n")
cat(sum(d$income, na.rm = TRUE), "\n")
"""


def test_haven_reads_what_was_written_for_stata(stata: Path, tmp_path: Path) -> None:
    schema = SCHEMA.replace(quasi=["sex", "age"], other=[*SCHEMA.other, "educ"])
    made = protected(stata, tmp_path / "out", schema)
    label, levels, missing, why, born, total = _haven(R_STATA.replace("FILE", f"'{made}'"))
    assert (label, why) == ("Monthly income", "would not say")
    assert levels == "low,middle,high,refused"
    assert missing == "12 15"  # 12 of 120 would not say, and 3 have nothing
    assert born == "Date %tdD_m_Y"
    known = [1500 + 7 * i for i in range(N) if i % 10 and i % 40 != 7]
    assert float(total) == sum(known)


R_SAS = """
library(haven)
d <- read_xpt(FILE)
cat(attr(d$AGE, "label"), "\n")
cat(as.character(class(d$born))[1], attr(d$born, "format.sas"), "\n")
cat(paste(sort(unique(d$town)), collapse = ","), "\n")
cat(class(d$AGE), nrow(d), "\n")
cat(sum(d$pay), "\n")
"""


@pytest.mark.parametrize("version", [5, 8])
def test_haven_reads_what_was_written_for_sas(tmp_path: Path, version: int) -> None:
    made = protected(transport(tmp_path, version), tmp_path / "out", TRANSPORT)
    label, born, towns, kind, total = _haven(R_SAS.replace("FILE", f"'{made}'"))
    assert (label, born, towns) == ("Age in years", "Date DATE9", "Bonn,Ulm")
    assert kind == f"character {N}"  # ranges: SAS keeps labels elsewhere
    assert float(total) == sum(1000.5 + i for i in range(N))


def test_a_sas_data_set_is_released_as_a_transport_file(tmp_path: Path) -> None:
    (where,) = _haven("library(haven); cat(system.file('examples', 'iris.sas7bdat', package='haven'))")
    if not where:
        pytest.skip("haven has no example here")
    schema = hr.Schema(quasi=["Sepal_Length"], sensitive=["Petal_Width"], other=["Species"])
    made = protected(Path(where), tmp_path / "out", schema)
    assert made.name == "release.xpt"
    after, _ = pyreadstat.read_xport(made)
    # haven's example keeps six letters of a name
    assert Counter(after["Species"]) == {"setosa": 50, "versic": 50, "virgin": 50}
