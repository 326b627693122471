"""Parse the formula of a regression model, which may come from outside, and build its matrices from two tables.

The grammar is one of its own: columns, C(), log(), powers, `:` and `*`. Nothing of a formula is ever run.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from typing import NoReturn

import numpy as np

from ..columns.column import Column
from ..errors import ParameterError
from ..kernels import Bools, Floats, Ints
from ..notation import DAY, moment, number

# limits of a formula and of the matrix that it makes
LONGEST, MOST_TERMS, MOST_FACTORS, MOST_POWER, MOST_COLUMNS, MOST_CELLS = 1000, 100, 4, 5, 500, 100_000_000
_TOKEN = re.compile(r"\s*(?:`([^`]+)`|(?P<name>[^\W\d][\w.]*)|(?P<number>[0-9]+)|(?P<sign>\*\*|[~+*:^()-])|$)")
_ALLOWED = (
    "allowed are a column, ~, and terms joined by +: columns, `names with blanks or hyphens`, C(column), log(column), "
    "column**2 (powers up to 5), a:b, a*b, - 1"
)
INTERCEPT = "(intercept)"


@dataclass(frozen=True, order=True)
class Factor:
    """A column in a formula, as its numbers, their logarithm or a power, or as categories.

    Parameters
    ----------
    column : str
    function : str
        "C" (categories), "log" (natural logarithm) or "".
    power : int
        1 to 5.
    """

    column: str
    function: str = ""
    power: int = 1

    def __str__(self) -> str:
        name = self.column if re.fullmatch(r"[^\W\d][\w.]*", self.column) else f"`{self.column}`"
        name = f"{self.function}({name})" if self.function else name
        return name if self.power == 1 else f"{name}**{self.power}"


Term = tuple[Factor, ...]


@dataclass(frozen=True)
class Formula:
    """A parsed formula; as text it is the same however its terms were ordered or multiplied out.

    Parameters
    ----------
    response : Factor
    terms : tuple of tuples of Factor
        Sorted, those of one factor first.
    intercept : bool
    """

    response: Factor
    terms: tuple[Term, ...]
    intercept: bool = True

    def with_categories(self, names: Collection[str]) -> Formula:
        """Return the formula without C() around columns that are categories anyway."""

        def plain(factor: Factor) -> Factor:
            return Factor(factor.column) if factor.function == "C" and factor.column in names else factor

        return Formula(plain(self.response), _sorted({frozenset(map(plain, t)) for t in self.terms}), self.intercept)

    @property
    def factors(self) -> list[Factor]:
        """Return the response and every other factor, each once."""
        return list(dict.fromkeys([self.response, *(f for term in self.terms for f in term)]))

    def __str__(self) -> str:
        terms = [":".join(map(str, term)) for term in self.terms]
        return f"{self.response} ~ {' + '.join(terms or ['1'] * self.intercept)}" + " - 1" * (not self.intercept)


def _sorted(terms: Iterable[Iterable[Factor]]) -> tuple[Term, ...]:
    return tuple(sorted((tuple(sorted(term)) for term in terms), key=lambda term: (len(term), term)))


def parse(text: str) -> Formula:
    """Parse a formula.

    Raises
    ------
    ParameterError
        It is longer than 1,000 characters, or has something else than the grammar allows; the message names the
        position.

    Examples
    --------
    >>> str(parse("income ~ job*age + log(`years of school`) + age^2"))
    'income ~ age + age**2 + job + log(`years of school`) + age:job'
    """
    if len(text) > LONGEST:
        raise ParameterError(f"the formula has {len(text):,} characters; at most {LONGEST:,} are read")
    return FormulaReader(text).formula()


class FormulaReader:
    """A reader that parses a formula from left to right, without recursion."""

    def __init__(self, text: str) -> None:
        self._text, self._end = text, 0
        self.advance()

    def advance(self) -> None:
        """Read the next token; its kind is "column", "name", "number", "sign", or "end"."""
        if (match := _TOKEN.match(self._text, self._end)) is None:
            blanks = len(self._text) - len(self._text[self._end :].lstrip())
            self._start = blanks
            self.refuse(f"{self._text[blanks]!r} is not read")
        self.kind = match.lastgroup or ("column" if match[1] else "end")
        self.token = match[match.lastindex] if match.lastindex else ""
        self._end, self._start = match.end(), match.end() - len(match[0].lstrip())

    def refuse(self, why: str) -> NoReturn:
        """Raise the error of what stands here."""
        raise ParameterError(f"position {self._start + 1} of the formula: {why}; {_ALLOWED}")

    def take(self, *signs: str) -> str:
        """Return the sign that stands here and go on, or "" if it is none of these."""
        sign = self.token if self.kind == "sign" and self.token in signs else ""
        if sign:
            self.advance()
        return sign

    def formula(self) -> Formula:
        response = self.factor()
        if not self.take("~"):
            self.refuse("~ is missing after the column to explain")
        terms, intercept, sign = set[frozenset[Factor]](), True, self.take("+", "-") or "+"
        while sign:
            if self.kind == "number" and self.token in ("0", "1"):
                intercept = (self.token == "1") == (sign == "+")
                self.advance()
            elif sign == "-":
                self.refuse("only 1, the intercept, can be left out")
            else:
                terms |= self.products()
            if len(terms) > MOST_TERMS:
                self.refuse(f"there are more than {MOST_TERMS} terms")
            sign = self.take("+", "-")
        if self.kind != "end":
            self.refuse(f"{self.token!r} has no place here")
        if not terms and not intercept:
            self.refuse("nothing explains the column")
        if response.column in {factor.column for term in terms for factor in term}:
            self.refuse("the column to explain stands on both sides")
        return Formula(response, _sorted(terms), intercept)

    def products(self) -> set[frozenset[Factor]]:
        """Return the terms of ``a*b:c``, which are a, b:c and a:b:c."""
        parts = [self.interaction()]
        while self.take("*"):
            parts.append(self.interaction())
            if len(parts) > MOST_FACTORS:
                self.refuse(f"more than {MOST_FACTORS} factors are multiplied")
        chosen = (each for n in range(1, len(parts) + 1) for each in combinations(parts, n))
        terms = {frozenset[Factor]().union(*each) for each in chosen}
        if max(map(len, terms)) > MOST_FACTORS:
            self.refuse(f"more than {MOST_FACTORS} factors are multiplied")
        return terms

    def interaction(self) -> frozenset[Factor]:
        factors = {self.factor()}
        while self.take(":"):
            factors.add(self.factor())
        return frozenset(factors)

    def factor(self) -> Factor:
        name, function, power = self.column(), "", 1
        if self.kind == "sign" and self.token == "(" and name in ("C", "log"):
            self.advance()
            name, function = self.column(), name
            if not self.take(")"):
                self.refuse(f"{function}() has one column, and ) after it")
        if self.take("**", "^"):
            is_power = self.kind == "number" and self.token.lstrip("0") in map(str, range(1, 1 + MOST_POWER))
            if function == "C" or not is_power:
                self.refuse(f"a power is a number from 1 to {MOST_POWER}, of a column or its log()")
            power = int(self.token)
            self.advance()
        return Factor(name, function, power)

    def column(self) -> str:
        """Return the name that stands here: of a column, or of one of the two functions."""
        name, is_plain, start = self.token, self.kind == "name", self._start
        if self.kind not in ("column", "name"):
            self.refuse(f"{self.token!r} stands where a column should" if self.token else "a column is missing")
        self.advance()
        if self.token == "(" and self.kind == "sign" and not (is_plain and name in ("C", "log")):
            self._start = start
            self.refuse(f"{name!r} is no function here")
        return name


@dataclass(frozen=True, eq=False)
class FactorValues:
    """A factor in both tables: numbers, or codes of the levels that either table has.

    Parameters
    ----------
    values : pair of arrays, each of shape (n_rows,)
        Numbers (NaN where there is none), or codes (-1 where there is none).
    levels : list of str, optional
        The categories, of which the first that both tables have is left out; None for numbers.
    """

    values: tuple[Floats | Ints, Floats | Ints]
    levels: list[str] | None = None

    def named(self, factor: Factor, level: int) -> str:
        """Return the name of a factor at a level."""
        return str(factor) if self.levels is None else f"{Factor(factor.column)}[{self.levels[level]}]"

    def complete(self, side: int) -> Bools:
        """Return which rows of a table have a value."""
        return np.isfinite(self.values[side]) if self.levels is None else self.values[side] >= 0

    def reduced(self, rows: Sequence[Bools], factor: Factor) -> FactorValues:
        """Return the factor with the levels of complete rows alone, the reference level first."""
        if self.levels is None:
            return self
        n = len(self.levels)
        counts = [np.bincount(v[r].astype(np.int64), minlength=n) for v, r in zip(self.values, rows, strict=True)]
        both = np.flatnonzero((counts[0] > 0) & (counts[1] > 0))
        if not len(both):
            raise ParameterError(f"{factor}: no category stands in complete rows of both tables")
        order = [both[0], *(i for i in range(n) if i != both[0] and (counts[0][i] or counts[1][i]))]
        place = np.full(n + 1, -1)
        place[order] = np.arange(len(order))
        one, two = (place[v.astype(np.int64)] for v in self.values)
        return FactorValues((one, two), [self.levels[i] for i in order])


def coded(factor: Factor, columns: Sequence[Column]) -> FactorValues:
    """Code a factor's column in both tables.

    Raises
    ------
    ParameterError
        A power or logarithm of categories, or the logarithm of numbers that are not above 0.
    """
    is_number = all(column.is_number for column in columns)
    if not is_number and (factor.function == "log" or factor.power > 1):
        raise ParameterError(f"{factor}: the column holds categories, which have no powers and no logarithm")
    if is_number and factor.function != "C":
        days = [column.numbers / (DAY if column.unit == "us" else 1.0) for column in columns]
        if factor.function == "log":
            if any((each <= 0).any() for each in days):
                raise ParameterError(f"{factor}: there are values that are not above 0, which have no logarithm")
            days = [np.log(each) for each in days]
        one, two = (each**factor.power for each in days)
        return FactorValues((one, two))
    texts = [[moment(v, c.unit) if c.unit else number(v) for v in c.values] if is_number else c.values for c in columns]
    levels = list(dict.fromkeys([*texts[0], *texts[1]]))
    if is_number:  # both in one order
        ranks = {t: v for text, c in zip(texts, columns, strict=True) for t, v in zip(text, c.values, strict=True)}
        levels.sort(key=ranks.__getitem__)
    place = {level: i for i, level in enumerate(levels)}
    one, two = (
        np.array([*(place[t] for t in text), -1], np.int64)[column.codes]
        for text, column in zip(texts, columns, strict=True)
    )
    return FactorValues((one, two), levels)


@dataclass(frozen=True, eq=False)
class Design:
    """The matrix of one table and what it explains.

    Parameters
    ----------
    x : array, shape (n, p)
        A column for each coefficient; one that nobody in this table carries is all 0.
    y : array, shape (n,)
    rows : bool array, shape (n_rows,)
        The rows that are complete in every column of the formula; n of them.
    """

    x: Floats
    y: Floats
    rows: Bools


@dataclass(frozen=True)
class Entry:
    """A coefficient: what is multiplied in its column of the matrix.

    Parameters
    ----------
    term : tuple of Factor
    levels : tuple of int
        The level of each factor, 0 for the reference level and -1 for a number.
    name : str
        Such as "age", "job[nurse]" or "age:job[nurse]".
    """

    term: Term
    levels: tuple[int, ...]
    name: str

    @property
    def plain(self) -> str:
        """Return the name without any category, as error messages have it."""
        return ":".join(map(str, self.term)) or INTERCEPT


@dataclass(frozen=True, eq=False)
class Designs:
    """The matrices of two tables, with the same coefficients.

    Parameters
    ----------
    entries : list of Entry
        The coefficients, p of them.
    parts : mapping of Factor to FactorValues
    original, release : Design
    """

    entries: list[Entry]
    parts: Mapping[Factor, FactorValues]
    original: Design
    release: Design

    def cells(self, entry: Entry) -> Iterator[Bools]:
        """Yield the original's complete rows in each cell that a coefficient compares, and those with a number."""
        pairs = list(zip(entry.term, entry.levels, strict=True))
        for levels in product(*(sorted({level, min(level, 0)}) for _, level in pairs)):
            inside = np.ones(len(self.original.y), bool)
            for (factor, _), level in zip(pairs, levels, strict=True):
                values = self.parts[factor].values[0][self.original.rows]
                inside &= values != 0 if level < 0 else values == level
            yield inside


