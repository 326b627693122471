"""A file as a schema says that it is to be read.

Columns of a CSV file that look like numbers and are declared categories are read as they are spelled:
`250.1` and `250.10` are one number and two codes. Columns of a statistical file whose values all have
labels, and that are declared numeric, are read as their codes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.encode import as_text, indexed, is_text, kind_of
from ..columns.table import Table
from ..errors import InputError
from ..schema import Schema
from .csv_file import read_csv, read_texts
from .dialect import UNICODE, Dialect
from .escape import unescape
from .frames import ArrowSource
from .label_codes import arrived, codes_again
from .text_types import MARKERS, typed

_CATEGORIES = ("categorical", "ordinal")


def as_declared(table: Table, schema: Schema) -> Table:
    """A table as a schema's words for missing, decimals, kinds, orders and hierarchies have it.

    Raises
    ------
    InputError
        A table that is no file of text holds words that the schema calls missing; the file changed
        since it was read.
    """
    known, kinds = declared_texts(schema)
    return as_spelled(_as_numbers(_as_told(table, schema), kinds), kinds, known)


def _as_numbers(table: Table, kinds: Mapping[str, str]) -> Table:
    """The table of a statistical file, with labelled columns that are declared numeric as numbers.

    Codes that are declared missing become missing, and a column of its own says why, as in every
    column of numbers.
    """
    labels, arrow = table.layout.labels, table.arrow if table.engine == "memory" else None
    names = [n for n, v in labels.variables.items() if v.coded and kinds.get(n) == "numeric"]
    if arrow is None or not names:
        return table
    key = ("numbers", *names)
    if key not in table.spelled:
        codes = {n: codes_again(arrow.column(n), labels.variables[n]) for n in names if n in table.names}
        cells = {name: found for name, found in codes.items() if found is not None}
        made, orders, told = arrived(cells, labels, numbers=cells)
        for name in made.column_names:
            if name in table.names:
                arrow = arrow.set_column(table.names.index(name), name, made.column(name))
            else:
                arrow = arrow.append_column(name, made.column(name))
        origin = ArrowSource(arrow, file=True)
        kept = {n: table.declared(n) for n in table.names if n not in cells and table.declared(n)}
        origin.categories = {**kept, **orders}
        whys = {**labels.whys, **told.whys}
        layout = replace(table.layout, labels=replace(told, whys=whys))
        table.spelled[key] = Table(arrow, origin, layout, table.path)
    return table.spelled[key]


def _as_told(table: Table, schema: Schema) -> Table:
    """The table of a CSV file, read with what a schema says of its words and numbers."""
    missing, decimal = schema.missing, schema.decimal
    if table.suffix != ".csv":  # a workbook has been read without them
        _refuse_words(table, missing)
        return table
    dialect = table.layout.dialect
    encoding = schema.encoding or dialect.encoding
    same = dialect.encoding in (*UNICODE, encoding)
    if table.path is None or (same and (dialect.missing, dialect.told) == (missing, decimal)):
        return table
    if same and not missing and not dialect.missing and decimal == dialect.decimal and not dialect.mixed:
        return table  # it was read so
    key = ("told", missing, decimal, encoding)
    if key not in table.spelled:
        arrow, found = read_csv(table.path, missing, decimal, encoding)
        same = arrow.column_names == table.names and arrow.num_rows == table.n_rows
        if not same or found.delimiter != dialect.delimiter:
            raise changed(table.path.name)
        not_utf8 = found.not_utf8 if schema.encoding else dialect.not_utf8
        layout = replace(table.layout, dialect=replace(found, not_utf8=not_utf8))
        arrow = unescape(arrow) if layout.unescaped else arrow
        table.spelled[key] = Table(arrow, ArrowSource(arrow, file=True), layout, table.path)
    return table.spelled[key]


def _refuse_words(table: Table, missing: Collection[str]) -> None:
    """Raise InputError where text holds words for missing, in a table that knows what is missing."""
    words = pa.array(missing, pa.string())
    found = [
        name
        for name in (table.names if missing else ())
        if is_text(_plain(table.types.field(name).type))
        and pc.any(pc.is_in(as_text(table.entries(name)).cast(pa.string()), words)).as_py()
    ]
    if found:
        raise InputError(
            f"missing= names words that stand in {', '.join(map(repr, found))} of a table that is not a text file",
            hint="make those cells missing (null) in the table itself; missing= is for CSV files and "
            "workbooks",
        )


def _plain(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def changed(name: str) -> InputError:
    """The fault of a file that is not what it was."""
    return InputError(f"{name} changed while it was read", hint="read it again")


def declared_texts(schema: Schema) -> tuple[dict[str, Collection[str]], dict[str, str]]:
    """The categories that a schema knows of columns, and the kinds that it declares."""
    known: dict[str, Collection[str]] = {n: h.paths for n, h in schema.hierarchies.items()}
    known |= schema.categories
    return known, {**dict.fromkeys(known, "categorical"), **schema.kinds}


def as_spelled(
    table: Table, kinds: Mapping[str, str], known: Mapping[str, Collection[str]] | None = None
) -> Table:
    """A table whose declared categories are the texts of its CSV file.

    A column stays as it was read where its numbers are spelled in their one way, so that nothing
    is lost, or where more of its known categories are found so.

    Parameters
    ----------
    table : Table
        Any; only what came from a CSV file may change.
    kinds : mapping of str to str
        Declared kinds.
    known : mapping of str to collection of str, optional
        Categories by column, as they are declared or as a hierarchy has them.

    Raises
    ------
    InputError
        The file changed since it was read.
    """
    if table.path is None or table.suffix != ".csv":
        return table
    asked: dict[str, Collection[str] | None] = {}
    for name in table.names:
        texts = (known or {}).get(name)
        number = kind_of(table.arrow.schema.field(name).type) == "numeric"
        read = number or (texts and table.kind(name) in ("date", "boolean"))
        if read and kinds.get(name) in _CATEGORIES:
            asked[name] = texts
    key = tuple((n, None if texts is None else frozenset(texts)) for n, texts in asked.items())
    if not asked:
        return table
    if key not in table.spelled:
        table.spelled[key] = _read_again(table, asked)
    return table.spelled[key]


def _read_again(table: Table, asked: Mapping[str, Collection[str] | None]) -> Table:
    assert table.path is not None
    places = [table.names.index(name) for name in asked]
    encoding = table.layout.dialect.encoding
    found = {}
    for name, texts in zip(asked, read_texts(table.path, places, encoding), strict=True):
        column, dialect = table.arrow.column(name), table.layout.dialect
        if not typed(texts, dialect)[0].equals(column):
            raise changed(table.path.name)
        texts = spelled(texts, column, dialect, asked[name])
        if texts is not None:
            found[name] = texts
    return table.reread(found) if found else table


def spelled(
    texts: pa.ChunkedArray,
    column: pa.ChunkedArray,
    dialect: Dialect,
    known: Collection[str] | None,
) -> pa.ChunkedArray | None:
    """The texts of a column, markers of what is missing aside; None where it may stay as it is."""
    bare = pc.utf8_trim_whitespace(texts)
    words = pa.array([*MARKERS, *dialect.missing])
    bare = pc.if_else(pc.is_in(bare, value_set=words), pa.scalar(None, bare.type), bare)
    index, entries = indexed(bare)
    first = np.zeros(len(entries) + 1, np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]  # the last one written is the first row
    shown = as_text(pa.concat_arrays(column.take(pa.array(first[:-1])).chunks))
    points = pc.replace_substring(entries, ",", ".") if dialect.decimal == "," else entries
    number = kind_of(column.type) == "numeric"
    if number and points.equals(shown.cast(points.type)):
        return None
    if known is not None:
        own, other = (sum(text in known for text in each.to_pylist()) for each in (entries, shown))
        if own < other or (own == other and not number):
            return None
    return bare
