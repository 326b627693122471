"""What a killed run leaves for the same work to go on from: finished files in a private folder.

The folder is named after the files that are read (size, times of change, last bytes), how they are
read, and when the machine was started: nobody has the disk hold a file, so what was written before
may be half there. What has its name there is finished; the rest is removed when a run takes the folder over.
Every file is named after all that it is made from, so a file of other work is never taken, and beside it
stands the hash of its bytes, so a file that was cut short or altered is not taken either.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..files import locked, private_handle

_PREFIX, _UNFINISHED, _SUM = ".hedgerow-kept.", "unfinished.", "sum."
_SECONDS = 86_400
"""Whoever does not go on within a day does no more: then others remove what was left."""
_END = 1 << 16
"""Last bytes of a file that are looked at: a Parquet file describes itself there."""


def job_of(files: Sequence[Path], *asked: Any) -> str:
    """A digest of files as they are now, and of how they are read."""
    told: list[Any] = [_VERSION, _since_start(), *map(str, asked)]
    for path in files:
        about = path.stat()
        with open(path, "rb") as file:
            file.seek(max(about.st_size - _END, 0))
            end = hashlib.sha256(file.read()).hexdigest()
        # a tool that alters a file may set st_mtime back; nobody sets st_ctime
        times = [about.st_mtime_ns, about.st_ctime_ns]
        told.append([str(path.resolve()), about.st_ino, about.st_size, *times, end])
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]


_VERSION = 3
"""Of what the folders hold."""


def _since_start() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return "unknown"


class Kept:
    """The finished files of one job; nobody else has them while it lives.

    Parameters
    ----------
    home : Path
        Where temporary files lie.
    job : str
        What `job_of` gives.

    Raises
    ------
    OSError
        Somebody is at the same work, or the folder cannot be ours alone.
    """

    def __init__(self, home: Path, job: str) -> None:
        self.folder = home / f"{_PREFIX}{job}"
        with suppress(FileExistsError):
            self.folder.mkdir(mode=0o700)
        about = self.folder.lstat()
        mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
        if not stat.S_ISDIR(about.st_mode) or not mine or stat.S_IMODE(about.st_mode) & 0o077:
            raise PermissionError("somebody else made the folder")
        self._held = locked(self.folder)
        for path in self.folder.iterdir():
            if path.name.startswith(_UNFINISHED):
                path.unlink()
        self._held_to: set[str] = set()
        self.found = [path.name for path in sorted(self.folder.iterdir()) if self._whole(path)]
        os.utime(self.folder)

    def close(self) -> None:
        """Remove everything: the work is done, or was given up."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._held)

    def finished(self, name: str) -> Path | None:
        """The finished file of that name, if there is one."""
        path = self.folder / name
        if not path.is_symlink() and not path.exists():
            return None
        if name not in self._held_to:
            if not self._whole(path) or _summed(path) != self._sum(name).read_bytes():
                path.unlink()
                return None
            self._held_to.add(name)
        return path

    def _sum(self, name: str) -> Path:
        return self.folder / f"{_SUM}{name}"

    def _whole(self, path: Path) -> bool:
        """Whether it is a finished file of ours, with its hash beside it."""
        return not path.name.startswith(_SUM) and _own(path) and _own(self._sum(path.name))

    def unfinished(self, name: str) -> Path:
        """Where the file of that name is written; what was begun there before is gone."""
        path = self._begun(name)
        path.unlink(missing_ok=True)
        return path

    def _begun(self, name: str) -> Path:
        return self.folder / f"{_UNFINISHED}{name}"

    def finish(self, name: str) -> Path:
        """Give a file that was written its name."""
        written = self._begun(name)
        self._sum(name).unlink(missing_ok=True)
        with private_handle(self._sum(name)) as file:
            file.write(_summed(written))
        os.replace(written, self.folder / name)
        self._held_to.add(name)
        return self.folder / name


def _own(path: Path) -> bool:
    """Whether a path is a file that belongs to nobody but us, and has no other name."""
    try:
        about = path.lstat()
    except OSError:
        return False
    alone = stat.S_ISREG(about.st_mode) and about.st_nlink == 1
    mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return alone and mine and not stat.S_IMODE(about.st_mode) & 0o077


def _summed(path: Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest().encode()


def left(home: Path) -> Iterator[Path]:
    """Folders of runs that nobody has gone on with for a day."""
    for path in home.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # it is held, just gone, or somebody else's
            old = time.time() - path.lstat().st_mtime > _SECONDS
            if old and not path.is_symlink():
                held = locked(path)
                try:
                    yield path
                finally:
                    os.close(held)


def forget(home: Path, job: str) -> None:
    """Remove what a killed run left of a job."""
    with suppress(OSError):
        Kept(home, job).close()
