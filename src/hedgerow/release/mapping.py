"""Which row of the original stands behind each released one: private, and for that table alone."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from operator import index
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..columns.table import Table
from ..errors import InputError
from ..plan import Plan

VERSION = 1
MAPPING = "mapping.json"


@dataclass(frozen=True, eq=False)
class RowMap:
    """The rows behind a release, and the fingerprint of the table that they are rows of.

    Parameters
    ----------
    rows : int64 array of shape (n_rows,)
        For every released row the row of the original.
    fingerprint : str
        Of the original's quasi-identifiers and sensitive columns, in order.
    """

    rows: NDArray[np.int64]
    fingerprint: str

    @classmethod
    def of(cls, rows: NDArray[np.int64], original: Table, plan: Plan) -> RowMap:
        """The map of a release that was made from a table."""
        return cls(rows, fingerprint(original, plan))

    @classmethod
    def load(cls, path: Path) -> RowMap:
        """Read a map; InputError when the file holds none."""
        try:
            data = json.loads(path.read_text())
            assert data["hedgerow_mapping"] == VERSION
            rows = np.array([index(row) for row in data["rows"]], np.int64)
            assert not len(rows) or 0 <= rows.min() <= rows.max() < len(rows)
            return cls(rows, str(data["fingerprint"]))
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
            AssertionError,
            OverflowError,
            RecursionError,
        ):
            raise InputError(f"{path} is no mapping of this version") from None

    def text(self) -> str:
        """The file that `load` reads."""
        data = {"hedgerow_mapping": VERSION, "fingerprint": self.fingerprint}
        return json.dumps({**data, "rows": self.rows.tolist()}) + "\n"

    def of_table(self, table: Table, plan: Plan | None) -> NDArray[np.int64]:
        """The rows, for the table that they are rows of; InputError for any other."""
        same = plan is None or fingerprint(table, plan) == self.fingerprint
        if len(self.rows) != table.n_rows or not same:
            raise InputError(
                "the release was made from another table, or from these rows in another order",
                hint="give the table that was protected, or a key column that both share",
            )
        return self.rows


def fingerprint(table: Table, plan: Plan) -> str:
    """What tells a table's quasi-identifiers and sensitive columns, row by row, from others'."""
    digest = hashlib.sha256()
    for known in plan.columns:
        if known.role not in ("quasi", "sensitive"):
            continue
        column = table.column(known.name, kind=known.kind)
        values = column.values.tolist() if column.is_number else column.values
        digest.update(json.dumps([known.name, column.unit, values]).encode())
        digest.update(column.codes.astype("<u4").tobytes())
    return digest.hexdigest()
