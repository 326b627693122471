"""A released table with its plan, which can verify itself and be written as a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from .. import facade
from ..backends import ReleasedTable, engine
from ..columns.table import Table
from ..columns.units import Units
from ..columns.workspace import give_back
from ..display import arguments, notebook_html
from ..errors import PromiseError, UnsupportedError
from ..files import write_private
from ..guard.guarding import GuardOptions
from ..guard.rows import with_drawn_places
from ..io.read import read
from ..io.write import columns_to_escape, write_table
from ..kernels import Ints
from ..key import Secret
from ..measures import Classes, disclosure, sizes
from ..measures.disclosure import Disclosed
from ..measures.guarantees import Check, promised_k
from ..methods.base import Method
from ..notation import figure, words
from ..plan import Plan
from ..plan.records import RUNS, pieces
from ..progress import Progress, Tell, caution, telling
from ..schema import Schema
from ..texts import text
from ..validation import AXES, PATH, PROGRESS, TEXT, Kind, takes
from . import guard_words
from .expected_rows import same_rows, summed
from .explain import recoding_in_words
from .folder import AUDIT, EVIDENCE, MAPPING, PLAN, RECIPIENT, REPORT, write_release
from .recipient import apostrophes, recipient
from .records import RowMap, evidence, fingerprint, record
from .rule_counts import rule_rows
from .signing import with_signature
from .verify import Verified, classes, require, same_columns, verify, verify_file
from .warnings import extremes, extremes_in_words, format_of, not_bounded, of_release, one_pseudonym, shares_alone

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..profiles import Profile


# So much of the released table is shown in a notebook; of the original nothing is.
ROWS, COLUMNS = 5, 12
_ASKED = ("k", "l", "max_disclosure", "max_inference")
_AUDIT = Kind("an Audit", lambda value: hasattr(value, "report"), "make one with hr.audit")


# A check that is measured on the released table with its original.
Bound = Callable[["Release"], Check]


@dataclass(frozen=True, kw_only=True)
class ReleaseOptions:
    """The way in which a release is made, besides its table, its schema and its method.

    Parameters
    ----------
    secret : Secret, optional
        The key of the pseudonyms; without one, identifiers are left out.
    guard : GuardOptions, optional
        How exact sensitive values are hidden; by default they are released.
    keep_order, parts, engine, memory
        As `hedgerow.protect` takes them.
    units : Units, optional
        The table of units, where one row is all rows of a unit side by side.
    """

    secret: Secret | None = None
    guard: GuardOptions | None = None
    keep_order: bool = False
    parts: bool = False
    engine: str = "auto"
    memory: str | int | None = None
    units: Units | None = None

    def pseudonyms(self, schema: Schema) -> tuple[str, ...]:
        """Return the identifiers that are replaced: not the household's, which would show who lives together."""
        return tuple(n for n in schema.identifiers if n != schema.household) if self.secret else ()


