"""The identifiers of HIPAA's Safe Harbor in a released table, by names of columns and what cells look like."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc  # scipy.stats takes longer to load than a small table

from ..columns.arrays import value_class
from ..columns.roles import FREE, NAMES, names_quasi, names_sensitive, profile, tokens, unaccented
from ..columns.table import Table
from ..notation import JOIN, MISSING, parse_dates, parse_range
from ..texts import read_toml

# the last age that stands by itself
OLDEST = 89
_DATA = read_toml(__package__, "safe_harbor.toml")
_KINDS = {kind: frozenset(row["words"].split()) for kind, row in _DATA["kinds"].items()}
_LOOKS = {kind: re.compile(row["looks"]) for kind, row in _DATA["kinds"].items() if "looks" in row}
_WORDS = {meaning: frozenset(words.split()) for meaning, words in _DATA["words"].items()}
_PEOPLE = _WORDS["people"] | _WORDS["relations"]
_ZIP, _SHORT_ZIP = re.compile(r"^\d{5}(-\d{4})?$|^\d{4}[*xX]$"), re.compile(r"^\d{3}(\*\*|xx|XX)?$")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_UP_TO_31 = r"(0?[1-9]|[12]\d|3[01])"
# a day, a week, a month or a quarter with its year, as people write it
_DAY = re.compile(
    rf"\b\d{{4}}([-/.])(0?[1-9]|1[0-2])(\1{_UP_TO_31})?\b"
    rf"|\b{_UP_TO_31}([-/.]){_UP_TO_31}\6(\d{{4}}|\d{{2}})\b"
    rf"|\b(0?[1-9]|1[0-2])/\d{{4}}\b"
    rf"|\b({_UP_TO_31}(st|nd|rd|th|\.)?[ -])?{_MONTH}[ -]({_UP_TO_31}(st|nd|rd|th)?,? )?\d{{4}}\b"
    r"|\b\d{4}[ -/]?Q[1-4]\b|\bQ[1-4][ -/]?\d{4}\b|\b\d{4}-?W\d\d\b",
    re.IGNORECASE,
)
# days of 1927 to 2064 as spreadsheets count them
_SERIALS = 10_000, 60_000
# surname, given names
_PERSON = re.compile(r"^[A-Z][\w'’-]*(?:[ -][A-Z][\w'’-]*)*, ?[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*)*$")
# words of a text from which on it may say anything
_SENTENCE = 6
# two letters with no digit between them, which may be a name or its initials; one letter is a code
_SPELLED = re.compile(r"[^\W\d_][\W_]*[^\W\d_]")
# digits of numbers that may number records
_RECORD_NUMBERS = range(5, 13)
# digits of post codes, and how many different ones a column has at the least
_POST_CODES, _FEW = range(5, 6), 10
_YEAR = re.compile(r"(?<!\d)(1[89]\d\d|20\d\d)(?!\d)")
_EARLIER = re.compile(r"^\[-|<|≤|before|earlier|older|prior", re.IGNORECASE)
_MOST_YEARS = 120
_NOT_YEARS = re.compile(r"month|week|day|hour", re.IGNORECASE)
_POOLED = re.compile(r"\+|>|≥|over|older|above|more|up", re.IGNORECASE)

Cells = list[Any]


@dataclass(frozen=True)
class Identifiers:
    """The columns that have identifiers, by type of identifier and with a reason, but without any cell's value.

    Parameters
    ----------
    sure : mapping of str to mapping
        Columns that hold such identifiers.
    unsure : mapping of str to mapping
        Columns that may hold them, which neither their names nor their cells decide.
    """

    sure: dict[str, dict[str, str]]
    unsure: dict[str, dict[str, str]]


def identifiers_found(table: Table, year: int | None = None) -> Identifiers:
    """Find the released columns that have an identifier, and those that may have one, by type of identifier.

    Years of birth mean ages in `year`, by default this one. Text whose content no rule explains may
    hold names, and numbers that differ in every record may be record numbers.

    One cell that is a date, or an age over 89, is enough; of dates inside longer texts, and of eight
    digits in a row, half of a column's distinct cells, unless its name says that it holds dates.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = Table(pa.table({"born": ["1950-02-01"], "age": [93]}))
    >>> identifiers_found(table).sure["dates"]
    {'born': 'days or months of dates', 'age': 'ages over 89'}
    """
    kinds = (*_KINDS, "other")
    year = dt.date.today().year if year is None else year
    identifiers = Identifiers({kind: {} for kind in kinds}, {kind: {} for kind in kinds})
    described = {each.name: each for each in profile(table)}
    for name in table.names:
        words = tokens(name)
        cells = [cell for cell in table.entries(name).to_pylist() if cell not in (None, "*")]
        texts = [cell for cell in cells if isinstance(cell, str)]
        sure = {kind: why for kind, why in _by_name(words) if cells and kind not in _CHECKED}
        sure |= dict(_by_look(texts))
        for kind, judge in _CHECKED.items():
            if why := judge(words, cells, value_class(table.types.field(name).type)):
                sure[kind] = why
        if words & _WORDS["birth"] and any(_born_long_ago(cell, year) for cell in cells):
            sure.setdefault("dates", f"years of birth that mean ages over {OLDEST}")
        unsure: dict[str, str] = {}
        if not sure and not names_sensitive(words):  # an amount looks like any number
            for kind, why, is_sure in numbers_like(cells):
                if is_sure or kind != "geography" or not words & _WORDS["measures"]:
                    (sure if is_sure else unsure)[kind] = why
            if why := _may_be_dates(words, cells, year):
                unsure["dates"] = why
            if not words & (_WORDS["measures"] | _WORDS["amounts"]):
                if _many_have(cells, _RECORD_NUMBERS, max(table.n_rows, 2)):
                    unsure.setdefault(
                        "other", "whole numbers of many digits that differ from record to record, as record numbers do"
                    )
                if _many_have(cells, _POST_CODES, max(len(cells), _FEW)):
                    unsure.setdefault("geography", "whole numbers of five digits, as post codes are")
        if why := _may_be_names(name, words, texts):
            unsure["names"] = why
        column = described[name]
        if not sure and column.role == "identifier":
            sure["telephone" if "telephone" in column.reason else "other"] = column.reason
        for kind, why in sure.items():
            identifiers.sure[kind][name] = why
        for kind, why in unsure.items():
            if not sure or (kind == "names" and set(sure) == {"other"}):
                identifiers.unsure[kind][name] = why
    return identifiers


def _by_name(words: set[str]) -> Iterator[tuple[str, str]]:
    of_people = words & (NAMES | _WORDS["relations"])  # and not a place's or a thing's name
    if words <= _WORDS["name"] or (words & _WORDS["name"] and of_people):
        yield "names", "by its name"
    for kind, listed in _KINDS.items():
        if words & listed:
            yield kind, "by its name"


def _by_look(texts: Sequence[str]) -> Iterator[tuple[str, str]]:
    for kind, pattern in _LOOKS.items():
        if n := sum(1 for text in texts if pattern.search(text)):
            yield kind, f"{n} of its distinct cells look like it"


def _geography(words: set[str], cells: Cells, sort: str) -> str:
    if not (texts := [str(cell).strip() for cell in cells]):
        return ""
    named = words & _KINDS["geography"]
    full = sum(1 for text in texts if _ZIP.match(text))
    postal = words & {"zip", "zipcode", "postcode", "postal"}
    if full and (postal or (sort == "text" and full >= MOST * len(texts))):
        return f"{full} of its distinct cells look like whole ZIP codes"
    if postal and all(_SHORT_ZIP.match(text) for text in texts):
        few = sum(1 for text in texts if text[:3] in _WORDS["few_people"])
        return f"{few} of its ZIP areas have 20,000 people or fewer" if few else ""
    return "by its name" if named else ""


def _dates(words: set[str], cells: Cells, sort: str) -> str:
    if words & _WORDS["ages"] and any(map(_over, cells)):
        return f"ages over {OLDEST}"
    if sort == "date" and any(_finer(cell.isoformat()[:10]) for cell in cells):
        return "days or months of dates"
    named = bool(words & {*_KINDS["dates"], "date", "birth", "born"})
    if words & _WORDS["dates"] and _parts(words, cells):
        return f"{_parts(words, cells)} of dates"
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    if named and cells and sort == "number" and all(_SERIALS[0] <= n <= _SERIALS[1] for n in cells):
        return "days or months of dates, counted as spreadsheets do"
    if sort == "number":
        texts = [f"{cell:.0f}" for cell in cells if named or 18_000_000 < cell < 21_000_000]
    days = [_day_in(text) for text in texts]
    whole, inside = days.count("whole"), days.count("inside")
    enough = whole or (inside if named else 2 * inside >= len(cells) > 0)
    return "days or months of dates" if enough else ""


def _parts(words: set[str], cells: Cells) -> str:
    """Return the part of a date that a column has by its name and cells ("days", "months", "weeks"), or "".

    Cells that span the whole year or month are ignored.
    """
    for word, most in _DATA["parts"].items():
        if word not in words or not cells:
            continue
        ends = [parse_range(str(cell)) for cell in cells]
        named = [c for c in cells if isinstance(c, str) and re.fullmatch(_MONTH, c.strip(), re.IGNORECASE)]
        within = [pair for pair in ends if pair and 1 <= pair[0] <= pair[1] <= most and pair[0] == int(pair[0])]
        if len(within) + len(named) == len(cells) and (named or set(within) != {(1, most)}):
            return {"mon": "months", "yday": "days"}.get(word, f"{word}s")
    return ""


def _may_be_names(name: str, words: set[str], texts: list[str]) -> str:
    """Return a reason why text may be names: it looks like names, or no rule explains it; otherwise ""."""
    spelled = [text for text in texts if any(map(_SPELLED.search, _parts_of(text)))]
    if 2 * sum(bool(_PERSON.match(text.strip())) for text in spelled) > len(texts):
        return "its cells look like surnames with given names"
    if words & FREE or 2 * sum(len(text.split()) >= _SENTENCE for text in spelled) > len(texts):
        return "free text, in which anything may stand" if spelled else ""
    if all(part.lower() in _WORDS["plain"] for text in spelled for part in _parts_of(text)):
        return ""
    ends = unaccented(name).rstrip("0123456789_ .-")
    of_people = any(ends.endswith(word) for word in words & _PEOPLE) and "of" not in words
    explained = not of_people and (names_quasi(words - _PEOPLE) or names_sensitive(words))
    return "" if explained else "text that no rule explains"


def _parts_of(text: str) -> list[str]:
    """Return the known values joined in a released cell, without their counts."""
    parts = [re.sub(r":[\d.]+$", "", part.strip()) for part in text.replace(MISSING, "").split(JOIN)]
    return [part for part in parts if part]


def _many_have(cells: Cells, digits: range, n: int) -> bool:
    """Return whether most of n cells are whole numbers with the given number of digits, and few of them are round."""
    numbers = [n for n in map(whole_number, cells) if n is not None and len(str(n)) in digits]
    return len(numbers) >= MOST * n and not round_numbers(numbers)


def _born_long_ago(cell: Any, year: int) -> bool:
    """Return whether a year of birth reveals an age over 89 more closely than "90 or older"."""
    if isinstance(cell, (bool, bytes)):
        return False
    text = f"{cell:.0f}" if isinstance(cell, float) and cell.is_integer() else str(cell)
    if not (years := [int(year) for year in _YEAR.findall(text)]):
        return False
    return max(years) < year - OLDEST - 1 if _EARLIER.search(text) else min(years) < year - OLDEST


def _may_be_dates(words: set[str], cells: Cells, year: int) -> str:
    """Return a reason why a column may have parts of dates, or ages over 89, judging by its cells; else ""."""
    if not words & _WORDS["lengths"] and (part := _parts(words, cells)):
        return f"numbers as {part} of dates have"
    if words & _WORDS["measures"] or any(isinstance(cell, (bool, bytes)) for cell in cells):
        return ""
    ends = [parse_range(str(cell)) for cell in cells]
    years = bool(ends) and all(pair and YEARS[0] <= pair[0] <= pair[1] <= year for pair in ends)
    if years and any(_born_long_ago(cell, year) for cell in cells):
        return f"years before {year - OLDEST}, as years of birth are that mean ages over {OLDEST}"
    if not ends or not all(pair and _in_years(*pair) for pair in ends) or not any(map(_over, cells)):
        return ""
    return f"whole numbers up to {_MOST_YEARS} and some over {OLDEST}, as ages are"


def _in_years(low: float, high: float) -> bool:
    return low >= 0 and low.is_integer() and (high == float("inf") or high <= _MOST_YEARS)


def _day_in(text: str) -> str:
    """Return "whole" if the text is a date finer than a year, "inside" if it contains one, otherwise ""."""
    if (ends := parse_dates(text)) is None:
        return "" if not _DAY.search(text) else "whole" if _DAY.fullmatch(text) else "inside"
    if not any(map(_finer, ends)):
        return ""
    return "inside" if text.isdigit() else "whole"  # eight digits may be any number


def _finer(day: str) -> bool:
    """Return whether a date is finer than a year; the first and last day of a year stand for the year."""
    return len(day) > 4 and day[4:10] not in ("-01-01", "-12-31")


def _over(cell: Any) -> bool:
    """Return whether a cell reveals an age over 89 more closely than "90 or older"."""
    if isinstance(cell, (dt.date, bytes, bool)) or cell is None:
        return False
    if (ends := parse_range(str(cell))) is None:
        text = str(cell)
        ages = [] if _NOT_YEARS.search(text) else [float(n) for n in re.findall(r"\d+", text)]
        return max(ages, default=0.0) > OLDEST + bool(_POOLED.search(text))
    low, high = ends
    if high == float("inf"):
        return low > OLDEST + 1
    return high > OLDEST + str(cell).endswith(")")  # [85-90) ends below 90


# kinds of which the cells decide as well
_CHECKED: Mapping[str, Callable[[set[str], Cells, str], str]] = {"geography": _geography, "dates": _dates}


# share of a column's distinct cells that look alike
MOST = 0.9
# share of these that keep the rules of what they look like
_KEPT = 0.98
# where other numbers of that size keep the rules so seldom, the column is told by them
_CHANCE = 0.01
_STEPS = 10_007
# numbers of which a fifth are hundreds are amounts
_ROUND, _ROUNDED = 100, 0.2

YEARS = 1800, 2100


def _zip(n: int) -> bool:
    return 501 <= n <= 99950 and f"{n // 100:03}" not in _WORDS["unused"]


def _long_zip(n: int) -> bool:
    return _zip(n // 10_000) and n % 10_000 > 0


def _telephone(n: int) -> bool:
    country, number = divmod(n, 10**10)
    area, exchange = divmod(number // 10_000, 1000)
    if country not in (0, 1):
        return False
    # 2 to 9 first, and no service such as 911
    return all(200 <= part <= 999 and part % 100 != 11 for part in (area, exchange)) and area // 10 % 10 != 9


def _social_security(n: int) -> bool:
    area, group, serial = n // 1_000_000, n // 10_000 % 100, n % 10_000
    return 0 < area < 900 and area != 666 and group > 0 and serial > 0


def _card(n: int) -> bool:
    """Return whether a card number passes Luhn's check: every second digit from the right is doubled."""
    digits = [int(d) for d in reversed(str(n))]
    return sum(digits[::2] + [sum(divmod(2 * d, 10)) for d in digits[1::2]]) % 10 == 0


