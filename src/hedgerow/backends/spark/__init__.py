"""The engine for tables on a cluster: Spark counts, groups and writes, and the rows stay on the cluster.

Executors run this package on their rows. This process has only dictionaries, histograms of open
nodes, and counts of groups (`backends/base` lists the costs).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from ...columns.table import Table
from ...columns.to_parquet import DEFAULTS, OpenOptions
from ...columns.workspace import Workspace, memory_of
from ...errors import UnsupportedError
from ...key import Key
from ...plan import Plan
from ..base import Capabilities, Executors, Transformed, execute_by
from ..memory import EXECUTORS
from ..select import is_frame
from .growing import SparkRows
from .joint_counts import paired as paired
from .joint_counts import same_rows as same_rows
from .recode import by_draws, by_leaves, by_maps
from .spark_files import classes as classes
from .spark_files import copied_here as copied_here
from .spark_files import from_files
from .spark_files import over_parts as over_parts
from .spark_files import release as release
from .spark_files import write as write
from .spark_table import Gathered, SparkTable

_EXECUTORS: Executors = {"partition": by_leaves, "maps": by_maps, "randomize": by_draws}


def execute(plan: Plan, table: Table, key: Key | None = None) -> Transformed:
    """Recode a table's columns as a plan says: on the executors, or here if the codes of all rows are here."""
    return execute_by(EXECUTORS if isinstance(table, Gathered) else _EXECUTORS, plan, table, key)


def open(source: Any, options: OpenOptions = DEFAULTS) -> SparkTable:
    """Open a table whose rows stay on the cluster; Spark's own settings limit the executors' memory.

    Parameters
    ----------
    source : Spark DataFrame, path, or SparkTable
        Files must lie where the executors read them.
    options : OpenOptions
    """
    if isinstance(source, SparkTable):
        return source
    if not is_frame(source) and not isinstance(source, (str, Path)):
        raise UnsupportedError(
            f"the engine 'spark' takes a Spark DataFrame or a path, and this is a {type(source).__name__}",
            hint="make it a DataFrame of Spark first: spark.createDataFrame(...)",
        )
    allowed = memory_of(options.memory)
    table = SparkTable(source) if is_frame(source) else from_files(source, Workspace(allowed), options)
    table.memory = options.memory
    table.record_source = partial(SparkRows, table)
    return table


capabilities = Capabilities(recodings=tuple(_EXECUTORS), streams=True, positions=False)


def as_table(source: Any) -> SparkTable:
    """Wrap a Spark DataFrame as a table."""
    return source if isinstance(source, SparkTable) else SparkTable(source)
