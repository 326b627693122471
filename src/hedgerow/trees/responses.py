"""The sensitive columns as the grower sees them: exact integers, the same in any row order.

A numeric response is scaled to [0, 1] by its minimum and maximum and rounded to
units of 2^-30, less the rounded mean; sums of such integers are exact in 64 bits,
so no result depends on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import ParameterError
from ..kernels.exact import scale
from ..table import Column


@dataclass(frozen=True)
class Response:
    """One sensitive column."""

    name: str
    kind: str
    """"numeric" or "categorical"."""
    classes: tuple[str, ...] = ()
    low: float = 0.0
    span: float = 1.0
    n_missing: int = 0


@dataclass(frozen=True)
class Responses:
    """All sensitive columns of a table, ready for the grower.

    Parameters
    ----------
    z : int32 array of shape (n, r)
        Centred scaled numeric responses in units of 2^-30; 0 where missing.
    classes : uint16 array of shape (n, q)
        Class codes: the categorical responses, then one missing/known
        indicator for every numeric response with missing values.
    n_classes : tuple of int
        Number of classes of each column of `classes`.
    missing_of : tuple of int
        For every numeric response the column of `classes` that tells whether
        it is missing (class 0), or -1.
    """

    responses: tuple[Response, ...]
    z: npt.NDArray[np.int32]
    classes: npt.NDArray[np.uint16]
    n_classes: tuple[int, ...]
    missing_of: tuple[int, ...]
    center: npt.NDArray[np.int64]

    @property
    def numeric(self) -> list[Response]:
        """The numeric responses, in order."""
        return [r for r in self.responses if r.kind == "numeric"]

    @property
    def categorical(self) -> list[Response]:
        """The categorical responses, in order."""
        return [r for r in self.responses if r.kind == "categorical"]

    @classmethod
    def of(cls, columns: Sequence[Column]) -> Responses:
        """Encode sensitive columns.

        Raises
        ------
        ParameterError
            A column is constant, wholly missing, or holds infinities.
        """
        faults = [f for f in map(_fault, columns) if f]
        if faults:
            raise ParameterError(
                "; ".join(faults), hint="drop the column from the sensitive ones or repair it"
            )
        z: list[npt.NDArray[np.int32]] = []
        classes: list[npt.NDArray[np.uint16]] = []
        indicators: list[npt.NDArray[np.uint16]] = []
        sizes: list[int] = []
        center: list[int] = []
        missing: list[int] = []
        made: list[Response] = []
        n_categorical = sum(not c.is_number for c in columns)
        for column in columns:
            absent = int(column.counts()[-1]) if column.has_missing else 0
            if column.is_number:
                scaled = scale(np.asarray(column.values, np.float64), column.counts()[:-1])
                z.append(scaled.units[column.codes])
                center.append(scaled.middle)
                made.append(Response(column.name, "numeric", (), scaled.low, scaled.span, absent))
                missing.append(n_categorical + len(indicators) if absent else -1)
                if absent:
                    indicators.append((column.codes != len(column.values)).astype(np.uint16))
            else:
                labels = [str(v) for v in column.values] + ([""] if absent else [])
                if len(labels) > np.iinfo(np.uint16).max:
                    raise ParameterError(
                        f"sensitive column {column.name!r} has {len(labels):,} categories",
                        hint="coarsen it to at most 65,535",
                    )
                classes.append(column.codes.astype(np.uint16))
                sizes.append(len(labels))
                made.append(Response(column.name, "categorical", tuple(labels), n_missing=absent))
        n = len(columns[0].codes) if columns else 0
        stacked = np.ascontiguousarray(np.stack(z, axis=1)) if z else np.zeros((n, 0), np.int32)
        codes = classes + indicators
        table = (
            np.ascontiguousarray(np.stack(codes, axis=1)) if codes else np.zeros((n, 0), np.uint16)
        )
        return cls(
            tuple(made),
            stacked,
            table,
            (*sizes, *([2] * len(indicators))),
            tuple(missing),
            np.array(center, np.int64),
        )


def _fault(column: Column) -> str:
    used = len(column.values)
    where = f"sensitive column {column.name!r}"
    if used == 0:
        return f"{where} is wholly missing"
    if column.infinite:
        return f"{where} holds infinite values"
    if used == 1 and not (column.has_missing and not column.is_number):
        return f"{where} is constant: there is nothing to infer"
    return ""
