"""3 DECIDE: the release plan as frozen data. Imports the schema and the standard library only."""

from .anatomy import Anatomize
from .cells import Cell
from .codec import register
from .maps import ColumnMap, Maps
from .masking import Mask, MaskedColumn
from .randomized import Randomize, Randomized
from .records import Column, Partition, Plan, Recoded, Recoding

__all__ = [
    "Anatomize",
    "Cell",
    "Column",
    "ColumnMap",
    "Maps",
    "Mask",
    "MaskedColumn",
    "Partition",
    "Plan",
    "Randomize",
    "Randomized",
    "Recoded",
    "Recoding",
    "register",
]
