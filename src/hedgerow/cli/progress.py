"""How long work shows itself on stderr: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..progress import Progress, hearing_compiling
from .console import QUIET, VERBOSE, beside, loudness

FIRST, EVERY = 10.0, 30.0
"""Seconds until the first line about one piece of work, and between the lines after it."""
_PATIENCE, _TICK = 1.0, 0.25
COMPILING = "compiling the fast parts, once on this machine; it takes some ten seconds"


@contextmanager
def working(text: str) -> Iterator[Progress]:
    """What is being done and the time gone by; the time left where a share is known.

    A bar on a terminal. Elsewhere a line where the work takes long, or where what runs fast is
    compiled first; every step with --verbose, and nothing with --quiet.
    """
    if sys.stderr is None or loudness() == QUIET:
        yield lambda step, fraction: None
    elif sys.stderr.isatty() and loudness() < VERBOSE:
        with _bar(text) as tell:
            yield tell
    else:
        with _Lines(text) as lines, hearing_compiling(lines.compiling):
            yield lines.tell


@contextmanager
def _bar(text: str) -> Iterator[Progress]:
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
        pace = _Pace()

        def tell(step: str, fraction: float | None) -> None:
            bar.update(
                task,
                description=step,
                completed=fraction or 0.0,
                total=None if fraction is None else 1.0,
                left=pace.left(fraction),
            )

        def compiling() -> None:
            bar.update(task, description="compiling, once on this machine")

        with hearing_compiling(compiling):
            yield tell


class _Pace:
    """How fast a share grows, and so when it will be whole."""

    def __init__(self) -> None:
        self.began, self.reached = time.monotonic(), 0.0

    def left(self, fraction: float | None) -> str:
        """What is left, in words."""
        share = fraction or 0.0
        if share < self.reached:  # something else has begun
            self.began = time.monotonic()
        self.reached = share
        return time_left(time.monotonic() - self.began, share)


class _Lines:
    """Lines for a file, a pipe or a log."""

    def __init__(self, text: str) -> None:
        self.text, self.step = text, ""
        self.left = ""
        self.pace = _Pace()
        self.began = time.monotonic()
        self.compiled: float | None = None
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._speak, daemon=True)

    def __enter__(self) -> _Lines:
        if loudness() == VERBOSE:
            beside(f"{self.text} ...")
        self.thread.start()
        return self

    def __exit__(self, *fault: object) -> None:
        self.stopped.set()
        self.thread.join()
        if loudness() == VERBOSE and not any(fault):
            beside(f"{self._gone():7.1f} s  done: {self.text}")

    def _gone(self) -> float:
        return time.monotonic() - self.began

    def tell(self, step: str, fraction: float | None) -> None:
        """Take what is being done and the share of it."""
        if step != self.step and loudness() == VERBOSE:
            beside(f"{self._gone():7.1f} s  {step}")
        self.step, self.left = step, self.pace.left(fraction)

    def compiling(self) -> None:
        """Take that something is compiled, which nobody expects to take so long."""
        if self.compiled is None:
            self.compiled = time.monotonic()

    def _speak(self) -> None:
        due, announced = FIRST, False
        while not self.stopped.wait(_TICK):
            if self.compiled and not announced and time.monotonic() - self.compiled > _PATIENCE:
                announced = True
                beside(f"{self.text}: {COMPILING}")
            if self._gone() >= due:
                due = self._gone() + EVERY
                step = f"{self.step}, " if self.step and self.step != self.text else ""
                left = f", {self.left}" if self.left else ""
                beside(f"{self.text}: {step}{lasting(self._gone())} so far{left}")


def lasting(seconds: float) -> str:
    """A time in a few words.

    Examples
    --------
    >>> lasting(12.3), lasting(150.0)
    ('12 s', '2 min')
    """
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def time_left(seconds: float, share: float) -> str:
    """What is left of work of which a share took so long, in a few words.

    Examples
    --------
    >>> time_left(20.0, 0.25), time_left(300.0, 0.5), time_left(3.0, 0.0)
    ('about 60 s left', 'about 5 min left', '')
    """
    if not 0 < share < 1:
        return ""
    return f"about {lasting(seconds * (1 - share) / share)} left"
