"""The release of a table on a cluster: recoded where the rows are, and put into their order there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...columns.numbers import one_zero
from ...columns.order import cell_texts, ranks_of
from ...columns.table import Table
from ...errors import UnsupportedError
from ...plan import Partition
from .. import partitions
from .cell_values import reading
from .cluster import AT_ONCE, collected, over_parts
from .recode import ByDraws, Recoded
from .spark_table import SparkTable

_WIDEST = 1 << 62
"""Ranks of neighbouring columns are put into one number below it."""


def by_group(recoding: Partition, table: SparkTable) -> Any:
    """The rows of a table with those of a group of a partition side by side, in one part each."""
    from pyspark.sql import types as t

    read = reading(table.types, [c.name for c in recoding.columns])
    groups, names = np.asarray(recoding.groups, np.int64), table.frame.columns

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        here = Table(read(part))
        leaf = partitions.route(recoding, [here.like(c) for c in recoding.columns])
        at = groups[leaf] if len(groups) else leaf.astype(np.int64)
        yield from part.append_column("group", pa.array(at)).to_batches(1 << 16)

    schema = t.StructType([*table.frame.schema.fields, t.StructField("group", t.LongType())])
    parts = max(-(-table.n_rows // AT_ONCE), 1)
    return over_parts(table.frame, work, schema).repartition(parts, "group").select(*names)


def rows_of_leaves(recoding: Partition, table: SparkTable) -> NDArray[np.int64]:
    """How many rows come to each leaf of a partition."""
    names, n = [c.name for c in recoding.columns], recoding.n_leaves
    read = reading(table.types, names)

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        here = Table(read(part))
        leaf = partitions.route(recoding, [here.like(c) for c in recoding.columns])
        found, number = np.unique(leaf, return_counts=True)
        arrays = [pa.array(each.astype(np.int64)) for each in (found, number)]
        yield pa.RecordBatch.from_arrays(arrays, ["leaf", "n"])

    asked = table.frame.select(*(table.place(name) for name in names))
    found = collected(over_parts(asked, work, "leaf long, n long"))
    rows = np.zeros(n, np.int64)
    np.add.at(rows, found.column(0).to_numpy(), found.column(1).to_numpy())
    return rows


def released(
    table: SparkTable,
    columns: Mapping[str, Any],
    drop: Sequence[str] = (),
    keep_order: bool = False,
) -> SparkTable:
    """The released table, kept on the cluster as it was made."""
    from pyspark.sql import types as t

    if odd := [name for name, column in columns.items() if not isinstance(column, Recoded)]:
        raise UnsupportedError(
            f"these columns cannot be replaced on a cluster: {', '.join(map(repr, odd))}",
            hint='use engine="memory" (--engine memory)',
        )
    kept = [name for name in table.names if name not in set(drop)]
    names = [f"r{i}" for i in range(len(kept))]
    maker = next((column.maker for column in columns.values()), None)
    used = [] if maker is None else maker.names
    read = reading(table.types, used)
    stays = {n: table.place(n) for n in kept if n not in columns}
    order = None if keep_order else Order.of(table, columns, kept)

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        made = {} if maker is None else maker.columns(read(part))
        cells = [
            part.column(stays[n]) if n in stays else pa.chunked_array([_plain(made[n])])
            for n in kept
        ]
        keys = {} if order is None else order.keys(cells)
        whole = pa.Table.from_arrays([*cells, *keys.values()], [*names, *keys])
        yield from whole.to_batches(1 << 16)

    fields = []
    for name, place in zip(kept, names, strict=True):
        if name in stays:
            kind = table.frame.schema[stays[name]].dataType
        else:
            kind = _spark_type(columns[name].entries.type, name, table)
        fields.append(t.StructField(place, kind, True))
    if order is not None:
        kinds = {"long": t.LongType(), "string": t.StringType()}
        fields += [t.StructField(k, kinds[kind], True) for k, kind in order.kinds.items()]
    rows = table.frame if maker is None else maker.rows(table)
    asked = rows.select(*dict.fromkeys([*stays.values(), *(table.place(n) for n in used)]))
    whole = maker is not None and maker.whole
    frame = over_parts(asked, work, t.StructType(fields), whole=whole)
    if order is not None:
        frame = frame.orderBy(*order.kinds).select(*names)
    types = [
        (n, table.file_types.field(n).type if n in stays else _file_type(columns[n], table))
        for n in kept
    ]
    frame = table.handed(frame.toDF(*kept))
    made = SparkTable(frame, table.layout, file_types=pa.schema(types))
    made.workspace, made.maker, made.memory = table.workspace, maker, table.memory
    if isinstance(maker, ByDraws):
        made.drawn_counts = partial(maker.counted, table)
    return made


def _spark_type(kind: pa.DataType, name: str, table: SparkTable) -> Any:
    """The type by which Spark holds a recoded column."""
    from pyspark.sql import types as t

    if kind == table.types.field(name).type:
        return table.frame.schema[table.place(name)].dataType
    if pa.types.is_date32(kind):
        return t.DateType()
    if pa.types.is_timestamp(kind):
        return t.TimestampNTZType()
    return t.StringType() if pa.types.is_string(kind) else t.DoubleType()


def _file_type(column: Recoded, table: SparkTable) -> pa.DataType:
    """The type of a recoded column in a file; that of Spark where the table came from none."""
    return column.entries.type if table.workspace is None else column.kind


def _plain(array: pa.Array) -> pa.Array:
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


@dataclass(frozen=True)
class Order:
    """What decides the order of a release by its content (`table/order`), as columns to sort by.

    Parameters
    ----------
    kinds : mapping of str to {"long", "string"}
        The columns to sort by.
    runs : sequence of (list of (int, entries, ranks, int))
        For each the released columns that it stands for: their place, and where their values are
        known, the rank of each and how many there are.
    """

    kinds: Mapping[str, str]
    runs: Sequence[Sequence[tuple[int, pa.Array | None, NDArray[np.uint64], int]]]

    @classmethod
    def of(cls, table: SparkTable, made: Mapping[str, Recoded], kept: Sequence[str]) -> Order:
        """Ranks where the values of a column are known, else their text."""
        runs: list[list[tuple[int, pa.Array | None, NDArray[np.uint64], int]]] = []
        width = _WIDEST
        for at, name in enumerate(kept):
            entries = made[name].entries if name in made else table.known(name)
            if entries is None or _has_zeros(entries):
                runs.append([(at, None, np.zeros(0, np.uint64), 0)])
                width = _WIDEST
                continue
            ranks, n = ranks_of(entries)
            if width * n >= _WIDEST:
                runs.append([])
                width = 1
            runs[-1].append((at, entries, ranks, n))
            width *= n
        kinds = ["string" if columns[0][1] is None else "long" for columns in runs]
        return cls({f"k{i}": kind for i, kind in enumerate(kinds)}, runs)

    def keys(self, cells: Sequence[pa.ChunkedArray]) -> dict[str, pa.Array]:
        """What to sort some rows by."""
        made = {}
        for name, columns in zip(self.kinds, self.runs, strict=True):
            key = np.zeros(len(cells[0]), np.uint64)
            for at, entries, ranks, n in columns:
                held = _as_array(cells[at])
                if entries is None:
                    made[name] = cell_texts(held).cast(pa.string())
                    break
                place = pc.index_in(held.cast(entries.type), value_set=entries)
                key = key * np.uint64(n) + ranks[place.to_numpy()]
            else:
                made[name] = pa.array(key.astype(np.int64))
        return made


def _as_array(cells: pa.ChunkedArray) -> pa.Array:
    found = cells.combine_chunks()
    return found if isinstance(found, pa.Array) else found.chunk(0)


def _has_zeros(entries: pa.Array) -> bool:
    """Whether a zero is among them, whose sign two rows may differ in: it has two texts."""
    if not pa.types.is_floating(entries.type):
        return False
    return bool(pc.any(pc.equal(one_zero(entries), 0.0)).as_py())

