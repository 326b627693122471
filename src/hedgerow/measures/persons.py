"""People and households behind the records: the number of distinct ones in each class."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..columns.table import Table
from ..errors import InfeasibleError, InputError
from ..kernels import Ints
from ..kernels.exact_sums import UNIT_BITS
from ..schema import Schema
from ..texts import text
from .class_counts import Counts, Groups, group
from .class_measures import distinct, largest_share


@dataclass(frozen=True, eq=False, repr=False)
class PeopleByClass:
    """The number of records that each person, or household, has in each class.

    Parameters
    ----------
    records : Counts
        Records of every person in every class; of every household where each record is a person.
    homes : int64 array, shape (n_values,), optional
        The household of each of them, where k counts households.
    has_unit : bool
        Whether a column identifies people; else every record is a person.
    """

    records: Counts
    homes: Ints | None = None
    has_unit: bool = True

    @property
    def people(self) -> Ints:
        """Return the number that k counts in each class: distinct people, or households if these are fewer.

        1 where one person has more than half of a class's records, so classes of at least k people
        (k of 2 or more) have a union of at least k people.

        Examples
        --------
        >>> visits = Counts.dense(np.array([[1, 1, 2], [1, 1, 3]]))
        >>> PeopleByClass(visits).people.tolist(), PeopleByClass(visits, np.array([0, 0, 1])).people.tolist()
        ([3, 1], [2, 1])
        """
        return np.minimum.reduce([each for each in (self.persons, self.households) if each is not None])

    @property
    def persons(self) -> Ints | None:
        """Return each class's number of distinct people; None without a person column.

        A class counts as 1 person if one person has more than half of its records.
        """
        if not self.has_unit:
            return None
        # A group in which one person has most records says what is true of that person alone.
        return np.where(largest_share(self.records) <= 0.5, distinct(self.records), 1)

    @property
    def different(self) -> Ints:
        """Return the number of distinct households in each class, or of people if households are unknown."""
        homes = self.households
        return distinct(self.records) if homes is None else homes

    @property
    def households(self) -> Ints | None:
        """Return the number of distinct households in each class; None if households are unknown."""
        if self.homes is None:
            return None
        return distinct(self.records.placed(values=self.homes, n_values=int(self.homes.max(initial=-1)) + 1))

    def placed(self, labels: Ints, n: int, chosen: npt.NDArray[np.bool_] | None) -> PeopleByClass:
        """Renumber the classes by `labels`, leaving out the classes that are not chosen."""
        records = self.records if chosen is None else self.records.some(chosen[self.records.groups])
        return replace(self, records=records.placed(groups=labels, n_groups=n))


@dataclass(frozen=True, eq=False, repr=False)
class Persons:
    """The person that each record belongs to, if people may have several records, and the person's household.

    Parameters
    ----------
    unit : str or None
        The column that identifies a person; None if every record is one.
    codes : int64 array, shape (n_rows,)
        The person of every record, 0 .. n - 1; its household where every record is a person.
    n : int
        Number of people, or of households.
    joined : int
        Number of values that were read as another spelling of an earlier value.
    household : str, optional
        The column that identifies people who live together.
    homes : int64 array, shape (n,), optional
        The household of each person.
    """

    unit: str | None
    codes: Ints
    n: int
    joined: int = 0
    household: str | None = None
    homes: Ints | None = None

    def __repr__(self) -> str:  # no person's value
        return f"Persons({self._names}, {self.n:,} different, {len(self.codes):,} records)"

    @property
    def _names(self) -> str:
        return ", ".join(repr(name) for name in (self.unit, self.household) if name is not None)

    @property
    def counted(self) -> int:
        """Return the number of people in the table, or of households if k counts these."""
        return self.n if self.homes is None else int(self.homes.max(initial=-1)) + 1

    @classmethod
    def from_table(cls, table: Table, unit: str | None, household: str | None = None) -> Persons | None:
        """Read people and households from columns of a table; return None if every record is a person.

        Values that differ in spaces, case, zeros in front or .0 behind alone are one person: a
        person read as two would make groups too small, while two read as one make them larger.

        Raises
        ------
        InputError
            Somebody, or somebody's household, is not named; a person is in two households.

        Examples
        --------
        >>> import pyarrow as pa
        >>> visits = Table(pa.table({"id": ["a", "b", "a"]}))
        >>> Persons.from_table(visits, "id").shares().tolist() == [1 << 29, 1 << 30, 1 << 29]
        True
        """
        if household is None:
            return None if unit is None else cls(unit, *_named(table, unit, "unit"))
        homes, n_homes, joined = _named(table, household, "household")
        if unit is None:
            return cls(None, homes, n_homes, joined, household, np.arange(n_homes))
        codes, n, others = _named(table, unit, "unit")
        home = np.zeros(n, np.int64)
        # Somebody's last record wins; any other household of theirs differs from it below.
        home[codes] = homes
        if several := len(np.unique(codes[home[codes] != homes])):
            raise InputError(
                f"people by {unit!r} are in several households by {household!r}: {several:,}",
                hint="give each person one household, such as that of the latest record",
            )
        return cls(unit, codes, n, others + joined, household, home)

    def caution(self) -> str | None:
        """Return a warning about different spellings that were read as the same identifier; None if there are none."""
        if not self.joined:
            return None
        what = "person" if self.household is None else "person or household"
        there = "people" if self.household is None else "households"
        figures = {"joined": self.joined, "counted": self.counted}
        return text("persons", "joined", names=self._names, what=what, there=there, **figures)

    @classmethod
    def from_schema(cls, table: Table, schema: Schema, k: int) -> Persons | None:
        """Read the people that a schema's columns name (see `from_table`), and check that the table has k of them.

        Raises
        ------
        InfeasibleError
            There are fewer than k people, or one has more than half of the records.
        """
        persons = cls.from_table(table, schema.person, schema.household)
        # no column makes one class of everybody
        if persons is not None and (reached := int(persons.sizes(group([], table.n_rows))[0])) < k:
            is_one = reached < persons.counted
            people = persons.household is None
            what, by = ("people", persons.unit) if people else ("households", persons.household)
            most = ", but one person has more than half of the records" if is_one else ""
            words = f"k is {k:,}, and the table has {persons.counted:,} {what} by {by!r}{most}"
            raise InfeasibleError(
                words, hint="ask for smaller groups" + (", or leave records of that person out" if is_one else "")
            )
        return persons

    def shares(self) -> npt.NDArray[np.int32]:
        """Return each record's share of its person or household, in units of 2^-30, rounded down.

        A group whose shares sum to more than k - 1 has at least k people or households.
        """
        whose = self.codes if self.homes is None else self.homes[self.codes]
        records = np.bincount(whose, minlength=self.counted)
        # Rounded down, shares never add up to a person too many.
        return ((1 << UNIT_BITS) // np.maximum(records, 1)).astype(np.int32)[whose]

    def by_class(self, groups: Groups) -> PeopleByClass:
        """Count the records of each person, or of each household, in every class."""
        return PeopleByClass(Counts.from_codes(groups, self.codes, self.n), self.homes, self.unit is not None)

    def sizes(self, groups: Groups) -> Ints:
        """Return the number that k counts in every class; see `PeopleByClass.people`."""
        return self.by_class(groups).people

    def people(self, groups: Groups) -> Ints:
        """Return each class's number of people (1 if one has most records), or of records without a person column."""
        people = None if self.unit is None else self.by_class(groups).persons
        return groups.sizes if people is None else people

    def subset(self, rows: npt.NDArray[np.int64] | None) -> Persons:
        """Return the people behind the given rows, or behind all rows if `rows` is None."""
        return self if rows is None else replace(self, codes=self.codes[rows])


