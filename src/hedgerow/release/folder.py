"""A release folder, read again as its recipient reads it."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError
from ..table import Table, read


def released_table(folder: Path) -> Table:
    """The released table of a folder.

    Raises
    ------
    InputError
        The folder does not hold one released table.
    """
    files = sorted(f for f in folder.iterdir() if f.stem == "release" and f.suffix != ".html")
    if len(files) != 1:
        many = "no release table" if not files else f"{len(files)} files named release"
        raise InputError(f"the folder {folder} holds {many}", hint="give the table itself")
    return read(files[0], unescape_formulas=True)
