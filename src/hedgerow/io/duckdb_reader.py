"""Read text files with DuckDB, either whole or in batches of rows."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import translated

# Rows that DuckDB hands over at a time, and the bytes that are enough for a batch.
_STEP, _BYTES = 1 << 11, 1 << 27


@contextmanager
def connected(fault: Callable[[], Exception], folder: Path | None = None, memory: int | None = None) -> Iterator[Any]:
    """Yield a DuckDB connection that keeps the order of rows.

    DuckDB's own messages quote the record, so `fault` is called to describe the error instead. Data
    beyond `memory` bytes are spilled to a private `folder`; without a folder nothing is spilled,
    since DuckDB would use the current folder.
    """
    import duckdb

    # cells are paired with their row by position
    config: dict[str, object] = {"preserve_insertion_order": True, "temp_directory": str(folder or "")}
    if memory is not None:
        config["memory_limit"] = f"{memory >> 20}MiB"
    # an OSError comes from a reader of batches
    with translated((duckdb.Error, OSError), lambda _: fault()), duckdb.connect(config=config) as connection:
        try:
            yield connection
        except RuntimeError as error:
            # what DuckDB makes of Ctrl-C
            raise (KeyboardInterrupt if str(error) == "Query interrupted" else error) from None


def identifier(name: str) -> str:
    """Return a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def named(path: str | Path) -> str:
    """Return a path in the form that keeps DuckDB from reading it as a pattern or a web address."""
    return glob.escape(os.path.join(os.curdir, path))


def whole(relation: Any) -> pa.Table:
    """Return all rows of a relation as one Arrow table."""
    make: Any = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table
    return make()


def in_batches(relation: Any, size: int) -> Iterator[pa.RecordBatch]:
    """Yield a relation's rows in batches of about `size` rows, or fewer if the rows are long."""
    make: Any = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
    # DuckDB counts rows alone: a batch of long texts could take gigabytes
    batches, bytes_left = [], _BYTES
    for batch in make(min(size, _STEP)):
        batches.append(batch)
        bytes_left -= batch.nbytes
        if bytes_left <= 0 or len(batches) * _STEP >= size:
            yield _joined(batches)
            batches, bytes_left = [], _BYTES
    if batches:
        yield _joined(batches)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]