class Release:
    """A released table with its plan and its checks, as returned by `protect`.

    Attributes
    ----------
    table : the kind of frame that came in
        A pyarrow table for a path; on "duckdb" the verified file as the engine holds it, or a
        relation where one came in; on "spark" a DataFrame.
    plan : Plan
        How it was made. Private: it holds thresholds taken from the data.
    checks : list of Check
        The checks that the released table passed.
    parts : bool
        Whether `write` writes the table as a folder of Parquet files.
    """

    def __init__(
        self,
        *,
        plan: Plan,
        schema: Schema,
        method: Method,
        original: Table,
        output: ReleasedTable,
        options: ReleaseOptions,
        warned: tuple[str, ...] = (),
    ) -> None:
        self.table = output.frame
        self.parts = options.parts
        self.plan, self.schema, self.method, self.original = plan, schema, method, original
        self.pseudonyms = options.pseudonyms(schema)
        self._secret, self._key = options.secret, None if options.guard is None else options.guard.key
        self._warned = warned
        self._output, self._rows = output, output.rows
        self.released = output.table
        self._arrow = self.released.arrow if output.files is None else None
        self.bounds: tuple[Bound, ...] = ()
        self._verification = Verified([])
        self._verified: Any = None
        self._summary: dict[str, Any] | None = None
        self.checks: list[Check] = []

    def __repr__(self) -> str:
        return f"Release({self.plan.method}, {self.released.n_rows:,} rows, {len(self.checks)} checks hold)"

    def _repr_html_(self) -> str:
        """Return the results and five released rows as HTML, without anything from the original."""
        numbers, plan = self.summary(), self.plan
        groups, disclosure, people = numbers["groups"], numbers["disclosure"], numbers["people"]
        promised = [p["maximum"] for p in plan.promises if p["kind"] == "disclosure"]
        lines = []
        if plan.risk_model == "linkage" or plan.recoding.second_file:
            lines.append(text("notebook", "no_groups"))
        else:
            of = f"{groups['smallest']:,} records" if people is None else f"{people:,} people"
            of += "" if numbers["households"] is None else f" of {numbers['households']:,} households"
            lines.append(f"{groups['groups']:,} groups; the smallest has {of}.")
            if disclosure is not None:
                cap = f"at most {words(max(promised))}" if promised else "nothing"
                lines.append(text("notebook", "worst", worst=figure(disclosure["worst"]), cap=cap))
        lines.append(f"{len(self.checks)} checks hold on the released table.")
        if plan.names("identifier"):
            lines.append(f"Identifiers left out: {', '.join(plan.names('identifier'))}.")
        table = self.released
        names, n = table.names[:COLUMNS], table.n_rows
        rows = list(zip(*(c.to_pylist() for c in table.head(names, min(ROWS, n))), strict=True))
        wide = f", {COLUMNS} of {len(table.names)} columns" if len(table.names) > COLUMNS else ""
        caption = f"The first {len(rows)} of {n:,} released rows{wide}"
        settings = arguments((n, plan.parameters[n]) for n in _ASKED if n in plan.parameters)
        title = f"Release: {plan.method}({settings}), {n:,} rows"
        return notebook_html(title, lines, (caption, names, rows), notes=self.cautions)

    @property
    def rows(self) -> Ints:
        """Return the input row of each row of `table`; shape (n_rows,).

        Private: the rows show whose record is which.

        Raises
        ------
        PromiseError
            `table` was changed after `protect` made it, so its rows cannot be matched.
        UnsupportedError
            Rows of a cluster have no numbers.
        """
        if not engine(self.original.engine).capabilities.positions:
            raise UnsupportedError(
                "rows of a cluster have no numbers, so Hedgerow cannot say which row came from whom",
                hint="let a column that stays tell it (other=, --other), on a copy that is not released",
            )
        if self._is_changed():
            raise PromiseError(
                "the released table was changed or put in another order since it was made, so which row came "
                "from whom is no longer known",
                hint=(
                    "keep `release.table` as it was made; a table in another order can be audited by itself with a "
                    "key column"
                ),
            )
        # None: the order of the input was kept
        return np.arange(self.original.n_rows, dtype=np.int64) if self._rows is None else self._rows

    def _read(self, table: Any) -> Table:
        """Read a released frame as the table whose rows were verified."""
        return read(table)

    def _is_changed(self) -> bool:
        """Return whether the caller changed `table`; tables in Hedgerow's own files cannot change."""
        if self._arrow is None:
            return False
        if self.table is self._output.frame and isinstance(self.table, pa.Table):  # immutable
            return False
        return not same_rows(self._read(self.table).arrow, self._arrow)

    def relation(self) -> Any:
        """Return the released table as a DuckDB relation if its rows lie in Hedgerow's own files.

        The files are deleted together with the relation or the release.
        """
        return self.released.relation()

    @takes(progress=PROGRESS)
    def verify(self, progress: Progress | None = None) -> list[Check]:
        """Check every promise again on the released table in its current state.

        Parameters
        ----------
        progress : callable, optional
            Called with "verifying" and the part that is done.

        Returns
        -------
        list of Check
            Name, what was required and reached, whether it holds.

        Raises
        ------
        PromiseError
            A check does not hold.
        """
        # codes that were cached may be of cells that were changed since
        self.original.discard_codes()
        if self._arrow is not None:
            self.released = self._read(self.table)
            if self.original.is_loaded:
                self.released.reuse_codes(self.original)
        self._summary, self._verified = None, None
        self._verification = verify(
            self.plan, self.original, self.released, pseudonyms=self.pseudonyms, secret=self._secret, key=self._key,
            rows=self._rows, progress=telling(progress),
        )  # fmt: skip
        checks = list(self._verification.checks)
        if self._verification.expected is not None:
            checks += [*self._own_checks(), *(bound(self) for bound in self.bounds)]
        self.checks = require(checks)
        self._verified = self.table
        return self.checks

    def _check_again(self) -> None:
        """Check the data frame again if it was changed in place."""
        if self._arrow is not None and not isinstance(self.table, pa.Table):
            self.released = self._read(self.table)
            require(self._own_checks())

    def verify_written(self, table: Any) -> list[Check]:
        """Check a table that was written from `table` and read back.

        Parameters
        ----------
        table : the kind of frame that `table` is
            On a cluster such as ``spark.read.parquet(...)`` of what ``release.table.write`` made.

        Returns
        -------
        list of Check

        Raises
        ------
        PromiseError
            It does not hold the rows that were verified.
        """
        expected = self._verification.expected
        assert expected is not None
        written = self._read(table) if self._arrow is not None else engine(self.original.engine).open(table)
        checks = [same_columns(list(expected.classes), written.names)]
        if checks[0].holds:
            sums, n = summed(expected, written), expected.sums.n_rows
            checks = [Check("rows", n, sums.n_rows, n == sums.n_rows), *expected.checks(sums)]
        return require(checks, "the written table")

    def bind(self, bound: Bound, parameters: Mapping[str, object]) -> None:
        """Add a check that the release must pass from now on, and store its parameters in the plan.

        Raises
        ------
        PromiseError
            The check does not hold.
        """
        self.checks = require([*self.checks, bound(self)])
        self.bounds += (bound,)
        self.plan = replace(self.plan, parameters={**self.plan.parameters, **parameters})
        self._summary = None

    def _paired(self) -> Table:
        """Return the original, reordered like the release if the method compares rows in pairs."""
        if self._rows is None or not self.method.pairs:
            return self.original
        return self.original.reordered(self._rows)

    def _own_checks(self) -> list[Check]:
        """Return the method's own checks of the released table, and of its second table if it has one."""
        original, second = self._paired(), self.method.second_table()
        released = self.released.with_local_codes(self.method.checked_columns(self.schema))
        checks = self.method.release_checks(original, released)
        if second is not None:
            checks += self.method.second_checks(original, self.released, Table(second))
        return checks

    def summary(self) -> dict[str, Any]:
        """Return a summary of the release in numbers: rows, groups and their sizes, disclosure, checks.

        Returns
        -------
        dict
            ``rows``, ``groups`` (count, extremes, quartiles), ``people`` (of the smallest
            group, where the schema has a unit), ``households`` (likewise), ``disclosure`` (0 nothing, 1
            all: mean over groups, over records, worst; ``columns`` has each sensitive
            column), ``extremes`` (by column the released ranges that state a value which fewer
            than k records have, and the records that show them), ``cautions``, those of them that no
            promise bounds (``unbounded``), ``checks`` and ``guard`` (if there is one: spread, median and
            tail of each hidden number before and after); plain data, ready for JSON.
        """
        if self._summary is None:
            groups = self._verification.classes or classes(self.plan, self.released)
            judged = self.judged()
            by_column = {
                name: Disclosed.from_classes(
                    column.judged.per_class(disclosure.column_disclosure)[0], column.judged_sizes(judged.sizes)
                )
                for name, column in judged.sensitive.items()
            }
            cautions = of_release(self.plan, self.schema, groups, judged, self.original, self.released, self._rows)
            loud = not_bounded(self.plan, groups, judged, self.original, self.released)
            overall = Disclosed.over_columns(by_column.values())
            rare_ends = extremes(self.plan, self.schema, self.original, self.released)
            k = promised_k(self.plan.promises) or 0
            rare = [extremes_in_words(name, k, figures) for name, figures in rare_ends.items()]
            guard = guard_words.figures(self.plan, self.schema, self.original, self.released)
            rare += guard_words.warnings(self.plan, guard, self.pseudonyms, self.released.n_rows)
            self._summary = {
                "method": self.plan.method,
                "rows": self.released.n_rows,
                "groups": sizes.summary(groups.sizes),
                "people": None if groups.persons is None else int(groups.persons.min()),
                "households": None if groups.households is None else int(groups.households.min()),
                "disclosure": None
                if overall is None
                else {**vars(overall), "columns": {name: dict(vars(each)) for name, each in by_column.items()}},
                "extremes": rare_ends,
                "cautions": list(dict.fromkeys([*self._warned, *cautions, *loud, *rare])),
                "unbounded": loud,
                "checks": [check.to_json() for check in self.checks],
                **({"guard": guard} if guard else {}),
            }
        return self._summary

    def judged(self) -> Classes:
        """Return the groups in which an intruder learns sensitive values: equivalence classes or buckets."""
        buckets = self.method.buckets(self._paired(), self.released)
        return buckets or self._verification.classes or classes(self.plan, self.released)

    @takes(column=TEXT)
    def compare(self: Any, column: str) -> facade.Comparison:
        """Compare a column before and after. Private: half of the result shows the original.

        Parameters
        ----------
        column : str
            A released column.

        Returns
        -------
        Comparison
            `.rows` (quantiles of numbers, shares of categories), `.plot()`; print shows a table.
        """
        return facade.compare(self, column)

    def against(self, profile: str | Path | Profile, **audit_options: Any) -> facade.Judged:
        """Compare the release with the criteria of a standard: met, not met or not measured.

        Parameters
        ----------
        profile : str, path or Profile
            One of `Profile.names`, or a TOML file of your own.
        **audit_options
            Options of `hedgerow.audit`; attacks are run if the profile asks for them.

        Returns
        -------
        Judged : `.state`, `.criteria`; print shows a table
        """
        return facade.against(self, profile, audit_options)

    @takes(column=TEXT, ax=AXES)
    def plot(self, column: str | None = None, *, ax: Axes | None = None) -> Axes:
        """Draw each group's disclosure with the promised cap, or one column before and after.

        Parameters
        ----------
        column : str, optional
            The column to draw. By default the groups are drawn, by their size and their disclosure of the
            most exposed sensitive column; if values were altered, or no column is sensitive, the first
            quasi-identifier is drawn.
        ax : matplotlib axes, optional
            The axes to draw on; a new figure by default.

        Returns
        -------
        matplotlib axes
        """
        return facade.plot_release(self, column, ax)

    @property
    def cautions(self) -> list[str]:
        """Return warnings, with counts, about disclosure that remains even if every check holds."""
        return self.summary()["cautions"]

    def recoding_in_words(self) -> str:
        """Return a description of how the columns were recoded; `plan.explain()` also covers the rest."""
        guard = self.plan.guard
        if guard is None:
            return recoding_in_words(self.plan.recoding)
        words = [] if guard.rows else [recoding_in_words(self.plan.recoding)]
        return "\n\n".join([*words, guard_words.in_words(self.plan, guard)])

    @takes(folder=PATH, measured=_AUDIT, public=PATH, progress=PROGRESS, sign=PATH)
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

        The files are the table (in the format that came in, Parquet for frames),
        ``plan.json``, ``audit.json`` and ``RECIPIENT.md``, each readable by its owner
        alone. The table's file is read back and verified before the folder takes
        its name.

        Parameters
        ----------
        folder : path
            The folder to create; its parent must exist.
        force : bool, default False
            Replace an earlier release of that name.
        escape : bool, default True
            In CSV, put an apostrophe before cells that a spreadsheet would run.
        measured : Audit, optional
            The result of ``hr.audit(release.original, release.table, release.schema)``:
            ``report.html`` is written from it, and ``audit.json`` contains its numbers too.
        mapping : bool, default False
            Also write ``mapping.json``, private: the row of the original behind each released one.
            `hedgerow.audit` needs it for folders of randomized or masked releases.
        public : path, optional
            A folder to publish: the table, ``RECIPIENT.md``, the method's public files and, if
            `measured` is given, the recipient's report. No other file of the release may leave the
            steward: ``plan.json``, ``audit.json``, ``report.html`` and the mapping disclose single
            people.
        progress : callable, optional
            Called with the name of each step ("writing", "reading back") and its finished share, or
            None; an exception ends the work, and nothing is left behind.
        sign : path, optional
            An SSH private key: also write ``hashes.txt`` and ``hashes.txt.sig``, by which
            `hedgerow verify-evidence` sees whether table, ``plan.json`` or ``audit.json`` was changed.
            Both are private. The program ssh-keygen signs, without asking for a passphrase.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        OutputError
            The folder exists, or cannot be written; or the key cannot sign.
        PromiseError
            The written file does not keep a promise.
        UnsupportedError
            `sign` is given, and ssh-keygen is missing.
        """
        step = telling(progress)
        fill = with_signature(lambda inside: self._fill(inside, escape, measured, mapping, step), sign)
        if self.table is not self._verified:
            self.verify(progress)
        else:
            self._check_again()
        if mapping and self.plan.guard is not None and self.plan.guard.form != RUNS:
            caution(text("guard", "nobody", what="mapping.json"))
        report = None
        if measured is not None:
            contents = {"plan": self.plan, "checks": self.checks, "name": self.file_name}
            report = partial(measured.report, audience="recipient", **contents)
        return write_release(Path(folder), public, fill, force=force, inputs=(self._source.path,), report=report)

    def _fill(self, folder: Path, escape: bool, measured: Any, mapping: bool, step: Tell) -> list[str]:
        """Write all files into the folder; return the names of those that may be published."""
        step("writing")
        give_back()
        file = folder / self.file_name
        table, like = self._file_table, self._like
        engine(table.engine).write(table, file, like=like, escape=escape, parts=self.parts)
        step("reading back")
        second = self._check_written(file, escape, step)
        return self._write_records(file, second, escape=escape, measured=measured, mapping=mapping)

    @property
    def _source(self) -> Table:
        """Return the table as it was read."""
        return self.original

    @property
    def _file_table(self) -> Table:
        """Return the released table as its file has it."""
        return self.released

    @property
    def _like(self) -> Table:
        """Return the table that was read, with the decimals that drawn numbers have."""
        like = copy(self._source)
        like.layout = with_drawn_places(like.layout, self.plan.guard)
        return like

    def _file_checks(self, file: Path, escape: bool, step: Tell) -> list[Check]:
        """Read the written table back, and check it."""
        expected = self._verification.expected
        assert expected is not None
        return verify_file(file, expected, self.released, like=self.original, escape=escape, progress=step)

    def _check_written(self, file: Path, escape: bool, step: Tell) -> Table | None:
        """Read the written table back and check it; also write, check and return the second table if there is one.

        Raises
        ------
        PromiseError
            A written file does not keep a promise.
        """
        checks, original = self._file_checks(file, escape, step), self.original
        second = self.method.second_table()
        if second is not None:  # the first file has the rows of the released table
            second_file = file.with_name(f"{self.plan.recoding.second_file}{original.suffix}")
            write_table(second, second_file, like=original, escape=escape)
            second = read(second_file, unescape_formulas=escape, schema=self.schema)
            checks += self.method.second_checks(self._paired(), self.released, second)
        require(checks, f"the written file {file.name}")
        return second

    def _write_records(
        self, file: Path, second: Table | None, *, escape: bool, measured: Any, mapping: bool
    ) -> list[str]:
        """Write the files that document the release; return the names of those that may be published."""
        folder, plan = file.parent, self.plan
        extra = self.method.release_files(self)
        figures = None if measured is None else measured.to_dict()
        write_private(folder / PLAN, pieces(plan))
        # it holds the hashes of the table and the plan, which are on the disk by now
        numbers = record(plan, self.summary(), file, self.pseudonyms, figures)
        if measured is not None:
            measured.report(folder / REPORT, plan=plan, checks=self.checks, cautions=self.cautions, name=file.name)
        counts = (figures["utility"].get("queries") or {}).get("range") if figures else None
        models = figures["utility"].get("models") if figures else facade.models_of(self)
        rules = (
            figures["utility"]["rules"] if figures else rule_rows(self.original, self.released, self.schema, self.plan)
        )
        reached = {**self.summary(), "found": shares_alone(plan, self.released), "counts": counts, "models": models}
        reached["rules"] = rules
        units = figures["utility"].get("units") if figures else None
        reached["units"] = units or facade.units_kept(self.original, self.released, self.schema, plan.units)
        notes = recipient(
            plan, reached, file.name, self.method.recipient_notes(file.name), self.pseudonyms,
            any(self.released.has_missing(column.name) for column in plan.recoding.recoded()),
            one_pseudonym(plan, self.released) if self.pseudonyms else (), format_of(plan, self._source),
        )  # fmt: skip
        if escape and file.suffix == ".csv":
            tables = [self._file_table] if second is None else [self._file_table, second]
            notes += apostrophes([column for table in tables for column in columns_to_escape(table)])
        texts: dict[str, str | Iterable[str]] = {
            AUDIT: json.dumps(numbers, indent=2, allow_nan=False) + "\n",
            RECIPIENT: notes,
        }
        if figures is not None and figures.get("profile"):
            judged = {"released": file, "original": self._source.path}
            texts[EVIDENCE] = evidence(figures, judged)
        if mapping:
            texts[MAPPING] = RowMap(self.rows, fingerprint(self.original, plan)).text()
        for name, content in {**texts, **extra}.items():
            write_private(folder / name, content)
        tables_written = [file.name] if second is None or second.path is None else [file.name, second.path.name]
        return [*tables_written, RECIPIENT, *extra]

    @property
    def file_name(self) -> str:
        """Return the name of the table in its folder: a file, or a folder of parts."""
        return "release" if self.parts else f"release{self._source.suffix}"
