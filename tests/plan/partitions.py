"""Small partition plans made by hand, and a plain reference that routes one record at a time."""

from __future__ import annotations

import datetime as dt
import math
from typing import Any

from hedgerow.plan import Cell, Partition, Plan, PlanColumn, Recoded

EPOCH = dt.date(1970, 1, 1)


def plan_of(tree: Partition, extra: tuple[PlanColumn, ...] = (), **fields: Any) -> Plan:
    columns = tuple(PlanColumn(c.name, c.role, c.kind, c.unit) for c in tree.columns) + extra
    return Plan(method="MART", parameters={"k": 2}, columns=columns, recoding=tree, **fields)


def chain(depth: int, name: str = "age") -> Partition:
    """A degenerate tree: each split sends one value to a leaf on the left."""
    split, threshold, right = [], [], []
    for i in range(depth):
        split += [0, -1]
        threshold += [i + 0.5, 0.0]
        right += [2 * i + 2, -1]
    split, threshold, right = [*split, -1], [*threshold, 0.0], [*right, -1]
    n = len(split)
    cells = tuple(Cell(str(i), i, i) for i in range(depth + 1))
    return Partition(
        (Recoded(name, "quasi", "numeric", cells=cells),),
        tuple(split),
        tuple(threshold),
        (-1,) * n,
        (False,) * n,
        tuple(right),
        (),
        (tuple(range(depth + 1)),),
    )


def mixed() -> Partition:
    """age < 40 (missing left); job in {nurse, O'Hara, missing}; born before a half day."""
    age = Recoded(
        "age", "quasi", "numeric", style="range", cells=(Cell("[20-39]", 20, 39, missing=True), Cell("[40-90]", 40, 90))
    )
    job = Recoded(
        "job",
        "quasi",
        "categorical",
        style="concatenate",
        cells=(
            Cell("nurse+O'Hara+(missing)", categories=("nurse", "O'Hara"), missing=True),
            Cell('"a+b"+cook\\', categories=("a+b", "cook\\")),
            Cell(None, missing=True),
        ),
    )
    born = Recoded(
        "born",
        "quasi",
        "date",
        unit="day",
        style="range",
        cells=(Cell("[1970-01-01/1970-01-11]", 0, 10), Cell("[1970-01-12/1999-12-31]", 11, 10956)),
    )
    mean = Recoded("height", "quasi", "numeric", style="mean", cells=(Cell(170.25, 150, 180), Cell(0.1, 0, 1)))
    return Partition(
        columns=(age, job, born, mean),
        split=(0, 1, -1, -1, 2, -1, -1),
        threshold=(39.5, 0.0, 0.0, 0.0, 10.5, 0.0, 0.0),
        subset=(-1, 0, -1, -1, -1, -1, -1),
        missing_left=(True, False, False, False, False, False, False),
        right=(4, 3, -1, -1, 6, -1, -1),
        subsets=(("nurse", "O'Hara", None),),
        leaf_cells=((0, 0, 1, 1), (0, 1, 1, 2), (0, 1, 0, 1), (0, 1, 0, 1)),
    )


def leaf_of(tree: Partition, record: dict[str, Any]) -> int:
    """Which leaf a record reaches, by the words of `Partition`'s description."""
    node = 0
    while tree.split[node] >= 0:
        column = tree.columns[tree.split[node]]
        value = record[column.name]
        if isinstance(value, dt.date):
            value = (value - EPOCH).days
        if column.kind in ("numeric", "date"):
            missing = value is None or math.isnan(value)
            left = tree.missing_left[node] if missing else value < tree.threshold[node]
        else:
            left = value in tree.subsets[tree.subset[node]]
        node = node + 1 if left else tree.right[node]
    return sum(1 for column in tree.split[:node] if column < 0)


def recoded(tree: Partition, record: dict[str, Any]) -> dict[str, Any]:
    leaf = leaf_of(tree, record)
    return {c.name: c.cells[cells[leaf]].label for c, cells in zip(tree.columns, tree.leaf_cells, strict=True)}
