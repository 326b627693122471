"""Write a table in the file format of its input, readable only by the user."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.arrays import (
    ArrowFault,
    as_text,
    decoded,
    in_parquet,
    is_number,
    is_text,
    one_piece,
    text_lengths,
    value_class,
    value_type,
)
from ..columns.table import Table
from ..errors import OutputError
from ..files import SUFFIXES, private_file
from .file_format import Dialect, FileFormat
from .frames import values_only
from .statistical import STATISTICAL, write_statistical
from .text_cells import _RISKY, _is_risky, cell_text, concat, escape_cells, has_decimals_in
from .workbook import write_workbook

_BATCH = 1 << 16
# About so many bytes of text are written at a time.
_TEXT = 1 << 26
# Rows of a part of a Parquet file: fixed, so that no part tells how a table came or was grouped.
ROW_GROUP = 1 << 20
# What the files of a table in a folder are called, each of which holds `ROW_GROUP` rows.
PART_FILE = "part-{:05}.parquet"
# Encodings of a text file that begins with a mark: the mark, and what follows it.
_MARKS = {"utf-8-sig": (codecs.BOM_UTF8, "utf-8"), "utf-16": (codecs.BOM_UTF16_LE, "utf-16-le")}
_KEPT_BY_PARQUET = ("int", "uint", "float", "double", "bool", "string", "date32", "decimal")


def write_table(table: pa.Table, path: str | Path, like: Table | None = None, *, escape: bool = True) -> None:
    """Write a table to one file that only its owner can read (mode 0600).

    Parameters
    ----------
    table : pyarrow.Table
        The table to write; dictionaries are written out as plain values.
    path : path
        The file to write. Its ending decides the format: .csv, .tsv, .txt, .parquet, .feather,
        .arrow, .sav, .zsav, .dta, .xpt, .xlsx; with any other ending it has the format of
        the file that `like` was read from.
    like : Table, optional
        The table that was read: its CSV dialect and encoding are used again.
    escape : bool
        In CSV, put an apostrophe before text that a spreadsheet would run as a formula;
        ``read(path, unescape_formulas=True)`` removes it.

    Raises
    ------
    OutputError
        The file cannot be written; no part of it is left behind.
    """
    # the table's metadata and unused dictionary entries would be written too
    path, table = Path(path), values_only(table)
    layout = layout_like(like, table.schema, lambda name: table[name].unique()) if like is not None else FileFormat()
    suffix = SUFFIXES.get(path.suffix.lower(), layout.suffix)
    dialect = layout.dialect
    if path.suffix.lower() in (".tsv", ".tab") and layout.suffix != ".csv":
        dialect = Dialect(delimiter="\t")
    write = _writer(suffix, layout, dialect, escape)
    try:
        with private_file(path) as file:
            write(table, file)
    except ArrowFault:
        names = ", ".join(_strange(table, write)) or "?"
        raise OutputError(f"{path.name} cannot hold the columns {names}", hint="leave them out") from None


def write_parts(tables: Iterable[pa.Table], folder: Path, types: pa.Schema | None = None) -> None:
    """Write the pieces of a table as numbered Parquet files in one folder.

    All pieces must share one dictionary per column, as `parquet_writer` requires. `types` are those
    of the columns, by default those of the pieces.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    for i, table in enumerate(tables):
        with private_file(folder / PART_FILE.format(i)) as file, parquet_writer(types or table.schema, file) as write:
            write(table)


def in_parts(table: pa.Table) -> Iterator[pa.Table]:
    """Yield a table in pieces of `ROW_GROUP` rows, as `write_parts` expects them."""
    table = values_only(table)
    for start in range(0, table.num_rows, ROW_GROUP):
        yield table.slice(start, ROW_GROUP)


def _writer(suffix: str, layout: FileFormat, dialect: Dialect, escape: bool) -> Callable[[pa.Table, IO[bytes]], None]:
    if suffix == ".sas7bdat":
        raise OutputError("SAS data sets are read, not written", hint="choose the ending .xpt")
    if suffix in STATISTICAL:
        return partial(write_statistical, suffix=suffix, labels=layout.labels)
    writers: dict[str, Callable[[pa.Table, IO[bytes]], None]] = {
        ".csv": lambda table, file: write_csv(table.column_names, [table], file, dialect, escape),
        ".xlsx": partial(write_workbook, sheet=layout.sheet),
        ".parquet": _write_parquet,
        ".feather": _write_feather,
    }
    return writers[suffix]


def _strange(table: pa.Table, write: Callable[[pa.Table, IO[bytes]], None]) -> list[str]:
    """Return the name and type of each column that `write` cannot store."""
    unsupported = []
    for field in table.schema:
        try:
            write(table.select([field.name]), BytesIO())
        except ArrowFault:
            unsupported.append(f"{field.name!r} ({field.type})")
    return unsupported


