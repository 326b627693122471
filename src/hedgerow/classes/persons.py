"""Who the records are about: how many different people a class holds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

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
    joined : int
        Values that were taken for another way to write a person who is there already.
    """

    unit: str
    codes: IntArray
    n: int
    joined: int = 0

    def __repr__(self) -> str:  # no person's value
        return f"Persons({self.unit!r}, {self.n:,} people, {len(self.codes):,} records)"

    @classmethod
    def of(cls, table: Table, unit: str | None) -> Persons | None:
        """The people of a table by their column; None where every record is a person.

        Values that differ in spaces, case, zeros in front or .0 behind alone are one person: who
        is joined too many makes groups larger, who is taken for two would make them too small.

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
        coded = _alike(pa.array(column.values, pa.string())).dictionary_encode()
        codes = np.append(coded.indices.fill_null(-1).to_numpy(), -1)[column.codes].astype(np.int64)
        if missing := int((codes < 0).sum()):
            raise InputError(
                f"the unit {unit!r} is missing in {missing:,} records, so nobody knows whose they "
                "are",
                hint="fill it, or leave these records out",
            )
        n = len(coded.dictionary)
        return cls(unit, codes, n, column.n_values - n)

    def caution(self) -> str | None:
        """What its reader should know of how people are told apart; None where that is plain."""
        if not self.joined:
            return None
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


def people(records: Counts) -> IntArray:
    """Different people of each class; 1 where one of them has more than half of its records.

    Classes of at least k people (k of 2 or more) have a union of at least k people.

    Examples
    --------
    >>> people(Counts.dense(np.array([[1, 1, 2], [1, 1, 3]]))).tolist()
    [3, 1]
    """
    return np.where(largest_share(records) <= 0.5, distinct(records), 1)
