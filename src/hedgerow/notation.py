"""Write and parse released cells, and format numbers and results.

This module alone defines the release notation. A range is ``[27-39]`` (dates
``[2001-05-01/2003-01-31]``); between public points it is half-open, ``[20-35)``, ``[85-]``. A
single value stays bare, categories are joined with ``+``, and weights follow ``:``; a category that
could be misread is quoted with ``"`` (doubled inside). Missing values inside a mixed group are
``(missing)``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor, inf, isfinite, log10, nextafter
from typing import Any

from .errors import SchemaError
from .texts import read_toml

# A number that may be none of the doubles.
Exact = int | Decimal

DAY = 86_400_000_000  # microseconds
TOP = "*"
MISSING = "(missing)"
REST = "(other)"
JOIN = "+"
WEIGHT = ":"

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?inf"
_RANGE = re.compile(rf"^\[({_NUMBER})-({_NUMBER})\]$")
_BETWEEN = re.compile(rf"^\[({_NUMBER})?-(?:({_NUMBER})\)|\])$")
_DATES = re.compile(r"^\[([^/\]]*)/([^/\])]*)[\])]$")
_TOKEN = re.compile(r'"((?:[^"]|"")*)"(?::(\d+))?|([^+]*?)(?::(\d+))?(?=\+|$)')


@dataclass(frozen=True)
class Cell:
    """A parsed released cell: the original values that it can stand for.

    Parameters
    ----------
    label : str, float or None
        The cell as released; None is a missing cell.
    lo, hi : float, int or Decimal, optional
        Extent of a numeric column (dates in their unit since 1970), inclusive.
    categories : tuple of str
        The categories that occur, in the column's order.
    missing : bool
        Whether the group holds missing values in this column.
    anything : bool
        True for ``*``: any value is possible.
    """

    label: str | float | None
    lo: float | Exact | None = None
    hi: float | Exact | None = None
    categories: tuple[str, ...] = ()
    missing: bool = False
    anything: bool = False


def number(value: float | Exact) -> str:
    """Return a number as the shortest text that reads back exactly; whole numbers have no decimal point."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e16 else repr(float(value))


def decimals_of(step: float) -> int:
    """Return how many decimals the multiples of a step have.

    Examples
    --------
    >>> decimals_of(0.25), decimals_of(1e-06), decimals_of(50.0), decimals_of(0.0)
    (2, 6, 0, 0)
    """
    return max(0, -int(Decimal(repr(float(step))).normalize().as_tuple().exponent))


def listed(names: Sequence[str]) -> str:
    """Return names joined by commas, where those of several slots of one column are written as one.

    Examples
    --------
    >>> listed(["sex", "pay [1]", "pay [2]", "pay [4]", "job [1]"])
    'sex, 3 of pay [1] to [4], job [1]'
    """
    slots: dict[str, list[str]] = {}
    for name in names:
        slots.setdefault(name.partition(" [")[0] if name.endswith("]") else name, []).append(name)
    return ", ".join(
        f"{len(some)} of {some[0]} to {some[-1].removeprefix(column).strip()}" if len(some) > 2 else ", ".join(some)
        for column, some in slots.items()
    )


def percent(value: float | None, digits: int | None = 1) -> str:
    """Format a share as a percentage that reads as 0% or 100% only if it is exactly that.

    Parameters
    ----------
    value : float, optional
    digits : int, optional
        Number of decimals; a share close to 0% or 100% gets as many as distinguish it from these,
        and with 0 a share below 10% gets two digits. None shows the value exactly.

    Examples
    --------
    >>> percent(0.125), percent(0.00033), percent(0.0), percent(0.99961), percent(0.0291, 0)
    ('12.5%', '0.033%', '0.0%', '99.961%', '2.9%')
    >>> percent(1e-8), percent(1 - 1e-8)
    ('under 0.0001%', 'over 99.9999%')
    >>> percent(0.125, None), percent(0.07, None)
    ('12.5%', '7%')
    """
    if value is None:
        return "-"
    if digits is None:
        return number(Decimal(str(value)) * 100) + "%"
    return _rounded(100 * value, digits, 100) + "%"


