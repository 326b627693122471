"""Work that was killed is gone on with by the same command, and gives the same bytes."""

from __future__ import annotations

import hashlib
import os
import random
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import hedgerow as hr
from hedgerow.cli.app import run
from hedgerow.columns import workspace
from hedgerow.columns.chunked_table import ChunkedTable
from hedgerow.release import apply_plan

pytestmark = pytest.mark.skipif(os.name != "posix", reason="kills processes")
SCHEMA = hr.Schema(quasi=["age", "job"], sensitive=["pay"], other=["note"])
METHOD = hr.MART(k=5)


def digests(folder: Path) -> dict[str, str]:
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in sorted(folder.iterdir())}


def released(file: Path, out: Path, resume: bool | None = None) -> dict[str, str]:
    session = hr.Session(file, engine="duckdb", resume=resume)
    session.choose(SCHEMA, METHOD)
    session.protect()
    return digests(session.write(out))


_KILLED = """
import sys
import hedgerow as hr
def stop(step, share):
    if step == sys.argv[2]:
        print(flush=True)
        input()
session = hr.Session(sys.argv[1], engine="duckdb", resume=True)
session.choose(
    hr.Schema(quasi=["age", "job"], sensitive=["pay"], other=["note"]), hr.MART(k=5)
)
session.protect(progress=stop)
"""


def killed(file: Path, step: str) -> None:
    """A process that is killed when it comes to a step."""
    arguments = [sys.executable, "-c", _KILLED, str(file), step]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.kill()


def left(home: Path) -> list[Path]:
    return [path for path in home.iterdir() if path.name.startswith(".hedgerow-kept.")]


@pytest.mark.parametrize(
    ("step", "told"),
    [("fitting", "the codes of 4 columns"), ("verifying", "the ordered release")],
)
def test_what_is_finished_is_not_done_again(
    step: str, told: str, file: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = released(file, tmp_path / "wanted")
    assert not list(home.iterdir())
    killed(file, step)
    (folder,) = left(home)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(f.stat().st_mode) for f in folder.iterdir()} == {0o600}

    def refuse(*given: Any) -> None:
        raise AssertionError("this was done before")

    session = hr.Session(file, engine="duckdb", resume=True)
    words = session.table.resumed_from or ""
    assert told in words
    assert ("a copy of the table" in words) == (file.suffix == ".csv")
    session.choose(SCHEMA, METHOD)
    if file.suffix == ".parquet":
        before = ChunkedTable.values_of
        monkeypatch.setattr(
            ChunkedTable, "values_of", lambda self, n: refuse() if self.saves_codes else before(self, n)
        )
    if step == "verifying":
        monkeypatch.setattr("hedgerow.backends.duckdb.parquet_writer", refuse)
    session.protect()
    monkeypatch.undo()
    assert digests(session.write(tmp_path / "found")) == wanted
    del session
    assert not left(home)


