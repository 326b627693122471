"""hedgerow inspect: what a table holds, and a first schema to correct."""

from __future__ import annotations

from typing import Any

from ..files import write_private
from ..session.options import Option
from .console import as_json, say
from .options import ConfigFile, command, merged
from .outputs import new_file
from .streams import named
from .working import working

OPTIONS = (
    Option(
        "save", str, "Write the proposed schema to this TOML file, to correct and use by --schema."
    ),
    Option("json", bool, "Print the result as JSON."),
)


@command(OPTIONS, source=("FILE", "CSV, Parquet, Arrow/Feather or JSON lines."))
def inspect(source: str, config: ConfigFile = None, **given: Any) -> None:
    """Show a table's columns; propose a role and a kind for each.

    The proposal is a guess from names and values. Correct it: only you know what an
    intruder may know.
    """
    from ..session.repeat import Chosen, command_line
    from ..session.steps import Session

    options = merged(given, config, OPTIONS)
    with working("reading"):
        session = Session(source)
        found = session.inspect()
    saved = new_file(options["save"]) if options.get("save") else None
    if saved is not None:
        write_private(saved, found.schema.to_toml())
    if options.get("json"):
        as_json(found.to_dict())
        return
    say(str(found))
    if found.schema.quasi:
        say()
        say("If you agree:")
        measured = {"attacks": False, "learning": False}  # a report, as protect writes it
        chosen = Chosen(
            found.schema,
            None,
            path=named(session.path) if session.path else None,
            measured=measured,
        )
        for line in command_line(chosen, saved).splitlines():
            say(f"  {line}")
