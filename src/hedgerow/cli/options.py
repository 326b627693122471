"""Options as data: the command line and the TOML file take the same, under the same names."""

from __future__ import annotations

import csv
import difflib
import inspect
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ParameterError

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        show_default=False,
        help="TOML file with any of these options under their names.",
    ),
]
"""The option that every command with many options takes."""


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Parameters
    ----------
    name : str
        Its name in the TOML file; on the command line ``--name`` with dashes.
    type : type
        str, int, float, bool, or list (text that may be repeated or joined by commas).
    help : str
    flags : tuple of str
        Further flags, such as ``-k``.
    switch : str
        For bool: the flags in full, such as ``--escape/--no-escape``.
    """

    name: str
    type: type
    help: str
    flags: tuple[str, ...] = ()
    switch: str = ""

    @property
    def parameter(self) -> inspect.Parameter:
        """The option as typer wants it; its default is None, for "not given"."""
        flag = self.switch or "--" + self.name.replace("_", "-")
        kind: Any = list[str] if self.type is list else self.type
        show = typer.Option(*self.flags, flag, help=self.help, show_default=False)
        return inspect.Parameter(
            self.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[kind | None, show],
        )


def command(function: Callable[..., Any], options: Sequence[Option]) -> Callable[..., Any]:
    """Give a function that takes ``**given`` the signature of its options."""
    own = [
        p
        for p in inspect.signature(function, eval_str=True).parameters.values()
        if p.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    parameters = [*own, *(option.parameter for option in options)]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    return function


def merged(
    given: Mapping[str, Any],
    config: Path | None,
    options: Sequence[Option],
    extra: Sequence[str] = (),
) -> dict[str, Any]:
    """The options of a TOML file, overridden by those of the command line; lists taken apart.

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
    values |= {name: value for name, value in given.items() if value is not None and value != []}
    return {
        name: split(value) if name in known and known[name].type is list else value
        for name, value in values.items()
    }


def _config(path: Path, known: Mapping[str, Option], extra: Sequence[str]) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"cannot read the config {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ParameterError(f"the config {path} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"the config {path} is not valid TOML: {error}") from None
    values, faults = {}, []
    names = [*known, *extra]
    for key, value in data.items():
        name = key.replace("-", "_")
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            faults.append(f"{key!r}" + (f" (did you mean {near[0]!r}?)" if near else ""))
        elif name in known and not _fits(value, known[name].type):
            faults.append(f"{key!r} must be {_words(known[name].type)}")
        else:
            values[name] = value
    if faults:
        raise ParameterError(
            f"the config {path} has keys at fault: {', '.join(faults)}",
            hint=f"the keys are {', '.join(sorted(names))}",
        )
    return values


def _fits(value: Any, kind: type) -> bool:
    if kind is list:
        return isinstance(value, str) or (
            isinstance(value, list) and all(isinstance(v, str) for v in value)
        )
    if kind is float:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _words(kind: type) -> str:
    return {
        list: "a list of text",
        float: "a number",
        int: "a whole number",
        bool: "true or false",
    }.get(kind, "text")


def split(value: str | Sequence[str]) -> list[str]:
    """Names from repeated and comma-separated text; a name with a comma stands in quotes.

    Examples
    --------
    >>> split(["age,job", '"income, yearly"'])
    ['age', 'job', 'income, yearly']
    """
    if not isinstance(value, str) and not any('"' in text or "," in text for text in value):
        return list(value)
    names: list[str] = []
    for text in [value] if isinstance(value, str) else value:
        names += (name.strip() for name in next(csv.reader([text], skipinitialspace=True), []))
    return [name for name in names if name]
