"""Copy sources that are not Parquet files to Parquet once, so that they can be read many times.

A query may return its rows in a different order each time it is run, and text is slow to read.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, UnsupportedError, translated
from ..files import SUFFIXES, private_handle
from ..io.csv_file import check_sign, csv_layout, declared_columns, declared_texts, read_csv_batches, warn_of_guesses
from ..io.duckdb_reader import identifier, in_batches
from ..io.file_format import Dialect, FileFormat
from ..io.file_sets import check_drift, check_there, parts_of
from ..io.frames import without_views
from ..io.parquet_reader import Reader, Scan
from ..io.text_cells import infer_type, unescape_cells, unescape_names
from ..io.write import not_in_parquet
from ..schema import Schema
from .arrays import is_text, value_class
from .chunked_table import ChunkedTable
from .table import check_names
from .workspace import Workspace

_BATCH = 1 << 18
_DATABASES = (".duckdb", ".ddb", ".db")


@dataclass(frozen=True)
class OpenOptions:
    """Options for opening a source as a table.

    Parameters
    ----------
    schema : Schema, optional
        Columns that it declares categorical keep the spelling of a CSV file; columns that it
        leaves out are not coded.
    memory : str or int, optional
        Most memory that this process may use, such as "4GB", with an engine that streams; by default
        half of the machine's.
    unescape_formulas : bool
        In CSV files, remove the apostrophe before cells that a spreadsheet would run.
    """

    schema: Schema | None = None
    memory: Any = None
    unescape_formulas: bool = False


DEFAULTS = OpenOptions()


def open_chunked(source: Any, workspace: Workspace, options: OpenOptions = DEFAULTS) -> ChunkedTable:
    """Open a source as a table without loading its rows.

    Parameters
    ----------
    source : path, pattern, or DuckDB relation
        A table of a database is named after its file: ``people.duckdb::visits``.
    workspace : Workspace
    options : OpenOptions

    Raises
    ------
    InputError
        It cannot be read, or its parts differ.
    UnsupportedError
        Sources of this kind can only be read whole.
    """
    if is_relation(source):
        table = _copy_relation(source, workspace, lambda: InputError("the DuckDB relation cannot be read"))
        table.is_relation = True
        return table
    if not isinstance(source, (str, Path)):
        raise UnsupportedError(f"a {type(source).__name__} is in memory already", hint='use engine="memory"')
    if is_database(source):
        file, _, name = str(source).partition("::")
        return _open_database(Path(file), name, workspace)
    path = Path(source)
    parts = parts_of(path)
    layout = FileFormat(SUFFIXES[parts[0].suffix.lower()])
    if layout.suffix == ".parquet":
        return ChunkedTable(Scan.from_files(parts), workspace, layout, path)
    if layout.suffix == ".csv":
        return _open_text(path, parts, workspace, options)
    raise UnsupportedError(
        f"{path.name} is a {layout.suffix} file, which is read whole",
        hint="convert it to Parquet, or use the engine that works in memory",
    )


def is_relation(source: Any) -> bool:
    """Return whether a source is a DuckDB relation."""
    duckdb = sys.modules.get("duckdb")
    return duckdb is not None and isinstance(source, duckdb.DuckDBPyRelation)


def is_database(source: Any) -> bool:
    """Return whether a source is a DuckDB database file, perhaps followed by the name of a table."""
    if not isinstance(source, (str, Path)):
        return False
    file = str(source).partition("::")[0]
    return Path(file).suffix.lower() in _DATABASES and not os.path.isdir(file)


def _open_database(path: Path, name: str, workspace: Workspace) -> ChunkedTable:
    import duckdb

    check_there(path)
    try:
        connection = duckdb.connect(str(path), read_only=True)
    except duckdb.Error as error:
        if "lock" in str(error):
            raise InputError(f"another process has the database {path.name} open", hint="close it there") from None
        raise InputError(f"{path.name} cannot be read as a DuckDB database", hint="check name and version") from None

    # built only when raised: an error in a variable would keep the workspace alive until garbage collection
    def fault() -> InputError:
        return InputError(
            f"{name!r} of {path.name} cannot be read", hint="a view may need files or tables that are not there"
        )

    with connection:
        query = (
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = current_database() "
            "ORDER BY table_schema <> 'main', table_schema, table_name"
        )
        tables: dict[str, str] = {}
        for schema, table in connection.sql(query).fetchall():
            label = table if schema == "main" else f"{schema}.{table}"
            tables.setdefault(label, ".".join(map(identifier, (schema, table))))
        if not name and len(tables) == 1:
            (name,) = tables
        if name not in tables:
            label = f"no table {name!r}" if name else f"{len(tables)} tables"
            raise InputError(
                f"{path.name} holds {label}",
                hint=f"name one, {path.name}::{next(iter(tables), 'people')}; it holds {', '.join(tables) or 'none'}",
            )
        try:
            relation = connection.table(tables[name])
        except duckdb.Error:
            raise fault() from None
        return _copy_relation(relation, workspace, fault)


def _copy_relation(relation: Any, workspace: Workspace, fault: Any) -> ChunkedTable:
    import duckdb

    with translated(duckdb.Error, lambda _: fault()):
        check_names(list(relation.columns))
        tables = (pa.Table.from_batches([batch]) for batch in in_batches(relation, _BATCH))
        copy = _write("people.parquet", tables, workspace, "the table has no rows")
    return ChunkedTable(Scan.from_files([copy]), workspace, FileFormat())


def _write(name: str, tables: Iterable[pa.Table], workspace: Workspace, none: str) -> Path:
    """Write tables of one schema to a Parquet file in the workspace, and return its path.

    Raises
    ------
    InputError
        The tables have no rows; `none` is the message.
    """
    import pyarrow.parquet as pq

    path = workspace.new_path(name)
    writer, n_rows = None, 0
    with workspace.disk_errors(), ExitStack() as stack:
        private_handle(path).close()
        for table in map(without_views, tables):
            if writer is None:
                if unsupported := not_in_parquet(table):
                    raise UnsupportedError(
                        f"columns are of types that no Parquet file holds: {', '.join(unsupported)}",
                        hint="give a query or a view without them, or with them cast to text",
                    )
                # lz4: it is read many times and removed with the table
                writer = stack.enter_context(pq.ParquetWriter(path, table.schema, compression="lz4"))
            writer.write_table(table, row_group_size=_BATCH)
            n_rows += table.num_rows
    if not n_rows:
        raise InputError(none, hint="give a table with at least one record")
    return path


def _open_text(path: Path, parts: list[Path], workspace: Workspace, options: OpenOptions) -> ChunkedTable:
    """Open CSV files: copy every cell as text, then choose each column's type from all its values."""
    schema, unescape_formulas = options.schema or Schema(), options.unescape_formulas
    layouts = [csv_layout(p, schema.encoding, strict=not unescape_formulas) for p in parts]
    if unescape_formulas:
        layouts = [replace(layout, names=unescape_names(layout.names)) for layout in layouts]
    check_drift(parts, [dict.fromkeys(layout.names, pa.string()) for layout in layouts])
    copies = []
    for part, layout in zip(parts, layouts, strict=True):
        warn_of_guesses(part, replace(layout.dialect, unnamed=()))
        _, batches = read_csv_batches(part, _BATCH, layout.dialect.encoding)
        text = pa.schema([(column, pa.string()) for column in layout.names])
        tables = (pa.Table.from_arrays(b.columns, names=text.names).cast(text) for b in batches)
        copies.append(_write("text.parquet", tables, workspace, f"{part.name} has a header but no rows"))
    names, dialect = layouts[0].names, layouts[0].dialect
    warn_of_guesses(path, replace(dialect, not_utf8=0))
    texts = [_texts(copy, workspace, names) for copy in copies]
    types, readers = {}, dict[str, Reader]()
    # the type of a column is decided over all parts, so that they cannot differ
    every = {name: pa.concat_arrays([each[name] for each in texts]).unique() for name in names}
    columns, dialect = declared_columns(
        {name: pa.chunked_array([entries]) for name, entries in every.items()}, dialect, schema
    )
    if not unescape_formulas:
        check_sign(dialect, schema)
    declared = declared_texts(schema)[1]
    for name, whole in every.items():
        if name not in declared:
            _check_types(name, parts, [each[name] for each in texts], dialect)
        column = columns[name]
        if unescape_formulas and is_text(column.type):
            column = unescape_cells(column)
        types[name] = column.type
        if column.type != pa.string() or not column.equals(pa.chunked_array([whole])):
            readers[name] = _reader(whole, column.combine_chunks())
    scan = Scan.from_files(copies)
    scan = replace(scan, types=pa.schema(list(types.items())), readers=readers)
    return ChunkedTable(scan, workspace, FileFormat(".csv", dialect), path)


