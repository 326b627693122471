"""The type of a column of text, decided over all its values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.encode import indexed, mostly_distinct, trial
from ..columns.exact_values import decimals
from .dates import DOTTED, DOTTED_DAYS, all_match, days_of, parse_iso
from .dialect import Dialect

_INTEGER = r"^-?(0|[1-9]\d{0,17})$"
_FLOAT = r"^-?((0|[1-9]\d{0,17})|(0|[1-9]\d*)\.\d*|\.\d+)([eE][+-]?\d+)?$"
_FLOATS = rf"({_FLOAT})|(^[+-]?[iI]nf(inity)?$)"
_COMMA = r"^-?((0|[1-9]\d*)(,\d*)?|,\d+)$"
_GROUPED = {
    ",": (r"^-?([1-9]\d{0,2}(\.\d{3})+|0|[1-9]\d*)(,\d*)?$", r"\.\d{3},|[.].*[.]"),
    ".": (r"^-?([1-9]\d{0,2}(,\d{3})+|0|[1-9]\d*)(\.\d*)?$", r",\d{3}\.|[,].*[,]"),
}
"""By the decimal sign: numbers with signs between thousands, and what no other number looks like."""
_SPACE = r"(\d)(['’\x{a0}\x{202f} ])(\d{3})"
_SPACED = r"^-?[1-9]\d{0,2}(['’\x{a0}\x{202f} ]\d{3})+([.,]\d*)?$"
_NOT_A_KEY = r"\d['’\x{a0}\x{202f}]\d{3}| \d{3}[.,]\d"
"""What tells thousands from keys such as 612 345 678."""
_EITHER = {sign: rf"^-?(0|[1-9]\d{{0,2}}(\{sign}\d{{3}})?)$" for sign in ".,"}
"""Numbers that are thousands where the sign stands between these, and fractions where it does not."""
MARKERS = (
    "", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", ".", "-", "--", "#N/A",
    "#NA", "#NV", "<NA>", "NaT", "n.a.", "N.A.", "k.A.", "k. A.", "k.A", "kA", "s/d", "s.d.",
)  # fmt: skip
"""Text that means missing in a column whose other values are all numbers or dates."""
_BOOLEANS = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))


def typed_columns(
    texts: Mapping[str, pa.ChunkedArray], dialect: Dialect
) -> tuple[dict[str, pa.ChunkedArray], Dialect]:
    """The columns of a file of text with their types, and how it writes numbers and days.

    A column whose numbers can be read in two ways is read as the others are written: 22.807 beside
    3,50 is a whole number.

    Parameters
    ----------
    texts : mapping of str to pyarrow.ChunkedArray
        The columns as they stand; their distinct values tell as much.
    dialect : Dialect
        How the file is written as far as that is known, with what its reader said of it.
    """
    made, notes, unsure = dict[str, pa.ChunkedArray](), dict[str, dict[str, Any]](), {}
    places = dict[str, int]()
    for name, column in texts.items():
        made[name], notes[name] = typed(column, replace(dialect, decimal=""))
        places[name] = notes[name].pop("places", 0)
        if sign := notes[name].pop("either", ""):
            unsure[name] = sign
    signs = {n: found["decimal"] for n, found in notes.items() if "decimal" in found}
    commas, points = (list(signs.values()).count(sign) for sign in ",.")
    decimal = dialect.told or ("," if commas and commas >= points else "." if points else "")
    dialect = replace(dialect, unsure=() if decimal else tuple(unsure))
    if not decimal:
        decimal = "," if "," in unsure.values() and dialect.delimiter != "," else "."
    known: dict[str, Any] = {k: v for found in notes.values() for k, v in found.items()}
    mixed = tuple(name for name, sign in signs.items() if sign != decimal)
    dialect = replace(dialect, **known | {"decimal": decimal, "mixed": mixed})
    for name in unsure:
        made[name], found = typed(texts[name], dialect)
        places[name] = found.get("places", 0)
    return made, replace(dialect, places=tuple((n, k) for n, k in places.items() if k))


def typed(
    texts: pa.ChunkedArray, dialect: Dialect | None = None
) -> tuple[pa.ChunkedArray, dict[str, Any]]:
    """A column of text as numbers, booleans or dates when every value is one; else as it is.

    Numbers with leading zeros or signs, and whole numbers of more than 18 digits, are names
    and stay text. What the dialect calls missing is missing.

    Returns
    -------
    column : pyarrow.ChunkedArray
    notes : dict
        What was found about the file's dialect: ``decimal``, ``booleans``, ``dates``; under
        ``either`` the sign of numbers that can be read in two ways, under ``places`` how many
        decimals each of them has.
    """
    dialect = dialect or Dialect(delimiter="", decimal="")
    index, entries = _distinct(texts)
    bare = pc.utf8_trim_whitespace(entries)
    told = pc.is_in(bare, value_set=pa.array(dialect.missing, pa.string()))
    marker = pc.or_(told, pc.is_in(bare, value_set=pa.array(MARKERS)))
    kept = bare.filter(pc.invert(marker))
    if kept.null_count == len(kept):
        # Nothing at all is a missing column; markers alone are what the text says.
        if texts.null_count == len(texts) or pc.all(told).as_py():
            return pa.chunked_array([pa.nulls(len(texts))]), {}
        return _without(texts, index, told), {}
    parsed, notes = _parse(kept, dialect)
    if parsed is None:
        return _without(texts, index, told), {}
    if pa.types.is_floating(parsed.type) and (decimals_each := _places(kept)):
        notes["places"] = decimals_each
    place = np.append(np.where(marker, -1, np.cumsum(~np.asarray(marker)) - 1), -1)[index]
    return pa.chunked_array([parsed.take(pa.array(place, mask=place < 0))]), notes


def _without(texts: pa.ChunkedArray, index: Any, told: pa.Array) -> pa.ChunkedArray:
    """The texts of a column, missing where their distinct values are said to be."""
    gone = np.append(np.asarray(told), False)[index]
    return pc.if_else(pa.array(~gone), texts, None) if gone.any() else texts


def _distinct(texts: pa.ChunkedArray) -> tuple[Any, pa.Array]:
    """Positions and distinct values; the values themselves where hashing them would not pay."""
    n = len(texts)
    if mostly_distinct(len(texts.slice(0, trial(n)).unique()), n):
        flat = texts.combine_chunks()
        if isinstance(flat, pa.Array):
            there = flat.is_valid().to_numpy(zero_copy_only=False)
            return np.where(there, np.arange(len(flat)), -1), flat
    return indexed(texts)


def _parse(values: pa.Array, dialect: Dialect) -> tuple[pa.Array | None, dict[str, Any]]:
    """Distinct values as the narrowest type that holds them all; None when only text does."""
    start = values.drop_null()[0].as_py()[:1]
    if start in "-+.,0123456789iI":
        if all_match(values, _INTEGER):
            return values.cast(pa.int64()), {}
        for sign, pattern in _EITHER.items():
            if all_match(values, pattern):
                other = "," if sign == "." else "."
                read_as = dialect.decimal or (
                    sign if sign == "." or dialect.delimiter != "," else other
                )
                return _ungrouped(values, read_as), {"either": sign}
        if all_match(values, _FLOATS):
            return _floats(values), {"decimal": "."} if _any(values, r"\.") else {}
        if (dialect.delimiter != "," or dialect.told == ",") and all_match(values, _COMMA):
            points = pc.replace_substring(values, ",", ".")
            return _floats(points), {"decimal": ","}
        if all_match(values, rf"({_SPACED})|({_FLOAT})|({_COMMA})") and _any(values, _NOT_A_KEY):
            plain = values
            while _any(plain, _SPACE):  # a digit may stand between two of them
                plain = pc.replace_substring_regex(plain, _SPACE, r"\1\3")
            for decimal, pattern in ((".", _FLOAT), (",", _COMMA)):
                if all_match(plain, pattern):
                    fraction = {"decimal": decimal} if _any(plain, r"[.,]") else {}
                    return _ungrouped(plain, decimal), fraction
        for decimal, (pattern, telling) in _GROUPED.items():
            if all_match(values, pattern) and _any(values, telling):
                return _ungrouped(values, decimal), {"decimal": decimal}
        if all_match(values, DOTTED):
            days = days_of(values, DOTTED_DAYS)
            if days is not None:
                return days, {"dates": DOTTED_DAYS}
    for false, true in _BOOLEANS:
        if pc.all(pc.is_in(values, value_set=pa.array([false, true]))).as_py():
            return pc.equal(values, true), {"booleans": (false, true)}
    return parse_iso(values), {}


def _places(numbers: pa.Array) -> int:
    """How many decimals each of the numbers has, as it is written; 0 where they differ."""
    found = re.search(r"[.,](\d+)$", numbers.drop_null()[0].as_py())
    if found is None:
        return 0
    return len(found[1]) if all_match(numbers, rf"[.,]\d{{{len(found[1])}}}$") else 0


def _any(texts: pa.Array, pattern: str) -> bool:
    """Whether some text holds what the pattern says."""
    return bool(pc.any(pc.match_substring_regex(texts, pattern)).as_py())


def _ungrouped(texts: pa.Array, decimal: str) -> pa.Array | None:
    """Numbers without the signs between their thousands; whole ones where all are."""
    bare = pc.replace_substring(texts, "." if decimal == "," else ",", "")
    points = pc.replace_substring(bare, decimal, ".")
    return points.cast(pa.int64()) if all_match(points, _INTEGER) else _floats(points)


def _floats(texts: pa.Array) -> pa.Array | None:
    """Numbers as doubles, or as decimals where doubles do not hold them; None where neither do."""
    try:
        exact = decimals(texts)
    except pa.ArrowInvalid:
        return None
    return texts.cast(pa.float64()) if exact is None else exact
