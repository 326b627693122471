"""PoROP-k and LiROP-k: numbers replaced by noisy polynomials through their sorted values.

Nin, Pont-Tuset, Medrano-Gracia, Larriba-Pey & Muntés-Mulero (2007),
"Increasing polynomial regression complexity for data anonymization".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..backends.row_ids import normal, sequence
from ..columns.table import Table
from ..key import Key
from ..notation import percent
from ..progress import caution
from ..schema import Schema
from ..validation import check_one_of
from .estimator import renamed
from .masking import Masked, Masking, mask_numbers, numbers, share
from .ordered_partitions import block_degrees, check_settings, order
from .porop_search import search_settings
from .validation import check_clip

Floats = NDArray[np.float64]

NOISES = ("synthetic", "perturbative")
SHORT = 0.05
"""A last block of a smaller share of the others' size is worth a warning."""
UNCHANGED = 0.05
"""So large a share of unchanged cells is worth a warning."""


@renamed(k="block_size")
@dataclass(eq=False, repr=False)
class PoROP(Masking):
    """Replace numbers by noisy points of curves through their sorted values (PoROP-k).

    All values of all columns are sorted as one vector, cut into blocks of `block_size` values and
    normalised block by block, then sorted and cut again. In every block a least-squares
    polynomial with Gaussian noise replaces the values. Missing cells stay missing.

    Parameters
    ----------
    block_size : int or "auto"
        The k of PoROP-k: values a block, above degree + 1 and at most the number of
        values that are not missing. "auto" searches by the score on held-out noise;
        `search_` is the table of what was tried.
    degree : int, sequence of int, or "auto"
        Degree of the polynomial, at least 0: one for all blocks, one for each, or searched.
    noise : {"synthetic", "perturbative"}
        Noise of the block's residual spread (a synthetic data generator), or of each
        value's own residual.
    key : Key or path, optional
        The steward's secret, or its file (made when it is not there), from which the
        noise is drawn: whoever has it can take it away. By default a fresh one,
        forgotten with this object.
    random_state : int, optional
        In place of a key, for experiments alone: it hides nothing.
    clip : bool or pair of float
        Move released values back into the extent of their column, or into a pair.
    integers : bool
        Round columns of integers to integers.
    schema : Schema, optional
        Kinds and category orders where the columns' own types do not tell.

    Attributes
    ----------
    search_ : list of dict
        With "auto": block_size, remainder, degrees, il, dr and score of every candidate,
        and `held_out` for the best ones; best first.
    facts_, columns_, plan_
        What changed: see `Masking`.

    Raises
    ------
    ParameterError
        block_size <= degree + 1 (the polynomial would pass through every value: nothing
        is protected) or above the number of values, unknown noise.
    SchemaError, InputError
        Columns that are not numeric, all missing or infinite; all are named.

    Notes
    -----
    The score is not smooth in the block size: the remainder of the number of values by it
    matters. Equal values are distinguished by their records' content, not by their place.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> wages = pd.DataFrame({"wage": np.arange(40.0) ** 2, "rent": np.arange(40.0) * 9})
    >>> masked = PoROP(20, degree=2, random_state=1).fit_transform(wages)
    >>> list(masked.columns), len(masked)
    (['wage', 'rent'], 40)
    """

    words: ClassVar[str] = "polynomial regression on ordered partitions (PoROP-k)"

    draws = True

    block_size: int | str = "auto"
    _: KW_ONLY
    degree: int | Sequence[int] | str = "auto"
    noise: str = "synthetic"
    key: Key | str | Path | None = None
    random_state: int | None = None
    clip: bool | tuple[float, float] = False
    integers: bool = False
    schema: Schema | None = None

    def _mask(self, table: Table, schema: Schema) -> Masked:
        check_clip(self.clip)
        check_one_of("noise", self.noise, NOISES)
        given, rows = numbers(table, schema), self._rows(table)
        n = int(np.count_nonzero(~np.isnan(given)))
        size, degree = self.block_size, self.degree
        if size == "auto" or degree == "auto":
            trials = [np.random.SeedSequence(rows.key.words(use)) for use in ("search", "held out")]
            self.search_ = search_settings(rows.sorted(given), size, degree, self.noise, *trials)
            best = self.search_[0]
            size, degree = best["block_size"], best["degrees"]
        size, degree = check_settings(size, degree, n)
        degrees = block_degrees(degree, -(-n // size))
        key = self._release_key(rows, schema, method="PoROP", block_size=size, degree=degrees)
        rows = rows.under(key)  # the order of equal values decides what each becomes
        before = rows.sorted(given)
        there = ~np.isnan(before)
        ordered = order(before[there], size)
        after = np.full(before.shape, np.nan)
        normals = normal(sequence(key, "noise", n))
        after[there] = ordered.protect(degree, self.noise, normals)  # type: ignore[arg-type]
        released, columns = mask_numbers(
            table, schema, given, rows.back(after), clip=self.clip, integers=self.integers
        )
        facts = {
            "block_size": size,
            "degrees": sorted(set(degrees)),
            "values": n,
            "blocks": ordered.n_blocks,
            "remainder": ordered.remainder,
            "share_unchanged": share(columns, "unchanged"),
            "share_outside_extent": share(columns, "outside"),
            "share_clipped": share(columns, "clipped"),
        }
        _warn(facts)
        return Masked(released, columns, facts)


@renamed(k="block_size")
@dataclass(eq=False, repr=False)
class LiROP(PoROP):
    """Replace numbers by noisy points of straight lines: `PoROP` of degree 1 (LiROP-k).

    Parameters
    ----------
    block_size, noise, key, random_state, clip, integers
        As for `PoROP`.
    schema : Schema, optional
        Kinds and category orders where the columns' own types do not tell.

    Examples
    --------
    >>> import pandas as pd
    >>> LiROP(4, random_state=1).fit_transform(pd.DataFrame({"x": [1.0, 2, 4, 9]})).shape
    (4, 1)
    """

    words: ClassVar[str] = "linear regression on ordered partitions (LiROP-k)"

    degree: ClassVar[int] = 1  # type: ignore[misc]


def _warn(facts: dict[str, Any]) -> None:
    if facts["share_unchanged"] > UNCHANGED:
        caution(
            f"{percent(facts['share_unchanged'])} of the cells are released unchanged: the values are "
            "constant, heavily tied or rounded; choose larger blocks"
        )
    if 0 < facts["remainder"] < SHORT * facts["block_size"]:
        caution(
            f"the last block holds only {facts['remainder']} of {facts['block_size']} values, to "
            "which the score is sensitive; choose a block size that leaves none or more"
        )
