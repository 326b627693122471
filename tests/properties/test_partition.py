"""Whatever the table: every released group keeps its promises, every cell covers its original."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hedgerow.errors import HedgerowError
from hedgerow.io.read import read
from hedgerow.methods.mart import MART
from hedgerow.notation import MISSING, parse_dates, parse_range, split_concatenation
from hedgerow.schema import Schema

from ..adversary import checker


@st.composite
def tables(draw: Any) -> tuple[pa.Table, list[str], list[str]]:
    """A table with quasi-identifiers q0.. and sensitive columns s0.. of random kinds."""
    n = draw(st.integers(4, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    made: dict[str, Any] = {}

    def column(kind: str) -> Any:
        if kind == "number":
            values = rng.integers(-4, 9, n) * draw(st.sampled_from([1.0, 0.1, 1e9]))
        elif kind == "decimal":
            values = rng.lognormal(0, draw(st.sampled_from([0.3, 2.0])), n)
        elif kind == "date":
            values = np.array([dt.date(2000, 1, 1) + dt.timedelta(int(d)) for d in rng.integers(0, 999, n)])
        elif kind == "boolean":
            values = rng.random(n) < 0.4
        else:
            names = draw(
                st.lists(
                    st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=4),
                    min_size=1,
                    max_size=14,
                    unique=True,
                )
            )
            values = np.array(names, object)[rng.integers(0, len(names), n)]
        return pa.array(values.tolist(), mask=rng.random(n) < draw(st.sampled_from([0.0, 0.0, 0.2])))

    quasi = draw(st.lists(st.sampled_from(["number", "decimal", "date", "boolean", "text"]), min_size=1, max_size=4))
    sensitive = draw(st.lists(st.sampled_from(["number", "decimal", "text", "boolean"]), min_size=1, max_size=3))
    for i, kind in enumerate(quasi):
        made[f"q{i}"] = column(kind)
    for i, kind in enumerate(sensitive):
        made[f"s{i}"] = column(kind)
    return (pa.table(made), [f"q{i}" for i in range(len(quasi))], [f"s{i}" for i in range(len(sensitive))])


def covers(cell: Any, value: Any, style: str) -> bool:
    """Whether a released cell, read as a recipient reads it, says something true of the original."""
    if cell is None:
        return value is None
    if cell == "*":
        return True
    if isinstance(value, bool):
        value = "true" if value else "false"
    if style in ("concatenate", "weighted"):
        return value in [category for category, _ in split_concatenation(cell)]
    if cell.endswith("+" + MISSING):
        if value is None:
            return True
        cell = cell.removesuffix("+" + MISSING)
    if value is None:
        return False
    if isinstance(value, dt.date):
        lo, hi = parse_dates(cell)
        return lo <= value.isoformat() <= hi
    lo, hi = parse_range(cell)
    return lo <= value <= hi


def worst(groups: list[Any], values: list[Any]) -> Fraction:
    """The most that any group tells of a column, by the definition of every score."""
    known = next(v for v in values if v is not None)
    if isinstance(known, (dt.date, dt.datetime)):
        values = [None if v is None else (v - dt.date(1970, 1, 1)).days for v in values]
    category = isinstance(known, (str, bool))
    return checker.worst(groups, values, "category" if category else "number")


@given(
    made=tables(),
    k=st.integers(2, 6),
    cap=st.sampled_from([None, 0.2, 0.5, 0.9]),
    alpha=st.sampled_from([None, None, 0.1]),
    categorical=st.sampled_from(["concatenate", "weighted", "suppress"]),
)
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_promises_hold_on_the_released_table(
    made: Any, k: int, cap: float | None, alpha: float | None, categorical: str
) -> None:
    table, quasi, sensitive = made
    method = MART(k=k, max_disclosure=cap, alpha=alpha, categorical=categorical)
    try:
        method.fit_table(read(table), Schema(quasi=quasi, sensitive=sensitive))
    except HedgerowError:
        assume(False)
    released = method.transform(table.select(quasi))
    assert released.column_names == quasi
    rows = list(zip(*(released.column(name).to_pylist() for name in quasi), strict=True))
    groups = defaultdict(list)
    for i, row in enumerate(rows):
        groups[row].append(i)
    assert min(map(len, groups.values())) >= k
    for name in sensitive:
        if cap is not None:
            assert worst(rows, table.column(name).to_pylist()) <= Fraction(repr(cap))
    for name in quasi:
        number = pa.types.is_integer(table.column(name).type) or pa.types.is_floating(table.column(name).type)
        dated = pa.types.is_date(table.column(name).type)
        style = "range" if number or dated else categorical
        for cell, value in zip(released.column(name).to_pylist(), table.column(name).to_pylist(), strict=True):
            assert covers(cell, value, style)


@given(made=tables(), k=st.integers(2, 5), seed=st.integers(0, 99))
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
def test_shuffled_rows_give_the_same_plan(made: Any, k: int, seed: int) -> None:
    table, quasi, sensitive = made
    schema = Schema(quasi=quasi, sensitive=sensitive)
    order = np.random.default_rng(seed).permutation(table.num_rows)
    try:
        one = MART(k=k).fit_table(read(table), schema)
    except HedgerowError as error:
        with pytest.raises(type(error)):
            MART(k=k).fit_table(read(table.take(order)), schema)
        return
    two = MART(k=k).fit_table(read(table.take(order)), schema)
    assert one.plan_ == two.plan_
    x = table.select(quasi)
    assert one.transform(x).take(order).equals(two.transform(x.take(order)))
