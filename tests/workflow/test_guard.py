"""A guard from the choice to the written folder: flags, keys, refusals, and the same command twice."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import ParameterError, UnsupportedError
from hedgerow.key import Key
from hedgerow.release import ReleaseOptions
from hedgerow.release.making import _check_capable
from hedgerow.workflow.protect import guarding

from .conftest import ROLES

FLAGS = ["--quasi", "age,education,job", "--sensitive", "income,assets", "--method", "mart", "-k", "5", "--no-report"]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.mark.parametrize(
    ("guard", "flags"),
    [
        ({"guard": "redraw", "key": "k.key"}, "--guard redraw --key-file k.key"),
        ({"guard": "redraw", "random_state": 3, "guard_people": 7}, "--guard-people 7 --random-state 3"),
        ({"guard": "runs"}, "--guard runs"),
        ({"guard": None}, "--guard none"),
        ({"guard": "none"}, "--guard none"),
    ],
)
def test_the_command_and_the_code_make_the_same_files(guard: dict[str, object], flags: str, here: Path) -> None:
    session = hr.Session("people.csv")
    session.choose(ROLES, hr.MART(k=5), **guard)
    session.protect()
    session.write("release")
    files = contents(Path("release"))
    line = session.command_line()
    assert flags in line
    for repeat in (lambda: run(shlex.split(line)[1:]), lambda: exec(session.python(), {})):
        shutil.rmtree("release")
        assert not repeat()
        assert contents(Path("release")) == files


def test_draws_without_a_key_say_that_they_cannot_be_repeated(here: Path) -> None:
    session = hr.Session("people.csv")
    session.choose(ROLES, hr.MART(k=5), guard="redraw")
    assert session.command_line().startswith("# every run draws anew")
    assert session.python().startswith("# every run draws anew")
    session.choose(ROLES, hr.MART(k=5), guard="runs")
    assert not session.command_line().startswith("#")
    session.choose(ROLES, hr.MART(k=5), guard="redraw", key=Key.new())
    with pytest.raises(UnsupportedError, match="not a file"):
        session.command_line()


def test_the_key_of_a_config_serves_pseudonyms_and_draws(here: Path) -> None:
    Path("r.toml").write_text('guard = "redraw"\nguard_people = 6\npseudonyms = true\nkey_file = "k.bin"\n')
    Path("k.bin").write_bytes(bytes(range(32)))
    Path("k.bin").chmod(0o600)
    words = ["protect", "people.csv", *FLAGS, "--identifiers", "person_id", "--config", "r.toml"]
    assert run([*words, "--out", "one"]) == run([*words, "--out", "two"]) == 0
    assert contents(Path("one")) == contents(Path("two"))
    assert hr.Plan.load("one/plan.json").guard.people == 6
    session = hr.Session("people.csv")
    session.choose(ROLES, hr.MART(k=5), guard="redraw", key="k.bin", pseudonym_key="k.bin")
    assert "--pseudonyms --key-file k.bin" in session.command_line()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ("--guard rums", "guard must be one of auto, none, runs, redraw"),
        ("--guard runs --guard-people 1", "at least 2"),
        ("--guard none --guard-people 9", "guard_people is for a guard"),
        ("--guard none --key-file k", "--guard redraw"),
        ("--guard runs --key-file k", "--guard redraw"),
        ("--method hedge --cells rows --keep-order", "whose group it comes from"),
        ("--guard none --random-state 1", "no option --random-state"),
        ("--guard redraw --random-state 1 --key-file k", "both given"),
        ("--guard redraw --method anatomy", "Anatomy makes no groups"),
        ("--guard redraw --method rr", "makes no groups"),
        ("--guard runs --method noise", "makes no groups"),
        ("--guard redraw --method tpp --response income", "TreePatternPreserving"),
    ],
)
def test_what_cannot_be_is_refused_before_the_work(
    flags: str, words: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = shlex.split(flags)
    base = ["protect", "people.csv", "--quasi", "age,education", "--sensitive", "income", "--no-report"]
    if given[-1] == "--sensitive":
        given, base = given[:-1], [w for w in base if w not in ("--sensitive", "income")]
    assert run([*base, *given, "--out", "out"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert words in told
    assert "compiling" not in told
    assert not Path("out").exists()


@pytest.mark.parametrize("guard", [None, "redraw", "runs"])
def test_a_table_is_checked_once(guard: str | None) -> None:
    checked = []

    class Counting(hr.MART):
        def check_table(self, table, schema):  # type: ignore[no-untyped-def]
            checked.append(schema)
            super().check_table(table, schema)

    hr.protect(hr.datasets.make_people(300, seed=1), ROLES, Counting(k=5), guard=guard)
    assert checked == [ROLES]


def test_runs_take_no_key(here: Path) -> None:
    Path("k.bin").write_bytes(bytes(range(32)))
    Path("k.bin").chmod(0o600)
    session = hr.Session("people.csv")
    for secret in ({"key": Key.new()}, {"random_state": 1}):
        with pytest.raises(ParameterError, match="runs are not drawn"):
            hr.protect("people.csv", ROLES, hr.MART(k=5), guard="runs", **secret)
        with pytest.raises(ParameterError, match="runs are not drawn"):
            session.choose(ROLES, hr.MART(k=5), guard="runs", **secret)
    # a key file for the pseudonyms may stand beside it
    words = ["protect", "people.csv", *FLAGS, "--identifiers", "person_id", "--pseudonyms", "--key-file", "k.bin"]
    assert run([*words, "--guard", "runs", "--out", "out"]) == 0


def test_the_order_of_rows_on_a_cluster_is_refused_by_name() -> None:
    guard = guarding(hr.MART(k=5), "redraw")
    _check_capable("spark", ROLES, ReleaseOptions(guard=guard))
    with pytest.raises(UnsupportedError, match="drawn values stay in the order of the input"):
        _check_capable("spark", ROLES, ReleaseOptions(guard=guard, keep_order=True))
    with pytest.raises(ParameterError, match="is for a guard"):
        hr.protect(hr.datasets.make_people(100, seed=1), ROLES, hr.MART(k=5), random_state=1)
