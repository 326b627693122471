from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import SchemaError
from hedgerow.hierarchy import Hierarchy
from hedgerow.io.read import read
from hedgerow.schema import Schema


def test_arx_format_with_quotes_and_a_byte_order_mark(tmp_path):
    path = tmp_path / "job.csv"
    path.write_text('\ufeff"a;b";group;*\nc;group;*\nc;group;*\n\n', encoding="utf-8")
    assert Hierarchy.from_csv(path).paths == {"a;b": ("a;b", "group", "*"), "c": ("c", "group", "*")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a;x;*\na;y;*\n", "1 value two different paths"),
        ("a;x;*\nb;*\n", "different lengths"),
        ("a;x;*\nb;;*\n", "empty label"),
        ("a;x;y;*\nb;x;z;*\n", "contradicts itself"),
        ("a;x;a\n", "a cycle"),
        ("a;x;y;x\n", "a cycle"),
        ("a;b\nb;a\n", "2 values whose path returns"),
        ("a;b;*\nb;c;*\nc;a;*\nd;d;*\n", "3 values whose path returns"),
    ],
)
def test_bad_files_say_what_and_where(tmp_path, text, message):
    path = tmp_path / "job.csv"
    path.write_text(text)
    with pytest.raises(SchemaError, match=message) as caught:
        Hierarchy.from_csv(path)
    assert "job.csv" in str(caught.value)


def test_missing_values_are_counted_not_shown():
    hierarchy = Hierarchy({"a": ("a", "*")})
    with pytest.raises(SchemaError, match="lacks 2 of its 3 values") as caught:
        hierarchy.check(["a", "secret-b", "secret-c"], "job")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_the_separator_is_found(tmp_path, mark):
    path = tmp_path / "job.csv"
    path.write_text(f'"a{mark}b"{mark}group{mark}*\nc{mark}group{mark}*\n')
    assert Hierarchy.from_csv(path).paths == {f"a{mark}b": (f"a{mark}b", "group", "*"), "c": ("c", "group", "*")}
    path.write_text("a;x,y;*\nb;x,y;*\n")
    assert Hierarchy.from_csv(path).paths["a"] == ("a", "x,y", "*")
    assert Hierarchy.from_csv(path, ",").paths["a;x"] == ("a;x", "y;*")


def test_blanks_inside_quotes_stay(tmp_path):
    path = tmp_path / "job.csv"
    path.write_text(
        '" a";x;*\n b ; x ;*\n"c ";" x ";*\n"say ""d"" ";"x";*\n2" pipe;"x";*\n "e";x;*\n'.replace('" x "', "x")
    )
    assert list(Hierarchy.from_csv(path).paths) == [" a", "b", "c ", 'say "d" ', '2" pipe', "e"]


@pytest.mark.parametrize(
    ("encoding", "declared", "words"),
    [
        ("utf-8", "", None),
        ("utf-8-sig", "", None),
        ("utf-16", "", None),
        ("cp1252", "", "is not UTF-8, so it is read as cp1252"),
        ("cp1252", "cp1252", None),
        ("cp1250", "cp1250", None),
    ],
)
def test_hierarchies_are_read_in_the_encodings_of_tables(tmp_path, recwarn, encoding, declared, words):
    """A table in Windows-1252 was read, and its hierarchy was not."""
    text = "Łódź;PL;*\n" if encoding == "cp1250" else "Köln;NRW;*\n"
    path = tmp_path / "town.csv"
    path.write_bytes(text.encode(encoding))
    schema = Schema.from_mapping({"quasi": ["town"], "hierarchies": {"town": str(path)}, "encoding": declared})
    assert list(schema.hierarchies["town"].paths) == [text.partition(";")[0]]
    assert [words in str(w.message) for w in recwarn] == [True] * (words is not None)
    path.write_bytes(b"\x81\xff;x;*\n")
    with pytest.raises(SchemaError, match="not UTF-8 text, nor cp1252"):
        Hierarchy.from_csv(path)


def test_only_values_of_many_people_are_named():
    hierarchy = Hierarchy({"1145": ("1145", "*"), "cook": ("cook", "*")})
    values = ["01145", "secret 9", "Cook ", "often"]
    with pytest.raises(SchemaError) as caught:
        hierarchy.check(values, "job", [12, 9, 3, 10])
    said = str(caught.value)
    assert "lacks 4 of its 4 values: '01145' (12 records), 'often' (10 records), ...; 2 stand there in another" in said
    assert "secret" not in said
    with pytest.raises(SchemaError, match="lacks 3 of its 3 values: 2 of the form 'aaaaaa 9'"):
        hierarchy.check(["secret 9", "second 8", "x"], "job", [9, 1, 1])


@pytest.mark.parametrize("method", [hr.Datafly(3), hr.MART(3, categorical="hierarchy")])
def test_what_a_hierarchy_lacks_is_told_by_every_method(method):
    people = pd.DataFrame({"job": ["cook"] * 20 + ["rare one"] * 3, "pay": range(23)})
    schema = Schema(quasi=["job"], sensitive=["pay"], hierarchies={"job": Hierarchy({"nurse": ("nurse", "*")})})
    with pytest.raises(SchemaError, match=r"'cook' \(20 records\), \.\.\.") as caught:
        hr.protect(people, schema, method)
    assert "rare one" not in str(caught.value)


