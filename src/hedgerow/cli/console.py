"""What the commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any


def say(text: str = "") -> None:
    """A line of the result."""
    print(text)


def note(text: str) -> None:
    """A line beside the result."""
    print(text, file=sys.stderr)


def warn(text: str) -> None:
    """Something to look at before the release leaves the house."""
    note(f"warning: {text}")


def complain(message: str, hint: str | None = None) -> None:
    """Why a command ended without doing its job."""
    note(f"error: {message}")
    if hint:
        note(f"  {hint}")


def as_json(data: Mapping[str, Any]) -> None:
    """A result as JSON."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


@contextmanager
def working(text: str) -> Iterator[None]:
    """A spinner with the time gone by, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task(text, total=None)
        yield


def table(rows: list[tuple[str, ...]], head: tuple[str, ...]) -> None:
    """Aligned columns of text."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, tuple("-" * w for w in widths), *rows]:
        say("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
