"""Read JSON lines; a column's type is inferred from all of its values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..columns.arrays import ArrowFault, indexed, storage
from ..errors import InputError
from .csv_file import find_encoding
from .duckdb_reader import connected, in_batches, named, whole
from .file_format import damaged
from .text_cells import all_match, parse_iso

_WHOLE = r"^-?\d+$"


def read_json_lines(path: Path) -> pa.Table:
    """Read a file with one JSON object per line as Arrow; keys absent from a record are missing values.

    A column gets the type number, boolean or ISO date if it holds nothing else; a column of mixed
    types becomes text.

    Raises
    ------
    InputError
        The file is not UTF-8, or a line is not a JSON object.
    """
    names, _ = _keys(path)
    with connected(lambda: _fault(path)) as connection:
        texts = whole(_relation(connection, path, names))
    return pa.Table.from_arrays([_typed(column) for column in texts.columns], names=names)


def read_json_batches(path: Path, size: int) -> tuple[list[str], int, Iterator[pa.RecordBatch]]:
    """Return a file's keys, its number of rows, and batches of its rows, each batch typed by itself.

    Dates stay text, since a batch may hold only dates although the whole column does not.
    """
    names, n_rows = _keys(path)

    def batches() -> Iterator[pa.RecordBatch]:
        with connected(lambda: _fault(path)) as connection:
            for batch in in_batches(_relation(connection, path, names), size):
                cells = [_typed(pa.chunked_array([c]), dates=False) for c in batch.columns]
                columns = [column.combine_chunks() for column in cells]
                yield pa.RecordBatch.from_arrays(columns, names=names)

    return names, n_rows, batches()


def _keys(path: Path) -> tuple[list[str], int]:
    """Return all keys in the order in which they first occur, and the number of records."""
    if find_encoding(path) not in ("utf-8", "utf-8-sig"):
        raise InputError(f"{path.name} is not UTF-8", hint="JSON is written in UTF-8")
    with connected(lambda: _fault(path)) as connection:
        rows = connection.execute(
            "SELECT keys, count(*) FROM (SELECT json_keys(json) AS keys, row_number() OVER () AS "
            "line FROM read_ndjson_objects(?, hive_partitioning=false)) GROUP BY keys ORDER BY min(line)",
            [named(path)],
        ).fetchall()
    # grouped by DuckDB, for files have millions of lines and few sets of keys
    names = list(dict.fromkeys(name for keys, _ in rows for name in keys))
    if not names or any(len(set(keys)) < len(keys) for keys, _ in rows):
        raise _fault(path)
    return names, sum(count for _, count in rows)


def _relation(connection: Any, path: Path, names: list[str]) -> Any:
    columns = dict.fromkeys(names, "JSON")
    return connection.read_json(
        named(path), format="newline_delimited", columns=columns, hive_partitioning=False
    )


def _typed(texts: pa.ChunkedArray, dates: bool = True) -> pa.ChunkedArray:
    """Convert the JSON values of a column to a single type."""
    index, entries = indexed(storage(texts).cast(pa.string()))
    values = _values(entries, dates) if len(entries) else pa.nulls(0)
    return pa.chunked_array([values.take(pa.array(index, mask=index < 0))])


def _values(entries: pa.Array, dates: bool) -> pa.Array:
    """Convert distinct JSON values to the narrowest type that holds them all."""
    starts = set(pc.utf8_slice_codeunits(entries, 0, 1).unique().to_pylist())
    if starts == {'"'}:
        texts = _unquoted(entries)
        parsed = parse_iso(texts) if dates else None
        return texts if parsed is None else parsed
    if starts <= {"t", "f"}:
        return pc.equal(entries, "true")
    if starts <= {"{", "["}:
        try:
            return pa.array([json.loads(text) for text in entries.to_pylist()])
        except (*ArrowFault, ValueError, RecursionError):
            return entries
    if not starts & set('"tf{['):
        return _numbers(entries)
    return pc.if_else(pc.starts_with(entries, '"'), _unquoted(entries), entries)


def _numbers(entries: pa.Array) -> pa.Array:
    for kind in (pa.int64(), pa.decimal128(38, 0)) if all_match(entries, _WHOLE) else ():
        try:
            return entries.cast(kind)
        except pa.ArrowInvalid:
            continue
    return entries.cast(pa.float64())


def _unquoted(entries: pa.Array) -> pa.Array:
    """Return JSON strings as decoded text; the results for values other than strings are meaningless."""
    plain = pc.utf8_slice_codeunits(entries, 1, -1)
    escaped = pc.and_(pc.match_substring(entries, "\\"), pc.starts_with(entries, '"'))
    if not pc.any(escaped).as_py():
        return plain
    texts = [json.loads(text) for text in entries.filter(escaped).to_pylist()]
    return pc.replace_with_mask(plain, escaped, pa.array(texts, plain.type))


def _fault(path: Path) -> InputError:
    hint = "write one record a line, each an object with the same keys"
    with open(path, encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            try:
                record = json.loads(line) if line.strip() else {}
                fault = f"is a {type(record).__name__}, not an object"
            except (ValueError, RecursionError):
                record, fault = None, "is not valid JSON"
            if not isinstance(record, dict):
                return InputError(f"{path.name}: line {number:,} {fault}", hint=hint)
    return damaged(path, "a JSON lines file")
