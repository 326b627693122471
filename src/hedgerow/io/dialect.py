"""How a text file is written: its encoding, separators, quotes and header, found from its text."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import InputError
from .labels import Labels

UNICODE = ("utf-8", "utf-8-sig", "utf-16")
DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 1 << 18
_CONTROL = bytes({*range(9), 0x0B, *range(0x0E, 0x20), 0x7F})
_NUMBER = re.compile(r"^\s*[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?\s*$")
_DATE = re.compile(r"^\s*(\d{4}-\d{2}-\d{2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{4})\s*$")


@dataclass(frozen=True)
class Dialect:
    """How a CSV file is written.

    Parameters
    ----------
    delimiter, quote : str
        One character each.
    escape : str
        What stands before a quote inside quotes: the quote itself, or a backslash.
    spaced : bool
        Whether a space follows each delimiter.
    quote_all : bool
        Whether every cell is quoted.
    header : bool
        Whether the first record names the columns.
    newline : str
        What ends a record.
    encoding : str
        How its text is encoded, with a mark in front where one is.
    not_utf8 : int
        Its first line that is not UTF-8, where nobody said what the file is; else 0.
    decimal : str
        The decimal separator.
    booleans : tuple of str
        How false and true are written.
    dates : str
        How days are written, as ``strftime`` has it; empty for 2020-12-31.
    unnamed : tuple of str
        What columns are called that have no name in the file.
    missing : tuple of str
        Words that its reader said stand for no value.
    told : str
        The decimal separator that its reader said; empty where it was found.
    unsure : tuple of str
        Columns of numbers that can be read in two ways, such as 22.807, where neither the reader
        nor another column says which; they were read by `decimal`.
    mixed : tuple of str
        Columns whose decimals are written with the other separator.
    places : tuple of (str, int)
        Columns whose numbers all have the same count of decimals, as 26060,00 has two.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    spaced: bool = False
    quote_all: bool = False
    header: bool = True
    newline: str = "\n"
    encoding: str = "utf-8"
    not_utf8: int = 0
    decimal: str = "."
    booleans: tuple[str, str] = ("false", "true")
    dates: str = ""
    unnamed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    told: str = ""
    unsure: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    places: tuple[tuple[str, int], ...] = ()

    def doubts(self) -> Iterator[str]:
        """Return warnings about a guessed encoding and number format."""
        if self.encoding not in UNICODE:
            told = f"the file is read as {self.encoding}, and a release of it is written so"
            yield (
                f"line {self.not_utf8:,} is not UTF-8, so {told}; say what it is: --encoding (encoding=)"
                if self.not_utf8
                else f"{told}: its reader must know"
            )
        sign, other = ("point", ",") if self.decimal == "." else ("comma", ".")
        if self.unsure:
            yield (
                f"{', '.join(self.unsure)}: every number looks like 22.807 or 22,807, and nothing in "
                f"the file tells thousands from decimals; the {sign} is read as the decimal sign; "
                f"--decimal {other} (decimal={other!r}) reads it the other way"
            )
        if self.mixed:
            yield (
                f"{', '.join(self.mixed)}: decimals are written with another sign than in the other "
                f"columns; the release writes a {sign} in all of them"
            )

    def reader(self, lines: io.TextIOBase | list[str]) -> csv._reader:  # type: ignore[name-defined]
        """A strict reader from the standard library for this dialect."""
        doubled = self.escape == self.quote
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote,
            doublequote=doubled,
            escapechar=None if doubled else self.escape,
            skipinitialspace=self.spaced,
        )


@dataclass(frozen=True)
class FileFormat:
    """Format of a file, and what a table alone does not tell of it.

    Parameters
    ----------
    suffix : str
        The ending of its name.
    dialect : Dialect
        Of a CSV file.
    unescaped : bool
        Whether apostrophes before formulas were taken away as it was read.
    labels : Labels
        Of a statistical file.
    sheet : str
        Of a workbook.
    """

    suffix: str = ".parquet"
    dialect: Dialect = Dialect()
    unescaped: bool = False
    labels: Labels = field(default_factory=Labels)
    sheet: str = ""


def find_encoding(path: Path, otherwise: str = "") -> str:
    """The encoding of a text file: by its byte order mark, else UTF-8, else the one that is named.

    Parameters
    ----------
    path : Path
    otherwise : str
        Windows-1252 where nobody names one.

    Raises
    ------
    InputError
        The bytes fit none of them, or hold control characters.
    """
    with open(path, "rb") as file:
        start = file.read(4)
    marks = (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    )
    marked = [name for mark, name in marks if start.startswith(mark)]
    for encoding in marked or ("utf-8", otherwise or "cp1252"):
        if _decodes(path, encoding):
            return encoding
    first = 0 if "utf-16" in marked else unlike_utf8(path)[0]
    raise InputError(
        f"{path.name} has an unreadable encoding"
        + (f", and is not UTF-8 in line {first:,}" if first else ""),
        hint=f"its bytes are neither UTF-8, UTF-16 with a mark nor {otherwise or 'Windows-1252'}: save it as "
        f"UTF-8 text, or say what {'else ' if otherwise else ''}it is: --encoding (encoding=)",
    )


