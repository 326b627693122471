"""PoROP-k and LiROP-k: numbers replaced by noisy polynomials through their sorted values.

Nin, Pont-Tuset, Medrano-Gracia, Larriba-Pey & Muntés-Mulero (2007),
"Increasing polynomial regression complexity for data anonymization".
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..schema import Schema
from ..table import Table
from .checks import check_clip
from .masking import Masked, Masking, mask_numbers, numbers, share
from .ordered_partitions import check_settings, order
from .porop_search import search_settings

Floats = NDArray[np.float64]

NOISES = ("synthetic", "perturbative")
SHORT = 0.05
"""A last block this much shorter than k (as a share of k) is worth a warning."""
UNCHANGED = 0.05
"""So large a share of unchanged cells is worth a warning."""


class PoROP(Masking):
    """Polynomial regression on ordered partitions, PoROP-k.

    All values are sorted as one vector, cut into blocks of k and normalised block
    by block, sorted and cut again; in every block a least-squares polynomial
    replaces the values, with Gaussian noise. Missing cells stay missing.

    Parameters
    ----------
    k : int or "auto"
        Values a block, above degree + 1 and at most the number of values that are
        not missing. "auto" searches by the score on held-out noise; `search_` is
        the table of what was tried.
    degree : int, sequence of int, or "auto"
        Degree of the polynomial, at least 0: one for all blocks, one for each, or searched.
    noise : {"synthetic", "perturbative"}
        Noise of the block's residual spread (a synthetic data generator), or of each
        value's own residual.
    random_state : int, optional
        Seed of the noise. Treat it as a secret: who knows it can take the noise
        away. It does not enter the plan. None draws a fresh one.
    clip : bool or pair of float
        Move released values back into the extent of their column, or into a pair.
    integers : bool
        Round columns of integers to integers.
    schema : Schema, optional
        Kinds and category orders where the columns' own types do not tell.

    Attributes
    ----------
    search_ : list of dict
        With "auto": k, remainder, degrees, il, dr and score of every candidate, and
        `held_out` for the best ones; best first.
    facts_, columns_, plan_
        What changed: see `Masking`.

    Raises
    ------
    ParameterError
        k <= degree + 1 (the polynomial would pass through every value: nothing is
        protected), k above the number of values, unknown noise.
    SchemaError, InputError
        Columns that are not numeric, all missing or infinite; all are named.

    Notes
    -----
    The score is not smooth in k: the remainder of the number of values by k matters.
    Equal values are told apart by their place in the table.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> wages = pd.DataFrame({"wage": np.arange(40.0) ** 2, "rent": np.arange(40.0) * 9})
    >>> masked = PoROP(k=20, degree=2, random_state=1).fit_transform(wages)
    >>> list(masked.columns), len(masked)
    (['wage', 'rent'], 40)
    """

    words: ClassVar[str] = "polynomial regression on ordered partitions (PoROP-k)"

    def __init__(
        self,
        k: int | str = "auto",
        degree: int | Sequence[int] | str = "auto",
        *,
        noise: str = "synthetic",
        random_state: int | None = None,
        clip: bool | tuple[float, float] = False,
        integers: bool = False,
        schema: Schema | None = None,
    ) -> None:
        self.k = k
        self.degree = degree
        self.noise = noise
        self.random_state = random_state
        self.clip = clip
        self.integers = integers
        self.schema = schema

    def _mask(self, table: Table, schema: Schema) -> Masked:
        check_clip(self.clip)
        if self.noise not in NOISES:
            raise ParameterError(f"noise is {self.noise!r}", hint=f"one of {', '.join(NOISES)}")
        before = numbers(table, schema)
        there = ~np.isnan(before)
        values = before[there]
        release, search, held_out = np.random.SeedSequence(self.random_state).spawn(3)
        k, degree = self.k, self.degree
        if k == "auto" or degree == "auto":
            self.search_ = search_settings(before, k, degree, self.noise, search, held_out)
            best = self.search_[0]
            k, degree = best["k"], best["degrees"]
        k, degree = check_settings(k, degree, len(values))
        ordered = order(values, k)
        after = np.full(before.shape, np.nan)
        normals = np.random.Generator(np.random.PCG64(release)).standard_normal(len(values))
        after[there] = ordered.protect(degree, self.noise, normals)  # type: ignore[arg-type]
        released, columns = mask_numbers(
            table, schema, before, after, clip=self.clip, integers=self.integers
        )
        facts = {
            "k": k,
            "degrees": sorted(set(ordered.degrees(degree))),
            "values": len(values),
            "blocks": ordered.n_blocks,
            "remainder": ordered.remainder,
            "share_unchanged": share(columns, "unchanged"),
            "share_outside_extent": share(columns, "outside"),
            "share_clipped": share(columns, "clipped"),
        }
        _warn(facts)
        return Masked(released, columns, facts)


class LiROP(PoROP):
    """Linear regression on ordered partitions, LiROP-k: `PoROP` of degree 1.

    Parameters
    ----------
    k, noise, random_state, clip, integers
        As for `PoROP`.
    schema : Schema, optional
        Kinds and category orders where the columns' own types do not tell.

    Examples
    --------
    >>> import pandas as pd
    >>> LiROP(k=4, random_state=1).fit_transform(pd.DataFrame({"x": [1.0, 2, 4, 9]})).shape
    (4, 1)
    """

    words: ClassVar[str] = "linear regression on ordered partitions (LiROP-k)"

    def __init__(
        self,
        k: int | str = "auto",
        *,
        noise: str = "synthetic",
        random_state: int | None = None,
        clip: bool | tuple[float, float] = False,
        integers: bool = False,
        schema: Schema | None = None,
    ) -> None:
        super().__init__(
            k,
            1,
            noise=noise,
            random_state=random_state,
            clip=clip,
            integers=integers,
            schema=schema,
        )


def _warn(facts: dict[str, Any]) -> None:
    if facts["share_unchanged"] > UNCHANGED:
        warnings.warn(
            f"{facts['share_unchanged']:.1%} of the cells are released unchanged: the values are "
            "constant, heavily tied or rounded; choose a larger k",
            UserWarning,
            stacklevel=2,
        )
    if 0 < facts["remainder"] < SHORT * facts["k"]:
        warnings.warn(
            f"the last block holds only {facts['remainder']} of {facts['k']} values, which the "
            f"score is sensitive to; choose a k that leaves none or more",
            UserWarning,
            stacklevel=2,
        )
