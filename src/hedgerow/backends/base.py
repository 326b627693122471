"""The protocol that every engine implements, and a registry of engines by name.

Methods and the release get an engine from here and never import one by name, so that the same
method runs on every engine that its class lists. An engine is a module of this folder with the
functions of `Engine`; `tests/contracts/engine_suite.py` tests them.

*Costs.* A method sees value counts, codes and groups, never rows. For n rows, c columns, v distinct
values and g groups, an engine performs these operations:

==================  ================================  ==================================
operation           cost                              what comes back to the caller
==================  ================================  ==================================
``open``            the files' descriptions; one      names, types, number of rows
                    copy, if not Parquet
``Table.encode``    one pass over c columns           n codes of 1 to 4 bytes each, in
                                                      arrays that may lie in a file
``execute``         one pass over codes               the recoded columns
``release``         every row read and written once,  the released table, and n row
                    sorted by its content             numbers of 4 bytes (private)
``write``           every row read and written once   nothing
``over_parts``      one pass over the rows            one result for each part
==================  ================================  ==================================

A cluster returns counts instead of codes. The grower needs the integer histogram of a node, wherever
it is computed (`trees/grow`), and the checks read counts of (group, value) that add up
(`classes.Counts`). Instead of returning codes, such an engine performs these operations:

==================  ================================  ==================================
operation           cost                              what comes back to the caller
==================  ================================  ==================================
histograms          one pass for all open nodes of    integer sums of every value of every
                    a level; of two children only     column, a node (`trees.statistics`)
                    the smaller one
finishing           one pass, rows of small nodes     subtrees, grown where the rows are
                    brought together by node
extents             one pass over what is released    minima and maxima of every group
                    as ranges
counts              one pass over codes               pairs of group and value with their
                    and the sensitive columns         numbers
==================  ================================  ==================================

Measured times are in `docs/benchmarks.md` and `docs/spark.md`. No operation above returns a row.
Methods that need codes record by record list their columns (`Method.joint_columns`); a cluster
counts the combinations of these columns and returns the counts (`Table.with_local_codes`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from numpy.typing import NDArray

from ..columns.column import Column
from ..columns.table import Table
from ..columns.to_parquet import DEFAULTS, OpenOptions
from ..errors import ParameterError, PlanError, SchemaError, UnsupportedError, reprs
from ..io.read import read
from ..key import Key
from ..measures import Classes, Persons
from ..plan import Partition, Plan, PlanColumn
from .release_order import ReleasedCodes

# engines by name, and the file of each in this folder
ENGINES = {"memory": "memory", "duckdb": "duckdb", "spark": "spark"}

T = TypeVar("T")
# called with a part of a table, and with its released columns if these are drawn again
PartWork = Callable[[Table, Mapping[str, pa.Array] | None], T]
# released columns as values, or as codes if there are too many rows
Released = Mapping[str, pa.Array | ReleasedCodes]


@dataclass(frozen=True)
class Change:
    """The changes that a release makes to its table.

    Parameters
    ----------
    columns : mapping of str to pyarrow array, or ReleasedCodes
        The released columns.
    drop : collection of str
        Columns to leave out.
    keep_order : bool
        Keep the order of the rows; by default they are sorted by their content.
    parts : bool
        Whether the release will be written as a folder of Parquet files: some engines write the
        release while they sort it.
    """

    columns: Released
    drop: Collection[str] = ()
    keep_order: bool = False
    parts: bool = False


@dataclass(frozen=True)
class ReleasedTable:
    """A released table, with the input row that each of its rows came from.

    Parameters
    ----------
    frame : the kind of frame that came in, or a table that is not loaded
    rows : integer array of shape (n_rows,), or None
        The input row of each released row; None if the order was kept, or if rows have no
        numbers (on a cluster).
    files : Table, optional
        The rows, if they are stored in files that nobody else changes; None if they are in `frame`.
    """

    frame: Any
    rows: NDArray[Any] | None = None
    files: Table | None = None

    @property
    def table(self) -> Table:
        """Return the released table, reading it again if it is a frame that may have changed."""
        return read(self.frame) if self.files is None else self.files


@dataclass(eq=False, repr=False)
class Transformed:
    """Released columns, with the number of cells that do not cover their original value.

    Parameters
    ----------
    columns : dict of str to pyarrow array, or ReleasedCodes
        The released columns, one value per row.
    _outside : int, or callable that counts it
        Cells whose original value is not covered by the released cell; counted when first needed.
    _hidden : callable, optional
        Returns the columns with those cells released as `*` (numbers: as missing). By default the
        cells stay as they are, because they reveal nothing.
    """

    columns: Released
    _outside: int | Callable[[], int] = 0
    _hidden: Callable[[], Released] | None = None

    def mapped(self, function: Callable[[Released], Released]) -> Transformed:
        """Return a copy with a function applied to its columns."""
        hidden = self._hidden
        return Transformed(
            function(self.columns), lambda: self.outside, None if hidden is None else lambda: function(hidden())
        )

    def without_outside(self) -> Released:
        """Return the released columns, hiding each cell that does not cover its original value."""
        return self.columns if self._hidden is None or not self.outside else self._hidden()

    @property
    def outside(self) -> int:
        """Return the number of released cells that do not cover their original value."""
        if callable(self._outside):
            self._outside = self._outside()
        return self._outside


@dataclass(frozen=True)
class Capabilities:
    """The features that an engine supports.

    Parameters
    ----------
    recodings : tuple of str
        The kinds of recoding that it executes.
    streams : bool
        Whether tables may be larger than memory: they are read a few rows at a time, and what
        needs all of one at once (attacks, pairs by position) is refused.
    positions : bool
        Whether rows have numbers: columns have a code for each row, and a release has the input
        row of each of its rows. Persons, households, sampling weights and pseudonyms need that.
    """

    recodings: tuple[str, ...]
    streams: bool
    positions: bool = True


class Engine(Protocol):
    """An engine: functions that open, recode, release and write tables (costs: see the top of the file)."""

    capabilities: Capabilities

    def open(self, source: Any, options: OpenOptions = DEFAULTS) -> Table:
        """Open a source as a table."""

    def execute(self, plan: Plan, table: Table, key: Key | None = None) -> Transformed:
        """Recode a table's columns as a plan says; `key` determines any random draws."""

    def release(self, table: Table, change: Change) -> ReleasedTable:
        """Return the table with some columns replaced and some dropped, its rows sorted by their content."""

    def write(self, table: Table, file: Path, *, like: Table, escape: bool = True, parts: bool = False) -> None:
        """Write a released table to one file or, with `parts`, to a folder of Parquet files.

        Parameters
        ----------
        table : Table
        file : Path
            The file to write. Its ending decides the format; with an unknown ending, `like` does.
        like : Table
            The table that came in.
        escape : bool
            In CSV, put an apostrophe before cells that a spreadsheet would run.
        """

    def over_parts(
        self,
        table: Table,
        work: PartWork[T],
        names: Sequence[str],
        *,
        groups: Partition | None = None,
        redrawn: Table | None = None,
    ) -> Iterator[T]:
        """Yield the result of `work` on each part of a table, computed where the rows are stored.

        A table of this machine is one part, the table itself.

        Parameters
        ----------
        table : Table
        work : callable
            Takes a part as a table and, with `redrawn`, its released columns. A cluster sends the
            function to executors, so it must contain plain data and no key.
        names : sequence of str
            The columns that `work` reads.
        groups : Partition, optional
            Have all rows of a group in one part.
        redrawn : Table, optional
            A release of this table whose draws are repeated for `work`, if rows have no numbers
            by which they could be matched with it.
        """

    def classes(
        self, table: Table, quasi: Sequence[str], sensitive: Sequence[PlanColumn], persons: Persons | None = None
    ) -> Classes:
        """Return the equivalence classes of a released table, with the sensitive values in each."""


