"""Evaluate rules between columns in exact numbers: whole ones of a column's last decimal, and of dates the days."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Bools
from ..notation import DAY
from ..rules import ColumnRule, Expression, day_of
from .column import Column

_COMPARED = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# the unit of texts
TEXT = Fraction(0)
# decimals that numbers are read to, at most
_DECIMALS = 9
# in which rows a condition is true, and in which it is false: neither where a value is missing
Truth = tuple[Bools, Bools]


def broken(rule: ColumnRule, columns: Mapping[str, Column]) -> Bools:
    """Return which records break a rule; shape (n_rows,).

    Where a column determines another, these are the records without the value that most records with theirs have.
    """
    if rule.node is not None:
        n_rows = len(columns[rule.names[0]].codes)
        return np.broadcast_to(truth(rule.node, {name: cells_of(columns[name]) for name in rule.names})[1], n_rows)
    one, two = (columns[name] for name in rule.determines)
    width = two.n_values + 1
    codes = one.codes.astype(np.int64) * width + two.codes
    pairs, at, counts = np.unique(codes, return_inverse=True, return_counts=True)
    is_known = (pairs // width < one.n_values) & (pairs % width < two.n_values)
    order = np.lexsort((-counts, ~is_known, pairs // width))
    commonest = order[np.flatnonzero(np.diff(pairs[order] // width, prepend=-1))]
    is_other = is_known.copy()
    is_other[commonest] = False
    return is_other[at.reshape(-1)]


@dataclass(frozen=True)
class RuleCells:
    """Values of rows.

    Parameters
    ----------
    values : array of shape (n_rows,) or (1,)
        Whole numbers, or texts.
    unit : Fraction
        What the whole numbers are multiples of; 0 for texts. Dates count days.
    missing : bool array of the same shape
    """

    values: Any
    unit: Fraction
    missing: Bools

    def numbers(self, unit: Fraction) -> Any:
        """Return the whole numbers of another unit that divides the own one."""
        return _times(self.values, int(self.unit / unit))


def cells_of(column: Column) -> RuleCells:
    """Return the cells of a column as a rule reads them."""
    codes, n = column.codes, len(column.values)
    if column.kind not in ("numeric", "date"):
        texts = np.empty(n + 1, object)
        texts[:] = [*map(str, column.values), ""]
        return RuleCells(texts[codes], TEXT, codes == n)
    values, unit = whole_numbers(column)
    missing = ~np.isfinite(column.by_code)  # an infinite number obeys no rule
    return RuleCells(np.append(values, values.dtype.type(0))[codes], unit, missing[codes])


def whole_numbers(column: Column) -> tuple[NDArray[Any], Fraction]:
    """Return the distinct values of a column as whole numbers, and their unit: its last decimal, at most the ninth."""
    values = np.asarray(column.values, np.float64)
    if column.kind == "date":
        return np.rint(values).astype(np.int64), Fraction(1, 1 if column.unit == "day" else DAY)
    if len(column.exact):
        decimals = max(0, *(-int(Decimal(v).as_tuple().exponent) for v in column.exact))
        exact = np.array([int(Decimal(v).scaleb(decimals)) for v in column.exact], object)
        return exact, Fraction(1, 10**decimals)
    values = np.where(np.isfinite(values), values, 0.0)
    most = min(_DECIMALS, 17 - len(str(int(np.abs(values).max(initial=0)))))
    for decimals in range(max(most, 0) + 1):
        scaled = np.rint(values * 10.0**decimals)
        if np.array_equal(scaled / 10.0**decimals, values):
            break
    return scaled.astype(np.int64) if np.abs(scaled).max(initial=0) < 2**62 else scaled.astype(object), Fraction(
        1, 10**decimals
    )


def is_decimal(column: Column) -> bool:
    """Return whether a column has numbers or dates alone that are exact in whole numbers of its last decimal."""
    if not column.is_number or column.infinite:
        return False
    values, unit = whole_numbers(column)
    return column.kind == "date" or bool(np.array_equal(values.astype(np.float64) / float(1 / unit), column.values))


def _times(values: Any, factor: int) -> Any:
    """Return whole numbers times another, as Python's own where 64 bits do not hold them."""
    if factor == 1:
        return values
    if values.dtype != object and int(np.abs(values).max(initial=0)) * abs(factor) >= 2**62:
        values = values.astype(object)
    return values * factor


