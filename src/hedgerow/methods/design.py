"""Quasi-identifiers in the form that trees need: encoded, and cut at quantiles or public points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..columns.column import Bins, Column, grid_bins, quantile_bins
from ..columns.table import Table
from ..errors import InfeasibleError, SchemaError, UnsupportedError
from ..io.text_cells import instants
from ..measures import Persons, group
from ..notation import DAY
from ..schema import Schema
from ..texts import texts
from ..trees.grow import DistributedRows
from ..trees.node_rows import NodeRows, Predictors, RowCodes
from ..trees.responses import Responses


@dataclass(frozen=True)
class Quasi:
    """The encoded quasi-identifiers of a table, with the bins between which trees split."""

    columns: tuple[Column, ...]
    cuts: tuple[Bins, ...]
    table: Table

    @classmethod
    def from_table(cls, table: Table, schema: Schema, max_bins: int) -> Quasi:
        """Encode the quasi-identifiers that the schema names, and cut them into bins.

        Raises
        ------
        ParameterError
            The table has no rows.
        InfeasibleError
            Households must stay together, and share no column.
        """
        columns = tuple(table.declared_column(schema, name) for name in schema.quasi)
        grids = [grid_of(column, schema.grid.get(column.name)) for column in columns]
        cuts = tuple(
            quantile_bins(c.value_counts, max_bins) if g is None else grid_bins(c.value_counts, g)
            for c, g in zip(columns, grids, strict=True)
        )
        if schema.together:
            cuts = _shared(Persons.from_table(table, None, schema.household), columns, cuts)
        return cls(columns, cuts, table)

    def without(self, names: Sequence[str]) -> Quasi:
        """Return a copy without the named columns."""
        others = [i for i, column in enumerate(self.columns) if column.name not in names]
        return replace(self, columns=tuple(self.columns[i] for i in others), cuts=tuple(self.cuts[i] for i in others))

    @property
    def predictors(self) -> Predictors:
        """Return each column's number of bins, and whether the column's codes are ordered."""
        n_codes = np.array([c.n_bins for c in self.cuts], np.int64)
        return Predictors(n_codes, np.array([c.value_counts.is_ordered for c in self.columns]))

    def rows(
        self, responses: Responses, sensitive: Sequence[Column] = (), persons: Persons | None = None
    ) -> NodeRows | DistributedRows:
        """Return the table's records in the form the tree grower expects."""
        lookups = [cut.lookup if cut.changes else None for cut in self.cuts]
        if self.table.record_source is not None:  # a cluster, whose records do not come here
            return self.table.record_source(self.predictors, self.columns, lookups, sensitive)
        quasi, shares = [c.codes for c in self.columns], None if persons is None else persons.shares()
        return NodeRows.from_codes(
            self.predictors, responses, RowCodes(quasi, [c.codes for c in sensitive], lookups, shares),
            self.table.allocate, self.table.spill,
        )  # fmt: skip


def _shared(homes: Persons | None, columns: Sequence[Column], cuts: Sequence[Bins]) -> tuple[Bins, ...]:
    """Return the cuts, with one single bin for columns that differ within households, so none is split."""
    assert homes is not None
    result, shared = [], False
    for column, cut in zip(columns, cuts, strict=True):
        # As many pairs as households: no household has two values of this column.
        if group([homes.codes, column.codes]).n_groups == homes.n:
            result.append(cut)
            shared |= cut.n_bins > 1
        elif cut.public:
            raise UnsupportedError(
                f"column {column.name!r} differs inside households that are kept whole, so no group is cut at its grid",
                hint="leave its grid or together out",
            )
        else:
            result.append(cut.whole())
    if not shared:
        raise InfeasibleError(
            "together=True keeps households whole, but no quasi-identifier is the same for all members of each "
            "household and differs between households",
            hint="name what households share, such as their region, or leave together out",
        )
    return tuple(result)


def grid_of(column: Column, points: Sequence[Any] | None) -> npt.NDArray[np.float64] | None:
    """Return a column's grid as numbers in its unit, or None; raise SchemaError if it does not fit the kind."""
    if points is None:
        return None
    text = isinstance(points[0], str)
    per = DAY if column.unit == "day" else 1
    # Where doubles do not hold the values, a cut could lie on the wrong side of one.
    fits = text == (column.kind == "date") and column.is_number and not column.exact
    if fits and text:
        if not column.zone and datetime.fromisoformat(points[0]).tzinfo is not None:
            raise SchemaError(
                f"the points of the grid of column {column.name!r} have a time zone, and its times have none",
                hint="write them as the column tells its times, without an offset",
            )
        try:
            cuts = instants(points, column.zone).astype(np.float64) / per
        except pa.ArrowInvalid:
            raise SchemaError(
                f"a grid point of {column.name!r} falls into an hour that clocks of {column.zone} skip or show twice",
                hint="write it with its offset, such as 2020-10-25T02:30+01:00",
            ) from None
        fits = per == 1 or not (cuts % 1).any()
    if not fits:
        raise SchemaError(
            f"the grid of column {column.name!r} does not fit its kind, {texts('kind')[column.kind]}",
            hint="a grid cuts numbers that doubles hold at numbers, and dates at dates such as 2001-05-01",
        )
    return cuts if text else np.array(points, np.float64)