def unlike_utf8(path: Path) -> tuple[int, int, int]:
    """The first line of a file that is not UTF-8, how many are so, and how many lines there are."""
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
    refused = b"\x00" if encoding.startswith("utf") else _CONTROL
    try:
        with open(path, encoding=encoding, errors="strict", newline="") as file:
            while text := file.read(1 << 20):
                data = text.encode()
                if len(data.translate(None, refused)) < len(data):
                    return False
    except UnicodeError:
        return False
    return True


def read_sample(path: Path, encoding: str) -> str:
    """The first records of a text file, whole lines only when it is longer."""
    with open(path, encoding=encoding, newline="") as file:
        text = file.read(_SAMPLE)
        if not file.read(1):
            return text
    return text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text


def sniff(text: str, name: str) -> Dialect:
    """The dialect of CSV text.

    The delimiter is the one that stands in the first record and gives most records the
    same number of fields as that; ties go to more fields.
    """
    newline = "\r\n" if "\r\n" in text else "\n" if "\n" in text else "\r"
    newline = newline if newline in text else "\n"
    best = (0.0, 0, Dialect(newline=newline))
    for delimiter in DELIMITERS:
        dialect = _quoting(text, replace(best[2], delimiter=delimiter))
        rows = _records(text, dialect)
        width = len(rows[0]) if rows else 0
        if width < 2:
            continue
        if (_even(rows), width) > best[:2]:
            best = (_even(rows), width, dialect)
    dialect = best[2]
    if (fields := _below(text, best[1], newline)) is not None:
        raise InputError(
            f"{name} does not begin with a header: most of its lines have {fields} fields, the "
            "first has not",
            hint="take out what stands above the header, such as a title or sep=;",
        )
    if not best[1]:
        # One column: any delimiter that does not occur will do.
        absent = [d for d in DELIMITERS if d not in text]
        dialect = _quoting(text, replace(dialect, delimiter=absent[0] if absent else ","))
    rows = _records(text, dialect)
    if not rows:
        raise InputError(f"{name} is empty", hint="give a file with a header and records")
    spaced = [c[:1] == " " for row in rows for c in row[1:] if c]
    dialect = replace(dialect, spaced=bool(spaced) and all(spaced))
    rows = _records(text, dialect)
    return replace(dialect, header=_has_header(rows))


def _below(text: str, width: int, newline: str) -> int | None:
    """The fields of most lines, where the first is a title or names a separator instead."""
    marked = re.match(r"sep=.?[\r\n]", text) is not None
    if width > 2 or (width == 2 and not marked):
        return None
    for delimiter in DELIMITERS:
        rows = _records(text, _quoting(text, Dialect(delimiter=delimiter, newline=newline)))[1:]
        widths = Counter(map(len, rows))
        fields, often = max(widths.items(), key=lambda each: each[1], default=(0, 0))
        # two fields a line may be decimals with a comma, or a text
        if fields > 2 and often > 0.9 * len(rows) and often >= 3:
            return fields
    return None


def _quoting(text: str, dialect: Dialect) -> Dialect:
    edge = re.escape(dialect.delimiter) + r"\r\n"
    for quote in ('"', "'"):
        opened = len(re.findall(rf"(?:^|[{edge}]) ?{quote}", text))
        closed = len(re.findall(rf"{quote}(?:$|[{edge}])", text))
        if opened and closed:
            break
    else:
        return replace(dialect, quote='"', escape='"', quote_all=False)
    found = replace(dialect, quote=quote, escape=quote)
    # Two quotes inside a cell, after a backslash or not, are one that was doubled.
    doubled = rf"[^{edge}\\]{quote}{quote}[^{edge}]|\\{quote}{quote}[^{edge}]"
    if "\\" + quote in text and not re.search(doubled, text):
        other = replace(found, escape="\\")  # or a cell just ends in a backslash
        found = max(other, found, key=lambda each: _even(_records(text, each)))
    cells = sum(len(row) for row in _records(text, found))
    return replace(found, quote_all=opened >= cells > 0)


def _even(rows: list[list[str]]) -> float:
    """The share of records that have as many fields as the first."""
    return sum(len(row) == len(rows[0]) for row in rows) / max(len(rows), 1)


def _records(text: str, dialect: Dialect) -> list[list[str]]:
    """Records of the text, blank lines left out; as far as they can be read."""
    rows: list[list[str]] = []
    try:
        for row in dialect.reader(io.StringIO(text, newline="")):
            if row:
                rows.append(row)
    except csv.Error:
        pass
    return rows


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first record names the columns.

    Text above numbers or dates is a name. Otherwise a number or date above numbers or
    dates is a value; a table of text alone has a header.
    """
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
