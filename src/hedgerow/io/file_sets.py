"""Find the files of a table: the format of each, and the files in a folder or matching a pattern."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count, islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..columns.arrays import value_class, value_type
from ..errors import InputError, did_you_mean, translated
from ..files import SUFFIXES
from ..texts import refusal
from .file_format import HIDDEN, damaged, is_many
from .write import PART_FILE

# What the files of a table in parts are called, as we write it.
PART = re.compile(PART_FILE.replace("{:05}", r"(\d{5,})").replace(".", r"\."))
_DIGITS = 5
_SHEET = "save the sheet as .xlsx or CSV (UTF-8) first: such a workbook is not read"
_JSON = "make it a table first, for example in DuckDB: COPY (FROM 'people.jsonl') TO 'people.parquet'"
_ENDINGS = "known endings: " + ", ".join(sorted(SUFFIXES))
# What to do with files of other programs that are no tables that are read here.
_INSTEAD = {**dict.fromkeys((".xls", ".xlsb", ".ods"), _SHEET), **dict.fromkeys((".json", ".jsonl", ".ndjson"), _JSON)}
_INSTEAD[".gz"] = "unpack it first: gunzip people.csv.gz"


def parts_of(path: str | Path) -> list[Path]:
    """Return the files that make up a table, sorted by name.

    Raises
    ------
    InputError
        There is none, they are of several kinds, or a folder lies among them.
    """
    path = Path(path)
    if not is_many(path):
        check_path(path)
        return [path]
    if path.is_dir():
        entries = [p for p in path.iterdir() if not p.name.startswith(HIDDEN)]
        where = f"the folder {path}"
    else:
        entries = [Path(p) for p in glob.glob(str(path))]
        where = f"the pattern {path}"
    folders = [p.name for p in entries if p.is_dir()]
    # the value of a column may stand in a folder's name
    inner = sorted({re.sub("=.*", "=...", name) for name in folders})
    endings = {**SUFFIXES, **{ending: ending for ending in _INSTEAD}}  # what lies beside a table is no part of it
    files = sorted(p for p in entries if p.suffix.lower() in endings and not p.is_dir())
    if inner:
        others = f" and {len(files):,} table file{'s' * (len(files) > 1)}" if files else ""
        named = f"folder{'s' * (len(folders) > 1)} ({', '.join(inner[:3])}{', ...' if len(inner) > 3 else ''}){others}"
        raise InputError(
            f"{where} is not one table: it holds {len(folders):,} {named}",
            hint="name the file, such as people.csv, or parts of one table by a pattern, such as people/*/*.parquet",
        )
    if not files:
        raise InputError(f"{where} holds no table file", hint=_ENDINGS)
    if len(kinds := sorted({endings[p.suffix.lower()] for p in files})) > 1:
        raise InputError(**refusal("several_kinds", "io", where=where, kinds=", ".join(kinds)))
    for part in files:
        check_path(part)
    # whoever wrote a pattern chose the files
    if path.is_dir():
        _check_gaps(path, files)
    return files


def _check_gaps(folder: Path, files: Sequence[Path]) -> None:
    """Raise InputError if a number is missing in a folder of numbered part files that Hedgerow wrote."""
    matches = [PART.fullmatch(path.name) for path in files]
    if any(each is None or len(each[1]) > _DIGITS for each in matches):
        return  # not as we number them: days, for example
    numbers = {int(each[1]) for each in matches if each}
    if n_missing := max(numbers, default=-1) + 1 - len(numbers):
        first = islice((i for i in count() if i not in numbers), min(n_missing, 3))
        listed = ", ".join([*map(PART_FILE.format, first), *["..."] * (n_missing > 3)])
        parts = f"part{'s' * (n_missing > 1)}"
        raise InputError(
            f"the folder {folder} lacks {n_missing:,} {parts} of its table: {listed}",
            hint=f"restore it; if these files are the whole table, name them by the pattern {folder}/*.parquet",
        )


def check_drift(parts: Sequence[Path], types: Sequence[Mapping[str, pa.DataType]]) -> None:
    """Raise InputError if the columns or types of any file differ from those of the first."""
    first = types[0]
    for path, columns in zip(parts[1:], types[1:], strict=True):
        if list(columns) != list(first):
            lacking = ", ".join(repr(n) for n in first if n not in columns)
            more = ", ".join(repr(n) for n in columns if n not in first)
            differences = [f"lacks {lacking}"] if lacking else []
            differences += [f"has {more} besides"] if more else []
            listed = " and ".join(differences) or "they stand in another order"
            raise InputError(
                f"{path.name} has other columns than {parts[0].name}: {listed}",
                hint="the parts of a table have the same columns in the same order",
            )
        if changed := [n for n in first if not _same(first[n], columns[n])]:
            differences = [f"{n!r} ({columns[n]}, there {first[n]})" for n in changed]
            words = {"file": path.name, "first": parts[0].name, "differences": ", ".join(differences)}
            raise InputError(**refusal("other_types", "io", **words))


def _same(one: pa.DataType, other: pa.DataType) -> bool:
    """Return whether two types are equal; a dictionary is compared by the type of its values."""
    if value_type(one) == value_type(other):
        return True
    # text of either width is text; numbers of several widths are several types
    return {value_class(k) for k in (one, other)} == {"text"}


def check_path(path: Path) -> str:
    """Return the format of a file as its usual ending; raise InputError if files of this format cannot be read."""
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder, not a file", hint="give one table file")
    check_there(path)
    if (suffix := SUFFIXES.get(path.suffix.lower())) is None:
        raise InputError(f"the ending of {path.name} is not read", hint=_INSTEAD.get(path.suffix.lower(), _ENDINGS))
    if path.stat().st_size == 0:
        if path.is_file():
            raise InputError(f"{path.name} is empty", hint="give a file with a header and records")
        raise InputError(f"{path.name} is no file", hint="give - as the table, and send the pipe to standard input")
    return suffix


def check_there(path: Path) -> None:
    """Raise InputError if the path does not exist."""
    if os.path.exists(path):
        return
    if os.path.islink(path):
        raise InputError(f"{path} is a link to a file that does not exist")
    raise InputError(f"there is no file {path}{did_you_mean(path.name, _tables(path.parent))}")


def _tables(folder: Path) -> list[str]:
    """Return the names of up to 1,000 table files in a folder."""
    with suppress(OSError):
        names = (each.name for each in folder.iterdir() if each.suffix.lower() in SUFFIXES)
        return list(islice(names, 1000))
    return []


@contextmanager
def readable(path: Path, kind: str = "a Parquet file") -> Iterator[None]:
    """Raise InputError if a file cannot be read inside the `with` block."""

    def fault(error: Any) -> InputError:
        if isinstance(error, OSError) and error.errno:
            return InputError(f"cannot read {path}: {error.strerror}")
        return damaged(path, kind)

    with translated((pa.ArrowException, OSError), fault):
        yield
