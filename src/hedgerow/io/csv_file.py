"""Read CSV files: encoding and dialect are detected from the text, and DuckDB reads the cells.

DuckDB reads with explicit settings, so that it guesses nothing and keeps all rows in order.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.table import check_names
from ..errors import InputError, SchemaError
from ..files import temporary_folder
from ..progress import caution
from ..schema import Schema
from ..texts import refusal, text
from .duckdb_reader import connected, in_batches, named, whole
from .file_format import NULS, START, UNICODE, Dialect, check_start
from .text_cells import has_decimals_in, infer_types, spelled_texts, spelling_matters

# Of so many lines one may not be UTF-8 before a file is taken for another encoding.
_FEW = 1000
DELIMITERS = (",", ";", "\t", "|")
_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SAMPLE = 1 << 18
_CONTROL = r"[\0-\x08\x0b\x0e-\x1f\x7f]"
_NUMBER = re.compile(r"^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*$")
_DATE = re.compile(r"^\s*(\d{4}-\d{2}-\d{2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{4})\s*$")


def read_csv(path: Path, schema: Schema, *, strict: bool = True) -> tuple[pa.Table, Dialect]:
    """Read a CSV file into an Arrow table and return it with the file's dialect.

    Parameters
    ----------
    path : Path
    schema : Schema
        Settings for reading text (`missing`, `decimal`, `encoding`), and the categorical columns,
        which stay as they are spelled.
    strict : bool
        Whether a file of undeclared encoding is refused if only few of its lines are not UTF-8.

    Raises
    ------
    InputError
        The file is empty, has no rows, is ragged, or its encoding or header cannot be used.
    """
    layout = csv_layout(path, schema.encoding, strict=strict)
    warn_of_guesses(path, layout.dialect)
    with _opened(path, layout) as relation:
        cells = whole(relation).rename_columns(layout.names)
    if cells.num_rows == 0:
        raise InputError(f"{path.name} has a header but no rows", hint="give a table with at least one record")
    columns, dialect = declared_columns(dict(zip(layout.names, cells.columns, strict=True)), layout.dialect, schema)
    return pa.table(columns), dialect


def declared_columns(
    texts: Mapping[str, pa.ChunkedArray], dialect: Dialect, schema: Schema
) -> tuple[dict[str, pa.ChunkedArray], Dialect]:
    """Return a text file's columns with inferred types, and the completed dialect.

    Declared categories stay as they are spelled.
    """
    categories, kinds = declared_texts(schema)
    dialect = replace(dialect, missing=tuple(schema.missing), declared_decimal=schema.decimal)
    columns, dialect = infer_types(texts, dialect)
    for name, column in columns.items():
        if spelling_matters(name, column.type, kinds, categories):
            as_written = spelled_texts(texts[name], column, dialect, categories.get(name))
            columns[name] = column if as_written is None else as_written
        # ranges of numbers: a column that is not declared may hold categories that look so
        elif schema.kinds.get(name) == "numeric" and has_decimals_in(column, ",", dialect):
            columns[name] = pc.replace_substring(column, ",", ".")
    return columns, dialect


def check_sign(dialect: Dialect, schema: Schema) -> None:
    """Raise SchemaError for a released column whose numbers have another sign than the declared one, or could."""
    kinds, roles = declared_texts(schema)[1], ("quasi", "sensitive", "other")
    numbers = [n for n in dialect.mixed if schema.role(n) in roles and kinds.get(n, "numeric") == "numeric"]
    if schema.decimal and (doubtful := [name for name in numbers if name in dialect.either]):
        raise SchemaError(
            f"numbers such as 22.807 may be thousands or fractions, and other cells of the column have another decimal "
            f"sign than the declared {schema.decimal!r}: {', '.join(doubtful)}",
            hint="correct them, or the sign (--decimal), or declare the column categorical",
        )


def declared_texts(schema: Schema) -> tuple[dict[str, Collection[str]], dict[str, str]]:
    """Return the known categories of each column, and the declared kind of each column."""
    categories: dict[str, Collection[str]] = {n: h.paths for n, h in schema.hierarchies.items()}
    categories |= schema.categories
    return categories, {**dict.fromkeys(categories, "categorical"), **schema.kinds}


def warn_of_guesses(path: Path, dialect: Dialect) -> None:
    """Warn if the encoding was guessed or if the first columns have no name."""
    if dialect.not_utf8:
        caution(text("io", "guessed", file=path.name, line=dialect.not_utf8, encoding=dialect.encoding))
    if dialect.unnamed:
        caution(text("io", "unnamed", file=path.name, names=", ".join(dialect.unnamed)))


def read_texts(path: Path, places: Sequence[int], encoding: str) -> list[pa.ChunkedArray]:
    """Read the columns of a CSV file at the given positions, with every cell as text."""
    with _opened(path, csv_layout(path, encoding)) as relation:
        return whole(relation.project(", ".join(f"c{place}" for place in places))).columns


def read_csv_batches(path: Path, size: int, encoding: str) -> tuple[list[str], Iterator[pa.RecordBatch]]:
    """Return the column names of a CSV file, and an iterator over batches of its rows as text."""
    layout = csv_layout(path, encoding)

    def batches() -> Iterator[pa.RecordBatch]:
        with _opened(path, layout) as relation:
            for batch in in_batches(relation, size):
                yield pa.RecordBatch.from_arrays(batch.columns, names=layout.names)

    return layout.names, batches()


@dataclass(frozen=True)
class CsvLayout:
    """The column names and dialect of a CSV file, detected from the beginning of the file.

    `broken` is True if the first record has a line break inside quotes, which DuckDB would take for
    the end of the record.
    """

    names: list[str]
    dialect: Dialect
    broken: bool = False


def csv_layout(path: Path, encoding: str = "", *, strict: bool = True) -> CsvLayout:
    """Detect the column names and dialect of a CSV file; `read_csv` describes the rules."""
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty", hint="give a file with a header and records")
    declared, encoding = encoding, find_encoding(path, encoding)
    # one more pass over the file, so only where its encoding is a guess
    not_utf8 = 0 if declared or encoding in UNICODE else _not_utf8(path, strict)
    sample = read_sample(path, encoding)
    dialect = sniff(sample, path.name)
    lines = sample.splitlines(keepends=True)
    reader = dialect.reader(lines)
    first = next(row for row in reader if row)
    names = _named(first) if dialect.header else [f"x{i}" for i in range(len(first))]
    check_names(names, path.name)
    # DuckDB takes the first line break for the end of a record, in quotes or not
    broken = any("\n" in cell or "\r" in cell for cell in first)
    end = re.search(r"\r\n$|[\r\n]$", lines[reader.line_num - 1])
    if broken and end:
        dialect = replace(dialect, newline=end[0])
    unnamed = (new for new, old in zip(names, first, strict=True) if not old.strip())
    if dialect.header:
        dialect = replace(dialect, unnamed=tuple(unnamed))
    return CsvLayout(names, replace(dialect, encoding=encoding, not_utf8=not_utf8), broken)


def _not_utf8(path: Path, strict: bool) -> int:
    """Return the number of the first line that is not valid UTF-8; 0 if all lines are valid.

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
    """Return the header with names for leading unnamed columns, such as a row index (`column_1`, ...)."""
    header, used = list(names), set(names)
    for i, name in enumerate(names):
        if name.strip():
            return header
        header[i] = f"column_{i + 1}"
        while header[i] in used:
            header[i] += "_"
    return names  # no column has one


