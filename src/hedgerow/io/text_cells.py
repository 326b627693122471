"""Infer the types of text columns, and write values as text that no spreadsheet would execute.

A column's type is inferred from all of its values.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..columns.arrays import (
    as_text,
    decimals,
    indexed,
    is_number,
    is_text,
    kind_of,
    mostly_distinct,
    python_texts,
    trial,
    value_class,
)
from .file_format import Dialect

ISO_DATE = r"^\d{4}-\d{2}-\d{2}$"
ISO_TIME = r"^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?$"
_ZONE = r"(Z|[+-]\d{2}:?\d{2})$"
# The time of day behind a local date, and what says of 10:15 that it is in the morning.
_CLOCK, _HALF = r"( \d{1,2}:\d{2}(:\d{2})?( ?[AaPp][Mm])?)?$", r"[AaPp][Mm]$"
_DOTTED, _COMPACT = rf"^\d{{1,2}}\.\d{{1,2}}\.\d{{4}}{_CLOCK}", r"^(1[6-9]|2[01])\d{6}$"
_LOCAL = {
    _DOTTED: ("%d.%m.%Y",),
    rf"^\d{{1,2}}/\d{{1,2}}/\d{{4}}{_CLOCK}": ("%d/%m/%Y", "%m/%d/%Y"),
    rf"^\d{{1,2}}-\d{{1,2}}-\d{{4}}{_CLOCK}": ("%d-%m-%Y", "%m-%d-%Y"),
    rf"^\d{{4}}/\d{{1,2}}/\d{{1,2}}{_CLOCK}": ("%Y/%m/%d",),
    _COMPACT: ("%Y%m%d",),
}
LOOKS_LIKE_DATE = "|".join((ISO_DATE, ISO_TIME, *_LOCAL))
_BOOLEANS = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))
# Text that means missing in a column whose other values are all numbers or dates.
MARKERS = (
    "", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", ".", "-", "--", "#N/A",
    "#NA", "#NV", "<NA>", "NaT", "n.a.", "N.A.", "k.A.", "k. A.", "k.A", "kA", "s/d", "s.d.",
)  # fmt: skip
_INTEGER = r"^-?(0|[1-9]\d{0,17})$"
_FLOAT = r"^-?((0|[1-9]\d{0,17})|(0|[1-9]\d*)\.\d*|\.\d+)([eE][+-]?\d+)?$"
_FLOATS = rf"({_FLOAT})|(^[+-]?[iI]nf(inity)?$)"
_COMMA = r"^-?((0|[1-9]\d*)(,\d*)?|,\d+)([eE][+-]?\d+)?$"
# By the decimal sign: numbers with signs between thousands, and what no other number looks like.
_GROUPED = {
    ",": (r"^-?([1-9]\d{0,2}(\.\d{3})+|0|[1-9]\d*)(,\d*)?$", r"\.\d{3},|[.].*[.]"),
    ".": (r"^-?([1-9]\d{0,2}(,\d{3})+|0|[1-9]\d*)(\.\d*)?$", r",\d{3}\.|[,].*[,]"),
}
_SPACE = r"(\d)(['’\x{a0}\x{202f} ])(\d{3})"
_SPACED = r"^-?[1-9]\d{0,2}(['’\x{a0}\x{202f} ]\d{3})+([.,]\d*)?$"
# What tells thousands from keys such as 612 345 678.
_NOT_A_KEY = r"\d['’\x{a0}\x{202f}]\d{3}| \d{3}[.,]\d"
# Signs and names of currencies, before or after an amount.
_CURRENCY = (
    r"[A-Z]{0,2}\$|[€£¥₹₽₺₩]|\b(EUR|USD|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|HUF|RON|TRY|AUD|CAD|NZD|BRL|MXN|INR|ZAR)\b"
    r"|\b(Euro|DM|kr)\b|\bFr\.|zł|Kč|Ft"
)
# Numbers that are thousands where the sign stands between these, and fractions where it does not.
_EITHER = {sign: rf"^-?(0|[1-9]\d{{0,2}}(\{sign}\d{{3}})?)$" for sign in ".,"}
# Characters of -122.807, which may be thousands or a fraction.
_LONGEST_THOUSANDS = 8
# A number as `notation.number` writes it, without zeros at its end: 1.000 and 1,000 may be thousands.
_SHORT = {sign: rf"-?\d+([{sign}]\d*[1-9])?(e[+-]\d+)?" for sign in ".,"}
# By the decimal sign: a numeric cell of a release, perhaps behind an apostrophe as `escape_cells` puts it.
_NUMERIC_CELL = {
    sign: rf"^'*(\*|\(missing\)|({n}|\[({n})?-({n})?[\])])(:\d+)?(\+\(missing\)(:\d+)?)?)$"
    for sign, n in _SHORT.items()
}
_RISKY = r"^'*[=+\-@\t\r]"
_ESCAPED = r"^'+[=+\-@\t\r]"
_PLAIN_NUMBER = r"^'*[+-](\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?$"


def all_match(texts: pa.Array, pattern: str) -> bool:
    """Return whether every non-missing text matches; the first few are tried before the rest."""
    # most patterns fail within the first rows
    if len(texts) > 1000 and not all_match(texts.slice(0, 1000), pattern):
        return False
    return bool(pc.all(pc.match_substring_regex(texts, pattern), min_count=0).as_py())


def has_decimals_in(texts: Any, sign: str, dialect: Dialect) -> bool:
    """Return whether a released column of text has numbers and ranges alone, some of them with this decimal sign.

    Where commas separate the fields and numbers have a point, the answer is no.
    """
    has_points = dialect.delimiter == "," != dialect.decimal
    if not is_text(texts.type) or has_points or not all_match(texts, _NUMERIC_CELL[sign]):
        return False
    return bool(pc.any(pc.match_substring(texts, sign)).as_py())


def parse_iso(texts: pa.Array) -> pa.Array | None:
    """Parse ISO dates as date32, and ISO dates with times as timestamps; None if any text is neither."""
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
    """Return ISO dates and times as microseconds since 1970; without an offset they are in time zone `zone`.

    Raises
    ------
    pyarrow.ArrowInvalid
        The clocks show one of them twice or never.

    Examples
    --------
    >>> instants(["1970-01-02T00:00", "1970-01-02T00:00+01:00"], "Asia/Tokyo").tolist()
    [54000000000, 82800000000]
    """
    microseconds_since = []
    for text in texts:
        moment = dt.datetime.fromisoformat(text)
        clock = pa.scalar(moment.replace(tzinfo=None), pa.timestamp("us"))
        if (offset := moment.utcoffset()) is not None:
            clock = pc.subtract(clock, pa.scalar(offset, pa.duration("us")))
        elif zone:
            clock = pc.assume_timezone(clock, zone, ambiguous="raise", nonexistent="raise")
        microseconds_since.append(clock.cast(pa.int64()).as_py())
    return np.array(microseconds_since, np.int64)


def parse_dates(texts: pa.Array) -> pa.Array | None:
    """Parse dates in ISO and local forms, each cell in its own; None if days and months of a form can be exchanged."""
    texts = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    texts = rest = pc.if_else(pc.equal(texts, ""), None, texts)
    if (parsed := parse_iso(texts)) is not None:
        return parsed
    local = pa.nulls(len(texts), pa.date32())
    for pattern, formats in _LOCAL.items():
        fits = pc.match_substring_regex(texts, pattern)
        if pc.any(fits).as_py():
            some = pc.if_else(fits, texts, None)
            read = [days for form in formats if (days := days_of(some, form)) is not None]
            if len(read) != 1:
                return None
            kind = read[0].type if pa.types.is_timestamp(read[0].type) else local.type
            local, rest = pc.coalesce(local.cast(kind), read[0].cast(kind)), pc.if_else(fits, None, rest)
    parsed = parse_iso(rest)
    if parsed is None or getattr(parsed.type, "tz", None):
        return None
    kind = parsed.type if pa.types.is_timestamp(parsed.type) else local.type
    return pc.coalesce(local.cast(kind), parsed.cast(kind))


def parse_integers(numbers: pa.Array) -> pa.Array | None:
    """Parse whole numbers such as 20201231 as dates; None if any of them is none."""
    try:
        texts = numbers.cast(pa.int64()).cast(pa.string())
    except pa.ArrowInvalid:
        return None
    return days_of(texts, "%Y%m%d") if all_match(texts, _COMPACT) else None


def date_style(texts: pa.Array) -> str:
    """Return how most of some different dates or times are written; empty for 2020-12-31 and 2020-12-31 14:15:00.

    It is a ``strftime`` format, in which %- stands before numbers without a zero in front, and decimals of seconds and
    the offset from UTC are written out.

    Examples
    --------
    >>> date_style(pa.array(["1.2.2020", "12.11.2020"])), date_style(pa.array(["2020-12-31T14:15+01:00"]))
    ('%-d.%-m.%Y', '%Y-%m-%dT%H:%M+01:00')
    """
    bare = pc.utf8_trim_whitespace(texts.cast(pa.string())).drop_null().unique()
    style, times = "", _matching(bare, ISO_TIME)
    n_most = len(times) + len(_matching(bare, ISO_DATE))
    if 2 * len(times) > n_most:
        style = _time_style(times)
    for pattern, formats in _LOCAL.items():
        if len(some := _matching(bare, pattern)) > n_most:
            n_most, style = len(some), next((form for form in formats if days_of(some, form) is not None), "")
            if len(_matching(some, r"^\S*\b\d\b")) > len(_matching(some, r"^\S*\b0\d\b")):
                style = style.replace("%d", "%-d").replace("%m", "%-m")
            style += _clock_style(_matching(some, ":")) if style else ""
    return style


def _clock_style(times: pa.Array) -> str:
    """Return how most of some different local times write the time of day, with a blank before it; empty for none."""
    n_half, half = len(_matching(times, _HALF)), len(times) / 2
    hour = "I" if n_half > half else "H"
    hour = f"-{hour}" if len(_matching(times, r" \d:")) > len(_matching(times, r" 0\d:")) else hour
    seconds = ":%S" if len(_matching(times, r":\d\d:")) > half else ""
    which = (" %p" if len(_matching(times, rf" {_HALF}")) > half else "%p") if n_half > half else ""
    return f" %{hour}:%M{seconds}{which}" if len(times) else ""


def _time_style(times: pa.Array) -> str:
    """Return how most of some different ISO times are written; empty for 2020-12-31 14:15:00, also with Z."""
    half = len(times) / 2
    between = "T" if len(_matching(times, "T")) > half else " "
    seconds = ":%S" if len(_matching(times, r"^.{16}:")) > half else ""
    digits = max(range(10), key=lambda n: len(_matching(times, rf"\.\d{{{n}}}(\D|$)" if n else r"^[^.]*$")))
    zones = pc.replace_substring_regex(times, rf"^.{{16}}[:.\d]*{_ZONE[:-1]}?$", r"\1").value_counts().to_pylist()
    zone = min(zones, key=lambda each: (-each["counts"], each["values"]))["values"]
    style = f"%Y-%m-%d{between}%H:%M{seconds}{'.' * (digits > 0)}{'0' * digits}{zone}"
    return "" if style in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%SZ") else style


def _matching(texts: pa.Array, pattern: str) -> pa.Array:
    """Return the texts in which a pattern occurs."""
    return texts.filter(pc.match_substring_regex(texts, pattern))


def styled(moments: pa.Array, style: str) -> pa.Array:
    """Return days or times as text in the style that `date_style` returns.

    Raises
    ------
    pyarrow.ArrowInvalid
        A local style has no place for parts of seconds.
    """
    day, _, clock = style.partition(" ")
    if ":" in style and day.startswith("%Y-%m-%d"):
        return _styled_times(moments, style)
    seconds = moments.cast(pa.timestamp("s"))
    texts = pc.strftime(seconds, format=day.replace("%-", "%"))
    texts = pc.replace_substring_regex(texts, r"\b0(\d)\b", r"\1") if "%-" in day else texts
    if not clock:
        return texts
    form = clock.replace("%-", "%")
    clocks = pc.strftime(seconds, format=form)
    if "%S" not in form:
        longer = pc.strftime(seconds, format=form.replace("%M", "%M:%S"))
        clocks = pc.if_else(pc.equal(pc.second(seconds), 0), clocks, longer)
    clocks = pc.replace_substring_regex(clocks, r"^0", "") if "%-" in clock else clocks
    return concat(texts, " ", clocks)


def _styled_times(times: pa.Array, style: str) -> pa.Array:
    """Return times as text in the style that `date_style` returns, with what more they need of seconds."""
    form, zone = re.fullmatch(rf"(.*?){_ZONE[:-1]}?", style).groups()  # type: ignore[union-attr]
    if not times.type.tz:
        zone = ""
    clock = times.cast(pa.timestamp("us"))
    if zone and zone != "Z":
        clock = pc.add(clock, pa.scalar(dt.datetime.strptime(zone, "%z").utcoffset(), pa.duration("us")))
    texts = pc.replace_substring_regex(clock.cast(pa.string()), rf"(\.\d{{{form.count('0')}}}\d*?)0+$", r"\1")
    texts = pc.replace_substring_regex(texts, r"\.$", "")
    if "%S" not in form:
        texts = pc.replace_substring_regex(texts, r"^(.{16}):00$", r"\1")
    return concat(pc.replace_substring(texts, " ", form[8]), zone or "")


def days_of(texts: pa.Array, form: str) -> pa.Array | None:
    """Parse texts as dates, or as times if any has one; None if any of them is not a real date, such as 31.02.2020.

    `form` is that of the day, as in 31.12.2020 10:15.
    """
    read, same = _days(texts, form)
    if read.null_count > texts.null_count or not pc.all(same, min_count=0).as_py():
        return None
    return read.cast(pa.timestamp("us") if _some_match(texts, ":") else pa.date32())


def _days(texts: pa.Array, form: str) -> tuple[pa.Array, pa.Array]:
    """Return texts as times, and which of them are real dates, perhaps with a time of day."""
    # some systems take 31 February for a day of March
    padded = pc.replace_substring_regex(texts, r"\b(\d)\b", r"0\1")
    if not _some_match(texts, ":"):
        read = pc.strptime(padded, format=form, unit="s", error_is_null=True)
        return read, pc.equal(pc.strftime(read, format=form), padded)
    padded = pc.replace_substring_regex(padded, r"^(\S+)$", r"\1 00:00:00")
    padded = pc.replace_substring_regex(padded, rf"^(\S+ \d+:\d+)( ?{_HALF[:-1]})?$", r"\1:00\2")
    padded = pc.utf8_upper(pc.replace_substring_regex(padded, rf" ?({_HALF})", r" \1"))
    halves = pc.match_substring_regex(padded, _HALF)
    reals = []
    for which, clock in ((pc.invert(halves), "%H:%M:%S"), (halves, "%I:%M:%S %p")):
        read = pc.strptime(pc.if_else(which, padded, None), format=f"{form} {clock}", unit="s", error_is_null=True)
        reals.append((read, pc.equal(pc.strftime(read, format=f"{form} {clock}"), padded)))
    return pc.coalesce(reals[0][0], reals[1][0]), pc.coalesce(reals[0][1], reals[1][1])


def are_dates(texts: pa.Array) -> pa.Array:
    """Return which texts are real dates, each form with day and month in the order in which most of its texts are."""
    bare = pc.utf8_trim_whitespace(texts.cast(pa.string()))
    are = pc.match_substring_regex(bare, ISO_TIME)
    are = pc.or_(
        are, pc.fill_null(_days(pc.if_else(pc.match_substring_regex(bare, ISO_DATE), bare, None), "%Y-%m-%d")[1], False)
    )
    for pattern, formats in _LOCAL.items():
        fits = pc.match_substring_regex(bare, pattern)
        each = [pc.and_(fits, pc.fill_null(_days(bare, form)[1], False)) for form in formats]
        are = pc.or_(are, max(each, key=lambda real: pc.sum(real).as_py() or 0))
    return are


def infer_types(texts: Mapping[str, pa.ChunkedArray], dialect: Dialect) -> tuple[dict[str, pa.ChunkedArray], Dialect]:
    """Return a text file's columns with inferred types, and the dialect with its number and date style.

    A column whose numbers can be read in two ways follows the other columns: next to 3,50 the text
    22.807 is a whole number.

    Parameters
    ----------
    texts : mapping of str to pyarrow.ChunkedArray
        The columns as they stand, or their distinct values.
    dialect : Dialect
        How the file is written as far as that is known, with what its reader declared.
    """
    open_dialect = replace(dialect, decimal="")
    inferred = {name: infer_type(column, open_dialect) for name, column in texts.items()}
    columns = {name: column for name, (column, _) in inferred.items()}
    notes = {name: note for name, (_, note) in inferred.items()}
    places, currencies, styles = (
        {name: note.pop(field, None) for name, note in notes.items()} for field in ("places", "currency", "style")
    )
    unsure = {name: note.pop("either") for name, note in notes.items() if "either" in note}
    signs = {n: note["decimal"] for n, note in notes.items() if "decimal" in note}
    either = {*unsure, *(name for name, note in notes.items() if note.pop("thousands", False))}
    commas, points = (list(signs.values()).count(sign) for sign in ",.")
    decimal = dialect.declared_decimal or ("," if commas and commas >= points else "." if points else "")
    dialect = replace(dialect, unsure=() if decimal else tuple(unsure))
    if not decimal:
        decimal = "," if "," in unsure.values() and dialect.delimiter != "," else "."
    dialect_notes: dict[str, Any] = {k: v for note in notes.values() for k, v in note.items()}
    mixed = tuple(name for name, sign in signs.items() if sign != decimal)
    dialect = replace(dialect, **dialect_notes | {"decimal": decimal, "mixed": mixed, "either": tuple(sorted(either))})
    for name in unsure:
        columns[name], note = infer_type(texts[name], dialect)
        places[name] = note.get("places")
    by_column: list[Any] = [tuple((k, v) for k, v in each.items() if v) for each in (places, currencies, styles)]
    return columns, replace(dialect, places=by_column[0], currencies=by_column[1], styles=by_column[2])


def spelling_matters(
    name: str, kind: pa.DataType, kinds: Mapping[str, str], categories: Mapping[str, Collection[str]]
) -> bool:
    """Return whether a column declared as a category was read as a number, date or boolean."""
    read_as = kind_of(kind)
    other = read_as == "numeric" or (categories.get(name) and read_as in ("date", "boolean"))
    return bool(other) and kinds.get(name) in ("categorical", "ordinal")


def spelled_texts(
    texts: pa.ChunkedArray, column: pa.ChunkedArray, dialect: Dialect, categories: Collection[str] | None
) -> pa.ChunkedArray | None:
    """Return a column's texts as spelled, markers as missing; None if the parsed column may stay."""
    bare = pc.utf8_trim_whitespace(texts)
    words = pa.array([*MARKERS, *dialect.missing])
    bare = pc.if_else(pc.is_in(bare, value_set=words), pa.scalar(None, bare.type), bare)
    index, entries = indexed(bare)
    first = np.zeros(len(entries) + 1, np.int64)
    first[index[::-1]] = np.arange(len(index))[::-1]  # written backwards, so the first row stays
    converted = as_text(pa.concat_arrays(column.take(pa.array(first[:-1])).chunks))
    points = pc.replace_substring(entries, ",", ".") if dialect.decimal == "," else entries
    number = kind_of(column.type) == "numeric"
    if number and points.equals(converted.cast(points.type)):
        return None
    if categories is not None:
        as_spelled, as_converted = (
            sum(text in categories for text in each.to_pylist()) for each in (entries, converted)
        )
        if as_spelled < as_converted or (as_spelled == as_converted and not number):
            return None
    return bare


