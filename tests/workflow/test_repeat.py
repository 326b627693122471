"""What was chosen is repeated to the byte by the printed command and by the printed Python."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import UnsupportedError
from hedgerow.files import write_private
from hedgerow.key import Key
from hedgerow.methods.tpp import ForestSettings, TreeSettings
from hedgerow.workflow.methods import METHODS, make, name_of, options_of, words
from hedgerow.workflow.script import command_line

from .conftest import CHOSEN, ROLES, WORDS, chosen


def test_no_method_is_left_out() -> None:
    assert CHOSEN.keys() == METHODS.keys()


def made(session: hr.Session, out: str = "release") -> dict[str, bytes]:
    """A release with its report, as the bytes of its files."""
    session.protect()
    session.measure()
    session.write(out)
    return contents(Path(out))


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [name for name in METHODS if name != "private-tree"])  # noise is never the same
def test_the_command_makes_the_same_files_and_the_code_the_same_release(
    name: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = hr.Session("people.csv")
    roles, method = chosen(name)
    session.choose(roles, method, **({"key": "secret.key"} if method.usual_guard else {}))
    files = made(session)
    assert "report.html" in files
    fresh = here / "fresh"
    fresh.mkdir()
    for file in ("people.csv", "secret.key"):
        if Path(file).exists():
            shutil.copy(file, fresh / file)
    monkeypatch.chdir(fresh)
    command = shlex.split(session.command_line())
    assert command[0] == "hedgerow"
    assert run(command[1:]) == 0
    assert contents(Path("release")) == files
    names: dict[str, object] = {}
    exec(session.python().replace("release/", "again/"), names)
    assert contents(Path("again")) == files


@pytest.mark.parametrize("name", METHODS)
def test_options_and_methods_are_two_forms_of_one_thing(name: str) -> None:
    _, method = chosen(name)
    again = make(name, options_of(method))
    again.set_params(**{"key": method.key} if hasattr(method, "key") else {})
    assert repr(again) == repr(method)
    assert ("epsilon" in options_of(method)) == hasattr(method, "epsilon")  # what is promised is always said
    assert name_of(method) == words(method)[0] == name


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_flags_cannot_say_stands_in_a_schema_file(here: Path) -> None:
    names = {"age": "age, in years", "job": " job", "education": "-level"}
    frame = pd.read_csv("people.csv").rename(columns=names)
    frame.to_csv("my people.csv", index=False)
    roles = hr.Schema(
        quasi=list(names.values()),
        sensitive=["income"],
        identifiers=["person_id"],
        other=["postcode"],
        kinds={"age, in years": "categorical"},
        categories={"-level": sorted(frame["-level"].dropna().unique(), reverse=True)},
        hierarchies={" job": hr.Hierarchy({str(j): (str(j), "*") for j in frame[" job"].dropna().unique()})},
    )
    session = hr.Session("my people.csv")
    session.choose(roles, hr.Datafly(k=5, suppression=0.3))
    files = made(session)
    fresh = here / "fresh"
    fresh.mkdir()
    shutil.copy("my people.csv", fresh)
    # a shell of its own: the lines after the command are the schema, and a corrected file stays
    (fresh / "my people.schema.toml").write_text("corrected")
    script = session.command_line().replace("hedgerow", f"{sys.executable} -m hedgerow", 1)
    subprocess.run(["sh", "-c", script], cwd=fresh, check=True, capture_output=True)
    assert contents(fresh / "release") == files
    assert (fresh / "my people.schema.toml").read_text() == "corrected"
    assert sorted(path.name for path in fresh.iterdir()) == ["my people.csv", "my people.schema.toml", "release"]
    # where the table comes by standard input, the schema comes by another stream
    piped = command_line(replace(session._request(), path=Path("-"), out="piped/"))
    script = piped.replace("hedgerow", f"{sys.executable} -m hedgerow", 1)
    with open("my people.csv", "rb") as table:
        subprocess.run(["sh", "-c", script], cwd=fresh, check=True, capture_output=True, stdin=table)
    assert contents(fresh / "piped").keys() == files.keys()
    names_of: dict[str, object] = {}
    exec(session.python().replace("release/", "again/"), names_of)
    assert contents(Path("again")) == files
    assert "--schema mine.toml" in session.command_line(schema_file="mine.toml")


def test_numbers_of_numpy_are_said_as_numbers(here: Path) -> None:
    method = hr.MART(k=5, max_disclosure=np.float64(0.9))
    assert words(method) == ["mart", "-k", "5", "--max-disclosure", "0.9"]
    session = hr.Session("people.csv")
    session.choose(hr.Schema(quasi=["age"], sensitive=["income"]), method)
    assert "max_disclosure=0.9)" in session.python()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("unit", ["person_id", None, "none"])
def test_who_is_a_person_is_repeated(unit: str | None, here: Path) -> None:
    frame = pd.read_csv("people.csv").rename(columns={"person_id": unit or "person_id"})
    frame.iloc[::2].reset_index(drop=True).pipe(lambda half: pd.concat([half, half])).to_csv("people.csv", index=False)
    schema = hr.Schema(quasi=["age"], sensitive=["income"], identifiers=["postcode"], unit=unit)
    session = hr.Session("people.csv")
    session.choose(schema, hr.MART(k=10))
    files = made(session)
    shutil.rmtree("release")
    line = session.command_line()
    # a column of that name can only stand in a schema file
    assert ("--schema" if unit == "none" else f"--unit {unit or 'none'} ") in line
    if unit == "none":
        Path("people.schema.toml").write_text(schema.to_toml())
        line = line.partition(" <<")[0].replace("/dev/stdin", "people.schema.toml")
    assert run(shlex.split(line)[1:]) == 0
    assert contents(Path("release")) == files
    shutil.rmtree("release")
    exec(session.python(), {})
    assert contents(Path("release")) == files
    assert run([*shlex.split(line)[1:], "--unit", "nobody", "--force"]) == 2


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_pseudonyms_attacks_and_escapes_are_repeated(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_private("k.bin", "a secret of 32 bytes, and no more")
    session = hr.Session("people.csv")
    session.choose(ROLES, hr.Mondrian(k=20), pseudonym_key="k.bin")
    session.protect()
    session.measure(learning=True)
    session.write("out", escape=False)
    line = session.command_line()
    for words_ in ("--pseudonyms --key-file k.bin", "--learning", "--no-escape", "--out out/"):
        assert words_ in line
    files = contents(Path("out"))
    shutil.rmtree("out")
    assert run(shlex.split(line)[1:]) == 0
    assert contents(Path("out")) == files
    shutil.rmtree("out")
    exec(session.python(), {})
    assert contents(Path("out")) == files


def test_a_table_in_hand_is_called_people(here: Path) -> None:
    frame = pd.read_csv("people.csv")
    session = hr.Session(frame)
    session.choose(ROLES, hr.MART(k=10))
    release = session.protect()
    with pytest.raises(UnsupportedError, match="is an object in memory"):
        session.command_line()
    names: dict[str, object] = {"people": frame}
    exec(session.python(), names)
    again = names["release"]
    pd.testing.assert_frame_equal(again.table, release.table)  # type: ignore[attr-defined]
    assert again.plan == release.plan  # type: ignore[attr-defined]


def test_settings_are_spelled_out_as_code(here: Path) -> None:
    forest = ForestSettings(2, seed=3, tree=TreeSettings("gini", n_splits=1))
    session = hr.Session("people.csv")
    session.choose(
        WORDS,
        hr.TreePatternPreserving([forest], k=4, response="region"),
        keep_order=True,  # for bootstrap rows are counted by position
    )
    release = session.protect()
    names: dict[str, object] = {}
    exec(session.python(), names)
    assert names["release"].plan == release.plan  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedError, match="cannot say trees"):
        session.command_line()


@pytest.mark.parametrize(
    ("method", "words_", "code"),
    [
        (hr.PRAM(matrix=np.eye(3)), "cannot say matrix", "matrix=[[1.0"),
        (hr.RandomizedResponse(bins={"age": 3}), "cannot say bins", "bins={'age': 3}"),
        (hr.RandomizedResponse(caps={"a,b": 0.2}), "cannot say caps", "caps={'a,b': 0.2}"),
        (hr.LocalSuppression(importance={"job": 2.0}), "cannot say importance", "importance="),
        (hr.RandomizedResponse(key=Key.new()), "not a file", None),
    ],
)
def test_what_cannot_be_said_is_refused_by_name(method, words_, code, here: Path) -> None:
    session = hr.Session("people.csv")
    session.choose(WORDS, method)
    with pytest.raises(UnsupportedError, match=words_):
        session.command_line()
    if code is None:
        with pytest.raises(UnsupportedError, match="Key cannot be spelled out"):
            session.python()
    else:
        assert code in session.python()


def test_draws_that_nobody_fixed_are_said_to_be_anew(here: Path) -> None:
    session = hr.Session("people.csv")
    session.choose(WORDS, hr.RandomizedResponse())
    assert session.command_line().startswith("# every run draws anew")
    assert session.python().startswith("# every run draws anew")
    session.choose(WORDS, hr.RandomizedResponse(key="k"))
    assert "anew" not in session.command_line() + session.python()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session.choose(ROLES, hr.MART())
    assert "anew" not in session.command_line()


def test_what_only_an_audit_can_measure_is_no_flag(here: Path) -> None:
    session = hr.Session("people.csv")
    session.choose(ROLES, hr.MART(k=20))
    session.protect()
    session.measure(people=50)
    with pytest.raises(UnsupportedError, match="cannot measure with people"):
        session.command_line()
    assert "people=50" in session.python()
