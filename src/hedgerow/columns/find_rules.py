"""Find the rules between columns that a table obeys: orders, sums, products, dependences and conditions.

Candidates are looked for in one half of a sample. The other half, in which each column is also paired with other
records, says whether a candidate holds by chance, and at last all records are counted.
"""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ..errors import SchemaError
from ..kernels import Bools, Floats, Ints
from ..notation import number
from ..rules import ColumnRule, Expression, parse, quoted_name
from ..schema import Schema
from ..texts import quoted
from .column import Column
from .roles import CODES, LONG, attacked_as, longest_text, tokens, unaccented
from .rule_values import broken, whole_numbers
from .table import Table

# records that are sampled, those of them in which sums are looked for, and columns that are looked at together
_SAMPLED, _SEARCHED, _WIDEST = 16_000, 128, 60
# records in which a rule says something, and that have a category which it names, at least
_FEWEST = 50
# the largest share of records that break a rule, and the least that would, if the columns were independent
_TOLERATED, _BY_CHANCE = 0.005, 0.02
# how many records would break a rule then at least, and how many times those that do
_EXPECTED, _TIMES = 20, 50
# the share of searched records in which a sum must be right, of how many, and its parts at most
_RIGHT, _INFORMATIVE, _MOST_PARTS = 0.95, 10, 12
# records of a first glance at a sum, in an eighth of which it may be wrong, and how near doubles of equal numbers are
_GLANCED, _NEAR = 32, 1e-9
# records for each value of a column that determines another, its values if they are whole numbers, and by how much
# fewer records than by chance may differ
_SHARED, _MOST_VALUES, _FEW = 5, 100, 0.1
# categories of a column in conditions, those that a condition names, and the share of values that may then be missing
_MOST_CATEGORIES, _MOST_NAMED, _CLEAR = 20, 3, 0.1
# the records right above a bound, of all and at least, and how much of what does not occur below they have of all above
_ABOVE, _FEWEST_ABOVE, _EDGE = 0.025, 20, 0.25
# last words of names that have one unit, and of those that are ends of one thing
_UNITS = ({"age", "experience", "seniority", "tenure"}, {"income", "tax", "wage", "salary", "pay", "rent"})
_ENDS = set(
    re.findall(
        "[a-z]+",
        """min max low high lo hi lower upper start end begin from to first last before after
    net gross entry exit""",
    )
)

# from that on doubles miss whole numbers
_LARGEST = 2.0**53

Columns = Mapping[str, Column]
# for each proposal the records that miss it, its columns, and the column and factor of what they add up to
_Addition = tuple[int, tuple[int, ...], int, float]


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
    def rule(self) -> ColumnRule:
        """Return the rule, parsed."""
        return ColumnRule(parse(self.sql) if self.sql else None, self.determines or ())

    @property
    def option(self) -> str:
        """Return the option that declares the rule; empty where records break what no option tolerates."""
        if self.determines is not None:
            return "" if self.broken else "--determines " + shlex.quote("=".join(map(quoted, self.determines)))
        is_plain = "'" in self.sql and not set('"$`\\!') & {*self.sql}  # double quotes read better then
        option = "--tolerated" if self.broken else "--rule"
        return f'{option} "{self.sql}"' if is_plain else f"{option} {shlex.quote(self.sql)}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


