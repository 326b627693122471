"""Rules between columns: conditions in SQL's words that hold in every record, and columns that determine others.

Numbers are whole numbers of their column's last decimal, so that .1 + .2 is .3; dates are days. A missing value breaks
no rule.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

from .errors import SchemaError
from .notation import DAY

COMPARED = ("=", "<>", "<", "<=", ">", ">=")
_NUMBERS = ("+", "-", "*")
# the names that sqlglot's nodes have for what a rule may say
_NODES = {
    "EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">=", "And": "and", "Or": "or", "Not": "not",
    "Add": "+", "Sub": "-", "Mul": "*",
}  # fmt: skip
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
# names with a meaning for SQL that sqlglot's tokens do not show
_WORDS = " group having if limit order partition row rows using with "
# characters of a rule, and its parts inside each other, at most
LONGEST, DEEPEST = 2_000, 90
_HINT = (
    "write a condition of columns, numbers, texts and dates with + - * = <> < <= > >=, AND, OR, NOT, IN, BETWEEN and "
    'IS NULL, such as "discharge >= admit" or "age >= 15 OR job = \'none\'"; a name with blanks stands in double quotes'
)


@dataclass(frozen=True)
class Expression:
    """A part of a condition.

    Parameters
    ----------
    op : str
        "column", "number", "text", "date"; "+", "-", "*"; a comparison; "and", "or", "not", "in", "is null".
    parts : tuple of Expression
    text : str
        The name of a column, or a literal.
    """

    op: str
    parts: tuple[Expression, ...] = ()
    text: str = ""

    @property
    def names(self) -> list[str]:
        """Return the columns that it reads, in their order."""
        inside = [name for part in self.parts for name in part.names]
        return list(dict.fromkeys([self.text] if self.op == "column" else inside))

    @property
    def sql(self) -> str:
        """Return the part as SQL, with parentheses where they are needed."""
        if self.op == "column":
            return quoted_name(self.text)
        if self.op in ("text", "date"):
            literal = "'" + self.text.replace("'", "''") + "'"
            return literal if self.op == "text" else f"DATE {literal}"
        if self.op == "number":
            return self.text
        # a - b - c is (a - b) - c, and chains of AND and OR need no parentheses on their left either
        is_chain = self.op not in COMPARED
        inside = [
            f"({part.sql})" if part.parts and _binds(part.op) < _binds(self.op) + (i > 0 or not is_chain) else part.sql
            for i, part in enumerate(self.parts)
        ]
        if self.op == "in":
            return f"{inside[0]} IN ({', '.join(inside[1:])})"
        if self.op == "is null":
            return f"{inside[0]} IS NULL"
        if self.op == "not":
            return f"NOT {inside[0]}"
        return f" {self.op.upper()} ".join(inside)


def _binds(op: str) -> int:
    order = (("or",), ("and",), ("not",), (*COMPARED, "in", "is null"), ("+", "-"), ("*",))
    return next(i for i, ops in enumerate(order) if op in ops)


def quoted_name(name: str) -> str:
    """Return a column's name as SQL reads it, in double quotes where it needs them.

    Examples
    --------
    >>> quoted_name("admit"), quoted_name("length of stay")
    ('admit', '"length of stay"')
    """
    return name if _PLAIN.fullmatch(name) and _is_free(name) else '"' + name.replace('"', '""') + '"'


@cache
def _is_free(name: str) -> bool:
    """Return whether SQL has no other meaning for a name."""
    import sqlglot  # takes long to load

    tokens = sqlglot.tokenize(name, read="duckdb")
    return [token.token_type for token in tokens] == [sqlglot.TokenType.VAR] and f" {name} " not in _WORDS


@dataclass(frozen=True)
class ColumnRule:
    """A condition that every record keeps, or a column that determines another.

    Parameters
    ----------
    node : Expression, optional
        The condition; None for a column that determines another.
    determines : tuple of str
        The column, and the one that it determines.
    tolerated : bool
        Whether records may break it, as many as in the original.
    """

    node: Expression | None = None
    determines: tuple[str, ...] = ()
    tolerated: bool = field(default=False, compare=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the columns that it is about."""
        return self.determines if self.node is None else tuple(self.node.names)

    def __str__(self) -> str:
        return " determines ".join(map(quoted_name, self.determines)) if self.node is None else self.node.sql

    def check(self, kinds: Mapping[str, str]) -> None:
        """Raise SchemaError if it compares what cannot be compared, such as a number with a text.

        `kinds` has the kind of each of its columns.
        """
        if self.node is not None:
            _kind_of(self.node, kinds, str(self))


def parse_rules(texts: Sequence[str], tolerated: bool = False) -> list[ColumnRule]:
    """Return the rules of some conditions; one that joins several by AND, or has BETWEEN, is several.

    Raises
    ------
    SchemaError
        A text is no condition of columns.

    Examples
    --------
    >>> [str(rule) for rule in parse_rules(["a <= b AND b <= c", "total = rent + food"])]
    ['a <= b', 'b <= c', 'total = rent + food']
    """
    return [ColumnRule(node, tolerated=tolerated) for text in texts for node in _all_of(parse(text))]


def _all_of(node: Expression) -> Iterator[Expression]:
    if node.op == "and":
        for part in node.parts:
            yield from _all_of(part)
    else:
        yield node


