"""Tables on a cluster that are measured here: pairs of rows that were counted, or copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..engines import engine as computing
from ..engines import transform
from ..engines.choice import is_frame
from ..engines.spark.paired import paired
from ..engines.spark.table import SparkTable
from ..errors import InputError, UnsupportedError
from ..plan import Plan
from ..progress import caution
from ..release.folder import altered, released_file
from ..release.mapping import RowMap
from ..release.spark import SparkRelease, copied_here
from ..release.write import AUDIT
from ..schema import Schema
from ..table import Table
from .holder import bytes_of
from .subject import Subject, folder_of, plan_of, roles


def is_clustered(source: Any) -> bool:
    """Whether something stands for a table on a cluster."""
    return isinstance(source, (SparkRelease, SparkTable)) or is_frame(source)


def _table(source: Any) -> SparkTable:
    if isinstance(source, SparkRelease):
        return source.released
    return source if isinstance(source, SparkTable) else SparkTable(source)


def put_there(
    original: Any, released: Any, schema: Schema | None, plan: Plan | None, memory: Any = None
) -> tuple[Any, Any, Plan | None]:
    """Both tables on the cluster, where they are files, and the plan of a release folder.

    Raises
    ------
    UnsupportedError
        The release has a second table.
    """
    plan = plan or plan_of(released)
    schema = roles(plan) if schema is None and plan is not None else schema
    if plan is not None and plan.recoding.beside:
        raise UnsupportedError(
            f"the release has a second table, {plan.recoding.beside!r}, which the engine 'spark' "
            "does not read",
            hint='use engine="memory" (--engine memory)',
        )
    if (folder := folder_of(released)) is not None:
        if told := altered(folder, AUDIT):
            caution(told)
        released = released_file(folder)
    there = computing("spark")
    if isinstance(original, (str, Path)):
        original = there.open(original, schema=schema, memory=memory)
    if isinstance(released, (str, Path)):
        released = there.open(
            released, schema=schema, memory=memory, unescape_formulas=True
        )
    return original, released, plan


def copies(
    original: Any, released: Any, schema: Schema | None, plan: Plan | None, memory: Any = None
) -> tuple[Any, Any, Schema | None, Plan | None]:
    """Both tables, those of a cluster as copies that stream; roles and plan as far as they are known."""
    if isinstance(released, SparkRelease):
        schema, plan = schema or released.schema, plan or released.plan
    original, released = (
        copied_here(_table(each), memory) if is_clustered(each) else each
        for each in (original, released)
    )
    return original, released, schema, plan


def counted(
    original: Any,
    released: Any,
    schema: Schema | None,
    plan: Plan | None,
    weights: str | None = None,
    memory: str | int | None = None,
) -> tuple[Table, Subject] | None:
    """An original and its release with rows side by side, as counted pairs of their codes.

    Parameters
    ----------
    original : Spark DataFrame or SparkTable
    released : SparkRelease, Spark DataFrame or SparkTable
    schema : Schema, optional
    plan : Plan, optional
        Of a release that is no `SparkRelease`.
    weights : str, optional
        Column of sampling weights, by default the schema's.
    memory : str or int, optional
        Most memory of this process; by default half of the machine's.

    Returns
    -------
    tuple of Table and Subject, or None
        None where no plan can make the release again.

    Raises
    ------
    InputError
        A `SparkRelease` was made from another table.
    UnsupportedError
        The codes do not fit into the memory of this process.
    """
    if not (is_clustered(original) and is_clustered(released)):
        return None
    own = isinstance(released, SparkRelease)
    plan = released.plan if isinstance(released, SparkRelease) else plan
    if plan is None or (not own and (plan.recoding.draws or not plan.recoding.applies)):
        return None
    before, after = _table(original), _table(released)
    if isinstance(released, SparkRelease):
        schema, maker = schema or released.schema, after.maker
    else:
        made = transform(plan, before).columns.values()
        maker = next((column.maker for column in made), None)
    schema = schema or roles(plan)
    if schema.person is not None or schema.household is not None:
        return None
    measured = [*schema.quasi, *schema.sensitive, *filter(None, [weights or schema.weight])]
    measured += [n for n in after.names if schema.role(n) in ("other", "undeclared")]
    schema.check(before.names)
    names = list(dict.fromkeys(measured))
    room = bytes_of(before.n_rows, len(names))
    both = paired(before, after, maker, names, besides=room, memory=memory or before.memory)
    if both is None and own:
        raise InputError(
            "the release was made from another table",
            hint="give the table that was protected",
        )
    if both is None:
        return None
    one, other = both
    rows = RowMap.of(np.arange(one.n_rows), one, plan)
    altered = plan.recoding.yardstick == "linkage"
    return one, Subject(other, schema, plan, rows=rows, verified=own or altered)
