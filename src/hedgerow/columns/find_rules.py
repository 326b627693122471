"""Find the rules between columns that a table obeys: orders, sums, products, dependences and conditions.

Candidates are looked for in one half of a sample. The other half, in which each column is also paired with other
records, says whether a candidate holds by chance, and at last all records are counted.
"""

from __future__ import annotations

import math
import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..kernels import Bools, Floats, Ints
from ..notation import DAY, number
from ..rules import Node, Rule, parse
from ..schema import Schema
from ..texts import quoted
from .column import Column
from .roles import CODES, LONG, attacked_as, longest_text, tokens, unaccented
from .rule_values import broken, whole_numbers
from .table import Table

# records that are counted: of larger tables every so many
_COUNTED = 5_000_000
# records that are sampled, and those of them in which sums and products are looked for
_SAMPLED, _SEARCHED = 16_000, 128
# columns of wide tables that are looked at together, each of them twice, so that time grows with the columns
_WIDEST = 60
# records at least in which a rule says something, and that have a category which a rule names
_FEWEST = 50
# the largest share of records that break a rule, and the least that would, if the columns were independent
_TOLERATED, _BY_CHANCE = 0.005, 0.02
# how many records would break a rule then at least, and how many times those that do
_EXPECTED, _TIMES = 20, 50
# the share of searched records in which a sum must be right, and how many of them must not be zero
_RIGHT, _INFORMATIVE = 0.95, 10
# the most parts of a sum that somebody still reads
_MOST_PARTS = 12
# how many of the records that would differ by chance may, where a column seems to determine another
_FEW = 0.1
# records for each value of a column that determines another, on average, and its values if these are whole numbers
_SHARED, _MOST_VALUES = 5, 100
# categories of a column in conditions, and of those that a condition names, at most
_MOST_CATEGORIES, _MOST_NAMED = 20, 3
# beyond a bound, so large a part of the records shows at least so much of what does not occur below it
_BEYOND, _EDGE = 0.05, 0.25
# last words of names that have one unit, and of those that are ends of one thing
_UNITS = ({"age", "experience", "seniority", "tenure"}, {"income", "tax", "wage", "salary", "pay", "rent"})
_ENDS = {
    *(
        "min",
        "max",
        "low",
        "high",
        "lo",
        "hi",
        "lower",
        "upper",
        "start",
        "end",
        "begin",
        "from",
        "to",
        "first",
        "last",
    ),
    *("before", "after", "net", "gross", "entry", "exit"),
}

Columns = Mapping[str, Column]


@dataclass(frozen=True)
class FoundRule:
    """A rule that a table obeys, for a person to confirm.

    Parameters
    ----------
    sql : str
        The condition, such as ``discharge >= admit``; empty if one column determines another.
    determines : tuple of str, optional
        A column and the one that it determines, such as ``("city", "land")``.
    words : str
        The rule as a sentence, without a value of fewer than 50 records.
    rows : int
        Records in which it says something, because the values that it compares are known. Of more than five
        million records every so many are counted.
    broken : int
        Records that break it, at most 0.5% of these.
    """

    sql: str
    determines: tuple[str, str] | None
    words: str
    rows: int
    broken: int

    @property
    def rule(self) -> Rule:
        """Return the rule, parsed."""
        return Rule(parse(self.sql) if self.sql else None, self.determines or ())

    @property
    def option(self) -> str:
        """Return the option that declares the rule; empty where records break what no option tolerates."""
        if self.determines is not None:
            return "" if self.broken else "--determines " + shlex.quote("=".join(map(quoted, self.determines)))
        is_plain = "'" in self.sql and not set('"$`\\!') & {*self.sql}  # double quotes read better then
        option = "--tolerated" if self.broken else "--rule"
        return f'{option} "{self.sql}"' if is_plain else f"{option} {shlex.quote(self.sql)}"


class _Candidate(NamedTuple):
    """A rule to be tried, its sentence, and the columns whose values it compares."""

    rule: Rule
    words: str
    known: tuple[str, ...]


