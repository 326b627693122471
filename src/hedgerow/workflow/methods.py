"""The methods by the names that command line and studio give them, and all their options.

A new method is one row of ``methods.toml``; a parameter that no other method has is one
row of ``options.toml``. The class of a method says which options it takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pkgutil import resolve_name
from typing import Any

from .. import facade
from ..errors import ParameterError, UnsupportedError, did_you_mean
from ..texts import quoted, read_toml
from .options import fits, number, rows, split

# the class of each method, as ``module:class``, by its name on the command line
METHODS: dict[str, str] = read_toml(__package__, "methods.toml")
DEFAULT = "hedge"
# the masking methods of the PoROP paper, which have a help page of their own
MASKING = ("porop", "lirop", "noise", "rank-swapping", "pram")
MASKING_PANEL = f"Masking: {', '.join(MASKING)}"
USUAL = tuple(name for name in METHODS if name not in MASKING)

OPTIONS = rows("methods")
_ROWS = {row.name: row for row in OPTIONS}


def make(name: str, options: Mapping[str, object]) -> facade.Method:
    """Return a method with the given options; raise ParameterError for an option that it does not have.

    Parameters
    ----------
    name : str
        One of `METHODS`.
    options : mapping
        Options by name, as a command line or a configuration file holds them.

    Examples
    --------
    >>> make("rr", {"l": 3.0, "caps": ["illness=HIV:0.1"]})
    RandomizedResponse(l=3.0, caps={'illness=HIV': 0.1})
    """
    if name not in METHODS:
        similar = did_you_mean(name, METHODS)
        raise ParameterError(f"unknown method {name!r}{similar}", hint=f"the methods are {', '.join(METHODS)}")
    method: facade.Method = resolve_name(METHODS[name])()
    if foreign := [option for option in options if option not in method.get_params()]:
        flags = ["--" + option.replace("_", "-") for option in foreign]
        having = ", ".join(each for each, where in METHODS.items() if foreign[0] in resolve_name(where)().get_params())
        hint = f"methods with {flags[0]}: {having}"
        raise ParameterError(f"the method {name} has no option {', '.join(flags)}", hint=hint)
    return method.set_params(**_parsed(options))


def form_of(method: facade.Method, guard: str | None) -> str | None:
    """Return how exact values are hidden, "runs" or "redraw"; None if they are released."""
    if guard == "auto":
        return method.usual_guard
    return None if guard == "none" else guard


def _parsed(options: Mapping[str, object]) -> dict[str, object]:
    """Return method parameters from options, with the texts of caps, combinations and known negations parsed."""
    params = dict(options)
    if isinstance(caps := params.get("caps"), (list, tuple)):
        # from the right, for a value may hold a colon
        pairs = [entry.rpartition(":") for entry in caps]
        try:
            params["caps"] = {name: number(cap) for name, _, cap in pairs}
        except ValueError:
            raise ParameterError("--caps reads VALUE:CAP", hint="for example --caps illness=HIV:0.1") from None
    if isinstance(sets := params.get("combinations"), list):
        params["combinations"] = int(sets[0]) if sets[0].isdecimal() else [text.split("+") for text in sets]
    if "known_negations" in params:
        text = str(params["known_negations"])
        params["known_negations"] = int(text) if text.isdigit() else split(text)
    return params


def _unparsed(params: Mapping[str, object]) -> dict[str, object]:
    """Return options from method parameters; this is the inverse of `_parsed`."""
    options = dict(params)
    if isinstance(caps := options.get("caps"), Mapping):
        options["caps"] = [f"{name}:{cap!r}" for name, cap in caps.items()]
    if (sets := options.get("combinations")) is not None:
        options["combinations"] = ["+".join(each) for each in sets] if isinstance(sets, Sequence) else [str(sets)]
    if isinstance(names := options.get("known_negations"), (int, str)):
        options["known_negations"] = str(names)
    elif isinstance(names, Iterable):
        options["known_negations"] = ",".join(map(quoted, names))
    return options


def name_of(method: facade.Method) -> str:
    """Return the command-line name of a method; raise UnsupportedError if it has none."""
    cls = type(method).__name__
    name = next((name for name, each in METHODS.items() if each.endswith(f":{cls}")), None)
    if name is None:
        raise UnsupportedError(f"the command line does not know the method {cls}")
    return name


def changed(method: facade.Method) -> dict[str, object]:
    """Return the parameters of a method that differ from its defaults, except the schema; epsilon is always said."""
    defaults = type(method)().get_params(deep=False)
    return {
        name: value
        for name, value in method.get_params(deep=False).items()
        # by their text: arrays and nan are not equal to themselves
        if name != "schema" and (name == "epsilon" or repr(value) != repr(defaults[name]))
    }


def options_of(method: facade.Method) -> dict[str, object]:
    """Return the options that recreate a method, except its key.

    Raises
    ------
    UnsupportedError
        A parameter has a value that no option can express.
    """
    params = {name: value for name, value in changed(method).items() if name != "key"}
    options = {n: _listed(v) for n, v in _unparsed(params).items() if n in _ROWS}
    lost = [n for n in params if n not in options or not _is_sayable(options[n], _ROWS[n].type)]
    if not lost:
        # made again and compared: what text cannot carry shows itself
        again = changed(make(name_of(method), options))
        lost = [n for n in params if n not in again or _listed(again[n]) != _listed(params[n])]
    if lost:
        names = ", ".join(lost)
        raise UnsupportedError(f"the command line cannot say {names} of {type(method).__name__}", hint="use Python")
    return options


def _is_sayable(value: Any, kind: type) -> bool:
    """Return whether the command line can express a value of an option's type."""
    return fits(value, kind) and (kind is not list or split(value) == value)


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def words(method: facade.Method) -> list[str]:
    """Return a method and its options, except its key, as words of a command line."""
    values = options_of(method)
    return [name_of(method), *(w for name, value in values.items() for w in _ROWS[name].words(value))]
