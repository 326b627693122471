"""Evaluate rules a second time, plainly: row by row, with Python's whole numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...columns.table import Table
from ...errors import SchemaError
from ...guard.rows import entries_of
from ...kernels import Ints
from ...notation import DAY
from ...plan import GuardedColumn, Plan, PlanColumn
from ...rules import ColumnRule, Expression, day_of, parse

# a value of a row: a whole number, a text, or None where it is missing
Values = Sequence[Any]


@dataclass(frozen=True)
class PlainCells:
    """The values of a column, or of what is computed, row by row.

    Parameters
    ----------
    values : sequence of int, str or None
    below : int
        What whole numbers are divided by; 0 for texts.
    last : Fraction
        The last decimal of a column; 0 for what is computed and for literals.
    """

    values: Values
    below: int
    last: Fraction = Fraction(0)

    def over(self, below: int) -> Values:
        """Return the numbers over another denominator."""
        times = below // self.below
        return [None if v is None else v * times for v in self.values]


def read_plain(column: PlanColumn, table: Table) -> PlainCells:
    """Return the cells of a column of a table; dates count days."""
    read = table.like(column)
    if not read.is_number:
        return PlainCells([*map([*map(str, read.values), None].__getitem__, read.codes.tolist())], 0)
    if read.kind == "date":
        entries: list[Fraction | None] = [Fraction(round(v), 1 if read.unit == "day" else DAY) for v in read.values]
        last = Fraction(1, 1 if read.unit == "day" else DAY)
    else:
        numbers = (
            [Decimal(repr(float(v))) for v in read.values] if not len(read.exact) else list(map(Decimal, read.exact))
        )
        entries = [None if not v.is_finite() else Fraction(round(v, 9)) for v in numbers]
        places = [-int(round(v, 9).normalize().as_tuple().exponent) for v in numbers if v.is_finite()]
        last = Fraction(1, 10 ** max([0, *places]))
    below = lcm(*(each.denominator for each in entries if each is not None), 1)
    whole = [None if each is None else int(each * below) for each in entries]
    return PlainCells([*map([*whole, None].__getitem__, read.codes.tolist())], below, last)


def computed(node: Expression, cells: Mapping[str, PlainCells], n: int) -> PlainCells:
    """Return what an expression is in each of n rows."""
    if node.op == "column":
        return cells[node.text]
    if node.op == "number":
        number = Fraction(node.text)
        return PlainCells([number.numerator] * n, number.denominator)
    if node.op == "date" and (day := day_of(node.text)) is not None:
        return PlainCells([day.numerator] * n, day.denominator)
    if not node.parts:
        return PlainCells([node.text] * n, 0)
    one, two = (computed(part, cells, n) for part in node.parts)
    if node.op == "*":
        pairs = zip(one.values, two.values, strict=True)
        return PlainCells([None if a is None or b is None else a * b for a, b in pairs], one.below * two.below)
    below, sign = lcm(one.below, two.below), 1 if node.op == "+" else -1
    pairs = zip(one.over(below), two.over(below), strict=True)
    return PlainCells([None if a is None or b is None else a + sign * b for a, b in pairs], below)


def holds(node: Expression, cells: Mapping[str, PlainCells], n: int) -> list[bool | None]:
    """Return whether a condition holds in each of n rows; None where a missing value leaves that open."""
    if node.op == "not":
        return [None if a is None else not a for a in holds(node.parts[0], cells, n)]
    if node.op in ("and", "or"):
        decides = node.op == "or"
        pairs = zip(*(holds(part, cells, n) for part in node.parts), strict=True)
        return [decides if decides in pair else None if None in pair else not decides for pair in pairs]
    if node.op == "is null":
        return [a is None for a in computed(node.parts[0], cells, n).values]
    if node.op == "in":
        each = [holds(Expression("=", (node.parts[0], part)), cells, n) for part in node.parts[1:]]
        return [True if True in row else None if None in row else False for row in zip(*each, strict=True)]
    one, two = (computed(part, cells, n) for part in node.parts)
    near = Fraction(0)
    if one.below and two.below:
        if node.op in ("=", "<>") and any(part.parts for part in node.parts):  # a column beside what is computed
            near = max(one.last, two.last) / 2
    elif one.below or two.below:  # a literal is read as what it is compared with
        one, two = (
            _like(side, part, other) for side, part, other in zip((one, two), node.parts, (two, one), strict=True)
        )
    if one.below:
        below = lcm(one.below, two.below)
        one, two = PlainCells(one.over(below), 0), PlainCells(two.over(below), 0)
        near *= below
    return [
        None if a is None or b is None else _compared(node.op, a, b, near)
        for a, b in zip(one.values, two.values, strict=True)
    ]


def _like(side: PlainCells, node: Expression, other: PlainCells) -> PlainCells:
    if node.names:
        return side
    if other.below:
        day = day_of(node.text) or Fraction(0)
        return PlainCells([day.numerator] * len(side.values), day.denominator)
    return PlainCells([node.text] * len(side.values), 0)


def _compared(op: str, a: Any, b: Any, near: Fraction) -> bool:
    if op in ("=", "<>"):
        return (abs(a - b) <= near if near else a == b) == (op == "=")
    return bool((a < b) * (op[0] == "<") or (a > b) * (op[0] == ">") or (a == b) * op.endswith("="))


def count_plainly(rule: ColumnRule, plan: Plan, table: Table, original: Table) -> int | None:
    """Return how many rows of a table break a rule; None if its cells do not show that.

    Of a column that determines another the values of the original count, and not what rare ones are released as.
    """
    of_plan = {column.name: column for column in plan.columns}
    try:
        cells = {name: read_plain(of_plan[name], table) for name in rule.names}
    except SchemaError:
        return None
    if rule.node is not None:
        return sum(a is False for a in holds(rule.node, cells, table.n_rows))
    first = {*read_plain(of_plan[rule.names[0]], original).values}
    pairs = [pair for pair in zip(*(cells[name].values for name in rule.names), strict=True) if None not in pair]
    pairs = [pair for pair in pairs if pair[0] in first]
    counts: dict[Any, dict[Any, int]] = {}
    for a, b in pairs:
        of_a = counts.setdefault(a, {})
        of_a[b] = of_a.get(b, 0) + 1
    return len(pairs) - sum(max(of_a.values()) for of_a in counts.values())


def cells_here(plan: Plan, table: Table) -> dict[str, NDArray[np.bool_]]:
    """Return, for each guarded column of one slot of units, which rows of a table have a cell of it."""
    if plan.units is None:
        return {}
    assert plan.guard is not None
    patterns = table.take(plan.units.presence, slice(0, table.n_rows)).to_pylist()
    here: dict[str, NDArray[np.bool_]] = {}
    for column in plan.guard.columns:
        has = {pattern: plan.units.has_cell(column.name, str(pattern)) for pattern in {*patterns}}
        if not all(has.values()):
            here[column.name] = np.array([has[pattern] for pattern in patterns])
    return here


class DrawnAgain:
    """A table of a plan whose guard computes columns, with these columns as they were drawn.

    Parameters
    ----------
    plan : Plan
    table : Table
        The original, or the release.

    Attributes
    ----------
    hidden : dict of str to int
        Rows in which a missing value hides what was drawn of a column.
    here : dict of str to bool array of shape (n_rows,)
        For each column of one slot of units, which rows have a cell of it.
    """

    def __init__(self, plan: Plan, table: Table) -> None:
        assert plan.guard is not None
        self._table, self.hidden, self.here = table, dict[str, int](), cells_here(plan, table)
        self._derived = {each.name: each for each in plan.guard.derived}
        names = {*self._derived, *(name for each in plan.guard.derived for name in each.reads)}
        self._columns = {column.name: column for column in plan.columns if column.name in names}
        self._cells = {name: read_plain(column, table) for name, column in self._columns.items()}
        record_of = {column.name: column for column in plan.guard.columns}
        arrays = {name: self._as_drawn(record_of[name]) for name in self._derived}
        arrays |= {name: pc.if_else(here, arrays[name], None) for name, here in self.here.items() if name in arrays}
        self._forms = Table(pa.table(arrays)) if arrays else table

    def of(self, name: str) -> Table:
        """Return the table that has a column as it was drawn."""
        return self._forms if name in self._derived else self._table

    def nothing(self, name: str) -> str:
        """Return the list of values of a row that has none of them; empty for a column that lists nothing."""
        members = [each for each in self._derived.values() if each.inside == name]
        return json.dumps([None] * len(members)) if members else ""

    def _as_drawn(self, column: GuardedColumn) -> pa.Array:
        """Return what was drawn of a column that is computed."""
        each, n = self._derived[column.name], self._table.n_rows
        if each.inside:
            if each.inside != each.name:
                return pa.array(["known"] * n)
            members = sorted((d.place, name) for name, d in self._derived.items() if d.inside == each.name)
            values = [self._listed(name) for _, name in members]
            return pa.array([json.dumps(row, ensure_ascii=False) for row in map(list, zip(*values, strict=True))])
        expression = parse(each.sql).parts[1]
        cells_of_row = self._cells[each.name].values
        unbound = [None in row for row in zip(*(self._cells[name].values for name in each.reads), strict=True)]
        self.hidden[each.name] = int(np.count_nonzero(np.array(unbound) & self.here.get(each.name, np.True_)))
        if each.name not in expression.names:
            lacks = [a is None and not b for a, b in zip(cells_of_row, unbound, strict=True)]
            return pa.array([None if lack and column.has_missing else "known" for lack in lacks], pa.string())
        low, high = expression.parts[0], Expression("column", text=each.name)
        low, high = (low, high) if expression.op == "+" else (high, low)
        distance = computed(Expression("-", (high, low)), self._cells, n)
        scale = {"us": DAY}.get(each.unit, 1)
        numbers = [None if v is None else v * scale / distance.below for v in distance.values]
        if column.kind != "date":
            return pa.array(numbers, pa.float64())
        whole = pa.array([None if v is None else round(v) for v in numbers], pa.int64())
        return whole.cast(pa.int32()).cast(pa.date32()) if each.unit == "day" else whole.cast(pa.timestamp("us"))

    def _listed(self, name: str) -> Values:
        """Return the values of a column as lists of values have them: of dates, the number in its unit."""
        cells, scale = self._cells[name], {"us": DAY}.get(self._derived[name].unit, 1)
        if not cells.below:
            return cells.values
        numbers = [None if v is None else Fraction(v * scale, cells.below) for v in cells.values]
        return [None if v is None else int(v) if v.denominator == 1 else float(v) for v in numbers]

    def expected(self, name: str, kind: pa.DataType, style: str) -> pa.Array | None:
        """Return the released cells of a column that follows from others alone; None where its own draw takes part."""
        each = self._derived[name]
        if each.inside or name in parse(each.sql).parts[1].names:
            return None
        result, column = computed(parse(each.sql).parts[1], self._cells, self._table.n_rows), self._columns[name]
        below = 10**each.decimals if column.kind == "numeric" else {"us": DAY}.get(each.unit, 1)
        # halves upwards
        whole = [None if v is None else (2 * v * below + result.below) // (2 * result.below) for v in result.values]
        whole = [
            None if cells_of_row is None else v for v, cells_of_row in zip(whole, self._cells[name].values, strict=True)
        ]
        distinct = sorted({v for v in whole if v is not None})
        values = tuple(v / below if column.kind == "numeric" else float(v) for v in distinct)
        record = GuardedColumn(
            name, column.role, column.kind, unit=each.unit, zone=each.zone, values=values, style=style
        )
        place: dict[int | None, int] = {v: i for i, v in enumerate(distinct)} | {None: len(distinct)}
        codes: Ints = np.array([place[v] for v in whole], np.int64)
        return entries_of(record, kind).take(pa.array(codes))
