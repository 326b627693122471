"""Check whether released cells cover the values that they stand for."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import Bools, Ints
from ..notation import Cell, Exact

# most pairs of cell and category in a lookup table: 64 MB
_LOOKED_UP = 1 << 26


@dataclass(frozen=True, eq=False)
class Cover:
    """The values that the cells of one column cover, as arrays.

    Parameters
    ----------
    low, high : float64 arrays of shape (n_cells,)
        Ends of a number or date, both included; NaN if a cell is not a number. If exact numbers
        are given, the first and last index among them that lie inside.
    missing, anything : boolean arrays of shape (n_cells,)
        Whether the cell covers a missing value, and whether it covers every value.
    members : int64 array, ascending
        ``cell * n_values + code`` for every category that a cell covers.
    n_values : int
        Number of categories; also the code of a missing one.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    missing: Bools
    anything: Bools
    members: Ints
    n_values: int

    @classmethod
    def from_cells(cls, cells: Sequence[Cell], categories: Sequence[str] = (), exact: Sequence[Exact] = ()) -> Cover:
        """Return the values that the cells of a plan cover.

        Parameters
        ----------
        cells : sequence of Cell
        categories : sequence of str
            The category of each code; empty for numbers.
        exact : sequence of int or Decimal, ascending
            Numbers that doubles cannot represent; `covers_numbers` then takes their indices.

        Examples
        --------
        >>> ages = Cover.from_cells([Cell("[20-29]", 20, 29), Cell("*", anything=True)])
        >>> ages.covers_numbers(np.array([25.0, 30.0, np.nan, 30.0]), np.array([0, 0, 0, 1])).tolist()
        [True, False, False, True]
        >>> jobs = Cover.from_cells([Cell("a+b", categories=("a", "b"))], ["a", "b", "c"])
        >>> jobs.covers_codes(np.array([0, 2, 3]), np.array([0, 0, 0])).tolist()
        [True, False, False]
        """
        place = {name: code for code, name in enumerate(categories)}
        members = [
            at * len(place) + place[name] for at, cell in enumerate(cells) for name in cell.categories if name in place
        ]
        # a number with one end has the other one open
        low: list[Any] = [-np.inf if c.lo is None and c.hi is not None else c.lo for c in cells]
        high: list[Any] = [np.inf if c.hi is None and c.lo is not None else c.hi for c in cells]
        if exact:
            low = [None if lo is None else bisect_left(exact, lo) for lo in low]
            high = [None if hi is None else bisect_right(exact, hi) - 1 for hi in high]
        lows, highs = (np.array(ends, np.float64) for ends in (low, high))
        missing, anything = (np.array([getattr(c, name) for c in cells], np.bool_) for name in ("missing", "anything"))
        return cls(lows, highs, missing, anything, np.sort(np.array(members, np.int64)), len(place))

    def widths(self, ends: tuple[float, float] | None = None) -> NDArray[np.float64]:
        """Return the width of each cell as a share of the domain: 0 for a single value, 1 for any value.

        (hi - lo) / (max - min) for numbers, (categories - 1) / (domain - 1) for categories.

        Parameters
        ----------
        ends : pair of float, optional
            The ends of the domain, for numbers.

        Examples
        --------
        >>> Cover.from_cells([Cell("[20-29]", 20, 29), Cell("*", anything=True)]).widths((20, 38)).tolist()
        [0.5, 1.0]
        """
        if ends is None:
            wide = self.n_values - 1.0
            n_categories = np.bincount(self.members // max(self.n_values, 1), minlength=len(self.missing))
            width = n_categories - 1.0
        else:
            wide = ends[1] / 2 - ends[0] / 2  # halves, because the difference may overflow
            low = np.where(np.isneginf(self.low), ends[0], self.low)
            width = np.where(np.isposinf(self.high), ends[1], self.high) / 2 - low / 2
        if wide <= 0:
            return np.zeros(len(width))
        return np.where(self.anything, 1.0, np.clip(np.nan_to_num(width / wide), 0.0, 1.0))

    def covers_numbers(self, values: NDArray[np.float64], cells: NDArray[Any]) -> Bools:
        """Return for each number (NaN if missing) whether its cell covers it."""
        inside = (self.low[cells] <= values) & (values <= self.high[cells])
        return inside | (np.isnan(values) & self.missing[cells]) | self.anything[cells]

    def covers_codes(self, codes: NDArray[Any], cells: NDArray[Any]) -> Bools:
        """Return for each category code (`n_values` if missing) whether its cell covers it."""
        codes, cells = np.asarray(codes, np.int64), np.asarray(cells, np.int64)
        if self._table is not None:
            return self._table[cells * (self.n_values + 1) + codes]
        missing = codes == self.n_values
        keys = cells * self.n_values + np.where(missing, 0, codes)
        covered = np.append(self.members, -1)[np.searchsorted(self.members, keys)] == keys
        return np.where(missing, self.missing[cells], covered) | self.anything[cells]

    @cached_property
    def _table(self) -> Bools | None:
        """Return a table that marks the categories each cell covers, or None if it would be too large."""
        n_cells, width = len(self.missing), self.n_values + 1
        # a table lookup is faster than a search, as long as the table is small
        if n_cells * width > _LOOKED_UP:
            return None
        table = np.zeros((n_cells, width), np.bool_)
        table[:, -1] = self.missing
        if self.n_values:
            table[self.members // self.n_values, self.members % self.n_values] = True
        table[self.anything] = True
        return table.ravel()