def figure(value: Any, digits: int = 3) -> str:
    """Format a number with `digits` digits and no exponent; a share reads as 0 or 1 only if it is exact.

    Examples
    --------
    >>> figure(0.49999606), figure(12.345), figure(2999.6), figure(10), figure(8.7e-05)
    ('0.500', '12.3', '3,000', '10', '0.000087')
    """
    if not isinstance(value, float):
        return "-" if value is None else words(value)
    return _rounded(value, max(digits - sum(abs(value) > top for top in (1, 10, 100)), 0), 1)


def _rounded(value: float, digits: int, whole: int) -> str:
    """Format a number with `digits` decimals, or more if it would read as 0 or as `whole`."""
    text = f"{value:,.{digits}f}"
    near = min(value, whole - value)
    few = text if digits or value > 9.95 else "0"
    if near <= 1e-12 or float(few.replace(",", "")) not in (0, whole):  # sums of floats may miss 1
        return text.removeprefix("-") if float(text.replace(",", "")) == 0 else text
    places = 6 if whole == 1 else 4
    if near < 10**-places:
        end = f"{10**-places:.{places}f}" if near == value else f"{whole - 10**-places:.{places}f}"
        return f"under {end}" if near == value else f"over {end}"
    return f"{value:.{max(ceil(-log10(near)), 0) + 1}f}".rstrip("0").rstrip(".")