@pytest.mark.parametrize("cells", ["rows", "means", "ranges"])
def test_a_table_of_keys_alone_gets_k(cells):
    """Hedge refused it and advised max_disclosure=1; inspect printed the command that was refused."""
    people = pd.DataFrame({"age": np.arange(60) % 7, "sex": ["f", "m"] * 30})
    schema = Schema(quasi=["age", "sex"])
    release = hr.protect(people, schema, hr.Hedge(5, cells=cells))
    assert [promise["kind"] for promise in release.plan.promises] == ["k_anonymity"]
    assert release.plan.parameters["max_disclosure"] == 1
    with pytest.raises(hr.errors.ParameterError, match="nothing that max_disclosure") as caught:
        hr.protect(people, schema, hr.Hedge(5, max_disclosure=0.3))
    assert "leave it out: then k alone is promised" in str(caught.value)


def test_intervals():
    paths = Hierarchy.from_intervals([-1, 4.5, 23], [5, 10], origin=3).paths
    assert paths["4.5"] == ("4.5", "[3, 8)", "[3, 13)", "*")
    assert paths["-1"] == ("-1", "[-2, 3)", "[-7, 3)", "*")
    for bad in ([], [0], [5, 12], [5, 5]):
        with pytest.raises(SchemaError):
            Hierarchy.from_intervals([1], bad)


def test_dates_and_prefixes():
    dates = Hierarchy.from_dates(["1999-12-31", "2000-01-01"], ["quarter", "year"])
    assert dates.paths["1999-12-31"] == ("1999-12-31", "1999-Q4", "1999", "*")
    with pytest.raises(SchemaError, match="1 value is not ISO"):
        Hierarchy.from_dates(["x"])
    nano = np.array(["2000-01-01T05:00:00.5", "2000-02-01T05:00:00.000000007", "NaT"], "M8[ns]")
    assert list(Hierarchy.from_dates(nano).paths) == ["2000-01-01T05:00:00.500000", "2000-02-01T05:00:00.000000007"]
    assert list(Hierarchy.from_dates([dt.date(2000, 1, 1), None]).paths) == ["2000-01-01"]
    with pytest.raises(SchemaError):
        Hierarchy.from_dates(["2000-01-01"], ["year", "month"])
    codes = Hierarchy.from_prefixes(["1234", "56"])
    assert codes.paths["56"] == ("56", "56**", "56**", "5***", "*")


@given(st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=40, unique=True), st.data())
def test_a_built_hierarchy_is_a_tree_that_ends_in_one_label(values, data):
    counts = data.draw(st.lists(st.integers(1, 500), min_size=len(values), max_size=len(values)))
    hierarchy = Hierarchy.from_values(sorted(values), counts)
    assert list(hierarchy.paths) == sorted(values)
    assert {path[-1] for path in hierarchy.paths.values()} == {"*"}
    sizes = [len({path[i] for path in hierarchy.paths.values()}) for i in range(hierarchy.n_levels)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.skipif("HEDGEROW_DATA" not in os.environ, reason="HEDGEROW_DATA is not set")
def test_the_adult_hierarchies_read():
    folder = Path(os.environ["HEDGEROW_DATA"]) / "hierarchies" / "adult"
    levels = {path.stem: Hierarchy.from_csv(path).n_levels for path in folder.glob("*.csv")}
    assert levels == {
        "age": 5,
        "education": 4,
        "marital-status": 3,
        "native-country": 3,
        "occupation": 3,
        "race": 2,
        "salary-class": 2,
        "sex": 2,
        "workclass": 3,
    }


PATHS = {"nurse": ["nurse", "health", "*"], "cook": ("cook", "service", "*")}


def test_a_schema_takes_a_file_or_the_paths_of_values(tmp_path: Path) -> None:
    file = tmp_path / "job.csv"
    file.write_text("nurse;health;*\ncook;service;*\n")
    people = pd.DataFrame({"job": ["nurse", "cook"] * 6, "pay": range(12)})
    people.to_csv(tmp_path / "people.csv", index=False)
    expected = Schema(quasi=["job"], sensitive=["pay"], hierarchies={"job": Hierarchy.from_csv(file)})
    for declared in (file, str(file), PATHS):
        schema = expected.replace(hierarchies={"job": declared})
        assert schema == expected == Schema.from_toml(schema.to_toml())
        for source in (people, tmp_path / "people.csv"):
            release = hr.protect(source, schema, hr.Datafly(7))
            assert set(read(release.table).column("job").values) == {"*"}
            assert hr.audit(source, release, attacks=False, learning=False)
            assert hr.inspect(source).public(schema).hierarchies == expected.hierarchies


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ("none.csv", "cannot read the hierarchy none.csv"),
        ("", "no CSV file"),
        ({"nurse": "health"}, "no list of labels for every value"),
        ({"nurse": ["health", "*"]}, "must begin with its own value"),
        ({"nurse": ["nurse", ["health"]]}, "no list of labels for every value"),
        ({"nurse": ["nurse", None]}, "no list of labels for every value"),
        ({"nurse": ["nurse", "*"], "cook": ["cook"]}, "2 different lengths"),
        (["nurse", "health"], "no Hierarchy"),
        (None, "no Hierarchy"),
    ],
)
def test_a_hierarchy_that_is_none_is_told_by_its_column(declared: Any, told: str) -> None:
    with pytest.raises(SchemaError, match=told) as refused:
        Schema(quasi=["job"], hierarchies={"job": declared})
    assert "'job'" in refused.value.message
    assert "nurse" not in refused.value.message
