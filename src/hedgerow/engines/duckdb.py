"""The engine for tables larger than memory, on one machine.

DuckDB reads text, databases and relations, once, into Parquet; Parquet is read where it lies. Codes
of all rows are in arrays, in files where they are many; rows stream past.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..files import private_file
from ..key import Key
from ..plan import Partition
from ..schema import Schema
from ..table import Column, Table, ValueCounts
from ..table.dialect import FileFormat
from ..table.kept import forget
from ..table.scan import Scan
from ..table.scanned import Scanned
from ..table.spool import read_by, spooled
from ..table.workspace import Workspace, memory_of
from ..table.write import ROW_GROUP, parquet_writer
from . import maps, randomize
from .base import Capabilities, Executors, Released, Transformed
from .ordered import Ordered, ReleasedColumn
from .partitions import Router, labels_of, uncovered, with_star

_executors = Executors()
_executors.register("maps")(maps.recode_streaming)
_executors.register("randomize")(randomize.execute_streaming)
execute = _executors.execute
_TEXT = pa.dictionary(pa.int32(), pa.string())


def open(
    source: Any,
    *,
    schema: Schema | None = None,
    memory: Any = None,
    unescape_formulas: bool = False,
    resume: bool | None = None,
) -> Scanned:
    """A table that is not loaded; CSV files, relations and database tables are copied once.

    Parameters
    ----------
    source : path, pattern, DuckDB relation, or Scanned
        Parquet or CSV: a file, a folder of them, or a pattern such as ``people/*.parquet``.
    schema : Schema, optional
        What it declares categorical stands as a CSV file spells it; columns that it leaves out
        are not coded.
    memory : str or int, optional
        Most memory to take, such as "4GB"; by default half of the machine's.
    unescape_formulas : bool
        Take away the apostrophes before what a spreadsheet would run, in CSV files.
    resume : bool, optional
        Keep finished files until the work is done, for a killed run: True goes on from what one
        left, False begins anew. By default nothing is kept.
    """
    if isinstance(source, Scanned):
        return source
    job = None if resume is None else read_by(source, schema, unescape_formulas)
    if job is not None and not resume:
        forget(Path(tempfile.gettempdir()), job)
    return spooled(source, Workspace(memory_of(memory), job), schema, unescape_formulas)


def value_counts(table: Table, name: str) -> ValueCounts:
    """The distinct values of a column, and how often each occurs."""
    return table.column(name).value_counts


def encode(table: Table, names: Iterable[str]) -> Mapping[str, Column]:
    """Some columns as codes into sorted dictionaries; coded together in one look at the files."""
    names = list(names)
    if isinstance(table, Scanned):
        table.code(names)
    return {name: table.column(name) for name in names}


@_executors.register("partition")
def _partition(recoding: Partition, table: Table, key: Key | None = None) -> Transformed:
    """Every row routed to its leaf; a leaf stands for the released cells of all columns."""
    columns = [table.like(c) for c in recoding.columns]
    leaf = table.allocate((table.n_rows,), np.uint32)
    Router(recoding, columns).into(leaf)
    made = {}
    for recoded, cells in zip(recoding.columns, recoding.leaf_cells, strict=True):
        entries, place = labels_of(recoded)
        kind = _TEXT if pa.types.is_string(entries.type) else entries.type
        at = place[np.asarray(cells)]
        made[recoded.name] = ReleasedColumn(recoded.name, kind, entries, leaf, at)

    def outside(j: int) -> Iterator[tuple[slice, NDArray[np.bool_]]]:
        cells = np.asarray(recoding.leaf_cells[j])
        for a in range(0, table.n_rows, ROW_GROUP):
            here = slice(a, a + ROW_GROUP)
            yield here, uncovered(recoding.columns[j], cells[leaf[here]], columns[j], here)

    def starred(j: int, column: ReleasedColumn) -> ReleasedColumn:
        entries, star = with_star(column.entries)
        numbers = table.allocate((table.n_rows,), np.uint32)
        for here, gone in outside(j):
            numbers[here] = np.where(gone, len(column.place), leaf[here])
        place = np.append(column.place, star)
        return replace(column, entries=entries, numbers=numbers, place=place)

    return Transformed(
        made,
        lambda: sum(
            int(np.count_nonzero(gone)) for j in range(len(made)) for _, gone in outside(j)
        ),
        lambda: {name: starred(j, column) for j, (name, column) in enumerate(made.items())},
    )


capabilities = Capabilities(
    sources="Parquet and CSV files, folders and patterns of them, DuckDB relations and tables",
    recodings=_executors.kinds,
    streams=True,
    nested=False,
    resumes=True,
)


def release(
    table: Table, columns: Released, *, drop: Iterable[str] = (), keep_order: bool = False
) -> tuple[Scanned, NDArray[Any] | None]:
    """Write the release into the workspace as one Parquet file in the order of its content.

    The file is the one that the engine in memory writes, byte for byte: parts of 1,048,576 rows.
    """
    assert isinstance(table, Scanned)
    gone = set(drop)
    kept = [name for name in table.names if name not in gone]
    table.code([name for name in kept if name not in columns])
    listed = [_as_it_is(table, n) if n not in columns else columns[n] for n in kept]
    ordered = Ordered(listed, table.workspace, keep_order)
    wide = np.uint32 if table.n_rows <= np.iinfo(np.uint32).max else np.int64
    workspace, own = table.workspace, f".{ordered.digest()}" if table.keeps else ""
    name, map_name = f"release{own}.parquet", f"rows{own}"
    if table.keeps and (finished := workspace.finished(name)) is not None:
        rows = None if keep_order else workspace.held(map_name, (table.n_rows,), wide)
        if rows is not None or keep_order:
            return Scanned(Scan.of([finished]), workspace, FileFormat(), finished), rows
    map_file = map_name if table.keeps else None
    rows = None if keep_order else workspace.allocate((table.n_rows,), wide, map_file)
    target = workspace.place(name)
    with private_file(target) as file, parquet_writer(ordered.schema, file) as put:
        for part in ordered.tables(ROW_GROUP, rows):
            put(part)
    if table.keeps and rows is not None:
        workspace.finish(map_name, target)
    target = workspace.finish(name, target)
    return Scanned(Scan.of([target]), workspace, FileFormat(), target), rows


def _as_it_is(table: Scanned, name: str) -> ReleasedColumn:
    coding = table.coding(name)
    place = np.arange(len(coding.entries))
    return ReleasedColumn(name, table.types.field(name).type, coding.entries, coding.codes, place)


def read_back(released: Any) -> Table:
    """The written file as a table."""
    assert isinstance(released, Scanned)
    return released
