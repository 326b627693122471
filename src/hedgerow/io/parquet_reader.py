"""Read Parquet files, whole or in batches of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..columns.arrays import is_text
from ..errors import InputError, no_memory
from .duckdb_reader import connected, identifier, named
from .file_sets import check_drift, readable
from .frames import without_views

Reader = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, eq=False)
class Scan:
    """The rows of several Parquet files that make up one table, in the order of the files.

    Parameters
    ----------
    paths : list of Path
    types : pyarrow.Schema
        The columns as reading them whole would give them.
    n_rows : int
    repeating : tuple of str
        The text columns that are read as dictionaries when read whole, because their values repeat.
    readers : mapping of str to callable, optional
        For each column, a function from the cells of the file to their values.
    """

    paths: Sequence[Path]
    types: pa.Schema
    n_rows: int
    repeating: Sequence[str] = ()
    readers: Mapping[str, Reader] = field(default_factory=dict)

    @classmethod
    def from_files(cls, paths: Sequence[Path]) -> Scan:
        """Build a scan from the metadata of the files.

        Raises
        ------
        InputError
            A file cannot be read, or its columns or types are not those of the first.
        """
        import pyarrow.parquet as pq

        about = []
        for path in paths:
            with readable(path):
                about.append(pq.read_metadata(path))
        types = [_types(path, [metadata]) for path, metadata in zip(paths, about, strict=True)]
        check_drift(paths, [dict(zip(t.names, t.types, strict=True)) for t in types])
        whole = types[0] if len(paths) == 1 else _types(paths[0], about)
        return cls(paths, whole, sum(metadata.num_rows for metadata in about), repeating(about))

    def batches(self, names: Sequence[str], size: int) -> Iterator[dict[str, pa.Array]]:
        """Yield the given columns in batches of up to `size` rows, with text as dictionaries.

        Raises
        ------
        InputError
            A file cannot be read to its end.
        """
        import pyarrow.parquet as pq

        # as dictionaries each text is hashed once a row group, not once a row
        texts = [n for n in names if n in self.repeating or is_text(self.types.field(n).type)]
        for path in self.paths:
            try:
                # Not all of the file at once: without this it is read ahead whole.
                with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
                    for batch in file.iter_batches(batch_size=size, columns=list(names)):
                        table = without_views(pa.Table.from_batches([batch]))
                        cells = {n: table.column(n).chunk(0) for n in names}
                        yield {n: self.readers[n](c) if n in self.readers else c for n, c in cells.items()}
            except (pa.ArrowException, OSError) as error:
                if no_memory(error):
                    raise MemoryError from None
                raise InputError(
                    f"{path.name} cannot be read to its end: damaged or changed", hint="write it again"
                ) from None

    def relation(self) -> Any:
        """Return the files as a DuckDB relation on a connection of its own."""
        import duckdb

        return duckdb.read_parquet([named(path) for path in self.paths])

    def distinct(self, name: str, folder: Path, memory: int) -> tuple[int, int]:
        """Return the number of distinct values in a column, and of its non-missing cells.

        DuckDB counts, and spills values to a private folder if there are many.
        """
        with connected(lambda: InputError(f"column {name!r} cannot be counted"), folder, memory) as connection:
            rows = connection.read_parquet([named(path) for path in self.paths])
            # by its place: DuckDB takes "Job" and "job" for one name, and calls the second one otherwise
            quoted = identifier(rows.columns[self.types.names.index(name)])
            n_distinct, n_present = rows.aggregate(f"count(DISTINCT {quoted}), count({quoted})").fetchall()[0]
        return int(n_distinct), int(n_present)


def _types(path: Path, about: Sequence[Any]) -> pa.Schema:
    import pyarrow.parquet as pq

    with readable(path), pq.ParquetFile(path, read_dictionary=repeating(about)) as file:
        schema = file.schema_arrow
    return without_views(schema.empty_table()).schema.remove_metadata()


def repeating(parts: Sequence[Any]) -> list[str]:
    """Return the text columns to read as dictionaries because their values repeat.

    A column that takes less than four bytes per value must repeat, since plain text needs that much
    for its lengths alone. Large text is always read as a dictionary; otherwise its type would
    depend on how well a file is compressed.

    Parameters
    ----------
    parts : sequence of pyarrow.parquet.FileMetaData
        Metadata of the files of one table.
    """
    groups = [about.row_group(i) for about in parts for i in range(about.num_row_groups)]
    n_rows = sum(about.num_rows for about in parts)
    types = [field for about in parts for field in about.schema.to_arrow_schema()]
    large = {field.name for field in types if pa.types.is_large_string(field.type)}
    names = []
    for i in range(parts[0].num_columns):
        column = parts[0].schema.column(i)
        size = sum(group.column(i).total_uncompressed_size for group in groups)
        if column.path != column.name or column.logical_type.type != "STRING":
            continue
        if size <= 4 * n_rows or column.name in large:
            names.append(column.name)
    return names


def read_parquet(path: Path) -> pa.Table:
    import pyarrow.parquet as pq

    with readable(path):
        about = pq.read_metadata(path)
        # Not pq.read_table: that adds columns from folder names such as year=2020.
        with pq.ParquetFile(path, metadata=about, read_dictionary=repeating([about])) as file:
            return file.read()
