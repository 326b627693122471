"""hedgerow inspect: what a table holds, and a first schema to correct."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import OutputError
from ..files import write_private
from ..workflow.options import Option
from .console import as_json, say
from .options import FORMATS, SHEET, ConfigFile, command, merged, sheet_of
from .outputs import new_file
from .progress import working
from .schema import READING, said
from .stdio import named

OPTIONS = (
    Option(
        "save",
        str,
        "Write the proposed schema to this TOML file, to correct and use by protect --schema. Default: "
        "people.schema.toml for people.csv, where roles alone do not say everything.",
        ("--schema-out",),
    ),
    *READING,
    SHEET,
    Option("json", bool, "Print the result as JSON."),
)


@command(
    OPTIONS, source=("FILE", f"{FORMATS}; - for standard input.")
)
def inspect(source: str, config: ConfigFile = None, **given: Any) -> None:
    """Show a table's columns; propose a role and a kind for each.

    The proposal is a guess from names and values. Correct it: only you know what an
    intruder may know.
    """
    from ..workflow.script import Chosen, command_line, sayable
    from ..workflow.session import Session

    options = merged(given, config, OPTIONS)
    with working("reading"):
        session = Session(sheet_of(source, options), schema=said(options, config))
        found = session.inspect()
    saved = new_file(options["save"]) if options.get("save") else None
    if saved is not None:
        write_private(saved, found.schema.to_toml())
    if options.get("json"):
        as_json(found.to_dict())
        return
    say(str(found))
    if not found.schema.quasi:
        return
    measured = {"attacks": False, "learning": False}  # a report, as protect writes it
    path = named(session.path) if session.path else None
    chosen = Chosen(found.schema, None, path=path, measured=measured)
    if saved is None and path is not None and not sayable(found.schema):
        saved = _beside(path, found.schema.to_toml())
    say()
    if saved is not None:
        say(f"written    {saved}  (the proposal: correct it there)")
    say("If you agree:")
    for line in command_line(chosen, saved).splitlines():
        say(f"  {line}")


def _beside(table: Path, text: str) -> Path | None:
    """The proposal in a file of its own in this folder, over no other; None where none can be."""
    stem = table.stem if str(table) != "-" else "people"
    for number in range(1, 100):
        more = "" if number == 1 else f"-{number}"
        target = Path(f"{stem}.schema{more}.toml")
        try:
            if not target.exists():
                write_private(target, text)
            elif target.read_text(encoding="utf-8") != text:
                continue
        except (OSError, UnicodeDecodeError, OutputError):
            return None
        return target
    return None
