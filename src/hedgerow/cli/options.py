"""Options on the command line and in the TOML file: the same, under the same names."""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from ..errors import ParameterError, did_you_mean
from ..files import read_text
from ..workflow.options import Option, fits, split
from .console import speak
from .stdio import received

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        show_default=False,
        help="TOML file with any of these options under their names.",
    ),
]
"""The option that every command with many options takes."""

LOUDNESS = (
    Option("quiet", bool, "Say nothing but results, warnings and errors.", ("-q",)),
    Option("verbose", bool, "Say every step and how long it took.", ("-v",)),
)
"""What every command takes."""

FORMATS = "CSV, Parquet, Arrow/Feather, JSON lines, SPSS, Stata, SAS or Excel"
"""The files that a command reads."""

SHEET = Option("sheet", str, "Sheet of an Excel workbook; FILE::SHEET says the same.")

TABLE = "FILE", f"{FORMATS}: one record per person; - for standard input."
"""The table that a command is about; it may stand in the TOML file instead."""


def sheet_of(file: str, options: Mapping[str, Any]) -> str:
    """The table that is named: a file, or one sheet of it."""
    return f"{file}::{options['sheet']}" if options.get("sheet") else file


_SHAPES = {str: "TEXT", int: "N", float: "NUMBER", list: "LIST"}


def _parser(kind: type, words: str) -> Callable[[str], Any]:
    """Return a parser of numbers with our own error text, since typer's differs by its version."""

    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not {words}.") from None

    return parse


_PARSERS = {int: _parser(int, "a whole number"), float: _parser(float, "a number, such as 0.5")}


def parameter(option: Option) -> inspect.Parameter:
    """The option as typer wants it; its default is None, for "not given"."""
    kind: Any = list[str] if option.type is list else option.type
    show = typer.Option(
        *option.flags,
        option.switch,
        help=option.help,
        show_default=False,
        show_envvar=False,
        metavar=None if option.type is bool else _SHAPES[option.type],
        parser=_PARSERS.get(option.type),
        rich_help_panel=option.panel or None,
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, show],
    )


_ARGUMENTS: dict[str, Mapping[str, tuple[str, str]]] = {}
"""What stands for each argument of a command and what it is, by the function's name."""


class Panelled(TyperCommand):
    """A command whose help text has its options below headings.

    The versions of typer and click write arguments in four ways, some without their words, so
    they are written here.
    """

    def _arguments(self, ctx: Any) -> Iterator[tuple[str, str, bool]]:
        words = _ARGUMENTS[(self.name or "").replace("-", "_")]
        for each in self.get_params(ctx):
            if each.param_type_name == "argument":
                yield *words[each.name or ""], each.required

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command's name; brackets around what can be left out."""
        named = (name if needed else f"[{name}]" for name, _, needed in self._arguments(ctx))
        return [self.options_metavar or "", *named]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments first and options without a heading last."""
        arguments = [
            (name, f"{words}  [required]" if needed else words)
            for name, words, needed in self._arguments(ctx)
        ]
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": arguments}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None and each.param_type_name == "option":
                # --help is an option of click's, which knows no headings
                name = getattr(each, "rich_help_panel", None) or "Options"
                panels.setdefault(name, []).append(record)
        panels["Options"] = panels.pop("Options")
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


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
        _ARGUMENTS[function.__name__] = arguments
        own = []
        for p in inspect.signature(function, eval_str=True).parameters.values():
            if p.name in arguments:
                shown = typer.Argument(metavar=arguments[p.name][0])
                p = p.replace(annotation=Annotated[p.annotation, shown])
            if p.kind is not inspect.Parameter.VAR_KEYWORD:
                own.append(p)
        parameters = [*own, *map(parameter, (*options, *LOUDNESS))]
        tables = [p.name for p in own if p.name != "config"]

        @functools.wraps(function)
        def called(**given: Any) -> Any:
            return function(**{n: received(v) if n in tables else v for n, v in given.items()})

        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

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
    known = {option.name: option for option in (*options, *LOUDNESS)}
    values = _config(config, known, extra) if config is not None else {}
    said = {name: value for name, value in given.items() if value is not None and value != []}
    lists = {name for name, option in known.items() if option.type is list}
    apart = lists & {*said, *(name for name, value in values.items() if isinstance(value, str))}
    values |= said
    speak(bool(values.pop("quiet", False)), bool(values.pop("verbose", False)))
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
