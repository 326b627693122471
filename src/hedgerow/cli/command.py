"""Define options under the same names on the command line and in the TOML file."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import ParameterError, did_you_mean
from ..files import SUFFIXES, read_text
from ..schema import CONDITIONS, Schema
from ..texts import parsed_toml, refusal, text
from ..workflow.methods import MASKING, MASKING_PANEL
from ..workflow.options import TABLES, Option, fits, number, rows, schema_from, split
from .console import set_quiet
from .outputs import received

# the option that every command with many options takes; no file may name another one
CONFIG = Option("config", Path, "TOML file with any of these options under their names.")
# the option that every command takes
QUIET = rows("quiet")

# click's error, wherever typer keeps its click
UsageError: Any = typer.BadParameter.__bases__[0]

# the files that a command reads
FORMATS = "CSV, Parquet, Arrow/Feather, SPSS, Stata, SAS or Excel"

# the table that a command is about; it may stand in the TOML file instead
TABLE = "FILE", f"{FORMATS}: one record per person; - for standard input."


class Options(dict[str, Any]):
    """The options that were set on a command line or in its TOML file, by name.

    Attributes
    ----------
    config : Path or None
        The TOML file.
    """

    config: Path | None = None

    def schema(self, is_needed: bool = True) -> Schema:
        """Return the schema; raise an error if quasi-identifiers are needed and it has none."""
        schema = schema_from(self, Path() if self.config is None else self.config.parent)
        if is_needed:
            schema.check_quasi()
        return schema

    def pick(self, rows: Iterable[Option | str]) -> dict[str, Any]:
        """Return those of the given options that were set, by name."""
        names = (row if isinstance(row, str) else row.name for row in rows)
        return {name: self[name] for name in names if name in self}

    def table(self, source: str | None, usage: str) -> str:
        """Return the path of a command's table, from the argument or the TOML file, with its sheet if set."""
        if not (file := source or self.get("file")):
            raise ParameterError("no FILE given", hint=usage)
        sheet = self.get("sheet")
        if sheet and SUFFIXES.get(Path(file).suffix.lower()) != ".xlsx":
            raise ParameterError(f"--sheet names a sheet of a workbook (.xlsx), and {file} has no sheets")
        return f"{file}::{sheet}" if sheet else file


# the name of each type in help texts and in messages
_KINDS = {
    str: ("TEXT", "text"),
    int: ("N", "a whole number"),
    float: ("NUMBER", "a number"),
    list: ("LIST", "a list of text"),
    bool: (None, "true or false"),
    Path: ("FILE", "a file"),
}


def _parser(kind: Callable[[str], Any], words: str) -> Callable[[str], Any]:
    """Return a number parser with Hedgerow's own error text, since typer's text depends on its version."""

    def parse(text: str) -> Any:
        try:
            return kind(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not {words}.") from None

    return parse


_PARSERS = {int: _parser(int, "a whole number"), float: _parser(number, "a number, such as 0.5")}


def parameter(option: Option) -> inspect.Parameter:
    """Return the option as a typer parameter; its default None means that the option was not set."""
    # None tells an option that was not set from one that was set to its default
    kind: Any = list[str] if option.type is list else option.type
    show = typer.Option(
        *option.flags,
        option.switch,
        help=option.help,
        show_default=False,
        show_envvar=False,
        metavar=_KINDS[option.type][0],
        parser=_PARSERS.get(option.type),
        rich_help_panel=option.panel or None,
    )
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind | None, show]
    )


# the arguments of every command, by the function's name: what stands for each and what it is
_ARGUMENTS: dict[str, Mapping[str, tuple[str, str]]] = {}


# arguments, and the options that say the same in a TOML file
_SAME = (("source", "file"), ("source", "original"), ("release", "released"))

# the flags that show further help pages of commands that take a method
_PAGES = rows("pages")


def _show_page(ctx: typer.Context, param: typer.CallbackParam, is_set: bool) -> None:
    if is_set and not ctx.resilient_parsing:
        ctx.meta["page"] = param.name
        typer.echo(ctx.get_help())
        raise typer.Exit


def _page(flag: Option) -> inspect.Parameter:
    """Return the flag that shows one of the additional help pages."""
    option = typer.Option(flag.long, help=flag.help, is_eager=True, callback=_show_page)
    by_name = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(flag.name, by_name, default=False, annotation=Annotated[bool, option])


class Commands(TyperGroup):
    """The commands; a misspelled one is refused in the same words by every version of typer and click."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the first argument names, and the other arguments."""
        if args[0][:1] != "-" and args[0] not in self.commands:
            ctx.fail(f"no command {args[0]!r}{did_you_mean(args[0], self.commands)}")
        return super().resolve_command(ctx, args)


