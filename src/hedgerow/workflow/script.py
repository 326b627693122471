"""A request as a shell command and as Python code that repeat it exactly."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from .. import facade
from ..errors import UnsupportedError
from ..hierarchy import Hierarchy
from ..plan.records import REDRAW
from ..schema import CONDITIONS, EVERY_ROW, ROLE_FIELDS, SURVEY, UNSAID, Points, Schema
from .methods import changed, form_of, name_of, options_of
from .options import PAIRS
from .request import CHOICE, DRAWING, OPTIONS, REPORT, WRITING, Request, as_argument

# names that need no quotes in a list on the command line
_PLAIN_NAME = re.compile(r"^[^\s,\"'\-](?:[^\n\r,\"']*[^\s,\"'])?$")
_END = "END_OF_SCHEMA"
_DRAWN = "# every run draws anew: a key file (--key-file, key=) makes draws that can be repeated"


_ROWS = {row.name: row for row in OPTIONS}


def command_line(request: Request, schema_file: str | Path | None = None) -> str:
    """Return the shell command that reproduces the release.

    Parameters
    ----------
    request : Request
    schema_file : path, optional
        A file that holds the schema. Without one the command names the roles; if the
        schema says more than roles, the lines after the command are its text.

    Raises
    ------
    UnsupportedError
        The table or a key is an object and no file, or a parameter has no option.
    """
    if request.path is None:
        raise UnsupportedError(
            "the command line reads files, and this table is an object in memory",
            hint="write it to a file first, or use the Python code",
        )
    schema, text = request.schema, ""
    if schema_file is None and not is_sayable(schema):
        # no file is made, since one of that name may have been corrected; the table may come by standard input
        schema_file, stream = ("/dev/fd/3", "3") if request.path == Path("-") else ("/dev/stdin", "")
        # the delimiter of the here-document is quoted, so that the shell expands nothing in its text
        text = f" {stream}<<'{_END}'\n{schema.to_toml()}{_END}"
    if schema_file is not None:
        values: dict[str, object] = {"schema": as_argument(schema_file)}
    else:
        values = {role: ",".join(getattr(schema, role)) for role in ROLE_FIELDS if getattr(schema, role)}
        values |= {"rest": schema.rest} if schema.rest != Schema.rest else {}
        values |= {"unit": schema.person or "none"} if schema.unit is not UNSAID else {}
        values |= {"together": True} if schema.together else {}
        values |= {part: getattr(schema, part) for part in SURVEY if getattr(schema, part)}
        values |= {part: list(getattr(schema, part)) for part in CONDITIONS if getattr(schema, part)}
        joined = {part: {name: _joined(text) for name, text in getattr(schema, part).items()} for part in PAIRS}
        pairs = {part: map("=".join, texts.items()) for part, texts in joined.items() if texts}
        values |= {part: ",".join(each) for part, each in pairs.items()}
    if request.method is not None:
        values |= {"method": name_of(request.method), **options_of(request.method)}
    chosen = request.changed(CHOICE)
    chosen |= {"guard": "none"} if request.guard is None else {}
    values |= {name: value for name, value in chosen.items() if name != "profile"}
    values |= {"random_state": request.random_state} if request.random_state is not None else {}
    values |= _key(request)
    values |= _report(request.measured, request.profile)
    values |= {n: as_argument(v) if n in ("public", "sign") else v for n, v in request.changed(WRITING).items()}
    values["out"] = request.folder
    words = ["hedgerow", "protect", as_argument(request.path)]
    words += [word for name, value in values.items() for word in _ROWS[name].words(value)]
    return "\n".join([*_notes(request), " ".join(map(shlex.quote, words)) + text])


def _notes(request: Request) -> list[str]:
    """Return a comment if a second run would draw other random numbers than the first; else nothing."""
    if request.method is None:
        return []
    drawing = [request.method.get_params(deep=False)]
    drawing += [vars(request)] if form_of(request.method, request.guard) == REDRAW else []
    fixing = [[each[name] for name in DRAWING if name in each] for each in drawing]
    return [_DRAWN] if any(each and all(value is None for value in each) for each in fixing) else []


def is_sayable(schema: Schema) -> bool:
    """Return whether command-line flags can express the whole schema: plain names, and nothing but roles."""
    # made again from what flags can say, and compared
    flags = {
        name: getattr(schema, name) for name in (*ROLE_FIELDS, *SURVEY, *PAIRS, *CONDITIONS, "together", "rest", "unit")
    }
    if schema != Schema(**flags) or schema.person in ("none", EVERY_ROW):
        return False
    names = [name for role in ROLE_FIELDS for name in getattr(schema, role)]
    names += [getattr(schema, part) for part in SURVEY if getattr(schema, part)]
    names += [schema.person or "none", *schema.kinds, *schema.follows, *schema.determines]
    names += [other for others in schema.determines.values() for other in others]
    # an entry is read from its last sign
    return all(map(_PLAIN_NAME.match, names)) and not any("=" in leader for leader in schema.follows.values())


def _joined(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else "+".join(text)


def _key(request: Request) -> dict[str, object]:
    """Return the options for the keys of method, guard and pseudonyms, which must be in the same file."""
    method, pseudonym_key = request.method, request.pseudonym_key
    method_key = method.get_params(deep=False).get("key") if method is not None else None
    secrets: list[Any] = [key for key in (method_key, request.key, pseudonym_key) if key is not None]
    if any(not isinstance(key, (str, Path)) for key in secrets):
        raise UnsupportedError("a key that is not a file cannot be written into a command", hint="give a key file")
    if len({str(key) for key in secrets}) > 1:
        raise UnsupportedError("the command line takes one key file, not two", hint="use the Python code instead")
    values: dict[str, object] = {"pseudonyms": True} if pseudonym_key is not None else {}
    return values | ({"key_file": as_argument(secrets[0])} if secrets else {})


def _report(measured: Mapping[str, object] | None, chosen: str | Path | None) -> dict[str, object]:
    """Return the options of the report, without those that follow from ``--attacks``."""
    if measured is None and chosen is None:
        return {"report": False}
    measured = {"attacks": False, "learning": False, **(measured or {})}
    if more := ", ".join(name for name in measured if name not in {row.name for row in REPORT if row.step}):
        raise UnsupportedError(f"protect cannot measure with {more}", hint="use hedgerow audit, or Python code")
    attacks = bool(measured["attacks"])
    values: dict[str, object] = {"attacks": True} if attacks else {}
    # what follows from --attacks needs no flag of its own
    for name in ("learning", "inference"):
        if measured.get(name) is not None and bool(measured[name]) != attacks:
            values[name] = bool(measured[name])
    values |= {"sample": measured["sample"]} if measured.get("sample") is not None else {}
    values |= {"date": measured["date"]} if measured.get("date") else {}
    profile = measured.get("profile") or chosen
    return values | ({"profile": str(profile)} if profile else {})


def python(request: Request) -> str:
    """Return Python code that reproduces the release; a table without a file is called ``people``.

    Raises
    ------
    UnsupportedError
        A parameter or a key is an object that cannot be written as code.
    """
    needed: set[str] = set()
    lines = [] if request.path is None else [f"people = {str(request.path)!r}"]
    lines += ["schema = hr.Schema(", *(f"    {each}," for each in _keywords(request.schema.changed(), needed)), ")"]
    assert request.method is not None
    words = ["people", "schema", f"hr.{_method(request.method, needed)}"]
    if isinstance(request.pseudonym_key, bytes):
        raise UnsupportedError("a key that is not a file cannot be written into code", hint="give a key file")
    if request.pseudonym_key is not None:
        needed.add("from pathlib import Path")
        words.append(f"pseudonym_key=Path({str(request.pseudonym_key)!r}).read_bytes()")
    words += _keywords(request.changed((*CHOICE, *DRAWING)), needed)
    lines.append(f"release = hr.protect({', '.join(words)})")
    words = [repr(request.folder)]
    if request.measured is not None:
        settings = ", ".join(_keywords(request.measured, needed))
        lines.append(f"measured = hr.audit(people, release, {settings})")
        words.append("measured=measured")
    words += _keywords(request.changed(WRITING), needed)
    lines.append(f"release.write({', '.join(words)})")
    # the standard library first, as linters keep it
    heads = sorted(needed | {"import hedgerow as hr"}, key=lambda line: ("hedgerow" in line, line))
    return "\n".join([*_notes(request), *heads, "", *lines]) + "\n"


def _keywords(values: Mapping[str, object], needed: set[str]) -> list[str]:
    return [f"{name}={_literal(value, needed)}" for name, value in values.items()]


def _method(method: facade.Method, needed: set[str]) -> str:
    name_of(method)  # only methods that hedgerow itself has
    return f"{type(method).__name__}({', '.join(_keywords(changed(method), needed))})"


def _literal(value: Any, needed: set[str]) -> str:
    """Return a value as Python code, and add the imports that the code needs to `needed`."""
    if type(value).__module__.startswith("numpy") and hasattr(value, "tolist"):
        return _literal(value.tolist(), needed)
    # repr gives nan and inf, which are no names in Python
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, Path):
        return repr(str(value))
    if isinstance(value, Mapping):
        pairs = (f"{_literal(k, needed)}: {_literal(v, needed)}" for k, v in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_literal(each, needed) for each in value)
        if isinstance(value, (list, Points)):
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, Hierarchy):
        return f"hr.Hierarchy({_literal(value.paths, needed)})"
    if is_dataclass(value) and type(value).__module__.startswith("hedgerow."):
        return _record(value, needed)
    raise UnsupportedError(f"a {type(value).__name__} cannot be spelled out in code", hint="keep the code that made it")


def _record(value: Any, needed: set[str]) -> str:
    """Return a record of the package, such as tree settings, as Python code; add its import to `needed`."""
    cls = type(value)
    needed.add(f"from {cls.__module__} import {cls.__name__}")
    parts = {each.name: getattr(value, each.name) for each in fields(value)}
    return f"{cls.__name__}({', '.join(_keywords(parts, needed))})"
