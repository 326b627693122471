"""Noise addition: independent, or with the covariance of the data."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..schema import Schema
from ..table import Table
from .checks import check_clip
from .masking import Masked, Masking, mask_numbers, numbers

Floats = NDArray[np.float64]

NOISES = ("additive", "correlated")


class NoiseAddition(Masking):
    """Add Gaussian noise to numbers.

    Parameters
    ----------
    scale : float
        Standard deviation of the noise over that of the column, above 0.
    noise : {"additive", "correlated"}
        Independent noise weakens correlations; correlated noise has scale**2 times
        the covariance matrix of the data (Kim 1986), so correlations stay and all
        covariances grow by 1 + scale**2.
    random_state : int, optional
        Seed; a secret, as who knows it can take the noise away. None draws a fresh one.
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

    def __init__(
        self,
        scale: float = 0.1,
        *,
        noise: str = "additive",
        random_state: int | None = None,
        clip: bool | tuple[float, float] = False,
        integers: bool = False,
        schema: Schema | None = None,
    ) -> None:
        self.scale = scale
        self.noise = noise
        self.random_state = random_state
        self.clip = clip
        self.integers = integers
        self.schema = schema

    def _mask(self, table: Table, schema: Schema) -> Masked:
        check_clip(self.clip)
        if (
            isinstance(self.scale, bool)
            or not isinstance(self.scale, (int, float))
            or not 0 < self.scale < np.inf
        ):
            raise ParameterError("scale must be a number above 0")
        if self.noise not in NOISES:
            raise ParameterError(f"noise is {self.noise!r}", hint=f"one of {', '.join(NOISES)}")
        before = numbers(table, schema)
        drawn = np.random.default_rng(self.random_state).standard_normal(before.shape)
        if self.noise == "additive":
            drawn *= np.nanstd(before, axis=0)
        else:
            drawn = drawn @ covariance_root(before[~np.isnan(before).any(axis=1)])
        released, columns = mask_numbers(
            table,
            schema,
            before,
            before + self.scale * drawn,
            clip=self.clip,
            integers=self.integers,
        )
        return Masked(released, columns, {"scale": float(self.scale), "noise": self.noise})


def covariance_root(values: Floats) -> Floats:
    """The symmetric square root of the covariance matrix of complete rows, shape (a, a)."""
    if len(values) < 2:
        raise ParameterError(
            f"only {len(values)} rows are complete, too few for covariances",
            hint='choose noise="additive"',
        )
    covariance = np.atleast_2d(np.cov(values, rowvar=False))
    size, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.sqrt(np.maximum(size, 0.0))) @ axes.T)
