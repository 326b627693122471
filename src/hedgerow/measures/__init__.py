"""Equivalence classes, and measures of what each of them discloses. One file per measure."""

from .class_counts import BoolArray, Counts, FloatArray, Groups, IntArray, group
from .classes import Classes, SensitiveCounts
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
