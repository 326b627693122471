"""From arguments to an exit code; every error ends here as one clear message."""

from __future__ import annotations

import _thread
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any

import typer

from ..errors import HedgerowError, PromiseError, no_memory
from ..progress import cautions
from .app import app
from .console import complain, speak, warn
from .stdio import forget

# click's UsageError, wherever typer keeps its click
UsageError: Any = typer.BadParameter.__bases__[0]
DONE, BROKEN, USAGE, INTERRUPTED = 0, 1, 2, 130


def run(arguments: Sequence[str]) -> int:
    """Run a command line and give its exit code."""
    told, sys.unraisablehook = sys.unraisablehook, _again
    speak()
    try:
        code = _run(arguments)
    finally:
        sys.unraisablehook = told
        forget()
    if code == INTERRUPTED:
        complain("interrupted; nothing was written")
    return code


class _Told(list[str]):
    """What no step collects is told at once, and once."""

    def append(self, text: str) -> None:
        if text not in self:
            super().append(text)
            warn(text)


def _again(lost: Any) -> None:
    """Send Ctrl-C once more where it fell into a callback or destructor, which swallow it."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    later = threading.Timer(0.02, _thread.interrupt_main)  # when this hook is over
    later.daemon = True
    later.start()


def _run(arguments: Sequence[str]) -> int:
    try:
        with cautions(_Told()):
            code = app(list(arguments) or ["--help"], standalone_mode=False, prog_name="hedgerow")
        return code if isinstance(code, int) else DONE
    except typer.Exit as leave:
        return leave.exit_code
    except UsageError as error:
        context = getattr(error, "ctx", None)
        asked = context.command_path if context is not None else "hedgerow"
        complain(error.format_message(), f"see: {asked} --help")
        return USAGE
    except PromiseError as error:
        complain(error.message, error.hint)
        return BROKEN
    except HedgerowError as error:
        complain(error.message, error.hint)
        return USAGE
    except (KeyboardInterrupt, typer.Abort):  # typer itself may turn them into the exit code
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        if no_memory(error):
            return _out_of_memory()
        where = f"cannot use {error.filename}" if error.filename else "cannot write the output"
        complain(
            f"{where}: {error.strerror or type(error).__name__}",
            "check that the place exists, has room and may be written to; no file was replaced",
        )
        return USAGE
    except MemoryError:
        return _out_of_memory()
    except Exception as error:
        # The message of a foreign exception may quote a person's value, so only its type is told.
        if os.environ.get("HEDGEROW_DEBUG"):
            traceback.print_exc()
        if no_memory(error):
            return _out_of_memory()
        at = traceback.extract_tb(error.__traceback__)[-1]
        complain(
            f"unexpected {type(error).__name__} in {os.path.basename(at.filename)}, line "
            f"{at.lineno}",
            "this is a fault in Hedgerow; HEDGEROW_DEBUG=1 shows where (its text may quote "
            "the data)",
        )
        return USAGE


def _out_of_memory() -> int:
    complain(
        "not enough memory for this table; nothing was written",
        "give it more memory, or fewer rows or columns; docs/benchmarks.md says how much tables take",
    )
    return USAGE
