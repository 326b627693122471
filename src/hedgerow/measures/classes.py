"""The classes of a table with the counts of its sensitive columns, whole or a range of classes at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..columns.column import Column, Dictionary, ValueCounts
from ..columns.table import Table
from ..notation import Exact
from ..schema import Kind
from .class_counts import Counts, FloatArray, Groups, IntArray, group, spans
from .class_measures import distinct
from .persons import Persons
from .proper_scores import ColumnScores, Public


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveCounts(Dictionary):
    """A sensitive column as its dictionary and its counts per class.

    Parameters
    ----------
    name : str
    kind : {"numeric", "categorical", "ordinal", "date", "boolean"}
    values : float array or list of str
        The distinct values that occur, in their order.
    counts : Counts
        By position in `values`; a missing value has the code ``len(values)``.
    exact : sequence of int or Decimal
        The numbers themselves where doubles do not hold them; see `Column`.
    events : tuple of str
        Declared events; see `Column`.
    """

    name: str
    kind: Kind
    values: Any
    counts: Counts
    exact: Sequence[Exact] = ()
    events: tuple[str, ...] = ()

    def __repr__(self) -> str:  # no person's value
        return f"SensitiveCounts({self.name!r}, {self.kind!r}, {len(self.values)} values)"

    @classmethod
    def of(cls, groups: Groups, column: Column) -> SensitiveCounts:
        """Count a column in every class."""
        n_values = column.n_values + column.has_missing
        counts = Counts.of(groups, column.codes, n_values)
        return cls(column.name, column.kind, column.values, counts, column.exact, column.events)

    @classmethod
    def in_order(
        cls,
        by_class: IntArray,
        n_groups: int,
        rows: npt.NDArray[Any],
        column: Column,
        whole: IntArray | None = None,
    ) -> SensitiveCounts:
        """Count a column in every class, where `rows` stand class by class; numbers `by_record`."""
        n_values, codes = column.n_values + column.has_missing, column.codes[rows]
        if column.is_number:
            counts = Counts.by_record(by_class, codes, n_groups, n_values)
        else:
            starts = np.searchsorted(by_class, np.arange(n_groups)).astype(np.int64)
            counts = Counts.of(Groups(by_class.astype(np.uint32), starts), codes, n_values)
        counts = replace(counts, whole=whole)
        return cls(column.name, column.kind, column.values, counts, column.exact, column.events)

    def per_class(self, *measures: Measure) -> list[npt.NDArray[Any]]:
        """What each measure says of every class; arrays of shape (n_groups,)."""
        return [measure(self) for measure in measures]

    @cached_property
    def scores(self) -> ColumnScores:
        """What every class tells of the column."""
        return ColumnScores(self.public, self.counts)

    @property
    def totals(self) -> IntArray:
        """Records of each value in all classes, those of a missing one last."""
        return self.counts.totals

    @cached_property
    def public(self) -> Public:
        """What everybody knows of the column: how often each value occurs in all classes."""
        counts, n = self.totals, self.n_values
        missing = int(counts[n:].sum())
        return Public.of(
            ValueCounts(
                self.name, self.kind, "", self.values, counts[:n], missing, self.exact, self.events
            )
        )

    @property
    def by_code(self) -> FloatArray:
        """The number behind each code, NaN for missing; shape (n_values,)."""
        known = np.asarray(self.values, np.float64)
        return np.append(known, np.nan)[: self.counts.n_values]


def totals(column: Column) -> IntArray:
    """Records of each value of a column, those of a missing one last where there are any."""
    counts = column.value_counts
    missing = [counts.missing] if column.has_missing else []
    return np.append(counts.counts, missing).astype(np.int64)


def distinct_values(column: SensitiveCounts) -> IntArray:
    """Different values of a sensitive column in each class."""
    return distinct(column.counts)


Measure = Callable[[SensitiveCounts], npt.NDArray[Any]]
"""Says one thing of every class, whatever the other classes are."""


@dataclass(frozen=True, eq=False, repr=False)
class Classes:
    """Equivalence classes of a table: their sizes, and the counts of its sensitive columns.

    Missing equals missing, strictly: a missing value matches another missing one.

    Parameters
    ----------
    sizes : int64 array, shape (n_groups,)
        Records of each class.
    sensitive : mapping of str to SensitiveCounts
    persons : int64 array, shape (n_groups,), optional
        `Held.persons` of each class, where a person may have several records.
    households : int64 array, shape (n_groups,), optional
        Different households of each class, where a column tells them.
    n_homes : int
        Different households of all classes.
    """

    sizes: IntArray
    sensitive: Mapping[str, SensitiveCounts]
    persons: IntArray | None = None
    households: IntArray | None = None
    n_homes: int = 0

    def __repr__(self) -> str:  # no person's value
        return f"Classes({self.n_groups:,} classes, {self.n_records:,} records)"

    @classmethod
    def of(
        cls, groups: Groups, columns: Iterable[Column] = (), persons: Persons | None = None
    ) -> Classes:
        """The classes of rows, with their sensitive columns and the people behind them."""
        made = [SensitiveCounts.of(groups, column) for column in columns]  # each sorts all rows
        return cls.counted(groups.sizes, made, groups, persons)

    @classmethod
    def counted(
        cls,
        sizes: IntArray,
        columns: Iterable[SensitiveCounts],
        groups: Groups,
        persons: Persons | None,
    ) -> Classes:
        """Classes whose sensitive columns were counted, with the people behind the rows."""
        by_name = {each.name: each for each in columns}
        if persons is None:
            return cls(sizes, by_name)
        held = persons.held(groups)
        there = () if persons.homes is None else np.bincount(persons.homes[persons.codes])
        homes = int(np.count_nonzero(there))
        return cls(sizes, by_name, held.persons, held.households, homes)

    @classmethod
    def of_rows(
        cls,
        rows: npt.NDArray[np.uint32],
        starts: IntArray,
        columns: Iterable[Column] = (),
        persons: Persons | None = None,
    ) -> Classes:
        """The classes of rows that stand class by class already, for promises on them.

        Parameters
        ----------
        rows : uint32 array, shape (n_rows,)
            Row numbers, class by class.
        starts : int64 array, shape (n_groups,)
            Where each class begins among them; none is empty.
        columns, persons
            As in `of`. Numbers are counted `by_record`.
        """
        n, sizes = len(starts), np.diff(starts, append=len(rows))
        by_class = np.repeat(np.arange(n), sizes)
        made = [SensitiveCounts.in_order(by_class, n, rows, column) for column in columns]
        labels = np.empty(len(rows), np.uint32)
        labels[rows] = by_class
        groups = Groups(labels, np.minimum.reduceat(rows, starts).astype(np.int64))
        return cls.counted(sizes, made, groups, persons)

    @classmethod
    def pieces(
        cls, rows: npt.NDArray[np.uint32], starts: IntArray, columns: Sequence[Column], size: int
    ) -> Iterator[Classes]:
        """The classes of `of_rows`, those of so many records at a time: counts take 24 bytes a record.

        What everybody knows of a column is of all records.

        Examples
        --------
        >>> import pyarrow as pa
        >>> pay = Table(pa.table({"pay": [1.0, 2.0, 2.0, 4.0]})).column("pay")
        >>> rows, starts = np.arange(4, dtype=np.uint32), np.array([0, 2])
        >>> [(p.sizes.tolist(), p.sensitive["pay"].counts.totals.tolist())
        ...     for p in Classes.pieces(rows, starts, [pay], 2)]
        [([2], [1, 2, 1]), ([2], [1, 2, 1])]
        """
        known = [totals(column) for column in columns]
        for some, here in spans(starts, len(rows), size):
            sizes = np.diff(starts[some], append=here.stop)
            by_class = np.repeat(np.arange(len(sizes)), sizes)
            made = (
                SensitiveCounts.in_order(by_class, len(sizes), rows[here], column, whole)
                for column, whole in zip(columns, known, strict=True)
            )
            yield cls(sizes, {each.name: each for each in made})

    @classmethod
    def of_table(cls, table: Table, quasi: Iterable[str], sensitive: Iterable[str] = ()) -> Classes:
        """The classes of records that share all values of some columns, compared as text.

        Examples
        --------
        >>> import pyarrow as pa
        >>> people = Table(pa.table({"job": ["a", "a", "b"], "ill": ["x", "y", "x"]}))
        >>> made = Classes.of_table(people, ["job"], ["ill"])
        >>> made.sizes.tolist(), made.sensitive["ill"].counts.counts.tolist()
        ([2, 1], [1, 1, 1])
        """
        codes = [table.column(name, kind="categorical").codes for name in quasi]
        return cls.of(group(codes, table.n_rows), [table.column(name) for name in sensitive])

    @property
    def n_groups(self) -> int:
        """Number of classes."""
        return len(self.sizes)

    @property
    def n_records(self) -> int:
        """Records of all classes together."""
        return int(self.sizes.sum())

    @property
    def people(self) -> IntArray:
        """What k counts: different people where they are known, else records; households as well."""
        found = self.sizes if self.persons is None else self.persons
        return found if self.households is None else np.minimum(found, self.households)


_AT_ONCE = 1 << 19
"""Records whose counts are made at once; with what is measured on them they take some 150 bytes each."""


class SensitiveRanges(SensitiveCounts):
    """A sensitive column whose counts are made for a range of classes at a time, and not kept.

    What a measure said of every class is kept: one number each.

    Parameters
    ----------
    rows : uint32 array, shape (n_rows,)
        Row numbers, class by class.
    starts : int64 array, shape (n_groups,)
        Where each class begins among them; none is empty.
    column : Column
    asked : sequence of callables
        The measures that will be asked for: they are taken together, in one look at the rows.
    """

    _rows: npt.NDArray[np.uint32]
    _starts: IntArray
    _column: Column
    _asked: Sequence[Measure]
    _told: dict[Measure, npt.NDArray[Any]]

    def __init__(
        self,
        rows: npt.NDArray[np.uint32],
        starts: IntArray,
        column: Column,
        asked: Sequence[Measure] = (),
    ) -> None:
        names = "name", "kind", "values", "exact", "events"
        held = {name: getattr(column, name) for name in names}
        own = {"_rows": rows, "_starts": starts, "_column": column, "_asked": asked, "_told": {}}
        vars(self).update(held | own)  # it is frozen

    def per_class(self, *measures: Measure) -> list[npt.NDArray[Any]]:
        """What each measure says of every class; arrays of shape (n_groups,)."""
        if any(each not in self._told for each in measures):
            wanted = [m for m in dict.fromkeys([*measures, *self._asked]) if m not in self._told]
            found = [[measure(piece) for measure in wanted] for piece in self._pieces(_AT_ONCE)]
            each = (np.concatenate(parts) for parts in zip(*found, strict=True))
            self._told.update(zip(wanted, each, strict=True))
        return [self._told[each] for each in measures]

    @cached_property
    def totals(self) -> IntArray:
        """Records of each value in all classes, those of a missing one last."""
        return totals(self._column)

    @property
    def counts(self) -> Counts:
        """The counts of all classes at once, for whoever asks for more than figures of a class."""
        (whole,) = self._pieces(len(self._rows))
        return whole.counts

    def _pieces(self, size: int) -> Iterator[SensitiveCounts]:
        for some, here in spans(self._starts, len(self._rows), size):
            sizes = np.diff(self._starts[some], append=here.stop)
            by_class = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
            groups = Groups(by_class, self._starts[some] - here.start)
            codes = self._column.codes[self._rows[here]]
            counts = replace(Counts.of(groups, codes, len(self.totals)), whole=self.totals)
            yield SensitiveCounts(
                self.name, self.kind, self.values, counts, self.exact, self.events
            )


def by_ranges(
    groups: Groups,
    columns: Sequence[Column],
    asked: Sequence[Measure],
    persons: Persons | None = None,
) -> Classes:
    """The classes of rows as `Classes.of` makes them, with `SensitiveRanges` as their columns."""
    made = []
    if columns:
        rows, starts = groups.in_order()
        made = [SensitiveRanges(rows, starts, column, asked) for column in columns]
    return Classes.counted(groups.sizes, made, groups, persons)
