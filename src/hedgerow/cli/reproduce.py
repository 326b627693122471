"""hedgerow reproduce: the published experiments, rerun beside the printed numbers."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import OutputError, ParameterError
from .console import as_json, note, say, table, working

# name: (module, function). A function returns plain data; texts under "pictures" are SVG.
EXPERIMENTS = {
    "rr-table3": ("hedgerow.papers.randomized_response", "table3"),
    "rr-table5": ("hedgerow.papers.randomized_response", "table5"),
    "rr-figures": ("hedgerow.papers.randomized_response", "figures"),
}


def add(app: typer.Typer) -> None:
    """Put the command into the app."""
    app.command(name="reproduce")(reproduce)


def reproduce(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", show_default=False, help=f"One of {', '.join(EXPERIMENTS)}."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", show_default=False, help="Folder for the pictures (SVG)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON.")] = False,
) -> None:
    """Rerun a published experiment and print its numbers beside the paper's.

    Exit code 1 says that a number lies outside what was expected of it.
    """
    if name not in EXPERIMENTS:
        raise ParameterError(
            f"unknown experiment {name!r}", hint=f"the experiments are {', '.join(EXPERIMENTS)}"
        )
    module, function = EXPERIMENTS[name]
    with working(f"running {name}"):
        result = dict(getattr(import_module(module), function)())
    pictures = result.pop("pictures", {})
    if out is not None:
        _draw(pictures, out)
    if json:
        as_json(result)
    else:
        _tell(result)
        if pictures and out is None:
            note("the pictures are written with --out FOLDER")
    if not _holds(result.get("checks", {})):
        raise typer.Exit(1)


def _draw(pictures: Mapping[str, str], out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in pictures.items():
            (out / f"{name}.svg").write_text(text, encoding="utf-8")
            note(f"written    {out / f'{name}.svg'}")
    except OSError as error:
        raise OutputError(f"cannot write {out}: {error.strerror}") from None


def _holds(checks: Mapping[str, Any]) -> bool:
    return all(value for value in checks.values() if isinstance(value, bool))


def _tell(data: Any, title: str = "") -> None:
    """Lists of records as tables, everything else as a line."""
    for key, value in data.items():
        name = f"{title} {key}".strip()
        if isinstance(value, list) and value and all(isinstance(row, Mapping) for row in value):
            head = tuple(dict.fromkeys(k for row in value for k in row))
            say(f"{name}:")
            table([tuple(_cell(row.get(k)) for k in head) for row in value], head)
            say()
        elif isinstance(value, Mapping) and any(
            isinstance(v, (list, Mapping)) for v in value.values()
        ):
            _tell(value, name)
        else:
            say(f"{name}: {_cell(value)}")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return " ".join(f"{k}={_cell(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(_cell(v) for v in value)
    return str(value)
