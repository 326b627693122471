"""Read cells in the notation of other tools: ranges, masks, sets, suppression.

Every reader takes the text of one cell and returns what it means, or None. Ends are inclusive:
an open end becomes the double next to it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from math import ceil, floor, inf, isfinite, nextafter

from ..notation import parse_range

# the lowest and the highest number of a range, both included; infinite where open
Ends = tuple[float, float]

# what stands where a cell was emptied, in small letters
SUPPRESSED = frozenset("* ? - . any all none null (null) na n/a <na> nan nat suppressed (other)".split())  # noqa: SIM905

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_END = rf"{_NUMBER}|[+-]?(?:inf|Inf|INF|infinity|∞)"
_BRACKETS = re.compile(rf"^([\[(\]])\s*({_END})?\s*[,;]\s*({_END})?\s*([\])\[])$")
_BETWEEN = re.compile(rf"^\[?\s*({_NUMBER})\s*(?:-|–|—|~|\.\.+|:|\bto\b)\s*({_NUMBER})\s*\]?$")
_BEYOND = re.compile(rf"^(>=|<=|>|<|≥|≤|=>|=<)\s*({_NUMBER})$")
_ABOVE = re.compile(rf"^({_NUMBER})\s*\+$")
_MASK = re.compile(r"^([+-]?\d+)([*#xX]+)$")
_SET = re.compile(r"^\{(.*)\}$", re.DOTALL)
_QUOTED = re.compile(r"^(['\"])(.*)\1$", re.DOTALL)
_SPAN = re.compile(r"^\{(.+)\.\.(.+)\}$", re.DOTALL)
_PAIR = re.compile(r"^\[\s*(.+?)\s*[,;]\s*(.+?)\s*\]$", re.DOTALL)
_DATES = re.compile(r"^([\[(\]])\s*([^,;\[\]()]+)?\s*[,;]\s*([^,;\[\]()]+)?\s*([\])\[])$")
_YEARS = re.compile(r"^(\d{4})\s*(?:-|–|/|\bto\b)\s*(\d{4})$")
_BEYOND_DATE = re.compile(r"^(>=|<=|>|<)\s*(\d.*)$")
_DECADE = re.compile(r"^(?=[\d*]{4}$)(\d{1,4})\**$")
_MONTH = re.compile(r"^(\d{4})-(\d{2})$")
_DAY = re.compile(r"^(\d{1,2})\.(\d{1,2})\.(\d{4})$")
_OPEN_LEFT, _OPEN_RIGHT = "(]", ")["


def suppressed(text: str) -> bool:
    """Return whether a cell is suppressed: only stars, or a word such as NA.

    Examples
    --------
    >>> [suppressed(t) for t in ("*", "*****", "Any", "NULL", "NA", " ", "2*")]
    [True, True, True, True, True, True, False]
    """
    bare = text.strip().lower()
    return not bare.strip("*") or bare in SUPPRESSED


def number_ends(text: str) -> Ends | None:
    """Return both ends of a range of numbers, or None if the cell is not a range.

    Examples
    --------
    >>> number_ends("20-30"), number_ends("20 - 30"), number_ends("[20, 30]")
    ((20.0, 30.0), (20.0, 30.0), (20.0, 30.0))
    >>> whole(number_ends("[20, 30[")), whole(number_ends("]20, 30]")), whole(number_ends("2*"))
    ((20.0, 29.0), (21.0, 30.0), (20.0, 29.0))
    >>> whole(number_ends(">30")), whole(number_ends("<=20")), number_ends("[-inf, 30]")
    ((31.0, inf), (-inf, 20.0), (-inf, 30.0))
    """
    text = text.strip()
    for read in (parse_range, _brackets, _between, _beyond, _masked):
        ends = read(text)
        if ends is not None and ends[0] <= ends[1]:
            return ends
    return None


def whole(ends: Ends) -> Ends:
    """Round two ends inwards to whole numbers; return them unchanged if no whole number lies between them."""
    low, high = (f(e) if isfinite(e) else e for f, e in zip((ceil, floor), ends, strict=True))
    return (float(low), float(high)) if low <= high else ends


def _brackets(text: str) -> Ends | None:
    match = _BRACKETS.match(text)
    if match is None or not (match[2] or match[3]):
        return None
    low, high = _end(match[2], -inf), _end(match[3], inf)
    return (
        # an end that is left out becomes the double next to it
        nextafter(low, inf) if match[1] in _OPEN_LEFT and isfinite(low) else low,
        nextafter(high, -inf) if match[4] in _OPEN_RIGHT and isfinite(high) else high,
    )


def _end(text: str | None, none: float) -> float:
    return none if text is None else float(text.replace("∞", "inf"))


def _between(text: str) -> Ends | None:
    match = _BETWEEN.match(text)
    return (float(match[1]), float(match[2])) if match else None


def _beyond(text: str) -> Ends | None:
    if above := _ABOVE.match(text):
        return float(above[1]), inf
    if (match := _BEYOND.match(text)) is None:
        return None
    sign, at = match[1].replace("=>", ">=").replace("=<", "<="), float(match[2])
    if sign[0] in ">≥":
        return (nextafter(at, inf) if sign == ">" else at), inf
    return -inf, (nextafter(at, -inf) if sign == "<" else at)


def _masked(text: str) -> Ends | None:
    if (match := _MASK.match(text)) is None:
        return None
    step = 10.0 ** len(match[2])
    near, far = float(match[1]) * step, (abs(float(match[1])) + 1) * step
    # -2* is -29 to -20: the far end is the lower one
    if match[1].startswith("-"):
        return nextafter(-far, inf), near
    return near, nextafter(far, -inf)


def date_ends(text: str) -> tuple[int | None, int | None] | None:
    """Return both ends of a range of dates, inclusive, in microseconds since 1970; None for an open end.

    A year, a month and a day are periods: a range holds them wholly, or leaves them out.

    Examples
    --------
    >>> day = 86_400_000_000
    >>> [end // day for end in date_ends("1970-02")], [e // day for e in date_ends("[1970, 1971[")]
    ([31, 58], [0, 364])
    """
    text = text.strip()
    match = _DATES.match(text)
    if match is not None and (match[2] or match[3]):
        first, last = (_period(end) if end else (None, None) for end in (match[2], match[3]))
        if (match[2] and first[0] is None) or (match[3] and last[0] is None):
            return None
        return (
            first[1] if match[1] in _OPEN_LEFT else first[0],
            _before(last[0] if match[4] in _OPEN_RIGHT else last[1]),
        )
    years, beyond = _YEARS.match(text), _BEYOND_DATE.match(text)
    first, last = _period(years[1] if years else text), _period(years[2] if years else text)
    if beyond is not None:
        begin, end = _period(beyond[2])
        if begin is None:
            return None
        if beyond[1][0] == ">":
            return (end if beyond[1] == ">" else begin), None
        return None, _before(begin if beyond[1] == "<" else end)
    if first[0] is None or last[1] is None or first[0] >= last[1]:
        return None
    return first[0], _before(last[1])


def _before(moment: int | None) -> int | None:
    return None if moment is None else moment - 1


def _period(text: str) -> tuple[int | None, int | None]:
    """Return the start of a decade, year, month, day or moment, and the start of the next one."""
    text = text.strip()
    year, month, day = _DECADE.match(text), _MONTH.match(text), _DAY.match(text)
    try:
        if year:
            stars = text.count("*")
            first = int(year[1]) * 10**stars
            return _since_1970(dt.datetime(first, 1, 1)), _since_1970(dt.datetime(first + 10**stars, 1, 1))
        if month:
            first, at = int(month[1]), int(month[2])
            after = dt.datetime(first + at // 12, at % 12 + 1, 1)
            return _since_1970(dt.datetime(first, at, 1)), _since_1970(after)
        if day:
            text = f"{day[3]}-{int(day[2]):02d}-{int(day[1]):02d}"
        begin = dt.datetime.fromisoformat(text)
        length = dt.timedelta(days=1) if len(text) == 10 else dt.timedelta(microseconds=1)
        return _since_1970(begin), _since_1970(begin + length)
    except (ValueError, OverflowError):
        return None, None


def _since_1970(moment: dt.datetime) -> int:
    zone = dt.UTC
    since = moment.replace(tzinfo=zone) if moment.tzinfo is None else moment
    return (since - dt.datetime(1970, 1, 1, tzinfo=zone)) // dt.timedelta(microseconds=1)


def masked_like(text: str) -> Callable[[str], bool] | None:
    """Return a function that tests if a value fits a mask such as 537** (one character per star), or None.

    Examples
    --------
    >>> fits = masked_like("537**")
    >>> [fits(t) for t in ("53715", "5371", "53815")]
    [True, False, False]
    """
    if "*" not in text or suppressed(text):
        return None
    pattern = "".join("." if sign == "*" else re.escape(sign) for sign in text.strip())
    return lambda value: re.fullmatch(pattern, value, re.DOTALL) is not None


def begins_like(text: str) -> str | None:
    """Return the prefix of a cell that ends in one star (for any number of characters); otherwise None.

    Examples
    --------
    >>> begins_like("New*"), begins_like("537**")
    ('New', None)
    """
    bare = text.strip()
    return bare[:-1] if bare.count("*") == 1 and bare.endswith("*") and len(bare) > 1 else None


def members(text: str) -> list[str] | None:
    """Return the unquoted values of a set such as {a, b}, or None if the cell is not a set.

    Examples
    --------
    >>> members("{20, 21}"), members("{'a','b'}"), members("a")
    (['20', '21'], ['a', 'b'], None)
    """
    match = _SET.match(text.strip())
    if match is None or _SPAN.match(text.strip()):
        return None
    parts = [part.strip() for part in match[1].split(",")]
    return [quoted[2] if (quoted := _QUOTED.match(part)) else part for part in parts]


def first_and_last(text: str) -> tuple[str, str] | None:
    """Return both ends of a range of categories such as {low..high}, or None if the cell is not one.

    Examples
    --------
    >>> first_and_last("{low..high}"), first_and_last("[low, high]")
    (('low', 'high'), ('low', 'high'))
    """
    match = _SPAN.match(text.strip()) or _PAIR.match(text.strip())
    return (match[1].strip(), match[2].strip()) if match else None
