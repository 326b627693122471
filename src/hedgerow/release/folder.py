"""Read, check, write and replace release folders."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..backends import engine
from ..columns.table import Table
from ..columns.to_parquet import OpenOptions
from ..errors import HedgerowError, InputError, OutputError
from ..files import OLD, PART, SUFFIXES, abandoned, private_folder, same_file, sweep, synced, unwritable
from ..io.file_format import would_join
from ..io.file_sets import PART as PART_NAME
from ..io.file_sets import parts_of
from ..io.write import PART_FILE
from ..schema import Schema
from ..texts import text
from ..validation import PATH, check


def released_file(folder: Path, name: str = "release") -> Path:
    """Return the path of a folder's released table, or of its second table.

    For a table in parts this is the folder that holds the parts.

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
    """Return the files of a table that was written in parts, in order.

    Raises
    ------
    InputError
        A part is missing, or the folder holds something else.
    """
    inside = {path.name for path in folder.iterdir()}
    names = [PART_FILE.format(i) for i in range(len(inside))]
    if (unexpected := sorted(inside.symmetric_difference(names))) or not names:
        listed = f"{', '.join(unexpected[:3])} missing or of another origin" if unexpected else "no files"
        raise InputError(
            f"the folder {folder} is not a table in parts ({listed})",
            hint=f"its files are called {PART_FILE.format(0)} and so on",
        )
    return [folder / name for name in names]


def whole(source: Any, schema: Schema | None = None) -> Table:
    """Read a whole released table as its recipient reads it."""
    return engine("memory").open(source, OpenOptions(schema, unescape_formulas=True))


def is_table(path: Path) -> bool:
    """Return whether a path is a table: a file, or a folder that holds a table in parts."""
    return path.is_file() or (path / PART_FILE.format(0)).is_file()


def file_facts(path: Path) -> dict[str, object]:
    """Return a file's name, hash and size; a table in parts counts as its files joined in order."""
    digest, size = hashlib.sha256(), 0
    for part in parts_of(path) if path.is_dir() else [path]:
        with open(part, "rb") as stream:
            while piece := stream.read(1 << 22):
                digest.update(piece)
                size += len(piece)
    return {"name": path.name, "sha256": digest.hexdigest(), "bytes": size}


def altered(folder: Path, record: str) -> str | None:
    """Return a warning if the folder's table or plan does not match the record of its writing; else None."""
    if not (folder / PLAN).exists() and not (folder / record).exists():  # as in what is handed out
        return None
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError, HedgerowError):
        recorded = json.loads((folder / record).read_bytes())["release"]
        for what, path in (("file", released_file(folder)), ("plan", folder / PLAN)):
            if what in recorded and recorded[what] != file_facts(path):
                return text("caution", "altered", name=path.name, record=record)
        return None
    return text("caution", "no_record", record=record)


PLAN, AUDIT, RECIPIENT, REPORT = "plan.json", "audit.json", "RECIPIENT.md", "report.html"
EVIDENCE, MAPPING = "evidence.json", "mapping.json"
HASHES, SIGNATURE = "hashes.txt", "hashes.txt.sig"


# The files by which a release folder, and one that was handed out, are known again.
MARKS, PUBLIC_MARKS = frozenset({PLAN, AUDIT}), frozenset({RECIPIENT})
# The file by which a folder that is a table in parts is known again.
PARTS_MARKS = frozenset({PART_FILE.format(0)})
OURS = MARKS | PUBLIC_MARKS | {REPORT, MAPPING, "MASKING.md", "model.json", "public.json"}
# Every name that a release folder may hold: a folder with others is its owner's.
OURS |= {EVIDENCE, HASHES, SIGNATURE} | {stem + end for stem in ("release", "sensitive") for end in SUFFIXES}


def write_folder(
    folder: Path, fill: Callable[[Path], None], *, force: bool = False, marks: frozenset[str] = MARKS
) -> Path:
    """Write a folder's files under a hidden name, and rename the folder when it is complete.

    Parameters
    ----------
    folder : Path
        The folder to create; its parent must exist.
    fill : callable
        Called with the hidden folder, to write the files into it. If it raises, they are all removed.
    force : bool
        Replace an earlier release.
    marks : set of str
        File names by which an earlier release is recognised.
    """
    check_target(folder, force, marks)
    try:
        with private_folder(folder, PART) as hidden:
            fill(hidden)
            # names are on the disk before the folder can replace an earlier one
            synced(hidden)
            _rename(hidden, folder, force, marks)
            synced(folder.parent)
    except OSError as error:
        raise unwritable(folder, error) from None
    return folder


