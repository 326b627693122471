"""What a newcomer meets on the command line: messages, progress, the demo."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import hedgerow as hr
from experiments import __main__ as experiments
from experiments import public_data
from hedgerow.cli import console as showing
from hedgerow.cli.app import app, run
from hedgerow.cli.console import set_quiet
from hedgerow.progress import compiling, listening, telling

ROLES = ["--quasi", "age,job", "--sensitive", "income", "--identifiers", "name"]


def people(n: int = 120) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "name": [f"Person {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "job": np.array(["nurse", "cook", "smith"])[rng.integers(0, 3, n)],
            "income": rng.lognormal(10, 1, n).round(2),
        }
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pacsv.write_csv(people(), "people.csv")
    return tmp_path


def refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    capsys.readouterr()
    assert run(words) == 2
    return capsys.readouterr().err


def test_weights_that_the_release_recodes_are_refused_by_that(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protect", "people.csv", *ROLES, "--method", "mart", "-k", "5", "--out", "out", "--no-report"]) == 0
    told = refused(["audit", "people.csv", "out", "--weights", "age"], capsys)
    assert "'age' is recoded in the release" in told


def test_trees_without_a_split_are_refused_by_that(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["protect", "people.csv", *ROLES, "--method", "tpp", "--response", "income"]
    told = refused([*words, "--trees", "tree n_splits=0", "--out", "out"], capsys)
    assert "n_splits=0 asks for trees without a split" in told
    told = refused([*words, "--trees", "forest n_trees=1000000", "--out", "out"], capsys)
    assert "n_trees must be a whole number between 1 and 10,000" in told


def test_a_forest_and_a_search_say_how_far_they_are() -> None:
    from hedgerow.methods.tpp import ForestSettings, TreeSettings

    told: list[tuple[str, float | None]] = []
    schema = hr.Schema(quasi=["age", "job"], sensitive=["income"])
    method = hr.TreePatternPreserving(
        k=2, response="income", trees=ForestSettings(4, bootstrap=False, tree=TreeSettings(n_splits=1, min_leaf=20))
    )
    with listening(telling(lambda step, share: told.append((step, share))), "fitting"):
        method.fit_table(hr.Session(people()).table, schema)
    assert {("fitting", tree / 4) for tree in range(4)} <= set(told)
    told.clear()
    masked = hr.PoROP(random_state=1)
    with listening(telling(lambda step, share: told.append((step, share))), "fitting"):
        masked.fit_table(hr.Session(people()).table, hr.Schema(quasi=["age", "income"]))
    shares = [share for _, share in told if share is not None]
    assert shares == sorted(shares)
    assert len(shares) > 10


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_told_with_what_to_do(here: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "hedgerow", "inspect", "people.csv"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "error: cannot write the output: No space left on device\n  " in done.stderr


def test_data_that_are_absent_are_fetched_by_an_option(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(here))
    assert experiments.main(["mart-table4"]) == 2
    assert "--download" in capsys.readouterr().err
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        raise hr.HedgerowError("no network here")

    monkeypatch.setattr(public_data, "_fetch", fetch)
    assert experiments.main(["mart-table4", "--download"]) == 2
    assert "no network here" in capsys.readouterr().err
    assert asked
    assert experiments.main(["mart-table4"]) == 2
    assert "--download" in capsys.readouterr().err


def test_the_list_says_what_each_experiment_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("mart-example ") and "14 people" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_names_of_columns_are_text_for_who_reads_the_release(here: Path) -> None:
    odd = people().rename_columns(["<i>name</i>", "<b>age</b>", "job|`x`", "income"])
    schema = hr.Schema(quasi=["<b>age</b>", "job|`x`"], sensitive=["income"], identifiers=["<i>name</i>"])
    hr.protect(odd, schema, hr.MART(k=5, max_disclosure=1.0)).write("out")
    told = Path("out/RECIPIENT.md").read_text()
    assert "| \\<b\\>age\\</b\\> |" in told
    assert "| job\\|\\`x\\` |" in told
    assert "Left out: \\<i\\>name\\</i\\>." in told


def test_the_demo_says_what_was_reached(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hedgerow.cli.start.PEOPLE", 600)
    for is_first in (False, True):  # only who has to wait is told why
        monkeypatch.setattr("hedgerow.backends.precompile.begin", lambda is_first=is_first: is_first)
        assert run(["demo"]) == 0
        out, err = capsys.readouterr()
        assert ("compiles the fast parts" in err) == is_first
    sentences, _, files = out.partition("\n\n")
    assert [s.split()[0] for s in sentences.replace("\n", " ").split(". ")] == [
        "Promises",
        "0.0%",
        "Promised:",
        "People",
        "Reached,",
        "Kept:",
        "In",
        "Kept:",
        "Not",
    ]
    assert max(map(len, sentences.splitlines())) <= 80
    assert not re.search(r"\d\.\d{4,}", out)
    made = {path.name for path in Path("demo/release").iterdir()}
    assert made == {"release.csv", "RECIPIENT.md", "plan.json", "audit.json", "report.html"}
    written = Path("demo/release/release.csv").read_bytes()
    lines = {line[:9].strip(): line[11:] for line in files.splitlines()}
    assert Path(unquote(urlsplit(lines["look"]).path)).exists()
    for name in ("made by", "attack it"):
        words = shlex.split(lines[name])
        assert Path(words[0]).name == "hedgerow" or shutil.which("hedgerow") is None
        assert run([*words[1:], *(["--people", "20", "--no-learning"] if name == "attack it" else [])]) == 0
    assert Path("demo/release/release.csv").read_bytes() == written
    assert run(["demo", "--json"]) == 0  # once more, over its own
    Path("other").mkdir()
    Path("other/people.csv").write_text("mine")
    assert "is not replaced" in refused(["demo", "--out", "other"], capsys)
    assert Path("other/people.csv").read_text() == "mine"


@pytest.mark.parametrize("failure", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_demo_that_fails_leaves_nothing(
    here: Path, monkeypatch: pytest.MonkeyPatch, failure: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(self: Any, *_: Any, **__: Any) -> None:
        assert Path("new/demo/people.csv").exists()
        Path("new/demo/steward.key").touch()
        raise failure

    monkeypatch.setattr("hedgerow.cli.start.PEOPLE", 600)
    monkeypatch.setattr("hedgerow.workflow.session.Session.write", fail)
    assert run(["demo", "--out", "new/demo"]) != 0
    assert not Path("new").exists()
    Path("new/demo").mkdir(parents=True)
    Path("new/demo/mine.txt").touch()
    assert run(["demo", "--out", "new/demo"]) != 0
    assert [path.name for path in Path("new/demo").iterdir()] == ["mine.txt"]


def test_standard_input_and_output_are_files_called_dash(here: Path) -> None:
    def hedgerow(*words: str, given: bytes) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run([sys.executable, "-m", "hedgerow", *words], input=given, capture_output=True)

    source = Path("people.csv").read_bytes()
    flags = [*ROLES, "--method", "mart", "-k", "5", "--max-disclosure", "1"]
    done = hedgerow("protect", "-", *flags, "--out", "-", given=source)
    assert done.returncode == 0
    assert b"RECIPIENT.md" in done.stderr
    assert run(["protect", "people.csv", *flags, "--out", "out", "--no-report"]) == 0
    assert done.stdout == Path("out/release.csv").read_bytes()
    done = hedgerow("apply", "out/plan.json", "-", "--out", "-", "--quiet", given=source)
    assert (done.returncode, done.stdout) == (0, Path("out/release.csv").read_bytes())
    assert b"recoded" not in done.stderr
    done = hedgerow("score", "-", "-", given=source)
    assert done.returncode == 2
    assert b"standard input is one table" in done.stderr
    assert b"hedgerow protect - " in hedgerow("inspect", "-", given=source).stdout
    assert {path.name for path in here.iterdir()} == {"people.csv", "out"}


def test_long_work_off_a_terminal_says_where_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showing, "FIRST", 0.0)
    monkeypatch.setattr(showing, "_TICK", 0.01)
    monkeypatch.setattr(showing, "_PATIENCE", 0.0)
    monkeypatch.setattr(showing._Lines, "announced", False)
    set_quiet()

    def told(until: str) -> str:
        text = ""
        for _ in range(500):
            text += capsys.readouterr().err
            if until in text:
                break
            time.sleep(0.01)
        return text

    with showing.working("protecting") as tell:
        tell("fitting", 0.5)
        assert re.search(r"^protecting: fitting, 0 s so far, about \d+ s left$", told("left"), re.M)
        compiling()
        assert showing.COMPILING in told("compiling")
    set_quiet(quiet=True)
    with showing.working("protecting") as tell:
        tell("fitting", 0.5)
        compiling()
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
    set_quiet()


def test_a_kernel_that_is_not_at_hand_is_told(tmp_path: Path) -> None:
    code = (
        "import numpy as np\n"
        "from hedgerow.progress import compiling_noticed\n"
        "from hedgerow.kernels.compiled import kernel\n"
        "heard = []\n"
        "with compiling_noticed(lambda: heard.append(1)):\n"
        "    from hedgerow.kernels.masking_loops import normalise_blocks as f\n"
        "    f(np.arange(4.0), np.zeros(2), np.ones(2), 2)\n"
        "print(len(heard))\n"
    )
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    counts = [
        int(subprocess.run([sys.executable, "-c", code], env=env, stdout=-1, check=True).stdout) for _ in range(2)
    ]
    assert counts[0] > 0
    assert counts[1] == 0


@pytest.mark.parametrize("name", [c.name for c in app.registered_commands])
def test_help_fits_a_terminal_and_has_headings(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "--quiet" in text
    if name in ("protect", "frontier", "audit"):
        assert "\nColumns:\n" in text
    if name == "protect":
        assert "\nMethod rr:\n" in text
    assert run([name, "--bogus"]) == 2
    assert f"  see: hedgerow {name} --help" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["protect", "frontier"])
def test_masking_has_a_help_page_of_its_own_and_another_shows_every_option(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pages = {}
    for page in ("--help", "--help-masking", "--help-all"):
        assert run([name, page]) == 0
        pages[page] = capsys.readouterr().out
        assert max(map(len, pages[page].splitlines())) <= 80
    first, masking, everything = pages.values()
    for option in ("--block-size", "--degree", "--noise", "--correlated", "--invariant"):
        assert f"  {option} " not in first
        assert f"  {option} " in masking
        assert f"  {option} " in everything
    assert "hedgerow score" in " ".join(masking.split())
    assert "--help-masking" in first
    assert "--quasi" in first
    assert "--quasi" in everything
    assert "--quasi" not in masking
    options = [line.split()[0] for line in first.splitlines() if line.startswith("  -")]
    assert all(option in everything for option in options)


def test_the_first_page_leaves_out_methods_that_few_people_need(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    assert "\n  score " not in capsys.readouterr().out
    assert run(["protect", "--help"]) == 0
    first = capsys.readouterr().out
    assert "porop" not in first
    assert run(["protect", "people.csv", "--method", "nothing"]) == 2
    assert run(["score", "--help"]) == 0


@pytest.mark.parametrize(
    ("name", "usage", "words"),
    [
        ("apply", "[OPTIONS] PLAN FILE", "PLAN The plan.json of a release. [required]"),
        ("protect", "[OPTIONS] [FILE]", "FILE CSV, Parquet, Arrow/Feather, SPSS"),
        ("score", "[OPTIONS] ORIGINAL MASKED", "or the folder of a release. [required]"),
        ("studio", "[OPTIONS] [FILE]", "FILE A table to begin with"),
    ],
)
def test_help_has_the_same_arguments_with_every_typer_and_click(
    name: str, usage: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their versions write braces, backslashes or nothing, and tell of variables called None."""
    assert run([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"Usage: hedgerow {name} {usage}\n")
    assert words in " ".join(text.split())
    assert run(["protect", "people.csv", "-k", "few"]) == 2
    told = "error: Invalid value for '-k' / '--k': 'few' is not a whole number."
    assert capsys.readouterr().err.startswith(told)


def test_the_list_of_commands_cuts_no_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    assert "..." not in text.partition("Commands:")[2]
    assert "--install-completion" in text


def test_a_shell_completes_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"_HEDGEROW_COMPLETE": "complete_bash", "COMP_WORDS": "hedgerow prot", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-m", "hedgerow"], env={**os.environ, **told}, stdout=-1, text=True)
    assert done.stdout.split() == ["protect"]


def test_what_inspect_prints_works_when_pasted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Kinds shown are kinds used: by a schema file where flags do not say everything, such as a comma in a name."""
    rows = [
        f"{i % 60},{i % 28 + 1}/{i % 12 + 1}/19{50 + i % 50},{i % 2},{1067 + i % 3},"
        f"{1000 + 37 * i},{'abc'[i % 3]},{'long ' * 1200 if i == 3 else 'short'}"
        for i in range(240)
    ]
    head = 'patient_id,Geburtstag,Geschlecht,PLZ,"Gehalt, brutto",Diagnose,Bemerkung'
    Path("spital.csv").write_text("\n".join([head, *rows]) + "\n")
    Path("spital.schema.toml").write_text("mine")
    assert run(["inspect", "spital.csv"]) == 0
    told, noted = capsys.readouterr()
    assert "spital.schema.toml is not this proposal" in noted
    assert "6,000 characters" in told
    assert "patient_id repeats" in told
    assert Path("spital.schema.toml").read_text() == "mine"
    assert "written    spital.schema-2.toml" in told
    schema = hr.Schema.from_toml(Path("spital.schema-2.toml"))
    assert schema.kinds["Geburtstag"] == "date"
    assert {"Gehalt, brutto", "Diagnose"} <= set(schema.sensitive)
    assert schema.unit == "patient_id"
    assert "Bemerkung" in schema.identifiers
    line = told.splitlines()[-1].strip()
    assert run([*shlex.split(line)[1:], "--no-report"]) == 0
    cells = pacsv.read_csv("release/release.csv").column("Geburtstag").to_pylist()
    assert all(re.fullmatch(r"\d{1,2}/\d{1,2}/19\d\d", cell) for cell in cells)  # days, as the file writes its own
    # a proposal that is there already is not written again
    assert run(["inspect", "spital.csv"]) == 0
    told = capsys.readouterr().out
    assert "unchanged  spital.schema-2.toml" in told
    # nor is the first release in the way of the command
    line = told.splitlines()[-1].strip()
    assert run([*shlex.split(line)[1:], "--no-report"]) == 0
    assert Path("release-2/release.csv").exists()
    assert not Path("spital.schema-3.toml").exists()
    assert run(["inspect", "spital.csv", "--schema-out", "mine.toml"]) == 0
    assert "--schema mine.toml" in capsys.readouterr().out
    assert hr.Schema.from_toml(Path("mine.toml")) == schema


@pytest.mark.parametrize(("encoding", "bars"), [("ascii", "_#"), ("cp1252", "_#"), ("utf-8", "▁█")])
def test_the_picture_of_a_column_is_drawn_with_the_signs_there_are(here: Path, encoding: str, bars: str) -> None:
    Path("two.csv").write_text("sex\n" + "man\n" * 40 + "woman\n" * 2)
    words = [sys.executable, "-m", "hedgerow", "inspect", "two.csv"]
    done = subprocess.run(words, env={**os.environ, "PYTHONIOENCODING": encoding}, stdout=-1, check=True)
    row = next(line for line in done.stdout.decode(encoding).splitlines() if line.startswith("sex"))
    assert f"  {bars[::-1]}  " in row


def test_prose_is_warned_of_before_work_starts(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = people().append_column("notes", pa.array(["x" * 6000] * 60 + ["y" * 300] * 60))
    pacsv.write_csv(table, "people.csv")

    def stop(*words: object, **given: object) -> None:
        raise hr.HedgerowError("work began")

    monkeypatch.setattr("hedgerow.workflow.session.Session.protect", stop)
    words = ["protect", "people.csv", "--quasi", "age,notes", "--sensitive", "income"]
    told = refused([*words, "--identifiers", "name", "--out", "out"], capsys)
    assert told.index("notes holds text of up to 6,000 characters") < told.index("work began")


def test_a_file_that_is_not_there_is_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age\n1\n2\n")
    assert run(["inspect", "poeple.csv"]) == 2
    assert "there is no file poeple.csv (did you mean 'people.csv'?)" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to_is_told_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,pay\n" + "".join(f"{i},{i % 7}\n" for i in range(40)))
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real(path, mode))
    asked = ["protect", "people.csv", "--quasi", "age", "--sensitive", "pay"]
    assert run([*asked, "--out", "release"]) == 2
    said = capsys.readouterr().err
    assert "cannot be written to" in said
    assert "reading" not in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("-k", "abc"), "'abc' is not a whole number"),
        (("-k", "2.5"), "'2.5' is not a whole number"),
        (("--max-disclosure", "0,5"), "'0,5' is not a number, such as 0.5"),
    ],
)
def test_what_is_no_number_is_named_in_plain_words(words, told, capsys):
    assert run(["protect", "people.csv", *words]) == 2
    assert told in " ".join(capsys.readouterr().err.split())


def test_the_files_that_score_takes_are_told(capsys):
    assert run(["score", "--help"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "The table before masking" in said
    assert "The masked file, or the folder of a release" in said


def test_one_column_is_scored_as_one(tmp_path, capsys):
    one = pa.table({"pay": [float(7 * n % 101) for n in range(50)]})
    pacsv.write_csv(one, tmp_path / "pay.csv")
    assert run(["score", str(tmp_path / "pay.csv"), str(tmp_path / "pay.csv")]) == 0
    said = capsys.readouterr().out
    assert "1 numeric column compared" in said
    assert "records linked, 1 column known" in said


def test_inspect_draws_the_columns_on_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age,job\n" + "".join(f"{20 + i % 9},{'xxy'[i % 3]}\n" for i in range(90)))
    assert run(["inspect", "people.csv", "--html", "look.html"]) == 0
    page = Path("look.html").read_text()
    assert "█" in page.split("<td>job</td>")[1]
    # a page of ours is drawn anew, a file of somebody's stays
    assert run(["inspect", "people.csv", "--html", "look.html"]) == 0
    assert run(["inspect", "people.csv", "--html", "people.csv"]) == 2
    assert Path("people.csv").read_text().startswith("age,job")


def test_inspect_replaces_a_schema_only_when_asked_to(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["inspect", "people.csv", "--save", "schema.toml"]
    assert run(words) == 0
    proposed = Path("schema.toml").read_text()
    Path("schema.toml").write_text("# corrected")
    assert "choose another name, or replace it with --force" in " ".join(refused(words, capsys).split())
    assert Path("schema.toml").read_text() == "# corrected"
    assert run([*words, "--force"]) == 0
    assert Path("schema.toml").read_text() == proposed
    assert "is an input" in refused(["inspect", "people.csv", "--save", "people.csv", "--force"], capsys)
    assert "name one place" in refused(["inspect", "people.csv", "--save", "new.toml", "--html", "new.toml"], capsys)


@pytest.mark.parametrize("source", ["parts", "parts/*.csv"])
def test_inspect_replaces_no_part_of_its_table(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    people = Path("people.csv")
    people.write_text("age,job\n" + "".join(f"{20 + i % 9},{'xxy'[i % 3]}\n" for i in range(90)))
    Path("parts").mkdir()
    for name in ("a", "b"):
        shutil.copy(people, Path("parts", f"{name}.csv"))
    assert "is an input" in refused(["inspect", source, "--save", "parts/a.csv", "--force"], capsys)
    for _ in range(2):  # what is no part of the table may lie beside its parts, and be written anew
        assert run(["inspect", source, "--save", "parts/schema.toml", "--force"]) == 0
    assert Path("parts", "a.csv").read_text().startswith("age,job")


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_of_columns_is_cut_at_no_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    browsers = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no chromium (Debian: chromium)")
    monkeypatch.chdir(tmp_path)
    pacsv.write_csv(hr.datasets.make_people(200, seed=1), "people.csv")
    assert run(["inspect", "people.csv", "--html", "look.html"]) == 0
    with browsers.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto(Path("look.html").resolve().as_uri())
        box, inside = page.evaluate(
            "[...document.querySelectorAll('.hedgerow')].flatMap(e => [e.clientWidth, e.scrollWidth])"
        )
        browser.close()
    assert inside <= box <= width
