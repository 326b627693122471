"""Types of the data in JSON files, and the JSON schema that is made from them.

Data that is written as JSON has a `TypedDict` beside the function that makes it; its docstring says what each
key means. Nothing is converted: the data is the dict that users get, and the schema is read from its type.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NotRequired,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)


@dataclass(frozen=True)
class Range:
    """The least and the greatest value of a number; `above` if the least is itself excluded."""

    low: float
    high: float | None = None
    above: bool = False

    def keywords(self) -> dict[str, object]:
        """Return the keywords of JSON schema."""
        low: dict[str, object] = {"exclusiveMinimum" if self.above else "minimum": self.low}
        return low if self.high is None else {**low, "maximum": self.high}


@dataclass(frozen=True)
class Length:
    """The number of items of a list, or the least number."""

    n: int
    or_more: bool = False

    def keywords(self) -> dict[str, object]:
        """Return the keywords of JSON schema."""
        return {"minItems": self.n} if self.or_more else {"minItems": self.n, "maxItems": self.n}


@dataclass(frozen=True)
class Pattern:
    """A regular expression that a text matches."""

    expression: str

    def keywords(self) -> dict[str, object]:
        """Return the keywords of JSON schema."""
        return {"pattern": self.expression}


_T = TypeVar("_T")
_NULL = "null in JSON if it is infinite or undefined"
OrNull = Annotated[_T, _NULL]
Count = Annotated[int, Range(0)]
Positive = Annotated[int, Range(1)]
Share = Annotated[float, Range(0, 1)]
Percent = Annotated[float, Range(0, 100)]
Amount = Annotated[float, Range(0)]
Interval = Annotated[Sequence[OrNull[Share]], Length(2)]
Hash = Annotated[str, Pattern("^[0-9a-f]{64}$")]
# figures by their keys; what type a key has says the `Figure` that gives it, to the schema and not to mypy
Figures = Mapping[str, Any]

_PLAIN = {bool: "boolean", int: "integer", float: "number", str: "string", NoneType: "null"}


def record_of(kind: type[_T], source: object, **others: object) -> _T:
    """Return a `TypedDict` of an object's attributes of the same names, and of others."""
    names = kind.__annotations__
    return cast(_T, {name: others[name] if name in others else getattr(source, name) for name in names})


def published(title: str, kind: Any, **sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a file.

    Parameters
    ----------
    title : str
    kind : TypedDict
        The type of its data.
    **sections : mapping of str to type
        The types of a part of the data by their keys, where `kind` names no keys (`Figures`).

    Examples
    --------
    >>> from typing import TypedDict
    >>> Row = TypedDict("Row", {"share": OrNull[Share]})
    >>> published("A row", Row)["properties"]
    {'share': {'type': ['number', 'null'], 'minimum': 0, 'maximum': 1}}
    """
    records: dict[str, Any] = {}
    schema = _record(kind, records)
    parts = schema["properties"]
    # the parts of the file stand in it themselves, for readers who look up what a part requires
    parts |= {name: records[part["$ref"].split("/")[-1]] for name, part in parts.items() if "$ref" in part}
    parts |= {name: _object(fields, records) for name, fields in sections.items()}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **schema, "$defs": records}


def _schema(kind: Any, records: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type, and add the records that it names."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        schema = _schema(parts[0], records)
        for limit in parts[1:]:
            schema |= {"type": [schema["type"], "null"]} if limit == _NULL else limit.keywords()
        return schema
    if origin in (Union, UnionType):
        return _any_schema([_schema(part, records) for part in parts])
    if origin is Literal:
        return {"enum": list(parts)}
    if is_typeddict(kind):
        if kind.__name__ not in records:
            records[kind.__name__] = {}  # records may hold records of their own kind
            records[kind.__name__] = _record(kind, records)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    if kind in _PLAIN:
        return {"type": _PLAIN[kind]}
    if origin is None:
        return {}  # anything
    if issubclass(origin, Mapping):
        values = {} if parts[1] in (object, Any) else {"additionalProperties": _schema(parts[1], records)}
        return {"type": "object", **values}
    return {"type": "array", "items": _schema(parts[0], records)}


def _any_schema(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of what has one of several types; of a type or null it is that type's with two names."""
    kinds = [schema.get("type") for schema in schemas]
    if len(schemas) == 2 and kinds[1] == "null" and isinstance(kinds[0], str):
        return {**schemas[0], "type": [kinds[0], "null"]}
    return {"anyOf": schemas}


def _record(kind: Any, records: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a `TypedDict`: no keys but its own, and all that are not `NotRequired`."""
    return {"description": inspect.getdoc(kind), **_object(get_type_hints(kind, include_extras=True), records)}


def _object(fields: Mapping[str, Any], records: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with these fields and no others."""
    optional = {name for name, field in fields.items() if get_origin(field) is NotRequired}
    return {
        "type": "object",
        "properties": {n: _schema(get_args(f)[0] if n in optional else f, records) for n, f in fields.items()},
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }
