"""Files that their owner alone can read, written whole or not at all; and text read."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from .errors import HedgerowError, OutputError


@contextmanager
def private_file(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write that takes its name when it is whole; mode 0600.

    Until then it stands beside, under a name of its own. A file that stood there before is
    replaced at the end, or kept when writing fails. What is no file, such as a pipe, is
    written to as it is.

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
        handle, name = tempfile.mkstemp(prefix=".hedgerow-", suffix=".part", dir=target.parent)
        try:
            with open(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(handle)  # a name must never stand for bytes that a power cut takes
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritable(path, error) from None


def unwritable(path: str | Path, error: OSError) -> OutputError:
    """What is said where the system refuses a file or a folder."""
    return OutputError(
        f"cannot write {path}: {error.strerror or 'the file system refused it'}",
        hint="nothing was left behind; choose another place, or make room there",
    )


def write_private(path: str | Path, text: str) -> None:
    """Write text to a file as `private_file` does."""
    with private_file(path) as file:
        file.write(text.encode())


def read_text(path: str | Path, what: str, error: type[HedgerowError]) -> str:
    """The text of a file; an error that says what it was to be when it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as fault:
        raise error(f"cannot read {what} {path}: {fault.strerror}") from None
    except UnicodeDecodeError:
        raise error(f"{what} {path} is not UTF-8 text") from None
