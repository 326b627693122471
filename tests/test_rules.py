"""Rules between columns: what is read as one, and which rows break it, by two evaluators and by DuckDB."""

from __future__ import annotations

import datetime as dt

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.columns.rule_values import broken
from hedgerow.columns.table import Table
from hedgerow.errors import SchemaError
from hedgerow.plan import Plan, PlanColumn
from hedgerow.plan.recodings import Maps
from hedgerow.release.rederive.plain_rules import count_plainly
from hedgerow.rules import ColumnRule, Expression, parse, parse_rules


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("discharge >= admit AND a <= 3", ["discharge >= admit", "a <= 3"]),
        ("total = rent + (food - x) - 2*y", ["total = rent + (food - x) - 2 * y"]),
        ("a - (b - c) = 0", ["a - (b - c) = 0"]),
        ("NOT NOT a = 1", ["NOT NOT a = 1"]),
        ("total = " + " + ".join(f"p{i}" for i in range(38)), ["total = " + " + ".join(f"p{i}" for i in range(38))]),
        ("(a+b)*c = d", ["(a + b) * c = d"]),
        ("age >= 15 OR job = 'it''s none' AND NOT z IS NULL", ["age >= 15 OR job = 'it''s none' AND NOT z IS NULL"]),
        ('"length of stay" = discharge - admit', ['"length of stay" = discharge - admit']),
        ("a BETWEEN 1 AND 2.50", ["a >= 1", "a <= 2.50"]),
        ("NOT (a = 1 OR b = 2)", ["NOT (a = 1 OR b = 2)"]),
        ("x IN (1, 2, 'a')", ["x IN (1, 2, 'a')"]),
        ("day >= DATE '2020-01-01'", ["day >= DATE '2020-01-01'"]),
        ('"order" = 3 -- not a word', ['"order" = 3']),
    ],
)
def test_conditions_are_read_and_written_again(text: str, rules: list[str]) -> None:
    assert [str(rule) for rule in parse_rules([text])] == rules
    assert [str(rule) for rule in parse_rules(rules)] == rules


