"""Storage for data larger than memory: a private folder, arrays in files, and checkpoints of killed runs.

A checkpoint is a private folder that a killed run leaves, with finished files for the same work.
The folder is named after the files that are read (size, times of change, last bytes), the options
with which they are read, and the start of the machine: files are not synced to the disk, so a file
from before a restart may be incomplete. A file is finished once it has its final name; all others are
removed when a run takes over the folder. Each file is named after everything that it is made from, so a
file of other work is never used. The hash of its bytes is stored next to it, so a file that was cut
short or altered is not used either.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import mmap
import os
import re
import shutil
import stat
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import OutputError, ParameterError, no_memory
from ..files import locked, private_handle, temporary_folder

# glibc keeps memory that numpy freed; other C libraries have no such calls
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None
_trim, _tune = (getattr(_libc, name, None) for name in ("malloc_trim", "mallopt"))
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
          "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}  # fmt: skip
# bytes that the interpreter and the compiled kernels need by themselves
LEAST = 1 << 29
# arrays stay in memory while they take less than 1 / _ARRAYS of it
_ARRAYS = 16
# assumed where the system does not say how much memory there is
_UNKNOWN = 8 << 30
_CHECKPOINT, _UNFINISHED, _SUM = ".hedgerow-kept.", "unfinished.", "sum."
# a run that nobody resumed within a day is given up, and others may remove its files
_SECONDS = 86_400
# bytes at the end of a file that are hashed: a Parquet file describes itself there
_END = 1 << 16
# version of a checkpoint's content: raised when the package writes other files
_VERSION = 3
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
_LARGE = 1 << 20


class Workspace:
    """A private folder (mode 0700) for temporary files, with a memory limit in bytes.

    The folder is created where the system keeps temporary files (see the variable TMPDIR). It is
    removed by `close`, when the workspace is no longer referenced, and when the interpreter ends.
    Files that a killed process left are removed by the next process that makes a workspace.

    Parameters
    ----------
    memory : int
        Bytes.
    job : str, optional
        The digest of the work (`job_digest`). Finished files are then kept in a folder of their own,
        from which the same work can resume after the process was killed.
    """

    def __init__(self, memory: int, job: str | None = None) -> None:
        self.memory = memory
        self.checkpoint: Checkpoint | None = None
        self.resume_obstacle: str | None = None
        self._used = self._names = 0
        keep_small()
        self._maps: list[weakref.ref[mmap.mmap]] = []
        home = Path(tempfile.gettempdir())
        remove_stale_checkpoints(home)
        stack = ExitStack()
        try:
            if job is not None:
                try:
                    self.checkpoint = Checkpoint(home, job)
                    stack.callback(self.checkpoint.close)
                except BlockingIOError:
                    self.resume_obstacle = "another process is at the same work"
                except OSError as error:
                    self.resume_obstacle = f"its folder in {home} cannot be used ({error.strerror or error})"
            self.folder = stack.enter_context(temporary_folder())
        except OSError as error:
            raise OutputError(
                f"no temporary folder can be made in {home}: {error.strerror}",
                hint="name another place in the variable TMPDIR",
            ) from None
        self.close = weakref.finalize(self, stack.close)

    def allocate(
        self, shape: tuple[int, ...], kind: Any, name: str | None = None
    ) -> NDArray[Any]:
        """Return an array to be filled, in memory if enough is left, otherwise in an unnamed file.

        An array with a `name` can be passed to `finish`, if finished files are kept.
        """
        kind = np.dtype(kind)
        size = int(np.prod(shape)) * kind.itemsize
        if self.checkpoint is not None and name is not None:
            with private_handle(self.checkpoint.unfinished(name)) as file:
                return self._mapped(file, shape, kind, size)
        if self._used + size <= self.memory // _ARRAYS:
            self._used += size
            array = np.empty(shape, kind)
            # counted while it lives, so that memory that was freed can be used again
            weakref.finalize(array, _freed, weakref.ref(self), size)
            return array
        with tempfile.TemporaryFile(dir=self.folder) as file:
            return self._mapped(file, shape, kind, size)

    def _mapped(
        self, file: IO[bytes], shape: tuple[int, ...], kind: Any, size: int
    ) -> NDArray[Any]:
        """Return an array mapped to a file, after reserving the file's space on the disk."""
        try:
            # reserved now: a full disk would kill the process when it writes to the mapping
            _reserve(file.fileno(), max(size, 1))
        except OSError as error:
            raise full(self.folder, size, error) from None
        mapped = mmap.mmap(file.fileno(), max(size, 1))
        self._maps = [ref for ref in self._maps if ref() is not None]
        self._maps.append(weakref.ref(mapped))
        return np.frombuffer(mapped, kind, int(np.prod(shape))).reshape(shape)

    @contextmanager
    def disk_errors(self) -> Iterator[None]:
        """Raise OutputError if writing temporary files inside the `with` block fails, as on a full disk."""
        try:
            yield
        except OSError as error:
            if no_memory(error):
                raise MemoryError from None
            raise full(self.folder, None, error) from None

    def finished(self, name: str) -> Path | None:
        """Return the path of a finished file with this name if a killed run left one, otherwise None."""
        return None if self.checkpoint is None else self.checkpoint.finished(name)

    def finished_array(self, name: str, shape: tuple[int, ...], kind: Any) -> NDArray[Any] | None:
        """Return the finished array with this name if a killed run left one, otherwise None."""
        path, kind = self.finished(name), np.dtype(kind)
        size = int(np.prod(shape)) * kind.itemsize
        if path is None or path.stat().st_size != max(size, 1):
            return None
        with open(path, "r+b") as file:
            return self._mapped(file, shape, kind, size)

    def path_to_write(self, name: str) -> Path:
        """Return the path to write a file to; `finish` then returns the path to read it from."""
        return self.new_path(name) if self.checkpoint is None else self.checkpoint.unfinished(name)

    def finish(self, name: str, written: Path) -> Path:
        """Mark a written file as finished, and return the path to read it from."""
        if self.checkpoint is None:
            return written
        with self.disk_errors():
            return self.checkpoint.finish(name)

    def new_path(self, name: str) -> Path:
        """Return an unused path for a file with this name."""
        self._names += 1
        return self.folder / f"{self._names}-{name}"

    def release_memory(self) -> None:
        """Let the system drop the pages of mapped files from memory; the files keep their content."""
        for ref in self._maps:
            mapped = ref()
            if mapped is not None:
                with suppress(OSError, ValueError, AttributeError):  # not every system can
                    mapped.madvise(mmap.MADV_DONTNEED)


