"""A release as a folder that appears whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from ..errors import OutputError
from ..files import unwritable

PLAN, AUDIT, RECIPIENT, REPORT = "plan.json", "audit.json", "RECIPIENT.md", "report.html"


MARKS, PUBLIC_MARKS = frozenset({PLAN, AUDIT}), frozenset({RECIPIENT})
"""The files by which a release folder, and one that was handed out, are known again."""


def write_folder(
    folder: Path,
    fill: Callable[[Path], None],
    *,
    force: bool = False,
    marks: frozenset[str] = MARKS,
) -> Path:
    """Fill a hidden folder, and only then give it its name.

    Parameters
    ----------
    folder : Path
        Where to; its parent must exist.
    fill : callable
        Writes the files into the folder it is given; what it raises removes them all.
    force : bool
        Replace an earlier release.
    marks : set of str
        The files that an earlier one holds.
    """
    check_target(folder, force, marks)
    try:
        hidden = Path(
            tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent)
        )  # mode 0700
    except OSError as error:
        raise unwritable(folder, error) from None
    try:
        fill(hidden)
        _put(hidden, folder, force, marks)
    except OSError as error:
        raise unwritable(folder, error) from None
    finally:  # also on Ctrl-C; once the folder has its name this finds nothing
        shutil.rmtree(hidden, ignore_errors=True)
    return folder


def check_target(folder: Path, force: bool = False, marks: frozenset[str] = MARKS) -> None:
    """Raise OutputError when a release cannot go there; called before long work as well."""
    if not folder.name:
        raise OutputError(f"{str(folder)!r} is no name for a release folder")
    if not folder.parent.is_dir():
        raise OutputError(
            f"there is no folder {folder.parent} to write the release {folder.name} in",
            hint="make it first, or choose another --out",
        )
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise OutputError(f"{folder} exists and is not a folder", hint="choose another name")
    if folder.exists():
        if not force:
            raise OutputError(
                f"{folder} exists already", hint="choose another name, or replace it with --force"
            )
        # --force replaces a release, never a folder that happens to have the name
        inside = {entry.name for entry in folder.iterdir()}
        if marks == PUBLIC_MARKS and MARKS & inside:
            raise OutputError(
                f"{folder} holds a private release, so nothing to hand out replaces it",
                hint="choose another name, or remove it yourself",
            )
        if inside and not marks <= inside:
            raise OutputError(
                f"{folder} is not a release folder, so it is not replaced",
                hint="choose another name, or remove it yourself",
            )


def _put(hidden: Path, folder: Path, force: bool, marks: frozenset[str]) -> None:
    if not folder.exists():
        os.rename(hidden, folder)
        return
    check_target(folder, force, marks)
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".old", dir=folder.parent))
    try:
        os.rename(folder, aside / "old")
        try:
            os.rename(hidden, folder)
        except BaseException:
            os.rename(aside / "old", folder)
            raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)