@pytest.mark.parametrize(
    "text",
    [
        "read_csv('/etc/passwd')", "random() > a", "a; drop table x", "(select 1) = a", "a IN (SELECT 1)", "true",
        "a || b = 'x'", "x LIKE 'a%'", "a::int = 3", "a IS TRUE", "", "1 = 1", "t.a = 3", "a = ?", "a = $1",
        "(" * 100 + "a = 1" + ")" * 100, "NOT " * 95 + "a = 1", "a = 1e999", "a < CURRENT_DATE", "EXISTS (SELECT 1)",
        "a = ALL(1)", "CASE WHEN a = 1 THEN 1 END = 2", "a = 1 ORDER BY 2", "a IS DISTINCT FROM b", "a + 1",
        "getenv('HOME') = a", "a = b +" + " b +" * 900 + " b", "a / b = 1", "a = [1]", "a = {'x': 1}", "COLUMNS(*) = 1",
    ],
)  # fmt: skip
def test_nothing_else_is_read(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_rules([text])


@pytest.mark.parametrize(
    "text",
    [
        "job = a", "d = 'x'", "job < 'a'", "d + d = 3", "a = 'x'", "a AND b = 1", "job + 1 = 2", "(a = b) = c", "d = 3",
        "d * 2 = d", "d = job", "2 - d = 1",
    ],
)  # fmt: skip
def test_what_cannot_be_compared_is_refused(text: str) -> None:
    table = pa.table({"a": [1, 2], "b": [1, 2], "c": [1, 2], "job": ["x", "y"], "d": [dt.date(2020, 1, 1)] * 2})
    with pytest.raises(SchemaError, match=r"the rule|no condition"):
        hr.protect(table, hr.Schema(quasi=["a"], sensitive=["b", "c", "job", "d"], rules=[text]), hr.Hedge(2))


def columns(table: Table) -> dict[str, object]:
    return {name: table.column(name) for name in table.names}


def rows_that_break(text: str, table: Table) -> list[bool]:
    return [bool(one) for one in broken(parse_rules([text])[0], columns(table))]  # type: ignore[arg-type]


def test_numbers_count_to_the_last_decimal_and_a_missing_value_breaks_nothing() -> None:
    table = Table(
        pa.table(
            {"a": [0.1, 0.1, None, 0.25], "b": [0.2, 0.2, 0.3, 0.25], "c": [0.3, 0.4, 0.5, 0.5], "n": [1, 2, 3, 3]}
        )
    )
    assert rows_that_break("c = a + b", table) == [False, True, False, False]
    assert rows_that_break("a <> .1", table) == [True, True, False, False]
    assert rows_that_break("n = .5", table) == [True] * 4
    assert rows_that_break("a + b + c = 1", table) == [True, True, False, False]
    # a column is what is computed at more decimals, rounded to its own
    assert rows_that_break("n = 10 * a + .4", table) == [False, True, False, False]
    assert rows_that_break("n = 10 * a + .6", table) == [True, False, False, False]


def test_large_numbers_do_not_overflow() -> None:
    table = Table(pa.table({"a": [4e15 + 0.5, 2e15], "b": [3e12, 2.25], "c": [3037000500.0, 3037000500.0]}))
    assert rows_that_break("a * b > a", table) == [False, False]
    assert rows_that_break("c * c * c > 0", table) == [False, False]
    assert rows_that_break("a - b > 0", table) == [False, False]


def test_dates_and_times_count_days() -> None:
    days = [dt.date(2024, 2, 28), dt.date(2024, 3, 1), None]
    times = [dt.datetime(2024, 3, 1, 12), dt.datetime(2024, 3, 1), dt.datetime(2024, 3, 1)]
    table = Table(pa.table({"d": days, "t": times, "n": [2, 0, 1], "h": [2.5, 0.0, 1.0]}))
    assert rows_that_break("t >= d", table) == [False, False, False]
    assert rows_that_break("h = t - d", table) == [False, False, False]
    assert rows_that_break("n = t - d", table) == [False, False, False]  # a half rounds either way
    assert rows_that_break("d + 2 = DATE '2024-03-01'", table) == [False, True, False]
    assert rows_that_break("d < '2024-03-01'", table) == [False, True, False]


def test_a_column_that_determines_another() -> None:
    table = Table(
        pa.table({"city": ["a", "a", "a", "b", "b", None, "c"], "land": ["x", "x", "y", "z", None, "q", None]})
    )
    off = broken(ColumnRule(determines=("city", "land")), columns(table))  # type: ignore[arg-type]
    assert off.tolist() == [False, False, True, *[False] * 4]


NUMBERS = st.sampled_from(["i", "f", "m"])
VALUES = st.recursive(
    NUMBERS.map(lambda name: Expression("column", text=name))
    | st.sampled_from(["0", "1", "-2.5", "0.25", "100"]).map(lambda text: Expression("number", text=text)),
    lambda parts: st.tuples(st.sampled_from("+-*"), parts, parts).map(lambda each: Expression(each[0], each[1:])),
    max_leaves=4,
)
SIMPLE = (
    st.tuples(st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), VALUES, VALUES).map(lambda e: Expression(e[0], e[1:]))
    | st.sampled_from(["job = 'x'", "job <> 'y'", "job IN ('x', 'z')", "job IS NULL", "f IN (0.25, i)"]).map(parse)
    | st.sampled_from(["day >= '2020-01-02'", "day = DATE '2020-01-03'", "day + i > day"]).map(parse)
)
CONDITIONS = st.recursive(
    SIMPLE,
    lambda parts: (
        st.tuples(st.sampled_from(["and", "or"]), parts, parts).map(lambda e: Expression(e[0], e[1:]))
        | parts.map(lambda part: Expression("not", (part,)))
    ),
    max_leaves=4,
)
TABLE = pa.table(
    {
        "i": pa.array([0, 1, 2, 3, -4, None, 7, 100], pa.int32()),
        "f": [0.25, -2.5, 0.1, None, 1.0, 3.75, 0.0, 2.5],
        "m": [1e6, 0.01, -0.07, 33.33, None, 12.5, 1.0, -1.0],
        "job": ["x", "y", None, "z", "x", "x", "y", "w"],
        "day": [
            dt.date(2020, 1, 1),
            dt.date(2020, 1, 3),
            None,
            *[dt.date(2019, 12, 31), dt.date(2024, 2, 29)] * 2,
            None,
        ],
    }
)
KINDS = {"i": "numeric", "f": "numeric", "m": "numeric", "job": "categorical", "day": "date"}
COLUMNS = [PlanColumn(name, "other", kind, unit="day" * (kind == "date")) for name, kind in KINDS.items()]
PLAN = Plan("any", {}, tuple(COLUMNS), Maps(()))


@settings(max_examples=60, deadline=None)
@given(CONDITIONS)
def test_both_evaluators_and_duckdb_find_the_same_rows(node: Expression) -> None:
    if not node.names:
        return
    rule, table = ColumnRule(node), Table(TABLE)
    n = int(np.count_nonzero(broken(rule, columns(table))))  # type: ignore[arg-type]
    assert n == count_plainly(rule, PLAN, table, table)
    # what is written is read as the same condition
    assert str(ColumnRule(parse(str(rule)))) == str(rule)
    if not any(_rounds(part) for part in _parts(node)):  # SQL knows no rounding to a column's decimals
        connection = duckdb.connect()
        connection.register("arrow", TABLE)
        exact = "SELECT i::DECIMAL(12, 0) i, f::DECIMAL(12, 2) f, m::DECIMAL(12, 2) m, job, day FROM arrow"
        whole = f"SELECT count(*) FILTER (NOT ({rule})) FROM ({exact})".replace("day + i > day", "day + i::INT > day")
        assert connection.sql(whole).fetchall() == [(n,)]


def _parts(node: Expression) -> list[Expression]:
    return [node, *(below for part in node.parts for below in _parts(part))]


def _rounds(node: Expression) -> bool:
    """Return whether a column or number equals something computed."""
    return node.op in ("=", "<>", "in") and len({bool(part.parts) for part in node.parts}) == 2
