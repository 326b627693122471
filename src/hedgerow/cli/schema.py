"""The schema of a command line: its options, and what they amount to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import SchemaError
from ..hierarchy import Hierarchy
from ..plan import Plan
from ..schema import EVERY_ROW, SURVEY, Schema
from ..schema import READING as HOW
from ..schema import TABLES as COLUMNWISE
from ..workflow.options import Option, under

READING = under(
    "Columns",
    Option(
        "missing",
        list,
        "Words of a CSV file that mean no value, such as k.A.,- in all of its columns; columns "
        "of numbers and dates know the usual ones (NA, -, #N/A ...).",
    ),
    Option(
        "decimal",
        str,
        "Decimal separator of a CSV file, ',' or '.', for numbers that can be read in two ways "
        "(22.807). Default: as the other columns have it.",
    ),
    Option(
        "encoding",
        str,
        "What a CSV file is that is not UTF-8, such as cp1252. Default: that, with a warning.",
    ),
)
"""How files of text are read."""
SCHEMA = under(
    "Columns",
    Option(
        "schema", str, "TOML file with the roles, kinds, categories and hierarchies of the columns."
    ),
    Option(
        "quasi",
        list,
        "Columns an intruder may know; these are recoded. Joined by commas, or repeated.",
    ),
    Option("sensitive", list, "Columns that must not be inferred; released unchanged."),
    Option("identifiers", list, "Columns that name a person; left out."),
    Option("other", list, "Columns that are harmless; released unchanged."),
    Option(
        "unit",
        str,
        "Column that identifies a person, where people have several records; none: every row is one.",
    ),
    Option(
        "household",
        str,
        "Column that identifies people who live together: k counts households as well; left out.",
    ),
    Option(
        "together",
        bool,
        "Keep households whole: only columns that all members share divide the groups.",
    ),
    Option("weight", str, "Column of sampling weights, released as it is: risks and estimates."),
    Option(
        "rest",
        str,
        "Columns that you do not name: drop (default), or release those unlike an identifier.",
    ),
    Option(
        "grid",
        list,
        "COLUMN=FIRST:LAST:STEP or COLUMN=0,18,25: public points between which groups are cut.",
    ),
    Option(
        "hierarchy",
        list,
        "COLUMN=FILE.csv: a generalisation hierarchy, one line a value, joined by ';'.",
    ),
    *READING,
)
TABLES = (*COLUMNWISE, "hierarchies")
"""Keys of a TOML file that say something for each column they name."""


def schema_of(options: dict[str, Any], config: Path | None) -> Schema:
    """What `said` finds; refused when it names no quasi-identifier."""
    schema = said(options, config)
    schema.check_quasi()
    return schema


def said(options: dict[str, Any], config: Path | None) -> Schema:
    """The schema file, then the tables of the config, then the flags."""
    folder = config.parent if config is not None else Path()
    base = Schema.from_toml(Path(options["schema"])) if options.get("schema") else Schema()
    fields: dict[str, Any] = {
        name: options[name]
        for name in ("quasi", "sensitive", "identifiers", "other", *SURVEY, "together", "rest", *HOW)
        if name in options
    }
    if "unit" in options:
        fields["unit"] = None if options["unit"] in ("none", EVERY_ROW) else options["unit"]
    if not isinstance(options.get("grid", {}), Mapping):
        options = {**options, "grid": _grid(options["grid"])}
    tables = {name: options[name] for name in TABLES if name in options}
    if tables:
        more = Schema.from_mapping(tables, folder)
        fields |= {name: {**getattr(base, name), **getattr(more, name)} for name in TABLES}
    hierarchies = {**fields.get("hierarchies", base.hierarchies)}
    for entry in options.get("hierarchy", ()):
        column, equals, path = entry.partition("=")
        if not equals or not column or not path:
            raise SchemaError(
                "--hierarchy reads COLUMN=FILE.csv", hint="for example --hierarchy job=jobs.csv"
            )
        hierarchies[column] = Hierarchy.from_csv(path)
    return base.replace(**{**fields, "hierarchies": hierarchies})


def read_as(plan: Plan, options: Mapping[str, Any]) -> Plan:
    """A plan for files that are read as the options say, in place of what it says itself."""
    said = {name: options[name] for name in HOW if name in options}
    checked = Schema(**said)  # a name that no encoding has is refused
    return replace(plan, **{name: getattr(checked, name) for name in said})


def _grid(entries: Sequence[str]) -> dict[str, Any]:
    """Points by column; what was split at commas belongs to the column before."""
    points: dict[str, list[str]] = {}
    for entry in entries:
        column, equals, first = entry.rpartition("=")
        if equals:
            points.setdefault(column, []).append(first)
        elif points:
            points[next(reversed(points))].append(entry)
        if not points or "" in points:
            raise SchemaError(
                "--grid reads COLUMN=FIRST:LAST:STEP or COLUMN=POINT,POINT",
                hint="for example --grid age=0:85:5",
            )
    return {
        column: given[0] if ":" in given[0] and len(given) == 1 else list(map(_point, given))
        for column, given in points.items()
    }


def _point(text: str) -> float | str:
    """A cut point: a number, or a date as text."""
    try:
        return float(text)
    except ValueError:
        return text
