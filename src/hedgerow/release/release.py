"""A released table that knows its plan, verifies itself, and writes itself as a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..classes import disclosure, sizes
from ..classes.disclosure import Disclosed
from ..files import write_private
from ..guarantees import Check
from ..methods.base import Method
from ..plan import Plan
from ..plan.codec import dumps
from ..progress import Progress, Tell, telling
from ..schema import Schema
from ..table import Table, read
from ..table.write import write_table
from .explain import recoding_in_words
from .recipient import recipient
from .record import record
from .truthfulness import identical
from .verify import classes, require, verify
from .write import AUDIT, PLAN, RECIPIENT, REPORT, write_folder


class Measured(Protocol):
    """What `Release.write` asks of an `Audit`."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""

    def report(self, path: Path, *, plan: Any, checks: Any, drawings: Any) -> Any:
        """Write the report."""


class Release:
    """A released table with its plan and its checks; made by `protect`.

    Attributes
    ----------
    table : the kind of frame that came in (a pyarrow table for a path)
    plan : Plan
        How it was made; private, for it holds thresholds taken from the data.
    checks : list of Check
        What was verified on the released table.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        schema: Schema,
        method: Method,
        original: Table,
        table: Any,
        recoded: tuple[str, ...],
        pseudonyms: tuple[str, ...] = (),
    ) -> None:
        self.table = table
        self.plan = plan
        self.schema = schema
        self.method = method
        self.original = original
        self.recoded = recoded
        self.pseudonyms = pseudonyms
        self.released = read(table)
        self._verified: Any = None
        self._summary: dict[str, Any] | None = None
        self.checks: list[Check] = []

    def __repr__(self) -> str:
        return (
            f"Release({self.plan.method}, {self.released.n_rows:,} rows, "
            f"{len(self.checks)} checks hold)"
        )

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """For every row of `table` the row of the input that it came from; shape (n_rows,).

        Private: it says who stands where.
        """
        return np.arange(self.original.n_rows, dtype=np.int64)

    def verify(self) -> list[Check]:
        """Derive every promise again from the released table as it stands now.

        Returns
        -------
        list of Check
            Name, what was required and reached, whether it holds.

        Raises
        ------
        PromiseError
            A check does not hold.
        """
        self.released = read(self.table)
        self._summary = None
        self.checks = require(self.verify_table(self.released))
        self._verified = self.table
        return self.checks

    def verify_table(self, released: Table) -> list[Check]:
        """The checks of this release on any table, such as one read back from its file."""
        checks = verify(self.plan, self.original, released, self.recoded, self.pseudonyms)
        if all(check.holds for check in checks[:2]):
            checks += self.method.release_checks(self.original, released)
        return checks

    def summary(self) -> dict[str, Any]:
        """The release in numbers: rows, groups and their sizes, disclosure, checks.

        Returns
        -------
        dict
            ``rows``, ``groups`` (count, extremes, quartiles), ``disclosure`` (0 nothing, 1
            all: mean over groups, over records, worst; ``columns`` has each sensitive
            column) and ``checks``; plain data, ready for JSON.
        """
        if self._summary is None:
            made = classes(self.plan, self.released)
            told = {
                name: Disclosed.of(disclosure.of_column(column), made.sizes)
                for name, column in made.sensitive.items()
            }
            overall = Disclosed.over_columns(told.values())
            self._summary = {
                "method": self.plan.method,
                "rows": self.released.n_rows,
                "groups": sizes.summary(made.sizes).to_json(),
                "disclosure": None
                if overall is None
                else {
                    **overall.to_json(),
                    "columns": {name: each.to_json() for name, each in told.items()},
                },
                "checks": [check_to_json(check) for check in self.checks],
            }
        return self._summary

    def recoding_in_words(self) -> str:
        """What was done to the columns, in words; `plan.explain()` tells the rest as well."""
        return recoding_in_words(self.plan.recoding)

    def write(
        self,
        folder: str | Path,
        force: bool = False,
        escape: bool = True,
        measured: Measured | None = None,
        progress: Progress | None = None,
    ) -> Path:
        """Write the release as a folder that appears whole or not at all.

        The files are the table (in the format that came in, Parquet for frames),
        ``plan.json``, ``audit.json`` and ``RECIPIENT.md``, each readable by its owner
        alone. The table's file is read back and verified before the folder takes
        its name.

        Parameters
        ----------
        folder : path
            Where to; its parent must exist.
        force : bool, default False
            Replace an earlier release of that name.
        escape : bool, default True
            In CSV, put an apostrophe before cells that a spreadsheet would run.
        measured : Audit, optional
            What ``hr.audit(release.original, release.table, release.schema)`` measured:
            ``report.html`` is written from it, and ``audit.json`` holds its numbers too.
        progress : callable, optional
            Called with the name of each step ("writing", "reading back") and the part of it that is
            done, or None; what it raises ends the work, and nothing is left behind.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        OutputError
            The folder exists, or cannot be written.
        PromiseError
            The written file does not keep a promise.
        """
        if self.table is not self._verified or not isinstance(self.table, pa.Table):
            self.verify()  # frames of other kinds can be changed in place
        step = telling(progress)
        return write_folder(
            Path(folder), lambda inside: self._fill(inside, escape, measured, step), force=force
        )

    def _fill(self, folder: Path, escape: bool, measured: Measured | None, step: Tell) -> None:
        file = folder / f"release{self.original.suffix}"
        step("writing")
        write_table(self.released.arrow, file, like=self.original, escape=escape)
        step("reading back")
        back = read(file, unescape_formulas=escape)
        same = identical(self.released, back)
        require(self.checks if same else self.verify_table(back), f"the written file {file.name}")
        files = self.method.release_files(self)
        extra = {**files.public, **files.private}
        numbers = record(self.plan, self.summary(), file, self.pseudonyms)
        if measured is not None:
            numbers["measured"] = measured.to_dict()
            measured.report(
                folder / REPORT,
                plan=self.plan,
                checks=self.checks,
                drawings={name: text for name, text in extra.items() if name.endswith(".svg")},
            )
        beside = self.method.recipient_lines(file.name)
        texts = {
            PLAN: dumps(self.plan),
            AUDIT: json.dumps(numbers, indent=2, allow_nan=False) + "\n",
            RECIPIENT: recipient(self.plan, self.summary(), file.name, self.pseudonyms, beside),
        }
        for name, text in {**texts, **extra}.items():
            write_private(folder / name, text)


def check_to_json(check: Check) -> dict[str, Any]:
    """A check as plain data."""
    return {
        "name": check.name,
        "required": check.required,
        "reached": check.reached,
        "holds": bool(check.holds),
        "detail": check.detail,
    }
