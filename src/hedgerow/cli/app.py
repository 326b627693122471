"""Run the commands, from arguments to exit code; every error ends as one clear message."""

from __future__ import annotations

import _thread
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..errors import HedgerowError, PromiseError, no_memory
from ..progress import arrived, cautions
from . import apply, audit, for_recipients, frontier, protect, start, verify_evidence
from .command import Commands, Panelled, UsageError
from .console import complain, set_quiet, warn
from .outputs import forget

app = typer.Typer(
    name="hedgerow",
    cls=Commands,
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
    """Protect a table about people before it is shared, and measure what is left to find out.

    See a release of synthetic people, with its report: hedgerow demo

    Go through all of it in the browser, step by step: hedgerow studio

    A first release of your own takes two commands. Look at the columns, and which role each might have:

    \b
        hedgerow inspect people.csv

    Then name what an intruder may know (quasi), what must not be inferred (sensitive) and what names
    a person (identifiers):

    \b
        hedgerow protect people.csv --quasi age,education,job --sensitive income \\
          --identifiers name -k 10 --max-disclosure 0.5 --out release/

    The folder release/ then holds the protected table, RECIPIENT.md (what its reader must know; give
    both away), and, for you alone, report.html (risk and utility), audit.json (what was verified) and
    plan.json (how it was made).

    Masking methods have a page of their own (hedgerow protect --help-masking) and a command that judges
    what they make (hedgerow score).

    Exit codes: 0 done, 1 a promise or check does not hold, 2 bad usage or input.
    """


for command in (
    start.demo, start.inspect, protect.protect, apply.apply, audit.audit, audit.compare_models, frontier.frontier,
    for_recipients.reconstruct, for_recipients.verify_model, verify_evidence.verify_evidence,
    audit.score, start.profiles, start.studio,
):  # fmt: skip
    name = command.__name__.replace("_", "-")
    # score belongs to the masking methods, which have a page of their own
    app.command(name=name, cls=Panelled, hidden=name == "score")(command)

DONE, BROKEN, USAGE, INTERRUPTED = 0, 1, 2, 130


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    before, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    set_quiet()
    try:
        code = _run(arguments)
    finally:
        sys.unraisablehook = before
        forget()
    if code == INTERRUPTED:
        complain("interrupted; nothing was written")
    return code


class _PrintedOnce(list[str]):
    """A list of warnings that no step collects; each distinct one is printed immediately."""

    def append(self, text: str) -> None:
        if text not in self:
            super().append(text)
            warn(text)


def _interrupt_again(lost: Any) -> None:
    """Send Ctrl-C again if a callback or destructor swallowed it, and let none speak of work that it cut off."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        if not arrived:
            sys.__unraisablehook__(lost)
        return
    later = threading.Timer(0.02, _thread.interrupt_main)  # when this hook is over
    later.daemon = True
    later.start()


def _run(arguments: Sequence[str]) -> int:
    try:
        with cautions(_PrintedOnce()):
            code = app(list(arguments) or ["--help"], standalone_mode=False, prog_name="hedgerow")
        return code if isinstance(code, int) else DONE
    except typer.Exit as leave:
        return leave.exit_code
    except (KeyboardInterrupt, typer.Abort):  # typer itself may turn them into the exit code
        return INTERRUPTED
    except BrokenPipeError:
        return DONE
    except SystemExit as leave:  # typer leaves so where nobody reads what is printed
        return DONE if isinstance(leave.__context__, BrokenPipeError) else int(bool(leave.code))
    except Exception as error:
        # after a signal any error is its work
        return INTERRUPTED if arrived else _complain_of(error)


def _complain_of(error: Exception) -> int:
    """Print why a command failed, and return its exit code.

    An error that is not Hedgerow's own is told without its message, which may quote a person's value.
    """
    if isinstance(error, UsageError):
        name = error.ctx.command_path if error.ctx else "hedgerow"
        complain(error.format_message(), f"see: {name} --help")
        return USAGE
    if isinstance(error, HedgerowError):
        complain(error.message, error.hint)
        return BROKEN if isinstance(error, PromiseError) else USAGE
    # a traceback shows lines of code, and messages that may quote a value: only on demand
    if not isinstance(error, (OSError, MemoryError)) and os.environ.get("HEDGEROW_DEBUG"):
        traceback.print_exc()
    if isinstance(error, MemoryError) or no_memory(error):
        complain(
            "not enough memory for this table; nothing was written",
            hint="give it more memory, or fewer rows or columns; docs/benchmarks.md says how much tables take",
        )
    elif isinstance(error, OSError):
        where = f"cannot use {error.filename}" if error.filename else "cannot write the output"
        why = error.strerror or type(error).__name__
        complain(
            f"{where}: {why}", hint="check that the place exists, has room and may be written to; no file was replaced"
        )
    else:
        at = traceback.extract_tb(error.__traceback__)[-1]
        file = os.path.basename(at.filename)
        complain(
            f"unexpected {type(error).__name__} in {file}, line {at.lineno}",
            hint="this is a fault in Hedgerow; HEDGEROW_DEBUG=1 shows where (its text may quote the data)",
        )
    return USAGE
