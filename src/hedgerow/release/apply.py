"""Apply a plan to people it was not fitted on: the recoding is the same, but nothing is promised."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..backends import ENGINES, Change, ReleasedTable, transform
from ..backends import engine as computing
from ..backends.release_order import ReleasedCodes
from ..backends.select import opened
from ..columns.roles import check_weights
from ..columns.table import Table
from ..errors import PlanError, UnsupportedError, did_you_mean
from ..guard.code import run_codes
from ..guard.rows import as_released
from ..key import Key
from ..methods.partition import WHOLE
from ..plan import Guard, Plan
from ..plan.records import RUNS
from ..progress import caution
from ..schema import READING, Schema
from ..texts import refusal, text
from ..validation import check_one_of
from .folder import PARTS_MARKS, write_folder

UNSEEN = ("error", "suppress", "count")


@dataclass(frozen=True)
class Applied:
    """The recoded table that results from applying a plan to the records of other people.

    Parameters
    ----------
    output : ReleasedTable
    outside : int
        Number of cells whose value is not covered by the released cell.
    source : Table
        The people's table before recoding.
    dropped : tuple of str
        Columns left out: identifiers and undeclared columns.
    parts : bool
        Whether `write` writes a folder of Parquet files.
    """

    output: ReleasedTable
    outside: int
    source: Table
    dropped: tuple[str, ...] = ()
    parts: bool = False

    @property
    def table(self) -> Any:
        """Return the recoded table as the same type of frame as the input; a pyarrow table for a path."""
        return self.output.frame

    def write(self, file: str | Path, *, escape: bool = True, force: bool = False) -> None:
        """Write the table to one file, in the format of its ending; see `write_table`.

        A table in parts is written as a folder, completely or not at all; `force` replaces an
        earlier one.
        """
        write = partial(computing(self.source.engine).write, self.output.table, like=self.source)
        if self.parts:
            write_folder(Path(file), partial(write, parts=True), force=force, marks=PARTS_MARKS)
        else:
            write(Path(file), escape=escape)


def apply_plan(
    plan: Plan,
    people: Any,
    key: Key | None = None,
    *,
    keep_order: bool = False,
    unseen: str = "error",
    engine: str = "auto",
    memory: str | int | None = None,
    parts: bool = False,
) -> Applied:
    """Apply an existing plan to the records of other people.

    Parameters
    ----------
    plan : Plan
        The plan to apply.
    people : path, pandas, Polars or Arrow table, DuckDB relation
        The table to recode; columns that the plan does not release are left out, since nobody
        decided what they reveal.
    key : Key, optional
        For randomized response: the steward's key. By default a new key, so that no
        draw can be repeated.
    keep_order : bool
        Keep the order of the rows, which may show who is who.
    unseen : {"error", "suppress", "count"}, default "error"
        Treatment of cells whose value the plan's cell does not cover: raise an error with their
        number, release them as `*` (numbers: as missing), or release the plan's cell although it is
        not true of them, and count them.
    engine, memory
        Where it is computed; see `hedgerow.protect`.
    parts : bool, default False
        Have `Applied.write` write a folder of Parquet files of 1,048,576 rows each.

    Raises
    ------
    PlanError
        Quasi-identifiers of the plan are missing; values are unseen, and refused.
    InputError
        The plan's sampling weights are missing, infinite or below 1.
    UnsupportedError
        The plan draws values inside the groups of its own table.

    Warns
    -----
    UserWarning
        Cells that fall outside the plan's cells were hidden or counted, or columns are unknown to
        the plan.
    """
    check_one_of("unseen", unseen, UNSEEN)
    if plan.guard is not None and plan.guard.form != RUNS:
        raise UnsupportedError(
            "this plan draws values inside the groups of its own table, and knows nothing of other people's",
            hint=(
                'protect their table by itself, or make a plan with guard="runs" (protect --guard runs), which '
                "hides exact values but not who is in the table"
            ),
        )
    # no backend executes every kind of recoding
    runs_on = [n for n in ENGINES if plan.recoding.kind in computing(n).capabilities.recodings]
    if plan.guard is not None:
        runs_on = [n for n in runs_on if computing(n).capabilities.positions]
    kinds = {column.name: column.kind for column in plan.columns}
    # read as the people were whom the plan was fitted on
    schema = Schema(kinds=kinds, **{name: getattr(plan, name) for name in READING})
    what = f"a plan of {plan.method}"
    table = opened(people, runs_on or ["memory"], what, name=engine, memory=memory, schema=schema)
    check_columns(plan, table)
    if plan.weight in table.names:
        check_weights(table, plan.weight)
    recoded = transform(plan, table, key=key)
    released = {column.name for column in plan.columns} - set(plan.left_out)
    dropped = [name for name in table.names if name not in released]
    if recoded.outside and unseen == "error":
        raise PlanError(
            f"{recoded.outside:,} cells fall outside the plan's cells",
            hint=(
                'the released cell would not be true of them: release them as * (unseen="suppress", --unseen '
                'suppress), count them only (unseen="count", --unseen count), or fit a plan to these people'
            ),
        )
    if recoded.outside:
        state = "outside_hidden" if unseen == "suppress" else "outside_counted"
        caution(text("caution", state, outside=recoded.outside))
    # a range or a set is true of whoever it covers; these describe the groups that the plan was made of
    styles = {column.name: getattr(column, "style", None) for column in plan.recoding.recoded()}
    if described := [f"{name} ({style})" for name, style in styles.items() if style in WHOLE]:
        caution(text("caution", "describes_plan_groups", names=", ".join(described)))
    if exact := [n for n in plan.names("sensitive") if n in table.names and n not in plan.relations()]:
        caution(text("caution", "exact_values", names=", ".join(exact)))
    # identifiers are left out by design, so they need no caution
    if strangers := [name for name in dropped if name not in plan.names("identifier")]:
        caution(text("caution", "not_released", names=", ".join(strangers)))
    columns = recoded.without_outside() if unseen == "suppress" else recoded.columns
    if plan.guard is not None:
        columns = {**columns, **in_runs(plan, plan.guard, table)}
    output = computing(table.engine).release(table, Change(columns, dropped, keep_order, parts))
    return Applied(output, recoded.outside, table, tuple(dropped), parts)


def in_runs(plan: Plan, guard: Guard, table: Table) -> dict[str, ReleasedCodes]:
    """Return the guarded columns of other people, each value as the run that it falls into.

    Categories that the plan does not release become missing.

    Warns
    -----
    UserWarning
        How many people share a run was counted in the plan's own table.
    """
    released, withheld = {}, {}
    for record in (each for each in guard.columns if each.name in table.names):
        column = table.like(record)
        codes = run_codes(column, record)
        if not column.is_number:
            is_withheld = (codes == record.n_values) & (column.codes < column.n_values)
            withheld[record.name] = int(np.count_nonzero(is_withheld))
        released[record.name] = as_released(record, codes, table)
    if released:
        caution(text("caution", "runs_applied", names=", ".join(released), people=plan.counted(guard.people)))
    if hidden := ", ".join(f"{count:,} in {name}" for name, count in withheld.items() if count):
        caution(text("caution", "runs_withheld", hidden=hidden))
    return released


def check_columns(plan: Plan, table: Table) -> None:
    """Raise one PlanError that lists all of the plan's quasi-identifiers that the table lacks."""
    faults = [f"{name!r}{did_you_mean(name, table.names)}" for name in plan.names("quasi") if name not in table.names]
    if faults:
        raise PlanError(**refusal("lacks_quasi", "release", faults=", ".join(faults), names=", ".join(table.names)))
