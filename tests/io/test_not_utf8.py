"""Text files that are not UTF-8: told by their line, named in the release, refused where few lines are so."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import InputError, SchemaError
from hedgerow.io.csv_file import unlike_utf8
from hedgerow.io.read import read

SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["income"])
SECRET = "Köchin"


def people(path: Path, every: int, n: int = 3000, encoding: str = "cp1252") -> Path:
    """One record of so many has a word with an umlaut; the first of them in line `every` + 1."""
    rows = [f"{20 + i * 7 % 60},{SECRET if i % every == 0 else 'nurse'},{1000 + i * 37 % 900}" for i in range(1, n + 1)]
    path.write_bytes("\n".join(["age,job,income", *rows, ""]).encode(encoding))
    return path


def heard(work: object) -> list[str]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        work()  # type: ignore[operator]
    # a file that an earlier test left open is closed whenever Python collects it, and told of then
    return [str(each.message) for each in told if not issubclass(each.category, ResourceWarning)]


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_file_in_another_encoding_is_told_by_its_line_and_named_in_its_release(tmp_path: Path, engine: str) -> None:
    path, out = people(tmp_path / "people.csv", 5), tmp_path / "out"

    def work() -> None:
        release = hr.protect(path, SCHEMA, hr.MART(10), engine=engine)
        release.write(out)

    told = heard(work)
    lines = [text for text in told if "line 6" in text]
    assert len(lines) == 1  # it was said of the file, and again of its release
    assert lines[0].startswith("people.csv: line 6 is not UTF-8, so the file is read as cp1252")
    assert not any(SECRET in text for text in told)
    assert "text in cp1252, not in UTF-8" in (out / "RECIPIENT.md").read_text()
    figures = json.loads((out / "audit.json").read_text())
    assert any("written in cp1252" in text for text in figures["release"]["cautions"])
    released = (out / "release.csv").read_bytes()
    assert SECRET in released.decode("cp1252")
    # what was said beforehand is no surprise, and gives the same bytes
    schema = SCHEMA.replace(encoding="windows-1252")
    release = hr.protect(path, schema, hr.MART(10), engine=engine)
    assert (release.write(tmp_path / "again") / "release.csv").read_bytes() == released
    assert not any("line 6" in text for text in release.cautions)


def test_a_first_look_says_once_that_a_file_is_in_another_encoding(tmp_path: Path) -> None:
    path = people(tmp_path / "people.csv", 5)
    looks: list[str] = []
    told = heard(lambda: looks.append(str(hr.inspect(path))))
    assert len(told) == 1
    assert "line 6 is not UTF-8" in told[0]
    assert "cp1252" not in looks[0]
    assert "a release is written in cp1252" in " ".join(str(hr.inspect(path, encoding="cp1252")).split())


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_an_audit_says_once_that_its_files_are_in_another_encoding(tmp_path: Path, engine: str) -> None:
    """It said so of both, and that a release would be written so, which an audit does not make."""
    path, options = people(tmp_path / "people.csv", 5), {"attacks": False, "learning": False, "engine": engine}
    released = people(tmp_path / "released.csv", 5)
    told = [text for text in heard(lambda: hr.audit(path, released, SCHEMA, **options)) if "UTF-8" in text]
    assert len(told) == 1
    assert told[0].startswith("released.csv: line 6 is not UTF-8, so the file is read as cp1252; say what it is")
    # a released file that is UTF-8 says nothing of the original
    people(released, 5, encoding="utf-8")
    told = [text for text in heard(lambda: hr.audit(path, released, SCHEMA, **options)) if "UTF-8" in text]
    assert [text.split(":")[0] for text in told] == ["people.csv"]


@pytest.mark.parametrize(("n", "refused"), [(999, False), (1000, True)])
def test_fewer_than_one_line_in_a_thousand_is_refused(tmp_path: Path, n: int, refused: bool) -> None:
    path = people(tmp_path / "people.csv", 600, n)
    assert unlike_utf8(path) == (601, 1, n + 1)
    if not refused:
        assert heard(lambda: read(path))
        return
    with pytest.raises(InputError, match=r"UTF-8 but for 1 of its 1,001 lines, the first of them line 601") as told:
        read(path)
    assert SECRET not in str(told.value)
    assert "--encoding cp1252" in str(told.value)
    assert read(path, schema=hr.Schema(encoding="cp1252")).arrow["job"][599].as_py() == SECRET


COMMANDS = {
    "inspect": ["inspect", "{people}"],
    "protect": ["protect", "{people}", "--quasi", "age,job", "--sensitive", "income", "--no-report", "--out", "{out}"],
    "streamed": ["protect", "{people}", "--quasi", "age,job", "--sensitive", "income", "--no-report", "--engine",
                 "duckdb", "--out", "{out}"],
    "frontier": ["frontier", "{people}", "--quasi", "age,job", "--sensitive", "income", "-k", "10"],
    "score": ["score", "{people}", "{good}"],
    "audit": ["audit", "{people}", "{release}", "--no-attacks", "--no-learning"],
    "apply": ["apply", "{plan}", "{people}", "--out", "{out}.csv"],
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("made")
    good = people(folder / "good.csv", 1500, encoding="utf-8")
    release = hr.protect(good, SCHEMA, hr.MART(10)).write(folder / "release")
    return {"good": str(good), "release": str(release), "plan": str(release / "plan.json"),
            "people": str(people(folder / "people.csv", 1500))}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_command_refuses_and_takes_the_word_of_its_user(
    name: str, made: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = [word.format(out=tmp_path / "out", **made) for word in COMMANDS[name]]
    assert run(words) == 2
    told = capsys.readouterr().err
    assert "people.csv is UTF-8 but for 2 of its 3,001 lines, the first of them line 1,501" in " ".join(told.split())
    assert SECRET not in told
    assert not (tmp_path / "out").exists()
    assert run([*words, "--encoding", "cp1252"]) == 0, capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["cp1250", "iso8859-15", "mac-roman", "shift_jis"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_said_holds_for_the_release_its_audit_and_whoever_the_plan_is_applied_to(
    tmp_path: Path, encoding: str, engine: str
) -> None:
    word = {"cp1250": "Škoda", "iso8859-15": "œuvre €", "mac-roman": "Zoë", "shift_jis": "看護師"}[encoding]
    rows = [f"{20 + i * 7 % 60},{word if i % 3 else 'nurse'},{1000 + i * 37 % 900}" for i in range(600)]
    path = tmp_path / "people.csv"
    path.write_bytes("\n".join(["age,job,income", *rows, ""]).encode(encoding))
    release = hr.protect(path, SCHEMA.replace(encoding=encoding), hr.MART(5), engine=engine)
    folder = release.write(tmp_path / "out")
    assert word in (folder / "release.csv").read_text(encoding)
    assert release.plan.encoding == hr.Plan.load(folder / "plan.json").encoding != ""
    told = heard(lambda: hr.audit(path, folder, attacks=False, learning=False))
    assert not any("not UTF-8" in text for text in told)
    applied = release.plan.apply(path)
    assert word in "".join(applied["job"].to_pylist())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_is_said_does_not_hold_for_a_file_that_is_unicode(tmp_path: Path, encoding: str) -> None:
    """The plan of an old file may be applied to a new one, or a release audited that somebody converted."""
    path = people(tmp_path / "people.csv", 7, encoding=encoding)
    assert not heard(lambda: read(path, schema=hr.Schema(encoding="cp1252")))
    assert SECRET in read(path, schema=hr.Schema(encoding="cp1252")).arrow["job"].to_pylist()


def test_a_file_that_is_said_to_be_utf8_and_is_not_is_refused(tmp_path: Path) -> None:
    path = people(tmp_path / "people.csv", 5)
    with pytest.raises(InputError, match=r"not UTF-8 in line 6\n.* are not UTF-8, nor UTF-16 with a mark: save"):
        read(path, schema=hr.Schema(encoding="utf-8"))
    marked = tmp_path / "marked.csv"
    marked.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    with pytest.raises(InputError, match="not UTF-8 in line 6"):
        read(marked)


@pytest.mark.parametrize("name", ["nonsense", "rot13", "base64", 7])
def test_only_encodings_of_text_are_known(name: object) -> None:
    with pytest.raises(SchemaError, match="encoding is"):
        hr.Schema(quasi=["age"], encoding=name)  # type: ignore[arg-type]


def test_a_schema_and_a_proposal_remember_it(tmp_path: Path) -> None:
    schema = SCHEMA.replace(encoding="latin1", missing=["-"], decimal=",")
    assert hr.Schema.from_toml(schema.to_toml()) == schema
    path = people(tmp_path / "people.csv", 5)
    with pytest.warns(UserWarning, match="line 6"):
        seen = hr.inspect(path)
    assert not any("line 6" in text or "cp1252" in text for text in seen.warnings)
    assert seen.schema.encoding == "cp1252"
    assert hr.inspect(path, encoding="latin1").schema.encoding == "iso8859-1"


def test_parts_are_told_each(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    people(folder / "a.csv", 7, encoding="utf-8")
    people(folder / "b.csv", 9)
    told = heard(lambda: hr.protect(folder, SCHEMA, hr.MART(10)))
    assert any(text.startswith("b.csv: line 10 is not UTF-8") for text in told)


def test_a_release_with_few_such_lines_is_read_with_a_caution(tmp_path: Path) -> None:
    """It was decided what it is when it was made, and its folder need not be at hand."""
    path = people(tmp_path / "theirs.csv", 1500)
    assert heard(lambda: read(path, unescape_formulas=True))
