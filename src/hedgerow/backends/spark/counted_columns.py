"""Columns of a table on a cluster: their values and counts are here, their rows are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, NoReturn, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...columns.column import Column, ValueCounts
from ...errors import UnsupportedError


class Elsewhere:
    """In place of the codes of rows, which are on the cluster: whoever asks for one is refused."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise UnsupportedError(
            "this needs the rows of the table one by one, and they are on a cluster",
            hint='use engine="memory" or "duckdb" (--engine), or a part of the table',
        )

    __getitem__ = __len__ = __iter__ = __array__ = __getattr__ = _refuse


class Counting(Protocol):
    """What counts the rows of a table that are elsewhere."""

    def values(self, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
        """The distinct values of a column, and how many rows have each."""
        ...

    def pairs(
        self, name: str, levels: NDArray[np.int64], others: Sequence[CountedColumn]
    ) -> list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """How many rows have each level of a column, by its values, and each code of another."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class CountedColumn(Column):
    """A column whose rows are on a cluster.

    Parameters
    ----------
    lookup : unsigned integer array
        The code of each distinct value, in the order in which the table lists them.
    rows : int64 array
        How many rows have each.
    table : Counting
        Where they are.
    """

    lookup: NDArray[Any] = field(default_factory=lambda: np.zeros(0, np.uint8))
    rows: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    table: Counting | None = None

    @classmethod
    def of(cls, column: Column, table: Counting) -> CountedColumn:
        """A column of a table's distinct values."""
        given = {f.name: getattr(column, f.name) for f in fields(Column)}
        rows = table.values(column.name)[1]
        return cls(**{**given, "codes": Elsewhere()}, lookup=column.codes, rows=rows, table=table)

    def __repr__(self) -> str:  # no person's value
        return f"CountedColumn({self.name!r}, {self.kind!r}, {self.n_values} values)"

    @cached_property
    def value_counts(self) -> ValueCounts:
        """The values and how often each occurs."""
        counts = np.zeros(self.n_values + 1, np.int64)
        np.add.at(counts, self.lookup.astype(np.int64), self.rows)
        return self.with_counts(counts)

    def crossed(
        self, levels: NDArray[np.int64], others: Sequence[Column]
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[np.int64] | None]]:
        """The level of each row beside its code in other columns, as pairs that were counted."""
        assert self.table is not None
        counted = [c for c in others if isinstance(c, CountedColumn)]
        yield from self.table.pairs(self.name, levels[self.lookup], counted)

    def with_rows(self, codes: NDArray[Any]) -> Column:
        """The same column with some codes of rows."""
        given = {f.name: getattr(self, f.name) for f in fields(Column)}
        return Column(**{**given, "codes": codes})
