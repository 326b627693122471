"""What counts as naming a value: exactly, within a share of it or of the spread, within days."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..columns.column import Column
from ..columns.roles import attacked_as
from ..kernels.measures import best_windows
from ..measures import FloatArray
from ..notation import percent
from ..schema import Schema

SHARES = (0.05, 0.10, 0.20)
"""Of a number itself."""
SPREADS = (0.05, 0.10)
"""Of the public spread: from the 5% to the 95% quantile of the original column."""
DAYS = (1, 30, 365)
_MICROSECONDS = 86_400e6


@dataclass(frozen=True)
class Tolerance:
    """How near a guess must come: |guess - y| <= share * |y| + width.

    Parameters
    ----------
    key : str
        Its name in the audit's data: "0.10", "0.10 of the spread", "30 days" or "exact".
    words : str
        For a reader.
    share, width : float
    """

    key: str
    words: str
    share: float = 0.0
    width: float = 0.0

    def hits(self, guess: Any, y: Any) -> FloatArray:
        """1 where a guess is near enough, else 0."""
        reach = self.share * np.abs(y) + self.width
        return np.asarray(np.abs(guess - y) <= reach + 1e-12 * np.abs(y), np.float64)

    def best(self, starts: Any, values: FloatArray, weights: Any) -> tuple[Any, FloatArray]:
        """For each group what the best guess hits, and that guess; see `best_windows`."""
        return best_windows(starts, values, weights, self.share, self.width)


EXACT = Tolerance("exact", "exact")


@dataclass(frozen=True)
class Target:
    """How a sensitive column is attacked.

    Parameters
    ----------
    attacked_as : {"category", "number", "date"}
        As `table.profile.attacked_as` has it, for audit and `inspect` alike.
    tolerances : tuple of Tolerance
        All that are told; of categories the exact value alone.
    headline : Tolerance
        What counts as success.
    """

    attacked_as: str
    tolerances: tuple[Tolerance, ...] = (EXACT,)
    headline: Tolerance = EXACT

    @property
    def is_number(self) -> bool:
        """Whether a guess can be nearly right."""
        return self.attacked_as != "category"

    @classmethod
    def of(cls, column: Column, schema: Schema) -> Target:
        """How an original column is attacked.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from hedgerow.columns.table import Table
        >>> pay = Table(pa.table({"pay": [10.0, 20.5, 31.0]})).column("pay")
        >>> target = Target.of(pay, Schema())
        >>> target.attacked_as, target.headline.words
        ('number', 'within 10%')
        >>> [t.key for t in target.tolerances]
        ['0.05', '0.10', '0.20', '0.05 of the spread', '0.10 of the spread']
        """
        kind = attacked_as(column, schema)
        if kind == "category":
            return cls(kind)
        if kind == "date":
            unit = _MICROSECONDS if column.unit == "us" else 1.0
            named = [(f"{d} day{'s' * (d > 1)}", d * unit) for d in DAYS]
            made = tuple(Tolerance(key, f"within {key}", width=width) for key, width in named)
            return cls(kind, made, made[1])
        spread = _spread(column)
        shares = tuple(Tolerance(f"{s:.2f}", f"within {percent(s, None)}", share=s) for s in SHARES)
        widths = tuple(
            Tolerance(f"{s:.2f} of the spread", f"within {percent(s, None)} of the spread", width=s * spread)
            for s in SPREADS
        )
        return cls(kind, shares + widths, shares[1])


def _spread(column: Column) -> float:
    counts = column.counts()[:-1]
    if not counts.sum():
        return 0.0
    running = np.cumsum(counts)
    low, high = (
        column.values[min(int(np.searchsorted(running, q * running[-1])), column.n_values - 1)]
        for q in (0.05, 0.95)
    )
    return float(high - low)
