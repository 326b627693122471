"""hedgerow reproduce: an experiment, run again; beside its printed figures, if published.

An experiment is a function in `papers/` that returns plain data, and one row of
`EXPERIMENTS`. Lists of records print as tables, other values as lines;
``pictures`` (file name to SVG) are written to the folder that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ParameterError, did_you_mean
from ..files import unwritable, write_private
from ..report.text import words
from .console import as_json, say, table, working

# name on the command line: (module, function)
EXPERIMENTS: dict[str, tuple[str, str]] = {
    "mart-example": ("hedgerow.papers.mart", "example"),
    "mart-table4": ("hedgerow.papers.mart", "table4"),
    "mart-table5": ("hedgerow.papers.mart", "table5"),
    "rr-table3": ("hedgerow.papers.randomized_response", "table3"),
    "rr-table5": ("hedgerow.papers.randomized_response", "table5"),
    "rr-figures": ("hedgerow.papers.randomized_response", "figures"),
    "porop-table1": ("hedgerow.papers.porop", "table1"),
    "porop-table2": ("hedgerow.papers.porop", "table2"),
    "porop-figures": ("hedgerow.papers.porop", "figures"),
    "tpp-table1": ("hedgerow.papers.tpp", "table1"),
    "tpp-figures": ("hedgerow.papers.tpp", "figures"),
    "hedge": ("hedgerow.papers.hedge", "use"),
    "hedge-figures": ("hedgerow.papers.hedge_figures", "figures"),
}


def reproduce(
    name: Annotated[str, typer.Argument(metavar="EXPERIMENT", show_default=False)] = "",
    out: Annotated[
        Path | None,
        typer.Option("--out", show_default=False, help="Folder for the pictures, if any."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Run an experiment again and print its figures, beside those of its paper if it has one.

    Without a name, list the experiments. The data are read from $HEDGEROW_DATA.
    """
    if not name:
        for each in EXPERIMENTS:
            say(each)
        return
    if name not in EXPERIMENTS:
        raise ParameterError(
            f"unknown experiment {name!r}{did_you_mean(name, EXPERIMENTS)}",
            hint=f"the experiments are {', '.join(EXPERIMENTS)}",
        )
    module, function = EXPERIMENTS[name]
    with working(f"running {name}") as progress:
        run = getattr(import_module(module), function)
        told = {"progress": progress} if "progress" in signature(run).parameters else {}
        found = dict(run(**told))
    pictures: dict[str, str] = found.pop("pictures", {})
    if out is not None and pictures:
        found["pictures"] = [str(path) for path in _save(pictures, out)]
    elif pictures:
        found["pictures"] = f"{len(pictures)} pictures; --out FOLDER writes them"
    if json:
        as_json(found)
    else:
        _print(found)


def _save(pictures: Mapping[str, str], folder: Path) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from None
    for name, svg in pictures.items():
        write_private(folder / f"{name}.svg", svg)
    return [folder / f"{name}.svg" for name in pictures]


def _print(found: Mapping[str, Any], prefix: str = "") -> None:
    """Scalars as lines, lists of records as tables, mappings one level down."""
    for key, value in found.items():
        title = f"{prefix}{key}".replace("_", " ")
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            heads = list(dict.fromkeys(k for row in value for k in row))
            say()
            say(title)
            table(
                [tuple(words(row.get(h, "")) for h in heads) for row in value],
                tuple(h.replace("_", " ") for h in heads),
            )
        elif isinstance(value, Mapping):
            _print(value, f"{title}: ")
        else:
            say(f"{title}: {words(value)}")