class _Proposal(NamedTuple):
    """A rule to be tried, its sentence, the columns whose values it compares, and SQL that is tried in its place."""

    sql: str
    words: str
    present: tuple[str, ...]
    determines: tuple[str, str] | None = None
    exact: str = ""

    @property
    def rule(self) -> ColumnRule:
        """Return the rule that is tried."""
        return ColumnRule(determines=self.determines) if self.determines else ColumnRule(parse(self.exact or self.sql))


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
    if not (columns := _columns(table, schema)):
        return []
    rows = _sample(list(columns.values()))
    halves = [{n: _of_rows(c, half) for n, c in columns.items()} for half in (rows[::2], rows[1::2])]
    rules: dict[ColumnRule, FoundRule] = {}
    for begin in range(0, max(1, len(columns) - _WIDEST // 2), _WIDEST // 2):
        names = list(columns)[begin : begin + _WIDEST]
        rules |= _among_neighbours(*({name: each[name] for name in names} for each in (*halves, columns)))
    return list(rules.values())


def _among_neighbours(first: Columns, second: Columns, columns: Columns) -> dict[ColumnRule, FoundRule]:
    """Return the rules between some columns, from the two halves of the sample and from all records."""

    def confirmed(proposals: Iterable[_Proposal], present: Iterable[Iterable[str]] = ()) -> dict[ColumnRule, FoundRule]:
        fresh = {one.rule: one for one in proposals if not any({*one.present} <= {*names} for names in present)}
        counted = {rule: _counted(one, rule, columns) for rule, one in fresh.items() if _holds(one, rule, second)}
        return {r: one for r, one in counted.items() if one.broken <= _TOLERATED * one.rows >= _TOLERATED * _FEWEST}

    equations = confirmed([*_sums(first), *_products(first)])
    is_date = {name: column.kind == "date" for name, column in columns.items()}
    orders = confirmed(_orders(first), [[n for n in rule.names if not is_date[n]] for rule in equations])
    dependences = confirmed(_dependences(first, columns), [rule.names for rule in equations if len(rule.names) == 2])
    return {**orders, **equations, **dependences, **confirmed(_missing(first, columns))}


def _columns(table: Table, schema: Schema) -> dict[str, Column]:
    """Return the columns that rules may be about: none if their rows are not on this machine."""
    ignored = {*schema.identifiers, schema.person, schema.household, schema.weight}
    names = [n for n in table.names if n not in ignored and not pa.types.is_nested(table.types.field(n).type)]
    columns = []
    for name in names:
        with suppress(SchemaError):  # times beyond the calendar
            columns.append(table.declared_column(schema, name))
    if not all(isinstance(column.codes, np.ndarray) for column in columns):
        return {}
    return {c.name: c for c in columns if c.n_values + c.has_missing > 1 and _is_exact(c) and longest_text(c) <= LONG}


def _is_exact(column: Column) -> bool:
    """Return whether a column has no numbers that doubles do not hold to the last whole one."""
    return not (column.exact or (column.is_number and np.abs(column.values).max(initial=0) >= _LARGEST))


def _sample(columns: Sequence[Column]) -> Ints:
    """Return some rows, drawn by what the rows hold, so that another order of them changes nothing."""
    n, draws = len(columns[0].codes), np.random.default_rng(0)
    hashes = np.zeros(n, np.uint64)
    for column in columns:
        hashes += column.codes.astype(np.uint64) * np.uint64(2 * int(draws.integers(1 << 62)) + 1)
    places = np.linspace(0, n - 1, min(n, _SAMPLED)).astype(np.int64)
    return np.argsort(hashes, kind="stable")[draws.permutation(places)]


def _of_rows(column: Column, rows: Ints) -> Column:
    """Return a column of some rows, with their values alone."""
    used, codes = np.unique(column.codes[rows], return_inverse=True)
    present = used[used < column.n_values].tolist()
    values = column.values[present] if column.is_number else [column.values[i] for i in present]
    return replace(column, codes=codes.reshape(-1), values=values, has_missing=len(present) < len(used), here=None)


def _is_present(one: _Proposal, columns: Columns) -> Bools:
    """Return in which records the values that a rule compares are known."""
    return np.all([columns[name].codes < columns[name].n_values for name in one.present], axis=0)


def _holds(one: _Proposal, rule: ColumnRule, half: Columns) -> bool:
    """Return whether far fewer records break a rule than would, if one of its columns were of other records."""
    present = _is_present(one, half)
    cells = {name: replace(half[name], codes=half[name].codes[present]) for name in rule.names}
    anew = (replace(column, codes=np.roll(column.codes, present.sum() // 2)) for column in cells.values())
    expected = min(np.count_nonzero(broken(rule, {**cells, column.name: column})) for column in anew)
    # a sum says enough where one of its parts is rare
    least = max(_EXPECTED, 0 if rule.node and rule.node.op == "=" else _BY_CHANCE * present.sum())
    return bool(expected >= max(least, _TIMES * np.count_nonzero(broken(rule, cells))))


def _counted(one: _Proposal, rule: ColumnRule, columns: Columns) -> FoundRule:
    """Count the records that break a rule."""
    n_broken = int(np.count_nonzero(broken(rule, columns)))
    return FoundRule(one.sql, one.determines, one.words, int(_is_present(one, columns).sum()), n_broken)


def _orders(half: Columns) -> Iterator[_Proposal]:
    """Yield which number or date is never above another; of a chain the neighbours."""
    numbers = {name: column.numbers for name, column in half.items() if column.is_number and column.n_values > 1}
    below = [(a, b) for a, b in permutations(numbers, 2) if _is_below(numbers[a], numbers[b], half[a], half[b])]
    for low, high in below:
        if not any((low, between) in below and (between, high) in below for between in numbers):
            words = "before" if half[low].kind == "date" else "below"
            sql = f"{quoted_name(high)} >= {quoted_name(low)}"
            yield _Proposal(sql, f"{high} is never {words} {low}", (high, low))


def _is_below(low: Floats, high: Floats, one: Column, other: Column) -> bool:
    """Return whether numbers are below others in the same record, not by their scale, and can be compared."""
    if (one.kind, one.unit, one.zone) != (other.kind, other.unit, other.zone):
        return False
    gap, anew = high - low, np.roll(high, len(high) // 2) - low
    present = np.count_nonzero(~np.isnan(gap))
    if np.count_nonzero(gap < 0) > _TOLERATED * present or np.count_nonzero(gap > 0) <= _BY_CHANCE * present:
        return False
    equal, by_chance = (np.count_nonzero((each == 0) & (low != 0)) for each in (gap, anew))
    is_alike = one.kind == "date" or equal > max(_TOLERATED * present, 5 * by_chance)
    return bool(
        np.count_nonzero(anew < 0) > _BY_CHANCE * present and (is_alike or _have_one_scale(one.name, other.name))
    )


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
    ends, last = {a[-1], b[-1]}, {"".join(a)[-4:], "".join(b)[-4:]}
    is_end = len(last) == 1 and min(map(len, ends)) > 3
    is_part = len(ends) == 1 or {*a} <= {*b} or {*b} <= {*a}
    return is_part or is_end or any(ends <= unit for unit in _UNITS) or (ends <= _ENDS and a[:-1] == b[:-1])


def _searched(half: Columns, names: Sequence[str]) -> Floats:
    """Return the numbers in which sums and products are looked for; shape (records, columns)."""
    return np.array([half[name].numbers[:_SEARCHED] for name in names] or np.zeros((0, 1))).T


def _fits(computed: Floats, cells: Floats, within: Floats | float = 0.0) -> Iterator[tuple[int, int, int]]:
    """Yield which computed number (records, k) is that of a column (records, columns), and how many records miss."""
    few = np.abs(computed[:_GLANCED, :, None] - cells[:_GLANCED, None, :])
    at, place = np.nonzero(
        (few > within + _NEAR * (np.abs(cells[:_GLANCED, None, :]) + 1)).sum(axis=0) <= _GLANCED // 8
    )
    one, other = computed[:, at], cells[:, place]
    gap = np.abs(one - other)
    informs = ~np.isnan(gap) & ((one != 0) | (other != 0))
    most = np.broadcast_to(within, cells.shape[1])[place] + _NEAR * (np.abs(other) + 1)
    tries, misses = informs.sum(axis=0), (informs & (gap > most)).sum(axis=0)
    is_sum = (tries >= _INFORMATIVE) & (misses <= (1 - _RIGHT) * tries)
    yield from zip(at[is_sum].tolist(), place[is_sum].tolist(), misses[is_sum].tolist(), strict=True)


def _combined(
    cells: Floats, parts: Sequence[tuple[int, ...]], combine: Callable[..., Any]
) -> Iterator[tuple[Sequence[tuple[int, ...]], Floats]]:
    """Yield some columns' sums or products at a time, so that comparing them takes little memory."""
    for begin in range(0, len(parts), 64):
        block = parts[begin : begin + 64]
        yield block, np.stack([combine(cells[:, each], axis=1) for each in block], axis=1)


def _additions(cells: Floats, runs: Sequence[tuple[int, ...]]) -> Iterator[_Addition]:
    """Yield columns that add up to another one, or, at the place after the last column, to a constant."""
    m = cells.shape[1]
    parts = [*combinations(range(m), 1), *combinations(range(m), 2), *runs]
    for block, totals in _combined(cells, parts, np.sum):
        for twice in (1, 2)[: max(1, len(block[-1]) - 1)]:  # a total between its parts is half of the sum
            for i, target, misses in _fits(totals, twice * cells):
                if (target in block[i]) == (twice == 2) and len(block[i]) >= twice:
                    yield misses, tuple(place for place in block[i] if place != target), target, 1.0
        for each, total in zip(block, totals.T, strict=True):
            present = total[~np.isnan(total)]
            constant = float(np.median(present)) if len(present) >= _INFORMATIVE and len(each) > 1 else 0.0
            misses = int(np.count_nonzero(np.abs(present - constant) > 1e-9 * abs(constant)))
            if constant and misses <= (1 - _RIGHT) * len(present):
                yield misses, each, m, round(constant, 9)


def _runs(names: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the places of three neighbours or more, of all columns, and of those whose names begin or end alike."""
    named = defaultdict(list, {"": list(range(len(names)))})
    for place, name in enumerate(names):
        for size in range(2, len(name)):
            named[name[:size].lower() + "*"].append(place)
            named["*" + name[-size:].lower()].append(place)
    spans = [(i, i + size) for size in range(3, _MOST_PARTS + 2) for i in range(len(names))]
    return list(dict.fromkeys(tuple(each[i:j]) for each in named.values() for i, j in spans if j <= len(each)))


def _sums(half: Columns) -> Iterator[_Proposal]:
    """Yield sums, differences and constant sums, none of which follows from those before it."""
    names = [name for name, c in half.items() if c.is_number and c.unit != "us" and c.n_values > 1]
    m = len(names)
    is_date = np.array([*(half[name].kind == "date" for name in names), False])
    every = sorted(_additions(_searched(half, names), _runs(names)), key=lambda each: (each[0], len(each[1]), each))
    basis = np.zeros((0, m + 1))
    for _, parts, target, factor in every:  # the simplest ones come first
        vector = np.zeros(m + 1)
        vector[[*parts]], vector[target] = 1, -factor
        rest = vector - basis.T @ (basis @ vector)
        if is_date[[*parts]].sum() == is_date[target] and np.linalg.norm(rest) > 1e-9 * np.linalg.norm(vector):
            basis = np.vstack([basis, rest / np.linalg.norm(rest)])
            columns = [names[i] for i in parts]
            is_last = target > parts[-1] or re.search("tot|sum", names[target].lower())
            yield _sum(columns, names[target], bool(is_last), half) if target < m else _constant(columns, factor, half)


def _sum(parts: Sequence[str], target: str, is_last: bool, half: Columns) -> _Proposal:
    """Return a sum as a rule: as a difference where days are counted, or where a part is the last column."""
    begin = next((name for name in parts if half[name].kind == "date"), parts[0])
    is_days = half[target].kind == "date"
    if len(parts) == 2 and (is_days or not is_last):
        length = parts[parts[0] == begin]
        words = f"the days from {begin} to {target}" if is_days else f"{target} less {begin}"
        sql = f"{quoted_name(length)} = {quoted_name(target)} - {quoted_name(begin)}"
        return _Proposal(sql, f"{length} is {words}", (length, target, begin))
    words = f"is the sum of {_listed(parts)}" if len(parts) > 1 else f"equals {parts[0]}"
    sql = f"{quoted_name(target)} = {' + '.join(map(quoted_name, parts))}"
    return _Proposal(sql, f"{target} {words}", (target, *parts))


def _constant(parts: Sequence[str], constant: float, half: Columns) -> _Proposal:
    """Return a sum to a constant as a rule."""
    is_flags = constant == 1 and all({*half[name].values} == {0.0, 1.0} for name in parts)
    listed, total = _listed(parts), number(constant)
    words = f"exactly one of {listed} is 1" if is_flags else f"{listed} add up to {total}"
    # a sum is compared with a literal at the literal's decimals, but with a column at those of the column
    finest = min(parts, key=lambda name: whole_numbers(half[name])[1])
    exact = " - ".join([f"{quoted_name(finest)} = {total}", *(quoted_name(name) for name in parts if name != finest)])
    return _Proposal(f"{' + '.join(map(quoted_name, parts))} = {total}", words, tuple(parts), exact=exact)


def _products(half: Columns) -> Iterator[_Proposal]:
    """Yield which two numbers have a third one as their product, rounded to its decimals."""
    names = [n for n, c in half.items() if c.kind == "numeric" and c.n_values > 1 and {*c.values[:3]} != {0.0, 1.0}]
    cells, pairs = _searched(half, names), list(combinations(range(len(names)), 2))
    within = np.array([float(whole_numbers(half[name])[1]) / 2 for name in names])
    for block, products in _combined(cells, pairs, np.prod):
        for i, place, _ in _fits(products, cells, within):
            one, other, target = (names[each] for each in (*block[i], place))
            sql = f"{quoted_name(target)} = {quoted_name(one)} * {quoted_name(other)}"
            if place not in block[i]:
                yield _Proposal(sql, f"{target} is {one} times {other}", (target, one, other))


def _dependences(half: Columns, columns: Columns) -> Iterator[_Proposal]:
    """Yield which columns determine others; of columns that determine each other only the first one's."""
    counts = {name: c.counts()[:-1] for name, c in half.items()}
    names = [name for name, n in counts.items() if n.max(initial=0) <= (1 - _BY_CHANCE / 2) * n.sum()]
    codes = np.array([half[name].codes for name in names])
    is_known = np.array([half[name].codes < half[name].n_values for name in names])
    decides = np.zeros((len(names), len(names)), bool)
    for i in (i for i, name in enumerate(names) if _may_determine(columns[name])):
        decides[i] = _decided(i, codes, is_known)
    decides[np.tril(decides & decides.T).any(axis=1)] = False
    in_two_steps = decides.astype(int) @ decides
    for one, other in np.argwhere(decides & (in_two_steps == 0)).tolist():
        pair = names[one], names[other]
        yield _Proposal("", " determines ".join(pair), pair, pair)


def _decided(place: int, codes: Ints, is_known: Bools) -> Bools:
    """Return which columns have the same value wherever one column has, and no more values.

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
    tries, misses = is_pair.sum(axis=1), (is_pair & (codes != codes[:, model])).sum(axis=1)
    # a category that nearly all records have is nearly always the same
    by_chance = (is_known & (codes != np.roll(codes, codes.shape[1] // 2, axis=1))).mean(axis=1)
    n_values = np.where(is_known, codes, 0).max(axis=1)
    decided: Bools = (tries >= _INFORMATIVE) & (misses <= _FEW * by_chance * tries) & (n_values <= n_values[place])
    decided[place] = False
    return decided


def _may_determine(column: Column) -> bool:
    """Return whether a column has categories or codes that several records share."""
    is_code = column.n_values <= _MOST_VALUES or tokens(column.name) & CODES
    is_whole = column.kind == "numeric" and is_code and whole_numbers(column)[1] == 1
    return _SHARED * column.n_values <= column.counts()[:-1].sum() and bool(is_whole or not column.is_number)


def _missing(half: Columns, columns: Columns) -> Iterator[_Proposal]:
    """Yield the condition of the column that best says where another one is missing, or where it is known."""
    named = {name: column for name, column in half.items() if _is_category(column)}
    for name, is_null in ((n, is_null) for n, c in half.items() if c.has_missing for is_null in (True, False)):
        breaks = (half[name].codes == half[name].n_values) != is_null
        best: tuple[int, str, str] = (0, "", "")
        for other in (each for each in named if each != name):
            counts = named[other].counts()[:-1]
            with_it = np.bincount(named[other].codes[breaks], minlength=len(counts) + 1)[:-1]
            allowed = with_it > _TOLERATED * counts
            is_clear = (with_it[allowed] >= _CLEAR * counts[allowed]).all()  # no matter of degree
            says = int(counts[~allowed].sum() * with_it.sum())
            if is_clear and says > best[0] and (sql := _named_only(named[other], allowed, columns[other])):
                best = says, sql, other
        if best[0]:
            what, null = ("missing", "") if is_null else ("known", "NOT ")
            words = f"{name} is {what} unless {best[1]}"
            yield _Proposal(f"{best[1]} OR {null}{quoted_name(name)} IS NULL", words, (best[2],))


def _is_category(column: Column) -> bool:
    return 1 < column.n_values <= _MOST_CATEGORIES and attacked_as(column, Schema()) == "category"


def _named_only(column: Column, allowed: Bools, every: Column) -> str:
    """Return the condition that a category is allowed, if few categories, which many records have, say so; or ''."""
    counts = dict(zip(map(str, every.values), every.counts().tolist(), strict=False))
    for is_among in sorted((True, False), key=lambda among: np.count_nonzero(allowed == among)):
        few = [column.values[i] for i in np.flatnonzero(allowed == is_among)]
        if 0 < len(few) <= _MOST_NAMED and all(counts[str(value)] >= _FEWEST for value in few):
            literals = [number(v) if column.is_number else Expression("text", text=str(v)).sql for v in few]
            name, sign = quoted_name(column.name), "=" if is_among else "<>"
            if len(few) == 1:
                return f"{name} {sign} {literals[0]}"
            return f"{'' if is_among else 'NOT '}{name} IN ({', '.join(literals)})"
    return ""
