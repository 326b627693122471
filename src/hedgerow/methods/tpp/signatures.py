"""Which categories may become one: those that every node treats alike (step 4)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from .builder import Node


def groups_of(n_values: int, nodes: Iterable[Node]) -> NDArray[np.int32]:
    """The group of every category, numbered by the groups' first categories.

    Categories with the same signature (left, right or absent at every node) form
    a group. Where a node's split was chosen among equals by the category order,
    the categories present there stay apart, so that the order still decides alike.
    """
    signature: list[list[int]] = [[] for _ in range(n_values)]
    for node in nodes:
        sides = np.zeros(n_values, np.int64)
        sides[list(node.left_set)] = 1
        sides[list(node.right_set)] = 2
        if node.tied:
            present = np.flatnonzero(sides)
            sides[present] = 1 + np.arange(len(present))
        for own, side in zip(signature, sides, strict=True):
            own.append(int(side))
    number: dict[tuple[int, ...], int] = {}
    return np.array([number.setdefault(tuple(own), len(number)) for own in signature], np.int32)
