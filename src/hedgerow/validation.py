"""Check the arguments of public functions against declared kinds; errors name the parameter."""

from __future__ import annotations

import datetime as dt
import functools
import inspect
import math
import numbers
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import ParameterError

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class Kind:
    """A set of values that a parameter may have, with words that describe it.

    Parameters
    ----------
    words : str
        The words that complete "k must be ...".
    fits : callable
        Returns whether a value is in the set.
    hint : str, optional
        Advice for the user.
    """

    words: str
    fits: Callable[[Any], bool]
    hint: str | None = None

    def __or__(self, other: Kind) -> Kind:
        return Kind(f"{self.words} or {other.words}", lambda value: self.fits(value) or other.fits(value), self.hint)


def whole(least: float = -math.inf, most: float = math.inf) -> Kind:
    """Return the `Kind` of whole numbers from `least` to `most`."""
    words = "a whole number"
    if least > -math.inf:
        words += f" of at least {least}" if most == math.inf else f" between {least} and {most:,}"
    return Kind(words, lambda v: hasattr(v, "__index__") and not isinstance(v, bool) and least <= v <= most)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number other than NaN; a bool does not count."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not math.isnan(value)


def _is_list(value: Any) -> bool:
    # an array of no dimension cannot be walked through
    scalar = getattr(value, "shape", None) == ()
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)) and not scalar


def one_of(cls: type | tuple[type, ...], words: str, hint: str | None = None) -> Kind:
    """Return the `Kind` of instances of a class."""
    return Kind(words, lambda value: isinstance(value, cls), hint)


def many(kind: Kind, words: str) -> Kind:
    """Return the `Kind` of lists whose elements are of `kind`; iterators are not checked."""

    def fits(value: Any) -> bool:
        if not _is_list(value):
            return False
        # an iterator would be empty afterwards
        return not hasattr(value, "__len__") or all(kind.fits(each) for each in value)

    return Kind(words, fits)


def _is_day(value: Any) -> bool:
    try:
        return type(value) is dt.date or (isinstance(value, str) and bool(dt.date.fromisoformat(value)))
    except ValueError:
        return False


DAY = Kind("a day such as 2026-01-31", _is_day)
# A seed that scikit-learn takes as well.
SEED = whole(0, 2**32 - 1)
FLAG = one_of(bool, "True or False")
AXES = Kind("matplotlib axes", lambda value: hasattr(value, "axhline"), "such as plt.gca()")
NONE = Kind("None", lambda value: value is None)
NUMBER = Kind("a number", is_number)
TEXT = one_of(str, "text")
NAMES = many(TEXT, "a list of names")
NUMBERS = many(NUMBER, "a list of numbers")
TEXTS = many(TEXT, "a list of texts")
LIST = Kind("a list", _is_list)
MAPPING = one_of(Mapping, "a mapping")


def named(kind: Kind, words: str) -> Kind:
    """Return the `Kind` of mappings whose values are of `kind`."""
    return Kind(words, lambda v: isinstance(v, Mapping) and all(map(kind.fits, v.values())))


PATH = Kind(
    "a path",
    lambda value: isinstance(value, (str, os.PathLike)) and str(value) != "" and "\0" not in str(value),
    "it is not empty and holds no NUL",
)
PROGRESS = Kind(
    "a function",
    lambda value: callable(value) and not isinstance(value, type),
    "it is called with what is being done and the share that is done",
)
METHOD = Kind(
    "a method",
    lambda value: hasattr(value, "fit_table") and not isinstance(value, type),
    "an unfitted one with its parameters, for example MART(k=10)",
)


def takes(**kinds: Kind) -> Callable[[F], F]:
    """Decorate a function so that each argument is checked against its `Kind`, unless it is the default.

    Examples
    --------
    >>> @takes(k=whole(1))
    ... def grouped(k=None):
    ...     return k
    >>> grouped(3), grouped()
    (3, None)
    >>> grouped("three")
    Traceback (most recent call last):
    ...
    hedgerow.errors.ParameterError: k must be a whole number of at least 1, not a str
    """

    def wrap(function: F) -> F:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            try:
                bound = signature.bind(*args, **kwargs)
            except TypeError as error:
                is_setting = "method" in signature.parameters and "unexpected" in str(error)
                hint = "; a method has its settings itself, for example method=hr.Hedge(k=10)" if is_setting else ""
                raise TypeError(f"{function.__name__}() {error}{hint}") from None
            for name, value in bound.arguments.items():
                kind = kinds.get(name)
                # a default need not be of the kind: None stands for many things
                if kind is not None and value is not signature.parameters[name].default:
                    check(name, value, kind)
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return wrap


def check(name: str, value: Any, kind: Kind) -> None:
    """Raise ParameterError if a value is not of the given `Kind`; the message does not repeat string values."""
    if not kind.fits(value):
        nan = isinstance(value, float) and math.isnan(value)
        described = value if is_number(value) else "NaN" if nan else f"a {type(value).__name__}"
        described = "text of another form" if kind is DAY and isinstance(value, str) else described
        raise ParameterError(f"{name} must be {kind.words}, not {described}", hint=kind.hint)


def check_one_of(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Raise ParameterError if a parameter's value is not one of the allowed ones."""
    listed = list(allowed)
    if value not in listed:
        raise ParameterError(f"{name} must be one of {', '.join(map(str, listed))}, not {value!r}")


def check_whole(name: str, value: Any, least: int, most: float = math.inf) -> int:
    """Return a value if it is a whole number from `least` to `most`; raise ParameterError otherwise."""
    check(name, value, whole(least, most))
    return int(value)


def check_share(name: str, value: Any, *, zero: bool = False) -> float:
    """Return a value if it is a number in (0, 1], or [0, 1] with `zero`; raise ParameterError otherwise."""
    words = f"a number from {'0' if zero else 'above 0'} to 1"
    check(name, value, Kind(words, lambda v: is_number(v) and (0 < v <= 1 or (zero and v == 0))))
    return float(value)
