"""Read any table as Arrow, following the schema, so that it can be converted back.

Number-like columns of a CSV file that are declared as categories are read as they are spelled:
`250.1` and `250.10` are one number but two codes. Columns of a statistical file that are fully
labelled and declared numeric are read as their codes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.arrays import as_text, is_number, is_text, value_type
from ..columns.table import Table, check_names
from ..errors import InputError, reprs, translated
from ..schema import Schema
from .csv_file import check_sign, declared_texts, read_csv, read_texts
from .file_format import UNICODE, Dialect, FileFormat
from .file_sets import check_path, readable
from .frames import ArrowSource, source_of
from .parquet_reader import read_parquet
from .statistical import STATISTICAL, codes_of_labels, read_statistical, values_from_codes
from .text_cells import infer_type, spelled_texts, spelling_matters, unescape_cells, unescape_names
from .workbook import parted, read_workbook


def read(source: Any, *, prefix: str = "x", unescape_formulas: bool = False, schema: Schema | None = None) -> Table:
    """Read a table of people.

    Parameters
    ----------
    source : path, pandas or Polars frame or series, pyarrow table, DuckDB relation, numpy array
        The table to read. Files are CSV, Parquet, Arrow/Feather, SPSS, Stata, SAS or Excel
        (``people.xlsx::Sheet``), by the ending of their name. An array's columns are named
        x0, x1 ...
    prefix : str
        The prefix of an array's column names, instead of ``x``.
    unescape_formulas : bool
        Remove the apostrophe that `write_table` puts before cells which a spreadsheet
        would run (CSV only).
    schema : Schema, optional
        Its categorical columns stay text if a CSV file spells numbers in more than one way
        (``250.1`` and ``250.10`` are two codes). Its `missing`, `decimal` and `encoding` determine
        how a CSV file is read.

    Returns
    -------
    Table

    Raises
    ------
    InputError
        There is no such file, or it cannot be read as a table.

    Notes
    -----
    Whole numbers, decimals and time stamps stay exact, even if no double can represent them. Numbers
    with a fraction in text are read as the nearest double (longer ones than 17 digits as
    decimals). 0.0 and -0.0 are the same value, which a recoded column shows as 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read(pa.table({"age": [39, 50], "job": ["nurse", "cook"]}))
    Table(2 rows, 2 columns)
    """
    if isinstance(source, Table):
        # what streams was opened by its schema
        return source if schema is None or not source.is_loaded else as_declared(source, schema)
    if isinstance(source, (str, Path)):
        table = _of_file(Path(source), schema or Schema(), unescape_formulas)
    else:
        frame = source_of(source, prefix)
        table = Table(frame.arrow, frame)
    return table if schema is None else as_declared(table, schema)


def _of_file(source: Path, schema: Schema, unescape_formulas: bool) -> Table:
    path, sheet = parted(source)
    layout = FileFormat(check_path(path))
    orders: Mapping[str, Sequence[str]] = {}
    with translated(OSError, lambda e: InputError(f"cannot read {path}: {e.strerror or 'it is damaged'}")):
        if layout.suffix == ".csv":
            # a release keeps the encoding of its original, so it is not doubted again
            arrow, dialect = read_csv(path, schema, strict=not unescape_formulas)
            layout = FileFormat(".csv", dialect, unescape_formulas)
            arrow = unescape(arrow) if unescape_formulas else arrow
        elif layout.suffix in STATISTICAL:
            arrow, orders, labels = read_statistical(path, layout.suffix)
            # SAS data sets are read, not written
            layout = FileFormat(".xpt" if layout.suffix == ".sas7bdat" else layout.suffix, labels=labels)
        elif layout.suffix == ".xlsx":
            arrow, sheet = read_workbook(path, sheet, schema.missing)
            layout = FileFormat(".xlsx", Dialect(missing=tuple(schema.missing)), sheet=sheet)
            if schema.decimal == "," and not unescape_formulas:  # in texts of a release numbers have points
                _refuse_commas(arrow, declared_texts(schema)[1])
        else:
            arrow = _READERS[layout.suffix](path)
    check_names(arrow.column_names, path.name)
    if arrow.num_rows == 0:
        raise InputError(f"{path.name} has no rows", hint="give a table with at least one record")
    origin = ArrowSource(arrow, file=True)
    origin.categories = orders
    table = Table(arrow, origin, layout, path)
    categories, kinds = declared_texts(schema)
    if layout.suffix == ".csv":  # these columns were looked at, and stay as they are
        table.spelled[tuple(_open_spellings(table, kinds, categories).items())] = None
    return table


def _refuse_commas(sheet: pa.Table, kinds: Mapping[str, str]) -> None:
    """Raise InputError if cells of text in a workbook are numbers with a comma or with points between thousands."""
    sign, affected = Dialect(delimiter="", decimal=",", declared_decimal=","), []
    for field, texts in zip(sheet.schema, sheet.columns, strict=True):
        if is_text(field.type) and kinds.get(field.name, "numeric") == "numeric":
            signs = pc.any(pc.match_substring_regex(texts, "[.,]")).as_py()
            affected += [repr(field.name)] if signs and is_number(infer_type(texts, sign)[0].type) else []
    if affected:
        raise InputError(
            f"decimal=',' is for files of text, and a workbook holds numbers as text in {', '.join(affected)}",
            hint="turn them into numbers in the workbook, declare them categorical, or save the sheet as CSV (UTF-8)",
        )


def _feather(path: Path) -> pa.Table:
    with readable(path, "an Arrow or Feather file"), pa.OSFile(str(path)) as file:
        magic = file.read(6)
        file.seek(0)
        reader = pa.ipc.open_file if magic == b"ARROW1" else pa.ipc.open_stream
        table = reader(file).read_all()
        table.validate(full=True)  # reading follows no offsets, and whatever follows damaged ones may crash
    return table


_READERS = {".parquet": read_parquet, ".feather": _feather}


def unescape(table: pa.Table) -> pa.Table:
    """Return the table with the apostrophes of `escape_cells` removed from its texts and column names."""
    columns = [unescape_cells(c) if is_text(c.type) else c for c in table.columns]
    return pa.Table.from_arrays(columns, names=unescape_names(table.column_names))


def as_declared(table: Table, schema: Schema) -> Table:
    """Return the table as the schema declares it: missing words, decimal sign, kinds and categories.

    Raises
    ------
    InputError
        A table that is no file of text holds words that the schema calls missing; a column has numbers
        with the declared decimal sign and with the other; the file changed since it was read.
    """
    categories, kinds = declared_texts(schema)
    table = _with_declared_words(table, schema)
    if not table.layout.unescaped:  # a release may have a sign of its own
        check_sign(table.layout.dialect, schema)
    return as_spelled(_as_numbers(table, kinds), kinds, categories)


def _as_numbers(table: Table, kinds: Mapping[str, str]) -> Table:
    """Return a statistical file's table with labelled columns as numbers if the schema says numeric.

    Codes that are declared missing become missing cells, and another column holds the reasons, as
    for every numeric column.
    """
    labels = table.layout.labels
    names = [n for n, v in labels.variables.items() if v.coded and kinds.get(n) == "numeric"]
    if not names or not table.is_loaded:
        return table
    arrow, key = table.arrow, ("numbers", *names)
    if key not in table.spelled:
        codes = {n: codes_of_labels(arrow.column(n), labels.variables[n]) for n in names if n in table.names}
        cells = {name: column_codes for name, column_codes in codes.items() if column_codes is not None}
        columns, orders, new_labels = values_from_codes(cells, labels, numbers=cells)
        merged = {n: arrow.column(n) for n in table.names} | {n: columns.column(n) for n in columns.column_names}
        arrow = pa.table(merged)
        origin = ArrowSource(arrow, file=True)
        stayed = {n: table.declared(n) for n in table.names if n not in cells and table.declared(n)}
        origin.categories = {**stayed, **orders}
        layout = replace(table.layout, labels=replace(new_labels, whys={**labels.whys, **new_labels.whys}))
        table.spelled[key] = Table(arrow, origin, layout, table.path)
    return table.spelled[key] or table


def with_reasons(table: Table, original: FileFormat) -> Table:
    """Return a statistical file's table with an empty column for each of reasons of `original` that it has no code of.

    Such a column is made of the codes for missing numbers, so a file in which nobody has one seems to lack it.
    """
    names = [w for w, n in original.labels.whys.items() if n in table.names and w not in table.names]
    empty = {name: pa.nulls(table.n_rows, pa.string()) for name in names}
    return table.replaced(empty) if empty and table.is_loaded else table


def _with_declared_words(table: Table, schema: Schema) -> Table:
    """Return a CSV file's table, read again if the schema declares other words for missing or other number signs."""
    missing, decimal = schema.missing, schema.decimal
    if table.suffix != ".csv":  # a workbook has been read without them
        _refuse_words(table, missing)
        return table
    dialect = table.layout.dialect
    encoding = schema.encoding or dialect.encoding
    same = dialect.encoding in (*UNICODE, encoding)
    if table.path is None or (same and (dialect.missing, dialect.declared_decimal) == (missing, decimal)):
        return table
    if same and not missing and not dialect.missing and decimal == dialect.decimal and not dialect.mixed:
        return table  # the decimal sign was guessed as it is declared
    key = ("reread", missing, decimal, encoding)
    if key not in table.spelled:
        arrow, reread = read_csv(table.path, schema.reading().replace(encoding=encoding))
        same = arrow.column_names == table.names and arrow.num_rows == table.n_rows
        if not same or reread.delimiter != dialect.delimiter:
            raise changed(table.path.name)
        not_utf8 = reread.not_utf8 if schema.encoding else dialect.not_utf8
        layout = replace(table.layout, dialect=replace(reread, not_utf8=not_utf8))
        arrow = unescape(arrow) if layout.unescaped else arrow
        table.spelled[key] = Table(arrow, ArrowSource(arrow, file=True), layout, table.path)
    return table.spelled[key] or table


