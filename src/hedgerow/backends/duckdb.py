"""The engine for tables larger than memory, on one machine.

DuckDB copies text files, databases and relations to Parquet once; Parquet files are read in place.
The codes of all rows are in arrays, which lie in files if they are large. The rows themselves are
read a few at a time.
"""

from __future__ import annotations

import shutil
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..columns.arrays import slices
from ..columns.chunked_table import ChunkedTable
from ..columns.table import Table
from ..columns.to_parquet import DEFAULTS, OpenOptions, open_chunked
from ..columns.workspace import Workspace, memory_of
from ..errors import UnsupportedError
from ..files import SUFFIXES, private_file, private_handle
from ..io.file_format import FileFormat
from ..io.parquet_reader import Scan
from ..io.write import PART_FILE, ROW_GROUP, layout_like, parquet_writer, write_csv
from . import memory as in_memory
from .base import Capabilities, Change, ReleasedTable, execute_by
from .memory import EXECUTORS
from .release_order import Ordered, ReleasedCodes

_LINES = 1 << 16
execute = partial(execute_by, EXECUTORS)
over_parts, classes = in_memory.over_parts, in_memory.classes


def open(source: Any, options: OpenOptions = DEFAULTS) -> ChunkedTable:
    """Open a table without loading it; CSV files, relations and database tables are copied to Parquet once.

    Parameters
    ----------
    source : path, pattern, DuckDB relation, or ChunkedTable
        Parquet or CSV: a file, a folder of them, or a pattern such as ``people/*.parquet``.
    options : OpenOptions
    """
    if isinstance(source, ChunkedTable):
        return source
    return open_chunked(source, Workspace(memory_of(options.memory)), options)


capabilities = Capabilities(recodings=tuple(EXECUTORS), streams=True)


def release(table: Table, change: Change) -> ReleasedTable:
    """Write the release to Parquet files in the workspace, with its rows sorted by their content.

    There is one Parquet file or, for parts, one for each 1,048,576 rows. The bytes are those that
    the in-memory engine writes.
    """
    assert isinstance(table, ChunkedTable)
    columns, names = change.columns, [name for name in table.names if name not in change.drop]
    # coded together, because a pass over the files costs more than a column
    table.encode([name for name in names if name not in columns])
    ordered = Ordered([_as_it_is(table, n) if n not in columns else columns[n] for n in names], table.workspace)
    # there is one row number per row, so halving its bytes matters
    wide = np.uint32 if table.n_rows <= np.iinfo(np.uint32).max else np.int64
    rows = None if change.keep_order else table.allocate((table.n_rows,), wide)
    tables, paths = ordered.tables(ROW_GROUP, rows), list[Path]()
    for part in slices(table.n_rows, ROW_GROUP if change.parts else table.n_rows):
        paths.append(table.workspace.new_path("release.parquet"))
        groups = islice(tables, -(-(part.stop - part.start) // ROW_GROUP))
        with (
            table.workspace.disk_errors(),
            private_handle(paths[-1]) as file,
            parquet_writer(ordered.schema, file) as append,
        ):
            for each in groups:
                append(each)
    released = ChunkedTable(Scan.from_files(paths), table.workspace, FileFormat(), None if change.parts else paths[0])
    return ReleasedTable(released.relation() if table.is_relation else released, rows, released)


def _as_it_is(table: ChunkedTable, name: str) -> ReleasedCodes:
    coding = table.coding(name)
    place = np.arange(len(coding.entries))
    return ReleasedCodes(name, table.types.field(name).type, coding.entries, coding.codes, place)


def write(table: Table, file: Path, *, like: Table, escape: bool = True, parts: bool = False) -> None:
    """Write a table that is stored in Parquet files as one Parquet or CSV file, or as a folder of parts.

    Raises
    ------
    UnsupportedError
        The ending asks for another format.
    """
    assert isinstance(table, ChunkedTable)
    if parts:
        file.mkdir(mode=0o700, exist_ok=True)
        for i, path in enumerate(table.scan.paths):
            _copy(path, file / PART_FILE.format(i))
        return
    suffix = SUFFIXES.get(file.suffix.lower(), like.suffix)
    if suffix == ".parquet":
        _copy(table.scan.paths[0], file)
        return
    if suffix != ".csv":
        raise UnsupportedError(f"{file.name}: this table is written as Parquet or CSV", hint="choose .parquet or .csv")
    dialect = layout_like(like, table.types, table.entries).dialect
    windows = table.windows(table.names, _LINES)
    tables = (pa.table({n: w.cells[n] for n in table.names}) for w in windows)
    with private_file(file) as target:
        write_csv(table.names, tables, target, dialect, escape)


def _copy(path: Path, file: Path) -> None:
    with private_file(file) as target, path.open("rb") as source:
        shutil.copyfileobj(source, target, 1 << 24)
