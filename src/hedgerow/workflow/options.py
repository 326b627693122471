"""Options as data, for command line, configuration file and studio, and the schema built from them."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import SchemaError
from ..hierarchy import Hierarchy
from ..plan import Plan
from ..schema import CONDITIONS, EVERY_ROW, ROLE_FIELDS, SURVEY, Schema
from ..schema import READING as READING_FIELDS
from ..schema import TABLES as COLUMN_TABLES
from ..texts import read_toml, refusal


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Parameters
    ----------
    name : str
        The name in the TOML file; on the command line ``--name`` with dashes.
    type : type
        str, int, float, bool, or list (text that may be repeated or joined by commas).
    help : str
    flags : tuple of str
        Further flags, such as ``-k``.
    panel : str
        The heading above the option in a help text.
    step : str
        The step of a `Session` that takes the option under this name.
    """

    name: str
    type: type
    help: str
    flags: tuple[str, ...] = ()
    panel: str = ""
    step: str = ""

    @property
    def long(self) -> str:
        """Return the option's long flag, such as ``--keep-order``."""
        return "--" + self.name.replace("_", "-")

    @property
    def switch(self) -> str:
        """Return the option's flags; a bool has a second one, ``--no-name``, that switches it off."""
        return f"{self.long}/--no-{self.long[2:]}" if self.type is bool else self.long

    def words(self, value: Any) -> list[str]:
        """Return the words of a command line that set the option to a value."""
        if isinstance(value, bool):
            return [self.switch.split("/")[not value]]
        texts = [str(each) for each in (value if isinstance(value, list) else [value])]
        short = min((*self.flags, self.long), key=len)
        # what begins with a dash would be read as a flag of its own
        words = ([f"{self.long}={text}"] if text.startswith("-") else [short, text] for text in texts)
        return [word for pair in words for word in pair]


_TYPES = {"text": str, "whole": int, "number": float, "list": list, "flag": bool}
_TABLE = read_toml(__package__, "options.toml")


def rows(group: str, **words: str) -> tuple[Option, ...]:
    """Return a group of options from ``options.toml``; `words` fill the placeholders in their help texts."""
    options = []
    for panel, table in _TABLE[group].items():
        for name, row in table.items():
            row = _TABLE["shared"][""][name] if row == "shared" else row
            text, flags = row["help"].format(**words), tuple(row.get("flags", ()))
            kind, step = _TYPES[row["type"]], row.get("step", "")
            options.append(Option(name, kind, text, flags, panel, step))
    return tuple(options)


def fits(value: Any, kind: type) -> bool:
    """Return whether a value has the type of an option; a list may also be given as one text."""
    if kind is list:
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(v, str) for v in value))
    # True is an int in Python, and no number here
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def split(value: str | Sequence[str]) -> list[str]:
    """Split repeated and comma-separated text into names; a name with a comma must be in quotes.

    Examples
    --------
    >>> split(["age,job", '"income, yearly"'])
    ['age', 'job', 'income, yearly']
    """
    if not isinstance(value, str) and not any('"' in text or "," in text for text in value):
        return list(value)
    names: list[str] = []
    for text in [value] if isinstance(value, str) else value:
        # by the csv module, for a name may hold commas and quotes
        names += (name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))
    return [name for name in names if name]


def bare(name: str) -> str:
    """Return a name without the quotes that it stands in; one that stands in none as it is.

    Examples
    --------
    >>> bare('"person id"'), bare("height, cm")
    ('person id', 'height, cm')
    """
    return split(name)[0] if re.fullmatch(r'"(?:[^"]|"")+"', name) else name


# options for reading text files
READING = rows("reading")
SCHEMA = (*rows("schema"), *READING)
# keys of a TOML file that hold one entry per column
TABLES = (*COLUMN_TABLES, "hierarchies")
# those that a flag says in pairs of a column and a word
PAIRS = ("kinds", "follows", "rare", "determines")
ENGINE = rows("engine")


