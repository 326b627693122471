"""The way down a tree by codes alone, in a form that is sent to executors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...trees.node_rows import Predictors
from ..partitions import follow

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Signposts:
    """What every node of a tree asks, and the label of every node that is asked nothing.

    Parameters
    ----------
    nodes : tuple of arrays
        As `partitions.follow` takes them.
    label : int64 array over the nodes
        -1 for nodes whose rows nobody asks about.
    """

    nodes: tuple[NDArray[Any], ...]
    label: Ints

    @classmethod
    def of(cls, made: Mapping[str, Any], label: Ints, predictors: Predictors) -> Signposts:
        """The nodes of a tree in pre-order, as `trees.grow.renumbered` gives them."""
        column = made["column"]
        subset_at = np.zeros(len(column), np.int64)
        known: dict[tuple[int, bytes], int] = {}
        tables: list[NDArray[np.bool_]] = [np.zeros(1, np.bool_)]
        length = 1
        is_subset = (column >= 0) & ~predictors.ordered[np.maximum(column, 0)]
        for node in np.flatnonzero(is_subset).tolist():
            at, j = int(made["subset_at"][node]), int(column[node])
            codes = made["subset_codes"][at : at + int(made["last_left"][node])]
            key = j, codes.tobytes()
            if key not in known:
                inside = np.zeros(int(predictors.n_codes[j]) + 1, np.bool_)
                inside[codes] = True
                known[key] = length
                tables.append(inside)
                length += len(inside)
            subset_at[node] = known[key]
        return cls(
            (
                np.maximum(column, -1),
                made["first_right"],
                is_subset,
                subset_at,
                np.concatenate(tables),
                made["missing_left"],
                predictors.n_codes.astype(np.int64),
                made["right"],
                np.arange(len(column)),
            ),
            label,
        )

    def labels(self, codes: Sequence[NDArray[Any]]) -> Ints:
        """The label of the node that each row comes to."""
        table = np.stack([c.astype(np.uint32) for c in codes], axis=1)
        out = np.zeros(len(table), np.uint32)
        follow(table, *self.nodes, out)
        return self.label[out]
