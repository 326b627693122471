"""A plan on people it was not made from: the same recoding, and no promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..engines import transform
from ..errors import PlanError, did_you_mean
from ..key import Key
from ..plan import Plan
from ..progress import caution
from ..table import Table, read
from ..table.spelling import as_spelled


@dataclass(frozen=True)
class Applied:
    """What a plan made of other people.

    Parameters
    ----------
    table : the kind of frame that came in (a pyarrow table for a path)
    outside : int
        Cells whose value lies outside what the released cell says.
    dropped : tuple of str
        Columns left out: identifiers, and columns that nobody declared.
    """

    table: Any
    outside: int
    n_rows: int
    dropped: tuple[str, ...] = ()


def apply_plan(
    plan: Plan, people: Any, key: Key | None = None, *, keep_order: bool = False
) -> Applied:
    """Recode other people by a plan.

    Parameters
    ----------
    plan : Plan
        What to do.
    people : path, pandas, Polars or Arrow table, DuckDB relation
        The people; columns that the plan does not release are left out, for nobody
        decided what they reveal.
    key : Key, optional
        For randomized response: the steward's key. By default a fresh one, so that no
        draw can be repeated.
    keep_order : bool
        Leave the rows in the order they came in, which may tell who is who.

    Raises
    ------
    PlanError
        Quasi-identifiers of the plan are missing.

    Warns
    -----
    UserWarning
        Cells fall outside the plan's cells, or columns are unknown to the plan.
    """
    table = as_spelled(read(people), {column.name: column.kind for column in plan.columns})
    check_columns(plan, table)
    made = transform(plan, table, key=key)
    known = {column.name for column in plan.columns} - set(plan.left_out)
    dropped = [name for name in table.names if name not in known]
    strangers = [name for name in dropped if name not in plan.names("identifier")]
    if made.outside:
        caution(
            f"{made.outside:,} cells fall outside the plan's cells; the plan promises "
            "nothing about them"
        )
    if strangers:
        caution(f"left out columns that the plan does not release: {', '.join(strangers)}")
    frame, _ = table.release(made.columns, drop=dropped, keep_order=keep_order)
    return Applied(frame, made.outside, table.n_rows, tuple(dropped))


def check_columns(plan: Plan, table: Table) -> None:
    """Raise one PlanError that lists all quasi-identifiers of the plan that the table lacks."""
    faults = [
        f"{name!r}{did_you_mean(name, table.names)}"
        for name in plan.names("quasi")
        if name not in table.names
    ]
    if faults:
        raise PlanError(
            f"the table lacks quasi-identifiers of the plan: {', '.join(faults)}",
            hint="the table's columns are: " + ", ".join(table.names),
        )
