"""What the commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from ..report.lines import wrapped

if TYPE_CHECKING:
    from ..columns.table import Table

QUIET, USUAL, VERBOSE = -1, 0, 1
_loudness = USUAL


def speak(quiet: bool = False, verbose: bool = False) -> None:
    """How much is said beside results, warnings and errors: nothing, as usual, or every step."""
    global _loudness
    _loudness = QUIET if quiet else VERBOSE if verbose else USUAL


def loudness() -> int:
    """What `speak` chose."""
    return _loudness


def say(text: str = "") -> None:
    """Lines of the result."""
    print(_broken(text, sys.stdout))


def _broken(text: str, stream: TextIO) -> str:
    """Sentences in lines that fit a terminal; elsewhere, and in tables, as they are."""
    if stream is None or not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(
        wrapped(line, width) if len(line) > width and "  " not in line else line
        for line in text.split("\n")
    )


def beside(text: str) -> None:
    """A line on stderr; none where that is closed, for `print` would take stdout."""
    if sys.stderr is not None:
        print(_broken(text, sys.stderr), file=sys.stderr)


def note(text: str) -> None:
    """A line beside the result, which --quiet leaves out."""
    if _loudness > QUIET:
        beside(text)


def warn(text: str) -> None:
    """Something to look at before the release leaves the house."""
    beside(f"warning: {text}")


def how_held(table: Table) -> None:
    """Say why a table streams, what of a killed run is used again, and why nothing is kept of this one."""
    if table.because is not None:
        note(f"engine {table.engine}: {table.because} (--engine)")
    if (left := table.gone_on) is not None:
        note(f"continuing where a killed run stopped: {left} (--restart begins anew)")
    if (why := table.not_kept) is not None:
        note(f"should this run be killed, there is nothing to go on from: {why}")


def complain(message: str, hint: str | None = None) -> None:
    """Why a command ended without doing its job."""
    beside(f"error: {message}")
    if hint:
        beside(f"  {hint}")


def as_json(data: Mapping[str, Any]) -> None:
    """A result as JSON."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def table(rows: Iterable[Iterable[str]], head: tuple[str, ...]) -> None:
    """Aligned columns of text."""
    from ..report.lines import aligned

    for line in aligned([tuple(row) for row in rows], head):
        say(line)