def test_a_call_goes_on_and_says_so_before_the_long_work(
    file: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = released(file, tmp_path / "wanted")
    killed(file, "verifying")

    def refuse(*given: Any, **more: Any) -> None:
        raise AssertionError("this was done before")

    with monkeypatch.context() as patched:
        patched.setattr("hedgerow.backends.duckdb.parquet_writer", refuse)
        release = hr.protect(file, SCHEMA, METHOD, engine="duckdb", resume=True)
        assert digests(release.write(tmp_path / "found")) == wanted
    del release
    assert not left(home)
    killed(file, "fitting")
    told: list[str | None] = []
    monkeypatch.setattr("hedgerow.release.apply.transform", refuse)
    with pytest.raises(AssertionError, match="done before"):
        apply_plan(
            hr.Plan.load(tmp_path / "found" / "plan.json"), file, engine="duckdb", resume=True,
            on_open=lambda table: told.append(table.engine),
        )
    assert told == ["duckdb"]


def test_a_file_that_changed_is_begun_anew(file: Path, home: Path, tmp_path: Path) -> None:
    killed(file, "fitting")
    os.utime(file, (1, 1))
    wanted = released(file, tmp_path / "wanted")
    session = hr.Session(file, engine="duckdb", resume=True)
    assert session.table.resumed_from is None
    del session
    assert released(file, tmp_path / "found", resume=True) == wanted


def test_a_value_that_changed_behind_the_same_times(file: Path, home: Path, tmp_path: Path) -> None:
    grown = pa.table({"age": [41] * 20_000, "job": ["cook"] * 20_000, "pay": range(20_000)})
    grown = grown.append_column("note", pa.array([f"note {i}" for i in range(20_000)]))
    (pq.write_table if file.suffix == ".parquet" else pyarrow.csv.write_csv)(grown, file)
    before = file.stat()
    told = workspace.job_digest([file])
    with open(file, "r+b") as changed:
        changed.seek(1000)
        byte = changed.read(1)
        changed.seek(1000)
        changed.write(b"8" if byte != b"8" else b"9")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size > workspace._END + 2000
    assert workspace.job_digest([file]) != told


def test_nothing_is_taken_from_before_the_machine_was_started(
    file: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed(file, "fitting")
    (folder,) = left(home)
    for path in folder.iterdir():  # what a disk may hold of a file that nobody had it hold
        os.truncate(path, 0)
    monkeypatch.setattr(workspace, "_since_start", lambda: "another")
    session = hr.Session(file, engine="duckdb", resume=True)
    assert session.table.resumed_from is None
    session.choose(SCHEMA, METHOD)
    session.protect()


def test_other_parameters_take_no_release_of_others(
    file: Path, home: Path, tmp_path: Path
) -> None:
    killed(file, "verifying")
    session = hr.Session(file, engine="duckdb", resume=True)
    session.choose(SCHEMA, hr.Mondrian(k=9))
    session.protect()
    found = digests(session.write(tmp_path / "found"))
    del session
    wanted = hr.protect(file, SCHEMA, hr.Mondrian(k=9), engine="memory").write(tmp_path / "wanted")
    assert found["release" + file.suffix] == digests(wanted)["release" + file.suffix]


def test_two_at_once_and_what_nobody_goes_on_with(
    file: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = hr.Session(file, engine="duckdb", resume=True)
    two = hr.Session(file, engine="duckdb", resume=True)  # keeps nothing, and takes nothing
    assert one.table.workspace.checkpoint is not None
    assert two.table.workspace.checkpoint is None
    assert (one.table.resume_obstacle, two.table.resume_obstacle) == (
        None,
        "another process is at the same work",
    )
    del one, two
    assert not left(home)
    killed(file, "fitting")
    hr.Session(file, engine="duckdb")
    assert left(home)  # for a day
    monkeypatch.setattr(workspace, "_SECONDS", -1)
    hr.Session(file, engine="duckdb")
    assert not left(home)


def test_a_folder_of_somebody_else_is_not_taken(file: Path, home: Path) -> None:
    killed(file, "fitting")
    (folder,) = left(home)
    folder.chmod(0o755)
    session = hr.Session(file, engine="duckdb", resume=True)
    assert session.table.workspace.checkpoint is None
    assert session.table.resume_obstacle == (
        f"its folder in {home} cannot be used (somebody else made the folder)"
    )
    del session
    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.rename(home / "aside")
    folder.symlink_to(elsewhere)
    session = hr.Session(file, engine="duckdb", resume=True)
    assert "cannot be used" in str(session.table.resume_obstacle)
    assert not list(elsewhere.iterdir())
    assert session.table.resumed_from is None


def test_the_command_goes_on_after_kills_at_any_moment(
    file: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = released(file, tmp_path / "wanted")
    roles = ["--quasi", "age,job", "--sensitive", "pay", "--other", "note", "-k", "5"]
    words = ["protect", str(file), *roles, "--method", "mart", "--engine", "duckdb", "--no-report"]
    words += ["--out", str(tmp_path / "found")]
    dice = random.Random(7)
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-m", "hedgerow", *words])
        end = time.monotonic() + 60
        while not left(home) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(dice.random())
        process.kill()
        process.wait()
    if not (tmp_path / "found").exists():
        assert run(words) == 0
    found = digests(tmp_path / "found")
    assert found["release" + file.suffix] == wanted["release" + file.suffix]
    killed(file, "fitting")
    capsys.readouterr()
    assert run([*words, "--force"]) == 0
    assert "continuing where" in capsys.readouterr().err
    killed(file, "fitting")
    assert run([*words, "--force", "--restart"]) == 0
    assert "continuing where" not in capsys.readouterr().err
    assert digests(tmp_path / "found") == found
    assert not left(home)
