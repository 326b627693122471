"""Private files appear whole or not at all; data is written down as plain JSON."""

from __future__ import annotations

import json
import os
import stat
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hedgerow.errors import OutputError
from hedgerow.files import PART, abandoned, private_file, private_folder, sweep, write_private
from hedgerow.notation import plain
from tests.limits import a_file_holds


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("stood_there", [False, True])
def test_a_private_file_is_its_owners_alone(tmp_path, stood_there):
    path = tmp_path / "plan.json"
    if stood_there:
        path.write_text("old")
        path.chmod(0o644)
    mask = os.umask(0)
    try:
        write_private(path, "äöü\n")
    finally:
        os.umask(mask)
    assert path.read_bytes() == "äöü\n".encode()
    assert mode(path) == 0o600
    assert [p.name for p in tmp_path.iterdir()] == ["plan.json"]


def test_until_it_is_whole_nothing_has_its_name(tmp_path):
    path = tmp_path / "t"
    with private_file(path) as file:
        file.write(b"half")
        file.flush()
        beside = list(tmp_path.iterdir())
        assert not path.exists()
        assert [mode(p) for p in beside] == [0o600]
    assert path.read_bytes() == b"half"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interruption_leaves_the_old_file_alone(tmp_path, error):
    path = tmp_path / "t"
    path.write_text("old")

    def interrupted():
        with private_file(path) as file:
            file.write(b"new")
            raise error

    with pytest.raises(error):
        interrupted()
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_a_full_disk_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "t"
    path.write_text("old")
    with a_file_holds(10), pytest.raises(OutputError, match=f"cannot write {path}: File too large"):
        write_private(path, "x" * 100)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_what_a_link_points_to_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "t")
    write_private(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "far" / "t").read_text() == "x"


def test_a_pipe_is_written_to(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    write_private(path, "x")
    reader.join(timeout=10)
    assert found == [b"x"]
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_a_pipe_that_somebody_laid_down_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / ".studio.aaaaaaaa.part")
    sweeping = threading.Thread(target=sweep, args=(tmp_path, ".studio."), daemon=True)
    sweeping.start()
    sweeping.join(10)
    assert not sweeping.is_alive()


def test_plain_data_is_what_json_holds():
    value = {
        1: (np.int32(2), np.float64(0.1) + 0.2, float("nan"), -np.inf, np.bool_(True)),
        "array": np.array([[1, 2], [3, 4]]),
        "set": {"b", "a"},
        "none": None,
        "text": np.str_("x"),
    }
    made = plain(value, digits=10)
    assert made == {
        "1": [2, 0.3, None, None, True],
        "array": [[1, 2], [3, 4]],
        "set": ["a", "b"],
        "none": None,
        "text": "x",
    }
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert plain(0.1 + 0.2) == 0.1 + 0.2
    assert type(plain(np.float64(1.5))) is float


def test_plain_data_refuses_or_hands_on_what_json_cannot_hold():
    with pytest.raises(TypeError, match="complex is no plain data"):
        plain([1j])
    assert plain([1j], other=str) == ["1j"]


@pytest.mark.skipif(os.name != "posix", reason="this system has no such locks")
def test_nobody_removes_what_another_just_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between making a folder and holding it, another process takes it for a left-over."""
    before = tempfile.mkdtemp, tempfile.mkstemp
    swept = []

    def made(make: Any, *given: Any, **named: Any) -> Any:
        found = make(*given, **named)
        if len(swept) < 2:
            swept.append(found)
            sweep(tmp_path, ".one." if make is before[0] else ".hedgerow-")
        return found

    monkeypatch.setattr(tempfile, "mkdtemp", lambda *a, **b: made(before[0], *a, **b))
    with private_folder(tmp_path / "one", PART) as folder:
        (folder / "x").write_text("x")
    swept.clear()
    monkeypatch.setattr(tempfile, "mkstemp", lambda *a, **b: made(before[1], *a, **b))
    with private_file(tmp_path / "file") as file:
        file.write(b"x")
    assert (tmp_path / "file").read_bytes() == b"x"
    assert len(swept) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.name != "posix", reason="this system has no such locks")
def test_what_is_being_removed_is_held(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    left = tmp_path / ".one.abcdefgh.part"
    left.mkdir()
    handle = os.open(left, os.O_RDONLY)
    for _ in abandoned(tmp_path, ".one.", PART):
        with pytest.raises(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(handle)


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can take what is others'")
def test_what_another_user_left_stays(tmp_path: Path) -> None:
    for name, user in (("aaaaaaaa", 65534), ("bbbbbbbb", os.getuid())):
        (tmp_path / f".hedgerow.{name}{PART}").mkdir()
        os.chown(tmp_path / f".hedgerow.{name}{PART}", user, user)
    sweep(tmp_path, ".hedgerow.")
    assert [path.name for path in tmp_path.iterdir()] == [f".hedgerow.aaaaaaaa{PART}"]
