"""A column as integer codes into a sorted dictionary, with the counts of its values and its bins.

A table in memory counts its columns once; a database or a cluster returns the same counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SchemaError
from ..kernels import Bools, Floats, Ints
from ..notation import DAY, Exact, number
from ..schema import Kind
from .arrays import inexact, slices

# codes that are counted at a time, because counting widens them to eight bytes
_TALLIED = 1 << 20


class Dictionary:
    """The distinct values of a column and their kind."""

    kind: Kind
    values: Any
    exact: Sequence[Exact]

    @property
    def n_values(self) -> int:
        """Return the number of distinct non-missing values, which is also the code of a missing value."""
        return len(self.values)

    @property
    def is_number(self) -> bool:
        """Return whether `values` are numbers (numeric columns and dates)."""
        return self.kind in ("numeric", "date")

    @property
    def is_ordered(self) -> bool:
        """Return whether the values have a meaningful order: numbers, dates or ordinal categories."""
        return self.is_number or self.kind == "ordinal"

    @property
    def deviations(self) -> Floats:
        """Return the values as doubles; exact numbers minus the least of them, for use in differences only."""
        values = [float(v - self.exact[0]) for v in self.exact] if self.exact else self.values
        return np.asarray(values, np.float64)

    @property
    def infinite(self) -> bool:
        """Return whether any value is infinite."""
        return self.is_number and bool(np.isinf([*self.values[:1], *self.values[-1:]]).any())


@dataclass(frozen=True, eq=False, repr=False)
class ValueCounts(Dictionary):
    """The distinct values of a column and how often each occurs.

    Parameters
    ----------
    name : str
        Column name.
    kind : {"numeric", "categorical", "ordinal", "date", "boolean"}
    unit : str
        For dates "day" or "us", else empty.
    values : ndarray of float64, or list of str
        Distinct values, ascending or in category order.
    counts : ndarray of int64, shape (n_values,)
        Records per value.
    missing : int
        Records without a value.
    exact : sequence of int or Decimal
        The exact numbers, if doubles cannot represent them; see `Column`.
    events : tuple of str
        Declared events; see `Column`.

    Examples
    --------
    >>> import numpy as np
    >>> ages = ValueCounts("age", "numeric", "", np.array([30.0, 41.0]), np.array([2, 5]), 1)
    >>> ages.n_values, ages.known, ages.total
    (2, 7, 8)
    """

    name: str
    kind: Kind
    unit: str
    values: Any
    counts: Ints
    missing: int = 0
    exact: Sequence[Exact] = ()
    events: tuple[str, ...] = ()

    def __repr__(self) -> str:  # no person's value
        return f"ValueCounts({self.name!r}, {self.kind!r}, {self.total} rows, {self.n_values} values)"

    @property
    def has_missing(self) -> bool:
        """Return whether any record has a missing value."""
        return self.missing > 0

    @property
    def known(self) -> int:
        """Return the number of records with a value."""
        return int(self.counts.sum())

    @property
    def total(self) -> int:
        """Return the number of records."""
        return self.known + self.missing

    def frequent(self, most: int) -> Ints:
        """Return a level for each code, with the missing code last; shape (n_values + 1,).

        If there are at most `most` values, each keeps its code as level. Otherwise the `most` frequent
        values get the first levels and all others share the next one.

        Examples
        --------
        >>> jobs = ValueCounts("job", "categorical", "", ["a", "b", "c"], np.array([1, 4, 2]), 3)
        >>> jobs.frequent(3).tolist(), jobs.frequent(1).tolist()
        ([0, 1, 2, 3], [1, 0, 1, 2])
        """
        level = np.arange(self.n_values + 1)
        if self.n_values > most:
            level[:] = most
            level[np.argsort(-self.counts, kind="stable")[:most]] = np.arange(most)
            level[-1] = most + 1
        return level


def tally(codes: NDArray[Any], n_codes: int) -> Ints:
    """Return how often each code occurs, counting in slices because counting widens the codes."""
    counts = np.zeros(n_codes, np.int64)
    for rows in slices(len(codes), _TALLIED):
        counts += np.bincount(codes[rows], minlength=n_codes)
    return counts


@dataclass(frozen=True, eq=False, repr=False)
class Column(Dictionary):
    """A column as integer codes into a sorted dictionary of its distinct values.

    Parameters
    ----------
    name : str
        Column name.
    kind : {"numeric", "categorical", "ordinal", "date", "boolean"}
        Kind it was encoded as.
    unit : str
        For dates "day" or "us" (since 1970-01-01, UTC), else empty.
    codes : ndarray of the smallest unsigned integers, shape (n rows,)
        Position of each row's value in `values`; missing values have the code `len(values)`.
    values : ndarray of float64, or list of str
        Distinct values that occur: ascending numbers (numeric, date), or category names
        (declared ones first in their order, then the rest sorted).
    has_missing : bool
        Whether any value is missing.
    exact : tuple of int or Decimal
        The exact numbers, if doubles cannot represent all of them (whole numbers beyond 2^53, long
        decimals, parts of microseconds), otherwise empty. Each of them has its own code; `values`
        are then the nearest doubles (for dates: whole units), and neighbours may be equal.
    events : tuple of str
        Events of a number that its schema declares, such as "> 200000".
    zone : str
        The time zone of time stamps, if they have one; their numbers count from UTC all the same.
    here : bool array of shape (n rows,), optional
        The rows that have a cell of the column at all, where units have none in a slot without a row; others are
        missing, and count in no class. By default all.
    fewest : int
        Classes in which fewer rows have a cell are judged together.
    """

    name: str
    kind: Kind
    unit: str
    codes: NDArray[Any]
    values: Any
    has_missing: bool
    exact: tuple[Exact, ...] = ()
    events: tuple[str, ...] = ()
    zone: str = ""
    here: Bools | None = None
    fewest: int = 0

    def __post_init__(self) -> None:
        if self.here is not None and len(self.here) != len(self.codes):
            raise ValueError("which rows have a cell is said of other rows")

    def __repr__(self) -> str:  # no person's value
        return f"Column({self.name!r}, {self.kind!r}, {len(self.codes)} rows, {self.n_values} values)"

    @property
    def by_code(self) -> Floats:
        """Return the value of each code as a number, NaN for a missing value; shape (n_values + 1,)."""
        return np.append(np.asarray(self.values, np.float64), np.nan)

    @property
    def numbers(self) -> Floats:
        """Return the value of each row as a number, NaN if missing; shape (n_rows,)."""
        return self.by_code[self.codes]

    @property
    def places(self) -> Floats:
        """Return the number of each code, or its rank if numbers are exact, as `Cover` compares them."""
        return np.append(np.arange(self.n_values), np.nan) if self.exact else self.by_code

    @property
    def doubles(self) -> Floats:
        """Return `values` as doubles, if doubles can represent the column's numbers.

        Raises
        ------
        SchemaError
            The column has exact numbers, which doubles cannot represent.
        """
        if self.exact:
            raise inexact([self.name])
        return np.asarray(self.values, np.float64)

    def codes_in(self, other: Column, *, unknown: int) -> Ints:
        """Return each row's value as a code of another column; missing values stay missing.

        Parameters
        ----------
        other : Column
            A column of the same kind and unit.
        unknown : int
            The code for values that `other` does not have.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from hedgerow.columns.encode import encode
        >>> one = encode("c", pa.chunked_array([["x", "z", None]]), "categorical")
        >>> one.codes_in(encode("c", pa.chunked_array([["y", "x"]]), "categorical"), unknown=-1)
        array([ 0, -1,  2])
        """
        mine, others = self.exact or self.values, other.exact or other.values
        if self.exact or other.exact:
            mine, others = ([Decimal(number(v)) for v in values] for values in (mine, others))
        place = {name: code for code, name in enumerate(others)}
        # strangers' columns have a code after the one for missing: a category that no member has
        return np.array([*(place.get(name, unknown) for name in mine), other.n_values, unknown], np.int64)[self.codes]

    @cached_property
    def value_counts(self) -> ValueCounts:
        """Return the count of each value, computed once."""
        return self.with_counts(tally(self.codes, self.n_values + 1))

    def with_counts(self, counts: Ints) -> ValueCounts:
        """Return the values with the given counts, the last of which is for missing values."""
        return ValueCounts(
            self.name, self.kind, self.unit, self.values, counts[:-1], int(counts[-1]), self.exact, self.events
        )

    def crossed(
        self, levels: Ints, others: Sequence[Column]
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any], Ints | None]]:
        """Yield for each other column each row's level, looked up by its code here, and its code there.

        Yields
        ------
        level, code : integer arrays
        count : int64 array or None
            The number of rows with each pair; None means one row each.
        """
        level = levels[self.codes]
        for other in others:
            yield level, other.codes, None

    def with_events(self, events: Sequence[str]) -> Column:
        """Return the column with the events that a schema declares, such as "> 200000".

        Raises
        ------
        SchemaError
            The column is not numeric.
        """
        if not events:
            return self
        if self.kind != "numeric":
            raise SchemaError(
                f"events of column {self.name!r} are declared, but it holds no numbers",
                hint="declare events of numeric columns; categories are judged one by one anyway",
            )
        return replace(self, events=tuple(events))

    def counts(self) -> Ints:
        """Return the number of rows with each value, with missing values last; shape (n_values + 1,)."""
        counts = self.value_counts
        return np.append(counts.counts, counts.missing)


def smallest(n_codes: int) -> type[np.unsignedinteger[Any]]:
    """Return the smallest unsigned integer type that holds `n_codes` codes."""
    if n_codes <= 1 << 8:
        return np.uint8
    return np.uint16 if n_codes <= 1 << 16 else np.uint32


def ordered(column: Column, kind: Kind, categories: Sequence[str]) -> Column:
    """Return a column with its categories in a declared order; undeclared ones follow in their own order."""
    place = {text: i for i, text in enumerate(categories)}
    ranks = [place.get(text, len(place)) for text in column.values]
    if all(a <= b for a, b in pairwise(ranks)):
        return replace(column, kind=kind)
    order = np.argsort(ranks, kind="stable")
    table = np.empty(len(order) + 1, column.codes.dtype)
    table[order] = np.arange(len(order))
    # Without missing cells there may be as many codes as the type allows, with no room for one more.
    table[-1] = len(order) if column.has_missing else 0
    return replace(column, kind=kind, codes=table[column.codes], values=[column.values[i] for i in order.tolist()])


def as_categories(column: Column) -> Column:
    """Return a column of numbers as categories with the same codes, in numeric order."""
    values = column.exact or column.values.tolist()
    return replace(column, kind="categorical", values=list(map(number, values)), exact=())


def in_unit(column: Column, unit: str) -> Column | None:
    """Return a column of dates in days or microseconds, or None if two of its times would become the same."""
    if unit == column.unit:
        return column
    values = column.values * DAY if unit == "us" else column.values / DAY
    return None if column.exact or not (np.diff(values) > 0).all() else replace(column, unit=unit, values=values)


@dataclass(frozen=True, eq=False, repr=False)
class Bins:
    """A grouping of a column's distinct values into bins.

    Parameters
    ----------
    lookup : ndarray of the smallest unsigned integers, shape (n_values + 1,)
        Bin of each value code; the missing code, at the end, becomes `n_bins`.
    n_bins : int
        Number of bins.
    lo, hi : ndarray of float64, shape (n_bins,)
        Smallest and largest value in each bin; empty for categories.
    thresholds : ndarray of float64, shape (n_bins - 1,)
        Midpoints between neighbouring bins; values below `thresholds[i]` lie in bins 0 .. i.
    public : bool
        Whether the thresholds are declared points.
    """

    lookup: NDArray[Any]
    n_bins: int
    lo: Floats
    hi: Floats
    thresholds: Floats
    public: bool = False

    @property
    def changes(self) -> bool:
        """Return whether the bins differ from the value codes."""
        return self.n_bins + 1 != len(self.lookup) or self.lookup[-1] != self.n_bins

    def whole(self) -> Bins:
        """Return bins with all values, including missing ones, in a single bin, so that nothing is cut."""
        one = slice(0, 1 if len(self.lo) else 0)
        return Bins(np.zeros_like(self.lookup), 1, self.lo[one], self.hi[-1:], self.thresholds[:0])

    def codes(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the bin of each row, given its value code; `codes` itself if bins and codes are the same."""
        return self.lookup[codes] if self.changes else codes


