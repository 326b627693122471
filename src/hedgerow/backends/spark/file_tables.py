"""Files as tables on a cluster, which must read them where they lie."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from ...columns.chunked_table import ChunkedTable
from ...columns.to_parquet import spooled
from ...columns.workspace import Workspace
from ...errors import UnsupportedError
from ...files import private_handle
from ...io.parquet_reader import Scan
from ...schema import Schema
from .cluster import run, session
from .spark_table import SparkTable

_BATCH = 1 << 17


def from_files(
    source: str | Path, schema: Schema | None, memory: int, unescape_formulas: bool = False
) -> SparkTable:
    """Parquet or CSV files; CSV is written once as Parquet into a private folder of this machine.

    Raises
    ------
    UnsupportedError
        Spark does not hold a column's type.
    """
    found = spooled(source, Workspace(memory), schema, unescape_formulas)
    odd = [f"{entry.name!r} ({entry.type})" for entry in found.types if not is_held(entry.type)]
    if odd:
        raise UnsupportedError(
            f"Spark does not hold the types of these columns: {', '.join(odd)}",
            hint='use engine="memory" or "duckdb" (--engine), or give them another type',
        )
    paths = found.scan.paths
    if found.scan.readers:
        paths = [_typed(found)]
    # as the files say, and not as their folders' names do
    frame = run(lambda: session().read.parquet(*map(str, paths)).select("*"))
    table = SparkTable(frame, found.layout, found.path, found.types)
    table.workspace = found.workspace
    return table


def _typed(found: ChunkedTable) -> Path:
    """The table with its values in place of their texts, as one file."""
    target = found.workspace.new_path("typed.parquet")
    types = pa.schema([(entry.name, _value_type(entry.type)) for entry in found.types])

    def windows() -> Iterator[pa.Table]:
        for window in found.windows(found.names, _BATCH):
            yield pa.table(dict(window.cells)).cast(types)

    with private_handle(target) as file, pq.ParquetWriter(file, types) as writer:
        for table in windows():
            writer.write_table(table)
    return target


def one_file(path: Path, like: SparkTable) -> ChunkedTable:
    """A file that was written of a table's rows, as a table that is not loaded."""
    assert like.workspace is not None
    return ChunkedTable(Scan.from_files([path]), like.workspace, replace(like.layout), path)


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def is_held(kind: pa.DataType) -> bool:
    """Whether Spark reads values of a type without losing any."""
    if pa.types.is_dictionary(kind):
        return not kind.ordered and is_held(kind.value_type)
    if pa.types.is_timestamp(kind):
        return kind.unit != "ns"
    if pa.types.is_integer(kind):
        return kind != pa.uint64()
    return any(
        test(kind)
        for test in (
            pa.types.is_boolean,
            pa.types.is_float32,
            pa.types.is_float64,
            pa.types.is_string,
            pa.types.is_large_string,
            pa.types.is_binary,
            pa.types.is_date32,
            pa.types.is_decimal128,
        )
    )
