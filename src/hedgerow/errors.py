"""Errors, each with what is wrong, where, and what to do next.

A message names files, columns and counts; it never holds a value of a person.
"""

from __future__ import annotations

import difflib
import errno
import re
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return the names that were probably meant, as the end of a message; empty when none is near.

    Examples
    --------
    >>> did_you_mean("agee", ["age", "job"])
    " (did you mean 'age'?)"
    """
    spellings = {each.casefold(): each for each in names}
    near = difflib.get_close_matches(name.casefold(), spellings, n=2)
    return f" (did you mean {' or '.join(repr(spellings[each]) for each in near)}?)" if near else ""


# libraries report it by errors of their own, known by their text alone
_NO_MEMORY = re.compile(
    "out of memory|cannot allocate|failed to allocate|malloc of|bad_alloc|start new thread|"
    "launch worker thread|failed to map",
    re.IGNORECASE,
)


def no_memory(error: BaseException) -> bool:
    """Return whether an error of any library means that memory ran out.

    Examples
    --------
    >>> no_memory(RuntimeError("can't start new thread")), no_memory(RuntimeError("no"))
    (True, False)
    """
    cause: BaseException | None = error
    while cause is not None:  # who could not load a library says so, and not why
        if isinstance(cause, MemoryError) or getattr(cause, "errno", None) == errno.ENOMEM:
            return True
        if _NO_MEMORY.search(str(cause)):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


class HedgerowError(Exception):
    """Base of every error that Hedgerow raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong and where: files, columns and counts, never a person's value.
    hint : str, optional
        What to do about it.
    """

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message if hint is None else f"{message}\n  {hint}")
        self.message = message
        self.hint = hint


class InputError(HedgerowError, ValueError):
    """A file or table cannot be read as a table."""


class SchemaError(HedgerowError, ValueError):
    """The roles or kinds do not fit the table."""


class ParameterError(HedgerowError, ValueError):
    """A parameter lies outside its range or does not fit the table."""


class InfeasibleError(HedgerowError, ValueError):
    """No release of this table can keep what was asked."""


class PlanError(HedgerowError, ValueError):
    """A plan cannot be read, or cannot be applied to this table."""


class OutputError(HedgerowError):
    """The release cannot be written where it was asked for."""


class PromiseError(HedgerowError):
    """A released table does not keep a promise; nothing is written."""


class Cancelled(HedgerowError):
    """Work was stopped by whoever asked for it; nothing is left half done."""


class UnsupportedError(HedgerowError):
    """The request falls outside what a method guarantees, and is refused by name."""


def needed(package: str, extra: str, what: str) -> ModuleType:
    """Return a package that only some work needs.

    Parameters
    ----------
    package : str
        What is imported.
    extra : str
        The extra of hedgerow that installs it.
    what : str
        What it is needed for, in the plural.

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
