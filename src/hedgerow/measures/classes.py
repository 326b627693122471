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
from ..kernels import Floats, Ints, UInts32
from ..notation import Exact
from ..schema import Kind
from .class_counts import Counts, Groups, group, spans
from .class_measures import distinct
from .persons import Persons
from .proper_scores import ColumnScores, Public


@dataclass(frozen=True, eq=False, repr=False)
class SensitiveCounts(Dictionary):
    """The distinct values of a sensitive column, and the count of each value in each class.

    Parameters
    ----------
    name : str
    kind : {"numeric", "categorical", "ordinal", "date", "boolean"}
    values : float array or list of str
        The distinct values that occur, in their order.
    counts : Counts
        Counts of codes, which are positions in `values`; a missing value has the code ``len(values)``.
    exact : sequence of int or Decimal
        The numbers themselves where doubles do not hold them; see `Column`.
    events : tuple of str
        Declared events; see `Column`.
    fewest : int
        Classes with fewer records are judged together; see `Column`.
    """

    name: str
    kind: Kind
    values: Any
    counts: Counts
    exact: Sequence[Exact] = ()
    events: tuple[str, ...] = ()
    fewest: int = 0

    def __repr__(self) -> str:  # no person's value
        return f"SensitiveCounts({self.name!r}, {self.kind!r}, {len(self.values)} values)"

    @classmethod
    def from_groups(cls, groups: Groups, column: Column) -> SensitiveCounts:
        """Count the values of a column in each class, of the rows that have a cell of it."""
        here = slice(None) if column.here is None else column.here
        labels = Groups(groups.labels[here], groups.first)
        counts = Counts.from_codes(labels, column.codes[here], column.n_values + column.has_missing)
        return cls(column.name, column.kind, column.values, counts, column.exact, column.events, column.fewest)

    @cached_property
    def judged_as(self) -> Ints:
        """Return the class of `judged` that each class is part of, -1 for one without records; shape (n_groups,).

        Those of few records are one class, with all of the next larger sizes if they have too few together.
        """
        sizes, enough = self.counts.sizes, self.fewest
        ordered = np.sort(sizes[sizes > 0])
        if len(ordered) and ordered[0] < enough:
            # of equal sizes all or none, so that the order of the classes changes nothing
            last = int(np.searchsorted(np.cumsum(ordered), enough))
            enough = max(enough, int(ordered[min(last, len(ordered) - 1)]) + 1)
        is_few, alone = (sizes > 0) & (sizes < enough), sizes >= max(enough, 1)
        return np.where(is_few, 0, np.where(alone, np.cumsum(alone) - 1 + is_few.any(), -1))

    @cached_property
    def judged(self) -> SensitiveCounts:
        """Return the counts of the classes that promises are about: those with records, of which few are together."""
        if not self.fewest:
            return self
        number = self.judged_as
        return replace(
            self, counts=self.counts.placed(groups=number, n_groups=int(number.max(initial=-1)) + 1), fewest=0
        )

    def judged_sizes(self, sizes: Ints) -> Ints:
        """Return the records of the classes of `judged`, given those of all classes."""
        return self.judged.counts.sizes if self.fewest else sizes

    def per_class(self, *measures: Measure) -> list[npt.NDArray[Any]]:
        """Return the result of each measure, an array of shape (n_groups,)."""
        return [measure(self) for measure in measures]

    @cached_property
    def scores(self) -> ColumnScores:
        """Return the column's disclosure in every class, by each proper score."""
        return ColumnScores(self.public, self.counts)

    @property
    def totals(self) -> Ints:
        """Return the number of records with each value, over all classes; missing values come last."""
        return self.counts.totals

    @cached_property
    def public(self) -> Public:
        """Return the public distribution: how often each value occurs in all classes."""
        counts, n = self.totals, self.n_values
        frequencies, missing = counts[:n], int(counts[n:].sum())
        described = self.exact, self.events
        return Public(ValueCounts(self.name, self.kind, "", self.values, frequencies, missing, *described))

    @property
    def by_code(self) -> Floats:
        """Return the number that each code stands for, NaN for a missing value; shape (n_values,)."""
        return np.append(np.asarray(self.values, np.float64), np.nan)[: self.counts.n_values]