def layout_like(like: Table, types: pa.Schema, entries: Callable[[str], pa.Array]) -> FileFormat:
    """Return the table's file format for a release of it, of these types and distinct values.

    A header is added if the column names differ. Ranges have the decimal sign of their numbers.
    """
    dialect = like.layout.dialect
    named = dialect.header or types.names != like.names
    ranges = [
        name
        for name in types.names
        if dialect.decimal == "," and name in like.names and is_number(value_type(like.types.field(name).type))
        if is_text(value_type(types.field(name).type)) and has_decimals_in(as_text(entries(name)), ".", dialect)
    ]
    return replace(like.layout, dialect=replace(dialect, header=named, ranges=(*dialect.ranges, *ranges)))


def not_in_parquet(table: pa.Table) -> list[str]:
    """Return the name and type of each column that Parquet cannot store."""
    return _strange(table.slice(0, 0), _write_parquet)


def _written_out(table: pa.Table) -> pa.Table:
    """Return the table with dictionaries replaced by plain values."""
    for i, name in enumerate(table.column_names):
        table = table.set_column(i, name, decoded(table.column(i)))
    return table


def _write_parquet(table: pa.Table, file: IO[bytes]) -> None:
    with parquet_writer(table.schema, file) as write:
        write(table)


@contextmanager
def parquet_writer(schema: pa.Schema, file: IO[bytes]) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that appends tables of one schema to a Parquet file.

    The file's bytes do not depend on how its rows arrive, or on whether text comes as dictionaries,
    if each table but the last has a multiple of `ROW_GROUP` rows and all share one dictionary per
    column.
    """
    import pyarrow.parquet as pq

    stored_schema = pa.schema([field.with_type(in_parquet(field.type)) for field in schema])
    # Without Arrow's own schema, dictionaries are written as they stand and read as plain text.
    simple = all(_simple(field.type) for field in stored_schema)

    def stored(table: pa.Table) -> pa.Table:
        table = table if stored_schema.equals(schema) else table.cast(stored_schema)
        return _as_appears(table) if simple else _written_out(table)

    types = stored(schema.empty_table()).schema
    # the least and greatest text take as long to find as all the rest, and no reader needs them
    numbers = [e.name for e in types if pa.types.is_primitive(e.type)]
    settings = {"compression": "zstd", "compression_level": 1, "write_statistics": numbers}
    with pq.ParquetWriter(file, types, store_schema=not simple, **settings) as writer:

        def write(table: pa.Table) -> None:
            for start in range(0, table.num_rows, ROW_GROUP):
                writer.write_table(stored(table.slice(start, ROW_GROUP)), row_group_size=ROW_GROUP)

        yield write


def _as_appears(table: pa.Table) -> pa.Table:
    """Encode text columns as dictionaries in order of first appearance.

    Plain text and dictionaries, and dictionaries in another order, would give different Parquet
    pages.
    """
    for i, field in enumerate(table.schema):
        coded = pa.types.is_dictionary(field.type)
        if not coded and not pa.types.is_string(field.type):
            continue
        cells = one_piece(table.column(i))
        # an entry that is missing or doubled would make other pages
        if coded and (cells.dictionary.null_count or len(cells.dictionary.unique()) < len(cells.dictionary)):
            cells, coded = cells.dictionary_decode(), False
        recoded = pc.dictionary_encode(cells.indices if coded else cells)
        entries = cells.dictionary.take(recoded.dictionary) if coded else recoded.dictionary
        array = pa.DictionaryArray.from_arrays(recoded.indices.cast(pa.int32()), entries)
        table = table.set_column(i, field.name, array)
    return table


def _simple(kind: pa.DataType) -> bool:
    """Return whether Parquet restores this type without a stored Arrow schema."""
    if pa.types.is_dictionary(kind):
        return bool(pa.types.is_string(kind.value_type))
    if pa.types.is_timestamp(kind):
        return kind.unit in ("ms", "us", "ns") and kind.tz in (None, "UTC")
    return str(kind).startswith(_KEPT_BY_PARQUET) and not pa.types.is_float16(kind)


def _write_feather(table: pa.Table, file: IO[bytes]) -> None:
    table = _written_out(table)
    with pa.ipc.new_file(file, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table, max_chunksize=_BATCH)


def _batches(table: pa.Table) -> Iterator[pa.Table]:
    """Yield the rows in pieces that stay small in memory when dictionaries become text.

    A cell can list thousands of categories, so a few distinct texts can become gigabytes over all
    rows.
    """
    for start in range(0, table.num_rows, _BATCH):
        piece = table.slice(start, _BATCH).combine_chunks()
        part = np.cumsum(sum(text_lengths(c.chunk(0)) for c in piece.columns)) // _TEXT
        cuts = np.flatnonzero(np.diff(part)) + 1
        for a, b in pairwise([0, *cuts.tolist(), piece.num_rows]):
            yield piece.slice(a, b - a)


def write_csv(
    names: Sequence[str], tables: Iterable[pa.Table], file: IO[bytes], dialect: Dialect, escape: bool
) -> None:
    """Write tables with the same columns as one CSV file."""
    delimiter = dialect.delimiter + " " * dialect.spaced
    places, styles = dict(dialect.places), dict(dialect.styles)
    with _encoded(file, dialect.encoding) as target:
        if dialect.header:
            header = _cells(pa.array(names, pa.string()), dialect, escape).to_pylist()
            target.write((delimiter.join(header) + dialect.newline).encode())
        for batch in (piece for table in tables for piece in _batches(table)):
            columns = [
                _csv_column(
                    column, dialect, escape, (places.get(name, 0), styles.get(name, "")), name in dialect.ranges
                )
                for name, column in zip(names, batch.columns, strict=True)
            ]
            _write_lines(target, columns, delimiter, dialect.newline)


@contextmanager
def _encoded(file: IO[bytes], encoding: str) -> Iterator[IO[bytes]]:
    """Yield a file that accepts UTF-8 and stores it in `encoding`.

    Raises
    ------
    OutputError
        The encoding has no sign for a character.
    """
    mark, plain = _MARKS.get(encoding, (b"", encoding))
    file.write(mark)
    if plain == "utf-8":
        yield file
        return
    target = codecs.EncodedFile(file, "utf-8", plain)
    try:
        yield target
    except UnicodeEncodeError:
        raise OutputError(
            f"the release holds characters that {encoding} has not, as the file that it is made from is written",
            hint="save that file as UTF-8 and protect it again",
        ) from None


def _csv_column(
    column: pa.ChunkedArray, dialect: Dialect, escape: bool, form: tuple[int, str], is_ranges: bool
) -> pa.Array:
    """Return a column's cells as CSV text; missing cells are empty."""
    array = one_piece(column)
    # cells are escaped and quoted once for each distinct text
    if is_text(array.type):
        array = array.cast(pa.large_string()).dictionary_encode()
    if pa.types.is_dictionary(array.type):
        cells = _cells(array.dictionary, dialect, escape, form, is_ranges).take(array.indices)
    else:
        cells = _cells(array, dialect, escape, form)
    return cells.fill_null("")


