"""The identifiers of HIPAA's Safe Harbor in a released table, by names of columns and what cells look like."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..notation import parse_dates, parse_range
from ..table import Table
from ..table.profile import ColumnProfile, profile
from ..table.rowhash import value_class
from ..table.vocabulary import tokens

OLDEST = 89
"""The last age that stands by itself."""
FEW_PEOPLE = frozenset(
    {
        *("036", "059", "063", "102", "203", "556", "692", "790", "821"),
        *("823", "830", "831", "878", "879", "884", "890", "893"),
    }
)
"""First digits of ZIP codes where 20,000 people or fewer lived, by the census of 2000."""
_MOST = 0.9
"""Share of a column's distinct cells that look like ZIP codes."""

_WORDS: Mapping[str, str] = {
    "names": "surname lastname firstname fullname forename maidenname middlename givenname nickname "
    "patientname username initials fname lname namefirst namelast",
    "geography": "zip zipcode postcode postal street address city town county precinct district "
    "village geocode latitude longitude lat lon lng tract block parish",
    "dates": "birthdate birthday dob admission discharge deathdate dateofdeath admitdate",
    "telephone": "phone telephone tel mobile cell cellphone",
    "fax": "fax",
    "email": "email mail",
    "social security": "ssn socialsecurity",
    "medical record": "mrn medicalrecord recordnumber patientid patientnumber chart",
    "health plan": "beneficiary healthplan memberid insuranceid insurancenumber medicareid subscriber",
    "account": "account accountnumber iban bankaccount cardnumber",
    "licence": "licence license certificate passport",
    "vehicle": "vin plate licenseplate vehicle",
    "device": "device deviceid imei serial serialnumber implant",
    "url": "url website homepage web",
    "ip": "ip ipaddress mac",
    "biometric": "fingerprint voiceprint iris retina biometric faceid dna genome",
    "photograph": "photo photograph picture portrait image",
}
_LOOKS: Mapping[str, str] = {
    "telephone": r"^(\+?1[ .-]?)?(\(\d{3}\) ?|\d{3}[.-])\d{3}[.-]\d{4}$|^\+\d{1,3}[\d ()/.-]{7,}$",
    "email": r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}",
    "social security": r"^\d{3}-\d{2}-\d{4}$",
    "account": r"^[A-Z]{2}\d{2} ?([A-Z0-9]{4} ?){2,7}[A-Z0-9]{1,4}$",
    "vehicle": r"^(?=.*\d)(?=.*[A-HJ-NPR-Z])[A-HJ-NPR-Z0-9]{17}$",
    "url": r"https?://|^www\.",
    "ip": r"^(\d{1,3}\.){3}\d{1,3}$|^([0-9a-fA-F]{0,4}:){3,7}[0-9a-fA-F]{1,4}$",
    "device": r"^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$",
}
_ZIP, _SHORT_ZIP = re.compile(r"^\d{5}(-\d{4})?$"), re.compile(r"^\d{3}(\*\*|xx|XX)?$")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_UP_TO_31 = r"(0?[1-9]|[12]\d|3[01])"
_DAY = re.compile(
    rf"\b\d{{4}}([-/.])(0?[1-9]|1[0-2])(\1{_UP_TO_31})?\b"
    rf"|\b{_UP_TO_31}([-/.]){_UP_TO_31}\6(\d{{4}}|\d{{2}})\b"
    rf"|\b(0?[1-9]|1[0-2])/\d{{4}}\b"
    rf"|\b({_UP_TO_31}(st|nd|rd|th|\.)?[ -])?{_MONTH}[ -]({_UP_TO_31}(st|nd|rd|th)?,? )?\d{{4}}\b",
    re.IGNORECASE,
)
"""A day or a month with its year, as people write it."""
_AGE = frozenset(["age", "ages", "ageyears", "ageinyears"])
_NOT_YEARS = re.compile(r"month|week|day|hour", re.IGNORECASE)
_POOLED = re.compile(r"\+|>|≥|over|older|above|more|up", re.IGNORECASE)

Cells = list[Any]


