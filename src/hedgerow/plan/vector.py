"""Numbers in a row: immutable, as small as an array, and known without numpy."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

_ORDER = "<" if sys.byteorder == "little" else ">"
_FORMATS = {"i": "i", "d": "d", "?": "B"}
"""The format of each kind in memory, as `array` spells it."""


class Vector:
    """An immutable row of numbers of one type.

    numpy reads it without copying (`numpy.asarray(vector)`); comparing, pickling and
    copying work as for a tuple, and its text form shows no number.

    Parameters
    ----------
    kind : {"i", "d", "?"}
        32-bit whole numbers, doubles, or truth values.
    values : iterable of numbers, or contiguous array of that type
        What it holds.

    Raises
    ------
    ValueError
        A value is no number of that type.

    Examples
    --------
    >>> right = Vector("i", [2, -1, -1])
    >>> len(right), right[0], list(right), right == Vector("i", (2, -1, -1))
    (3, 2, [2, -1, -1], True)
    """

    __slots__ = ("_bytes", "_view", "kind")
    _types: ClassVar[dict[str, str]] = {"i": "i4", "d": "f8", "?": "b1"}

    def __init__(self, kind: str, values: Iterable[Any]) -> None:
        self.kind = kind
        self._bytes = values if isinstance(values, bytes) else _packed(kind, values)
        self._view = memoryview(self._bytes).cast(kind)  # type: ignore[call-overload]

    def __len__(self) -> int:
        return len(self._view)

    def __getitem__(self, at: Any) -> Any:
        return Vector(self.kind, self._view[at]) if isinstance(at, slice) else self._view[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._view)

    def tolist(self) -> list[Any]:
        """The numbers as a list."""
        return self._view.tolist()

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, Vector):
            return NotImplemented
        return self.kind == other.kind and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash((self.kind, self._bytes))

    def __reduce__(self) -> tuple[Any, ...]:
        return Vector, (self.kind, self._bytes)

    def __repr__(self) -> str:  # no threshold that was learnt from people
        return f"Vector({self.kind!r}, {len(self):,} numbers)"

    @property
    def __array_interface__(self) -> dict[str, Any]:
        order = "|" if self.kind == "?" else _ORDER
        return {
            "version": 3,
            "shape": (len(self),),
            "typestr": order + self._types[self.kind],
            "data": self._bytes,
        }


def _packed(kind: str, values: Iterable[Any]) -> bytes:
    try:
        view = memoryview(values)  # type: ignore[arg-type]
        if view.format == kind and view.c_contiguous:
            return view.tobytes()
    except TypeError:
        pass  # no array, so its values are read one by one
    try:
        given = map(bool, values) if kind == "?" else values
        return array(_FORMATS[kind], given).tobytes()
    except (TypeError, OverflowError):
        raise ValueError("a value is no number of the type asked for") from None
