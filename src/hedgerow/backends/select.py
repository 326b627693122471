"""Choose the engine for a source, by name or by the memory that reading it takes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..columns.table import Table
from ..columns.to_parquet import OpenOptions, is_database, is_relation
from ..columns.workspace import memory_of
from ..errors import UnsupportedError
from ..io.file_format import is_many
from ..io.read import read
from ..schema import Schema
from .base import engine

# peak bytes of the in-memory engine per cell of Parquet, and per byte of text
_CELL, _BYTE = 24, 6


def opened(
    source: Any,
    runs_on: Sequence[str],
    what: str,
    *,
    name: str = "auto",
    memory: Any = None,
    schema: Schema | None = None,
) -> Table:
    """Open a source as a table, with the named engine or with one chosen by the source's type and size.

    "auto" reads files and relations into memory where they fit into `memory` (by default half of
    the machine's) with what work takes besides, and streams larger ones, folders, patterns and
    databases. Frames are read into memory, and so is any source for work that does not run on an
    engine that streams.

    Parameters
    ----------
    source : anything that `hedgerow.protect` takes
    runs_on : sequence of str
        The engines that the work can be done on.
    what : str
        The work, for messages: the name of a method.
    name : {"auto", "memory", "duckdb", "spark"}
    memory : str or int, optional
        Most memory to take, such as "4GB".
    schema : Schema, optional

    Raises
    ------
    UnsupportedError
        The work cannot be done on that engine.
    ParameterError
        There is no such engine.
    """
    asked_for, name = name, chosen(source, runs_on, what, name=name, memory=memory)
    streams = engine(name).capabilities.streams
    if isinstance(source, Table):
        return source if streams else read(source, schema=schema)
    if asked_for == "auto" and not streams:
        memory = None  # the limit chose the engine; this engine takes none
    return engine(name).open(source, OpenOptions(schema=schema, memory=memory))


def chosen(source: Any, runs_on: Sequence[str], what: str, *, name: str = "auto", memory: Any = None) -> str:
    """Return the name of the engine that `opened` uses."""
    holder = source.engine if isinstance(source, Table) else None
    if holder is not None and name not in ("auto", holder):
        raise UnsupportedError(f"the table was opened by the engine {holder!r}, not {name!r}", hint="open it again")
    if name == "auto" and holder is None and is_frame(source) and "spark" in runs_on:
        name = "spark"
    elif name == "auto":
        # a frame is in memory already, so streaming it would save nothing
        may_stream = holder is None and "duckdb" in runs_on and not is_frame(source)
        name = holder or ("duckdb" if may_stream and too_large(source, memory) is not None else "memory")
    if name == "memory" and is_frame(source) and (why := too_large(source, memory)):
        raise UnsupportedError(
            f"{what} takes the rows of this Spark DataFrame into this process: {why}",
            hint="give a part of it, or take a method that runs on Spark",
        )
    engine(name)
    if name not in runs_on:
        raise UnsupportedError(f"{what} does not run on the engine {name!r}", hint=f"it runs on {', '.join(runs_on)}")
    return name


def is_frame(source: Any) -> bool:
    """Return whether an object is a Spark DataFrame, without importing Spark."""
    kind = type(source)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def remote_engine(source: Any, name: str = "auto") -> Any:
    """Return the engine that holds a source's rows on other machines, or None if they are on this one.

    `name` is the engine that was asked for; a remote engine takes any source. It has `as_table`,
    `copied_here`, `paired` and `same_rows` besides what every engine has.
    """
    if isinstance(source, Table):
        name = source.engine
    elif is_frame(source):
        name = "spark"
    return None if name == "auto" or engine(name).capabilities.positions else engine(name)


def too_large(source: Any, memory: Any = None) -> str | None:
    """Return the reason why a source should not be read whole into memory, or None if it may be.

    A relation or a frame of Spark is run once to count its rows.
    """
    size, allowed = 0, memory_of(memory)
    if is_frame(source):
        size = int(source.count()) * len(source.columns) * _CELL
    elif is_relation(source):
        (n_rows,) = source.aggregate("count(*)").fetchall()[0]
        size = int(n_rows) * len(source.columns) * _CELL
    elif isinstance(source, (str, Path)):
        if is_many(source) or is_database(source):
            return "the table is in several files, or in a database"
        path = Path(source)
        suffix = path.suffix.lower() if os.path.isfile(path) else ""
        if suffix == ".csv":
            size = path.stat().st_size * _BYTE
        elif suffix == ".parquet":
            import pyarrow.parquet as pq

            # reading the table will raise the error
            with suppress(pa.ArrowException, OSError):
                about = pq.read_metadata(path)
                size = int(about.num_rows) * int(about.num_columns) * _CELL
    if size <= allowed:
        return None
    return f"reading it whole takes some {size / 1e9:,.1f} GB, and {allowed / 1e9:,.1f} GB are allowed"
