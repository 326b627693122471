"""What the commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..progress import Progress


def say(text: str = "") -> None:
    """A line of the result."""
    print(text)


def note(text: str) -> None:
    """A line beside the result; none where stderr is closed, for `print` would take stdout."""
    if sys.stderr is not None:
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
    """What is being done and the time gone by; a bar and the time left where a share is known.

    On a terminal only; elsewhere nothing is shown.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda step, fraction: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None, left="")
        began, reached = time.monotonic(), 0.0

        def tell(step: str, fraction: float | None) -> None:
            nonlocal began, reached
            share = fraction or 0.0
            if share < reached:  # something else has begun
                began = time.monotonic()
            reached = share
            bar.update(
                task,
                description=step,
                completed=share,
                total=None if fraction is None else 1.0,
                left=time_left(time.monotonic() - began, share),
            )

        yield tell


def time_left(seconds: float, share: float) -> str:
    """What is left of work of which a share took so long, in a few words.

    Examples
    --------
    >>> time_left(20.0, 0.25), time_left(300.0, 0.5), time_left(3.0, 0.0)
    ('about 60 s left', 'about 5 min left', '')
    """
    if not 0 < share < 1:
        return ""
    left = seconds * (1 - share) / share
    return f"about {left:.0f} s left" if left < 90 else f"about {left / 60:.0f} min left"


def table(rows: Iterable[Iterable[str]], head: tuple[str, ...]) -> None:
    """Aligned columns of text."""
    from ..report.text import aligned

    for line in aligned([tuple(row) for row in rows], head):
        say(line)
