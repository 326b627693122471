"""Room for what is larger than memory: arrays that lie in files, and a private folder."""

from __future__ import annotations

import mmap
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import OutputError, ParameterError, no_memory
from ..files import private_handle, temporary_folder
from .array_memory import keep_small
from .checkpoint import Kept, left

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
          "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}  # fmt: skip
LEAST = 1 << 29
"""Less memory holds no more than the interpreter and the compiled kernels."""
_ARRAYS = 16
"""Arrays stay in memory while they take no more than one part in so many of it."""
_UNKNOWN = 8 << 30
"""Memory of a machine that does not tell."""


class Workspace:
    """A private folder (mode 0700) of temporary files, and a limit of memory.

    It lies where the system keeps temporary files (the variable TMPDIR says where), and is
    removed by `close`, when nobody uses it any more, and when the interpreter ends; what a killed
    process left there is removed by the next one that makes a workspace.

    Parameters
    ----------
    memory : int
        Bytes.
    job : str, optional
        What the work is (`kept.job_of`): finished files then stand in a folder of their own, which
        a killed process leaves for the same work to go on from.
    """

    def __init__(self, memory: int, job: str | None = None) -> None:
        self.memory = memory
        self.kept: Kept | None = None
        self.not_kept: str | None = None
        self._used = self._names = 0
        keep_small()
        self._maps: list[weakref.ref[mmap.mmap]] = []
        home = Path(tempfile.gettempdir())
        for abandoned in left(home):
            shutil.rmtree(abandoned, ignore_errors=True)
        stack = ExitStack()
        try:
            if job is not None:
                try:
                    self.kept = Kept(home, job)
                    stack.callback(self.kept.close)
                except BlockingIOError:
                    self.not_kept = "another process is at the same work"
                except OSError as error:
                    self.not_kept = f"its folder in {home} cannot be used ({error.strerror or error})"
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
        """An array to fill: in memory while arrays are few, else in a file that has no name.

        Under a `name` it can be finished, where finished files are kept.
        """
        kind = np.dtype(kind)
        size = int(np.prod(shape)) * kind.itemsize
        if self.kept is not None and name is not None:
            with private_handle(self.kept.unfinished(name)) as file:
                return self._mapped(file, shape, kind, size)
        if self._used + size <= self.memory // _ARRAYS:
            self._used += size
            made = np.empty(shape, kind)
            weakref.finalize(made, _freed, weakref.ref(self), size)
            return made
        with tempfile.TemporaryFile(dir=self.folder) as file:
            return self._mapped(file, shape, kind, size)

    def _mapped(
        self, file: IO[bytes], shape: tuple[int, ...], kind: Any, size: int
    ) -> NDArray[Any]:
        """The array in a file, which is made as large."""
        try:
            _reserve(file.fileno(), max(size, 1))
        except OSError as error:
            raise full(self.folder, size, error) from None
        mapped = mmap.mmap(file.fileno(), max(size, 1))
        self._maps = [ref for ref in self._maps if ref() is not None]
        self._maps.append(weakref.ref(mapped))
        return np.frombuffer(mapped, kind, int(np.prod(shape))).reshape(shape)

    @contextmanager
    def room(self) -> Iterator[None]:
        """Temporary files are written here; OutputError where they find no room."""
        try:
            yield
        except OSError as error:
            if no_memory(error):
                raise MemoryError from None
            raise full(self.folder, None, error) from None

    def finished(self, name: str) -> Path | None:
        """A finished file of that name, which a killed run may have left."""
        return None if self.kept is None else self.kept.finished(name)

    def held(self, name: str, shape: tuple[int, ...], kind: Any) -> NDArray[Any] | None:
        """A finished array of that name."""
        path, kind = self.finished(name), np.dtype(kind)
        size = int(np.prod(shape)) * kind.itemsize
        if path is None or path.stat().st_size != max(size, 1):
            return None
        with open(path, "r+b") as file:
            return self._mapped(file, shape, kind, size)

    def place(self, name: str) -> Path:
        """Where to write a file of that name; `finish` says where it is then."""
        return self.named(name) if self.kept is None else self.kept.unfinished(name)

    def finish(self, name: str, written: Path) -> Path:
        """A file that was written at its place, as it is to be read."""
        if self.kept is None:
            return written
        with self.room():
            return self.kept.finish(name)

    def named(self, name: str) -> Path:
        """A path of its own for a file of that name."""
        self._names += 1
        return self.folder / f"{self._names}-{name}"

    def give_back(self) -> None:
        """Let the system take the pages of mapped files out of memory; what they hold stays."""
        for ref in self._maps:
            mapped = ref()
            if mapped is not None:
                with suppress(OSError, ValueError, AttributeError):  # not every system can
                    mapped.madvise(mmap.MADV_DONTNEED)


def _freed(whose: weakref.ref[Workspace], size: int) -> None:
    """An array in memory is gone; whoever holds one does not hold the workspace."""
    workspace = whose()
    if workspace is not None:
        workspace._used -= size


def _reserve(handle: int, size: int) -> None:
    """Make a file of some size whose room on the disk is its own, where the system can."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
    else:
        os.ftruncate(handle, size)


def _of_machine() -> int:
    """Bytes of memory that this process may have: the machine's, or those of its container."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        whole = _UNKNOWN
    with suppress(OSError, ValueError):
        whole = min(whole, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return whole


def full(folder: Path, size: int | None, error: OSError) -> OutputError:
    """What is said where temporary files find no room; `size` is what they take, where it is known."""
    told = "" if size is None else f"{max(size, 100_000) / 1e6:,.1f} MB of "
    told = f"{size / 1e9:,.1f} GB of " if size and size >= 1e9 else told
    return OutputError(
        f"no room for {told}temporary files in {folder.parent}: "
        + (os.strerror(error.errno) if error.errno else "the disk is full"),
        hint="make room there, or name another place in the variable TMPDIR; nothing was written",
    )


def memory_of(text: str | int | None) -> int:
    """A limit of memory in bytes, such as ``"4GB"``; by default half of what the machine has.

    Raises
    ------
    ParameterError
        It is no size, or so small that nothing can be done within it.

    Examples
    --------
    >>> memory_of("4GB"), memory_of("1.5 GiB")
    (4000000000, 1610612736)
    """
    if text is None:
        return max(_of_machine() // 2, LEAST)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", str(text).upper())
    if isinstance(text, bool) or found is None or found[2] == "I":
        raise ParameterError(f"memory is {text!r}, which is not a size", hint='write it as "4GB"')
    size = int(float(found[1]) * _UNITS[found[2]])
    if size < LEAST:
        raise ParameterError(
            f"memory is {size / 1e6:,.0f} MB, which is hardly enough for the program itself",
            hint=f"allow at least {LEAST / 1e6:,.0f} MB",
        )
    return size
