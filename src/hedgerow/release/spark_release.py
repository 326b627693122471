"""A release on a cluster: its rows stay there, verified."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ..backends.spark.cluster import run
from ..backends.spark.dataframes import moments_as_numbers
from ..backends.spark.file_tables import one_file
from ..backends.spark.spark_table import SparkTable
from ..columns.chunked_table import ChunkedTable
from ..columns.table import Table
from ..columns.workspace import Workspace, memory_of
from ..errors import OutputError, UnsupportedError
from ..files import PART, SUFFIXES, private_file, private_folder
from ..io.file_format import FileFormat
from ..io.parquet_reader import Scan
from ..io.write import ROW_GROUP, parquet_writer, write_parts
from ..measures.guarantees import Check
from . import on_cluster
from .release import Release
from .streamed_release import StreamedRelease, write_streamed
from .verify import require


class SparkRelease(Release):
    """A `Release` whose `table` is a Spark DataFrame, in the order of its content.

    Rows have no numbers on a cluster, so nothing tells the row of the input behind each of them.
    """

    original: SparkTable
    released: SparkTable

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.table = self.released.given

    @property
    def rows(self) -> NoReturn:
        """Refused: rows of a cluster have no numbers."""
        raise UnsupportedError(
            "rows of a cluster have no numbers, so Hedgerow cannot say which row came from whom",
            hint="let a column that stays tell it (other=, --other), on a copy that is not released",
        )

    def verify_written(self, frame: Any) -> list[Check]:
        """Hold a table that was written from `table`, read again by Spark, against this release.

        Parameters
        ----------
        frame : Spark DataFrame
            Such as ``spark.read.parquet(...)`` of what ``release.table.write`` made.

        Returns
        -------
        list of Check

        Raises
        ------
        PromiseError
            It does not hold the rows that were verified.
        """
        expected = self._found.expected
        assert expected is not None
        names, wanted = list(frame.columns), list(expected.classes)
        if names != wanted:
            checks = [Check("columns", len(wanted), len(names), False, "other names or order")]
            return require(checks, "the written table")
        sums = on_cluster.summed(expected, SparkTable(frame))
        n = expected.sums.n_rows
        checks = [Check("rows", n, sums.n_rows, n == sums.n_rows), *expected.checks(sums)]
        return require(checks, "the written table")

    def _as_made(self) -> None:
        return None

    def _look_again(self) -> None:
        self.original.forget()

    def _check_again(self) -> None:
        """Nothing: frames of Spark are not changed in place."""

    def _paired(self) -> Table:
        return self.original

    def _write_table(self, file: Path, escape: bool) -> None:
        write_collected(self.released, file, self.original, escape, self.parts)


def write_collected(
    table: SparkTable, file: Path, like: Table, escape: bool, parts: bool = False
) -> None:
    """Write a table of the cluster as one Parquet or CSV file, or as a folder of parts.

    `like` is the one that came in.

    Raises
    ------
    UnsupportedError
        The ending asks for another format.
    OutputError
        Executors and this process share no folder.
    """
    suffix = SUFFIXES.get(file.suffix.lower())
    if suffix not in (".parquet", ".csv") and not parts:
        raise UnsupportedError(
            f"{file.name}: a table on a cluster is written as Parquet or CSV",
            hint="choose the ending .parquet or .csv",
        )
    types = table.file_types
    with private_folder(file, PART) as folder:
        theirs, whole = folder / "parts", folder / "whole.parquet"
        run(lambda: moments_as_numbers(table.frame).write.parquet(str(theirs)))
        entries = {
            entry.name: table.entries(entry.name).drop_null()
            for entry in types
            if pa.types.is_dictionary(entry.type)
        }
        tables = (_coded(rows, types, entries) for rows in _together(theirs, table.types))
        written = 0
        if parts:
            write_parts(tables, file)
            written = sum(pq.read_metadata(path).num_rows for path in file.iterdir())
        else:
            target = whole if suffix == ".csv" else file
            with private_file(target) as opened, parquet_writer(types, opened) as put:
                for rows in tables:
                    put(rows)
                    written += rows.num_rows
        if suffix == ".csv" and written == table.n_rows and not parts:
            write_streamed(one_file(whole, table), file, like, escape)
    if written != table.n_rows:
        raise OutputError(
            "what the cluster writes does not lie where this process reads: the executors and "
            "this process share no folder",
            hint="write release.table with Spark where both can read, and hold it against the "
            "release: release.verify_written(spark.read.parquet(...))",
        )


def copied_here(table: SparkTable, memory: str | int | None = None) -> ChunkedTable:
    """A table of the cluster as one that streams: a copy in a private folder of this machine."""
    workspace = Workspace(memory_of(memory))
    path = workspace.new_path("copy.parquet")
    write_collected(table, path, table, escape=False)
    return ChunkedTable(Scan.from_files([path]), workspace, FileFormat(), path)


def _coded(table: pa.Table, types: pa.Schema, entries: Mapping[str, pa.Array]) -> pa.Table:
    """Some rows with the types of their file: codes into dictionaries of the whole release."""
    columns = []
    for entry, column in zip(types, table.columns, strict=True):
        if entry.name in entries:
            cells = column.combine_chunks()
            codes = pc.index_in(cells, value_set=entries[entry.name])
            kind = entry.type
            coded = codes.cast(kind.index_type), entries[entry.name].cast(kind.value_type)
            columns.append(pa.DictionaryArray.from_arrays(*coded))
        else:
            columns.append(column)
    return pa.Table.from_arrays(columns, schema=types)


def kind(table: Table) -> type[Release]:
    """The kind of release that a table gives."""
    if isinstance(table, SparkTable):
        return SparkRelease
    return StreamedRelease if isinstance(table, ChunkedTable) else Release


def _moments(cells: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cells that `moments_as_numbers` made numbers of, by the type of their column."""
    if pa.types.is_timestamp(kind):
        cells = cells.cast(pa.timestamp("us", kind.tz))
    return cells.cast(kind)


def _together(folder: Path, types: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a folder of parts, so many at a time as a file has in a group."""
    held: list[pa.Table] = []
    n = 0
    for path in sorted(folder.glob("part-*.parquet")):
        with pq.ParquetFile(path, pre_buffer=False) as file:
            for batch in file.iter_batches():
                columns = [_moments(c, kind) for c, kind in zip(batch.columns, types.types, strict=True)]
                table = pa.Table.from_arrays(columns, schema=types)
                while n + table.num_rows >= ROW_GROUP:
                    yield pa.concat_tables([*held, table.slice(0, ROW_GROUP - n)])
                    table, held, n = table.slice(ROW_GROUP - n), [], 0
                if table.num_rows:
                    held.append(table)
                    n += table.num_rows
    if held:
        yield pa.concat_tables(held)
