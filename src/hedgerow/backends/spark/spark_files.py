"""Read files as tables on a cluster, and release and write such tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ...columns.arrays import decoded, one_piece, regrouped, slices, value_type
from ...columns.chunked_table import ChunkedTable
from ...columns.order import cell_texts, order_by_ranks, ranks_of
from ...columns.table import Table
from ...columns.to_parquet import OpenOptions, open_chunked
from ...columns.workspace import Workspace, memory_of
from ...errors import OutputError, SchemaError, UnsupportedError, reprs
from ...files import PART, SUFFIXES, private_file, private_folder, private_handle
from ...io.file_format import FileFormat
from ...io.parquet_reader import Scan
from ...io.write import ROW_GROUP, parquet_writer, write_parts
from ...measures import Classes, Counts, Groups, Persons, group
from ...plan import Partition, PlanColumn
from .. import duckdb, partitions
from ..base import Change, PartWork, ReleasedTable, T, sensitive_column
from ..release_order import ReleasedCodes
from .cluster import changed, gathered, map_parts, moments_as_numbers, parts_for, reading, results, run, session
from .packing import Packing
from .recode import ByDraws, SparkColumn
from .spark_table import CountedColumn, Gathered, Maker, SparkTable, has_zeros

_BATCH = 1 << 17
# rows whose cells are decoded at once
_DECODED = 1 << 15
# types whose values Spark holds, besides integers, times and decimals
_HELD = (
    pa.bool_(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.binary(), pa.date32()
)  # fmt: skip


def from_files(source: str | Path, workspace: Workspace, options: OpenOptions) -> SparkTable:
    """Read Parquet or CSV files into Spark; CSV is first copied to Parquet in a private folder of this machine.

    Raises
    ------
    UnsupportedError
        Spark cannot store a column's type.
    """
    chunked = open_chunked(source, workspace, options)
    if unsupported := [f"{entry.name!r} ({entry.type})" for entry in chunked.types if not is_held(entry.type)]:
        raise UnsupportedError(
            f"Spark does not hold the types of these columns: {', '.join(unsupported)}",
            hint='use engine="memory" or "duckdb" (--engine), or give them another type',
        )
    paths = [_typed(chunked)] if chunked.scan.readers else chunked.scan.paths
    # as the files say, not as the names of their folders do
    frame = run(lambda: session().read.parquet(*map(str, paths)).select("*"))
    table = SparkTable(frame, chunked.layout, chunked.path, chunked.types)
    table.workspace = chunked.workspace
    return table


def _typed(chunked: ChunkedTable) -> Path:
    """Write the table to one Parquet file with parsed values instead of text, and return its path."""
    target = chunked.workspace.new_path("typed.parquet")
    types = pa.schema([(entry.name, value_type(entry.type)) for entry in chunked.types])

    with private_handle(target) as file, pq.ParquetWriter(file, types) as writer:
        for window in chunked.windows(chunked.names, _BATCH):
            writer.write_table(pa.table(dict(window.cells)).cast(types))
    return target


def is_held(kind: pa.DataType) -> bool:
    """Return whether Spark reads values of an Arrow type without loss."""
    if pa.types.is_dictionary(kind):
        return not kind.ordered and is_held(kind.value_type)
    if pa.types.is_timestamp(kind):
        return kind.unit != "ns"
    return kind != pa.uint64() if pa.types.is_integer(kind) else kind in _HELD or pa.types.is_decimal128(kind)


# limit of the number that combines ranks of neighbouring columns: Spark's numbers are signed
_WIDEST = 1 << 62


def by_group(recoding: Partition, table: SparkTable) -> Any:
    """Return a table's rows as a frame with all rows of each of the partition's groups in one Spark partition."""
    read = reading(table.types, [c.name for c in recoding.columns])
    groups = np.asarray(recoding.groups, np.int64)

    def group_of(part: pa.Table) -> NDArray[np.int64]:
        here = Table(read(part))
        leaf = partitions.route(recoding, [here.like(c) for c in recoding.columns])
        return groups[leaf] if len(groups) else leaf.astype(np.int64)

    frame = gathered(table.frame, "group", group_of, parts_for(table.n_rows, table.at_once))
    return frame.select(*table.frame.columns)


def over_parts(
    table: Table,
    work: PartWork[T],
    names: Sequence[str],
    *,
    groups: Partition | None = None,
    redrawn: Table | None = None,
) -> Iterator[T]:
    """Yield the result of `work` on each part of a table, run on the executors that hold it."""
    if isinstance(table, Gathered):
        yield work(table, None)
        return
    assert isinstance(table, SparkTable)
    maker = redrawn.maker if isinstance(redrawn, SparkTable) else None
    if maker is not None:
        frame = maker.rows(table)
    elif groups is not None:
        frame = by_group(groups, table)
    else:
        frame = table.frame.select(*(table.place(name) for name in names))
    read = reading(table.types, names)

    def run_part(part: pa.Table) -> T:
        cells = read(part)
        return work(Table(cells), None if maker is None else maker.columns(cells))

    run_part.__qualname__ = getattr(work, "__qualname__", type(work).__qualname__)
    yield from results(frame, run_part, whole=groups is not None or maker is not None, at_once=table.at_once)


def classes(
    table: Table, quasi: Sequence[str], sensitive: Sequence[PlanColumn], persons: Persons | None = None
) -> Classes:
    """Return the equivalence classes of a released table, counted in parts that one executor adds up for each class."""
    from pyspark.sql import types as t

    assert isinstance(table, SparkTable)
    columns = [cast(CountedColumn, sensitive_column(c, table)) for c in sensitive]
    # a column without rows is small enough to be sent to executors
    values = [column.with_rows(np.zeros(0, np.uint8)) for column in columns]
    names, keys = [*quasi, *(c.name for c in sensitive)], [table.place(n) for n in quasi]
    read, read_quasi = reading(table.types, names), reading(table.types, quasi)

    def classes_of(cells: pa.Table) -> tuple[Table, Groups]:
        here = Table(cells)
        return here, group([here.equality_codes(n) for n in quasi], here.n_rows)

    def count(part: pa.Table) -> Iterator[pa.RecordBatch]:
        here, groups = classes_of(read(part))
        first = pa.array(groups.first)
        cells = [part.column(key).take(first).combine_chunks() for key in keys]
        cells.append(pa.array(groups.sizes.astype(np.int64)))
        for column, whole in zip(sensitive, values, strict=True):
            codes = sensitive_column(column, here).codes_in(whole, unknown=-1)
            if len(codes) and codes.min() < 0:
                raise SchemaError(f"column {column.name!r} was read in two ways")
            counts = Counts.from_codes(groups, codes, whole.n_values + 1)
            starts = counts.starts.astype(np.int32)
            cells += [pa.ListArray.from_arrays(starts, each) for each in (counts.values, counts.counts)]
        yield from pa.Table.from_arrays(cells, [field.name for field in fields]).to_batches(1 << 12)

    def add(part: pa.Table) -> tuple[NDArray[np.int64], list[Counts]]:
        _, groups = classes_of(read_quasi(part))
        labels, counts = groups.labels.astype(np.int64), []
        sizes, *lists = part.columns[len(keys) :]
        for whole, code, number in zip(values, lists[::2], lists[1::2], strict=True):
            at = np.repeat(labels, pc.list_value_length(code).to_numpy())
            cells = [pc.list_flatten(each).to_numpy() for each in (code, number)]
            counts.append(Counts(at, cells[0], cells[1], groups.n_groups, whole.n_values + 1).placed())
        return np.bincount(labels, sizes.to_numpy(), groups.n_groups).astype(np.int64), counts

    frame = table.frame.select(*(table.place(n) for n in names))
    added = [t.LongType()] + [t.ArrayType(t.LongType())] * 2 * len(columns)
    fields = [*(frame.schema[key] for key in keys), *(t.StructField(f"n{i}", kind) for i, kind in enumerate(added))]
    # a class of most of the rows is a few counts of each part before any of it is moved
    frame = map_parts(frame, count, t.StructType(fields), at_once=table.at_once)
    frame = frame.repartition(parts_for(table.n_rows), *keys) if keys else frame.coalesce(1)
    parts = results(frame, add, whole=True)
    sizes = [part for part, _ in parts]
    first = np.cumsum([0, *map(len, sizes)])
    counted = {}
    for i, column in enumerate(columns):
        counts = [part[i] for _, part in parts]
        groups = np.concatenate([c.groups + at for c, at in zip(counts, first, strict=False)])
        codes, numbers = (np.concatenate([getattr(c, name) for c in counts]) for name in ("values", "counts"))
        whole = Counts(groups, codes.astype(np.int64), numbers, int(first[-1]), column.n_values + column.has_missing)
        counted[column.name] = column.with_class_counts(whole)
    return Classes(np.concatenate(sizes), counted)


def release(table: Table, change: Change) -> ReleasedTable:
    """Return the release as a table on the cluster, with its rows sorted by their content.

    Rows have no numbers there, so it does not record the input row of each of them, unless this process has
    gathered their codes.
    """
    from pyspark.sql import types as t

    if isinstance(table, Gathered):
        return _released_here(table, change)
    assert isinstance(table, SparkTable)
    columns = {name: column for name, column in change.columns.items() if isinstance(column, SparkColumn)}
    if refused := [name for name in change.columns if name not in columns]:
        raise UnsupportedError(f"columns that a cluster cannot replace: {reprs(refused)}", hint='use engine="memory"')
    remaining = [name for name in table.names if name not in change.drop]
    names = [f"r{i}" for i in range(len(remaining))]
    maker = next((column.maker for column in columns.values()), Maker(()))
    read = reading(table.types, maker.names)
    stays = {n: table.place(n) for n in remaining if n not in columns}
    order = None if change.keep_order else Order(table, columns, remaining)

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        output = maker.columns(read(part))
        cells = [part.column(stays[n]) if n in stays else pa.chunked_array([output[n]]) for n in remaining]
        keys = {} if order is None else order.keys(cells)
        # a recoded cell may be a text of a thousand letters: those of a few rows at a time are decoded
        for at in slices(part.num_rows, _DECODED):
            arrays = [decoded(column[at]) for column in (*cells, *keys.values())]
            yield from pa.Table.from_arrays(arrays, [*names, *keys]).combine_chunks().to_batches()

    fields, types = _types_of(table, columns, dict(zip(remaining, names, strict=True)))
    if order is not None:
        kinds = {"long": t.LongType(), "string": t.StringType()}
        fields += [t.StructField(k, kinds[kind], True) for k, kind in order.kinds.items()]
    selected = maker.rows(table).select(*dict.fromkeys([*stays.values(), *(table.place(n) for n in maker.names)]))
    frame = map_parts(selected, work, t.StructType(fields), whole=maker.whole, at_once=table.at_once)
    if order is not None:
        frame = frame.orderBy(*order.kinds).select(*names)
    output = _persisted(table, frame.toDF(*remaining), types)
    output.maker = maker
    if isinstance(maker, ByDraws):
        output.drawn_counts = partial(maker.counted, table)
    return ReleasedTable(output.given, None, output)


def _released_here(table: Gathered, change: Change) -> ReleasedTable:
    """Sort a release whose codes are in this process, and let executors decode them into cells."""
    from pyspark.sql import types as t

    whole, columns = table.whole, change.columns
    remaining = [name for name in table.names if name not in change.drop]
    listed = []
    for name in remaining:
        entries = table.entries(name)
        stays = ReleasedCodes(name, entries.type, entries, table.codes[name], np.arange(len(entries)))
        listed.append(columns.get(name, stays))
    ranked = ((column, *ranks_of(column.entries)) for column in listed)
    rows = order_by_ranks(table.n_rows, ((c.numbers, ranks[c.place], n) for c, ranks, n in ranked))
    # recoded columns share their codes
    sources = {str(id(column.numbers)): column for column in listed}
    packing = Packing.from_sizes({key: int(column.numbers.max()) + 1 for key, column in sources.items()})
    words = packing.packed({key: column.numbers[rows] for key, column in sources.items()})
    cells = [(str(id(column.numbers)), column.entries, column.place) for column in listed]
    names = [f"r{i}" for i in range(len(remaining))]

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        for at in slices(part.num_rows, _DECODED):
            here = [word[at].to_numpy() for word in part.columns]
            arrays = [entries.take(pa.array(place[packing.codes(here, key)])) for key, entries, place in cells]
            yield from pa.Table.from_arrays(arrays, names).to_batches()

    fields, types = _types_of(whole, columns, dict(zip(remaining, names, strict=True)))
    sent = whole.frame.sparkSession.createDataFrame(pa.table(dict(zip(packing.names(), words, strict=True))))
    output = _persisted(whole, map_parts(sent, work, t.StructType(fields)).toDF(*remaining), types)
    output.rows_here = tuple(table.codes), rows
    return ReleasedTable(output.given, rows, output)


def _types_of(
    table: SparkTable, columns: Mapping[str, SparkColumn | ReleasedCodes], places: Mapping[str, str]
) -> tuple[list[Any], list[tuple[str, pa.DataType]]]:
    """Return the fields of a released frame, named by `places`, and each column's type in a file."""
    from pyspark.sql import types as t
    from pyspark.sql.pandas.types import from_arrow_type

    fields, types, frame_types = [], [], table.frame.schema
    for name, place in places.items():
        kind, in_file = frame_types[table.place(name)].dataType, table.file_types.field(name).type
        if name in columns:
            in_file = columns[name].entries.type
            kind = kind if in_file == table.types.field(name).type else from_arrow_type(in_file, True)
        fields.append(t.StructField(place, kind, True))
        types.append((name, in_file))
    return fields, types


