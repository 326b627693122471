"""Describe a file's format, its dialect or labels, tell formats by how files begin, and one file from many."""

from __future__ import annotations

import codecs
import csv
import glob
import io
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..errors import InputError
from ..progress import Progress
from ..texts import refusal, text

# The value of a cell; a letter in a numeric column is one of Stata's missing values.
Code = float | int | str
UNICODE = ("utf-8", "utf-8-sig", "utf-16")
# What other programs leave beside their files begins so.
HIDDEN = (".", "_")
# bytes that are looked at before the rest is read or copied
START = 1 << 20
# bytes that a copy leaves free on the disk
_RESERVE = 1e9
_MAGIC = {
    b"PAR1": ".parquet", b"ARROW1": ".feather", b"\xff\xff\xff\xff": ".feather", b"PK\x03\x04": ".xlsx",
    b"$FL2": ".sav", b"$FL3": ".zsav", b"<stata_d": ".dta", b"HEADER R": ".xpt",
}  # fmt: skip
# how packed files (workbooks among them), old workbooks, pictures and pages begin
_NO_TEXT = (b"PK\x03\x04", b"\x1f\x8b", b"\xd0\xcf\x11\xe0", b"\x89PNG", b"\xff\xd8\xff", b"%PDF")
# and what marks other text that is no table
_OTHER_TEXT = {
    "HTML or XML": re.compile(rb"<(!doctype|!--|\?xml|html|head|body|meta|table)\b", re.IGNORECASE),
    "JSON": re.compile(rb"""\{\s*["}]|\[\s*[\[{"]"""),
    "RTF": re.compile(rb"\{\\rtf"),
}
# most signs of UTF-16 and UTF-32 have zeros, but so many never follow each other
NULS = b"\0" * 8


@dataclass(frozen=True)
class VariableLabels:
    """The metadata of one column of a statistical file.

    Parameters
    ----------
    label : str
        The column's description.
    values : mapping of code to str
        The label of each code; all labels differ.
    missing : tuple of pairs of codes
        First and last code of each range that is declared missing; for text both are equal.
    form : str
        The program's display format for the column.
    measure : str
        "nominal", "ordinal", "scale", or nothing.
    width : int
        Display width of the column; 0 if it is not set.
    sort : str
        The class of the values that were read: "number", "text", "date", "moment" or "time".
    coded : bool
        Whether the codes were read as categories.
    numbers : bool
        Whether a schema declares the column numeric although all of its codes have labels.
    """

    label: str = ""
    values: Mapping[Code, str] = field(default_factory=dict)
    missing: tuple[tuple[Code, Code], ...] = ()
    form: str = ""
    measure: str = ""
    width: int = 0
    sort: str = "number"
    coded: bool = False
    numbers: bool = False

    def declared_missing(self, code: Code) -> bool:
        """Return whether the file declares a code as missing."""
        if isinstance(code, str) and self.sort != "text":
            return True
        return any(
            isinstance(code, str) == isinstance(low, str) and low <= code <= high  # type: ignore[operator]
            for low, high in self.missing
        )

    def categorical(self, codes: Iterable[Code]) -> bool:
        """Return whether each code is labelled or declared missing, and at least one label belongs to a valid value."""
        return all(code in self.values or self.declared_missing(code) for code in codes) and any(
            not self.declared_missing(code) for code in self.values
        )


@dataclass(frozen=True)
class FileLabels:
    """The metadata of a statistical file.

    Parameters
    ----------
    variables : mapping of str to Variable
    whys : mapping of str to str
        For each column of reasons why numbers are missing, the column with these numbers.
    title : str
        The title stored in the file. It may name its author, so it is never written.
    version : int
        Version of a SAS transport file, 5 or 8; 0 for other files.
    """

    variables: Mapping[str, VariableLabels] = field(default_factory=dict)
    whys: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    version: int = 0

    def label(self, name: str) -> str:
        """Return a column's label; works also for a column that holds the reasons for missing values."""
        if name in self.whys:
            return f"Why {self.whys[name]} is missing"
        return self.variables[name].label if name in self.variables else ""