def infer_type(texts: pa.ChunkedArray, dialect: Dialect | None = None) -> tuple[pa.ChunkedArray, dict[str, Any]]:
    """Return a text column as numbers, booleans or dates if every value is one; otherwise unchanged.

    Numbers with leading zeros or plus signs, and whole numbers of more than 18 digits, count as
    codes and stay text. The dialect's words for missing values become missing.

    Returns
    -------
    column : pyarrow.ChunkedArray
    notes : dict
        The dialect of the cells: ``decimal``, ``booleans``, ``style`` of dates. For numbers that can be read in two
        ways, ``either`` is the separator that they contain, and ``places`` their number of decimals;
        ``thousands`` if a cell is a number with signs between thousands, or could be one; ``currency``: the sign or
        name of the one currency that all cells are in.
    """
    dialect = dialect or Dialect(delimiter="", decimal="")
    index, entries = _distinct(texts)
    bare = pc.utf8_trim_whitespace(entries)
    is_missing_word = pc.is_in(bare, value_set=pa.array(dialect.missing, pa.string()))
    marker = pc.or_(is_missing_word, pc.is_in(bare, value_set=pa.array(MARKERS)))
    present = bare.filter(pc.invert(marker))
    if present.null_count == len(present):
        # Nothing at all is a missing column; markers alone are what the text says.
        if texts.null_count == len(texts) or pc.all(is_missing_word).as_py():
            return pa.chunked_array([pa.nulls(len(texts))]), {}
        return _without_words(texts, index, is_missing_word), {}
    present, currency = _without_currency(present)
    parsed, notes = _parse(present, dialect)
    if parsed is None or (currency and not is_number(parsed.type)):
        return _without_words(texts, index, is_missing_word), {}
    if currency:
        notes["currency"] = currency
    if pa.types.is_floating(parsed.type) and (decimals_each := _places(present)):
        notes["places"] = decimals_each
    if "decimal" in notes and notes.get("places", 3) == 3:
        # of long cells few are left to match
        short = present.filter(pc.less_equal(pc.binary_length(present), _LONGEST_THOUSANDS))
        notes.setdefault("thousands", _some_match(short, r"^-?\d{1,3}[.,]\d{3}$"))
    # from the cell to its distinct value, and on to that among the present ones
    place = np.append(np.where(marker, -1, np.cumsum(~np.asarray(marker)) - 1), -1)[index]
    return pa.chunked_array([parsed.take(pa.array(place, mask=place < 0))]), notes


