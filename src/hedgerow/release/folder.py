"""A release folder, read again as its recipient reads it."""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..backends import engine
from ..columns.table import Table
from ..errors import HedgerowError, InputError
from ..io.file_sets import parts_of
from ..io.write import PART_FILE
from ..schema import Schema


def released_file(folder: Path, name: str = "release") -> Path:
    """The file of a folder's released table, or of the second one that stands beside it.

    Of a table in parts it is their folder.

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


def parts_in(folder: Path) -> list[Path]:
    """The files of a table that was written in parts, in their order.

    Raises
    ------
    InputError
        One is missing, or something else lies there.
    """
    inside = {path.name for path in folder.iterdir()}
    names = [PART_FILE.format(i) for i in range(len(inside))]
    odd = sorted(inside.symmetric_difference(names))
    if odd or not names:
        told = f"lacks or should not hold {', '.join(odd[:3])}" if odd else "is empty"
        raise InputError(
            f"the folder {folder} {told}: it is no table in parts",
            hint=f"its files are called {names[0] if names else PART_FILE.format(0)} and so on",
        )
    return [folder / name for name in names]


def whole(source: Any, schema: Schema | None = None) -> Table:
    """A released table, read whole as its recipient reads it."""
    return engine("memory").open(source, schema=schema, unescape_formulas=True)


def is_table(path: Path) -> bool:
    """Whether a path is a file, or a folder of the parts of a table."""
    return path.is_file() or (path / PART_FILE.format(0)).is_file()


def told_of(path: Path) -> dict[str, Any]:
    """Name, hash and size of a file; of a table in parts, those of its files joined in order."""
    digest, size = hashlib.sha256(), 0
    for part in parts_of(path):
        with open(part, "rb") as stream:
            while piece := stream.read(1 << 22):
                digest.update(piece)
                size += len(piece)
    return {"name": path.name, "sha256": digest.hexdigest(), "bytes": size}


def altered(folder: Path, record: str) -> str | None:
    """What is said of a release folder whose table is not the one that its record tells of."""
    with suppress(OSError, ValueError, LookupError, TypeError, HedgerowError):
        told = json.loads((folder / record).read_bytes())["release"]["file"]
        if told != told_of(released_file(folder)):
            return (
                f"{told['name']} is no longer the table that {record} tells of: something of it is "
                "missing, or was altered since it was verified"
            )
    return None