def _entries(formula: Formula, parts: Mapping[Factor, FactorValues]) -> Iterator[Entry]:
    """Yield the coefficients of a formula.

    A factor of categories leaves its reference level out where the term without it is in the model already.
    """
    spanned = {frozenset[Factor]()} if formula.intercept else set[frozenset[Factor]]()
    if formula.intercept:
        yield Entry((), (), INTERCEPT)
    for term in formula.terms:
        whole = [f for f in term if parts[f].levels is not None and frozenset(term) - {f} not in spanned]
        rest = frozenset(term) - set(whole)
        spanned |= {rest | set(some) for n in range(len(whole) + 1) for some in combinations(whole, n)}
        choices = ([-1] if (every := parts[f].levels) is None else range(f not in whole, len(every)) for f in term)
        for levels in product(*choices):
            names = (parts[factor].named(factor, level) for factor, level in zip(term, levels, strict=True))
            yield Entry(term, levels, ":".join(names))


def designs(formula: Formula, columns: Mapping[str, tuple[Column, Column]], is_binary: bool) -> Designs:
    """Build the matrices of a formula for two tables.

    Parameters
    ----------
    formula : Formula
    columns : mapping of str to pair of Column
        Each column of the formula in both tables.
    is_binary : bool
        Whether the response has two values, of which the second counts as 1.

    Raises
    ------
    ParameterError
        The matrix would have more than 500 columns or 100 million cells, no row is complete, or the response is of
        the wrong kind.
    """
    parts = {factor: coded(factor, columns[factor.column]) for factor in formula.factors}
    rows = [np.logical_and.reduce([part.complete(side) for part in parts.values()]) for side in (0, 1)]
    most = max(int(each.sum()) for each in rows)
    if not all(each.any() for each in rows):
        raise ParameterError("no row of one of the tables is complete in the columns of the formula")
    parts = {factor: part.reduced(rows, factor) for factor, part in parts.items()}
    response = parts[formula.response]
    values = [each[r] for each, r in zip(response.values, rows, strict=True)]
    is_zero_or_one = response.levels is None and all(np.isin(each, (0, 1)).all() for each in values)
    if is_binary and not (is_zero_or_one or len(response.levels or ()) == 2):
        raise ParameterError(f"{formula.response}: a logit explains two categories, or numbers that are 0 or 1")
    if not is_binary and response.levels is not None:
        raise ParameterError(f"{formula.response}: only a logit explains categories")
    entries = list(islice(_entries(formula, parts), MOST_COLUMNS + 1))
    if len(entries) > MOST_COLUMNS or len(entries) * most > MOST_CELLS:
        raise ParameterError(
            f"the formula makes more than {MOST_COLUMNS} columns, or {MOST_CELLS:,} cells over all rows",
            hint="leave out columns of many categories, or compare a sample",
        )
    both = []
    for side, complete in enumerate(rows):
        x = np.ones((int(complete.sum()), len(entries)))
        for at, entry in enumerate(entries):
            for factor, level in zip(entry.term, entry.levels, strict=True):
                each = parts[factor].values[side][complete]
                x[:, at] *= each if level < 0 else each == level
        both.append(Design(x, values[side].astype(float), complete))
    return Designs(entries, parts, *both)
