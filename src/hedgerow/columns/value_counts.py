"""How often each value of a column occurs: all that bins, scales, weights and shares need.

A table in memory counts its columns once; a database or a cluster delivers the same record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..notation import Exact
from ..schema import Kind

_TALLIED = 1 << 20
"""So many codes are widened at a time."""


class Dictionary:
    """What the distinct values of a column tell, whoever holds or counts them."""

    kind: Kind
    values: Any
    exact: Sequence[Exact]

    @property
    def n_values(self) -> int:
        """Number of distinct values, missing not counted; also the code of a missing value."""
        return len(self.values)

    @property
    def is_number(self) -> bool:
        """Whether `values` are numbers (numeric columns and dates)."""
        return self.kind in ("numeric", "date")

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the values means something: numbers, dates, ordinal categories."""
        return self.is_number or self.kind == "ordinal"

    @property
    def apart(self) -> NDArray[np.float64]:
        """The numbers, for whoever looks at their differences alone: exact ones less the least."""
        values = [float(v - self.exact[0]) for v in self.exact] if self.exact else self.values
        return np.asarray(values, np.float64)

    @property
    def infinite(self) -> bool:
        """Whether a value is infinite."""
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
        The numbers themselves where doubles do not hold them; see `Column`.
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
    counts: NDArray[np.int64]
    missing: int = 0
    exact: Sequence[Exact] = ()
    events: tuple[str, ...] = ()

    def __repr__(self) -> str:  # no person's value
        return (
            f"ValueCounts({self.name!r}, {self.kind!r}, {self.total} rows, {self.n_values} values)"
        )

    @property
    def has_missing(self) -> bool:
        """Whether any record has no value."""
        return self.missing > 0

    @property
    def known(self) -> int:
        """Records with a value."""
        return int(self.counts.sum())

    @property
    def total(self) -> int:
        """Records."""
        return self.known + self.missing

    def frequent(self, most: int) -> NDArray[np.int64]:
        """The level of every code, the missing one last: values keep their places while there are
        no more than `most`; of more, the most frequent come first and the rest is one level.

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


def tally(codes: NDArray[Any], n_codes: int) -> NDArray[np.int64]:
    """How often each code occurs; counted a few at a time, for widening them takes room."""
    counts = np.zeros(n_codes, np.int64)
    for a in range(0, len(codes), _TALLIED):
        counts += np.bincount(codes[a : a + _TALLIED], minlength=n_codes)
    return counts
