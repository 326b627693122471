"""What stands where something is to be written: ours is replaced when asked, yours never."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.csv as pacsv
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.errors import OutputError
from hedgerow.files import write_private
from hedgerow.release.folder import write_folder

ROLES = ["--quasi", "age,job", "--sensitive", "income", "-k", "5"]
PROTECT = ["protect", "people.csv", *ROLES, "--no-report", "--out", "out"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people = hr.datasets.make_people(120, seed=3)
    people = people.select(["age", "education", "income"]).rename_columns(["age", "job", "income"])
    pacsv.write_csv(people, "people.csv")
    return tmp_path


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_force_replaces_a_release_and_nothing_of_anybody_else(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(PROTECT) == 0
    assert run([*PROTECT, "--force"]) == 0
    for name in ("notes.txt", "people.csv", "old/letter.txt"):
        mine = here / "out" / name
        mine.parent.mkdir(exist_ok=True)
        mine.write_text("mine")
        before = bytes_of(here)
        assert run([*PROTECT, "--force"]) == 2
        assert "holds what no release wrote" in capsys.readouterr().err
        assert bytes_of(here) == before
        mine.unlink()
        if mine.parent.name == "old":
            mine.parent.rmdir()


@pytest.mark.parametrize("name", ["out/release.csv", "out/../out/release.csv"])
def test_force_never_replaces_the_input(here: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert run(PROTECT) == 0
    before = bytes_of(here)
    again = ["protect", name, *ROLES, "--no-report", "--force"]
    assert run([*again, "--out", "out"]) == 2
    assert "which is an input" in " ".join(capsys.readouterr().err.split())
    release = hr.protect(name, hr.Schema(quasi=["job"], sensitive=["income"]), hr.MART(k=5))
    with pytest.raises(OutputError, match="is an input"):
        release.write("out", force=True)
    assert bytes_of(here) == before


def test_a_release_that_was_being_replaced_when_killed_is_there_again(here: Path) -> None:
    folder = here / "out"
    write_folder(folder, lambda f: [write_private(f / n, "1") for n in ("plan.json", "audit.json")])
    first = bytes_of(folder)
    killed = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, signal, sys\nfrom pathlib import Path\n"
            "from hedgerow.release.folder import write_folder\nfrom hedgerow.files import *\n"
            "real = os.rename\n"
            "def rename(a, b):\n"
            "    real(a, b)\n"
            "    if Path(b).name == 'old': os.kill(os.getpid(), signal.SIGKILL)\n"
            "os.rename = rename\n"
            "write_folder(Path(sys.argv[1]), lambda f: write_private(f / 'plan.json', '2'), force=True)",
            str(folder),
        ],
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    assert not folder.exists()
    with pytest.raises(OutputError, match="exists already"):  # it took its name again
        write_folder(folder, lambda f: None)
    assert bytes_of(folder) == first
    assert {p.name for p in here.iterdir()} == {"people.csv", "out"}


def test_what_a_killed_process_left_is_swept_and_what_others_write_is_not(here: Path) -> None:
    ready = (
        "import os, signal, sys\nfrom pathlib import Path\n"
        "from hedgerow.release.folder import write_folder\nfrom hedgerow.files import *\n"
        "def fill(f):\n"
        "    write_private(f / 'plan.json', '2')\n"
        "    with private_file('plan.json'):\n"
        "        print('ready', flush=True)\n"
        "        sys.stdin.readline()\n"
        "write_folder(Path('out'), fill)"
    )
    other = subprocess.Popen([sys.executable, "-c", ready], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        unfinished = {p.name for p in here.iterdir()} - {"people.csv"}
        assert len(unfinished) == 2
        write_folder(here / "out", lambda f: write_private(f / "plan.json", "1"))
        write_private(here / "x.json", "1")
        assert unfinished <= {p.name for p in here.iterdir()}
    finally:
        other.kill()
        other.communicate()
    for name in ("out", "x.json"):
        os.rename(here / name, here / f"kept-{name}")
    write_folder(here / "out", lambda f: write_private(f / "plan.json", "1"))
    write_private(here / "x.json", "1")
    kept = {"people.csv", "out", "x.json", "kept-out", "kept-x.json"}
    assert {p.name for p in here.iterdir()} == kept


def test_names_stand_on_the_disk_before_anybody_is_told(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, os.rename
    monkeypatch.setattr(os, "fsync", lambda h: (done.append(os.path.realpath(f"/proc/self/fd/{h}")), fsync(h)))
    monkeypatch.setattr(os, "rename", lambda a, b: (done.append("rename"), rename(a, b)))
    write_folder(here / "out", lambda f: write_private(f / "plan.json", "1"))
    at = done.index("rename")
    assert any(name.endswith(".part") and Path(name).parent == here for name in done[:at])
    assert done[at + 1 :] == [str(here)]


@pytest.fixture
def audited(here: Path) -> list[str]:
    assert run(PROTECT) == 0
    few = ["--no-attacks", "--no-learning"]
    return ["audit", "people.csv", "out/release.csv", *ROLES[:4], *few]


@pytest.mark.parametrize("option", ["--save", "--report"])
@pytest.mark.parametrize("target", ["people.csv", "out/release.csv", "mine.txt"])
def test_an_audit_replaces_its_own_files_alone(
    here: Path, audited: list[str], capsys: pytest.CaptureFixture[str], option: str, target: str
) -> None:
    (here / "mine.txt").write_text("mine")
    before = bytes_of(here)
    assert run([*audited, option, target]) == 2
    assert "is not replaced" in " ".join(capsys.readouterr().err.split())
    assert bytes_of(here) == before


def test_what_an_audit_wrote_it_writes_again(here: Path, audited: list[str]) -> None:
    more = ["--save", "numbers.json", "--report", "report.html"]
    assert run([*audited, *more]) == 0
    assert run([*audited, *more]) == 0


def test_a_picture_and_an_applied_table_replace_no_input(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(PROTECT) == 0
    before = bytes_of(here)
    tried = ["frontier", "people.csv", *ROLES[:4], "-k", "5", "--max-disclosure", "0.5"]
    assert run([*tried, "--picture", "people.csv"]) == 2
    applied = ["apply", "out/plan.json", "people.csv", "--force", "--out"]
    for target in ("people.csv", "out/plan.json"):
        assert run([*applied, target]) == 2
        assert "is an input" in capsys.readouterr().err
    assert bytes_of(here) == before
    assert run([*tried, "--picture", "points.svg"]) == 0
    assert run([*tried, "--picture", "points.svg"]) == 0


def test_no_two_options_write_to_one_place(here: Path, audited: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = bytes_of(here)
    tried = ["frontier", "people.csv", *ROLES[:4], "-k", "5", "--max-disclosure", "0.5"]
    for words in (
        [*audited, "--save", "a", "--report", "./a"],
        [*audited, "--save", "a", "--per-person", "a"],
        [*tried, "--picture", "a", "--csv", "a"],
        [*PROTECT[:-1], "new", "--public", "new/"],
    ):
        assert run(words) == 2
        assert "name one place" in " ".join(capsys.readouterr().err.split())
    assert bytes_of(here) == before


def test_a_name_does_not_end_in_another_format(
    here: Path, audited: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = bytes_of(here)
    tried = ["frontier", "people.csv", *ROLES[:4], "-k", "5", "--max-disclosure", "0.5"]
    for words in (
        [*audited, "--save", "a.html"],
        [*audited, "--report", "a.pdf"],
        [*audited, "--per-person", "a.ods"],
        [*tried, "--picture", "a.png"],
        [*tried, "--csv", "a.xlsx"],
        ["apply", "out/plan.json", "people.csv", "--out", "a.ods"],
    ):
        assert run(words) == 2
        assert "another format" in " ".join(capsys.readouterr().err.split())
    assert bytes_of(here) == before


@pytest.mark.parametrize("name", ["a" * 300, "a" * 300 + "/b", "a\0b"])
def test_names_that_no_folder_has_are_told(here: Path, name: str) -> None:
    release = hr.protect("people.csv", hr.Schema(quasi=["job"], sensitive=["income"]), hr.MART(k=5))
    for write in (release.write, release.plan.save, hr.Plan.load, hr.Hierarchy.from_csv):
        with pytest.raises(hr.HedgerowError):
            write(name)
