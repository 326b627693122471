"""What was chosen, as a command line and as Python that repeat it exactly."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from ..errors import UnsupportedError
from ..hierarchy import Hierarchy
from ..key import Secret
from ..schema import EVERY_ROW, SURVEY, UNSAID, Points, Schema
from .methods import changed, name_of
from .methods import words as method_words

ROLES = ("quasi", "sensitive", "identifiers", "other")
_PLAIN_NAME = re.compile(r"^[^\s,\"'\-](?:[^\n\r,\"']*[^\s,\"'])?$")
"""Names that stand in a list on the command line as they are."""
_END = "END_OF_SCHEMA"
_DRAWN = "# every run draws anew: a key file (--key-file, key=) makes draws that can be repeated"


@dataclass(frozen=True)
class Choice:
    """What is to be done with a table.

    Parameters
    ----------
    schema : Schema
    method : Method
        Unfitted.
    pseudonym_key : path or bytes, optional
        Secret of the pseudonyms in place of the identifiers; None leaves these out.
    max_inference : float, optional
        What named attackers may infer at most; see `hedgerow.protect`.
    keep_order : bool
        Leave the rows in the order of the input.
    profile : str or path, optional
        The standard to keep; see `hedgerow.protect`.
    parts : bool
        Write the table as a folder of Parquet files.
    """

    schema: Schema
    method: Any
    pseudonym_key: str | Path | bytes | None = field(default=None, repr=False)
    max_inference: float | None = None
    keep_order: bool = False
    profile: str | Path | None = None
    parts: bool = False

    def secret(self) -> Secret | None:
        """The pseudonyms' key itself."""
        return Secret.of(self.pseudonym_key)


@dataclass(frozen=True, kw_only=True)
class Written:
    """How a release is written.

    Parameters
    ----------
    out : Path, optional
        The release folder; ``release/`` by default.
    escape : bool
        Whether cells that a spreadsheet would run get an apostrophe.
    mapping : bool
        Whether whose record is which was written as well.
    public : Path, optional
        The folder to hand out.
    """

    out: Path | None = None
    escape: bool = True
    mapping: bool = False
    public: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Chosen(Written, Choice):
    """All that makes a release; the method is None where the command line takes its own.

    Parameters
    ----------
    path : Path or None
        The table's file; None for tables that came in as an object.
    measured : mapping, optional
        What the report was asked to measure; None for no report.
    """

    path: Path | None = None
    measured: Mapping[str, Any] | None = None

    @property
    def folder(self) -> str:
        """The release folder as text."""
        return "release/" if self.out is None else f"{_file(self.out)}/"

    @property
    def notes(self) -> list[str]:
        """What keeps a second run from repeating the first, as comments."""
        given = self.method.get_params(deep=False) if self.method is not None else {}
        fixing = [given[name] for name in ("key", "random_state") if name in given]
        return [_DRAWN] if fixing and all(value is None for value in fixing) else []


