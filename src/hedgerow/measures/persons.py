"""Who the records are about: how many different people and households a class holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.table import Table
from ..errors import InfeasibleError, InputError
from ..kernels.exact_sums import UNIT_BITS
from ..schema import Schema
from .class_counts import Counts, Groups, IntArray, group
from .class_measures import distinct, largest_share


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Whose records every class holds.

    Parameters
    ----------
    records : Counts
        Records of every person in every class; of every household where each record is a person.
    homes : int64 array, shape (n_values,), optional
        The household of each of them, where k counts households.
    told : bool
        Whether a column tells people apart; else every record is a person.
    """

    records: Counts
    homes: IntArray | None = None
    told: bool = True

    @property
    def people(self) -> IntArray:
        """What k counts: different people, households where they are told, the fewer of both.

        1 where one person has more than half of a class's records, so classes of at least k people
        (k of 2 or more) have a union of at least k people.

        Examples
        --------
        >>> visits = Counts.dense(np.array([[1, 1, 2], [1, 1, 3]]))
        >>> Held(visits).people.tolist(), Held(visits, np.array([0, 0, 1])).people.tolist()
        ([3, 1], [2, 1])
        """
        found = [each for each in (self.persons, self.households) if each is not None]
        return np.minimum.reduce(found)

    @property
    def persons(self) -> IntArray | None:
        """Different people of each class, 1 where one has more than half; None where all records are."""
        if not self.told:
            return None
        return np.where(largest_share(self.records) <= 0.5, distinct(self.records), 1)

    @property
    def different(self) -> IntArray:
        """Different people, or households, of each class, whoever has most of its records."""
        found = self.households
        return distinct(self.records) if found is None else found

    @property
    def households(self) -> IntArray | None:
        """Different households of each class; None where none are told."""
        if self.homes is None:
            return None
        groups, own = self.records.groups, self.homes[self.records.values]
        if ((np.diff(own) < 0) & (np.diff(groups) == 0)).any():
            order = np.lexsort((own, groups))
            groups, own = groups[order], own[order]
        first = (np.diff(groups, prepend=-1) != 0) | (np.diff(own, prepend=-1) != 0)
        return np.bincount(groups[first], minlength=self.records.n_groups).astype(np.int64)

    def placed(self, labels: IntArray, n: int, chosen: npt.NDArray[np.bool_] | None) -> Held:
        """The classes under other labels, those that are not chosen left out."""
        own = self.records
        cells = slice(None) if chosen is None else chosen[own.groups]
        parts = (own.groups[cells], own.values[cells], own.counts[cells])
        kept = Counts(*parts, own.n_groups, own.n_values)
        return replace(self, records=kept.placed(groups=labels, n_groups=n))


