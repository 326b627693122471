"""What differs on Windows, played on whatever system the tests run; nothing here replaces a run on Windows itself."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

import pytest

from hedgerow.auditing.attacks.most_exposed import ByCommand
from hedgerow.columns import workspace
from hedgerow.files import abandoned, private_folder, write_private
from hedgerow.schema import Schema


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "win32")


@pytest.mark.usefixtures("windows")
def test_a_file_is_closed_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace, opened = os.replace, []
    fsync = os.fsync

    def closed(source: str, target: Path) -> None:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(opened[0])
        replace(source, target)

    monkeypatch.setattr("os.fsync", lambda handle: (opened.append(handle), fsync(handle)))
    monkeypatch.setattr("os.replace", closed)
    write_private(tmp_path / "a.txt", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "text"


@pytest.mark.usefixtures("windows")
def test_no_leftover_is_taken_where_nothing_can_be_locked(tmp_path: Path) -> None:
    with private_folder(tmp_path / "out", ".part") as folder:
        assert not [*abandoned(tmp_path, ".out.", ".part")]
        assert folder.is_dir()
    assert not [*tmp_path.iterdir()]


@pytest.mark.usefixtures("windows")
def test_memory_is_asked_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    class Kernel:
        @staticmethod
        def GlobalMemoryStatusEx(status: Any) -> int:
            size = (ctypes.c_uint32 * 2).from_buffer(status._obj)[0]
            assert size == ctypes.sizeof(status._obj) == 64
            status._obj[1] = 24 << 30
            return 1

    monkeypatch.setattr("ctypes.windll", type("Libraries", (), {"kernel32": Kernel}), raising=False)
    assert workspace.memory_of(None) == 12 << 30


@pytest.mark.usefixtures("windows")
def test_a_backslash_in_a_command_stands_between_folders() -> None:
    command = r'C:\tools\mask.exe --in "{in}" --out "C:\my files\{out}"'
    words = ByCommand(command, Schema()).words
    assert words == [r"C:\tools\mask.exe", "--in", "{in}", "--out", r"C:\my files\{out}"]


def test_elsewhere_a_command_is_read_as_a_shell_reads_it() -> None:
    assert ByCommand(r"mask\ it {in} '{out} #1' #2", Schema()).words == ["mask it", "{in}", "{out} #1", "#2"]
