"""A release folder, read again as its recipient reads it."""

from __future__ import annotations

from pathlib import Path

from ..errors import InputError


def released_file(folder: Path, name: str = "release") -> Path:
    """The file of a folder's released table, or of the second one that stands beside it.

    Raises
    ------
    InputError
        The folder does not hold one table of that name.
    """
    files = sorted(f for f in folder.iterdir() if f.stem == name and f.suffix != ".html")
    if len(files) != 1:
        many = f"no {name} table" if not files else f"{len(files)} files named {name}"
        hint = "give the table itself" if name == "release" else "it is part of the release"
        raise InputError(f"the folder {folder} holds {many}", hint=hint)
    return files[0]