@contextmanager
def _opened(path: Path, layout: CsvLayout) -> Iterator[Any]:
    """Yield a DuckDB relation with every cell as text; empty unquoted cells are missing."""
    # Positions stand for names, so that odd names need no quoting.
    dialect, width = layout.dialect, len(layout.names)
    columns = {f"c{i}": "VARCHAR" for i in range(width)}
    with _readable(path, layout) as readable, connected(lambda: _fault(readable, path, width, dialect)) as connection:
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
            # a ragged line is an error, never padded or skipped
            ignore_errors=False,
            null_padding=False,
            strict_mode=True,
            # an empty cell in quotes is an empty text, unless every cell is quoted
            na_values="",
            allow_quoted_nulls=dialect.quote_all,
            comment="",
            max_line_size=1 << 24,
            buffer_size=1 << 25,  # by default sixteen of the longest lines at a time
            encoding="utf-8",
            hive_partitioning=False,  # folders such as year=2020 are no columns
        )


def _fault(readable: Path, path: Path, width: int, dialect: Dialect) -> InputError:
    # slow, but it runs only after DuckDB has failed
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
        more = f"; lines at fault: {wrong:,}" if wrong > 1 else ""
        numbers = {"line": first, "fields": fields, "width": width}
        return InputError(**refusal("ragged", "io", file=path.name, more=more, **numbers))
    where = f" near line {first:,}" if first else ""
    marks = {"delimiter": dialect.delimiter, "quote": dialect.quote}
    return InputError(**refusal("no_csv", "io", file=path.name, where=where, **marks))