def parse(text: str) -> Expression:
    """Return a condition as a tree; raise SchemaError if it is none, or says anything that no rule says."""

    def fault(why: str) -> SchemaError:
        return SchemaError(f"the rule {text[:80]!r} {why}", hint=_HINT)

    if len(text) > LONGEST:
        raise fault(f"is longer than {LONGEST:,} characters")
    import sqlglot  # takes long to load

    try:
        trees = sqlglot.parse(text, read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        raise fault("cannot be read as SQL") from None
    if len(trees) != 1 or trees[0] is None:
        raise fault("is not one condition")

    def read(tree: Any, depth: int = 0) -> Expression:
        if depth > DEEPEST:
            raise fault("is nested too deeply")
        name, parts = type(tree).__name__, tree.args

        def below(*keys: str) -> list[Expression]:
            return [read(parts[key], depth + 1) for key in keys]

        if name == "Paren":
            return below("this")[0]
        if name == "Column" and not any(parts.get(key) for key in ("table", "db", "catalog")) and tree.name:
            return Expression("column", text=tree.name)
        if name == "Literal" and tree.is_string:
            return Expression("text", text=tree.this)
        if name in ("Literal", "Neg"):
            return _negative(below("this")[0]) if name == "Neg" else Expression("number", text=_decimal(tree.this))
        if name == "Boolean":
            return Expression("text", text="true" if tree.this else "false")
        if name == "Cast" and str(parts["to"]).upper() == "DATE" and type(tree.this).__name__ == "Literal":
            return Expression("date", text=tree.this.this)
        if name == "Is" and type(parts["expression"]).__name__ == "Null":
            return Expression("is null", tuple(below("this")))
        if name == "In" and parts.get("expressions") and not parts.get("query"):
            return Expression("in", (*below("this"), *(read(each, depth + 1) for each in parts["expressions"])))
        if name == "Between":
            value, low, high = below("this", "low", "high")
            return Expression("and", (Expression(">=", (value, low)), Expression("<=", (value, high))))
        if name == "Not":
            return Expression("not", tuple(below("this")))
        if name in _NODES:
            return Expression(_NODES[name], tuple(below("this", "expression")))
        raise fault(f"says {name.upper()}, which no rule says")

    try:
        node = read(trees[0])
    except (KeyError, InvalidOperation):
        raise fault("cannot be read as SQL") from None
    if node.op not in (*COMPARED, "and", "or", "not", "in", "is null") or not node.names:
        raise fault("is no condition of columns")
    return node


def _negative(node: Expression) -> Expression:
    if node.op == "number":
        return Expression("number", text=_decimal(f"-{node.text}"))
    return Expression("-", (Expression("number", text="0"), node))


def _decimal(text: str) -> str:
    """Return a number as plain decimals."""
    number = Decimal(text)
    if not number.is_finite() or abs(number.adjusted()) > 18:
        raise InvalidOperation
    return f"{number:f}"


def sum_of(node: Expression) -> tuple[list[str], str]:
    """Return the columns whose sum a condition sets to a number, and that number; nothing for other conditions."""
    if node.op != "=":
        return [], ""
    one, two = node.parts if node.parts[1].op == "number" else node.parts[::-1]
    terms = list(terms_of(one))
    is_sum = two.op == "number" and len(terms) > 1 and all(term.op == "column" for term in terms)
    return ([term.text for term in terms], two.text) if is_sum and len({*one.names}) == len(terms) else ([], "")


def terms_of(node: Expression) -> list[Expression]:
    """Return what a sum adds up; anything else is its own only term."""
    return [term for part in node.parts for term in terms_of(part)] if node.op == "+" else [node]


def _kind_of(node: Expression, kinds: Mapping[str, str], rule: str) -> str:
    """Return "number", "text", "date" or "condition"; raise SchemaError where parts do not fit each other."""

    def fault(why: str) -> SchemaError:
        return SchemaError(f"the rule {rule[:80]!r} {why}", hint=_HINT)

    if node.op == "column":
        return {"numeric": "number", "date": "date"}.get(kinds[node.text], "text")
    if not node.parts:
        return node.op
    of = [_kind_of(part, kinds, rule) for part in node.parts]
    literal = [not part.names for part in node.parts]
    if node.op in ("and", "or", "not"):
        if set(of) != {"condition"}:
            raise fault(f"joins by {node.op.upper()} what is no condition")
    elif node.op in _NUMBERS:
        if of == ["date", "date"] and node.op == "-":
            return "number"
        if sorted(of) == ["date", "number"] and node.op != "*" and (node.op, of[1]) != ("-", "date"):
            return "date"
        if set(of) != {"number"}:
            raise fault("computes with what is no number")
        return "number"
    elif "condition" in of:
        raise fault("compares a condition with a value")
    elif node.op != "is null":
        # a literal is read as what it is compared with: a day as a date, a number as a category
        kinds_of_columns = {kind for kind, is_literal in zip(of, literal, strict=True) if not is_literal}
        if len(kinds_of_columns) != 1:
            raise fault("compares values of different kinds")
        (kind,) = kinds_of_columns
        fits = {"number": {"number"}, "date": {"date", "text"}, "text": {"text", "number"}}[kind]
        if not fits.issuperset({*of} - {kind}):
            raise fault("compares values of different kinds")
        if kind == "text" and node.op in ("<", "<=", ">", ">="):
            raise fault("orders texts")
        if kind == "date":
            for part in node.parts:
                if part.op in ("text", "date") and day_of(part.text) is None:
                    raise fault("has a date that is not written as 2024-12-31")
    return "condition"


def day_of(text: str) -> Fraction | None:
    """Return a date or time as days since 1970; None if it is none."""
    try:
        since = dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1)
    except (ValueError, TypeError):
        return None
    return Fraction(since // dt.timedelta(microseconds=1), DAY)
