"""Options on the command line and in the TOML file: the same, under the same names."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ParameterError, did_you_mean
from ..files import read_text
from ..session.options import Option, fits, split

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        show_default=False,
        help="TOML file with any of these options under their names.",
    ),
]
"""The option that every command with many options takes."""

TableFile = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="CSV, Parquet, Arrow/Feather or JSON lines: one record per person.",
    ),
]
"""The table that a command is about; it may stand in the TOML file instead."""


def parameter(option: Option) -> inspect.Parameter:
    """The option as typer wants it; its default is None, for "not given"."""
    kind: Any = list[str] if option.type is list else option.type
    show = typer.Option(*option.flags, option.switch, help=option.help, show_default=False)
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, show],
    )


def command(
    options: Sequence[Option], **arguments: tuple[str, str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator that gives a function that takes ``**given`` the signature of its options.

    Parameters
    ----------
    arguments : tuple of str
        By the name of a parameter: what stands for it in the usage line, and what it is.
    """

    def signed(function: Callable[..., Any]) -> Callable[..., Any]:
        own = []
        for p in inspect.signature(function, eval_str=True).parameters.values():
            if p.name in arguments:
                metavar, words = arguments[p.name]
                told = typer.Argument(metavar=metavar, show_default=False, help=words or None)
                p = p.replace(annotation=Annotated[p.annotation, told])
            if p.kind is not inspect.Parameter.VAR_KEYWORD:
                own.append(p)
        parameters = [*own, *map(parameter, options)]
        function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        function.__annotations__ = {p.name: p.annotation for p in parameters}
        return function

    return signed


def merged(
    given: Mapping[str, Any],
    config: Path | None,
    options: Sequence[Option],
    extra: Sequence[str] = (),
) -> dict[str, Any]:
    """The options of a TOML file, overridden by those of the command line; lists taken apart.

    A list of the TOML file holds names as they are, with their commas.

    Parameters
    ----------
    given : mapping
        From the command line; None where an option was not given.
    config : Path, optional
        The TOML file.
    options : sequence of Option
    extra : sequence of str
        Further keys that the TOML file may hold (tables of the schema).
    """
    known = {option.name: option for option in options}
    values = _config(config, known, extra) if config is not None else {}
    said = {name: value for name, value in given.items() if value is not None and value != []}
    lists = {name for name, option in known.items() if option.type is list}
    apart = lists & {*said, *(name for name, value in values.items() if isinstance(value, str))}
    values |= said
    return {name: split(value) if name in apart else value for name, value in values.items()}


def _config(path: Path, known: Mapping[str, Option], extra: Sequence[str]) -> dict[str, Any]:
    text = read_text(path, "the config", ParameterError)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"the config {path} is not valid TOML: {error}") from None
    except RecursionError:
        raise ParameterError(f"the config {path} is nested too deeply") from None
    values, faults = {}, []
    names = [*known, *extra]
    for key, value in data.items():
        name = key.replace("-", "_")
        if name not in names:
            faults.append(f"{key!r}{did_you_mean(name, names)}")
        elif name in extra and isinstance(value, Mapping):
            values[name] = value
        elif name in known and not fits(value, known[name].type):
            faults.append(f"{key!r} must be {_words(known[name].type)}")
        else:
            values[name] = value
    if faults:
        raise ParameterError(
            f"the config {path} has keys at fault: {', '.join(faults)}",
            hint=f"the keys are {', '.join(sorted(set(names)))}",
        )
    return values


def _words(kind: type) -> str:
    return {
        list: "a list of text",
        float: "a number",
        int: "a whole number",
        bool: "true or false",
    }.get(kind, "text")