def _without_currency(texts: pa.Array) -> tuple[pa.Array, str]:
    """Return amounts of money without their one currency, such as 4.506,71 EUR, and it; other texts as they are."""
    unit = re.search(_CURRENCY, texts.drop_null()[0].as_py())
    sign = unit and re.escape(unit[0])
    amount = r"[-+]?\d[^\p{L}€$£¥]*"
    if unit is None or not all_match(texts, rf"^([-+]? ?{sign}\s*{amount}|{amount}{sign})$"):
        return texts, ""
    bare = pc.utf8_trim_whitespace(pc.replace_substring(texts, unit[0], ""))
    return pc.replace_substring_regex(bare, r"^([-+])\s+", r"\1"), unit[0]


def _without_words(texts: pa.ChunkedArray, index: Any, is_word: pa.Array) -> pa.ChunkedArray:
    """Return a column's texts, with null for each cell whose distinct value `is_word` marks."""
    missing = np.append(np.asarray(is_word), False)[index]
    return pc.if_else(pa.array(~missing), texts, None) if missing.any() else texts


def _distinct(texts: pa.ChunkedArray) -> tuple[Any, pa.Array]:
    """Return each cell's position among the distinct texts, and these; all texts if most are distinct."""
    n = len(texts)
    # hashing half a million different texts takes longer than matching all of them
    if mostly_distinct(len(texts.slice(0, trial(n)).unique()), n):
        flat = texts.combine_chunks()
        if isinstance(flat, pa.Array):
            return np.where(flat.is_valid().to_numpy(zero_copy_only=False), np.arange(len(flat)), -1), flat
    return indexed(texts)


