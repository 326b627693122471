"""hedgerow reproduce: an experiment, run again; beside its printed figures, if published.

An experiment is a function in `papers/` that returns plain data, and one row of
`EXPERIMENTS`. Lists of records print as tables, other values as lines;
``pictures`` (file name to SVG) are written to the folder that was asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from ..datasets import fetching
from ..errors import ParameterError, did_you_mean
from ..files import unwritable, write_private
from ..notation import words
from ..session.options import Option
from .console import as_json, say, table
from .options import command, merged
from .working import working

# name on the command line: (module, function, what it is)
EXPERIMENTS: dict[str, tuple[str, str, str]] = {
    "mart-example": ("hedgerow.papers.mart", "example", "MART on the 14 people of its paper"),
    "mart-table4": (
        "hedgerow.papers.mart", "table4", "MART and Mondrian on German Credit and Alcohol"
    ),
    "mart-table5": ("hedgerow.papers.mart", "table5", "MART and Mondrian on Census-Income, k = 30"),
    "rr-table3": (
        "hedgerow.papers.randomized_response", "table3", "optimal probabilities of keeping a value"
    ),
    "rr-table5": (
        "hedgerow.papers.randomized_response", "table5", "how well income and occupation are kept"
    ),
    "rr-figures": (
        "hedgerow.papers.randomized_response", "figures", "the pictures of randomized response"
    ),
    "porop-table1": ("hedgerow.papers.porop", "table1", "scores of maskings of Census"),
    "porop-table2": ("hedgerow.papers.porop", "table2", "scores of maskings of EIA"),
    "porop-figures": ("hedgerow.papers.porop", "figures", "loss, risk and score by block size"),
    "tpp-table1": ("hedgerow.papers.tpp", "table1", "groups that are left where trees are kept"),
    "tpp-figures": ("hedgerow.papers.tpp", "figures", "what learners make of the kept trees"),
    "hedge": ("hedgerow.papers.hedge", "use", "Hedge beside the other methods, as docs/hedge.md"),
    "hedge-figures": ("hedgerow.papers.hedge_figures", "figures", "the picture of docs/hedge.md"),
}  # fmt: skip


OPTIONS = (
    Option("out", str, "Folder for the pictures, if any."),
    Option("download", bool, "Fetch data that are missing from their provider."),
    Option("json", bool, "Print the result as JSON."),
)


@command(OPTIONS, name=("EXPERIMENT", "One of the list; none: the list."))
def reproduce(name: str = "", **given: Any) -> None:
    """Run an experiment again and print its figures.

    The figures of its paper are printed beside them.
    Without a name, list the experiments. The data are read from $HEDGEROW_DATA.
    """
    options = merged(given, None, OPTIONS)
    out = options.get("out")
    if not name:
        table(
            [(each, what) for each, (*_, what) in EXPERIMENTS.items()], ("experiment", "what it is")
        )
        return
    if name not in EXPERIMENTS:
        raise ParameterError(
            f"unknown experiment {name!r}{did_you_mean(name, EXPERIMENTS)}",
            hint=f"the experiments are {', '.join(EXPERIMENTS)}",
        )
    module, function, _ = EXPERIMENTS[name]
    with working(f"running {name}") as progress, (
        fetching() if options.get("download") else nullcontext()
    ):
        run = getattr(import_module(module), function)
        told = {"progress": progress} if "progress" in signature(run).parameters else {}
        found = dict(run(**told))
    pictures: dict[str, str] = found.pop("pictures", {})
    if out and pictures:
        found["pictures"] = [str(path) for path in _save(pictures, Path(out))]
    elif pictures:
        found["pictures"] = f"{len(pictures)} pictures; --out FOLDER writes them"
    if options.get("json"):
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