@dataclass(frozen=True)
class _Form:
    """A type of identifying number, with its possible lengths in digits and a rule that it follows."""

    kind: str
    what: str
    digits: range
    rule: Callable[[int], bool]
    # whether the first of the fewest digits is a zero that a number does not show
    zeros: bool = False


_FORMS = (
    _Form("geography", "ZIP codes", range(4, 6), _zip, zeros=True),  # 01002 as a number is 1002
    _Form("telephone", "telephone numbers", range(10, 12), _telephone),
    _Form("social security", "social security numbers", range(8, 10), _social_security, zeros=True),
    _Form("geography", "ZIP codes of nine digits", range(8, 10), _long_zip, zeros=True),
    _Form("account", "numbers of payment cards", range(15, 17), _card),
)


def numbers_like(cells: list[Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield the type of identifier that whole numbers look like, with a reason and whether it is certain.

    A kind is sure if the numbers keep its rules (no ZIP code begins with 213, no telephone number
    with 1) and random numbers of their span would do so in fewer than one column of a hundred.
    If chance explains it, or there are few numbers, the column is in doubt; so are ZIP codes of the Northeast
    alone, which have four digits as numbers, and ranges within the first three digits of ZIP codes.

    Examples
    --------
    >>> list(numbers_like([10001, 94110]))
    [('geography', '2 of its distinct cells look like ZIP codes, as other numbers may', False)]
    """
    numbers = [n for n in map(whole_number, cells) if n is not None]
    numbers = [n for n in numbers if len(set(str(n))) > 1]  # 99999 stands for no value
    if not numbers or len(numbers) < MOST * len(cells):
        yield from _ranges_like(cells)
        return
    if round_numbers(numbers):
        return
    for form in _FORMS:
        mine = [n for n in numbers if len(str(n)) in form.digits]
        full = [n for n in mine if not form.zeros or len(str(n)) == form.digits[-1]]
        if len(mine) < MOST * len(numbers):
            continue
        shortened = 2 * len(full) < len(mine)
        # 02139 as a number has four digits: a column of such numbers may be ZIP codes, unless they are years
        if shortened and (full or form.what != "ZIP codes" or YEARS[0] <= min(mine) <= max(mine) <= YEARS[1]):
            continue
        keep = sum(map(form.rule, mine))
        if keep < _KEPT * len(mine):
            continue
        # how often other numbers of the same span keep the rule by chance
        span = np.linspace(min(mine), max(mine), _STEPS).round()
        usual = sum(form.rule(int(n)) for n in span) / _STEPS
        is_sure = not shortened and float(bdtrc(keep - 1, len(mine), usual)) < _CHANCE
        why = f"{keep} of its distinct cells look like {form.what}"
        yield form.kind, why if is_sure else f"{why}, as other numbers may", is_sure
        return


def _ranges_like(cells: list[Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield a finding if ranges of whole numbers may be ZIP codes with the same first three digits."""
    ranges = [parse_range(cell) for cell in cells if isinstance(cell, str)]
    ends = [(a, b) for a, b in filter(None, ranges) if a.is_integer() and 10_000 <= a <= b < 100_000]
    if len(ends) < max(MOST * len(cells), 1) or round_numbers([int(n) for pair in ends for n in pair]):
        return
    if (close := sum(a < b and a // 100 == b // 100 for a, b in ends)) and all(_zip(int(a)) for a, _ in ends):
        yield "geography", f"{close} of its ranges lie within the first three digits of ZIP codes", False


def round_numbers(numbers: list[int]) -> bool:
    return sum(n % _ROUND == 0 for n in numbers) > _ROUNDED * len(numbers)


def whole_number(cell: Any) -> int | None:
    if isinstance(cell, bool):
        return None
    if isinstance(cell, str):
        text = cell.strip()
        return int(text) if re.fullmatch(r"\d{4,16}", text) else None
    if isinstance(cell, (int, float)) and cell == cell and abs(cell) < 1e16 and cell >= 0:
        return int(cell) if float(cell).is_integer() else None
    return None
