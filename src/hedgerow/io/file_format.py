"""Describe a file's format: its kind, a text file's dialect, a statistical file's labels."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

# What stands in a cell; a letter in a column of numbers is one of Stata's missing values.
Code = float | int | str
UNICODE = ("utf-8", "utf-8-sig", "utf-16")


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of a dictionary's values; other types are returned unchanged."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@dataclass(frozen=True)
class VariableLabels:
    """The metadata of one column of a statistical file.

    Parameters
    ----------
    label : str
        What the column is.
    values : mapping of code to str
        What its codes say; no text twice.
    missing : tuple of pairs of codes
        First and last of each range of values that are declared missing; text stands alone.
    form : str
        How the program shows the column.
    measure : str
        "nominal", "ordinal", "scale", or nothing.
    width : int
        Of the column as it is shown; 0 where nobody said.
    sort : str
        What arrived: "number", "text", "date", "moment" or "time".
    coded : bool
        Whether its codes arrived as categories.
    numbers : bool
        Whether a schema says that it holds numbers, though all its codes have labels.
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
        """Return whether the file declares this code as missing."""
        if isinstance(code, str) and self.sort != "text":
            return True
        return any(
            isinstance(code, str) == isinstance(low, str) and low <= code <= high  # type: ignore[operator]
            for low, high in self.missing
        )

    def categorical(self, codes: Iterable[Code]) -> bool:
        """Return whether each code is labelled or declared missing, and some label is of a valid value."""
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
        By the column that says why numbers are missing, the column of these numbers.
    title : str
        What the file is called inside, which may name who made it; it is never written.
    version : int
        Of a SAS transport file: 5 or 8; 0 elsewhere.
    """

    variables: Mapping[str, VariableLabels] = field(default_factory=dict)
    whys: Mapping[str, str] = field(default_factory=dict)
    title: str = ""
    version: int = 0

    def label(self, name: str) -> str:
        """Return a column's label, also for a column that holds the reasons for missing values."""
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
    declared_decimal : str
        The decimal separator that its reader declared; empty where it was found.
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
    declared_decimal: str = ""
    unsure: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    places: tuple[tuple[str, int], ...] = ()

    def doubts(self) -> Iterator[str]:
        """Yield a warning for each guess about the encoding and the number format."""
        if self.encoding not in UNICODE:
            message = f"the file is read as {self.encoding}, and a release of it is written so"
            yield (
                f"line {self.not_utf8:,} is not UTF-8, so {message}; say what it is: --encoding (encoding=)"
                if self.not_utf8
                else f"{message}: its reader must know"
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
    labels: FileLabels = field(default_factory=FileLabels)
    sheet: str = ""