@contextmanager
def _readable(path: Path, layout: CsvLayout) -> Iterator[Path]:
    """Yield a path that DuckDB can read: the file itself, or a temporary private copy in UTF-8.

    If the first record has a line break, the copy gets a header without one, since DuckDB takes the
    end of the header for the end of every record.
    """
    dialect = layout.dialect
    encoding = dialect.encoding
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
                target.write(dialect.delimiter.join(f"c{i}" for i in range(len(layout.names))) + dialect.newline)
                if dialect.header:
                    next(row for row in dialect.reader(source) if row)
            shutil.copyfileobj(source, target, 1 << 20)
        yield copy


def find_encoding(path: Path, otherwise: str = "") -> str:
    """Return a text file's encoding: that of its byte order mark, else UTF-8 if it fits, else `otherwise`.

    Parameters
    ----------
    path : Path
    otherwise : str
        The encoding to try if the file is not UTF-8; Windows-1252 by default.

    Raises
    ------
    InputError
        The bytes fit none of these encodings, or hold control characters.
    """
    with open(path, "rb") as file:
        start = file.read(START)
    marked = [name for mark, name in _MARKS.items() if start.startswith(mark)]
    has_nuls = "utf-16" in marked or codecs.lookup(otherwise or "utf-8").name.startswith(("utf-16", "utf-32"))
    check_start(start, path.name, NULS if has_nuls else b"\0")
    # cp1252 decodes nearly anything, so it is tried last
    for encoding in marked or ("utf-8", otherwise or "cp1252"):
        if _decodes(path, encoding):
            return encoding
    with open(path, encoding="latin-1") as file:
        nul = 0 if has_nuls else next((i for i, line in enumerate(file, 1) if "\0" in line), 0)
    if nul:
        raise InputError(**refusal("nul", "io", file=path.name, line=nul))
    first = 0 if "utf-16" in marked else unlike_utf8(path)[0]
    where = f", and is not UTF-8 in line {first:,}" if first else ""
    is_utf8 = codecs.lookup(otherwise or "cp1252").name == "utf-8"
    words = {"tried": "" if is_utf8 else f", nor {otherwise or 'Windows-1252'}", "other": "else " if otherwise else ""}
    raise InputError(**refusal("unreadable", "io", file=path.name, where=where, **words))


def unlike_utf8(path: Path) -> tuple[int, int, int]:
    """Return the number of the first line that is not UTF-8, the count of such lines, and of all lines."""
    first = broken = total = 0
    with open(path, encoding="latin-1") as file:  # every byte is a character
        for total, line in enumerate(file, 1):
            if not line.isascii():
                try:
                    line.encode("latin-1").decode()
                except UnicodeDecodeError:
                    first, broken = first or total, broken + 1
    return first, broken, total


def _decodes(path: Path, encoding: str) -> bool:
    # Nearly any bytes decode in eight bits; control characters show what is no text.
    control = re.compile("\0" if encoding.startswith("utf") else _CONTROL)
    try:
        with open(path, encoding=encoding, errors="strict", newline="") as file:
            if any(control.search(piece) for piece in iter(partial(file.read, START), "")):
                return False
    except UnicodeError:
        return False
    return True


def read_sample(path: Path, encoding: str) -> str:
    """Return the first records of a text file; a longer file is cut after a whole line."""
    with open(path, encoding=encoding, newline="") as file:
        text = file.read(_SAMPLE)
        if not file.read(1):
            return text
    # the last line is cut somewhere
    return text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text


