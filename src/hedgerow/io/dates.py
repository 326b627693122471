"""Text that holds dates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

DAY = 86_400_000_000
"""Microseconds in a day."""

ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
ISO_TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$"
_ZONE = r"(Z|[+-]\d{2}:?\d{2})$"
DOTTED, DOTTED_DAYS = r"^\d{1,2}\.\d{1,2}\.\d{4}$", "%d.%m.%Y"
_LOCAL = {
    DOTTED: (DOTTED_DAYS,),
    r"^\d{1,2}/\d{1,2}/\d{4}$": ("%d/%m/%Y", "%m/%d/%Y"),
}

LOOKS_LIKE_DATE = "|".join((ISO_DATE, ISO_TIME, *_LOCAL))


def all_match(texts: pa.Array, pattern: str) -> bool:
    """Whether every non-missing text matches; the first ones often tell that they do not."""
    if len(texts) > 1000 and not all_match(texts.slice(0, 1000), pattern):
        return False
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def parse_iso(texts: pa.Array) -> pa.Array | None:
    """ISO dates as date32, ISO times as timestamps; None when any text is neither."""
    try:
        if all_match(texts, ISO_DATE):
            return texts.cast(pa.date32())
        if all_match(texts, f"({ISO_DATE})|({ISO_TIME})"):
            zoned = pc.match_substring_regex(texts, _ZONE)
            times = pc.match_substring_regex(texts, ISO_TIME)
            if pc.all(zoned, min_count=0).as_py():
                return texts.cast(pa.timestamp("us", tz="UTC"))
            if not pc.any(pc.and_(zoned, times)).as_py():
                return texts.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
    return None


def instants(texts: Sequence[str], zone: str) -> NDArray[np.int64]:
    """ISO dates and times in microseconds since 1970; without an offset, by the clocks of a zone.

    Raises
    ------
    pyarrow.ArrowInvalid
        The clocks show one of them twice or never.

    Examples
    --------
    >>> instants(["1970-01-02T00:00", "1970-01-02T00:00+01:00"], "Asia/Tokyo").tolist()
    [54000000000, 82800000000]
    """
    made = []
    for text in texts:
        moment = dt.datetime.fromisoformat(text)
        clock = pa.scalar(moment.replace(tzinfo=None), pa.timestamp("us"))
        offset = moment.utcoffset()
        if offset is not None:
            clock = pc.subtract(clock, pa.scalar(offset, pa.duration("us")))
        elif zone:
            clock = pc.assume_timezone(clock, zone, ambiguous="raise", nonexistent="raise")
        made.append(clock.cast(pa.int64()).as_py())
    return np.array(made, np.int64)


def parse_dates(texts: pa.Array) -> pa.Array | None:
    """Dates in ISO, ``31.12.2020``, or slashes where one order alone reads them all."""
    texts = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    parsed = parse_iso(texts)
    if parsed is not None:
        return parsed
    for pattern, formats in _LOCAL.items():
        if all_match(texts, pattern):
            read = [days for form in formats if (days := days_of(texts, form)) is not None]
            if len(read) == 1:
                return read[0]
    return None


def days_of(texts: pa.Array, form: str) -> pa.Array | None:
    """Texts such as 31.12.2020 as days; None where one is none, such as 31.02.2020."""
    read = pc.strptime(texts, format=form, unit="s", error_is_null=True)
    # some systems take 31 February for a day of March
    padded = pc.replace_substring_regex(texts, r"\b(\d)\b", r"0\1")
    same = pc.all(pc.equal(pc.strftime(read, format=form), padded), min_count=0).as_py()
    if read.null_count > texts.null_count or not same:
        return None
    return read.cast(pa.date32())