def _texts(copy: Path, workspace: Workspace, names: Sequence[str]) -> dict[str, pa.Array]:
    """Return the distinct texts of each column in one of the copied files."""
    table = ChunkedTable(Scan.from_files([copy]), workspace, FileFormat(), copy)
    return {name: texts.cast(pa.string()) for name, texts in table.values_of(names).items()}


def _check_types(name: str, parts: Sequence[Path], texts: Sequence[pa.Array], dialect: Dialect) -> None:
    """Raise InputError if a column has different types in different parts."""
    first_parts: dict[str, Path] = {}
    for part, each in zip(parts, texts, strict=True):
        kind = value_class(infer_type(pa.chunked_array([each]), dialect)[0].type)
        if kind != "missing":
            first_parts.setdefault(kind, part)
    if len(first_parts) > 1:
        listed = ", ".join(f"{kind} in {part.name}" for kind, part in first_parts.items())
        raise InputError(
            f"column {name!r} is of other types in other parts: {listed}",
            hint=f'repair the parts, or declare what it is: Schema(kinds={{{name!r}: "categorical"}})',
        )


def _reader(texts: pa.Array, values: pa.Array) -> Reader:
    """Return a function that converts a column's texts to its values."""

    def read(cells: pa.Array) -> pa.Array:
        if not pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_encode()
        return values.take(pc.index_in(cells.dictionary.cast(pa.string()), value_set=texts).take(cells.indices))

    return read
