"""What each column is: its role, its kind, its categories, its hierarchy."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from .errors import SchemaError
from .hierarchy import Hierarchy

Kind = Literal["numeric", "categorical", "ordinal", "date", "boolean"]
Role = Literal["identifier", "quasi", "sensitive", "other"]
KINDS: tuple[str, ...] = get_args(Kind)
ROLES: tuple[str, ...] = get_args(Role)

_ROLE_FIELDS = {
    "quasi": "quasi",
    "sensitive": "sensitive",
    "identifiers": "identifier",
    "other": "other",
}


def _near(name: str, columns: Sequence[str]) -> list[str]:
    """Up to two columns whose names are close, whatever their case."""
    lowered = {column.casefold(): column for column in columns}
    matches = difflib.get_close_matches(name.casefold(), lowered, n=2, cutoff=0.6)
    return [lowered[match] for match in matches]


def _names(value: Iterable[str] | str | None) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, Iterable):
        raise SchemaError(
            f"a role is a {type(value).__name__}, not a list of column names",
            hint='write for example quasi = ["age", "job"]',
        )
    return tuple(map(str, value))


@dataclass(frozen=True)
class Schema:
    """The roles and kinds of a table's columns.

    Columns without a role are *other*: released unchanged, and named in every report.

    Parameters
    ----------
    quasi : sequence of str
        Quasi-identifiers: what an intruder may know. These are recoded.
    sensitive : sequence of str
        What an intruder wants to know. Released unchanged by most methods.
    identifiers : sequence of str
        Direct identifiers. Dropped from the release.
    other : sequence of str
        Columns that are neither; listing them is optional.
    kinds : mapping of str to {"numeric", "categorical", "ordinal", "date", "boolean"}
        Kinds where the column's own type does not tell.
    categories : mapping of str to sequence of str
        Declared category order (it decides the order of concatenated values,
        and makes an ordinal column's categories comparable).
    hierarchies : mapping of str to Hierarchy
        Value generalisation hierarchies.
    reasons : mapping of str to str
        Why `Schema.guess` proposed a role; empty for schemas written by hand.

    Raises
    ------
    SchemaError
        A column has two roles or stands twice in one; a kind is unknown.

    Examples
    --------
    >>> schema = Schema(quasi=["age", "job"], sensitive="income", identifiers=["name"])
    >>> schema.role("income"), schema.role("age"), schema.role("height")
    ('sensitive', 'quasi', 'other')
    """

    quasi: Sequence[str] = ()
    sensitive: Sequence[str] = ()
    identifiers: Sequence[str] = ()
    other: Sequence[str] = ()
    kinds: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, Sequence[str]] = field(default_factory=dict)
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        faults = []
        seen: dict[str, str] = {}
        for attribute, role in _ROLE_FIELDS.items():
            names = _names(getattr(self, attribute))
            object.__setattr__(self, attribute, names)
            for name in names:
                if name in seen:
                    where = f"twice in {role}" if seen[name] == role else f"{seen[name]} and {role}"
                    faults.append(f"column {name!r} is {where}")
                seen[name] = role
        for part in ("kinds", "categories", "hierarchies"):
            if not isinstance(getattr(self, part), Mapping):
                raise SchemaError(f"{part} must say something for each column it names")
        for name, kind in self.kinds.items():
            if kind not in KINDS:
                faults.append(
                    f"column {name!r} has the unknown kind {kind!r} (one of {', '.join(KINDS)})"
                )
        object.__setattr__(self, "kinds", dict(self.kinds))
        for name, order in self.categories.items():
            if isinstance(order, str) or not isinstance(order, Iterable):
                raise SchemaError(f"the categories of column {name!r} are not a list")
        categories = {k: tuple(map(str, v)) for k, v in self.categories.items()}
        object.__setattr__(self, "categories", categories)
        object.__setattr__(self, "hierarchies", dict(self.hierarchies))
        object.__setattr__(self, "reasons", dict(self.reasons))
        for name, order in self.categories.items():
            if len(set(order)) != len(order):
                faults.append(f"column {name!r} declares a category twice")
        if faults:
            raise SchemaError(
                "the schema contradicts itself: " + "; ".join(faults),
                hint="give each column one role",
            )

    def role(self, name: str) -> Role:
        """The role of a column; "other" when it has none."""
        if name in self.quasi:
            return "quasi"
        if name in self.sensitive:
            return "sensitive"
        return "identifier" if name in self.identifiers else "other"

    def check(self, columns: Sequence[str], *, quasi: bool = True, sensitive: bool = True) -> None:
        """Raise one SchemaError that lists every column at fault, with near names.

        Parameters
        ----------
        columns : sequence of str
            The column names of the table.
        quasi, sensitive : bool
            Whether the quasi-identifiers, the sensitive columns must be there.
        """
        wanted = [
            *(self.quasi if quasi else ()),
            *(self.sensitive if sensitive else ()),
            *self.identifiers,
            *self.other,
        ]
        wanted += [
            n
            for part in (self.kinds, self.categories, self.hierarchies)
            for n in part
            if self.role(n) == "other" and n not in wanted
        ]
        faults = []
        for name in dict.fromkeys(wanted):
            if name not in columns:
                near = _near(name, columns)
                hint = f" (did you mean {' or '.join(repr(n) for n in near)}?)" if near else ""
                faults.append(f"no column {name!r}{hint}")
        if faults:
            raise SchemaError(
                "the schema does not fit the table: " + "; ".join(faults),
                hint="the table's columns are: " + ", ".join(map(str, columns)),
            )

    def replace(self, **changes: Any) -> Schema:
        """A copy with some fields changed."""
        return replace(self, **changes)

    @classmethod
    def guess(cls, table: Any) -> Schema:
        """Propose roles and kinds for a table, with the reason for each in `reasons`.

        Parameters
        ----------
        table : path, pandas, Polars or Arrow table, DuckDB relation
            What to look at.

        Returns
        -------
        Schema
            A proposal for a person to correct; `reasons` says why.
        """
        from .table.profile import guess_schema

        return guess_schema(table)

    def to_toml(self) -> str:
        """The schema as TOML, one key per field (hierarchies as paths of their values)."""
        lines = [
            f"{key} = {_toml(list(getattr(self, key)))}"
            for key in _ROLE_FIELDS
            if getattr(self, key)
        ]
        for section in ("kinds", "categories"):
            entries = getattr(self, section)
            if entries:
                lines += ["", f"[{section}]"]
                lines += [f"{_toml(name)} = {_toml(value)}" for name, value in entries.items()]
        for name, hierarchy in self.hierarchies.items():
            lines += ["", f"[hierarchies.{_toml(name)}]"]
            lines += [
                f"{_toml(value)} = {_toml(list(path))}" for value, path in hierarchy.paths.items()
            ]
        return "\n".join(lines).strip() + "\n"

    @classmethod
    def from_mapping(cls, data: Mapping[str, Any], folder: Path | None = None) -> Schema:
        """A schema from the keys of a TOML file; hierarchies may be given as CSV paths."""
        known = {*_ROLE_FIELDS, "kinds", "categories", "hierarchies"}
        unknown = [key for key in data if key not in known]
        if unknown:
            raise SchemaError(
                f"unknown schema keys: {', '.join(unknown)}",
                hint=f"the keys are {', '.join(sorted(known))}",
            )
        hierarchies = {}
        for name, entry in data.get("hierarchies", {}).items():
            if isinstance(entry, str):
                hierarchies[name] = Hierarchy.from_csv((folder or Path()) / entry)
            else:
                hierarchies[name] = Hierarchy(
                    {str(value): tuple(map(str, path)) for value, path in entry.items()}
                )
        fields = {key: value for key, value in data.items() if key != "hierarchies"}
        return cls(**fields, hierarchies=hierarchies)

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """Read a schema from a TOML file (a path) or from TOML text."""
        text_given = isinstance(source, str) and ("\n" in source or re.search(r"\s=\s|^\[", source))
        path = None if text_given else Path(source)
        try:
            text = path.read_text(encoding="utf-8") if path is not None else str(source)
            data = tomllib.loads(text)
        except OSError as error:
            raise SchemaError(f"cannot read the schema {path}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise SchemaError(f"the schema {path} is not UTF-8 text") from None
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"the schema is not valid TOML: {error}") from None
        return cls.from_mapping(data, path.parent if path else None)


def _toml(value: Any) -> str:
    """A TOML literal for strings, numbers, booleans and lists."""
    import json

    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL, which TOML wants escaped as well.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return repr(value)