def _refuse_words(table: Table, missing: Collection[str]) -> None:
    """Raise InputError if the table is no CSV file or workbook but holds the schema's words for missing values."""
    words = pa.array(missing, pa.string())
    affected = [
        name
        for name in (table.names if missing else ())
        if is_text(value_type(table.types.field(name).type))
        and pc.any(pc.is_in(as_text(table.entries(name)).cast(pa.string()), words)).as_py()
    ]
    if affected:
        raise InputError(
            f"missing= names words that stand in {reprs(affected)} of a table that is not a text file",
            hint="make those cells missing (null) in the table itself; missing= is for CSV files and workbooks",
        )


def with_currencies(table: Table, numeric: Iterable[str]) -> FileFormat:
    """Return the table's format with the currencies of those columns of text that are read as numbers."""
    dialect = table.layout.dialect
    names = [name for name in numeric if is_text(value_type(table.types.field(name).type))]
    entries = {name: as_text(table.entries(name)).cast(pa.string()) for name in names}
    units = {name: infer_type(pa.chunked_array([each]))[1].get("currency", "") for name, each in entries.items()}
    currencies = (*dialect.currencies, *(pair for pair in units.items() if pair[1]))
    return replace(table.layout, dialect=replace(dialect, currencies=currencies))


def changed(name: str) -> InputError:
    """Return the error for a file that changed after it was first read."""
    return InputError(f"{name} changed while it was read", hint="read it again")