def _persisted(table: SparkTable, frame: Any, types: Sequence[tuple[str, pa.DataType]]) -> SparkTable:
    """Persist a released frame, and return it as a table."""
    output = SparkTable(table.keep_release(frame), table.layout, file_types=pa.schema(types))
    output.workspace, output.memory = table.workspace, table.memory
    return output


class Order:
    """The columns to sort a release by, so that its order depends on its content (`columns/order`).

    Each column to sort by replaces one released column by its text, or several neighbouring columns
    whose values were counted by the ranks of their values, combined in one number.

    Attributes
    ----------
    kinds : dict of str to {"long", "string"}
        The columns to sort by.
    """

    def __init__(self, table: SparkTable, recoded: Mapping[str, SparkColumn], remaining: Sequence[str]) -> None:
        runs: list[list[tuple[int, pa.Array | None, NDArray[np.uint64], int]]] = []
        width = _WIDEST
        for at, name in enumerate(remaining):
            entries = recoded[name].entries if name in recoded else table.counted_entries(name)
            # 0.0 and -0.0 are one value to Spark and two texts in a file, so their text decides
            if entries is None or has_zeros(entries):
                runs.append([(at, None, np.zeros(0, np.uint64), 0)])
                width = _WIDEST
                continue
            ranks, n = ranks_of(entries)
            # the number is full: the next columns begin another one
            if width * n >= _WIDEST:
                runs.append([])
                width = 1
            runs[-1].append((at, entries, ranks, n))
            width *= n
        kinds = ["string" if columns[0][1] is None else "long" for columns in runs]
        self.kinds = {f"k{i}": kind for i, kind in enumerate(kinds)}
        self._runs = runs

    def keys(self, cells: Sequence[pa.ChunkedArray]) -> dict[str, pa.Array]:
        """Return the columns to sort the given rows by, from their cells."""
        sort_keys = {}
        for name, columns in zip(self.kinds, self._runs, strict=True):
            key = np.zeros(len(cells[0]), np.uint64)
            for at, entries, ranks, n in columns:
                values = one_piece(cells[at])
                if entries is None:
                    sort_keys[name] = cell_texts(values).cast(pa.string())
                    break
                codes: Any = slice(None)
                if pa.types.is_dictionary(values.type):  # its texts are looked up once each, and missing
                    codes = values.indices.fill_null(len(values.dictionary)).to_numpy()
                    values = pa.concat_arrays([values.dictionary, pa.nulls(1, values.type.value_type)])
                place = pc.index_in(values.cast(entries.type), value_set=entries).fill_null(-1).to_numpy()[codes]
                if place.min(initial=0) < 0:
                    raise changed("the table")
                key = key * np.uint64(n) + ranks[place]
            else:
                sort_keys[name] = pa.array(key.astype(np.int64))
        return sort_keys


