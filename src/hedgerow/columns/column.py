"""A column: small integers plus the sorted dictionary that they point into."""

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
from ..io.dates import DAY
from ..notation import Exact, number
from ..schema import Kind
from .exact_values import inexact
from .value_counts import Dictionary, ValueCounts, tally


@dataclass(frozen=True, eq=False, repr=False)
class Column(Dictionary):
    """A column as codes into a sorted dictionary.

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
        The numbers themselves where doubles do not hold all of them (whole numbers beyond 2^53,
        long decimals, parts of microseconds), else empty. Codes tell these apart; `values` are
        then the doubles nearest to them (dates: whole units), and neighbours may be equal.
    events : tuple of str
        Events of a number that its schema declares, such as "> 200000".
    zone : str
        The time zone of time stamps that have one; their numbers are of UTC all the same.
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

    def __repr__(self) -> str:  # no person's value
        return (
            f"Column({self.name!r}, {self.kind!r}, {len(self.codes)} rows, {self.n_values} values)"
        )

    @property
    def by_code(self) -> NDArray[np.float64]:
        """The number behind each code, NaN behind the missing one; shape (n_values + 1,)."""
        return np.append(np.asarray(self.values, np.float64), np.nan)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The number of each row, NaN where it is missing; shape (n rows,)."""
        return self.by_code[self.codes]

    @property
    def places(self) -> NDArray[np.float64]:
        """What `Cover` knows each code by: its number, or its place among exact ones."""
        return np.append(np.arange(self.n_values), np.nan) if self.exact else self.by_code

    @property
    def doubles(self) -> NDArray[np.float64]:
        """`values`, for whoever takes them for the numbers themselves.

        Raises
        ------
        SchemaError
            They are not.
        """
        if self.exact:
            raise inexact([self.name])
        return np.asarray(self.values, np.float64)

    def codes_in(self, other: Column, *, unknown: int) -> NDArray[np.int64]:
        """Each row's value as a code of another column; missing stays missing.

        Parameters
        ----------
        other : Column
            A column of the same kind and unit.
        unknown : int
            The code of values that it does not have.

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
        codes = [*(place.get(name, unknown) for name in mine), other.n_values]
        return np.array(codes, np.int64)[self.codes]

    @cached_property
    def value_counts(self) -> ValueCounts:
        """The values and how often each occurs; counted once, then kept."""
        return self.counted(tally(self.codes, self.n_values + 1))

    def counted(self, counts: NDArray[np.int64]) -> ValueCounts:
        """The values with how often each occurs, the missing ones last."""
        return ValueCounts(
            self.name,
            self.kind,
            self.unit,
            self.values,
            counts[:-1],
            int(counts[-1]),
            self.exact,
            self.events,
        )

    def crossed(
        self, levels: NDArray[np.int64], others: Sequence[Column]
    ) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[np.int64] | None]]:
        """The level of each row (by its code here) beside its code in each of some other columns.

        Yields
        ------
        level, code : integer arrays
        count : int64 array or None
            How many rows each pair stands for; None: one.
        """
        level = levels[self.codes]
        for other in others:
            yield level, other.codes, None

    def with_events(self, events: Sequence[str]) -> Column:
        """The column with declared events.

        Raises
        ------
        SchemaError
            It holds no numbers.
        """
        if not events:
            return self
        if self.kind != "numeric":
            raise SchemaError(
                f"events of column {self.name!r} are declared, but it holds no numbers",
                hint="declare events of numeric columns; categories are judged one by one anyway",
            )
        return replace(self, events=tuple(events))

    def counts(self) -> NDArray[np.int64]:
        """Number of rows per value, the missing ones last; shape (n_values + 1,)."""
        seen = self.value_counts
        return np.append(seen.counts, seen.missing)


def smallest(n_codes: int) -> type[np.unsignedinteger[Any]]:
    """The smallest unsigned integer type that holds `n_codes` codes."""
    if n_codes <= 1 << 8:
        return np.uint8
    return np.uint16 if n_codes <= 1 << 16 else np.uint32


def ordered(column: Column, kind: Kind, categories: Sequence[str]) -> Column:
    """Categories in a declared order, those that are not declared after it as they stood."""
    place = {text: i for i, text in enumerate(categories)}
    ranks = [place.get(text, len(place)) for text in column.values]
    if all(a <= b for a, b in pairwise(ranks)):
        return replace(column, kind=kind)
    order = np.argsort(ranks, kind="stable")
    table = np.empty(len(order) + 1, column.codes.dtype)
    table[order] = np.arange(len(order))
    table[-1] = len(order)
    return replace(
        column,
        kind=kind,
        codes=table[column.codes],
        values=[column.values[i] for i in order.tolist()],
    )


def as_categories(column: Column) -> Column:
    """Whole numbers or doubles as categories with the same codes.

    They stand in the order of their size in either case, and each has one text.
    """
    values = column.exact or column.values.tolist()
    texts = [repr(v) if v in (np.inf, -np.inf) else number(v) for v in values]
    return replace(column, kind="categorical", values=texts, exact=())


def in_unit(column: Column, unit: str) -> Column | None:
    """Dates in days or microseconds; None where two moments would become one."""
    if unit == column.unit:
        return column
    values = column.values * DAY if unit == "us" else column.values / DAY
    if column.exact or not (np.diff(values) > 0).all():
        return None
    return replace(column, unit=unit, values=values)