def as_spelled(
    table: Table, kinds: Mapping[str, str], categories: Mapping[str, Collection[str]] | None = None
) -> Table:
    """Return a table whose declared categories are spelled exactly as in its CSV file.

    A column stays as it was read if its numbers are spelled in their standard form, so that nothing
    is lost, or if more of its declared categories occur in that form.

    Parameters
    ----------
    table : Table
        Any; only what came from a CSV file may change.
    kinds : mapping of str to str
        Declared kinds.
    categories : mapping of str to collection of str, optional
        Categories by column, as they are declared or as a hierarchy has them.

    Raises
    ------
    InputError
        The file changed since it was read.
    """
    if table.path is None or table.suffix != ".csv":
        return table
    columns = _open_spellings(table, kinds, categories or {})
    if columns and (key := tuple(columns.items())) not in table.spelled:
        table.spelled[key] = _read_again(table, table.path, columns)
    return (table.spelled[key] if columns else None) or table


def _open_spellings(
    table: Table, kinds: Mapping[str, str], categories: Mapping[str, Collection[str]]
) -> dict[str, frozenset[str] | None]:
    """Return the columns whose spelling may matter, each with its declared categories if it has any."""
    return {
        name: frozenset(categories[name]) if name in categories else None
        for name in table.names
        if spelling_matters(name, table.types.field(name).type, kinds, categories)
    }


def _read_again(table: Table, path: Path, columns: Mapping[str, Collection[str] | None]) -> Table | None:
    """Return the table with columns re-read as text; None if every column can stay as it is."""
    places = [table.names.index(name) for name in columns]
    dialect, spelled = table.layout.dialect, {}
    for name, texts in zip(columns, read_texts(path, places, dialect.encoding), strict=True):
        column = table.arrow.column(name)
        # the types were inferred from the file as it was; another answer means another file
        if not infer_type(texts, dialect)[0].equals(column):
            raise changed(path.name)
        if (as_written := spelled_texts(texts, column, dialect, columns[name])) is not None:
            spelled[name] = as_written
    if not spelled:
        return None
    reread = table.replaced(spelled)
    reread.path = path
    return reread