def find_rules(table: Table, schema: Schema = Schema()) -> list[FoundRule]:
    """Find the rules that hold in a table, or in all but 0.5% of its records.

    Orders of dates and of numbers of one scale (chains as neighbours), differences, sums, products, shares of a
    constant, flags of which one is set, columns that determine others, and conditions of missing values, of one
    category or of a round bound.

    Parameters
    ----------
    table : Table
    schema : Schema, optional
        Identifiers, the household and the weight are left out; kinds say what is a number.

    Returns
    -------
    list of FoundRule
        The same for every order of the records. Empty for a table whose rows are on other machines.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rent, food = [i * 7 % 90 for i in range(300)], [i * 11 % 60 for i in range(300)]
    >>> people = pa.table({"rent": rent, "food": food, "total": [a + b for a, b in zip(rent, food)]})
    >>> [rule.sql for rule in find_rules(Table(people))]
    ['total = rent + food']
    """
    columns = _columns(table, schema)
    if not columns:
        return []
    rows = _sample(list(columns.values()))
    halves = [{n: _taken(c, half) for n, c in columns.items()} for half in (rows[::2], rows[1::2])]
    rules: dict[Rule, FoundRule] = {}
    for begin in range(0, max(1, len(columns) - _WIDEST // 2), _WIDEST // 2):
        names = list(columns)[begin : begin + _WIDEST]
        rules |= _among_neighbours(*({name: each[name] for name in names} for each in (*halves, columns)))
    return list(rules.values())


def _among_neighbours(first: Columns, second: Columns, columns: Columns) -> dict[Rule, FoundRule]:
    """Return the rules between some columns, from the two halves of the sample and from all records."""

    def confirmed(candidates: Iterable[_Candidate]) -> dict[Rule, FoundRule]:
        tried = {each.rule: _counted(each, columns) for each in candidates if _holds(each, second)}
        return {rule: one for rule, one in tried.items() if one.broken <= _TOLERATED * one.rows >= _TOLERATED * _FEWEST}

    equations = confirmed(_sums(first)) | confirmed(_products(first))
    within = [set(rule.names) for rule in equations]
    orders = confirmed(each for each in _orders(first) if not _follows(each, within, columns))
    pairs = [names for names in within if len(names) == 2]
    dependences = confirmed(each for each in _dependences(first, columns) if set(each.known) not in pairs)
    return {**orders, **equations, **dependences, **confirmed(_conditions(first, columns))}


def _columns(table: Table, schema: Schema) -> dict[str, Column]:
    """Return the columns that rules may be about: none if their rows are not on this machine."""
    ignored = {*schema.identifiers, schema.person, schema.household, schema.weight}
    columns = {}
    for name in table.names:
        if name in ignored or pa.types.is_nested(table.types.field(name).type):
            continue
        column = table.declared_column(schema, name)
        if not isinstance(column.codes, np.ndarray):
            return {}
        if column.n_values + column.has_missing > 1 and not column.infinite and longest_text(column) <= LONG:
            columns[name] = column
    step = -(-table.n_rows // _COUNTED)
    return {n: c if step == 1 else replace(c, codes=c.codes[::step]) for n, c in columns.items()}


def _sample(columns: Sequence[Column]) -> Ints:
    """Return some rows, drawn by what the rows hold, so that another order of them changes nothing."""
    n, draws = len(columns[0].codes), np.random.default_rng(0)
    factors = draws.integers(1 << 62, size=len(columns)).astype(np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = np.zeros(n, np.uint64)
    for column, factor in zip(columns, factors, strict=True):
        hashes += column.codes.astype(np.uint64) * factor
    places = np.linspace(0, n - 1, min(n, _SAMPLED)).astype(np.int64)
    return np.argsort(hashes, kind="stable")[draws.permutation(places)]


def _taken(column: Column, rows: Ints) -> Column:
    """Return a column of some rows, with their values alone."""
    used, codes = np.unique(column.codes[rows], return_inverse=True)
    present = used[used < column.n_values].tolist()
    return replace(
        column,
        codes=codes.reshape(-1),
        values=column.values[present] if column.is_number else [column.values[i] for i in present],
        exact=tuple(column.exact[i] for i in present) if column.exact else (),
        has_missing=len(present) < len(used),
    )


def _known(each: _Candidate, columns: Columns) -> Bools:
    """Return in which records the values that a rule compares are known."""
    return np.all([_is_known(columns[name]) for name in each.known], axis=0)


def _is_known(column: Column) -> Bools:
    return column.codes < column.n_values


def _holds(each: _Candidate, half: Columns) -> bool:
    """Return whether far fewer records break a rule than would, if one of its columns were of other records."""
    known = _known(each, half)
    cells = {name: replace(half[name], codes=half[name].codes[known]) for name in each.rule.names}
    by_chance = []
    for name, column in cells.items():
        anew = replace(column, codes=np.roll(column.codes, len(column.codes) // 2))
        by_chance.append(np.count_nonzero(broken(each.rule, {**cells, name: anew})))
    expected = min(by_chance)
    is_equation = each.rule.node is not None and each.rule.node.op == "="  # in which rare parts say enough
    would_break = expected >= max(_EXPECTED, 0 if is_equation else _BY_CHANCE * np.count_nonzero(known))
    return bool(would_break and _TIMES * np.count_nonzero(broken(each.rule, cells)) <= expected)


def _counted(each: _Candidate, columns: Columns) -> FoundRule:
    """Count the records that break a rule."""
    pair = (each.rule.determines[0], each.rule.determines[1]) if each.rule.determines else None
    off = int(np.count_nonzero(broken(each.rule, columns)))
    return FoundRule("" if pair else str(each.rule), pair, each.words, int(_known(each, columns).sum()), off)


def _candidate(node: Node, words: str, known: Sequence[str] = ()) -> _Candidate:
    return _Candidate(Rule(node), words, tuple(known or node.names))


def _moments(column: Column) -> Floats:
    """Return the numbers of each row, of dates the days."""
    return column.numbers / (DAY if column.unit == "us" else 1)


def _column(name: str) -> Node:
    return Node("column", text=name)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# Orders


def _orders(half: Columns) -> Iterator[_Candidate]:
    """Yield which number or date is never above another; of a chain the neighbours."""
    numbers = {n: _moments(c) for n, c in half.items() if c.is_number and c.n_values > 1}
    below = {(a, b) for a, b in permutations(numbers, 2) if _is_below(numbers[a], numbers[b], half[a], half[b])}
    for low, high in sorted(below, key=lambda pair: [*map(list(numbers).index, pair)]):
        if not any((low, between) in below and (between, high) in below for between in numbers):
            words = "before" if half[low].kind == "date" else "below"
            yield _candidate(Node(">=", (_column(high), _column(low))), f"{high} is never {words} {low}")


def _is_below(low: Floats, high: Floats, one: Column, other: Column) -> bool:
    """Return whether numbers are below others in the same record, not by their scale, and can be compared."""
    if (one.kind, one.zone) != (other.kind, other.zone):
        return False
    gap, anew = high - low, np.roll(high, len(high) // 2) - low
    known = np.count_nonzero(~np.isnan(gap))
    if np.count_nonzero(gap < 0) > _TOLERATED * known or np.count_nonzero(gap > 0) <= _BY_CHANCE * known:
        return False
    if np.count_nonzero(anew < 0) <= _BY_CHANCE * known:
        return False
    equal, by_chance = (np.count_nonzero((each == 0) & (low != 0)) for each in (gap, anew))
    is_equal = equal > max(_TOLERATED * known, 5 * by_chance)
    return one.kind == "date" or bool(is_equal) or _have_one_scale(one.name, other.name)


def _have_one_scale(one: str, other: str) -> bool:
    """Return whether the names of two columns say that their numbers have one unit.

    Examples
    --------
    >>> _have_one_scale("net_wage", "grossWage"), _have_one_scale("price_min", "price_max")
    (True, True)
    >>> _have_one_scale("RESREVENUE", "TOTREVENUE"), _have_one_scale("res_revenue", "res_sales")
    (True, False)
    """
    spaced = (unaccented(re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)) for name in (one, other))
    a, b = (re.findall("[a-z]+", name) or [name] for name in spaced)
    if a[-1] == b[-1] or {*a} <= {*b} or {*b} <= {*a}:
        return True
    if any({a[-1], b[-1]} <= unit for unit in _UNITS):
        return True
    ends = {a[-1], b[-1]} <= _ENDS and a[:-1] == b[:-1]
    return ends or ("".join(a)[-4:] == "".join(b)[-4:] and len(a[-1]) > 3 < len(b[-1]))


def _follows(order: _Candidate, within: Sequence[set[str]], columns: Columns) -> bool:
    """Return whether an order of numbers says no more than a sum or a product of both."""
    return columns[order.known[0]].kind != "date" and any({*order.known} <= names for names in within)


# Sums and products


class _Searched(NamedTuple):
    """Numbers of some records, in which sums and products are looked for.

    Parameters
    ----------
    names : list of str
        Columns in table order.
    cells : float64 array of shape (rows, columns)
        Their values, NaN if missing; of dates the days.
    is_date : bool array of shape (columns,)
    """

    names: list[str]
    cells: Floats
    is_date: Bools


class _Sum(NamedTuple):
    """Columns that add up to another one, or to a constant, and the records of the search in which they do not."""

    misses: int
    parts: tuple[int, ...]
    target: int | None
    constant: float = 0.0


def _searched(half: Columns) -> _Searched:
    names = [n for n, c in half.items() if c.is_number and c.unit != "us" and c.n_values > 1]
    cells = np.array([half[n].numbers[:_SEARCHED] for n in names], np.float64)
    is_date = np.array([half[n].kind == "date" for n in names], bool)
    return _Searched(names, cells.reshape(len(names), -1 if names else 0).T, is_date)


def _varies(column: Column) -> bool:
    """Return whether so many values differ from the commonest one that a rule about them can say something."""
    counts = column.counts()[:-1]
    return bool(counts.max(initial=0) <= (1 - _BY_CHANCE / 2) * counts.sum()) and column.n_values > 1


def _fits(computed: Floats, cells: Floats, within: Floats | float = 0.0) -> tuple[Bools, Ints]:
    """Return which computed numbers are those of a column, and in how many rows they are not.

    Parameters
    ----------
    computed : array of shape (rows, k)
    cells : array of shape (rows, columns)
    within : array of shape (columns,), optional
        By how much they may differ.

    Returns
    -------
    fits : bool array of shape (k, columns)
    misses : int64 array of shape (k, columns)
    """
    one, other = computed[:, :, None], cells[:, None, :]
    gap = np.abs(one - other)
    informs = ~np.isnan(gap) & ((one != 0) | (other != 0))
    tries = informs.sum(axis=0)
    hits = (informs & (gap <= within + 1e-9 * np.abs(other) + 1e-9)).sum(axis=0)
    return (tries >= _INFORMATIVE) & (hits >= _RIGHT * tries), tries - hits


def _triples(cells: Floats, combine: Any, within: Floats | float = 0.0) -> Iterator[_Sum]:
    """Yield each two columns whose sum or product is a third one."""
    for a in range(cells.shape[1] - 1):
        fits, misses = _fits(combine(cells[:, [a]], cells[:, a + 1 :]), cells, within)
        for b, target in np.argwhere(fits).tolist():
            if target not in (a, a + 1 + b):
                yield _Sum(int(misses[b, target]), (a, a + 1 + b), target)


def _sums(half: Columns) -> Iterator[_Candidate]:
    """Yield sums, differences and constant sums, none of which follows from those before it."""
    searched = _searched(half)
    names, cells, is_date = searched
    fits, misses = _fits(cells, cells)
    equal = [_Sum(int(misses[a, b]), (a,), b) for a, b in np.argwhere(np.triu(fits, 1)).tolist()]
    every = [*equal, *_triples(cells, np.add), *_runs(searched)]
    basis = np.zeros((0, len(names) + 1))
    for each in sorted(every, key=lambda one: (one.misses, len(one.parts), one.parts, one.target or 0)):
        total = is_date[[each.target]].sum() if each.target is not None else 0
        vector = np.zeros(len(names) + 1)
        vector[[*each.parts]], vector[-1] = 1, -each.constant
        vector[each.target if each.target is not None else -1] -= each.target is not None
        rest = vector - basis.T @ (basis @ vector)
        if is_date[[*each.parts]].sum() == total and np.linalg.norm(rest) > 1e-9 * np.linalg.norm(vector):
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            yield _sum(each, names, half)


def _sequences(searched: _Searched) -> Iterator[list[int]]:
    """Yield the columns of numbers, and those of them whose names begin or end alike; by position in the table."""
    places = np.flatnonzero(~searched.is_date).tolist()
    alike: dict[tuple[bool, str], list[int]] = defaultdict(list)
    for place in places:
        name = searched.names[place].lower()
        for size in range(2, len(name)):
            alike[True, name[:size]].append(place)
            alike[False, name[-size:]].append(place)
    every = [places, *(each for each in alike.values() if len(each) > 2)]
    yield from map(list, dict.fromkeys(map(tuple, every)))


def _runs(searched: _Searched) -> Iterator[_Sum]:
    """Yield the runs of columns whose sum is another column or constant."""
    cells = searched.cells
    for sequence in _sequences(searched):
        rest = [t for t in range(cells.shape[1]) if t not in sequence and not searched.is_date[t]]
        yield from _totals(cells, sequence, rest)
        for target in sequence:
            yield from _totals(cells, [place for place in sequence if place != target], [target])
        yield from _constants(cells, sequence)


def _added(cells: Floats, sequence: Sequence[int]) -> tuple[Floats, list[tuple[int, ...]]]:
    """Return the sums of all runs of two columns or more of a sequence, and the columns of each."""
    chosen = cells[:, sequence]
    sums, missing = (
        np.pad(np.cumsum(each, axis=1), ((0, 0), (1, 0))) for each in (np.nan_to_num(chosen), np.isnan(chosen))
    )
    begin, end = np.triu_indices(len(sequence) + 1, 2)
    begin, end = (each[end - begin <= _MOST_PARTS] for each in (begin, end))
    totals = np.where(missing[:, end] > missing[:, begin], np.nan, sums[:, end] - sums[:, begin])
    return totals, [tuple(sequence[i:j]) for i, j in zip(begin.tolist(), end.tolist(), strict=True)]


def _totals(cells: Floats, sequence: Sequence[int], targets: Sequence[int]) -> Iterator[_Sum]:
    totals, parts = _added(cells, sequence)
    fits, misses = _fits(totals, cells[:, targets])
    for run, at in np.argwhere(fits).tolist():
        yield _Sum(int(misses[run, at]), parts[run], targets[at])


def _constants(cells: Floats, sequence: Sequence[int]) -> Iterator[_Sum]:
    totals, parts = _added(cells, sequence)
    for run in range(len(parts)):
        known = totals[~np.isnan(totals[:, run]), run]
        constant = float(np.median(known)) if len(known) >= _INFORMATIVE else 0.0
        hits = int(np.count_nonzero(np.abs(known - constant) <= 1e-9 * abs(constant)))
        if constant and hits >= _RIGHT * len(known):
            yield _Sum(len(known) - hits, parts[run], None, round(constant, 9))


def _sum(each: _Sum, columns: Sequence[str], half: Columns) -> _Candidate:
    """Return a sum as a rule: as a difference where days are counted, or where a part is the last column."""
    parts = [columns[i] for i in each.parts]
    total = reduce(lambda a, b: Node("+", (a, b)), map(_column, parts))
    if each.target is None:
        is_flags = each.constant == 1 and all({*half[n].values} == {0.0, 1.0} for n in parts)
        words = (
            f"exactly one of {_listed(parts)} is 1"
            if is_flags
            else f"{_listed(parts)} add up to {number(each.constant)}"
        )
        return _candidate(Node("=", (total, Node("number", text=number(each.constant)))), words)
    target = columns[each.target]
    begin = next((n for n in parts if half[n].kind == "date"), parts[0])
    (length,) = [n for n in parts if n != begin] if len(parts) == 2 else [""]
    is_days = half[target].kind == "date"
    is_last = each.target > each.parts[-1] or "tot" in target.lower() or "sum" in target.lower()
    if length and (is_days or not is_last):
        words = f"the days from {begin} to {target}" if is_days else f"{target} less {begin}"
        difference = Node("-", (_column(target), _column(begin)))
        return _candidate(Node("=", (_column(length), difference)), f"{length} is {words}")
    words = f"{target} is the sum of {_listed(parts)}" if len(parts) > 1 else f"{target} equals {parts[0]}"
    return _candidate(Node("=", (_column(target), total)), words)


def _products(half: Columns) -> Iterator[_Candidate]:
    """Yield which two numbers have a third one as their product, rounded to its decimals."""
    searched = _searched({n: c for n, c in half.items() if c.kind == "numeric" and {*c.values[:3]} != {0.0, 1.0}})
    names = searched.names
    within = np.array([float(whole_numbers(half[name])[1]) / 2 for name in names])
    for each in _triples(searched.cells, np.multiply, within):
        one, other, target = (names[i] for i in (*each.parts, each.target) if i is not None)
        node = Node("=", (_column(target), Node("*", (_column(one), _column(other)))))
        yield _candidate(node, f"{target} is {one} times {other}")


# Dependences


def _dependences(half: Columns, columns: Columns) -> Iterator[_Candidate]:
    """Yield which columns determine others; of columns that determine each other only the first one's."""
    names = [name for name, column in half.items() if _varies(column)]
    places = range(len(names))
    codes = np.array([half[name].codes for name in names])
    is_known = np.array([_is_known(half[name]) for name in names])
    decides = np.zeros((len(names), len(names)), bool)
    for i in (i for i in places if _may_determine(columns[names[i]])):
        decides[i] = _decided(i, codes, is_known)
    leader = [next((j for j in range(i) if decides[i, j] and decides[j, i]), i) for i in places]
    leaders = [i for i in places if leader[i] == i]
    for one, other in permutations(places, 2):
        if leader[one] != one or not decides[one, other]:
            continue
        between = any(decides[one, i] and decides[i, other] for i in leaders if i not in (one, other))
        if leader[other] == one or (leader[other] == other and not between):
            yield _Candidate(
                Rule(determines=(names[one], names[other])),
                f"{names[one]} determines {names[other]}",
                (names[one], names[other]),
            )


def _decided(place: int, codes: Ints, is_known: Bools) -> Bools:
    """Return which columns have the same value wherever one column has, and no more values; shape (columns,).

    Parameters
    ----------
    place : int
        That column.
    codes : int64 array of shape (columns, rows)
    is_known : bool array of the same shape
    """
    first = np.zeros(int(codes[place].max()) + 1, np.int64)
    first[codes[place, ::-1]] = np.arange(codes.shape[1])[::-1]
    model = first[codes[place]]
    is_pair = is_known & is_known[:, model] & is_known[place] & (model != np.arange(len(model)))
    tries, misses = (each.sum(axis=1) for each in (is_pair, is_pair & (codes != codes[:, model])))
    by_chance = (is_known & (codes != np.roll(codes, codes.shape[1] // 2, axis=1))).mean(axis=1)
    n_values = np.where(is_known, codes, 0).max(axis=1)
    # a category that nearly all records have is nearly always the same
    decided: Bools = (tries >= _INFORMATIVE) & (misses <= _FEW * by_chance * tries) & (n_values <= n_values[place])
    decided[place] = False
    return decided


def _may_determine(column: Column) -> bool:
    """Return whether a column has categories or codes that several records share."""
    counts = column.counts()[:-1]
    if _SHARED * column.n_values > counts.sum() or column.kind == "date":
        return False
    is_code = column.n_values <= _MOST_VALUES or tokens(column.name) & CODES
    return not column.is_number or bool(is_code and whole_numbers(column)[1] == 1)


# Conditions


def _conditions(half: Columns, columns: Columns) -> Iterator[_Candidate]:
    """Yield where values must be missing or known, and below which bound there is one category only."""
    named = {name: column for name, column in half.items() if _is_category(column)}
    explained = set()
    for name in (n for n, column in half.items() if column.has_missing and column.n_values):
        for is_null in (True, False):
            if each := _of_missing(name, is_null, named, half, columns):
                explained |= {name} if is_null else set()
                yield each
    numbers = {n: c for n, c in half.items() if c.kind == "numeric" and c.n_values > _MOST_CATEGORIES}
    ascending = {n: np.argsort(c.codes, kind="stable")[: c.counts()[:-1].sum()] for n, c in numbers.items()}
    for name, column in half.items():
        is_missing = column.codes == column.n_values
        if name in named and (bound := _bound(name, np.where(is_missing, -1, column.codes), half, ascending)):
            value = column.values[bound.state]
            few = _named_only(column, np.arange(column.n_values) == bound.state, columns[name])
            others = columns[name].codes != list(columns[name].values).index(value)
            if few and few.is_among:
                yield bound.candidate(few.node, few.words, others & _is_known(columns[name]), columns)
        if (
            name not in explained
            and column.has_missing
            and (bound := _bound(name, is_missing + 0, half, ascending))
            and bound.state
        ):
            yield bound.candidate(_null(name, True), f"{name} is missing", _is_known(columns[name]), columns)


def _is_category(column: Column) -> bool:
    return 1 < column.n_values <= _MOST_CATEGORIES and attacked_as(column, Schema()) == "category"


def _null(name: str, is_null: bool) -> Node:
    node = Node("is null", (_column(name),))
    return node if is_null else Node("not", (node,))


def _of_missing(name: str, is_null: bool, named: Columns, half: Columns, columns: Columns) -> _Candidate | None:
    """Return the condition of the column that best says where another one is missing, or where it is known."""
    is_missing = half[name].codes == half[name].n_values
    breaks = ~is_missing if is_null else is_missing
    best, most = None, 0
    for other in (n for n in named if n != name):
        counts = named[other].counts()[:-1]
        with_it = np.bincount(named[other].codes[breaks], minlength=len(counts) + 1)[:-1]
        allowed = with_it > _TOLERATED * counts
        says = int(counts[~allowed].sum() * with_it.sum())
        if says > most and (few := _named_only(named[other], allowed, columns[other])):
            best, most = (other, few), says
    if best is None:
        return None
    other, few = best
    words = f"{name} is {'missing' if is_null else 'known'} {'unless' if few.is_among else 'where'} {few.words}"
    return _candidate(Node("or", (few.node, _null(name, is_null))), words, [other])


class _Few(NamedTuple):
    """The condition that a column has, or has not, one of few categories, and these in words."""

    node: Node
    is_among: bool
    words: str


def _named_only(column: Column, allowed: Bools, every: Column) -> _Few | None:
    """Return the condition that a category is allowed, if few categories, which many records have, say so."""
    counts = dict(zip(map(str, every.values), every.counts().tolist(), strict=False))
    for is_among in sorted((True, False), key=lambda among: np.count_nonzero(allowed == among)):
        few = [column.values[i] for i in np.flatnonzero(allowed == is_among)]
        if 0 < len(few) <= _MOST_NAMED and all(counts[str(value)] >= _FEWEST for value in few):
            texts = [number(value) if column.is_number else str(value) for value in few]
            literals = [Node("number" if column.is_number else "text", text=text) for text in texts]
            op = "in" if len(few) > 1 else "=" if is_among else "<>"
            node = Node(op, (_column(column.name), *literals))
            node = node if is_among or op != "in" else Node("not", (node,))
            return _Few(node, is_among, f"{column.name} is {' or '.join(texts)}")
    return None


class _Bound(NamedTuple):
    """A bound of a number below which a column has one state only, and the records below it."""

    n_below: int
    name: str
    bound: float
    state: int

    def candidate(self, node: Node, words: str, others: Bools, columns: Columns) -> _Candidate:
        """Return the rule that a condition holds below the bound, at most what `others` of all records have."""
        column = columns[self.name]
        lowest = column.values[column.codes[others & _is_known(column)].min(initial=column.n_values - 1)]
        bound = number(min(self.bound, _round_below(float(lowest))))
        above = Node(">=", (_column(self.name), Node("number", text=bound)))
        known = [self.name] if node.op == "is null" else [self.name, *node.names]
        return _candidate(Node("or", (above, node)), f"{words} where {self.name} is below {bound}", known)


def _bound(name: str, states: Ints, half: Columns, ascending: Mapping[str, Ints]) -> _Bound | None:
    """Return the bound of a number below which all records have one state, if others begin right above it.

    States that are not known are below 0; `ascending` has the rows of each number, sorted by it.
    """
    best: _Bound | None = None
    for other, ranked in ascending.items():
        column, at = half[other], ranked[states[ranked] >= 0]
        if other == name or not len(at):
            continue
        differs = states[at] != states[at[:1]]
        first = int(differs.argmax()) if differs.any() else 0
        bound = _round_below(float(column.values[column.codes[at[first]]])) if first else 0.0
        n_below = int(np.count_nonzero(column.numbers[at] < bound))
        near = differs[first : first + max(_FEWEST, int(_BEYOND * len(at)))]
        if n_below > (best.n_below if best else 0) and near.mean() >= _EDGE * differs[first:].mean():
            best = _Bound(n_below, other, bound, int(states[at[0]]))
    return best


def _round_below(value: float) -> float:
    """Return the next number of two digits below a positive number; 0 for others.

    Examples
    --------
    >>> _round_below(17.9), _round_below(1234.0), _round_below(-3.0)
    (17.0, 1200.0, 0.0)
    """
    if value <= 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / step * (1 + 1e-12)) * step:.12g}")
