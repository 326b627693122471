"""Files that a command is asked to write: told at once where that cannot be."""

from __future__ import annotations

from pathlib import Path

from ..errors import OutputError
from ..session.options import Option

ESCAPE = Option(
    "escape", bool, "CSV: an apostrophe before cells that a spreadsheet would run. Default: yes."
)
KEEP_ORDER = Option(
    "keep_order",
    bool,
    "Leave the records in the order of the input, which may tell who is who. Default: no.",
)


def new_file(path: str | Path, *, force: bool = False, hint: str = "choose another name") -> Path:
    """A file to write; OutputError where it exists (unless forced) or cannot stand."""
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"cannot write {target}: it is a folder", hint="name a file")
    if not target.parent.is_dir():
        raise OutputError(f"cannot write {target}: its folder does not exist")
    if target.exists() and not force:
        raise OutputError(f"{target} exists already", hint=hint)
    return target
