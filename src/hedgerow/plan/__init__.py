"""3 DECIDE: the release plan as frozen data. Imports the schema and the standard library only."""

from .cells import Cell
from .codec import register
from .records import Column, Partition, Plan, Recoded, Recoding

__all__ = ["Cell", "Column", "Partition", "Plan", "Recoded", "Recoding", "register"]
