"""Check the files that a command will write, and handle the standard streams, called `-`."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import InputError, OutputError, ParameterError
from ..files import SUFFIXES, same_file, temporary_folder
from ..io.file_format import save_stream, would_join
from ..texts import refusal
from ..validation import PATH, check
from .console import working

# how files of ours begin that are written anew without being asked
REPORT, NUMBERS, PICTURE = b"<title>Release report", b'{\n "hedgerow_audit"', b"<svg "
EVIDENCE_FILE = b'{\n "hedgerow_evidence"'
POINTS = b",mean_over_groups,mean_over_records,linkage,ncp,"
_HEAD = 4096


def new_file(
    path: str | Path,
    *,
    force: bool | None = None,
    mark: bytes | None = None,
    inputs: Iterable[Any] = (),
    endings: Collection[str] = (),
) -> Path:
    """Return the path of a file to write; raise OutputError if it is invalid or would replace a file.

    Parameters
    ----------
    path : path
    force : bool, optional
        Replace a file of that name; None if the command has no --force.
    mark : bytes, optional
        Also replace a file that begins with these bytes, since Hedgerow wrote it.
    inputs : iterable
        Paths of files that the command reads, which must never be replaced, nor a part of a folder or pattern of
        them; None is skipped.
    endings : collection of str
        The allowed file endings; any by default.
    """
    check("the name of a file to write", path, PATH)
    target = Path(path)
    if target.is_dir() or str(path).endswith((os.sep, os.altsep or os.sep)):
        raise OutputError(f"cannot write {path}: it is a folder", hint="name a file")
    if not target.parent.is_dir():
        raise OutputError(f"cannot write {target}: its folder does not exist")
    paths = [each for each in inputs if isinstance(each, (str, Path))]
    is_table = target.is_file() and target.suffix.lower() in SUFFIXES
    if any(same_file(each, target) or (is_table and would_join(each, target)) for each in paths):
        raise OutputError(f"{target} is an input, so it is not replaced", hint="choose another name")
    hint = "choose another name" + (", or replace it with --force" if force is not None else "")
    # a report or a picture that we wrote may be written anew; a file that only has its name may not
    if target.is_file() and mark is not None:
        with target.open("rb") as file:
            if mark not in file.read(_HEAD):
                raise OutputError(f"{target} exists and is no earlier one, so it is not replaced", hint=hint)
    elif target.exists() and not force and mark is None:
        raise OutputError(f"{target} exists already", hint=hint)
    if endings and target.suffix and target.suffix.lower() not in endings:
        raise OutputError(**refusal("ending", "cli", target=target, endings=", ".join(sorted(endings))))
    return target


@contextmanager
def removed_on_failure(*paths: Path) -> Iterator[None]:
    """Remove the files and folders that are not there yet, in this order, if the work that makes them fails."""
    new = [path for path in paths if not path.exists()]
    try:
        yield
    except BaseException:
        for path in new:
            with suppress(OSError):  # a folder in which there is something else stays
                path.rmdir() if path.is_dir() else path.unlink()
        raise


def check_distinct(**targets: str | Path | None) -> None:
    """Raise OutputError if two options would write to the same file."""
    places = {option: os.path.realpath(path) for option, path in targets.items() if path}
    for option, place in places.items():
        if (other := next(each for each in places if places[each] == place)) != option:
            raise OutputError(f"--{other} and --{option} name one place, {place}", hint="give each its own")


def is_stream(options: Mapping[str, object]) -> bool:
    """Return whether --out is standard output, which can take only the table."""
    if options["out"] != STREAM:
        return False
    if options.get("parts"):
        raise ParameterError("--parts writes a folder, and --out - is standard output")
    if options.get("json"):
        raise ParameterError("--json and --out - both write to standard output")
    return True


STREAM = "-"
_received: list[Path] = []
_until_forgotten = ExitStack()


def received(source: Any) -> Any:
    """Save standard input to a private file if `source` is `-`; return other sources unchanged.

    Raises
    ------
    InputError
        Standard input was requested twice, but it contains one table; or it cannot be copied.
    """
    if source != STREAM:
        return source
    if _received:
        raise InputError("standard input is one table", hint="name a file for the other")
    _received.append(_until_forgotten.enter_context(temporary_folder()))
    with working("reading") as report:
        return str(save_stream(sys.stdin.buffer, _received[0], report))


def named(path: Path) -> Path:
    """Return a table's name for messages: `-` if it came from standard input."""
    return Path(STREAM) if _received and path.parent == _received[0] else path


def forget() -> None:
    """Delete the private copy of standard input, if there is one."""
    _received.clear()
    _until_forgotten.close()


@contextmanager
def sent(out: str | Path, suffix: str) -> Iterator[Path]:
    """Yield the path to write a file to; if `out` is `-`, the file is then copied to standard output."""
    if str(out) != STREAM:
        yield Path(out)
        return
    with temporary_folder() as folder:
        path = folder / f"table{suffix}"
        yield path
        send(path)


def send(path: Path) -> None:
    """Copy a file to standard output."""
    # what was printed as text comes before the bytes
    sys.stdout.flush()
    with open(path, "rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
    sys.stdout.buffer.flush()
