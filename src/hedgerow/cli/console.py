"""What the commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..progress import Progress


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
def working(text: str) -> Iterator[Progress]:
    """What is being done and the time gone by, with a bar where the share that is done is known.

    On a terminal only; elsewhere nothing is shown.
    """
    if not sys.stderr.isatty():
        yield lambda step, fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None)

        def tell(step: str, fraction: float | None) -> None:
            total = None if fraction is None else 1.0
            bar.update(task, description=step, completed=fraction or 0.0, total=total)

        yield tell


def table(rows: Iterable[Iterable[str]], head: tuple[str, ...]) -> None:
    """Aligned columns of text."""
    from ..report.text import aligned

    for line in aligned([tuple(row) for row in rows], head):
        say(line)
