"""Recoding a second time, plainly: what a release must be is derived here from original and plan.

Nothing here is shared with the engines that made the release: rows go down a tree by their values
instead of their codes, maps are read by their definition, and both work on a few rows at a time.
Beside each released cell stands its original, so that it is held against it at once.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import singledispatch

from ...columns.table import Table
from ...plan import Maps, Partition, Recoding
from .map_recipes import MapsRecipe
from .partition_recipes import PartitionRecipe
from .recipe import Made, Recipe


@singledispatch
def plainly(
    recoding: Recoding, original: Table, same: Collection[str] | None = None
) -> Recipe | None:
    """Return the recipe of one kind of recoding; None where chance or the whole table decides.

    Where `original` is a part of a table, `same` are the columns that its maps leave as they are,
    all parts together.
    """
    return None


@plainly.register
def _partition(
    recoding: Partition, original: Table, same: Collection[str] | None = None
) -> Recipe:
    return PartitionRecipe(recoding, original)


@plainly.register
def _maps(recoding: Maps, original: Table, same: Collection[str] | None = None) -> Recipe:
    return MapsRecipe(recoding, original, same)


__all__ = ["Made", "Recipe", "plainly"]
