"""A release under differential privacy: its rows are made from a public plan, and checked against it."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import narwhals
import pyarrow as pa

from ..columns.arrays import since_1970
from ..columns.roles import refuse_repeated
from ..columns.table import Table
from ..display import notebook_html
from ..errors import OutputError, UnsupportedError
from ..files import write_private
from ..io.read import read
from ..io.write import write_table
from ..measures.guarantees import Check
from ..methods.base import Method
from ..methods.private.domain import PublicColumn
from ..methods.private.private_plan import PrivatePlan
from ..progress import Progress, caution, cautions, telling
from ..schema import Schema
from ..texts import text
from ..validation import AXES, TEXT, takes
from .folder import AUDIT, PLAN, RECIPIENT, REPORT, file_facts, write_release
from .making import open_checked
from .release import Release, ReleaseOptions
from .signing import with_signature
from .verify import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_STAMP = pa.timestamp("us")
# of each released column its type, and the unit of its dates
Types = dict[str, tuple[pa.DataType, str]]


def make_private(
    people: Any, schema: Schema, method: Method, options: ReleaseOptions, progress: Progress | None = None
) -> PrivateRelease:
    """Measure a table with noise, make the rows of the release from its public plan, and verify them.

    Parameters
    ----------
    people, schema, method, progress
        As `hedgerow.protect` takes them.
    options : ReleaseOptions
        Of which it uses the engine and its memory.
    """
    step = telling(progress)
    step("reading")
    table, _ = open_checked(people, schema, method, options)
    try:
        refuse_repeated(table, schema, ())
        if not table.is_loaded:
            table.encode([*schema.quasi, *schema.sensitive])
        step("fitting")
        with cautions() as warnings:
            fitted = method.copy().fit_checked(table, schema)
    finally:
        table.discard_work()
    plan: PrivatePlan = fitted.plan_  # type: ignore[assignment]
    if len(plan.measured.leaves) == 1:
        warnings.append(text("private", "one_leaf", people=plan.measured.people, epsilon=plan.meaning["epsilon"]))
    release = PrivateRelease(plan, schema, fitted, table, people, tuple(warnings))
    step("verifying")
    release.verify()
    for words in release.cautions:
        caution(words)
    return release


class PrivateRelease:
    """A released table whose rows belong to nobody, with its public plan, as `protect` returns it.

    Attributes
    ----------
    table : the kind of frame that came in
        A pyarrow table for a path.
    plan : PrivatePlan
        Public: noisy counts, what each of them cost, and the key that makes the rows.
    checks : list of Check
        The checks that the released table passed.
    """

    def __init__(
        self,
        plan: PrivatePlan,
        schema: Schema,
        method: Method,
        original: Table,
        people: Any,
        warned: tuple[str, ...] = (),
    ) -> None:
        self.plan, self.schema, self.method, self.original = plan, schema, method, original
        self.table = _like(_typed(plan.rows(), types_of(plan)), people)
        self.cautions = list(warned)
        self.checks: list[Check] = []

    def __repr__(self) -> str:
        return f"PrivateRelease(epsilon={self.plan.epsilon}, {self.released.n_rows:,} rows)"

    @property
    def released(self) -> Table:
        """Return the released table as read."""
        return read(self.table)

    def verify(self, progress: Progress | None = None) -> list[Check]:
        """Check that no more epsilon was spent than promised, and that the plan makes exactly these rows.

        That noise was honestly drawn cannot be seen from a plan and a table.

        Raises
        ------
        PromiseError
            A check does not hold.
        """
        self.checks = require([*self.plan.checks(), *made_again(self.plan, self.released)])
        return self.checks

    def summary(self) -> dict[str, Any]:
        """Return the release in numbers: rows, epsilon and its parts, checks; all public but the cautions."""
        return {
            "method": self.plan.method,
            "rows": self.released.n_rows,
            "epsilon": self.plan.parameters["epsilon"],
            "records": self.plan.records,
            "advantage": self.plan.advantage,
            "leaves": len(self.plan.measured.leaves),
            "spent": [[part, cost] for part, cost in self.plan.ledger],
            "cautions": self.cautions,
            "checks": [check.to_json() for check in self.checks],
        }

    def in_words(self) -> list[str]:
        """Return what was promised and made, as sentences."""
        return [
            self.plan.explain(),
            f"{self.released.n_rows:,} rows, {len(self.checks)} checks hold.",
            text("private", "cost", epsilon=self.plan.meaning["epsilon"]),
        ]

    # of columns alone, so no groups are needed; not private: it shows the original
    compare = Release.compare

    @takes(column=TEXT, ax=AXES)
    def plot(self, column: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw one column before and after, by default the first one. Not private: it shows the original."""
        return self.compare(column or self.plan.columns[0].name).plot(ax=ax)

    def _repr_html_(self) -> str:
        table = self.released
        rows = list(zip(*(c.to_pylist() for c in table.head(table.names, 5)), strict=True))
        return notebook_html(repr(self), self.in_words(), ("The first rows", table.names, rows), notes=self.cautions)

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("rows", "judged", "against", "bind", "relation", "verify_written"):
            raise UnsupportedError(text("private", "only_rows", name=name), hint=text("private", "instead"))
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def file_name(self) -> str:
        """Return the name of the table in its folder; of its original only the ending of the file is kept."""
        return f"release{self.original.suffix}"

    def write(
        self,
        folder: str | Path,
        force: bool = False,
        escape: bool = True,
        measured: Any = None,
        mapping: bool = False,
        public: str | Path | None = None,
        progress: Progress | None = None,
        sign: str | Path | None = None,
    ) -> Path:
        """Write the release as a folder; after an error no part of it remains.

        The table, ``plan.json`` and ``RECIPIENT.md`` are public. ``audit.json`` and ``report.html``, which
        are written from `measured`, compare with the original, are *not* private, and stay with the steward.

        Parameters
        ----------
        folder, force, escape, measured, public, progress, sign
            As `Release.write` takes them.
        mapping : bool
            Refused: no row comes from a person.
        """
        step = telling(progress)
        if mapping:
            raise OutputError("no released row comes from a person, so there is no mapping to write")

        def fill(inside: Path) -> list[str]:
            step("writing")
            file = inside / self.file_name
            # not like the original, whose encoding, signs and quotes one person's cell can decide
            write_table(self.released.arrow, file, escape=escape)
            step("reading back")
            again = read(file, unescape_formulas=escape, schema=self.schema)
            require(made_again(self.plan, again, "written rows made again"), f"the written file {file.name}")
            self.plan.save(inside / PLAN)
            write_private(inside / RECIPIENT, self.method.recipient_notes(file.name).about)
            figures = {} if measured is None else measured.to_dict()
            release = {"file": file_facts(file), "plan": file_facts(inside / PLAN), **self.summary()}
            record = {"private": text("private", "stays"), "hedgerow_audit": 1, "release": release, **figures}
            write_private(inside / AUDIT, json.dumps(record, indent=2, allow_nan=False) + "\n")
            if measured is not None:
                measured.report(inside / REPORT, plan=None, checks=self.checks, cautions=self.cautions, name=file.name)
            return [file.name, PLAN, RECIPIENT]

        filled = with_signature(fill, sign)
        self.verify()
        return write_release(Path(folder), public, filled, force=force, inputs=(self.original.path,))