def _parse(values: pa.Array, dialect: Dialect) -> tuple[pa.Array | None, dict[str, Any]]:
    """Parse distinct texts to the narrowest type that holds them all; None if only the text type does."""
    # one character of one value spares columns of names a dozen patterns
    if values.drop_null()[0].as_py()[:1] in "-+.,0123456789iI":
        if all_match(values, _INTEGER):
            return values.cast(pa.int64()), {}
        for sign, pattern in _EITHER.items():
            if all_match(values, pattern):
                other = "," if sign == "." else "."
                read_as = dialect.decimal or (sign if sign == "." or dialect.delimiter != "," else other)
                return _ungrouped(values, read_as), {"either": sign}
        if (sign := dialect.declared_decimal) and _some_match(values, r"[.,]\d{3}"):
            between = "," if sign == "." else "."
            if _some_match(values, rf"\{between}") and all_match(values, _GROUPED[sign][0]):
                return _ungrouped(values, sign), {"decimal": sign}
        if all_match(values, _FLOATS):
            return _floats(values), {"decimal": "."} if _some_match(values, r"\.") else {}
        if (dialect.delimiter != "," or dialect.declared_decimal == ",") and all_match(values, _COMMA):
            return _floats(pc.replace_substring(values, ",", ".")), {"decimal": ","}
        if all_match(values, rf"({_SPACED})|({_FLOAT})|({_COMMA})") and _some_match(values, _NOT_A_KEY):
            plain = values
            while _some_match(plain, _SPACE):  # a digit may stand between two of them
                plain = pc.replace_substring_regex(plain, _SPACE, r"\1\3")
            for decimal, pattern in ((".", _FLOAT), (",", _COMMA)):
                if all_match(plain, pattern):
                    return _ungrouped(plain, decimal), {"decimal": decimal} if _some_match(plain, r"[.,]") else {}
        for decimal, (pattern, telling) in _GROUPED.items():
            if all_match(values, pattern) and _some_match(values, telling):
                return _ungrouped(values, decimal), {"decimal": decimal, "thousands": True}
        if all_match(values, _DOTTED) and (days := days_of(values, *_LOCAL[_DOTTED])) is not None:
            return days, {"style": date_style(values)}
    for false, true in _BOOLEANS:
        if pc.all(pc.is_in(values, value_set=pa.array([false, true]))).as_py():
            return pc.equal(values, true), {"booleans": (false, true)}
    parsed = parse_iso(values)
    has_times = parsed is not None and pa.types.is_timestamp(parsed.type)
    return parsed, {"style": date_style(values)} if has_times else {}


