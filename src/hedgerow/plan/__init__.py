"""The release plan as frozen data; imports only the layers below it and the standard library."""

from ..notation import Cell
from .fields import Vector
from .recodings import Anatomize, ColumnMap, Maps, Mask, MaskedColumn, Randomize, Randomized
from .records import (
    DerivedColumn,
    Guard,
    GuardedColumn,
    Partition,
    Plan,
    PlanColumn,
    PlanRule,
    Recoded,
    Recoding,
    UnitForm,
)

__all__ = [
    "Anatomize",
    "Cell",
    "ColumnMap",
    "DerivedColumn",
    "Guard",
    "GuardedColumn",
    "Maps",
    "Mask",
    "MaskedColumn",
    "Partition",
    "Plan",
    "PlanColumn",
    "PlanRule",
    "Randomize",
    "Randomized",
    "Recoded",
    "Recoding",
    "UnitForm",
    "Vector",
]