def made_again(plan: PrivatePlan, table: Table, name: str = "rows made again") -> list[Check]:
    """Check that a released table has the columns and the rows that its plan makes."""
    rows, names = plan.rows(), table.names
    columns = Check("columns", rows.column_names, list(names), rows.column_names == list(names))
    if not columns.holds:  # then types of columns cannot be looked up
        return [columns]
    types, same = types_of(plan), False
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError):
        same = _typed(table.arrow, types).equals(_typed(rows, types))
    return [columns, Check(name, rows.num_rows, table.n_rows, same, "from the plan and its row key")]


def types_of(plan: PrivatePlan) -> Types:
    """Return the type of each released column, which what was declared decides alone, and the unit of its dates."""
    return {column.name: (_type_of(column), column.unit) for column in plan.columns}


def _type_of(column: PublicColumn) -> pa.DataType:
    if column.kind == "date":
        return pa.date32() if column.unit == "day" else pa.timestamp("us", column.zone or None)
    if column.kind == "numeric":
        return pa.int64() if column.whole else pa.float64()
    return pa.bool_() if column.kind == "boolean" else pa.string()


def _typed(table: pa.Table, types: Types) -> pa.Table:
    """Cast the columns to the given types; dates are given as integers: days or microseconds since 1970."""
    columns = {}
    for name in table.column_names:
        (kind, unit), column = types[name], table.column(name)
        column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(column, pa.DictionaryArray):
            column = column.dictionary_decode()
        if pa.types.is_temporal(kind) and pa.types.is_integer(column.type):
            column = since_1970(column, unit)
        elif pa.types.is_boolean(kind) and pa.types.is_string(column.type):
            column = pa.compute.if_else(pa.compute.equal(column, "other"), pa.scalar(None, pa.string()), column)
        columns[name] = column.cast(kind)
    return pa.table(columns)


def _like(table: pa.Table, people: Any) -> Any:
    """Return a table in the library of the frame that came in; an Arrow table for anything else."""
    backend = getattr(narwhals.from_native(people, pass_through=True), "implementation", None)
    if backend is None or backend.is_pyarrow() or not (backend.is_pandas() or backend.is_polars()):
        return table
    if backend.is_pandas():  # which has no days, but time stamps
        table = table.cast(pa.schema([f.with_type(_STAMP) if pa.types.is_date(f.type) else f for f in table.schema]))
    return narwhals.from_arrow(table, backend=backend).to_native()