def command_line(chosen: Chosen, schema_file: str | Path | None = None) -> str:
    """The shell command that makes a release again.

    Parameters
    ----------
    chosen : Chosen
    schema_file : path, optional
        A file that holds the schema. Without one the command holds the roles, and
        what these cannot say in lines before it that write such a file.

    Raises
    ------
    UnsupportedError
        The table or a key is an object and no file, or a parameter has no option.
    """
    if chosen.path is None:
        raise UnsupportedError(
            "the command line reads files, and this table is an object in memory",
            hint="write it to a file first, or use the Python code",
        )
    schema, before = chosen.schema, []
    words = ["hedgerow", "protect", _file(chosen.path)]
    if schema_file is None and not sayable(schema):
        schema_file = (
            f"{chosen.path.stem}.schema.toml" if chosen.path != Path("-") else "people.schema.toml"
        )
        before = [f"cat > {shlex.quote(schema_file)} <<'{_END}'\n{schema.to_toml()}{_END}"]
    if schema_file is not None:
        words += ["--schema", _file(schema_file)]
    else:
        for role in ROLES:
            if getattr(schema, role):
                words += [f"--{role}", ",".join(getattr(schema, role))]
        words += ["--rest", schema.rest] if schema.rest != Schema.rest else []
        words += ["--unit", schema.person or "none"] if schema.unit is not UNSAID else []
        words += ["--together"] if schema.together else []
        for part in SURVEY:
            words += [f"--{part}", getattr(schema, part)] if getattr(schema, part) else []
    words += ["--method", *method_words(chosen.method)] if chosen.method is not None else []
    if chosen.max_inference is not None:
        words += ["--max-inference", repr(chosen.max_inference)]
    words += ["--keep-order"] if chosen.keep_order else []
    words += ["--parts"] if chosen.parts else []
    words += _key(chosen.method, chosen.pseudonym_key)
    words += _report(chosen.measured, chosen.profile)
    words += [] if chosen.escape else ["--no-escape"]
    words += ["--mapping"] if chosen.mapping else []
    words += ["--public", _file(chosen.public)] if chosen.public is not None else []
    words += ["--out", chosen.folder]
    return "\n".join([*chosen.notes, *before, " ".join(map(shlex.quote, words))])


def sayable(schema: Schema) -> bool:
    """Whether flags say all of a schema: plain names, and nothing but roles."""
    flags = {name: getattr(schema, name) for name in (*ROLES, *SURVEY, "together", "rest", "unit")}
    if schema != Schema(**flags) or schema.person in ("none", EVERY_ROW):
        return False
    names = [name for role in ROLES for name in getattr(schema, role)]
    names += [getattr(schema, part) for part in SURVEY if getattr(schema, part)]
    return all(map(_PLAIN_NAME.match, [*names, schema.person or "none"]))


def _file(path: str | Path) -> str:
    text = str(path)
    # a dash alone is standard input
    return f"./{text}" if text.startswith("-") and text != "-" else text


def _key(method: Any, pseudonym_key: Any) -> list[str]:
    """The flags of the secrets: one key file serves both."""
    drawn = method.get_params(deep=False).get("key") if method is not None else None
    secrets = [key for key in (drawn, pseudonym_key) if key is not None]
    if any(not isinstance(key, (str, Path)) for key in secrets):
        raise UnsupportedError(
            "a key that is not a file cannot be written into a command",
            hint="keep the key in a file and give its path",
        )
    if len({str(key) for key in secrets}) > 1:
        raise UnsupportedError(
            "the command line takes one key file, and two were given",
            hint="use the Python code instead",
        )
    words = ["--pseudonyms"] if pseudonym_key is not None else []
    return words + (["--key-file", _file(secrets[0])] if secrets else [])


def _report(measured: Mapping[str, Any] | None, kept: str | Path | None) -> list[str]:
    if measured is None and kept is None:
        return ["--no-report"]
    measured = {"attacks": False, "learning": False, **(measured or {})}
    known = ("attacks", "learning", "inference", "sample", "date", "profile")
    more = [name for name in measured if name not in known]
    if more:
        raise UnsupportedError(
            f"hedgerow protect cannot measure with {', '.join(more)}",
            hint="use hedgerow audit on the release, or the Python code",
        )
    attacks, learning = bool(measured["attacks"]), bool(measured["learning"])
    words = ["--attacks"] if attacks else []
    if learning != attacks:  # by default learning goes with the attacks
        words.append("--learning" if learning else "--no-learning")
    inference = measured.get("inference")
    if inference is not None and bool(inference) != attacks:
        words.append("--inference" if inference else "--no-inference")
    if measured.get("sample") is not None:
        words += ["--sample", str(measured["sample"])]
    words += ["--date", measured["date"]] if measured.get("date") else []
    profile = measured.get("profile") or kept
    return [*words, "--profile", str(profile)] if profile else words


