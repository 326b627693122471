"""The engine that works in memory, with compiled loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..columns.table import Table
from ..columns.to_parquet import DEFAULTS, OpenOptions, is_database
from ..errors import InputError, ParameterError, UnsupportedError
from ..files import SUFFIXES
from ..io.file_format import FileFormat, is_many
from ..io.file_sets import parts_of
from ..io.frames import ArrowSource
from ..io.parquet_reader import Scan
from ..io.read import read
from ..io.write import in_parts, write_parts, write_table
from ..kernels.threads import side_by_side
from ..key import Key
from ..measures import Classes, Persons, disclosure, group
from ..measures.classes import by_ranges, distinct_values
from ..plan import Plan, PlanColumn
from . import column_maps, partitions, randomize
from .base import Capabilities, Change, Executors, PartWork, ReleasedTable, T, Transformed, execute_by, sensitive_column
from .release_order import ReleasedCodes

# DuckDB's engine uses them too: they recode rows by codes, which may lie in mapped files
EXECUTORS: Executors = {"partition": partitions.recode, "maps": column_maps.recode, "randomize": randomize.execute}

capabilities = Capabilities(recodings=tuple(EXECUTORS), streams=False)


def open(source: Any, options: OpenOptions = DEFAULTS) -> Table:
    """Read a whole source into memory."""
    if options.memory is not None:
        raise ParameterError(
            "memory= limits engines that read a table piece by piece, and this one holds the whole table",
            hint='choose engine="duckdb" (--engine duckdb), or leave memory out',
        )
    if is_database(source):
        raise UnsupportedError(
            f"{Path(source).name} is a database, which an engine that streams reads",
            hint="give a DuckDB relation of its table, or a method that runs on that engine",
        )
    if isinstance(source, (str, Path)) and is_many(source):
        return _joined(Path(source))
    return read(source, schema=options.schema, unescape_formulas=options.unescape_formulas)


def _joined(path: Path) -> Table:
    """Read the Parquet files of a folder or pattern into one table."""
    parts = parts_of(path)
    if SUFFIXES[parts[0].suffix.lower()] != ".parquet":
        raise UnsupportedError(
            f"{path.name} matches several files that are not Parquet",
            hint='use engine="duckdb" (--engine duckdb) for text files; put others together first',
        )
    scan = Scan.from_files(parts)
    tables = []
    for part in parts:
        with pq.ParquetFile(part, read_dictionary=scan.repeating) as file:
            tables.append(file.read().replace_schema_metadata(None))
    # each file has dictionaries of its own
    whole = pa.concat_tables(tables).unify_dictionaries()
    if not whole.num_rows:
        raise InputError(f"{path.name} has no rows", hint="give a table with at least one record")
    return Table(whole, ArrowSource(whole, file=True), FileFormat(), path)


def execute(plan: Plan, table: Table, key: Key | None = None) -> Transformed:
    """Recode a table's columns as a plan says."""
    return as_arrays(execute_by(EXECUTORS, plan, table, key))


def as_arrays(recoded: Transformed) -> Transformed:
    """Return recoded columns as arrays of cells instead of codes."""

    def cells(columns: Mapping[str, ReleasedCodes]) -> Mapping[str, pa.Array]:
        n_codes = sum(len(column.numbers) for column in columns.values())
        return dict(zip(columns, side_by_side(ReleasedCodes.cells, columns.values(), n_codes), strict=True))

    return recoded.mapped(cells)


def release(table: Table, change: Change) -> ReleasedTable:
    """Return the release as a frame of the same type as the input."""
    arrays = {n: c.cells() if isinstance(c, ReleasedCodes) else c for n, c in change.columns.items()}
    return ReleasedTable(*table.release(arrays, drop=change.drop, keep_order=change.keep_order))


def write(table: Table, file: Path, *, parts: bool = False, **options: Any) -> None:
    """Write a table to one file or a folder of Parquet files; `options` are those of `write_table`."""
    if parts:
        write_parts(in_parts(table.arrow), file)
    else:
        write_table(table.arrow, file, **options)


def over_parts(table: Table, work: PartWork[T], names: Sequence[str], **_: Any) -> Iterator[T]:
    """Yield the result of `work` on the whole table, which is the only part."""
    yield work(table, None)


def classes(
    table: Table, quasi: Sequence[str], sensitive: Sequence[PlanColumn], persons: Persons | None = None
) -> Classes:
    """Return the equivalence classes of a released table, measured a range of classes at a time."""
    groups = group([table.equality_codes(name) for name in quasi], table.n_rows)
    # from here on the groups replace the codes
    table.spill()
    columns = [sensitive_column(column, table) for column in sensitive]
    # a range of classes at a time, so that the counts of all classes are never in memory at once
    return by_ranges(groups, columns, [disclosure.column_disclosure, distinct_values], persons)
