"""What columns give away that are released as they are and were given no role."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...columns.table import Table
from ...measures import group
from ...schema import Schema


def other_columns(released: Table, schema: Schema) -> dict[str, Any] | None:
    """How many released records are alone by columns of no other role.

    Parameters
    ----------
    released : Table
    schema : Schema

    Returns
    -------
    dict or None
        ``columns``, and shares of the released records: ``unique`` are alone by these columns,
        ``by_quasi`` by the released quasi-identifiers, ``together`` by both. None where no such
        column is released.
    """
    names = sorted(n for n in released.names if schema.role(n) in ("other", "undeclared"))
    if not names or not released.n_rows:
        return None
    known = sorted(n for n in schema.quasi if n in released.names)
    return {
        "columns": names,
        "unique": _alone(released, names),
        "by_quasi": _alone(released, known),
        "together": _alone(released, [*known, *names]),
    }


def _alone(table: Table, names: list[str]) -> float:
    groups = group([table.column(name).codes for name in names], table.n_rows)
    return int(np.count_nonzero(groups.sizes == 1)) / table.n_rows
