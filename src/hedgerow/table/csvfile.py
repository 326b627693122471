"""CSV through DuckDB with explicit settings: no row is guessed away, no order lost."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import InputError
from .dialect import Dialect, find_encoding, read_sample, sniff
from .table import check_names
from .types import typed


def read_csv(path: Path) -> tuple[pa.Table, Dialect]:
    """A CSV file as Arrow, with the types of its whole columns, and its dialect.

    Raises
    ------
    InputError
        The file is empty, has no rows, is ragged, or its encoding or header cannot be used.
    """
    text, dialect = read_csv_text(path)
    columns, notes = [], {}
    for column in text.columns:
        made, found = typed(column, dialect.delimiter)
        notes.update(found)
        columns.append(made)
    return pa.Table.from_arrays(columns, names=text.column_names), replace(dialect, **notes)


def read_csv_text(path: Path) -> tuple[pa.Table, Dialect]:
    """A CSV file with every cell as the text that stands there, and its dialect."""
    if path.stat().st_size == 0:
        raise InputError(f"{path.name} is empty", hint="give a file with a header and records")
    encoding = find_encoding(path)
    sample = read_sample(path, encoding)
    dialect = sniff(sample, path.name)
    first = next(row for row in dialect.reader(sample.splitlines(keepends=True)) if row)
    names = first if dialect.header else [f"x{i}" for i in range(len(first))]
    check_names(names, path.name)
    with _utf8(path, encoding) as readable:
        text = _through_duckdb(readable, path, names, dialect)
    if text.num_rows == 0:
        raise InputError(
            f"{path.name} has a header but no rows", hint="give a table with at least one record"
        )
    return text, dialect


def _through_duckdb(readable: Path, path: Path, names: list[str], dialect: Dialect) -> pa.Table:
    """Every cell as text; cells that are empty and not quoted are missing."""
    import duckdb

    # Positions stand for names, so that odd names need no quoting.
    columns = {f"c{i}": "VARCHAR" for i in range(len(names))}
    with duckdb.connect(config={"preserve_insertion_order": True}) as connection:
        try:
            relation = connection.read_csv(
                str(readable),
                sep=dialect.delimiter + " " * dialect.spaced,
                quotechar=dialect.quote,
                escapechar=dialect.escape,
                header=dialect.header,
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
                encoding="utf-8",
            )
            make: Any = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table
            table = make()
        except duckdb.Error:
            # Its message quotes the record, so the fault is looked up again here.
            raise _fault(readable, path, len(names), dialect) from None
    return table.rename_columns(names)


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
def _utf8(path: Path, encoding: str) -> Iterator[Path]:
    """The file itself when it is UTF-8, else a private copy in UTF-8 that is removed after."""
    if encoding in ("utf-8", "utf-8-sig"):
        yield path
        return
    handle, name = tempfile.mkstemp(suffix=".csv")  # mode 0600
    try:
        with (
            open(path, encoding=encoding, newline="") as source,
            open(handle, "w", encoding="utf-8", newline="") as target,
        ):
            shutil.copyfileobj(source, target, 1 << 20)
        yield Path(name)
    finally:
        os.unlink(name)
