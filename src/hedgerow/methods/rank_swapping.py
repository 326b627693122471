"""Rank swapping: values change places with others of near rank."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from ..kernels.swap import swap_ranks
from ..schema import Schema
from ..table import Table
from .checks import check_share
from .masking import Masked, Masking, mask_numbers, numbers


class RankSwapping(Masking):
    """Swap the values of every column with others of near rank.

    The values of a column stay the same as a set; only whose they are changes.

    Parameters
    ----------
    proportion : float
        Largest difference of swapped ranks, as a share of the values that are not
        missing, above 0 and at most 1 (0.05 reaches 5% of the ranks; at least one rank).
    random_state : int, optional
        Seed; a secret, as who knows it can swap back. None draws a fresh one.
    schema : Schema, optional
        Kinds and category orders where the columns' own types do not tell.

    Notes
    -----
    Moore (1996), "Controlled data-swapping techniques for masking public use
    microdata sets". Each column is swapped by itself; missing cells stay missing.

    Examples
    --------
    >>> import pandas as pd
    >>> ages = pd.DataFrame({"age": [20, 30, 40, 50]})
    >>> sorted(RankSwapping(0.5, random_state=1).fit_transform(ages)["age"].tolist())
    [20, 30, 40, 50]
    """

    words: ClassVar[str] = "rank swapping"

    def __init__(
        self,
        proportion: float = 0.05,
        *,
        random_state: int | None = None,
        schema: Schema | None = None,
    ) -> None:
        self.proportion = proportion
        self.random_state = random_state
        self.schema = schema

    def _mask(self, table: Table, schema: Schema) -> Masked:
        proportion = check_share("proportion", self.proportion)
        before = numbers(table, schema)
        after = np.full(before.shape, np.nan)
        random = np.random.default_rng(self.random_state)
        for c in range(before.shape[1]):
            there = np.flatnonzero(~np.isnan(before[:, c]))
            ranked = there[np.argsort(before[there, c], kind="stable")]
            window = max(1, int(proportion * len(ranked)))
            after[ranked, c] = before[ranked[swap_ranks(len(ranked), window, random)], c]
        # Swapped values are values of the column, so integers are integers again.
        released, columns = mask_numbers(table, schema, before, after, integers=True)
        return Masked(released, columns, {"proportion": proportion})
