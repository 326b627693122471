"""The subject of an audit: a released table, with what is known about how it was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..backends import Change, transform
from ..backends import engine as computing
from ..backends.randomize import hashes
from ..backends.release_order import ReleasedCodes
from ..columns.column import Column
from ..columns.table import Table
from ..errors import HedgerowError, InputError, SchemaError
from ..guard.code import run_codes
from ..guard.guarding import GuardOptions, guarded
from ..guard.rows import as_released, decoded_cells, group_numbers
from ..io.read import read, with_reasons
from ..key import Key
from ..measures import Groups, Ints
from ..measures.guarantees import promised_k
from ..methods.base import Method
from ..methods.private.domain import OTHER
from ..methods.private.private_plan import PrivatePlan, is_private
from ..notation import Cell
from ..plan import Guard, Plan, UnitForm
from ..plan.records import RANDOM, RUNS
from ..release import Release
from ..release.folder import AUDIT, MAPPING, PLAN, altered, is_table, released_file
from ..release.private_release import PrivateRelease, made_again
from ..release.records import RowMap, fingerprint
from ..release.rederive.possible import faults
from ..release.unit_release import UnitRelease
from ..schema import READING, UNSAID, Schema
from ..texts import refusal, text
from .backend import Holder
from .whole_rows import rows_alike

# its square is far below the largest double, so that sums of squares are as well
_LARGEST = 1e150


class Unpaired(InputError):
    """Raised if nothing shows which original and released rows belong together."""


class UnreadCells(InputError):
    """Raised for released cells that the original column cannot explain.

    Parameters
    ----------
    cells : mapping of str to mapping of str to int
        For each column, the released cells (which are public) and the number of rows with each.
    """

    def __init__(self, cells: Mapping[str, Mapping[str, int]]) -> None:
        self.cells = cells
        super().__init__(
            f"released cells cannot be read: {named_cells(cells)}",
            hint="give the hierarchy (--schema) or the plan (--plan) that they come from, or check the column kinds",
        )


def named_cells(columns: Mapping[str, Mapping[str, int]]) -> str:
    """List the three most frequent of the given cells by column, each with its number of rows.

    Examples
    --------
    >>> named_cells({"job": {"ward": 17, "kitchen": 1}})
    "'ward' (17 rows), 'kitchen' (1 rows) of 'job'"
    """
    parts = []
    for name, cells in columns.items():
        ordered = sorted(cells.items(), key=lambda pair: (-pair[1], pair[0]))
        named = [f"{cell!r} ({rows:,} rows)" for cell, rows in ordered[:3]]
        rest = [f"{len(ordered) - 3:,} others"] if ordered[3:] else []
        parts.append(f"{', '.join([*named, *rest])} of {name!r}")
    return "; ".join(parts)


@dataclass(frozen=True)
class Subject:
    """A released table, with what its release or plan says about it.

    Parameters
    ----------
    table : Table
        The released table.
    schema : Schema
        Roles and kinds of the original columns.
    plan : Plan, optional
        The plan of the release; it explains cells that do not explain themselves.
    second : Table, optional
        A second table that is needed to read the release (Anatomy's sensitive table).
    rows : RowMap, optional
        The original row of each released row, if the release knows it.
    verified : bool
        Whether its cells need not be compared with their originals, because this was already done or
        because the method alters them.
    method : Method, optional
        The method of a given `Release`; it can release part of the people again.
    notes : tuple of str
        Notes from its folder.
    is_aligned : bool
        Whether row i of it belongs to row i of the original.
    is_private : bool
        Whether its rows are nobody's, so that equal rows are no group.
    is_recorded : bool
        Whether it is the folder of a release, whose file must be what the plan makes of the original.
    epsilon : float, optional
        What taking part in it costs a person, where a private plan and the table say so.
    units : UnitForm, optional
        The slots of units, where its rows are those of units with several rows each.
    """

    table: Table
    schema: Schema
    plan: Plan | None = None
    second: Table | None = None
    rows: RowMap | None = None
    verified: bool = False
    method: Method | None = None
    notes: tuple[str, ...] = ()
    is_aligned: bool = False
    is_private: bool = False
    epsilon: float | None = None
    is_recorded: bool = False
    units: UnitForm | None = None

    def rows_of(self, original: Table) -> Ints | None:
        """Return the original row of each released row, from the row map or the plan.

        None if neither of them has it.

        Raises
        ------
        Unpaired
            The release stands in the order of its content, and no plan can pair it.
        InputError
            It was made from another table.
        """
        if self.is_aligned:
            return np.arange(self.table.n_rows)
        if self.rows is not None:
            return self.rows.of_table(original, self.plan)
        if self.plan is None or self.in_order:
            return None
        recoding = self.plan.recoding
        if recoding.applies and not recoding.draws and not (self.guard and self.guard.rows):
            return by_content(self.plan, original, self.table)
        raise Unpaired(
            "rows stand in the order of their content, and a plan cannot say whose row is whose where values "
            "were drawn or depend on the whole table",
            hint="audit the Release, keep its mapping (write(mapping=True), protect --mapping), or give a key column",
        )

    @property
    def guard(self) -> Guard | None:
        """Return how the plan says that exact sensitive values are hidden; None if they are released."""
        return None if self.plan is None else self.plan.guard

    @property
    def in_order(self) -> bool:
        """Return whether the plan kept the order of the rows."""
        return self.plan is not None and self.plan.is_order_kept

    @property
    def risk_model(self) -> str:
        """Return the risk model: "classes" of equal cells, or "linkage" of altered records."""
        return self.plan.risk_model if self.plan else "classes"

    @property
    def k(self) -> int | None:
        """Return the k that the plan promises, or None."""
        return promised_k(self.plan.promises) if self.plan else None

    @property
    def meanings(self) -> Mapping[str, tuple[Cell, ...]]:
        """Return for each column the values that released texts stand for."""
        return self.plan.recoding.meanings() if self.plan else {}

    def meanings_in(self, original: Column) -> Sequence[Cell]:
        """Return what released texts of a column stand for, with those that rare categories are joined in."""
        cells = self.meanings.get(original.name, ())
        record = next((c for c in self.guard.columns if c.name == original.name), None) if self.guard else None
        if record is None or not record.joined:
            return cells
        by_code: dict[int, list[str]] = {}
        for name, code in zip(original.values, record.codes_of(original.values), strict=True):
            by_code.setdefault(code, []).append(name)
        names = {*original.values}
        rare = [(v, code) for code, v in enumerate(record.values[: record.n_values]) if v not in names]
        return (*cells, *(Cell(v, categories=tuple(by_code.get(code, ()))) for v, code in rare))

    @property
    def numbered(self) -> str | None:
        """Return the sensitive column that was released as group numbers (see the second table), or None."""
        return None if self.second is None else next(n for n in self.second.names if n in self.schema.sensitive)


def subject(released: Any, schema: Schema | None, plan: Plan | None, holds: Holder | None = None) -> Subject:
    """Read a release from a `Release`, folder, file or table.

    Parameters
    ----------
    released : Release, release folder, path, or frame
    schema : Schema, optional
        The roles; by default those of the release or its plan.
    plan : Plan, optional
        The plan; by default that of the release or of its folder.
    holds : Holder, optional
        The engine that holds its table; by default the in-memory engine.

    Raises
    ------
    SchemaError
        The roles are not known: there is no schema, release or plan.
    """
    if isinstance(released, Release):
        return of_release(released, schema)
    if isinstance(released, PrivateRelease):
        return of_private(released.plan, released.released, schema or released.schema)
    file = rows = note = None
    folder, holds = folder_of(released), holds or Holder()
    if folder is not None and plan is None and is_private(folder / PLAN):
        public = PrivatePlan.load(folder / PLAN)
        table = holds.released(released_file(folder), schema or private_roles(public))
        schema = schema or private_roles(public, table.names)
        checks = [*public.checks(), *made_again(public, table)]
        broken = [text("note", "overspent" if c.name == "epsilon" else "not_remade") for c in checks if not c.holds]
        # its plan is published, and the record stays
        recorded = altered(folder, AUDIT) if (folder / AUDIT).exists() else None
        what, notes = of_private(public, table, schema), filter(None, [recorded, *broken])
        return replace(what, notes=tuple(notes), epsilon=None if broken else what.epsilon)
    if folder is not None:
        released, note = released_file(folder), altered(folder, AUDIT)
        plan = plan or plan_of(folder)
        if plan is not None and plan.recoding.second_file:
            file = released_file(folder, plan.recoding.second_file)
        if (folder / MAPPING).exists():
            rows = RowMap.load(folder / MAPPING)
    if plan is not None and plan.recoding.second_file and file is None:
        raise InputError(
            f"the released table cannot be read without its table {plan.recoding.second_file!r}",
            hint="give the release folder instead of the table",
        )
    if schema is None:
        if plan is None:
            raise SchemaError(
                "nothing says which columns are quasi-identifiers",
                hint="give a schema, or a release that has one; the people come first: hr.audit(people, release)",
            )
        schema = Schema.from_toml(plan.units.schema) if plan.units else roles(plan)
    if plan is not None and not schema.encoding:  # both files are in that
        schema = schema.replace(encoding=plan.encoding)
    # altered cells need not cover their originals
    verified = plan is not None and plan.risk_model == "linkage"
    table = holds.released(released, schema)
    if table.layout.dialect.not_utf8:  # a guess that was told, and need not be told of the original again
        schema = schema.replace(encoding=table.layout.dialect.encoding)
    # small, so in memory: one row for each value of a group
    second = None if file is None else Holder().released(file, schema)
    is_recorded, notes_on_file = folder is not None and (folder / AUDIT).exists(), () if note is None else (note,)
    return Subject(table, schema, plan, second, rows, verified, notes=notes_on_file, is_recorded=is_recorded)


def not_as_planned(what: Subject, original: Table) -> list[str]:
    """Return notes on why a folder's file cannot be what its plan makes of the original; none if it can be.

    Somebody who changes the file can correct its hash in the record, too. Methods that draw the values of a whole
    table are not asked.
    """
    plan, released = what.plan, what.table
    if plan is None or not what.is_recorded or original.engine == "spark":
        return []
    guard, rows, wrong = plan.guard, None, list[str]()
    if plan.recoding.applies and not plan.recoding.draws and not (guard and guard.rows):
        rows = by_content(plan, original, released)
        wrong += [] if rows is not None else ["rows that the plan does not make"]
    if guard is not None and not wrong:
        try:
            wrong += faults(plan, original, released, rows)
        except (HedgerowError, pa.ArrowException, LookupError, ValueError):
            wrong.append("columns or values of another kind")
    return [text("note", "not_made", why="; ".join(wrong))] if wrong else []


def read_like(original: Table, what: Subject, holds: Holder) -> Subject:
    """Read a release's file as the original's: its decimal comma in ranges, and its reasons of missing numbers.

    Labels of a hierarchy that have commas in the plan stay as they are.
    """
    what = replace(what, table=with_reasons(what.table, original.layout))
    is_text_file = what.table.path is not None and what.table.suffix == ".csv"
    if what.is_private or not is_text_file or original.layout.dialect.decimal != ",":
        return what
    labels = {n: " ".join(str(cell.label) for cell in cells) for n, cells in what.meanings.items()}
    codes = [n for n, kind in what.schema.kinds.items() if kind != "numeric" and "[" not in labels.get(n, "")]
    stay = {*codes, *(n for n, each in labels.items() if "," in each)}
    names = [n for n in what.table.names if n in original.names and n not in stay and original.kind(n) == "numeric"]
    kinds = {**{n: k for n, k in what.schema.kinds.items() if k != "numeric"}, **dict.fromkeys(names, "numeric")}
    return replace(what, table=holds.released(what.table.path, what.schema.replace(kinds=kinds)))


def by_content(plan: Plan, original: Table, released: Table) -> Ints | None:
    """Find the original row of each released row by applying the plan again; None if the rows differ."""
    if original.n_rows != released.n_rows:
        return None
    # drawn values are nobody's own: any member of the group stands for their row
    redrawn = {name for name, relation in plan.relations().items() if relation == RANDOM}
    names = [c.name for c in plan.columns if c.role in ("quasi", "sensitive", "other") and c.name not in redrawn]
    columns = dict(transform(plan, original).columns)
    if plan.guard is not None and plan.guard.form == RUNS:
        for each in plan.guard.columns:
            columns[each.name] = as_released(each, run_codes(original.like(each), each), original)
    if not original.is_loaded:
        return _by_hashes(plan, original, released, columns, names)
    recoded = original.replaced({n: c.cells() if isinstance(c, ReleasedCodes) else c for n, c in columns.items()})
    rows, lost = rows_alike(recoded, released, names)
    return None if lost else rows


def _by_hashes(
    plan: Plan, original: Table, released: Table, columns: Mapping[str, Any], names: Sequence[str]
) -> Ints | None:
    """Find the rows as `by_content` does, but by keyed hashes, for an original that is read in chunks."""
    output = computing(original.engine).release(original, Change(columns, plan.left_out))
    recoded, rows = output.table, output.rows
    assert rows is not None  # for its order was not kept
    # a new key: nobody can prepare rows whose hashes collide
    key, hashed = Key.new(), []
    for table in (recoded, released):
        first, second, whole = hashes(table, names, key)
        hashed.append((whole, np.lexsort((second, first))))
    (one, mine), (other, theirs) = hashed
    if one != other:
        return None
    original_rows = np.empty(len(rows), np.int64)
    original_rows[theirs] = rows[mine]
    return original_rows


def planned_groups(plan: Plan, original: Table) -> Groups:
    """Return the group of each original row by a plan that draws rows; raise InputError if it is another table's."""
    assert plan.guard is not None
    columns, quasi = transform(plan, original).columns, plan.names("quasi")
    columns = {name: columns[name] if name in columns else decoded_cells(original, name) for name in quasi}
    groups = group_numbers(columns, quasi, original.n_rows)
    if not np.array_equal(groups.sizes, np.asarray(plan.guard.sizes)):
        raise InputError(**refusal("other_table"))
    return groups


def check_extent(table: Table, schema: Schema) -> None:
    """Raise InputError for numbers so large that their squares overflow.

    Raises
    ------
    InputError
        A measured column holds them.
    """
    columns = [table.declared_column(schema, name) for name in (*schema.quasi, *schema.sensitive)]
    if large := [c.name for c in columns if c.is_number and any(abs(value) > _LARGEST for value in c.values)]:
        raise InputError(
            f"{', '.join(map(repr, large))}: numbers beyond {_LARGEST:g} cannot be measured",
            hint="give them in larger units, or declare the column categorical",
        )


def plan_of(released: Any, path: str | Path | None = None) -> Plan | None:
    """Load the plan from a path, or from a release folder; None where there is none that recodes people.

    Raises
    ------
    InputError
        There is no such release.
    """
    if isinstance(released, (str, Path)) and not Path(released).exists():
        raise InputError(f"there is no file or folder {released}")
    folder = folder_of(released)
    if path is None and folder is not None and (folder / PLAN).exists() and not is_private(folder / PLAN):
        path = folder / PLAN
    return Plan.load(path) if path is not None else None


def check_order(original: Any, released: Any) -> None:
    """Raise InputError if the original is a release and the release is none."""
    if (folder := folder_of(original)) and (folder / PLAN).exists() and folder_of(released) is None:
        first = released if isinstance(released, (str, Path)) else "people.csv"  # a frame would be printed
        raise InputError(
            f"{original} is a release, and stands where the original does",
            hint=f"give the original first: hedgerow audit {first} {original}",
        )


def folder_of(released: Any) -> Path | None:
    """Return a release's folder, given the folder or its table; None for anything else."""
    if not isinstance(released, (str, Path)):
        return None
    path = Path(released)
    if not path.is_dir() and path.stem == "release" and (path.parent / PLAN).exists():
        return path.parent
    return path if path.is_dir() and not is_table(path) else None  # else parts of a table alone


def of_release(release: Release, schema: Schema | None = None) -> Subject:
    """Build the subject for a `Release`, which has its schema, plan and rows."""
    rows = RowMap(release.rows, fingerprint(release.original, release.plan))
    schema, method = schema or release.schema, release.method
    if isinstance(release, UnitRelease):
        return Subject(
            read(release.table), release.units.long_schema, release.plan, rows=rows, verified=True, method=method
        )
    return Subject(release.released, schema, release.plan, _second(method), rows, verified=True, method=method)


def private_roles(plan: PrivatePlan, names: Sequence[str] | None = None) -> Schema:
    """Return the schema in the plan of a private release, of the columns that its file still has."""
    columns = [c for c in plan.columns if names is None or c.name in names]
    quasi, sensitive = ([c.name for c in columns if c.role == role] for role in ("quasi", "sensitive"))
    kinds = {c.name: c.kind for c in columns}
    order = {c.name: c.labels[:-1] for c in columns if c.labels and c.kind != "boolean"}
    return Schema(quasi=quasi, sensitive=sensitive, kinds=kinds, categories=order)


def of_private(plan: PrivatePlan, table: Table, schema: Schema) -> Subject:
    """Build the subject for a release under differential privacy, whose rows are nobody's.

    Categories that were not declared say nothing that an original could be compared with, so they are missing.
    """
    replaced = {}
    for column in plan.columns:
        if column.labels and column.kind != "boolean" and column.name in table.names:
            cells = table.arrow.column(column.name).cast(pa.string())
            replaced[column.name] = pc.if_else(pc.equal(cells, OTHER), pa.scalar(None, pa.string()), cells)
    return Subject(table.replaced(replaced), schema, is_private=True, epsilon=plan.parameters["epsilon"])


def of_fitted(
    method: Method, table: Table, schema: Schema, guard: GuardOptions | None = None, units: UnitForm | None = None
) -> Subject:
    """Build the subject for a fitted method's release, before it is verified or written."""
    # a method fitted with guard="runs" has extra columns of ranges in its plan
    columns_here = tuple(c for c in method.plan_.columns if c.name in table.names)
    plan = replace(method.plan_, columns=columns_here, units=units)
    columns = dict(method.release_table(table).columns)
    if guard is not None:
        plan, redrawn = guarded(guard, table, schema, plan, columns, ())
        columns |= {name: each.cells() for name, each in redrawn.items()}
    rows = RowMap(np.arange(table.n_rows), fingerprint(table, plan))
    return Subject(table.replaced(columns), schema, plan, _second(method), rows, verified=True)


def _second(method: Method) -> Table | None:
    return None if (table := method.second_table()) is None else Table(table)


def roles(plan: Plan) -> Schema:
    """Return the schema in a plan: roles, and the declared kinds, orders and events."""
    measured = [c for c in plan.columns if c.role in ("quasi", "sensitive")]
    # a number whose kind nobody said tells it itself, and may hold codes
    declared_columns = [c for c in measured if c.role == "quasi" or c.kind != "numeric" or c.declared]
    return Schema(
        quasi=plan.names("quasi"),
        sensitive=plan.names("sensitive"),
        identifiers=plan.names("identifier"),
        unit=plan.unit or (None if plan.counts != "records" and not plan.household else UNSAID),
        household=plan.household,
        weight=plan.weight or None,
        kinds={c.name: c.kind for c in (*declared_columns, *plan.recoding.recoded())},
        categories={c.name: c.order for c in measured if c.order},
        events={c.name: c.events for c in measured if c.events},
        **{name: getattr(plan, name) for name in READING},
    )