def engine(name: str = "memory") -> Engine:
    """Return the engine with the given name, or raise ParameterError if there is none."""
    if name not in ENGINES:
        raise ParameterError(f"unknown engine {name!r}", hint=f"the engines are {', '.join(['auto', *ENGINES])}")
    return import_module(f".{ENGINES[name]}", __package__)


def transform(plan: Plan, table: Table, key: Key | None = None) -> Transformed:
    """Recode a table's columns as a plan says, on the engine that opened the table.

    Plans that draw do so under `key`, by default a new key that is not stored.

    Raises
    ------
    UnsupportedError
        Recodings of this kind depend on the whole table they were made from.
    PlanError
        Times have a zone here and none in the plan, or none here and one in the plan.
    """
    if not plan.recoding.applies:
        raise plan.recoding.refuse()
    # the same digits mean another moment in another zone, so a plan with zones refuses times without
    times = [c for c in plan.columns if c.unit and c.name in table.names]
    if differing := [c.name for c in times if bool(table.column(c.name, kind="date").zone) != bool(c.zone)]:
        raise PlanError(
            f"times have a zone in the plan or in the table, and none in the other: {reprs(differing)}",
            hint="give the table's times a zone, or take it away, as in the table of the plan",
        )
    return engine(table.engine).execute(plan, table, key)


def sensitive_column(column: PlanColumn, released: Table) -> Column:
    """Return a sensitive column of a release with its planned kind, or as categories if it was recoded to text."""
    try:
        return released.like(column)
    except SchemaError:
        return released.column(column.name, kind="categorical")


# the function for each kind of recoding: called with the recoding, a table, and the key if it draws
Executors = Mapping[str, Callable[..., Transformed]]


def execute_by(executors: Executors, plan: Plan, table: Table, key: Key | None = None) -> Transformed:
    """Execute a plan with the executor for its type of recoding; raise UnsupportedError if none is registered."""
    kind, keys = plan.recoding.kind, (key,) if plan.recoding.draws else ()
    if kind not in executors:
        raise UnsupportedError(
            f"this engine cannot execute a plan of the kind {kind!r}",
            hint=f"it executes {', '.join(executors)}; the engine that works in memory more",
        )
    return executors[kind](plan.recoding, table, *keys)
