"""Recode a second time by independent code: derive the release from the original and the plan.

No code here is shared with the engines that made the release: rows go down a tree by their values
instead of their codes, maps are applied from their definition, and both work on batches of rows.
Each released cell is immediately compared with its original.
"""

from __future__ import annotations

from collections.abc import Collection

from ...columns.table import Table
from ...plan import Maps, Partition, Recoding
from .map_recipes import MapsRecipe
from .partition_recipes import PartitionRecipe
from .recipe import Made, Recipe


def plainly(recoding: Recoding, original: Table, same: Collection[str] | None = None) -> Recipe | None:
    """Return the recipe of a recoding; None if its result depends on chance or on the whole table.

    If `original` is one part of a table, `same` names the columns that the maps leave unchanged in
    all parts.
    """
    if isinstance(recoding, Partition):
        return PartitionRecipe(recoding, original)
    return MapsRecipe(recoding, original, same) if isinstance(recoding, Maps) else None


__all__ = ["Made", "Recipe", "plainly"]
