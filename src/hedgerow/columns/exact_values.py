"""Numbers and moments that doubles do not hold, by what they are."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import SchemaError
from ..notation import number

_EXACT = 1 << 53
"""Beyond this, whole numbers share a double."""
_DIGITS = Decimal(10**15)
"""A decimal of fewer digits is the shortest text of its double."""
_LONG = r"[1-9](\.?\d){17,}|^[+-]?0*[1-9]\d{15,}(\.0*)?$"
"""Text of more digits than a double has, or of a whole number that may lie beyond 2^53."""
_MICROSECONDS = {
    "s": Decimal(10**6),
    "ms": Decimal(10**3),
    "us": Decimal(1),
    "ns": Decimal("0.001"),
}


def inexact(names: Sequence[str]) -> SchemaError:
    """The error for whoever needs doubles, and columns have numbers that no double holds."""
    return SchemaError(
        "numbers that doubles cannot hold (whole ones beyond 2^53, more than 15 digits, parts of "
        f"microseconds) in: {', '.join(map(repr, names))}",
        hint="round them, give them in another unit, or declare the column categorical",
    )


def beyond_doubles(array: pa.Array | pa.ChunkedArray) -> bool:
    """Whether an array holds numbers, or moments in microseconds, that doubles do not hold."""
    kind = array.type
    if pa.types.is_timestamp(kind):
        counts = array.drop_null().cast(pa.int64()).to_numpy()
        if kind.unit == "ns":
            whole = counts // 1_000
            if (whole * 1_000 != counts).any():
                return True
            counts = whole
        elif kind.unit != "us":
            counts = counts * int(_MICROSECONDS[kind.unit])
        if not len(counts) or (counts.min() >= -_EXACT and counts.max() <= _EXACT):
            return False
        return bool((counts.astype(np.float64).astype(np.int64) != counts).any())
    if kind not in (pa.int64(), pa.uint64()) and not pa.types.is_decimal(kind):
        return False
    ends = [abs(end) for end in pc.min_max(array).as_py().values() if end is not None]
    if not pa.types.is_decimal(kind):
        return max(ends, default=0) > _EXACT
    if max(ends, default=0) < _DIGITS.scaleb(-kind.scale):
        return False
    values = array.unique().drop_null()
    near = map(Decimal, map(number, floats(values).to_pylist()))
    return any(a != b for a, b in zip(near, values.to_pylist(), strict=True))


def floats(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Numbers as the doubles nearest to them."""
    if pa.types.is_decimal(array.type):  # Arrow's own cast is off by a bit now and then
        array = array.cast(pa.string())
    return array.cast(pa.float64(), safe=False)


def decimals(texts: pa.Array) -> pa.Array | None:
    """Texts of numbers as decimals where doubles do not hold them all; None where they do.

    A number with a fraction is what its double is, unless it has more than 17 digits.

    Raises
    ------
    pyarrow.ArrowInvalid
        Decimals do not hold them either.
    """
    texts = pc.utf8_trim_whitespace(texts)
    long = texts.filter(pc.match_substring_regex(texts, _LONG)).drop_null().to_pylist()
    if all(Decimal(text) == Decimal(number(float(text))) for text in long):
        return None
    return pa.array([Decimal(text) if text else None for text in texts.to_pylist()])


def microseconds(stamps: pa.Array) -> list[Any]:
    """Time stamps in microseconds since 1970, exactly; None where missing."""
    counts = stamps.cast(pa.int64()).to_pylist()
    per = _MICROSECONDS[stamps.type.unit]
    return [None if c is None else c * per if c * per % 1 else int(c * per) for c in counts]
