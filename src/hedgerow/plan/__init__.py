"""3 DECIDE: the release plan as frozen data. Imports what lies below it and the standard library."""

from ..notation import Cell
from .anatomy import Anatomize
from .codec import register
from .maps import ColumnMap, Maps
from .masking import Mask, MaskedColumn
from .randomized import Randomize, Randomized
from .records import Partition, Plan, PlanColumn, Recoded, Recoding
from .vector import Vector

__all__ = [
    "Anatomize",
    "Cell",
    "ColumnMap",
    "Maps",
    "Mask",
    "MaskedColumn",
    "Partition",
    "Plan",
    "PlanColumn",
    "Randomize",
    "Randomized",
    "Recoded",
    "Recoding",
    "Vector",
    "register",
]
