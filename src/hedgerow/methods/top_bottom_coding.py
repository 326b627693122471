"""Top and bottom coding: extreme values pulled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..columns.numbers import numeric_matrix, released_column
from ..columns.table import Table
from ..errors import ParameterError
from ..schema import Schema
from ..validation import check_one_of, is_number
from .masking import Masked, Masking, mask_numbers, numbers, share
from .validation import check_named, check_share

Floats = NDArray[np.float64]

REPLACE = ("threshold", "mean")
End = tuple[float, float]
FEWEST = 3
"""A mean of fewer values would tell too much of each."""


@dataclass(eq=False, repr=False)
class TopBottomCoding(Masking):
    """Pull the largest and the smallest values of numeric columns in to a bound.

    `transform` of another table pulls its values in to the bounds that were fitted.

    Parameters
    ----------
    top, bottom : float or mapping of str to float, optional
        Values above `top` (below `bottom`) are coded: one bound for all columns or one
        for each that is named. It counts more than the share.
    top_share, bottom_share : float
        Share of the values of every other column to code, 0 to 1. At most so many
        are coded, and equal values alike.
    replace : {"threshold", "mean"}
        Coded values become the bound, or their own mean (at least 3 of them). For a
        share the bound is the nearest value that is not coded.
    integers : bool
        Round columns of integers to integers.
    schema : Schema, optional
        Kinds and category orders where the columns' own types do not tell.

    Examples
    --------
    >>> import pandas as pd
    >>> wages = pd.DataFrame({"wage": [1.0, 2.0, 3.0, 100.0]})
    >>> TopBottomCoding(top=10).fit_transform(wages)["wage"].tolist()
    [1.0, 2.0, 3.0, 10.0]
    """

    words: ClassVar[str] = "top and bottom coding"

    top: float | Mapping[str, float] | None = None
    _: KW_ONLY
    bottom: float | Mapping[str, float] | None = None
    top_share: float = 0.01
    bottom_share: float = 0.0
    replace: str = "threshold"
    integers: bool = False
    schema: Schema | None = None

    def _mask(self, table: Table, schema: Schema) -> Masked:
        check_one_of("replace", self.replace, REPLACE)
        top_share = check_share("top_share", self.top_share, zero=True)
        bottom_share = check_share("bottom_share", self.bottom_share, zero=True)
        before = numbers(table, schema)
        self._ends: dict[str, tuple[End, End]] = {}
        coded = [0, 0]
        for c, name in enumerate(schema.quasi):
            given = (
                _given("top", self.top, name, schema),
                _given("bottom", self.bottom, name, schema),
            )
            there = before[~np.isnan(before[:, c]), c]
            high = given[0] if given[0] is not None else share_bound(there, top_share)
            low = given[1] if given[1] is not None else -share_bound(-there, bottom_share)
            if low > high:
                raise ParameterError(f"bottom is above top in column {name!r}")
            ends = []
            for side, outside, bound in (
                (0, before[:, c] > high, high),
                (1, before[:, c] < low, low),
            ):
                count = int(outside.sum())
                if self.replace == "mean" and 0 < count < FEWEST:
                    raise ParameterError(
                        f"only {count} values of column {name!r} are coded; their mean gives them away",
                        hint='code more of them, or choose replace="threshold"',
                    )
                mean = self.replace == "mean" and count  # summed in one order
                ends.append((bound, float(np.sort(before[outside, c]).mean()) if mean else bound))
                coded[side] += count
            self._ends[name] = ends[0], ends[1]
        after = self._coded(before)
        released, columns = mask_numbers(table, schema, before, after, integers=self.integers)
        facts: dict[str, Any] = {
            "coded_at_the_top": coded[0],
            "coded_at_the_bottom": coded[1],
            "share_unchanged": share(columns, "unchanged"),
        }
        return Masked(released, columns, facts)

    def _coded(self, before: Floats) -> Floats:
        """Numbers of the fitted columns with what lies beyond their ends pulled in."""
        after = before.copy()
        for c, ((high, at_high), (low, at_low)) in enumerate(self._ends.values()):
            after[before[:, c] > high, c] = at_high
            after[before[:, c] < low, c] = at_low
        return after

    def _of_others(self, table: Table) -> dict[str, pa.Array]:
        """The ends that were fitted hold for other tables as well."""
        names = list(self._ends)
        after = self._coded(numeric_matrix(table, names, dict.fromkeys(names, "numeric")))
        return {
            name: released_column(after[:, c], table.arrow.schema.field(name).type, self.integers)
            for c, name in enumerate(names)
        }


def share_bound(values: Floats, part: float) -> float:
    """The smallest value with at most `part` of all values above it."""
    ranked = np.sort(values)
    return float(ranked[len(ranked) - 1 - min(int(part * len(ranked)), len(ranked) - 1)])


def _given(what: str, bound: Any, name: str, schema: Schema) -> float | None:
    if bound is None:
        return None
    if isinstance(bound, Mapping):
        check_named(what, bound, schema)
        bound = bound.get(name)
        if bound is None:
            return None
    if not is_number(bound) or not np.isfinite(bound):
        raise ParameterError(f"{what} must be a number, or a number for each column")
    return float(bound)
