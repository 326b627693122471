"""Equivalence classes, and measures of what each of them discloses. One file per measure."""

from ..kernels import Bools as BoolArray
from ..kernels import Floats as FloatArray
from ..kernels import Ints as IntArray
from .class_counts import Counts, Groups, group
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