def value(node: Expression, cells: Mapping[str, RuleCells]) -> RuleCells:
    """Return what an expression of columns, literals, + - and * is in each row."""
    present = np.zeros(1, np.bool_)
    if node.op == "column":
        return cells[node.text]
    if node.op == "number":
        number = Fraction(node.text)
        return RuleCells(np.array([number.numerator]), Fraction(1, number.denominator), present)
    if node.op == "date" and (day := day_of(node.text)) is not None:
        return RuleCells(np.array([day.numerator]), Fraction(1, day.denominator), present)
    if not node.parts:
        return RuleCells(np.array([node.text], object), TEXT, present)
    one, two = (value(part, cells) for part in node.parts)
    missing = one.missing | two.missing
    if node.op == "*":
        most = int(np.abs(two.values).max(initial=0))
        a = one.values if int(np.abs(one.values).max(initial=0)) * most < 2**62 else one.values.astype(object)
        return RuleCells(a * two.values, one.unit * two.unit, missing)
    unit = _common(one.unit, two.unit)
    a, b = one.numbers(unit), two.numbers(unit)
    if max(int(np.abs(a).max(initial=0)), int(np.abs(b).max(initial=0))) >= 2**61:
        a = a.astype(object)
    return RuleCells(a + b if node.op == "+" else a - b, unit, missing)


def _common(one: Fraction, two: Fraction) -> Fraction:
    """Return the largest unit that divides two."""
    below = one.denominator * two.denominator
    return Fraction(math.gcd(one.numerator * two.denominator, two.numerator * one.denominator), below)


def truth(node: Expression, cells: Mapping[str, RuleCells]) -> Truth:
    """Return in which rows a condition is true, and in which it is false; where a value is missing, perhaps neither."""
    if node.op in ("and", "or", "not"):
        sides = [truth(part, cells) for part in node.parts]
        if node.op == "not":
            return sides[0][1], sides[0][0]
        (a, not_a), (b, not_b) = sides
        return (a & b, not_a | not_b) if node.op == "and" else (a | b, not_a & not_b)
    if node.op == "is null":
        missing = value(node.parts[0], cells).missing
        return missing, ~missing
    if node.op == "in":
        each = [truth(Expression("=", (node.parts[0], part)), cells) for part in node.parts[1:]]
        return np.any([a for a, _ in each], axis=0), np.all([b for _, b in each], axis=0)
    one, two = (value(part, cells) for part in node.parts)
    present = ~(one.missing | two.missing)
    if one.unit == two.unit == TEXT:
        holds = _COMPARED[node.op](one.values, two.values)
    else:
        one, two = (
            _like(side, other, part) for side, other, part in ((one, two, node.parts[0]), (two, one, node.parts[1]))
        )
        if TEXT in (one.unit, two.unit):  # a number that is compared with categories
            holds = _COMPARED[node.op](one.values.astype(str).astype(object), two.values.astype(str).astype(object))
        else:
            # a column equals what is computed at finer decimals if that rounds to it
            first, second = node.parts
            last = one.unit if first.op == "column" and second.parts else None
            last = two.unit if second.op == "column" and first.parts else last
            holds = _compared(node.op, one, two, last if node.op in ("=", "<>") else None)
    return present & holds, present & ~holds


def _like(side: RuleCells, other: RuleCells, node: Expression) -> RuleCells:
    """Return a literal as what it is compared with: a text as a date, a number as a text."""
    if node.names or (side.unit == TEXT) == (other.unit == TEXT):
        return side
    if side.unit == TEXT:
        day = day_of(node.text) or Fraction(0)
        return RuleCells(np.array([day.numerator]), Fraction(1, day.denominator), side.missing)
    return RuleCells(np.array([node.text], object), TEXT, side.missing)


def _compared(op: str, one: RuleCells, two: RuleCells, last: Fraction | None) -> Any:
    """Compare numbers; those are equal that differ by at most half of a last decimal, if there is one."""
    unit = _common(one.unit, two.unit)
    if last is None or last == unit:
        return _COMPARED[op](one.numbers(unit), two.numbers(unit))
    near = 2 * np.abs(one.numbers(unit) - two.numbers(unit)) <= int(last / unit)
    return near if op == "=" else ~near