def python(chosen: Chosen) -> str:
    """Python that makes a release again; a table that is no file is called ``people``.

    Raises
    ------
    UnsupportedError
        A parameter or a key is an object that no code can spell out.
    """
    needed: set[str] = set()
    lines = [] if chosen.path is None else [f"people = {str(chosen.path)!r}"]
    lines += ["schema = " + _schema(chosen.schema, needed)]
    given = ["people", "schema", f"hr.{_method(chosen.method, needed)}"]
    if isinstance(chosen.pseudonym_key, bytes):
        raise UnsupportedError(
            "a key that is not a file cannot be written into code",
            hint="keep the key in a file and give its path",
        )
    if chosen.pseudonym_key is not None:
        needed.add("from pathlib import Path")
        given.append(f"pseudonym_key=Path({str(chosen.pseudonym_key)!r}).read_bytes()")
    if chosen.max_inference is not None:
        given.append(f"max_inference={chosen.max_inference!r}")
    if chosen.profile is not None:
        given.append(f"profile={str(chosen.profile)!r}")
    if chosen.keep_order:
        given.append("keep_order=True")
    if chosen.parts:
        given.append("parts=True")
    lines.append(f"release = hr.protect({', '.join(given)})")
    how = [repr(chosen.folder)]
    if chosen.measured is not None:
        asked = (f"{name}={_literal(value, needed)}" for name, value in chosen.measured.items())
        lines.append(f"measured = hr.audit(people, release, {', '.join(asked)})")
        how.append("measured=measured")
    for each in fields(Written):
        value = getattr(chosen, each.name)
        if each.name != "out" and value != each.default:
            how.append(f"{each.name}={_literal(value, needed)}")
    lines.append(f"release.write({', '.join(how)})")
    # the standard library first, as linters keep it
    heads = sorted(needed | {"import hedgerow as hr"}, key=lambda line: ("hedgerow" in line, line))
    return "\n".join([*chosen.notes, *heads, "", *lines]) + "\n"


def _method(method: Any, needed: set[str]) -> str:
    name_of(method)  # only methods that hedgerow itself has
    given = (f"{name}={_literal(value, needed)}" for name, value in changed(method).items())
    return f"{type(method).__name__}({', '.join(given)})"


def _schema(schema: Schema, needed: set[str]) -> str:
    parts = [
        f"    {each.name}={_literal(getattr(schema, each.name), needed)},"
        for each in fields(schema)
        if each.compare and getattr(schema, each.name) != getattr(Schema(), each.name)
    ]
    return "\n".join(["hr.Schema(", *parts, ")"])


def _literal(value: Any, needed: set[str]) -> str:
    """A value as code; what the code needs to import is added to `needed`."""
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
        return _sequence(value, needed)
    if isinstance(value, Hierarchy):
        return f"hr.Hierarchy({_literal(value.paths, needed)})"
    if type(value).__module__.startswith("numpy") and hasattr(value, "tolist"):
        return _literal(value.tolist(), needed)
    if is_dataclass(value) and type(value).__module__.startswith("hedgerow."):
        return _record(value, needed)
    raise UnsupportedError(
        f"a {type(value).__name__} cannot be spelled out in code",
        hint="keep the object and the code that made it",
    )


def _sequence(value: Sequence[Any], needed: set[str]) -> str:
    inner = ", ".join(_literal(each, needed) for each in value)
    if isinstance(value, (list, Points)):
        return f"[{inner}]"
    return f"({inner},)" if len(value) == 1 else f"({inner})"


def _record(value: Any, needed: set[str]) -> str:
    """A record of the package, such as the settings of a tree."""
    cls = type(value)
    needed.add(f"from {cls.__module__} import {cls.__name__}")
    given = (f"{f.name}={_literal(getattr(value, f.name), needed)}" for f in fields(value))
    return f"{cls.__name__}({', '.join(given)})"
