"""Report the progress of long work, cancel it, and collect its cautions."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, Protocol, TypeVar

I = TypeVar("I")
T = TypeVar("T")

# Called with what is being done and the share that is done (None where nobody knows).
# Whatever it raises stops the work; `hedgerow.errors.Cancelled` is there for that.
Progress = Callable[[str, float | None], None]

# The signals that asked this process to end. A library that is just being imported turns what they raise into an
# error of its own, so they are remembered.
arrived: list[int] = []


class Tell(Protocol):
    """A `Progress` callback whose share may be omitted."""

    def __call__(self, step: str, fraction: float | None = None, /) -> None: ...


def telling(progress: Progress | None) -> Tell:
    """Return a callback that reports progress; without a `progress` it does nothing."""

    def report(step: str, fraction: float | None = None, /) -> None:
        if progress is not None:
            progress(step, fraction)

    return report


_LISTENER: ContextVar[Callable[[float | None], None] | None] = ContextVar("done", default=None)


@contextmanager
def setting(variable: ContextVar[T], value: T) -> Iterator[Any]:
    """Set a context variable for the duration of a `with` block, and yield the value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


def listening(progress: Tell, step: str) -> AbstractContextManager[Any]:
    """Report shares passed to `done` in this thread as the progress of `step`, inside a `with` block."""
    return setting(_LISTENER, lambda share: progress(step, share))


def done(share: float | None) -> None:
    """Report the finished share of a long step; an exception from the listener ends the work.

    Examples
    --------
    >>> with listening(telling(lambda step, share: print(step, share)), "fitting"):
    ...     done(0.5)
    fitting 0.5
    """
    if (listener := _LISTENER.get()) is not None:
        listener(share)


_COMPILING: ContextVar[Callable[[], None] | None] = ContextVar("compiling", default=None)


def compiling_noticed(notify: Callable[[], None]) -> AbstractContextManager[Any]:
    """Call `notify` for every function that this thread has to compile first."""
    return setting(_COMPILING, notify)


def compiling() -> None:
    """Report that a function is about to be compiled."""
    if (notify := _COMPILING.get()) is not None:
        notify()


_CAUTIONS: ContextVar[list[str] | None] = ContextVar("cautions", default=None)


def caution(text: str) -> None:
    """Add a text to the list of cautions being collected, or issue a Python warning if there is none."""
    collected = _CAUTIONS.get()
    if collected is not None:
        collected.append(text)
        return
    # the warning names the user's line, not one inside Hedgerow
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


def cautions(collected: list[str] | None = None) -> AbstractContextManager[list[str]]:
    """Collect the cautions of this thread's work in a list, by default a new one.

    Examples
    --------
    >>> with cautions() as collected:
    ...     caution("few records")
    >>> collected
    ['few records']
    """
    return setting(_CAUTIONS, [] if collected is None else collected)


def with_context(work: Callable[[I], T]) -> Callable[[I], T]:
    """Wrap a function for use in other threads, so that its cautions and progress are collected here."""
    # threads begin with an empty context, and a context runs in one thread at a time
    context = copy_context()
    return lambda item: context.copy().run(work, item)
