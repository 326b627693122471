"""Equivalence classes, and measures of what each of them discloses. One file per measure."""

from ..kernels import Bools, Floats, Ints
from .class_counts import Counts, Groups, group
from .classes import Classes, SensitiveCounts
from .persons import Persons

__all__ = ["Bools", "Classes", "Counts", "Floats", "Groups", "Ints", "Persons", "SensitiveCounts", "group"]