def words(value: Any) -> str:
    """Format any result as short text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return figure(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, (list, tuple)):
        return ", ".join(words(v) for v in value)
    return "" if value is None else str(value)


def moment(value: float | Exact, unit: str) -> str:
    """Return days or microseconds since 1970 as an ISO date or time, to the nanosecond.

    Raises
    ------
    SchemaError
        It lies beyond the years that have such a text.
    """
    try:
        if unit == "day":
            return (dt.date(1970, 1, 1) + dt.timedelta(days=round(value))).isoformat()
        whole = floor(value) if isinstance(value, Decimal) else round(value)
        time = dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=whole)
    except OverflowError:
        raise beyond_years() from None
    if isinstance(value, Decimal):  # nanoseconds, which datetime does not have
        return f"{time.isoformat('T', 'microseconds')}{int((value - whole) * 1_000):03d}"
    return time.isoformat()


def beyond_years(names: Sequence[str] = ()) -> SchemaError:
    """Return the error for dates and times in these columns that lie outside the years 1 to 9999."""
    where = f" in {', '.join(map(repr, names))}" if names else ""
    return SchemaError(
        f"dates or times beyond the years 1 to 9999{where}", hint="make them missing, or leave the column out"
    )


def duration(length: float, unit: str) -> str:
    """Return a length in words for days or microseconds, or as a plain number without a unit.

    Examples
    --------
    >>> duration(20, "day"), duration(86_400_000_000.0, "us"), duration(5e6, "us")
    ('20 days', '1 day', '5 seconds')
    """
    if not unit:
        return number(length)
    for size, name in ((DAY, "day"), (1_000_000, "second"), (1, "microsecond")):
        many = length if unit == "day" else length / size
        if unit == "day" or length % size == 0:
            return f"{number(many)} {name}{'' if many == 1 else 's'}"
    raise ValueError("no whole microseconds")


def interval(lo: float | Exact, hi: float | Exact, unit: str = "") -> str:
    """Return a closed range as text; a single value if both ends are equal.

    Examples
    --------
    >>> interval(27, 39), interval(16, 16), interval(0.5, 2)
    ('[27-39]', '16', '[0.5-2]')
    """
    if unit:
        first, last = moment(lo, unit), moment(hi, unit)
        return first if first == last else f"[{first}/{last}]"
    return number(lo) if lo == hi else f"[{number(lo)}-{number(hi)}]"


def cut(value: float, unit: str = "") -> str:
    """Return a threshold as text; days and microseconds are rounded up to whole ones."""
    return moment(ceil(value), unit) if unit else number(value)


def between(lo: float | None, hi: float | None, unit: str = "") -> str:
    """Return a range between two public points as text, the upper one excluded; None leaves an end open.

    Examples
    --------
    >>> between(20, 35), between(85, None), between(None, -20), between(None, None)
    ('[20-35)', '[85-]', '[--20)', '*')
    """
    if lo is None and hi is None:
        return TOP
    first, last = ("" if e is None else moment(e, unit) if unit else number(e) for e in (lo, hi))
    return f"[{first}{'/' if unit else '-'}{last}{']' if hi is None else ')'}"


def quote(category: str, risky: bool | None = None) -> str:
    """Return a category, quoted if it could be misread in a concatenated cell."""
    if risky is None:
        risky = category in ("", MISSING, TOP) or any(c in category for c in '+":[]') or category != category.strip()
    return '"' + category.replace('"', '""') + '"' if risky else category


def concatenation(categories: Sequence[str], missing: bool = False) -> str:
    """Join categories in the given order.

    Examples
    --------
    >>> concatenation(["a+b", "c"], missing=True)
    '"a+b"+c+(missing)'
    """
    return JOIN.join([*map(quote, categories), *([MISSING] if missing else [])])


def split_concatenation(text: str) -> list[tuple[str | None, int]]:
    """Split a concatenated cell into (category, weight) pairs; missing is None, and the default weight 1.

    Examples
    --------
    >>> split_concatenation('"a+b":4+c:1')
    [('a+b', 4), ('c', 1)]
    """
    parts: list[tuple[str | None, int]] = []
    for quoted, quoted_weight, bare, bare_weight in _tokens(text):
        if quoted is not None:
            parts.append((quoted.replace('""', '"'), int(quoted_weight or 1)))
        else:
            parts.append((None if bare == MISSING else bare, int(bare_weight or 1)))
    return parts


def _tokens(text: str) -> Iterator[tuple[str | None, ...]]:
    """Yield the parts of a concatenated cell as (quoted text, its weight, bare text, its weight)."""
    # a cell can list thousands of categories, for which the pattern takes five times as long
    if '"' not in text and "\n" not in text:
        for part in text.split(JOIN):
            name, colon, weight = part.rpartition(WEIGHT)
            is_weighted = bool(colon) and weight.isdecimal()
            yield (None, None, name, weight) if is_weighted else (None, None, part, None)
        return
    at = 0
    while at <= len(text):
        if (match := _TOKEN.match(text, at)) is None:
            raise ValueError("not a concatenated cell")
        yield match.groups()
        at = match.end()
        if at < len(text) and text[at] != JOIN:
            raise ValueError("not a concatenated cell")
        at += 1


_KNOWN = re.compile(r"^(.+):(\d+)\+\(missing\):(\d+)$")
_STEPS = re.compile(r"^[\[(]\S+, \S+[\])]$")
_SPAN = re.compile(r'^\{("(?:[^"]|"")*"|.*?)\.\.(.*)\}$', re.DOTALL)


def span_ends(label: str) -> tuple[str, str] | None:
    """Return the first and last category of a span; None for other text.

    Examples
    --------
    >>> span_ends("{cook..nurse}"), span_ends('{"a..b"..c}'), span_ends("cook")
    (('cook', 'nurse'), ('a..b', 'c'), None)
    """
    if (match := _SPAN.match(label)) is None:
        return None
    first, last = (end[1:-1].replace('""', '"') if end[:1] == '"' else end for end in match.groups())
    return first, last


def counted(label: str) -> tuple[int, int] | None:
    """Return a numeric cell's counts of values and of missing ones; None if it does not state them.

    Examples
    --------
    >>> counted("42:17+(missing):3"), counted("[20-35]+(missing)")
    ((17, 3), None)
    """
    match = _KNOWN.match(label)
    return (int(match[2]), int(match[3])) if match else None


def signs(labels: Iterable[str | float | None], *, kind: str, values: Sequence[str] = ()) -> set[str]:
    """Return the names of the signs of the notation that occur in a column's released cells.

    Parameters
    ----------
    labels : iterable of str, float or None
        The cells.
    kind : str
        The kind of the column.
    values : sequence of str
        The original values of the column, in its order; cells equal to one of them have no sign.

    Examples
    --------
    >>> sorted(signs(["[1-2]", "*", "5"], kind="numeric"))
    ['anything', 'range']
    """
    occurring, own_values = set(), set(values)
    for label in labels:
        if isinstance(label, str) and label not in own_values:
            occurring |= _signs(label, kind)
    if "span" in occurring and kind in ("categorical", "boolean") and list(values) == sorted(values):
        occurring = occurring - {"span"} | {"alphabetical"}  # nobody declared an order
    return occurring


def explain_signs(used: Collection[str]) -> list[str]:
    """Return a line for the reader on each of the given signs, in the order of ``notation.toml``."""
    meanings = read_toml(__package__, "notation.toml")
    return [f"- {meaning}." for sign, meaning in meanings.items() if sign in used]


def _signs(label: str, kind: str) -> set[str]:
    if kind in ("numeric", "date"):
        if _KNOWN.match(label):
            return {"known"}
        present = label.removesuffix(JOIN + MISSING)
        return ({"missing"} if present != label else set()) | ({_extent(present, kind)} - {""})
    if sign := _extent(label, kind):
        return {sign, "quoted"} if sign == "span" and '"' in label else {sign}
    try:
        parts = list(_tokens(label))
    except ValueError:
        return {"general"}
    weighted = any(weight for _, of_quoted, _, of_bare in parts for weight in (of_quoted, of_bare))
    occurring = {"weighted"} if weighted else {"joined"} if len(parts) > 1 else set()
    occurring |= {"quoted" for quoted, *_ in parts if quoted is not None}
    occurring |= {"missing" for _, _, bare, _ in parts if bare == MISSING}
    return occurring or {"general"}


def _extent(text: str, kind: str) -> str:
    if text == TOP:
        return "anything"
    if _SPAN.match(text):
        return "span"
    if kind == "date":
        if not _DATES.match(text):
            return "" if parse_dates(text) else "general"
        return "periods" if text.endswith(")") or "/]" in text else "dates"
    if kind == "numeric" and parse_range(text):
        return "range" if _RANGE.match(text) else "between" if text.startswith("[") else ""
    if _STEPS.match(text):
        return "steps"
    return "general" if kind == "numeric" else ""


def parse_range(text: str) -> tuple[float, float] | None:
    """Return the two ends of a numeric range or number, infinite for an open end; None for other text.

    Examples
    --------
    >>> parse_range("[27-39]"), parse_range("[85-]"), parse_range("[-20)")[0]
    ((27.0, 39.0), (85.0, inf), -inf)
    """
    match = _RANGE.match(text)
    if match:
        return float(match[1]), float(match[2])
    match = _BETWEEN.match(text)
    if match and (match[1] or match[2]):
        # the end itself is not in the range
        high = nextafter(float(match[2]), -inf) if match[2] else inf
        return float(match[1] or -inf), high
    return (float(text), float(text)) if re.fullmatch(_NUMBER, text) else None


def parse_dates(text: str) -> tuple[str, str] | None:
    """Return the two ISO dates of a date range or date, "" for an open end; None for other text."""
    match = _DATES.match(text)
    ends = (match[1], match[2]) if match else (text, text)
    try:
        for end in filter(None, ends) if match and any(ends) else ends:
            dt.datetime.fromisoformat(end)
    except ValueError:
        return None
    return ends


def plain(value: Any, *, digits: int | None = None, other: Callable[[Any], Any] | None = None) -> Any:
    """Convert a value to JSON data: dicts, lists, text, numbers, booleans and None.

    Parameters
    ----------
    value : anything
        Mappings, sequences, sets (sorted) and numpy arrays become dicts and lists, whatever
        they hold; numbers that are not finite become None.
    digits : int, optional
        Round to this many significant digits: sums in another order differ in their last bits.
    other : callable, optional
        Function that converts any other object; by default TypeError is raised.

    Examples
    --------
    >>> plain({1: (0.1 + 0.2, float("inf"))}, digits=10)
    {'1': [0.3, None]}
    """
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        if not isfinite(value):
            return None
        return float(value) if digits is None else float(f"{value:.{digits}g}")
    if isinstance(value, Mapping):
        return {str(k): plain(v, digits=digits, other=other) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v, digits=digits, other=other) for v in value]
    if isinstance(value, (set, frozenset)):
        return plain(sorted(value), digits=digits, other=other)
    if hasattr(value, "tolist"):  # arrays and scalars of numpy
        return plain(value.tolist(), digits=digits, other=other)
    if other is None:
        raise TypeError(f"{type(value).__name__} is no plain data")
    return other(value)


def markdown(text: str) -> str:
    """Escape text so that Markdown and HTML show it unchanged on one line.

    Examples
    --------
    >>> print(markdown("<b>age</b> | years"))
    \\<b\\>age\\</b\\> \\| years
    """
    escaped = re.sub(r"([\\`*\[\]<>|])", r"\\\1", " ".join(text.splitlines()))
    return re.sub(r"&(?=#?\w+;)", "&amp;", escaped)