def _normalised(names: pa.Array) -> pa.Array:
    """Normalise identifiers, so that different spellings compare equal; blank ones become missing.

    Examples
    --------
    >>> _normalised(pa.array([" p 1", "P1", "007", "7.0", "0", " "])).to_pylist()
    ['p1', 'p1', '7', '7', '0', None]
    """
    names = pc.utf8_lower(pc.utf8_normalize(names, form="NFKC"))
    names = pc.replace_substring_regex(names, r"[\s\p{Z}\p{C}]+", "")
    # Spreadsheets turn 007 into 7 and 7 into 7.0: one identifier, three spellings.
    names = pc.replace_substring_regex(names, r"^\+?0*(\d+)(\.0*)?$", r"\1")
    names = pc.replace_substring_regex(names, r"^0+(\w)", r"\1")
    return pc.if_else(pc.equal(names, ""), None, names)


def _named(table: Table, name: str, what: str) -> tuple[Ints, int, int]:
    """Return each record's person or household code, the number of codes, and the number of merged spellings."""
    column = table.column(name, kind="categorical")
    coded = _normalised(pa.array(column.values, pa.string())).dictionary_encode()
    codes = np.append(coded.indices.fill_null(-1).to_numpy(), -1)[column.codes].astype(np.int64)
    if missing := int((codes < 0).sum()):
        raise InputError(
            f"the {what} {name!r} is missing in {missing:,} records, so nobody knows whose they are",
            hint="fill it, or leave these records out",
        )
    n = len(coded.dictionary)
    return codes, n, column.n_values - n