class Panelled(TyperCommand):
    """A command whose help text lists its options under headings.

    Arguments are written here, since versions of typer and click write them in four different ways,
    some without their help text.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments; an option that stands twice is refused, unless it can be repeated."""
        try:
            _, _, order = self.make_parser(ctx).parse_args(list(args))
            for each in order:
                if order.count(each) > 1 and not (each.multiple or each.is_eager):
                    raise UsageError(f"{max(each.opts, key=len)} is given twice")
        except UsageError as error:
            error.ctx = ctx  # click forgets it in some, and then nobody says whose help to see
            raise
        return list(super().parse_args(ctx, args))

    def _arguments(self, ctx: Any) -> Iterator[tuple[str, str, bool]]:
        words = _ARGUMENTS[(self.name or "").replace("-", "_")]
        for each in self.get_params(ctx):
            if each.param_type_name == "argument":
                yield *words[each.name or ""], each.required

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the arguments for the usage line, with optional ones in brackets."""
        named = (name if needed else f"[{name}]" for name, _, needed in self._arguments(ctx))
        return [self.options_metavar or "", *named]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write the help text: the command's own, or the introduction of the masking page."""
        if ctx.meta.get("page") != "help_masking":
            super().format_help_text(ctx, formatter)
            return
        formatter.write_paragraph()
        with formatter.indentation():
            first, last = ", ".join(MASKING[:-1]), MASKING[-1]
            formatter.write_text(text("help", "masking", first=first, last=last))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the help for arguments first, and for options without a heading last."""
        arguments = [
            (name, f"{words}  [required]" if needed else words) for name, words, needed in self._arguments(ctx)
        ]
        panels: dict[str, list[tuple[str, str]]] = {"Arguments": arguments}
        for each in self.get_params(ctx):
            record = each.get_help_record(ctx)
            if record is not None and each.param_type_name == "option":
                # --help is an option of click's, which knows no headings
                name = getattr(each, "rich_help_panel", None) or "Options"
                panels.setdefault(name, []).append(record)
        # what belongs to no heading comes last
        panels["Options"] = panels.pop("Options")
        page = ctx.meta.get("page", "help")
        for name, records in panels.items():
            is_masking = name == MASKING_PANEL
            if records and (page == "help_all" or is_masking == (page == "help_masking")):
                with formatter.section(name):
                    formatter.write_dl(records)


def command(
    *options: Option, config: bool = True, **arguments: tuple[str, str]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that gives a command function the signature of these options.

    Parameters
    ----------
    *options : Option
    config : bool
        Whether the command takes a TOML file.
    **arguments : tuple of str
        For each parameter, its name in the usage line and its description.
    """
    by_name = {row.name: row for row in (*options, *QUIET)}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        # typer has no place for what an argument is called and what it means
        _ARGUMENTS[function.__name__] = arguments
        signature = inspect.signature(function, eval_str=True).parameters
        parameters = []
        for name, (metavar, _) in arguments.items():
            argument = typer.Argument(metavar=metavar)
            parameters.append(signature[name].replace(annotation=Annotated[signature[name].annotation, argument]))
        parameters += map(parameter, [CONFIG, *by_name.values()] if config else by_name.values())
        if any(row.panel == MASKING_PANEL for row in options):
            parameters += map(_page, _PAGES)

        @functools.wraps(function)
        def run(config: Path | None = None, **values: Any) -> Any:
            for argument, option in _SAME:
                if values.get(option) and argument in arguments and values[argument]:
                    raise ParameterError(
                        f"{arguments[argument][0]} and --{option} both name this table",
                        hint=f"give one of them: --{option} is for TOML files",
                    )
            flags = {name: value for name, value in values.items() if name in by_name}
            options = merged(flags, config, by_name)  # --quiet counts while standard input is read
            return function(**{name: received(values[name]) for name in arguments}, options=options)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        # typer reads both
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def merged(flags: Mapping[str, object], config: Path | None, by_name: Mapping[str, Option]) -> Options:
    """Return the options of a TOML file, overridden by flags; lists are split at commas.

    Lists in the TOML file are taken as they are: commas in their names do not split them.
    """
    values = _config(config, by_name) if config is not None else {}
    flags = {name: value for name, value in flags.items() if value is not None and value != []}
    options = Options(values | flags)
    options.config = config
    set_quiet(bool(options.pop("quiet", False)))
    for name, value in options.items():
        is_text = name in flags or isinstance(value, str)
        # commas of a condition part no columns
        if is_text and name not in CONDITIONS and name in by_name and by_name[name].type is list:
            options[name] = split(value)
    return options


def _config(path: Path, by_name: Mapping[str, Option]) -> dict[str, object]:
    """Return the options of a TOML file; a ParameterError names every invalid key."""
    data = parsed_toml(read_text(path, "the config", ParameterError), f"the config {path}", ParameterError)
    values, faults = dict[str, object](), []
    # a command that takes a schema takes its tables, a column each, in this file alone
    tables = TABLES if "schema" in by_name else ()
    names = sorted({*by_name, *tables})
    for key, value in data.items():
        if (name := key.replace("-", "_")) not in names:
            faults.append(f"{key!r}{did_you_mean(name, names)}")
        elif name in tables and isinstance(value, Mapping):
            values[name] = value
        elif name in by_name and not fits(value, by_name[name].type):
            faults.append(f"{key!r} must be {_KINDS[by_name[name].type][1]}")
        else:
            values[name] = value
    if faults:
        words = refusal("config", "cli", path=path, faults=", ".join(faults), names=", ".join(names))
        is_named = all(key.replace("-", "_") in names for key in data)
        raise ParameterError(words["message"], hint=None if is_named else words["hint"])
    return values
