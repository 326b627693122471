"""What the builder sees: predictors as ranks with sorted dictionaries, responses as integers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import floor, frexp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ParameterError

Codes = NDArray[np.int32]
MOST_SUBSETS = 12
"""Categories of a column up to which all its subsets are tried."""


@dataclass(frozen=True)
class Predictor:
    """One predictor, encoded once.

    Parameters
    ----------
    name : str
        Column name.
    codes : array of int32, shape (n,)
        Rank of every record's value.
    values : array of float64, shape (d,)
        Sorted distinct numbers; empty for categories.
    labels : tuple of str
        Categories in their published order; empty for numbers.
    alone : tuple of bool
        Categories that a one-against-rest split may single out: those that stand
        for one original category. Empty means all.
    wide : bool
        Whether the original column has too many categories for all subsets.
    missing : bool
        Whether the last category stands for missing values.
    unit : str
        For dates "day" or "us" (since 1970); empty otherwise.
    """

    name: str
    codes: Codes
    values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    labels: tuple[str, ...] = ()
    alone: tuple[bool, ...] = ()
    wide: bool = False
    missing: bool = False
    unit: str = ""

    @property
    def numeric(self) -> bool:
        """Whether the column holds numbers."""
        return not self.labels

    @property
    def n_values(self) -> int:
        """Number of distinct values."""
        return len(self.labels) or len(self.values)

    @classmethod
    def numbers(cls, name: str, x: Any) -> Predictor:
        """Encode numbers; missing and infinite ones are refused."""
        x = np.asarray(x, dtype=np.float64) + 0.0  # -0.0 and 0.0 are one value
        if not np.isfinite(x).all():
            raise ParameterError(
                f"column {name!r} has {int((~np.isfinite(x)).sum())} missing or infinite numbers",
                hint="impute them, drop those records, or declare the column categorical",
            )
        values, codes = np.unique(x, return_inverse=True)
        return cls(name, codes.astype(np.int32), values)

    @classmethod
    def categories(cls, name: str, x: Sequence[str]) -> Predictor:
        """Encode categories, sorted."""
        found, codes = np.unique(np.asarray(x, dtype=str), return_inverse=True)
        labels = tuple(map(str, found))
        return cls(name, codes.astype(np.int32), labels=labels, wide=len(labels) > MOST_SUBSETS)


@dataclass(frozen=True)
class PredictedColumn:
    """The response: classes, or numbers with an exact integer image.

    The image of numbers is rint((y - centre) * 2**shift), so small that the
    sum over all records stays below 2**53: sums are exact in any order, hence
    a function of the record set alone. Centre and shift depend on the values
    of y, which are released unchanged, so both sides compute the same image.
    """

    codes: NDArray[np.int64]
    labels: tuple[str, ...] = ()
    y: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    shift: int = 0

    @property
    def classes(self) -> bool:
        """Whether the response is a class."""
        return bool(self.labels)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.codes)

    @classmethod
    def of_classes(cls, y: Sequence[str], labels: Sequence[str] | None = None) -> PredictedColumn:
        """Encode classes in the given order, else sorted."""
        found, codes = np.unique(np.asarray(y, dtype=str), return_inverse=True)
        if labels is not None:
            rank = {label: i for i, label in enumerate(labels)}
            if any(str(v) not in rank for v in found):
                raise ParameterError("the response holds a class that the model does not know")
            codes = np.asarray([rank[str(v)] for v in found])[codes]
        return cls(codes.astype(np.int64), tuple(labels or map(str, found)))

    @classmethod
    def of_numbers(cls, y: Any, weight: int | None = None) -> PredictedColumn:
        """Give numbers their exact integer image for records of total `weight`."""
        y = np.asarray(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise ParameterError(
                f"the response has {int((~np.isfinite(y)).sum())} missing or infinite values",
                hint="drop those records",
            )
        centre = float(floor(y.min() / 2 + y.max() / 2)) if len(y) else 0.0
        reach = float(np.abs(y - centre).max()) if len(y) else 0.0
        # frexp: reach < 2**e and total weight < 2**b, so the image may use 52 - e - b more bits.
        shift = 52 - frexp(reach or 1.0)[1] - int(weight or len(y)).bit_length()
        image = np.rint(np.ldexp(y - centre, shift)).astype(np.int64)
        return cls(image, (), y, shift)


def xlogx(n: int) -> NDArray[np.int64]:
    """The table of x log2 x for x = 0..n as integers, so that sums of it are exact.

    The scale is the largest power of two that keeps n log2 n below 2**52.
    """
    x = np.arange(n + 1, dtype=np.float64)
    x[1:] *= np.log2(x[1:])
    x[0] = 0.0
    return np.rint(np.ldexp(x, xlogx_shift(n))).astype(np.int64)


def xlogx_shift(n: int) -> int:
    """The binary exponent of the scale of `xlogx`."""
    return 52 - frexp(max(n, 2) * float(np.log2(max(n, 2))))[1]
