"""A request for a release as one record, and one row per option for flags, TOML keys, help and scripts."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from itertools import chain, count
from pathlib import Path
from typing import Any

from .. import facade
from ..key import Key, Secret
from ..schema import Schema
from . import methods
from .options import ENGINE, SCHEMA, rows

REPORT = rows("report")
# the options of `hedgerow protect`, in the order of its help
OPTIONS = (
    *SCHEMA, *rows("method", methods=", ".join(methods.USUAL)), *methods.OPTIONS, *rows("bound"), *REPORT,
    *rows("release"), *ENGINE,
)  # fmt: skip

# the options that `Session.choose` and `Session.write` take under the same names
CHOICE = tuple(row.name for row in OPTIONS if row.step == "choose")
# what `choose` takes besides: the key of a guard's draws, for which methods and pseudonyms have the flags as well
DRAWING = ("key", "random_state")
WRITING = tuple(row.name for row in OPTIONS if row.step == "write")


@dataclass(frozen=True)
class Request:
    """A request for a release, with everything that was chosen.

    Parameters
    ----------
    schema : Schema
    method : Method
        The unfitted method; None for the default of the command line.
    pseudonym_key : path or bytes, optional
        Secret of the pseudonyms in place of the identifiers; None leaves these out.
    guard : str, optional
        How exact sensitive values are hidden; see `hedgerow.protect`.
    guard_people : int, optional
        Fewest people who share a value that a guard releases.
    cap_on : {"groups", "file"}
        What keeps a cap where rows are drawn; see `hedgerow.protect`.
    key : Key or path, optional
        Secret of the guard's draws.
    random_state : int, optional
        A number in place of that secret, for experiments.
    max_inference : float, optional
        The most that named attackers may infer; see `hedgerow.protect`.
    profile : str or path, optional
        The standard to keep; see `hedgerow.protect`.
    keep_order : bool
        Leave the rows in the order of the input.
    parts : bool
        Write the table as a folder of Parquet files.
    path : Path, optional
        The file of the table; None for tables that came in as an object.
    measured : mapping, optional
        Options of the `hedgerow.audit` that is run for the report; None for no report.
    out : Path, optional
        The release folder; by default ``release/``, or ``release-2/`` and so on where that exists.
    escape : bool
        Write an apostrophe before cells that a spreadsheet would run as formulas.
    mapping : bool
        Also write which released record belongs to which original one.
    public : Path, optional
        The folder to hand out.
    sign : Path, optional
        The SSH key that signs the release.
    """

    schema: Schema
    method: facade.Method | None
    pseudonym_key: str | Path | bytes | None = field(default=None, repr=False)
    guard: str | None = "auto"
    guard_people: int | None = None
    cap_on: str = "groups"
    key: Key | str | Path | None = field(default=None, repr=False)
    random_state: int | None = None
    max_inference: float | None = None
    profile: str | Path | None = None
    keep_order: bool = False
    parts: bool = False
    path: Path | None = None
    measured: Mapping[str, object] | None = None
    out: Path | None = None
    escape: bool = True
    mapping: bool = False
    public: Path | None = None
    sign: Path | None = None

    def secret(self) -> Secret | None:
        """Return the key of the pseudonyms as a `Secret`; None if there is none."""
        return Secret.from_value(self.pseudonym_key)

    def changed(self, names: Collection[str]) -> dict[str, Any]:
        """Return the named fields that differ from their defaults, as {name: value} in field order."""
        rows = (each for each in fields(self) if each.name in names)
        return {r.name: getattr(self, r.name) for r in rows if getattr(self, r.name) != r.default}

    @property
    def folder(self) -> str:
        """Return the release folder as text that ends with a slash."""
        if self.out is not None:
            return f"{as_argument(self.out)}/"
        # the first name that is free, for an earlier release is not replaced
        names = chain(["release"], (f"release-{number}" for number in count(2)))
        return next(f"{name}/" for name in names if not os.path.lexists(name))


def as_argument(path: str | Path) -> str:
    """Return a path as a word of a command line; one that begins with a dash gets ``./`` in front."""
    text = str(path)
    # a dash alone is standard input
    return f"./{text}" if text.startswith("-") and text != "-" else text
