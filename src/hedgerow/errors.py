"""Define Hedgerow's errors: each says what is wrong, where, and what to do next.

A message names files, columns and counts, but never a person's value.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint with similar names, to end a message with; empty if no name is similar.

    Examples
    --------
    >>> did_you_mean("agee", ["age", "job"])
    " (did you mean 'age'?)"
    """
    spellings = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(name.casefold(), spellings, n=2)
    return f" (did you mean {' or '.join(repr(spellings[each]) for each in near)}?)" if near else ""


def reprs(names: Iterable[str]) -> str:
    """Return names for a message, each in quotes, separated by commas."""
    return ", ".join(map(repr, names))


_NOUNS = "field|quasi-identifier|record|row|group|cell|column|value|attack|household"
_ONE = re.compile(
    rf"(?<![\d.,])(?<!and )1 (people|leaves|(?:released )?(?:{_NOUNS})s)( (?:are|have|were|show|give)\b)?"
)
_SINGULAR = {"people": "person", "leaves": "leaf", " are": " is", " have": " has", " were": " was", None: ""}


def singular(text: str) -> str:
    """Return a text in which what is counted as 1 is named as one.

    Examples
    --------
    >>> singular("1 people are alone in 1 groups, 21 records in 1,001 groups")
    '1 person is alone in 1 group, 21 records in 1,001 groups'
    """
    one = _ONE.sub(lambda m: f"1 {_SINGULAR.get(m[1], m[1][:-1])}{_SINGULAR.get(m[2], f'{m[2]}s')}", text)
    return one.replace("There are 1 ", "There is 1 ")


# libraries report it by errors of their own, known by their text alone
_NO_MEMORY = re.compile(
    "out of memory|cannot allocate|failed to allocate|malloc of|bad_alloc|start new thread|"
    "launch worker thread|failed to map",
    re.IGNORECASE,
)


def no_memory(error: BaseException) -> bool:
    """Return whether an error from any library means that memory ran out.

    Examples
    --------
    >>> no_memory(RuntimeError("can't start new thread")), no_memory(RuntimeError("no"))
    (True, False)
    """
    cause: BaseException | None = error
    while cause is not None:  # who could not load a library says so, and not why
        says_so = isinstance(cause, MemoryError) or getattr(cause, "errno", None) == errno.ENOMEM
        if says_so or _NO_MEMORY.search(str(cause)):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


@contextmanager
def translated(kinds: Any, fault: Callable[[Any], Exception]) -> Iterator[None]:
    """Raise what `fault` makes of a library's error of these kinds, or MemoryError if memory ran out."""
    try:
        yield
    except kinds as error:
        raise (MemoryError() if no_memory(error) else fault(error)) from None


class HedgerowError(Exception):
    """The base class of every error that Hedgerow raises on purpose.

    Parameters
    ----------
    message : str
        The problem and its place: files, columns and counts, never a person's value.
    hint : str, optional
        Advice on how to solve it.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        self.message = message = singular(message)
        super().__init__(message if hint is None else f"{message}\n  {hint}")
        self.hint = hint


class InputError(HedgerowError, ValueError):
    """A file or object that cannot be read as a table."""


class SchemaError(HedgerowError, ValueError):
    """Roles or kinds that do not fit the table."""


class ParameterError(HedgerowError, ValueError):
    """A parameter that lies outside its range or does not fit the table."""


class InfeasibleError(HedgerowError, ValueError):
    """A request that no release of this table can satisfy."""


class PlanError(HedgerowError, ValueError):
    """A plan that cannot be read, or cannot be applied to this table."""


class OutputError(HedgerowError):
    """A release that cannot be written to the requested place."""


class PromiseError(HedgerowError):
    """A released table that does not keep a promise; nothing is written."""


class Cancelled(HedgerowError):
    """Work that was stopped on request; nothing is left half done."""


class UnsupportedError(HedgerowError):
    """A request that goes beyond what a method guarantees; the message names the request."""


def needed(package: str, extra: str, what: str) -> ModuleType:
    """Import and return an optional package.

    Parameters
    ----------
    package : str
        The name of the package.
    extra : str
        The extra of hedgerow that installs it.
    what : str
        The things that need it, as a plural noun for the error message.

    Raises
    ------
    UnsupportedError
        It is not installed.
    """
    try:
        return import_module(package)
    except ImportError:
        raise UnsupportedError(
            f"{what} need the package {package}, which is not installed",
            hint=f"install it: pip install 'hedgerow[{extra}]'",
        ) from None