def schema_from(options: Mapping[str, Any], folder: Path = Path()) -> Schema:
    """Build a schema from options: its file, overridden by the tables of the TOML file, then by the flags.

    Parameters
    ----------
    options : mapping
    folder : Path
        The folder that paths in the TOML file are relative to.
    """
    base = Schema.from_toml(Path(options["schema"])) if options.get("schema") else Schema()
    names = (*ROLE_FIELDS, *SURVEY, *CONDITIONS, "together", "rest", *READING_FIELDS)
    fields = {name: options[name] for name in names if name in options}
    # a name with blanks may stand in quotes, as in a list
    fields |= {name: bare(fields[name]) for name in SURVEY if name in fields}
    # none says that every row is one, and is not the same as saying nothing
    if "unit" in options:
        fields["unit"] = None if options["unit"] in ("none", EVERY_ROW) else bare(options["unit"])
    tables = {name: options[name] for name in TABLES if name in options}
    by_flag = {flag: partial(_by_column, flag=flag) for flag in PAIRS}
    parsers: dict[str, Any] = {**by_flag, "grid": _grid, "bounds": _bounds, "determines": _determined}
    for name, parse in parsers.items():
        # a flag gives texts, and a file a table
        if not isinstance(tables.get(name, {}), Mapping):
            tables[name] = parse(tables[name])
    if tables:
        # events and followers are of columns with a role
        roles = {name: list(fields.get(name, getattr(base, name))) for name in ROLE_FIELDS}
        more = Schema.from_mapping({**roles, **tables}, folder)
        fields |= {name: {**getattr(base, name), **getattr(more, name)} for name in tables}
    hierarchies = {**fields.get("hierarchies", base.hierarchies)}
    for entry in options.get("hierarchy", ()):
        column, _, path = entry.partition("=")
        if not column or not path:
            raise SchemaError(**refusal("hierarchy", "workflow"))
        hierarchies[column] = Hierarchy.from_csv(path, encoding=fields.get("encoding", base.encoding))
    return base.replace(**{**fields, "hierarchies": hierarchies})


def check_hierarchies(table: Any, schema: Schema) -> None:
    """Raise SchemaError if no value of a column is in its hierarchy, whether the method uses that or not."""
    for name, hierarchy in schema.hierarchies.items():
        column = table.column(name, kind="categorical")
        if hierarchy.paths.keys().isdisjoint(column.values):
            hierarchy.check(column.values, name, column.counts()[:-1].tolist())


def plan_read_as(plan: Plan, options: Mapping[str, object]) -> Plan:
    """Return the plan with the options' settings for reading files in place of its own."""
    names = [name for name in READING_FIELDS if name in options]
    checked = Schema.from_mapping({name: options[name] for name in names})  # refuses unknown encodings
    return replace(plan, **{name: getattr(checked, name) for name in names})


def _grid(entries: Iterable[str]) -> dict[str, str | list[float | str]]:
    """Return the cut points by column; a text without a column name belongs to the column before it."""
    points: dict[str, list[str]] = {}
    for entry in entries:
        # from the right, for a column's name may hold an equals sign
        column, equals, first = entry.rpartition("=")
        if equals:
            points.setdefault(column, []).append(first)
        elif points:
            points[next(reversed(points))].append(entry)
        if not points or "" in points or entry.endswith("="):
            raise SchemaError(**refusal("grid", "workflow"))
    return {
        column: texts[0] if ":" in texts[0] and len(texts) == 1 else list(map(_point, texts))
        for column, texts in points.items()
    }


def _determined(entries: Iterable[str]) -> dict[str, list[str]]:
    """Return the columns that others determine; several are joined by "+", or said one by one."""
    determined: dict[str, list[str]] = {}
    for entry in entries:
        for column, others in _by_column([entry], "determines").items():
            determined.setdefault(column, []).extend(others.split("+"))
    return determined


def _bounds(entries: Iterable[str]) -> dict[str, list[int | float | str]]:
    """Return the two bounds by column; whole numbers stay whole, for they say that all of its numbers are."""
    return {c: [bound(c, end) for end in text.split(":", 1)] for c, text in _by_column(entries, "bounds").items()}


def bound(column: str, text: str) -> int | float | str:
    """Return a bound of a column: a whole number, a number, or the text of a date.

    500.000 is half a million to some and 500 to others, and what is beyond a bound is moved to it, so it is refused.
    """
    text = text.strip()
    if re.fullmatch(r"[-+]?[1-9]\d*\.\d{3}", text):
        whole = text.replace(".", "")
        raise SchemaError(
            f"the bound {text} of column {column!r} may mean {whole}, or a number with a fraction",
            hint=f"write {whole}, or {text}0 if the point is a decimal one",
        )
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else _point(text)


def _by_column(entries: Iterable[str], flag: str) -> dict[str, str]:
    """Return what a flag says of each column, such as the column that it follows."""
    texts = {}
    for entry in entries:
        column, _, text = entry.rpartition("=")
        if not column or not text:
            raise SchemaError(**refusal(flag, "workflow"))
        texts[column] = text
    return texts


def number(text: str) -> int | float:
    """Return the number that a text holds: a whole number if it is written as one, as in Python."""
    try:
        whole = int(text)
    except ValueError:
        return float(text)
    return whole if abs(whole) < 2**53 else float(text)


def _point(text: str) -> float | str:
    """Return a cut point: a number, or a date as text."""
    try:
        return float(text)
    except ValueError:
        return text