def identifiers_found(table: Table) -> dict[str, dict[str, str]]:
    """By kind of identifier, the released columns that hold it, each with why; no value of a cell.

    One cell that is a date, or an age over 89, is enough; of dates inside longer texts, and of eight
    digits in a row, half of a column's distinct cells, unless its name says that it holds dates.

    Examples
    --------
    >>> import pyarrow as pa
    >>> found = identifiers_found(Table(pa.table({"born": ["1950-02-01"], "age": [93]})))
    >>> found["dates"]
    {'born': 'days or months of dates', 'age': 'ages over 89'}
    """
    found: dict[str, dict[str, str]] = {kind: {} for kind in (*_WORDS, "other")}
    described = {each.name: each for each in profile(table)}
    for name in table.names:
        words = tokens(name)
        cells = [cell for cell in table.entries(name).to_pylist() if cell is not None]
        texts = [cell for cell in cells if isinstance(cell, str)]
        shown = any(cell != "*" for cell in cells)
        kinds = {kind: why for kind, why in _by_name(words) if shown and kind not in _CHECKED}
        kinds |= dict(_by_look(texts))
        for kind, judge in _CHECKED.items():
            why = judge(words, cells, value_class(table.types.field(name).type))
            if why:
                kinds[kind] = why
        if not kinds and _names_its_record(described[name]):
            kinds["other"] = described[name].reason
        for kind, why in kinds.items():
            found[kind][name] = why
    return found


def _by_name(words: set[str]) -> Iterator[tuple[str, str]]:
    if words in ({"name"}, {"names"}):  # beside other words it may be a place's or a thing's
        yield "names", "by its name"
    for kind, listed in _WORDS.items():
        if words & set(listed.split()):
            yield kind, "by its name"


def _by_look(texts: Iterable[str]) -> Iterator[tuple[str, str]]:
    listed = list(texts)
    for kind, look in _LOOKS.items():
        pattern = re.compile(look)
        n = sum(1 for text in listed if pattern.search(text))
        if n:
            yield kind, f"{n} of its distinct cells look like it"


def _names_its_record(column: ColumnProfile) -> bool:
    return column.role == "identifier"


def _geography(words: set[str], cells: Cells, sort: str) -> str:
    texts = [str(cell).strip() for cell in cells if cell != "*"]
    if not texts:
        return ""
    named = words & set(_WORDS["geography"].split())
    full = sum(1 for text in texts if _ZIP.match(text))
    postal = words & {"zip", "zipcode", "postcode", "postal"}
    if full and (postal or (sort == "text" and full >= _MOST * len(texts))):
        return f"{full} of its distinct cells look like whole ZIP codes"
    if postal and all(_SHORT_ZIP.match(text) for text in texts):
        few = sum(1 for text in texts if text[:3] in FEW_PEOPLE)
        return f"{few} of its ZIP areas have 20,000 people or fewer" if few else ""
    return "by its name" if named else ""


def _dates(words: set[str], cells: Cells, sort: str) -> str:
    if words & _AGE and any(map(_over, cells)):
        return f"ages over {OLDEST}"
    if sort == "date" and any(_finer(cell.isoformat()[:10]) for cell in cells):
        return "days or months of dates"
    named = bool(words & {*_WORDS["dates"].split(), "date", "birth", "born"})
    texts = [cell.strip() for cell in cells if isinstance(cell, str)]
    if named and sort == "number":
        texts = [f"{cell:.0f}" for cell in cells if cell == cell]
    found = [_day_in(text) for text in texts]
    whole, inside = found.count("whole"), found.count("inside")
    enough = whole or (inside if named else 2 * inside >= len(texts) > 0)
    return "days or months of dates" if enough else ""


def _day_in(text: str) -> str:
    """Whether a text is "whole" a date that says more than its year, holds one "inside", or neither."""
    ends = parse_dates(text)
    if ends is None:
        return "" if not _DAY.search(text) else "whole" if _DAY.fullmatch(text) else "inside"
    if not any(map(_finer, ends)):
        return ""
    return "inside" if text.isdigit() else "whole"  # eight digits may be any number


def _finer(day: str) -> bool:
    """Whether a day says more than its year: the first and the last of a year do not."""
    return len(day) > 4 and day[4:10] not in ("-01-01", "-12-31")


def _over(cell: Any) -> bool:
    """Whether a cell tells an age over 89 more closely than "90 or older"."""
    if isinstance(cell, (dt.date, bytes, bool)) or cell is None:
        return False
    ends = parse_range(str(cell))
    if ends is None:
        text = str(cell)
        ages = [] if _NOT_YEARS.search(text) else [float(n) for n in re.findall(r"\d+", text)]
        most = max(ages, default=0.0)
        return most > OLDEST + bool(_POOLED.search(text))
    low, high = ends
    if high == float("inf"):
        return low > OLDEST + 1
    return high > OLDEST + str(cell).endswith(")")  # [85-90) ends below 90


_CHECKED: Mapping[str, Callable[[set[str], Cells, str], str]] = {
    "geography": _geography,
    "dates": _dates,
}
"""Kinds of which the cells decide as well."""
