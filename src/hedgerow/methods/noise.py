"""Noise addition: independent, or with the covariance of the data."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..columns.table import Table
from ..errors import ParameterError
from ..key import Key
from ..schema import Schema
from ..validation import is_number
from .masking import Masked, Masking, mask_numbers, numbers
from .validation import check_clip

Floats = NDArray[np.float64]


@dataclass(eq=False, repr=False)
class NoiseAddition(Masking):
    """Add Gaussian noise to numbers: a little to every value, drawn from a secret key.

    Parameters
    ----------
    scale : float
        Standard deviation of the noise over that of the column, above 0.
    correlated : bool
        Independent noise weakens correlations; correlated noise has scale**2 times
        the covariance matrix of the data (Kim 1986), so correlations stay and all
        covariances grow by 1 + scale**2.
    key : Key or path, optional
        The steward's secret, or its file (made when it is not there), from which the noise is
        drawn: whoever has it can take it away. By default a fresh one, forgotten with this object.
    random_state : int, optional
        In place of a key, for experiments alone: it hides nothing.
    clip : bool or pair of float
        Move released values back into the extent of their column, or into a pair.
    integers : bool
        Round columns of integers to integers.
    schema : Schema, optional
        Kinds and category orders where the columns' own types do not tell.

    Notes
    -----
    Missing cells stay missing; variances come from the values that are there,
    covariances from the complete rows.

    Examples
    --------
    >>> import pandas as pd
    >>> wages = pd.DataFrame({"x": [1.0, 2.0, None]})
    >>> NoiseAddition(0.5, random_state=1).fit_transform(wages).shape
    (3, 1)
    """

    words: ClassVar[str] = "noise addition"
    draws = True

    scale: float = 0.1
    _: KW_ONLY
    correlated: bool = False
    key: Key | str | Path | None = None
    random_state: int | None = None
    clip: bool | tuple[float, float] = False
    integers: bool = False
    schema: Schema | None = None

    def _mask(self, table: Table, schema: Schema) -> Masked:
        check_clip(self.clip)
        if not is_number(self.scale) or not 0 < self.scale < np.inf:
            raise ParameterError("scale must be a number above 0")
        if not isinstance(self.correlated, (bool, np.bool_)):
            raise ParameterError("correlated must be True or False")
        before, rows = numbers(table, schema), self._rows(table)
        key, ordered = self._release_key(rows, schema), rows.sorted(before)
        drawn = np.column_stack([rows.normals(key, name) for name in schema.quasi])
        if self.correlated:
            root = covariance_root(ordered[~np.isnan(ordered).any(axis=1)])
            drawn = rows.back(rows.sorted(drawn) @ root)
        else:
            drawn *= np.nanstd(ordered, axis=0)
        with np.errstate(over="ignore"):
            after = before + self.scale * drawn
        if np.any(np.isinf(after) & np.isfinite(before)):
            raise ParameterError(
                f"noise of the scale {self.scale:g} leaves what numbers can hold",
                hint="take a smaller scale; 1 is as much noise as the column has spread",
            )
        released, columns = mask_numbers(
            table, schema, before, after, clip=self.clip, integers=self.integers
        )
        facts = {"scale": float(self.scale), "correlated": bool(self.correlated)}
        return Masked(released, columns, facts)


def covariance_root(values: Floats) -> Floats:
    """The symmetric square root of the covariance matrix of complete rows, shape (a, a)."""
    if len(values) < 2:
        raise ParameterError(
            f"only {len(values)} rows are complete, too few for covariances",
            hint="choose correlated=False",
        )
    covariance = np.atleast_2d(np.cov(values, rowvar=False))
    size, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.sqrt(np.maximum(size, 0.0))) @ axes.T)
