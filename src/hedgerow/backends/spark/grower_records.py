"""The grower's records, made where the rows are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...trees.node_rows import Predictors, Rows
from ...trees.responses import Responses
from .packing import Packing

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Records:
    """What executors make the grower's records of: codes, and what becomes of them.

    Parameters
    ----------
    packing : Packing
    predictors : Predictors
    quasi, sensitive : sequence of (str, array)
        Columns, and what each distinct value of them stands for.
    """

    packing: Packing
    predictors: Predictors
    quasi: Sequence[tuple[str, NDArray[Any]]]
    sensitive: Sequence[tuple[str, NDArray[Any]]]

    def codes(self, words: Sequence[Ints]) -> list[NDArray[Any]]:
        """The codes by which rows are split."""
        return [lookup[self.packing.codes(words, name)] for name, lookup in self.quasi]

    def rows(
        self, codes: Sequence[NDArray[Any]], words: Sequence[Ints], responses: Responses
    ) -> Rows:
        """The records of some rows."""
        n = len(words[0])
        sensitive = [lookup[self.packing.codes(words, name)] for name, lookup in self.sensitive]
        made = Rows.empty(self.predictors, replace(responses, n_rows=n))
        if n:
            made.put(0, codes, responses, sensitive)
        return made
