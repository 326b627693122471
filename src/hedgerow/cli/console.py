"""Print results to stdout, and warnings, errors and progress to stderr."""

from __future__ import annotations

import json
import logging
import shutil
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

from ..display import aligned, wrapped
from ..progress import Progress, compiling_noticed

# where its folder cannot be made it says so in two lines, and takes a temporary one
logging.getLogger("matplotlib").setLevel(logging.ERROR)
_quiet = False


def set_quiet(quiet: bool = False) -> None:
    """Set whether only results, warnings and errors are printed."""
    global _quiet
    _quiet = quiet


def say(text: str = "") -> None:
    """Print lines of the result to stdout."""
    print(_broken(text, sys.stdout))


def _broken(text: str, stream: TextIO) -> str:
    """Wrap long sentences if the stream is a terminal; otherwise return the text unchanged."""
    if stream is None or not stream.isatty():
        return text
    width = shutil.get_terminal_size().columns
    return "\n".join(
        # two spaces are between the columns of a table, which would fall apart
        wrapped(line, width) if len(line) > width and "  " not in line else line
        for line in text.split("\n")
    )


def to_stderr(*lines: str) -> None:
    """Print lines to stderr, or nothing if stderr is closed, since `print` would then use stdout."""
    for line in lines if sys.stderr is not None else ():
        print(_broken(line, sys.stderr), file=sys.stderr)


def note(*lines: str) -> None:
    """Print lines that --quiet suppresses."""
    if not _quiet:
        to_stderr(*lines)


def warn(*texts: str) -> None:
    """Print warnings that need attention before the release is published."""
    to_stderr(*(f"warning: {text}" for text in texts))


def complain(message: str, hint: str | None = None) -> None:
    """Print why a command ended without doing its job."""
    to_stderr(f"error: {message}")
    if hint:
        to_stderr(f"  {hint}")


def as_json(data: Mapping[str, object]) -> None:
    """Print a result as JSON."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def table(rows: Iterable[Iterable[str]], head: tuple[str, ...]) -> None:
    """Print a table with aligned columns."""
    say("\n".join(aligned([tuple(row) for row in rows], head)))


# seconds until the first line about one piece of work, and between the lines after it
FIRST, EVERY = 10.0, 30.0
# seconds: kernels that were compiled before are loaded within a moment, which nobody needs to know
_PATIENCE, _TICK = 1.0, 0.25
COMPILING = "compiling the fast parts, once on this machine; it takes ten seconds to a minute"


@contextmanager
def working(text: str) -> Iterator[Progress]:
    """Show the current step, the time it takes and, if its share is known, the time left.

    Shows a bar on a terminal. Elsewhere it prints a line if the work takes long or if functions are
    compiled first; with --quiet nothing.
    """
    if sys.stderr is None or _quiet:
        yield lambda step, fraction: None
    elif sys.stderr.isatty():
        with _bar(text) as report:
            yield report
    else:
        with _Lines(text) as lines, compiling_noticed(lines.compiling):
            yield lines.report


@contextmanager
def _bar(text: str) -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    step, remaining = TextColumn("{task.description}"), TextColumn("{task.fields[remaining]}")
    columns = SpinnerColumn(), step, BarColumn(), TimeElapsedColumn(), remaining
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(text, total=None, remaining="")
        pace = _Pace()

        def report(step: str, fraction: float | None) -> None:
            bar.update(
                task,
                description=step,
                completed=fraction or 0.0,
                total=None if fraction is None else 1.0,
                remaining=pace.remaining(fraction),
            )

        def compiling() -> None:
            bar.update(task, description="compiling, once on this machine")

        with compiling_noticed(compiling):
            yield report


class _Pace:
    """The pace of a task, measured from the growth of its finished share."""

    def __init__(self) -> None:
        self.began, self.reached = time.monotonic(), 0.0

    def remaining(self, fraction: float | None) -> str:
        """Return the remaining time in words."""
        share = fraction or 0.0
        if share < self.reached:  # something else has begun
            self.began = time.monotonic()
        self.reached = share
        return time_left(time.monotonic() - self.began, share)


class _Lines:
    """Progress reports as single lines, for a file, a pipe or a log."""

    announced = False  # that something is compiled: once for all steps

    def __init__(self, text: str) -> None:
        self.text, self.step, self.remaining = text, "", ""
        self.pace = _Pace()
        self.began = time.monotonic()
        self.compiled: float | None = None
        self.stopped = threading.Event()
        # a thread, for what is being done may say nothing for minutes
        self.thread = threading.Thread(target=self._print_lines, daemon=True)

    def __enter__(self) -> _Lines:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        self.thread.join()

    def _seconds(self) -> float:
        return time.monotonic() - self.began

    def report(self, step: str, fraction: float | None) -> None:
        """Record the current step and its finished share."""
        self.step, self.remaining = step, self.pace.remaining(fraction)

    def compiling(self) -> None:
        """Record that functions are being compiled, which can take long."""
        if self.compiled is None:
            self.compiled = time.monotonic()

    def _print_lines(self) -> None:
        due = FIRST
        while not self.stopped.wait(_TICK):
            # said once, and only where it lasts
            if self.compiled and not _Lines.announced and time.monotonic() - self.compiled > _PATIENCE:
                _Lines.announced = True
                to_stderr(f"{self.text}: {COMPILING}")
            if self._seconds() >= due:
                due = self._seconds() + EVERY
                step = f"{self.step}, " if self.step and self.step != self.text else ""
                remaining = f", {self.remaining}" if self.remaining else ""
                to_stderr(f"{self.text}: {step}{lasting(self._seconds())} so far{remaining}")


def lasting(seconds: float) -> str:
    """Return a duration in seconds or minutes, as text.

    Examples
    --------
    >>> lasting(12.3), lasting(150.0)
    ('12 s', '2 min')
    """
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def time_left(seconds: float, share: float) -> str:
    """Return the remaining time as text, given the finished share of the work and the seconds that it took.

    Examples
    --------
    >>> time_left(20.0, 0.25), time_left(300.0, 0.5), time_left(3.0, 0.0)
    ('about 60 s left', 'about 5 min left', '')
    """
    return "" if not 0 < share < 1 else f"about {lasting(seconds * (1 - share) / share)} left"