def write_release(
    folder: Path,
    public: str | Path | None,
    fill: Callable[[Path], Sequence[str]],
    *,
    force: bool,
    inputs: Iterable[str | Path | None],
    report: Callable[[Path], None] | None = None,
) -> Path:
    """Write a release folder and, if `public` is given, a folder with the files that may be published.

    Parameters
    ----------
    folder : Path
    public : path, optional
        It gets the recipient's report as well, if there is one.
    fill : callable
        Writes all files into the folder that it is given; returns the names of those to publish.
    force : bool
        Replace earlier folders of these names.
    inputs : iterable of path
        Files that neither folder may replace.
    report : callable, optional
        Writes the recipient's report to the file that it is given.
    """
    check_target(folder, force, inputs=inputs)
    outer = None if public is None else Path(public)
    # what is written for others must not take private files with it
    if outer is not None:
        check_target(outer, force, PUBLIC_MARKS, inputs)
        here, there = folder.resolve(), outer.resolve()
        if there in (here, *here.parents) or here in there.parents:
            raise OutputError(f"{outer} and the private folder must not lie in one another", hint="choose another name")

    def fill_both(inside: Path) -> None:
        published = fill(inside)

        def hand_out(out: Path) -> None:
            for name in published:
                copy = shutil.copytree if (inside / name).is_dir() else shutil.copy
                copy(inside / name, out / name)
            if report is not None:
                report(out / REPORT)

        # inside, so that a folder to hand out which fails leaves no release behind
        if outer is not None:
            write_folder(outer, hand_out, force=force, marks=PUBLIC_MARKS)

    return write_folder(folder, fill_both, force=force)


def recover(folder: Path) -> None:
    """Restore a folder after its replacement was interrupted by a killed process."""
    with suppress(OSError):  # what is wrong there is reported by the writing that follows
        prefix = f".{folder.name}."
        for aside in abandoned(folder.parent, prefix, OLD):
            if (aside / "old").is_dir() and not folder.exists():
                os.rename(aside / "old", folder)
            shutil.rmtree(aside, ignore_errors=True)
        sweep(folder.parent, prefix)


def check_target(
    folder: Path, force: bool = False, marks: frozenset[str] = MARKS, inputs: Iterable[str | Path | None] = ()
) -> None:
    """Raise OutputError if a release cannot be written to this folder; also called before long work."""
    check("the folder of a release", folder, PATH)
    recover(folder)
    try:
        folder.exists()
    except OSError as error:  # no name that the system takes
        raise unwritable(folder, error) from None
    for path in (each for each in inputs if each is not None):
        if folder.is_dir() and _holds(folder, path):
            raise OutputError(f"{folder} holds {Path(path).name}, which is an input", hint="choose another name")
        check_apart(path, folder)
    if not folder.name:
        raise OutputError(f"{str(folder)!r} is no name for a release folder")
    if not folder.parent.is_dir():
        raise OutputError(
            f"there is no folder {folder.parent} to write the release {folder.name} in",
            hint="make it first, or choose another --out",
        )
    if not os.access(folder.parent, os.W_OK):
        raise OutputError(
            f"the folder {folder.parent} cannot be written to, so no release can be made in it",
            hint="choose another --out, or have somebody allow it",
        )
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise OutputError(f"{folder} exists and is not a folder", hint="choose another name")
    if folder.exists():
        if not force:
            raise OutputError(
                f"{folder} exists already", hint="choose another name, or replace it with --force (force=True)"
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
        if foreign := sorted(e.name for e in folder.iterdir() if not _ours(e, marks)):
            raise OutputError(
                f"{folder} holds what no release wrote ({', '.join(foreign[:3])}), so it is not replaced",
                hint="choose another name, or move it away yourself",
            )


def check_apart(source: str | Path, target: Path) -> None:
    """Raise OutputError if the output file would become one of the source table's part files."""
    if would_join(source, target):
        raise OutputError(
            f"{target} would lie among the parts of {source}, and be read with them from then on",
            hint="choose a place outside of it",
        )


def _holds(folder: Path, path: str | Path) -> bool:
    """Return whether an input (a file, folder or pattern) lies inside a folder."""
    linked = any(same_file(path, entry) for entry in folder.iterdir())
    return linked or folder.resolve() in (Path(path).resolve(), *Path(path).resolve().parents)


def _ours(entry: Path, marks: frozenset[str]) -> bool:
    """Return whether an entry can belong to a folder that Hedgerow wrote: a known file, or the parts."""
    if marks == PARTS_MARKS:
        return not entry.is_dir() and PART_NAME.fullmatch(entry.name) is not None
    if entry.is_dir():
        return entry.name == "release" and all(_ours(e, PARTS_MARKS) for e in entry.iterdir())
    return entry.name in OURS


def _rename(hidden: Path, folder: Path, force: bool, marks: frozenset[str]) -> None:
    if not folder.exists():
        os.rename(hidden, folder)
        return
    # the folder may have changed during the long work
    check_target(folder, force, marks)
    # a folder cannot be replaced in one step, so the earlier one is kept until the new one has its name
    with private_folder(folder, OLD) as aside:
        os.rename(folder, aside / "old")
        try:
            os.rename(hidden, folder)
        except BaseException:
            os.rename(aside / "old", folder)
            raise