def grid_bins(counts: ValueCounts, points: Floats) -> Bins:
    """Cut a column of numbers at public points; each bin runs from one point up to, but excluding, the next.

    Bins without values are left out; each threshold is the point where the bin above it begins.

    Examples
    --------
    >>> import numpy as np
    >>> ages = ValueCounts("age", "numeric", "", np.array([1.0, 2, 3, 9]), np.ones(4, int))
    >>> cut = grid_bins(ages, np.array([2.0, 4, 6, 8]))
    >>> cut.lookup.tolist(), cut.thresholds.tolist()
    ([0, 1, 1, 2, 3], [2.0, 8.0])
    """
    values = np.asarray(counts.values, np.float64)
    occupied, first = np.unique(np.searchsorted(points, values, side="right"), return_index=True)
    return Bins(*_bins_from(values, first), points[occupied[1:] - 1], True)


def _bins_from(values: Floats, first: Ints) -> tuple[NDArray[Any], int, Floats, Floats]:
    """Return the lookup, number, minima and maxima of bins that begin at the codes in `first`."""
    ends = np.append(first[1:], len(values))[: len(first)]
    bins = np.repeat(np.arange(len(first)), ends - first)
    lookup = np.append(bins, len(first)).astype(smallest(len(first) + 1))
    return lookup, len(first), values[first], values[ends - 1]


