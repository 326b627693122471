"""The engine for tables on a cluster: Spark counts, groups and writes; rows do not come here.

Executors run this package on the rows that they have. Here are dictionaries, histograms of open
nodes, and what each group holds (`engines/base` tells the costs).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ...columns.column import Column, ValueCounts
from ...columns.table import Table
from ...columns.workspace import memory_of
from ...errors import UnsupportedError
from ...key import Key
from ...plan import Maps, Partition, Randomize
from ...schema import Schema
from ..base import Capabilities, Executors, Released, Transformed
from ..select import is_frame
from .file_tables import from_files, is_held
from .growing import SparkRows
from .recode import by_draws, by_leaves, by_maps
from .spark_table import SparkTable
from .writing import released as _released

_executors = Executors()
execute = _executors.execute


def open(
    source: Any,
    *,
    schema: Schema | None = None,
    memory: Any = None,
    unescape_formulas: bool = False,
) -> SparkTable:
    """A table whose rows stay on the cluster.

    Parameters
    ----------
    source : Spark DataFrame, path, or SparkTable
        Files must lie where the executors read them.
    schema : Schema, optional
        What it declares categorical stands as a CSV file spells it.
    memory : str or int, optional
        Most memory that this process takes; what executors take is said by Spark's own settings.
    unescape_formulas : bool
        Of CSV files: see `hedgerow.columns.read`.
    """
    if isinstance(source, SparkTable):
        return source
    if not is_frame(source) and not isinstance(source, (str, Path)):
        raise UnsupportedError(
            f"the engine 'spark' takes a Spark DataFrame or a path, and this is a "
            f"{type(source).__name__}",
            hint="make it a DataFrame of Spark first: spark.createDataFrame(...)",
        )
    room = memory_of(memory)
    if is_frame(source):
        table = SparkTable(source)
    else:
        table = from_files(source, schema, room, unescape_formulas)
    table.memory = memory
    table.record_source = partial(SparkRows.of, table)
    return table


def value_counts(table: Table, name: str) -> ValueCounts:
    """The distinct values of a column, and how often each occurs."""
    return table.column(name).value_counts


def encode(table: Table, names: Iterable[str]) -> Mapping[str, Column]:
    """Some columns by their dictionaries; the codes of their rows are kept on the cluster."""
    names = list(names)
    assert isinstance(table, SparkTable)
    table.encode(names)
    return {name: table.column(name) for name in names}


@_executors.register("partition")
def _partition(recoding: Partition, table: Table, key: Key | None = None) -> Transformed:
    assert isinstance(table, SparkTable)
    return by_leaves(recoding, table)


@_executors.register("maps")
def _maps(recoding: Maps, table: Table, key: Key | None = None) -> Transformed:
    assert isinstance(table, SparkTable)
    return by_maps(recoding, table)


@_executors.register("randomize")
def _randomize(recoding: Randomize, table: Table, key: Key | None = None) -> Transformed:
    assert isinstance(table, SparkTable)
    return by_draws(recoding, table, key)


capabilities = Capabilities(
    sources="Spark DataFrames; Parquet and CSV files, folders and patterns of them",
    recodings=_executors.kinds,
    streams=True,
    nested=False,
    units=False,
    pseudonyms=False,
    positions=False,
    holds=is_held,
)


def release(
    table: Table,
    columns: Released,
    *,
    drop: Iterable[str] = (),
    keep_order: bool = False,
    parts: bool = False,
) -> tuple[SparkTable, NDArray[Any] | None]:
    """The release as a table on the cluster, in the order of its content.

    Which row of the input stands behind a released one is not told: rows of a cluster have no
    numbers.
    """
    assert isinstance(table, SparkTable)
    return _released(table, columns, list(drop), keep_order), None


def read_back(released: Any) -> Table:
    """The released table."""
    assert isinstance(released, SparkTable)
    return released
