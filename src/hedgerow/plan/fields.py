"""Frozen records as plain JSON data and back, by the types that their fields declare; rows of numbers as `Vector`."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from decimal import Decimal, InvalidOperation
from functools import cache, partial
from itertools import chain, repeat
from types import UnionType
from typing import Any, ClassVar, TypeVar, Union, get_args, get_origin, get_type_hints

from ..notation import Cell

_ORDER = "<" if sys.byteorder == "little" else ">"
# the format of each kind in memory, as `array` spells it
_FORMATS = {"i": "i", "d": "d", "?": "B"}


class Vector:
    """An immutable sequence of numbers of one type.

    numpy reads it without copying (`numpy.asarray(vector)`); comparing, pickling and
    copying work as for a tuple, and its text form shows no number.

    Parameters
    ----------
    kind : {"i", "d", "?"}
        32-bit whole numbers, doubles, or truth values.
    values : iterable of numbers, or contiguous array of that type
        The numbers.

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

    __slots__ = ("_bytes", "_text", "_view", "kind")
    _types: ClassVar[dict[str, str]] = {"i": "i4", "d": "f8", "?": "b1"}

    def __init__(self, kind: str, values: Iterable[Any]) -> None:
        self.kind, self._text = kind, ""
        # Bytes cannot be changed, and numpy's view of them is read-only.
        self._bytes = values if isinstance(values, bytes) else _packed(kind, values)
        self._view = memoryview(self._bytes).cast(kind)  # type: ignore[call-overload]

    def __len__(self) -> int:
        return len(self._view)

    def __getitem__(self, at: Any) -> Any:
        return Vector(self.kind, self._view[at]) if isinstance(at, slice) else self._view[at]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._view)

    def tolist(self) -> list[Any]:
        """Return the numbers as a Python list."""
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
    def __array_interface__(self) -> dict[str, object]:
        order = "|" if self.kind == "?" else _ORDER
        return {"version": 3, "shape": (len(self),), "typestr": order + self._types[self.kind], "data": self._bytes}


def _packed(kind: str, values: Iterable[Any]) -> bytes:
    try:
        view = memoryview(values)  # type: ignore[arg-type]
        if view.format == kind and view.c_contiguous:
            return view.tobytes()
    except TypeError:
        pass  # no array, so its values are read one by one
    try:
        # `array` knows no truth values: each is a byte.
        numbers = map(bool, values) if kind == "?" else values
        return array(_FORMATS[kind], numbers).tobytes()
    except (TypeError, OverflowError):
        raise ValueError("a value is no number of the type asked for") from None


# metadata of fields that hold what was learnt from single people
PRIVATE = {"private": True}

# numbers or cells that become text at once
# numbers of a `Vector` whose text is kept, at most: that of a longer one would take too much memory
_RUN, _KEPT = 1 << 14, 1 << 17

T = TypeVar("T")