def _places(numbers: pa.Array) -> int:
    """Return the number of decimal places if all numbers are written with the same number; otherwise 0."""
    if (match := re.search(r"[.,](\d+)$", numbers.drop_null()[0].as_py())) is None:
        return 0
    return len(match[1]) if all_match(numbers, rf"[.,]\d{{{len(match[1])}}}$") else 0


def _some_match(texts: pa.Array, pattern: str) -> bool:
    """Return whether at least one text contains a match of the pattern."""
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def _ungrouped(texts: pa.Array, decimal: str) -> pa.Array | None:
    """Parse numbers after removing the thousands separators, as integers if all are whole."""
    points = pc.replace_substring(pc.replace_substring(texts, "." if decimal == "," else ",", ""), decimal, ".")
    return points.cast(pa.int64()) if all_match(points, _INTEGER) else _floats(points)


def _floats(texts: pa.Array) -> pa.Array | None:
    """Parse numbers as doubles, or as decimals if doubles cannot hold them exactly; None if neither can."""
    try:
        exact = decimals(texts)
    except pa.ArrowInvalid:
        return None
    return texts.cast(pa.float64()) if exact is None else exact


def cell_text(array: pa.Array, dialect: Dialect | None = None, places: int = 0, style: str = "") -> pa.Array:
    """Return values as the text of CSV cells, before quoting; missing values stay missing.

    Parameters
    ----------
    array : pyarrow.Array
        Plain values, no dictionary.
    dialect : Dialect, optional
        How booleans and decimals are written.
    places : int
        Decimals that a number has at least.
    style : str
        How dates and times are written (`date_style`).
    """
    dialect = dialect or Dialect()
    kind = array.type
    if pa.types.is_boolean(kind):
        false, true = dialect.booleans
        cells = pc.if_else(array, true, false)
    elif pa.types.is_floating(kind):
        cells = _padded(pc.if_else(pc.is_nan(array), None, array).cast(pa.large_string()), places)
    elif style and ((pa.types.is_date(kind) and ":" not in style) or (pa.types.is_timestamp(kind) and ":" in style)):
        cells = styled(array, style)
    elif value_class(kind) in ("bytes", "other") or isinstance(kind, pa.BaseExtensionType):
        cells = pa.array(python_texts(array), pa.large_string())
    else:
        cells = array.cast(pa.large_string() if is_text(kind) else pa.string())
        # whole seconds have no fraction in the file
        if pa.types.is_timestamp(kind):
            cells = pc.replace_substring_regex(cells, r"\.0+(Z?)$", r"\1")
    if is_number(kind) and dialect.decimal != ".":
        cells = pc.replace_substring(cells, ".", dialect.decimal)
    return cells.cast(pa.large_string())


