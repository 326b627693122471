"""A request for a release: one record, and one row an option for flags, TOML keys, help and scripts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from ..key import Secret
from ..schema import Schema
from . import methods
from .options import (
    DATE,
    ENGINE,
    ESCAPE,
    FILE,
    FORCE,
    JSON,
    KEEP_ORDER,
    PARTS,
    RESTART,
    SAMPLE,
    SCHEMA,
    SHEET,
    Option,
    under,
)  # fmt: skip

METHOD = under(
    "Method",
    Option(
        "method",
        str,
        f"How: {', '.join(methods.USUAL)}; masking: see --help-masking. Default: mart.",
    ),
)
BOUND = under(
    "Method",
    Option(
        "max_inference",
        float,
        "Tighten the method until named attackers infer at most this share of any sensitive "
        "column, in (0, 1); a measured bound.",
        step="choose",
    ),
)
REPORT = under(
    "Report",
    Option(
        "profile",
        str,
        "Standard to keep, by name (hedgerow profiles) or as your own .toml: raises k where that keeps "
        "it, writes nothing where a criterion is not met, and writes evidence.json.",
        step="choose",
    ),
    Option("report", bool, "Measure risk and utility and write report.html. Default: yes."),
    Option(
        "attacks",
        bool,
        "Try attacks and learning as well for the report; takes longer. Default: no.",
        step="measure",
    ),
    Option(
        "learning",
        bool,
        "Compare learning from the release for the report. Default: as for the attacks.",
        step="measure",
    ),
    Option(
        "inference",
        bool,
        "Measure what learners infer about members and strangers. Default: as for the attacks.",
        step="measure",
    ),
    SAMPLE,
    DATE,
)
RELEASE = under(
    "Release",
    Option("out", str, "Folder to write; it must not exist. -: the table alone, on stdout."),
    Option(
        "public",
        str,
        "Folder to hand out, apart: what the recipient gets and nothing else.",
        step="write",
    ),
    FORCE,
    ESCAPE,
    KEEP_ORDER,
    PARTS,
    Option(
        "mapping",
        bool,
        "Also write mapping.json (private): whose record is which; audit and score need it "
        "for randomized and masked releases. Default: no.",
        step="write",
    ),
    Option(
        "pseudonyms",
        bool,
        "Replace identifiers by keyed pseudonyms instead of leaving them out.",
    ),
    Option(
        "key_file",
        str,
        "Secret key of the pseudonyms (16 bytes or more) or of what a method draws (then made if "
        "absent).",
    ),
)
OPTIONS = (
    *SCHEMA, *METHOD, *methods.OPTIONS, *BOUND, *REPORT, *RELEASE,
    FILE, SHEET, JSON, *ENGINE, *RESTART,
)  # fmt: skip
"""The options of `hedgerow protect`, in the order of its help."""

CHOICE = tuple(row.name for row in OPTIONS if row.step == "choose")
WRITING = tuple(row.name for row in OPTIONS if row.step == "write")
"""The options that `Session.choose` and `Session.write` take under the same names."""


@dataclass(frozen=True)
class Request:
    """A request for a release: everything that was chosen, once.

    Parameters
    ----------
    schema : Schema
    method : Method
        Unfitted; None where the command line takes its own.
    pseudonym_key : path or bytes, optional
        Secret of the pseudonyms in place of the identifiers; None leaves these out.
    max_inference : float, optional
        What named attackers may infer at most; see `hedgerow.protect`.
    profile : str or path, optional
        The standard to keep; see `hedgerow.protect`.
    keep_order : bool
        Leave the rows in the order of the input.
    parts : bool
        Write the table as a folder of Parquet files.
    path : Path, optional
        The file of the table; None for tables that came in as an object.
    measured : mapping, optional
        What `hedgerow.audit` measures for the report; None for no report.
    out : Path, optional
        The release folder; ``release/`` by default.
    escape : bool
        Put an apostrophe before cells that a spreadsheet would run.
    mapping : bool
        Write whose record is which as well.
    public : Path, optional
        The folder to hand out.
    """

    schema: Schema
    method: Any
    pseudonym_key: str | Path | bytes | None = field(default=None, repr=False)
    max_inference: float | None = None
    profile: str | Path | None = None
    keep_order: bool = False
    parts: bool = False
    path: Path | None = None
    measured: Mapping[str, Any] | None = None
    out: Path | None = None
    escape: bool = True
    mapping: bool = False
    public: Path | None = None

    def secret(self) -> Secret | None:
        """Return the key of the pseudonyms itself."""
        return Secret.of(self.pseudonym_key)

    def changed(self, names: Collection[str]) -> dict[str, Any]:
        """Return those of the named fields that differ from their defaults, in the order of fields."""
        rows = (each for each in fields(self) if each.name in names)
        return {r.name: getattr(self, r.name) for r in rows if getattr(self, r.name) != r.default}

    @property
    def folder(self) -> str:
        """Return the release folder as text."""
        return "release/" if self.out is None else f"{as_argument(self.out)}/"


def as_argument(path: str | Path) -> str:
    """Return a path as a word of a command line: one that begins with a dash is no flag."""
    text = str(path)
    # a dash alone is standard input
    return f"./{text}" if text.startswith("-") and text != "-" else text
