"""Rank swapping: values change places with others of near rank."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from ..columns.table import Table
from ..kernels.masking_loops import swap_ranks
from ..kernels.sorting import stable_sort
from ..key import Key
from ..schema import Schema
from .masking import Masked, Masking, mask_numbers, numbers
from .validation import check_share


@dataclass(eq=False, repr=False)
class RankSwapping(Masking):
    """Exchange each value for another one of near rank, column by column.

    A column keeps exactly its values, so its mean and its quantiles stay; whose they are changes.

    Parameters
    ----------
    proportion : float
        Largest difference of swapped ranks, as a share of the values that are not
        missing, above 0 and at most 1 (0.05 reaches 5% of the ranks; at least one rank).
    key : Key or path, optional
        The steward's secret, or its file (made when it is not there), from which the swaps are
        drawn: whoever has it can swap back. By default a fresh one, forgotten with this object.
    random_state : int, optional
        In place of a key, for experiments alone: it hides nothing.
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
    draws = True

    proportion: float = 0.05
    _: KW_ONLY
    key: Key | str | Path | None = None
    random_state: int | None = None
    schema: Schema | None = None

    def _mask(self, table: Table, schema: Schema) -> Masked:
        proportion = check_share("proportion", self.proportion)
        given, rows = numbers(table, schema), self._rows(table)
        key = self._release_key(rows, schema)
        rows = rows.under(key)  # who stands beside whom among equals is drawn as well
        before = np.asfortranarray(rows.sorted(given))  # column by column in memory
        after = np.full_like(before, np.nan)
        for c, name in enumerate(schema.quasi):
            there = np.flatnonzero(~np.isnan(before[:, c]))
            values, ranked = stable_sort(before[there, c])
            window = max(1, int(proportion * len(ranked)))
            partners = swap_ranks(len(ranked), window, *key.words(f"swap {name}"))
            after[there[ranked], c] = values[partners]
        # Swapped values are values of the column, so integers are integers again.
        released, columns = mask_numbers(table, schema, given, rows.back(after), integers=True)
        return Masked(released, columns, {"proportion": proportion})
