"""The sensitive columns as the grower sees them: exact integers, the same in any row order.

A numeric response is scaled to [0, 1] by its minimum and maximum and rounded to
units of 2^-30, less the rounded mean; sums of such integers are exact in 64 bits,
so no result depends on the order of the rows. All of it comes from value counts;
what a row carries is looked up by its value codes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..columns.column import ValueCounts
from ..errors import ParameterError
from ..kernels import Bytes, Floats, Ints, Ints32
from ..kernels.exact_sums import UNIT_BITS, scale
from ..measures.proper_scores import BrierScore, Public, RankedScore

# with more rows, a sum of 30-bit units could overflow 64 bits
MOST_ROWS = (1 << (63 - UNIT_BITS)) - 1


@dataclass(frozen=True)
class Response:
    """A sensitive column as a response of the tree."""

    name: str
    # "numeric" or "categorical"
    kind: str
    n_missing: int
    # true if a categorical response has an order; its judged cells are then its classes
    ordered: bool = False


@dataclass(frozen=True)
class Quantity:
    """A column of whole numbers, one per row, which are summed over rows.

    Parameters
    ----------
    source : int
        The sensitive column whose value codes determine it.
    units : int32 array of shape (n_values + 1,)
        The whole number of each value code, the missing code last.
    counts : int64 array of shape (n_values + 1,)
        Records of the table by value code.
    """

    source: int
    units: Ints32
    counts: Ints

    def total(self, term: Callable[[Ints], Ints] = lambda units: units) -> int:
        """Return the exact sum of the units over the table, or of what `term` makes of each."""
        return int(term(self.units.astype(np.int64)) @ self.counts)


@dataclass(frozen=True)
class ClassColumn:
    """A column of classes, one per row, whose occurrences are counted.

    Parameters
    ----------
    source : int
        The sensitive column whose value codes determine it.
    lookup : uint16 array of shape (n_values + 1,)
        Class by value code, the missing one last.
    counts : int64 array of shape (n_classes,)
        Records of the table in each class.
    """

    source: int
    lookup: npt.NDArray[np.uint16]
    counts: Ints


@dataclass(frozen=True)
class ScoredColumn:
    """A judged column: one cell per row, counted only to check a cap on disclosure.

    The cells are the intervals of a number between its cuts, or the two values of a flag.

    Parameters
    ----------
    source : int
        The sensitive column whose value codes determine it.
    lookup : uint8 array of shape (n_values + 1,)
        Cell by value code, the missing one last; `n_cells` for records that take no part.
    counts : int64 array of shape (n_cells + 1,)
        Records of the table in each cell, then those that take no part.
    share : float64 array of shape (n_cells,)
        Public share of each cell.
    local, ranked : float64 arrays of shape (n_cells,)
        The loss that a record of each cell adds to the Brier score and to the ranked score.
    """

    source: int
    lookup: Bytes
    counts: Ints
    share: Floats
    local: Floats
    ranked: Floats

    @classmethod
    def from_counts(cls, source: int, cells: Ints, counts: Ints, n_cells: int) -> ScoredColumn:
        """Return the judged column with each value code in the given cell; codes in cell `n_cells` are not judged."""
        in_cell = np.bincount(cells, counts, n_cells + 1).astype(np.int64)
        inside = cells < n_cells
        local, ranked = BrierScore("local", in_cell[:-1]), RankedScore(in_cell[:-1])
        share = in_cell[:-1] / max(int(counts[inside].sum()), 1)
        return cls(source, cells.astype(np.uint8), in_cell, share, local.weight, ranked.weight)

    @classmethod
    def for_column(cls, source: int, column: ValueCounts) -> list[ScoredColumn]:
        """Return the judged columns that the scores of a sensitive column need beyond sums and classes."""
        scored = []
        public = Public(column)
        counts = np.append(column.counts, column.missing)
        n, n_cells = column.n_values, len(public.cuts) + 1
        if column.is_ordered and n_cells > 1:
            scored.append(cls.from_counts(source, np.append(public.cell, n_cells), counts, n_cells))
        for _, holds in public.flags:
            scored.append(cls.from_counts(source, np.append(holds, 2), counts, 2))
        # For numbers, a class column already says whether the value is missing (`Responses.from_columns`).
        if column.missing and column.known and not column.is_number:
            scored.append(cls.from_counts(source, np.append(np.zeros(n, np.int64), 1), counts, 2))
        return scored


@dataclass(frozen=True)
class Responses:
    """All sensitive columns of a table in the form the grower expects.

    Parameters
    ----------
    responses : tuple of Response
        One for each sensitive column, in order.
    n_rows : int
    numbers : tuple of Quantity
        Centred scaled values of the numeric responses in units of 2^-30; 0 where missing.
    classes : tuple of ClassColumn
        The categorical responses, then one missing/known indicator (class 0 is
        missing) for every numeric response with missing values.
    missing_of : tuple of int
        For every numeric response its indicator among `classes`, or -1.
    judged : tuple of ScoredColumn
        The columns that only a cap on disclosure needs; none without a cap.
    """

    responses: tuple[Response, ...]
    n_rows: int
    numbers: tuple[Quantity, ...]
    classes: tuple[ClassColumn, ...]
    missing_of: tuple[int, ...]
    judged: tuple[ScoredColumn, ...] = ()

    @property
    def numeric(self) -> list[Response]:
        """Return the numeric responses, in order."""
        return [r for r in self.responses if r.kind == "numeric"]

    @property
    def categorical(self) -> list[Response]:
        """Return the categorical responses, in order."""
        return [r for r in self.responses if r.kind == "categorical"]

    @classmethod
    def from_columns(
        cls, columns: Sequence[ValueCounts], n_rows: int | None = None, *, scored: bool = False
    ) -> Responses:
        """Return the responses of a table: sensitive columns, scaled or classified by value counts.

        Parameters
        ----------
        columns : sequence of ValueCounts
        n_rows : int, optional
            Rows of the table; needed where there are no columns.
        scored : bool
            Whether proper scores cap the disclosure of a group.

        Raises
        ------
        ParameterError
            A column holds infinities, all columns are constant or wholly missing, or sums of a number could pass
            64 bits (beyond 8.5 billion rows).
        """
        check_sensitive(columns)
        n = columns[0].total if columns else int(n_rows or 0)
        numbers: list[Quantity] = []
        classes: list[ClassColumn] = []
        indicators: list[ClassColumn] = []
        missing: list[int] = []
        described: list[Response] = []
        n_categorical = sum(not c.is_number for c in columns)
        for source, column in enumerate(columns):
            absent, values = column.missing, column.n_values
            counts = np.append(column.counts, absent)
            if column.is_number:
                check_rows(n)
                numbers.append(Quantity(source, scale(column.deviations, column.counts), counts))
                described.append(Response(column.name, "numeric", absent))
                # Indicators follow all categorical responses, in any order of the columns.
                missing.append(n_categorical + len(indicators) if absent else -1)
                if absent:
                    is_known = (np.arange(values + 1) < values).astype(np.uint16)
                    indicators.append(ClassColumn(source, is_known, np.array([absent, column.known])))
            else:
                n_classes = values + bool(absent)
                # a record holds a class in 16 bits
                if n_classes > np.iinfo(np.uint16).max:
                    raise ParameterError(f"{column.name!r} has {n_classes:,} categories", hint="coarsen it to 65,535")
                classes.append(ClassColumn(source, np.arange(values + 1, dtype=np.uint16), counts[:n_classes]))
                described.append(Response(column.name, "categorical", absent, scored and column.is_ordered))
        return cls(
            responses=tuple(described),
            n_rows=n,
            numbers=tuple(numbers),
            classes=(*classes, *indicators),
            missing_of=tuple(missing),
            judged=tuple(j for s, c in enumerate(columns) for j in ScoredColumn.for_column(s, c)) if scored else (),
        )


def check_sensitive(columns: Sequence[ValueCounts]) -> None:
    """Raise one ParameterError for all columns of infinite or no numbers, and for all if none has two outcomes."""
    nothing = all(map(is_constant, columns))
    if faults := [fault for column in columns if (fault := _fault(column, nothing))]:
        raise ParameterError("; ".join(faults), hint="drop the column from the sensitive ones or repair it")


def check_rows(n: int) -> None:
    """Raise ParameterError if exact sums of 30-bit units could overflow 64 bits."""
    if n > MOST_ROWS:
        raise ParameterError(f"the table has {n:,} rows; exact sums hold up to {MOST_ROWS:,}", hint="protect parts")


def _fault(column: ValueCounts, nothing: bool) -> str:
    """Return why a column cannot be judged, where `nothing` can be inferred of any column; empty if it can be."""
    where = f"sensitive column {column.name!r}"
    if column.infinite:
        return f"{where} holds infinite values"
    if not column.n_values and (nothing or column.is_number):
        return f"{where} is wholly missing"
    return f"{where} is constant: there is nothing to infer" if nothing else ""


def is_constant(column: ValueCounts) -> bool:
    """Return whether all records have the same value, or none has any; one that is there or missing is a fact."""
    return column.n_values + column.has_missing < 2
