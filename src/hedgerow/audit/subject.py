"""What is audited: a released table with whatever is known of how it was made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..classes import IntArray
from ..errors import InputError, SchemaError
from ..guarantees import KAnonymity
from ..notation import Cell
from ..plan import Plan
from ..release import Release
from ..release.folder import released_table
from ..release.write import PLAN
from ..schema import Schema
from ..table import Table, read


@dataclass(frozen=True)
class Subject:
    """A released table, and what a release or its plan tells beyond the table.

    Parameters
    ----------
    table : Table
        The released table.
    schema : Schema
        Roles and kinds of the original columns.
    plan : Plan, optional
        How it was made; says what cells mean that do not say it themselves.
    second : Table, optional
        The table that the released one cannot be read without (Anatomy's).
    rows : int64 array, optional
        Row of the original behind each released row, where the release knows it.
    verified : bool
        Whether nobody need hold its cells against their originals: that was done already,
        or its method alters them.
    method : Method, optional
        What made it, where a release is in hand; releases a part of the people again.
    """

    table: Table
    schema: Schema
    plan: Plan | None = None
    second: Table | None = None
    rows: IntArray | None = None
    verified: bool = False
    method: Any = None

    @property
    def yardstick(self) -> str:
        """What judges it: "classes" of equal cells, or "linkage" of altered records."""
        return self.plan.recoding.yardstick if self.plan else "classes"

    @property
    def k(self) -> int | None:
        """The k that its plan promises."""
        promises = self.plan.promises if self.plan else ()
        return next((p["k"] for p in promises if p["kind"] == KAnonymity.kind), None)

    @property
    def meanings(self) -> Mapping[str, tuple[Cell, ...]]:
        """Per column what released texts stand for."""
        return self.plan.recoding.meanings() if self.plan else {}

    @property
    def numbered(self) -> str | None:
        """The sensitive column that holds group numbers, described by the second table."""
        if self.second is None:
            return None
        return next(n for n in self.second.names if n in self.schema.sensitive)


def subject(released: Any, schema: Schema | None, plan: Plan | None) -> Subject:
    """Understand what was handed over as a release.

    Parameters
    ----------
    released : Release, release folder, path, or frame
    schema : Schema, optional
        The roles; by default those of the release or its plan.
    plan : Plan, optional
        By default that of the release or of its folder.

    Raises
    ------
    SchemaError
        Nothing says which columns are quasi-identifiers.
    """
    if isinstance(released, Release):
        return of_release(released, schema)
    second = None
    if isinstance(released, (str, Path)) and Path(released).is_dir():
        folder = Path(released)
        table = released_table(folder)
        plan = plan or plan_of(folder)
        beside = plan.recoding.beside if plan else ""
        if beside:
            second = released_table(folder, beside)
    else:
        table = read(released)
    if plan is not None and plan.recoding.beside and second is None:
        raise InputError(
            f"the released table cannot be read without its table {plan.recoding.beside!r}",
            hint="give the release folder instead of the table",
        )
    if schema is None:
        if plan is None:
            raise SchemaError(
                "nothing says which columns are quasi-identifiers",
                hint="give a schema, or a release that knows its own",
            )
        schema = roles(plan)
    altered = plan is not None and plan.recoding.yardstick == "linkage"
    return Subject(table, schema, plan, second, verified=altered)


def plan_of(released: Any, path: str | Path | None = None) -> Plan | None:
    """The plan that was named, or that of a release folder.

    Raises
    ------
    InputError
        There is no such release.
    """
    if isinstance(released, (str, Path)) and not Path(released).exists():
        raise InputError(f"there is no file or folder {released}")
    if path is None and isinstance(released, (str, Path)):
        path = Path(released) / PLAN
        if not path.exists():
            return None
    return Plan.load(path) if path is not None else None


def of_release(release: Release, schema: Schema | None = None) -> Subject:
    """A release in hand, which knows its schema, its plan and its rows."""
    return Subject(
        release.released,
        schema or release.schema,
        release.plan,
        _second(release.method),
        release.rows,
        verified=True,
        method=release.method,
    )


def of_fitted(method: Any, table: Table, schema: Schema) -> Subject:
    """What a fitted method releases of its table, before anything is verified or written."""
    released = table.replaced(method.release_table(table).columns)
    return Subject(released, schema, method.plan_, _second(method), verified=True)


def _second(method: Any) -> Table | None:
    made = method.second_table()
    return None if made is None else Table(made)


def roles(plan: Plan) -> Schema:
    """The schema as far as a plan knows it: roles, and kinds as the original has them."""
    measured = [c for c in plan.columns if c.role in ("quasi", "sensitive")]
    return Schema(
        quasi=plan.names("quasi"),
        sensitive=plan.names("sensitive"),
        identifiers=plan.names("identifier"),
        kinds={c.name: c.kind for c in (*measured, *plan.recoding.recoded())},
    )
