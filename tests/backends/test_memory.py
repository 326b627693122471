"""A plan executed in memory, against a walk down the tree in plain Python."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.backends import transform
from hedgerow.backends.partitions import route
from hedgerow.errors import UnsupportedError
from hedgerow.io.read import read
from hedgerow.methods.mart import MART
from hedgerow.plan import Partition, Plan, Recoding
from hedgerow.schema import Schema

QUASI = ["age", "job", "born", "rank"]
SCHEMA = Schema(
    quasi=QUASI, sensitive=["pay"], kinds={"rank": "ordinal"}, categories={"rank": ["low", "middle", "high"]}
)
EPOCH = dt.date(1970, 1, 1)


def people(n: int, seed: int, jobs: str = "abcdefghijkl") -> pa.Table:
    rng = np.random.default_rng(seed)
    age, job, rank = rng.integers(18, 80, n), rng.integers(0, len(jobs), n), rng.integers(0, 3, n)
    born = rng.integers(0, 5000, n)
    pay = age * 10.0 + 70 * (job % 3) + 100 * rank + born / 50 + rng.normal(0, 50, n)
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(n) < 0.1),
            "job": pa.array([jobs[j] for j in job], mask=rng.random(n) < 0.1),
            "born": pa.array([EPOCH + dt.timedelta(int(b)) for b in born]),
            "rank": pa.array([["low", "middle", "high"][r] for r in rank], mask=rng.random(n) < 0.05),
            "pay": pay,
        }
    )


def fitted(style: str = "range", categories: str = "concatenate", n: int = 500, **parameters: Any) -> Plan:
    method = MART(**{"k": 5, "max_disclosure": None, "numeric": style, "categorical": categories, **parameters})
    return method.fit_table(read(people(n, 0)), SCHEMA).plan_


def walk(recoding: Partition, row: dict[str, Any]) -> int:
    """The leaf of one record."""
    leaves = np.cumsum([s < 0 for s in recoding.split]) - 1
    node = 0
    while recoding.split[node] >= 0:
        value = row[recoding.columns[recoding.split[node]].name]
        if recoding.subset[node] >= 0:
            left = value in recoding.subsets[recoding.subset[node]]
        elif value is None:
            left = recoding.missing_left[node]
        else:
            number = (value - EPOCH).days if isinstance(value, dt.date) else value
            left = number < recoding.threshold[node]
        node = node + 1 if left else recoding.right[node]
    return int(leaves[node])


def covered(column: Any, cell: Any, value: Any) -> bool:
    if cell.anything:
        return True
    if value is None:
        return bool(cell.missing)
    if column.kind in ("numeric", "date"):
        number = (value - EPOCH).days if isinstance(value, dt.date) else value
        return cell.lo is not None and cell.lo <= number <= cell.hi
    return value in cell.categories


@pytest.mark.parametrize(
    "table",
    [people(500, 0), people(400, 1), people(300, 2, "abcxyz")],
    ids=["the people it was made from", "others", "others with unseen jobs"],
)
@pytest.mark.parametrize("styles", [("range", "concatenate"), ("mean", "weighted"), ("median", "suppress")])
def test_every_record_gets_the_cell_of_its_leaf(table: pa.Table, styles: tuple[str, str]) -> None:
    plan = fitted(*styles)
    recoding = plan.recoding
    assert isinstance(recoding, Partition)
    made = transform(plan, read(table))
    outside = 0
    rows = table.select(QUASI).to_pylist()
    expected: dict[str, list[Any]] = {name: [] for name in QUASI}
    for row in rows:
        leaf = walk(recoding, row)
        for column, cells in zip(recoding.columns, recoding.leaf_cells, strict=True):
            cell = column.cells[cells[leaf]]
            expected[column.name].append(cell.label)
            outside += not covered(column, cell, row[column.name])
    assert {name: values.to_pylist() for name, values in made.columns.items()} == expected
    assert made.outside == outside
    assert (outside == 0) == (table.num_rows == 500)  # only their own people fit for certain


def test_routes_are_the_leaves_of_the_fitted_tree() -> None:
    method = MART(k=5, max_disclosure=None)
    table = read(people(500, 0))
    method.fit_table(table, SCHEMA)
    columns = [table.column(c.name, kind=c.kind) for c in method.plan_.recoding.columns]
    assert route(method.plan_.recoding, columns).tolist() == method.tree_.leaf_of_rows().tolist()


def test_wholly_missing_new_columns() -> None:
    plan = fitted()
    new = pa.table({name: pa.nulls(4, people(5, 0).schema.field(name).type) for name in QUASI})
    made = transform(plan, read(new))
    leaf = walk(plan.recoding, dict.fromkeys(QUASI))
    for column, cells in zip(plan.recoding.columns, plan.recoding.leaf_cells, strict=True):
        assert made.columns[column.name].to_pylist() == [column.cells[cells[leaf]].label] * 4


def test_a_release_does_not_depend_on_its_neighbours() -> None:
    """Each record is recoded by itself: the same in a table of its own."""
    plan, table = fitted(), people(60, 5)
    together = transform(plan, read(table)).columns
    for i in (0, 7, 59):
        alone = transform(plan, read(table.slice(i, 1))).columns
        assert {n: a.to_pylist()[0] for n, a in alone.items()} == {n: together[n].to_pylist()[i] for n in QUASI}


def test_what_cannot_be_applied_is_refused_by_name() -> None:
    class Other(Recoding):
        kind = "of the whole table"

    plan = fitted()
    with pytest.raises(UnsupportedError, match="of the whole table"):
        transform(Plan(plan.method, plan.parameters, plan.columns, Other()), read(people(5, 0)))
