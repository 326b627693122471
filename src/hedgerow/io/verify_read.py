"""A written file read again, as its recipient reads it, a few rows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.arrays import as_text, decimals, in_parquet, is_text, value_class
from ..errors import InputError
from ..schema import Schema
from .csv_file import read_csv_batches
from .file_format import Dialect, FileFormat
from .file_sets import check_path, damaged
from .json_lines import read_json_batches
from .read import read
from .statistical import STATISTICAL
from .text_cells import days_of, parse_iso, unescape_cells

BATCH = 1 << 17


@dataclass(frozen=True)
class Written:
    """The content of a file.

    Parameters
    ----------
    names : list of str
        Its columns, in order.
    types : mapping of str to pyarrow type, or None
        Their types, a dictionary's being that of its values; None where a file holds text alone.
    n_rows : int, or None
        None where only reading tells.
    batches : iterator of pyarrow.RecordBatch
        Its rows; to be read once.
    """

    names: list[str]
    types: Mapping[str, pa.DataType] | None
    n_rows: int | None
    batches: Iterator[pa.RecordBatch]


def read_back(
    paths: Sequence[Path],
    *,
    like: FileFormat,
    classes: Mapping[str, str],
    recoded: Collection[str] = (),
    unescape_formulas: bool = False,
) -> Written:
    """Read a file that `write_table` wrote, or the Parquet files of `write_parts`.

    Parameters
    ----------
    paths : sequence of Path
    like : FileFormat
        The format that it was written in: how numbers and booleans stand there.
    classes : mapping of str to str
        The class that each column is compared by (`rowhash.value_class`). The cells of a format
        that knows no types are read as values of that class where they are; others stay text.
    recoded : collection of str
        Columns whose cells make the groups: two spellings of one value are two texts to a reader,
        so only the first counts as the value.
    unescape_formulas : bool
        Take away the apostrophes that `write_table` puts before formulas.

    Raises
    ------
    InputError
        The file is damaged or has no rows.
    """
    path, suffix = paths[0], check_path(paths[0])
    if suffix == ".parquet":
        return _parquet(paths)
    if suffix == ".feather":
        return _feather(path)
    if suffix in STATISTICAL or suffix == ".xlsx":
        numbers = Schema(kinds={n: "numeric" for n, sort in classes.items() if sort == "number"})
        whole = read(path, schema=numbers).arrow  # which these formats' packages read as one
        # numbers and booleans stand there in one way, and text beside them in ISO's
        cells = _Cells(Dialect(), classes, frozenset(recoded), False)
        batches = iter(whole.to_batches(BATCH))
        return Written(whole.column_names, None, whole.num_rows, cells.read(whole.column_names, batches))
    if suffix == ".csv":
        names, batches = read_csv_batches(path, BATCH, like.dialect.encoding)
        names = unescape_cells(pa.array(names)).to_pylist() if unescape_formulas else names
        cells = _Cells(like.dialect, classes, frozenset(recoded), unescape_formulas)
        return Written(names, None, None, cells.read(names, batches))
    names, n_rows, batches = read_json_batches(path, BATCH)
    # JSON has one way to write numbers and booleans
    cells = _Cells(Dialect(), classes, frozenset(recoded), False)
    return Written(names, None, n_rows, cells.read(names, batches))


def plain_types(schema: pa.Schema) -> dict[str, pa.DataType]:
    """The types of columns as files hold them: dictionaries and finer units are written out."""
    kinds = ((e.name, e.type.value_type if pa.types.is_dictionary(e.type) else e.type) for e in schema)
    return {name: in_parquet(kind) for name, kind in kinds}


def _parquet(paths: Sequence[Path]) -> Written:
    import pyarrow.parquet as pq

    schema, n_rows = pa.schema([]), 0
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                part_schema, n_rows = file.schema_arrow, n_rows + file.metadata.num_rows
        except pa.ArrowException as error:
            raise damaged(path, error) from None
        schema = part_schema if path is paths[0] else schema
        if not part_schema.equals(schema):
            raise InputError(f"{path.name} has other columns than {paths[0].name}")
    texts = [entry.name for entry in schema if is_text(entry.type)]

    def batches() -> Iterator[pa.RecordBatch]:
        # Not all of the file at once: without this it is read ahead whole.
        for path in paths:
            with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False) as file:
                yield from file.iter_batches(batch_size=BATCH)

    return Written(schema.names, plain_types(schema), n_rows, batches())


def _feather(path: Path) -> Written:
    def batches() -> Iterator[pa.RecordBatch]:
        with pa.OSFile(str(path)) as file:
            reader = pa.ipc.open_file(file)
            yield from map(reader.get_batch, range(reader.num_record_batches))

    try:
        with pa.OSFile(str(path)) as file:
            schema = pa.ipc.open_file(file).schema
    except pa.ArrowException as error:
        raise damaged(path, error, "an Arrow or Feather") from None
    return Written(schema.names, plain_types(schema), None, batches())


@dataclass
class _Cells:
    """Reads the cells of a format without types as values of the class that is expected."""

    dialect: Dialect
    classes: Mapping[str, str]
    recoded: frozenset[str]
    escaped: bool
    _spelled: dict[str, dict[Any, str]] = field(default_factory=dict)

    def read(self, names: list[str], rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows with the values of each column."""
        for batch in rows:
            columns = map(self._column, names, batch.columns)
            yield pa.RecordBatch.from_arrays(list(columns), names=names)

    def _column(self, name: str, array: pa.Array) -> pa.Array:
        wanted, own_class = self.classes.get(name, "text"), value_class(array.type)
        if own_class == "missing" or (own_class == wanted and not self.escaped):
            return array
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        texts = as_text(coded.dictionary)
        texts = unescape_cells(texts) if self.escaped else texts
        values = texts if wanted == "text" else self._values(texts, wanted)
        if values is not texts and name in self.recoded and self._twice(name, texts, values):
            values = texts
        return pa.DictionaryArray.from_arrays(coded.indices, values)

    def _values(self, texts: pa.Array, wanted: str) -> pa.Array:
        """Distinct texts as values of a class; as they are where one of them is no such value."""
        try:
            if wanted == "number":
                bare = pc.utf8_trim_whitespace(texts)
                if self.dialect.decimal != ".":
                    bare = pc.replace_substring(bare, self.dialect.decimal, ".")
                try:
                    return bare.cast(pa.int64())
                except pa.ArrowInvalid:
                    doubles = bare.cast(pa.float64())
                    exact = decimals(bare)
                    return doubles if exact is None else exact
            if wanted == "date":
                parsed = parse_iso(texts)
                if parsed is None and self.dialect.dates:
                    parsed = days_of(texts, self.dialect.dates)
                return texts if parsed is None else parsed
            false, true = self.dialect.booleans
            if wanted == "boolean" and pc.all(pc.is_in(texts, pa.array([false, true]))).as_py():
                return pc.equal(texts, true)
        except pa.ArrowInvalid:
            pass
        return texts

    def _twice(self, name: str, texts: pa.Array, values: pa.Array) -> bool:
        """Return whether two texts, here or in earlier rows, are the same value."""
        spellings = self._spelled.setdefault(name, {})
        pairs = zip(values.to_pylist(), texts.to_pylist(), strict=True)
        return any(spellings.setdefault(value, text) != text for value, text in pairs)
