"""Equivalence classes: what they are, and what each of them tells. One file per measure."""

from .class_counts import Counts, FloatArray
from .classes import Classes, SensitiveCounts
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
