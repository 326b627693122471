"""1 READ: any table as Arrow, with the way back."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..columns.table import Table, check_names
from ..errors import InputError, did_you_mean, no_memory
from ..files import SUFFIXES
from ..schema import Schema
from .csv_file import read_csv
from .dialect import Dialect, FileFormat
from .escape import unescape
from .frames import ArrowSource, source_of
from .json_lines import read_json_lines
from .spelling import as_declared
from .statistical import STATISTICAL, read_statistical
from .workbook import parted, read_workbook

_SHEETS = (".xls", ".xlsb", ".ods")


def read(
    source: Any,
    *,
    prefix: str = "x",
    unescape_formulas: bool = False,
    schema: Schema | None = None,
) -> Table:
    """Read a table of people.

    Parameters
    ----------
    source : path, pandas or Polars frame or series, pyarrow table, DuckDB relation, numpy array
        What to read. Files are CSV, Parquet, Arrow/Feather, JSON lines, SPSS, Stata, SAS or
        Excel (``people.xlsx::Sheet``), by their name's ending. An array's columns are named
        x0, x1 ...
    prefix : str
        What the columns of an array are named with instead of ``x``.
    unescape_formulas : bool
        Take away the apostrophe that `write_table` puts before cells which a spreadsheet
        would run (CSV only).
    schema : Schema, optional
        What it declares categorical stands as text where a CSV file spells numbers in more
        than one way (``250.1`` and ``250.10`` are two codes). Its `missing`, `decimal` and
        `encoding` say how a CSV file is read.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        There is no such file, or it cannot be read as a table.

    Notes
    -----
    Whole numbers, decimals and time stamps are what they are, also where no double holds them.
    A number with a fraction in text is the nearest double (up to 17 digits; longer ones are
    decimals). 0.0 and -0.0 are one value, and a recoded column shows it as 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read(pa.table({"age": [39, 50], "job": ["nurse", "cook"]}))
    Table(2 rows, 2 columns)
    """
    if isinstance(source, Table):
        if schema is None or source.engine != "memory":  # what streams was opened by its schema
            return source
        return as_declared(source, schema)
    told = schema or Schema()
    if isinstance(source, (str, Path)):
        made = _of_file(Path(source), told, unescape_formulas)
    else:
        found = source_of(source, prefix)
        made = Table(found.arrow, found)
    return made if schema is None else as_declared(made, schema)


def _of_file(source: Path, told: Schema, unescape_formulas: bool) -> Table:
    path, sheet = parted(source)
    layout = FileFormat(check_path(path))
    orders: Mapping[str, Sequence[str]] = {}
    try:
        if layout.suffix == ".csv":
            arrow, dialect = read_csv(
                path, told.missing, told.decimal, told.encoding, strict=not unescape_formulas
            )
            layout = FileFormat(".csv", dialect, unescape_formulas)
            arrow = unescape(arrow) if unescape_formulas else arrow
        elif layout.suffix in STATISTICAL:
            arrow, orders, labels = read_statistical(path, layout.suffix)
            layout = FileFormat(written_as(layout.suffix), labels=labels)
        elif layout.suffix == ".xlsx":
            arrow, sheet = read_workbook(path, sheet, told.missing)
            layout = FileFormat(".xlsx", Dialect(missing=tuple(told.missing)), sheet=sheet)
        else:
            arrow = _READERS[layout.suffix](path)
    except OSError as error:
        if no_memory(error):
            raise MemoryError from None
        raise InputError(f"cannot read {path}: {error.strerror or 'it is damaged'}") from None
    check_names(arrow.column_names, path.name)
    if arrow.num_rows == 0:
        raise InputError(f"{path.name} has no rows", hint="give a table with at least one record")
    origin = ArrowSource(arrow, file=True)
    origin.categories = orders
    return Table(arrow, origin, layout, path)


def written_as(suffix: str) -> str:
    """The kind of file that a release of such a file is: SAS data sets are only read."""
    return ".xpt" if suffix == ".sas7bdat" else suffix


def check_path(path: Path) -> str:
    """The kind of file, as its usual ending; InputError when there is none to read."""
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder, not a file", hint="give one table file")
    check_there(path)
    suffix = SUFFIXES.get(path.suffix.lower())
    if suffix is None:
        raise InputError(
            f"{path.name} has an ending that Hedgerow does not know",
            hint="save the sheet as .xlsx or CSV (UTF-8) first: such a workbook is not read"
            if path.suffix.lower() in _SHEETS
            else "known endings: " + ", ".join(sorted(SUFFIXES)),
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty", hint="give a file with a header and records")
    return suffix


def check_there(path: Path) -> None:
    """Raise InputError where a path leads to nothing."""
    if os.path.exists(path):
        return
    if os.path.islink(path):
        raise InputError(f"{path} is a link to what is not there")
    raise InputError(f"there is no file {path}{did_you_mean(path.name, _tables(path.parent))}")


def _tables(folder: Path) -> list[str]:
    """Some of the table files of a folder."""
    try:
        found = (each.name for each in folder.iterdir() if each.suffix.lower() in SUFFIXES)
        return list(islice(found, 1000))
    except OSError:
        return []


def damaged(path: Path, error: Exception, kind: str = "a Parquet") -> Exception:
    """What is said of a file that cannot be read."""
    if no_memory(error):
        return MemoryError()
    if isinstance(error, OSError) and error.errno:
        return InputError(f"cannot read {path}: {error.strerror}")
    return InputError(
        f"{path.name} is not {kind} file, or it is damaged",
        hint="check the ending of its name, or write it again",
    )


def _parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        about = pq.read_metadata(path)
        # Not pq.read_table: that adds columns from folder names such as year=2020.
        with pq.ParquetFile(path, metadata=about, read_dictionary=repeating([about])) as file:
            return file.read()
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, error) from None


def repeating(parts: Sequence[Any]) -> list[str]:
    """Text columns of Parquet files that are read as dictionaries: those that repeat are not hashed again.

    Text that is written out takes four bytes a value for its length alone. Large text always: its
    type would otherwise depend on how a file happens to be compressed, and a release has another one.

    Parameters
    ----------
    parts : sequence of pyarrow.parquet.FileMetaData
        Of the files of one table.
    """
    groups = [about.row_group(i) for about in parts for i in range(about.num_row_groups)]
    n_rows = sum(about.num_rows for about in parts)
    types = [field for about in parts for field in about.schema.to_arrow_schema()]
    large = {field.name for field in types if pa.types.is_large_string(field.type)}
    found = []
    for i in range(parts[0].num_columns):
        column = parts[0].schema.column(i)
        size = sum(group.column(i).total_uncompressed_size for group in groups)
        if column.path != column.name or column.logical_type.type != "STRING":
            continue
        if size <= 4 * n_rows or column.name in large:
            found.append(column.name)
    return found


def _feather(path: Path) -> pa.Table:
    try:
        with pa.OSFile(str(path)) as file:
            magic = file.read(6)
            file.seek(0)
            reader = pa.ipc.open_file if magic == b"ARROW1" else pa.ipc.open_stream
            return reader(file).read_all()
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, error, "an Arrow or Feather") from None


_READERS = {".parquet": _parquet, ".feather": _feather, ".jsonl": read_json_lines}
