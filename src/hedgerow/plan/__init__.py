"""3 DECIDE: the release plan as frozen data. Imports the schema and the standard library only."""

from .cells import Cell
from .codec import register
from .maps import ColumnMap, Maps
from .records import Column, Partition, Plan, Recoded, Recoding

__all__ = ["Cell", "Column", "ColumnMap", "Maps", "Partition", "Plan", "Recoded", "Recoding", "register"]
