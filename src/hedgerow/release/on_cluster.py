"""A release held against its original on a cluster: sums and counts come back, never rows.

The same code as elsewhere looks at the rows where they are (`rows`, `plain`); sums of keyed hashes
add up in any order. The key is made for one comparison, and executors get what was derived from it
for each column.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ..backends.spark.cell_values import reading
from ..backends.spark.cluster import binaries, collected, over_parts
from ..backends.spark.counted_columns import CountedColumn
from ..backends.spark.spark_table import SparkTable
from ..backends.spark.writing import by_group
from ..columns.column import Column
from ..columns.row_hashes import RowSums
from ..columns.table import Table, Window
from ..errors import SchemaError
from ..measures import Classes, Counts, group
from ..measures.classes import SensitiveCounts
from ..measures.guarantees import Check
from ..plan import Partition, Plan, PlanColumn, Recoding
from ..plan.records import RANDOM
from .expected_rows import Expected, ExpectedRows, means_and_shares
from .rederive.maps import MapsRecipe

_SUMS = "n long, whole binary, columns binary, outside string, untrue string"
_PART = 1 << 20
"""Rows of a part that is looked at as a whole."""
_WORD = 8


def derive(
    recoding: Recoding, original: SparkTable, released: SparkTable, relations: Mapping[str, str]
) -> tuple[ExpectedRows, list[Check]]:
    """`rows.derive` where the rows of the original are on a cluster.

    What chance gave is drawn again for every row: the draws go by what a row holds.
    """
    whole = Expected.of(recoding, original, released.types, relations, ())
    rows, types = whole.rows, released.types
    same = whole.main.same if isinstance(whole.main, MapsRecipe) else None
    hasher = rows.hasher()  # holds what was derived from the key for its columns, and no key
    centred = isinstance(recoding, Partition) and any(
        c.style in ("mean", "median", "weighted") for c in recoding.columns
    )
    read = reading(original.types, original.names)
    drawing = released.maker if RANDOM in relations.values() else None
    together = centred or drawing is not None

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        given = read(part)
        table = Table(given)
        expected = Expected.of(recoding, table, types, relations, (), same)
        cells = {n: table.take(n, slice(0, table.n_rows)) for n in expected.asked}
        after = None if drawing is None else drawing.columns(given)
        before, outside = expected.cells(Window(slice(0, table.n_rows), cells), after)
        yield _told(hasher.add(before), outside, expected.untrue())

    frame = original.frame
    if drawing is not None:
        frame = drawing.rows(original)
    elif centred:  # what a cell tells of its group is held against the whole group
        assert isinstance(recoding, Partition)
        frame = by_group(recoding, original)
    found = collected(over_parts(frame, work, _SUMS, whole=together)).to_pylist()
    sums, outside, untrue = hasher.zero(), Counter[str](), Counter[str]()
    for one in found:
        sums += _sums(one)
        outside.update(json.loads(one["outside"]))
        untrue.update(json.loads(one["untrue"]))
    made = replace(rows, sums=sums)
    checks = Expected(made, (), None, outside).own_checks()
    return made, [*checks, *([means_and_shares(untrue)] if centred else [])]


def summed(expected: ExpectedRows, released: SparkTable) -> RowSums:
    """`rows.summed` where the rows of the release are on a cluster."""
    names = list(expected.classes)
    read, hasher = reading(released.types, names), expected.hasher()

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        table = Table(read(part))
        cells = [table.take(n, slice(0, table.n_rows)) for n in names]
        yield _told(hasher.add(cells), {}, None)

    total = hasher.zero()
    for one in collected(over_parts(released.frame, work, _SUMS)).to_pylist():
        total += _sums(one)
    return total


def classes(plan: Plan, released: SparkTable) -> Classes:
    """`verify.classes` where the rows of the release are on a cluster."""
    quasi = plan.names("quasi")
    told = [(c, sensitive_column(c, released)) for c in plan.columns if c.role == "sensitive"]
    wholes = [(c, _known(column)) for c, column in told]
    names = [*quasi, *(c.name for c, _ in told)]
    read = reading(released.types, names)

    def work(part: pa.Table) -> Iterator[pa.RecordBatch]:
        table = Table(read(part))
        groups = group([table.equality_codes(n) for n in quasi], table.n_rows)
        arrays = [groups.sizes]
        for column, whole in wholes:
            codes = sensitive_column(column, table).codes_in(whole, unknown=-1)
            if len(codes) and codes.min() < 0:
                raise SchemaError(f"column {column.name!r} was read in two ways")
            counts = Counts.from_codes(groups, codes, whole.n_values + 1)
            arrays += [counts.groups, counts.values, counts.counts]
        cells = [binaries([a.astype(np.int64).tobytes()]) for a in arrays]
        yield pa.RecordBatch.from_arrays(cells, fields)

    fields = ["sizes", *(f"{k}{i}" for i in range(len(told)) for k in ("g", "v", "n"))]
    frame = released.frame.select(*(released.place(n) for n in names))
    parts = max(-(-released.n_rows // _PART), 1)
    keys = [released.place(n) for n in quasi]
    frame = frame.repartition(parts, *keys) if keys else frame.coalesce(1)
    schema = ", ".join(f"{name} binary" for name in fields)
    found = collected(over_parts(frame, work, schema, whole=True)).to_pylist()
    sizes = [np.frombuffer(one["sizes"], np.int64) for one in found]
    first = np.cumsum([0, *map(len, sizes)])
    made = {}
    for i, (c, column) in enumerate(told):
        groups, values, counts = (
            [np.frombuffer(one[f"{k}{i}"], np.int64) for one in found] for k in ("g", "v", "n")
        )
        at = [each + start for each, start in zip(groups, first, strict=False)]
        n_values = column.n_values + column.has_missing
        every, codes, number = (np.concatenate(each) for each in (at, values, counts))
        made[c.name] = SensitiveCounts(
            column.name,
            column.kind,
            column.values,
            Counts(every, codes, number, int(first[-1]), n_values),
            column.exact,
            column.events,
        )
    return Classes(np.concatenate(sizes), made)


def sensitive_column(column: PlanColumn, released: Table) -> Column:
    """A released sensitive column under its kind, or as categories when it was recoded to text."""
    try:
        return released.like(column)
    except SchemaError:
        return released.column(column.name, kind="categorical")


def _known(column: Column) -> Column:
    """A column without rows, to be sent to executors."""
    assert isinstance(column, CountedColumn)
    return column.with_rows(np.zeros(0, np.uint8))


def _told(sums: RowSums, outside: Mapping[str, int], untrue: Mapping[str, int] | None) -> Any:
    columns = np.array(sums.columns, np.uint64).tobytes()
    whole = sums.whole.to_bytes(2 * _WORD, "little")
    cells = [
        pa.array([sums.n_rows], pa.int64()),
        binaries([whole]),
        binaries([columns]),
        pa.array([json.dumps(dict(outside))]),
        pa.array([json.dumps(dict(untrue or {}))]),
    ]
    return pa.RecordBatch.from_arrays(cells, ["n", "whole", "columns", "outside", "untrue"])


def _sums(one: Mapping[str, Any]) -> RowSums:
    pairs = np.frombuffer(one["columns"], np.uint64).reshape(-1, 2).tolist()
    whole = int.from_bytes(one["whole"], "little")
    return RowSums(one["n"], whole, tuple((a, b) for a, b in pairs))