@dataclass(frozen=True)
class Dialect:
    """The dialect of a CSV file.

    Parameters
    ----------
    delimiter, quote : str
        One character each.
    escape : str
        The character before a quote inside quotes: the quote itself, or a backslash.
    spaced : bool
        Whether a space follows each delimiter.
    quote_all : bool
        Whether every cell is quoted.
    header : bool
        Whether the first record names the columns.
    newline : str
        The characters at the end of a record.
    encoding : str
        The text encoding, including its byte order mark if the file has one.
    not_utf8 : int
        Number of the first line that is not UTF-8, if the encoding was not declared; else 0.
    decimal : str
        The decimal separator.
    booleans : tuple of str
        The texts for false and true.
    unnamed : tuple of str
        The names given to columns that have none in the file.
    missing : tuple of str
        Words that the reader declared as missing.
    declared_decimal : str
        The decimal separator that the reader declared; empty if it was inferred.
    unsure : tuple of str
        Columns of numbers that can be read in two ways, such as 22.807, if neither the reader nor
        another column decides; they were read with `decimal`.
    either : tuple of str
        Columns of numbers of which a cell has signs between thousands, or could have, such as 22.807.
    mixed : tuple of str
        Columns whose decimals are written with the other separator.
    places : tuple of (str, int)
        Columns whose numbers all have the same count of decimals, as 26060,00 has two.
    styles : tuple of (str, str)
        Columns of dates or times that are not written as 2020-12-31 or 2020-12-31 14:15:00, and how most of their
        cells are (`text_cells.date_style`).
    currencies : tuple of (str, str)
        Columns of amounts, each with the sign or name of its currency, without which they were read.
    ranges : tuple of str
        Columns of a release whose numbers stand in texts, as [70,3-73,2] does, with a decimal comma.
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
    unnamed: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    declared_decimal: str = ""
    unsure: tuple[str, ...] = ()
    either: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    places: tuple[tuple[str, int], ...] = ()
    styles: tuple[tuple[str, str], ...] = ()
    currencies: tuple[tuple[str, str], ...] = ()
    ranges: tuple[str, ...] = ()

    def doubts(self) -> Iterator[str]:
        """Yield a warning for each guess about the encoding and the number format."""
        if self.encoding not in UNICODE:
            yield text("dialect", "encoding", encoding=self.encoding)
        sign, other = ("point", ",") if self.decimal == "." else ("comma", ".")
        if self.unsure:
            yield text("dialect", "unsure", names=", ".join(self.unsure), sign=sign, other=other)
        if self.mixed:
            yield text("dialect", "mixed", names=", ".join(self.mixed), sign=sign)
        if self.currencies:
            yield text("dialect", "currencies", names=", ".join(f"{name} ({unit})" for name, unit in self.currencies))

    def reader(self, lines: io.TextIOBase | list[str]) -> csv._reader:  # type: ignore[name-defined]
        """Return a strict `csv.reader` of the standard library that reads this dialect."""
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
    """A file's format, with the details that the table itself does not hold.

    Parameters
    ----------
    suffix : str
        The ending of the file's name.
    dialect : Dialect
        The dialect of a CSV file.
    unescaped : bool
        Whether apostrophes before formulas were removed when the file was read.
    labels : Labels
        The metadata of a statistical file.
    sheet : str
        The name of a workbook's sheet.
    """

    suffix: str = ".parquet"
    dialect: Dialect = Dialect()
    unescaped: bool = False
    labels: FileLabels = field(default_factory=FileLabels)
    sheet: str = ""


def damaged(path: Path, kind: str) -> InputError:
    """Return the error for a file that is not what its ending says."""
    return InputError(
        f"{path.name} is not {kind}, or it is damaged", hint="check the ending of its name, or write it again"
    )


def check_start(start: bytes, name: str, nul: bytes = NULS) -> None:
    """Raise InputError if a text file's first megabyte begins as no table does, or holds the bytes `nul`."""
    if start.startswith(_NO_TEXT):
        raise InputError(
            f"{name} begins like a workbook, a packed file or a picture, and not like text",
            hint="give it its own ending, such as .xlsx, or save its table as CSV (UTF-8)",
        )
    begins = start.removeprefix(codecs.BOM_UTF8).lstrip()
    for kind, form in _OTHER_TEXT.items():
        if form.match(begins):
            raise InputError(f"{name} begins like {kind} and is not a table", hint="save its table as CSV (UTF-8)")
    if (at := start.find(nul)) >= 0:
        raise InputError(**refusal("nul", "io", file=name, line=start.count(b"\n", 0, at) + 1))


def save_stream(stream: IO[bytes], folder: Path, progress: Progress) -> Path:
    """Copy standard input to a file with the ending of its format, and return the file's path.

    Raises
    ------
    InputError
        It does not begin like a table, or the disk has no room for it.
    """
    piece, size = stream.read(START), 0
    suffix = next((s for magic, s in _MAGIC.items() if piece.startswith(magic)), ".csv")
    if suffix == ".csv":
        check_start(piece, "standard input")
    path = folder / f"standard-input{suffix}"
    # x: never through a link that somebody laid there
    with open(path, "xb") as file:
        while piece:
            if shutil.disk_usage(folder).free < max(len(piece), min(size, _RESERVE)):
                raise InputError(**refusal("no_room", "io", size=size / 1e6, folder=folder.parent))
            size += file.write(piece)
            progress(f"{size / 1e9:.1f} GB of standard input", None)
            piece = stream.read(START)
    return path


def is_many(path: str | Path) -> bool:
    """Return whether a path is a folder, or a pattern such as ``people/*.parquet``."""
    return os.path.isdir(path) or (glob.has_magic(str(path)) and not os.path.exists(path))


def would_join(source: str | Path, target: str | Path) -> bool:
    """Return whether a file written to `target` would become one of the source table's files."""
    if not is_many(source) or Path(target).name.startswith(HIDDEN):
        return False
    if os.path.isdir(source):
        return Path(source).resolve() in Path(target).resolve().parents
    return Path(target).absolute().match(str(Path(source).absolute()))
