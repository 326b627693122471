"""Files that a command is asked to write: told at once where that cannot be."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..files import same_file
from ..validation import PATH, check
from ..workflow.options import Option, under

ESCAPE = Option(
    "escape", bool, "CSV: an apostrophe before cells that a spreadsheet would run. Default: yes."
)
DATE = Option("date", str, "The day that the report names, such as 2026-01-31. Default: none.")
KEEP_ORDER = Option(
    "keep_order",
    bool,
    "Leave the records in the order of the input, which may show who is who. Default: no.",
)
FORCE = Option("force", bool, "Replace an earlier release of that name.")
PARTS = Option(
    "parts",
    bool,
    "Write a folder of Parquet files of 1,048,576 rows each in place of one file. Default: no.",
)

ENGINE = under(
    "Engine",
    Option(
        "engine",
        str,
        "Where: auto, memory, duckdb for tables larger than memory, or spark; the result is the "
        "same. Default: auto.",
    ),
    Option(
        "memory",
        str,
        "Most memory that duckdb, or this process beside spark, takes, such as 4GB. Default: half of it.",
    ),
)
RESTART = under(
    "Engine",
    Option(
        "restart",
        bool,
        "Begin anew where a run of duckdb was killed; else the same command goes on from what "
        "was finished. Default: no.",
    ),
)


REPORT, NUMBERS, PICTURE = b"<title>Release report", b'{\n "hedgerow_audit"', b"<svg "
EVIDENCE_FILE = b'{\n "hedgerow_evidence"'
POINTS = b",mean_over_groups,mean_over_records,linkage,ncp,"
"""How files of ours begin that are written anew without being asked."""
_HEAD = 4096


def new_file(
    path: str | Path,
    *,
    force: bool = False,
    hint: str = "choose another name",
    mark: bytes | None = None,
    inputs: Iterable[Any] = (),
    endings: Collection[str] = (),
) -> Path:
    """A file to write; OutputError where it cannot stand, or replaces what it must not.

    Parameters
    ----------
    path : path
    force : bool
        Replace a file of that name.
    hint : str
        What to do where there is one.
    mark : bytes, optional
        Replace a file that begins with these bytes, for it is ours.
    inputs : iterable
        Paths of files that the command reads, which nothing replaces; None is passed over.
    endings : collection of str
        What a name with an ending can end in; any by default.
    """
    check("the name of a file to write", path, PATH)
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"cannot write {target}: it is a folder", hint="name a file")
    if not target.parent.is_dir():
        raise OutputError(f"cannot write {target}: its folder does not exist")
    if any(isinstance(each, (str, Path)) and same_file(each, target) for each in inputs):
        raise OutputError(
            f"{target} is an input, so it is not replaced", hint="choose another name"
        )
    if target.is_file() and mark is not None:
        with target.open("rb") as file:
            if mark not in file.read(_HEAD):
                raise OutputError(
                    f"{target} exists and is no earlier one, so it is not replaced", hint=hint
                )
    elif target.exists() and not force and mark is None:
        raise OutputError(f"{target} exists already", hint=hint)
    if endings and target.suffix and target.suffix.lower() not in endings:
        raise OutputError(
            f"cannot write {target}: its ending is of another format",
            hint=f"it can end in {', '.join(sorted(endings))}",
        )
    return target


def each_apart(**targets: str | Path | None) -> None:
    """Refuse a name that two options write to, where the later would replace the earlier."""
    names: dict[str, str] = {}
    for option, path in targets.items():
        if not path:
            continue
        other = names.setdefault(os.path.realpath(path), option)
        if other != option:
            raise OutputError(
                f"--{other} and --{option} name one place, {path}", hint="give each its own"
            )
