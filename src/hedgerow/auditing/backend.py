"""Choose the engine that holds the tables of an audit, and check that they fit into memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..backends import engine
from ..backends.select import chosen
from ..columns.table import Table
from ..columns.to_parquet import OpenOptions
from ..columns.workspace import LEAST
from ..errors import UnsupportedError
from ..io.read import read
from ..release.folder import PLAN, released_file, whole
from ..schema import Schema
from ..texts import refusal

# engines that hold tables which are measured
AUDITED = ("memory", "duckdb")
# bytes that classes, disclosure and loss take for a cell of the original, at most
_MEASURED = 40


@dataclass(frozen=True)
class Holder:
    """The name of the engine that reads an audit's tables, and the memory that it may use."""

    name: str = "memory"
    memory: str | int | None = None

    @property
    def streams(self) -> bool:
        """Return whether the engine reads tables a few rows at a time."""
        return engine(self.name).capabilities.streams

    def original(self, source: Any, schema: Schema) -> Table:
        """Open the original table."""
        if not isinstance(source, Table):
            source = engine(self.name).open(source, OpenOptions(schema, self.memory))
        return read(source, schema=schema)

    def released(self, source: Any, schema: Schema) -> Table:
        """Open the released table, and remove the guards against spreadsheet formulas from its cells."""
        if self.streams and isinstance(source, (str, Path)):
            table = engine(self.name).open(source, OpenOptions(schema, self.memory, unescape_formulas=True))
        else:
            table = whole(source, schema.reading())
        table = read(table, schema=schema)
        fractions = {field.name for field in table.types if pa.types.is_floating(field.type)}
        if schema.decimal and fractions and fractions.issubset(table.layout.dialect.mixed):
            return self.released(source, schema.replace(decimal=""))  # what was declared holds of the original
        return table


def holder(original: Any, released: Any, name: str, memory: str | int | None) -> Holder:
    """Choose the engine: the named one, or for "auto" one with enough memory for the tables."""
    source = released if original is None else original
    if isinstance(source, (str, Path)) and (Path(source) / PLAN).exists():
        source = released_file(Path(source))  # a release folder, and no folder of parts
    chosen_engine = chosen(source, AUDITED, "an audit", name=name, memory=memory)
    # memory= limits what streams; the engine in memory refuses it unless it was chosen by itself
    is_fixed = name != "auto" or engine(chosen_engine).capabilities.streams  # else it decided
    return Holder(chosen_engine, memory if is_fixed else None)


def bytes_of(n_rows: int, n_columns: int) -> int:
    """Estimate the memory in bytes for measuring a table of this size, without attacks and learners."""
    return LEAST + n_rows * n_columns * _MEASURED


def check_room(original: Table | None) -> None:
    """Raise UnsupportedError if a table that is read in chunks is too large to measure."""
    limit = None if original is None else original.memory_limit
    if original is None or limit is None:
        return
    if (needed := bytes_of(original.n_rows, len(original.names))) > limit:
        sizes = {"needed": needed / 1e9, "allowed": limit / 1e9}
        raise UnsupportedError(**refusal("too_large", records=original.n_rows, **sizes))