def sniff(text: str, name: str) -> Dialect:
    """Return the dialect of CSV text.

    The delimiter must occur in the first record; the one that gives most records the same number of
    fields as the first is chosen, and ties go to more fields.
    """
    newline = next((each for each in ("\r\n", "\n", "\r") if each in text), "\n")
    best = (0.0, 0, Dialect(newline=newline))
    for delimiter in DELIMITERS:
        # which signs are quotes depends on what stands before and after them
        dialect = _quoting(text, replace(best[2], delimiter=delimiter))
        rows = _records(text, dialect)
        width = len(rows[0]) if rows else 0
        if width > 1 and (_even(rows), width) > best[:2]:
            best = (_even(rows), width, dialect)
    dialect = best[2]
    # a header has as many fields as most lines; more than two that few lines have are a ragged file
    if best[0] < 0.5 and best[1] < 3 and (fields := _width_below(text, newline)):
        raise InputError(
            f"{name} does not begin with a header: most of its lines have {fields} fields, the first has not",
            hint="take out what stands above the header, such as a title or sep=;",
        )
    if not best[1]:
        # One column: any delimiter that does not occur will do.
        absent = [d for d in DELIMITERS if d not in text]
        dialect = _quoting(text, replace(dialect, delimiter=absent[0] if absent else ","))
    if not (rows := _records(text, dialect)):
        raise InputError(f"{name} is empty", hint="give a file with a header and records")
    dialect = replace(dialect, spaced={c[:1] == " " for row in rows for c in row[1:] if c} == {True})
    return replace(dialect, header=_has_header(_records(text, dialect)))


def _width_below(text: str, newline: str) -> int:
    """Return the number of fields that nearly all lines below the first have; 0 if no delimiter gives more than two."""
    usual = 0
    for delimiter in DELIMITERS:
        rows = _records(text, _quoting(text, Dialect(delimiter=delimiter, newline=newline)))[1:]
        fields, often = max(Counter(map(len, rows)).items(), key=lambda each: each[1], default=(0, 0))
        # two fields a line may be decimals with a comma, or a text
        if fields > 2 and often > 0.9 * len(rows) and often >= 3:
            usual = max(usual, fields)
    return usual


def _quoting(text: str, dialect: Dialect) -> Dialect:
    edge = re.escape(dialect.delimiter) + r"\r\n"
    for quote in ('"', "'"):
        opened = len(re.findall(rf"(?:^|[{edge}]) ?{quote}", text))
        if opened and re.search(rf"{quote}(?:$|[{edge}])", text):
            break
    else:
        return replace(dialect, quote='"', escape='"', quote_all=False)
    quoted = replace(dialect, quote=quote, escape=quote)
    # Two quotes inside a cell, after a backslash or not, are one that was doubled.
    doubled = rf"[^{edge}\\]{quote}{quote}[^{edge}]|\\{quote}{quote}[^{edge}]"
    if "\\" + quote in text and not re.search(doubled, text):
        other = replace(quoted, escape="\\")  # or a cell just ends in a backslash
        quoted = max(other, quoted, key=lambda each: _even(_records(text, each)))
    return replace(quoted, quote_all=opened >= sum(len(row) for row in _records(text, quoted)) > 0)


def _even(rows: list[list[str]]) -> float:
    """Return the share of records with as many fields as the first record."""
    return sum(len(row) == len(rows[0]) for row in rows) / max(len(rows), 1)


def _records(text: str, dialect: Dialect) -> list[list[str]]:
    """Return the records of the text without blank lines, up to the first one that cannot be parsed."""
    rows: list[list[str]] = []
    with suppress(csv.Error):
        rows.extend(filter(None, dialect.reader(io.StringIO(text, newline=""))))
    return rows


def _has_header(rows: list[list[str]]) -> bool:
    """Return whether the first record holds column names.

    Text above numbers or dates is a name; a number or date above numbers or dates is a value. A
    table of text only is taken to have a header.
    """
    # a few rows show it as well as all of the sample
    first, rest = rows[0], rows[1:200]
    value = False
    for i, cell in enumerate(first):
        below = [row[i] for row in rest if i < len(row) and row[i].strip()]
        for pattern in (_NUMBER, _DATE):
            if not all(pattern.match(c) for c in below):
                continue
            if pattern.match(cell):
                value = True
            elif below:
                return True
    return not value
