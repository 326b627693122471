"""Storage for data larger than memory: a private folder, and arrays in files."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import sys
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import OutputError, ParameterError, translated
from ..files import temporary_folder

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
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._used = self._names = 0
        keep_small()
        self._maps: list[weakref.ref[mmap.mmap]] = []
        stack = ExitStack()
        try:
            self.folder = stack.enter_context(temporary_folder())
        except OSError as error:
            raise OutputError(
                f"no temporary folder can be made in {tempfile.gettempdir()}: {error.strerror}",
                hint="name another place in the variable TMPDIR",
            ) from None
        self.close = weakref.finalize(self, stack.close)

    def allocate(self, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
        """Return an array to be filled, in memory if enough is left, otherwise in an unnamed file."""
        kind = np.dtype(kind)
        size = int(np.prod(shape)) * kind.itemsize
        if self._used + size <= self.memory // _ARRAYS:
            self._used += size
            array = np.empty(shape, kind)
            # counted while it lives, so that memory that was freed can be used again
            weakref.finalize(array, _freed, weakref.ref(self), size)
            return array
        with tempfile.TemporaryFile(dir=self.folder) as file:
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
        with translated(OSError, lambda error: full(self.folder, None, error)):
            yield

    def new_path(self, name: str) -> Path:
        """Return an unused path for a file with this name."""
        self._names += 1
        return self.folder / f"{self._names}-{name}"

    def release_memory(self) -> None:
        """Let the system drop the pages of mapped files from memory; the files keep their content."""
        for ref in self._maps:
            mapped = ref()
            if mapped is not None and sys.platform != "win32":  # which writes pages out by itself
                with suppress(OSError, ValueError):  # not every system can
                    mapped.madvise(mmap.MADV_DONTNEED)


def _freed(whose: weakref.ref[Workspace], size: int) -> None:
    """Subtract the bytes of a freed array from the workspace's count, without keeping the workspace alive."""
    if (workspace := whose()) is not None:
        workspace._used -= size


def _reserve(handle: int, size: int) -> None:
    """Extend a file to a size, reserving the space on the disk if the system can."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
    else:
        os.ftruncate(handle, size)


def _of_machine() -> int:
    """Return the bytes of memory of this machine, or of its container if that has less."""
    if sys.platform == "win32":
        # a MEMORYSTATUSEX: its own size in bytes, then numbers of 64 bits, of which the first is all memory
        status = (ctypes.c_uint64 * 8)(64)
        return status[1] if ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)) else _UNKNOWN
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        whole = _UNKNOWN
    with suppress(OSError, ValueError):
        whole = min(whole, int(Path("/sys/fs/cgroup/memory.max").read_text("ascii")))
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
            f"memory is {size / 1e6:,.0f} MB, hardly enough to start", hint=f"allow {LEAST / 1e6:,.0f} MB"
        )
    return size


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