def write(table: Table, file: Path, *, like: Table, escape: bool = True, parts: bool = False) -> None:
    """Write a table on the cluster to one Parquet or CSV file, or to a folder of parts.

    `like` is the table that came in.

    Raises
    ------
    UnsupportedError
        The ending asks for another format.
    OutputError
        Executors and this process share no folder.
    """
    assert isinstance(table, SparkTable)
    suffix = SUFFIXES.get(file.suffix.lower())
    if suffix not in (".parquet", ".csv") and not parts:
        raise UnsupportedError(f"{file.name}: a cluster writes Parquet or CSV", hint="choose .parquet or .csv")
    with private_folder(file, PART) as folder:
        theirs, whole = folder / "parts", folder / "whole.parquet"
        # dates and times as numbers, because Spark's settings decide how it writes dates
        run(lambda: moments_as_numbers(table.frame).write.parquet(str(theirs)))
        tables = regrouped(_rows_of(theirs, table.types), ROW_GROUP)
        written = 0
        if parts:
            write_parts(tables, file, table.file_types)
            written = sum(pq.read_metadata(path).num_rows for path in file.iterdir())
        else:
            target = whole if suffix == ".csv" else file
            with private_file(target) as opened, parquet_writer(table.file_types, opened) as append:
                for rows in tables:
                    append(rows)
                    written += rows.num_rows
        if suffix == ".csv" and written == table.n_rows and not parts:
            assert table.workspace is not None
            copy = ChunkedTable(Scan.from_files([whole]), table.workspace, table.layout, whole)
            duckdb.write(copy, file, like=like, escape=escape)
    if written != table.n_rows:
        raise OutputError(
            "the executors and this process share no folder, so what the cluster writes does not lie here",
            hint="write release.table with Spark, and check it: release.verify_written(spark.read.parquet(...))",
        )


def copied_here(table: Table, memory: str | int | None = None) -> ChunkedTable:
    """Copy a table from the cluster to a private folder on this machine; the copy is read a few rows at a time."""
    workspace = Workspace(memory_of(memory))
    path = workspace.new_path("copy.parquet")
    write(table, path, like=table, escape=False)
    return ChunkedTable(Scan.from_files([path]), workspace, FileFormat(), path)


def _moments(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    """Convert numbers from `moments_as_numbers` back to dates or times; other cells keep their values."""
    if pa.types.is_timestamp(kind):
        cells = cells.cast(pa.timestamp("us", kind.tz))
    return cells.cast(kind)


def _rows_of(folder: Path, types: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of a folder of parts, with the given types."""
    # parts are numbered in the order of the rows
    for path in sorted(folder.glob("part-*.parquet")):
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches():
                columns = [_moments(c, kind) for c, kind in zip(batch.columns, types.types, strict=True)]
                yield pa.Table.from_arrays(columns, schema=types)