def distinct_values(column: SensitiveCounts) -> Ints:
    """Return the number of distinct values of a sensitive column in each class."""
    return distinct(column.counts)


# a figure of every class that does not depend on the other classes
Measure = Callable[[SensitiveCounts], npt.NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Classes:
    """The equivalence classes of a table: their sizes, and the value counts of the sensitive columns.

    Missing equals missing, strictly: a missing value matches another missing one.

    Parameters
    ----------
    sizes : int64 array, shape (n_groups,)
        Records of each class.
    sensitive : mapping of str to SensitiveCounts
    persons : int64 array, shape (n_groups,), optional
        `PeopleByClass.persons` of each class, if a person may have several records.
    households : int64 array, shape (n_groups,), optional
        Number of distinct households in each class, if a column identifies them.
    n_homes : int
        Number of distinct households in all classes.
    """

    sizes: Ints
    sensitive: Mapping[str, SensitiveCounts]
    persons: Ints | None = None
    households: Ints | None = None
    n_homes: int = 0

    def __repr__(self) -> str:  # no person's value
        return f"Classes({self.n_groups:,} classes, {self.n_records:,} records)"

    @classmethod
    def from_groups(cls, groups: Groups, columns: Iterable[Column] = (), persons: Persons | None = None) -> Classes:
        """Build the classes of grouped rows, counting their sensitive values and people."""
        counted = [SensitiveCounts.from_groups(groups, column) for column in columns]
        return cls.counted(groups.sizes, counted, groups, persons)

    @classmethod
    def counted(
        cls, sizes: Ints, columns: Iterable[SensitiveCounts], groups: Groups, persons: Persons | None
    ) -> Classes:
        """Build classes from sensitive columns that are already counted, and count the people in each class."""
        by_name = {each.name: each for each in columns}
        if persons is None:
            return cls(sizes, by_name)
        people = persons.by_class(groups)
        homes = () if persons.homes is None else np.bincount(persons.homes[persons.codes])
        return cls(sizes, by_name, people.persons, people.households, int(np.count_nonzero(homes)))

    @classmethod
    def from_rows(
        cls, rows: UInts32, starts: Ints, columns: Iterable[Column] = (), persons: Persons | None = None
    ) -> Classes:
        """Build classes from rows that are already sorted by class, to check promises on them.

        Parameters
        ----------
        rows : uint32 array, shape (n_rows,)
            Row numbers, class by class.
        starts : int64 array, shape (n_groups,)
            Where each class begins among them; none is empty.
        columns, persons
            As in `from_groups`. Numbers are counted `Counts.by_record`.
        """
        sizes = np.diff(starts, append=len(rows))
        counted = [SensitiveRanges(rows, starts, c, by_record=c.is_number) for c in columns]
        # The class of each row is needed only to count people.
        labels = np.empty(0 if persons is None else len(rows), np.uint32)
        if persons is not None:
            labels[rows] = np.repeat(np.arange(len(starts), dtype=np.uint32), sizes)
        return cls.counted(sizes, counted, Groups(labels, np.minimum.reduceat(rows, starts).astype(np.int64)), persons)

    @classmethod
    def from_table(cls, table: Table, quasi: Iterable[str], sensitive: Iterable[str] = ()) -> Classes:
        """Build the classes of records that have equal values in the given columns, compared as text.

        Examples
        --------
        >>> import pyarrow as pa
        >>> people = Table(pa.table({"job": ["a", "a", "b"], "ill": ["x", "y", "x"]}))
        >>> classes = Classes.from_table(people, ["job"], ["ill"])
        >>> classes.sizes.tolist(), classes.sensitive["ill"].counts.counts.tolist()
        ([2, 1], [1, 1, 1])
        """
        codes = [table.column(name, kind="categorical").codes for name in quasi]
        return cls.from_groups(group(codes, table.n_rows), [table.column(name) for name in sensitive])

    @property
    def n_groups(self) -> int:
        """Return the number of classes."""
        return len(self.sizes)

    @property
    def n_records(self) -> int:
        """Return the number of records in all classes together."""
        return int(self.sizes.sum())

    @property
    def people(self) -> Ints:
        """Return the number that k counts in each class: people (else records), or households if these are fewer."""
        people = self.sizes if self.persons is None else self.persons
        return people if self.households is None else np.minimum(people, self.households)


# records counted at once; with what is measured on them they take some 150 bytes each
_AT_ONCE = 1 << 19


class SensitiveRanges(SensitiveCounts):
    """A sensitive column that is counted for a range of classes at a time, without storing the counts.

    The results of a measure are stored: one number per class.

    Parameters
    ----------
    rows : uint32 array, shape (n_rows,)
        Row numbers, class by class.
    starts : int64 array, shape (n_groups,)
        Where each class begins among them; none is empty.
    column : Column
    measures : sequence of callables
        The measures that will be needed: they are computed together, in one pass over the rows.
    by_record : bool
        Count `Counts.by_record`, which is enough for sums over the records of a class.
    """

    _rows: UInts32
    _starts: Ints
    _column: Column
    _measures: Sequence[Measure]
    _by_record: bool
    _results: dict[Measure, npt.NDArray[Any]]

    def __init__(
        self, rows: UInts32, starts: Ints, column: Column, measures: Sequence[Measure] = (), *, by_record: bool = False
    ) -> None:
        fields = {name: getattr(column, name) for name in ("name", "kind", "values", "exact", "events")}
        fields |= {"_rows": rows, "_starts": starts, "_column": column, "_measures": measures}
        vars(self).update(fields | {"_by_record": by_record, "_results": {}})  # it is frozen

    def per_class(self, *measures: Measure) -> list[npt.NDArray[Any]]:
        """Return the result of each measure, an array of shape (n_groups,)."""
        if any(measure not in self._results for measure in measures):
            # All in one pass: counting a range costs more than any measure of it.
            needed = dict.fromkeys((*measures, *self._measures))
            wanted = [measure for measure in needed if measure not in self._results]
            parts = [[measure(piece) for measure in wanted] for piece in self._pieces(_AT_ONCE)]
            results = (np.concatenate(part) for part in zip(*parts, strict=True))
            self._results.update(zip(wanted, results, strict=True))
        return [self._results[measure] for measure in measures]

    @cached_property
    def totals(self) -> Ints:
        """Return the number of records with each value, over all classes; missing values come last."""
        return self._column.counts()[: self._column.n_values + self._column.has_missing]

    @property
    def counts(self) -> Counts:
        """Return the counts of all classes at once, for figures that need several classes together."""
        (whole,) = self._pieces(len(self._rows))
        return whole.counts

    def _pieces(self, size: int) -> Iterator[SensitiveCounts]:
        """Yield the counts for batches of classes of about `size` records, with the whole table's public shares."""
        # Of incomes nearly all values differ: counting them by value sorts and saves nothing.
        count = Counts.by_record if self._by_record else Counts.from_codes
        for classes, places in spans(self._starts, len(self._rows), size):
            sizes = np.diff(self._starts[classes], append=places.stop)
            labels = np.repeat(np.arange(len(sizes), dtype=np.uint32), sizes)
            groups = Groups(labels, self._starts[classes] - places.start)
            codes = self._column.codes[self._rows[places]]
            counts = replace(count(groups, codes, len(self.totals)), whole=self.totals)
            piece = SensitiveCounts(self.name, self.kind, self.values, counts, self.exact, self.events)
            vars(piece)["public"] = self.public  # the same for all pieces
            yield piece


def by_ranges(
    groups: Groups, columns: Sequence[Column], measures: Sequence[Measure], persons: Persons | None = None
) -> Classes:
    """Build classes as `Classes.from_groups` does, with `SensitiveRanges` as the columns."""
    rows, starts = groups.in_order() if columns else (np.empty(0, np.uint32), groups.first)
    counted = [SensitiveRanges(rows, starts, column, measures) for column in columns]
    return Classes.counted(groups.sizes, counted, groups, persons)
