"""Equivalence classes: what they are, and what each of them tells. One file per measure."""

from .classes import Classes, SensitiveCounts
from .counts import Counts, FloatArray
from .groups import BoolArray, Groups, IntArray, group
from .persons import Persons

__all__ = [
    "BoolArray",
    "Classes",
    "Counts",
    "FloatArray",
    "Groups",
    "IntArray",
    "Persons",
    "SensitiveCounts",
    "group",
]
