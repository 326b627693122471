"""CSV through DuckDB with explicit settings: no row is guessed away, no order lost."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..columns.table import check_names
from ..errors import InputError
from ..files import temporary_folder
from ..progress import caution
from .dialect import UNICODE, Dialect, find_encoding, read_sample, sniff, unlike_utf8
from .duckdb_reader import connected, in_batches, named, whole
from .text_types import typed_columns

_FEW = 1000
"""Of so many lines one may not be UTF-8 before a file is taken for another encoding."""


def read_csv(
    path: Path,
    missing: Sequence[str] = (),
    decimal: str = "",
    encoding: str = "",
    *,
    strict: bool = True,
) -> tuple[pa.Table, Dialect]:
    """A CSV file as Arrow, with the types of its whole columns, and its dialect.

    Parameters
    ----------
    path : Path
    missing : sequence of str
        Words that stand for no value, in any column.
    decimal : str
        The decimal separator where numbers can be read in two ways; empty where the others tell.
    encoding : str
        What a file is that is not UTF-8 and begins with no mark.
    strict : bool
        Whether a file of which nobody says that is refused where few of its lines are not UTF-8.

    Raises
    ------
    InputError
        The file is empty, has no rows, is ragged, or its encoding or header cannot be used.
    """
    layout = _layout(path, encoding, strict=strict)
    names, dialect = layout.names, layout.dialect
    tell(path, dialect)
    with _opened(path, layout) as relation:
        text = whole(relation).rename_columns(names)
    if text.num_rows == 0:
        raise InputError(
            f"{path.name} has a header but no rows", hint="give a table with at least one record"
        )
    told = replace(dialect, missing=tuple(missing), told=decimal)
    columns, dialect = typed_columns(dict(zip(names, text.columns, strict=True)), told)
    return pa.table(columns), dialect


def tell(path: Path, dialect: Dialect) -> None:
    """Warn of a file whose encoding had to be guessed, and of columns in front that have no name."""
    if dialect.not_utf8:
        caution(f"{path.name}: {next(dialect.doubts())}")
    if dialect.unnamed:
        caution(
            f"{path.name}: the first columns are without a name, like a row index, and are called "
            + ", ".join(dialect.unnamed)
        )


def read_texts(path: Path, places: Sequence[int], encoding: str) -> list[pa.ChunkedArray]:
    """Some columns of a CSV file, by their places, every cell as text."""
    with _opened(path, _layout(path, encoding)) as relation:
        return whole(relation.project(", ".join(f"c{place}" for place in places))).columns


def read_csv_batches(
    path: Path, size: int, encoding: str
) -> tuple[list[str], Iterator[pa.RecordBatch]]:
    """The columns of a CSV file, and so many rows of its text at a time."""
    layout = _layout(path, encoding)

    def batches() -> Iterator[pa.RecordBatch]:
        with _opened(path, layout) as relation:
            for batch in in_batches(relation, size):
                yield pa.RecordBatch.from_arrays(batch.columns, names=layout.names)

    return layout.names, batches()


def csv_layout(
    path: Path, encoding: str = "", *, strict: bool = True
) -> tuple[list[str], Dialect]:
    """The columns of a CSV file and how it is written, from its beginning; see `read_csv`."""
    layout = _layout(path, encoding, strict=strict)
    return layout.names, layout.dialect


@dataclass(frozen=True)
class _Layout:
    """How a CSV file stands: its encoding, columns and dialect.

    `broken` tells that its first record has a line break inside quotes, which DuckDB takes for
    the end of the record.
    """

    encoding: str
    names: list[str]
    dialect: Dialect
    broken: bool


def _layout(path: Path, told: str, *, strict: bool = True) -> _Layout:
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty", hint="give a file with a header and records")
    encoding = find_encoding(path, told)
    not_utf8 = 0 if told or encoding in UNICODE else _not_utf8(path, strict)
    sample = read_sample(path, encoding)
    dialect = sniff(sample, path.name)
    lines = sample.splitlines(keepends=True)
    reader = dialect.reader(lines)
    first = next(row for row in reader if row)
    names = _named(first) if dialect.header else [f"x{i}" for i in range(len(first))]
    check_names(names, path.name)
    broken = any("\n" in cell or "\r" in cell for cell in first)
    end = re.search(r"\r\n$|[\r\n]$", lines[reader.line_num - 1])
    if broken and end:
        dialect = replace(dialect, newline=end[0])
    unnamed = (new for new, old in zip(names, first, strict=True) if not old.strip())
    if dialect.header:
        dialect = replace(dialect, unnamed=tuple(unnamed))
    dialect = replace(dialect, encoding=encoding, not_utf8=not_utf8)
    return _Layout(encoding, names, dialect, broken)


def _not_utf8(path: Path, strict: bool) -> int:
    """Return the number of the first line that is not UTF-8.

    Raises
    ------
    InputError
        So few lines are not UTF-8 that the file is likely to be UTF-8 with faults.
    """
    first, broken, total = unlike_utf8(path)
    if strict and _FEW * broken < total:
        raise InputError(
            f"{path.name} is UTF-8 but for {broken:,} of its {total:,} lines, the first of them line {first:,}",
            hint='mend these lines, or say what the file is: --encoding cp1252 (encoding="cp1252")',
        )
    return first


def _named(names: list[str]) -> list[str]:
    """A header whose first columns have names, as those of a written row index have none."""
    made, taken = list(names), set(names)
    for i, name in enumerate(names):
        if name.strip():
            return made
        made[i] = f"column_{i + 1}"
        while made[i] in taken:
            made[i] += "_"
    return names  # no column has one


@contextmanager
def _opened(path: Path, layout: _Layout) -> Iterator[Any]:
    """Every cell as text; cells that are empty and not quoted are missing."""
    # Positions stand for names, so that odd names need no quoting.
    dialect, width = layout.dialect, len(layout.names)
    columns = {f"c{i}": "VARCHAR" for i in range(width)}
    with (
        _readable(path, layout) as readable,
        connected(lambda: _fault(readable, path, width, dialect)) as connection,
    ):
        yield connection.read_csv(
            named(readable),
            sep=dialect.delimiter + " " * dialect.spaced,
            quotechar=dialect.quote,
            escapechar=dialect.escape,
            header=dialect.header or layout.broken,
            skiprows=0,
            columns=columns,
            auto_detect=False,
            sample_size=-1,
            ignore_errors=False,
            null_padding=False,
            strict_mode=True,
            na_values="",
            allow_quoted_nulls=dialect.quote_all,
            comment="",
            max_line_size=1 << 24,
            buffer_size=1 << 25,  # by default sixteen of the longest lines at a time
            encoding="utf-8",
            hive_partitioning=False,  # folders such as year=2020 are no columns
        )


def _fault(readable: Path, path: Path, width: int, dialect: Dialect) -> InputError:
    wrong, first, fields = 0, 0, 0
    with open(readable, encoding="utf-8-sig", newline="") as file:
        reader = dialect.reader(file)
        line = 1
        try:
            for row in reader:
                if row and len(row) != width:
                    wrong += 1
                    if wrong == 1:
                        first, fields = line, len(row)
                line = reader.line_num + 1
        except csv.Error:
            first = first or line
    if wrong:
        more = f"; {wrong - 1:,} more lines differ" if wrong > 1 else ""
        return InputError(
            f"{path.name} is ragged: line {first:,} has {fields} fields where the first line "
            f"has {width}{more}",
            hint="repair those lines; a field that holds the delimiter must be quoted",
        )
    where = f" near line {first:,}" if first else ""
    return InputError(
        f"{path.name} cannot be read as CSV{where} (delimiter {dialect.delimiter!r}, "
        f"quote {dialect.quote!r})",
        hint="look for a quote that is not closed or not doubled, or lines that end differently",
    )


@contextmanager
def _readable(path: Path, layout: _Layout) -> Iterator[Path]:
    """The file itself when DuckDB reads it, else a private copy in UTF-8 that is removed after.

    Where the first record has a line break, the copy begins with a header that has none: what
    ends it is what ends every record.
    """
    encoding, dialect = layout.encoding, layout.dialect
    if encoding in ("utf-8", "utf-8-sig") and not layout.broken:
        yield path
        return
    with temporary_folder() as folder:
        copy = folder / "copy.csv"
        with (
            open(path, encoding=encoding, newline="") as source,
            open(copy, "w", encoding="utf-8", newline="") as target,
        ):
            if layout.broken:
                plain = (f"c{i}" for i in range(len(layout.names)))
                target.write(dialect.delimiter.join(plain) + dialect.newline)
                if dialect.header:
                    next(row for row in dialect.reader(source) if row)
            shutil.copyfileobj(source, target, 1 << 20)
        yield copy
