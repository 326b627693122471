"""The type of a column of text, decided over all its values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .dates import DOTTED, DOTTED_DAYS, all_match, days_of, parse_iso
from .encode import indexed, mostly_distinct, trial
from .exact import decimals

_INTEGER = r"^-?(0|[1-9]\d{0,17})$"
_FLOAT = r"^-?((0|[1-9]\d{0,17})|(0|[1-9]\d*)\.\d*|\.\d+)([eE][+-]?\d+)?$"
_FLOATS = rf"({_FLOAT})|(^[+-]?[iI]nf(inity)?$)"
_COMMA = r"^-?((0|[1-9]\d*)(,\d*)?|,\d+)$"
_GROUPED = {
    ",": (r"^-?([1-9]\d{0,2}(\.\d{3})+|0|[1-9]\d*)(,\d*)?$", r"\.\d{3},|[.].*[.]"),
    ".": (r"^-?([1-9]\d{0,2}(,\d{3})+|0|[1-9]\d*)(\.\d*)?$", r",\d{3}\.|[,].*[,]"),
}
"""By the decimal sign: numbers with signs between thousands, and what no other number looks like."""
MARKERS = (
    "", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?", ".", "-", "--", "#N/A",
    "#NA", "#NV", "<NA>", "NaT", "n.a.", "N.A.", "k.A.", "k. A.", "k.A", "kA", "s/d", "s.d.",
)  # fmt: skip
"""Text that means missing in a column whose other values are all numbers or dates."""
_BOOLEANS = (("false", "true"), ("False", "True"), ("FALSE", "TRUE"))


def typed(texts: pa.ChunkedArray, delimiter: str = "") -> tuple[pa.ChunkedArray, dict[str, Any]]:
    """A column of text as numbers, booleans or dates when every value is one; else as it is.

    Numbers with leading zeros or signs, and whole numbers of more than 18 digits, are names
    and stay text.

    Returns
    -------
    column : pyarrow.ChunkedArray
    notes : dict
        What was found about the file's dialect: ``decimal``, ``booleans``, ``dates``.
    """
    index, entries = _distinct(texts)
    bare = pc.utf8_trim_whitespace(entries)
    marker = pc.is_in(bare, value_set=pa.array(MARKERS))
    kept = bare.filter(pc.invert(marker))
    if kept.null_count == len(kept):
        # Nothing at all is a missing column; markers alone are what the text says.
        return (
            (texts, {})
            if texts.null_count < len(texts)
            else (pa.chunked_array([pa.nulls(len(texts))]), {})
        )
    parsed, notes = _parse(kept, delimiter)
    if parsed is None:
        return texts, {}
    place = np.append(np.where(marker, -1, np.cumsum(~np.asarray(marker)) - 1), -1)[index]
    return pa.chunked_array([parsed.take(pa.array(place, mask=place < 0))]), notes


def _distinct(texts: pa.ChunkedArray) -> tuple[Any, pa.Array]:
    """Positions and distinct values; the values themselves where hashing them would not pay."""
    n = len(texts)
    if mostly_distinct(len(texts.slice(0, trial(n)).unique()), n):
        flat = texts.combine_chunks()
        if isinstance(flat, pa.Array):
            there = flat.is_valid().to_numpy(zero_copy_only=False)
            return np.where(there, np.arange(len(flat)), -1), flat
    return indexed(texts)


def _parse(values: pa.Array, delimiter: str) -> tuple[pa.Array | None, dict[str, Any]]:
    """Distinct values as the narrowest type that holds them all; None when only text does."""
    start = values.drop_null()[0].as_py()[:1]
    if start in "-+.,0123456789iI":
        if all_match(values, _INTEGER):
            return values.cast(pa.int64()), {}
        if all_match(values, _FLOATS):
            return _floats(values), {}
        if delimiter != "," and all_match(values, _COMMA):
            points = pc.replace_substring(values, ",", ".")
            return _floats(points), {"decimal": ","}
        for decimal, (pattern, telling) in _GROUPED.items():
            if (
                all_match(values, pattern)
                and pc.any(pc.match_substring_regex(values, telling)).as_py()
            ):
                return _floats(_ungrouped(values, decimal)), {"decimal": decimal}
        if all_match(values, DOTTED):
            days = days_of(values, DOTTED_DAYS)
            if days is not None:
                return days, {"dates": DOTTED_DAYS}
    for false, true in _BOOLEANS:
        if pc.all(pc.is_in(values, value_set=pa.array([false, true]))).as_py():
            return pc.equal(values, true), {"booleans": (false, true)}
    return parse_iso(values), {}


def _ungrouped(texts: pa.Array, decimal: str) -> pa.Array:
    """Numbers without the signs between their thousands, with a decimal point."""
    bare = pc.replace_substring(texts, "." if decimal == "," else ",", "")
    return pc.replace_substring(bare, decimal, ".")


def _floats(texts: pa.Array) -> pa.Array | None:
    """Numbers as doubles, or as decimals where doubles do not hold them; None where neither do."""
    try:
        exact = decimals(texts)
    except pa.ArrowInvalid:
        return None
    return texts.cast(pa.float64()) if exact is None else exact