def _freed(whose: weakref.ref[Workspace], size: int) -> None:
    """Subtract the bytes of a freed array from the workspace's count, without keeping the workspace alive."""
    workspace = whose()
    if workspace is not None:
        workspace._used -= size


def _reserve(handle: int, size: int) -> None:
    """Extend a file to a size, reserving the space on the disk if the system can."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
    else:
        os.ftruncate(handle, size)


def _of_machine() -> int:
    """Return the bytes of memory of this machine, or of its container if that has less."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        whole = _UNKNOWN
    with suppress(OSError, ValueError):
        whole = min(whole, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return whole


def full(folder: Path, size: int | None, error: OSError) -> OutputError:
    """Build the error for a full temporary disk; `size` is the number of bytes needed, if known."""
    amount = "" if size is None else f"{max(size, 100_000) / 1e6:,.1f} MB of "
    amount = f"{size / 1e9:,.1f} GB of " if size and size >= 1e9 else amount
    return OutputError(
        f"no room for {amount}temporary files in {folder.parent}: "
        + (os.strerror(error.errno) if error.errno else "the disk is full"),
        hint="make room there, or name another place in the variable TMPDIR; nothing was written",
    )


def memory_of(text: str | int | None) -> int:
    """Return a memory limit such as ``"4GB"`` in bytes; by default half of the machine's memory.

    Raises
    ------
    ParameterError
        The text is not a size, or the size is too small to work with.

    Examples
    --------
    >>> memory_of("4GB"), memory_of("1.5 GiB")
    (4000000000, 1610612736)
    """
    if text is None:
        return max(_of_machine() // 2, LEAST)
    parsed = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", str(text).upper())
    if isinstance(text, bool) or parsed is None or parsed[2] == "I":
        raise ParameterError(f"memory is {text!r}, which is not a size", hint='write it as "4GB"')
    size = int(float(parsed[1]) * _UNITS[parsed[2]])
    if size < LEAST:
        raise ParameterError(
            f"memory is {size / 1e6:,.0f} MB, which is hardly enough for the program itself",
            hint=f"allow at least {LEAST / 1e6:,.0f} MB",
        )
    return size


def job_digest(files: Sequence[Path], *options: Any) -> str:
    """Return a hash of the state of the files, and of the options with which they are read."""
    state: list[Any] = [_VERSION, _since_start(), *map(str, options)]
    for path in files:
        about = path.stat()
        with open(path, "rb") as file:
            file.seek(max(about.st_size - _END, 0))
            end = hashlib.sha256(file.read()).hexdigest()
        # a tool that alters a file may set st_mtime back; nobody sets st_ctime
        times = [about.st_mtime_ns, about.st_ctime_ns]
        state.append([str(path.resolve()), about.st_ino, about.st_size, *times, end])
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()[:24]


def _since_start() -> str:
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return "unknown"


class Checkpoint:
    """The finished files of one job, in a folder that stays locked until `close`.

    Parameters
    ----------
    home : Path
        The folder for temporary files.
    job : str
        The digest of the work, from `job_digest`.

    Raises
    ------
    OSError
        Another process is at the same work, or the folder cannot be private.
    """

    def __init__(self, home: Path, job: str) -> None:
        self.folder = home / f"{_CHECKPOINT}{job}"
        with suppress(FileExistsError):
            self.folder.mkdir(mode=0o700)
        about = self.folder.lstat()
        if not stat.S_ISDIR(about.st_mode) or not _is_private(about):
            raise PermissionError("somebody else made the folder")
        self._lock = locked(self.folder)
        for path in self.folder.iterdir():
            if path.name.startswith(_UNFINISHED):
                path.unlink()
        self._checked: set[str] = set()
        self.file_names = [path.name for path in sorted(self.folder.iterdir()) if self._is_whole(path)]
        # the time of the last run, by which others see that nobody resumes it
        os.utime(self.folder)

    def close(self) -> None:
        """Remove the folder and its files, because the work is done or was abandoned."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)

    def finished(self, name: str) -> Path | None:
        """Return the path of the finished file with this name, or None if there is none."""
        path = self.folder / name
        if not path.is_symlink() and not path.exists():
            return None
        if name not in self._checked:
            if not self._is_whole(path) or _file_hash(path) != self._sum(name).read_bytes():
                path.unlink()
                return None
            self._checked.add(name)
        return path

    def _sum(self, name: str) -> Path:
        return self.folder / f"{_SUM}{name}"

    def _is_whole(self, path: Path) -> bool:
        """Return whether a file and its hash are there and private to this user."""
        files = path, self._sum(path.name)
        return not path.name.startswith(_SUM) and all(map(_is_private_file, files))

    def unfinished(self, name: str) -> Path:
        """Return the path to write a file to, after removing an unfinished one."""
        path = self.folder / f"{_UNFINISHED}{name}"
        path.unlink(missing_ok=True)
        return path

    def finish(self, name: str) -> Path:
        """Store the hash of a written file and rename it to its final name; return its path."""
        written = self.folder / f"{_UNFINISHED}{name}"
        self._sum(name).unlink(missing_ok=True)
        with private_handle(self._sum(name)) as file:
            file.write(_file_hash(written))
        # the hash is written first: a file that has its name is whole
        os.replace(written, self.folder / name)
        self._checked.add(name)
        return self.folder / name


def _is_private(about: os.stat_result) -> bool:
    """Return whether only this user may read or write a file or folder."""
    mine = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return mine and not stat.S_IMODE(about.st_mode) & 0o077


def _is_private_file(path: Path) -> bool:
    """Return whether a path is a regular file that only this user may access, with no second hard link."""
    try:
        about = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(about.st_mode) and about.st_nlink == 1 and _is_private(about)


def _file_hash(path: Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest().encode()


def remove_stale_checkpoints(home: Path) -> None:
    """Remove the folders of killed runs that nobody resumed for a day."""
    for path in home.glob(f"{_CHECKPOINT}*"):
        with suppress(OSError):  # it may be locked, just removed, or somebody else's
            old = time.time() - path.lstat().st_mtime > _SECONDS
            if old and not path.is_symlink():
                handle = locked(path)
                shutil.rmtree(path, ignore_errors=True)
                os.close(handle)


def remove_checkpoint(home: Path, job: str) -> None:
    """Remove the files that a killed run left behind."""
    with suppress(OSError):
        Checkpoint(home, job).close()


def keep_small() -> None:
    """Make the C library return freed arrays to the system at once, from now on."""
    if _tune is not None:
        # glibc no longer raises the size from which memory is mapped, and threads share two heaps
        _tune(_MMAP_THRESHOLD, _LARGE)
        _tune(_ARENA_MAX, 2)


def give_back() -> None:
    """Return freed memory to the system, which allocators would otherwise keep for later."""
    pa.default_memory_pool().release_unused()
    if _trim is not None:
        _trim(0)
