"""A release as a folder that appears whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hedgerow

from ..errors import OutputError
from ..files import write_private
from ..plan.codec import dumps
from ..progress import Progress, Tell, telling
from ..table import Table, read
from ..table.write import write_table
from .recipient import recipient
from .truthfulness import unchanged
from .verify import require

if TYPE_CHECKING:
    from .release import Release

PLAN, AUDIT, RECIPIENT, REPORT = "plan.json", "audit.json", "RECIPIENT.md", "report.html"


def write(
    release: Release,
    folder: Path,
    *,
    force: bool,
    escape: bool,
    measured: Any = None,
    progress: Progress | None = None,
) -> Path:
    """Write, read back, verify, and only then give the folder its name."""
    check_target(folder, force)
    try:
        hidden = Path(
            tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent)
        )  # mode 0700
    except OSError as error:
        raise _cannot(folder, error) from None
    try:
        _fill(release, hidden, escape, measured, telling(progress))
        _put(hidden, folder, force)
    except OSError as error:
        raise _cannot(folder, error) from None
    finally:  # also on Ctrl-C; once the folder has its name this finds nothing
        shutil.rmtree(hidden, ignore_errors=True)
    return folder


def check_target(folder: Path, force: bool = False) -> None:
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
        if inside and not {PLAN, AUDIT} <= inside:
            raise OutputError(
                f"{folder} is not a release folder, so it is not replaced",
                hint="choose another name, or remove it yourself",
            )


def _fill(
    release: Release,
    folder: Path,
    escape: bool,
    measured: Any,
    step: Tell,
) -> None:
    file = folder / f"release{release.original.suffix}"
    step("writing")
    write_table(release.released.arrow, file, like=release.original, escape=escape)
    step("reading back")
    # What was recoded repeats: whole columns of text need not be made to be compared.
    back = read(file, unescape_formulas=escape, dictionaries=release.recoded)
    checks = release.checks if _identical(release.released, back) else release.verify_table(back)
    require(checks, where=f"the written file {file.name}")
    files = release.method.release_files(release)
    extra = {**files.public, **files.private}
    numbers = audit(release, file)
    if measured is not None:
        numbers["measured"] = measured.to_dict()
        measured.report(
            folder / REPORT,
            plan=release.plan,
            checks=release.checks,
            drawings={name: text for name, text in extra.items() if name.endswith(".svg")},
        )
    texts = {
        PLAN: dumps(release.plan),
        AUDIT: json.dumps(numbers, indent=2, allow_nan=False) + "\n",
        RECIPIENT: recipient(release, file.name),
    }
    for name, text in {**texts, **extra}.items():
        write_private(folder / name, text)


def _identical(released: Table, back: Table) -> bool:
    """Whether the file holds exactly the table that was verified, column by column."""
    return (
        released.names == back.names
        and released.n_rows == back.n_rows
        and all(
            _plain(released.arrow.column(n).type) == _plain(back.arrow.column(n).type)
            and unchanged(n, released, back)
            for n in back.names
        )
    )


def _plain(kind: Any) -> Any:
    """A column's type; for a dictionary, which files write out, that of its values."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _put(hidden: Path, folder: Path, force: bool) -> None:
    if not folder.exists():
        os.rename(hidden, folder)
        return
    check_target(folder, force)
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


def _cannot(folder: Path, error: OSError) -> OutputError:
    return OutputError(
        f"cannot write {folder}: {error.strerror or 'the file system refused it'}",
        hint="nothing was left behind; choose another place, or make room there",
    )


def audit(release: Release, file: Path) -> dict[str, Any]:
    """What ``audit.json`` says: the promises as verified, the numbers, how the release was made."""
    with open(file, "rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    plan = release.plan
    return {
        "hedgerow_audit": 1,
        "hedgerow": hedgerow.__version__,
        "libraries": _versions("numpy", "pyarrow", "scikit-learn", "numba"),
        "parameters": dict(plan.parameters),
        "columns": {
            role: plan.names(role) for role in ("quasi", "sensitive", "other", "identifier")
        },
        "pseudonyms": list(release.pseudonyms),
        "file": {"name": file.name, "sha256": digest, "bytes": file.stat().st_size},
        **release.summary(),
    }


def _versions(*names: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in names:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found