def _padded(numbers: pa.Array, places: int) -> pa.Array:
    """Pad numbers with zeros to `places` decimals; numbers with an exponent are unchanged."""
    if not places:
        return numbers
    point = pc.find_substring(numbers, ".")
    there = pc.subtract(pc.utf8_length(numbers).cast(pa.int32()), pc.add(point, 1))
    there = pc.if_else(pc.less(point, 0), 0, pc.min_element_wise(there, places))
    there = pc.if_else(pc.match_substring_regex(numbers, r"^-?\d+(\.\d+)?$"), there, places)
    ends = ["." + "0" * places, *("0" * (places - n) for n in range(1, places + 1))]
    zeros = pa.array(ends, numbers.type).take(there.fill_null(0))
    return pc.binary_join_element_wise(numbers, zeros, pa.scalar("", numbers.type))


def concat(*parts: Any) -> Any:
    """Join text arrays and constant strings row by row."""
    kind = next(part.type for part in parts if not isinstance(part, str))
    same = [pa.scalar(part, kind) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*same, pa.scalar("", kind))


def unused_name(name: str, used: Iterable[str]) -> str:
    """Return a name with underscores appended until it differs from every used one, ignoring case."""
    folded = {each.casefold() for each in used}
    while name.casefold() in folded:
        name += "_"
    return name


