"""Standard input as a file to read, standard output as a file to write: both are called `-`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..files import temporary_folder

STREAM = "-"
_MAGIC = (
    (b"PAR1", ".parquet"),
    (b"ARROW1", ".feather"),
    (b"\xff\xff\xff\xff", ".feather"),
    (b"PK\x03\x04", ".xlsx"),
    (b"$FL2", ".sav"),
    (b"$FL3", ".zsav"),
    (b"<stata_d", ".dta"),
    (b"HEADER R", ".xpt"),
    (b"{", ".jsonl"),
)
_held: list[Path] = []
_until_forgotten = ExitStack()


def received(given: Any) -> Any:
    """Standard input as a file that its owner alone can read, where `-` is given.

    Raises
    ------
    InputError
        It was asked for twice: it holds one table.
    """
    if given != STREAM:
        return given
    if _held:
        raise InputError("standard input is one table", hint="name a file for the other")
    _held.append(_until_forgotten.enter_context(temporary_folder()))
    source = sys.stdin.buffer
    start = source.read(8)
    suffix = next((s for magic, s in _MAGIC if start.startswith(magic)), ".csv")
    path = _held[0] / f"standard-input{suffix}"
    with open(path, "xb") as file:
        file.write(start)
        shutil.copyfileobj(source, file, 1 << 20)
    return str(path)


def named(path: Path) -> Path:
    """What a command calls a table: `-` where it came by standard input."""
    return Path(STREAM) if _held and path.parent == _held[0] else path


def forget() -> None:
    """Remove what came by standard input."""
    _held.clear()
    _until_forgotten.close()


@contextmanager
def sent(out: str | Path, suffix: str) -> Iterator[Path]:
    """Where to write a file; what was written goes to standard output where that is `-`."""
    if str(out) != STREAM:
        yield Path(out)
        return
    with temporary_folder() as folder:
        made = folder / f"table{suffix}"
        yield made
        send(made)


def send(path: Path) -> None:
    """A file on standard output."""
    sys.stdout.flush()
    with open(path, "rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
    sys.stdout.buffer.flush()
