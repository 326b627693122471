from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
import typer.main

import hedgerow
from hedgerow import __version__
from hedgerow.cli.app import app, run
from hedgerow.workflow.options import split

SECRET = "Zweifelhaft"
FLAGS = ["--quasi", "age,job", "--sensitive", "income", "--identifiers", "name", "-k", "5"]
FLAGS += ["--other", "town"]


def people(n: int = 300) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "name": [f"{SECRET} {i}" for i in range(n)],
            "age": rng.integers(18, 90, n),
            "job": np.array(["nurse", "cook", "smith"])[rng.integers(0, 3, n)],
            "income": rng.lognormal(10, 1, n).round(2),
            "town": np.array(["a", "b"])[rng.integers(0, 2, n)],
        }
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    pacsv.write_csv(people(), "people.csv")
    return tmp_path


def left(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()} - {"people.csv"}


def test_a_row_index_without_a_name_is_told_once_and_left_out(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people().to_pandas().to_csv("people.csv")
    words = ["protect", "people.csv", *FLAGS, "--method", "mart", "--max-disclosure", "1"]
    assert run([*words, "--out", "release/"]) == 0
    told = capsys.readouterr().err
    assert told.count("warning: people.csv: the first columns are without a name") == 1
    header = (here / "release" / "release.csv").read_text().splitlines()[0]
    assert header.split(",") == ["age", "job", "income", "town"]
    options = ["--no-attacks", "--no-learning"]
    assert run(["audit", "people.csv", "release/", *options]) == 0
    assert "warning: people.csv: the first columns are without a name" in capsys.readouterr().err


def test_a_first_release_from_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["protect", "people.csv", *FLAGS, "--method", "mart", "--max-disclosure", "1"]
    assert run([*words, "--out", "release/"]) == 0
    out, err = capsys.readouterr()
    assert {f.name for f in (here / "release").iterdir()} == {
        "release.csv",
        "plan.json",
        "audit.json",
        "RECIPIENT.md",
        "report.html",
    }
    for words in (
        "300 records in",
        "release/release.csv",
        "release/plan.json",
        "release/audit.json",
        'Released unchanged as "other": town.',
    ):
        assert words in out
    assert SECRET not in out + err
    loud, said = err.splitlines()
    assert "age ranges end on a value that fewer than 5 records have" in said
    assert "no cap was promised" in loud
    assert out.startswith("Share with care, because ")
    assert "\n- also: " in out


def test_json_and_apply(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["protect", "people.csv", *FLAGS, "--method", "mart", "--out", "release", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["groups"]["smallest"] >= 5
    assert Path(told["files"]["release"]).exists()
    assert run(["apply", "release/plan.json", "people.csv", "--out", "again.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": "again.csv", "rows": 300, "outside": 0, "dropped": ["name"]}
    assert Path("again.csv").read_text() == Path("release/release.csv").read_text()
    assert run(["apply", "release/plan.json", "people.csv", "--out", "again.csv"]) == 2
    assert "again.csv exists already" in capsys.readouterr().err


def test_inspect_proposes_a_command(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", "people.csv"]) == 0
    out = capsys.readouterr().out
    assert "300 records, 5 columns" in out
    assert "hedgerow protect people.csv --quasi age,job,town --sensitive income" in out
    assert SECRET not in out
    assert run(["inspect", "people.csv", "--save", "schema.toml"]) == 0
    assert "hedgerow protect people.csv --schema schema.toml" in capsys.readouterr().out
    assert run(["inspect", "people.csv", "--save", "schema.toml"]) == 2
    assert "schema.toml exists already" in capsys.readouterr().err
    assert run(["inspect", "people.csv", "--json"]) == 0
    told = {c["column"]: c for c in json.loads(capsys.readouterr().out)["columns"]}
    assert told["name"]["role"] == "identifier"
    assert told["income"]["kind"] == "numeric"
    assert run(["protect", "people.csv", "--schema", "schema.toml", "-k", "5", "--out", "release"]) == 0


def test_a_config_holds_every_option_and_the_command_line_wins(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("release.toml").write_text("""
        file = "people.csv"
        quasi = ["age", "job"]
        sensitive = "income"
        identifiers = ["name"]
        method = "mart"
        k = 7
        max-disclosure = 1
        out = "from_config"
        [categories]
        job = ["smith", "nurse", "cook"]
        [events]
        income = ["> 3000"]
    """)
    assert run(["protect", "--config", "release.toml"]) == 0
    plan = json.loads(Path("from_config/plan.json").read_text())
    assert plan["parameters"]["k"] == 7
    assert [column["events"] for column in plan["columns"] if column.get("events")] == [["> 3000"]]
    assert run(["protect", "--config", "release.toml", "-k", "9", "--out", "given"]) == 0
    assert json.loads(Path("given/plan.json").read_text())["parameters"]["k"] == 9
    capsys.readouterr()
    Path("release.toml").write_text('quasy = "age"\nk = "ten"\n')
    assert run(["protect", "--config", "release.toml"]) == 2
    err = capsys.readouterr().err
    assert "'quasy' (did you mean 'quasi'?)" in err
    assert "'k' must be a whole number\n  the keys are " in err
    Path("release.toml").write_text('k = "ten"\n')  # the key is right
    assert run(["protect", "--config", "release.toml"]) == 2
    assert "the keys are" not in capsys.readouterr().err


def test_a_list_of_a_config_holds_names_as_they_are(here: Path) -> None:
    pacsv.write_csv(people().rename_columns(["name", "a,b", '"job"', "income", "t"]), "people.csv")
    Path("release.toml").write_text("""
        quasi = ["a,b", '"job"']
        sensitive = "income"
        k = 7
        report = false
        out = "release"
    """)
    assert run(["protect", "people.csv", "--config", "release.toml"]) == 0
    roles = json.loads(Path("release/plan.json").read_text())["columns"]
    assert {c["name"] for c in roles if c["role"] == "quasi"} == {"a,b", '"job"'}


def test_names_with_commas_and_repeated_options() -> None:
    assert split(["age,job", "town"]) == ["age", "job", "town"]
    assert split(['"income, yearly",age']) == ["income, yearly", "age"]
    assert split("a, b") == ["a", "b"]


def test_undeclared_columns_are_left_out_and_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["protect", "people.csv", "--quasi", "age", "--sensitive", "income", "--method", "mart"]
    assert run([*words, "-k", "5", "--out", "r"]) == 0
    assert "you did not name them: name, job, town" in capsys.readouterr().err
    assert Path("r/release.csv").read_text().startswith("age,income\n")
    assert "Left out: name, job, town." in Path("r/RECIPIENT.md").read_text()
    assert run(["apply", "r/plan.json", "people.csv", "--out", "again.csv", "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["dropped"] == ["name", "job", "town"]
    assert "does not release: name, job, town" in told.err
    assert run([*words, "--rest", "release", "--out", "all"]) == 2
    assert "look like identifiers: 'name'" in capsys.readouterr().err
    assert not Path("all").exists()
    assert run([*words, "--rest", "release", "--identifiers", "name", "--out", "all"]) == 0
    assert Path("all/release.csv").read_text().startswith("age,job,income,town\n")
    assert run([*words, "--rest", "keep", "--out", "r2"]) == 2
    assert "rest is 'keep'\n  columns that you do not name are left out with rest=drop" in capsys.readouterr().err


def csv(text: str, name: str = "bad.csv") -> Any:
    return lambda: Path(name).write_text(text)


def column(name: str, values: Any) -> Any:
    def make() -> None:
        table = people()
        pq.write_table(table.set_column(table.column_names.index(name), name, pa.array(values)), "bad.parquet")

    return make


INF = [float("inf")] + [float(i) for i in range(299)]
BAD: dict[str, tuple[Any, list[str], str]] = {
    "no such file": (None, ["none.csv"], "there is no file none.csv"),
    "empty file": (csv(""), ["bad.csv"], "empty"),
    "header only": (csv("name,age,job,income\n"), ["bad.csv"], "no rows"),
    "no rows": (lambda: pq.write_table(people().slice(0, 0), "bad.parquet"), ["bad.parquet"], "no rows"),
    "doubled names": (csv("age,age,job,income\n1,2,a,3\n4,5,b,6\n"), ["bad.csv"], "more than once: 'age'"),
    "ragged": (csv("name,age,job,income\na,1,b,2\na,1\n"), ["bad.csv"], "ragged"),
    "encoding": (lambda: Path("bad.csv").write_bytes(b"name,age\n\x81\x8d\xff\xfe\x00,1\n"), ["bad.csv"], "encoding"),
    "unknown column": (None, ["people.csv", "--quasi", "agee"], "did you mean 'age'"),
    "doubled column": (None, ["people.csv", "--quasi", "age", "--quasi", "age"], "twice in quasi"),
    "two roles": (None, ["people.csv", "--other", "age"], "'age' is"),
    "constant sensitive": (column("income", [1.0] * 300), ["bad.parquet"], "constant"),
    "all missing sensitive": (column("income", pa.nulls(300, pa.float64())), ["bad.parquet"], "missing"),
    "not numeric": (None, ["people.csv", "--schema", "numeric.toml"], "'town' is declared numeric"),
    "infinite sensitive": (column("income", INF), ["bad.parquet"], "infinit"),
    "infinite quasi": (column("age", INF), ["bad.parquet"], "infinit"),
    "k of 1": (None, ["people.csv", "-k", "1"], "k must be"),
    "k too large": (None, ["people.csv", "-k", "301"], "k is 301"),
    "disclosure of 0": (None, ["people.csv", "--max-disclosure", "0"], "max_disclosure"),
    "disclosure above 1": (None, ["people.csv", "--max-disclosure", "1.5"], "a number from above 0 to 1, not 1.5"),
    "disclosure of many digits": (None, ["people.csv", "--max-disclosure", "9" * 400], "max_disclosure"),
    "alpha of 1": (None, ["people.csv", "--alpha", "1"], "alpha"),
    "numeric style": (None, ["people.csv", "--numeric", "sum"], "numeric"),
    "method": (None, ["people.csv", "--method", "marts"], "did you mean 'mart'"),
    "foreign option": (
        None,
        ["people.csv", "--objective", "loss"],
        "--objective\n  methods with --objective: mondrian",
    ),
    "unwritable": (None, ["people.csv", "--out", "no/such/place"], "there is no folder no/such"),
    "out is a file": (None, ["people.csv", "--out", "people.csv"], "is not a folder"),
    "hierarchy": (None, ["people.csv", "--hierarchy", "job"], "COLUMN=FILE.csv"),
    "foreign hierarchy": (
        csv("baker;food;*\nbrewer;food;*\n", "jobs.csv"),
        ["people.csv", "--hierarchy", "job=jobs.csv"],
        "lacks 3 of its 3 values",
    ),
    "no point": (None, ["people.csv", "--grid", "age="], "--grid reads COLUMN=FIRST:LAST:STEP"),
    "half of the bounds": (None, ["people.csv", "--bounds", "income=0:"], "bounds of column 'income'"),
    "no bounds": (None, ["people.csv", "--bounds", "0:5"], "--bounds reads COLUMN=LEAST:GREATEST"),
    "no leader": (None, ["people.csv", "--follows", "income"], "--follows reads COLUMN=LEADER"),
    "no record to attack": (None, ["people.csv", "--attacks", "--sample", "0"], "sample must be a whole number of at"),
    "two sources": (None, ["people.csv", "--file", "other.csv"], "FILE and --file both name this table"),
    "an option twice": (None, ["people.csv", "--max-disclosure", "1", "--max-disclosure", "1"], "is given twice"),
    "yes and no": (None, ["people.csv", "--attacks", "--no-attacks"], "--attacks is given twice"),
    "no value": (None, ["people.csv", "-k"], "see: hedgerow protect --help"),
    "a category as weight": (None, ["people.csv", "--weight", "town"], "the weight 'town' must be a number in every"),
    "a sheet of a text file": (None, ["people.csv", "--sheet", "1"], "and people.csv has no sheets"),
    "a profile of a name": (csv('name = "x"\n', "x.toml"), ["people.csv", "--profile", "x.toml"], "it lacks title"),
    "a date of words": (None, ["people.csv", "--date", "yesterday"], "such as 2026-01-31, not text of another form"),
    "nothing to limit": (
        None,
        ["people.csv", "--schema", "bare.toml", "--max-disclosure", "0.3"],
        "nothing that max_disclosure or another",
    ),
    "sensitive weight": (None, ["people.csv", "--weight", "income"], "the weight 'income' is sensitive as well"),
    "no key": (None, ["people.csv", "--pseudonyms"], "--key-file"),
    "unknown option": (None, ["people.csv", "--aplha", "1"], "--aplha"),
    "word for a number": (None, ["people.csv", "-k", "ten"], "-k"),
    "no config": (None, ["people.csv", "--config", "none.toml"], "cannot read the config"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_clearly_and_writes_nothing(
    case: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, arguments, words = BAD[case]
    Path("numeric.toml").write_text('sensitive = ["town"]\nquasi = ["age"]\n[kinds]\ntown = "numeric"\n')
    Path("bare.toml").write_text('quasi = ["age"]\nrest = "drop"\n')
    if make is not None:
        make()
    before = left(here)
    flags = [] if "--schema" in arguments else FLAGS[:-4] + FLAGS[-2:] if "-k" in arguments else FLAGS
    out = [] if "--out" in arguments else ["--out", "release"]
    assert run(["protect", *flags, *out, *arguments]) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert told.err.startswith("error: ")
    assert "Traceback" not in told.err
    assert "unexpected" not in told.err
    assert SECRET not in told.err + told.out
    assert left(here) == before


def test_a_broken_promise_exits_with_1(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hedgerow.backends import memory as module

    real = module.write_table
    monkeypatch.setattr(module, "write_table", lambda table, *a, **k: real(table.slice(1), *a, **k))
    assert run(["protect", "people.csv", *FLAGS, "--out", "release"]) == 1
    assert "does not keep" in capsys.readouterr().err
    assert left(here) == set()


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted; nothing was written"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (MemoryError(), 2, "not enough memory"),
        (ValueError(SECRET), 2, "unexpected ValueError in"),
    ],
)
def test_other_failures_are_told_without_values(
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: BaseException,
    code: int,
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from hedgerow.backends import memory as module

    def fail(*_: Any, **__: Any) -> None:
        raise failure

    monkeypatch.setattr(module, "write_table", fail)
    assert run(["protect", "people.csv", *FLAGS, "--out", "release"]) == code
    told = capsys.readouterr().err
    assert words in told
    assert SECRET not in told
    assert left(here) == set()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["verify"], "error: no command 'verify' (did you mean 'verify-model'?)\n  see: hedgerow --help\n"),
        (["apply", "people.csv", "plan.json"], "error: people.csv is a table, and the plan comes first\n"),
        (["audit", "a.csv", "b.csv", "--released", "c.csv"], "error: RELEASED and --released both name this table\n"),
    ],
)
def test_arguments_that_are_mixed_up_are_named(
    here: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize("key", ["a." * 50_000 + "a", '"a" . ' * 50_000 + "a"])
def test_a_key_of_many_parts_is_refused_at_once(here: Path, key: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("long.toml").write_text(f"{key} = 1\n")
    for option in ("--config", "--schema", "--profile"):
        start = time.monotonic()
        assert run(["protect", "people.csv", *FLAGS, option, "long.toml", "--out", "release"]) == 2
        assert time.monotonic() - start < 10
        assert "has a key of more than 100 parts" in capsys.readouterr().err


def test_help_alone_shows_a_first_release(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    shown = "hedgerow inspect people.csv", "hedgerow protect people.csv --quasi", "--out release/", "Exit codes"
    for words in (*shown, "report.html", "hedgerow score"):
        assert words in out
    assert run([]) == 0


ENV = {**os.environ, "PYTHONPATH": str(Path(hedgerow.__file__).parents[1])}


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "hedgerow", *arguments], capture_output=True, text=True, env=ENV)


def test_version_starts_fast_because_it_loads_the_standard_library_alone() -> None:
    code = (
        "import runpy, sys\n"
        "before = set(sys.modules)\n"
        "sys.argv = ['hedgerow', '--version']\n"
        "try:\n"
        "    runpy.run_module('hedgerow', run_name='__main__', alter_sys=True)\n"
        "finally:\n"
        "    loaded = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "    print(sorted(loaded - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENV)
    assert (done.returncode, done.stdout) == (0, f"hedgerow {__version__}\n['hedgerow']\n"), done.stderr


def test_a_real_process_says_errors_in_one_line_and_leaves_by_code(here: Path) -> None:
    done = command("protect", "people.csv", "--quasi", "agee", "--out", "release")
    assert done.returncode == 2
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_an_interrupt_that_a_callback_swallows_is_heard(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Held:
        pass

    def lose(reference: Any) -> None:
        raise KeyboardInterrupt

    def work(*words: Any, **given: Any) -> int:
        held = Held()
        watched = weakref.ref(held, lose)
        del held  # here Python passes over what the callback raises
        assert watched() is None
        until = time.monotonic() + 20
        while time.monotonic() < until:
            time.sleep(0.01)
        return 0

    monkeypatch.setattr("hedgerow.cli.app.app", work)
    # what a shell starts in the background ignores the signal until somebody asks for it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert run(["inspect"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "error: interrupted; nothing was written\n"


def test_where_stderr_is_closed_the_result_stands_alone(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    roles = ["--quasi", "age", "--sensitive", "income", "-k", "5", "--no-report"]
    assert run(["protect", "people.csv", *roles, "--out", "made", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"]
    assert run(["protect", "nobody.csv", *roles, "--out", "other"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_leaves_nothing(here: Path, number: signal.Signals) -> None:
    code = (
        "import sys, time\nfrom hedgerow.backends import memory as module\nreal = module.write_table\n"
        "def slow(*a, **k):\n    real(*a, **k)\n    print('writing', flush=True)\n    "
        "time.sleep(60)\n"
        "module.write_table = slow\nfrom hedgerow.cli import main\nmain(sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, "protect", "people.csv", *FLAGS, "--out", "release"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENV,
        # a job in the background is started with the signal ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    assert len(left(here)) == 1
    process.send_signal(number)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert err.endswith("error: interrupted; nothing was written\n")
    assert left(here) == set()


def test_ctrl_c_while_it_loads_is_quiet() -> None:
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'typer': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from hedgerow.cli import main\nmain(['inspect', 'people.csv'])"
    )
    done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "error: interrupted; nothing was written\n"


def test_a_home_that_cannot_be_written_is_no_matter() -> None:
    code = "import hedgerow.cli.app, matplotlib; matplotlib.get_configdir()"
    env = {k: v for k, v in ENV.items() if k not in ("MPLCONFIGDIR", "XDG_CONFIG_HOME")} | {"HOME": "/proc"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""


# a library turns what a signal raises into an error of its own, and leaves an object that complains when it goes
LOST_SIGNAL = """
import os, signal, sys
class Leftover:
    def __del__(self):
        raise ValueError("I/O operation on closed file.")
left = [Leftover()]
class Stop:
    def find_spec(self, name, *more):
        if name == NAME:
            leftover = Leftover()
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                signal.pause()
            except KeyboardInterrupt:
                raise ERROR("a library's own words") from None
sys.meta_path.insert(0, Stop())
from hedgerow.cli import main
main(["inspect", "people.csv"])
"""


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("name", ["typer", "hedgerow.workflow.inspection"])
@pytest.mark.parametrize("error", ["ImportError", "ValueError"])
def test_an_error_after_a_signal_is_an_interrupt(here: Path, name: str, error: str) -> None:
    code = LOST_SIGNAL.replace("NAME", repr(name)).replace("ERROR", error)
    done = subprocess.run([sys.executable, "-c", code], env=ENV, capture_output=True, text=True, check=False)
    assert done.stderr == "error: interrupted; nothing was written\n"
    assert done.returncode == 128 + signal.SIGTERM


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device")
@pytest.mark.parametrize("words", [["--version"], ["profiles"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_that_is_full_is_named(words: list[str], unbuffered: str) -> None:
    with open("/dev/full", "w") as full:
        arguments = [sys.executable, "-m", "hedgerow", *words]
        env = {**ENV, "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(arguments, env=env, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot write the output: No space left on device\n")
    assert "Exception" not in done.stderr


def test_arrow_and_numpy_share_one_heap_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age,job\n39,cook\n50,nurse\n")
    code = (
        "import sys; from hedgerow.cli import main\n"
        "try: main(['inspect', sys.argv[1]])\n"
        "except SystemExit: import pyarrow; print(pyarrow.default_memory_pool().backend_name)"
    )
    usual = {k: v for k, v in os.environ.items() if k != "ARROW_DEFAULT_MEMORY_POOL"}
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "people.csv")],
        env=usual, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split()[-1] == "system"


def test_a_column_with_a_comma_in_its_name_is_told_how_to_name(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = people().rename_columns(["name", "age, years", "job", "income", "town"])
    pacsv.write_csv(table, "people.csv")
    more = ["--sensitive", "income", "--identifiers", "name", "-k", "5", "--no-report"]
    more += ["--out", "release/"]
    assert run(["protect", "people.csv", "--quasi", "age, years,job", *more]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "no column 'age'" in told
    assert """in quotes of its own: --quasi '"age, years",another'""" in told
    assert run(["protect", "people.csv", "--quasi", '"age, years",job', *more]) == 0


READING = "inspect protect apply audit frontier score reconstruct verify-model"
SAYS = {
    "auditing": "audit",
    "auditing/frontier.py": "frontier",
    "columns/find_rules.py": "protect",
    "cli/app.py": "protect",
    "cli/console.py": "protect apply",
    "cli/command.py": "protect",
    "cli/outputs.py": "protect apply",
    "cli/for_recipients.py": "reconstruct",
    "cli/start.py": "demo",
    "workflow/options.py": "protect audit frontier",
    "schema.py": "protect audit frontier",
    "hierarchy.py": "protect audit frontier",
    "backends": "protect apply audit",
    "guard": "protect",
    "methods": "protect frontier",
    "release": "protect",
    "release/apply.py": "apply",
    "release/texts.toml/caution": "protect frontier",
    "release/folder.py": "protect frontier",
    "report": "protect audit",
    "workflow": "protect",
    "workflow/methods.py": "protect frontier",
    "workflow/texts.toml/cli/no_key_file": "apply",
    "workflow/texts.toml/cli/one_table": "audit",
    "workflow/texts.toml/cli/two_tables": "audit",
    "workflow/options.toml/apply": "apply",
    "workflow/options.toml/audit": "audit",
    "workflow/options.toml/frontier": "frontier",
    "workflow/options.toml/inspect": "inspect",
    "studio/worker_client.py": "protect",
    "studio/server.py": "studio",
    "io/csv_file.py": "inspect protect apply audit frontier score",
    "io/file_format.py": "inspect protect apply audit frontier score",
    "columns/roles.py": "protect audit frontier",
    "columns/chunked_table.py": "protect apply audit",
    "columns/table.py": "protect apply audit",
    "io/workbook.py": READING,
}
"""The commands that print the messages of a file or folder, where it is not a command itself."""
NO_OPTIONS = {
    ("datasets.py", "--download"),
    ("cli/__init__.py", "--version"),
    ("cli/app.py", "--version"),
    ("workflow/options.py", "--no"),
    ("cli/start.py", "--force"),
}
"""What stands before every command, a flag that is declared there, the beginning of others, and an option
after a whole command."""


def options_of_commands() -> dict[str, set[str]]:
    found = {}
    for name, each in typer.main.get_command(app).commands.items():
        flags = {flag for p in each.params for flag in (*p.opts, *p.secondary_opts)}
        found[name] = {*flags, "--help"}
    return found


def options_in_messages() -> list[tuple[str, str, str]]:
    """The file, the option and the text before it, wherever text that is printed names one."""
    package, found = Path(hedgerow.__file__).parent, []
    for path in sorted(package.rglob("*.py")):
        file = path.relative_to(package).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                for match in re.finditer(r"--[a-z][a-z-]*[a-z]", node.value):
                    found.append((file, match[0], node.value[: match.start()]))
    for file in ("release/texts.toml", "workflow/texts.toml"):
        texts = tomllib.loads((package / file).read_text(encoding="utf-8"))
        for group, key, row in [(group, key, row) for group, table in texts.items() for key, row in table.items()]:
            # an error has a message and a hint
            for text in row.values() if isinstance(row, dict) else row if isinstance(row, list) else (row,):
                for match in re.finditer(r"--[a-z][a-z-]*[a-z]", text):
                    found.append((f"{file}/{group}/{key}", match[0], text[: match.start()]))
    groups = tomllib.loads((package / "workflow/options.toml").read_text(encoding="utf-8"))
    for group, panels in groups.items():
        helps = [row["help"] for table in panels.values() for row in table.values() if row != "shared"]
        file = f"workflow/options.toml/{group.removesuffix('_more')}"
        for text in helps:
            for match in re.finditer(r"--[a-z][a-z-]*[a-z]", text):
                found.append((file, match[0], text[: match.start()]))
    return found


def test_every_option_that_a_message_names_is_one_of_the_command_that_prints_it() -> None:
    """A message can name another command: `protect --mapping`."""
    commands, wrong = options_of_commands(), []
    for file, option, before in options_in_messages():
        if file == "workflow/script.py" or (file, option) in NO_OPTIONS:
            continue
        other = re.search(rf"\b({'|'.join(commands)}) $", before)
        command = Path(file).stem.replace("_", "-") if file.startswith("cli/") else ""
        says = other[1] if other else command if command in commands else SAYS.get(file)
        says = says or next(SAYS[k] for k in sorted(SAYS, reverse=True) if file.startswith(f"{k}/"))
        wrong += [(file, option, name) for name in says.split() if option not in commands[name]]
    assert wrong == []
    words = {option for file, option, _ in options_in_messages() if file == "workflow/script.py"}
    assert words <= commands["protect"]


def test_an_audit_that_has_no_room_names_what_audit_has(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from hedgerow.auditing import backend

    monkeypatch.setattr(backend, "LEAST", 1 << 60)
    asked = ["audit", "people.csv", "people.csv", "--engine", "duckdb", *FLAGS[:4]]
    asked += ["--no-attacks", "--no-learning"]
    assert run(asked) == 2
    told = capsys.readouterr().err
    assert "allow more (memory=, --memory)" in told
    assert "(--no-report)" not in told


def test_a_frontier_replaces_the_release_that_it_refuses_to_replace(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["frontier", "people.csv", *FLAGS[:4], "--method", "mart", "-k", "5"]
    asked += ["--max-disclosure", "0.9", "--target-k", "5", "--out", "picked"]
    assert run(asked) == 0, capsys.readouterr().err
    assert run(asked) == 2
    assert "replace it with --force" in capsys.readouterr().err
    assert run([*asked, "--force"]) == 0