@dataclass(frozen=True, eq=False, repr=False)
class Persons:
    """The person behind every record, where people may have several, and their household.

    Parameters
    ----------
    unit : str or None
        The column that identifies a person; None where every record is one.
    codes : int64 array, shape (n_rows,)
        The person of every record, 0 .. n - 1; its household where every record is a person.
    n : int
        Number of people, or of households.
    joined : int
        Values that were taken for another way to write one that is there already.
    household : str, optional
        The column that identifies people who live together.
    homes : int64 array, shape (n,), optional
        The household of each person.
    """

    unit: str | None
    codes: IntArray
    n: int
    joined: int = 0
    household: str | None = None
    homes: IntArray | None = None

    def __repr__(self) -> str:  # no person's value
        return f"Persons({self._names}, {self.n:,} different, {len(self.codes):,} records)"

    @property
    def _names(self) -> str:
        return ", ".join(repr(name) for name in (self.unit, self.household) if name is not None)

    @property
    def counted(self) -> int:
        """How many there are of what k counts: people, or households."""
        return self.n if self.homes is None else int(self.homes.max(initial=-1)) + 1

    @classmethod
    def of(cls, table: Table, unit: str | None, household: str | None = None) -> Persons | None:
        """The people of a table by their columns; None where every record is a person of its own.

        Values that differ in spaces, case, zeros in front or .0 behind alone are one person: who
        is joined too many makes groups larger, who is taken for two would make them too small.

        Raises
        ------
        InputError
            Somebody, or somebody's household, is not named; a person is in two households.

        Examples
        --------
        >>> import pyarrow as pa
        >>> visits = Table(pa.table({"id": ["a", "b", "a"]}))
        >>> Persons.of(visits, "id").shares().tolist() == [1 << 29, 1 << 30, 1 << 29]
        True
        """
        if household is None:
            return None if unit is None else cls(unit, *_named(table, unit, "unit"))
        homes, n_homes, joined = _named(table, household, "household")
        if unit is None:
            return cls(None, homes, n_homes, joined, household, np.arange(n_homes))
        codes, n, others = _named(table, unit, "unit")
        home = np.zeros(n, np.int64)
        home[codes] = homes
        if several := len(np.unique(codes[home[codes] != homes])):
            raise InputError(
                f"{several:,} people by {unit!r} are in several households by {household!r}",
                hint="give each person one household, such as that of the latest record",
            )
        return cls(unit, codes, n, others + joined, household, home)

    def caution(self) -> str | None:
        """What its reader should know of how people are told apart; None where that is plain."""
        if not self.joined:
            return None
        if self.household is not None:
            return (
                f"{self._names}: {self.joined:,} values differ from another in spaces, case, zeros in "
                "front or .0 behind alone, and count as the same person or household, so there are "
                f"{self.counted:,} households"
            )
        return (
            f"{self.unit}: {self.joined:,} of its {self.n + self.joined:,} values differ from "
            "another in spaces, case, zeros in front or .0 behind alone, and count as the same "
            f"person, so there are {self.n:,} people"
        )

    @classmethod
    def asked(cls, table: Table, schema: Schema, k: int) -> Persons | None:
        """`of` what a schema says; the whole table must keep k, or no group of it can.

        Raises
        ------
        InfeasibleError
            There are fewer than k people, or one has more than half of the records.
        """
        found = cls.of(table, schema.person, schema.household)
        if found is not None and (whole := found.in_all()) < k:
            people = found.household is None
            told = f"one {'of them' if people else 'person'} has more than half of the records"
            what, by = ("people", found.unit) if people else ("households", found.household)
            raise InfeasibleError(
                f"k is {k:,}, and the table has {found.counted:,} {what} by {by!r}"
                + (f", but {told}" if whole < found.counted else ""),
                hint="ask for smaller groups, or leave records of that person out",
            )
        return found

    def shares(self) -> npt.NDArray[np.int32]:
        """Of every record its share of its person or household, in units of 2^-30, rounded down.

        A group whose shares come to more than k - 1 has k of them at least.
        """
        whose = self.codes if self.homes is None else self.homes[self.codes]
        records = np.bincount(whose, minlength=self.counted)
        return ((1 << UNIT_BITS) // np.maximum(records, 1)).astype(np.int32)[whose]

    def held(self, groups: Groups) -> Held:
        """Whose records every class holds."""
        records = Counts.of(groups, self.codes, self.n)
        return Held(records, self.homes, self.unit is not None)

    def sizes(self, groups: Groups) -> IntArray:
        """What k counts in every class; see `Held.people`."""
        return self.held(groups).people

    def people(self, groups: Groups) -> IntArray:
        """People of every class, 1 where one has more than half; records where each is one."""
        found = None if self.unit is None else self.held(groups).persons
        return groups.sizes if found is None else found

    def in_all(self) -> int:
        """What k counts in the whole table."""
        return int(self.sizes(group([], len(self.codes)))[0])

    def taken(self, rows: npt.NDArray[np.int64] | None) -> Persons:
        """The persons of other rows; None: the same."""
        return self if rows is None else replace(self, codes=self.codes[rows])


def _alike(names: pa.Array) -> pa.Array:
    """Names as they are compared; blank ones are missing.

    Examples
    --------
    >>> _alike(pa.array([" p 1", "P1", "007", "7.0", "0", " "])).to_pylist()
    ['p1', 'p1', '7', '7', '0', None]
    """
    names = pc.utf8_lower(pc.utf8_normalize(names, form="NFKC"))
    names = pc.replace_substring_regex(names, r"[\s\p{Z}\p{C}]+", "")
    names = pc.replace_substring_regex(names, r"^\+?0*(\d+)(\.0*)?$", r"\1")
    names = pc.replace_substring_regex(names, r"^0+(\w)", r"\1")
    return pc.if_else(pc.equal(names, ""), None, names)


def _named(table: Table, name: str, what: str) -> tuple[IntArray, int, int]:
    """The code of every record by a column that names people or households, how many there are,
    and how many values were taken for another way to write one.
    """
    column = table.column(name, kind="categorical")
    coded = _alike(pa.array(column.values, pa.string())).dictionary_encode()
    codes = np.append(coded.indices.fill_null(-1).to_numpy(), -1)[column.codes].astype(np.int64)
    if missing := int((codes < 0).sum()):
        raise InputError(
            f"the {what} {name!r} is missing in {missing:,} records, so nobody knows whose they "
            "are",
            hint="fill it, or leave these records out",
        )
    n = len(coded.dictionary)
    return codes, n, column.n_values - n
