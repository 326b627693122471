"""Run an experiment of the papers again; its published figures are printed beside.

    python -m experiments                 # the list
    python -m experiments mart-table4

An experiment is a function of a file here that returns plain data, and one row of
`EXPERIMENTS`. The data are read from $HEDGEROW_DATA. Lists of records print as tables, other values as lines;
``pictures`` (file name to SVG) are written to the folder that was asked for.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from hedgerow.cli.console import as_json, complain, say, table, working
from hedgerow.errors import HedgerowError, ParameterError, did_you_mean
from hedgerow.files import unwritable, write_private
from hedgerow.notation import words

from .public_data import fetch_missing

HELP = "Run an experiment again; the figures of its paper are printed beside. No name: the list."
# name on the command line: (module, function, what it is)
EXPERIMENTS: dict[str, tuple[str, str, str]] = {
    "mart-example": ("experiments.mart", "example", "MART on the 14 people of its paper"),
    "mart-table4": (
        "experiments.mart", "table4", "MART and Mondrian on German Credit and Alcohol"
    ),
    "mart-table5": ("experiments.mart", "table5", "MART and Mondrian on Census-Income, k = 30"),
    "rr-table3": (
        "experiments.randomized_response", "table3", "optimal probabilities of keeping a value"
    ),
    "rr-table5": (
        "experiments.randomized_response", "table5", "how well income and occupation are kept"
    ),
    "rr-figures": (
        "experiments.randomized_response", "figures", "the pictures of randomized response"
    ),
    "porop-table1": ("experiments.porop", "table1", "scores of maskings of Census"),
    "porop-table2": ("experiments.porop", "table2", "scores of maskings of EIA"),
    "porop-figures": ("experiments.porop", "figures", "loss, risk and score by block size"),
    "tpp-table1": ("experiments.tpp", "table1", "groups that are left where trees are kept"),
    "tpp-figures": ("experiments.tpp", "figures", "what learners make of the kept trees"),
    "hedge": ("experiments.hedge", "use", "Hedge beside the other methods, as docs/hedge.md"),
    "guarded": ("experiments.guarded", "guarded", "values drawn anew inside groups, beside exact ones"),
    "hedge-figures": ("experiments.hedge", "figures", "the picture of docs/hedge.md"),
}  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Run an experiment and print its figures; 0 done, 2 bad usage or data that are not there."""
    parser = ArgumentParser("python -m experiments", description=HELP)
    parser.add_argument("name", nargs="?", default="", metavar="EXPERIMENT")
    parser.add_argument("--out", type=Path, help="folder for the pictures, if any")
    parser.add_argument("--download", action="store_true", help="fetch public files that are missing (UCI)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    asked = parser.parse_args(words)
    try:
        run(asked.name, asked.out, asked.download, asked.json)
    except HedgerowError as error:
        complain(error.message, error.hint)
        return 2
    return 0


def run(name: str, out: Path | None, download: bool, json: bool) -> None:
    """Run one of the `EXPERIMENTS`, or list them, where no name is given."""
    if download:
        fetch_missing()
    if not name:
        table([(each, what) for each, (*_, what) in EXPERIMENTS.items()], ("experiment", "what it is"))
        return
    if name not in EXPERIMENTS:
        raise ParameterError(
            f"unknown experiment {name!r}{did_you_mean(name, EXPERIMENTS)}",
            hint=f"the experiments are {', '.join(EXPERIMENTS)}",
        )
    module, function, _ = EXPERIMENTS[name]
    with working(f"running {name}") as progress:
        run = getattr(import_module(module), function)
        told = {"progress": progress} if "progress" in signature(run).parameters else {}
        found = dict(run(**told))
    pictures: dict[str, str] = found.pop("pictures", {})
    if out and pictures:
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


if __name__ == "__main__":
    sys.exit(main())
