"""Bring tables of a cluster here to measure them: as counted pairs of codes, or as copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..backends.select import remote_engine
from ..columns.table import Table
from ..columns.to_parquet import OpenOptions
from ..errors import InputError, UnsupportedError
from ..plan import Plan
from ..release import Release
from ..release.folder import AUDIT, MAPPING, altered, released_file
from ..schema import Schema
from ..texts import refusal
from .backend import bytes_of
from .subject import Subject, folder_of, plan_of, roles


def is_clustered(source: Any) -> bool:
    """Return whether a source is a table on a cluster."""
    return remote_engine(_released(source)) is not None


def _released(source: Any) -> Any:
    return source.released if isinstance(source, Release) else source


def _table(source: Any) -> Table:
    source = _released(source)
    there = remote_engine(source)
    return source if there is None else there.as_table(source)


def put_there(
    there: Any, original: Any, released: Any, schema: Schema | None, plan: Plan | None, memory: Any = None
) -> tuple[Any, Any, Plan | None, tuple[str, ...]]:
    """Open files on the cluster, and return both tables, the plan of a release folder, and notes.

    Raises
    ------
    UnsupportedError
        The release has a second table, or only a file shows which rows belong together.
    """
    notes: tuple[str, ...] = ()
    plan = plan or plan_of(released)
    schema = roles(plan) if schema is None and plan is not None else schema
    if plan is not None and plan.recoding.second_file:
        raise UnsupportedError(
            f"the release has a second table, {plan.recoding.second_file!r}, which the engine 'spark' does not read",
            hint='use engine="memory" (--engine memory)',
        )
    if (folder := folder_of(released)) is not None:
        if (folder / MAPPING).exists() and plan is not None and not _made_again(plan):
            raise UnsupportedError(
                f"{MAPPING} pairs rows by their numbers, and rows of a cluster have none",
                hint='use engine="memory" or "duckdb" (--engine)',
            )
        notes = tuple(filter(None, [altered(folder, AUDIT)]))
        released = released_file(folder)
    if isinstance(original, (str, Path)):
        original = there.open(original, OpenOptions(schema, memory))
    if isinstance(released, (str, Path)):
        released = there.open(released, OpenOptions(schema, memory, unescape_formulas=True))
    return original, released, plan, notes


def local_copies(
    original: Any, released: Any, schema: Schema | None, plan: Plan | None, memory: Any = None, keyed: bool = False
) -> tuple[Any, Any, Schema | None, Plan | None]:
    """Copy tables from a cluster to this machine; return them with the schema and plan, if known.

    Raises
    ------
    UnsupportedError
        The order of the rows pairs them, which a cluster does not keep.
    """
    if isinstance(released, Release):
        schema, plan = schema or released.schema, plan or released.plan
    if plan is not None and plan.is_order_kept and not keyed and original is not None:
        raise UnsupportedError(
            "this release's records stand in the order of the input, which pairs them; rows of a cluster have none",
            hint='use engine="memory" or "duckdb" (--engine), or name a key column (key=, --key)',
        )
    original, released = (_copied_here(each, memory) for each in (original, released))
    return original, released, schema, plan


def _copied_here(source: Any, memory: Any) -> Any:
    there = remote_engine(_released(source))
    return source if there is None else there.copied_here(_table(source), memory)


def counted(
    original: Any,
    released: Any,
    schema: Schema | None,
    plan: Plan | None,
    weights: str | None = None,
    memory: str | int | None = None,
) -> tuple[Table, Subject] | None:
    """Count the pairs of original and released rows on the cluster, and return them as codes.

    Parameters
    ----------
    original : Spark DataFrame or Table
    released : Release on a cluster, Spark DataFrame or Table
    schema : Schema, optional
    plan : Plan, optional
        The plan, if `released` is not a `Release`.
    weights : str, optional
        Column of sampling weights, by default the schema's.
    memory : str or int, optional
        Most memory of this process; by default half of the machine's.

    Returns
    -------
    tuple of Table and Subject, or None
        None if no plan can make the release again.

    Raises
    ------
    InputError
        A `Release` was made from another table.
    UnsupportedError
        The codes do not fit into the memory of this process.
    """
    there = remote_engine(original)
    if there is None or not is_clustered(released):
        return None
    plan = released.plan if isinstance(released, Release) else plan
    if plan is None or not (isinstance(released, Release) or _made_again(plan)):
        return None
    before, after = _table(original), _table(released)
    schema = schema or (released.schema if isinstance(released, Release) else roles(plan))
    if schema.person is not None or schema.household is not None:
        return None
    schema.check(before.names)
    names = [*schema.quasi, *schema.sensitive, *filter(None, [weights or schema.weight])]
    names += [n for n in after.names if schema.role(n) in ("other", "undeclared")]
    names = list(dict.fromkeys(names))
    try:
        for each in (before, after):
            for name in {*names} & {*each.names}:
                each.entries(name)
    except UnsupportedError:  # too many values for codes, which a copy has room for
        return None
    if isinstance(released, Release):
        named = dict.fromkeys([*plan.names("quasi"), *plan.names("sensitive"), *names])
        shared = [name for name in named if name in released.original.names]
        if not there.same_rows(before, released.original, shared):
            raise InputError(**refusal("other_table"))
    needed = bytes_of(before.n_rows, len(names))
    both = there.paired(
        before, after, None if isinstance(released, Release) else plan, names, besides=needed, memory=memory
    )
    if both is None:
        if isinstance(released, Release):
            raise InputError(**refusal("other_table"))
        return None
    one, other = both
    verified = isinstance(released, Release) or plan.risk_model == "linkage"
    return one, Subject(other, schema, plan, verified=verified, is_aligned=True)


def _made_again(plan: Plan) -> bool:
    """Return whether the plan alone suffices to reproduce the release exactly."""
    return plan.recoding.applies and not plan.recoding.draws
