"""How long work tells where it is and what it warns of, and how it is stopped."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Protocol, TypeVar

I = TypeVar("I")
T = TypeVar("T")

Progress = Callable[[str, float | None], None]
"""Called with what is being done and the share that is done (None where nobody knows).

Whatever it raises stops the work; `hedgerow.errors.Cancelled` is there for that.
"""


class Tell(Protocol):
    """A `Progress` whose share may be left out."""

    def __call__(self, step: str, fraction: float | None = None, /) -> None: ...


def telling(progress: Progress | None) -> Tell:
    """Return the callback of a long step; it does nothing where nobody listens."""

    def tell(step: str, fraction: float | None = None, /) -> None:
        if progress is not None:
            progress(step, fraction)

    return tell


_LISTENER: ContextVar[Callable[[float | None], None] | None] = ContextVar("done", default=None)


@contextmanager
def listening(progress: Tell, step: str) -> Iterator[None]:
    """Whatever this thread's work tells by `done` goes to `progress`, as parts of a step."""

    def tell(share: float | None) -> None:
        progress(step, share)

    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def done(share: float | None) -> None:
    """Tell whoever listens how much of a long step is done; what that raises ends the work.

    Examples
    --------
    >>> with listening(telling(lambda step, share: print(step, share)), "fitting"):
    ...     done(0.5)
    fitting 0.5
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener(share)


_COMPILING: ContextVar[Callable[[], None] | None] = ContextVar("compiling", default=None)


@contextmanager
def compiling_noticed(notify: Callable[[], None]) -> Iterator[None]:
    """Whatever this thread's work has to compile first is told, once a function."""
    token = _COMPILING.set(notify)
    try:
        yield
    finally:
        _COMPILING.reset(token)


def compiling() -> None:
    """Tell whoever listens that something is about to be compiled."""
    notify = _COMPILING.get()
    if notify is not None:
        notify()


_HEARD: ContextVar[list[str] | None] = ContextVar("cautions", default=None)


def caution(text: str) -> None:
    """Warn whoever collects cautions here; where nobody does, as a Python warning."""
    collected = _HEARD.get()
    if collected is not None:
        collected.append(text)
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and _own(frame.f_globals):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, UserWarning, stacklevel=level)


def _own(names: dict[str, object]) -> bool:
    return str(names.get("__name__")).partition(".")[0] == __name__.partition(".")[0]


@contextmanager
def cautions(collected: list[str] | None = None) -> Iterator[list[str]]:
    """Collect what this thread's work warns of, apart from what happens beside it.

    `heard` is what each text is appended to; by default a new list.

    Examples
    --------
    >>> with cautions() as heard:
    ...     caution("few records")
    >>> heard
    ['few records']
    """
    collected = [] if collected is None else collected
    token = _HEARD.set(collected)
    try:
        yield collected
    finally:
        _HEARD.reset(token)


def with_context(work: Callable[[I], T]) -> Callable[[I], T]:
    """Return the work for other threads: what it warns of reaches whoever collects it here."""
    context = copy_context()
    return lambda item: context.copy().run(work, item)
