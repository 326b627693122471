"""Draw columns in a form in which rules hold whatever is drawn, and compute what is released from it.

A total is not drawn but computed from its parts; the end of a stay is drawn as its distance from the beginning; a city
and its land, or flags of which one is set, are drawn as one category.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pyarrow as pa

from ..columns.arrays import is_text, value_type
from ..columns.column import Column
from ..columns.rule_values import RuleCells, cells_of, is_decimal, value, whole_numbers
from ..columns.table import Table
from ..hierarchy import TOP, Hierarchy
from ..kernels import Bools
from ..measures import Ints, group
from ..notation import DAY
from ..plan import DerivedColumn, Guard, GuardedColumn, Plan, Vector
from ..rules import ColumnRule, Expression, parse, sum_of, terms_of
from ..schema import Kind, Schema
from .code import as_column
from .rare import parents_of, rest_of

# the share of the known values of a column whose bound is missing, up to which it is drawn as a distance from that
_UNBOUND = 0.02
# what is drawn of a column that is computed: that it has a value
_KNOWN = "known"


@dataclass
class DrawnForms:
    """The columns that are drawn in another form than they are released in.

    Parameters
    ----------
    derived : list of DerivedColumn
        How they get their own form, in the order in which that is done.
    columns : dict of str to Column
        By name, what is drawn.
    schema : Schema
        Their roles, and the parents of rare lists of values.
    """

    derived: list[DerivedColumn] = field(default_factory=list)
    columns: dict[str, Column] = field(default_factory=dict)
    schema: Schema = field(default_factory=Schema)

    @classmethod
    def from_rules(cls, plan: Plan, table: Table, schema: Schema, names: Sequence[str], people: int) -> DrawnForms:
        """Choose a form for each drawn column that a rule among drawn columns is about."""
        rules = [rule for rule in (each.rule for each in plan.rules) if set(rule.names) <= {*names}]
        forms = cls()
        if not rules:
            return forms
        columns = {name: table.declared_column(schema, name) for rule in rules for name in rule.names}
        quasi, sensitive = ([n for n in columns if schema.role(n) == role] for role in ("quasi", "sensitive"))
        forms.schema = Schema(quasi=quasi, sensitive=sensitive)
        for together in _joint(rules, columns):
            forms._join(together, columns, table, schema, people)
        # a total first, of many parts: what else is said of it then determines one of the others
        for rule in sorted(rules, key=lambda rule: (rule.node is None or rule.node.op != "=", -len(rule.names))):
            if rule.node is not None:
                forms._derive(rule.node, columns, people)
        forms.derived = _in_order(forms.derived)
        return forms

    @property
    def computed(self) -> set[str]:
        """Return the columns of which nothing is drawn but whether they have a value."""
        return {name for name, column in self.columns.items() if list(column.values) == [_KNOWN]}

    @property
    def table(self) -> Table:
        """Return what is drawn as a table."""
        return Table(pa.table({name: _as_array(column) for name, column in self.columns.items()}))

    def _join(
        self, together: Sequence[str], columns: Mapping[str, Column], table: Table, schema: Schema, people: int
    ) -> None:
        """Draw some columns as one category, which lists their values; the first sensitive one has it."""
        head = next((name for name in together if schema.role(name) == "sensitive"), together[0])
        codes = [columns[name].codes for name in together]
        lists_of = group(codes)
        at, parts = lists_of.labels, [each[lists_of.first].tolist() for each in codes]
        entries = [[*_plain_values(columns[name]), None] for name in together]
        lists = [[entry[i] for entry, i in zip(entries, one, strict=True)] for one in zip(*parts, strict=True)]
        texts = [_listed(values) for values in lists]
        order = sorted(range(len(texts)), key=texts.__getitem__)
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self.columns[head] = Column(head, "categorical", "", place[at], [texts[i] for i in order], False)
        first = columns[together[0]]
        has_words = is_text(value_type(table.types.field(first.name).type))
        other = schema.rare.get(first.name) or (rest_of(first.values) if has_words else None)
        nothing = [None] * (len(together) - 1)
        parents: Mapping[str, Sequence[str]] = {}
        if has_words:
            parents = parents_of(first, first.counts()[:-1], schema.hierarchies.get(first.name), people)
        chains = {}
        for text, (value_of_first, *others) in zip(texts, lists, strict=True):
            above = [*parents.get(str(value_of_first), ()), other] if any(x is not None for x in others) else []
            chains[text] = [_listed([each, *others]) for each in above]
        levels = max(map(len, chains.values()))
        paths = {text: (*[text] * (1 + levels - len(chain)), *chain, TOP) for text, chain in chains.items()}
        hierarchies = {**self.schema.hierarchies, head: Hierarchy(paths)}
        rare = {**self.schema.rare, head: _listed([other, *nothing])}
        self.schema = self.schema.replace(hierarchies=hierarchies, rare=rare)
        for i, name in enumerate(together):
            of_name = columns[name]
            self.derived.append(DerivedColumn(name, inside=head, place=i, unit=of_name.unit, zone=of_name.zone))
            if name != head:
                nobody = np.zeros(len(at), np.uint8)
                self.columns[name] = Column(name, "categorical", "", nobody, [_KNOWN], False)

    def _derive(self, node: Expression, columns: Mapping[str, Column], people: int) -> None:
        """Compute a column from others, or draw it as a distance from another, if the condition allows that."""
        ways = _equations(node, columns) if node.op == "=" else _distances(node, columns)
        for name, expression in ways:
            others = [each for each in expression.names if each != name]
            if name in self.columns or any(name in sources(self.derived, other) for other in others):
                continue
            column, cells = columns[name], {n: cells_of(columns[n]) for n in [name, *others]}
            missing = np.any([cells[n].missing for n in others], axis=0)
            sql, decimals = Expression("=", (Expression("column", text=name), expression)).sql, 0
            if name in expression.names:
                one, other = (Expression("column", text=each) for each in (name, others[0]))
                distance = value(Expression("-", (one, other) if expression.op == "+" else (other, one)), cells)
                form = _numbers(name, column.kind, column.unit, distance, cells[name].missing)
            else:
                lacks = cells[name].missing & ~missing
                has_none = bool(np.count_nonzero(lacks) >= people)
                form = Column(name, "categorical", "", (lacks & has_none).astype(np.uint8), [_KNOWN], has_none)
            if column.kind == "numeric":
                decimals = len(str(whole_numbers(column)[1].denominator)) - 1
            self.columns[name] = form
            self.derived.append(DerivedColumn(name, sql, decimals=decimals, unit=column.unit, zone=column.zone))
            return


def sources(derived: Iterable[DerivedColumn], name: str) -> set[str]:
    """Return the drawn columns that a column is computed from, itself among them."""
    of_name = next((each for each in derived if each.name == name), None)
    if of_name is None:
        return {name}
    if of_name.inside:
        return {name, of_name.inside}
    return {name}.union(*(sources(derived, other) for other in of_name.reads))


def _joint(rules: Iterable[ColumnRule], columns: Mapping[str, Column]) -> list[list[str]]:
    """Return the columns that are drawn as one category: where one determines others, and flags of which one is set."""
    groups: list[list[str]] = []
    for rule in rules:
        names = list(rule.names)
        if rule.node is not None:
            terms, total = sum_of(rule.node)
            is_one = total == "1" and all({*_plain_values(columns[name])} <= {0, 1} for name in terms)
            are_same = rule.node.op == "=" and len(names) == 2 and not any(columns[name].is_number for name in names)
            if not (is_one or are_same):
                continue
        for each in [each for each in groups if not set(each).isdisjoint(names)]:
            groups.remove(each)
            names = list(dict.fromkeys([*each, *names]))
        groups.append(names)
    return groups


def _equations(node: Expression, columns: Mapping[str, Column]) -> list[tuple[str, Expression]]:
    """Return the columns that an equation determines, each with what it equals, the best first."""
    if len(node.names) < 2 or not all(is_decimal(columns[name]) for name in node.names):
        return []
    one, two = node.parts
    ways = [(a.text, b) for a, b in ((one, two), (two, one)) if a.op == "column" and a.text not in b.names]
    for name, difference in list(ways):
        parts = difference.parts
        if difference.op == "-" and all(part.op == "column" for part in parts) and parts[0].text != parts[1].text:
            # y = b - a as b = a + y: y, which may never be below 0, is drawn as it is
            end, begin = parts
            cells = {n: cells_of(columns[n]) for n in (name, end.text, begin.text)}
            total = value(Expression("+", (begin, Expression("column", text=name))), cells)
            exact = value(Expression("-", (end, Expression("column", text=name))), cells)
            present = ~(total.missing | cells[end.text].missing)
            is_same = (exact.numbers(exact.unit) == cells[begin.text].numbers(exact.unit))[present].all()
            if is_same and _spread(cells[name]) <= _spread(cells[end.text]):
                ways.insert(0, (end.text, Expression("+", (begin, Expression("column", text=name)))))
    terms, total_text = sum_of(node)
    whole = Expression("number", text=total_text)
    if not terms and one.op == "column":  # of a total that follows from something else already
        terms, whole = [part.text for part in terms_of(two) if part.op == "column"], one
        terms = terms if len(terms) == len(list(terms_of(two))) and one.text not in terms else []
    # the part whose commonest value fewest people have is what the others leave
    for name in sorted(terms, key=lambda name: columns[name].counts()[:-1].max(initial=0)):
        rest = whole
        for other in terms:
            if other != name:
                rest = Expression("-", (rest, Expression("column", text=other)))
        ways.append((name, rest))
    return ways


def _distances(node: Expression, columns: Mapping[str, Column]) -> list[tuple[str, Expression]]:
    """Return a column of an order with its distance from the other one, if that varies less than the column itself."""
    if node.op not in ("<", "<=", ">", ">=") or any(part.op != "column" for part in node.parts):
        return []
    low, high = node.parts if node.op in ("<", "<=") else node.parts[::-1]
    one, two = columns[low.text], columns[high.text]
    if (
        one.kind != two.kind
        or one.unit != two.unit
        or low.text == high.text
        or not (is_decimal(one) and is_decimal(two))
    ):
        return []
    cells = {each.name: cells_of(each) for each in (one, two)}
    distance = value(Expression("-", (high, low)), cells)
    ways = [(high.text, Expression("+", (low, high))), (low.text, Expression("-", (high, low)))]
    near = []
    for name, expression in ways:
        unbound = np.count_nonzero(distance.missing & ~cells[name].missing)
        present = np.count_nonzero(~cells[name].missing)
        if unbound <= _UNBOUND * present and _spread(distance) <= _spread(cells[name]):
            near.append((name, expression))
    return near


def _spread(cells: RuleCells) -> float:
    """Return the standard deviation of the known cells."""
    present = np.asarray(cells.values[~cells.missing], np.float64) * float(cells.unit)
    return float(present.std()) if len(present) else 0.0


def _in_order(derived: Sequence[DerivedColumn]) -> list[DerivedColumn]:
    """Return the columns in an order in which each is computed after what it is computed from."""
    waiting, done = list(derived), list[DerivedColumn]()
    while waiting:
        names = {each.name for each in waiting}
        ready = [each for each in waiting if names.isdisjoint(each.reads)]
        done += ready
        waiting = [each for each in waiting if each not in ready]
    return done


def _numbers(name: str, kind: Kind, unit: str, cells: RuleCells, missing: Bools) -> Column:
    """Return numbers, or dates of a unit, as a column: missing where they are, and where `missing` says so."""
    scale = cells.unit * (DAY if unit == "us" else 1)
    numbers = np.asarray(cells.values, np.float64) * scale.numerator / scale.denominator
    values, codes = np.unique(np.where(missing | cells.missing, np.nan, numbers), return_inverse=True)
    n = len(values) - bool(np.isnan(values[-1:]).any())
    return Column(name, kind, unit, codes.reshape(-1), values[:n], n < len(values))


def _rounded(cells: RuleCells, unit: Fraction) -> RuleCells:
    """Return numbers as multiples of a unit, halves upwards."""
    parts = cells.unit / unit
    if parts.denominator == 1:
        return cells
    return RuleCells(
        (2 * cells.values * parts.numerator + parts.denominator) // (2 * parts.denominator), unit, cells.missing
    )


def _plain_values(column: Column) -> list[Any]:
    """Return the values of a column as JSON has them."""
    if column.is_number:
        return [int(v) if v == int(v) else v for v in np.asarray(column.values, np.float64).tolist()]
    return list(map(str, column.values))


def _listed(values: Sequence[Any]) -> str:
    return json.dumps(values, ensure_ascii=False)


def _as_array(column: Column) -> pa.Array:
    """Return a column as an Arrow array."""
    codes = column.codes.astype(np.int32)
    if column.kind == "categorical":
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes == column.n_values), pa.array(column.values))
    values = pa.array(column.numbers, from_pandas=True)
    if column.kind == "date":
        whole = values.cast(pa.int64())
        return whole.cast(pa.int32()).cast(pa.date32()) if column.unit == "day" else whole.cast(pa.timestamp("us"))
    return values


def in_own_form(
    plan: Plan, guard: Guard, columns: Sequence[GuardedColumn], codes: Mapping[str, Ints]
) -> tuple[list[GuardedColumn], dict[str, Ints]]:
    """Return columns and their codes as they are released, computed from what was drawn where they follow from that.

    Parameters
    ----------
    plan : Plan
    guard : Guard
    columns : sequence of GuardedColumn
        All of the guard, with the values that are drawn of each.
    codes : mapping of str to int64 array of shape (n_rows,)
    """
    form, of_plan = {c.name: c for c in columns}, {c.name: c for c in plan.columns}
    records, released = dict(form), dict(codes)
    for each in guard.derived:
        column = of_plan[each.name]
        if each.inside:
            lists = form[each.inside].values
            entries = [None if text is None else json.loads(str(text))[each.place] for text in lists]
            values = sorted({entry for entry in entries if entry is not None})
            place = {entry: i for i, entry in enumerate(values)} | {None: len(values)}
            of_code = np.array([*(place[entry] for entry in entries), len(values)], np.int64)
            released[each.name] = of_code[codes[each.inside]]
        else:
            expression, names = parse(each.sql).parts[1], {each.name: form[each.name]}
            names = {name: names.get(name, records[name]) for name in expression.names}
            codes_of = {name: codes[name] if name == each.name else released[name] for name in names}
            computed = value(expression, {n: cells_of(as_column(record, codes_of[n])) for n, record in names.items()})
            if column.kind == "numeric":
                computed = _rounded(computed, Fraction(1, 10**each.decimals))
            is_missing = codes[each.name] >= form[each.name].n_values
            result = _numbers(each.name, cast(Kind, column.kind), each.unit, computed, is_missing)
            values, released[each.name] = result.values.tolist(), np.asarray(result.codes, np.int64)
        if column.kind in ("numeric", "date"):
            values = list(map(float, values))
        records[each.name] = GuardedColumn(
            column.name, column.role, column.kind, unit=each.unit, zone=each.zone, events=column.events,
            order=tuple(dict.fromkeys((*column.order, *values))) if column.kind == "ordinal" else (),
            declared=column.declared, values=tuple(values), style=form[each.name].style,
            steps=Vector("d", [10.0**-each.decimals] if column.kind == "numeric" else ()),
        )  # fmt: skip
    return list(records.values()), released