class Discreet:
    """Base class of records whose `repr` hides private fields and shows only the length of lists.

    A field whose metadata names a kind of numbers is kept as a `Vector` of them.
    """

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Discreet.__repr__  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            values, kind = getattr(self, each.name), each.metadata.get("numbers")
            if kind and not isinstance(values, Vector):
                # a frozen record sets its fields by no other way
                object.__setattr__(self, each.name, Vector(kind, values))

    def __repr__(self) -> str:
        parts = []
        for f in fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if isinstance(value, (tuple, Vector)) and not _records(value):
                parts.append(f"{f.name}=<{len(value):,}>")
            elif not f.metadata.get("private"):
                parts.append(f"{f.name}={value!r}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _records(values: Any) -> bool:
    return len(values) > 0 and all(isinstance(each, Discreet) for each in values)


def plain(value: Any, *, public: bool = False) -> Any:
    """Return a record, or a value in one, as plain JSON data; without private fields if `public`."""
    return json.loads(_json(value, public))


def texts(value: Any, *, public: bool = False) -> Iterator[str]:
    """Yield `plain` data as JSON text in pieces, because a plan may have millions of numbers and cells.

    Examples
    --------
    >>> "".join(texts({"right": Vector("i", [2, -1]), "names": ("a", None)}))
    '{"right":[2,-1],"names":["a",null]}'
    """
    if isinstance(value, (Mapping, Discreet)):
        items = value if isinstance(value, Mapping) else public_fields(value, public=public)
        # Piece by piece: the text of a large plan would need several times its memory.
        for mark, (name, each) in zip(chain("{", repeat(",")), items.items(), strict=False):
            yield f"{mark}{_json(name, public)}:"
            yield from texts(each, public=public)
        yield "}" if items else "{}"
    elif isinstance(value, Vector) and len(value) <= _KEPT:
        # a plan is hashed more than once, and then written
        value._text = value._text or _json(value, public)
        yield value._text
    elif isinstance(value, (tuple, list, Vector)):
        yield "["
        for a in range(0, len(value), _RUN):
            some = value[a : a + _RUN]
            if isinstance(some, Vector) or not isinstance(some[0], (Vector, Discreet)):
                yield "," * (a > 0) + _json(some, public)[1:-1]
                continue
            for i, each in enumerate(some, start=a):
                yield "," * (i > 0)
                yield from texts(each, public=public)
        yield "]"
    else:
        yield _json(value, public)


def _json(value: Any, public: bool) -> str:
    # The encoder asks for the parts of what is no JSON data, so it walks through plain data in C.
    parts = partial(_parts, public=public)
    # NaN is not JSON: what is written must be what `records.parsed` accepts.
    return json.dumps(value, default=parts, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _parts(value: Any, *, public: bool) -> list[Any] | dict[str, object]:
    """Return the list or dict that stands for a cell, a record or another container."""
    if isinstance(value, Cell):
        # Names would be most of the text of a plan with many cells. Decimals become text, because a
        # JSON number would be read back as a double.
        return [str(v) if isinstance(v, Decimal) else v for v in vars(value).values()]
    if isinstance(value, Vector):
        return value.tolist()
    if is_dataclass(value):
        return public_fields(value, public=public)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is no JSON data")


def public_fields(record: Any, *, public: bool = False) -> dict[str, object]:
    """Return a record's fields by name, without private ones if `public`."""
    return {
        f.name: getattr(record, f.name)
        for f in fields(record)
        if not (public and f.metadata.get("private"))
        # what says nothing is left out of plans without it, which stay byte for byte
        and not (f.metadata.get("optional") and (not getattr(record, f.name) or getattr(record, f.name) == f.default))
    }


def read(kind: type[T], data: Any) -> T:
    """Return a value of type `kind` from plain JSON data, checking every field against its type.

    Raises
    ------
    KeyError, TypeError, ValueError
        If a field is lacking, unknown or of another type, or a record's `check` fails.
    """
    return _reader(kind)(data)  # type: ignore[arg-type]


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(kind):
        return _record_reader(kind)
    if origin is tuple:
        each = _reader(inner[0])
        return lambda values: tuple([each(value) for value in _checked(values, (list, tuple))])
    if kind is Vector:  # the record that holds it knows the kind of its numbers
        return _reader(tuple[float | bool, ...])
    if origin is Mapping:
        return lambda value: dict(_checked(value, (dict,)))
    if kind is float:
        # Other writers of JSON may drop the point of 1.0.
        return lambda value: float(_checked(value, (float, int)))
    kinds = inner if origin in (Union, UnionType) else (kind,)
    if Decimal in kinds:
        return lambda value: _decimal(value) if type(value) is str else _checked(value, kinds)
    return partial(_checked, kinds=(*kinds, *([int] if float in kinds else [])))


def _record_reader(kind: Any) -> Callable[[Any], Any]:
    hints = get_type_hints(kind)
    # Made once for each type of record: a plan may hold millions of cells.
    readers = {f.name: _reader(hints[f.name]) for f in fields(kind)}
    in_order, check = list(readers.values()), getattr(kind, "check", None)

    def record(data: Any) -> Any:
        """Return a record read from a list of its fields in order, or from a mapping by name."""
        if isinstance(data, list):
            result = kind(*[each(value) for each, value in zip(in_order, data, strict=True)])
        else:
            named = _checked(data, (dict,))
            result = kind(**{name: readers[name](value) for name, value in named.items()})
        if check:
            check(result)
        return result

    return record


def _decimal(text: str) -> Decimal:
    """Return the Decimal that a text holds; raise ValueError if it is not a finite number."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError("a field is no number") from None
    if not number.is_finite():
        raise ValueError("a field is no number")
    return number


def _checked(value: Any, kinds: tuple[type, ...]) -> Any:
    kind = type(value)
    # The type itself, and not isinstance: True would pass for a whole number.
    if kind not in kinds:
        raise TypeError(f"a field is a {kind.__name__}")
    return value
