"""hedgerow reproduce: the published experiments, rerun."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OutputError, ParameterError
from .console import as_json, say, working
from .options import Option, command, merged

# name on the command line: (module, function); a function gives plain data, with its
# pictures as SVG text by name under "pictures".
EXPERIMENTS = {
    "tpp-table1": ("hedgerow.papers.tpp", "table1"),
    "tpp-figures": ("hedgerow.papers.tpp", "figures"),
}
OPTIONS = (
    Option("out", str, "Folder for the numbers and pictures; it must not exist."),
    Option("json", bool, "Print the numbers as JSON.", switch="--json"),
)


def add(app: typer.Typer) -> None:
    """Put the command into the app."""
    app.command(name="reproduce")(command(reproduce, OPTIONS))


def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(metavar="EXPERIMENT", help=f"One of {', '.join(EXPERIMENTS)}."),
    ],
    **given: Any,
) -> None:
    """Rerun a published experiment and print its numbers beside the printed ones.

    The data come from the folder $HEDGEROW_DATA, or from the cache of the loaders.
    """
    options = merged(given, None, OPTIONS)
    if experiment not in EXPERIMENTS:
        near = difflib.get_close_matches(experiment, EXPERIMENTS, n=1)
        raise ParameterError(
            f"unknown experiment {experiment!r}"
            + (f" (did you mean {near[0]!r}?)" if near else ""),
            hint=f"the experiments are {', '.join(EXPERIMENTS)}",
        )
    folder = Path(options["out"]) if options.get("out") else None
    if folder is not None and folder.exists():
        raise OutputError(f"{folder} exists already", hint="choose another name")
    module, function = EXPERIMENTS[experiment]
    with working(experiment):
        made: dict[str, Any] = getattr(import_module(module), function)()
    pictures = made.pop("pictures", {})
    if folder is not None:
        _write(folder, experiment, made, pictures)
    if options.get("json"):
        as_json(made)
        return
    for line in lines(made):
        say(line)
    if folder is not None:
        say(f"written    {folder}")


def _write(
    folder: Path, experiment: str, made: Mapping[str, Any], pictures: Mapping[str, str]
) -> None:
    import json

    folder.mkdir()
    text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    (folder / f"{experiment}.json").write_text(text, encoding="utf-8")
    for name, picture in pictures.items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")


def lines(data: Any, indent: str = "") -> list[str]:
    """Plain data as indented lines; short mappings on one line."""
    if not isinstance(data, (Mapping, list, tuple)):
        return [indent + _word(data)]
    told = []
    pairs = data.items() if isinstance(data, Mapping) else ((None, item) for item in data)
    for key, value in pairs:
        mark = "-" if key is None else f"{key}:"
        flat = _flat(value)
        if flat is not None:
            told.append(f"{indent}{mark} {flat}")
        else:
            told += [indent + mark, *lines(value, indent + "  ")]
    return told


def _flat(value: Any) -> str | None:
    if not isinstance(value, (Mapping, list, tuple)):
        return _word(value)
    parts = value.items() if isinstance(value, Mapping) else ((None, v) for v in value)
    words = []
    for key, part in parts:
        if isinstance(part, (Mapping, list, tuple)):
            return None
        words.append(_word(part) if key is None else f"{key} {_word(part)}")
    text = ", ".join(words)
    return text if len(text) <= 100 else None


def _word(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