def quantile_bins(counts: ValueCounts, max_bins: int = 1024) -> Bins:
    """Cut a column of numbers at quantiles into at most `max_bins` bins.

    A bin holds whole distinct values, so the cut does not depend on row order. Columns
    with at most `max_bins` distinct values, and categories, keep one bin per value.

    Parameters
    ----------
    counts : ValueCounts
    max_bins : int
        Most bins, at least 2.

    Examples
    --------
    >>> import numpy as np
    >>> ages = ValueCounts("age", "numeric", "", np.array([1.0, 2, 3, 9]), np.ones(4, int))
    >>> cut = quantile_bins(ages, max_bins=2)
    >>> cut.lookup.tolist(), cut.lo.tolist(), cut.hi.tolist(), cut.thresholds.tolist()
    ([0, 0, 1, 1, 2], [1.0, 3.0], [2.0, 9.0], [2.5])
    """
    n = counts.n_values
    if not counts.is_number:
        empty = np.empty(0)
        return Bins(np.arange(n + 1, dtype=smallest(n + 1)), n, empty, empty, empty)
    values = np.asarray(counts.values, np.float64)
    # numbers that share a double are one bin
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))[:n]
    if n > max_bins:
        share = (np.cumsum(counts.counts) - counts.counts) * max_bins // max(counts.known, 1)
        first = first[np.flatnonzero(np.diff(share[first], prepend=-1))]
    lookup, n_bins, lo, hi = _bins_from(values, first)
    # halves first: the sum of two large numbers may be infinite
    middle = hi[:-1] / 2 + lo[1:] / 2
    # between neighbouring doubles there is no middle
    return Bins(lookup, n_bins, lo, hi, np.where(middle > hi[:-1], middle, lo[1:]))
