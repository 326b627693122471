"""Write files completely or not at all, readable only by their owner; and read text files."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from .errors import HedgerowError, OutputError

if sys.platform != "win32":
    import fcntl

# Endings of what is being written, and of a folder that stands aside until it is replaced.
PART, OLD = ".part", ".old"
# Bytes of a plan, schema or configuration that are read.
LONGEST_TEXT = 10**9
# Opens a pipe without waiting for its writer, on systems that know it.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
# How the names of tables end, and the format that each ending stands for.
SUFFIXES = {
    ".csv": ".csv", ".tsv": ".csv", ".txt": ".csv", ".tab": ".csv",
    ".parquet": ".parquet", ".pq": ".parquet", ".parq": ".parquet",
    ".feather": ".feather", ".arrow": ".feather", ".ipc": ".feather",
    ".sav": ".sav", ".zsav": ".zsav", ".dta": ".dta", ".xpt": ".xpt", ".sas7bdat": ".sas7bdat",
    ".xlsx": ".xlsx", ".xlsm": ".xlsx",
}  # fmt: skip


def this_user() -> int | None:
    """Return the number of the user who runs this process; None on Windows, which has none."""
    return os.getuid() if hasattr(os, "getuid") else None


@contextmanager
def private_file(path: str | Path) -> Iterator[IO[bytes]]:
    """Yield a file (mode 0600) to write to; it gets its name only when it is complete.

    Until then it has another name in the same folder. An earlier file is replaced only at the end,
    so it survives if writing fails. Anything that is not a regular file, such as a pipe, is written
    to directly.

    Raises
    ------
    OutputError
        The file cannot be written; nothing is left of it.
    """
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not stat.S_ISREG(target.stat().st_mode):
            with open(target, "wb") as stream:
                yield stream
            return
        sweep(target.parent, ".hedgerow-")
        while True:
            handle, name = tempfile.mkstemp(prefix=".hedgerow-", suffix=PART, dir=target.parent)
            if _lock_new(handle, name):
                break
            os.close(handle)
        try:
            with open(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(handle)  # a name must never stand for bytes that a power cut takes
                if sys.platform != "win32":  # while it is locked, so that no other process takes it for a leftover
                    os.replace(name, target)
            if sys.platform == "win32":  # where no open file can be renamed, and none is locked
                os.replace(name, target)
            synced(target.parent)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritable(path, error) from None


@contextmanager
def private_folder(sibling: Path, ending: str) -> Iterator[Path]:
    """Yield a new folder of mode 0700 next to another path; it is removed at the end."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=f".{sibling.name}.", suffix=ending, dir=sibling.parent))
        # another process may have removed it as what a killed one left
        with suppress(FileNotFoundError):
            # Windows opens no folders
            handle = os.open(os.devnull if sys.platform == "win32" else folder, os.O_RDONLY)
            if _lock_new(handle, folder):
                break
            os.close(handle)
    try:
        yield folder
    finally:  # also on Ctrl-C; what has taken its name is no longer there
        shutil.rmtree(folder, ignore_errors=True)
        os.close(handle)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time work beside a folder, while others wait; Windows locks no folder."""
    handle = os.open(os.devnull if sys.platform == "win32" else folder, os.O_RDONLY)
    try:
        if sys.platform != "win32":
            with suppress(OSError):  # a file system without locks
                fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a private temporary folder, after removing what killed processes left behind."""
    home = Path(tempfile.gettempdir(), "hedgerow")
    sweep(home.parent, ".hedgerow.")
    with private_folder(home, PART) as folder:
        yield folder


def sweep(folder: Path, prefix: str) -> None:
    """Remove files that killed processes of this user left; those still in use are locked and stay."""
    for leftover in abandoned(folder, prefix, PART):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def abandoned(folder: Path, prefix: str, ending: str) -> Iterator[Path]:
    """Yield unfinished files and folders of Hedgerow that belong to no living process.

    Each one stays locked until the next is yielded, so that no other process starts to use it. On Windows
    no folder can be locked, so what a killed process left stays until somebody deletes it.
    """
    for path in list(folder.iterdir()):
        ours = re.fullmatch(f"{re.escape(prefix)}[a-z0-9_]{{8}}{re.escape(ending)}", path.name)
        if not ours or path.is_symlink():
            continue
        with suppress(OSError):  # it is locked, just gone, or somebody else's
            # a pipe that somebody laid there would be waited for
            handle = os.open(path, os.O_RDONLY | _AT_ONCE | _NO_LINK)
            try:
                if _is_abandoned(handle):
                    yield path
            finally:
                os.close(handle)


def _is_abandoned(handle: int) -> bool:
    """Lock what another process left and return whether it is this user's; raise OSError if it is in use."""
    if sys.platform != "win32":
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.fstat(handle).st_uid == os.geteuid()  # root could take what others lock not
    return False


def private_handle(path: Path) -> IO[bytes]:
    """Create a file of mode 0600 and return it open for reading and writing."""
    return open(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b")


def _lock_new(handle: int, path: str | Path) -> bool:
    """Lock a new file or folder; return False if another process is removing it or has removed it."""
    if sys.platform != "win32":
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks, where nobody removes it either
            return True
        try:
            return os.path.samestat(os.fstat(handle), os.stat(path))
        except FileNotFoundError:
            return False
    return True  # nobody removes it on Windows


def synced(folder: Path) -> None:
    """Flush a folder's list of names to the disk, if the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def same_file(a: str | Path, b: str | Path) -> bool:
    """Return whether two paths are the same existing file or folder; ``file::part`` counts as the file."""
    a, b = (path if os.path.exists(path) else str(path).partition("::")[0] for path in (a, b))
    try:
        return os.path.samefile(a, b)
    except (OSError, ValueError):
        return False


def unwritable(path: str | Path, error: OSError) -> OutputError:
    """Build the error for a file or folder that the system refuses to write."""
    return OutputError(
        f"cannot write {path}: {error.strerror or 'the file system refused it'}",
        hint="nothing was left behind; choose another place, or make room there",
    )


def write_private(path: str | Path, text: str | Iterable[str]) -> None:
    """Write text, in one or several pieces, to a private file; see `private_file`."""
    with private_file(path) as file:
        for piece in (text,) if isinstance(text, str) else text:
            file.write(piece.encode())


def read_text(path: str | Path, what: str, error: type[HedgerowError]) -> str:
    """Return a file's text; if it cannot be read, raise `error` with the file named as `what`."""
    try:
        return read_bytes(path, what, error).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise error(f"{what} {path} is not UTF-8 text") from None


def read_bytes(path: str | Path, what: str, error: type[HedgerowError]) -> bytes:
    """Return what a file holds; if it cannot be read, raise `error` with the file named as `what`."""
    try:
        # a pipe into which nobody writes is not waited for
        with open(path, "rb", opener=lambda p, flags: os.open(p, flags | _AT_ONCE)) as file:
            if sys.platform != "win32":
                os.set_blocking(file.fileno(), True)
            # a device or a pipe may never end
            content = file.read(LONGEST_TEXT + 1)
            if not content and stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
                raise error(f"cannot read {what} {path}: nobody writes into this pipe")
        if len(content) > LONGEST_TEXT:
            raise error(f"{what} {path} is longer than {LONGEST_TEXT // 10**9} GB, so it is not read")
        return content
    except OSError as fault:
        raise error(f"cannot read {what} {path}: {fault.strerror}") from None
