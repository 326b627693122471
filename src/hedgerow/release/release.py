"""From a table of people to a verified release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..errors import ParameterError
from ..guarantees import Check
from ..plan import Plan
from ..progress import Progress, telling
from ..schema import Schema
from ..table import Table, read
from .explain import recoding_in_words
from .numbers import disclosure, over_responses, sizes
from .pseudonyms import pseudonyms
from .verify import classes, require, verify

if TYPE_CHECKING:
    from ..audit.result import Audit
    from ..methods.base import Method


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
            ``rows``, ``groups`` (count, extremes, quartiles), ``disclosure`` (RSD: mean
            over groups, formula 10; over records; worst; also per sensitive column) and
            ``checks``; plain data, ready for JSON.
        """
        if self._summary is None:
            made = classes(self.plan, self.released)
            told = disclosure(made)
            overall = over_responses(told)
            self._summary = {
                "method": self.plan.method,
                "rows": self.released.n_rows,
                "groups": sizes(made.sizes),
                "disclosure": None
                if overall is None
                else {
                    **overall.to_json(),
                    "responses": {name: d.to_json() for name, d in told.items()},
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
        measured: Audit | None = None,
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
        from .write import write

        if self.table is not self._verified or not isinstance(self.table, pa.Table):
            self.verify()  # frames of other kinds can be changed in place
        return write(
            self, Path(folder), force=force, escape=escape, measured=measured, progress=progress
        )


def check_to_json(check: Check) -> dict[str, Any]:
    """A check as plain data."""
    return {
        "name": check.name,
        "required": check.required,
        "reached": check.reached,
        "holds": bool(check.holds),
        "detail": check.detail,
    }


def protect(
    people: Any,
    schema: Schema,
    method: Any,
    *,
    pseudonym_key: bytes | None = None,
    progress: Progress | None = None,
) -> Release:
    """Protect a table of people by a method, and verify what comes out.

    Parameters
    ----------
    people : path, pandas, Polars or Arrow table, DuckDB relation
        One record per person; never changed.
    schema : Schema
        The roles of the columns; at least one quasi-identifier.
    method : Method
        An unfitted method such as ``MART(k=10)``; it is cloned, not changed.
    pseudonym_key : bytes, optional
        Replace the identifiers by pseudonyms under this secret key (at least 16
        bytes) instead of leaving them out. Pseudonyms link the records of one
        person, within this release and with others under the same key.
    progress : callable, optional
        Called with the name of each step ("reading", "fitting", "recoding", "verifying") and the
        part of it that is done, or None; what it raises ends the work.

    Returns
    -------
    Release

    Raises
    ------
    HedgerowError
        The table cannot be read, the schema does not fit, a parameter is out of
        range, or the released table does not keep a promise.

    Examples
    --------
    >>> import hedgerow as hr
    >>> people = hr.datasets.make_people(1000, seed=1)
    >>> schema = hr.Schema(quasi=["age", "education"], sensitive=["income"])
    >>> release = hr.protect(people, schema, hr.MART(k=10, max_disclosure=0.5))
    >>> release.summary()["groups"]["smallest"] >= 10
    True
    """
    step = telling(progress)
    step("reading")
    table = read(people)
    schema.check(table.names)
    if not schema.quasi:
        raise ParameterError(
            "the schema names no quasi-identifier, so there is nothing to protect",
            hint="name what an intruder may know: Schema(quasi=[...])",
        )
    step("fitting")
    fitted: Method = method.copy().fit_table(table, schema)
    plan: Plan = fitted.plan_
    step("recoding")
    made = fitted.release_table(table)
    replaced = dict(made.columns)
    kept: tuple[str, ...] = ()
    if pseudonym_key is not None:
        kept = tuple(schema.identifiers)
        replaced |= {name: pseudonyms(table, name, pseudonym_key) for name in kept}
    dropped = [name for name in schema.identifiers if name not in kept]
    release = Release(
        plan=plan,
        schema=schema,
        method=fitted,
        original=table,
        table=table.restore(replaced, drop=dropped),
        recoded=tuple(made.columns),
        pseudonyms=kept,
    )
    step("verifying")
    release.verify()
    return release