def _is_risky(texts: Any, pattern: str) -> Any:
    risky = pc.match_substring_regex(texts, pattern)
    return pc.and_not(risky, pc.match_substring_regex(texts, _PLAIN_NUMBER))


def escape_cells(texts: Any) -> Any:
    """Put an apostrophe before every text that a spreadsheet would execute as a formula.

    Text that already has apostrophes before such a sign gets one more, so that `unescape_cells`
    restores exactly the original. Plain numbers are not changed.

    Examples
    --------
    >>> import pyarrow as pa
    >>> escape_cells(pa.array(["=1+1", "-5", "'=x", "cook"])).to_pylist()
    ["'=1+1", '-5', "''=x", 'cook']
    """
    chosen = _is_risky(texts, _RISKY)
    return texts if not pc.any(chosen).as_py() else pc.if_else(chosen, concat("'", texts), texts)


def unescape_cells(texts: Any) -> Any:
    """Remove the apostrophes that `escape_cells` added."""
    chosen = _is_risky(texts, _ESCAPED)
    return texts if not pc.any(chosen).as_py() else pc.if_else(chosen, pc.utf8_slice_codeunits(texts, 1), texts)


def unescape_names(names: Sequence[str]) -> list[str]:
    """Remove the apostrophes that `escape_cells` added to column names."""
    return unescape_cells(pa.array(names, pa.string())).to_pylist()
