"""Who the records are about: how many different people a class holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import InfeasibleError, InputError
from ..kernels.exact import UNIT_BITS
from ..schema import Schema
from ..table import Table
from .counts import Counts
from .diversity import distinct, largest_share
from .groups import Groups, IntArray, group


@dataclass(frozen=True, eq=False, repr=False)
class Persons:
    """The person behind every record, where people may have several.

    Parameters
    ----------
    unit : str
        The column that tells who is a person.
    codes : int64 array, shape (n_rows,)
        The person of every record, 0 .. n - 1.
    n : int
        Number of people.
    """

    unit: str
    codes: IntArray
    n: int

    def __repr__(self) -> str:  # no person's value
        return f"Persons({self.unit!r}, {self.n:,} people, {len(self.codes):,} records)"

    @classmethod
    def of(cls, table: Table, unit: str | None) -> Persons | None:
        """The people of a table by their column; None where every record is a person.

        Raises
        ------
        InputError
            Somebody is not named.

        Examples
        --------
        >>> import pyarrow as pa
        >>> visits = Table(pa.table({"id": ["a", "b", "a"]}))
        >>> Persons.of(visits, "id").shares().tolist() == [1 << 29, 1 << 30, 1 << 29]
        True
        """
        if unit is None:
            return None
        column = table.column(unit, kind="categorical")
        if column.has_missing:
            raise InputError(
                f"the unit {unit!r} is missing in {int(column.counts()[-1]):,} records, so nobody "
                "knows whose they are",
                hint="fill it, or leave these records out",
            )
        return cls(unit, column.codes.astype(np.int64), column.n_values)

    @classmethod
    def asked(cls, table: Table, schema: Schema, k: int) -> Persons | None:
        """`of` what a schema says; the whole table must keep k, or no group of it can.

        Raises
        ------
        InfeasibleError
            There are fewer than k people, or one has more than half of the records.
        """
        found = cls.of(table, schema.person)
        if found is not None and (whole := found.in_all()) < k:
            told = "one of them has more than half of the records"
            raise InfeasibleError(
                f"k is {k:,}, and the table has {found.n:,} people by {found.unit!r}"
                + (f", but {told}" if whole < found.n else ""),
                hint="ask for smaller groups, or leave records of that person out",
            )
        return found

    def shares(self) -> npt.NDArray[np.int32]:
        """Of every record its share of its person, in units of 2^-30, rounded down.

        A group whose shares come to more than k - 1 people has k of them at least.
        """
        records = np.bincount(self.codes, minlength=self.n)
        return ((1 << UNIT_BITS) // records).astype(np.int32)[self.codes]

    def counts(self, groups: Groups) -> Counts:
        """Records of every person in every class."""
        return Counts.of(groups, self.codes, self.n)

    def sizes(self, groups: Groups) -> IntArray:
        """`people` of every class."""
        return people(self.counts(groups))

    def in_all(self) -> int:
        """`people` of the whole table."""
        return int(self.sizes(group([], len(self.codes)))[0])

    def taken(self, rows: npt.NDArray[np.int64] | None) -> Persons:
        """The persons of other rows; None: the same."""
        return self if rows is None else Persons(self.unit, self.codes[rows], self.n)


def people(records: Counts) -> IntArray:
    """Different people of each class; 1 where one of them has more than half of its records.

    Classes of at least k people (k of 2 or more) have a union of at least k people.

    Examples
    --------
    >>> people(Counts.dense(np.array([[1, 1, 2], [1, 1, 3]]))).tolist()
    [3, 1]
    """
    return np.where(largest_share(records) <= 0.5, distinct(records), 1)