def _cells(
    array: pa.Array, dialect: Dialect, escape: bool, form: tuple[int, str] = (0, ""), is_ranges: bool = False
) -> pa.Array:
    cells = cell_text(array, dialect, *form)
    cells = pc.replace_substring(cells, ".", ",") if is_ranges else cells
    if escape and is_text(array.type):
        cells = escape_cells(cells)
    # whether no cell can hold a delimiter or a quote
    plain = value_class(array.type) in ("boolean", "number", "date", "time") and dialect.decimal != dialect.delimiter
    return cells if plain and not dialect.quote_all else _quoted(cells, dialect)


def _quoted(cells: pa.Array, dialect: Dialect) -> pa.Array:
    special = "".join(re.escape(c) for c in {dialect.delimiter, dialect.quote, dialect.escape})
    risky = pc.match_substring_regex(cells, rf"^$|[{special}\r\n]|^\s|\s$")
    risky = pc.or_(risky, True) if dialect.quote_all else risky
    if not pc.any(risky).as_py():
        return cells
    inner = cells
    if dialect.escape != dialect.quote:
        inner = pc.replace_substring(inner, dialect.escape, dialect.escape * 2)
    inner = pc.replace_substring(inner, dialect.quote, dialect.escape + dialect.quote)
    return pc.if_else(risky, concat(dialect.quote, inner, dialect.quote), cells)


def _write_lines(file: IO[bytes], columns: list[pa.Array], delimiter: str, newline: str) -> None:
    """Write rows of joined cells to a file, directly from the memory of the joined array."""
    plain = [column.cast(pa.large_string()) for column in columns]
    parts = [part for column in plain for part in (delimiter, column)][1:]
    lines = concat(*parts, newline)
    lines = lines.combine_chunks() if isinstance(lines, pa.ChunkedArray) else lines
    # the buffer of the joined texts is what the file must hold: no Python string is made
    _, offsets, data = lines.buffers()
    ends = memoryview(offsets).cast("B").cast("q")
    start, stop = ends[lines.offset], ends[lines.offset + len(lines)]
    file.write(memoryview(data)[start:stop])


def columns_to_escape(table: Table) -> list[str]:
    """Return the columns whose texts or names `escape_cells` would change.

    Examples
    --------
    >>> from hedgerow.io.read import read
    >>> columns_to_escape(read({"note": ["=1+1", "none"], "job": ["cook", "nurse"], "-x": [1, 2]}))
    ['note', '-x']
    """
    names = []
    for field in table.types:
        is_name = is_text(value_type(field.type))
        texts = table.entries(field.name) if is_name else pa.array([], pa.string())
        if any(pc.any(_is_risky(each, _RISKY)).as_py() for each in (texts, pa.array([field.name]))):
            names.append(field.name)
    return names
