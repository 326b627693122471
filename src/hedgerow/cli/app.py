"""The list of commands. A new command is a file with a function and one line here."""

from __future__ import annotations

from typing import Annotated

import typer

from . import (
    apply,
    audit,
    demo,
    frontier,
    inspect,
    profiles,
    protect,
    reconstruct,
    score,
    studio,
    verify_model,
)
from .options import Panelled

HELP = """Protect a table about people before it is shared, and measure what is left to find out.

To see one release of made people, with its report: hedgerow demo
To do all of it in the browser, step by step: hedgerow studio

A first release of your own takes two commands. Look at the columns, and which role each might have:

\b
    hedgerow inspect people.csv

Then name what an intruder may know (quasi), what must not be inferred (sensitive) and what names
a person (identifiers):

\b
    hedgerow protect people.csv --quasi age,education,job --sensitive income \\
      --identifiers name --method mart -k 10 --max-disclosure 0.5 --out release/

The folder release/ then holds the protected table, RECIPIENT.md (what its reader must know; give
both away), audit.json (what was verified) and plan.json (private: how it was made).

Exit codes: 0 done, 1 a promise or check does not hold, 2 bad usage or input.
"""

app = typer.Typer(
    name="hedgerow",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from hedgerow import __version__

        typer.echo(f"hedgerow {__version__}")
        raise typer.Exit


@app.callback()
def _all(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for command in (
    demo.demo,
    inspect.inspect,
    protect.protect,
    apply.apply,
    audit.audit,
    frontier.frontier,
    reconstruct.reconstruct,
    verify_model.verify_model,
    score.score,
    profiles.profiles,
    studio.studio,
):
    app.command(name=command.__name__.replace("_", "-"), cls=Panelled)(command)
