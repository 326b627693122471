"""Read a written file back in batches, in the way its recipient will read it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.arrays import as_text, decimals, in_parquet, is_text, value_class, value_type
from ..schema import Schema
from .csv_file import read_csv_batches
from .file_format import Dialect, FileFormat
from .file_sets import check_path, readable
from .parquet_reader import Scan
from .read import read, with_reasons
from .text_cells import days_of, parse_iso, unescape_cells, unescape_names

BATCH = 1 << 17


@dataclass(frozen=True)
class Written:
    """The content of a written file, with its rows in batches.

    Parameters
    ----------
    names : list of str
        Its columns, in order.
    types : mapping of str to pyarrow type, or None
        The types of the columns (a dictionary has that of its values); None if the file holds only
        text.
    n_rows : int, or None
        Number of rows; None if it is not known before reading.
    batches : iterator of pyarrow.RecordBatch
        The rows; they can be read only once.
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
    """Read back a file that `write_table` wrote, or the Parquet files of `write_parts`.

    Parameters
    ----------
    paths : sequence of Path
    like : FileFormat
        The format in which the file was written, with its style of numbers and booleans.
    classes : mapping of str to str
        The class by which each column is compared (`rowhash.value_class`). In a format without
        types, cells are read as values of that class if possible; other cells stay text.
    recoded : collection of str
        Columns whose cells form the groups: to a reader, two spellings of one value are two texts,
        so only the first spelling counts as the value.
    unescape_formulas : bool
        Remove the apostrophes that `write_table` puts before formulas.

    Raises
    ------
    InputError
        The file is readable or has no rows.
    """
    path, suffix = paths[0], check_path(paths[0])
    if suffix == ".parquet":
        return _parquet(paths)
    if suffix == ".feather":
        return _feather(path)
    dialect, n_rows = Dialect(), None  # all but CSV have one way to write numbers and booleans
    if suffix == ".csv":
        dialect = like.dialect
        names, batches = read_csv_batches(path, BATCH, dialect.encoding)
        names = unescape_names(names) if unescape_formulas else names
    else:  # a workbook or statistical file, which its package reads whole
        written = read(path, schema=Schema(kinds={n: "numeric" for n, sort in classes.items() if sort == "number"}))
        names, whole = list(written.names), with_reasons(written, like).arrow
        for place, name in enumerate(classes):
            if name in whole.column_names and name not in names:
                names.insert(place, name)
        whole = whole.select(names)
        names, n_rows = whole.column_names, whole.num_rows
        batches = iter(whole.to_batches(BATCH))
    escaped = unescape_formulas and suffix == ".csv"
    return Written(names, None, n_rows, _Cells(dialect, classes, frozenset(recoded), escaped).read(names, batches))


def plain_types(schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the column types as a file stores them: plain values, in time units that Parquet has."""
    return {field.name: in_parquet(value_type(field.type)) for field in schema}


def _parquet(paths: Sequence[Path]) -> Written:
    import pyarrow.parquet as pq

    scan = Scan.from_files(paths)
    names = scan.types.names
    batches = map(pa.RecordBatch.from_pydict, scan.batches(names, BATCH))
    # a scan reads large text as dictionaries of another type
    return Written(names, plain_types(pq.read_schema(paths[0])), scan.n_rows, batches)


def _feather(path: Path) -> Written:
    with readable(path, "an Arrow or Feather file"):
        reader = pa.ipc.open_file(pa.OSFile(str(path)))
    batches = map(reader.get_batch, range(reader.num_record_batches))
    return Written(reader.schema.names, plain_types(reader.schema), None, batches)


@dataclass
class _Cells:
    """A reader that converts the cells of an untyped format to the expected class of each column."""

    dialect: Dialect
    classes: Mapping[str, str]
    recoded: frozenset[str]
    escaped: bool
    _spelled: dict[str, dict[Any, str]] = field(default_factory=dict)

    def read(self, names: list[str], rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches with each column's cells converted to values."""
        for batch in rows:
            yield pa.RecordBatch.from_arrays(list(map(self._column, names, batch.columns)), names=names)

    def _column(self, name: str, array: pa.Array) -> pa.Array:
        wanted = self.classes.get(name, "text")
        if name in self.dialect.ranges:
            array = pc.replace_substring(array.cast(pa.large_string()), ",", ".")
        if value_class(array.type) in ("missing", None if self.escaped else wanted):
            return array
        if wanted == "number" and name not in self.recoded and is_text(array.type):
            # numbers are parsed faster than texts are hashed
            numbers = self._values(array, wanted, name)
            if numbers is not array:
                return numbers
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        texts = as_text(coded.dictionary)
        values = self._values(texts, wanted, name)
        # only text is escaped, so what was read as other values need not be unescaped
        if values is texts or (name in self.recoded and self._twice(name, texts, values)):
            values = unescape_cells(texts) if self.escaped else texts
        return pa.DictionaryArray.from_arrays(coded.indices, values)

    def _values(self, texts: pa.Array, wanted: str, name: str) -> pa.Array:
        """Convert distinct texts to values of a class; return them unchanged unless all can be converted."""
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
                if parsed is None and (style := dict(self.dialect.styles).get(name, "")):
                    parsed = days_of(texts, style.replace("%-", "%").partition(" ")[0])
                return texts if parsed is None else parsed
            false, true = self.dialect.booleans
            if wanted == "boolean" and pc.all(pc.is_in(texts, pa.array([false, true]))).as_py():
                return pc.equal(texts, true)
        except pa.ArrowInvalid:
            pass
        return texts

    def _twice(self, name: str, texts: pa.Array, values: pa.Array) -> bool:
        """Return whether two different texts, in this batch or an earlier one, stand for the same value."""
        spellings = self._spelled.setdefault(name, {})
        pairs = zip(values.to_pylist(), texts.to_pylist(), strict=True)
        return any(spellings.setdefault(value, text) != text for value, text in pairs)
